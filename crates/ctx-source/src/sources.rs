//! Files below a root, decoded once for as long as they stay as they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use quick_cache::sync::{Cache, GuardResult};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::root::Stamp;
use crate::{Root, SourceError, Text};

/// A file changed so shortly before it was read may change once more without showing it: clocks of
/// file systems are that coarse. Nanoseconds.
const COARSE: i128 = 2_000_000_000;

/// How much is read, and how much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes a file may have.
    pub file_bytes: u64,
    /// The most bytes of text that are kept.
    pub cache_bytes: u64,
    /// About how many files that will be.
    pub cache_entries: usize,
}

impl Default for Limits {
    /// Files up to 64 MiB; 128 MiB of some 4,096 of them are kept.
    fn default() -> Self {
        Limits {
            file_bytes: 64 << 20,
            cache_bytes: 128 << 20,
            cache_entries: 4096,
        }
    }
}

/// How often a file was found as it was, and how often it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Answers from the cache.
    pub hits: u64,
    /// Files read.
    pub reads: u64,
}

/// Texts of the files below a root. Every answer is the text of the state the file is in now: its
/// size, time and inode are looked up each time, and a file that has changed is read again. Several
/// threads that want one file at once share one reading of it.
#[derive(Debug)]
pub struct Sources {
    root: Root,
    limits: Limits,
    cache: Cache<(Box<str>, Stamp), Arc<Text>, Bytes>,
    hits: AtomicU64,
    reads: AtomicU64,
}

#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<(Box<str>, Stamp), Arc<Text>> for Bytes {
    fn weight(&self, (path, _): &(Box<str>, Stamp), text: &Arc<Text>) -> u64 {
        (path.len() + text.size()) as u64
    }
}

impl Sources {
    /// Reads files below `root`.
    pub fn new(root: Root, limits: Limits) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(limits.cache_entries)
            .weight_capacity(limits.cache_bytes)
            // One shard: what is kept is bounded as a whole, and not each share of it.
            .shards(1)
            .build()
            .expect("both capacities are given");
        let hasher = DefaultHashBuilder::default();
        let lifecycle = quick_cache::sync::DefaultLifecycle::default();
        Sources {
            root,
            limits,
            cache: Cache::with_options(options, Bytes, hasher, lifecycle),
            hits: AtomicU64::new(0),
            reads: AtomicU64::new(0),
        }
    }

    /// The folder.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The text of the file at `path` as it is now. One look at the file where it is kept; O(bytes)
    /// where it is not.
    ///
    /// # Errors
    /// Those of [`Root::read`], and [`SourceError::Binary`].
    pub fn text(&self, path: &str) -> Result<Arc<Text>, SourceError> {
        let key = (Box::from(path), self.root.stamp(path)?);
        match self.cache.get_value_or_guard(&key, None) {
            GuardResult::Value(text) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                Ok(text)
            }
            GuardResult::Guard(guard) => {
                let (text, stamp) = self.load(path)?;
                if stamp == key.1 && !is_recent(stamp) {
                    // Nobody else can have put it there, and what is not kept is none the worse.
                    let _ = guard.insert(Arc::clone(&text));
                }
                Ok(text)
            }
            GuardResult::Timeout => Ok(self.load(path)?.0),
        }
    }

    /// How the cache has done.
    pub fn metrics(&self) -> Metrics {
        Metrics {
            hits: self.hits.load(Ordering::Relaxed),
            reads: self.reads.load(Ordering::Relaxed),
        }
    }

    /// Bytes of text that are kept.
    pub fn cached_bytes(&self) -> u64 {
        self.cache.weight()
    }

    fn load(&self, path: &str) -> Result<(Arc<Text>, Stamp), SourceError> {
        let (bytes, stamp) = self.root.read_stamped(path, self.limits.file_bytes)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        let text = Text::decode(bytes).ok_or_else(|| SourceError::Binary {
            path: path.to_owned(),
        })?;
        Ok((Arc::new(text), stamp))
    }
}

fn is_recent(stamp: Stamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or(i128::MAX));
    now.saturating_sub(stamp.modified()) < COARSE
}
