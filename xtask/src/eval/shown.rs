//! What a context shows of its sources, to the character.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Result, ensure};
use ctx::format::parse;
use ctx::model::{BuiltContext, Chunk, Format, Included, Rendition, RenditionKind};

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

/// What `built`, a Markdown document, shows of `files`: each line of its blocks is looked for in the lines that are cited for it.
///
/// # Errors
/// It does not read back.
pub(super) fn shown(built: &BuiltContext, files: &Files) -> Result<Shown> {
    let parsed = parse(Format::Markdown, &built.context)?;
    ensure!(
        parsed.blocks.len() == built.included.len(),
        "a block is missing"
    );
    let mut shown = Shown::default();
    for (included, block) in built.included.iter().zip(&parsed.blocks) {
        match places(included, &block.body, files) {
            Some(parts) => shown.parts.extend(parts),
            None => shown.false_spans += 1,
        }
    }
    Ok(shown)
}

fn places(included: &Included, body: &str, files: &Files) -> Option<Vec<(String, Range<usize>)>> {
    let path = included.file_path.as_deref()?;
    let text = files.get(path)?;
    let cited = cited(text, included.start_line?, included.end_line?)?;
    let bytes = if included.rendition == RenditionKind::Full {
        let is_it = body.trim_end() == text[cited.clone()].trim_end();
        is_it.then(|| vec![cited])?
    } else {
        excerpted(&text[cited.clone()], body)?
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

/// Where each line of `body` that shows something is in `source`, one after the other.
fn excerpted(source: &str, body: &str) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in body.lines() {
        // Marks begin so, be they comments of a language or not; a line without words shows nothing.
        let is_mark = line == "…" || line.contains("left out");
        if line.trim().is_empty() {
            continue;
        }
        match source[at..].find(line) {
            Some(from) => {
                found.push(at + from..at + from + line.len());
                at += from + line.len();
            }
            None if is_mark => {}
            None => return None,
        }
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
        assert_eq!(excerpted(text, "a\n…\na\n"), Some(vec![0..1, 7..8]));
        assert_eq!(excerpted("a", "b\n"), None);
    }
}
