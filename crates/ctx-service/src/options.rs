//! How a prime context is made, and how far it is.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ctx_model::{BuildOptions, Selection, Tokens};
use ctx_rank::Profile;
use ctx_retrieve::Options as RetrieveOptions;
use serde::Serialize;

use crate::history::read_for;

/// So many parts of files are found at least: there are other sources.
pub(crate) const LEAST_PARTS: usize = 40;

/// Scores are means of signals, of which some are alike for all: to this power they are nearer to what a chunk is worth.
const RELEVANCE_POWER: u8 = 8;

/// How a prime context is made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PrimeOptions {
    /// The budget, its reserve, the format, and what else the assembler is told. Grouping, order and metadata
    /// are not looked at: kinds stand together, in an order that keeps turns, with their ids.
    pub build: BuildOptions,
    /// How files are searched, and how long each strategy may take. Its `now` is not looked at.
    pub retrieve: RetrieveOptions,
    /// What each signal is worth.
    pub profile: Profile,
    /// What must be in, beside what the message names and what is pinned to the thread: paths, `path:10-20`,
    /// symbols, ids.
    pub references: Vec<String>,
    /// So many messages of the thread are read, the last.
    pub messages: usize,
    /// So many files that were shown lately are considered.
    pub recent: usize,
    /// How long each source may take but the search, whose strategies have the deadline of [`retrieve`](PrimeOptions::retrieve).
    pub deadline: Duration,
    /// Now, in seconds since 1970; `None` is the time by the clock of the system when a context is made. Handles for feedback expire
    /// by it, and ages are told by it.
    pub now: Option<i64>,
}

impl Default for PrimeOptions {
    /// 4,000 tokens of which 500 are reserved, the best for the eighth power of what things score, 20 messages, 5 recent
    /// files, as many parts of files as the budget may hold but 40 at least, and a quarter of a second for each source.
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
    /// How many of a thread's last messages are read: one more than are shown, since that which is asked may be among them.
    #[must_use]
    pub fn messages_read(&self) -> usize {
        read_for(self.messages)
    }

    /// The largest budget, reserve included, for which the same is gathered: of what enters at a larger one nothing is known, as the
    /// search finds more for it, and that comes before.
    #[must_use]
    pub fn largest_budget(&self) -> Tokens {
        let max_tokens = self.build.max_tokens.get();
        Tokens::new(self.retrieve.largest_budget(max_tokens, LEAST_PARTS))
    }

    /// The time that contexts are made at, in seconds since 1970.
    pub(crate) fn time(&self) -> i64 {
        self.now.unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            since.map_or(0, |it| i64::try_from(it.as_secs()).unwrap_or(i64::MAX))
        })
    }

    /// Every option but the time, in bytes. Two that differ anywhere differ here: whatever is added to the
    /// options is part of how they are written for debugging.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut timeless = self.clone();
        timeless.now = None;
        timeless.retrieve.now = None;
        *blake3::hash(format!("{timeless:?}").as_bytes()).as_bytes()
    }
}

ctx_model::setters! {
    for PrimeOptions;
    /// Sets what the assembler is told.
    with_build: build: BuildOptions;
    /// Sets how files are searched.
    with_retrieve: retrieve: RetrieveOptions;
    /// Sets what each signal is worth.
    with_profile: profile: Profile;
    /// Sets what must be in.
    with_references: references: Vec<String>;
    /// Sets how many of the thread's last messages are read.
    with_messages: messages: usize;
    /// Sets how many files that were shown lately are considered.
    with_recent: recent: usize;
    /// Sets how long each source may take but the search.
    with_deadline: deadline: Duration;
    /// Sets the time, in seconds since 1970.
    with_now: now: Option<i64>;
}

/// How long each stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PrimeTimings {
    /// Reading the thread and its pins.
    pub history: Duration,
    /// Looking up references, searching, and asking for recent files, side by side.
    pub search: Duration,
    /// Reading files.
    pub resolve: Duration,
    /// Scoring.
    pub score: Duration,
    /// Choosing, and writing the context.
    pub assemble: Duration,
}

/// A stage of making a prime context. One that is kept has the first alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum PrimeStage {
    /// Reading the thread and its pins.
    History,
    /// Looking up references, searching, and asking for recent files.
    Search,
    /// Reading files.
    Resolve,
    /// Scoring.
    Score,
    /// Choosing, and writing the context.
    Assemble,
}

/// Who is told of each stage as it begins.
#[derive(Clone, Default)]
pub(crate) struct Told(Option<Arc<dyn Fn(PrimeStage) + Send + Sync>>);

impl Told {
    pub(crate) fn new(told: Arc<dyn Fn(PrimeStage) + Send + Sync>) -> Self {
        Told(Some(told))
    }

    pub(crate) fn begin(&self, stage: PrimeStage) {
        if let Some(told) = &self.0 {
            told(stage);
        }
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Told" } else { "Nobody" })
    }
}
