//! Laws of `ctx_tokens::TokenCounter`, and the texts for them.

use std::fmt::Debug;
use std::sync::Arc;

use ctx_model::Tokens;
use ctx_tokens::{Additivity, Tally, TokenCounter, is_safe_joint};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;

use super::run;

/// The least number of texts for each law; `PROPTEST_CASES` may ask for more.
const CASES: u32 = 512;

/// Checks that `counter` keeps the promises of [`TokenCounter`], on the same texts each time:
///
/// * it returns the same count for the same text each time, on another thread too;
/// * the empty text has weight zero and no tokens;
/// * a weight determines the count: `count_of(weigh(text)) == count(text)`;
/// * a text has the same weight whether or not it is expected to come again;
/// * `count_up_to` equals `count` within the limit, and is `None` above it;
/// * text of weight at most `weight_bounds(limit).safe` fits in `limit`, and text that fits has
///   weight at most `weight_bounds(limit).loose`;
/// * at safe joints weights add up, if the counter says so;
/// * references, boxes and arcs of it behave like the counter.
///
/// # Panics
/// If a law does not hold, with the smallest text found for which it does not.
pub fn token_counter<C: TokenCounter + ?Sized>(counter: &C) {
    empty_text_is_free(counter);
    let mut texts = Vec::new();
    on_texts(|text| {
        counts(counter, text);
        texts.push(text.to_owned());
    });
    says_the_same_elsewhere(counter, &texts);
    if counter.additivity() == Additivity::AtSafeJoints {
        let joints = (text(), vec(select(BLANKS), 0..3), text());
        on_each(&joints, |(left, blank, right)| {
            let left = left + "\n";
            let right = blank.concat() + &right;
            adds_up(counter, &left, &right);
        });
    }
}

/// Checks the promises about one text: all those of [`token_counter`] but for other threads and
/// joints.
///
/// # Panics
/// If one does not hold.
#[track_caller]
pub fn counts<C: TokenCounter + ?Sized>(counter: &C, text: &str) {
    is_deterministic(counter, text);
    weight_decides_count(counter, text);
    limits_are_kept(counter, text);
    weights_are_bounded(counter, text);
    forwarded(counter, text);
}

/// Checks that weights add up where `left` and `right` join safely.
///
/// # Panics
/// If they do not.
#[track_caller]
pub fn adds_up<C: TokenCounter + ?Sized>(counter: &C, left: &str, right: &str) {
    if !is_safe_joint(left, right) {
        return;
    }
    let whole = [left, right].concat();
    assert_eq!(
        counter.weigh(&whole),
        counter.weigh(left) + counter.weigh(right),
        "{left:?} and {right:?}"
    );
}

/// Checks that a [`Tally`] of `pieces` equals a recount of all so far at every step.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn tallies<C: TokenCounter + ?Sized, S: AsRef<str> + Debug>(counter: &C, pieces: &[S]) {
    let mut tally = Tally::new(counter);
    let mut whole = String::new();
    let name = counter.name();
    for piece in pieces {
        tally.push(piece.as_ref());
        whole.push_str(piece.as_ref());
        assert_eq!(
            tally.weight(),
            counter.weigh(&whole),
            "{name} of {pieces:?}"
        );
        assert_eq!(
            tally.tokens(),
            counter.count(&whole),
            "{name} of {pieces:?}"
        );
    }
}

/// Checks that `text` has as many tokens as the reference says: `expected`.
///
/// # Panics
/// If it has not.
#[track_caller]
pub fn equals<C: TokenCounter + ?Sized>(counter: &C, text: &str, expected: u64) {
    let (name, found) = (counter.name(), counter.weigh(text));
    assert!(
        found == expected,
        "{name} is {found}, not {expected}, of {:?}",
        text.chars().take(2_000).collect::<String>()
    );
}

/// Runs `check` on texts that are hard for tokenizers, the same ones each time: scripts, white
/// space of every kind, line breaks, contractions, slashes, marks, surrogate pairs, long runs.
///
/// # Panics
/// If `check` does, with the smallest text found for which it does.
pub fn on_texts(mut check: impl FnMut(&str)) {
    on_each(&text(), |text| check(&text));
}

/// Runs `check` on texts cut at random into pieces, always between characters.
///
/// # Panics
/// If `check` does, with the smallest pieces found for which it does.
pub fn on_cut_texts(mut check: impl FnMut(&[String])) {
    let pieces = vec(prop_oneof![3 => fragment(), 1 => text()], 0..12);
    on_each(&pieces, |pieces| check(&pieces));
}

fn on_each<S: Strategy>(strategy: &S, mut check: impl FnMut(S::Value)) {
    run::run(CASES, strategy, |value| {
        check(value);
        Ok(())
    });
}

fn empty_text_is_free<C: TokenCounter + ?Sized>(counter: &C) {
    assert_eq!(
        counter.count(""),
        Tokens::ZERO,
        "the empty text costs nothing"
    );
    assert_eq!(counter.weigh(""), 0, "the empty text weighs nothing");
    assert_eq!(counter.count_of(0), Tokens::ZERO, "no weight costs nothing");
}

fn is_deterministic<C: TokenCounter + ?Sized>(counter: &C, text: &str) {
    let said = said(counter, text);
    assert_eq!(self::said(counter, text), said, "{text:?}, again");
}

