//! What a text must contain for an expression to match, derived from the expression: words, and the
//! length of a run.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use secrets_scanner::RuleConfig;

use crate::amended::amended;
use crate::runs;

/// No more words stand for one expression.
const MOST: usize = 64;
/// Of a class of more bytes none is told.
const MOST_OF_CLASS: usize = 4;
/// A longer word tells no more, in bytes.
const LONGEST: u32 = 24;
/// A shorter one stands in any text.
const SHORTEST: usize = 3;

/// Words that stand in much code, whoever issues what: a rule that has no others is known by its
/// vendor.
const GENERAL: [&str; 31] = [
    "access",
    "accesskey",
    "api",
    "apikey",
    "app",
    "application",
    "auth",
    "authorization",
    "bearer",
    "client",
    "com",
    "http",
    "https",
    "id",
    "key",
    "org",
    "pass",
    "passwd",
    "password",
    "private",
    "project",
    "pwd",
    "secret",
    "secretkey",
    "sid",
    "token",
    "url",
    "user",
    "username",
    "value",
    "www",
];

/// Words that are in all that these rules find, and are general, or not told by any one part of the
/// expression.
const BY_HAND: [(&str, &[&str]); 6] = [
    ("kingfisher.elastic.2", &["apikey"]),
    ("kingfisher.kubernetes.3", &["token-id"]),
    ("kingfisher.laravel.1", &["app_key", "app-key", "appkey"]),
    ("kingfisher.pwhash.3", &["$5$"]),
    ("kingfisher.pwhash.4", &["$6$"]),
    (
        "kingfisher.trendmicro.1",
        &[
            "deepsecurity",
            "api_secret_key",
            "api-secret-key",
            "api_secretkey",
            "api-secretkey",
            "apisecret_key",
            "apisecret-key",
            "apisecretkey",
            "api_secret-key",
            "api-secret_key",
        ],
    ),
];

/// Rules whose words stand in code as well (`key_derivation`), so that whose secret it is has to be
/// said.
const BY_VENDOR: [&str; 2] = ["kingfisher.mariadb.1", "kingfisher.unkey.2"];

type Words = BTreeSet<Vec<u8>>;

/// Words of which each match of `expression` has at least one in it, in small letters; none where
/// it may match without a word of its own. A word that says whose the secret is may stand anywhere;
/// any other stands in the secret.
fn words(expression: &str, group: u32) -> Option<Words> {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
    let parsed = parser.parse(expression).ok()?;
    let whole = Known::of(&parsed).best().filter(|it| worth(it) >= SHORTEST);
    let secret = || {
        let words = Known::of(secret(&parsed, group)?).best()?;
        let is_long = |it: &Vec<u8>| it.len() >= SHORTEST;
        words.iter().all(is_long).then_some(words)
    };
    Some(shortened(&whole.or_else(secret)?))
}

/// The part of each match that is the group with this number.
fn secret(hir: &Hir, group: u32) -> Option<&Hir> {
    match hir.kind() {
        HirKind::Capture(capture) if capture.index == group => Some(&capture.sub),
        HirKind::Capture(capture) => secret(&capture.sub, group),
        HirKind::Concat(parts) => parts.iter().find_map(|it| secret(it, group)),
        _ => None,
    }
}

/// Without those that have another in them.
fn shortened(words: &Words) -> Words {
    let has = |word: &[u8], other: &[u8]| word.windows(other.len()).any(|it| it == other);
    let is_needed = |word: &&Vec<u8>| {
        !words
            .iter()
            .any(|it| it.len() < word.len() && has(word, it))
    };
    words.iter().filter(is_needed).cloned().collect()
}

/// What `src/needs.txt` is to say: a line for each rule that has an expression.
fn table() -> String {
    let mut table = String::new();
    for rule in &runs::rules() {
        let Some(expression) = &rule.regex else {
            continue;
        };
        let expression = &amended(&rule.id, expression);
        let mut fields = vec![rule.id.clone()];
        fields.extend(runs::needed(expression).map(|it| it.to_string()));
        fields.extend(cut(rule, expression));
        let is_field = |it: &String| !it.contains(['\t', '\n']);
        assert!(fields.iter().all(is_field), "{fields:?}");
        let _ = writeln!(table, "{}", fields.join("\t"));
    }
    table
}

