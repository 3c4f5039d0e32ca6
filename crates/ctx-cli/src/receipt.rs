//! Receipts of earlier contexts, as `--json` writes them.

use std::fs::File;
use std::io;
use std::path::Path;

use ctx::model::{BuiltContext, Previous};

use crate::failure::Failure;
use crate::input;
use crate::walk::shown;

const WRITTEN_BY: &str = "a receipt is what `ctx pack --json` and `ctx assemble --json` write";

/// Reads the receipt at `path`; `-` is standard input.
///
/// # Errors
/// It cannot be read, or is no receipt, and where.
pub(crate) fn read(path: &Path) -> Result<BuiltContext, Failure> {
    let (bytes, name) = if path == Path::new("-") {
        let name = "<stdin>".to_owned();
        (all(io::stdin().lock(), &name)?, name)
    } else {
        (file(path)?, shown(path))
    };
    input::whole(&bytes, &name, "receipt", WRITTEN_BY)
}

/// Reads of the receipt at `path` what a later context needs to keep its beginning.
///
/// # Errors
/// As those of [`read`]; the receipt is not that of the context in it.
pub(crate) fn previous(path: &Path) -> Result<Previous, Failure> {
    let built = read(path)?;
    if digest(built.context.as_bytes()) != built.digest {
        return Err(Failure::input(format_args!(
            "{}: the digest is not that of the context: one of them was changed",
            shown(path)
        ))
        .with_hint("give the receipt as it was written, or leave --previous out"));
    }
    Ok(Previous {
        digest: built.digest,
        ids: built.included.into_iter().map(|chunk| chunk.id).collect(),
        context: Some(built.context),
    })
}

/// What receipts call a text by: BLAKE3, 64 hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// All of a file that was named.
///
/// # Errors
/// It cannot be read.
pub(crate) fn file(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = shown(path);
    let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
    all(file, &name)
}

fn all(mut reader: impl io::Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    match reader.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(unreadable(name, &error)),
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::input(format_args!("failed to read {name}: {error}"))
        .with_hint("check the path and its permissions")
}
