//! Settings of a run, and how a caller stops it.

use crate::BudgetError;

/// The settings of a run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Whether `Optimal` may take sixteen times the time and memory to prove its answer the best.
    pub exact: bool,
    /// How much new information counts against relevance: at 0 relevance alone counts, at 1 only
    /// what no other chosen item shows. It has no effect without [features](crate::Item::features).
    pub diversity: f64,
}

impl Settings {
    /// Sets whether `Optimal` may take longer for a proof.
    #[must_use]
    pub fn with_exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// Sets how much new information counts against relevance.
    #[must_use]
    pub fn with_diversity(mut self, diversity: f64) -> Self {
        self.diversity = diversity;
        self
    }

    /// The diversity, if it is a share.
    pub(crate) fn diversity(&self) -> Result<f64, BudgetError> {
        if (0.0..=1.0).contains(&self.diversity) {
            Ok(self.diversity)
        } else {
            Err(BudgetError::InvalidDiversity {
                diversity: self.diversity,
            })
        }
    }
}

/// The caller's reply when it is polled, about every thousand steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Go on.
    Continue,
    /// Time is up: return the best answer found so far, with its gap.
    Finish,
    /// The answer is no longer wanted.
    Cancel,
}
