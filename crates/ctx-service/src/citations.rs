//! What an answer cites, and whether it may.

use std::cell::OnceCell;
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
/// without. O(bytes of the answer and of the sources it quotes).
pub fn resolve(answer: &str, citations: &[Cited]) -> Resolved {
    let known = Known::new(citations);
    let mut resolved = Resolved::default();
    let mut from = 0;
    for range in parts(answer) {
        let Some(mark) = mark(answer, range, &known) else {
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
    resolved
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

/// What may be cited, by id; and what it says, as quotations are held against it, once one is.
struct Known<'c>(BTreeMap<&'c str, (&'c Cited, OnceCell<String>)>);

impl<'c> Known<'c> {
    fn new(citations: &'c [Cited]) -> Self {
        let entry = |it: &'c Cited| (it.id.as_str(), (it, OnceCell::new()));
        Known(citations.iter().map(entry).collect())
    }

    fn of(&self, id: &str) -> Option<&'c Cited> {
        self.0.get(id).map(|(cited, _)| *cited)
    }

    /// Whether the source of this id has the words of `quote`.
    fn says(&self, id: &str, quote: &str) -> bool {
        self.0.get(id).is_some_and(|(cited, text)| {
            let text = text.get_or_init(|| words(&cited.shown.text));
            says(text, quote)
        })
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
    } else if mark
        .quote
        .as_ref()
        .is_some_and(|quote| !known.says(id, quote))
    {
        Verdict::Misquoted
    } else {
        Verdict::Sound
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
/// stand for what was left out.
fn says(text: &str, quote: &str) -> bool {
    let quote = quote.replace("...", "…");
    let mut from = 0;
    quote.split('…').all(|piece| {
        let piece = words(piece.trim_matches(['[', ']']));
        let piece = piece.trim_end_matches([',', '.']);
        match text[from..].find(piece) {
            Some(at) => {
                from += at + piece.len();
                true
            }
            None => false,
        }
    })
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
