//! The units that may be shown, in the order of selection and in that of display, with the price of
//! every way to show each.

use std::collections::BTreeMap;

use ctx_budget::{Capacity, Choice, Item, Outcome, Problem};
use ctx_format::Group;
use ctx_model::{BuildOptions, Chunk};
use rapidhash::RapidHashSet;

use crate::arrange::{Section, arrange, by_relevance};
use crate::features::features;
use crate::fixed::Fixed;
use crate::price::{Price, Pricer};
use crate::unit::Unit;
use crate::variant::{Piece, Variant, Variants};
use crate::{AssembleError, Control};

/// One unit that may be shown.
#[derive(Debug)]
pub(crate) struct Candidate<'u> {
    pub(crate) unit: &'u Unit<'u>,
    /// The number of its section.
    pub(crate) section: usize,
    /// Whether all of it was in the previous context.
    pub(crate) was_sent: bool,
    /// From the most to the least information; never empty.
    pub(crate) variants: Variants<'u>,
}

/// All candidates.
#[derive(Debug)]
pub(crate) struct Candidates<'u> {
    /// In the order of selection: most relevant first, whatever the order of display.
    pub(crate) all: Vec<Candidate<'u>>,
    /// Their indices in the order of display, section by section.
    order: Vec<usize>,
    /// The heading of each section.
    pub(crate) groups: Vec<Option<Group<'u>>>,
    group_prices: Vec<Price>,
    /// The weight of headings that may not be written although they are paid for: if nothing is
    /// shown between two sections of one group, the second continues the first.
    pub(crate) spare_headings: u64,
}

impl<'u> Candidates<'u> {
    /// Orders and prices `units`.
    pub(crate) fn price(
        units: &'u [Unit<'u>],
        options: &BuildOptions,
        pricer: &Pricer<'_>,
    ) -> Result<Self, AssembleError> {
        let chunks: Vec<&'u Chunk> = units.iter().map(Unit::chunk).collect();
        let places = places(options);
        // The first place, in the previous context, of any of its parts.
        let place = |index: usize| {
            let parts = units[index].parts().iter();
            parts
                .filter_map(|part| places.get(part.id.as_str()).copied())
                .min()
        };
        let was_sent = |unit: &Unit<'_>| {
            let mut parts = unit.parts().iter();
            matches!(unit, Unit::Many(merged) if merged.was_sent())
                || parts.all(|part| places.contains_key(part.id.as_str()))
        };
        let sections = keep_places(arrange(&chunks, options), place);
        // The section and the unit of each, in the order of display.
        let mut shown: Vec<(usize, &'u Unit<'u>)> = Vec::with_capacity(units.len());
        for (number, section) in sections.iter().enumerate() {
            shown.extend(section.members.iter().map(|&index| (number, &units[index])));
        }
        let ordered: Vec<&'u Unit<'u>> = shown.iter().map(|&(_, unit)| unit).collect();
        let mut variants = pricer.variants(&ordered, options)?;
        // Places are sorted instead of candidates, which are large.
        let mut ranked: Vec<usize> = (0..shown.len()).collect();
        ranked.sort_unstable_by(|&a, &b| by_relevance(ordered[a].chunk(), ordered[b].chunk()));
        let mut order = vec![0; ranked.len()];
        for (index, &place) in ranked.iter().enumerate() {
            order[place] = index;
        }
        let candidate = |place: usize| {
            let (section, unit) = shown[place];
            Candidate {
                unit,
                section,
                was_sent: was_sent(unit),
                variants: std::mem::take(&mut variants[place]),
            }
        };
        let all = ranked.into_iter().map(candidate).collect();
        let mut groups = Vec::with_capacity(sections.len());
        let mut group_prices = Vec::with_capacity(sections.len());
        for Section { group, .. } in sections {
            let price = group.as_ref().map(|group| pricer.group(group));
            group_prices.push(price.transpose()?.unwrap_or_default());
            groups.push(group);
        }
        Ok(Candidates {
            all,
            order,
            spare_headings: repeated(&groups, &group_prices),
            groups,
            group_prices,
        })
    }

    /// The chosen candidates in the order of display, with the choice of each.
    pub(crate) fn chosen<'c, 'o>(
        &'c self,
        outcome: &'o Outcome,
    ) -> impl Iterator<Item = (&'c Candidate<'u>, usize)> + use<'c, 'o, 'u> {
        let chosen = move |&index: &usize| Some((&self.all[index], outcome.chosen[index]?));
        self.order.iter().filter_map(chosen)
    }

    /// The candidates as a selection problem, with the capacity still unset. Stops early if
    /// `control` is cancelled.
    pub(crate) fn problem(
        &self,
        fixed: &Fixed,
        options: &BuildOptions,
        control: &Control,
    ) -> Result<Problem, AssembleError> {
        let item = |candidate: &Candidate<'_>| {
            let choice = |variant: &Variant<'_>| Choice {
                weight: weight(variant, fixed),
                value: variant.value(),
            };
            let chunk = candidate.unit.chunk();
            let mut item = Item::new(candidate.variants.iter().map(choice).collect());
            item.group = u32::try_from(candidate.section).ok();
            item.pinned = chunk.pinned;
            item.class = chunk.kind.category() as u32;
            item
        };
        let mut items: Vec<Item> = self.all.iter().map(item).collect();
        if options.diversity > 0.0 {
            let features = features(&self.all, options, control)?;
            for (item, features) in items.iter_mut().zip(features) {
                item.features = features;
            }
        }
        Ok(Problem {
            items,
            groups: self.group_prices.iter().map(|price| price.weight).collect(),
            capacity: Capacity::default(),
            max_items: options.max_chunks,
        })
    }

    /// An upper estimate of the number of bytes of the context.
    pub(crate) fn bytes(&self, fixed: &Fixed, chosen: &[Option<usize>]) -> usize {
        let beside = (fixed.separator + fixed.source_separator).bytes;
        let piece = |piece: &Piece<'_>| {
            let own = piece.full_price().bytes;
            own.saturating_add(beside)
        };
        let chosen = self.all.iter().zip(chosen);
        let pieces = chosen
            .filter_map(|(candidate, choice)| Some(&candidate.variants[(*choice)?].pieces))
            .flatten();
        let groups = self.group_prices.iter().map(|price| price.bytes);
        let parts = pieces.map(piece).chain(groups);
        parts.fold(fixed.bytes(), usize::saturating_add)
    }
}

