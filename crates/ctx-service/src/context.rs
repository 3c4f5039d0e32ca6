//! What a message of a thread comes to.

use std::sync::Arc;

use ctx_model::{BuiltContext, LineSpan, Origin, Relevance};
use ctx_rank::Contribution;
use ctx_retrieve::{Answer, PortError, Report};
use tokio::task::JoinHandle;

use crate::cache::Served;
use crate::cited::Cited;
use crate::compose::Stats;
use crate::gather::{Failure, Unresolved};
use crate::options::PrimeTimings;
use crate::{Resolved, format_citations, resolve};

/// Something that was considered, shown or not.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Item {
    /// What the receipt and the context call it.
    pub id: String,
    /// Where it came from.
    pub origin: Origin,
    /// What a reader knows it by.
    pub source: String,
    /// The file it is in.
    pub path: Option<String>,
    /// Its lines.
    pub span: Option<LineSpan>,
    /// What it is worth.
    pub relevance: Relevance,
    /// The five signals. How often it was of use is not looked up of what is in no file. What was named is worth 1 whatever they say, and
    /// what says what is quoted may be worth more than they say.
    pub signals: [Contribution; 5],
}

/// The best context for one message of a thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PrimeContext {
    /// What tells it from any other of its owner: a keyed hash of owner, thread and receipt. Answers that are
    /// alike in every byte have one id.
    pub id: String,
    /// What feedback on all of it is given with, where there can be any: see [`crate::Service::feedback`].
    pub feedback: Option<String>,
    /// The context and its receipt.
    pub built: Arc<BuiltContext>,
    /// What an answer may cite, in the order shown.
    pub citations: Vec<Cited>,
    /// All that was considered, by id.
    pub items: Vec<Item>,
    /// How many there were of each sort.
    pub stats: Stats,
    /// What was named and not found.
    pub unresolved: Vec<Unresolved>,
    /// Sources that have no say in it.
    pub failures: Vec<Failure>,
    /// How each strategy of the search fared.
    pub reports: Vec<Report>,
    /// How long each stage took, when it was made.
    pub timings: PrimeTimings,
    /// The hash of each file that is shown, when it was read.
    pub(crate) files: Vec<(String, [u8; 32])>,
}

impl PrimeContext {
    /// Finds what `answer` cites of it: see [`resolve`].
    pub fn resolve(&self, answer: &str) -> Resolved {
        resolve(answer, &self.citations)
    }

    /// The list of the sources that `resolved` uses: see [`format_citations`].
    pub fn sources(&self, resolved: &Resolved) -> String {
        format_citations(&self.citations, &resolved.used)
    }

    /// Whether all had their say, so that the next to ask may have the same.
    pub(crate) fn is_whole(&self) -> bool {
        self.failures.is_empty()
    }
}

/// A prime context, and how it came about.
#[derive(Debug)]
#[non_exhaustive]
pub struct Prime {
    /// The context. Whoever asked the same may hold it too.
    pub context: Arc<PrimeContext>,
    /// Whether it was kept, made, or made for somebody else.
    pub served: Served,
    /// Noting when its files were shown, which goes on behind it.
    pub recording: Recording,
}

/// Work that goes on behind an answer. Dropping this does not end it.
#[derive(Debug, Default)]
pub struct Recording(pub(crate) Option<JoinHandle<Answer<()>>>);

impl Recording {
    /// Waits until it is done.
    ///
    /// # Errors
    /// That of the store.
    pub async fn done(self) -> Answer<()> {
        match self.0 {
            None => Ok(()),
            Some(task) => task
                .await
                .unwrap_or_else(|error| Err(PortError::new(error))),
        }
    }
}
