//! The index of one folder: opening it, and bringing it up to date.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ctx_source::{Root, Text};
use ctx_syntax::{Language, Limits, Outline};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use tantivy::directory::MmapDirectory;
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, Term};

use crate::IndexError;
use crate::documents::documents;
use crate::manifest::{Changes, FileRow, Manifest};
use crate::scan::{Scan, Seen, scan};
use crate::schema::{Fields, tokenizers};

/// Files that are read and parsed side by side, before what they came to is written in their order.
const BATCH: usize = 64;
/// What was indexed is kept at least every so many files.
const COMMIT_EVERY: usize = 8192;
/// What the writer may hold in memory.
const MEMORY: usize = 96 << 20;
/// A file that changed so shortly before it was looked at may change again within its time stamp.
const RACY: i64 = 2_000_000_000;

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
    /// Files that hold no text, or were passed over.
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
    /// How often it was brought up to date.
    pub generation: u64,
}

/// The index of one folder. Any number may read it while one writes.
pub struct Index {
    pub(crate) fields: Fields,
    pub(crate) text: tantivy::Index,
    pub(crate) reader: IndexReader,
    pub(crate) manifest: Manifest,
    root: Root,
    folder: PathBuf,
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
    /// value says why.
    ///
    /// # Errors
    /// The folder cannot be made or read, the root cannot be opened, or an index that ought to be removed is
    /// being written by another process.
    pub fn open(
        root: &Path,
        folder: &Path,
        options: Options,
    ) -> Result<(Index, Option<String>), IndexError> {
        let opened = Root::open(root)?;
        fs::create_dir_all(folder).map_err(|source| IndexError::Folder {
            folder: folder.to_owned(),
            source,
        })?;
        match Parts::open(folder) {
            Ok(parts) => Ok((parts.into_index(opened, folder, options)?, None)),
            Err(error) if is_damage(&error) => {
                let _lock = lock(folder)?;
                Parts::remove(folder)?;
                let parts = Parts::open(folder)?;
                let mut why = error.to_string();
                if let Some(source) = std::error::Error::source(&error) {
                    why = format!("{why}: {source}");
                }
                Ok((parts.into_index(opened, folder, options)?, Some(why)))
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the index in `folder`, where there is one, and nothing else that is there.
    ///
    /// # Errors
    /// [`IndexError::Busy`] while another process writes it; the folder cannot be written.
    pub fn remove(folder: &Path) -> Result<(), IndexError> {
        if !folder.exists() {
            return Ok(());
        }
        let _lock = lock(folder)?;
        Parts::remove(folder)
    }

    /// What is indexed.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// What there is.
    pub fn status(&self) -> Result<Status, IndexError> {
        let (files, parts, lines) = self.manifest.totals()?;
        Ok(Status {
            root: self.root.path().to_owned(),
            folder: self.folder.clone(),
            files,
            parts,
            lines,
            bytes: bytes_below(&self.folder),
            generation: self.manifest.generation()?.unwrap_or(0),
        })
    }

    /// Indexes what is new or has changed since, and forgets what is gone. Metadata tell which files are read,
    /// and hashes which are indexed. `progress` is told how far it is, and may end it: what was done by then
    /// is kept.
    ///
    /// # Errors
    /// [`IndexError::Busy`] while another process writes; the folder cannot be written, the disk is full.
    pub fn update(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Updated, IndexError> {
        let Scan {
            files: seen,
            skipped,
            faults,
        } = scan(self.root.path(), &self.options);
        let known = self.manifest.files()?;
        let removed = gone(&known, &seen);
        let wanted: Vec<&Seen> = seen.iter().filter(|it| !is_known(&known, it)).collect();
        let mut updated = Updated {
            files: known
                .iter()
                .filter(|(path, it)| it.parts > 0 && removed.binary_search(path).is_err())
                .count(),
            removed: removed.len(),
            skipped,
            faults,
            ..Updated::default()
        };
        if !wanted.is_empty() || !removed.is_empty() {
            let _lock = lock(&self.folder)?;
            self.write(&wanted, removed, &known, progress, &mut updated)?;
        }
        self.reader.reload()?;
        Ok(updated)
    }

    fn write(
        &self,
        wanted: &[&Seen],
        removed: Vec<String>,
        known: &BTreeMap<String, FileRow>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        updated: &mut Updated,
    ) -> Result<(), IndexError> {
        let mut writer = Writer {
            index: self,
            text: None,
            changes: Changes::default(),
            generation: self.manifest.generation()?.unwrap_or(0),
        };
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
                .map(|seen| self.read(seen, known.get(&seen.path)))
                .collect();
            for (seen, read) in batch.iter().zip(read) {
                let is_known = known.get(&seen.path).is_some_and(|it| it.parts > 0);
                writer.take(seen, read, is_known, updated)?;
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
            modified: seen.modified,
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

/// What reading a file came to.
enum Read {
    Changed(FileRow, Vec<TantivyDocument>),
    /// Its metadata changed alone.
    Same(FileRow),
    NoText(FileRow),
    Fault(String),
}

/// One update in the making.
struct Writer<'i> {
    index: &'i Index,
    /// Opened for the first change.
    text: Option<IndexWriter>,
    changes: Changes,
    generation: u64,
}

impl Writer<'_> {
    fn text(&mut self) -> Result<&mut IndexWriter, IndexError> {
        if self.text.is_none() {
            // One thread: the order of documents is that of their paths, whatever the machine does.
            self.text = Some(self.index.text.writer_with_num_threads(1, MEMORY)?);
        }
        Ok(self.text.as_mut().expect("it was opened above"))
    }

    fn forget(&mut self, path: &str) -> Result<(), IndexError> {
        let term = Term::from_field_text(self.index.fields.path, path);
        self.text()?.delete_term(term);
        Ok(())
    }

    fn remove(&mut self, path: String) -> Result<(), IndexError> {
        self.forget(&path)?;
        self.changes.removed.push(path);
        Ok(())
    }

    fn take(
        &mut self,
        seen: &Seen,
        read: Read,
        is_known: bool,
        updated: &mut Updated,
    ) -> Result<(), IndexError> {
        match read {
            Read::Changed(row, documents) => {
                // A crash may have left documents of a file that is not known.
                self.forget(&seen.path)?;
                for document in documents {
                    self.text()?.add_document(document)?;
                }
                updated.changed += 1;
                updated.files += usize::from(!is_known);
                self.changes.indexed.push((seen.path.clone(), row));
            }
            Read::Same(row) => self.changes.indexed.push((seen.path.clone(), row)),
            Read::NoText(row) => {
                updated.skipped += 1;
                if is_known {
                    self.forget(&seen.path)?;
                }
                self.changes.indexed.push((seen.path.clone(), row));
            }
            Read::Fault(why) => {
                updated.skipped += 1;
                updated.faults.push(why);
                if is_known {
                    self.remove(seen.path.clone())?;
                }
            }
        }
        Ok(())
    }

    /// The text index first, the manifest second.
    fn commit(&mut self) -> Result<(), IndexError> {
        if let Some(text) = &mut self.text {
            self.generation += 1;
            let mut prepared = text.prepare_commit()?;
            prepared.set_payload(&self.generation.to_string());
            prepared.commit()?;
        }
        let changes = std::mem::take(&mut self.changes);
        self.index.manifest.commit(&changes, self.generation)
    }

    fn finish(mut self) -> Result<(), IndexError> {
        self.commit()?;
        if let Some(text) = self.text {
            text.wait_merging_threads()?;
        }
        Ok(())
    }
}

/// The text index and the manifest.
struct Parts {
    fields: Fields,
    text: tantivy::Index,
    manifest: Manifest,
}

impl Parts {
    fn open(folder: &Path) -> Result<Self, IndexError> {
        let fields = Fields::new();
        let manifest = Manifest::open(&folder.join("manifest.db"))?;
        let at = folder.join("text");
        let io = |source| IndexError::Folder {
            folder: at.clone(),
            source,
        };
        fs::create_dir_all(&at).map_err(io)?;
        let directory = MmapDirectory::open(&at).map_err(|error| IndexError::Damaged {
            what: error.to_string(),
        })?;
        let text = if tantivy::Index::exists(&directory).map_err(tantivy::TantivyError::from)? {
            tantivy::Index::open(directory)?
        } else {
            tantivy::Index::builder()
                .schema(fields.schema.clone())
                .tokenizers(tokenizers())
                .create_in_dir(&at)?
        };
        let mut text = text;
        text.set_tokenizers(tokenizers());
        let parts = Parts {
            fields,
            text,
            manifest,
        };
        parts.check()?;
        Ok(parts)
    }

    /// Whether all is as it was written, and the manifest is not ahead of the text.
    fn check(&self) -> Result<(), IndexError> {
        let damaged = |what: String| Err(IndexError::Damaged { what });
        let generation = self.manifest.generation()?;
        let meta = self.text.load_metas()?;
        if meta.schema != self.fields.schema {
            return damaged("its fields are those of another version".to_owned());
        }
        let of_text: u64 = meta.payload.and_then(|it| it.parse().ok()).unwrap_or(0);
        if generation.unwrap_or(0) > of_text {
            return damaged("its text is older than its manifest".to_owned());
        }
        if generation.is_none() && of_text > 1 {
            return damaged("it has no manifest".to_owned());
        }
        let wrong = self.text.validate_checksum()?;
        if let Some(file) = wrong.into_iter().min() {
            return damaged(format!("the checksum of {} is wrong", file.display()));
        }
        for segment in self.text.searchable_segments()? {
            tantivy::SegmentReader::open(&segment)?;
        }
        self.manifest.files().map(drop)
    }

    fn remove(folder: &Path) -> Result<(), IndexError> {
        let io = |source| IndexError::Folder {
            folder: folder.to_owned(),
            source,
        };
        let text = folder.join("text");
        if text.exists() {
            fs::remove_dir_all(text).map_err(io)?;
        }
        for name in ["manifest.db", "manifest.db-journal"] {
            let file = folder.join(name);
            if file.exists() {
                fs::remove_file(file).map_err(io)?;
            }
        }
        Ok(())
    }

    /// # Errors
    /// Readers take a lock of their own for a moment, which a folder that cannot be written does not give.
    fn into_index(self, root: Root, folder: &Path, options: Options) -> Result<Index, IndexError> {
        let reader = self
            .text
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        Ok(Index {
            reader,
            fields: self.fields,
            text: self.text,
            manifest: self.manifest,
            root,
            folder: folder.to_owned(),
            options,
        })
    }
}

/// Whether it helps to begin anew.
fn is_damage(error: &IndexError) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error {
        IndexError::Damaged { .. } => true,
        IndexError::Manifest(error) => match error.sqlite_error_code() {
            Some(code) => matches!(code, DatabaseCorrupt | NotADatabase),
            // A value of another type than was written.
            None => true,
        },
        IndexError::Text(error) => !matches!(
            error,
            tantivy::TantivyError::IoError(_) | tantivy::TantivyError::LockFailure(..)
        ),
        _ => false,
    }
}

/// The right to write. It ends with the process at the latest.
struct Lock(#[expect(dead_code, reason = "closing it gives the right back")] File);

fn lock(folder: &Path) -> Result<Lock, IndexError> {
    let io = |source| IndexError::Folder {
        folder: folder.to_owned(),
        source,
    };
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
            file.set_len(0).map_err(io)?;
            file.rewind().map_err(io)?;
            write!(file, "{}", std::process::id()).map_err(io)?;
            Ok(Lock(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            Err(IndexError::Busy {
                folder: folder.to_owned(),
                holder: if holder.is_empty() {
                    "unknown".to_owned()
                } else {
                    holder
                },
            })
        }
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}

/// Paths that are known and not there any more.
fn gone(known: &BTreeMap<String, FileRow>, seen: &[Seen]) -> Vec<String> {
    let is_there = |path: &String| seen.binary_search_by(|it| it.path.cmp(path)).is_ok();
    known
        .keys()
        .filter(|path| !is_there(path))
        .cloned()
        .collect()
}

/// Whether a file is as it was indexed, as far as can be told without reading it.
fn is_known(known: &BTreeMap<String, FileRow>, seen: &Seen) -> bool {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |it| it.as_nanos());
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    known.get(&seen.path).is_some_and(|it| {
        it.size == seen.size
            && it.modified == seen.modified
            && seen.modified < now.saturating_sub(RACY)
    })
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
