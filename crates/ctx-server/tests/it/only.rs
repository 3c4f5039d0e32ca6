//! A store that supports one or two operations, and fails all others.

use std::sync::Arc;

use async_trait::async_trait;
use ctx_server::{
    Appended, Backend, BackendError, FilePage, FileText, Ingested, Job, KeptFile, Listing, Message,
    MessagePage, NewFile, NewMessage, NewThread, Opened, Owner, Prime, PrimeRequest, Receipt,
    Removed, Thread, ThreadInfo, ThreadPage, Vote,
};

/// What a store of a test does.
#[async_trait]
pub(crate) trait Builds: Send + Sync {
    async fn build(
        self: Arc<Self>,
        owner: &Owner,
        request: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError>;

    async fn create_thread(&self, _: &Owner, _: NewThread) -> Result<Thread, BackendError> {
        no()
    }

    async fn ready(&self) -> Result<(), BackendError> {
        Ok(())
    }

    async fn open(&self, _: &Owner) -> Result<(), BackendError> {
        Ok(())
    }

    async fn ingest(&self, _: &Owner) -> Result<Ingested, BackendError> {
        no()
    }

    async fn append(&self, _: &Owner) -> Result<Appended, BackendError> {
        no()
    }

    async fn threads(&self, _: &Owner) -> Result<Listing<Thread>, BackendError> {
        no()
    }

    async fn messages(&self, _: &Owner) -> Result<Listing<Message>, BackendError> {
        no()
    }
}

/// The same, as a server has it.
pub(crate) struct Only<T>(pub(crate) Arc<T>);

/// That a store is not for this.
pub(crate) fn no<T>() -> Result<T, BackendError> {
    Err(BackendError::failed("do this", "it is not for that"))
}

#[async_trait]
impl<T: Builds + 'static> Backend for Only<T> {
    async fn ready(&self) -> Result<(), BackendError> {
        self.0.ready().await
    }

    async fn open(&self, owner: &Owner) -> Result<Opened, BackendError> {
        self.0.open(owner).await.map(Opened::with)
    }

    async fn build(
        &self,
        owner: &Owner,
        request: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError> {
        Arc::clone(&self.0).build(owner, request, job).await
    }

    async fn ingest(&self, owner: &Owner, _: Vec<NewFile>) -> Result<Ingested, BackendError> {
        self.0.ingest(owner).await
    }

    async fn create_thread(
        &self,
        owner: &Owner,
        thread: NewThread,
    ) -> Result<Thread, BackendError> {
        self.0.create_thread(owner, thread).await
    }

    async fn threads(&self, owner: &Owner, _: ThreadPage) -> Result<Listing<Thread>, BackendError> {
        self.0.threads(owner).await
    }

    async fn remove_files(&self, _: &Owner, _: Vec<String>) -> Result<Removed, BackendError> {
        no()
    }

    async fn files(
        &self,
        _: &Owner,
        _: FilePage,
    ) -> Result<Listing<KeptFile, String>, BackendError> {
        no()
    }

    async fn file(&self, _: &Owner, _: &str) -> Result<FileText, BackendError> {
        no()
    }

    async fn remove_receipt(&self, _: &Owner, _: &str) -> Result<bool, BackendError> {
        no()
    }

    async fn thread(&self, _: &Owner, _: &str) -> Result<ThreadInfo, BackendError> {
        no()
    }

    async fn remove_thread(&self, _: &Owner, _: &str) -> Result<ThreadInfo, BackendError> {
        no()
    }

    async fn set_title(
        &self,
        _: &Owner,
        _: &str,
        _: Option<String>,
    ) -> Result<Thread, BackendError> {
        no()
    }

    async fn pin(&self, _: &Owner, _: &str, _: Vec<String>) -> Result<Thread, BackendError> {
        no()
    }

    async fn append(
        &self,
        owner: &Owner,
        _: &str,
        _: NewMessage,
    ) -> Result<Appended, BackendError> {
        self.0.append(owner).await
    }

    async fn messages(
        &self,
        owner: &Owner,
        _: &str,
        _: MessagePage,
    ) -> Result<Listing<Message>, BackendError> {
        self.0.messages(owner).await
    }

    async fn feedback(&self, _: &Owner, _: Vote) -> Result<bool, BackendError> {
        no()
    }

    async fn receipt(&self, _: &Owner, _: &str) -> Result<Option<Receipt>, BackendError> {
        no()
    }
}