/// The words for `rule` that are cut out of its expression; none where its own are in all that it
/// finds.
fn cut(rule: &RuleConfig, expression: &str) -> Vec<String> {
    let by_hand = BY_HAND.iter().find(|it| it.0 == rule.id);
    let by_hand = by_hand.map(|it| it.1.iter().map(|it| it.as_bytes().to_vec()).collect());
    let group = rule.secret_group.filter(|it| *it > 0).unwrap_or(1);
    let group = u32::try_from(group).expect("there are few");
    let is_cut = !BY_VENDOR.contains(&rule.id.as_str());
    let words = by_hand.or_else(|| words(expression, group).filter(|_| is_cut));
    let text = |it| String::from_utf8(it).expect("rules are in ASCII");
    let words: Vec<String> = words.into_iter().flatten().map(text).collect();
    let is_own = |word: &String| {
        let mut own = rule.keywords.iter();
        own.any(|it| word.contains(&it.to_lowercase()))
    };
    if words.iter().all(is_own) {
        Vec::new()
    } else {
        words
    }
}

/// `CTX_WRITE_NEEDS=1 cargo test -p ctx-secrets needs` writes them.
#[test]
fn the_needs_of_rules_are_those_of_their_expressions() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/needs.txt");
    let table = table();
    if std::env::var_os("CTX_WRITE_NEEDS").is_some() {
        std::fs::write(path, &table).expect("it can be written");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), table);
}

/// What is known of the matches of an expression.
struct Known {
    /// All that they may be, where that is little.
    all: Option<Words>,
    /// Of these each has one in it.
    needed: Option<Words>,
}

impl Known {
    fn nothing() -> Self {
        Known {
            all: None,
            needed: None,
        }
    }

    fn all(words: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Known {
            all: Some(words.into_iter().collect()),
            needed: None,
        }
    }

    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Known::all([Vec::new()]),
            HirKind::Literal(literal) => Known::all([literal.0.to_ascii_lowercase()]),
            HirKind::Class(class) => Known::of_class(class),
            HirKind::Capture(capture) => Known::of(&capture.sub),
            HirKind::Repetition(repeated) => {
                let of = Known::of(&repeated.sub);
                match (repeated.min, repeated.max) {
                    (0, Some(1)) => Known {
                        all: of.all.map(|mut all| {
                            all.insert(Vec::new());
                            all
                        }),
                        needed: None,
                    },
                    (0, _) => Known::nothing(),
                    (1, Some(1)) => of,
                    (min, max) => {
                        let mut sequence = Sequence::new();
                        for _ in 0..min.min(LONGEST) {
                            sequence.push(of.all.clone(), None);
                        }
                        sequence.propose(of.needed);
                        let known = sequence.known();
                        if max == Some(min) && min <= LONGEST {
                            return known;
                        }
                        Known {
                            needed: known.best(),
                            all: None,
                        }
                    }
                }
            }
            HirKind::Concat(parts) => {
                let mut sequence = Sequence::new();
                for part in parts {
                    let known = Known::of(part);
                    sequence.propose(sequence.with_each(part));
                    sequence.push(known.all, known.needed);
                }
                sequence.known()
            }
            HirKind::Alternation(parts) => {
                let known: Vec<Known> = parts.iter().map(Known::of).collect();
                let all = known.iter().map(|it| it.all.clone());
                let all: Option<Vec<Words>> = all.collect();
                let all = all.map(union).filter(|it| it.len() <= MOST);
                let needed: Option<Vec<Words>> = known.into_iter().map(Known::best).collect();
                Known {
                    all,
                    needed: needed.map(union).filter(|it| it.len() <= MOST),
                }
            }
        }
    }

    fn of_class(class: &Class) -> Self {
        let Class::Bytes(class) = class else {
            return Known::nothing();
        };
        let bytes = class.ranges().iter();
        let bytes = bytes.flat_map(|it| it.start()..=it.end());
        let all: Words = bytes.map(|it| vec![it.to_ascii_lowercase()]).collect();
        Known {
            all: Some(all).filter(|it| it.len() <= MOST_OF_CLASS),
            needed: None,
        }
    }

    /// Those of the words for it that tell most.
    fn best(self) -> Option<Words> {
        better(self.all, self.needed)
    }
}

