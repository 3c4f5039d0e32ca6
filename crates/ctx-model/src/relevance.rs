//! How much a chunk matters to the question.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::ModelError;

/// How much a chunk matters, from 0 (not at all) to 1 (most).
///
/// Finite and in `0..=1` by construction, hence totally ordered.
// Invariant: finite, 0.0 <= value <= 1.0, and never -0.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Relevance(f64);

impl Relevance {
    /// No relevance at all.
    pub const ZERO: Relevance = Relevance(0.0);
    /// The greatest relevance.
    pub const ONE: Relevance = Relevance(1.0);

    /// Makes a relevance of `value`.
    ///
    /// # Errors
    /// [`ModelError::RelevanceOutOfRange`] when it is NaN, infinite, negative or above 1.
    pub fn new(value: f64) -> Result<Self, ModelError> {
        if value.is_finite() && (0.0..=1.0).contains(&value) {
            // Adding zero turns -0.0 into 0.0, so equal values have equal bits.
            Ok(Relevance(value + 0.0))
        } else {
            Err(ModelError::RelevanceOutOfRange { value })
        }
    }

    /// Makes the relevance nearest to `value`, for scores that rounding has moved slightly out of
    /// range, such as a cosine of `f32` that came to 1.0000001. NaN becomes 0. Divide scores of
    /// another range, such as those of BM25, by the largest of them first: here everything above 1
    /// becomes 1.
    ///
    /// # Examples
    /// ```
    /// use ctx_model::Relevance;
    ///
    /// assert_eq!(Relevance::clamped(1.000_000_1), Relevance::ONE);
    /// assert_eq!(Relevance::clamped(-0.2), Relevance::ZERO);
    /// assert_eq!(Relevance::clamped(f64::NAN), Relevance::ZERO);
    /// assert_eq!(Relevance::clamped(0.5).get(), 0.5);
    /// ```
    #[must_use]
    pub fn clamped(value: f64) -> Self {
        if value.is_nan() {
            return Relevance::ZERO;
        }
        // Adding zero turns -0.0 into 0.0, as in `new`.
        Relevance(value.clamp(0.0, 1.0) + 0.0)
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Eq for Relevance {}

impl PartialOrd for Relevance {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Relevance {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Relevance {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl TryFrom<f64> for Relevance {
    type Error = ModelError;

    fn try_from(value: f64) -> Result<Self, ModelError> {
        Relevance::new(value)
    }
}

impl From<Relevance> for f64 {
    fn from(relevance: Relevance) -> f64 {
        relevance.0
    }
}
