//! Files below a root, decoded once for as long as they stay as they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use quick_cache::sync::{Cache, GuardResult};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::root::Stamp;
use crate::{Root, Secrets, SourceError, Text};

/// A file changed so shortly before it was read may change once more without showing it: clocks of
/// file systems are that coarse. Nanoseconds.
const COARSE: i128 = 2_000_000_000;

/// How often a file is read that is replaced each time.
const ATTEMPTS: usize = 8;

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

/// Files that lie in no folder, but in a database.
pub trait Files: std::fmt::Debug + Send + Sync {
    /// The text of the file at `path`. May wait for whoever has it.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], and [`SourceError::Io`] where it cannot be had: of a kind by which that
    /// [is transient](SourceError::is_transient), where whoever has it is late or cannot be reached.
    fn text(&self, path: &str) -> Result<Arc<Text>, SourceError>;

    /// Tells that the texts of these files are about to be wanted, so that they can be fetched together.
    fn prepare(&self, paths: &[&str]) {
        let _ = paths;
    }
}

/// What the files below a root were kept with, where somebody knows: what was changed by nobody is told from that.
pub trait Hashes: std::fmt::Debug + Send + Sync {
    /// BLAKE3 of the bytes of the file at `path`; while it is replaced, of those that it has and of those that it will
    /// have. Nothing where no such file is kept. Asked before a file is read, and again where it says something else.
    ///
    /// # Errors
    /// [`SourceError::Damaged`] where what it was kept with is damaged, [`SourceError::Io`] where that cannot be told.
    fn of(&self, path: &str) -> Result<Vec<[u8; 32]>, SourceError>;

    /// The file at `path` says something else.
    fn told(&self, path: &str) {
        let _ = path;
    }
}

/// Texts of the files below a root. Every answer is the text of the state the file is in now: its
/// size, time and inode are looked up each time, and a file that has changed is read again. Several
/// threads that want one file at once share one reading of it.
///
/// Or those of [`Files`], which answer for themselves how recent they are.
#[derive(Debug)]
pub struct Sources {
    kind: Kind,
    secrets: Secrets,
    hits: AtomicU64,
    reads: AtomicU64,
}

#[derive(Debug)]
enum Kind {
    Folder(Box<Folder>),
    Files(Arc<dyn Files>),
}

#[derive(Debug)]
struct Folder {
    root: Root,
    limits: Limits,
    hashes: Option<Arc<dyn Hashes>>,
    cache: Cache<(Box<str>, Stamp), Arc<Text>, Bytes>,
}

impl Folder {
    /// The bytes of the file at `path` and its state, if it is as it was kept.
    fn read(&self, path: &str) -> Result<(Vec<u8>, Stamp), SourceError> {
        let read = || {
            self.root
                .read_stamped(path.as_ref(), self.limits.file_bytes)
        };
        let Some(hashes) = &self.hashes else {
            return read();
        };
        let mut kept = hashes.of(path)?;
        for _ in 0..ATTEMPTS {
            if kept.is_empty() {
                return Err(SourceError::NotFound {
                    path: path.to_owned(),
                });
            }
            let (bytes, stamp) = read()?;
            if kept.contains(blake3::hash(&bytes).as_bytes()) {
                return Ok((bytes, stamp));
            }
            // It may have been replaced since.
            let now = hashes.of(path)?;
            if now == kept {
                break;
            }
            kept = now;
        }
        hashes.told(path);
        Err(SourceError::Damaged {
            path: path.to_owned(),
        })
    }
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
        Sources::with(Kind::Folder(Box::new(Folder {
            root,
            limits,
            hashes: None,
            cache: Cache::with_options(options, Bytes, hasher, lifecycle),
        })))
    }

    /// Holds each file, when it is read, against what it was kept with: one that says something else is
    /// [`SourceError::Damaged`], and one that is not kept is not there. Nothing changes for [`Files`].
    #[must_use]
    pub fn with_hashes(mut self, hashes: Arc<dyn Hashes>) -> Self {
        if let Kind::Folder(folder) = &mut self.kind {
            folder.hashes = Some(hashes);
        }
        self
    }

    /// Has the texts of `files`.
    pub fn of(files: Arc<dyn Files>) -> Self {
        Sources::with(Kind::Files(files))
    }

    fn with(kind: Kind) -> Self {
        Sources {
            kind,
            secrets: Secrets::default(),
            hits: AtomicU64::new(0),
            reads: AtomicU64::new(0),
        }
    }

    /// Masks secrets, as it does when nothing is said, or shows them. [`Files`] do as they like with those in texts.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Whether it shows secrets.
    pub fn secrets(&self) -> Secrets {
        self.secrets
    }

    /// Tells that the texts of these files are about to be wanted: where one has to be waited for, all are
    /// waited for together.
    pub fn prepare(&self, paths: &[&str]) {
        if let Kind::Files(files) = &self.kind {
            files.prepare(paths);
        }
    }

    /// The text of the file at `path` as it is now. One look at the file where it is kept; O(bytes)
    /// where it is not.
    ///
    /// # Errors
    /// Those of [`Root::read`], [`SourceError::Binary`], [`SourceError::Secret`], and [`SourceError::Damaged`] where
    /// hashes are known.
    pub fn text(&self, path: &str) -> Result<Arc<Text>, SourceError> {
        if self.secrets == Secrets::Masked && ctx_secrets::is_secret_file(path) {
            let path = path.to_owned();
            return Err(SourceError::Secret { path });
        }
        let folder = match &self.kind {
            Kind::Folder(folder) => folder,
            Kind::Files(files) => return files.text(path),
        };
        let key = (Box::from(path), folder.root.stamp(path)?);
        match folder.cache.get_value_or_guard(&key, None) {
            GuardResult::Value(text) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                Ok(text)
            }
            GuardResult::Guard(guard) => {
                let (text, stamp) = self.load(folder, path)?;
                if stamp == key.1 && !is_recent(stamp) {
                    // Nobody else can have put it there, and what is not kept is none the worse.
                    let _ = guard.insert(Arc::clone(&text));
                }
                Ok(text)
            }
            GuardResult::Timeout => Ok(self.load(folder, path)?.0),
        }
    }

    /// How the cache has done; that of [`Files`] is their own.
    pub fn metrics(&self) -> Metrics {
        Metrics {
            hits: self.hits.load(Ordering::Relaxed),
            reads: self.reads.load(Ordering::Relaxed),
        }
    }

    /// Bytes of text that are kept here.
    pub fn cached_bytes(&self) -> u64 {
        match &self.kind {
            Kind::Folder(folder) => folder.cache.weight(),
            Kind::Files(_) => 0,
        }
    }

    fn load(&self, folder: &Folder, path: &str) -> Result<(Arc<Text>, Stamp), SourceError> {
        // A link may have any name.
        if self.secrets == Secrets::Masked && folder.root.is_secret_file(path)? {
            let path = path.to_owned();
            return Err(SourceError::Secret { path });
        }
        let (bytes, stamp) = folder.read(path)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        let text = Text::decode(path, bytes, self.secrets).ok_or_else(|| SourceError::Binary {
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
