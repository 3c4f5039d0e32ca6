//! Handles: who may vote on what.
//!
//! A handle is the id of a context and a keyed hash of it and its owner, so it cannot be made up, and is worth
//! nothing to anybody else. The key is a file of the data folder.

use std::io::{self, Read as _, Write as _};

use cap_std::fs::{Dir, OpenOptions};

use crate::backend::BackendError;
use crate::{Owner, ServerError};

const FILE: &str = "secret";

/// Signs handles.
pub(super) struct Signer {
    key: [u8; 32],
}

impl Signer {
    /// Reads the key of the data folder, and makes it where there is none.
    pub(super) fn open(
        dir: &Dir,
        failed: &dyn Fn(io::Error) -> ServerError,
    ) -> Result<Self, ServerError> {
        match read(dir) {
            Ok(key) => Ok(Signer { key }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut key = [0; 32];
                getrandom::fill(&mut key).map_err(ServerError::Random)?;
                write(dir, &key).map_err(failed)?;
                Ok(Signer { key })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// A new id of a context, and its handle.
    pub(super) fn issue(&self, owner: &Owner) -> Result<(String, String), BackendError> {
        let id = format!("ctx-{}", random_id()?);
        let handle = format!("{id}.{}", self.sign(owner, &id).to_hex());
        Ok((id, handle))
    }

    /// The id in `handle`, where it was issued for `owner`.
    pub(super) fn verify<'h>(&self, owner: &Owner, handle: &'h str) -> Option<&'h str> {
        let (id, signature) = handle.rsplit_once('.')?;
        let signature = blake3::Hash::from_hex(signature).ok()?;
        // `Hash` compares in constant time.
        (self.sign(owner, id) == signature).then_some(id)
    }

    fn sign(&self, owner: &Owner, id: &str) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        let name = owner.as_str().as_bytes();
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name);
        hasher.update(id.as_bytes());
        hasher.finalize()
    }
}

/// 128 random bits, in hexadecimal.
pub(super) fn random_id() -> Result<String, BackendError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| BackendError::failed("make an id", error.to_string()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn read(dir: &Dir) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    dir.open(FILE)?.read_exact(&mut key)?;
    Ok(key)
}

/// Whole or not at all: a key that is cut short would lock the folder.
fn write(dir: &Dir, key: &[u8; 32]) -> io::Result<()> {
    let unfinished = format!("{FILE}.new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = dir.open_with(&unfinished, &options)?;
    file.write_all(key)?;
    file.sync_all()?;
    dir.rename(&unfinished, dir, FILE)
}
