//! Which files there are, and which of them changed.

use std::path::Path;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use ctx_rank::Role;
use ignore::{WalkBuilder, WalkState};

use crate::Options;

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
}

/// What a walk saw.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// By path.
    pub(crate) files: Vec<Seen>,
    /// How many were passed over: too large, generated or vendored, or with names that are no text.
    pub(crate) skipped: usize,
    /// Folders and files that could not be looked at, each in a sentence.
    pub(crate) faults: Vec<String>,
}

/// Walks the folder at `root`: as ignore files say, links not followed.
pub(crate) fn scan(root: &Path, options: &Options) -> Scan {
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
        .filter_entry(|entry| entry.file_name() != ".ctx")
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
                if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    return WalkState::Continue;
                }
                match seen(root, &entry, options) {
                    Some(seen) => with(&|scan| scan.files.push(seen.clone())),
                    None => with(&|scan| scan.skipped += 1),
                }
                WalkState::Continue
            })
        });
    let mut scan = found.into_inner().unwrap_or_default();
    scan.files.sort_unstable();
    scan.faults.sort_unstable();
    scan
}

fn seen(root: &Path, entry: &ignore::DirEntry, options: &Options) -> Option<Seen> {
    let path = entry.path().strip_prefix(root).ok()?.to_str()?;
    let path = if cfg!(windows) {
        path.replace('\\', "/")
    } else {
        path.to_owned()
    };
    if !options.include_generated && matches!(Role::of(&path), Role::Generated | Role::Vendored) {
        return None;
    }
    let metadata = entry.metadata().ok()?;
    let modified = metadata.modified().ok()?;
    let modified = match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok()?,
        Err(before) => -i64::try_from(before.duration().as_nanos()).ok()?,
    };
    (metadata.len() <= options.max_file_bytes).then_some(Seen {
        path,
        size: metadata.len(),
        modified,
    })
}
