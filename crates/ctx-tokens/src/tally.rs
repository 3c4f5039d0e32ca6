//! Counting text as it grows.

use std::fmt;

use ctx_model::Tokens;

use crate::joint::Joints;
use crate::{Additivity, TokenCounter};

/// The exact count of a text that is appended to, known at every step, and equal to counting the
/// whole.
///
/// With a counter that adds up at safe joints, it keeps the sum of what lies before the last one
/// and the text since: each text is weighed once as it settles, and memory is bounded by the
/// longest stretch without a safe joint, in most text a line. With a counter that never adds up
/// it keeps all of the text, and counts it again each time it is asked.
///
/// It owns its counter, so that it can be kept beside others or sent to a thread: `Tally<Arc<dyn TokenCounter>>` with one of
/// [`Counters`](crate::Counters). A reference is a counter too.
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
    // Invariant: where settled text meets `tail` is a safe joint, whatever is appended.
    settled: u64,
    tail: String,
    joints: Joints,
}

impl<C: TokenCounter> Tally<C> {
    /// The tally of the empty text. `counter` is a counter, or a reference to one.
    pub fn new(counter: C) -> Self {
        Tally {
            counter,
            settled: 0,
            tail: String::new(),
            joints: Joints::default(),
        }
    }

    /// Appends `text`. O(bytes of `text`), and the weighing of what it settles, which is weighed once: never another look
    /// at what came before.
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

impl<C: TokenCounter> fmt::Debug for Tally<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally")
            .field("counter", &self.counter.name())
            .field("settled", &self.settled)
            .field("tail", &self.tail)
            .finish_non_exhaustive()
    }
}
