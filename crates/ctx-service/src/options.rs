//! Options of a prime context, and the stages of building one.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use ctx_model::{BuildOptions, Selection, Tokens, UnixSeconds};
use ctx_rank::Profile;
use ctx_retrieve::Options as RetrieveOptions;
use serde::Serialize;

use crate::history::read_for;

/// The least number of parts of files to search for, as there are other sources.
pub(crate) const LEAST_PARTS: usize = 40;

/// Scores are means of signals, some of which are alike for all chunks: raised to this power they
/// are closer to the value of a chunk.
const RELEVANCE_POWER: u8 = 12;

/// Options of a prime context.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PrimeOptions {
    /// The budget, its reserve, the format, and other options of the assembler. Grouping, order and
    /// whether ids are shown are ignored: chunks are grouped by file, in an order that keeps turns,
    /// with their ids.
    pub build: BuildOptions,
    /// How files are searched, and the deadline of each strategy. Its `now` is ignored.
    pub retrieve: RetrieveOptions,
    /// The weight of each signal.
    pub profile: Profile,
    /// References that must be in the context, besides those in the message and the thread's pins:
    /// paths, `path:10-20`, symbols, ids.
    pub references: Vec<String>,
    /// The number of messages of the thread that are considered: the last ones.
    pub messages: usize,
    /// The number of recently shown files that are considered.
    pub recent: usize,
    /// The deadline of each source except the search, whose strategies have that of
    /// [`retrieve`](PrimeOptions::retrieve).
    pub deadline: Duration,
    /// The current time; `None` for the system's clock when a context is
    /// requested. It determines the expiry of feedback handles and the age of chunks.
    pub now: Option<UnixSeconds>,
}

impl Default for PrimeOptions {
    /// 4,000 tokens of which 500 are reserved, selection by the twelfth power of scores, 20
    /// messages, 5 recent files, as many parts of files as the budget may hold but at least 40, and
    /// 250 ms for each source.
    fn default() -> Self {
        let deadline = Duration::from_millis(250);
        PrimeOptions {
            build: BuildOptions::default()
                .with_max_tokens(Tokens::new(4_000))
                .with_reserve(Tokens::new(500))
                .with_selection(Selection::Optimal)
                .with_relevance_power(RELEVANCE_POWER),
            retrieve: RetrieveOptions::default().with_deadline(deadline),
            profile: Profile::default(),
            references: Vec::new(),
            messages: 20,
            recent: 5,
            deadline,
            now: None,
        }
    }
}

impl PrimeOptions {
    /// The number of messages read from a thread: one more than are shown, since the question
    /// itself may be among them.
    #[must_use]
    pub fn messages_read(&self) -> usize {
        read_for(self.messages)
    }

    /// The largest budget, including the reserve, for which the same candidates are gathered. For a
    /// larger one the search finds more, so it is not known at which budgets beyond this an omitted
    /// chunk enters.
    #[must_use]
    pub fn largest_budget(&self) -> Tokens {
        let max_tokens = self.build.max_tokens;
        self.retrieve.largest_budget(max_tokens, LEAST_PARTS)
    }

    /// The time at which contexts are built.
    pub(crate) fn time(&self) -> UnixSeconds {
        let since = || UNIX_EPOCH.elapsed().unwrap_or_default();
        self.now.unwrap_or_else(|| UnixSeconds::after_1970(since()))
    }

    /// A hash of every option except the time. It is computed from the `Debug` output, so that
    /// every option added later is included.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut timeless = self.clone();
        timeless.now = None;
        timeless.retrieve.now = None;
        *blake3::hash(format!("{timeless:?}").as_bytes()).as_bytes()
    }
}

ctx_model::setters! {
    for PrimeOptions;
    /// Sets the options of the assembler.
    with_build: build: BuildOptions;
    /// Sets how files are searched.
    with_retrieve: retrieve: RetrieveOptions;
    /// Sets the weight of each signal.
    with_profile: profile: Profile;
    /// Sets the references that must be in the context.
    with_references: references: Vec<String>;
    /// Sets how many of the thread's last messages are considered.
    with_messages: messages: usize;
    /// Sets how many recently shown files are considered.
    with_recent: recent: usize;
    /// Sets the deadline of each source except the search.
    with_deadline: deadline: Duration;
    /// Sets the current time.
    with_now: now: Option<UnixSeconds>;
}

/// How long each stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PrimeTimings {
    /// Reading the thread and its pins.
    pub history: Duration,
    /// Looking up references, searching, and reading recent files, concurrently.
    pub search: Duration,
    /// Reading files.
    pub resolve: Duration,
    /// Scoring.
    pub score: Duration,
    /// Selecting chunks, and writing the context.
    pub assemble: Duration,
}

/// A stage of building a prime context. A cached one has only the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum PrimeStage {
    /// Reading the thread and its pins.
    History,
    /// Looking up references, searching, and reading recent files.
    Search,
    /// Reading files.
    Resolve,
    /// Scoring.
    Score,
    /// Selecting chunks, and writing the context.
    Assemble,
}

/// The callback that is called as each stage begins.
#[derive(Clone, Default)]
pub(crate) struct StageListener(Option<Arc<dyn Fn(PrimeStage) + Send + Sync>>);

impl StageListener {
    pub(crate) fn new(listener: Arc<dyn Fn(PrimeStage) + Send + Sync>) -> Self {
        StageListener(Some(listener))
    }

    pub(crate) fn begin(&self, stage: PrimeStage) {
        if let Some(listener) = &self.0 {
            listener(stage);
        }
    }
}

impl fmt::Debug for StageListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "StageListener"
        } else {
            "Nobody"
        })
    }
}
