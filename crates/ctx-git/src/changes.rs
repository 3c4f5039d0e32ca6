//! The stored changes of a repository, and their updates.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ctx_retrieve::{Changes, PortError, PortResult, Touched, indexing_threads};
use ctx_source::{Lock, open_no_link};
use gix::ObjectId;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::error::GitError;
use crate::past::{Change, Past};
use crate::repository::{Opened, Source};

/// How long a question waits until commits are read: files may answer it without them.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Progress is saved whenever this many more changes are read: writing a file of 2,000 takes as
/// long as reading some dozens.
const STEP: usize = 256;
/// The pause between attempts to take a lock that another process has.
const PAUSE: Duration = Duration::from_millis(50);

/// The latest changes of a git repository, searched by their messages. Any number of queries may
/// run during an update.
pub struct GitChanges {
    source: Source,
    /// The file where the changes are stored.
    file: PathBuf,
    past: RwLock<Arc<Past>>,
    /// What was wrong with the file when it was opened.
    discarded: Option<String>,
    /// Whether the file has all known changes. Locked during an update.
    saved: Mutex<bool>,
    /// The error of the last update, if it failed.
    failure: RwLock<Option<PortError>>,
}

/// The progress of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of changes read so far.
    pub done: usize,
    /// The number of changes in all; 0 until it is known.
    pub of: usize,
    /// Whether another process is reading the changes into the same file; reported every 50 ms.
    pub is_waiting: bool,
}

impl Progress {
    fn of(done: usize, of: usize) -> Self {
        Progress {
            done,
            of,
            is_waiting: false,
        }
    }
}

/// The result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated {
    /// The number of known changes.
    pub changes: usize,
    /// The number of changes read by this update.
    pub read: usize,
    /// Why the changes could not be saved, if they could not. They are searched all the same.
    pub unsaved: Option<String>,
}

