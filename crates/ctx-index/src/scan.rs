//! The files below the root, as a walk sees them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ctx_model::error_chain;
use ctx_rank::Role;
use ctx_source::{Entry, EntryKind, Mark, Root, SourceError, Step, WalkFault, WalkOptions};

use crate::manifest::Moment;
use crate::options::{Reason, SkippedFile, Wanted};

/// A file modified less than this long before it was looked at may change again without a new time,
/// since clocks of file systems are that coarse. In nanoseconds.
const RACY: i64 = 2_000_000_000;

/// A file that exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
    /// When the system last changed it, in nanoseconds since 1970; 0 where it keeps no such time.
    pub(crate) changed: i64,
    /// Whether any later change will have another time.
    pub(crate) is_settled: bool,
}

impl Seen {
    /// The modification time that the next update compares with. Files that may change again within
    /// the same time get one that never matches, and are read again.
    pub(crate) fn stamp(&self) -> i64 {
        if self.is_settled {
            self.modified
        } else {
            i64::MIN
        }
    }
}

/// The result of a walk.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Sorted by path.
    pub(crate) files: Vec<Seen>,
    /// Skipped entries by path: too large, generated, vendored, with a name that is not UTF-8, or
    /// not a regular file.
    pub(crate) skipped_files: Vec<SkippedFile>,
    /// Folders that were listed.
    pub(crate) folders: BTreeSet<PathBuf>,
    /// Folders and files that could not be read or looked at, each as a sentence.
    pub(crate) faults: Vec<String>,
    /// Lines of ignore files that have no effect, each as a sentence.
    pub(crate) unheeded: Vec<String>,
    /// Existing folders that could not be listed, and files that could not be looked at, relative
    /// to the root: these files, and those in the folders, may exist though they were not met.
    pub(crate) unlisted: BTreeSet<PathBuf>,
    /// Whether any file that was not met may exist.
    pub(crate) is_partial: bool,
    /// The state of the manifest before the walk, if known: rows written later may be of files that
    /// the walk did not meet.
    pub(crate) since: Option<Moment>,
}

impl Scan {
    /// Whether the known file at `path`, which was not met, may still exist. O(depth · log
    /// folders).
    pub(crate) fn may_miss(&self, path: &str) -> bool {
        let mut at = Path::new(path).ancestors();
        self.is_partial || at.any(|it| self.unlisted.contains(it))
    }
}

/// Walks the folder `root` without following links, and leaves out the index itself.
pub(crate) fn scan(root: &Root, index: &Path, wanted: Wanted) -> Scan {
    let settled = nanoseconds(SystemTime::now()).unwrap_or(i64::MAX) - RACY;
    let index = index.canonicalize().unwrap_or_else(|_| index.to_owned());
    let is_index = |path: &Path| {
        path.file_name() == index.file_name()
            && root
                .path()
                .join(path)
                .canonicalize()
                .is_ok_and(|it| it == index)
    };
    let mut options = WalkOptions::default();
    options.ignoring = wanted.ignoring;
    let mut scan = Scan::default();
    let mut unseen = Vec::new();
    scan.folders.insert(root.path().to_owned());
    let faults = root.walk(&options, &mut |entry| {
        let path = entry.path();
        if path.file_name().is_some_and(|it| it == ".ctx") || is_index(path) {
            return Step::Past;
        }
        let seen = match entry.kind() {
            EntryKind::Folder => {
                scan.folders.insert(root.path().join(path));
                return Step::On;
            }
            EntryKind::File => seen(entry, settled, wanted),
            EntryKind::Link => Err(Unseen::Skipped(Reason::Link)),
            EntryKind::Other => Err(Unseen::Skipped(Reason::Special)),
        };
        let path = path.to_owned();
        match seen {
            Ok(seen) => scan.files.push(seen),
            Err(Unseen::Skipped(reason)) => scan.skipped_files.push(SkippedFile { path, reason }),
            // It was removed since its folder was listed.
            Err(Unseen::Fault(source)) if source.kind() == io::ErrorKind::NotFound => {}
            Err(Unseen::Fault(source)) => {
                let shown = path.to_string_lossy().into_owned();
                let error = SourceError::Io {
                    path: shown,
                    source,
                };
                unseen.push(error_chain(&error));
                scan.unlisted.insert(path);
            }
        }
        Step::On
    });
    for fault in faults.iter().filter(|it| it.is_transient()) {
        match fault {
            WalkFault::Folder { path, .. } => drop(scan.unlisted.insert(path.clone())),
            _ => scan.is_partial = true,
        }
    }
    let (unheeded, faults): (Vec<_>, Vec<_>) = faults.iter().partition(|it| it.is_of_rules());
    let told = |faults: Vec<&WalkFault>| faults.into_iter().map(ToString::to_string).collect();
    (scan.unheeded, scan.faults) = (told(unheeded), told(faults));
    scan.faults.append(&mut unseen);
    scan.files.sort_unstable();
    scan.skipped_files.sort_unstable();
    scan
}

/// Why a file is not to be indexed, or not now.
enum Unseen {
    Skipped(Reason),
    /// It could not be looked at.
    Fault(io::Error),
}

impl From<Reason> for Unseen {
    fn from(reason: Reason) -> Self {
        Unseen::Skipped(reason)
    }
}

fn seen(entry: &Entry<'_>, settled: i64, wanted: Wanted) -> Result<Seen, Unseen> {
    let path = entry.path().to_str().ok_or(Reason::Unnamed)?;
    let path = if cfg!(windows) {
        path.replace('\\', "/")
    } else {
        path.to_owned()
    };
    if ctx_secrets::is_secret_file(&path) {
        return Err(Reason::Secret.into());
    }
    let role = match entry.mark() {
        Some(Mark::Environment) => Role::Vendored,
        Some(_) => Role::Generated,
        None => Role::of(&path),
    };
    match role {
        Role::Generated if !wanted.include_generated => return Err(Reason::Generated.into()),
        Role::Vendored if !wanted.include_generated => return Err(Reason::Vendored.into()),
        _ => {}
    }
    let stamp = entry.stamp().map_err(Unseen::Fault)?;
    let modified = within_range(stamp.modified());
    if stamp.length() > wanted.max_file_bytes {
        return Err(Reason::TooLarge.into());
    }
    Ok(Seen {
        path,
        size: stamp.length(),
        modified,
        changed: within_range(stamp.changed()),
        is_settled: modified < settled,
    })
}

/// The time, or the nearest one that can be stored: between the years 1677 and 2262, and never the
/// one that [`Seen::stamp`] has for none.
fn within_range(nanoseconds: i128) -> i64 {
    let clamped = nanoseconds.clamp(i128::from(i64::MIN) + 1, i128::from(i64::MAX));
    i64::try_from(clamped).unwrap_or(i64::MAX)
}

/// Nanoseconds since 1970.
fn nanoseconds(time: SystemTime) -> Option<i64> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok(),
        Err(before) => Some(-i64::try_from(before.duration().as_nanos()).ok()?),
    }
}
