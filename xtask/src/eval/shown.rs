//! What a context shows of its sources, to the character.

use std::collections::BTreeMap;
use std::ops::Range;

use ctx::model::{Chunk, Included, Rendition, RenditionKind};
use ctx::service::Answer;

/// The files that a set was written to: path → text.
pub(super) type Files = BTreeMap<String, String>;

/// What is shown: path, and characters of the file. What could not be found where it was said to be is counted.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) parts: Vec<(String, Range<usize>)>,
    pub(super) false_spans: usize,
}

/// The rendition of `chunk` that `context` holds: there may be several of a kind.
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

/// What `answer` shows of `files`. Each line of its renditions is looked for in the lines that are cited for it.
pub(super) fn shown(answer: &Answer, files: &Files) -> Shown {
    let mut shown = Shown::default();
    for included in &answer.built.included {
        let chunk = answer.chunks.iter().find(|it| it.id == included.id);
        let found = chunk.and_then(|chunk| places(chunk, included, &answer.built.context, files));
        match found {
            Some(parts) => shown.parts.extend(parts),
            None => shown.false_spans += 1,
        }
    }
    shown
}

fn places(
    chunk: &Chunk,
    included: &Included,
    context: &str,
    files: &Files,
) -> Option<Vec<(String, Range<usize>)>> {
    let path = chunk.path.as_deref()?;
    let text = files.get(path)?;
    let cited = cited(text, included.start_line?, included.end_line?)?;
    let bytes = if included.rendition == RenditionKind::Full {
        let is_there = context.contains(text[cited.clone()].trim_end());
        is_there.then(|| vec![cited])?
    } else {
        excerpted(&text[cited.clone()], rendition(chunk, included, context)?)?
            .into_iter()
            .map(|it| cited.start + it.start..cited.start + it.end)
            .collect()
    };
    let characters = |at: usize| text[..at].chars().count();
    let parts = bytes.into_iter();
    Some(
        parts
            .map(|it| (path.to_owned(), characters(it.start)..characters(it.end)))
            .collect(),
    )
}

/// The bytes of lines `first` to `last`.
fn cited(text: &str, first: u32, last: u32) -> Option<Range<usize>> {
    let ends = text.match_indices('\n').map(|(at, _)| at);
    let mut starts = vec![0];
    starts.extend(ends.map(|at| at + 1));
    let start = *starts.get(first as usize - 1)?;
    let end = starts.get(last as usize).map_or(text.len(), |at| at - 1);
    text.get(start..end).map(|_| start..end)
}

/// Where each line of `rendition` that shows something is in `source`, one after the other.
fn excerpted(source: &str, rendition: &Rendition) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut at = 0;
    for (line, number) in rendition.text().lines().zip(rendition.lines()) {
        // Marks begin so, be they comments of a language or not; a line without words shows nothing.
        let is_mark = number.is_none() && (line == "…" || line.contains("left out"));
        if is_mark || line.trim().is_empty() {
            continue;
        }
        let start = at + source[at..].find(line)?;
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
        assert_eq!(cited(text, 2, 2), Some(2..5));
        assert_eq!(cited(text, 4, 4), Some(7..8));
        assert_eq!(cited(text, 6, 6), None);
        let rendition = Rendition::new(RenditionKind::Excerpt, "a\n…\na\n", 1.0)
            .and_then(|it| it.with_lines(vec![Some(1), None, Some(4)]))
            .unwrap();
        assert_eq!(excerpted(text, &rendition), Some(vec![0..1, 7..8]));
        let false_one = Rendition::new(RenditionKind::Excerpt, "b\n", 1.0)
            .and_then(|it| it.with_lines(vec![None]))
            .unwrap();
        assert_eq!(excerpted("a", &false_one), None);
    }
}
