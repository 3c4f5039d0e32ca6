//! The unit of points in time.

use std::time::Duration;

/// A point in time: whole seconds since the beginning of 1970 in UTC, negative before it.
///
/// Times in JSON are numbers of milliseconds, such as [`Chunk::created_at`](crate::Chunk); this
/// type keeps the two units apart.
///
/// ```
/// use ctx_model::UnixSeconds;
///
/// let time = UnixSeconds::new(1_700_000_000);
/// assert_eq!(time.as_millis(), 1_700_000_000_000);
/// assert_eq!(UnixSeconds::from_millis(1_700_000_000_999), time);
/// let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
/// assert!(UnixSeconds::after_1970(since) > time);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixSeconds(i64);

impl UnixSeconds {
    /// The time so many seconds after the beginning of 1970.
    pub const fn new(seconds: i64) -> Self {
        UnixSeconds(seconds)
    }

    /// The time so many milliseconds after the beginning of 1970, rounded down.
    pub const fn from_millis(milliseconds: i64) -> Self {
        UnixSeconds(milliseconds.div_euclid(1_000))
    }

    /// The time so long after the beginning of 1970, in whole seconds; the latest that can be
    /// represented if that is earlier.
    pub fn after_1970(since: Duration) -> Self {
        UnixSeconds(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
    }

    /// The number of seconds since the beginning of 1970.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The number of milliseconds since the beginning of 1970; the nearest that can be represented.
    pub const fn as_millis(self) -> i64 {
        self.0.saturating_mul(1_000)
    }

    /// The time `duration` earlier, in whole seconds; the earliest that can be represented if that
    /// is later.
    #[must_use]
    pub fn saturating_sub(self, duration: Duration) -> Self {
        UnixSeconds(self.0.saturating_sub_unsigned(duration.as_secs()))
    }
}
