//! What a store offers to the server: all that is kept, always of one owner.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ctx_assemble::{Cancel, Control};
use ctx_citations::StoredSource;
use ctx_model::{BuildOptions, BuiltContext};
use ctx_retrieve::Hold;
use ctx_service::{CacheMetrics, PrimeContext, Served, ServiceError};
use ctx_tokens::Counters;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::cause::is_away;
use crate::reserve::Reserve;
use crate::{Keeping, Owner};

/// Keeps files, threads and contexts, and builds contexts from them. Every method is asked for one owner and
/// answers from what is that owner's alone: what is another's does not exist.
///
/// The server bounds how many run at once, and how long a caller waits; a method that was begun is let finish. It asks for what
/// changes something of an owner's one after the other: batches and removals of files, and all else.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Whether it can answer.
    async fn ready(&self) -> Result<(), BackendError>;

    /// Makes what is kept of the owner ready to be worked with, where that may take long. It stays so until what this returns is
    /// dropped.
    ///
    /// The server asks for it before a request waits for its turn, so that nobody has one who waits for this. It may wait until what was
    /// opened for other owners is dropped, but not for that while something is opened for this one.
    async fn open(&self, _: &Owner) -> Result<Opened, BackendError> {
        Ok(Opened::default())
    }

    /// The context for a message, by [`crate::build`], remembered under its id.
    async fn build(
        &self,
        owner: &Owner,
        request: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError>;

    /// Keeps files, each in the place of what had its path, and makes them findable. Their secrets are masked before anything
    /// else looks at them, by [`NewFile::mask`].
    async fn ingest(&self, owner: &Owner, files: Vec<NewFile>) -> Result<Ingested, BackendError>;

    /// Removes files; those of `paths`, which has nothing twice, that are there.
    async fn remove_files(
        &self,
        owner: &Owner,
        paths: Vec<String>,
    ) -> Result<Removed, BackendError>;

    /// The files, in the order of their paths.
    async fn files(
        &self,
        owner: &Owner,
        page: FilePage,
    ) -> Result<Listing<KeptFile, String>, BackendError>;

    /// Begins a thread.
    async fn create_thread(&self, owner: &Owner, thread: NewThread)
    -> Result<Thread, BackendError>;

    /// The threads, the latest first.
    async fn threads(&self, owner: &Owner, page: Page) -> Result<Listing<Thread>, BackendError>;

    /// A thread, and how many messages it has.
    async fn thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo, BackendError>;

    /// Removes a thread with its messages and pins. What it was.
    async fn remove_thread(&self, owner: &Owner, id: &str) -> Result<ThreadInfo, BackendError>;

    /// Pins `pinned`, which has nothing twice, to a thread, in the place of what was pinned to it.
    async fn pin(
        &self,
        owner: &Owner,
        thread: &str,
        pinned: Vec<String>,
    ) -> Result<Thread, BackendError>;

    /// Adds a message to a thread. One that has the id of a message of the thread is that one, if it says the same.
    async fn append(
        &self,
        owner: &Owner,
        thread: &str,
        message: NewMessage,
    ) -> Result<Appended, BackendError>;

    /// The messages of a thread, the oldest first.
    async fn messages(
        &self,
        owner: &Owner,
        thread: &str,
        page: Page,
    ) -> Result<Listing<Message>, BackendError>;

    /// Notes whether a context, or a file in it, was of use. Whether that counted: of each context, the first
    /// vote on a file does.
    async fn feedback(&self, owner: &Owner, vote: Vote) -> Result<bool, BackendError>;

    /// A context that was built before, as long as it is kept.
    async fn receipt(&self, owner: &Owner, id: &str) -> Result<Option<Receipt>, BackendError>;

    /// Waits until everything that was answered is kept: the last that is asked of a store, when no more requests
    /// come. What stores keep behind their answers would else be lost with the process.
    async fn settle(&self) {}

    /// How the contexts that are kept for whoever asks again have done so far; of all owners together.
    fn cache(&self) -> CacheMetrics {
        CacheMetrics::default()
    }

    /// How long receipts of contexts are kept, where that is known.
    fn keeping(&self) -> Option<Keeping> {
        None
    }
}

