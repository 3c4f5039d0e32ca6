//! The interface of a store to the server: everything that is stored, always for one owner.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ctx_citations::StoredSource;
use ctx_model::{BuildOptions, BuiltContext};
use ctx_service::{CacheMetrics, PrimeContext, Served, ServiceError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::cause::{Fact, is_away};
use crate::job::Job;
use crate::paging::{FilePage, Listing, MessagePage, ThreadPage};
use crate::reserve::Reserve;
use crate::{Keeping, Owner};

/// Keeps files, threads and contexts, and builds contexts from them. Every method is called for one
/// owner and answers from the data of that owner only: other owners' data does not exist for it.
///
/// The server bounds how many calls run at once and how long a caller waits; a call that was begun
/// is allowed to finish. Calls that write for one owner are made one after the other: batches and
/// removals of files among themselves, and all other writes among themselves.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Whether the store can answer.
    async fn ready(&self) -> Result<(), BackendError>;

    /// Prepares the data of the owner for use, if that may take long. It stays ready until the
    /// returned value is dropped.
    ///
    /// The server calls this before a request waits for its turn, so that no request with a turn
    /// waits for it. It may wait until what was opened for other owners is dropped, but not while
    /// something is opened for this owner.
    async fn open(&self, _: &Owner) -> Result<Opened, BackendError> {
        Ok(Opened::default())
    }

    /// Builds the context for a message by [`crate::build`], and stores its receipt under its id.
    async fn build(
        &self,
        owner: &Owner,
        request: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError>;

    /// Keeps files, each replacing the one at its path, and makes them searchable. Their secrets
    /// are masked before anything else reads them, by [`NewFile::mask`].
    async fn ingest(&self, owner: &Owner, files: Vec<NewFile>) -> Result<Ingested, BackendError>;

    /// Removes those files of `paths` that exist; `paths` has no duplicates.
    async fn remove_files(
        &self,
        owner: &Owner,
        paths: Vec<String>,
    ) -> Result<Removed, BackendError>;

    /// Lists the files, in the order of their paths.
    async fn files(
        &self,
        owner: &Owner,
        page: FilePage,
    ) -> Result<Listing<KeptFile, String>, BackendError>;

    /// Returns the file at this path and its text.
    async fn file(&self, owner: &Owner, path: &str) -> Result<FileText, BackendError>;

    /// Creates a thread.
    async fn create_thread(&self, owner: &Owner, thread: NewThread)
    -> Result<Thread, BackendError>;

    /// Lists the threads.
    async fn threads(
        &self,
        owner: &Owner,
        page: ThreadPage,
    ) -> Result<Listing<Thread>, BackendError>;

    /// Returns a thread, and how many messages it has.
    async fn thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo, BackendError>;

    /// Removes a thread with its messages, pins and receipts, and returns what it was. None of its
    /// contexts stays in a cache.
    async fn remove_thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo, BackendError>;

    /// Gives a thread this title, or none.
    async fn set_title(
        &self,
        owner: &Owner,
        thread: &str,
        title: Option<String>,
    ) -> Result<Thread, BackendError>;

    /// Replaces the pins of a thread by `pinned`, which has no duplicates.
    async fn pin(
        &self,
        owner: &Owner,
        thread: &str,
        pinned: Vec<String>,
    ) -> Result<Thread, BackendError>;

    /// Adds a message to a thread. If the thread has a message of its id already, that one is
    /// returned if role and content are equal.
    async fn append(
        &self,
        owner: &Owner,
        thread: &str,
        message: NewMessage,
    ) -> Result<Appended, BackendError>;

    /// Lists the messages of a thread.
    async fn messages(
        &self,
        owner: &Owner,
        thread: &str,
        page: MessagePage,
    ) -> Result<Listing<Message>, BackendError>;

    /// Records whether a context, or a file in it, was useful. Returns whether the vote counted:
    /// only the first vote on a file per context does.
    async fn feedback(&self, owner: &Owner, vote: Vote) -> Result<bool, BackendError>;

    /// Returns the receipt of an earlier context, as long as it is kept.
    async fn receipt(&self, owner: &Owner, id: &str) -> Result<Option<Receipt>, BackendError>;

    /// Removes the receipt of an earlier context, and the context from caches. Returns whether it
    /// was kept.
    async fn remove_receipt(&self, owner: &Owner, id: &str) -> Result<bool, BackendError>;

    /// Waits until everything that was answered is stored. This is the last call to a store, when
    /// no more requests come; data that stores write behind their answers would otherwise be lost
    /// with the process.
    async fn settle(&self) {}

    /// The counters of the cache of contexts, over all owners.
    fn cache(&self) -> CacheMetrics {
        CacheMetrics::default()
    }

    /// How long receipts of contexts are kept, if known.
    fn keeping(&self) -> Option<Keeping> {
        None
    }
}

/// Keeps an owner's data open until it is dropped.
#[derive(Clone, Default)]
pub struct Opened(Option<Arc<dyn Any + Send + Sync>>);

impl Opened {
    /// Stays open as long as `held` lives.
    pub fn with(held: impl Any + Send + Sync) -> Self {
        Opened(Some(Arc::new(held)))
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Opened").field(&self.0.is_some()).finish()
    }
}

/// Why a store has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// It does not exist, or belongs to another owner.
    #[error("{what} {id:?} does not exist")]
    NotFound {
        /// What was requested: `thread`, `context`.
        what: &'static str,
        /// The field that names it.
        field: &'static str,
        /// Its id, as given.
        id: String,
    },
    /// There is no receipt of that context: it never existed, belongs to another owner, or has been
    /// removed.
    #[error("context {id:?} is not stored: receipts are kept {keeping}")]
    NotKept {
        /// Its id, as given.
        id: String,
        /// How long receipts are kept.
        keeping: Keeping,
    },
    /// It exists already.
    #[error("{what} {id:?} exists already")]
    Exists {
        /// What was to be created.
        what: &'static str,
        /// The field that names it.
        field: &'static str,
        /// Its id, as given.
        id: String,
    },
    /// A field has an invalid value.
    #[error("{detail}")]
    Invalid {
        /// The field: `files[3].path`.
        field: String,
        /// What is wrong with it.
        detail: String,
    },
    /// Fields of a batch that cannot be taken: two or more, in their order.
    #[error("{} fields are invalid", .0.len())]
    InvalidBatch(Vec<crate::problem::Fault>),
    /// The owner has as much as may be.
    #[error("{detail}")]
    Quota {
        /// The field that would exceed it.
        field: &'static str,
        /// What the quota allows.
        detail: String,
    },
    /// The context could not be built.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The caller no longer waits.
    #[error("finish: it was cancelled")]
    Cancelled,
    /// Stored data is damaged, so there is no answer.
    #[error("read {what}: it is damaged")]
    Damaged {
        /// What is damaged, in words that the caller may see.
        what: &'static str,
        /// How the damage shows; for the log.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store is unreachable or was late. The details are for the log; a retry may succeed soon.
    #[error("reach the store: {what}")]
    Unavailable {
        /// What was attempted.
        what: &'static str,
        /// What prevents it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store failed. The details are for the log and not shown to the caller.
    #[error("use the store: {what}")]
    Failed {
        /// What was attempted.
        what: &'static str,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl BackendError {
    /// The store failed at `what`. The error is `Unavailable` if `source` or one of its causes says
    /// that a database is unreachable, or that no more files can be opened.
    pub fn failed(
        what: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let source = source.into();
        if is_away(&*source) {
            return BackendError::Unavailable { what, source };
        }
        BackendError::Failed { what, source }
    }
}

/// A request for a context.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PrimeRequest {
    /// The thread that the message belongs to.
    pub thread: Option<String>,
    /// The user's message.
    pub message: String,
    /// What must be included: paths, `path:10-20`, names.
    pub references: Vec<String>,
    /// How to build it.
    pub options: BuildOptions,
    /// How the reserve of the budget is determined; budgets reported for other requests follow the
    /// same rule.
    pub reserve: Reserve,
    /// Whether each item of the answer includes its text.
    pub item_content: bool,
}

impl PrimeRequest {
    /// A context for `message`, without a thread or references.
    pub fn new(message: impl Into<String>, options: BuildOptions) -> Self {
        PrimeRequest {
            thread: None,
            message: message.into(),
            references: Vec::new(),
            options,
            reserve: Reserve::default(),
            item_content: false,
        }
    }
}

/// A context, and how it was obtained.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prime {
    /// The context, its receipt, and its citations; may be shared with equal requests.
    pub context: Arc<PrimeContext>,
    /// The context as reported to the caller.
    pub(crate) built: Arc<BuiltContext>,
    /// The thread that it was built for.
    pub thread: Option<String>,
    /// Whether each item of the answer includes its text.
    pub item_content: bool,
    /// Whether each item of the answer includes the signals of its score.
    pub(crate) explain: bool,
    /// Whether it came from the cache.
    pub served: Served,
    /// When it was answered, in milliseconds since 1970.
    pub answered_at: i64,
}

/// How many items were found, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Parts that the message, the request or a pin names, also if the search found them. A
    /// reference may name several parts, or none.
    pub explicit_count: usize,
    /// Parts of files.
    pub search_count: usize,
    /// Exchanges of the thread: a question with its answers.
    pub history_count: usize,
    /// Files that were shown recently.
    #[serde(default)]
    pub recent_count: usize,
    /// How many of all these were left out.
    pub excluded_count: usize,
}

