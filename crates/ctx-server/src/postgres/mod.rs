//! A store that several processes can share: one PostgreSQL database, in which every row has its
//! owner.
//!
//! Between requests, a process caches the texts of files, keyed by hash and the generation at which
//! they were found, their outlines, and recent contexts; the store caches what searches have read.
//! Each request sees the database as it is when the request begins, or later, through its own
//! [`View`].

pub(crate) mod cause;
mod files;
mod recall;
#[cfg(all(test, unix))]
mod tests;
mod view;

use std::sync::Arc;

use async_trait::async_trait;
use ctx_postgres::{
    Added, BegunThread, Limits, OwnedStore, Store, StoreError, StoredFile, StoredMessage,
    StoredThread,
};
use ctx_resolve::Resolver;
use ctx_retrieve::{Retriever, TaskScope};
use ctx_service::{CacheMetrics, Ports, PrimeContext, PrimeOptions, Service, SigningKey};
use ctx_source::{Files, SourceError, Sources, Text};

use self::view::{Texts, View};
use crate::backend::{
    Appended, Backend, BackendError, FileText, Ingested, KeptFile, Message, NewFile, NewMessage,
    NewThread, Prime, PrimeRequest, Receipt, Removed, Thread, ThreadInfo, Vote,
};
use crate::build::{Priming, build, count, now};
use crate::cause::cause;
use crate::checks;
use crate::job::Job;
use crate::paging::{
    FilePage, Listing, MessageOrder, MessagePage, PAGE_BYTES, PageLimit, ThreadOrder, ThreadPage,
};
use crate::random::random_id;
use crate::{Keeping, Owner, Quota, ServerError};

type Result<T> = std::result::Result<T, BackendError>;

/// A source without files.
#[derive(Debug)]
struct Nothing;

impl Files for Nothing {
    fn text(&self, path: &str) -> std::result::Result<Arc<Text>, SourceError> {
        Err(SourceError::NotFound {
            path: path.to_owned(),
        })
    }
}

/// A store that several processes can share.
#[derive(Debug)]
pub struct Postgres {
    store: Store,
    priming: Priming,
    quota: Quota,
    /// The most bytes of a file that the store accepts.
    file_bytes: usize,
    texts: Arc<Texts>,
    /// No files are read through it: it only holds the outlines that the resolvers of all requests
    /// share.
    outlines: Resolver,
}

impl Postgres {
    /// Stores everything in the database at `url`, whose tables are created or migrated. Lists have
    /// up to 200 entries whatever the `rows` of `limits`.
    ///
    /// # Errors
    /// [`ServerError::Database`], which names the host, and never the password.
    pub async fn connect(
        url: &str,
        limits: Limits,
        quota: Quota,
    ) -> std::result::Result<Self, ServerError> {
        let failed = |source: StoreError| ServerError::Database {
            host: ctx_postgres::host(url),
            source: Box::new(source),
        };
        let mut limits = limits;
        // One row more than a page shows that there is another page.
        limits.rows = limits.rows.max(PageLimit::MOST + 1);
        let file_bytes = limits.file_bytes;
        let store = Store::connect(url, limits).await.map_err(failed)?;
        store.migrate().await.map_err(failed)?;
        let secret = store.secret().await.map_err(failed)?;
        let texts = Arc::new(Texts::default());
        let nothing = Sources::of(Arc::new(Nothing));
        Ok(Postgres {
            store,
            priming: Priming::new(SigningKey::new(secret)),
            quota,
            file_bytes,
            texts,
            outlines: Resolver::new(nothing, ctx_syntax::Limits::default()),
        })
    }

    /// The store of `owner`.
    fn owned(&self, owner: &Owner) -> Result<OwnedStore> {
        self.store.owner(owner.as_str()).map_err(failed)
    }

