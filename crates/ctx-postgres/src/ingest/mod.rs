//! Storing files: which may be stored, and in which transactions.
//!
//! [`rows`] cuts the files of a batch into rows, in parallel; [`write`](mod@write) stores a batch
//! by COPY.

mod rows;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use ctx_model::UnixSeconds;
use ctx_retrieve::TaskScope;
use deadpool_postgres::Client;

use self::rows::{Batch, Known};
pub(crate) use self::rows::{LONGEST_NAME, reversed};
use self::write::{Gone, Writing};
use crate::store::OwnedStore;
use crate::transaction::Mode;
use crate::{Limits, StoreError};

/// The longest path in bytes, as paths are in keys.
const LONGEST_PATH: usize = 1024;
/// About how many bytes of text one transaction stores.
const BATCH_BYTES: usize = 32 << 20;
/// The most files that one transaction stores.
const BATCH_FILES: usize = 1024;
/// How often a batch is compared anew because others have stored files meanwhile.
const MOST_LATE: u32 = 3;

/// A file to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileText {
    /// Its path with `/` as separator: relative, without `.` or `..`.
    pub path: String,
    /// Its whole text.
    pub text: String,
    /// When it was last modified.
    pub modified_at: Option<UnixSeconds>,
}

impl FileText {
    /// A file at `path`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        FileText {
            path: path.into(),
            text: text.into(),
            modified_at: None,
        }
    }

    /// Sets when it was last modified.
    #[must_use]
    pub fn with_modified_at(mut self, at: UnixSeconds) -> Self {
        self.modified_at = Some(at);
        self
    }
}

/// How much an owner may have stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// The most files.
    pub files: u64,
    /// The most bytes of all files together.
    pub bytes: u64,
}

impl Bounds {
    /// At most `files` files of at most `bytes` bytes together.
    pub fn new(files: u64, bytes: u64) -> Self {
        Bounds { files, bytes }
    }
}

/// The result of storing files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// Files that were stored now: they did not exist, or were different.
    pub stored: usize,
    /// The number of parts that these were cut into.
    pub parts: usize,
    /// Files that were already stored with the same text.
    pub unchanged: usize,
    /// For each of these files that existed before, the BLAKE3 of its previous text, or `None` if a
    /// damaged disk had changed that text. For replaced files it is read by the transaction that
    /// replaces them.
    pub before: BTreeMap<String, Option<[u8; 32]>>,
    /// Files that cannot be stored, with the reason, in the order in which they were given.
    pub skipped: Vec<(String, &'static str)>,
}

impl OwnedStore {
    /// Stores `files`, replacing those at the same paths. Each batch of about 32 MiB is stored
    /// completely or not at all; of files with the same path the last one counts. A file that is
    /// already stored with the same text is left as it is, including its modification time. Files
    /// that cannot be stored are skipped and reported.
    ///
    /// # Errors
    /// [`StoreError::Place`], also if another process stores a conflicting path at the same time;
    /// those of the database. Batches before the failed one stay stored.
    pub async fn ingest(&self, files: Vec<FileText>) -> Result<Stored, StoreError> {
        self.ingest_within(Bounds::new(u64::MAX, u64::MAX), files)
            .await
    }

    /// Stores `files` as [`OwnedStore::ingest`] does, unless the owner would then have more than
    /// `bounds`.
    ///
    /// # Errors
    /// [`StoreError::Full`], and those of [`OwnedStore::ingest`].
    pub async fn ingest_within(
        &self,
        bounds: Bounds,
        files: Vec<FileText>,
    ) -> Result<Stored, StoreError> {
        let mut ingested = Stored::default();
        let mut last: BTreeMap<String, FileText> = BTreeMap::new();
        for file in files {
            match refusal(&file, self.limits()) {
                Some(why) => ingested.skipped.push((file.path, why)),
                None => drop(last.insert(file.path.clone(), file)),
            }
        }
        let mut batch = Vec::new();
        let mut bytes = 0;
        for file in last.into_values() {
            bytes += file.text.len();
            batch.push(file);
            if bytes >= BATCH_BYTES || batch.len() >= BATCH_FILES {
                let full = std::mem::take(&mut batch);
                self.ingest_batch(full, bounds, &mut ingested).await?;
                bytes = 0;
            }
        }
        self.ingest_batch(batch, bounds, &mut ingested).await?;
        Ok(ingested)
    }

