//! The tokens taken off the budget before anything is chosen.

use ctx_model::Tokens;

use crate::BudgetError;

/// The tokens of a context that are not for chunks: exact counts of the texts as they are emitted,
/// and the reserve for the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    /// The text before the first chunk.
    pub header: Tokens,
    /// The text after the last chunk.
    pub footer: Tokens,
    /// The text about the context itself: sources, and what was left out.
    pub notices: Tokens,
    /// The tokens kept for the answer, never spent on the context.
    pub reserve: Tokens,
}

impl Reservation {
    /// The tokens that are emitted whatever is chosen. Wider than [`Tokens`], so that the sum
    /// cannot saturate.
    pub(crate) fn fixed(&self) -> u64 {
        u64::from(self.header) + u64::from(self.footer) + u64::from(self.notices)
    }
}

/// The part of `max_tokens` that is left for chunks.
///
/// # Errors
/// [`BudgetError::TooSmall`] if the parts alone do not fit, with the smallest budget that would do.
pub fn reserve(max_tokens: Tokens, parts: &Reservation) -> Result<Tokens, BudgetError> {
    let spent = parts.fixed() + u64::from(parts.reserve);
    u64::from(max_tokens)
        .checked_sub(spent)
        .map(Tokens::saturating_from_u64)
        .ok_or_else(|| BudgetError::too_small(max_tokens, parts, Tokens::ZERO))
}
