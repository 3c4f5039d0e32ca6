//! Builds contexts for questions.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_assemble::{AssembleError, Cancel, Control, assemble};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, ChunkKind, CounterName, Omitted, OmittedReason, Origin,
    Relevance, Tokens, Warning,
};
use ctx_rank::{Intent, Query};
use ctx_resolve::{Resolved, Resolver, file_kind, lines_of_pictures};
use ctx_retrieve::{
    DEFAULT_LIMIT, Found, Options as RetrieveOptions, Part, PortError, Retrieved, Retriever,
    TaskFailed, TaskScope,
};
use ctx_tokens::{Counters, SharedCounter, TokenCounter, TokensError};
use tracing::debug;

use crate::cache::Cache;
use crate::context::PrimeContext;
use crate::gather::Required;
use crate::memory::Memory;
use crate::options::{PrimeStage, StageListener};
use crate::owner::{OwnerId, SigningKey};
use crate::ports::Ports;
use crate::prose::{Prose, below_min_chance};
use crate::verbatim::Raised;
use crate::{verbatim, whole};

/// The most terms of a question that determine the lines of an excerpt.
pub(crate) const EXCERPT_TERMS: usize = 12;
/// The most blank lines shown after a part of code: changes add lines there.
pub(crate) const BLANK_LINES: u32 = 3;
/// The share of a part's information in the lines that the question names, or in what it quotes.
pub(crate) const ASKED_FOR: f64 = 0.8;
/// The approximate relevance of the best part that a search finds.
const BEST: f64 = 0.4;
/// Up to this budget, in tokens, a question about the project is answered without the pictures at
/// the beginning of its `README`.
const FEW_TOKENS: Tokens = Tokens::new(2_000);

/// Builds contexts for questions; every tool and server of this workspace uses it.
#[derive(Clone, Debug)]
pub struct Service {
    pub(crate) retriever: Retriever,
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) ports: Ports,
    pub(crate) owner: OwnerId,
    pub(crate) signing_key: Option<SigningKey>,
    pub(crate) cache: Option<Arc<Cache<PrimeContext>>>,
    pub(crate) stages: StageListener,
    pub(crate) memory: Arc<Memory>,
    counters: Arc<Counters>,
    /// The name of the project whose files are searched.
    pub(crate) project: Option<String>,
    /// Whether the times at which files were shown are recorded.
    pub(crate) records: bool,
}

/// The parts found for a question, read and weighed: the material for a context.
#[derive(Debug)]
#[non_exhaustive]
pub struct Material {
    /// The analysed question.
    pub query: Arc<Query>,
    /// What was found, and how each strategy fared.
    pub retrieved: Retrieved,
    /// The parts found as they are in their files, with all their renditions.
    pub chunks: Vec<Chunk>,
    /// Passages that were found and have no sentence that is likely enough, as they are in their
    /// files.
    pub unlikely: Vec<Chunk>,
    /// The parts that are worth more because they say what the question quotes.
    pub raised: Vec<Raised>,
    /// Parts that were found and are not in `chunks`, with the reason.
    pub omitted: Vec<Omitted>,
    /// Differences between the files and what the search reported, and other warnings.
    pub warnings: Vec<Warning>,
    /// How long each stage took; assembling took nothing yet, unless this is of an [`Answer`].
    pub timings: Timings,
}

/// The answer to a question.
#[derive(Debug)]
#[non_exhaustive]
pub struct Answer {
    /// What the context was assembled from. What it omits and warns of is also in the receipt.
    pub material: Material,
    /// The context and its receipt.
    pub built: BuiltContext,
}

/// How long each stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// Analysing the question.
    pub analyse: Duration,
    /// Finding parts of files.
    pub retrieve: Duration,
    /// Reading the parts.
    pub resolve: Duration,
    /// Selecting parts and writing the context.
    pub assemble: Duration,
}

/// Why there is no context.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The counter cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The context cannot be assembled: most often the budget does not even hold its frame.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// A required reference could not be looked up or read, because the store was late or cannot be
    /// reached. Retrying soon may succeed.
    #[error("look up {what}")]
    Unavailable {
        /// What was required.
        what: Required,
        /// The reason, which [is transient](PortError::is_transient).
        source: PortError,
    },
    /// An equal request at the same time failed: see [`ServiceError::own`].
    #[error(transparent)]
    Shared(Arc<ServiceError>),
    /// A worker thread ended before its work did.
    #[error("finish")]
    Thread(#[from] TaskFailed),
}

