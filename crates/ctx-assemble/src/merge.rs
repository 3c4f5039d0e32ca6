//! Chunks of one file whose lines meet become one, before anything is priced: a line is paid for
//! once, and what that saves is spent on other chunks.

use std::collections::BTreeSet;

use ctx_model::{Chunk, LineSpan, Warning, WarningCode, lines};
use rapidhash::RapidHashMap;
use smallvec::{SmallVec, smallvec};

use crate::lines::{Fit, Line, lines_of};
use crate::sent::Sent;
use crate::survey::{self, LINES, Survey};
use crate::unit::{Merged, Unit};
use crate::{AssembleError, Control};

/// Merges what can be merged among `chunks`, each with the survey of its full text. Reports text
/// that contradicts the lines it claims to be, and chunks that disagree about a line; neither is
/// merged, nor is what has expanded context or renditions. What stood in one block of the context before is joined with what
/// stands in that block, and with nothing else. The units come in no particular order. Stops early when `control` says so. O(n log n), and O(bytes) of what is
/// merged.
pub(crate) fn merge<'a>(
    chunks: &[(&'a Chunk, Survey)],
    sent: &Sent<'a>,
    control: &Control,
) -> Result<(Vec<Unit<'a>>, Vec<Warning>), AssembleError> {
    let mut warnings = Vec::new();
    let mut units = Vec::with_capacity(chunks.len());
    let mut lists: Vec<(Option<&'a str>, Vec<Slice<'a>>)> = Vec::new();
    let mut numbers: RapidHashMap<_, usize> = RapidHashMap::default();
    for (chunk, survey) in chunks {
        let chunk = *chunk;
        if let Some(warning) = mismatch(chunk, survey.lines) {
            warnings.push(warning);
            units.push(Unit::One(chunk));
            continue;
        }
        let Some((file, span)) = sent.file_of(chunk).zip(chunk.span) else {
            units.push(Unit::One(chunk));
            continue;
        };
        let fit = Fit::of(span, &chunk.content, survey.lines);
        let speaker = sent.speaker(chunk);
        let number = numbers.entry((file, speaker)).or_insert(lists.len());
        if *number == lists.len() {
            lists.push((speaker, Vec::new()));
        }
        lists[*number].1.push(Slice { chunk, span, fit });
    }
    for (speaker, slices) in lists {
        let found = units.len();
        merge_slices(slices, &mut units, &mut warnings, control)?;
        for unit in &mut units[found..] {
            if let (Unit::Many(merged), Some(speaker)) = (unit, speaker) {
                merged.let_speak(speaker);
            }
        }
    }
    warnings.sort_unstable();
    Ok((units, warnings))
}

/// Reports what [`merge`] does where nothing is merged: text that contradicts the lines it claims to be. Stops early when
/// `control` says so. O(bytes).
pub(crate) fn mismatches(
    chunks: &[&Chunk],
    control: &Control,
) -> Result<Vec<Warning>, AssembleError> {
    let mut warnings = Vec::new();
    for chunk in chunks {
        let mut count = 0_usize;
        if chunk.span.is_some() && chunk.wider_text().is_none() {
            for _ in survey::lines(&chunk.content) {
                if count.is_multiple_of(LINES) {
                    control.check()?;
                }
                count += 1;
            }
        }
        control.check()?;
        warnings.extend(mismatch(chunk, count));
    }
    warnings.sort_unstable();
    Ok(warnings)
}

/// What is to be told of a chunk whose text is not the lines that it is said to be. `lines` is how many its content has,
/// and is not looked at where there is expanded context.
fn mismatch(chunk: &Chunk, lines: usize) -> Option<Warning> {
    let span = chunk.span?;
    if chunk.wider_text().is_none() {
        let is_wrong = Fit::of(span, &chunk.content, lines) == Fit::None;
        return is_wrong.then(|| contradiction(chunk, span));
    }
    if chunk.full_span().is_some() {
        return None;
    }
    let detail =
        format!("lines {span} do not stand once in the expanded context, whose lines are not told");
    Some(Warning::new(WarningCode::SpanMismatch, detail).of(&*chunk.id))
}

/// A chunk that is lines of a file.
struct Slice<'a> {
    chunk: &'a Chunk,
    span: LineSpan,
    fit: Fit,
}

/// Lines that follow each other, and the chunks they come from.
struct Open<'a> {
    span: LineSpan,
    /// Empty until another chunk asks for them.
    lines: Vec<Line<'a>>,
    parts: SmallVec<[&'a Chunk; 1]>,
}

