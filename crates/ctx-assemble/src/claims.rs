//! A share of the budget that is reserved for some chunks, whatever their value.

use std::collections::BTreeMap;

use ctx_budget::{Item, Problem};

use crate::Extras;
use crate::candidates::Candidates;
use crate::variant::Variant;

/// Chunks that have the first claim on a share of the budget that pinned chunks leave, headings
/// included. The default has none.
///
/// The share is granted to them in order, each in the fullest rendition that fits the rest of the
/// share, up to the first that does not fit in any. A chunk whose claim is granted is included in
/// that rendition or a fuller one, whatever its value, and its `why` is `first claim`. The other
/// chunks compete as usual. The certificate bounds selections that include the granted claims,
/// which depend on the budget. Claims also get this share of `max_chunks`, at least one place if
/// another one is left.
///
/// `min_relevance` does not hold for these chunks: what is chosen by its turn may score less.
///
/// Claims never displace pinned chunks, and no build fails because of claims.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Claims {
    /// The ids of the chunks, in the order of their claims. Ids of no chunk are ignored.
    pub ids: Vec<String>,
    /// The share of the tokens and of `max_chunks`, 0 to 1. Other values are clamped; NaN counts as
    /// 0.
    pub share: f64,
}

impl Claims {
    /// Claims of the chunks `ids`, in this order, on this share.
    pub fn new(ids: Vec<String>, share: f64) -> Self {
        Claims { ids, share }
    }
}

/// The claims of candidates.
#[derive(Debug, Default)]
pub(crate) struct Claimants {
    /// In the order of their claims: the index of each candidate, and the last of its choices that
    /// shows the claimed chunk.
    items: Vec<(usize, usize)>,
    share: f64,
}

/// An item whose claim is granted, and the least full choice that it may be shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) item: usize,
    choice: usize,
}

impl Claimants {
    /// O(n log n) for n chunks, where there are claims.
    pub(crate) fn of(extras: &Extras<'_>, candidates: &Candidates<'_>) -> Self {
        let Some(claims) = extras.claims.filter(|it| !it.ids.is_empty()) else {
            return Claimants::default();
        };
        let all = candidates.all.iter().enumerate();
        let places = all.flat_map(|(place, it)| {
            let parts = it.unit.parts().iter();
            parts.map(move |part| (part.id.as_str(), place))
        });
        let places: BTreeMap<&str, usize> = places.collect();
        let claimed = |id: &String| {
            let item = *places.get(id.as_str())?;
            let shows = |it: &Variant<'_>| {
                let mut parts = it.pieces.iter().flat_map(|it| &it.parts);
                parts.any(|part| part.id == *id)
            };
            let last = candidates.all[item].variants.iter().rposition(shows)?;
            Some((item, last))
        };
        Claimants {
            items: claims.ids.iter().filter_map(claimed).collect(),
            share: claims.share.clamp(0.0, 1.0),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Grants claims if choices may weigh `room` and, if bounded, at most `places` items may be
    /// shown: in order, each in the fullest choice that fits the rest of the share, up to the first
    /// that does not fit in any. The heading of a group is paid by its first item. One place is
    /// always left to other items. O(items).
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
        let mut is_granted: Vec<Option<usize>> = vec![None; items.len()];
        let mut granted = Vec::new();
        for &(item, last) in &self.items {
            let it = &items[item];
            if it.pinned || is_granted[item].is_some_and(|choice| choice <= last) {
                continue;
            }
            if is_granted[item].is_some() {
                // It stands in a part of its block that is not shown.
                break;
            }
            let heading = heading(it, groups, &mut is_paid);
            let rest = left.checked_sub(heading).filter(|_| places != Some(0));
            let cap = it.cap.unwrap_or(u64::MAX);
            let choices = &it.choices[..=last];
            let fits = |rest: u64| choices.iter().position(|it| it.weight <= rest.min(cap));
            let Some((rest, choice)) = rest.and_then(|rest| Some((rest, fits(rest)?))) else {
                break;
            };
            left = rest - it.choices[choice].weight;
            places = places.map(|it| it - 1);
            is_granted[item] = Some(choice);
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

/// The weight of the heading of the group of `item`, or 0 if it is paid already. Marks it as paid.
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
    /// Makes its item shown in the granted choice or a fuller one.
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