impl ServiceError {
    /// The error itself, if it is shared with an equal request.
    pub fn own(&self) -> &ServiceError {
        match self {
            ServiceError::Shared(error) => error.own(),
            error => error,
        }
    }
}

impl Service {
    /// Finds parts with `retriever`, and reads them with `resolver`.
    pub fn new(retriever: Retriever, resolver: Arc<Resolver>) -> Self {
        Service {
            retriever,
            resolver,
            ports: Ports::default(),
            owner: OwnerId::default(),
            signing_key: None,
            cache: None,
            stages: StageListener::default(),
            memory: Arc::default(),
            counters: Arc::default(),
            project: None,
            records: true,
        }
    }

    /// Builds prime contexts from `ports`, which belong to `owner`.
    #[must_use]
    pub fn for_owner(mut self, owner: OwnerId, ports: Ports) -> Self {
        self.owner = owner;
        self.ports = ports;
        self
    }

    /// Makes labels and feedback handles with this key. Without one, anyone who knows the owner,
    /// the thread and a text can guess its label, and there is no feedback.
    #[must_use]
    pub fn with_signing_key(mut self, key: SigningKey) -> Self {
        self.signing_key = Some(key);
        self
    }

    /// Caches prime contexts in `cache`, which services of any number of owners may share.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<Cache<PrimeContext>>) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Removes the owner's contexts for which `is_it` holds from the cache. One that is being built
    /// meanwhile may be cached after this. O(cached contexts).
    pub async fn forget(&self, is_it: impl Fn(&PrimeContext) -> bool) {
        if let Some(cache) = &self.cache {
            cache.forget_of(&self.owner, is_it).await;
        }
    }

    /// Caches data about texts in `memory`, which any number of services may share.
    #[must_use]
    pub fn with_memory(mut self, memory: Arc<Memory>) -> Self {
        self.memory = memory;
        self
    }

    /// Treats the files as those of the project at `root`, named after its folder if that is a
    /// repository: see [`Query::in_project`]. The name of a folder inside a repository may be that
    /// of a part.
    #[must_use]
    pub fn for_project(mut self, root: &Path) -> Self {
        let name = root.file_name().filter(|_| root.join(".git").exists());
        self.project = name.map(|it| it.to_string_lossy().into_owned());
        self
    }

