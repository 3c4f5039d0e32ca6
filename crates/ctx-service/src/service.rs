//! From a question to a context.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_assemble::{AssembleError, Control, assemble};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, ChunkKind, CounterName, Omitted, OmittedReason, Origin,
    Relevance, Tokens, Warning,
};
use ctx_rank::{Name, Query, Region};
use ctx_resolve::{Resolver, file_kind, lines_of_pictures};
use ctx_retrieve::{
    Ended, Found, Hold, Options as RetrieveOptions, PARTS, Part, PortError, Retrieved, Retriever,
};
use ctx_tokens::{Counters, SharedCounter, TokenCounter, TokensError};
use tracing::debug;

use crate::cache::Cache;
use crate::context::PrimeContext;
use crate::gather::Required;
use crate::memory::Memory;
use crate::options::{PrimeStage, Told};
use crate::owner::{Owner, Secret};
use crate::ports::Ports;
use crate::prose::{Prose, below_min_chance};
use crate::{verbatim, whole};

/// So many of a question's terms tell which lines an excerpt shows.
pub(crate) const EXCERPT_TERMS: usize = 12;
/// So much of a part is told by what of it is asked for: its lines that are named, or what is quoted of it.
pub(crate) const ASKED_FOR: f64 = 0.8;
/// What the first of a search is worth, about.
const BEST: f64 = 0.4;
/// In so many tokens at most a question about the project is answered without the pictures at the beginning of its `README`.
const FEW_TOKENS: u32 = 2_000;

/// A question in, a context out: what every tool and server of this workspace goes through.
#[derive(Clone, Debug)]
pub struct Service {
    pub(crate) retriever: Retriever,
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) ports: Ports,
    pub(crate) owner: Owner,
    pub(crate) secret: Option<Secret>,
    pub(crate) cache: Option<Arc<Cache<PrimeContext>>>,
    pub(crate) told: Told,
    pub(crate) memory: Arc<Memory>,
    counters: Arc<Counters>,
    /// What the project is called whose files they are.
    pub(crate) project: Option<String>,
    /// Whether what was shown is noted behind answers.
    pub(crate) records: bool,
}

/// What is found for a question, read and weighed: what a context is assembled of.
#[derive(Debug)]
#[non_exhaustive]
pub struct Material {
    /// The question, taken apart.
    pub query: Arc<Query>,
    /// What was found, and how each strategy fared.
    pub retrieved: Retrieved,
    /// What was found as it is in its files, with all that it can be shown as.
    pub chunks: Vec<Chunk>,
    /// Passages that were found and have no sentence that is likely enough, as they are in their files.
    pub unlikely: Vec<Chunk>,
    /// What was found and is in neither, or in `unlikely` alone, and why.
    pub omitted: Vec<Omitted>,
    /// What is not as the search said, or as the files say.
    pub warnings: Vec<Warning>,
    /// How long each stage took; none of it is for assembling.
    pub timings: Timings,
}

/// What came of a question.
#[derive(Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The question, taken apart.
    pub query: Arc<Query>,
    /// What was found, and how each strategy fared.
    pub retrieved: Retrieved,
    /// What was found as it is in its files, with all that it can be shown as.
    pub chunks: Vec<Chunk>,
    /// Passages that were found and have no sentence that is likely enough, as they are in their files.
    pub unlikely: Vec<Chunk>,
    /// The context and its receipt.
    pub built: BuiltContext,
    /// How long each stage took.
    pub timings: Timings,
}

/// How long each stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// Taking the question apart.
    pub analyse: Duration,
    /// Finding parts of files.
    pub retrieve: Duration,
    /// Reading them.
    pub resolve: Duration,
    /// Choosing among them and writing the context.
    pub assemble: Duration,
}

/// Why there is no context.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The counter is unknown.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The context cannot be assembled: most often the budget does not even hold what frames it.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// What a context is not made without could not be looked up or read, as the store was late or cannot be reached. The same may
    /// succeed soon.
    #[error("look up {what}")]
    Untold {
        /// What.
        what: Required,
        /// Why not: it [is transient](PortError::is_transient).
        source: PortError,
    },
    /// It failed for somebody who asked the same at the same time: see [`ServiceError::own`].
    #[error(transparent)]
    Shared(Arc<ServiceError>),
    /// A thread ended before its work did.
    #[error("finish")]
    Thread(#[from] Ended),
}

