use std::cell::Cell;

use ctx_assemble::{Control, assemble};
use ctx_model::{BuildOptions, Chunk, Relevance};

use super::*;
use crate::known::{KEPT, KEPT_BESIDES, LOOKS};
use crate::lists::LONGEST_LIST;
use crate::shown::Shown;

/// A source that shows `text`.
fn source(text: &str) -> Vec<Cited> {
    let chunk = [Chunk::new("a", "text", Relevance::ONE)];
    let (options, control) = (BuildOptions::default(), Control::default());
    let built = assemble(&chunk, &options, &ctx_tokens::Words, &control).unwrap();
    let mut cited = Cited::of(&built, &chunk);
    cited[0].shown = Shown::whole(text, None);
    cited
}

/// `marks` citations of a source of `bytes`, each with the quotation of its number; what is
/// said of them, and how many bytes of the source were looked through.
fn looked_through(
    marks: usize,
    bytes: usize,
    quote: impl Fn(usize) -> String,
) -> (Vec<Verdict>, usize) {
    let cited = source(&"x".repeat(bytes));
    let marks = (0..marks).map(|at| format!("\"{}\"[{}]", quote(at), cited[0].id));
    let answer: String = marks.collect();
    let known = Known::new(&answer, &cited, &|| true);
    let before = known.left.get();
    let resolved = resolved(&answer, &known, &|_| false).unwrap();
    let verdicts = resolved.marks.iter().map(|it| it.verdict).collect();
    (verdicts, before - known.left.get())
}

#[test]
fn a_quotation_is_looked_for_once_however_often_it_stands_there() {
    for n in [1, 2, 4] {
        let (verdicts, bytes) = looked_through(n * 500, n * 10_000, |_| "a b c".to_owned());
        assert_eq!(verdicts, vec![Verdict::Misquoted; n * 500]);
        assert_eq!(bytes, n * 10_000);
    }
}

#[test]
fn many_quotations_of_much_cost_no_more_than_a_multiple_of_both() {
    let costs = [1, 2, 4].map(|n| {
        let (verdicts, bytes) = looked_through(n * 500, n * 10_000, |at| format!("a b {at}"));
        let checked = verdicts.iter().take_while(|it| **it == Verdict::Misquoted);
        let checked = checked.count();
        assert!(checked >= LOOKS && checked < verdicts.len());
        let rest = &verdicts[checked..];
        assert!(rest.iter().all(|it| *it == Verdict::Unchecked));
        bytes
    });
    // As the answer and the source; were all looked for, it would be four times as much at each
    // step.
    assert!(
        costs[1] < costs[0] * 9 / 4 && costs[2] < costs[1] * 9 / 4,
        "{costs:?}"
    );
}

/// Each mark ends one block of quotation more than the one before it, and has all of that for
/// its words.
#[test]
fn kept_quotations_are_bounded_by_a_multiple_of_the_answer() {
    let cited = source("a b c");
    for n in [100, 1_000, 10_000] {
        let answer = format!("> [{}]\n", cited[0].id).repeat(n);
        let resolved = resolve(&answer, &cited);
        assert_eq!(resolved.marks.len(), n);
        let kept = |it: &Mark| it.quote.as_ref().map_or(0, String::len);
        let kept: usize = resolved.marks.iter().map(kept).sum();
        assert!(kept <= answer.len() * KEPT + KEPT_BESIDES, "{n}: {kept}");
        let quoted = resolved.marks.iter().filter(|it| it.quote.is_some());
        assert!(quoted.count() + 3 >= n.min(100), "{n}");
        let rest = resolved.marks.iter().skip(3);
        let rest = rest.filter(|it| it.quote.is_none());
        assert!(rest.clone().all(|it| it.verdict == Verdict::Unchecked));
        assert_eq!(rest.count() > 0, n > 100, "{n}");
    }
}

#[test]
fn a_long_quotation_is_kept_of_each_label_of_a_list() {
    let text = "many words ".repeat(360);
    let cited = source(&text);
    let most = LONGEST_LIST / (cited[0].id.len() + 1);
    let list = vec![&*cited[0].id; most].join(",");
    let resolved = resolve(&format!("\"{text}\" [{list}]"), &cited);
    assert_eq!(resolved.marks.len(), most);
    let is_sound = |it: &Mark| it.verdict == Verdict::Sound && it.quote.is_some();
    assert!(resolved.marks.iter().all(is_sound));
}

#[test]
fn an_answer_that_nobody_waits_for_is_looked_through_no_further() {
    let cited = source("a b c");
    let answer = format!("\"a b c\"[{}]", cited[0].id).repeat(100);
    let asked = Cell::new(0);
    let wanted = || {
        asked.set(asked.get() + 1);
        asked.get() <= 10
    };
    let options = ResolveOptions::default().while_awaited(&wanted);
    assert_eq!(resolve_with(&answer, &cited, &options), None);
    assert_eq!(asked.get(), 11);
    let all = resolve(&answer, &cited);
    assert_eq!(all.marks.len(), 100);
}

#[test]
fn a_long_source_that_nobody_waits_for_is_read_no_further() {
    let cited = source(&"x y ".repeat(1 << 20));
    let answer = format!("\"a b c\"[{}]", cited[0].id);
    let asked_until = |most: usize| {
        let asked = Cell::new(0);
        let wanted = || {
            asked.set(asked.get() + 1);
            asked.get() <= most
        };
        let options = ResolveOptions::default().while_awaited(&wanted);
        let is_there = resolve_with(&answer, &cited, &options).is_some();
        (is_there, asked.get())
    };
    let (is_there, all) = asked_until(usize::MAX);
    assert!(is_there && all >= 16, "{all}");
    // Once more at the end, whether what was read is all.
    assert_eq!(asked_until(4), (false, 6));
}
