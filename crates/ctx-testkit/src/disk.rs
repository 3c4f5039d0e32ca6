//! A small disk for tests, and a list of the files below a folder.
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

/// A small disk in memory, removed when this is dropped.
#[derive(Debug)]
pub struct Disk(TempDir);

impl Disk {
    /// Makes a disk of this many bytes. If the user may not mount one, `None`, after a report.
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

    /// The folder in which it is mounted.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Makes the disk read-only.
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

/// The files below `folder`, in the order of their paths; empty if there is no such folder.
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
