//! Merges chunks of one file whose lines overlap or touch, before anything is priced: a line is
//! paid for once, and the tokens saved are spent on other chunks.

use std::collections::BTreeSet;

use ctx_model::merging::{Fit, Line, lines_of};
use ctx_model::{Chunk, LineSpan, Warning, WarningCode, lines};
use rapidhash::RapidHashMap;
use smallvec::{SmallVec, smallvec};

use crate::previous::PreviousBlocks;
use crate::survey::{self, LINES, Survey};
use crate::unit::{Merged, Unit};
use crate::{AssembleError, Control};

/// Merges `chunks`, each given with the survey of its full text, where possible. Not merged are
/// chunks with expanded context or renditions, chunks whose text does not have the lines of their
/// span, and chunks that contradict another about a line; the latter two are reported. Chunks that
/// were in one block of the previous context are merged with each other and with chunks that lie in
/// that block, but with nothing else. The units have no particular order. Stops early if `control`
/// is cancelled. O(n log n), and O(bytes) of the merged chunks.
pub(crate) fn merge<'a>(
    chunks: &[(&'a Chunk, Survey)],
    sent: &PreviousBlocks<'a>,
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
            let Unit::Many(merged) = unit else {
                continue;
            };
            // A block whose lines are not known has no list of its own, and keeps its id.
            if let Some(speaker) = speaker.or_else(|| sent.first_of(&merged.parts)) {
                merged.let_speak(speaker, sent.beside(speaker));
            }
        }
    }
    warnings.sort_unstable();
    Ok((units, warnings))
}

/// Returns the warnings of [`merge`] about chunks whose text does not have the lines of their span,
/// for the case that nothing is merged. Stops early if `control` is cancelled. O(bytes).
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

/// The warning for a chunk whose text does not have the lines of its span. `lines` is the number of
/// lines of its content, and is ignored if it has expanded context.
fn mismatch(chunk: &Chunk, lines: usize) -> Option<Warning> {
    let span = chunk.span?;
    if chunk.wider_text().is_none() {
        let is_wrong = Fit::of(span, &chunk.content, lines) == Fit::None;
        return is_wrong.then(|| contradiction(chunk, span));
    }
    if chunk.full_span().is_some() {
        return None;
    }
    let detail = format!(
        "lines {span} do not occur exactly once in the expanded context, whose own lines are not given"
    );
    Some(Warning::new(WarningCode::SpanMismatch, detail).of(&*chunk.id))
}

/// A chunk that consists of lines of a file.
struct Slice<'a> {
    chunk: &'a Chunk,
    span: LineSpan,
    fit: Fit,
}

/// Consecutive lines, and the chunks they come from.
struct Open<'a> {
    span: LineSpan,
    /// Empty until another chunk needs them.
    lines: Vec<Line<'a>>,
    parts: SmallVec<[&'a Chunk; 1]>,
}

/// Merges `slices`, which belong to one file, where they overlap or touch.
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
            Some(mut current) if current.span.touches(span) => {
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

/// Removes from `slices`, which are sorted, those for which it is unknown whether their last line
/// is empty: merged with another, they might add a blank line that the file does not have. A slice
/// that touches no other is shown as it is, without a warning. O(n log n), and O(bytes) of the
/// slices that contain such lines.
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
    /// Those of the lines `wanted` that are empty in this slice.
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
    /// Adds `chunk`, unless its text differs in a line that is already here. Returns whether it was
    /// added.
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
    let detail = format!("its lines overlap those of {other:?}, with different text");
    Warning::new(WarningCode::OverlapConflict, detail).of(&*chunk.id)
}