    /// Sets the counters, which may be shared. Options may then name custom ones.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.counters = counters;
        self
    }

    /// Does not record when files were shown; the caller that stores the contexts does that with
    /// each of them.
    #[must_use]
    pub fn without_recording(mut self) -> Self {
        self.records = false;
        self
    }

    /// Calls `listener` as each stage of a prime context begins, on any thread. If equal requests
    /// are coalesced, only the one that runs reports stages after the first.
    #[must_use]
    pub fn with_progress(mut self, listener: Arc<dyn Fn(PrimeStage) + Send + Sync>) -> Self {
        self.stages = StageListener::new(listener);
        self
    }

    /// Analyses `question` as one about the project.
    pub(crate) fn analyse(&self, question: &str) -> Query {
        let query = Query::analyse(question);
        match &self.project {
            Some(name) => query.in_project(name),
            None => query,
        }
    }

    /// The counter of this name, with a cache for its counts.
    ///
    /// # Errors
    /// Those of [`Counters::get`].
    pub(crate) fn counter(&self, name: &CounterName) -> Result<SharedCounter, TokensError> {
        Ok(self.memory.counting(self.counters.known(name)?))
    }

    /// `control`, limited to one thread if the current work is [alone](TaskScope::on_one_thread).
    pub(crate) fn control_here(control: &Control) -> Control {
        let mut control = control.clone();
        control.one_thread |= TaskScope::current().is_on_one_thread();
        control
    }

    /// The resolver with as many threads as `control` allows, which stops reading files once
    /// `control` is cancelled.
    pub(crate) fn resolver_for(&self, control: &Control) -> Resolver {
        let cancel = control.cancel.clone();
        let resolver =
            Resolver::clone(&self.resolver).while_awaited(move || !cancel.is_cancelled());
        if control.one_thread {
            resolver.on_one_thread()
        } else {
            resolver
        }
    }

    /// Finds the parts to show for `question` in a context of `max_tokens`, counted by the counter
    /// of that name. Dropping the future cancels the work.
    ///
    /// # Errors
    /// Those of the counter; [`AssembleError::Cancelled`].
    ///
    /// # Panics
    /// Outside a tokio runtime with its timers enabled.
    pub async fn find(
        &self,
        question: &str,
        retrieve: &RetrieveOptions,
        max_tokens: Tokens,
        counter: &CounterName,
        control: &Control,
    ) -> Result<Material, ServiceError> {
        let cancel = control.cancel.child();
        let control = Service::control_here(control).with_cancel(cancel.clone());
        // Dropping the future cancels the work.
        let _guard = cancel.drop_guard();
        let counter = self.counter_aside(counter).await?;
        self.find_by(question, retrieve, max_tokens, counter, &control)
            .await
    }

    /// Calls [`Service::counter`] on a blocking thread, since it may read a tokenizer file.
    pub(crate) async fn counter_aside(
        &self,
        name: &CounterName,
    ) -> Result<SharedCounter, ServiceError> {
        let (service, name) = (self.clone(), name.clone());
        let counter = TaskScope::current().blocking(move || service.counter(&name));
        Ok(counter.await??)
    }

    /// What `find` comes to, once more if what is searched was updated meanwhile: lines that were
    /// found before and read afterwards may be others.
    pub(crate) async fn in_one_state<T, F>(&self, find: impl Fn() -> F) -> Result<T, ServiceError>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let version = self.retriever.version();
        let found = find().await?;
        if self.retriever.version() == version {
            return Ok(found);
        }
        find().await
    }

    async fn find_by(
        &self,
        question: &str,
        retrieve: &RetrieveOptions,
        max_tokens: Tokens,
        counter: SharedCounter,
        control: &Control,
    ) -> Result<Material, ServiceError> {
        self.in_one_state(|| {
            let counter = counter.clone();
            self.find_once(question, retrieve, max_tokens, counter, control)
        })
        .await
    }

    async fn find_once(
        &self,
        question: &str,
        retrieve: &RetrieveOptions,
        max_tokens: Tokens,
        counter: SharedCounter,
        control: &Control,
    ) -> Result<Material, ServiceError> {
        let mut timings = Timings::default();
        let mut clock = Instant::now();
        let retrieve = retrieve.clone().for_budget(max_tokens, DEFAULT_LIMIT);
        let query = Arc::new(self.analyse(question));
        timings.analyse = lap(&mut clock);
        let retrieved = self.retriever.retrieve(&query, &retrieve).await;
        timings.retrieve = lap(&mut clock);
        let is_brief = max_tokens <= FEW_TOKENS && query.asks_for(Intent::Project);
        let without_pictures = if is_brief {
            retrieved.whole.clone()
        } else {
            BTreeSet::new()
        };
        let unread = Unread {
            chunks: chunks_of(&query, &retrieved.found),
            resolver: self
                .resolver_for(control)
                .with_lines(retrieved.lines.clone(), share_of_named_lines(&query))
                .with_blank_lines(BLANK_LINES)
                .without_pictures(without_pictures),
            prose: Prose::of(&query, &retrieved, retrieve.min_chance),
            query: Arc::clone(&query),
            is_brief,
            counter,
            memory: Arc::clone(&self.memory),
            cancel: control.cancel.clone(),
        };
        let read = TaskScope::current().blocking(move || unread.read());
        let (found, unlikely, raised) = read.await??;
        let mut warnings = found.warnings;
        warnings.extend(retrieved.warnings.iter().cloned());
        timings.resolve = lap(&mut clock);
        Ok(Material {
            query,
            retrieved,
            chunks: found.chunks,
            unlikely,
            raised,
            omitted: found.omitted,
            warnings,
            timings,
        })
    }

    /// Builds the context for `question` from what is [found](Service::find). A question without a
    /// term has an empty one. Dropping the future cancels the work.
    ///
    /// # Errors
    /// Those of the counter and of the assembler.
    ///
    /// # Panics
    /// Outside a tokio runtime with its timers enabled.
    pub async fn answer(
        &self,
        question: &str,
        retrieve: &RetrieveOptions,
        build: &BuildOptions,
        control: &Control,
    ) -> Result<Answer, ServiceError> {
        let cancel = control.cancel.child();
        let control = Service::control_here(control).with_cancel(cancel.clone());
        let _guard = cancel.drop_guard();
        let counter = self.counter_aside(&build.counter).await?;
        let same = counter.clone();
        let found = self.find_by(question, retrieve, build.max_tokens, same, &control);
        let mut material = found.await?;
        let mut clock = Instant::now();
        let largest = retrieve.largest_budget(build.max_tokens, DEFAULT_LIMIT);
        let (options, chunks) = (build.clone(), material.chunks);
        let work = move || -> Result<_, ServiceError> {
            let counter: &dyn TokenCounter = &*counter.counter;
            let context = assemble(&chunks, &options, &counter, &control)?;
            Ok((chunks, context))
        };
        let (chunks, mut context) = TaskScope::current().blocking(work).await??;
        material.chunks = chunks;
        forget_entries_beyond(largest, &mut context);
        context.omitted.extend(material.omitted.iter().cloned());
        context.warnings.extend(material.warnings.iter().cloned());
        material.timings.assemble = lap(&mut clock);
        debug!(timings = ?material.timings, "answered");
        Ok(Answer {
            material,
            built: context,
        })
    }
}

