//! What a prime context is made from, beside what a search finds.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use ctx_model::LineSpan;
use ctx_retrieve::{
    Answer, Feedback, FileSearch, Generation, History, Hold, PortError, References, Usage,
};
use tokio::runtime::Handle;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: String,
    /// Its lines.
    pub lines: LineSpan,
}

/// Remembers what was shown: receipts of contexts do.
#[async_trait]
pub trait Recall: Send + Sync {
    /// For each of `labels`, in their order, the part of a file that a context of `thread` last showed under it;
    /// `None` where there was none, or it is remembered no more.
    async fn places(&self, thread: &str, labels: &[String]) -> Answer<Vec<Option<Place>>>;
}

/// What a store offers to prime contexts. Whatever is missing has no say. All of it is one owner's.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Ports {
    /// Where references are looked up.
    pub search: Option<Arc<dyn FileSearch>>,
    /// What was said before.
    pub history: Option<Arc<dyn History>>,
    /// What is pinned to threads.
    pub references: Option<Arc<dyn References>>,
    /// What was of use, and what was shown last.
    pub usage: Option<Arc<dyn Usage>>,
    /// Where feedback is kept.
    pub feedback: Option<Arc<dyn Feedback>>,
    /// Whether the store still says what it said; without it nothing is cached.
    pub generation: Option<Arc<dyn Generation>>,
    /// Where what a thread was shown is looked up by its labels; without it, only what a context considers anyway
    /// is known by them.
    pub recall: Option<Arc<dyn Recall>>,
}

/// `with_*` for each port.
macro_rules! setters {
    ($($(#[$doc:meta])* $setter:ident: $field:ident: $port:ident;)*) => {
        impl Ports {
            $($(#[$doc])* #[must_use]
            pub fn $setter(mut self, $field: Arc<dyn $port>) -> Self {
                self.$field = Some($field);
                self
            })*
        }
    };
}

setters! {
    /// Looks references up there.
    with_search: search: FileSearch;
    /// Has that history.
    with_history: history: History;
    /// Has those pins.
    with_references: references: References;
    /// Knows what was of use and what was shown.
    with_usage: usage: Usage;
    /// Keeps feedback there.
    with_feedback: feedback: Feedback;
    /// Knows when to forget what it has kept.
    with_generation: generation: Generation;
    /// Remembers what was shown.
    with_recall: recall: Recall;
}

/// What a port answers, which a thread waits for within `hold` that may block: a port may compute, or wait for a disk.
pub(crate) async fn waited_for<T: Send + 'static>(
    hold: Hold,
    answer: impl Future<Output = Answer<T>> + Send + 'static,
) -> Answer<T> {
    let runtime = Handle::current();
    let waited = hold.blocking(move || runtime.block_on(answer)).await;
    waited.unwrap_or_else(|ended| Err(PortError::new(ended)))
}

impl Ports {
    /// All ports of one store but [`Recall`].
    pub fn of<S>(store: &Arc<S>) -> Self
    where
        S: FileSearch + History + References + Usage + Feedback + Generation + 'static,
    {
        Ports::default()
            .with_search(Arc::clone(store) as Arc<dyn FileSearch>)
            .with_history(Arc::clone(store) as Arc<dyn History>)
            .with_references(Arc::clone(store) as Arc<dyn References>)
            .with_usage(Arc::clone(store) as Arc<dyn Usage>)
            .with_feedback(Arc::clone(store) as Arc<dyn Feedback>)
            .with_generation(Arc::clone(store) as Arc<dyn Generation>)
    }
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("search", &self.search.is_some())
            .field("history", &self.history.is_some())
            .field("references", &self.references.is_some())
            .field("usage", &self.usage.is_some())
            .field("feedback", &self.feedback.is_some())
            .field("generation", &self.generation.is_some())
            .field("recall", &self.recall.is_some())
            .finish()
    }
}
