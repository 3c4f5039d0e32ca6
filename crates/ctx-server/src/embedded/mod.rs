//! A store in a local folder, with a folder for each owner.
//!
//! `owners/<digest>/files` contains what the owner sent, `staged` the files about to be moved
//! there, `index` their index (derived data, rebuilt if damaged), `state.db` threads, messages,
//! votes and file entries, `state.mark` how far that has come, and `contexts.db` the contexts that
//! were built and when files were shown. One process at a time may open the whole folder. An
//! owner's folder is opened at the first request for it, and a few of the most recently used stay
//! open.

pub(crate) mod cause;
mod database;
mod files;
mod folders;
mod ingest;
mod kept;
mod ledger;
mod lock;
mod mark;
mod ports;
mod recall;
mod receipts;
mod rows;
mod salvage;
mod salvage_state;
mod schema;
mod secret;
mod shown;
mod store;
mod threads;

use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;

use async_trait::async_trait;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use ctx_retrieve::TaskScope;
use ctx_service::CacheMetrics;
use tokio_util::task::TaskTracker;

use self::folders::{Folders, InUse};
use self::lock::Lock;
pub use self::salvage_state::{Salvaged, SalvagedRows};
use self::store::{Store, check_no_links};
use crate::backend::{
    Appended, Backend, BackendError, FileText, Ingested, KeptFile, Message, NewFile, NewMessage,
    NewThread, Opened, Prime, PrimeRequest, Receipt, Removed, Thread, ThreadInfo, Vote,
};
use crate::build::Priming;
use crate::cause::Fact;
use crate::job::Job;
use crate::paging::{FilePage, Listing, MessagePage, ThreadPage};
use crate::quota::{Keeping, Quota};
use crate::random::random_id;
use crate::{Owner, ServerError, descriptors};

/// How many owners' folders stay open, and how many are in use at once; fewer if the process may
/// not open enough files.
const OPEN: usize = 64;

/// A store in a local folder.
pub struct Embedded {
    owners: Arc<Dir>,
    path: std::path::PathBuf,
    priming: Arc<Priming>,
    quota: Arc<Quota>,
    open: Folders<Store>,
    /// Tasks that write behind answers.
    behind: TaskTracker,
    /// The lock on the folder. It is the last field, so that everything open is closed before it.
    /// Each store shares it, so that work that goes on after this is dropped still has the folder
    /// to itself.
    lock: Arc<Lock>,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Embedded {
    /// Stores everything below `folder`. A new folder is created readable by its user only; in an
    /// existing folder that holds for the owners' data only.
    ///
    /// The folder is locked until this is dropped and all work that it began has ended.
    ///
    /// # Errors
    /// [`ServerError::DataFolder`], [`ServerError::Random`], and [`ServerError::Busy`] while
    /// another process has the folder.
    pub fn open(folder: &Path, quota: Quota) -> Result<Self, ServerError> {
        let failed = |source| ServerError::DataFolder {
            folder: folder.to_owned(),
            source,
        };
        ctx_source::make_private(folder).map_err(failed)?;
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(failed)?;
        let lock = lock::lock(folder, &dir)?;
        let secret = secret::secret(&dir, &failed)?;
        make_owners(&dir).map_err(failed)?;
        let owners = dir.open_dir("owners").map_err(failed)?;
        let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let allowed = descriptors::allowed();
        let open = descriptors::folders(OPEN, allowed);
        if open < OPEN {
            tracing::warn!(
                open,
                allowed,
                "the process may open few files, so few owners' folders stay open"
            );
        }
        Ok(Embedded {
            owners: Arc::new(owners),
            path: folder.join("owners"),
            priming: Arc::new(Priming::new(secret)),
            quota: Arc::new(quota),
            open: Folders::new(open, cores),
            behind: TaskTracker::new(),
            lock: Arc::new(lock),
        })
    }

    /// Salvages the state of every owner in `folder` whose state is damaged: threads with their
    /// messages and pins, votes, and which files there are. What is intact takes the place of what
    /// was damaged, of which a copy is kept. A file of which it is not known any more has to be
    /// sent again. States that are not damaged stay as they are. O(bytes).
    ///
    /// Contexts need none of this: opening them salvages them.
    ///
    /// # Errors
    /// [`ServerError::DataFolder`], and [`ServerError::Busy`] while a process has the folder.
    /// Owners before the one whose folder cannot be read or written are salvaged.
    pub fn salvage(folder: &Path) -> Result<Vec<Salvaged>, ServerError> {
        let failed = |source| ServerError::DataFolder {
            folder: folder.to_owned(),
            source,
        };
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(failed)?;
        // Where there are none, it is no data folder, and nothing is left behind in it.
        let owners = dir.open_dir("owners").map_err(failed)?;
        let _lock = lock::lock(folder, &dir)?;
        let mut names = Vec::new();
        for entry in owners.entries().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                names.push(entry.file_name());
            }
        }
        names.sort();
        let mut salvaged = Vec::new();
        for name in names {
            let owner = folder.join("owners").join(name);
            check_no_links(&owner).map_err(failed)?;
            let done = salvage_state::salvage(&owner);
            salvaged.extend(done.map_err(|error| failed(std::io::Error::other(error)))?);
        }
        Ok(salvaged)
    }

    /// Returns the owner's folder, opened if necessary. A folder that is already in use is returned
    /// without waiting.
    async fn store(&self, owner: &Owner) -> Result<Arc<InUse<Store>>, BackendError> {
        let (owners, path) = (Arc::clone(&self.owners), self.path.clone());
        let (its, quota) = (owner.clone(), Arc::clone(&self.quota));
        let (priming, behind) = (Arc::clone(&self.priming), self.behind.clone());
        let lock = Arc::clone(&self.lock);
        let open = move || Store::open(&owners, &path, &its, &priming, quota, behind, lock);
        self.open.get(owner, open).await
    }

    /// Runs `work` on the owner's store, on a thread that may block.
    async fn with<T: Send + 'static>(
        &self,
        owner: &Owner,
        work: impl FnOnce(&Store) -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let store = self.store(owner).await?;
        blocking(move || work(&store)).await
    }
}