/// Parts that a search found, before their files are read.
struct Unread {
    query: Arc<Query>,
    chunks: Vec<Chunk>,
    resolver: Resolver,
    prose: Prose,
    /// Whether the pictures at the beginning of a file take room that its text needs.
    is_brief: bool,
    counter: SharedCounter,
    memory: Arc<Memory>,
    cancel: Cancel,
}

impl Unread {
    /// Reads the parts and weighs them: by their sentences, by what the question quotes, and where
    /// it asks for a whole file, from its start. Returns them with those of unlikely sentences, and
    /// what was raised.
    fn read(self) -> Result<(Resolved, Vec<Chunk>, Vec<Raised>), AssembleError> {
        let is_awaited = || !self.cancel.is_cancelled();
        let check = || {
            if is_awaited() {
                Ok(())
            } else {
                Err(AssembleError::Cancelled)
            }
        };
        let prose = &self.prose;
        let mut found = self.resolver.resolve(self.chunks);
        check()?;
        found.omitted.extend(each_location_once(&mut found.chunks));
        let unlikely = prose.weigh(&mut found.chunks, |_| true, &mut self.memory.analyzer());
        check()?;
        found.omitted.extend(unlikely.iter().map(below_min_chance));
        let best = Relevance::new(BEST).unwrap_or(Relevance::ZERO);
        let raised = verbatim::raise(&self.query, best, &mut found.chunks, &is_awaited);
        check()?;
        let counter: &dyn TokenCounter = &*self.counter.counter;
        let is_front = |it: &Chunk| self.is_brief && prose.is_of_whole(it) && is_of_pictures(it);
        let is_wanted = |it: &Chunk| prose.is_of_whole(it) && !is_front(it);
        whole::from_the_start(is_wanted, best, counter, &mut found.chunks);
        for chunk in found.chunks.iter_mut().filter(|it| is_front(it)) {
            chunk.relevance = Relevance::ZERO;
            // Parts of pictures are only tags.
            chunk.renditions.clear();
        }
        Ok((found, unlikely, raised))
    }
}

/// Removes budgets beyond `largest` from `enters_at`: for those more is found and considered, so it
/// is not known what enters.
pub(crate) fn forget_entries_beyond(largest: Tokens, built: &mut BuiltContext) {
    for omitted in &mut built.omitted {
        omitted.enters_at = omitted.enters_at.filter(|it| *it <= largest);
    }
}

pub(crate) fn lap(clock: &mut Instant) -> Duration {
    let now = Instant::now();
    let took = now - *clock;
    *clock = now;
    took
}

