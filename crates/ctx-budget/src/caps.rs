//! Caps in proportion to relevance: the most that one item may weigh.

use ctx_model::ChunkKind;

use crate::number::{Sum, real};

/// The number of characters per token, if nothing better is known.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// The facts that an item's cap is computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Its relevance: finite, not negative. Anything else counts as 0.
    pub relevance: f64,
    /// The usual size of its kind: see [`kind_budget`].
    pub kind_budget: u64,
    /// The weight of its heaviest choice, which it never needs more than; `u64::MAX` if unknown.
    pub need: u64,
}

/// The parameters of caps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapRule {
    /// The share of the budget that is split by relevance.
    pub share: f64,
    /// How many times its kind's budget an item may weigh at most.
    pub times: u64,
    /// The least cap of every item.
    pub floor: u64,
}

impl CapRule {
    /// 80 % of the budget split by relevance, at most four times the kind's budget, at least 100
    /// characters.
    pub const CHARACTERS: CapRule = CapRule {
        share: 0.8,
        times: 4,
        floor: 100,
    };

    /// The same rule with tokens as the unit: at least 25 tokens.
    pub const TOKENS: CapRule = CapRule {
        floor: CapRule::CHARACTERS.floor / CHARACTERS_PER_TOKEN,
        ..CapRule::CHARACTERS
    };
}

/// The unit of a kind's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapUnit {
    /// Characters.
    Characters,
    /// Tokens, at four characters each.
    Tokens,
}

/// The usual size of a kind: 1,000 characters for a document, 800 for a class or a section, 600 for
/// an interface, 400 for a function, 300 for a method, 200 for a file, 500 for anything else.
pub fn kind_budget(kind: &ChunkKind, unit: CapUnit) -> u64 {
    let characters = match kind {
        ChunkKind::Document => 1_000,
        ChunkKind::Class | ChunkKind::Section => 800,
        ChunkKind::Interface => 600,
        ChunkKind::Function => 400,
        ChunkKind::Method => 300,
        ChunkKind::File => 200,
        _ => 500,
    };
    match unit {
        CapUnit::Characters => characters,
        CapUnit::Tokens => characters / CHARACTERS_PER_TOKEN,
    }
}

/// The cap of each item, for [`Item::cap`](crate::Item::cap). `rule.share` of the budget is split
/// by relevance; a cap is at most `rule.times` the budget of the item's kind, and at least
/// `rule.floor`. What one item's kind does not allow, or what it does not need, is split among the
/// other items, again by relevance, so that the caps add up to the share if kinds and needs allow
/// that much. A larger budget never lowers a cap. If no item has any relevance, the parts are
/// equal. O(n log n) for n claims.
///
/// Caps remove choices, so the optimum of a problem with caps is never above that without. An item
/// shown by a choice below its cap leaves the difference unspent, and one that has no choice within
/// its cap leaves all of it.
pub fn proportional_caps(claims: &[Claim], budget: u64, rule: &CapRule) -> Vec<u64> {
    let relevance = |claim: &Claim| {
        let usable = claim.relevance.is_finite() && claim.relevance > 0.0;
        if usable { claim.relevance } else { 0.0 }
    };
    // Scaled by the largest relevance, so that no sum overflows.
    let largest = claims.iter().map(relevance).fold(0.0, f64::max);
    let scaled = |claim: &Claim| {
        if largest > 0.0 {
            relevance(claim) / largest
        } else {
            1.0
        }
    };
    let most = |claim: &Claim| claim.kind_budget.saturating_mul(rule.times).min(claim.need);
    let wanted: Vec<(f64, f64)> = claims
        .iter()
        .map(|it| (scaled(it), real(most(it))))
        .collect();
    let pool = real(budget) * rule.share.clamp(0.0, 1.0);
    let level = level(&wanted, pool);
    let cap = |claim: &Claim| {
        let part = whole(scaled(claim) * level);
        part.min(most(claim)).max(rule.floor)
    };
    claims.iter().map(cap).collect()
}

/// The level at which `pool` is used up if each item gets its weight times the level, but never
/// more than its maximum; infinite if all items reach their maximum. `wanted` has the weight and
/// the maximum of each item.
fn level(wanted: &[(f64, f64)], pool: f64) -> f64 {
    let mut open: Vec<(f64, f64)> = wanted.iter().copied().filter(|it| it.0 > 0.0).collect();
    // Items that reach their maximum at the highest level come first, so that the others are
    // removed from the end.
    open.sort_by(|a, b| {
        (b.1 / b.0)
            .total_cmp(&(a.1 / a.0))
            .then(b.0.total_cmp(&a.0))
    });
    let mut weights = Vec::with_capacity(open.len());
    let mut total = Sum::default();
    for (weight, _) in &open {
        total.add(*weight);
        weights.push(total.get());
    }
    let mut taken = Sum::default();
    for ((weight, most), weights) in open.iter().zip(weights).rev() {
        let level = (pool - taken.get()).max(0.0) / weights;
        if level * weight <= *most {
            return level;
        }
        taken.add(*most);
    }
    f64::INFINITY
}

/// The nearest whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and no part is negative"
)]
fn whole(n: f64) -> u64 {
    n.round() as u64
}