/// What is ready to be worked with, until it is dropped.
#[derive(Clone, Default)]
pub struct Opened(Option<Arc<dyn Any + Send + Sync>>);

impl Opened {
    /// For as long as `held` is there.
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
    /// There is no such thing, or it is another's.
    #[error("{what} {id:?} does not exist")]
    NotFound {
        /// What was asked for: `thread`, `context`.
        what: &'static str,
        /// The field that names it.
        field: &'static str,
        /// Its id, as it was given.
        id: String,
    },
    /// There is no receipt of such a context: there never was, it is another's, or it was let go.
    #[error("context {id:?} is not kept: receipts are kept {keeping}")]
    NotKept {
        /// Its id, as it was given.
        id: String,
        /// How long they are kept.
        keeping: Keeping,
    },
    /// It is there already.
    #[error("{what} {id:?} exists already")]
    Exists {
        /// What was to be made.
        what: &'static str,
        /// The field that names it.
        field: &'static str,
        /// Its id, as it was given.
        id: String,
    },
    /// A field that cannot be taken.
    #[error("{detail}")]
    Invalid {
        /// The field: `files[3].path`.
        field: String,
        /// What is wrong with it.
        detail: String,
    },
    /// Fields of a batch that cannot be taken: two or more, in their order.
    #[error("{} fields are at fault", .0.len())]
    InvalidBatch(Vec<crate::problem::Fault>),
    /// The owner has as much as may be.
    #[error("{detail}")]
    Quota {
        /// The field that would be too much.
        field: &'static str,
        /// What there may be.
        detail: String,
    },
    /// There is no context.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The caller does not wait any more.
    #[error("finish: it was cancelled")]
    Cancelled,
    /// What is kept is not as it was written, so there is no answer.
    #[error("read {what}: it is damaged")]
    Damaged {
        /// What is damaged, as the caller may be told.
        what: &'static str,
        /// How that shows: for the log.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store cannot be reached for now, or was late: for the log, and the same may succeed soon.
    #[error("reach the store: {what}")]
    Unavailable {
        /// What was tried.
        what: &'static str,
        /// What is in the way.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store failed: for the log, and no business of the caller's.
    #[error("use the store: {what}")]
    Failed {
        /// What was tried.
        what: &'static str,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl BackendError {
    /// The store failed at `what`; or cannot be reached for now, where `source` or what caused it says so of a database, or of files
    /// of which no more can be opened.
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

/// One piece of work, as it is told to whoever does it.
#[derive(Clone)]
pub struct Job {
    /// Raised when nobody waits for the answer any more.
    pub cancel: Cancel,
    /// When the work began to be waited for.
    pub started: Instant,
    /// How long after that the best answer so far is wanted.
    pub deadline: Duration,
    /// How long each source of a context is waited for; one that is later has no say in it.
    pub patience: Duration,
    /// What tokens are counted with, by name.
    pub counters: Arc<Counters>,
    told: Option<Arc<dyn Fn(Stage) + Send + Sync>>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("cancel", &self.cancel)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

impl Stage {
    /// Its word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Stage::Queued => "queued",
            Stage::History => "history",
            Stage::Search => "search",
            Stage::Resolve => "resolve",
            Stage::Score => "score",
            Stage::Assemble => "assemble",
        }
    }
}

impl Job {
    /// Work that begins now, stops when `cancel` is raised, and wants an answer `deadline` from now.
    pub fn new(cancel: Cancel, deadline: Duration) -> Self {
        Job {
            cancel,
            started: Instant::now(),
            deadline,
            patience: deadline / 4,
            counters: Arc::default(),
            told: None,
        }
    }

    /// Work that has been waited for since then.
    #[must_use]
    pub fn with_started(mut self, started: Instant) -> Self {
        self.started = started;
        self
    }

    /// Waits for each source of a context as long as this, instead of a quarter of the time until the deadline.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Counts with these, which all work of a server shares.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.counters = counters;
        self
    }

    /// Has `told` told of each stage as it begins.
    #[must_use]
    pub fn with_progress(mut self, told: Arc<dyn Fn(Stage) + Send + Sync>) -> Self {
        self.told = Some(told);
        self
    }

    /// How assembling for it is to go: until when, and by one thread where the work is [alone](Hold::alone).
    pub(crate) fn control(&self) -> Control {
        let started = self.started;
        Control::default()
            .with_cancel(self.cancel.clone())
            .with_clock(Arc::new(move || started.elapsed()))
            .with_deadline(Some(self.deadline))
            .with_one_thread(Hold::current().is_alone())
    }

    /// Says that `stage` begins.
    ///
    /// # Errors
    /// [`BackendError::Cancelled`] when nobody waits any more.
    pub fn begin(&self, stage: Stage) -> Result<(), BackendError> {
        if self.cancel.is_cancelled() {
            return Err(BackendError::Cancelled);
        }
        if let Some(told) = &self.told {
            told(stage);
        }
        Ok(())
    }
}

/// A stage of a build: as it is told when it begins, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Stage {
    /// It waits for its turn.
    Queued,
    /// The thread's messages and pinned references are read.
    History,
    /// What the message is about is looked for.
    Search,
    /// What was found is read.
    Resolve,
    /// It is scored.
    Score,
    /// What is worth its tokens is chosen and written.
    Assemble,
}

/// How long a stage took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// Which; none was `queued`.
    pub stage: Stage,
    /// Milliseconds.
    pub milliseconds: f64,
}

