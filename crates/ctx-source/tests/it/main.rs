//! Real files in real folders: what can be read, what cannot, and what is reported.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod caching;
mod confined;
mod kept;
mod lines;
mod located;
#[cfg(unix)]
mod made;
mod secrets;
#[cfg(feature = "walk")]
mod walking;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ctx_source::{Limits, Root, Sources};
use tempfile::TempDir;

/// A folder of these files, all of them changed a minute ago.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        write(folder.path(), path, bytes);
    }
    folder
}

fn write(folder: &Path, path: &str, bytes: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    age(&path);
}

fn age(path: &Path) {
    let minute_ago = SystemTime::now() - Duration::from_mins(1);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(minute_ago).unwrap();
}

fn sources(folder: &TempDir) -> Sources {
    Sources::new(Root::open(folder.path()).unwrap(), Limits::default())
}
