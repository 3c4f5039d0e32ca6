//! A rule: an expression, the least entropy of a secret, and known false positives.

use std::fmt;
use std::ops::Range;

use regex::bytes::{Captures, Match, Regex, RegexBuilder};
use secrets_scanner::RulesetConfig;
use secrets_scanner::entropy::shannon_entropy_bytes;
use secrets_scanner::rules::validation::{AllowlistConfig, RegexTarget};

use crate::amended::amended;
use crate::keys::{is_between_marks, next_key, of_own};

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

/// The groups that are secrets, of rules whose first group is a name, an address or the public half
/// of a pair, though the bundle calls it the secret.
const SECRET_GROUPS: [(&str, &[usize]); 19] = [
    ("kingfisher.azure.1", &[2]),
    ("kingfisher.azure.2", &[3]),
    ("kingfisher.azurecosmosdb.2", &[2]),
    ("kingfisher.cloudant.1", &[2]),
    ("kingfisher.coinbase.2", &[2]),
    ("kingfisher.coinbase.3", &[2]),
    ("kingfisher.credentials.1", &[2]),
    ("kingfisher.discord.1", &[3]),
    ("kingfisher.docker.1", &[2]),
    ("kingfisher.gitalk.1", &[2]),
    // Either may be the password.
    ("kingfisher.gradle.1", &[1, 2]),
    ("kingfisher.klingai.1", &[1, 3]),
    ("kingfisher.kubernetes.3", &[2]),
    ("kingfisher.modal.1", &[1, 2]),
    ("kingfisher.odbc.1", &[2]),
    ("kingfisher.phpmailer.1", &[3]),
    ("kingfisher.salesforce.5", &[2]),
    ("kingfisher.tableau.1", &[2]),
    // All of it: its groups are there to be repeated.
    ("microsoft-teams-webhook", &[0]),
];
/// Rules of passwords, whose least entropy is that of words with some numbers: the bundle measured
/// what is not the password.
const PASSWORDS: [&str; 3] = [
    "kingfisher.gradle.1",
    "kingfisher.odbc.1",
    "kingfisher.phpmailer.1",
];
/// The least entropy of a password, in bits per byte.
const LEAST_OF_PASSWORD: f64 = 2.5;
/// What follows a secret, of rules that match only the first of a list: the next one is the first
/// group.
const LISTS: [(&str, &str); 1] = [(
    "kingfisher.docker.1",
    r#"\A"[^{}]*\}\s*,\s*(?:"[^"]+"\s*:\s*\{[^{}]*\}\s*,\s*)*?"[^"]+"\s*:\s*\{[^{}]*?"auth"\s*:\s*"([A-Za-z0-9+/=]{16,})"#,
)];

pub(crate) struct Rule {
    pub(crate) id: String,
    expression: Regex,
    /// The least entropy of a secret, in bits per byte.
    entropy: Option<f64>,
    /// The capture groups that are secrets; if there are none, the first group that matched
    /// something.
    groups: Vec<usize>,
    /// What leads from a secret to the next one of a list.
    list: Option<Regex>,
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
        let is_it = |id: &str| id == rule.id;
        let own = rule.secret_group.filter(|it| *it > 0);
        let groups = SECRET_GROUPS.iter().find(|(id, _)| is_it(id));
        let groups = groups.map_or_else(|| own.into_iter().collect(), |(_, it)| it.to_vec());
        let list = LISTS.iter().find(|(id, _)| is_it(id));
        let entropy = if PASSWORDS.contains(&&*rule.id) {
            rule.entropy.map(|it| it.min(LEAST_OF_PASSWORD))
        } else {
            rule.entropy
        };
        Ok(Rule {
            contained: narrowed.map(|(_, it)| compile(it)).transpose()?,
            expression: compile(&amended(&rule.id, expression))?,
            entropy,
            groups,
            list: list.map(|(_, it)| compile(it)).transpose()?,
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
            } else if is_between_marks(of_match) {
                whole.end
            } else {
                let groups = self.groups(&found);
                let end = groups.last().map_or(whole.end, Match::end);
                let its = groups.into_iter().map(|it| it.range());
                secrets.extend(its.filter(|it| self.is_secret(text, &whole, it)));
                let end = self.rest_of_list(text, of_match, end, &mut secrets);
                whole.end.max(end) + usize::from(whole.is_empty())
            };
        }
        secrets
    }

    /// The groups of a match that may be secrets, by their position.
    fn groups<'t>(&self, found: &Captures<'t>) -> Vec<Match<'t>> {
        let named = self.groups.iter().filter_map(|group| found.get(*group));
        let named: Vec<Match<'_>> = named.filter(|it| !it.is_empty()).collect();
        if !named.is_empty() {
            return named;
        }
        let mut groups = (1..found.len()).filter_map(|group| found.get(group));
        let first = groups.find(|it| !it.is_empty());
        first.or_else(|| found.get(0)).into_iter().collect()
    }

    /// Adds the secrets of the list that goes on at `end` of a match, and returns where it ends.
    /// O(bytes).
    fn rest_of_list(
        &self,
        text: &str,
        of_match: &[u8],
        mut end: usize,
        secrets: &mut Vec<Range<usize>>,
    ) -> usize {
        let list = self.list.as_ref();
        let is_it = |it: &Allowed| it.target == RegexTarget::Match && it.has(of_match);
        let list = list.filter(|_| !self.allowed.iter().any(is_it));
        while let Some(list) = list
            && let Some(found) = list.captures(&text.as_bytes()[end..])
            && let Some(next) = found.get(1)
        {
            secrets.push(end + next.start()..end + next.end());
            end += next.end();
        }
        end
    }

    /// Whether `secret`, which is of the match `whole`, is none of the known false positives.
    fn is_secret(&self, text: &str, whole: &Range<usize>, secret: &Range<usize>) -> bool {
        let [whole_bytes, secret] = [whole, secret].map(|it| &text.as_bytes()[it.clone()]);
        let is_plain = |least: f64| shannon_entropy_bytes(secret) < least;
        if secret.is_empty() || self.entropy.is_some_and(is_plain) {
            return false;
        }
        let lacks = |contained: &Regex| !contained.is_match(secret);
        if self.contained.as_ref().is_some_and(lacks) {
            return false;
        }
        let is_allowed = |allowed: &Allowed| {
            let said = match allowed.target {
                RegexTarget::Secret => secret,
                RegexTarget::Match => whole_bytes,
                RegexTarget::Line => line(text, whole.clone()),
            };
            allowed.has(said)
        };
        !self.allowed.iter().any(is_allowed)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rule").field(&self.id).finish()
    }
}

