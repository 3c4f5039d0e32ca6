//! What is taken off the budget before anything is chosen.

use ctx_model::Tokens;

use crate::BudgetError;

/// What the context spends on other things than chunks: exact counts of the texts as they are
/// emitted, and the answer's share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    /// What comes before the first chunk.
    pub header: Tokens,
    /// What comes after the last one.
    pub footer: Tokens,
    /// What the context says about itself: sources, what was left out.
    pub notices: Tokens,
    /// What is kept for the answer, and never spent on the context.
    pub reserve: Tokens,
}

impl Reservation {
    /// What is emitted whatever is chosen. Wider than [`Tokens`], so that it cannot saturate.
    pub(crate) fn fixed(&self) -> u64 {
        u64::from(self.header) + u64::from(self.footer) + u64::from(self.notices)
    }
}

/// What is left of `max_tokens` for chunks.
///
/// # Errors
/// [`BudgetError::TooSmall`] when the parts alone do not fit, with the smallest budget that would
/// do.
pub fn reserve(max_tokens: Tokens, parts: &Reservation) -> Result<Tokens, BudgetError> {
    let spent = parts.fixed() + u64::from(parts.reserve);
    u64::from(max_tokens)
        .checked_sub(spent)
        .map(Tokens::saturating_from_u64)
        .ok_or_else(|| BudgetError::too_small(max_tokens, parts, Tokens::ZERO))
}