impl std::fmt::Debug for GitChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitChanges")
            .field("source", &self.source)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl GitChanges {
    /// The changes of the repository around the folder `root`, up to `HEAD`, in files below `root`.
    /// Starts with those stored in `file`, if any and if it can be used
    /// ([`GitChanges::discarded`]). `None` if `root` is in no repository; the search for one goes
    /// no further up than `GIT_CEILING_DIRECTORIES`. O(bytes of the file).
    ///
    /// # Errors
    /// The repository cannot be opened.
    pub fn open(root: &Path, file: &Path) -> Result<Option<Self>, GitError> {
        let canonical = root.canonicalize();
        let root = canonical.map_err(|error| GitError::repository(root, error))?;
        let source = Source::around(&root)?;
        Ok(source.map(|it| GitChanges::of(it, file)))
    }

    /// The changes of the repository whose git folder is `repository`, bare or not, up to `commit`,
    /// a full hexadecimal id. Otherwise like [`GitChanges::open`].
    ///
    /// # Errors
    /// `commit` is not such an id.
    pub fn at(repository: &Path, commit: &str, file: &Path) -> Result<Self, GitError> {
        Ok(GitChanges::of(Source::of(repository, commit)?, file))
    }

    fn of(source: Source, file: &Path) -> Self {
        let (past, discarded) = match Past::read(file) {
            // Changes that were stored for another folder do not apply to this one.
            Ok(past) => {
                let past = past.filter(|it| it.extent.prefix == source.prefix);
                (past.unwrap_or_default(), None)
            }
            Err(what) => (Past::default(), Some(what)),
        };
        GitChanges {
            source,
            file: file.to_owned(),
            past: RwLock::new(Arc::new(past)),
            saved: Mutex::new(discarded.is_none()),
            discarded,
            failure: RwLock::default(),
        }
    }

    fn past(&self) -> Arc<Past> {
        Arc::clone(&self.past.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was wrong with the file of stored changes when it was opened: it was damaged, of
    /// another format, or could not be read. The next update rebuilds it. `None` if it was used, or
    /// there was none.
    pub fn discarded(&self) -> Option<&str> {
        self.discarded.as_deref()
    }

    /// The number of known changes.
    pub fn count(&self) -> usize {
        self.past().len()
    }

    /// Whether all changes up to `HEAD` are known, so that an update would read nothing. Only opens
    /// the repository.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub fn is_up_to_date(&self) -> Result<bool, GitError> {
        let opened = self.source.open()?;
        Ok(self.past().is_all_of(&opened.extent()))
    }

    /// Reads the changes that are not known yet, and forgets those that `HEAD` no longer has. If
    /// `HEAD` has not moved, only opens the repository. `progress` receives the progress, and may
    /// cancel the update: what was read by then is kept, the latest first, and the next update
    /// continues from there, as it does after a killed process, which loses the last few hundred at
    /// most. Until the first are read, queries see the old state. O(commits inspected, and the
    /// content of new changes).
    ///
    /// Concurrent updates run one after the other, also those of other processes with the same
    /// file: the lock is a file beside it, whose name ends in `.lock`. What another one read is not
    /// read again. Without permission to write there, nothing is waited for.
    ///
    /// # Errors
    /// The repository cannot be read: queries then return this error, until an update succeeds. Or
    /// `progress` cancelled it.
    pub fn update(
        &self,
        progress: &mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
    ) -> Result<Updated, GitError> {
        let updated = self.updated(progress);
        let failure = match &updated {
            Ok(_) => None,
            Err(GitError::Cancelled) => return updated,
            Err(error) => Some(error.into()),
        };
        *self.failure.write().unwrap_or_else(PoisonError::into_inner) = failure;
        updated
    }

    /// Updates the changes as [`GitChanges::update`] does, but reads commits, or waits for another
    /// process that reads them, for at most `most`. Listing the commits takes as long as it takes,
    /// since the list is not stored.
    ///
    /// # Errors
    /// [`GitError::Late`]: what was read by then is kept. Those of [`GitChanges::update`].
    pub fn update_within(
        &self,
        most: Duration,
        progress: &mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
    ) -> Result<Updated, GitError> {
        let (mut began, mut is_late) = (None, false);
        let updated = self.update(&mut |it| {
            progress(it)?;
            if it.of > 0 || it.is_waiting {
                is_late = began.get_or_insert_with(Instant::now).elapsed() > most;
            }
            if is_late {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        match updated {
            Err(GitError::Cancelled) if is_late => Err(GitError::Late),
            updated => updated,
        }
    }

    fn updated(
        &self,
        progress: &mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
    ) -> Result<Updated, GitError> {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let mut opened = self.source.open()?;
        // Held until the end.
        let _lock = if self.past().is_all_of(&opened.extent()) {
            None
        } else {
            let locked = self.lock(progress);
            self.take_over(&mut saved);
            let lock = locked?;
            opened = self.source.open()?;
            lock
        };
        let (past, extent) = (self.past(), opened.extent());
        if past.is_all_of(&extent) {
            return Ok(Updated {
                changes: past.len(),
                read: 0,
                unsaved: self.save(&past, &mut saved),
            });
        }
        let mut known = past.known();
        let listed = opened.list(&|it| known.contains_key(it.as_slice()), &mut || {
            progress(Progress::of(0, 0))
        })?;
        let is_new = |it: &&(ObjectId, ObjectId)| !known.contains_key(it.0.as_slice());
        let new: Vec<_> = listed.iter().filter(is_new).copied().collect();
        let reading = Reading {
            opened: &opened,
            done: AtomicUsize::new(listed.len() - new.len()),
            of: listed.len(),
            is_over: AtomicBool::new(false),
            progress: Mutex::new(progress),
        };
        let mut steps = new.chunks(STEP).peekable();
        loop {
            let read = reading.read(steps.next().unwrap_or_default());
            if reading.is_over() && read.is_empty() {
                return Err(GitError::Cancelled);
            }
            known.extend(read.into_iter().map(|it| (it.id.clone(), it)));
            let is_partial = reading.is_over() || steps.peek().is_some();
            let past = Past::of(extent.clone(), &ordered(&listed, &known), is_partial);
            *saved = false;
            let (changes, unsaved) = (past.len(), self.keep(past, &mut saved));
            if reading.is_over() {
                return Err(GitError::Cancelled);
            }
            if !is_partial {
                let read = new.len();
                return Ok(Updated {
                    changes,
                    read,
                    unsaved,
                });
            }
        }
    }

    /// Waits until no other process reads the changes; `None` if that cannot be known.
    fn lock(
        &self,
        progress: &mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
    ) -> Result<Option<File>, GitError> {
        let path = self.file.with_added_extension("lock");
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        loop {
            let opened = open_no_link(&path, &options);
            match opened.and_then(|mut file| Ok((ctx_source::lock(&mut file)?, file))) {
                Ok((Lock::Ours, file)) => return Ok(Some(file)),
                Ok((Lock::Theirs(_), _)) => {}
                Err(error) => {
                    tracing::debug!(%error, "the changes are read without a lock");
                    return Ok(None);
                }
            }
            let waiting = Progress {
                is_waiting: true,
                ..Progress::of(0, 0)
            };
            if progress(waiting).is_break() {
                return Err(GitError::Cancelled);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Goes on from what another process may have stored, unless this one knows what it could not
    /// store.
    fn take_over(&self, saved: &mut bool) {
        if !*saved && self.count() > 0 {
            return;
        }
        let is_ours = |it: &Past| it.extent.prefix == self.source.prefix;
        if let Ok(Some(past)) = Past::read(&self.file).map(|it| it.filter(is_ours)) {
            *self.past.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(past);
            *saved = true;
        }
    }

    /// Replaces the searched changes by `past`, and saves it. Returns why it could not be saved.
    fn keep(&self, past: Past, saved: &mut bool) -> Option<String> {
        let past = Arc::new(past);
        let unsaved = self.save(&past, saved);
        *self.past.write().unwrap_or_else(PoisonError::into_inner) = past;
        unsaved
    }

    /// Saves `past`, unless it is `saved` already. Returns why it could not be saved.
    fn save(&self, past: &Past, saved: &mut bool) -> Option<String> {
        if *saved {
            return None;
        }
        let written = past.write(&self.file);
        *saved = written.is_ok();
        written.err().map(|it| it.to_string())
    }
}

/// Reads changes on the [`indexing_threads`], until the update is cancelled.
struct Reading<'r> {
    opened: &'r Opened<'r>,
    /// The number of changes known so far.
    done: AtomicUsize,
    of: usize,
    is_over: AtomicBool,
    progress: Mutex<&'r mut (dyn FnMut(Progress) -> ControlFlow<()> + Send)>,
}

impl Reading<'_> {
    /// Reads the changes of `commits`, in order; after a cancellation, those that were read by
    /// then.
    fn read(&self, commits: &[(ObjectId, ObjectId)]) -> Vec<Change> {
        let read = commits.par_iter().map_init(
            || self.opened.reader(),
            |reader, (commit, parent)| {
                let change = self.goes_on().then(|| reader.read(*commit, *parent));
                self.done.fetch_add(1, Ordering::Relaxed);
                change
            },
        );
        let read: Vec<Option<Change>> = indexing_threads().install(|| read.collect());
        read.into_iter().flatten().collect()
    }

    fn goes_on(&self) -> bool {
        // One thread at a time reports the progress, for all of them.
        if let Ok(mut progress) = self.progress.try_lock() {
            let (done, of) = (self.done.load(Ordering::Relaxed), self.of);
            if progress(Progress::of(done, of)).is_break() {
                self.is_over.store(true, Ordering::Relaxed);
            }
        }
        !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// The changes of `listed` that are `known`, in that order.
fn ordered(listed: &[(ObjectId, ObjectId)], known: &BTreeMap<Vec<u8>, Change>) -> Vec<Change> {
    let change = |it: &(ObjectId, ObjectId)| known.get(it.0.as_slice()).cloned();
    listed.iter().filter_map(change).collect()
}

#[async_trait]
impl Changes for GitChanges {
    async fn touched(&self, terms: &[(String, f32)], limit: usize) -> PortResult<Vec<Touched>> {
        let failure = self.failure.read().unwrap_or_else(PoisonError::into_inner);
        match &*failure {
            Some(why) => Err(why.clone()),
            None => Ok(self.past().touched(terms, limit)),
        }
    }
}
