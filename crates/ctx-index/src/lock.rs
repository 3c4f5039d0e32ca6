//! One writer at a time.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use crate::IndexError;

/// The right to write. It ends with the process at the latest.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "closing it gives the right back")] File);

/// Takes the right to write the index in `folder`; [`IndexError::Busy`] if another has it.
pub(crate) fn lock(folder: &Path) -> Result<Lock, IndexError> {
    let io = |source| IndexError::folder(folder, source);
    let path = folder.join("writer.lock");
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(io)?;
    match file.try_lock() {
        Ok(()) => {
            // Who holds it is told as far as it can be: a full disk takes nothing away from the right.
            let _ = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| write!(file, "{}", std::process::id()));
            Ok(Lock(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            Err(IndexError::Busy {
                folder: folder.to_owned(),
                holder: holder
                    .parse()
                    .map_or("unknown".to_owned(), |id: u32| id.to_string()),
            })
        }
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}