impl ServiceError {
    /// What failed, whoever asked for it.
    pub fn own(&self) -> &ServiceError {
        match self {
            ServiceError::Shared(error) => error.own(),
            error => error,
        }
    }
}

impl Service {
    /// Finds with `retriever`, and reads with `resolver`.
    pub fn new(retriever: Retriever, resolver: Arc<Resolver>) -> Self {
        Service {
            retriever,
            resolver,
            ports: Ports::default(),
            owner: Owner::default(),
            secret: None,
            cache: None,
            told: Told::default(),
            memory: Arc::default(),
            counters: Arc::default(),
            project: None,
            records: true,
        }
    }

    /// Makes prime contexts from `ports`, which are `owner`'s.
    #[must_use]
    pub fn for_owner(mut self, owner: Owner, ports: Ports) -> Self {
        self.owner = owner;
        self.ports = ports;
        self
    }

    /// Makes labels and feedback handles with `secret`. Without one, labels can be guessed by whoever knows
    /// the owner, the thread and a text, and there is no feedback.
    #[must_use]
    pub fn with_secret(mut self, secret: Secret) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Keeps prime contexts in `cache`, which the services of any number of owners may share.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<Cache<PrimeContext>>) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Remembers texts in `memory`, which any number of services may share.
    #[must_use]
    pub fn with_memory(mut self, memory: Arc<Memory>) -> Self {
        self.memory = memory;
        self
    }

    /// Searches the files of the project at `root`, which is called as its folder is, where that is a repository's: see
    /// [`Query::in_project`]. Of a folder within one, the name may be that of a part.
    #[must_use]
    pub fn for_project(mut self, root: &Path) -> Self {
        let name = root.file_name().filter(|_| root.join(".git").exists());
        self.project = name.map(|it| it.to_string_lossy().into_owned());
        self
    }

    /// Counts with these, which others may share: what options ask for by name may be a counter of one's own.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.counters = counters;
        self
    }

    /// Does not note when files were shown: whoever keeps the contexts does, with each of them.
    #[must_use]
    pub fn without_recording(mut self) -> Self {
        self.records = false;
        self
    }

    /// Has `told` told of each stage of a prime context as it begins, on whatever thread that is. Of equal
    /// requests at the same time, only the one that is worked on is told of more than the first.
    #[must_use]
    pub fn with_progress(mut self, told: Arc<dyn Fn(PrimeStage) + Send + Sync>) -> Self {
        self.told = Told::new(told);
        self
    }

    /// `question`, taken apart as one about the project.
    pub(crate) fn analyse(&self, question: &str) -> Query {
        let query = Query::analyse(question);
        match &self.project {
            Some(name) => query.in_project(name),
            None => query,
        }
    }

    /// The counter of this name, which remembers what it counted.
    ///
    /// # Errors
    /// Those of [`Counters::get`].
    pub(crate) fn counter(&self, name: &CounterName) -> Result<SharedCounter, TokensError> {
        Ok(self.memory.counting(self.counters.known(name)?))
    }

    /// `control`, by which work that is [alone](Hold::alone) is one thread's in all of it.
    pub(crate) fn control_here(control: &Control) -> Control {
        let mut control = control.clone();
        control.one_thread |= Hold::current().is_alone();
        control
    }

    /// What reads, on as many threads as `control` says, and no further file once that was cancelled.
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

    /// What there is to show for `question` in a context of `max_tokens` by the counter of that name. Dropping the future ends the work.
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
        // Should the future be dropped, nobody waits for the answer any more.
        let _guard = cancel.drop_guard();
        let counter = self.counter_aside(counter).await?;
        self.find_by(question, retrieve, max_tokens, counter, &control)
            .await
    }

    /// [`Service::counter`] on a thread that may wait: one of a file is read.
    async fn counter_aside(&self, name: &CounterName) -> Result<SharedCounter, ServiceError> {
        let (service, name) = (self.clone(), name.clone());
        let counter = Hold::current().blocking(move || service.counter(&name));
        Ok(counter.await??)
    }

    async fn find_by(
        &self,
        question: &str,
        retrieve: &RetrieveOptions,
        max_tokens: Tokens,
        counter: SharedCounter,
        control: &Control,
    ) -> Result<Material, ServiceError> {
        let mut timings = Timings::default();
        let mut clock = Instant::now();
        let max_tokens = max_tokens.get();
        let retrieve = retrieve.clone().for_budget(max_tokens, PARTS);
        let query = Arc::new(self.analyse(question));
        timings.analyse = lap(&mut clock);
        let retrieved = self.retriever.retrieve(&query, &retrieve).await;
        timings.retrieve = lap(&mut clock);
        let chunks = chunks_of(&query, &retrieved.found);
        let resolver = self.resolver_for(control);
        let resolver = resolver.with_lines(retrieved.lines.clone(), told_by_lines(&query));
        let is_brief = max_tokens <= FEW_TOKENS && query.is_of_project();
        let resolver = if is_brief {
            resolver.without_pictures(retrieved.whole.clone())
        } else {
            resolver
        };
        let asked = Arc::clone(&query);
        let prose = Prose::of(&query, &retrieved, retrieve.min_chance);
        let cancel = control.cancel.clone();
        let work = move || -> Result<_, ServiceError> {
            let is_awaited = || !cancel.is_cancelled();
            let check = || {
                if is_awaited() {
                    Ok(())
                } else {
                    Err(AssembleError::Cancelled)
                }
            };
            let mut found = resolver.resolve(chunks);
            check()?;
            found.omitted.extend(each_place_once(&mut found.chunks));
            let unlikely = prose.weigh(&mut found.chunks, |_| true);
            check()?;
            found.omitted.extend(unlikely.iter().map(below_min_chance));
            let best = Relevance::new(BEST).unwrap_or(Relevance::ZERO);
            verbatim::raise(&asked, best, &mut found.chunks, &is_awaited);
            check()?;
            let counter: &dyn TokenCounter = &*counter.counter;
            let is_front = |it: &Chunk| is_brief && prose.is_of_whole(it) && is_of_pictures(it);
            let is_wanted = |it: &Chunk| prose.is_of_whole(it) && !is_front(it);
            whole::from_the_start(is_wanted, best, counter, &mut found.chunks);
            for chunk in found.chunks.iter_mut().filter(|it| is_front(it)) {
                chunk.relevance = Relevance::ZERO;
                // A part of them is a tag.
                chunk.renditions.clear();
            }
            Ok((found, unlikely))
        };
        let (found, unlikely) = Hold::current().blocking(work).await??;
        let mut warnings = found.warnings;
        warnings.extend(retrieved.warnings.iter().cloned());
        timings.resolve = lap(&mut clock);
        Ok(Material {
            query,
            retrieved,
            chunks: found.chunks,
            unlikely,
            omitted: found.omitted,
            warnings,
            timings,
        })
    }

    /// The context for `question`: what is [found](Service::find), assembled. A question without a term has an empty one. Dropping the
    /// future ends the work.
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
        let found = found.await?;
        let mut clock = Instant::now();
        let largest = Tokens::new(retrieve.largest_budget(build.max_tokens.get(), PARTS));
        let (options, chunks) = (build.clone(), found.chunks);
        let work = move || -> Result<_, ServiceError> {
            let counter: &dyn TokenCounter = &*counter.counter;
            let context = assemble(&chunks, &options, &counter, &control)?;
            Ok((chunks, context))
        };
        let (chunks, mut context) = Hold::current().blocking(work).await??;
        forget_entries_beyond(largest, &mut context);
        context.omitted.extend(found.omitted);
        context.warnings.extend(found.warnings);
        let mut timings = found.timings;
        timings.assemble = lap(&mut clock);
        debug!(?timings, "answered");
        Ok(Answer {
            query: found.query,
            retrieved: found.retrieved,
            chunks,
            unlikely: found.unlikely,
            built: context,
            timings,
        })
    }
}

