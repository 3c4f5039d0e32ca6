//! What an assembly takes besides its options.

use std::fmt::Debug;

use ctx_budget::{Poll, Problem};
use ctx_format::Formatter;
use ctx_model::Chunk;

use crate::Claims;

/// What [`assemble_with`](crate::assemble_with) takes besides the options. With the default it does
/// what [`assemble`](crate::assemble) does.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Extras<'a> {
    /// Chunks with the first claim on a share of the budget.
    pub claims: Option<&'a Claims>,
    /// A formatter of your own, in place of that of `options.format`. Its laws are those of
    /// [`Formatter`]. The other options that say how blocks are written (`include_file_headers`,
    /// `include_line_numbers`, `chunk_separator` and so on) are its own affair; all others hold,
    /// `group_by` included. The text of a previous context is not read back: chunks are recognized
    /// by their ids alone.
    pub formatter: Option<&'a dyn Formatter>,
    /// A policy of your own, in place of `options.selection`.
    pub policy: Option<&'a dyn Policy>,
}

impl<'a> Extras<'a> {
    /// Sets the chunks with the first claim.
    #[must_use]
    pub fn with_claims(mut self, claims: &'a Claims) -> Self {
        self.claims = Some(claims);
        self
    }

    /// Sets the formatter.
    #[must_use]
    pub fn with_formatter(mut self, formatter: &'a dyn Formatter) -> Self {
        self.formatter = Some(formatter);
        self
    }

    /// Sets the policy.
    #[must_use]
    pub fn with_policy(mut self, policy: &'a dyn Policy) -> Self {
        self.policy = Some(policy);
        self
    }
}

/// Selects what is shown. An assembly calls it several times: with less capacity if the finished
/// context turns out too large, with everything pinned to see whether all of it fits, and at larger
/// budgets for [`enters_at`](ctx_model::Omitted::enters_at). Its laws are
/// `ctx_testkit::laws::policy`.
pub trait Policy: Debug + Send + Sync {
    /// Chooses one of the choices of each item of `problem`, by its index, or none. `chunks[i]` is
    /// what item `i` shows, which for merged chunks is all of them in one. Items come in the order
    /// of relevance, the choices of each from the most to the least information.
    ///
    /// The selection must have every pinned item, weigh at most `problem.capacity.safe` with the
    /// headings of its groups, and keep `problem.max_items` and the caps of the items; what does
    /// not is refused ([`BudgetError::Selection`](crate::BudgetError::Selection)). It may leave out
    /// what would fit, which is then omitted as
    /// [`NotChosen`](ctx_model::OmittedReason::NotChosen). Equal arguments must give equal
    /// selections.
    ///
    /// Call `poll` about every thousand steps: on [`Poll::Finish`] return the best selection so
    /// far, on [`Poll::Cancel`] any.
    fn choose(
        &self,
        problem: &Problem,
        chunks: &[&Chunk],
        poll: &mut dyn FnMut() -> Poll,
    ) -> Vec<Option<usize>>;
}