    /// The store of `owner` for one request about `thread`, and that thread, if it exists.
    async fn opened(
        &self,
        owner: &Owner,
        thread: &str,
    ) -> Result<(OwnedStore, Option<BegunThread>)> {
        let store = self.owned(owner)?;
        // As many messages and files as a build reads.
        let options = PrimeOptions::default();
        let (messages, recent) = (options.messages_read(), options.recent);
        match store.opened(thread, messages, recent).await {
            Ok(opened) => Ok(opened),
            // A retry would wait just as long. A silent database is different: possibly only one
            // table is locked.
            Err(error) if error.is_away() && !matches!(error, StoreError::Silent { .. }) => {
                Err(failed(error))
            }
            Err(error) => {
                // A context can be built without these messages, which each source requests again.
                tracing::warn!(cause = cause(&error), "a request cannot begin at once");
                let begun = store.begun_thread(thread).await.map_err(failed)?;
                Ok((store.for_request(), begun))
            }
        }
    }

    /// A resolver for one request. It reads files as they are then, even if they changed after the
    /// search.
    fn resolver(&self, store: &OwnedStore) -> Resolver {
        let view = Arc::new(View::new(store.clone(), Arc::clone(&self.texts)));
        let resolver = self.outlines.over(Sources::of(view.clone()));
        let told = Arc::clone(&view);
        let resolver = resolver.with_indexed(move |path| told.indexed(path));
        resolver.with_outlines(view)
    }

    /// The service for one request, over the database as it is during the request.
    fn service(&self, owner: &Owner, store: OwnedStore) -> Service {
        let store = Arc::new(store);
        let resolver = self.resolver(&store);
        // The service asks for usage itself, once for all that was gathered.
        let retriever = Retriever::new(store.clone()).with_relations(store.clone());
        let ports = Ports::of(&store).with_recall(Arc::new(recall::Receipts(store)));
        self.priming
            .service(owner, retriever, Arc::new(resolver), ports)
    }

    /// Keeps the receipt of `prime`, if it is not kept already. Returns whether its thread is still
    /// the one that had `begun`, without which nothing is kept.
    async fn keep(
        &self,
        store: &OwnedStore,
        prime: &Prime,
        begun: Option<&BegunThread>,
    ) -> Result<bool> {
        let Keeping { age, bytes } = self.quota.contexts;
        let keeping = ctx_postgres::Retention::new(age, bytes);
        if prime.is_cached() && store.is_kept(prime.id(), keeping).await.map_err(failed)? {
            return Ok(true);
        }
        let receipt = serde_json::to_string(&prime.receipt())
            .map_err(|error| BackendError::failed("write a context", error))?;
        let kept = store.keep_context(prime.id(), &receipt, begun, keeping);
        kept.await.map_err(failed)
    }
}

#[async_trait]
impl Backend for Postgres {
    async fn ready(&self) -> Result<()> {
        self.store.ready().await.map_err(failed)
    }

    async fn build(&self, owner: &Owner, request: PrimeRequest, job: &Job) -> Result<Prime> {
        let thread = request.thread.as_deref().unwrap_or_default();
        let (store, begun) = self.opened(owner, thread).await?;
        if let Some(id) = request.thread.as_ref().filter(|_| begun.is_none()) {
            return Err(Thread::not_found(id));
        }
        let prime = build(&self.service(owner, store.clone()), request, job).await?;
        let is_there = match self.keep(&store, &prime, begun.as_ref()).await {
            Ok(is_there) => is_there,
            Err(error) => {
                // What is built is worth more than its receipt, but not if its thread is gone.
                tracing::warn!(
                    cause = cause(&error),
                    "the receipt of a context is not kept"
                );
                match &begun {
                    Some(begun) => {
                        let found = store.begun_thread(&begun.thread).await.map_err(failed)?;
                        found.as_ref() == Some(begun)
                    }
                    None => true,
                }
            }
        };
        if !is_there {
            // The thread has been removed meanwhile.
            let id = prime.id().to_owned();
            self.service(owner, store).forget(|it| it.id == id).await;
            return Err(Thread::not_found(
                prime.thread.as_deref().unwrap_or_default(),
            ));
        }
        Ok(prime)
    }

    async fn ingest(&self, owner: &Owner, files: Vec<NewFile>) -> Result<Ingested> {
        files::ingest(&self.owned(owner)?, files, &self.quota, self.file_bytes).await
    }

    async fn remove_files(&self, owner: &Owner, paths: Vec<String>) -> Result<Removed> {
        let gone = self.owned(owner)?.remove(&paths).await.map_err(failed)?;
        Ok(Removed::of(paths, |path| gone.contains(path)))
    }

