//! How an index is made, and what is told of it.

use std::mem::take;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctx_source::Ignoring;
use ctx_syntax::Limits;

use crate::scan::Scan;

/// No larger files are taken in because the index says so: whoever made its folder may have had it say that.
const MOST_KEPT: u64 = 64 << 20;

/// How an index is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Whether files that machines wrote, and copies of what others wrote, are indexed too. `None` is as
    /// [`Index::keep`](crate::Index::keep) has it, and else they are not.
    pub include_generated: Option<bool>,
    /// Larger files are passed over. `None` is as [`Index::keep`](crate::Index::keep) has it, up to 64 MiB, and else 1 MiB: an index that
    /// came with a repository has it as others like.
    pub max_file_bytes: Option<u64>,
    /// Whether files without a word are indexed too: they have no part, and are found by their paths. What is indexed
    /// stays so.
    pub include_blank: bool,
    /// Which files are left out by their names.
    pub ignoring: Ignoring,
    /// How much a grammar is trusted with.
    pub syntax: Limits,
    /// How long an update waits for another process that writes the index.
    pub patience: Duration,
}

impl Default for Options {
    /// As the index was made before, without what is blank; half a second for others.
    fn default() -> Self {
        Options {
            include_generated: None,
            max_file_bytes: None,
            include_blank: false,
            ignoring: Ignoring::default(),
            syntax: Limits::default(),
            patience: Duration::from_millis(500),
        }
    }
}

ctx_model::setters! {
    for Options;
    /// Takes in what machines wrote and copies of what others wrote, or does not.
    with_generated: include_generated: Option<bool>;
    /// Sets the largest file that is indexed.
    with_max_file_bytes: max_file_bytes: Option<u64>;
    /// Takes in files without a word, or does not.
    with_blank: include_blank: bool;
    /// Sets which files are left out by their names.
    with_ignoring: ignoring: Ignoring;
    /// Sets how much a grammar is trusted with.
    with_syntax: syntax: Limits;
    /// Sets how long an update waits for another process.
    with_patience: patience: Duration;
}

/// What an index is made with from now on, by whoever does not say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// See [`Options::include_generated`].
    pub include_generated: Option<bool>,
    /// See [`Options::max_file_bytes`].
    pub max_file_bytes: Option<u64>,
}

/// Which files are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) include_generated: bool,
    pub(crate) max_file_bytes: u64,
    pub(crate) include_blank: bool,
    pub(crate) ignoring: Ignoring,
}

impl Wanted {
    pub(crate) fn of(options: &Options, kept: Kept) -> Self {
        let include_generated = options.include_generated.or(kept.include_generated);
        let kept = kept.max_file_bytes.map(|it| it.min(MOST_KEPT));
        let max_file_bytes = options.max_file_bytes.or(kept);
        Wanted {
            include_generated: include_generated.unwrap_or(false),
            max_file_bytes: max_file_bytes.unwrap_or(1 << 20),
            include_blank: options.include_blank,
            ignoring: options.ignoring,
        }
    }
}

/// How far an update is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Files that were read.
    pub done: usize,
    /// Files that are to be read.
    pub of: usize,
    /// Whether nothing is done yet, as another process writes the index; told every 50 ms.
    pub is_waiting: bool,
    /// The id of that process, where it is known.
    pub holder: Option<u32>,
}

impl Pending {
    /// Whether the index is up to date.
    pub fn is_nothing(self) -> bool {
        self.changed == 0 && self.removed == 0
    }
}

impl Progress {
    pub(crate) fn of(done: usize, of: usize) -> Self {
        Progress {
            done,
            of,
            ..Progress::default()
        }
    }

    pub(crate) fn waiting(holder: &str) -> Self {
        Progress {
            is_waiting: true,
            holder: holder.parse().ok(),
            ..Progress::default()
        }
    }
}