/// What a context is wanted for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PrimeRequest {
    /// The thread that the message belongs to.
    pub thread: Option<String>,
    /// What the user says.
    pub message: String,
    /// What must be in: paths, `path:10-20`, names.
    pub references: Vec<String>,
    /// How it is built.
    pub options: BuildOptions,
    /// Who says how much of the budget is reserved: budgets that are told for other requests are told by it.
    pub reserve: Reserve,
    /// Whether each item is answered with its text.
    pub item_content: bool,
}

impl PrimeRequest {
    /// A context for `message`, with no thread and no reference.
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

/// A context, and how it came about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prime {
    /// The context, its receipt, and what may be cited. Whoever asked the same may hold it too.
    pub context: Arc<PrimeContext>,
    /// The context as it is told to who asked.
    pub(crate) built: Arc<BuiltContext>,
    /// The thread that it was built for.
    pub thread: Option<String>,
    /// Whether each item is answered with its text.
    pub item_content: bool,
    /// Whether each item is answered with what it was scored by.
    pub(crate) explain: bool,
    /// Whether it was kept from before.
    pub served: Served,
    /// Milliseconds since 1970 when it was answered.
    pub answered_at: i64,
}

/// How many of what were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Parts that the message, the request or a pin names, wherever else they came from: a reference to a name may be of several, and one
    /// that is not there of none.
    pub explicit_count: usize,
    /// Parts of files.
    pub search_count: usize,
    /// Exchanges of the thread: a question with what was answered to it.
    pub history_count: usize,
    /// Files that were shown lately.
    #[serde(default)]
    pub recent_count: usize,
    /// What of all these was left out.
    pub excluded_count: usize,
}

/// A file to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its path, with `/` between its parts.
    pub path: String,
    /// Its text.
    pub content: String,
}

impl NewFile {
    /// Masks the secrets in its text, in place. Returns how many there were. O(bytes).
    pub fn mask(&mut self) -> usize {
        ctx_secrets::mask(&self.path, &mut self.content).len()
    }
}

/// What became of a batch of files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ingested {
    /// Each file, in the order given.
    pub files: Vec<IngestedFile>,
    /// Secrets that were masked in them. Told beside the data.
    #[serde(skip)]
    #[schema(ignore)]
    pub masked_secrets: usize,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngestedFile {
    /// Its path.
    pub path: String,
    /// `created`, `updated` or `unchanged`.
    pub status: String,
    /// Its size.
    pub bytes: usize,
}

/// What became of files that were to be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// Each path, in the order given.
    pub files: Vec<RemovedFile>,
}

impl Removed {
    /// Of `paths`, those that were there are removed.
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

/// What became of a file that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedFile {
    /// Its path.
    pub path: String,
    /// `removed`, or `absent` where there was none.
    pub status: String,
}

