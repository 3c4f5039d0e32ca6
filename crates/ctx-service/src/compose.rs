//! Assembles candidates so that no line is shown twice.

use std::collections::{BTreeMap, BTreeSet};

use ctx_assemble::{AssembleError, Claims, Control, Extras, assemble_with};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, GroupBy, Included, LineSpan, Omitted, OmittedReason, Order,
    Origin, RenditionKind,
};
use ctx_tokens::TokenCounter;

use crate::candidates::Candidates;

/// The share of the budget left by pinned chunks on which exchanges of the thread have the first
/// claim, the latest first: the similarity of a message like "go on" does not tell what it is
/// about.
const SHARE_OF_HISTORY: f64 = 0.25;

/// Why a chunk is shown that nobody named, and whose lines are those of chunks that were chosen.
const WITH_OTHERS: &str = "contains chunks that were chosen";

/// The options for building a prime context, where these override the caller's: chunks are grouped
/// by file, so that a path is shown once, and these are in an order independent of the question,
/// with the turns last and in their order; selection does not depend on that order; and ids are
/// shown, so that they can be cited.
pub(crate) fn arranged(build: &BuildOptions) -> BuildOptions {
    let mut build = build
        .clone()
        .with_group_by(GroupBy::File)
        .with_order(Order::Stable)
        .with_ids(true);
    if let Some(previous) = &mut build.previous {
        // A turn that was omitted before would otherwise follow those that were shown.
        previous.ids.retain(|id| !id.starts_with("mes-"));
    }
    build
}

/// Assembles `candidates` repeatedly, until no lines are shown both by themselves and within a
/// larger part of the same file. Chunks whose lines are within another chunk are omitted, and the
/// tokens saved are spent on others. Lines that were removed from a chunk because a named one has
/// them are put back if that one is shown in part.
///
/// # Errors
/// Those of the assembler.
pub(crate) fn compose(
    candidates: &mut Candidates,
    options: &BuildOptions,
    counter: &dyn TokenCounter,
    control: &Control,
) -> Result<BuiltContext, AssembleError> {
    let mut merged: Vec<Omitted> = Vec::new();
    let claims = claims(&candidates.chunks);
    let extras = Extras::default().with_claims(&claims);
    loop {
        let mut built = assemble_with(&candidates.chunks, &extras, options, counter, control)?;
        if candidates.put_back(&built.included) {
            continue;
        }
        let again = shown_twice(&built.included, candidates);
        if again.is_empty() {
            built.omitted.append(&mut merged);
            built.omitted.append(&mut candidates.omitted);
            built.warnings.append(&mut candidates.warnings);
            let holding = built.included.iter_mut();
            let holding = holding.filter(|it| candidates.is_holding(&it.id));
            holding.for_each(|it| WITH_OTHERS.clone_into(&mut it.why));
            return Ok(built);
        }
        let omitted = |(id, whole)| Omitted::new(id, OmittedReason::MergedInto).with_other(whole);
        // A chunk that others were merged into may itself be merged.
        for it in &mut merged {
            if let Some(larger) = it.other.as_ref().and_then(|whole| again.get(whole)) {
                it.other = Some(larger.clone());
            }
        }
        merged.extend(again.iter().map(omitted));
        let with = merged_into(&again, &built.omitted);
        candidates.hold(again, &with, options.max_chunks);
    }
}

/// The claims of the exchanges among `chunks`, which are in chronological order.
fn claims(chunks: &[Chunk]) -> Claims {
    let said = chunks.iter().filter(|it| it.origin == Origin::Message);
    let latest_first = said.rev().map(|it| it.id.clone());
    Claims::new(latest_first.collect(), SHARE_OF_HISTORY)
}

/// Maps each chunk whose lines all lie within another chunk shown in full to that chunk. This
/// includes named chunks, since their lines are shown all the same; but a chunk called by its label
/// stays, unless both are named.
fn shown_twice(included: &[Included], candidates: &Candidates) -> BTreeMap<String, String> {
    let pinned = candidates.chunks.iter().filter(|it| it.pinned);
    let pinned: BTreeSet<&str> = pinned.map(|it| it.id.as_str()).collect();
    let span = |it: &Included| LineSpan::new(it.start_line?, it.end_line?).ok();
    let mut whole: Vec<(&Included, LineSpan)> = included
        .iter()
        .filter(|it| it.rendition == RenditionKind::Full && it.file_path.is_some())
        .filter_map(|it| Some((it, span(it)?)))
        .collect();
    // The largest first, so that a part contained in two is mapped to the larger.
    whole.sort_by(|(a, of_a), (b, of_b)| {
        let size = |span: &LineSpan| std::cmp::Reverse(span.line_count());
        (size(of_a), &a.id).cmp(&(size(of_b), &b.id))
    });
    let mut again = BTreeMap::new();
    for part in included {
        let Some(lines) = span(part) else { continue };
        let holder = whole.iter().find(|(it, all)| {
            it.file_path == part.file_path
                && all.contains(lines)
                && *all != lines
                && !again.contains_key(&it.id)
                && (!candidates.is_called(&part.id) || pinned.contains(&*it.id))
        });
        if let Some((it, _)) = holder {
            again.insert(part.id.clone(), it.id.clone());
        }
    }
    to_last(&mut again);
    again
}