/// What an update did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated {
    /// Files that are indexed now.
    pub files: usize,
    /// Files that were new or had changed.
    pub changed: usize,
    /// Files that are no longer there.
    pub removed: usize,
    /// Files that are there and that were indexed, but are not any more: ignore files or options say so now. They
    /// count as removed.
    pub left_out: usize,
    /// Files that hold no text, could not be read, or were passed over.
    pub skipped: usize,
    /// What could not be read, each in a sentence that says why.
    pub faults: Vec<String>,
    /// Ignore files, and lines of them, that ignore nothing, each in a sentence that says why.
    pub unheeded: Vec<String>,
    /// What is there and passed over, by path.
    pub passed: Vec<Passed>,
    /// Files that were indexed now, by their lines alone, and why: their grammar was stopped.
    pub by_lines: Vec<String>,
    /// What could not be looked at for now: folders that could not be listed, of which the index has what it had, and files that
    /// could not be read. Each by its path below the root; the root's own is empty, and there too where a walk had no time for all.
    pub unread: Vec<PathBuf>,
}

/// A file, or what is no file, that is passed over. What ignore files name and what is hidden is not among them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passed {
    /// Below the root.
    pub path: PathBuf,
    /// Why.
    pub reason: Reason,
}

/// Why a file is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// It is larger than [`Options::max_file_bytes`].
    TooLarge,
    /// A machine wrote it.
    Generated,
    /// It is a copy of what others wrote.
    Vendored,
    /// It is there to hold secrets, by its name: see [`ctx_secrets::is_secret_file`].
    Secret,
    /// It holds no text.
    NoText,
    /// It is empty.
    Empty,
    /// It is a link, which is not followed.
    Link,
    /// It is a pipe, a device or a socket.
    Special,
    /// Its name is no text, or its time none that can be noted.
    Unnamed,
}

impl Reason {
    /// Whether [`Options::include_generated`] takes such a file in.
    pub fn is_generated(self) -> bool {
        matches!(self, Reason::Generated | Reason::Vendored)
    }
}

impl Updated {
    /// As far as a walk tells.
    pub(crate) fn of(scan: &mut Scan) -> Self {
        let root = scan.is_partial.then(PathBuf::new);
        Updated {
            unread: scan.unlisted.iter().cloned().chain(root).collect(),
            skipped: scan.passed.len(),
            faults: take(&mut scan.faults),
            unheeded: take(&mut scan.unheeded),
            passed: take(&mut scan.passed),
            ..Updated::default()
        }
    }

    /// Whether a walk met something at `path` that is no file.
    pub(crate) fn is_no_file(&self, path: &str) -> bool {
        let path = Path::new(path);
        let at = self.passed.partition_point(|it| *it.path < *path);
        let met = self.passed.get(at).filter(|it| *it.path == *path);
        met.is_some_and(|it| matches!(it.reason, Reason::Link | Reason::Special))
    }

    /// Files that cannot be read, and why in a sentence.
    pub(crate) fn note_unread(&mut self, faults: Vec<(PathBuf, String)>) {
        self.skipped += faults.len();
        for (path, why) in faults {
            self.unread.push(path);
            self.faults.push(why);
        }
    }
}

/// What there is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// What is indexed.
    pub root: PathBuf,
    /// Where the index is.
    pub folder: PathBuf,
    /// Files.
    pub files: u64,
    /// Parts of files.
    pub parts: u64,
    /// Lines.
    pub lines: u64,
    /// Bytes on the disk.
    pub bytes: u64,
    /// How often what is indexed changed.
    pub generation: u64,
    /// When it changed last, in seconds since 1970.
    pub written_at: Option<i64>,
    /// Whether generated and vendored files are indexed.
    pub include_generated: bool,
    /// Larger files are passed over.
    pub max_file_bytes: u64,
}

/// How far an index is behind the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// Files that are new or have changed.
    pub changed: usize,
    /// Files that are indexed and no longer there.
    pub removed: usize,
    /// Files that are there and passed over, as they are generated or vendored: by their names, or by their text where that
    /// was read before.
    pub generated: usize,
}
