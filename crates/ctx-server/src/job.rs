//! A piece of work, as a store gets it: when it is to stop, and whom its stages are reported to.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_assemble::{Cancel, Control};
use ctx_model::Tokens;
use ctx_retrieve::TaskScope;
use ctx_tokens::Counters;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::backend::BackendError;

/// One piece of work, as passed to the code that does it.
#[derive(Clone)]
pub struct Job {
    /// Raised when nobody waits for the answer any more.
    pub cancel: Cancel,
    /// Since when the answer is waited for.
    pub started: Instant,
    /// How long after `started` the best answer so far is wanted.
    pub deadline: Duration,
    /// How long to wait for each source of a context; a later one contributes nothing.
    pub patience: Duration,
    /// The token counters, by name.
    pub counters: Arc<Counters>,
    /// The largest budget that the caller may ask for, and so the largest one to tell it of.
    pub(crate) most_tokens: Tokens,
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

impl Job {
    /// Work that begins now, stops when `cancel` is raised, and should answer within `deadline`
    /// from now.
    pub fn new(cancel: Cancel, deadline: Duration) -> Self {
        Job {
            cancel,
            started: Instant::now(),
            deadline,
            patience: deadline / 4,
            counters: Arc::default(),
            most_tokens: Tokens::MAX,
            told: None,
        }
    }

    /// Sets since when the work is waited for.
    pub(crate) fn with_started(mut self, started: Instant) -> Self {
        self.started = started;
        self
    }

    /// Sets how long to wait for each source of a context, instead of a quarter of the time until
    /// the deadline.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets the token counters, which all work of a server shares.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.counters = counters;
        self
    }

    /// Sets the largest budget that the caller may ask for.
    pub(crate) fn with_most_tokens(mut self, most: Tokens) -> Self {
        self.most_tokens = most;
        self
    }

    /// Calls `told` as each stage begins.
    #[must_use]
    pub fn with_progress(mut self, told: Arc<dyn Fn(Stage) + Send + Sync>) -> Self {
        self.told = Some(told);
        self
    }

    /// The deadline and the cancellation for assembling, on one thread if the work is
    /// [alone](TaskScope::on_one_thread).
    pub(crate) fn control(&self) -> Control {
        let started = self.started;
        Control::default()
            .with_cancel(self.cancel.clone())
            .with_clock(Arc::new(move || started.elapsed()))
            .with_deadline(Some(self.deadline))
            .with_one_thread(TaskScope::current().is_on_one_thread())
    }

    /// Reports that `stage` begins.
    ///
    /// # Errors
    /// [`BackendError::Cancelled`] if nobody waits any more.
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

/// A stage of a build: reported when it begins, and timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Stage {
    /// Waiting for a turn.
    Queued,
    /// Reading the thread's messages and pinned references.
    History,
    /// Searching for what the message is about.
    Search,
    /// Reading the hits.
    Resolve,
    /// Scoring them.
    Score,
    /// Selecting chunks and writing the context.
    Assemble,
}

impl Stage {
    /// Its name on the wire.
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

/// How long a stage took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// The stage; never `queued`.
    pub stage: Stage,
    /// Its duration in milliseconds.
    pub milliseconds: f64,
}
