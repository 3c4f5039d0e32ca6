//! The changes of a repository, kept and up to date.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use async_trait::async_trait;
use ctx_retrieve::{Answer, Changes, PortError, Touched};
use gix::ObjectId;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::error::GitError;
use crate::past::{Change, Past};
use crate::repository::{Opened, Source};

/// What is read is written whenever it is so many changes more: a file of 2,000 takes as long as some dozens of them.
const STEP: usize = 256;

/// The last changes of a git repository, found by what was said of them. Any number may ask while one updates.
pub struct GitChanges {
    source: Source,
    /// Where they are kept.
    file: PathBuf,
    past: RwLock<Arc<Past>>,
    /// Held by who updates them: whether the file has what is known.
    saved: Mutex<bool>,
    /// Why the last update failed, if it did.
    failure: RwLock<Option<PortError>>,
}

/// How far an update is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// So many changes are read,
    pub done: usize,
    /// of so many; 0 until that is known.
    pub of: usize,
}

/// What an update came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated {
    /// How many changes are known.
    pub changes: usize,
    /// How many of them were read now.
    pub read: usize,
    /// Why they could not be kept for the next time, if that is so. They are answered all the same.
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
    /// Those of the repository that the folder `root` is in, up to its `HEAD`, of the files below `root`: as they were kept in
    /// `file`, if they were. `None` if `root` is in no repository, which is looked for no
    /// further up than `GIT_CEILING_DIRECTORIES` says. The second value says what is wrong with a file that is not as it
    /// was written; the next update makes it anew. O(bytes of the file).
    ///
    /// # Errors
    /// The repository cannot be opened.
    pub fn open(root: &Path, file: &Path) -> Result<Option<(Self, Option<String>)>, GitError> {
        let canonical = root.canonicalize();
        let root = canonical.map_err(|error| GitError::repository(root, error))?;
        let source = Source::around(&root)?;
        Ok(source.map(|it| GitChanges::of(it, file)))
    }

    /// Those of the repository whose git folder is `repository`, bare or not, up to `commit`, which is a whole id in hexadecimal. As
    /// [`GitChanges::open`].
    ///
    /// # Errors
    /// `commit` is no id.
    pub fn at(
        repository: &Path,
        commit: &str,
        file: &Path,
    ) -> Result<(Self, Option<String>), GitError> {
        Ok(GitChanges::of(Source::of(repository, commit)?, file))
    }

    fn of(source: Source, file: &Path) -> (Self, Option<String>) {
        let (past, wrong) = match Past::read(file) {
            // What was kept for another folder says nothing of this one.
            Ok(past) => {
                let past = past.filter(|it| it.extent.prefix == source.prefix);
                (past.unwrap_or_default(), None)
            }
            Err(what) => (Past::default(), Some(what)),
        };
        let changes = GitChanges {
            source,
            file: file.to_owned(),
            past: RwLock::new(Arc::new(past)),
            saved: Mutex::new(wrong.is_none()),
            failure: RwLock::default(),
        };
        (changes, wrong)
    }

    fn past(&self) -> Arc<Past> {
        Arc::clone(&self.past.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many changes are known.
    pub fn count(&self) -> usize {
        self.past().len()
    }

    /// Reads the changes that are not known yet, and forgets those that `HEAD` does not have any more. Where it is what it was,
    /// the repository is opened and no more. `progress` is told how far it is, and may end it: then what was read is
    /// kept, the latest first, and the next update goes on from there; so it does after a process that ended, of which all but the
    /// last few hundred are kept. Before the first is read all is as before.
    /// O(commits that are looked at, and what those that are new changed). A second update waits for the first.
    ///
    /// # Errors
    /// The repository cannot be read: then whoever asks is told so, until an update can. Or `progress` ended it.
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

    fn updated(
        &self,
        progress: &mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
    ) -> Result<Updated, GitError> {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let past = self.past();
        let opened = self.source.open()?;
        let extent = opened.extent();
        if past.extent == extent && !past.is_partial {
            return Ok(Updated {
                changes: past.len(),
                read: 0,
                unsaved: self.save(&past, &mut saved),
            });
        }
        let mut known = past.known();
        let listed = opened.list(&|it| known.contains_key(it.as_slice()), &mut || {
            progress(Progress { done: 0, of: 0 })
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

    /// Answers from `past` from now on, and writes it. Why that cannot be done.
    fn keep(&self, past: Past, saved: &mut bool) -> Option<String> {
        let past = Arc::new(past);
        let unsaved = self.save(&past, saved);
        *self.past.write().unwrap_or_else(PoisonError::into_inner) = past;
        unsaved
    }

    /// Writes `past`, if that is not `saved` yet. Why that cannot be done.
    fn save(&self, past: &Past, saved: &mut bool) -> Option<String> {
        if *saved {
            return None;
        }
        let written = past.write(&self.file);
        *saved = written.is_ok();
        written.err().map(|it| it.to_string())
    }
}

/// Reads on as many threads as there are, for as long as nobody ends it.
struct Reading<'r> {
    opened: &'r Opened<'r>,
    /// How many changes are known, of how many.
    done: AtomicUsize,
    of: usize,
    is_over: AtomicBool,
    progress: Mutex<&'r mut (dyn FnMut(Progress) -> ControlFlow<()> + Send)>,
}

impl Reading<'_> {
    /// The changes of `commits`, in their order; where it is over, of those that were read until then.
    fn read(&self, commits: &[(ObjectId, ObjectId)]) -> Vec<Change> {
        let read = commits.par_iter().map_init(
            || self.opened.reader(),
            |reader, (commit, parent)| {
                let change = self.goes_on().then(|| reader.read(*commit, *parent));
                self.done.fetch_add(1, Ordering::Relaxed);
                change
            },
        );
        let read: Vec<Option<Change>> = read.collect();
        read.into_iter().flatten().collect()
    }

    fn goes_on(&self) -> bool {
        // Whoever tells how far it is does so for the others.
        if let Ok(mut progress) = self.progress.try_lock() {
            let (done, of) = (self.done.load(Ordering::Relaxed), self.of);
            if progress(Progress { done, of }).is_break() {
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
    async fn touched(&self, terms: &[(String, f32)], limit: usize) -> Answer<Vec<Touched>> {
        let failure = self.failure.read().unwrap_or_else(PoisonError::into_inner);
        match &*failure {
            Some(why) => Err(why.clone()),
            None => Ok(self.past().touched(terms, limit)),
        }
    }
}
