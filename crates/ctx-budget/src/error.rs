//! The errors of this crate.

use ctx_model::Tokens;

use crate::Reservation;

/// A budget that cannot be kept, or invalid numbers. `Display` follows a statement of what failed:
/// "failed to select: …".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// The parts that must be present do not fit.
    #[error(
        "a budget of {max_tokens} tokens less a reserve of {reserve} is too small: {needed} are needed, {available} are left \
         (header {header}, footer {footer}, notices {notices}, pinned {pinned}{}); {}",
        most_of_it(largest_pin.as_ref()), enough(*.needed, *.reserve, *.smallest)
    )]
    TooSmall {
        /// The budget, reserve included.
        max_tokens: Tokens,
        /// The tokens of the parts that must be present: header, footer, notices and pinned chunks.
        needed: Tokens,
        /// The tokens available: the budget less the reserve.
        available: Tokens,
        /// The header's part of `needed`.
        header: Tokens,
        /// The footer's part of `needed`.
        footer: Tokens,
        /// The notices' part of `needed`.
        notices: Tokens,
        /// The tokens kept for the answer.
        reserve: Tokens,
        /// The part of `needed` that pinned chunks take at their cheapest.
        pinned: Tokens,
        /// The pinned chunk that takes the largest part of `pinned`, if one is known: without it, a
        /// smaller budget would do.
        largest_pin: Option<Pin>,
        /// The smallest budget, reserve included, in which all of it fits; the largest possible
        /// budget if it fits in none.
        smallest: Tokens,
    },
    /// The pinned items do not fit, each at its cheapest, with the headings of their groups.
    #[error("pinned items need a weight of {needed} or more, and {available} is available")]
    PinsTooLarge {
        /// The weight of the pinned items.
        needed: u64,
        /// The weight that may be spent.
        available: u64,
    },
    /// More items are pinned than may be chosen.
    #[error("{pinned} items are pinned, and at most {max_items} may be chosen")]
    TooManyPins {
        /// How many are pinned.
        pinned: usize,
        /// How many may be chosen.
        max_items: usize,
    },
    /// An item with invalid numbers.
    #[error("item {item}: {what}")]
    Invalid {
        /// Its index.
        item: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A selection of a caller's own policy that `problem` does not allow.
    #[error("the policy's selection {what}")]
    Selection {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The diversity is not a share.
    #[error("diversity {diversity} is not a finite number from 0 to 1")]
    InvalidDiversity {
        /// What it is instead.
        diversity: f64,
    },
    /// The caller gave up.
    #[error("cancelled")]
    Cancelled,
}

/// A pinned chunk, and its tokens at its cheapest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Its name where it was pinned: its path and lines, or its id.
    pub name: String,
    /// Its tokens.
    pub tokens: Tokens,
}

fn most_of_it(pin: Option<&Pin>) -> String {
    let share = pin.map(|Pin { name, tokens }| format!(", {tokens} of them for {name:?}"));
    share.unwrap_or_default()
}

/// States which budget would do.
fn enough(needed: Tokens, reserve: Tokens, smallest: Tokens) -> String {
    match beyond_any(needed, reserve) {
        Some(together) => format!("no budget works: with the reserve it would be of {together}"),
        None => format!("the smallest budget that works is {smallest}"),
    }
}

/// The budget needed, reserve included, if no budget is that large.
fn beyond_any(needed: Tokens, reserve: Tokens) -> Option<u64> {
    let together = u64::from(needed) + u64::from(reserve);
    (together > u64::from(u32::MAX)).then_some(together)
}

impl BudgetError {
    /// The smallest budget that works, reserve included, if the budget is too small. `None` for
    /// other errors, and if no budget works, as the message then says.
    pub fn smallest(&self) -> Option<Tokens> {
        match self {
            BudgetError::TooSmall {
                needed,
                reserve,
                smallest,
                ..
            } => beyond_any(*needed, *reserve).is_none().then_some(*smallest),
            _ => None,
        }
    }

    /// Makes [`BudgetError::TooSmall`] for `max_tokens`, with all its numbers computed. `pinned` is
    /// the number of tokens of the pinned chunks at their cheapest.
    pub fn too_small(max_tokens: Tokens, parts: &Reservation, pinned: Tokens) -> Self {
        let needed = parts.fixed().saturating_add(u64::from(pinned));
        BudgetError::TooSmall {
            max_tokens,
            needed: Tokens::saturating_from_u64(needed),
            available: max_tokens.saturating_sub(parts.reserve),
            header: parts.header,
            footer: parts.footer,
            notices: parts.notices,
            reserve: parts.reserve,
            pinned,
            largest_pin: None,
            smallest: Tokens::saturating_from_u64(needed.saturating_add(u64::from(parts.reserve))),
        }
    }
}
