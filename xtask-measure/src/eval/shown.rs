//! Which characters of its sources a context shows.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Result, ensure};
use ctx::format::parse;
use ctx::model::{
    BuiltContext, Chunk, Format, Included, Rendition, RenditionKind, without_line_end,
};
use ctx::service::Answer;

/// The files of a set: path → text.
pub(super) type Files = BTreeMap<String, String>;

/// The shown parts: path, and characters of the file. Parts that are not where they are cited are
/// counted.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) parts: Vec<(String, Range<usize>)>,
    pub(super) false_spans: usize,
}

/// The rendition of `chunk` that `context` contains; there may be several of a kind.
pub(super) fn rendition<'c>(
    chunk: &'c Chunk,
    included: &Included,
    context: &str,
) -> Option<&'c Rendition> {
    let of_kind = chunk.renditions.iter();
    of_kind
        .filter(|it| it.kind() == included.rendition)
        .find(|it| context.contains(it.text().trim_end()))
}

/// The parts of `files` that `answer` shows. Each line of its renditions is searched for in the
/// cited lines; a line with a number must be exactly the line of that number.
pub(super) fn shown(answer: &Answer, files: &Files) -> Shown {
    let mut shown = Shown::default();
    for included in &answer.built.included {
        let mut chunks = answer.material.chunks.iter();
        let chunk = chunks.find(|it| it.id == included.id);
        let found = chunk.and_then(|chunk| places(chunk, included, &answer.built.context, files));
        match found {
            Some(parts) => shown.parts.extend(parts),
            None => shown.false_spans += 1,
        }
    }
    shown
}

/// The parts of `files` that `built`, a Markdown document, shows if its chunks are not known: each
/// line of its blocks is searched for in the cited lines.
///
/// # Errors
/// The document cannot be parsed.
pub(super) fn shown_by_text(built: &BuiltContext, files: &Files) -> Result<Shown> {
    let parsed = parse(Format::Markdown, &built.context)?;
    ensure!(
        parsed.blocks.len() == built.included.len(),
        "a block is missing"
    );
    let mut shown = Shown::default();
    for (included, block) in built.included.iter().zip(&parsed.blocks) {
        let body = block.body.lines().map(|line| (line, None));
        match places_of(included, &block.body, body, files) {
            Some(parts) => shown.parts.extend(parts),
            None => shown.false_spans += 1,
        }
    }
    Ok(shown)
}

fn places(
    chunk: &Chunk,
    included: &Included,
    context: &str,
    files: &Files,
) -> Option<Vec<(String, Range<usize>)>> {
    if included.rendition == RenditionKind::Full {
        return places_of(included, context, [].into_iter(), files);
    }
    let rendition = rendition(chunk, included, context)?;
    places_of(included, context, numbered(rendition), files)
}

/// Lines of a rendition, with their numbers.
fn numbered(rendition: &Rendition) -> impl Iterator<Item = (&str, Option<u32>)> {
    rendition
        .text()
        .lines()
        .zip(rendition.lines().iter().copied())
}

/// The positions in its file of a chunk that `context` shows in full, or by these `lines`.
fn places_of<'l>(
    included: &Included,
    context: &str,
    shown: impl Iterator<Item = (&'l str, Option<u32>)>,
    files: &Files,
) -> Option<Vec<(String, Range<usize>)>> {
    let path = included.file_path.as_deref()?;
    let text = files.get(path)?;
    let lines = Lines::of(text);
    let cited = lines.bytes(included.start_line?, included.end_line?)?;
    let bytes = if included.rendition == RenditionKind::Full {
        let is_there = context.contains(text[cited.clone()].trim_end());
        is_there.then(|| vec![cited])?
    } else {
        excerpted(&lines, &cited, shown)?
    };
    let characters = |at: usize| text[..at].chars().count();
    let parts = bytes.into_iter();
    Some(
        parts
            .map(|it| (path.to_owned(), characters(it.start)..characters(it.end)))
            .collect(),
    )
}

/// A text, and where its lines begin.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at);
        let mut starts = vec![0];
        starts.extend(ends.map(|at| at + 1));
        Lines { text, starts }
    }

    /// The bytes of lines `first` to `last`, without the last line ending.
    fn bytes(&self, first: u32, last: u32) -> Option<Range<usize>> {
        let start = *self.starts.get(first as usize - 1)?;
        let next = self.starts.get(last as usize);
        let end = next.map_or(self.text.len(), |at| at - 1);
        self.text.get(start..end).map(|_| start..end)
    }
}

/// The position of each `shown` line that is not blank, in order, within the bytes `within` of the
/// text.
fn excerpted<'l>(
    lines: &Lines<'_>,
    within: &Range<usize>,
    shown: impl Iterator<Item = (&'l str, Option<u32>)>,
) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut at = within.start;
    for (line, number) in shown {
        // Marks begin like this, whether or not they are comments; a line without words shows
        // nothing.
        let is_mark = number.is_none() && (line == "…" || line.contains("left out"));
        if is_mark || line.trim().is_empty() {
            continue;
        }
        let start = match number {
            Some(number) => {
                let whole = lines.bytes(number, number)?;
                let is_it = without_line_end(&lines.text[whole.clone()]) == line;
                (is_it && at <= whole.start && whole.end <= within.end).then_some(whole.start)?
            }
            None => at + lines.text.get(at..within.end)?.find(line)?,
        };
        at = start + line.len();
        found.push(start..at);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_one_after_the_other() {
        let text = "a\nbé\n\na\n";
        let lines = Lines::of(text);
        assert_eq!(lines.bytes(2, 2), Some(2..5));
        assert_eq!(lines.bytes(4, 4), Some(7..8));
        assert_eq!(lines.bytes(6, 6), None);
        let rendition = Rendition::new(RenditionKind::Excerpt, "a\n…\na\n", 1.0)
            .and_then(|it| it.with_lines(vec![Some(1), None, Some(4)]))
            .unwrap();
        let found = |within: Range<usize>| excerpted(&lines, &within, numbered(&rendition));
        assert_eq!(found(0..9), Some(vec![0..1, 7..8]));
        assert_eq!(found(0..5), None);
        let false_one = Rendition::new(RenditionKind::Excerpt, "b\n", 1.0)
            .and_then(|it| it.with_lines(vec![None]))
            .unwrap();
        assert_eq!(
            excerpted(&Lines::of("a"), &(0..1), numbered(&false_one)),
            None
        );
    }

    #[test]
    fn a_line_with_a_number_is_the_line_of_that_number() {
        let text = "f {\r\n}\ng {\n    x\n}\n";
        let found = |shown: &str, numbers: &[u32]| {
            let numbers = numbers.iter().copied().map(Some).collect();
            let rendition = Rendition::new(RenditionKind::Skeleton, shown, 1.0)
                .and_then(|it| it.with_lines(numbers))
                .unwrap();
            excerpted(&Lines::of(text), &(0..text.len()), numbered(&rendition))
        };
        assert_eq!(found("f {\n}\n", &[1, 2]), Some(vec![0..3, 5..6]));
        assert_eq!(found("g {\n}\n", &[3, 5]), Some(vec![7..10, 17..18]));
        assert_eq!(found("g {\n}\n", &[3, 2]), None, "that of another");
        assert_eq!(found("f {\n}\n", &[2, 3]), None, "all beside by one");
        assert_eq!(found("x\n", &[4]), None, "a part of one");
    }
}
