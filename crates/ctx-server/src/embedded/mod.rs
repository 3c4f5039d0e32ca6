//! The store without a server: below one folder, one folder for each owner.
//!
//! `owners/<digest>/files` holds what the owner sent, `staged` what is about to get there, `index` the index of it
//! (derived: it is made anew when it is damaged), `state.db` threads, messages and votes, `state.mark` how far that has
//! come, and `contexts.db` the contexts that were built and when files were shown. Whoever opens the whole folder has
//! it alone. An owner's folder is opened when it is first asked for, and a few that were asked for last stay open.

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
use ctx_retrieve::Hold;
use ctx_service::CacheMetrics;
use tokio_util::task::TaskTracker;

use self::folders::{Folders, InUse};
use self::lock::Lock;
use self::store::Store;
use crate::backend::{
    Appended, Backend, BackendError, FilePage, Ingested, Job, KeptFile, Listing, Message, NewFile,
    NewMessage, NewThread, Opened, Page, Prime, PrimeRequest, Receipt, Removed, Thread, ThreadInfo,
    Vote,
};
use crate::build::Priming;
use crate::cause::Fact;
use crate::chance::random_id;
use crate::quota::{Keeping, Quota};
use crate::{Owner, ServerError, descriptors};

/// So many owners' folders stay open, and no more are in use at once, where the process may open as many files.
const OPEN: usize = 64;

/// The store without a server.
pub struct Embedded {
    owners: Arc<Dir>,
    path: std::path::PathBuf,
    priming: Arc<Priming>,
    quota: Arc<Quota>,
    open: Folders<Store>,
    /// What is written behind answers.
    behind: TaskTracker,
    /// Nobody else uses the folder. The last field: everything that is open is closed before. Each store has it too, so
    /// that work that goes on after this is dropped has the folder to itself.
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
    /// Keeps everything below `folder`, which is made where there is none, for its owner's eyes alone. In one that is there, what
    /// is of owners is.
    ///
    /// The folder is its opener's alone until this is dropped and what was begun by it has ended.
    ///
    /// # Errors
    /// [`ServerError::DataFolder`], [`ServerError::Random`], and [`ServerError::Busy`] while somebody else has it.
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

    /// The owner's folder, opened where it is not. Who has it in use already waits for nobody.
    async fn store(&self, owner: &Owner) -> Result<Arc<InUse<Store>>, BackendError> {
        let (owners, path) = (Arc::clone(&self.owners), self.path.clone());
        let (its, quota) = (owner.clone(), Arc::clone(&self.quota));
        let (priming, behind) = (Arc::clone(&self.priming), self.behind.clone());
        let lock = Arc::clone(&self.lock);
        let open = move || Store::open(&owners, &path, &its, &priming, quota, behind, lock);
        self.open.get(owner, open).await
    }

    /// Runs `work` on the owner's store, on a thread that may wait for the disk.
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
            // What was opened goes on being there after its name is gone.
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

    async fn threads(&self, owner: &Owner, page: Page) -> Result<Listing<Thread>, BackendError> {
        self.with(owner, move |it| it.threads(&page)).await
    }

    async fn thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo, BackendError> {
        let id = id.to_owned();
        self.with(owner, move |it| it.database.thread_info(&id))
            .await
    }

    async fn remove_thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo, BackendError> {
        let id = id.to_owned();
        self.with(owner, move |it| it.database.remove_thread(&id))
            .await
    }

    async fn pin(
        &self,
        owner: &Owner,
        thread: &str,
        pinned: Vec<String>,
    ) -> Result<Thread, BackendError> {
        let thread = thread.to_owned();
        self.with(owner, move |it| it.pin(thread, pinned)).await
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
        page: Page,
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

/// Runs `work` on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackendError> + Send + 'static,
) -> Result<T, BackendError> {
    let done = Hold::current().blocking(work).await;
    done.map_err(|error| BackendError::failed("finish", error))?
}

/// Whether both are of one folder, where the system tells.
#[cfg(unix)]
fn is_same(one: &cap_std::fs::Metadata, other: &cap_std::fs::Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &cap_std::fs::Metadata, _: &cap_std::fs::Metadata) -> bool {
    true
}

/// Makes the folder of the owners' folders. Nobody else may look into it, also where somebody made the data folder for all to see.
fn make_owners(dir: &Dir) -> std::io::Result<()> {
    let mut builder = cap_std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
    dir.create_dir_with("owners", &builder)
}

#[cfg(test)]
mod tests;