/// Merges what meets of `slices`, which are of one file.
fn merge_slices<'a>(
    mut slices: Vec<Slice<'a>>,
    units: &mut Vec<Unit<'a>>,
    warnings: &mut Vec<Warning>,
    control: &Control,
) -> Result<(), AssembleError> {
    slices.sort_unstable_by(|a, b| (a.span, &a.chunk.id).cmp(&(b.span, &b.chunk.id)));
    set_unsure_apart(&mut slices, units, warnings);
    let mut open: Option<Open<'a>> = None;
    for Slice { chunk, span, .. } in slices {
        control.check()?;
        let next = match open.take() {
            Some(mut current) if current.meets(span) => {
                if !current.take_in(chunk, span) {
                    warnings.push(disagreement(chunk, &current));
                    units.push(Unit::One(chunk));
                }
                current
            }
            finished => {
                units.extend(finished.map(Open::close));
                Open {
                    span,
                    lines: Vec::new(),
                    parts: smallvec![chunk],
                }
            }
        };
        open = Some(next);
    }
    units.extend(open.map(Open::close));
    Ok(())
}

/// Takes out of `slices`, which are sorted, those whose last line nothing tells: merged with another, it might be a
/// blank line that the file does not have. One that meets no other is shown as it is, whatever was meant.
/// O(n log n), and O(bytes) of those that lie on such lines.
fn set_unsure_apart<'a>(
    slices: &mut Vec<Slice<'a>>,
    units: &mut Vec<Unit<'a>>,
    warnings: &mut Vec<Warning>,
) {
    let unsure = slices.iter().filter(|it| it.fit == Fit::LastUnsure);
    let unsure: BTreeSet<u32> = unsure.map(|it| it.span.end()).collect();
    if unsure.is_empty() {
        return;
    }
    let known: BTreeSet<u32> = slices.iter().flat_map(|it| it.empty(&unsure)).collect();
    let starts: Vec<u32> = slices.iter().map(|it| it.span.start()).collect();
    let (mut number, mut last) = (0, None);
    slices.retain(|it| {
        number += 1;
        let before = last.replace(last.unwrap_or(0).max(it.span.end()));
        if it.fit == Fit::Whole || known.contains(&it.span.end()) {
            return true;
        }
        let meets = |end: u32, start: u32| start <= end.saturating_add(1);
        let meets_other = before.is_some_and(|end| meets(end, it.span.start()))
            || starts
                .get(number)
                .is_some_and(|&start| meets(it.span.end(), start));
        if meets_other {
            warnings.push(contradiction(it.chunk, it.span));
        }
        units.push(Unit::One(it.chunk));
        false
    });
}

impl Slice<'_> {
    /// Those of the lines `wanted` that it says are empty.
    fn empty(&self, wanted: &BTreeSet<u32>) -> Vec<u32> {
        let unsure = u32::from(self.fit == Fit::LastUnsure);
        let numbers = self.span.start()..=self.span.end() - unsure;
        if wanted.range(numbers.clone()).next().is_none() {
            return Vec::new();
        }
        let lines = numbers.zip(lines_of(&self.chunk.content, self.span));
        let empty = lines.filter(|(number, line)| line.text.is_empty() && wanted.contains(number));
        empty.map(|(number, _)| number).collect()
    }
}

impl<'a> Open<'a> {
    /// Whether `span`, which starts no earlier, overlaps these lines or follows them at once.
    fn meets(&self, span: LineSpan) -> bool {
        span.start() <= self.span.end().saturating_add(1)
    }

    /// Takes `chunk` in, unless it has other text for a line that is already here.
    fn take_in(&mut self, chunk: &'a Chunk, span: LineSpan) -> bool {
        if self.lines.is_empty() {
            self.lines
                .extend(lines_of(&self.parts[0].content, self.span));
        }
        let offset = (span.start() - self.span.start()) as usize;
        let ours = &mut self.lines[offset..];
        let mut shared = ours.iter().zip(lines_of(&chunk.content, span));
        if !shared.all(|(our, their)| our.text == their.text) {
            return false;
        }
        let mut theirs = lines_of(&chunk.content, span);
        for (our, their) in ours.iter_mut().zip(theirs.by_ref()) {
            our.learn(their);
        }
        self.lines.extend(theirs);
        self.span = LineSpan::new(self.span.start(), self.span.end().max(span.end()))
            .expect("it is no shorter than before");
        self.parts.push(chunk);
        true
    }

    fn close(self) -> Unit<'a> {
        if let [chunk] = self.parts[..] {
            return Unit::One(chunk);
        }
        let parts = self.parts.into_vec();
        Unit::Many(Box::new(Merged::new(parts, self.span.start(), &self.lines)))
    }
}

fn contradiction(chunk: &Chunk, span: LineSpan) -> Warning {
    let (said, lines) = (span.line_count(), lines(&chunk.content).count());
    let detail = format!("lines {span} are {said} lines, but the text has {lines}");
    Warning::new(WarningCode::SpanMismatch, detail).of(&*chunk.id)
}

fn disagreement(chunk: &Chunk, open: &Open<'_>) -> Warning {
    let other = &open.parts[0].id;
    let detail = format!("its lines overlap those of {other:?}, with other text");
    Warning::new(WarningCode::OverlapConflict, detail).of(&*chunk.id)
}