    async fn files(&self, owner: &Owner, page: FilePage) -> Result<Listing<KeptFile, String>> {
        let store = self.owned(owner)?;
        let after = page.after.as_deref().unwrap_or_default();
        let files = store.stored_files(after, page.limit.get() + 1).await;
        let file = |it: StoredFile| {
            let file = KeptFile {
                path: it.path.clone(),
                hash: blake3::Hash::from_bytes(it.hash).to_hex().to_string(),
                bytes: it.bytes,
            };
            (it.path, file)
        };
        let rows = files.map_err(failed)?.into_iter().map(file).collect();
        Ok(Listing::within(rows, page.limit))
    }

    async fn file(&self, owner: &Owner, path: &str) -> Result<FileText> {
        let texts = self.owned(owner)?.texts(&[path], &[]).await;
        let found = texts.map_err(failed)?.pop();
        let found = found.and_then(|it| Some((it.text?, it.hash)));
        let (text, hash) = found.ok_or_else(|| FileText::not_found(path))?;
        let path = path.to_owned();
        // Work on texts does not run on the threads of the runtime.
        let checked = move || FileText::checked(&path, text, hash);
        let checked = TaskScope::current().blocking(checked).await;
        checked.map_err(|error| BackendError::failed("check a file", error))?
    }

    async fn create_thread(&self, owner: &Owner, new: NewThread) -> Result<Thread> {
        let id = match new.id {
            Some(id) => id,
            None => format!("thr-{}", random_id()?),
        };
        checks::check_thread(&id, new.title.as_deref(), &new.pinned)?;
        let created_at = now();
        let most = self.quota.threads;
        let store = self.owned(owner)?;
        let begun = store.begin_thread(&id, new.title.as_deref(), &new.pinned, created_at, most);
        match begun.await.map_err(failed)? {
            Added::Added => Ok(Thread {
                id,
                title: new.title,
                pinned: new.pinned,
                created_at,
                active_at: created_at,
            }),
            Added::Full => Err(full("id", most, "threads")),
            _ => Err(BackendError::Exists {
                what: "thread",
                field: "id",
                id,
            }),
        }
    }

    async fn threads(&self, owner: &Owner, page: ThreadPage) -> Result<Listing<Thread>> {
        let store = self.owned(owner)?;
        let most = page.limit.get() + 1;
        let rows = match page.order {
            ThreadOrder::Created => store.listed_threads(page.after, most).await,
            ThreadOrder::Active => store.active_threads(page.after, most).await,
        };
        let numbered = |it: StoredThread| match page.order {
            ThreadOrder::Created => (it.number, thread(it)),
            ThreadOrder::Active => (it.activity, thread(it)),
        };
        let rows = rows.map_err(failed)?.into_iter().map(numbered).collect();
        Ok(Listing::within(rows, page.limit))
    }

    async fn thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo> {
        let found = self.owned(owner)?.stored_thread(id).await.map_err(failed)?;
        let (it, message_count) = found.ok_or_else(|| Thread::not_found(id))?;
        Ok(ThreadInfo {
            thread: thread(it),
            message_count,
        })
    }

    async fn remove_thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo> {
        let info = self.thread(owner, id).await?;
        let store = self.owned(owner)?;
        let forgotten = store.forget_thread(id).await.map_err(failed)?;
        let is_of_it = |it: &PrimeContext| it.thread.as_deref() == Some(id);
        self.service(owner, store).forget(is_of_it).await;
        if forgotten {
            Ok(info)
        } else {
            Err(Thread::not_found(id))
        }
    }

    async fn set_title(
        &self,
        owner: &Owner,
        thread: &str,
        title: Option<String>,
    ) -> Result<Thread> {
        checks::check_title(title.as_deref())?;
        let set = self.owned(owner)?.set_title(thread, title.as_deref()).await;
        let set = set.map_err(failed)?;
        set.map(self::thread)
            .ok_or_else(|| Thread::not_found(thread))
    }

    async fn pin(&self, owner: &Owner, thread: &str, pinned: Vec<String>) -> Result<Thread> {
        checks::check_pinned(&pinned)?;
        let set = self.owned(owner)?.set_pins(thread, &pinned).await;
        let set = set.map_err(failed)?;
        set.map(self::thread)
            .ok_or_else(|| Thread::not_found(thread))
    }

