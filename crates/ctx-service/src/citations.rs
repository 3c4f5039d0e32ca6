//! What an answer cites, and whether it may.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use ctx_format::{Slot, neutralise};
use serde::Serialize;

use crate::cited::{Cited, ends};
use crate::label::{is_label, resembles_label};
use crate::mention::lines_of;

/// No list of labels between brackets is longer, in bytes.
const LONGEST_LIST: usize = 400;
/// So far before a citation its quotation begins at most, in bytes.
const LONGEST_QUOTE: usize = 4_000;
/// So many times the bytes of the answer and of all sources are looked through for quotations.
const LOOKS: usize = 64;
/// Fewer words between quotation marks are a name or irony.
const FEWEST_WORDS: usize = 3;

/// Tells a model how to cite: a sentence for the header of a context or a system prompt.
pub const CITING: &str = "Cite what you use by its id in square brackets, as in [fil-9f2a1c], or with lines, as \
                          in [fil-9f2a1c:10-12]. Put words that you quote between quotation marks right before it.";

/// What is wrong with a citation, if anything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing.
    Sound,
    /// The context has no source of that id.
    Unknown,
    /// It is no id.
    Malformed,
    /// The context does not show those lines of the source.
    OutOfRange,
    /// The words quoted before it are not among those that the context shows of the source.
    Misquoted,
    /// The answer quotes so much that these words were not looked for.
    Unchecked,
}

impl Verdict {
    /// What a mark says, after a colon.
    fn words(self) -> &'static str {
        match self {
            Verdict::Sound => "",
            Verdict::Unknown => "unknown",
            Verdict::Malformed => "malformed",
            Verdict::OutOfRange => "no such lines",
            Verdict::Misquoted => "not a quotation",
            Verdict::Unchecked => "not checked",
        }
    }
}

/// One citation of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Mark {
    /// Where it stands in the answer, in bytes, without its brackets.
    pub range: Range<usize>,
    /// The id, as it is written.
    pub id: String,
    /// The lines, where some are cited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// The words quoted right before it, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// What is wrong with it.
    pub verdict: Verdict,
}

/// An answer, with what it cites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resolved {
    /// The answer. Sound citations stand as they stood; the others say what is wrong with them:
    /// `[fil-000000: unknown]`.
    pub text: String,
    /// The ids of the sources cited, each once, in the order they are first cited.
    pub used: Vec<String>,
    /// Every citation, in order.
    pub marks: Vec<Mark>,
}

impl Resolved {
    /// The citations with this verdict, in order.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(move |it| it.verdict == verdict)
    }
}

/// Finds what `answer` cites of `citations`: ids between brackets, alone or in a list, each with lines or
/// without. O(bytes of the answer and of the sources): quotations are looked for in so many times those bytes, which is enough
/// for 64 different ones that each take the whole of all sources, and the rest is [`Verdict::Unchecked`].
pub fn resolve(answer: &str, citations: &[Cited]) -> Resolved {
    resolve_while(answer, citations, || true).unwrap_or_default()
}

/// The same, as long as it `is_wanted`, which is asked at each citation; `None` once it is not.
pub fn resolve_while(
    answer: &str,
    citations: &[Cited],
    is_wanted: impl Fn() -> bool,
) -> Option<Resolved> {
    resolved(answer, &Known::new(answer, citations), is_wanted)
}

fn resolved(answer: &str, known: &Known<'_>, is_wanted: impl Fn() -> bool) -> Option<Resolved> {
    let mut resolved = Resolved::default();
    let mut from = 0;
    for range in parts(answer) {
        if !is_wanted() {
            return None;
        }
        let Some(mark) = mark(answer, range, known) else {
            continue;
        };
        let is_known = known.of(&mark.id).is_some();
        if is_known && !resolved.used.contains(&mark.id) {
            resolved.used.push(mark.id.clone());
        }
        resolved.text.push_str(&answer[from..mark.range.end]);
        from = mark.range.end;
        if mark.verdict != Verdict::Sound {
            let _ = write!(resolved.text, ": {}", mark.verdict.words());
        }
        resolved.marks.push(mark);
    }
    resolved.text.push_str(&answer[from..]);
    Some(resolved)
}

