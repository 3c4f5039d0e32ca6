//! Reads the files that a walk found, as text.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ctx::assemble::Cancel;
use ctx::secrets::{is_secret_file, mask};
use ctx::source::{Decoded, Root, Secrets, SourceError, decode, read_up_to};

use crate::failure::Failure;
use crate::interrupt::Stdin;
use crate::progress::Progress;
use crate::walk::{Found, Reason, Skipped, Walked};

/// The least number of files for which threads are used.
const WORTH_THREADS: usize = 8;

/// The result of reading a file.
#[derive(Debug)]
pub(crate) enum Content {
    Text {
        text: String,
        /// How it was converted to UTF-8, in a sentence.
        converted: Option<String>,
        /// How many secrets are masked in it.
        masked: usize,
    },
    Skipped(Skipped),
}

/// Reads the files and calls `work` on each text, on as many threads as there are cores; the
/// results are in the order of the files. Each thread holds one file at a time, besides what `work`
/// keeps.
///
/// # Errors
/// The user cancelled.
pub(crate) fn read_each<T: Send>(
    walked: &Walked,
    limit: u64,
    secrets: Secrets,
    cancel: &Cancel,
    progress: &Progress,
    work: impl Fn(usize, Content) -> T + Sync,
) -> Result<Vec<T>, Failure> {
    let files = &walked.files;
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::with_capacity(files.len()));
    let worker = || {
        let mut own = Vec::new();
        while !cancel.is_cancelled() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(index) else { break };
            own.push((
                index,
                work(index, read(file, &walked.roots, limit, secrets)),
            ));
            progress.step();
        }
        answers
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .append(&mut own);
    };
    let threads = if files.len() < WORTH_THREADS {
        1
    } else {
        std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(files.len())
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(worker);
        }
        worker();
    });
    if cancel.is_cancelled() {
        return Err(Failure::cancelled());
    }
    let mut answers = answers
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    answers.sort_unstable_by_key(|(index, _)| *index);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

fn read(file: &Found, roots: &[Root], limit: u64, secrets: Secrets) -> Content {
    let skip = |reason, detail: String| {
        Content::Skipped(Skipped {
            shown: file.shown.clone(),
            reason,
            detail,
        })
    };
    if secrets == Secrets::Masked && is_secret(file) {
        let detail = "its name says that it holds secrets (--keep-secrets)";
        return skip(Reason::Secret, detail.to_owned());
    }
    let bytes = match bytes(file, roots, limit) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            return skip(
                Reason::TooLarge,
                format!("it is larger than {limit} bytes (--max-file-size)"),
            );
        }
        Err((reason, detail)) => return skip(reason, detail),
    };
    let (mut text, converted) = match decode(bytes) {
        Decoded::Text(text) => (text, None),
        Decoded::Converted {
            text,
            from,
            replaced,
        } => (text, Some(conversion(from, replaced))),
        Decoded::Binary => return skip(Reason::Binary, "it holds no text".to_owned()),
        Decoded::Empty => return skip(Reason::Empty, "it is empty".to_owned()),
    };
    let masked = match secrets {
        Secrets::Masked => mask(&file.shown, &mut text).len(),
        Secrets::Shown => 0,
    };
    Content::Text {
        text,
        converted,
        masked,
    }
}

/// Whether its name says that it holds secrets or, for a named link, the name of the file it leads
/// to.
fn is_secret(file: &Found) -> bool {
    let real = || file.path.canonicalize().ok().filter(|_| file.named);
    is_secret_file(&file.shown) || real().is_some_and(|it| is_secret_file(&it.to_string_lossy()))
}

/// How a text was converted, in words.
pub(crate) fn conversion(from: &str, replaced: usize) -> String {
    match replaced {
        0 => format!("decoded from {from}"),
        1 => format!("decoded from {from}; 1 character could not be read"),
        n => format!("decoded from {from}; {n} characters could not be read"),
    }
}

/// The bytes of a file, or `None` if there are too many. A file that was found is read through its
/// root, whatever has happened to it since; one that the user named is read as it is, even if it is
/// a pipe.
fn bytes(file: &Found, roots: &[Root], limit: u64) -> Result<Option<Vec<u8>>, (Reason, String)> {
    let Some(root) = file.root.and_then(|it| roots.get(it)) else {
        let read =
            open(&file.path).and_then(|(mut reader, size)| read_up_to(&mut *reader, size, limit));
        return read.map_err(|error| (Reason::Unreadable, error.to_string()));
    };
    match root.read(root.relative(&file.path), limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(SourceError::TooLarge { .. }) => Ok(None),
        Err(SourceError::NotAFile { what, .. }) => Err((Reason::Special, format!("it is {what}"))),
        Err(SourceError::Io { source, .. }) => Err((Reason::Unreadable, source.to_string())),
        Err(error) => Err((Reason::Unreadable, error.to_string())),
    }
}

fn open(path: &Path) -> io::Result<(Box<dyn Read>, u64)> {
    if path == Path::new("-") {
        return Ok((Box::new(Stdin::lock()), 0));
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    Ok((Box::new(file), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_vanished_is_unreadable() {
        let gone = Found {
            path: "/no/such/file".into(),
            shown: "gone".to_owned(),
            named: false,
            root: None,
        };
        match read(&gone, &[], 10, Secrets::Masked) {
            Content::Skipped(skipped) => assert_eq!(skipped.reason, Reason::Unreadable),
            Content::Text { .. } => panic!("it does not exist"),
        }
    }
}
