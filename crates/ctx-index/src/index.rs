//! The index of one folder: opening it, and bringing it up to date.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ctx_retrieve::Hit;
use ctx_source::{Root, Text};
use ctx_syntax::{Language, Limits, Outline};
use quick_cache::sync::Cache;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use tantivy::index::SegmentId;
use tantivy::{DocId, IndexReader};

use crate::IndexError;
use crate::documents::documents;
use crate::lock::lock_patiently;
use crate::manifest::{FileRow, Manifest};
use crate::scan::{Scan, Seen, scan};
use crate::schema::Fields;
use crate::store::{Store, open_text, remove_alone, sweep};
use crate::writer::{Read, Writer};

/// Files that are read and parsed side by side, before what they came to is written in their order.
const BATCH: usize = 64;
/// So many parts are remembered as they are stored, some 500 bytes each.
const HITS: usize = 1 << 15;
/// What was indexed is kept at least every so many files.
const COMMIT_EVERY: usize = 8192;

/// How an index is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Whether files that machines wrote, and copies of what others wrote, are indexed too.
    pub include_generated: bool,
    /// Larger files are passed over.
    pub max_file_bytes: u64,
    /// How much a grammar is trusted with.
    pub syntax: Limits,
}

impl Default for Options {
    /// What people wrote, files of at most 1 MiB.
    fn default() -> Self {
        let mut syntax = Limits::default();
        // What a busy machine takes long for is to be indexed all the same.
        syntax.time *= 8;
        Options {
            include_generated: false,
            max_file_bytes: 1 << 20,
            syntax,
        }
    }
}

/// How far an update is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Files that were read.
    pub done: usize,
    /// Files that are to be read.
    pub of: usize,
}

/// What an update did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated {
    /// Files that are indexed now.
    pub files: usize,
    /// Files that were new or had changed.
    pub changed: usize,
    /// Files that are no longer there.
    pub removed: usize,
    /// Files that hold no text, could not be read, or were passed over.
    pub skipped: usize,
    /// What could not be read, each in a sentence.
    pub faults: Vec<String>,
}

/// What there is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// What is indexed.
    pub root: PathBuf,
    /// Where the index is.
    pub folder: PathBuf,
    /// Files.
    pub files: u64,
    /// Parts of files.
    pub parts: u64,
    /// Lines.
    pub lines: u64,
    /// Bytes on the disk.
    pub bytes: u64,
    /// How often what is indexed changed.
    pub generation: u64,
}

