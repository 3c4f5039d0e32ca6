//! Finds the citations of an answer and checks them against what was shown.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use ctx_model::LineSpan;

use crate::cited::Cited;
use crate::cites::{Cite, Lines, Reader, Run};
use crate::ids::Shapes;
use crate::known::Known;
use crate::lines::ends;
use crate::mark::{Mark, Resolved, Verdict};
use crate::quote::Quote;

/// The instruction for a model on how to cite: two sentences for the header of a context or a
/// system prompt. They use `id` as the example: an id of the context, or one of the same shape.
///
/// ```
/// assert!(ctx_citations::citing("doc-1").contains("as in [doc-1], or with lines, as in [doc-1:10-12]."));
/// ```
pub fn citing(id: &str) -> String {
    format!(
        "Cite what you use by its id in square brackets after a space, as in [{id}], or with lines, as in \
         [{id}:10-12]. Put words that you quote between quotation marks right before it."
    )
}

/// How an answer is parsed and checked.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ResolveOptions<'o> {
    is_awaited: &'o dyn Fn() -> bool,
    has_id_shape: Option<&'o dyn Fn(&str) -> bool>,
}

impl Default for ResolveOptions<'_> {
    fn default() -> Self {
        ResolveOptions {
            is_awaited: &|| true,
            has_id_shape: None,
        }
    }
}

impl<'o> ResolveOptions<'o> {
    /// Ends once the result is no longer wanted: `is_awaited` is called at each list in brackets,
    /// at the citations of each run, and every 256 KiB of a source.
    #[must_use]
    pub fn while_awaited(mut self, is_awaited: &'o dyn Fn() -> bool) -> Self {
        self.is_awaited = is_awaited;
        self
    }

    /// Reports an id that the context does not show as unknown if `has_id_shape` returns true,
    /// instead of if it has the shape of a shown one. It is called with texts of up to 400 bytes,
    /// with and without what may be the lines of an id.
    #[must_use]
    pub fn with_id_shape(mut self, has_id_shape: &'o dyn Fn(&str) -> bool) -> Self {
        self.has_id_shape = Some(has_id_shape);
        self
    }
}

impl fmt::Debug for ResolveOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolveOptions")
            .field("has_id_shape", &self.has_id_shape.is_some())
            .finish_non_exhaustive()
    }
}

/// Finds the citations of `answer` among `citations`: ids between brackets, alone or in a list,
/// each with or without lines; lines in a list belong to the id before them. O(bytes of the answer
/// and of the sources): quotations are searched for in at most 64 times those bytes, enough for 64
/// different ones that each take all sources, or 32 of prose; the rest is [`Verdict::Unchecked`].
/// So are quotations beyond four times the bytes of the answer plus 1 MiB, since many citations may
/// follow the same words, and each stores them.
///
/// An id that is not among them is [`Verdict::Unknown`] if it is a label
/// ([`is_label`](crate::is_label)) or has the shape of one of theirs: the same except for its
/// numbers (`3` like `1`, `doc-7` or `Doc-7` like `doc-1`) or for the digits of its hexadecimal
/// code (UUIDs, hashes). A bare number that has more digits than theirs, and more than three, is
/// text, such as a year. So are other words between square brackets, and everything between round
/// ones except shown labels.
///
/// A range of ids that end in a number, `[1-3]`, `[doc-1–doc-3]` or `[1]–[3]`, cites each of them
/// if its first id is shown. In all ranges together, at most as many ids between the ends are read
/// as the answer has bytes; a range beyond that is text.
///
/// Words quoted directly before several citations belong to each of them, if these are separated
/// only by space, commas, semicolons and `and`, on one line and within 400 bytes.
///
/// An id of only letters, digits and `_` may also be code. It is no citation in code marks or a
/// code block, as a link (`[1](https://example.org)`), or directly after a name (`arr[1]`). It is
/// one directly after a word that the cited source has in prose (`the moon[1] is far`), or that
/// ends a clause of at least four words (`It follows the moon[1].`), unless code of the answer or
/// of a source has that word as a name: in code marks, or with an index.
pub fn resolve(answer: &str, citations: &[Cited]) -> Resolved {
    resolve_with(answer, citations, &ResolveOptions::default()).unwrap_or_default()
}

