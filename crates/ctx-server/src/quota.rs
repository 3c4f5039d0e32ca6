//! How much a store keeps of each owner.

use std::fmt;
use std::time::Duration;

/// How much one owner may keep.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quota {
    /// Files.
    pub files: u64,
    /// Bytes of all files together.
    pub bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Messages of all threads together.
    pub messages: u64,
    /// Receipts of contexts.
    pub contexts: Keeping,
}

/// How long receipts of contexts are kept: until they are older than `age`, as far as all of an owner's come to no more than
/// `bytes`. The oldest make room for new ones, the latest is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Since they were given last; older ones go when others are written.
    pub age: Duration,
    /// All of one owner's together.
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
            "for {hours} hours, and shorter where they come to more than {mebibytes} MiB"
        )
    }
}

impl Default for Quota {
    /// 100,000 files of 1 GiB together, 100,000 threads, 1,000,000 messages, and receipts as [`Keeping::default`] says.
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
