//! How much of a budget is left to the context.

use ctx_model::Tokens;
use ctx_service::PrimeOptions;

/// How much of a budget is reserved for the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reserve {
    /// As much as the options of the request state.
    #[default]
    Given,
    /// A share of the budget, because the request states no reserve.
    Share,
}

impl Reserve {
    /// The divisor of that share, which applies where it is less than the default reserve.
    const SHARE: u32 = 8;

    /// The reserve of a budget if the request states none.
    pub(crate) fn of(budget: Tokens) -> Tokens {
        Reserve::best().min(Tokens::new(budget.get() / Reserve::SHARE))
    }

    fn best() -> Tokens {
        PrimeOptions::default().build.reserve
    }

    /// The smallest budget that leaves as many tokens to the context as `budget` does, of which
    /// `reserved` are reserved.
    pub(crate) fn budget_like(self, budget: Tokens, reserved: Tokens) -> Tokens {
        if self == Reserve::Given {
            return budget;
        }
        let context = u64::from(budget.saturating_sub(reserved));
        let share = u64::from(Reserve::SHARE);
        // A budget n leaves n - n / 8 tokens, which is 7 n / 8 rounded up; or n less the default
        // reserve, if that is more.
        let less_a_share = context.saturating_sub(1) * share / (share - 1) + 1;
        let less_the_best = context + u64::from(Reserve::best());
        Tokens::saturating_from_u64(less_a_share.min(less_the_best))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_like_another_leaves_as_much_and_one_less_does_not() {
        let left = |budget: u32| budget - Reserve::of(Tokens::new(budget)).get();
        for context in (1..5_000).chain([10_000, 1_000_000]) {
            for reserved in [0, 7, 500] {
                let budget = Tokens::new(context + reserved);
                let reserved = Tokens::new(reserved);
                let like = Reserve::Share.budget_like(budget, reserved).get();
                assert_eq!(left(like), context);
                assert!(left(like - 1) < context, "{context}");
                assert_eq!(Reserve::Given.budget_like(budget, reserved), budget);
            }
        }
    }
}
