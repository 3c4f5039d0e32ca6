//! How much a store keeps for each owner.

use std::fmt;
use std::time::Duration;

/// How much one owner may store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quota {
    /// The number of files.
    pub files: u64,
    /// Bytes of all files together.
    pub bytes: u64,
    /// The number of threads.
    pub threads: u64,
    /// The number of messages in all threads together.
    pub messages: u64,
    /// Receipts of contexts.
    pub contexts: Keeping,
}

/// How long receipts of contexts are kept: until they are older than `age`, as long as all of an
/// owner's receipts have at most `bytes` together. The oldest make room for new ones; the latest is
/// always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// The age since a context was last returned; older ones are deleted when others are written.
    pub age: Duration,
    /// Bytes of all receipts of one owner together.
    pub bytes: u64,
}

impl Default for Keeping {
    /// A day, and 256 MiB.
    fn default() -> Self {
        Keeping {
            age: Duration::from_hours(24),
            bytes: 256 << 20,
        }
    }
}

impl fmt::Display for Keeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.age.as_secs_f64() / 3_600.0;
        let mebibytes = self.bytes >> 20;
        write!(
            f,
            "for {hours} hours, or shorter if they exceed {mebibytes} MiB"
        )
    }
}

impl Default for Quota {
    /// 100,000 files of 1 GiB together, 100,000 threads, 1,000,000 messages, and receipts as in
    /// [`Keeping::default`].
    fn default() -> Self {
        Quota {
            files: 100_000,
            bytes: 1 << 30,
            threads: 100_000,
            messages: 1_000_000,
            contexts: Keeping::default(),
        }
    }
}
