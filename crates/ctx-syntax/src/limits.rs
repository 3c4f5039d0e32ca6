//! Limits of parsing.

use std::time::Duration;

/// Limits that bound a parse, whatever the text.
///
/// ```
/// use ctx_syntax::Limits;
///
/// let small = Limits::default().with_bytes(64 * 1024);
/// assert_eq!(small.steps, Limits::default().steps);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes that are parsed. A tree takes some 240 bytes of memory per byte of text.
    pub bytes: usize,
    /// The most steps of parsing and querying together: a step is a hundred operations of a parser,
    /// or a thousand of a query. The same text always takes the same number.
    pub steps: u64,
    /// The most processor time of both together, whatever the steps, because some texts make single
    /// steps long. Time of other processes does not count (except on Windows, where it is measured
    /// by the clock).
    pub time: Duration,
}

impl Default for Limits {
    /// 512 KiB, 50,000 steps and 1 s. Files written by people take 8 steps and 0.2 ms per KiB; no
    /// text that was tried took more than 24 steps per KiB.
    fn default() -> Self {
        Limits {
            bytes: 512 * 1024,
            steps: 50_000,
            time: Duration::from_secs(1),
        }
    }
}

ctx_model::setters! {
    for Limits;
    /// Sets the most bytes that are parsed.
    with_bytes: bytes: usize;
    /// Sets the most steps.
    with_steps: steps: u64;
    /// Sets the most processor time.
    with_time: time: Duration;
}
