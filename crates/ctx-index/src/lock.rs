//! File locks: for the only writer of the index, and for the process that creates the remembered
//! data.

use std::fs::{File, TryLockError};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ctx_source::{Lock as Taken, open_no_link};

use crate::IndexError;

/// The lock of the process that writes the index.
pub(crate) const WRITER: &str = "writer.lock";
/// The lock of the process that creates or repairs the remembered data.
pub(crate) const REMEMBERED: &str = "remembered.lock";
/// The interval between attempts to take a lock that another process has.
const STEP: Duration = Duration::from_millis(50);

/// A lock that is held. It ends with the process at the latest.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "closing it gives the right back")] File);

/// Takes the lock `name`, waiting for at most `most` if another process has it. Every 50 ms `tell`
/// is called with the process id of the holder, if known. Returns [`IndexError::Busy`] after that
/// time, and [`IndexError::Cancelled`] if `tell` breaks.
pub(crate) fn lock_patiently(
    folder: &Path,
    name: &str,
    most: Duration,
    tell: &mut dyn FnMut(Option<u32>) -> ControlFlow<()>,
) -> Result<Lock, IndexError> {
    let start = Instant::now();
    loop {
        let holder = match lock(folder, name) {
            Err(IndexError::Busy { holder, .. }) => holder,
            result => return result,
        };
        let left = most.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(busy(folder, holder));
        }
        if tell(holder).is_break() {
            return Err(IndexError::Cancelled);
        }
        thread::sleep(STEP.min(left));
    }
}

/// Takes the lock `name` in `folder`, or returns [`IndexError::Busy`] if another process has it.
pub(crate) fn lock(folder: &Path, name: &str) -> Result<Lock, IndexError> {
    let io = |source| IndexError::folder(folder, source);
    let mut options = File::options();
    // The content is replaced once the lock is taken.
    options.read(true).write(true).create(true).truncate(false);
    let mut file = open_no_link(&folder.join(name), &options).map_err(io)?;
    match ctx_source::lock(&mut file).map_err(io)? {
        // The lock file was removed with its index meanwhile, and protects nothing any more.
        Taken::Ours if !is_still(&file, &folder.join(name)) => Err(busy(folder, None)),
        Taken::Ours => Ok(Lock(file)),
        Taken::Theirs(process) => Err(busy(folder, process)),
    }
}

/// Returns [`IndexError::Busy`] if a process has the lock `name` in `folder`. Changes nothing.
pub(crate) fn check_free(folder: &Path, name: &str) -> Result<(), IndexError> {
    let Ok(mut file) = open_no_link(&folder.join(name), File::options().read(true)) else {
        return Ok(());
    };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(busy(folder, ctx_source::holder(&mut file))),
        _ => Ok(()),
    }
}

/// Whether `path` still names this file.
#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |it: std::fs::Metadata| (it.dev(), it.ino());
    let (file, named) = (
        file.metadata().map(id),
        std::fs::symlink_metadata(path).map(id),
    );
    matches!((file, named), (Ok(file), Ok(named)) if file == named)
}

/// On this platform an open file keeps its name.
#[cfg(not(unix))]
fn is_still(_: &File, _: &Path) -> bool {
    true
}

fn busy(folder: &Path, holder: Option<u32>) -> IndexError {
    IndexError::Busy {
        folder: folder.to_owned(),
        holder,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_was_removed_is_not_the_one_that_took_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(WRITER);
        let before = File::create(&path).unwrap();
        assert!(is_still(&before, &path));
        std::fs::remove_file(&path).unwrap();
        assert!(!is_still(&before, &path));
        let _lock = lock(folder.path(), WRITER).unwrap();
        assert!(!is_still(&before, &path));
        assert!(check_free(folder.path(), WRITER).is_err());
    }

    #[test]
    fn a_link_is_no_lock_and_what_it_leads_to_stays_as_it_is() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (there, nowhere) = (other.path().join("notes"), other.path().join("new"));
        std::fs::write(&there, "keep this").unwrap();
        for (name, to) in [(WRITER, &there), (REMEMBERED, &nowhere)] {
            std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
            let refused = lock(folder.path(), name).unwrap_err();
            assert!(matches!(refused, IndexError::Folder { .. }), "{refused}");
            assert!(check_free(folder.path(), name).is_ok());
        }
        assert_eq!(std::fs::read_to_string(there).unwrap(), "keep this");
        assert!(!nowhere.exists());
    }
}
