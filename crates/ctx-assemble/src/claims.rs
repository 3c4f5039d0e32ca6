//! A share of the budget that some chunks have before others that are worth more.

use std::collections::BTreeMap;

use ctx_budget::{Item, Problem};

use crate::candidates::Candidates;

/// Chunks that have the first claim on a share of what the budget leaves beside pinned chunks; see [`assemble_with`](crate::assemble_with).
/// By default there are none.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Claims {
    /// The ids of the chunks, those that come first in order of their claims. Ids of no chunk are passed over.
    pub ids: Vec<String>,
    /// The share, 0 to 1, of the tokens and of `max_chunks`. Another value counts as the nearer end, NaN as 0.
    pub share: f64,
}

impl Claims {
    /// The chunks `ids` claim this share, each before those after it.
    pub fn new(ids: Vec<String>, share: f64) -> Self {
        Claims { ids, share }
    }
}

/// The claims on what is to be chosen from.
#[derive(Debug, Default)]
pub(crate) struct Claimants {
    /// By their index, in the order of their claims.
    items: Vec<usize>,
    share: f64,
}

/// An item whose claim is granted, and the least that is shown of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) item: usize,
    choice: usize,
}

impl Claimants {
    /// O(n log n) for n chunks, where there are claims.
    pub(crate) fn of(claims: &Claims, candidates: &Candidates<'_>) -> Self {
        if claims.ids.is_empty() {
            return Claimants::default();
        }
        let all = candidates.all.iter().enumerate();
        let places = all.flat_map(|(place, it)| {
            let parts = it.unit.parts().iter();
            parts.map(move |part| (part.id.as_str(), place))
        });
        let places: BTreeMap<&str, usize> = places.collect();
        let items = claims.ids.iter();
        Claimants {
            items: items
                .filter_map(|id| places.get(id.as_str()).copied())
                .collect(),
            share: claims.share.clamp(0.0, 1.0),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The claims that are granted where choices may weigh `room`, and where `places` more items may be shown, if that is bounded: in
    /// order, each in the fullest way that the rest of the share holds, up to the first that it does not hold at all. A heading that no
    /// pinned item pays for is part of the price. One of several places is left to others. O(items).
    pub(crate) fn granted(
        &self,
        problem: &Problem,
        room: u64,
        places: Option<usize>,
    ) -> Vec<Granted> {
        let Problem { items, groups, .. } = problem;
        if self.items.is_empty() {
            return Vec::new();
        }
        let mut is_paid = vec![false; groups.len()];
        let pinned = items.iter().filter(|it| it.pinned);
        let of_pins =
            pinned.map(|it| cheapest(it).saturating_add(heading(it, groups, &mut is_paid)));
        let of_pins = of_pins.fold(0, u64::saturating_add);
        let mut left = self.share_of(room.saturating_sub(of_pins));
        let mut places = places.map(|most| {
            let pinned = items.iter().filter(|it| it.pinned).count();
            let most = most.saturating_sub(pinned);
            let share = self.share_of(most as u64).max(1);
            usize::try_from(share)
                .unwrap_or(most)
                .min(most.saturating_sub(1))
        });
        let mut is_granted = vec![false; items.len()];
        let mut granted = Vec::new();
        for &item in &self.items {
            let it = &items[item];
            if it.pinned || std::mem::replace(&mut is_granted[item], true) {
                continue;
            }
            let heading = heading(it, groups, &mut is_paid);
            let rest = left.checked_sub(heading).filter(|_| places != Some(0));
            let fits = |rest: u64| it.choices.iter().position(|it| it.weight <= rest);
            let Some((rest, choice)) = rest.and_then(|rest| Some((rest, fits(rest)?))) else {
                break;
            };
            left = rest - it.choices[choice].weight;
            places = places.map(|it| it - 1);
            granted.push(Granted { item, choice });
        }
        granted
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a weight fits a budget, and a share of it is not negative"
    )]
    fn share_of(&self, all: u64) -> u64 {
        (all as f64 * self.share) as u64
    }
}

/// What the heading of the group of `item` costs, unless it is paid already; it is from now on.
fn heading(item: &Item, groups: &[u64], is_paid: &mut [bool]) -> u64 {
    let group = item.group.map(|it| it as usize);
    let unpaid = group.filter(|&it| !std::mem::replace(&mut is_paid[it], true));
    unpaid.map_or(0, |it| groups[it])
}

fn cheapest(item: &Item) -> u64 {
    let weights = item.choices.iter().map(|it| it.weight);
    weights.min().unwrap_or_default()
}

impl Granted {
    /// Has its item shown as fully as is granted, or more so.
    pub(crate) fn apply(self, items: &mut [Item]) {
        let item = &mut items[self.item];
        item.pinned = true;
        item.choices.truncate(self.choice + 1);
        for feature in &mut item.features {
            let last = u32::try_from(self.choice).unwrap_or(u32::MAX);
            feature.until = feature.until.min(last);
        }
    }
}
