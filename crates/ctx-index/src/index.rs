//! The index of one folder: opening it, and bringing it up to date.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ctx_retrieve::Hit;
use ctx_source::{Root, Text};
use ctx_syntax::{Language, Outline};
use quick_cache::sync::Cache;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use tantivy::index::SegmentId;
use tantivy::{DocId, IndexReader};

use crate::IndexError;
use crate::documents::documents;
use crate::lock::{WRITER, lock_patiently};
use crate::manifest::{FileRow, Manifest};
use crate::options::{Kept, Options, Pending, Progress, Status, Updated, Wanted};
use crate::remembered::Remembered;
use crate::scan::{Scan, Seen, scan};
use crate::schema::Fields;
use crate::statistics::Statistics;
use crate::store::{Store, open_text, remove_alone, sweep};
use crate::writer::{Read, Writer};

/// Files that are read and parsed side by side, before what they came to is written in their order.
const BATCH: usize = 64;
/// So many parts are remembered as they are stored, some 500 bytes each.
const HITS: usize = 1 << 15;
/// What was indexed is kept at least every so many files.
const COMMIT_EVERY: usize = 8192;

/// The index of one folder. Any number may read it while one writes.
pub struct Index {
    pub(crate) fields: Fields,
    pub(crate) reader: IndexReader,
    pub(crate) manifest: Manifest,
    pub(crate) remembered: Remembered,
    loss: Option<String>,
    pub(crate) statistics: Statistics,
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
        // What earlier versions kept in the manifest is taken along before the manifest is looked at.
        let (remembered, loss) = Remembered::open(folder)?;
        if let Some(loss) = &loss {
            tracing::warn!(folder = %folder.display(), "{loss}");
        }
        let (store, why) = Store::open(folder).map_err(|it| it.while_writing(folder))?;
        let index = Index {
            fields: store.fields,
            reader: store.reader,
            manifest: store.manifest,
            remembered,
            loss,
            statistics: Statistics::default(),
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
        if folder.exists() {
            Remembered::open(folder)?;
        }
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

    /// What could not be read of what is remembered when the index was opened, in a sentence that names where
    /// all of it is kept.
    pub fn loss(&self) -> Option<&str> {
        self.loss.as_deref()
    }

    /// What there is. O(files).
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn status(&self) -> Result<Status, IndexError> {
        let totals = self.manifest.totals()?;
        let known = self.manifest.snapshot()?;
        let wanted = self.wanted()?;
        Ok(Status {
            root: self.root.path().to_owned(),
            folder: self.folder.clone(),
            files: totals.files,
            parts: totals.parts,
            lines: totals.lines,
            bytes: bytes_below(&self.folder),
            generation: known.generation.unwrap_or(0),
            written_at: known.written_at,
            include_generated: wanted.include_generated,
            max_file_bytes: wanted.max_file_bytes,
        })
    }

    /// How far the index is behind the files. Changes nothing. O(files); those whose metadata changed are read.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn pending(&self) -> Result<Pending, IndexError> {
        let known = self.manifest.snapshot()?;
        let wanted = self.wanted()?;
        let scan = self.scan(wanted);
        let work = Work::of(&known.files, &scan.files);
        let is_changed = |seen: &&&Seen| {
            let known = known.files.get(&seen.path);
            known.is_none_or(|it| !self.is_as_known(wanted, seen, it))
        };
        Ok(Pending {
            changed: work.wanted.par_iter().filter(is_changed).count(),
            removed: work.removed.len(),
        })
    }

    fn is_as_known(&self, wanted: Wanted, seen: &Seen, known: &FileRow) -> bool {
        let Ok(bytes) = self.root.read(&seen.path, wanted.max_file_bytes) else {
            return false;
        };
        match decoded(bytes) {
            Some(text) => *text.hash() == known.hash,
            None => known.parts == 0,
        }
    }

    /// Remembers how the index is to be made by whoever does not say it in [`Options`], this one included; what is
    /// `None` stays as it was. The next update heeds it. It outlives the removal of the index.
    ///
    /// # Errors
    /// The folder of the index cannot be written.
    pub fn keep(&self, kept: Kept) -> Result<(), IndexError> {
        self.remembered.keep(kept)
    }

