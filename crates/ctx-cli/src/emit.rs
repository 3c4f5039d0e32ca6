//! Writes results to standard output, and remarks about them to standard error.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal as _, Write};

use ctx::format::{Slot, count_neutralised, neutralise};
use ctx::model::{BuiltContext, Exactness, Omitted, OmittedReason, Warning, WarningCode};

use crate::args::Output;
use crate::explain;
use crate::failure::Failure;
use crate::report::{self, Report};

/// Writes the requested result. Nothing was written before, so the output is all or nothing.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn result(built: &BuiltContext, output: Output, report: Report) -> Result<(), Failure> {
    result_with(built, built, &BTreeSet::new(), output, report)
}

/// Same as `result`, with `whole` as the JSON; in the tables for people, the parts of each of
/// `documents` share one row.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn result_with(
    built: &BuiltContext,
    whole: &impl serde::Serialize,
    documents: &BTreeSet<String>,
    output: Output,
    report: Report,
) -> Result<(), Failure> {
    if output.json {
        json(whole)?;
    } else {
        text(&built.context)?;
    }
    if output.explain {
        report::lines(&explain::table(built, documents));
    } else {
        report.note(&summary(built));
    }
    Ok(())
}

/// Reports the assembler's warnings that are not in `told` yet, and whether not even one chunk
/// fits.
pub(crate) fn warnings(built: &BuiltContext, told: &[Warning], report: Report) {
    for warning in built.warnings.iter().filter(|it| !told.contains(it)) {
        match &warning.id {
            Some(id) => report.detail(&format!("{id}: {}", warning.detail)),
            None => report.detail(&warning.detail),
        }
    }
    let shown = shown(built);
    let is_shown = |it: &&Warning| it.id.as_deref().is_none_or(|id| shown.contains(id));
    let masked = built.warnings.iter().filter(|it| is_masked(it));
    match masked.filter(is_shown).count() {
        0 => {}
        1 => report.note("masked secrets in 1 text (--keep-secrets shows them)"),
        n => report.note(&format!(
            "masked secrets in {n} texts (--keep-secrets shows them)"
        )),
    }
    if let Some(note) = of_gone(built) {
        report.note(&note);
    }
    if !built.included.is_empty() {
        return;
    }
    let entries = built
        .omitted
        .iter()
        .filter_map(|chunk| Some((chunk.enters_at?, &chunk.id)));
    let is_over = |it: &Omitted| it.reason == OmittedReason::OverBudget;
    match entries.min() {
        Some((tokens, id)) => {
            let tokens = grouped(tokens.get().into());
            report::warning(&format!(
                "no chunk fits; {id} would with a budget of {tokens} tokens"
            ));
        }
        None if built.omitted.iter().any(is_over) => {
            report::warning("no chunk fits (--explain shows which budget each needs)");
        }
        None => {}
    }
}

/// A message about parts that have changed since they were found.
fn of_gone(built: &BuiltContext) -> Option<String> {
    let is_gone = |reason| matches!(reason, OmittedReason::Stale | OmittedReason::Unreadable);
    let gone = built.omitted.iter().filter(|it| is_gone(it.reason)).count();
    (gone > 0).then(|| {
        let parts = counted(gone as u64, "part");
        format!("left out {parts} of files that have changed or cannot be read (-v names them)")
    })
}

/// Whether it is about masked secrets.
pub(crate) fn is_masked(warning: &Warning) -> bool {
    warning.code == WarningCode::Masked
}

/// The kind of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// A terminal, which interprets control characters.
    Terminal,
    /// A program or a file, which gets the bytes unchanged.
    Program,
}

impl Reader {
    fn of_output() -> Self {
        if io::stdout().is_terminal() {
            Reader::Terminal
        } else {
            Reader::Program
        }
    }
}

/// Writes lines; for a terminal, control characters are made visible.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let text = for_reader(text, Reader::of_output());
    write(|out| out.write_all(text.as_bytes()))
}

fn for_reader(text: &str, reader: Reader) -> Cow<'_, str> {
    match reader {
        Reader::Terminal => neutralise(text, Slot::Text),
        Reader::Program => Cow::Borrowed(text),
    }
}

/// Writes `value` as one JSON value and a line feed; for a terminal, control characters become JSON
/// escapes.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let reader = Reader::of_output();
    write(|out| {
        match reader {
            Reader::Terminal => {
                let json = serde_json::to_string(value)?;
                out.write_all(escaped(&json).as_bytes())?;
            }
            Reader::Program => serde_json::to_writer(&mut *out, value)?,
        }
        out.write_all(b"\n")
    })
}