/// Maps what was mapped to a chunk that is itself mapped to another to that other. A chunk is
/// mapped to one with more lines, so this ends.
fn to_last(again: &mut BTreeMap<String, String>) {
    let direct = again.clone();
    for whole in again.values_mut() {
        while let Some(larger) = direct.get(whole) {
            whole.clone_from(larger);
        }
    }
}

/// The ids of those `omitted` chunks that were merged into a chunk which contains others: their
/// lines may include those of a contained chunk.
fn merged_into(again: &BTreeMap<String, String>, omitted: &[Omitted]) -> BTreeSet<String> {
    let holders: BTreeSet<&String> = again.values().collect();
    let is_one = |it: &&Omitted| {
        it.reason == OmittedReason::MergedInto
            && it.other.as_ref().is_some_and(|it| holders.contains(it))
    };
    omitted
        .iter()
        .filter(is_one)
        .map(|it| it.id.clone())
        .collect()
}

/// The number of candidates by source, and how many are not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Stats {
    /// Parts that the user named or pinned.
    pub explicit_count: usize,
    /// Parts that the search found.
    pub search_count: usize,
    /// Exchanges of the thread.
    pub history_count: usize,
    /// Files that were shown recently.
    pub recent_count: usize,
    /// Candidates of all sources that are not shown.
    pub excluded_count: usize,
}

impl Stats {
    pub(crate) fn of(candidates: &Candidates) -> Self {
        let chunks = &candidates.chunks;
        let is_explicit = |it: &&Chunk| it.pinned || candidates.is_called(&it.id);
        let count = |origin| chunks.iter().filter(|it| it.origin == origin).count();
        Stats {
            explicit_count: chunks.iter().filter(is_explicit).count(),
            search_count: count(Origin::Chunk),
            history_count: count(Origin::Message),
            recent_count: count(Origin::File),
            excluded_count: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_model::{Relevance, Rendition, Selection, Tokens};

    use super::*;

    fn chunk(id: &str, path: &str, lines: (u32, u32), relevance: f64) -> Chunk {
        let line = |it| format!("{path} line {it} of it\n");
        let content: String = (lines.0..=lines.1).map(line).collect();
        Chunk::new(id, content, Relevance::new(relevance).unwrap())
            .with_path(path)
            .with_span(LineSpan::new(lines.0, lines.1).unwrap())
    }

    fn composed(chunks: &[Chunk], build: &BuildOptions, max_tokens: u32) -> BuiltContext {
        let mut candidates = Candidates::default();
        candidates.chunks.extend_from_slice(chunks);
        let options = arranged(build).with_max_tokens(Tokens::new(max_tokens));
        let words = &ctx_tokens::Words;
        compose(&mut candidates, &options, words, &Control::default()).unwrap()
    }

    /// The named lines lie in the second of two adjacent parts, which are merged where both are
    /// shown. That part matters less than another chunk, for which there would be room without it.
    #[test]
    fn all_that_holds_lines_stays() {
        let mut named = chunk("named", "a.txt", (12, 19), 1.0)
            .with_pin()
            .with_renditions(
                Rendition::new(RenditionKind::Mention, "a mention", 0.1)
                    .into_iter()
                    .collect(),
            );
        named.origin = Origin::Reference;
        let chunks = [
            named,
            chunk("first", "a.txt", (1, 10), 0.6),
            chunk("second", "a.txt", (11, 20), 0.3),
            chunk("other", "b.txt", (1, 16), 0.5),
        ];
        let built = composed(&chunks, &BuildOptions::default(), 235);
        for line in 12..=19 {
            let line = format!("a.txt line {line} of it");
            assert_eq!(built.context.matches(&line).count(), 1, "{}", built.context);
        }
        let omitted = built.omitted.iter().find(|it| it.id == "named");
        let whole = omitted.and_then(|it| it.other.as_deref());
        assert_eq!(whole, Some("first"), "{built:#?}");
    }

    /// The chunk that matters most is the last in the order of display, and leaves no room for the
    /// others, which are worth more together.
    #[test]
    fn chunks_are_chosen_by_the_policy_that_was_asked_for() {
        let chunks = [
            chunk("first", "a.txt", (1, 6), 0.6),
            chunk("second", "b.txt", (1, 6), 0.5),
            chunk("best", "c.txt", (1, 12), 0.7),
        ];
        for (selection, shown) in [
            (Selection::InOrder, &["best"][..]),
            (Selection::Optimal, &["first", "second"]),
        ] {
            let options = BuildOptions::default().with_selection(selection);
            let built = composed(&chunks, &options, 130);
            let ids: Vec<&str> = built.included.iter().map(|it| it.id.as_str()).collect();
            assert_eq!(ids, shown, "{selection}: {built:#?}");
        }
    }

    #[test]
    fn a_chunk_goes_into_the_last_that_contains_it() {
        let again = [("a", "b"), ("b", "c"), ("x", "c")];
        let owned = again.map(|(part, whole)| (part.to_owned(), whole.to_owned()));
        let mut again = BTreeMap::from(owned);
        to_last(&mut again);
        assert!(again.values().all(|it| it == "c"), "{again:?}");
    }
}
