//! Which files there are, and which of them changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use ctx_rank::Role;
use ignore::{WalkBuilder, WalkState};

use crate::options::{Passed, Reason, Wanted};

/// A file that changed so shortly before it was looked at may change again within its time: the clocks of file
/// systems are that coarse.
const RACY: i64 = 2_000_000_000;

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
    /// Whether a later change cannot have the same time.
    pub(crate) is_settled: bool,
}

impl Seen {
    /// When it was changed, as the next update is to compare it: a file that may change again within its time
    /// has none, and is read again.
    pub(crate) fn stamp(&self) -> i64 {
        if self.is_settled {
            self.modified
        } else {
            i64::MIN
        }
    }
}

/// What a walk saw.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// By path.
    pub(crate) files: Vec<Seen>,
    /// By path: what is too large, generated or vendored, or has a name that is no text.
    pub(crate) passed: Vec<Passed>,
    /// Folders that were looked into.
    pub(crate) folders: BTreeSet<PathBuf>,
    /// Folders and files that could not be looked at, each in a sentence.
    pub(crate) faults: Vec<String>,
}

/// Walks the folder at `root`: as ignore files say, links not followed, and the index itself left out.
pub(crate) fn scan(root: &Path, index: &Path, wanted: Wanted) -> Scan {
    let settled = nanoseconds(SystemTime::now()).unwrap_or(i64::MAX) - RACY;
    let index = index.canonicalize().unwrap_or_else(|_| index.to_owned());
    let is_index = move |path: &Path| {
        path.file_name() == index.file_name() && path.canonicalize().is_ok_and(|it| it == index)
    };
    let found = Mutex::new(Scan::default());
    let with = |note: &dyn Fn(&mut Scan)| {
        if let Ok(mut scan) = found.lock() {
            note(&mut scan);
        }
    };
    WalkBuilder::new(root)
        .git_global(false)
        .require_git(false)
        .add_custom_ignore_filename(".ctxignore")
        .filter_entry(move |entry| entry.file_name() != ".ctx" && !is_index(entry.path()))
        .threads(2)
        .build_parallel()
        .run(|| {
            Box::new(|entry| {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        with(&|scan| scan.faults.push(error.to_string()));
                        return WalkState::Continue;
                    }
                };
                let kind = entry.file_type();
                if kind.is_some_and(|it| it.is_dir()) {
                    let folder = entry.into_path();
                    with(&|scan| {
                        let _ = scan.folders.insert(folder.clone());
                    });
                    return WalkState::Continue;
                }
                if !kind.is_some_and(|it| it.is_file()) {
                    return WalkState::Continue;
                }
                match seen(root, &entry, settled, wanted) {
                    Ok(seen) => with(&|scan| scan.files.push(seen.clone())),
                    Err(reason) => {
                        let path = entry.path();
                        let path = path.strip_prefix(root).unwrap_or(path).to_owned();
                        let passed = Passed { path, reason };
                        with(&|scan| scan.passed.push(passed.clone()));
                    }
                }
                WalkState::Continue
            })
        });
    let mut scan = found.into_inner().unwrap_or_default();
    scan.files.sort_unstable();
    scan.faults.sort_unstable();
    scan.passed.sort_unstable();
    scan
}

fn seen(
    root: &Path,
    entry: &ignore::DirEntry,
    settled: i64,
    wanted: Wanted,
) -> Result<Seen, Reason> {
    let path = entry.path().strip_prefix(root).ok();
    let path = path.and_then(Path::to_str).ok_or(Reason::Unnamed)?;
    let path = if cfg!(windows) {
        path.replace('\\', "/")
    } else {
        path.to_owned()
    };
    if ctx_secrets::is_secret_file(&path) {
        return Err(Reason::Secret);
    }
    match Role::of(&path) {
        Role::Generated if !wanted.include_generated => return Err(Reason::Generated),
        Role::Vendored if !wanted.include_generated => return Err(Reason::Vendored),
        _ => {}
    }
    let metadata = entry.metadata().map_err(|_| Reason::Unnamed)?;
    let modified = metadata.modified().ok().and_then(nanoseconds);
    let modified = modified.ok_or(Reason::Unnamed)?;
    if metadata.len() > wanted.max_file_bytes {
        return Err(Reason::TooLarge);
    }
    Ok(Seen {
        path,
        size: metadata.len(),
        modified,
        is_settled: modified < settled,
    })
}

/// Since 1970.
fn nanoseconds(time: SystemTime) -> Option<i64> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok(),
        Err(before) => Some(-i64::try_from(before.duration().as_nanos()).ok()?),
    }
}