/// Escapes control characters without changing the value: outside its strings JSON is ASCII, and
/// within them every character may be escaped.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if count_neutralised(c.encode_utf8(&mut [0; 4]), Slot::Line) == 0 {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// Writes through one buffer under one lock. Not `print!`, which would panic on a closed pipe.
pub(crate) fn write(
    with: impl FnOnce(&mut BufWriter<io::StdoutLock<'static>>) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    with(&mut out)
        .and_then(|()| out.flush())
        .map_err(Failure::output)
}

/// How many chunks are shown and how many are not, counted as in the notice of the context.
pub(crate) struct Counts {
    /// Chunks shown, including those merged into another and duplicates.
    pub(crate) shown: usize,
    pub(crate) left_out: usize,
    /// Chunks omitted before the selection, by reason; the notice does not count these.
    pub(crate) before: BTreeMap<OmittedReason, usize>,
    blocks: usize,
}

impl Counts {
    pub(crate) fn of(built: &BuiltContext) -> Self {
        let shown = shown(built);
        let mut counts = Counts {
            shown: shown.len(),
            left_out: 0,
            before: BTreeMap::new(),
            blocks: built.included.len(),
        };
        for it in built.omitted.iter().filter(|it| !shown.contains(&*it.id)) {
            if is_before(it.reason) {
                *counts.before.entry(it.reason).or_default() += 1;
            } else {
                counts.left_out += 1;
            }
        }
        counts
    }

    /// The counts of the notice as text: `2 of 4 chunks in 1 block`.
    pub(crate) fn of_all(&self) -> String {
        let all = counted((self.shown + self.left_out) as u64, "chunk");
        let blocks = if self.shown == self.blocks {
            String::new()
        } else {
            format!(" in {}", counted(self.blocks as u64, "block"))
        };
        format!("{} of {all}{blocks}", grouped(self.shown as u64))
    }
}

/// Whether this reason omits chunks before the selection.
fn is_before(reason: OmittedReason) -> bool {
    matches!(
        reason,
        OmittedReason::BelowMinChance | OmittedReason::Stale | OmittedReason::Unreadable
    )
}

/// The result in one line.
fn summary(built: &BuiltContext) -> String {
    let counts = Counts::of(built);
    let unlikely = counts.before.get(&OmittedReason::BelowMinChance);
    format!(
        "{}, {} of {} tokens ({}, {}){}",
        counts.of_all(),
        grouped(built.tokens.total.get().into()),
        grouped(u64::from(built.tokens.total.get()) + u64::from(built.tokens.left.get())),
        built.counter,
        exactness(built.exactness),
        unlikely.map_or_else(String::new, |&it| {
            let parts = counted(it as u64, "part");
            format!("; {parts} below --min-chance")
        }),
    )
}

/// The ids of the chunks that the context contains: by themselves, merged into another, or as a
/// duplicate of another.
pub(crate) fn shown(built: &BuiltContext) -> BTreeSet<&str> {
    let mut shown: BTreeSet<&str> = built.included.iter().map(|it| &*it.id).collect();
    // A chunk may have been merged into one that duplicates another, and the other way round.
    for reason in [OmittedReason::MergedInto, OmittedReason::DuplicateOf] {
        let is_shown = |it: &&Omitted| {
            let other = it.other.as_deref();
            it.reason == reason && other.is_some_and(|other| shown.contains(other))
        };
        let others = built.omitted.iter().filter(is_shown);
        let others: Vec<&str> = others.map(|it| &*it.id).collect();
        shown.extend(others);
    }
    shown
}

/// How counts relate to the true ones, in words.
pub(crate) fn exactness(exactness: Exactness) -> &'static str {
    match exactness {
        Exactness::Exact => "exact",
        Exactness::UpperBound => "upper bound",
        Exactness::Estimate => "estimate",
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `n` with its unit: `1 file`, `2,000 files`.
pub(crate) fn counted(n: u64, one: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {one}{plural}", grouped(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_nothing_that_it_obeys() {
        let text = "a\u{1b}]0;x\u{7}\u{9b}31m\tb\n\u{202e}c\u{e0041}\n";
        assert_eq!(for_reader(text, Reader::Program), text);
        assert_eq!(
            for_reader(text, Reader::Terminal),
            "a\\u{1b}]0;x\\u{7}\\u{9b}31m\tb\n\\u{202e}c\\u{e0041}\n"
        );
        let json = escaped(&serde_json::to_string(text).unwrap());
        assert_eq!(count_neutralised(&json, Slot::Line), 0, "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn one_of_something_is_no_plural() {
        assert_eq!(counted(0, "part"), "0 parts");
        assert_eq!(counted(1, "part"), "1 part");
        assert_eq!(counted(2_000, "part"), "2,000 parts");
    }

    #[test]
    fn digits_are_grouped_by_three() {
        for (n, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(n), expected);
        }
    }
}
