//! The files of an owner as one request sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ctx_postgres::{OwnedStore, StoreError, StoredText};
use ctx_source::{Files, Secrets, SourceError, Text};
use ctx_syntax::{Outline, Outlines};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::runtime::Handle;

use crate::cause::cause;

/// Bytes of texts that are cached, of all owners together.
const KEPT_BYTES: u64 = 256 << 20;
/// About how many texts that will be.
const KEPT: usize = 16_384;

/// An owner, and one of the owner's paths.
type Key = (Arc<str>, Arc<str>);

/// The text of a file when it was last fetched. It counts as current only if the files are still at
/// the generation at which it was found, or after asking the database.
struct Fetched {
    /// The hash by which the database identifies the text.
    hash: [u8; 32],
    text: Arc<Text>,
    /// The sealed outline of the text as it was stored.
    outline: Option<Vec<u8>>,
    /// The generation at which the latest request that found it had begun; [`NEVER`] if none had.
    found_at: AtomicU64,
}

/// Stands for no generation; real ones never get that high.
const NEVER: u64 = u64::MAX;

/// A cache of fetched texts, which need not be sent again while the files stay as they are.
pub(super) struct Texts(Cache<Key, Arc<Fetched>, Bytes>);

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Arc<Fetched>> for Bytes {
    fn weight(&self, (_, path): &Key, file: &Arc<Fetched>) -> u64 {
        let outline = file.outline.as_ref().map_or(0, Vec::len);
        (path.len() + file.text.as_str().len() + outline) as u64 + 128
    }
}

impl Default for Texts {
    fn default() -> Self {
        Texts(Cache::with_weighter(KEPT, KEPT_BYTES, Bytes))
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Texts").field(&self.0.len()).finish()
    }
}

/// The files of an owner, each as it was when this request first read it.
pub(super) struct View {
    store: OwnedStore,
    texts: Arc<Texts>,
    runtime: Handle,
    seen: Mutex<Seen>,
}

/// The result of looking for a file.
enum File {
    Text(Arc<Fetched>),
    /// Its text differs from what was stored.
    Damaged,
    /// It does not exist, or has no text.
    None,
}

/// The files that were looked up.
#[derive(Default)]
struct Seen {
    /// The result for each path.
    files: BTreeMap<String, File>,
    /// Why the database does not answer: it is not asked again for each further file.
    failure: Option<(io::ErrorKind, String)>,
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}

