//! The changes of a repository, kept and up to date.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use async_trait::async_trait;
use ctx_retrieve::{Answer, Changes, Touched};
use gix::ObjectId;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::error::GitError;
use crate::past::{Change, Past};
use crate::repository::{Opened, Source};

/// The last changes of a git repository, found by what was said of them. Any number may ask while one updates.
pub struct GitChanges {
    source: Source,
    /// Where they are kept.
    file: PathBuf,
    past: RwLock<Arc<Past>>,
    /// Held by who updates them: whether the file has what is known.
    saved: Mutex<bool>,
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
    /// the repository is opened and no more. `progress` is told how far it is, and may end it: then all is as before.
    /// O(commits that are looked at, and what those that are new changed). A second update waits for the first.
    ///
    /// # Errors
    /// The repository cannot be read, or `progress` ended it.
    pub fn update(
        &self,
        progress: &mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
    ) -> Result<Updated, GitError> {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let past = self.past();
        let opened = self.source.open()?;
        let extent = opened.extent();
        if past.extent == extent {
            return Ok(Updated {
                changes: past.len(),
                read: 0,
                unsaved: self.save(&past, &mut saved),
            });
        }
        let known = past.known();
        let listed = opened.list(&|it| known.contains_key(it.as_slice()), &mut || {
            progress(Progress { done: 0, of: 0 })
        })?;
        let (changes, read) = read(&opened, &listed, known, progress)?;
        let past = Arc::new(Past::of(extent, &changes));
        *saved = false;
        let unsaved = self.save(&past, &mut saved);
        *self.past.write().unwrap_or_else(PoisonError::into_inner) = past;
        Ok(Updated {
            changes: changes.len(),
            read,
            unsaved,
        })
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

/// All changes of `listed`, the known ones as they are known; and how many are not.
fn read(
    opened: &Opened<'_>,
    listed: &[(ObjectId, ObjectId)],
    mut known: BTreeMap<&[u8], Change>,
    progress: &mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
) -> Result<(Vec<Change>, usize), GitError> {
    let new = listed
        .iter()
        .filter(|it| !known.contains_key(it.0.as_slice()));
    let new: Vec<_> = new.collect();
    let (read, of) = (new.len(), listed.len());
    let done = AtomicUsize::new(of - read);
    let is_over = AtomicBool::new(false);
    let progress = Mutex::new(progress);
    // Whoever tells how far it is does so for the others.
    let goes_on = || {
        if let Ok(mut progress) = progress.try_lock() {
            let done = done.load(Ordering::Relaxed);
            if progress(Progress { done, of }).is_break() {
                is_over.store(true, Ordering::Relaxed);
            }
        }
        !is_over.load(Ordering::Relaxed)
    };
    let new = new.par_iter().map_init(
        || opened.reader(),
        |reader, (commit, parent)| {
            let change = goes_on().then(|| reader.read(*commit, *parent));
            done.fetch_add(1, Ordering::Relaxed);
            change
        },
    );
    let new: Option<Vec<Change>> = new.collect();
    let mut new = new.ok_or(GitError::Cancelled)?.into_iter().peekable();
    let change = |(commit, _): &(ObjectId, ObjectId)| {
        let next = new.next_if(|it| it.id == commit.as_slice());
        next.or_else(|| known.remove(commit.as_slice()))
    };
    Ok((listed.iter().filter_map(change).collect(), read))
}

#[async_trait]
impl Changes for GitChanges {
    async fn touched(&self, terms: &[(String, f32)], limit: usize) -> Answer<Vec<Touched>> {
        Ok(self.past().touched(terms, limit))
    }
}
