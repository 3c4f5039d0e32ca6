//! The chunks that may be shown, in the order they are considered, each priced in every way it may
//! be shown.

use ctx_budget::{Capacity, Choice, Item, Problem};
use ctx_format::Group;
use ctx_model::{BuildOptions, Chunk};

use crate::AssembleError;
use crate::arrange::{Section, arrange};
use crate::fixed::Fixed;
use crate::price::{Price, Pricer, Showing};

/// One chunk that may be shown.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) chunk: &'a Chunk,
    /// The section it stands in.
    pub(crate) section: usize,
    /// From the most to the least information; never empty.
    pub(crate) showings: Vec<Showing<'a>>,
}

/// Every chunk, as a candidate or as one that matters too little to be one.
#[derive(Debug)]
pub(crate) struct Candidates<'a> {
    /// In the order they are considered, section by section.
    pub(crate) all: Vec<Candidate<'a>>,
    /// The heading of each section.
    pub(crate) groups: Vec<Option<Group<'a>>>,
    group_prices: Vec<Price>,
    /// Indices of the chunks below the least relevance, in the order they would be shown.
    pub(crate) below_min_relevance: Vec<usize>,
}

impl<'a> Candidates<'a> {
    /// Sorts out, orders and prices `chunks`.
    pub(crate) fn price(
        chunks: &'a [Chunk],
        options: &BuildOptions,
        pricer: &Pricer<'_>,
    ) -> Result<Self, AssembleError> {
        let least = options.min_relevance.unwrap_or_default();
        let (kept, below): (Vec<usize>, Vec<usize>) = (0..chunks.len())
            .partition(|&index| chunks[index].pinned || chunks[index].relevance >= least);
        let sections = arrange(chunks, &kept, options);
        let indices: Vec<usize> = sections
            .iter()
            .flat_map(|section| section.members.iter().copied())
            .collect();
        let mut showings = pricer.showings(chunks, &indices, options)?.into_iter();
        let mut all = Vec::with_capacity(indices.len());
        let mut groups = Vec::with_capacity(sections.len());
        let mut group_prices = Vec::with_capacity(sections.len());
        for (number, Section { group, members }) in sections.into_iter().enumerate() {
            group_prices.push(
                group
                    .as_ref()
                    .map_or(Ok(Price::default()), |it| pricer.group(it))?,
            );
            groups.push(group);
            all.extend(
                members
                    .into_iter()
                    .zip(&mut showings)
                    .map(|(index, showings)| Candidate {
                        chunk: &chunks[index],
                        section: number,
                        showings,
                    }),
            );
        }
        let below_min_relevance = arrange(chunks, &below, options)
            .into_iter()
            .flat_map(|section| section.members)
            .collect();
        Ok(Candidates {
            all,
            groups,
            group_prices,
            below_min_relevance,
        })
    }

    /// The same in numbers; what may be spent is left open.
    pub(crate) fn problem(&self, fixed: &Fixed, max_items: Option<usize>) -> Problem {
        let beside = fixed.separator.weight + fixed.source_separator.weight;
        let item = |candidate: &Candidate<'_>| {
            let relevance = candidate.chunk.relevance.get();
            let choice = |showing: &Showing<'_>| Choice {
                weight: (showing.price + showing.source)
                    .weight
                    .saturating_add(beside),
                value: relevance * showing.information,
            };
            let mut item = Item::new(candidate.showings.iter().map(choice).collect());
            item.group = u32::try_from(candidate.section).ok();
            item.pinned = candidate.chunk.pinned;
            item.class = candidate.chunk.kind.category() as u32;
            item
        };
        Problem {
            items: self.all.iter().map(item).collect(),
            groups: self.group_prices.iter().map(|price| price.weight).collect(),
            capacity: Capacity::default(),
            max_items,
        }
    }

    /// Whether there is room for everything in full.
    pub(crate) fn all_fit(problem: &Problem) -> bool {
        let items = &problem.items;
        let weights = items.iter().map(|item| item.choices[0].weight);
        let weight = weights
            .chain(problem.groups.iter().copied())
            .try_fold(0, u64::checked_add);
        problem.max_items.is_none_or(|most| items.len() <= most)
            && weight.is_some_and(|weight| weight <= problem.capacity.safe)
    }

    /// How many bytes the context will have, or somewhat more.
    pub(crate) fn bytes(&self, fixed: &Fixed, chosen: &[Option<usize>]) -> usize {
        let beside = fixed.separator.bytes + fixed.source_separator.bytes;
        let blocks = self
            .all
            .iter()
            .zip(chosen)
            .filter_map(|(candidate, choice)| {
                let showing = &candidate.showings[(*choice)?];
                Some((showing.price + showing.source).bytes + beside)
            });
        let groups = self.group_prices.iter().map(|price| price.bytes);
        fixed.around(true).bytes + blocks.sum::<usize>() + groups.sum::<usize>()
    }
}
