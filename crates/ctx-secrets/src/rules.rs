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

/// Rules that are not in the bundle.
pub(crate) const OWN: &str = include_str!("own.toml");

/// The beginning of each rule.
const TABLE: &str = "[[rules]]";

/// Ids, or beginnings of ids, of rules that are not used.
pub(crate) const LEFT_OUT: [&str; 12] = [
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
    // It finds any text from `postgres://localhost:` to the next `@` and number: `url-password` is
    // instead of it.
    "kingfisher.postgres.1",
    // It finds one value of a short manifest: `kubernetes.rs` is instead of it.
    "kubernetes-secret-yaml",
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

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::of([BUNDLED_RULES, OWN]));

/// The rules that come with this crate.
pub(crate) fn rules() -> &'static Rules {
    &RULES
}

impl Rules {
    fn of(texts: [&'static str; 2]) -> Self {
        let mut all = Vec::new();
        let mut words = Vec::new();
        let mut of_word = Vec::new();
        let needs: HashMap<&str, &str> =
            NEEDS.lines().filter_map(|it| it.split_once('\t')).collect();
        let texts = texts.into_iter();
        for text in texts.flat_map(|it| it.split(TABLE).skip(1)) {
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
        // A bit for each rule: most texts are names, and few rules concern any.
        let mut met = vec![0_u64; self.all.len().div_ceil(64)];
        for word in self.words.find_overlapping_iter(text) {
            let rule = self.of_word[word.pattern().as_usize()];
            met[rule / 64] |= 1 << (rule % 64);
        }
        let longest = if met.iter().all(|it| *it == 0) {
            Runs::default()
        } else {
            Runs::longest(text)
        };
        let met = met.into_iter().zip(self.all.chunks(64));
        let met = met.filter(|(bits, _)| *bits != 0);
        let met = met.flat_map(|(bits, rules)| {
            let rules = rules.iter().enumerate();
            rules.filter_map(move |(at, lazy)| (bits >> at & 1 != 0).then_some(lazy))
        });
        let met = met.filter(move |lazy| longest.are(lazy.needed));
        met.filter_map(Lazy::get)
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
    use std::collections::BTreeSet;

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
    fn the_rules_that_concern_a_text_are_those_with_a_word_in_it() {
        let rules = rules();
        let word = |number: usize| said(rules.all[number].text, "keywords").next();
        let last = rules.all.len() - 1;
        for number in (0..last).step_by(37).chain([63, 64, 127, 128, last]) {
            let text = word(number).unwrap_or_default();
            let text = format!("{text} {}", "Aa1_".repeat(64));
            let met = rules.words.find_overlapping_iter(&text);
            let met: BTreeSet<usize> = met
                .map(|it| rules.of_word[it.pattern().as_usize()])
                .collect();
            let longest = Runs::longest(&text);
            let met = met.into_iter().map(|it| &rules.all[it]);
            let met = met.filter(|it| longest.are(it.needed));
            let expected: Vec<&str> = met.flat_map(|it| said(it.text, "id")).collect();
            let found: Vec<&str> = rules.concerning(&text).map(|it| &*it.id).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn disabled_rules_exist() {
        for start in LEFT_OUT {
            assert!(BUNDLED_RULES.contains(&format!("\"{start}")), "{start}");
        }
    }
}
