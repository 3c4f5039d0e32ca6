//! The citations of an answer: found, and held against what was shown.

use std::fmt::Write as _;

use ctx_model::LineSpan;

use crate::brackets::{Cite, Lines, Reader, Unclosed, parts};
use crate::cited::Cited;
use crate::known::Known;
use crate::label::is_label;
use crate::lines::ends;
use crate::mark::{Mark, Resolved, Verdict};
use crate::quote::Quote;

/// Tells a model how to cite: a sentence for the header of a context or a system prompt.
pub const CITING: &str = "Cite what you use by its id in square brackets, as in [fil-9f2a1c], or with lines, as \
                          in [fil-9f2a1c:10-12]. Put words that you quote between quotation marks right before it.";

/// Finds the citations of `answer` among `citations`: ids between brackets, alone or in a list,
/// each with or without lines; lines in a list belong to the id before them. O(bytes of the answer
/// and of the sources): quotations are looked for in at most 64 times those bytes, enough for 64
/// different ones that each take all sources, or 32 of prose; the rest is [`Verdict::Unchecked`].
/// So are quotations once four times the bytes of the answer and 1 MiB of them are kept: many
/// citations may follow the same words, and each has them.
///
/// An id that is none of theirs is unknown where it has the form of a label ([`is_label`]). Other
/// words between brackets are text; so is what is between round ones, but for labels that are
/// theirs.
pub fn resolve(answer: &str, citations: &[Cited]) -> Resolved {
    resolve_while(answer, citations, || true).unwrap_or_default()
}

/// The same, as long as it `is_awaited`, which is asked at each citation and every 256 KiB of a
/// source; `None` once it is not.
pub fn resolve_while(
    answer: &str,
    citations: &[Cited],
    is_awaited: impl Fn() -> bool,
) -> Option<Resolved> {
    resolved(answer, &Known::new(answer, citations, &is_awaited))
}

fn resolved(answer: &str, known: &Known<'_>) -> Option<Resolved> {
    let mut resolved = Resolved::default();
    let is_known = |id: &str| known.of(id).is_some();
    let reader = Reader {
        text: answer,
        is_known: &is_known,
    };
    let parts = parts(answer, Unclosed::Text);
    for list in parts.chunk_by(|a, b| a.open == b.open) {
        let (mut cites, mut before) = (Vec::new(), None);
        for part in list {
            if !(known.is_awaited)() {
                return None;
            }
            for cite in reader.read(part, before) {
                // What is no id leads no list.
                if is_known(cite.id) || is_label(cite.id) {
                    before = Some(cite.id);
                }
                cites.push(cite);
            }
        }
        for cite in &cites {
            let used = known.of(cite.id).map(|it| &it.id);
            if let Some(id) = used.filter(|id| !resolved.used.contains(id)) {
                resolved.used.push(id.clone());
            }
            let mark = mark(&answer[..list[0].open], cite, &cites, known);
            resolved.marks.push(mark);
        }
    }
    resolved.text = marked(answer, &resolved.marks);
    // The last source may have been read in part.
    (known.is_awaited)().then_some(resolved)
}

/// `answer` with what is wrong with each of `marks` behind it.
fn marked(answer: &str, marks: &[Mark]) -> String {
    let (mut text, mut from) = (String::with_capacity(answer.len()), 0);
    for mark in marks.iter().filter(|it| it.verdict != Verdict::Sound) {
        text.push_str(&answer[from..mark.range.end]);
        from = mark.range.end;
        let _ = write!(text, ": {}", mark.verdict.words());
    }
    text.push_str(&answer[from..]);
    text
}

/// What is said of `cite`, one of `list` in brackets after `before`.
fn mark(before: &str, cite: &Cite<'_>, list: &[Cite<'_>], known: &Known<'_>) -> Mark {
    let mark = Mark {
        range: cite.range.clone(),
        id: cite.id.to_owned(),
        lines: cite.lines.span().map(ends),
        quote: None,
        verdict: Verdict::Malformed,
    };
    if cite.lines == Lines::Malformed {
        return mark;
    }
    let quote = match known.of(cite.id) {
        Some(_) if !cite.is_more => known.quote(before),
        _ => Quote::Nothing,
    };
    judged(mark, cite, list, quote, known)
}

/// `mark`, with what is to be said of `cite`, one of `list`, and of the `quote` before that.
fn judged(
    mut mark: Mark,
    cite: &Cite<'_>,
    list: &[Cite<'_>],
    quote: Quote,
    known: &Known<'_>,
) -> Mark {
    let span = cite.lines.span();
    mark.verdict = match (known.of(cite.id), &quote) {
        (None, _) => Verdict::Unknown,
        (Some(cited), quote) if cited.shown.is_unknown => match (span, quote) {
            (None, Quote::Nothing) => Verdict::Sound,
            _ => Verdict::Unchecked,
        },
        (Some(cited), _) if span.is_some_and(|it| !cited.shown.has(it)) => Verdict::OutOfRange,
        (_, Quote::Nothing) => Verdict::Sound,
        (Some(cited), Quote::Words(quote)) => {
            // It may be in any lines that the list cites of the source.
            let same = list.iter().filter(|it| span.is_some() && it.id == cite.id);
            let lines = same.filter_map(|it| it.lines.span());
            let lines: Vec<LineSpan> = lines.filter(|it| cited.shown.has(*it)).collect();
            known.verdict(cite.id, quote, &lines)
        }
        (_, Quote::TooMuch) => Verdict::Unchecked,
    };
    if let Quote::Words(quote) = quote {
        mark.quote = Some(quote);
    }
    mark
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ctx_assemble::{Control, assemble};
    use ctx_model::{BuildOptions, Chunk, Relevance};

    use super::*;
    use crate::brackets::LONGEST_LIST;
    use crate::known::{KEPT, KEPT_BESIDES, LOOKS};
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
        let resolved = resolved(&answer, &known).unwrap();
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
    fn what_is_kept_of_quotations_grows_as_the_answer_does() {
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
        assert_eq!(resolve_while(&answer, &cited, wanted), None);
        assert_eq!(asked.get(), 11);
        let all = resolve_while(&answer, &cited, || true).unwrap();
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
            let is_there = resolve_while(&answer, &cited, wanted).is_some();
            (is_there, asked.get())
        };
        let (is_there, all) = asked_until(usize::MAX);
        assert!(is_there && all >= 16, "{all}");
        // Once more at the end, whether what was read is all.
        assert_eq!(asked_until(4), (false, 6));
    }
}