/// The share of a part's information in the lines that `query` names: in a short question these are
/// what it asks for, in a report only where something was seen.
pub(crate) fn share_of_named_lines(query: &Query) -> f64 {
    if query.typed.is_some() {
        ASKED_FOR
    } else {
        0.0
    }
}

/// The parts found as chunks, without text.
pub(crate) fn chunks_of(query: &Query, found: &[Found]) -> Vec<Chunk> {
    let keywords = keywords(query);
    let chunk = |it: &Found| {
        let (part, score) = (&it.part, it.chance);
        let id = format!("{}:{}-{}", part.path, part.span.start(), part.span.end());
        let relevance = Relevance::new(score).unwrap_or(Relevance::ZERO);
        let mut chunk = Chunk::new(id, "", relevance)
            .with_kind(chunk_kind(part))
            .with_path(part.path.clone())
            .with_span(part.span);
        chunk.origin = Origin::Chunk;
        chunk.name.clone_from(&part.name);
        chunk.qualified_name.clone_from(&part.qualified_name);
        chunk.language.clone_from(&part.language);
        chunk.matched_keywords = Arc::clone(&keywords);
        chunk
    };
    let mut chunks: Vec<Chunk> = found.iter().map(chunk).collect();
    chunks.sort_by(|a, b| a.id.cmp(&b.id));
    chunks
}

/// Removes each chunk that has moved to where another one is, which gets the greater relevance of
/// both. O(n log n) for n chunks.
pub(crate) fn each_location_once(chunks: &mut Vec<Chunk>) -> Vec<Omitted> {
    let mut locations = BTreeMap::new();
    let mut omitted = Vec::new();
    for chunk in std::mem::take(chunks) {
        match locations.entry((chunk.path.clone(), chunk.span)) {
            Entry::Vacant(entry) => {
                entry.insert(chunks.len());
                chunks.push(chunk);
            }
            Entry::Occupied(entry) => {
                let first = &mut chunks[*entry.get()];
                first.relevance = first.relevance.max(chunk.relevance);
                let again = Omitted::new(chunk.id, OmittedReason::DuplicateOf);
                omitted.push(again.with_other(&*first.id));
            }
        }
    }
    omitted
}

/// The words by which lines for excerpts are chosen.
pub(crate) fn keywords(query: &Query) -> Arc<[String]> {
    let names = query.names_outside_code().map(|it| it.last.clone());
    let terms = query
        .terms
        .iter()
        .take(EXCERPT_TERMS)
        .map(|it| it.text.clone());
    let options = query.mentions.options.iter().cloned();
    let all = names.chain(terms).chain(options);
    let mut keywords: Vec<String> = all.filter(|it| it.len() > 2).collect();
    keywords.sort_unstable();
    keywords.dedup();
    keywords.into()
}

/// Whether `chunk` is the beginning of its file and shows only pictures.
fn is_of_pictures(chunk: &Chunk) -> bool {
    let text = chunk.full_text();
    let is_first = chunk.span.is_some_and(|it| it.start() == 1);
    is_first && lines_of_pictures(text) == text.lines().count()
}

/// The kind of chunk for `part`.
pub(crate) fn chunk_kind(part: &Part) -> ChunkKind {
    let of_file = file_kind(&part.path, part.language.as_deref());
    part.kind.chunk_kind(of_file)
}

#[cfg(test)]
mod tests {
    use ctx_model::{Category, LineSpan};

    use super::*;

    #[test]
    fn parts_of_documents_are_documentation_whatever_their_kind() {
        let category = |path: &str, kind: &str| {
            let mut part = Part::new(path, LineSpan::new(1, 9).unwrap());
            part.kind = kind.parse().unwrap();
            chunk_kind(&part).category()
        };
        for (path, kind, expected) in [
            ("docs/guide.md", "section", Category::Documentation),
            ("docs/guide.rst", "lines", Category::Documentation),
            ("LICENSE", "lines", Category::Documentation),
            ("pyproject.toml", "section", Category::Code),
            ("src/pool.py", "lines", Category::Code),
            ("src/pool.py", "function", Category::Code),
        ] {
            assert_eq!(category(path, kind), expected, "{path} {kind}");
        }
    }
}
