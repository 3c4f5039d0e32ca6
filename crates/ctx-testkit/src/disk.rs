//! A small disk of the tests' own, and what lies on any.
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::skip::skipped;

/// A disk with little room, in memory: gone when this is dropped.
#[derive(Debug)]
pub struct Disk(TempDir);

impl Disk {
    /// With room for so many bytes; `None` where whoever runs the tests may not mount one, which is said.
    pub fn new(bytes: u32) -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "none"])
            .arg(at.path())
            .output();
        if mounted.is_ok_and(|it| it.status.success()) {
            return Some(Disk(at));
        }
        skipped("no small disk can be mounted");
        None
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// From now on nothing can be written to it.
    pub fn make_read_only(&self) {
        let mut command = Command::new("mount");
        command.args(["-o", "remount,ro"]).arg(self.path());
        assert!(command.status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).output();
    }
}

/// The files below `folder`, in the order of their paths; none where there is no such folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}