/// For a budget beyond `largest` more is looked for, and what is shown is chosen from more: what enters there is not known.
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

/// How much of a part the lines of it tell that `query` names: in a short question they are what is asked for, and in a report where
/// it was seen.
pub(crate) fn told_by_lines(query: &Query) -> f64 {
    if query.typed.is_some() {
        ASKED_FOR
    } else {
        0.0
    }
}

/// What was found as chunks, without their text.
pub(crate) fn chunks_of(query: &Query, found: &[Found]) -> Vec<Chunk> {
    let keywords = keywords(query);
    let chunk = |it: &Found| {
        let (hit, score) = (&it.hit, it.chance);
        let id = format!("{}:{}-{}", hit.path, hit.span.start(), hit.span.end());
        let relevance = Relevance::new(score).unwrap_or(Relevance::ZERO);
        let mut chunk = Chunk::new(id, "", relevance)
            .with_kind(chunk_kind(hit))
            .with_path(hit.path.clone())
            .with_span(hit.span);
        chunk.origin = Origin::Chunk;
        chunk.name.clone_from(&hit.name);
        chunk.qualified_name.clone_from(&hit.qualified_name);
        chunk.language.clone_from(&hit.language);
        chunk.matched_keywords = Arc::clone(&keywords);
        chunk
    };
    let mut chunks: Vec<Chunk> = found.iter().map(chunk).collect();
    chunks.sort_by(|a, b| a.id.cmp(&b.id));
    chunks
}