fn says_the_same_elsewhere<C: TokenCounter + ?Sized>(counter: &C, texts: &[String]) {
    let here: Vec<_> = texts.iter().map(|it| said(counter, it)).collect();
    let there = std::thread::scope(|scope| {
        let there =
            scope.spawn(|| -> Vec<_> { texts.iter().map(|it| said(counter, it)).collect() });
        there.join()
    });
    let there = there.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    for (text, (here, there)) in texts.iter().zip(here.into_iter().zip(there)) {
        assert_eq!(there, here, "{text:?}, on another thread");
    }
}

fn said<C: TokenCounter + ?Sized>(counter: &C, text: &str) -> (Tokens, u64) {
    (counter.count(text), counter.weigh(text))
}

fn weight_decides_count<C: TokenCounter + ?Sized>(counter: &C, text: &str) {
    let count = counter.count(text);
    let weight = counter.weigh(text);
    assert_eq!(
        counter.count_of(weight),
        count,
        "weight {weight} of {text:?}"
    );
    assert_eq!(counter.weigh_once(text), weight, "{text:?}, once");
}

fn limits_are_kept<C: TokenCounter + ?Sized>(counter: &C, text: &str) {
    for limit in limits_near(counter.count(text)) {
        let expected = Some(counter.count(text)).filter(|&n| n <= limit);
        assert_eq!(
            counter.count_up_to(text, limit),
            expected,
            "up to {limit} of {text:?}"
        );
    }
}

fn weights_are_bounded<C: TokenCounter + ?Sized>(counter: &C, text: &str) {
    let (count, weight) = (counter.count(text), counter.weigh(text));
    for limit in limits_near(count) {
        let bounds = counter.weight_bounds(limit);
        assert!(
            weight > bounds.safe || count <= limit,
            "{text:?} weighs {weight} of the safe {}, and needs {count} of {limit}",
            bounds.safe
        );
        assert!(
            count > limit || weight <= bounds.loose,
            "{text:?} needs {count} of {limit}, and weighs {weight} of the loose {}",
            bounds.loose
        );
    }
}

fn forwarded<C: TokenCounter + ?Sized>(counter: &C, text: &str) {
    same(counter, &counter, text);
    same(counter, &Box::new(counter), text);
    same(counter, &Arc::new(counter), text);
}

fn same<C: TokenCounter + ?Sized>(counter: &C, pointer: &dyn TokenCounter, text: &str) {
    let count = counter.count(text);
    assert_eq!(pointer.count(text), count);
    assert_eq!(pointer.count_up_to(text, count), Some(count));
    assert_eq!(pointer.weigh(text), counter.weigh(text));
    assert_eq!(pointer.weigh_once(text), counter.weigh_once(text));
    assert_eq!(pointer.count_of(counter.weigh(text)), count);
    assert_eq!(pointer.weight_bounds(count), counter.weight_bounds(count));
    assert_eq!(pointer.additivity(), counter.additivity());
    assert_eq!(pointer.exactness(), counter.exactness());
    assert_eq!(pointer.name(), counter.name());
}

fn limits_near(count: Tokens) -> [Tokens; 5] {
    let n = count.get();
    [0, n / 2, n.saturating_sub(1), n, n + 1].map(Tokens::new)
}

const BLANKS: &[&str] = &[" ", "  ", "\t", "\u{a0}", "\u{3000}"];

/// Texts that tokenizers treat specially.
const FRAGMENTS: &[&str] = &[
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    " \n",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{2029}",
    "\u{3000}",
    "\u{200b}",
    "\u{feff}",
    "/",
    "//",
    "/\n",
    "'",
    "'s",
    "'S",
    "'re",
    "'VE",
    "'ll",
    "'lL",
    "'d",
    "'\u{17f}",
    "'x",
    "\u{2019}s",
    "a",
    "A",
    "the",
    "The",
    "THE",
    "getUserById",
    "snake_case",
    "HTTPServer",
    "0",
    "12",
    "1234567",
    "\u{663}",
    "\u{bd}",
    "\u{2167}",
    "\u{301}",
    "e\u{301}",
    "\u{20dd}",
    "\u{1c5}",
    "\u{2b0}",
    "\u{aa}",
    "\u{130}",
    "\u{df}",
    "\u{3bb}",
    "\u{416}\u{438}",
    "\u{4e2d}\u{6587}",
    "\u{3042}",
    "\u{d55c}",
    "\u{628}\u{64e}",
    "\u{915}\u{94d}\u{937}",
    "\u{1f980}",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{1d400}",
    "\u{10400}",
    "{",
    "}",
    "();",
    "=>",
    "...",
    "--",
    "<|endoftext|>",
    "<|im_start|>",
    "```",
    "\0",
    "\u{1b}[0m",
    "\u{202e}",
    "\u{e0041}",
    "\u{fffd}",
    "\u{10ffff}",
];

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(FRAGMENTS).prop_map(str::to_owned),
        2 => any::<char>().prop_map(String::from),
        1 => (select(FRAGMENTS), 2..90_usize).prop_map(|(text, times)| text.repeat(times)),
        1 => Just("words between, as people write them".to_owned()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    vec(fragment(), 0..24).prop_map(|fragments| fragments.concat())
}
