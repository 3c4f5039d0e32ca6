//! One process at a time: a file whose lock is a right, and which says who has it.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};

/// More digits than the number of a process has.
const LONGEST: u64 = 16;

/// Whose a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Lock {
    /// This process's, until the file is closed.
    Ours,
    /// Another's: of the process of this number, where it is known.
    Theirs(Option<u32>),
}

/// Takes the lock of `file`, unless another has it, and writes into it who does. It ends with the process at the latest.
///
/// # Errors
/// The system has no locks for it.
#[doc(hidden)]
pub fn lock(file: &mut File) -> io::Result<Lock> {
    match file.try_lock() {
        Ok(()) => {
            // That is told as far as it can be: a full disk takes nothing away from the right.
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

/// The number of the process that wrote itself into `file`.
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