impl View {
    /// A view of the files in `store`. Blocks on the runtime on which this is called.
    pub(super) fn new(store: OwnedStore, texts: Arc<Texts>) -> Self {
        View {
            store,
            texts,
            runtime: Handle::current(),
            seen: Mutex::default(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hash of the text of `path` to which this request's hits refer, for
    /// [`Resolver::with_indexed`](ctx_resolve::Resolver::with_indexed): that of the text that was
    /// read, or another. A text that is read may differ from the stored one, for example by having
    /// no byte order mark.
    pub(super) fn indexed(&self, path: &str) -> Option<[u8; 32]> {
        let told = self.store.indexed(path)?;
        match self.seen().files.get(path) {
            Some(File::Text(file)) if file.hash == told => Some(*file.text.unmasked_hash()),
            _ => Some(told),
        }
    }

    fn key(&self, path: &str) -> Key {
        (Arc::from(self.store.owner()), Arc::from(path))
    }

    /// Looks `paths` up together. Cached texts are not sent again, and those found at the
    /// generation at which this request began are not requested at all.
    fn look(&self, paths: &[&str]) {
        let began_at = self.store.began_at().unwrap_or(NEVER);
        let mut kept: BTreeMap<&str, Arc<Fetched>> = BTreeMap::new();
        let mut asked = Vec::new();
        for &path in paths {
            let Some(its) = self.texts.0.get(&self.key(path)) else {
                asked.push(path);
                continue;
            };
            if began_at != NEVER && its.found_at.load(Ordering::Relaxed) == began_at {
                let mut seen = self.seen();
                seen.files.entry(path.to_owned()).or_insert(File::Text(its));
            } else {
                asked.push(path);
                kept.insert(path, its);
            }
        }
        let known: Vec<[u8; 32]> = kept.values().map(|it| it.hash).collect();
        while !asked.is_empty() {
            let found = self.runtime.block_on(self.store.texts(&asked, &known));
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    tracing::warn!(cause = cause(&error), "files cannot be read");
                    self.seen().failure = Some((kind_of(&error), error.to_string()));
                    return;
                }
            };
            let (left, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|it| it.is_left);
            let left: BTreeSet<String> = left.into_iter().map(|it| it.path).collect();
            let (again, answered): (Vec<&str>, Vec<&str>) =
                asked.into_iter().partition(|it| left.contains(*it));
            self.take(&answered, found, &kept, began_at);
            asked = again;
        }
    }

    /// Takes what was `found` at `paths`, where texts that were known before are `kept`.
    fn take(
        &self,
        paths: &[&str],
        found: Vec<StoredText>,
        kept: &BTreeMap<&str, Arc<Fetched>>,
        began_at: u64,
    ) {
        let mut files: BTreeMap<String, File> = paths
            .iter()
            .map(|&it| (it.to_owned(), File::None))
            .collect();
        for file in found {
            let fetched = match file.text {
                Some(text) if *blake3::hash(text.as_bytes()).as_bytes() != file.hash => {
                    // The path is not logged, since it belongs to the owner; the owner is told it.
                    tracing::error!("a file that is kept is damaged");
                    files.insert(file.path, File::Damaged);
                    continue;
                }
                Some(text) => {
                    let text = Text::decode(&file.path, text.into_bytes(), Secrets::Masked);
                    text.map(|text| {
                        Arc::new(Fetched {
                            hash: file.hash,
                            text: Arc::new(text),
                            outline: file.outline,
                            found_at: AtomicU64::new(began_at),
                        })
                    })
                }
                None => known_as(&file, kept, began_at),
            };
            let Some(fetched) = fetched else { continue };
            let kept = Arc::clone(&fetched);
            self.texts.0.insert(self.key(&file.path), kept);
            files.insert(file.path, File::Text(fetched));
        }
        // What was seen first stays.
        let mut seen = self.seen();
        for (path, file) in files {
            seen.files.entry(path).or_insert(file);
        }
    }
}

/// The kind of I/O error, by which a caller decides whether a retry may succeed soon.
fn kind_of(error: &StoreError) -> io::ErrorKind {
    if error.is_away() {
        io::ErrorKind::NotConnected
    } else if error.is_transient() {
        io::ErrorKind::TimedOut
    } else {
        io::ErrorKind::Other
    }
}

/// The cached text of `file`, or of another file with equal text, which may be in another language.
/// It counts as found by a request that began at `began_at`.
fn known_as(
    file: &StoredText,
    kept: &BTreeMap<&str, Arc<Fetched>>,
    began_at: u64,
) -> Option<Arc<Fetched>> {
    let is_same = |it: &&Arc<Fetched>| it.hash == file.hash;
    if let Some(its) = kept.get(file.path.as_str()).filter(is_same) {
        its.found_at.store(began_at, Ordering::Relaxed);
        return Some(Arc::clone(its));
    }
    let other = kept.values().find(is_same)?;
    Some(Arc::new(Fetched {
        hash: file.hash,
        text: Arc::clone(&other.text),
        outline: None,
        found_at: AtomicU64::new(began_at),
    }))
}

impl Files for View {
    fn text(&self, path: &str) -> Result<Arc<Text>, SourceError> {
        self.prepare(&[path]);
        let seen = self.seen();
        match (seen.files.get(path), &seen.failure) {
            (Some(File::Text(file)), _) => Ok(Arc::clone(&file.text)),
            (Some(File::Damaged), _) => Err(SourceError::Damaged {
                path: path.to_owned(),
            }),
            (None, Some((kind, why))) => Err(SourceError::Io {
                path: path.to_owned(),
                source: io::Error::new(*kind, why.clone()),
            }),
            _ => Err(SourceError::NotFound {
                path: path.to_owned(),
            }),
        }
    }

    fn prepare(&self, paths: &[&str]) {
        let unseen: Vec<&str> = {
            let seen = self.seen();
            if seen.failure.is_some() {
                return;
            }
            let is_new = |it: &&str| !seen.files.contains_key(*it);
            paths.iter().copied().filter(is_new).collect()
        };
        if !unseen.is_empty() {
            self.look(&unseen);
        }
    }
}

impl Outlines for View {
    fn outline(&self, path: &str, hash: &[u8; 32]) -> Option<Outline> {
        let seen = self.seen();
        let Some(File::Text(file)) = seen.files.get(path) else {
            return None;
        };
        // Secrets are masked now that were not before, and names may be among them.
        if file.hash != *hash || !file.text.masked().is_empty() {
            return None;
        }
        let file = Arc::clone(file);
        drop(seen);
        Outline::unseal(file.outline.as_ref()?, hash)
    }
}