/// Where what may be an id stands: what is between brackets on one line, cut at commas and semicolons.
fn parts(answer: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    for (open, _) in answer.match_indices('[') {
        let inner = &answer[open + 1..];
        let inner = &inner[..inner.floor_char_boundary(LONGEST_LIST)];
        let Some(end) = inner
            .find(['[', ']', '\n'])
            .filter(|&end| inner[end..].starts_with(']'))
        else {
            continue;
        };
        let mut at = open + 1;
        for part in inner[..end].split_inclusive([',', ';']) {
            let text = part.trim_end_matches([',', ';']);
            let start = at + (text.len() - text.trim_start().len());
            parts.push(start..start + text.trim().len());
            at += part.len();
        }
    }
    parts
}

/// What may be cited, by id.
struct Known<'c> {
    sources: BTreeMap<&'c str, Source<'c>>,
    /// So many more bytes of sources are looked through.
    left: Cell<usize>,
}

/// What may be cited; and what it says, as quotations are held against it, once one is.
struct Source<'c> {
    cited: &'c Cited,
    text: OnceCell<String>,
    /// What was said of the quotations that were looked for.
    quotes: RefCell<BTreeMap<String, Verdict>>,
}

impl<'c> Known<'c> {
    /// What `answer` may cite.
    fn new(answer: &str, citations: &'c [Cited]) -> Self {
        let entry = |cited: &'c Cited| {
            let (text, quotes) = (OnceCell::new(), RefCell::default());
            let source = Source {
                cited,
                text,
                quotes,
            };
            (cited.id.as_str(), source)
        };
        let shown = citations.iter().map(|it| it.shown.text.len());
        let bytes = shown.fold(answer.len(), usize::saturating_add);
        Known {
            sources: citations.iter().map(entry).collect(),
            left: Cell::new(bytes.saturating_mul(LOOKS)),
        }
    }

    fn of(&self, id: &str) -> Option<&'c Cited> {
        self.sources.get(id).map(|it| it.cited)
    }

    /// Whether the source of this id has the words of `quote`. A quotation that was looked for before is not again.
    fn verdict(&self, id: &str, quote: &str) -> Verdict {
        let Some(source) = self.sources.get(id) else {
            return Verdict::Unknown;
        };
        if let Some(verdict) = source.quotes.borrow().get(quote) {
            return *verdict;
        }
        let text = source.text.get_or_init(|| words(&source.cited.shown.text));
        let left = self.left.get();
        let verdict = if text.len() > left {
            Verdict::Unchecked
        } else {
            let (is_there, looked_through) = says(text, quote);
            self.left.set(left - looked_through);
            if is_there {
                Verdict::Sound
            } else {
                Verdict::Misquoted
            }
        };
        let mut quotes = source.quotes.borrow_mut();
        quotes.insert(quote.to_owned(), verdict);
        verdict
    }
}

/// The citation at `range`, if it is one.
fn mark(answer: &str, range: Range<usize>, known: &Known<'_>) -> Option<Mark> {
    let part = &answer[range.clone()];
    let (id, lines) = match part.split_once([':', '#']) {
        Some((id, lines)) => (id.trim_end(), Some(lines.trim())),
        None => (part, None),
    };
    let mut mark = Mark {
        range,
        id: id.to_owned(),
        lines: None,
        quote: None,
        verdict: Verdict::Malformed,
    };
    let cited = known.of(id);
    if cited.is_none() && !is_label(id) {
        return resembles_label(id).then_some(mark);
    }
    let span = match lines.map(lines_of) {
        Some(None) => return Some(mark),
        Some(span) => span,
        None => None,
    };
    mark.lines = span.map(ends);
    let Some(cited) = cited else {
        mark.verdict = Verdict::Unknown;
        return Some(mark);
    };
    mark.quote = quote_before(answer, mark.range.start);
    mark.verdict = if span.is_some_and(|it| !cited.shown.has(it)) {
        Verdict::OutOfRange
    } else {
        let quote = mark.quote.as_ref();
        quote.map_or(Verdict::Sound, |quote| known.verdict(id, quote))
    };
    Some(mark)
}

