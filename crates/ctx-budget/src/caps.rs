//! Caps in proportion to relevance: what one item may weigh at most.

use ctx_model::ChunkKind;

use crate::number::{Sum, real};

/// Characters that a token stands for, where nothing better is known.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// What an item has to show for itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Its relevance: finite, not negative. Anything else counts as 0.
    pub relevance: f64,
    /// What its kind is usually given: see [`kind_budget`].
    pub kind_budget: u64,
}

/// How caps are worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapRule {
    /// The share of the budget that is split by relevance.
    pub share: f64,
    /// How many times its kind's budget an item may have.
    pub times: u64,
    /// What every item may have.
    pub floor: u64,
}

impl CapRule {
    /// 80 % by relevance, four times the kind's budget, at least 100 characters.
    pub const CHARACTERS: CapRule = CapRule {
        share: 0.8,
        times: 4,
        floor: 100,
    };

    /// The same where the unit is a token: at least 25.
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

/// What a kind is usually given: 1,000 characters for a document, 800 for a class or a section, 600
/// for an interface, 400 for a function, 300 for a method, 200 for a file, 500 for anything else.
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

/// The cap of each item, for [`Item::cap`](crate::Item::cap): its relevance's part of a share of the
/// budget, at most so many times its kind's budget, and never below the floor. What is above that of one
/// item is split among those that are below it, again by relevance, so that the caps come to the share
/// where their kinds allow that much. Without any relevance the parts are equal. Needs O(n log n) for n claims.
///
/// Caps take choices away, so a problem's optimum with caps is never above that without. What an item
/// needs is not known here: one that needs less than its cap leaves the rest of it unspent, and one that
/// can be shown in no rendition that is small enough leaves all of it.
pub fn proportional_caps(claims: &[Claim], budget: u64, rule: &CapRule) -> Vec<u64> {
    let relevance = |claim: &Claim| {
        let usable = claim.relevance.is_finite() && claim.relevance > 0.0;
        if usable { claim.relevance } else { 0.0 }
    };
    // Scaled by the largest, so that no sum is too large.
    let largest = claims.iter().map(relevance).fold(0.0, f64::max);
    let scaled = |claim: &Claim| {
        if largest > 0.0 {
            relevance(claim) / largest
        } else {
            1.0
        }
    };
    let most = |claim: &Claim| claim.kind_budget.saturating_mul(rule.times);
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

/// What an item of weight 1 has where all have their weight's part of `pool`, and none has more than its
/// most: infinite where all have that. Of each item its weight, and its most.
fn level(wanted: &[(f64, f64)], pool: f64) -> f64 {
    let mut open: Vec<(f64, f64)> = wanted.iter().copied().filter(|it| it.0 > 0.0).collect();
    // Those that have their most at the highest level first, so that what is left is at the front.
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