    /// Removes the files at `paths`, and the times when they were shown, in one transaction; their
    /// usage counts stay. Returns the paths that existed, as seen by that transaction.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn remove(&self, paths: &[String]) -> Result<BTreeSet<String>, StoreError> {
        let mut paths: Vec<String> = paths.to_vec();
        paths.retain(|it| !it.contains('\0'));
        let batch = Batch {
            paths,
            ..Batch::default()
        };
        if batch.is_empty() {
            return Ok(BTreeSet::new());
        }
        let gone = self.retried(|| self.write(&batch, None)).await?;
        let gone = gone.unwrap_or_default().into_iter();
        Ok(gone.map(|(path, _)| path).collect())
    }

    async fn ingest_batch(
        &self,
        files: Vec<FileText>,
        bounds: Bounds,
        ingested: &mut Stored,
    ) -> Result<(), StoreError> {
        if files.is_empty() {
            return Ok(());
        }
        // All work on texts runs outside the threads of the runtime.
        let mut files = TaskScope::current().blocking(move || hashed(files)).await?;
        let mut late = 0;
        let (batch, gone, damaged) = loop {
            let (known, damaged) = self.known(&files).await?;
            // After several conflicts all files are stored, so that none has to be unchanged.
            let known = if late < MOST_LATE {
                known
            } else {
                Known::default()
            };
            let batch = TaskScope::current().blocking(move || Batch::of(files, &known));
            let batch = batch.await?;
            if batch.is_empty() {
                break (batch, Vec::new(), damaged);
            }
            if let Some(gone) = self.retried(|| self.write(&batch, Some(bounds))).await? {
                break (batch, gone, damaged);
            }
            // Another process has stored a batch meanwhile.
            late += 1;
            files = batch.into_files();
        };
        ingested.stored += batch.files.len();
        ingested.unchanged += batch.unchanged.len();
        ingested.parts += batch.parts.len();
        let before = gone.into_iter().map(|(path, hash)| {
            let hash = (!damaged.contains(&path)).then_some(hash);
            (path, hash)
        });
        let unchanged = batch.unchanged.into_iter();
        let unchanged = unchanged.map(|(file, hash)| (file.path, Some(hash)));
        ingested.before.extend(before.chain(unchanged));
        Ok(())
    }

    /// The stored hashes of `files`, and the paths whose text a disk has damaged.
    async fn known(
        &self,
        files: &[(FileText, [u8; 32])],
    ) -> Result<(Known, BTreeSet<String>), StoreError> {
        let paths: Vec<&str> = files.iter().map(|(it, _)| it.path.as_str()).collect();
        let mut known: Known = self.hashes(&paths).await?;
        let files = files
            .iter()
            .map(|(file, hash)| (&*file.path, &*file.text, *hash));
        let same = files.filter(|(path, _, hash)| known.get(*path) == Some(hash));
        let same: Vec<(&str, &str, [u8; 32])> = same.collect();
        // Storing a damaged file again repairs it.
        let damaged = self.damaged(&same).await?;
        for path in &damaged {
            known.remove(path);
        }
        Ok((known, damaged))
    }

    /// Stores a batch, replacing the files at its paths. Returns the files that were replaced or
    /// removed; `None`, with nothing stored, if a file that was to stay unchanged has changed.
    async fn write(
        &self,
        batch: &Batch,
        bounds: Option<Bounds>,
    ) -> Result<Option<Vec<Gone>>, StoreError> {
        let mut client = self.client().await?;
        let gone = self.write_on(&mut client, batch, bounds).await;
        client.given_back(gone)
    }

    async fn write_on(
        &self,
        client: &mut Client,
        batch: &Batch,
        bounds: Option<Bounds>,
    ) -> Result<Option<Vec<Gone>>, StoreError> {
        let patience = self.waiting("store files", Mode::Stores);
        let transaction = self.begin(client, Mode::Stores).await?;
        let writing = Writing {
            owner: self.owner(),
            transaction: &transaction,
            waiting: patience,
        };
        writing.take_turn().await?;
        if !writing.is_unchanged(batch).await? {
            return Ok(None);
        }
        if let Some((path, is_folder)) = writing.misplaced(batch).await? {
            return Err(StoreError::Place { path, is_folder });
        }
        let gone = writing.all(batch).await?;
        if let Some(bounds) = bounds {
            within(bounds, writing.totals().await?)?;
        }
        patience.of(transaction.commit()).await?;
        Ok(Some(gone))
    }
}

/// Each of `files` with the BLAKE3 of its text.
fn hashed(files: Vec<FileText>) -> Vec<(FileText, [u8; 32])> {
    let hashed = files.into_iter().map(|it| {
        let hash = *blake3::hash(it.text.as_bytes()).as_bytes();
        (it, hash)
    });
    hashed.collect()
}

/// Checks that an owner may have this many files and bytes.
fn within(bounds: Bounds, (files, bytes): (u64, u64)) -> Result<(), StoreError> {
    let (what, most) = match bounds {
        it if files > it.files => ("files", it.files),
        it if bytes > it.bytes => ("bytes of files", it.bytes),
        _ => return Ok(()),
    };
    Err(StoreError::Full { what, most })
}

/// Why the file cannot be stored, if so.
fn refusal(file: &FileText, limits: &Limits) -> Option<&'static str> {
    let path = file.path.as_str();
    let is_odd = |part: &str| matches!(part, "" | "." | "..");
    if path.is_empty() || path.split('/').any(is_odd) {
        Some("its path is not a relative one in its plainest form")
    } else if path.len() > LONGEST_PATH {
        Some("its path is longer than 1024 bytes")
    } else if path.contains('\0') || file.text.contains('\0') {
        Some("it holds a NUL character, which PostgreSQL does not store in texts")
    } else if file.text.len() > limits.file_bytes {
        Some("it is over the limit of bytes")
    } else {
        None
    }
}
