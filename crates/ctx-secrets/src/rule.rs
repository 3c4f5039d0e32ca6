//! A rule: an expression, the least entropy of a secret, and known false positives.

use std::fmt;
use std::ops::Range;

use regex::bytes::{Captures, Regex, RegexBuilder};
use secrets_scanner::RulesetConfig;
use secrets_scanner::entropy::shannon_entropy_bytes;
use secrets_scanner::rules::validation::{AllowlistConfig, RegexTarget};

use crate::keys::{next_key, of_own};

/// The most memory of a compiled expression, in bytes.
const SIZE: usize = 32 << 20;
/// Beginnings of the ids of rules that match more than secrets, with what each secret contains.
const NARROWED: [(&str, &str); 1] = [
    // Addresses of databases: a password stands before the host or is a parameter.
    (
        "kingfisher.jdbc.",
        "(?i)[^/:@]@|pass|pwd|secret|token|key|credential",
    ),
];

pub(crate) struct Rule {
    pub(crate) id: String,
    expression: Regex,
    /// The least entropy of a secret, in bits per byte.
    entropy: Option<f64>,
    /// The capture group that is the secret; if none is given, the first group that matched
    /// something.
    group: Option<usize>,
    /// The files to which the rule applies; it applies to texts without a path, too.
    path: Option<Regex>,
    allowed: Vec<Allowed>,
    /// What a secret contains, if the rule matches more than secrets.
    contained: Option<Regex>,
}

/// A known false positive: what looks like a secret and is none.
struct Allowed {
    expressions: Vec<Regex>,
    target: RegexTarget,
}

impl Rule {
    /// Reads a TOML table of rules that contains one.
    ///
    /// # Errors
    /// Why the rule cannot be used; for developers who choose the rules.
    pub(crate) fn of(table: &str) -> Result<Self, String> {
        let read: RulesetConfig = toml::from_str(table).map_err(|it| it.to_string())?;
        let rule = read.rules.into_iter().next().ok_or("there is no rule")?;
        // A rule about file names alone has no expression: this one matches nothing, and names are
        // checked elsewhere.
        let expression = rule.regex.as_deref().unwrap_or("[^\\s\\S]");
        let path = rule.path.as_deref().map(compile).transpose()?;
        // Allowlists of paths are not used: a secret is one in any file.
        let allowed = rule.allowlists.iter().filter(|it| it.paths.is_empty());
        let narrowed = NARROWED
            .iter()
            .find(|(start, _)| rule.id.starts_with(start));
        Ok(Rule {
            contained: narrowed.map(|(_, it)| compile(it)).transpose()?,
            expression: compile(expression)?,
            entropy: rule.entropy,
            group: rule.secret_group.filter(|it| *it > 0),
            path,
            allowed: allowed.map(Allowed::of).collect::<Result<_, _>>()?,
            id: rule.id,
        })
    }

    /// The byte ranges of secrets in `text`, the content of the file at `path`. O(bytes).
    pub(crate) fn find(&self, path: &str, text: &str) -> Vec<Range<usize>> {
        if let Some(of) = &self.path
            && !path.is_empty()
            && !of.is_match(path.as_bytes())
        {
            return Vec::new();
        }
        let mut secrets = Vec::new();
        let mut from = 0;
        while from <= text.len()
            && let Some(found) = self.expression.captures_at(text.as_bytes(), from)
            && let Some(whole) = found.get(0).map(|it| it.range())
        {
            let of_match = &text.as_bytes()[whole.clone()];
            from = if let Some(next) = next_key(of_match) {
                // The match ends with the beginning, or the end, of another key.
                let own = of_own(of_match);
                secrets.extend(own.map(|end| whole.start..whole.start + end));
                whole.start + next
            } else {
                secrets.extend(self.secret(text, &found));
                whole.end + usize::from(whole.is_empty())
            };
        }
        secrets
    }

    fn secret(&self, text: &str, found: &Captures<'_>) -> Option<Range<usize>> {
        let whole = found.get(0)?;
        let named = self.group.and_then(|group| found.get(group));
        let mut groups = (1..found.len()).filter_map(|group| found.get(group));
        let secret = named.or_else(|| groups.find(|it| !it.is_empty()));
        let secret = secret.unwrap_or(whole);
        let is_plain = |least: f64| shannon_entropy_bytes(secret.as_bytes()) < least;
        if secret.is_empty() || self.entropy.is_some_and(is_plain) {
            return None;
        }
        let lacks = |contained: &Regex| !contained.is_match(secret.as_bytes());
        if self.contained.as_ref().is_some_and(lacks) {
            return None;
        }
        let is_allowed = |allowed: &Allowed| {
            let said = match allowed.target {
                RegexTarget::Secret => secret.as_bytes(),
                RegexTarget::Match => whole.as_bytes(),
                RegexTarget::Line => line(text, whole.range()),
            };
            allowed.expressions.iter().any(|it| it.is_match(said))
        };
        (!self.allowed.iter().any(is_allowed)).then(|| secret.range())
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rule").field(&self.id).finish()
    }
}

impl Allowed {
    fn of(read: &AllowlistConfig) -> Result<Self, String> {
        if !read.stopwords.is_empty() {
            return Err("it has stop words, which are not understood".to_owned());
        }
        // Some are in the syntax of another library. One that does not compile allows nothing.
        let expressions = read.regexes.iter().filter_map(|it| compile(it).ok());
        Ok(Allowed {
            expressions: expressions.collect(),
            target: read.regex_target.unwrap_or_default(),
        })
    }
}

/// Compiles over bytes: secrets are ASCII, and Unicode classes make an expression a hundred times
/// as large and slow.
fn compile(expression: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(expression);
    let built = builder.unicode(false).size_limit(SIZE).build();
    built.map_err(|it| it.to_string())
}

/// The line on which a match begins.
fn line(text: &str, found: Range<usize>) -> &[u8] {
    let bytes = text.as_bytes();
    let start = bytes[..found.start].iter().rposition(|it| *it == b'\n');
    let end = bytes[found.start..].iter().position(|it| *it == b'\n');
    let end = end.map_or(bytes.len(), |end| found.start + end);
    &bytes[start.map_or(0, |start| start + 1)..end]
}