/// The weight of the headings of groups that have an earlier section.
fn repeated(groups: &[Option<Group<'_>>], prices: &[Price]) -> u64 {
    let mut seen = RapidHashSet::default();
    let repeated = groups.iter().zip(prices);
    let repeated = repeated.filter(|(group, _)| group.is_some_and(|it| !seen.insert(it)));
    repeated
        .map(|(_, price)| price.weight)
        .fold(0, u64::saturating_add)
}

/// The weight of a showing, with a separator after each block.
fn weight(variant: &Variant<'_>, fixed: &Fixed) -> u64 {
    let beside = fixed.separator.weight + fixed.source_separator.weight;
    let piece = |piece: &Piece<'_>| piece.full_price().weight.saturating_add(beside);
    variant
        .pieces
        .iter()
        .map(piece)
        .fold(0, u64::saturating_add)
}

/// The place of each chunk in the previous context.
fn places(options: &BuildOptions) -> BTreeMap<&str, usize> {
    let ids = options.previous.iter().flat_map(|previous| &previous.ids);
    ids.enumerate()
        .map(|(place, id)| (id.as_str(), place))
        .collect()
}

/// Puts the units of the previous context first, in their places there, and the others after them.
fn keep_places<'u>(
    sections: Vec<Section<'u>>,
    place: impl Fn(usize) -> Option<usize>,
) -> Vec<Section<'u>> {
    let mut kept: Vec<(usize, Option<Group<'u>>, usize)> = Vec::new();
    let mut rest = Vec::new();
    for Section { group, members } in sections {
        let (old, new): (Vec<usize>, Vec<usize>) = members
            .into_iter()
            .partition(|&index| place(index).is_some());
        kept.extend(
            old.into_iter()
                .filter_map(|index| Some((place(index)?, group, index))),
        );
        if !new.is_empty() {
            rest.push(Section {
                group,
                members: new,
            });
        }
    }
    kept.sort_unstable_by_key(|&(place, _, index)| (place, index));
    let mut all: Vec<Section<'u>> = Vec::new();
    for (_, group, index) in kept {
        match all.last_mut() {
            Some(last) if last.group == group => last.members.push(index),
            _ => all.push(Section {
                group,
                members: vec![index],
            }),
        }
    }
    for Section { group, members } in rest {
        match all.last_mut() {
            // The heading is there already.
            Some(last) if group.is_some() && last.group == group => last.members.extend(members),
            _ => all.push(Section { group, members }),
        }
    }
    all
}