/// Does what [`resolve`] does, with `options`; `None` once the result is no longer awaited.
pub fn resolve_with(
    answer: &str,
    citations: &[Cited],
    options: &ResolveOptions<'_>,
) -> Option<Resolved> {
    let known = Known::new(answer, citations, options.is_awaited);
    let shapes = Shapes::of(known.ids());
    let inferred = |text: &str| shapes.fit(text);
    resolved(answer, &known, options.has_id_shape.unwrap_or(&inferred))
}

fn resolved(answer: &str, known: &Known<'_>, has_shape: &dyn Fn(&str) -> bool) -> Option<Resolved> {
    let is_known = |id: &str| known.of(id).is_some();
    let indexed = OnceCell::new();
    let reader = Reader {
        text: answer,
        is_known: &is_known,
        has_shape,
        is_indexed: &|name| {
            let names = indexed.get_or_init(|| known.indexed_names(answer));
            names.contains(name)
        },
        says: &|id, word| known.says(id, word),
        room: Cell::new(answer.len()),
    };
    let mut resolved = Resolved::default();
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for run in reader.runs(known.is_awaited)? {
        if !(known.is_awaited)() {
            return None;
        }
        let is_quotable =
            |it: &Cite<'_>| it.lines != Lines::Malformed && !it.is_more && is_known(&it.id);
        let quote = if run.cites.iter().any(is_quotable) {
            known.quote(&answer[..run.start])
        } else {
            Quote::Nothing
        };
        for cite in &run.cites {
            if let Some(cited) = known.of(&cite.id)
                && used.insert(&cited.id)
            {
                resolved.used.push(cited.id.clone());
            }
            let quote = if is_quotable(cite) {
                known.kept(&quote)
            } else {
                Quote::Nothing
            };
            resolved.marks.push(mark(cite, &run, quote, known));
        }
    }
    resolved.text = annotated(answer, &resolved.marks);
    // The last source may have been read only in part.
    (known.is_awaited)().then_some(resolved)
}

/// `answer` with a note after each of `marks` that is not sound. The notes of ids between the ends
/// of a range follow the range, each with its id.
fn annotated(answer: &str, marks: &[Mark]) -> String {
    let (mut text, mut from) = (String::with_capacity(answer.len()), 0);
    let mut between = String::new();
    for mark in marks {
        let (is_sound, note) = (mark.verdict == Verdict::Sound, mark.verdict.note());
        if mark.range.is_empty() {
            if !is_sound {
                let _ = write!(between, ", {}: {note}", mark.id);
            }
            continue;
        }
        text.push_str(&answer[from..mark.range.end]);
        from = mark.range.end;
        if !is_sound {
            let _ = write!(text, ": {note}");
        }
        text.push_str(&std::mem::take(&mut between));
    }
    text.push_str(&answer[from..]);
    text
}

/// `cite`, one of `run`, with the verdict on it and the `quote` before the run.
fn mark(cite: &Cite<'_>, run: &Run<'_>, quote: Quote, known: &Known<'_>) -> Mark {
    Mark {
        range: cite.range.clone(),
        id: cite.id.clone().into_owned(),
        lines: cite.lines.span().map(ends),
        verdict: verdict(cite, run, &quote, known),
        quote: match quote {
            Quote::Words(words) => Some(words),
            Quote::Nothing | Quote::TooMuch => None,
        },
    }
}

/// The verdict on `cite`, one of `run`, with the `quote` before the run.
fn verdict(cite: &Cite<'_>, run: &Run<'_>, quote: &Quote, known: &Known<'_>) -> Verdict {
    if cite.lines == Lines::Malformed {
        return Verdict::Malformed;
    }
    let Some(cited) = known.of(&cite.id) else {
        return Verdict::Unknown;
    };
    let span = cite.lines.span();
    if cited.shown.is_unknown {
        return match (span, quote) {
            (None, Quote::Nothing) => Verdict::Sound,
            _ => Verdict::Unchecked,
        };
    }
    if span.is_some_and(|it| !cited.shown.has(it)) {
        return Verdict::OutOfRange;
    }
    match quote {
        Quote::Nothing => Verdict::Sound,
        Quote::TooMuch => Verdict::Unchecked,
        Quote::Words(words) => {
            // It may be in any lines of the source that the run cites.
            let is_same = |it: &&Cite<'_>| span.is_some() && it.id == cite.id;
            let spans = run.cites.iter().filter(is_same);
            let lines: Vec<LineSpan> = spans
                .filter_map(|it| it.lines.span())
                .filter(|it| cited.shown.has(*it))
                .collect();
            known.verdict(&cite.id, words, &lines)
        }
    }
}

#[cfg(test)]
mod tests;
