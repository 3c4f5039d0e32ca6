//! The changes of a repository, kept and up to date.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use ctx_retrieve::{Answer, Changes, Touched};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::error::GitError;
use crate::past::{Change, Past};
use crate::repository::{Listed, Source};

/// So many changes are read before it is told how far it is.
const STEP: usize = 128;

/// The last changes of a git repository, found by what was said of them. Any number may ask while one updates.
pub struct GitChanges {
    source: Source,
    /// Where they are kept.
    file: PathBuf,
    past: RwLock<Arc<Past>>,
}

/// How far an update is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// So many changes are read,
    pub done: usize,
    /// of so many.
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
            Ok(past) => (past.unwrap_or_default(), None),
            Err(what) => (Past::default(), Some(what)),
        };
        let changes = GitChanges {
            source,
            file: file.to_owned(),
            past: RwLock::new(Arc::new(past)),
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

    /// Reads the changes that are not known yet, and forgets those that `HEAD` does not have any more. Where it is what it was, nothing is
    /// read but that. `progress` is told how far it is, and may end it: then all is as before. O(changes that are new, and what
    /// they changed).
    ///
    /// # Errors
    /// The repository cannot be read, or `progress` ended it.
    pub fn update(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, GitError> {
        let known = self.past();
        let tip = self.source.tip()?;
        let tip_bytes = tip.as_ref().map_or(&[][..], |it| it.as_slice());
        if known.tip == tip_bytes && known.prefix == self.source.prefix {
            return Ok(Updated {
                changes: known.len(),
                ..Updated::default()
            });
        }
        let (changes, read) = match tip {
            Some(tip) => self.read(&known, &self.source.list(tip)?, progress)?,
            None => Default::default(),
        };
        let past = Arc::new(Past::of(tip_bytes, &self.source.prefix, &changes));
        let unsaved = past.write(&self.file).err().map(|it| it.to_string());
        *self.past.write().unwrap_or_else(PoisonError::into_inner) = past;
        Ok(Updated {
            changes: changes.len(),
            read,
            unsaved,
        })
    }

    /// All changes of `listed`, the known ones as they are known; and how many are not.
    fn read(
        &self,
        known: &Past,
        listed: &Listed,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Vec<Change>, usize), GitError> {
        let prefix = &*self.source.prefix;
        let mut known = if known.prefix == prefix {
            known.known()
        } else {
            BTreeMap::new()
        };
        let of = listed.commits.len();
        let (mut changes, mut read) = (Vec::with_capacity(of), 0);
        for commits in listed.commits.chunks(STEP) {
            let done = changes.len();
            if progress(Progress { done, of }).is_break() {
                return Err(GitError::Cancelled);
            }
            let new = commits
                .iter()
                .filter(|it| !known.contains_key(it.0.as_slice()));
            let new: Vec<_> = new.collect();
            let new = new.par_iter().map_init(
                || listed.reader(),
                |reader, (commit, parent)| reader.read(*commit, *parent, prefix),
            );
            let new: Vec<Change> = new.collect();
            read += new.len();
            let mut new = new.into_iter().peekable();
            for (commit, _) in commits {
                let is_next = new.next_if(|it| it.id == commit.as_slice());
                changes.extend(is_next.or_else(|| known.remove(commit.as_slice())));
            }
        }
        Ok((changes, read))
    }
}

#[async_trait]
impl Changes for GitChanges {
    async fn touched(&self, terms: &[(String, f32)], limit: usize) -> Answer<Vec<Touched>> {
        Ok(self.past().touched(terms, limit))
    }
}