/// A file to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its path, with `/` between its parts.
    pub path: String,
    /// Its text.
    pub content: String,
}

impl NewFile {
    /// Masks the secrets in its text, in place, and returns how many there were. O(bytes).
    pub fn mask(&mut self) -> usize {
        ctx_secrets::mask(&self.path, &mut self.content).len()
    }
}

/// The result of storing a batch of files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ingested {
    /// The result for each file, in the order given.
    pub files: Vec<IngestedFile>,
    /// How many secrets were masked in them. Reported in `meta`, not in `data`.
    #[serde(skip)]
    #[schema(ignore)]
    pub masked_secrets: usize,
}

/// The result of storing a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngestedFile {
    /// Its path.
    pub path: String,
    /// `created`, `updated` or `unchanged`.
    pub status: String,
    /// Its size in bytes.
    pub bytes: usize,
}

/// The result of removing files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// The result for each path, in the order given.
    pub files: Vec<RemovedFile>,
}

impl Removed {
    /// Reports those of `paths` for which `was_there` is true as removed.
    pub fn of(paths: Vec<String>, was_there: impl Fn(&str) -> bool) -> Self {
        let file = |path: String| {
            let status = if was_there(&path) {
                "removed"
            } else {
                "absent"
            };
            let status = status.to_owned();
            RemovedFile { path, status }
        };
        let files = paths.into_iter().map(file).collect();
        Removed { files }
    }
}

