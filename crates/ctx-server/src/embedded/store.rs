//! The data folder of one owner.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cap_std::fs::Dir;
use ctx_index::{Index, IndexError};
use ctx_resolve::Resolver;
use ctx_retrieve::Retriever;
use ctx_service::{PrimeContext, Service};
use ctx_source::{Ignoring, Limits, Root, Sources};
use tokio_util::task::TaskTracker;

use super::database::{BUILT_FILE, Database, Result, STATE_FILE};
use super::kept::StoredHashes;
use super::lock::Lock;
use super::mark::FILE as MARK_FILE;
use super::ports::ports;
use super::receipts::{Forgotten, keep_behind};
use super::{Quota, blocking, files};
use crate::Owner;
use crate::backend::{
    Appended, BackendError, Message, NewMessage, NewThread, Prime, PrimeRequest, Receipt, Thread,
    ThreadInfo, Vote,
};
use crate::build::{Priming, build, count};
use crate::cause::cause;
use crate::job::Job;
use crate::paging::{Listing, MessagePage, ThreadPage};
use crate::random::random_number;

/// Bytes of file texts that are cached in memory per owner.
const CACHE: u64 = 16 << 20;

/// One owner's folder.
pub(super) struct Store {
    pub(super) files: Dir,
    /// Files that are about to be moved to `files`.
    pub(super) staged: Dir,
    index: Arc<Index>,
    service: Service,
    pub(super) database: Arc<Database>,
    /// The hashes of stored files.
    pub(super) kept: Arc<StoredHashes>,
    pub(super) quota: Arc<Quota>,
    /// Tasks that write behind answers, of all stores.
    behind: TaskTracker,
    /// Held while files are written and indexed.
    pub(super) ingesting: Mutex<()>,
    /// The lock on the data folder. It is the last field, so that everything open is closed before
    /// it.
    _lock: Arc<Lock>,
}

fn no_folder(error: io::Error) -> BackendError {
    BackendError::failed("open an owner's folder", error)
}

/// Makes and opens the folders for files and for staged ones in the folder `name` of `owners`,
/// whose path is `path`.
fn open_folders(owners: &Dir, name: &str, path: &Path) -> io::Result<(Dir, Dir)> {
    owners.create_dir_all(name)?;
    let folder = owners.open_dir(name)?;
    check_no_links(path)?;
    folder.create_dir_all("files")?;
    folder.create_dir_all("staged")?;
    let files = folder.open_dir("files")?;
    files::prepare(&files)?;
    Ok((files, folder.open_dir("staged")?))
}

/// The most bytes of a file. `Limits::file_bytes` allows less, unless it is set to more.
pub(super) const FILE_BYTES: usize = 16 << 20;

/// Opens the index of the files in an owner's folder.
fn open_index(path: &Path) -> Result<Index> {
    // Everything that a user sent should be searchable.
    let options = ctx_index::Options::default()
        .with_max_file_bytes(Some(FILE_BYTES as u64))
        .with_generated(Some(true))
        .with_blank(true)
        .with_ignoring(Ignoring::Nothing);
    let root = Root::open(path.join("files")).map_err(IndexError::from);
    root.and_then(|root| Index::open_in(root, &path.join("index"), options))
        .map_err(|error| BackendError::failed("open an index", error))
}

impl Store {
    /// Opens the folder of `owner` in `owners`, whose path is `path`.
    pub(super) fn open(
        owners: &Dir,
        path: &Path,
        owner: &Owner,
        priming: &Priming,
        quota: Arc<Quota>,
        behind: TaskTracker,
        lock: Arc<Lock>,
    ) -> Result<Self> {
        let name = &owner.digest();
        let path = &path.join(name);
        let (files, staged) = open_folders(owners, name, path).map_err(no_folder)?;
        let index = Arc::new(open_index(path)?);
        let mut limits = Limits::default();
        limits.cache_bytes = CACHE;
        let root = Root::open(path.join("files"));
        let root = root.map_err(|error| BackendError::failed("open files", error))?;
        let database = Arc::new(Database::open(path)?);
        let kept = Arc::new(StoredHashes::new(Arc::clone(&database)));
        let sources = Sources::new(root, limits).with_hashes(kept.clone());
        let indexed = Arc::clone(&kept);
        let resolver = Resolver::new(sources, ctx_syntax::Limits::default())
            .with_outlines(index.clone())
            .with_indexed(move |path| indexed.indexed(path));
        let retriever = Retriever::new(index.clone()).with_relations(index.clone());
        let ports = ports(&index, &database, random_number()?);
        let service = priming.service(owner, retriever, Arc::new(resolver), ports);
        let store = Store {
            files,
            staged,
            // The service does not record what a context showed: that is stored with the receipt.
            service: service.without_recording(),
            index,
            database,
            kept,
            quota,
            behind,
            ingesting: Mutex::default(),
            _lock: lock,
        };
        // A crash may have happened after a file was written and before it was indexed.
        match store.resume() {
            Ok(()) => {
                let pending = store.database.pending()?;
                files::clear(&store.staged, &pending).map_err(no_folder)?;
            }
            // Stored data can be read all the same, and the next batch first finishes this one; for
            // that, the staged files stay.
            Err(error) => tracing::error!(cause = cause(&error), "a batch cannot be finished"),
        }
        if store.index.rebuilt().is_some() || store.is_behind()? {
            store.update()?;
        }
        Ok(store)
    }

