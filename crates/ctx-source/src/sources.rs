//! Texts of the files below a root, decoded once per state of a file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use quick_cache::sync::{Cache, GuardResult};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::root::Stamp;
use crate::{Root, Secrets, SourceError, Text};

/// A file that was changed less than this before it was read may change again without a visible
/// trace, since clocks of file systems are that coarse. In nanoseconds.
const COARSE: i128 = 2_000_000_000;

/// The most reads of a file that is replaced meanwhile each time.
const ATTEMPTS: usize = 8;

/// Limits of reading and caching.
///
/// ```
/// use ctx_source::Limits;
///
/// let small = Limits::default().with_cache_bytes(1 << 20);
/// assert_eq!(small.file_bytes, Limits::default().file_bytes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes of a file.
    pub file_bytes: u64,
    /// The most bytes of cached text.
    pub cache_bytes: u64,
    /// The expected number of cached files.
    pub cache_entries: usize,
}

impl Default for Limits {
    /// Files of at most 64 MiB; a cache of 128 MiB for some 4,096 files.
    fn default() -> Self {
        Limits {
            file_bytes: 64 << 20,
            cache_bytes: 128 << 20,
            cache_entries: 4096,
        }
    }
}

ctx_model::setters! {
    for Limits;
    /// Sets the most bytes of a file.
    with_file_bytes: file_bytes: u64;
    /// Sets the most bytes of cached text.
    with_cache_bytes: cache_bytes: u64;
    /// Sets the expected number of cached files.
    with_cache_entries: cache_entries: usize;
}

/// Counts of cache hits and of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Texts served from the cache.
    pub hits: u64,
    /// Files read.
    pub reads: u64,
}

/// Files that lie not in a folder but, for example, in a database.
pub trait Files: std::fmt::Debug + Send + Sync {
    /// Returns the text of the file at `path`. May block on the storage.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], and [`SourceError::Io`] if it cannot be read: of a kind that [is
    /// transient](SourceError::is_transient), if the storage is late or cannot be reached.
    fn text(&self, path: &str) -> Result<Arc<Text>, SourceError>;

    /// Announces that the texts of these files will be needed soon, so that they can be fetched
    /// together.
    fn prepare(&self, paths: &[&str]) {
        let _ = paths;
    }
}

/// Expected hashes of the files below a root, from a store that wrote them: used to detect
/// corruption.
pub trait Hashes: std::fmt::Debug + Send + Sync {
    /// BLAKE3 of the bytes of the file at `path`; while it is being replaced, of both the old and
    /// the new ones. Empty if no such file is stored. Called before a file is read, and again if
    /// its content does not match.
    ///
    /// # Errors
    /// [`SourceError::Damaged`] if the stored hash is damaged, [`SourceError::Io`] if it cannot be
    /// read.
    fn of(&self, path: &str) -> Result<Vec<[u8; 32]>, SourceError>;

    /// Called when the content of the file at `path` does not match its hash.
    fn on_mismatch(&self, path: &str) {
        let _ = path;
    }
}

/// Texts of the files below a root. Each text is that of the file's present state: size, time and
/// inode are looked up each time, and a file that has changed is read again. Threads that want one
/// file at once share one read.
///
/// Or texts of [`Files`], which are responsible for how recent they are.
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
    /// Reads the file at `path`, and checks it against its expected hashes, if any.
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
            // The file may have been replaced since.
            let now = hashes.of(path)?;
            if now == kept {
                break;
            }
            kept = now;
        }
        hashes.on_mismatch(path);
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
            // One shard, so that the limit applies to the cache as a whole, not to each share of
            // it.
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

    /// Checks each file against its expected hashes when it is read: one that does not match is
    /// [`SourceError::Damaged`], and one without a hash is [`SourceError::NotFound`]. Has no effect
    /// on [`Files`].
    #[must_use]
    pub fn with_hashes(mut self, hashes: Arc<dyn Hashes>) -> Self {
        if let Kind::Folder(folder) = &mut self.kind {
            folder.hashes = Some(hashes);
        }
        self
    }

    /// Takes texts from `files`.
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

    /// Sets whether secrets are masked (the default) or shown. In texts of [`Files`] it is up to
    /// them.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Whether secrets are masked or shown.
    pub fn secrets(&self) -> Secrets {
        self.secrets
    }

    /// Announces that the texts of these files will be needed soon. [`Files`] can then fetch them
    /// together.
    pub fn prepare(&self, paths: &[&str]) {
        if let Kind::Files(files) = &self.kind {
            files.prepare(paths);
        }
    }

    /// Returns the text of the file at `path` as it is now. One metadata lookup if it is cached;
    /// O(bytes) if not.
    ///
    /// # Errors
    /// Those of [`Root::read`], [`SourceError::Binary`], [`SourceError::Secret`], and
    /// [`SourceError::Damaged`] if hashes are set.
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
                    // Nobody else can have filled this entry, and an entry that is not cached does
                    // no harm.
                    let _ = guard.insert(Arc::clone(&text));
                }
                Ok(text)
            }
            GuardResult::Timeout => Ok(self.load(folder, path)?.0),
        }
    }

    /// Counts of the cache; [`Files`] are not counted.
    pub fn metrics(&self) -> Metrics {
        Metrics {
            hits: self.hits.load(Ordering::Relaxed),
            reads: self.reads.load(Ordering::Relaxed),
        }
    }

    /// Bytes of cached text; 0 for [`Files`].
    pub fn cached_bytes(&self) -> u64 {
        match &self.kind {
            Kind::Folder(folder) => folder.cache.weight(),
            Kind::Files(_) => 0,
        }
    }

    fn load(&self, folder: &Folder, path: &str) -> Result<(Arc<Text>, Stamp), SourceError> {
        // A link may have an innocent name.
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