impl Allowed {
    fn has(&self, said: &[u8]) -> bool {
        self.expressions.iter().any(|it| it.is_match(said))
    }

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use regex_syntax::ParserBuilder;
    use regex_syntax::hir::{Class, Hir, HirKind};
    use secrets_scanner::rules::BUNDLED_RULES;

    use super::*;
    use crate::amended::AMENDED;
    use crate::rules::{LEFT_OUT, OWN};

    /// The rules that are used, with their expressions.
    fn used() -> Vec<(String, Hir)> {
        let read = |it| toml::from_str::<RulesetConfig>(it).unwrap().rules;
        let is_used = |id: &str| !LEFT_OUT.iter().any(|it| id.starts_with(it));
        let all = [BUNDLED_RULES, OWN].into_iter().flat_map(read);
        let all = all.filter(|it| is_used(&it.id));
        all.filter_map(|it| {
            let expression = amended(&it.id, it.regex.as_deref()?);
            let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
            Some((it.id, parser.parse(&expression).unwrap()))
        })
        .collect()
    }

    type Bytes = BTreeSet<u8>;

    /// The bytes that something matched by `hir` may have.
    fn possible(hir: &Hir) -> Bytes {
        match hir.kind() {
            HirKind::Literal(it) => it.0.iter().copied().collect(),
            HirKind::Class(Class::Bytes(it)) => it
                .ranges()
                .iter()
                .flat_map(|it| it.start()..=it.end())
                .collect(),
            HirKind::Repetition(it) => possible(&it.sub),
            HirKind::Capture(it) => possible(&it.sub),
            HirKind::Concat(all) | HirKind::Alternation(all) => {
                all.iter().flat_map(possible).collect()
            }
            _ => Bytes::new(),
        }
    }

    /// Bytes that all that is matched by `hir` has.
    fn certain(hir: &Hir) -> Bytes {
        match hir.kind() {
            HirKind::Literal(_) => possible(hir),
            HirKind::Repetition(it) if it.min > 0 => certain(&it.sub),
            HirKind::Capture(it) => certain(&it.sub),
            HirKind::Concat(all) => all.iter().flat_map(certain).collect(),
            HirKind::Alternation(all) => {
                let all = all.iter().map(certain);
                all.reduce(|it, other| &it & &other).unwrap_or_default()
            }
            _ => Bytes::new(),
        }
    }

