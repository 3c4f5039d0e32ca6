//! The assembler as services hold it: asynchronous, object-safe, cancellable.

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
    /// Its number of tokens, by the counter of the options.
    pub tokens: Tokens,
    /// The file it is in.
    pub path: Option<String>,
    /// The lines of that file which the text shows; `None` if those of expanded context cannot be
    /// determined.
    pub span: Option<LineSpan>,
}

/// Turns chunks into contexts. Its laws are `ctx_testkit::laws::assembler`.
#[async_trait]
pub trait Assembler: Send + Sync {
    /// Builds one context. The implementation of this crate shows each line once, even in chunks
    /// with renditions ([`assemble_each_line_once`](crate::assemble_each_line_once)).
    ///
    /// Raising the flag of `control`, or dropping the future, ends the work after the text that is
    /// being counted: a quarter of a MiB and the rest of its line. That takes at most 10 ms with
    /// the counters of `ctx-tokens` whose weights add up at safe joints, which are all but
    /// `TokenizerJson`. A counter whose weights never add up
    /// ([`Additivity::Never`](ctx_tokens::Additivity::Never), the default of custom counters) is
    /// given whole blocks and the whole context.
    ///
    /// # Errors
    /// As [`assemble`](crate::assemble); [`AssembleError::Tokens`] if there is no counter of the
    /// name in the options, and [`AssembleError::Lost`] if the counter panics.
    ///
    /// # Panics
    /// If the assembler needs a runtime and there is none: [`ContextAssembler`] needs one of tokio.
    async fn assemble(
        &self,
        chunks: Vec<Chunk>,
        options: BuildOptions,
        control: Control,
    ) -> Result<BuiltContext, AssembleError>;

    /// Formats one chunk on its own, in full: its expanded context, else its content.
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
    /// [`AssembleError::Tokens`] if there is no counter of that name.
    fn estimate_tokens(&self, text: &str, counter: &CounterName) -> Result<Tokens, AssembleError>;
}

/// The assembler of this crate. Between two calls it keeps only what its [`Counters`] keep, which
/// its clones share.
///
/// [`assemble`](Assembler::assemble) runs on a blocking thread of the tokio runtime in which its
/// future is awaited, and panics outside one. The other methods, and the function
/// [`assemble`](crate::assemble), need no runtime.
#[derive(Clone, Default)]
pub struct ContextAssembler {
    clock: Option<Arc<dyn Clock>>,
    counters: Arc<Counters>,
}

impl ContextAssembler {
    /// Makes an assembler without a clock: it reports no build times.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the clock for build times and deadlines, unless a `control` brings its own.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the registry that names of counters are looked up in, which may hold custom counters
    /// and be shared.
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
        // If the future is dropped, nobody waits for the answer.
        let _guard = cancel.drop_guard();
        let span = tracing::Span::current();
        let build = move || {
            // A counter from a file is read now, or awaited if another thread is reading it.
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
