//! How much a grammar is trusted with.

use std::time::Duration;

/// What bounds a parse, whatever the text does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes that are parsed. A tree takes some 240 bytes of memory per byte of text.
    pub bytes: usize,
    /// How much parsing and querying may do together: a step is a hundred operations of a parser, or a thousand of a query.
    /// The same text always takes the same number.
    pub steps: u64,
    /// How much of a processor's time both may take together, whatever the steps, as there are texts that make one step
    /// long. What else the machine does is not counted (but on Windows, where this is by the clock).
    pub time: Duration,
}

impl Default for Limits {
    /// 512 KiB, 50,000 steps and 1 s: what is written by people takes 8 steps and 0.2 ms per KiB, and no text that was met
    /// more than 24 steps.
    fn default() -> Self {
        Limits {
            bytes: 512 * 1024,
            steps: 50_000,
            time: Duration::from_secs(1),
        }
    }
}
