//! Counting text as it grows.

use std::fmt;

use ctx_model::Tokens;

use crate::joint::last_settled_joint;
use crate::{Additivity, TokenCounter};

/// The exact count of a text that is appended to, known at every step, and equal to counting the
/// whole.
///
/// With a counter that adds up at safe joints, it keeps the sum of what lies before the last one
/// and the text since: each text is weighed once as it settles, and memory is bounded by the
/// longest stretch without a safe joint, in most text a line. With a counter that never adds up
/// it keeps all of the text, and counts it again each time it is asked.
///
/// # Examples
/// ```
/// use ctx_tokens::{Characters, Tally, TokenCounter};
///
/// let mut tally = Tally::new(&Characters);
/// tally.push("fn main() {\n");
/// tally.push("}\n");
/// assert_eq!(tally.tokens(), Characters.count("fn main() {\n}\n"));
/// ```
pub struct Tally<'c, C: TokenCounter + ?Sized> {
    counter: &'c C,
    /// The weight of all text before `tail`.
    // Invariant: where settled text meets `tail` is a safe joint, whatever is appended.
    settled: u64,
    tail: String,
}

impl<'c, C: TokenCounter + ?Sized> Tally<'c, C> {
    /// The tally of the empty text.
    pub fn new(counter: &'c C) -> Self {
        Tally {
            counter,
            settled: 0,
            tail: String::new(),
        }
    }

    /// Appends `text`. Costs the weighing of what it settles, and a look at the last stretch
    /// without a safe joint.
    pub fn push(&mut self, text: &str) {
        self.tail.push_str(text);
        if self.counter.additivity() == Additivity::AtSafeJoints
            && let Some(at) = last_settled_joint(&self.tail)
        {
            self.settled = self
                .settled
                .saturating_add(self.counter.weigh(&self.tail[..at]));
            self.tail.drain(..at);
        }
    }

    /// The weight of the whole text. Costs the weighing of what is not settled.
    pub fn weight(&self) -> u64 {
        self.settled.saturating_add(self.counter.weigh(&self.tail))
    }

    /// The count of the whole text. Costs the weighing of what is not settled.
    pub fn tokens(&self) -> Tokens {
        self.counter.count_of(self.weight())
    }

    /// How many bytes of text it holds on to.
    pub fn unsettled(&self) -> usize {
        self.tail.len()
    }
}

impl<C: TokenCounter + ?Sized> Clone for Tally<'_, C> {
    fn clone(&self) -> Self {
        Tally {
            counter: self.counter,
            settled: self.settled,
            tail: self.tail.clone(),
        }
    }
}

impl<C: TokenCounter + ?Sized> fmt::Debug for Tally<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally")
            .field("counter", &self.counter.name())
            .field("settled", &self.settled)
            .field("tail", &self.tail)
            .finish()
    }
}
