//! All that one owner has.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::Dir;
use ctx_index::Index;
use ctx_resolve::Resolver;
use ctx_retrieve::Retriever;
use ctx_service::Service;
use ctx_source::{Limits, Root, Sources};

use super::database::{Database, Result};
use super::ports::ports;
use super::receipts::keep_behind;
use super::{Quota, blocking, files};
use crate::Owner;
use crate::backend::{
    BackendError, Ingested, IngestedFile, Job, Listing, Message, NewFile, NewMessage, NewThread,
    Page, Prime, PrimeRequest, Receipt, Thread, Vote,
};
use crate::build::{Priming, build, count};
use crate::chance::random_number;
use crate::paths;

/// Bytes of texts of files that are kept in memory for one owner.
const CACHE: u64 = 16 << 20;

/// One owner's folder.
pub(super) struct Store {
    files: Dir,
    index: Arc<Index>,
    service: Service,
    database: Arc<Database>,
    quota: Arc<Quota>,
    /// Held while files are written and indexed.
    ingesting: Mutex<()>,
}

impl Store {
    /// Opens the folder of `owner` in `owners`, which is at `path`.
    pub(super) fn open(
        owners: &Dir,
        path: &Path,
        owner: &Owner,
        priming: &Priming,
        quota: Arc<Quota>,
    ) -> Result<Self> {
        let name = &owner.digest();
        let path = &path.join(name);
        let failed = |error| BackendError::failed("open an owner's folder", error);
        owners.create_dir_all(name).map_err(failed)?;
        let folder = owners.open_dir(name).map_err(failed)?;
        folder.create_dir_all("files").map_err(failed)?;
        let files = folder.open_dir("files").map_err(failed)?;
        files::prepare(&files).map_err(failed)?;
        let mut options = ctx_index::Options::default();
        // What a user sent was meant to be found.
        options.include_generated = Some(true);
        let root = path.join("files");
        let (index, damage) = Index::open(&root, &path.join("index"), options)
            .map_err(|error| BackendError::failed("open an index", error))?;
        let mut limits = Limits::default();
        limits.cache_bytes = CACHE;
        let root = Root::open(&root).map_err(|error| BackendError::failed("open files", error))?;
        let sources = Sources::new(root, limits);
        let resolver = Arc::new(Resolver::new(sources, ctx_syntax::Limits::default()));
        let index = Arc::new(index);
        let retriever = Retriever::new(index.clone()).with_relations(index.clone());
        let database = Arc::new(Database::open(path)?);
        let ports = ports(&index, &database, random_number()?);
        let store = Store {
            files,
            service: priming.service(owner, retriever, resolver, ports),
            index,
            database,
            quota,
            ingesting: Mutex::default(),
        };
        // A crash may have come between a file and its index.
        if damage.is_some() || store.is_behind()? {
            store.update()?;
        }
        Ok(store)
    }

    /// Whether files were noted that the index does not have.
    fn is_behind(&self) -> Result<bool> {
        let status = self.index.status();
        let status = status.map_err(|error| BackendError::failed("read an index", error))?;
        Ok(status.files < self.database.totals()?.0)
    }

    fn update(&self) -> Result<()> {
        let updated = self.index.update(&mut |_| ControlFlow::Continue(()));
        updated.map_err(|error| BackendError::failed("index files", error))?;
        Ok(())
    }

    /// Writes files and indexes them.
    pub(super) fn ingest(&self, new: &[NewFile]) -> Result<Ingested> {
        let _held = self
            .ingesting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut known = Vec::with_capacity(new.len());
        let (mut count, mut bytes) = self.database.totals()?;
        for (number, file) in new.iter().enumerate() {
            if let Some(detail) = paths::fault(&file.path) {
                return Err(of_file(number, detail));
            }
            let row = self.database.file(&file.path)?;
            count += u64::from(row.is_none());
            bytes = bytes - row.map_or(0, |it| it.1) + file.content.len() as u64;
            known.push(row.map(|it| it.0));
        }
        self.check(count, bytes)?;
        let mut ingested = Ingested::default();
        let mut noted = Vec::new();
        for (number, (file, known)) in new.iter().zip(known).enumerate() {
            let hash = *blake3::hash(file.content.as_bytes()).as_bytes();
            let is_same = known == Some(hash);
            if !is_same {
                let written = files::write(&self.files, &file.path, file.content.as_bytes());
                written.map_err(|error| match error {
                    BackendError::Invalid { detail, .. } => of_file(number, &detail),
                    other => other,
                })?;
                noted.push((file.path.as_str(), file.content.len(), hash));
            }
            let status = match known {
                _ if is_same => "unchanged",
                Some(_) => "updated",
                None => "created",
            };
            ingested.files.push(IngestedFile {
                path: file.path.clone(),
                status: status.to_owned(),
                bytes: file.content.len(),
            });
        }
        for (path, ..) in &noted {
            files::sync(&self.files, path)
                .map_err(|error| BackendError::failed("write a file", error))?;
        }
        self.database.note_files(&noted)?;
        if !noted.is_empty() {
            self.update()?;
        }
        Ok(ingested)
    }

    fn check(&self, files: u64, bytes: u64) -> Result<()> {
        let (most, what) = match &*self.quota {
            quota if files > quota.files => (quota.files, "files"),
            quota if bytes > quota.bytes => (quota.bytes, "bytes of files"),
            _ => return Ok(()),
        };
        let detail = format!("with these there would be more than {most} {what}");
        Err(BackendError::Quota {
            field: "files",
            detail,
        })
    }

    /// Builds a context, and keeps its receipt behind the answer.
    pub(super) async fn build(self: &Arc<Self>, request: PrimeRequest, job: &Job) -> Result<Prime> {
        if let Some(id) = request.thread.clone() {
            let store = Arc::clone(self);
            blocking(move || store.database.check_thread(&id)).await?;
        }
        let prime = build(&self.service, request, job).await?;
        // Held until it is written, so that the folder is not opened anew before.
        let held = Arc::clone(self);
        keep_behind(&self.database, &prime, &self.quota, held).await;
        Ok(prime)
    }

    /// Counts a vote.
    pub(super) async fn feedback(&self, vote: &Vote) -> Result<bool> {
        count(&self.service, vote).await
    }

    /// Begins a thread.
    pub(super) fn create_thread(&self, id: String, thread: NewThread) -> Result<Thread> {
        self.database.create_thread(id, thread, &self.quota)
    }

    /// The threads, the latest first.
    pub(super) fn threads(&self, page: &Page) -> Result<Listing<Thread>> {
        self.database.threads(page)
    }

    /// Pins something else to a thread.
    pub(super) fn pin(&self, thread: String, pinned: Vec<String>) -> Result<Thread> {
        self.database.pin(thread, pinned)
    }

    /// Adds a message to a thread.
    pub(super) fn append(&self, thread: &str, id: String, message: NewMessage) -> Result<Message> {
        self.database.append(thread, id, message, &self.quota)
    }

    /// The messages of a thread, the oldest first.
    pub(super) fn messages(&self, thread: &str, page: &Page) -> Result<Listing<Message>> {
        self.database.messages(thread, page)
    }

    /// The context of this id, where it is kept.
    pub(super) fn receipt(&self, id: &str) -> Result<Option<Receipt>> {
        self.database.receipt(id)
    }
}

fn of_file(number: usize, detail: &str) -> BackendError {
    BackendError::Invalid {
        field: format!("files[{number}].path"),
        detail: detail.to_owned(),
    }
}
