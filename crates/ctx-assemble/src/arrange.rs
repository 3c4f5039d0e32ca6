//! The order in which chunks are shown, and their headings.
//!
//! Every order here is total: ties end with the chunk's id, which is unique, so the result does not
//! depend on the order in which chunks arrive.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use ctx_format::Group;
use ctx_model::{BuildOptions, Category, Chunk, GroupBy, Order};
use rapidhash::RapidHashMap;

/// The chunks under one heading, by index, in the order of display.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    pub(crate) group: Option<Group<'a>>,
    pub(crate) members: Vec<usize>,
}

/// Orders `chunks` by the options. For [`Order::Edges`] they are ordered by relevance, because
/// which chunk comes last is only known after selection. O(n log n).
pub(crate) fn arrange<'a>(chunks: &[&'a Chunk], options: &BuildOptions) -> Vec<Section<'a>> {
    let order = options.order;
    match options.group_by {
        GroupBy::None => {
            let mut members: Vec<usize> = (0..chunks.len()).collect();
            members.sort_unstable_by(|&a, &b| by_order(order, chunks[a], chunks[b]));
            vec![Section {
                group: None,
                members,
            }]
        }
        GroupBy::Kind => by_kind(chunks, order),
        GroupBy::File => by_file(chunks, order),
    }
}

fn by_kind<'a>(chunks: &[&'a Chunk], order: Order) -> Vec<Section<'a>> {
    let mut groups: BTreeMap<Category, Vec<usize>> = BTreeMap::new();
    for (index, chunk) in chunks.iter().enumerate() {
        groups.entry(chunk.kind.category()).or_default().push(index);
    }
    groups
        .into_iter()
        .map(|(category, mut members)| {
            members.sort_unstable_by(|&a, &b| by_order(order, chunks[a], chunks[b]));
            Section {
                group: Some(Group::Category(category)),
                members,
            }
        })
        .collect()
}

fn by_file<'a>(chunks: &[&'a Chunk], order: Order) -> Vec<Section<'a>> {
    let mut files: Vec<Vec<usize>> = Vec::new();
    let mut numbers: RapidHashMap<&str, usize> = RapidHashMap::default();
    for (index, chunk) in chunks.iter().enumerate() {
        let new = files.len();
        let number = match chunk.path.as_deref() {
            Some(path) => *numbers.entry(path).or_insert(new),
            // A chunk without a path has a file of its own.
            None => new,
        };
        if number == new {
            files.push(Vec::new());
        }
        files[number].push(index);
    }
    for members in &mut files {
        members.sort_unstable_by(|&a, &b| by_line(chunks[a], chunks[b]));
    }
    // A file is ranked by the chunk that would come first of all its chunks.
    let leader = |members: &[usize]| {
        let first = members
            .iter()
            .copied()
            .min_by(|&a, &b| by_order(order, chunks[a], chunks[b]));
        first.expect("a group has a member")
    };
    let mut led: Vec<(usize, Vec<usize>)> = files
        .into_iter()
        .map(|members| (leader(&members), members))
        .collect();
    led.sort_unstable_by(|(a, _), (b, _)| by_order(order, chunks[*a], chunks[*b]));
    led.into_iter()
        .map(|(leader, members)| Section {
            group: chunks[leader].path.as_deref().map(Group::File),
            members,
        })
        .collect()
}

/// The order of two chunks that share no group.
fn by_order(order: Order, a: &Chunk, b: &Chunk) -> Ordering {
    match order {
        Order::Relevance | Order::Edges => by_relevance(a, b),
        Order::Stable => {
            let class = |it: &Chunk| (Reverse(it.pinned), it.path.is_none());
            class(a).cmp(&class(b)).then_with(|| by_source(a, b))
        }
    }
}

/// The most relevant first.
pub(crate) fn by_relevance(a: &Chunk, b: &Chunk) -> Ordering {
    Reverse(a.relevance)
        .cmp(&Reverse(b.relevance))
        .then_with(|| by_source(a, b))
}

/// By path, name or id, and then by line.
pub(crate) fn by_source(a: &Chunk, b: &Chunk) -> Ordering {
    a.title().cmp(b.title()).then_with(|| by_line(a, b))
}

/// The order of two chunks of one file.
fn by_line(a: &Chunk, b: &Chunk) -> Ordering {
    a.span
        .cmp(&b.span)
        .then_with(|| Reverse(a.relevance).cmp(&Reverse(b.relevance)))
        .then_with(|| a.id.cmp(&b.id))
}

/// The best first, the second best last, and so on towards the middle.
pub(crate) fn best_at_both_ends<T>(ranked: Vec<T>) -> Vec<T> {
    let mut front = Vec::with_capacity(ranked.len());
    let mut back = Vec::new();
    for (rank, item) in ranked.into_iter().enumerate() {
        if rank % 2 == 0 {
            front.push(item);
        } else {
            back.push(item);
        }
    }
    front.extend(back.into_iter().rev());
    front
}