/// The result of removing a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedFile {
    /// Its path.
    pub path: String,
    /// `removed`, or `absent` if it did not exist.
    pub status: String,
}

/// A stored file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptFile {
    /// Its path.
    pub path: String,
    /// BLAKE3 of its stored text, in which secrets are masked: 64 hexadecimal digits.
    pub hash: String,
    /// The size of that text in bytes.
    pub bytes: u64,
}

/// A stored file with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileText {
    /// The file.
    #[serde(flatten)]
    pub file: KeptFile,
    /// Its stored text, in which secrets are masked.
    pub content: String,
}

impl FileText {
    /// The file at `path` with this content, if that has this hash. O(bytes).
    ///
    /// # Errors
    /// [`BackendError::Damaged`] if it has not.
    pub fn checked(path: &str, content: String, hash: [u8; 32]) -> Result<Self, BackendError> {
        if *blake3::hash(content.as_bytes()).as_bytes() != hash {
            return Err(BackendError::Damaged {
                what: "the file",
                source: Fact("its text does not match its hash").into(),
            });
        }
        Ok(FileText {
            file: KeptFile {
                path: path.to_owned(),
                hash: blake3::Hash::from_bytes(hash).to_hex().to_string(),
                bytes: content.len() as u64,
            },
            content,
        })
    }