/// The words between quotation marks, or in a block of quotation, that the citation at `at` follows.
fn quote_before(answer: &str, at: usize) -> Option<String> {
    let open = answer[..at].rfind('[')?;
    let start = open.saturating_sub(LONGEST_QUOTE);
    let before = &answer[answer.ceil_char_boundary(start)..open];
    let before = before
        .trim_end()
        .trim_end_matches(['.', ',', ';', ':', '-', '–', '—', '('])
        .trim_end();
    // Nothing but the end of a sentence may stand between.
    let last = before.chars().next_back()?;
    let inner = &before[..before.len() - last.len_utf8()];
    let quote = match last {
        '"' => inner.rsplit_once('"')?.1.to_owned(),
        '”' => inner.rsplit_once(['“', '”'])?.1.to_owned(),
        '»' => inner.rsplit_once('«')?.1.to_owned(),
        _ => block_quote(before)?,
    };
    let is_one = !quote.contains("\n\n") && quote.split_whitespace().count() >= FEWEST_WORDS;
    is_one.then_some(quote)
}

/// The block of quotation that `before` ends in: lines that begin with `>`.
fn block_quote(before: &str) -> Option<String> {
    let lines = before
        .lines()
        .rev()
        .map_while(|line| line.trim_start().strip_prefix('>'));
    let mut lines: Vec<&str> = lines.collect();
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Whether `text`, as [`words`] has it, has the words of `quote`, whatever space is between them. `…` and `...`
/// stand for what was left out. And how many bytes of `text` were looked through for that, which are no more than it has.
fn says(text: &str, quote: &str) -> (bool, usize) {
    let quote = quote.replace("...", "…");
    let mut from = 0;
    let is_there = quote.split('…').all(|piece| {
        let piece = words(piece.trim_matches(['[', ']']));
        let piece = piece.trim_end_matches([',', '.']);
        match text[from..].find(piece) {
            Some(at) => {
                from += at + piece.len();
                true
            }
            None => false,
        }
    });
    (is_there, if is_there { from } else { text.len() })
}

/// `text` with one space between its words, and typewriter's quotation marks.
fn words(text: &str) -> String {
    let plain = |c: char| match c {
        '“' | '”' | '„' => '"',
        '‘' | '’' => '\'',
        c => c,
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().map(plain).collect()
}

/// The list of the sources that an answer uses, to be put after it: a rule, `Sources:`, and a line for each in
/// the order of the context, `[fil-9f2a1c]: src/a.rs - its first fifty characters...`; nothing where it uses
/// none.
pub fn format_citations(citations: &[Cited], used: &[String]) -> String {
    let lines: Vec<String> = citations
        .iter()
        .filter(|it| used.contains(&it.id))
        .map(|it| {
            let source = neutralise(&it.citation.source, Slot::Line);
            let excerpt = it.excerpt.as_ref().map(|it| format!(" - {it}..."));
            format!("[{}]: {source}{}", it.id, excerpt.unwrap_or_default())
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("\n\n---\nSources:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use ctx_assemble::{Control, assemble};
    use ctx_model::{BuildOptions, Chunk, Relevance};

    use super::*;
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

    /// `marks` citations of a source of `bytes`, each with the quotation of its number; what is said of them, and how many
    /// bytes of the source were looked through.
    fn looked_through(
        marks: usize,
        bytes: usize,
        quote: impl Fn(usize) -> String,
    ) -> (Vec<Verdict>, usize) {
        let cited = source(&"x".repeat(bytes));
        let marks = (0..marks).map(|at| format!("\"{}\"[{}]", quote(at), cited[0].id));
        let answer: String = marks.collect();
        let known = Known::new(&answer, &cited);
        let before = known.left.get();
        let resolved = resolved(&answer, &known, || true).unwrap();
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
        // As the answer and the source; were all looked for, it would be four times as much at each step.
        assert!(
            costs[1] < costs[0] * 9 / 4 && costs[2] < costs[1] * 9 / 4,
            "{costs:?}"
        );
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
}
