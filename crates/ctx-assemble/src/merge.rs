//! Chunks of one file whose lines meet become one, before anything is priced: a line is paid for
//! once, and what that saves is spent on other chunks.

use std::collections::BTreeMap;

use ctx_model::{Chunk, LineSpan, Warning};

use crate::unit::{Merged, Unit};

/// Merges what can be merged among `chunks`. Reports text that contradicts the lines it claims to
/// be, and chunks that disagree about a line; neither is merged. O(n log n + lines).
pub(crate) fn merge<'a>(chunks: &[&'a Chunk]) -> (Vec<Unit<'a>>, Vec<Warning>) {
    let mut warnings = Vec::new();
    let mut units = Vec::new();
    let mut files: BTreeMap<(&str, Option<&str>), Vec<&'a Chunk>> = BTreeMap::new();
    for &chunk in chunks {
        let Some((path, span)) = chunk.path.as_deref().zip(chunk.span) else {
            units.push(Unit::One(chunk));
            continue;
        };
        let is_plain = chunk.expanded_context.is_none() && chunk.renditions.is_empty();
        if !is_plain {
            units.push(Unit::One(chunk));
        } else if lines_of(chunk).count() != span.line_count() as usize {
            warnings.push(contradiction(chunk, span));
            units.push(Unit::One(chunk));
        } else {
            files
                .entry((path, chunk.content_hash.as_deref()))
                .or_default()
                .push(chunk);
        }
    }
    for chunks in files.into_values() {
        merge_file(chunks, &mut units, &mut warnings);
    }
    warnings.sort_unstable();
    (units, warnings)
}

/// Lines as [`LineSpan`] counts them: a final newline ends the last line and begins no other.
fn lines_of(chunk: &Chunk) -> impl Iterator<Item = &str> {
    let content = chunk.content.strip_suffix('\n').unwrap_or(&chunk.content);
    content.split('\n')
}

/// Lines that follow each other, and the chunks they come from.
struct Open<'a> {
    start: u32,
    lines: Vec<&'a str>,
    parts: Vec<&'a Chunk>,
}

fn merge_file<'a>(
    mut chunks: Vec<&'a Chunk>,
    units: &mut Vec<Unit<'a>>,
    warnings: &mut Vec<Warning>,
) {
    chunks.sort_unstable_by(|a, b| a.span.cmp(&b.span).then(a.id.cmp(&b.id)));
    let mut open: Option<Open<'a>> = None;
    for chunk in chunks {
        let span = chunk.span.expect("only chunks with lines come here");
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
                    start: span.start(),
                    lines: lines_of(chunk).collect(),
                    parts: vec![chunk],
                }
            }
        };
        open = Some(next);
    }
    units.extend(open.map(Open::close));
}

impl<'a> Open<'a> {
    /// Whether `span`, which starts no earlier, overlaps these lines or follows them at once.
    fn meets(&self, span: LineSpan) -> bool {
        (span.start() - self.start) as usize <= self.lines.len()
    }

    /// Takes `chunk` in, unless it has other text for a line that is already here.
    fn take_in(&mut self, chunk: &'a Chunk, span: LineSpan) -> bool {
        let offset = (span.start() - self.start) as usize;
        let mut theirs = lines_of(chunk);
        let mut ours = self.lines[offset..].iter();
        let shared = (self.lines.len() - offset).min(span.line_count() as usize);
        if !theirs
            .by_ref()
            .take(shared)
            .all(|line| ours.next() == Some(&line))
        {
            return false;
        }
        self.lines.extend(theirs);
        self.parts.push(chunk);
        true
    }

    fn close(self) -> Unit<'a> {
        match self.parts[..] {
            [chunk] => Unit::One(chunk),
            _ => Unit::Many(Box::new(Merged::new(self.parts, self.start, &self.lines))),
        }
    }
}

fn contradiction(chunk: &Chunk, span: LineSpan) -> Warning {
    Warning {
        id: Some(chunk.id.clone()),
        code: "span_mismatch".to_owned(),
        detail: format!(
            "lines {span} are {} lines, but the text has {}",
            span.line_count(),
            lines_of(chunk).count()
        ),
    }
}

fn disagreement(chunk: &Chunk, open: &Open<'_>) -> Warning {
    Warning {
        id: Some(chunk.id.clone()),
        code: "overlap_conflict".to_owned(),
        detail: format!(
            "its lines overlap those of {:?}, with other text",
            open.parts[0].id
        ),
    }
}
