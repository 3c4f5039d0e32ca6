//! A lock file: one process at a time holds it, and it names the holder.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};

/// The most bytes read; more digits than a process id has.
const LONGEST: u64 = 16;

/// Who holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Lock {
    /// This process holds it, until the file is closed.
    Ours,
    /// Another process holds it; its id, if known.
    Theirs(Option<u32>),
}

/// Tries to lock `file`, and on success writes the id of this process into it. The lock ends with
/// the process at the latest.
///
/// # Errors
/// The system does not support locks on it.
#[doc(hidden)]
pub fn lock(file: &mut File) -> io::Result<Lock> {
    match file.try_lock() {
        Ok(()) => {
            // The id is written on a best-effort basis: the lock is held even if the disk is full.
            let _ = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| write!(file, "{}", std::process::id()));
            Ok(Lock::Ours)
        }
        Err(TryLockError::WouldBlock) => Ok(Lock::Theirs(holder(file))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The id of the process that `file` names as its holder.
#[doc(hidden)]
pub fn holder(file: &mut File) -> Option<u32> {
    let mut number = String::new();
    file.rewind().ok()?;
    file.take(LONGEST).read_to_string(&mut number).ok()?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_a_lock_and_whoever_wants_it_is_told_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "a longer text than any number").unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        let (mut one, mut other) = (open(), open());
        assert_eq!(holder(&mut other), None);
        assert_eq!(lock(&mut one).unwrap(), Lock::Ours);
        let own = Some(std::process::id());
        assert_eq!(lock(&mut other).unwrap(), Lock::Theirs(own));
        assert_eq!(holder(&mut other), own);
        drop(one);
        assert_eq!(lock(&mut other).unwrap(), Lock::Ours);
    }
}