/// The index of one folder. Any number may read it while one writes.
pub struct Index {
    pub(crate) fields: Fields,
    pub(crate) reader: IndexReader,
    pub(crate) manifest: Manifest,
    /// Parts that were met lately.
    pub(crate) hits: Cache<(SegmentId, DocId), Arc<Hit>>,
    root: Root,
    pub(crate) folder: PathBuf,
    options: Options,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index")
            .field("root", &self.root.path())
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Index {
    /// Opens the index in `folder` of what is below `root`, and makes it where there is none. Every checksum
    /// is verified. An index that is damaged, or of another format, is removed and begun anew; the second
    /// value says why. O(bytes of the index). An index that cannot be written answers all the same.
    ///
    /// # Errors
    /// The folder cannot be made or read, the root cannot be opened, or an index that ought to be removed is
    /// being written by another process.
    pub fn open(
        root: &Path,
        folder: &Path,
        options: Options,
    ) -> Result<(Index, Option<String>), IndexError> {
        let root = Root::open(root)?;
        fs::create_dir_all(folder).map_err(|source| IndexError::folder(folder, source))?;
        let (store, why) = Store::open(folder).map_err(|it| it.while_writing(folder))?;
        let index = Index {
            fields: store.fields,
            reader: store.reader,
            manifest: store.manifest,
            hits: Cache::new(HITS),
            root,
            folder: folder.to_owned(),
            options,
        };
        Ok((index, why))
    }

    /// Forgets what the index in `folder` has, where there is one, so that the next update makes it anew. What is
    /// remembered of use is kept.
    ///
    /// # Errors
    /// [`IndexError::Busy`] while another process writes it; the folder cannot be written.
    pub fn remove(folder: &Path) -> Result<(), IndexError> {
        remove_alone(folder)
    }

    /// What is indexed.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where the index is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What there is. O(files).
    pub fn status(&self) -> Result<Status, IndexError> {
        let totals = self.manifest.totals()?;
        Ok(Status {
            root: self.root.path().to_owned(),
            folder: self.folder.clone(),
            files: totals.files,
            parts: totals.parts,
            lines: totals.lines,
            bytes: bytes_below(&self.folder),
            generation: self.manifest.snapshot()?.generation.unwrap_or(0),
        })
    }

    /// Indexes what is new or has changed since, and forgets what is gone. Metadata tell which files are read,
    /// and hashes which are indexed; where nothing changed, nothing is written. `progress` is told how far it
    /// is, and may end it: what was done by then is kept. When it returns, what it did outlasts a crash.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if another process writes for more than half a second; [`IndexError::Folder`] if the folder cannot be
    /// written or the disk is full. What was indexed before is still there then.
    pub fn update(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, IndexError> {
        self.update_to(self.scan(), progress)
    }

    pub(crate) fn scan(&self) -> Scan {
        scan(self.root.path(), &self.folder, &self.options)
    }

    pub(crate) fn update_to(
        &self,
        scan: Scan,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, IndexError> {
        let mut updated = Updated {
            skipped: scan.skipped,
            faults: scan.faults,
            ..Updated::default()
        };
        let known = self.manifest.snapshot()?;
        if !Work::of(&known.files, &scan.files).is_empty() {
            self.write(&scan.files, progress, &mut updated)?;
        }
        self.reader.reload()?;
        let totals = self.manifest.totals()?;
        let count = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
        updated.files = count(totals.files);
        updated.skipped += count(totals.without_text);
        Ok(updated)
    }

    fn write(
        &self,
        seen: &[Seen],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        updated: &mut Updated,
    ) -> Result<(), IndexError> {
        let _lock = lock_patiently(&self.folder)?;
        let result = self.write_alone(seen, progress, updated);
        // Why it failed is to be found out before there is room again.
        let result = result.map_err(|it| it.while_writing(&self.folder));
        if result.is_err()
            && let Ok(text) = open_text(&self.folder)
        {
            let _ = sweep(&text, &self.folder);
        }
        result
    }

    fn write_alone(
        &self,
        seen: &[Seen],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        updated: &mut Updated,
    ) -> Result<(), IndexError> {
        // Another process may have written since this one looked.
        let known = self.manifest.snapshot()?;
        let Work { wanted, removed } = Work::of(&known.files, seen);
        let mut writer = Writer::new(self, known.generation);
        updated.removed += removed.len();
        for path in removed {
            writer.remove(path)?;
        }
        let of = wanted.len();
        for (number, batch) in wanted.chunks(BATCH).enumerate() {
            let done = number * BATCH;
            if progress(Progress { done, of }).is_break() {
                writer.finish()?;
                return Err(IndexError::Cancelled);
            }
            let read: Vec<Read> = batch
                .par_iter()
                .map(|seen| self.read(seen, known.files.get(&seen.path)))
                .collect();
            for (seen, read) in batch.iter().zip(read) {
                writer.take(seen, read, known.files.get(&seen.path), updated)?;
            }
            if (done + BATCH).is_multiple_of(COMMIT_EVERY) {
                writer.commit()?;
            }
        }
        let _ = progress(Progress { done: of, of });
        writer.finish()
    }

    fn read(&self, seen: &Seen, known: Option<&FileRow>) -> Read {
        let bytes = match self.root.read(&seen.path, self.options.max_file_bytes) {
            Ok(bytes) => bytes,
            Err(error) => return Read::Fault(error.to_string()),
        };
        let row = FileRow {
            size: seen.size,
            modified: seen.stamp(),
            hash: [0; 32],
            parts: 0,
            lines: 0,
        };
        let Some(text) = Text::decode(bytes).filter(|it| !it.as_str().trim().is_empty()) else {
            return Read::NoText(row);
        };
        let row = FileRow {
            hash: *text.hash(),
            parts: known.map_or(0, |it| it.parts),
            lines: text.lines().count(),
            ..row
        };
        if known.is_some_and(|it| it.hash == row.hash) {
            return Read::Same(row);
        }
        let language = Language::of(&seen.path, text.as_str());
        let outline = Outline::of(text.as_str(), language, &self.options.syntax);
        let modified = seen.modified / 1_000_000_000;
        let documents = documents(&self.fields, &seen.path, text.as_str(), &outline, modified);
        let parts = u32::try_from(documents.len() - 1).unwrap_or(u32::MAX);
        Read::Changed(FileRow { parts, ..row }, documents)
    }
}

/// What is to be done.
struct Work<'s> {
    /// Files that are not as they are known.
    wanted: Vec<&'s Seen>,
    /// Paths that are known and not there any more.
    removed: Vec<String>,
}

impl<'s> Work<'s> {
    fn of(known: &BTreeMap<String, FileRow>, seen: &'s [Seen]) -> Self {
        let is_there = |path: &&String| seen.binary_search_by(|it| it.path.cmp(path)).is_ok();
        let is_known = |it: &&Seen| {
            known
                .get(&it.path)
                .is_some_and(|row| row.size == it.size && row.modified == it.modified)
        };
        Work {
            wanted: seen.iter().filter(|it| !is_known(it)).collect(),
            removed: known.keys().filter(|it| !is_there(it)).cloned().collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.removed.is_empty()
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