/// Removes each chunk that has moved to where another one is, which gets the greater relevance of both. O(n log n) for n chunks.
pub(crate) fn each_place_once(chunks: &mut Vec<Chunk>) -> Vec<Omitted> {
    let mut places = BTreeMap::new();
    let mut omitted = Vec::new();
    for chunk in std::mem::take(chunks) {
        match places.entry((chunk.path.clone(), chunk.span)) {
            Entry::Vacant(place) => {
                place.insert(chunks.len());
                chunks.push(chunk);
            }
            Entry::Occupied(place) => {
                let first = &mut chunks[*place.get()];
                first.relevance = first.relevance.max(chunk.relevance);
                let again = Omitted::new(chunk.id, OmittedReason::DuplicateOf);
                omitted.push(again.with_other(&*first.id));
            }
        }
    }
    omitted
}

/// The words that tell which lines of a part the question is about.
pub(crate) fn keywords(query: &Query) -> Arc<[String]> {
    let names = told_names(query).map(|it| it.last.clone());
    let terms = query
        .terms
        .iter()
        .take(EXCERPT_TERMS)
        .map(|it| it.text.clone());
    let mut keywords: Vec<String> = names.chain(terms).filter(|it| it.len() > 2).collect();
    keywords.sort_unstable();
    keywords.dedup();
    keywords.into()
}

/// The identifiers that the question itself names, and no code or trace in it.
pub(crate) fn told_names(query: &Query) -> impl Iterator<Item = &Name> {
    let is_told = |region: Region| !matches!(region, Region::CodeBlock | Region::Trace);
    query.names.iter().filter(move |it| is_told(it.region))
}

/// Whether `chunk` is the beginning of its file, and shows nothing but pictures.
fn is_of_pictures(chunk: &Chunk) -> bool {
    let text = chunk.full_text();
    let is_first = chunk.span.is_some_and(|it| it.start() == 1);
    is_first && lines_of_pictures(text) == text.lines().count()
}

/// What the store calls `part` as a kind of chunk. It has runs of lines of documents, too, and sections of settings.
pub(crate) fn chunk_kind(part: &Part) -> ChunkKind {
    let of_file = || file_kind(&part.path, part.language.as_deref());
    match &*part.kind {
        "function" => ChunkKind::Function,
        "method" => ChunkKind::Method,
        "class" | "struct" | "enum" | "impl" => ChunkKind::Class,
        "interface" => ChunkKind::Interface,
        "module" => ChunkKind::Module,
        "type" => ChunkKind::Type,
        "section" if of_file() == ChunkKind::Document => ChunkKind::Section,
        "section" | "lines" => of_file(),
        other => ChunkKind::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use ctx_model::{Category, LineSpan};

    use super::*;

    #[test]
    fn what_is_written_for_people_is_documentation_however_it_was_cut() {
        let category = |path: &str, kind: &str| {
            let mut part = Part::new(path, LineSpan::new(1, 9).unwrap());
            kind.clone_into(&mut part.kind);
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
