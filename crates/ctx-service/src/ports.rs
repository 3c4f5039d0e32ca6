//! The sources of a prime context besides the search.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use ctx_model::LineSpan;
use ctx_retrieve::{
    Feedback, FileSearch, Generation, History, PortError, PortResult, References, TaskScope, Usage,
};
use tokio::runtime::Handle;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRef {
    /// The path of the file.
    pub path: String,
    /// Its lines.
    pub lines: LineSpan,
}

/// A record of what was shown, such as the receipts of contexts. Its laws are
/// `ctx_testkit::laws::recall`.
#[async_trait]
pub trait Recall: Send + Sync {
    /// For each of `labels`, in order, the part of a file that a context of `thread` last showed
    /// under it; `None` if there was none, or it is no longer recorded.
    async fn parts(&self, thread: &str, labels: &[String]) -> PortResult<Vec<Option<PartRef>>>;
}

/// The ports of a store that prime contexts use, all of one owner. A missing port contributes
/// nothing.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Ports {
    /// Looks up references.
    pub search: Option<Arc<dyn FileSearch>>,
    /// The messages of threads.
    pub history: Option<Arc<dyn History>>,
    /// The pins of threads.
    pub references: Option<Arc<dyn References>>,
    /// How often files were useful, and which were shown last.
    pub usage: Option<Arc<dyn Usage>>,
    /// Records feedback.
    pub feedback: Option<Arc<dyn Feedback>>,
    /// The generation of the store; without it nothing is cached.
    pub generation: Option<Arc<dyn Generation>>,
    /// Looks up what a thread was shown by labels; without it, a label only refers to chunks that
    /// the context considers anyway.
    pub recall: Option<Arc<dyn Recall>>,
}

/// Defines `with_*` for each port.
macro_rules! port_setters {
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

port_setters! {
    /// Sets the port that looks up references.
    with_search: search: FileSearch;
    /// Sets the port for messages.
    with_history: history: History;
    /// Sets the port for pins.
    with_references: references: References;
    /// Sets the port for usage.
    with_usage: usage: Usage;
    /// Sets the port for feedback.
    with_feedback: feedback: Feedback;
    /// Sets the port for the generation of the store.
    with_generation: generation: Generation;
    /// Sets the port for what was shown.
    with_recall: recall: Recall;
}

/// Runs a port's call on a blocking thread within `scope`, since a port may compute or wait for a
/// disk.
pub(crate) async fn waited_for<T: Send + 'static>(
    scope: TaskScope,
    answer: impl Future<Output = PortResult<T>> + Send + 'static,
) -> PortResult<T> {
    let runtime = Handle::current();
    let waited = scope.blocking(move || runtime.block_on(answer)).await;
    waited.unwrap_or_else(|ended| Err(PortError::new(ended)))
}

impl Ports {
    /// All ports of one store except [`Recall`].
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