    /// Whether files were marked as done that the index does not have.
    fn is_behind(&self) -> Result<bool> {
        let status = self.index.status();
        let status = status.map_err(|error| BackendError::failed("read an index", error))?;
        Ok(status.files < self.database.done()?)
    }

    /// Indexes the folder as it is. Returns the paths that could not be read.
    pub(super) fn update(&self) -> Result<Vec<PathBuf>> {
        let updated = self.index.update(&mut |_| ControlFlow::Continue(()));
        let updated = updated.map_err(|error| BackendError::failed("index files", error))?;
        let unread = updated.unread.len();
        if unread > 0 {
            tracing::error!(
                unread,
                "folders or files of an owner cannot be read, so they are not found as they are"
            );
        }
        Ok(updated.unread)
    }

    /// Builds a context, and stores its receipt behind the answer.
    pub(super) async fn build(self: &Arc<Self>, request: PrimeRequest, job: &Job) -> Result<Prime> {
        let thread = request.thread.clone();
        let begun = self.begun(thread.clone()).await?;
        let prime = build(&self.service, request, job).await?;
        // Held until the receipt is written, so that the folder is not opened a second time before.
        let held = Arc::clone(self);
        keep_behind(&self.database, &prime, &self.quota, &self.behind, held).await;
        // The thread may have been removed meanwhile, and another begun in its name.
        let found = self.begun(prime.thread.clone()).await;
        let is_gone = match &found {
            Ok(found) => *found != begun,
            Err(error) => matches!(error, BackendError::NotFound { .. }),
        };
        if let Some(thread) = thread.filter(|_| is_gone) {
            self.remove_receipt(prime.id()).await?;
            return Err(Thread::not_found(&thread));
        }
        found.map(|_| prime)
    }

    /// What tells the thread with this id from others of its name, if one is named.
    async fn begun(self: &Arc<Self>, thread: Option<String>) -> Result<Option<(i64, i64)>> {
        let Some(id) = thread else { return Ok(None) };
        let store = Arc::clone(self);
        blocking(move || store.database.begun(&id).map(Some)).await
    }

    /// Removes a thread with its messages, and all that its contexts left.
    pub(super) async fn remove_thread(self: &Arc<Self>, id: &str) -> Result<ThreadInfo> {
        let (store, thread) = (Arc::clone(self), id.to_owned());
        let info = blocking(move || {
            store.database.begun(&thread)?;
            // First, so that none of them is left where only this fails, and then those that came
            // meanwhile.
            store
                .database
                .forget_contexts(&Forgotten::OfThread(&thread))?;
            let info = store.database.remove_thread(&thread)?;
            store
                .database
                .forget_contexts(&Forgotten::OfThread(&thread))?;
            Ok(info)
        });
        let info = info.await?;
        let is_of_it = |it: &PrimeContext| it.thread.as_deref() == Some(id);
        self.service.forget(is_of_it).await;
        Ok(info)
    }

    /// Removes the context with this id. Returns whether it was stored.
    pub(super) async fn remove_receipt(self: &Arc<Self>, id: &str) -> Result<bool> {
        let (store, context) = (Arc::clone(self), id.to_owned());
        let forgotten =
            blocking(move || store.database.forget_contexts(&Forgotten::WithId(&context)));
        let forgotten = forgotten.await?;
        self.service.forget(|it| it.id == id).await;
        Ok(forgotten)
    }

    /// Counts a vote.
    pub(super) async fn feedback(&self, vote: &Vote) -> Result<bool> {
        count(&self.service, vote).await
    }

    /// Creates a thread.
    pub(super) fn create_thread(&self, id: String, thread: NewThread) -> Result<Thread> {
        self.database.create_thread(id, thread, &self.quota)
    }

    /// The threads.
    pub(super) fn threads(&self, page: &ThreadPage) -> Result<Listing<Thread>> {
        self.database.threads(page)
    }

    /// Adds a message to a thread.
    pub(super) fn append(&self, thread: &str, id: String, message: NewMessage) -> Result<Appended> {
        self.database.append(thread, id, message, &self.quota)
    }

    /// The messages of a thread.
    pub(super) fn messages(&self, thread: &str, page: &MessagePage) -> Result<Listing<Message>> {
        self.database.messages(thread, page)
    }

    /// The context with this id, if it is stored.
    pub(super) fn receipt(&self, id: &str) -> Result<Option<Receipt>> {
        self.database.receipt(id)
    }
}

/// Checks that nothing in an owner's folder that is opened by its path is a link, which might lead
/// out of the data folder.
pub(super) fn check_no_links(folder: &Path) -> io::Result<()> {
    let names = ["index", STATE_FILE, BUILT_FILE, MARK_FILE];
    let mut paths = names.iter().map(|it| folder.join(it));
    paths.try_for_each(|path| ctx_source::check_no_link(folder, &path))
}
