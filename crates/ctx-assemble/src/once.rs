//! Assembly in which no line of a file is shown twice.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ctx_model::{BuildOptions, BuiltContext, Chunk, LineSpan, OmittedReason, RenditionKind};
use ctx_tokens::TokenCounter;

use crate::{AssembleError, Control, assemble};

/// The most times that a context is assembled again.
const MOST: usize = 8;

/// [`assemble`], repeated until no line is shown twice: if chunks with renditions are shown in full
/// and overlap, they are merged like plain text, and the context is assembled again with the tokens
/// saved. Chunks shown in part stay separate, and so do all chunks if `merge` is false. Costs one
/// [`assemble`], and at most eight more; none after the deadline.
///
/// # Errors
/// Those of [`assemble`].
pub fn assemble_each_line_once(
    chunks: &[Chunk],
    options: &BuildOptions,
    counter: &dyn TokenCounter,
    control: &Control,
) -> Result<BuiltContext, AssembleError> {
    let mut built = assemble(chunks, options, counter, control)?;
    if !options.merge {
        return Ok(built);
    }
    let mut chunks = Cow::Borrowed(chunks);
    for _ in 0..MOST {
        let again = shown_again(&built, &chunks);
        if again.is_empty() {
            break;
        }
        for chunk in chunks.to_mut() {
            if again.contains(&chunk.id) {
                chunk.renditions.clear();
            }
        }
        match assemble(&chunks, options, counter, control) {
            Err(AssembleError::Cancelled) => return Err(AssembleError::Cancelled),
            // A selection that the deadline cut short may be worse.
            _ if control.is_late() => break,
            Ok(mut merged) if is_all_shown(&merged, &again) => {
                merged.build_time += built.build_time;
                built = merged;
            }
            // Lines shown twice are better than chunks shown in part, or not at all.
            _ => break,
        }
    }
    Ok(built)
}

/// The ids of those of `chunks` that have renditions, are shown in full, and share lines with
/// another chunk shown in full.
fn shown_again(built: &BuiltContext, chunks: &[Chunk]) -> BTreeSet<String> {
    let mut by_file: BTreeMap<&str, Vec<(LineSpan, &str)>> = BTreeMap::new();
    for it in &built.included {
        let lines = it.start_line.zip(it.end_line);
        let lines = lines.and_then(|(start, end)| LineSpan::new(start, end).ok());
        let is_full = it.rendition == RenditionKind::Full;
        if let (Some(path), Some(lines), true) = (&it.file_path, lines, is_full) {
            by_file.entry(path).or_default().push((lines, &it.id));
        }
    }
    let mut again = BTreeSet::new();
    for mut shown in by_file.into_values() {
        shown.sort_unstable();
        // The last line of the chunks so far, and the id of the chunk before.
        let (mut end, mut last) = (0, None);
        for (lines, id) in shown {
            if let Some(before) = last.filter(|_| lines.start() <= end) {
                again.extend([before, id]);
            }
            end = end.max(lines.end());
            last = Some(id);
        }
    }
    let could_merge = |it: &&Chunk| {
        again.contains(&*it.id) && it.expanded_context.is_none() && !it.renditions.is_empty()
    };
    let chunks = chunks.iter().filter(could_merge);
    chunks.map(|it| it.id.clone()).collect()
}

/// Whether all of `ids` are shown in full, by themselves or as part of a merged chunk.
fn is_all_shown(built: &BuiltContext, ids: &BTreeSet<String>) -> bool {
    let full = built.included.iter();
    let full = full.filter(|it| it.rendition == RenditionKind::Full);
    let merged = built.omitted.iter();
    let merged = merged.filter(|it| it.reason == OmittedReason::MergedInto);
    let shown = full.map(|it| &*it.id).chain(merged.map(|it| &*it.id));
    let shown: BTreeSet<&str> = shown.collect();
    ids.iter().all(|it| shown.contains(&**it))
}
