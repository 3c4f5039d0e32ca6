//! The assembler as a service holds it: asynchronous, object-safe, cancellable.

use std::sync::Arc;

use async_trait::async_trait;
use ctx_format::Block;
use ctx_model::{BuildOptions, BuiltContext, Chunk, CounterName, LineSpan, Tokens};
use ctx_tokens::Counters;

use crate::assemble::formatter_of;
use crate::{AssembleError, Clock, Control, assemble_each_line_once};

/// One chunk, formatted on its own: a fragment, not a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormattedChunk {
    /// The text.
    pub text: String,
    /// What it costs by the counter of the options.
    pub tokens: Tokens,
    /// The file it is in.
    pub path: Option<String>,
    /// The lines of that file which the text shows; none where those of expanded context cannot be told.
    pub span: Option<LineSpan>,
}

/// Turns chunks into contexts. Its laws are `ctx_testkit::laws::assembler`.
#[async_trait]
pub trait Assembler: Send + Sync {
    /// Builds one context. That of this crate shows each line once, of chunks with renditions too
    /// ([`assemble_each_line_once`](crate::assemble_each_line_once)).
    ///
    /// Raising the flag of `control`, or dropping the future, ends the work once what is being counted is counted: a quarter of
    /// a MiB and the rest of its line, which is within 10 ms with the counters of `ctx-tokens` whose weights add up at safe joints. Those
    /// are all but `TokenizerJson`. A counter that never adds up ([`Additivity::Never`](ctx_tokens::Additivity::Never), the default of
    /// one's own) is given whole blocks, and the whole context.
    ///
    /// # Errors
    /// As [`assemble`](crate::assemble); [`AssembleError::Tokens`] when there is no counter of
    /// the name that the options give, and [`AssembleError::Lost`] when the counter panics.
    ///
    /// # Panics
    /// Where the assembler needs a runtime and there is none: [`ContextAssembler`] needs one of tokio.
    async fn assemble(
        &self,
        chunks: Vec<Chunk>,
        options: BuildOptions,
        control: Control,
    ) -> Result<BuiltContext, AssembleError>;

    /// Formats one chunk on its own, all of it: its expanded context, else its content.
    ///
    /// # Errors
    /// [`AssembleError::Format`] and [`AssembleError::Tokens`].
    fn format_chunk(
        &self,
        chunk: &Chunk,
        options: &BuildOptions,
    ) -> Result<FormattedChunk, AssembleError>;

    /// Counts or estimates the tokens of `text`.
    ///
    /// # Errors
    /// [`AssembleError::Tokens`] when there is no counter of that name.
    fn estimate_tokens(&self, text: &str, counter: &CounterName) -> Result<Tokens, AssembleError>;
}

/// The assembler of this crate. It keeps nothing between two calls but what its [`Counters`] keep, which its clones
/// share.
///
/// [`assemble`](Assembler::assemble) works on a blocking thread of the tokio runtime that its future is awaited in, and
/// panics elsewhere; [`assemble`](crate::assemble), the function, needs none. What else there is needs none either.
#[derive(Clone, Default)]
pub struct ContextAssembler {
    clock: Option<Arc<dyn Clock>>,
    counters: Arc<Counters>,
}

impl ContextAssembler {
    /// An assembler that does not tell how long it took.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells how long it took, by this clock, where it is handed no other.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Counts with these, which others may share: what the options ask for by name may be a counter of one's own.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.counters = counters;
        self
    }
}

impl std::fmt::Debug for ContextAssembler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContextAssembler")
            .field("clock", &self.clock.is_some())
            .field("counters", &self.counters)
            .finish()
    }
}

#[async_trait]
impl Assembler for ContextAssembler {
    async fn assemble(
        &self,
        chunks: Vec<Chunk>,
        options: BuildOptions,
        control: Control,
    ) -> Result<BuiltContext, AssembleError> {
        let counters = Arc::clone(&self.counters);
        let cancel = control.cancel.child();
        let control = Control {
            cancel: cancel.clone(),
            clock: control.clock.or_else(|| self.clock.clone()),
            ..control
        };
        // Should the future be dropped, nobody waits for the answer any more.
        let _guard = cancel.drop_guard();
        let span = tracing::Span::current();
        let build = move || {
            // Where it is a file, it is read now, or another waited for who reads it.
            let counter = counters.get(&options.counter)?;
            assemble_each_line_once(&chunks, &options, &*counter, &control)
        };
        let work = move || span.in_scope(build);
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|lost| AssembleError::Lost {
                source: lost.into(),
            })?
    }

    fn format_chunk(
        &self,
        chunk: &Chunk,
        options: &BuildOptions,
    ) -> Result<FormattedChunk, AssembleError> {
        let counter = self.counters.get(&options.counter)?;
        let block = Block::full(chunk);
        let mut text = String::new();
        formatter_of(options)?.fragment(&block, &mut text);
        Ok(FormattedChunk {
            tokens: counter.count(&text),
            text,
            path: chunk.path.clone(),
            span: block.span,
        })
    }

    fn estimate_tokens(&self, text: &str, counter: &CounterName) -> Result<Tokens, AssembleError> {
        Ok(self.counters.get(counter)?.count(text))
    }
}