    /// Whether a repetition without a limit in `hir` stands in one of several ways to match, and
    /// may go on over a match, of which `all` are bytes.
    fn may_outlast(hir: &Hir, all: &Bytes, in_one_way: bool) -> bool {
        let has = |it: &Hir| may_outlast(it, all, in_one_way);
        match hir.kind() {
            HirKind::Repetition(it) => {
                let taken = possible(&it.sub);
                // All that rules look for has letters or digits.
                let is_over_match =
                    taken.is_superset(all) && taken.iter().any(u8::is_ascii_alphanumeric);
                in_one_way && it.max.is_none() && is_over_match
                    || may_outlast(&it.sub, all, in_one_way || it.min == 0)
            }
            HirKind::Capture(it) => has(&it.sub),
            HirKind::Concat(parts) => parts.iter().any(has),
            HirKind::Alternation(ways) => ways.iter().any(|it| may_outlast(it, all, true)),
            _ => false,
        }
    }

    /// In a sequence, whatever goes on over a later match can go on as that does, and then is one
    /// match up to its end: no text is searched again and again. Of several ways to match, one may
    /// go on to the end of the text, and fail there, while another matches here and there.
    #[test]
    fn no_way_to_match_outlasts_another() {
        let checked = [
            // Each goes on over five lines at most, or to the next quote.
            "curl-auth-header",
            "curl-auth-user",
            // Its second part ends with the next dot, and its third is the end of a match.
            "kingfisher.drone.1",
            // The end of a match.
            "kingfisher.ftp.1",
            // Where it matches, so does what began before and reached it through braces; it does
            // not reach what is more than two braces deeper.
            "kingfisher.gcp.1",
            // A remark may end anywhere.
            "kingfisher.gradle.1",
            "kingfisher.ldap.2",
            "kingfisher.mysql.1",
            "kingfisher.phpmailer.1",
            "kingfisher.sidekiq.2",
        ];
        let unknown = used().into_iter();
        let unknown = unknown.filter(|(_, it)| may_outlast(it, &certain(it), false));
        let unknown: Vec<String> = unknown.map(|it| it.0).collect();
        assert_eq!(unknown, checked);
    }

    #[test]
    fn what_is_amended_is_in_the_bundle() {
        let read: RulesetConfig = toml::from_str(BUNDLED_RULES).unwrap();
        for (id, part, _) in AMENDED {
            let rule = read.rules.iter().find(|it| it.id == id).expect(id);
            assert!(rule.regex.as_ref().unwrap().contains(part), "{id}: {part}");
        }
    }

    /// How many groups, none within another, one match may have.
    fn groups_side_by_side(hir: &Hir) -> usize {
        match hir.kind() {
            HirKind::Capture(_) => 1,
            HirKind::Concat(all) => all.iter().map(groups_side_by_side).sum(),
            HirKind::Alternation(all) => all.iter().map(groups_side_by_side).max().unwrap_or(0),
            HirKind::Repetition(it) => groups_side_by_side(&it.sub),
            _ => 0,
        }
    }

    /// The most bytes of a group; `None` if there is none.
    fn longest_group(hir: &Hir) -> Option<usize> {
        match hir.kind() {
            HirKind::Capture(it) => Some(it.sub.properties().maximum_len().unwrap_or(usize::MAX)),
            HirKind::Concat(all) | HirKind::Alternation(all) => {
                all.iter().filter_map(longest_group).max()
            }
            HirKind::Repetition(it) => longest_group(&it.sub),
            _ => None,
        }
    }

    /// A rule with several groups either is in the table, or its first group is the secret.
    #[test]
    fn of_several_groups_it_is_known_which_are_secret() {
        let first = [
            // The optional second group is of another rule, too, and the first an id.
            "kingfisher.google.6",
            // A mark of a key whose lines are in no group: `private-key` masks all of it.
            "kingfisher.privkey.1",
        ];
        let read: RulesetConfig = toml::from_str(BUNDLED_RULES).unwrap();
        let mut unknown = Vec::new();
        for rule in &read.rules {
            let expression = rule.regex.as_deref().unwrap_or_default();
            let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
            let hir = parser.parse(expression).unwrap();
            // Those of gitleaks say themselves which it is.
            let is_said = !rule.id.starts_with("kingfisher.") && rule.secret_group.is_some();
            let is_left_out = LEFT_OUT.iter().any(|it| rule.id.starts_with(it));
            if is_said || is_left_out {
                continue;
            }
            let is_in_table = SECRET_GROUPS.iter().any(|it| it.0 == rule.id);
            let is_known = is_in_table || first.contains(&&*rule.id);
            // What is too short for a secret is a group to be repeated, or an alternative.
            let is_short = longest_group(&hir).is_some_and(|it| it < 12);
            if (is_short || groups_side_by_side(&hir) > 1) && !is_known {
                unknown.push(&rule.id);
            }
        }
        assert!(unknown.is_empty(), "{unknown:?}");
        for (id, _) in SECRET_GROUPS {
            assert!(read.rules.iter().any(|it| it.id == id), "{id}");
        }
    }
}