    /// What [`Index::keep`] was told.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn kept(&self) -> Result<Kept, IndexError> {
        self.remembered.kept()
    }

    pub(crate) fn wanted(&self) -> Result<Wanted, IndexError> {
        Ok(Wanted::of(&self.options, self.kept()?))
    }

    /// The generation and the number of votes in one number: neither ever falls, so that it changes with each.
    pub(crate) fn state(&self) -> Result<u64, IndexError> {
        let generation = self.manifest.generation()?;
        Ok(generation.saturating_add(self.remembered.votes()?))
    }

    /// Indexes what is new or has changed since, and forgets what is gone. Metadata tell which files are read,
    /// and hashes which are indexed; where nothing changed, nothing is written. `progress` is told how far it
    /// is, and may end it: what was done by then is kept. When it returns, what it did outlasts a crash.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if another process writes for longer than [`Options::patience`];
    /// [`IndexError::Folder`] if the folder cannot be written or the disk is full. What was indexed before is still there then.
    pub fn update(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, IndexError> {
        let wanted = self.wanted()?;
        self.update_to(wanted, self.scan(wanted), progress)
    }

    pub(crate) fn scan(&self, wanted: Wanted) -> Scan {
        scan(self.root.path(), &self.folder, wanted)
    }

    pub(crate) fn update_to(
        &self,
        wanted: Wanted,
        scan: Scan,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, IndexError> {
        let known = self.manifest.snapshot()?;
        let mut updated = if Work::of(&known.files, &scan.files).is_empty() {
            Updated::of(scan)
        } else {
            self.write(wanted, scan, progress)?
        };
        self.reader.reload()?;
        let totals = self.manifest.totals()?;
        let count = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
        updated.files = count(totals.files);
        updated.skipped += count(totals.without_text);
        Ok(updated)
    }

    fn write(
        &self,
        wanted: Wanted,
        mut scan: Scan,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, IndexError> {
        let mut has_waited = false;
        let _lock = lock_patiently(&self.folder, WRITER, self.options.patience, &mut |holder| {
            has_waited = true;
            progress(Progress::waiting(holder))
        })?;
        if has_waited {
            // What was seen before is older than what the other one wrote.
            scan = self.scan(wanted);
        }
        let seen = std::mem::take(&mut scan.files);
        let mut updated = Updated::of(scan);
        let result = self.write_alone(wanted, &seen, progress, &mut updated);
        // Why it failed is to be found out before there is room again.
        let result = result.map_err(|it| it.while_writing(&self.folder));
        if result.is_err()
            && let Ok(text) = open_text(&self.folder)
        {
            let _ = sweep(&text, &self.folder);
        }
        result.map(|()| updated)
    }

    fn write_alone(
        &self,
        wanted: Wanted,
        seen: &[Seen],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        updated: &mut Updated,
    ) -> Result<(), IndexError> {
        // Another process may have written since this one looked.
        let known = self.manifest.snapshot()?;
        let work = Work::of(&known.files, seen);
        let mut writer = Writer::new(self, known.generation);
        updated.removed += work.removed.len();
        for path in work.removed {
            let is_there = fs::symlink_metadata(self.root.path().join(&path));
            updated.left_out += usize::from(is_there.is_ok_and(|it| it.is_file()));
            writer.remove(path)?;
        }
        let of = work.wanted.len();
        for (number, batch) in work.wanted.chunks(BATCH).enumerate() {
            let done = number * BATCH;
            if progress(Progress::of(done, of)).is_break() {
                writer.finish()?;
                return Err(IndexError::Cancelled);
            }
            let read: Vec<Read> = batch
                .par_iter()
                .map(|seen| self.read(wanted, seen, known.files.get(&seen.path)))
                .collect();
            for (seen, read) in batch.iter().zip(read) {
                writer.take(seen, read, known.files.get(&seen.path), updated)?;
            }
            if (done + BATCH).is_multiple_of(COMMIT_EVERY) {
                writer.commit()?;
            }
        }
        let _ = progress(Progress::of(of, of));
        writer.finish()
    }

    fn read(&self, wanted: Wanted, seen: &Seen, known: Option<&FileRow>) -> Read {
        let bytes = match self.root.read(&seen.path, wanted.max_file_bytes) {
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
        let Some(text) = decoded(bytes) else {
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

/// `None` if there is nothing to be found in it.
fn decoded(bytes: Vec<u8>) -> Option<Text> {
    Text::decode(bytes).filter(|it| !it.as_str().trim().is_empty())
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