#[async_trait]
impl Backend for Embedded {
    async fn ready(&self) -> Result<(), BackendError> {
        let (owners, path) = (Arc::clone(&self.owners), self.path.clone());
        blocking(move || {
            let failed = |it| BackendError::failed("look at the data folder", it);
            let ours = owners.dir_metadata().map_err(failed)?;
            // An opened folder continues to exist after its name is removed.
            let named = cap_std::fs::Metadata::from_just_metadata(path.metadata().map_err(failed)?);
            if is_same(&ours, &named) {
                Ok(())
            } else {
                let gone = Fact("it was removed, and another is in its place");
                Err(BackendError::failed("look at the data folder", gone))
            }
        })
        .await
    }

    async fn open(&self, owner: &Owner) -> Result<Opened, BackendError> {
        self.store(owner).await.map(Opened::with)
    }

    async fn build(
        &self,
        owner: &Owner,
        request: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError> {
        let store = self.store(owner).await?;
        store.build(request, job).await
    }

    async fn ingest(&self, owner: &Owner, files: Vec<NewFile>) -> Result<Ingested, BackendError> {
        self.with(owner, move |it| it.ingest(files)).await
    }

    async fn remove_files(
        &self,
        owner: &Owner,
        paths: Vec<String>,
    ) -> Result<Removed, BackendError> {
        self.with(owner, move |it| it.remove_files(paths)).await
    }

    async fn files(
        &self,
        owner: &Owner,
        page: FilePage,
    ) -> Result<Listing<KeptFile, String>, BackendError> {
        self.with(owner, move |it| it.database.files(&page)).await
    }

    async fn file(&self, owner: &Owner, path: &str) -> Result<FileText, BackendError> {
        let path = path.to_owned();
        self.with(owner, move |it| it.file(&path)).await
    }

    async fn create_thread(
        &self,
        owner: &Owner,
        thread: NewThread,
    ) -> Result<Thread, BackendError> {
        let id = match &thread.id {
            Some(id) => id.clone(),
            None => format!("thr-{}", random_id()?),
        };
        self.with(owner, move |it| it.create_thread(id, thread))
            .await
    }

    async fn threads(
        &self,
        owner: &Owner,
        page: ThreadPage,
    ) -> Result<Listing<Thread>, BackendError> {
        self.with(owner, move |it| it.threads(&page)).await
    }

    async fn thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo, BackendError> {
        let id = id.to_owned();
        self.with(owner, move |it| it.database.thread_info(&id))
            .await
    }

    async fn remove_thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo, BackendError> {
        self.store(owner).await?.remove_thread(id).await
    }

    async fn set_title(
        &self,
        owner: &Owner,
        thread: &str,
        title: Option<String>,
    ) -> Result<Thread, BackendError> {
        let thread = thread.to_owned();
        self.with(owner, move |it| it.database.set_title(&thread, title))
            .await
    }

    async fn pin(
        &self,
        owner: &Owner,
        thread: &str,
        pinned: Vec<String>,
    ) -> Result<Thread, BackendError> {
        let thread = thread.to_owned();
        self.with(owner, move |it| it.database.pin(&thread, pinned))
            .await
    }

    async fn append(
        &self,
        owner: &Owner,
        thread: &str,
        message: NewMessage,
    ) -> Result<Appended, BackendError> {
        let thread = thread.to_owned();
        let id = match &message.id {
            Some(id) => id.clone(),
            None => format!("msg-{}", random_id()?),
        };
        self.with(owner, move |it| it.append(&thread, id, message))
            .await
    }

    async fn messages(
        &self,
        owner: &Owner,
        thread: &str,
        page: MessagePage,
    ) -> Result<Listing<Message>, BackendError> {
        let thread = thread.to_owned();
        self.with(owner, move |it| it.messages(&thread, &page))
            .await
    }

    async fn feedback(&self, owner: &Owner, vote: Vote) -> Result<bool, BackendError> {
        self.store(owner).await?.feedback(&vote).await
    }

    async fn receipt(&self, owner: &Owner, id: &str) -> Result<Option<Receipt>, BackendError> {
        let id = id.to_owned();
        self.with(owner, move |it| it.receipt(&id)).await
    }

    async fn remove_receipt(&self, owner: &Owner, id: &str) -> Result<bool, BackendError> {
        self.store(owner).await?.remove_receipt(id).await
    }

    async fn settle(&self) {
        self.behind.close();
        self.behind.wait().await;
    }

    fn cache(&self) -> CacheMetrics {
        self.priming.metrics()
    }

    fn keeping(&self) -> Option<Keeping> {
        Some(self.quota.contexts)
    }
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackendError> + Send + 'static,
) -> Result<T, BackendError> {
    let done = TaskScope::current().blocking(work).await;
    done.map_err(|error| BackendError::failed("finish", error))?
}

/// Whether both are of one folder, where the system reports that.
#[cfg(unix)]
fn is_same(one: &cap_std::fs::Metadata, other: &cap_std::fs::Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &cap_std::fs::Metadata, _: &cap_std::fs::Metadata) -> bool {
    true
}

/// Creates the folder of the owners' folders. Only the user may read it, even if the data folder is
/// readable by all.
fn make_owners(dir: &Dir) -> std::io::Result<()> {
    let mut builder = cap_std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
    dir.create_dir_with("owners", &builder)
}

#[cfg(test)]
mod tests;
