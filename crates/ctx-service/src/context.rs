//! The result for a message of a thread.

use std::sync::Arc;

use ctx_citations::{Cited, Resolved, format_citations, resolve};
use ctx_model::{BuiltContext, Citation, LineSpan, Origin, Relevance};
use ctx_rank::Contribution;
use ctx_retrieve::{PortError, PortResult, Report};
use tokio::task::JoinHandle;

use crate::cache::Served;
use crate::compose::Stats;
use crate::gather::{Failure, Unresolved};
use crate::options::PrimeTimings;

/// A candidate that was considered, shown or not.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Item {
    /// Its id in the receipt and in the context.
    pub id: String,
    /// Where it came from.
    pub origin: Origin,
    /// How readers know it.
    pub source: String,
    /// The file it is in.
    pub path: Option<String>,
    /// Its lines.
    pub span: Option<LineSpan>,
    /// Its relevance.
    pub relevance: Relevance,
    /// The five signals. Usage is looked up only for chunks of files. A named item has relevance 1
    /// whatever its signals, and one that contains a quotation of the question may have more than
    /// they yield.
    pub signals: [Contribution; 5],
}

/// The context for one message of a thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PrimeContext {
    /// Its id among the contexts of the owner: a keyed hash of owner, thread, message and receipt.
    /// Byte-identical answers to one message have the same id.
    pub id: String,
    /// Its thread.
    pub thread: Option<String>,
    /// The handle for feedback on the whole context, if feedback is possible: see
    /// [`crate::Service::feedback`].
    pub feedback: Option<String>,
    /// The context and its receipt.
    pub built: Arc<BuiltContext>,
    /// The sources that an answer may cite, in the order shown.
    pub citations: Vec<Cited>,
    /// All candidates considered, by id.
    pub items: Vec<Item>,
    /// The number of candidates by source.
    pub stats: Stats,
    /// References that were not found.
    pub unresolved: Vec<Unresolved>,
    /// Sources that failed and contributed nothing.
    pub failures: Vec<Failure>,
    /// How each strategy of the search fared.
    pub reports: Vec<Report>,
    /// How long each stage took when the context was built.
    pub timings: PrimeTimings,
    /// The hash of each file shown, as it was read.
    pub(crate) files: Vec<(String, [u8; 32])>,
    /// The files that were to be shown, and could not be read.
    pub(crate) unread: Vec<String>,
}

impl PrimeContext {
    /// Resolves the citations in `answer`: see [`resolve`].
    pub fn resolve(&self, answer: &str) -> Resolved {
        resolve(answer, &self.citations)
    }

    /// The list of sources that `resolved` uses: see [`format_citations`].
    pub fn sources(&self, resolved: &Resolved) -> String {
        format_citations(&self.citations, &resolved.used)
    }

    /// About how many bytes of memory it takes. O(parts).
    pub fn bytes(&self) -> usize {
        let built = &*self.built;
        let citation = |it: &Citation| {
            let texts = [&it.id, &it.chunk_id, &it.source, &it.content_hash];
            texts.iter().map(|it| it.len()).sum::<usize>() + size_of::<Citation>()
        };
        let cited = self.citations.iter().map(|it| {
            let excerpt = it.excerpt.as_deref().map_or(0, str::len);
            let feedback = it.feedback.as_deref().map_or(0, str::len);
            it.shown().len() + excerpt + feedback + citation(&it.citation) + size_of::<Cited>()
        });
        let items = self.items.iter().map(|it| {
            let path = it.path.as_deref().map_or(0, str::len);
            it.id.len() + it.source.len() + path + size_of::<Item>()
        });
        let included = built.included.iter();
        let included = included.map(|it| it.why.len() + 4 * it.id.len() + size_of_val(it));
        let omitted = built.omitted.iter();
        let omitted = omitted.map(|it| 2 * it.id.len() + size_of_val(it));
        let parts = cited.chain(items).chain(included).chain(omitted);
        let parts = parts.chain(built.citations.iter().map(citation));
        parts.fold(built.context.len(), usize::saturating_add)
    }

    /// Whether all sources answered, so that the context may be cached.
    pub(crate) fn is_whole(&self) -> bool {
        self.failures.is_empty()
    }
}

/// A prime context, and how it was obtained.
#[derive(Debug)]
#[non_exhaustive]
pub struct Prime {
    /// The context, which may be shared with equal requests.
    pub context: Arc<PrimeContext>,
    /// Whether it was cached, built, or built for an equal request.
    pub served: Served,
    /// Recording when its files were shown, which continues in the background.
    pub recording: Recording,
}

/// Work that continues in the background after an answer. Dropping this does not stop it.
#[derive(Debug, Default)]
pub struct Recording(pub(crate) Option<JoinHandle<PortResult<()>>>);

impl Recording {
    /// Waits until the work is done.
    ///
    /// # Errors
    /// That of the store.
    pub async fn done(self) -> PortResult<()> {
        match self.0 {
            None => Ok(()),
            Some(task) => task
                .await
                .unwrap_or_else(|error| Err(PortError::new(error))),
        }
    }
}
