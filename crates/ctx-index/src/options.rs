//! Options of an index, and the reports that it returns.

use std::mem::take;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctx_model::UnixSeconds;
use ctx_source::Ignoring;
use ctx_syntax::Limits;

use crate::scan::Scan;

/// The largest file limit accepted from a stored setting, in bytes: the folder of the index may
/// come from an untrusted author.
const MOST_KEPT: u64 = 64 << 20;

/// How an index is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Whether generated and vendored files are indexed too. `None` means as stored by
    /// [`Index::store_options`](crate::Index::store_options), and otherwise no.
    pub include_generated: Option<bool>,
    /// Larger files are skipped, in bytes. `None` means as stored by
    /// [`Index::store_options`](crate::Index::store_options), but at most 64 MiB, because an index
    /// that came with a repository has the setting of its author; otherwise 1 MiB.
    pub max_file_bytes: Option<u64>,
    /// Whether blank files are indexed too: they have no part, and are found by their paths. Blank
    /// files that are already indexed stay so.
    pub include_blank: bool,
    /// Which files are excluded by name.
    pub ignoring: Ignoring,
    /// Limits for parsing with a grammar.
    pub syntax: Limits,
    /// How long an update waits for another process that writes the index.
    pub patience: Duration,
}

impl Default for Options {
    /// Settings as stored in the index, no blank files, and half a second of patience.
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
    /// Sets whether generated and vendored files are indexed.
    with_generated: include_generated: Option<bool>;
    /// Sets the size of the largest file that is indexed, in bytes.
    with_max_file_bytes: max_file_bytes: Option<u64>;
    /// Sets whether blank files are indexed.
    with_blank: include_blank: bool;
    /// Sets which files are excluded by name.
    with_ignoring: ignoring: Ignoring;
    /// Sets the limits for parsing with a grammar.
    with_syntax: syntax: Limits;
    /// Sets how long an update waits for another process.
    with_patience: patience: Duration;
}

/// Settings stored in an index, for callers that leave them unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredOptions {
    /// See [`Options::include_generated`].
    pub include_generated: Option<bool>,
    /// See [`Options::max_file_bytes`].
    pub max_file_bytes: Option<u64>,
}

/// Which files are to be indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) include_generated: bool,
    pub(crate) max_file_bytes: u64,
    pub(crate) include_blank: bool,
    pub(crate) ignoring: Ignoring,
}

impl Wanted {
    pub(crate) fn of(options: &Options, kept: StoredOptions) -> Self {
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

/// The progress of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Files that were read.
    pub done: usize,
    /// Files that are to be read.
    pub of: usize,
    /// Whether the update has not started because another process writes the index; reported every
    /// 50 ms.
    pub is_waiting: bool,
    /// The id of that process, if known.
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

    pub(crate) fn waiting(holder: Option<u32>) -> Self {
        Progress {
            is_waiting: true,
            holder,
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
    /// Files that exist and were indexed, but are now excluded by ignore files or options. They are
    /// also counted in `removed`.
    pub left_out: usize,
    /// Files that have no text, could not be read, or were skipped.
    pub skipped: usize,
    /// Files that could not be read, each as a sentence with the reason.
    pub faults: Vec<String>,
    /// Ignore files, and lines of them, that have no effect, each as a sentence with the reason.
    pub unheeded: Vec<String>,
    /// What was skipped, sorted by path.
    pub skipped_files: Vec<SkippedFile>,
    /// Files that this update indexed by runs of lines, with the reason: parsing hit a limit.
    pub by_lines: Vec<String>,
    /// What could not be read and is tried again: folders that could not be listed, whose indexed
    /// files are kept, and files that could not be read or looked at. Paths are relative to the
    /// root; the root itself is the empty path, which is also there if a walk ran out of time.
    pub unread: Vec<PathBuf>,
}

/// A skipped file, link or special file. Ignored and hidden files are not reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedFile {
    /// The path relative to the root.
    pub path: PathBuf,
    /// The reason.
    pub reason: Reason,
}

/// Why a file is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// It is larger than [`Options::max_file_bytes`].
    TooLarge,
    /// It is generated.
    Generated,
    /// It is a copy of third-party code.
    Vendored,
    /// Its name says that it holds secrets: see [`ctx_secrets::is_secret_file`].
    Secret,
    /// It has no text: it is binary, or has only blanks.
    NoText,
    /// It is empty.
    Empty,
    /// It is a link, which is not followed.
    Link,
    /// It is a pipe, a device or a socket.
    Special,
    /// Its path is not UTF-8.
    Unnamed,
}

impl Reason {
    /// Whether [`Options::include_generated`] includes such a file.
    pub fn is_generated(self) -> bool {
        matches!(self, Reason::Generated | Reason::Vendored)
    }
}

impl Updated {
    /// The report as far as a walk can fill it in.
    pub(crate) fn of(scan: &mut Scan) -> Self {
        let root = scan.is_partial.then(PathBuf::new);
        Updated {
            unread: scan.unlisted.iter().cloned().chain(root).collect(),
            skipped: scan.skipped_files.len(),
            faults: take(&mut scan.faults),
            unheeded: take(&mut scan.unheeded),
            skipped_files: take(&mut scan.skipped_files),
            ..Updated::default()
        }
    }

    /// Whether a walk met something at `path` that is not a regular file.
    pub(crate) fn is_no_file(&self, path: &str) -> bool {
        let path = Path::new(path);
        let at = self.skipped_files.partition_point(|it| *it.path < *path);
        let met = self.skipped_files.get(at).filter(|it| *it.path == *path);
        met.is_some_and(|it| matches!(it.reason, Reason::Link | Reason::Special))
    }

    /// Adds files that cannot be read, each with a sentence that says why.
    pub(crate) fn note_unread(&mut self, faults: Vec<(PathBuf, String)>) {
        self.skipped += faults.len();
        for (path, why) in faults {
            self.unread.push(path);
            self.faults.push(why);
        }
    }
}

/// The size and settings of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The root: the folder that is indexed.
    pub root: PathBuf,
    /// The folder of the index.
    pub folder: PathBuf,
    /// The number of files.
    pub files: u64,
    /// The number of parts of files.
    pub parts: u64,
    /// The number of lines.
    pub lines: u64,
    /// Bytes on the disk.
    pub bytes: u64,
    /// How often the indexed content changed.
    pub generation: u64,
    /// The time of the last change.
    pub written_at: Option<UnixSeconds>,
    /// Whether generated and vendored files are indexed.
    pub include_generated: bool,
    /// Larger files are skipped, in bytes.
    pub max_file_bytes: u64,
}

/// How far an index is behind the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// Files that are new or have changed.
    pub changed: usize,
    /// Files that are indexed and no longer exist.
    pub removed: usize,
    /// Files that exist and are skipped as generated or vendored: by their names, or by their text
    /// if it was read before.
    pub generated: usize,
}
