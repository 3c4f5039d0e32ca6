//! All rules, and the choice of those that may match a text.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use secrets_scanner::rules::BUNDLED_RULES;

use crate::rule::Rule;
use crate::runs::Runs;

/// What every match of a rule must contain, derived from its expression: each line has, separated
/// by tabs, the rule, the two [`Runs`] it needs, and words of which one must occur. For a rule
/// without words here, its own keywords are used, mostly the vendor's name.
const NEEDS: &str = include_str!("needs.txt");

/// The beginning of each rule in the bundle.
const TABLE: &str = "[[rules]]";

/// Ids, or beginnings of ids, of rules that are not used.
const LEFT_OUT: [&str; 10] = [
    // Generic words such as `key` and `password` beside anything: they match a dozen lines per
    // 1,000 files of code.
    "generic-api-key",
    "kingfisher.generic.",
    // URLs and headers with a user name and a password, most of which are examples.
    "kingfisher.auth.",
    "kingfisher.http.",
    "kingfisher.netrc.",
    "kingfisher.uri.",
    "mongodb-atlas-db-uri-with-credentials",
    // Any word after `codecov`.
    "kingfisher.codecov.",
    // An example of how to write a rule.
    "my-internal-api-key",
    // It takes superlinear time.
    "kingfisher.twitter.1",
];

/// The rules in use. Each is compiled on first use: most never are.
pub(crate) struct Rules {
    all: Vec<Lazy>,
    /// Finds the words of all rules, ignoring case.
    words: AhoCorasick,
    /// The index of the rule of each word.
    of_word: Vec<usize>,
}

struct Lazy {
    text: &'static str,
    needed: Runs,
    rule: OnceLock<Option<Rule>>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::of(BUNDLED_RULES));

/// The rules that come with this crate.
pub(crate) fn rules() -> &'static Rules {
    &RULES
}

impl Rules {
    fn of(text: &'static str) -> Self {
        let mut all = Vec::new();
        let mut words = Vec::new();
        let mut of_word = Vec::new();
        let needs: HashMap<&str, &str> =
            NEEDS.lines().filter_map(|it| it.split_once('\t')).collect();
        for text in text.split(TABLE).skip(1) {
            let id = said(text, "id").next().unwrap_or_default();
            if LEFT_OUT.iter().any(|it| id.starts_with(it)) {
                continue;
            }
            let mut needs = needs.get(id).copied().unwrap_or_default().split('\t');
            let mut run = || needs.next()?.parse().ok();
            let needed = Runs {
                letters: run().unwrap_or(0),
                joined: run().unwrap_or(0),
            };
            let before = words.len();
            words.extend(needs);
            if words.len() == before {
                words.extend(said(text, "keywords"));
            }
            of_word.resize(of_word.len() + words.len() - before, all.len());
            let rule = OnceLock::new();
            all.push(Lazy { text, needed, rule });
        }
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words)
            .expect("some thousand words are few");
        Rules {
            all,
            words,
            of_word,
        }
    }

    /// The rules that have a word in `text`, and whose runs it has. O(bytes).
    pub(crate) fn concerning(&'static self, text: &str) -> impl Iterator<Item = &'static Rule> {
        let mut is_met = vec![false; self.all.len()];
        for word in self.words.find_overlapping_iter(text) {
            is_met[self.of_word[word.pattern().as_usize()]] = true;
        }
        let longest = Runs::longest(text);
        let met = self.all.iter().zip(is_met).filter(|(_, is_met)| *is_met);
        let met = met.filter(move |(lazy, _)| longest.are(lazy.needed));
        met.filter_map(|(lazy, _)| lazy.get())
    }
}

impl Lazy {
    fn get(&'static self) -> Option<&'static Rule> {
        let compile = || Rule::of(&format!("{TABLE}{}", self.text)).ok();
        self.rule.get_or_init(compile).as_ref()
    }
}

/// The quoted strings on the line of `key`: parsing the whole table would take a hundred times as
/// long, and most rules are never needed. A test compares the results with those of a parser.
fn said<'t>(table: &'t str, key: &str) -> impl Iterator<Item = &'t str> {
    let value = |line: &'t str| line.strip_prefix(key)?.trim_start().strip_prefix('=');
    let value = table.lines().find_map(value).unwrap_or_default();
    value.split('"').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use secrets_scanner::RulesetConfig;

    use super::*;

    #[test]
    fn every_rule_is_understood() {
        let rules = rules();
        assert!(rules.all.len() > 950, "{}", rules.all.len());
        for (number, lazy) in rules.all.iter().enumerate() {
            let table = format!("{TABLE}{}", lazy.text);
            let rule = Rule::of(&table).unwrap_or_else(|why| panic!("{table}: {why}"));
            assert_eq!(said(lazy.text, "id").collect::<Vec<_>>(), [&rule.id]);
            let read: RulesetConfig = toml::from_str(&table).unwrap();
            let words: Vec<&str> = said(lazy.text, "keywords").collect();
            assert_eq!(words, read.rules[0].keywords, "{table}");
            // A rule without words would never be tried.
            let is_of_names = read.rules[0].regex.is_none();
            assert!(is_of_names || rules.of_word.contains(&number), "{table}");
        }
    }

    #[test]
    fn disabled_rules_exist() {
        for start in LEFT_OUT {
            assert!(BUNDLED_RULES.contains(&format!("\"{start}")), "{start}");
        }
    }
}