    /// There is no file at `path`.
    pub fn not_found(path: &str) -> BackendError {
        BackendError::NotFound {
            what: "file",
            field: "path",
            id: path.to_owned(),
        }
    }
}

/// A thread to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewThread {
    /// Its id, if the caller chooses one.
    pub id: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// References that every context of the thread must show.
    pub pinned: Vec<String>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Its id among the owner's threads.
    pub id: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub title: Option<String>,
    /// References that every context of the thread shows.
    pub pinned: Vec<String>,
    /// When it was created, in milliseconds since 1970.
    pub created_at: i64,
    /// When it was created or got its last message, whichever is later, in milliseconds since 1970.
    pub active_at: i64,
}

impl Thread {
    /// There is no thread with this id.
    pub fn not_found(id: &str) -> BackendError {
        BackendError::NotFound {
            what: "thread",
            field: "threadId",
            id: id.to_owned(),
        }
    }
}

/// A thread, and how many messages it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadInfo {
    /// The thread.
    #[serde(flatten)]
    pub thread: Thread,
    /// The number of its messages.
    pub message_count: u64,
}

/// A message to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Its id, if the caller chooses one.
    pub id: Option<String>,
    /// The speaker: `user`, `assistant`, `system` or `tool`.
    pub role: String,
    /// Its text.
    pub content: String,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The message.
    pub message: Message,
    /// Whether it was not stored before.
    pub is_new: bool,
}

impl Appended {
    /// The result of adding `new` when `kept` has its id already.
    ///
    /// # Errors
    /// [`BackendError::Exists`] if their role or content differ.
    pub fn again(kept: Message, new: &NewMessage) -> Result<Self, BackendError> {
        if (&kept.role, &kept.content) == (&new.role, &new.content) {
            let is_new = false;
            return Ok(Appended {
                message: kept,
                is_new,
            });
        }
        Err(BackendError::Exists {
            what: "another message of the id",
            field: "id",
            id: kept.id,
        })
    }
}

/// A message of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its id among the messages of its thread.
    pub id: String,
    /// The speaker.
    pub role: String,
    /// Its text.
    pub content: String,
    /// When it was stored, in milliseconds since 1970.
    pub created_at: i64,
}

/// A vote on whether a context, or a file in it, was useful.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The handle that came with the context, or with an item of it.
    pub handle: String,
    /// Whether it was useful.
    pub useful: bool,
}

/// One of the five signals of an item's score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Signal {
    /// `textSimilarity`, `keywordMatch`, `recency`, `sourcePriority` or `usageFrequency`.
    pub name: String,
    /// Its value; left out if it was not looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0, maximum = 1)]
    pub value: Option<f64>,
    /// Its weight in the score; the five weights add up to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub weight: f64,
}

/// The signals of the score of an item of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Scored {
    /// The item's id in the context.
    pub id: String,
    /// The five signals.
    pub signals: Vec<Signal>,
}

/// An earlier context, in the form in which it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Its id.
    pub id: String,
    /// When it was created, in milliseconds since 1970.
    pub created_at: i64,
    /// The thread it was built for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// How many items were found, by kind.
    pub stats: Stats,
    /// The context with its receipt.
    pub receipt: Arc<BuiltContext>,
    /// The signals of each item, in the order shown; empty if they were not requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Scored>,
    /// What an answer may cite, with its text. Stored, but not returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<StoredSource>,
}