/// Expressions one after the other.
struct Sequence {
    /// What the last of them may be together.
    run: Words,
    /// Whether that is all there is.
    is_whole: bool,
    best: Option<Words>,
}

impl Sequence {
    fn new() -> Self {
        Sequence {
            run: Words::from([Vec::new()]),
            is_whole: true,
            best: None,
        }
    }

    fn push(&mut self, all: Option<Words>, needed: Option<Words>) {
        self.propose(needed);
        match all {
            Some(all) => {
                let is_short = |it: &Words| it.iter().all(|it| it.len() <= LONGEST as usize);
                if self.run.len() * all.len() > MOST || !is_short(&self.run) {
                    self.end_run();
                }
                let ends = |start: &Vec<u8>| {
                    all.iter()
                        .map(|end| [&start[..], end].concat())
                        .collect::<Vec<_>>()
                };
                self.run = self.run.iter().flat_map(ends).collect();
            }
            None => self.end_run(),
        }
    }

    /// What `part` needs behind the run, where it is one of several: how they begin alike stands
    /// before them.
    fn with_each(&self, part: &Hir) -> Option<Words> {
        match part.kind() {
            HirKind::Capture(capture) => self.with_each(&capture.sub),
            HirKind::Alternation(parts) => {
                let of = |it: &Hir| {
                    let (run, best) = (self.run.clone(), None);
                    let mut sequence = Sequence {
                        run,
                        is_whole: false,
                        best,
                    };
                    let subs = match it.kind() {
                        HirKind::Concat(subs) => subs,
                        _ => std::slice::from_ref(it),
                    };
                    for sub in subs {
                        let known = Known::of(sub);
                        sequence.push(known.all, known.needed);
                    }
                    sequence.known().best()
                };
                let needed: Option<Vec<Words>> = parts.iter().map(of).collect();
                needed.map(union).filter(|it| it.len() <= MOST)
            }
            _ => None,
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::replace(&mut self.run, Words::from([Vec::new()]));
        self.propose(Some(run));
        self.is_whole = false;
    }

    fn propose(&mut self, words: Option<Words>) {
        self.best = better(self.best.take(), words);
    }

    fn known(mut self) -> Known {
        if self.is_whole {
            return Known {
                all: Some(self.run),
                needed: self.best,
            };
        }
        self.end_run();
        Known {
            all: None,
            needed: self.best,
        }
    }
}

fn union(all: Vec<Words>) -> Words {
    all.into_iter().flatten().collect()
}

fn better(one: Option<Words>, other: Option<Words>) -> Option<Words> {
    let key = |it: &Words| (worth(it).min(8), Reverse(it.len()), worth(it));
    match (one, other) {
        (Some(one), Some(other)) if key(&other) > key(&one) => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

/// How much the word tells that tells least: the letters of it that are no general words.
fn worth(words: &Words) -> usize {
    words.iter().map(|it| telling(it)).min().unwrap_or(0)
}

fn telling(word: &[u8]) -> usize {
    let parts = word.split(|it| !it.is_ascii_alphanumeric());
    let is_general = |part: &&[u8]| GENERAL.iter().any(|it| it.as_bytes() == *part);
    let general: usize = parts.filter(is_general).map(<[u8]>::len).sum();
    let is_any = word.iter().all(|it| !it.is_ascii_alphanumeric());
    if is_any { 0 } else { word.len() - general }
}
