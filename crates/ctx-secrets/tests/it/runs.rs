//! The least length of runs in a text that an expression can match, derived from the expression
//! itself.

use fastrand::Rng;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use secrets_scanner::rules::BUNDLED_RULES;
use secrets_scanner::{RuleConfig, RulesetConfig};

use crate::amended::amended;

/// The rules of the bundle, and those of this crate.
pub(crate) fn rules() -> Vec<RuleConfig> {
    let own = include_str!("../../src/own.toml");
    let read = |it| toml::from_str::<RulesetConfig>(it).expect("they are rules");
    let all = [BUNDLED_RULES, own].into_iter();
    all.flat_map(|it| read(it).rules).collect()
}

/// No longer run is asked for, in bytes.
const MOST: u32 = 255;

/// The longest runs that each match of `expression` has in it: of letters and digits, and of those
/// with `_` and `-`.
pub(crate) fn needed(expression: &str) -> [usize; 2] {
    let parsed = parsed(expression);
    KINDS.map(|is| parsed.as_ref().map_or(0, |it| run(it, &is).within))
}

/// The kinds of bytes that runs are of.
const KINDS: [fn(u8) -> bool; 2] = [
    |byte| byte.is_ascii_alphanumeric(),
    |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
];

/// As rules are compiled: over bytes.
fn parsed(expression: &str) -> Option<Hir> {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
    parser.parse(expression).ok()
}

/// What each match of an expression has of bytes of a kind: at least so many.
#[derive(Clone, Copy, Default)]
struct Run {
    /// In a match that has no others, if none has others.
    whole: Option<usize>,
    /// Where it begins.
    before: usize,
    /// Where it ends.
    behind: usize,
    /// Anywhere in a row.
    within: usize,
}

impl Run {
    fn whole(bytes: usize) -> Self {
        let bytes = bytes.min(MOST as usize);
        Run {
            whole: Some(bytes),
            before: bytes,
            behind: bytes,
            within: bytes,
        }
    }

    fn then(self, next: Run) -> Run {
        let sum = |one: usize, other: usize| (one + other).min(MOST as usize);
        let whole = self
            .whole
            .zip(next.whole)
            .map(|(one, other)| sum(one, other));
        let before = self.whole.map_or(self.before, |it| sum(it, next.before));
        let behind = next.whole.map_or(next.behind, |it| sum(self.behind, it));
        let over = sum(self.behind, next.before);
        let within = over.max(self.within).max(next.within);
        Run {
            whole,
            before,
            behind,
            within,
        }
    }

    fn or(self, other: Run) -> Run {
        let whole = self.whole.zip(other.whole);
        Run {
            whole: whole.map(|(one, other)| one.min(other)),
            before: self.before.min(other.before),
            behind: self.behind.min(other.behind),
            within: self.within.min(other.within),
        }
    }
}

fn run(hir: &Hir, is: &dyn Fn(u8) -> bool) -> Run {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Run::whole(0),
        HirKind::Literal(literal) => {
            let bytes = literal.0.iter();
            let runs = bytes.map(|it| {
                if is(*it) {
                    Run::whole(1)
                } else {
                    Run::default()
                }
            });
            runs.fold(Run::whole(0), Run::then)
        }
        HirKind::Class(class) => {
            let Class::Bytes(class) = class else {
                return Run::default();
            };
            let mut ranges = class.ranges().iter();
            let is_all = ranges.all(|it| (it.start()..=it.end()).all(is));
            if is_all {
                Run::whole(1)
            } else {
                Run::default()
            }
        }
        HirKind::Capture(capture) => run(&capture.sub, is),
        HirKind::Repetition(repeated) => {
            let of = run(&repeated.sub, is);
            let times = repeated.min.min(MOST);
            let least = (0..times).fold(Run::whole(0), |sum, _| sum.then(of));
            // Of more there are no fewer, but what is no run may stand between.
            let more = (repeated.max != Some(repeated.min)).then(|| least.then(of));
            more.map_or(least, |more| least.or(more))
        }
        HirKind::Concat(parts) => {
            let runs = parts.iter().map(|it| run(it, is));
            runs.fold(Run::whole(0), Run::then)
        }
        HirKind::Alternation(parts) => {
            let runs = parts.iter().map(|it| run(it, is));
            runs.reduce(Run::or).unwrap_or_default()
        }
    }
}

#[track_caller]
fn check(expression: &str, expected: [usize; 2]) {
    assert_eq!(needed(expression), expected, "{expression}");
}

#[test]
fn a_run_is_what_each_match_has() {
    check("", [0, 0]);
    check("abc", [3, 3]);
    check("re_[A-Za-z0-9]{8}_[a-z]{24,}", [24, 36]);
    check("a{3}|b{5}-", [3, 3]);
    check("(?:ab|cd){2}", [4, 4]);
    check("(?:ab-?){2}", [2, 4]);
    check("(?:a,b)+", [1, 1]);
    check("(?:aa,bb){2}", [4, 4]);
    check("(?:aa,bb){1,2}", [2, 2]);
    check("(?:abc)?[0-9]{4}", [4, 4]);
    check("(?:,)?[0-9]{4}", [4, 4]);
    check("a[^a]{9}a", [1, 1]);
    check("a\\b[0-9]{4}", [5, 5]);
    check("(?i)key[ =]{1,4}([0-9a-f]{32})", [32, 32]);
}

/// Writes something that `hir` matches, but for what it wants around that, which adds nothing to
/// it.
fn sample(hir: &Hir, random: &mut Rng, into: &mut Vec<u8>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Unicode(_)) => {}
        HirKind::Literal(literal) => into.extend(&literal.0),
        HirKind::Class(Class::Bytes(class)) => {
            if let Some(range) = random.choice(class.ranges()) {
                into.push(random.u8(range.start()..=range.end()));
            }
        }
        HirKind::Capture(capture) => sample(&capture.sub, random, into),
        HirKind::Repetition(repeated) => {
            let most = repeated.max.unwrap_or(u32::MAX);
            let most = most.min(repeated.min + 3);
            for _ in 0..random.u32(repeated.min..=most) {
                sample(&repeated.sub, random, into);
            }
        }
        HirKind::Concat(parts) => parts.iter().for_each(|it| sample(it, random, into)),
        HirKind::Alternation(parts) => {
            if let Some(part) = random.choice(parts) {
                sample(part, random, into);
            }
        }
    }
}

#[test]
fn no_match_of_a_rule_has_a_shorter_run_than_it_needs() {
    let mut random = Rng::with_seed(7);
    let mut needing = 0;
    for rule in &rules() {
        let Some(expression) = &rule.regex else {
            continue;
        };
        let expression = &amended(&rule.id, expression);
        let needed = needed(expression);
        needing += usize::from(needed[1] >= 16);
        let parsed = parsed(expression).expect("it is understood");
        for _ in 0..32 {
            let mut text = Vec::new();
            sample(&parsed, &mut random, &mut text);
            let longest = KINDS.map(|is| {
                let runs = text.split(|it| !is(*it)).map(<[u8]>::len);
                runs.max().unwrap_or(0)
            });
            let said = String::from_utf8_lossy(&text);
            let is_long = longest.iter().zip(needed).all(|(has, needs)| *has >= needs);
            assert!(is_long, "{}: {needed:?}: {said}", rule.id);
        }
    }
    assert!(needing > 700, "{needing}");
}