/// A file that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptFile {
    /// Its path.
    pub path: String,
    /// BLAKE3 of its text as it is kept, with its secrets masked: 64 hexadecimal digits.
    pub hash: String,
    /// The size of that.
    pub bytes: u64,
}

/// A thread to be begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewThread {
    /// Its id, where the caller has one.
    pub id: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// What every context of it must show.
    pub pinned: Vec<String>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Its id among the owner's threads.
    pub id: String,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub title: Option<String>,
    /// What every context of it shows.
    pub pinned: Vec<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

/// A thread, and how much is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadInfo {
    /// The thread.
    #[serde(flatten)]
    pub thread: Thread,
    /// Messages in it.
    pub message_count: u64,
}

/// A message to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Its id, where the caller has one.
    pub id: Option<String>,
    /// Who speaks: `user`, `assistant`, `system` or `tool`.
    pub role: String,
    /// What is said.
    pub content: String,
}

/// A message that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The message.
    pub message: Message,
    /// Whether it was not kept before.
    pub is_new: bool,
}

impl Appended {
    /// What comes of adding `new` where `kept` has its id.
    ///
    /// # Errors
    /// [`BackendError::Exists`], where they do not say the same.
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
    /// Who speaks.
    pub role: String,
    /// What is said.
    pub content: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

/// Which part of a list is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// So many at most.
    pub limit: PageLimit,
    /// Where the last part ended: the `next` that came with it.
    pub after: Option<i64>,
}

/// Which part of the files is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePage {
    /// So many at most.
    pub limit: PageLimit,
    /// The last path of the part before.
    pub after: Option<String>,
}

/// How many at most: 1 to 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Invariant: 1..=200.
pub struct PageLimit(u8);

impl PageLimit {
    /// The most that there may be.
    pub const MOST: usize = 200;

    /// So many, where it is 1 to 200.
    pub fn new(limit: u8) -> Option<Self> {
        let is_one = (1..=Self::MOST).contains(&usize::from(limit));
        is_one.then_some(PageLimit(limit))
    }

    /// The number.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

impl Default for PageLimit {
    fn default() -> Self {
        PageLimit(50)
    }
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<T, N = i64> {
    /// In order.
    pub items: Vec<T>,
    /// Where the next part begins, where there is one.
    pub next: Option<N>,
}

impl<T> Listing<T> {
    /// The part that `page` wants of `rows`, each with its number: one row more than it wants tells that there is
    /// a next part.
    pub fn of(rows: Vec<(i64, T)>, page: &Page) -> Self {
        Listing::within(rows, page.limit)
    }
}

impl<T, N: Clone> Listing<T, N> {
    /// The first `limit` of `rows`, each with its place.
    pub fn within(mut rows: Vec<(N, T)>, limit: PageLimit) -> Self {
        let is_more = rows.len() > limit.get();
        rows.truncate(limit.get());
        let next = rows.last().filter(|_| is_more).map(|(at, _)| at.clone());
        Listing {
            items: rows.into_iter().map(|(_, it)| it).collect(),
            next,
        }
    }
}

/// Whether a context, or a file in it, was of use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// What came with the context, or with an item of it.
    pub handle: String,
    /// Whether it was.
    pub useful: bool,
}

/// One of the five signals that an item is scored by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Signal {
    /// `textSimilarity`, `keywordMatch`, `recency`, `sourcePriority` or `usageFrequency`.
    pub name: String,
    /// Its value; none where it was not looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0, maximum = 1)]
    pub value: Option<f64>,
    /// What it is worth, as a share of all five.
    #[schema(minimum = 0, maximum = 1)]
    pub weight: f64,
}

/// What an item of a context was scored by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Scored {
    /// What the context calls it.
    pub id: String,
    /// The five signals.
    pub signals: Vec<Signal>,
}

/// A context that was built before, in the form in which it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Its id.
    pub id: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// The thread it was built for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// How many of what were found.
    pub stats: Stats,
    /// The context, and why it is what it is.
    pub receipt: Arc<BuiltContext>,
    /// What each item was scored by, in the order shown; nothing where it was not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Scored>,
    /// What an answer may cite, with its text. Kept, and not told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<StoredSource>,
}
