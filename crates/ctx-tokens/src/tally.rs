//! Counts text as it grows.

use std::fmt;

use ctx_model::Tokens;

use crate::joint::Joints;
use crate::{Additivity, TokenCounter};

/// The exact count of a growing text, known at every step and equal to a count of the whole text.
///
/// If the weights of the counter add up at safe joints, the tally keeps the sum of weights before
/// the last safe joint, and the text after it. Each text is weighed once, when it is settled, and
/// memory is bounded by the longest stretch without a safe joint, usually a line. If weights never
/// add up, it keeps the whole text and counts it again at each request.
///
/// It owns its counter, so that it can be stored or sent to a thread: `Tally<Arc<dyn
/// TokenCounter>>` with one of [`Counters`](crate::Counters). A reference to a counter is a counter
/// too.
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
#[derive(Clone)]
pub struct Tally<C: TokenCounter> {
    counter: C,
    /// The weight of all text before `tail`.
    // Invariant: the settled text and `tail` meet at a safe joint, whatever is appended.
    settled: u64,
    tail: String,
    joints: Joints,
}

impl<C: TokenCounter> Tally<C> {
    /// Makes the tally of the empty text. `counter` is a counter, or a reference to one.
    pub fn new(counter: C) -> Self {
        Tally {
            counter,
            settled: 0,
            tail: String::new(),
            joints: Joints::default(),
        }
    }

    /// Appends `text`. O(bytes of `text`), plus weighing the text that it settles, each part once;
    /// earlier text is never read again.
    pub fn push(&mut self, text: &str) {
        let new = self.tail.len();
        self.tail.push_str(text);
        if self.counter.additivity() == Additivity::AtSafeJoints
            && let Some(at) = self.joints.last_settled(&self.tail, new)
        {
            self.settled = self
                .settled
                .saturating_add(self.counter.weigh(&self.tail[..at]));
            self.tail.drain(..at);
            self.joints.forget(at);
        }
    }

    /// The weight of the whole text, at the cost of weighing the unsettled part.
    pub fn weight(&self) -> u64 {
        self.settled.saturating_add(self.counter.weigh(&self.tail))
    }

    /// The count of the whole text, at the cost of weighing the unsettled part.
    pub fn tokens(&self) -> Tokens {
        self.counter.count_of(self.weight())
    }

    /// How many bytes of text are kept.
    pub fn unsettled(&self) -> usize {
        self.tail.len()
    }
}

impl<C: TokenCounter> fmt::Debug for Tally<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally")
            .field("counter", &self.counter.name())
            .field("settled", &self.settled)
            .field("tail", &self.tail)
            .finish_non_exhaustive()
    }
}