    async fn append(&self, owner: &Owner, thread: &str, new: NewMessage) -> Result<Appended> {
        let id = match &new.id {
            Some(id) => id.clone(),
            None => format!("msg-{}", random_id()?),
        };
        checks::check_message(&id, &new.role, &new.content)?;
        let message = StoredMessage::new(id, new.role.clone(), new.content.clone(), now());
        let most = self.quota.messages;
        let store = self.owned(owner)?;
        let added = store.add_message(thread, &message, most).await;
        let added = added.map_err(failed)?;
        match added {
            Added::Added => {
                let (message, is_new) = (shown(message).1, true);
                return Ok(Appended { message, is_new });
            }
            Added::NoThread => return Err(Thread::not_found(thread)),
            // Even if there is no room for another, it may exist already.
            Added::Exists | Added::Full => {}
        }
        let kept = store.message(thread, &message.id).await.map_err(failed)?;
        match kept {
            Some(kept) => Appended::again(shown(kept).1, &new),
            None if added == Added::Full => Err(full("content", most, "messages")),
            // It was removed meanwhile, with its thread.
            None => Err(Thread::not_found(thread)),
        }
    }

    async fn messages(
        &self,
        owner: &Owner,
        thread: &str,
        page: MessagePage,
    ) -> Result<Listing<Message>> {
        let store = self.owned(owner)?;
        if store.begun_thread(thread).await.map_err(failed)?.is_none() {
            return Err(Thread::not_found(thread));
        }
        let most = page.limit.get() + 1;
        let rows = match page.order {
            MessageOrder::Oldest => {
                let after = page.after.unwrap_or(0);
                store.listed_messages(thread, after, most, PAGE_BYTES).await
            }
            MessageOrder::Latest => {
                let before = page.after;
                store
                    .latest_messages(thread, before, most, PAGE_BYTES)
                    .await
            }
        };
        let messages = rows.map_err(failed)?.into_iter().map(|it| Ok(shown(it)));
        let bytes = |it: &Message| it.content.len();
        Listing::within_bytes(messages, page.limit, bytes)
    }

    async fn feedback(&self, owner: &Owner, vote: Vote) -> Result<bool> {
        count(&self.service(owner, self.owned(owner)?), &vote).await
    }

    async fn receipt(&self, owner: &Owner, id: &str) -> Result<Option<Receipt>> {
        let text = self.owned(owner)?.context(id).await.map_err(failed)?;
        text.map(|it| serde_json::from_str(&it))
            .transpose()
            .map_err(|error| BackendError::failed("read a context", error))
    }

    async fn remove_receipt(&self, owner: &Owner, id: &str) -> Result<bool> {
        let store = self.owned(owner)?;
        let forgotten = store.forget_context(id).await.map_err(failed)?;
        self.service(owner, store).forget(|it| it.id == id).await;
        Ok(forgotten)
    }

    fn cache(&self) -> CacheMetrics {
        self.priming.metrics()
    }

    fn keeping(&self) -> Option<Keeping> {
        Some(self.quota.contexts)
    }
}

fn thread(it: StoredThread) -> Thread {
    Thread {
        id: it.thread,
        title: it.title,
        pinned: it.pinned,
        created_at: it.begun_at,
        active_at: it.active_at,
    }
}

fn shown(it: StoredMessage) -> (i64, Message) {
    let message = Message {
        id: it.id,
        role: it.role,
        content: it.content,
        created_at: it.created_at,
    };
    (it.number, message)
}

fn full(field: &'static str, most: u64, what: &str) -> BackendError {
    let detail = format!("there are {most} {what} already, which is the most allowed");
    BackendError::Quota { field, detail }
}

/// An invalid value is the caller's error; all other errors are the store's.
fn failed(error: StoreError) -> BackendError {
    let StoreError::Invalid { what, why } = error else {
        return BackendError::failed("ask the database", error);
    };
    let field = match what {
        "the name of the thread" => "id",
        "the title of the thread" => "title",
        "the reference" => "pinned",
        "the role of the message" => "role",
        "the message" => "content",
        _ => what,
    };
    BackendError::Invalid {
        field: field.to_owned(),
        detail: why.to_owned(),
    }
}
