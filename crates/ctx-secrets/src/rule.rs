//! One rule: an expression, how random what it finds has to be, and what it is known to find wrongly.

use std::fmt;
use std::ops::Range;

use regex::bytes::{Captures, Regex, RegexBuilder};
use secrets_scanner::RulesetConfig;
use secrets_scanner::entropy::shannon_entropy_bytes;
use secrets_scanner::rules::validation::{AllowlistConfig, RegexTarget};

use crate::keys::{next_key, of_own};

/// No expression takes more memory, in bytes.
const SIZE: usize = 32 << 20;

pub(crate) struct Rule {
    pub(crate) id: String,
    expression: Regex,
    /// Bits a byte.
    entropy: Option<f64>,
    /// The group of the expression that is the secret; the first that took part where none is named.
    group: Option<usize>,
    /// In which files it holds, and in texts that are of none.
    path: Option<Regex>,
    allowed: Vec<Allowed>,
}

/// What is no secret although it looks like one.
struct Allowed {
    expressions: Vec<Regex>,
    target: RegexTarget,
}

impl Rule {
    /// Reads a table of rules with one in it.
    ///
    /// # Errors
    /// Why it cannot be used, for those who chose the rules.
    pub(crate) fn of(table: &str) -> Result<Self, String> {
        let read: RulesetConfig = toml::from_str(table).map_err(|it| it.to_string())?;
        let rule = read.rules.into_iter().next().ok_or("there is no rule")?;
        // Of those of files alone, there is one, and names are looked at elsewhere.
        let expression = rule.regex.as_deref().unwrap_or("[^\\s\\S]");
        let path = rule.path.as_deref().map(compile).transpose()?;
        // Those of paths are left: a secret is one wherever it is.
        let allowed = rule.allowlists.iter().filter(|it| it.paths.is_empty());
        Ok(Rule {
            expression: compile(expression)?,
            entropy: rule.entropy,
            group: rule.secret_group.filter(|it| *it > 0),
            path,
            allowed: allowed.map(Allowed::of).collect::<Result<_, _>>()?,
            id: rule.id,
        })
    }

    /// Where secrets are in `text`, which is that of the file at `path`. O(bytes).
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
                // What it ends with is the beginning, or the end, of another key.
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
        // Some are in the syntax of another library. What is not understood allows nothing.
        let expressions = read.regexes.iter().filter_map(|it| compile(it).ok());
        Ok(Allowed {
            expressions: expressions.collect(),
            target: read.regex_target.unwrap_or_default(),
        })
    }
}

/// Over bytes: secrets are ASCII, and classes of Unicode make an expression a hundred times as large and slow.
fn compile(expression: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(expression);
    let built = builder.unicode(false).size_limit(SIZE).build();
    built.map_err(|it| it.to_string())
}

/// The line that a match begins on.
fn line(text: &str, found: Range<usize>) -> &[u8] {
    let bytes = text.as_bytes();
    let start = bytes[..found.start].iter().rposition(|it| *it == b'\n');
    let end = bytes[found.start..].iter().position(|it| *it == b'\n');
    let end = end.map_or(bytes.len(), |end| found.start + end);
    &bytes[start.map_or(0, |start| start + 1)..end]
}
