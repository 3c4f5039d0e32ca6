//! From a thread and a message to the best context of everything its owner has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_assemble::{AssembleError, Cancel, Control};
use ctx_model::{BuildOptions, BuiltContext, LineSpan, Origin, Relevance, Selection, Tokens};
use ctx_rank::{Contribution, Profile, Query};
use ctx_retrieve::{Answer, Options as RetrieveOptions, PortError, Report, Vote};
use serde::Serialize;
use tokio::task::JoinHandle;
use tracing::debug;

use crate::cache::{Key, Served};
use crate::candidates::{Candidates, Gathered};
use crate::citations::{Cited, of_chunks};
use crate::compose::{Stats, arranged, compose};
use crate::feedback::{FeedbackError, Shown};
use crate::gather::{Failure, Source, Thread, Unresolved, or_note};
use crate::label::Labels;
use crate::mention::{MOST, Mention, mentions};
use crate::service::lap;
use crate::{Resolved, Service, ServiceError, format_citations, resolve};

/// What the cache's key is of: changes whenever an older answer would be another one now.
const FORM: &[u8] = b"prime context 1";

/// How a prime context is made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PrimeOptions {
    /// The budget, its reserve, the format, and what else the assembler is told. Grouping, order and metadata
    /// are not looked at: kinds stand together, in an order that keeps turns, with their ids.
    pub build: BuildOptions,
    /// How files are searched. Its time is not looked at.
    pub retrieve: RetrieveOptions,
    /// What each signal is worth.
    pub profile: Profile,
    /// So many messages of the thread are read, the last.
    pub messages: usize,
    /// So many files that were shown lately are considered.
    pub recent: usize,
    /// How long each source may take.
    pub deadline: Duration,
    /// Now, in seconds since 1970.
    pub now: i64,
}

impl Default for PrimeOptions {
    /// 4,000 tokens of which 500 are reserved, 20 messages, 5 recent files, 40 parts of files, and a quarter of
    /// a second for each source.
    fn default() -> Self {
        let deadline = Duration::from_millis(250);
        let mut retrieve = RetrieveOptions::default();
        retrieve.limit = 40;
        retrieve.deadline = deadline;
        PrimeOptions {
            build: BuildOptions::default()
                .with_max_tokens(Tokens::new(4_000))
                .with_reserve(Tokens::new(500))
                .with_selection(Selection::Optimal),
            retrieve,
            profile: Profile::default(),
            messages: 20,
            recent: 5,
            deadline,
            now: 0,
        }
    }
}

impl PrimeOptions {
    /// Sets what the assembler is told.
    #[must_use]
    pub fn with_build(mut self, build: BuildOptions) -> Self {
        self.build = build;
        self
    }

    /// Sets how files are searched.
    #[must_use]
    pub fn with_retrieve(mut self, retrieve: RetrieveOptions) -> Self {
        self.retrieve = retrieve;
        self
    }

    /// Sets how long each source may take.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets the time, in seconds since 1970.
    #[must_use]
    pub fn with_now(mut self, now: i64) -> Self {
        self.now = now;
        self
    }

    /// Every option but the time, in bytes. Two that differ anywhere differ here: whatever is added to the
    /// options is part of how they are written for debugging.
    fn digest(&self) -> [u8; 32] {
        let mut timeless = self.clone();
        timeless.now = 0;
        timeless.retrieve.now = 0;
        *blake3::hash(format!("{timeless:?}").as_bytes()).as_bytes()
    }
}

/// How long each stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PrimeTimings {
    /// Reading the thread and its pins.
    pub thread: Duration,
    /// Looking up references, searching, and asking for recent files, side by side.
    pub retrieve: Duration,
    /// Reading files.
    pub resolve: Duration,
    /// Scoring.
    pub score: Duration,
    /// Choosing, and writing the context.
    pub assemble: Duration,
}

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
    /// The five signals. What was named is worth 1 whatever they say.
    pub signals: [Contribution; 5],
}

/// The best context for one message of a thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PrimeContext {
    /// The context and its receipt.
    pub built: BuiltContext,
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
    files: Vec<(String, [u8; 32])>,
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
    fn is_whole(&self) -> bool {
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
pub struct Recording(Option<JoinHandle<Answer<()>>>);

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
                .unwrap_or_else(|error| Err(PortError(error.to_string()))),
        }
    }
}

/// Raises the flag when it goes out of scope.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// One request, taken apart as far as the cache needs it.
struct Request<'r> {
    thread_name: &'r str,
    asked: &'r str,
    options: &'r PrimeOptions,
    control: &'r Control,
    thread: Thread,
    timings: PrimeTimings,
}

impl Service {
    /// The best context for `message`, which is said in `thread`: what the message and the thread's pins name,
    /// what a search finds, what was said before, and what was shown lately; each asked side by side for as
    /// long as the deadline, scored, and chosen from within the budget. A source that fails or is late is
    /// reported and has no say. Times at which files were shown are noted behind the answer.
    ///
    /// An equal request gets the same answer for as long as nothing it depends on has changed, if the service
    /// has a cache. Dropping the future ends the work.
    ///
    /// Runs on a tokio runtime with more than one thread, else a source that computes is not cut off.
    ///
    /// # Errors
    /// Those of the counter and of the assembler: most often what is named does not fit the budget.
    pub async fn prime(
        &self,
        thread: &str,
        message: &str,
        options: &PrimeOptions,
        control: &Control,
    ) -> Result<Prime, ServiceError> {
        let mut clock = Instant::now();
        let state = self
            .ports
            .thread(thread, options.messages, options.deadline)
            .await;
        let timings = PrimeTimings {
            thread: lap(&mut clock),
            ..PrimeTimings::default()
        };
        let request = Request {
            thread_name: thread,
            asked: message.trim(),
            options,
            control,
            thread: state,
            timings,
        };
        let (context, served) = self.cached(&request).await?;
        debug!(?served, timings = ?context.timings, "primed");
        let recording = self.record(&context, options.now);
        Ok(Prime {
            context,
            served,
            recording,
        })
    }

    /// Counts what the user says of what `handle` stands for, one of [`Cited::feedback`]: whether it was of
    /// use. Of a context each file counts once; a file's uses stay within bounds.
    ///
    /// # Errors
    /// [`FeedbackError::Forged`] for a handle of another owner's or of nobody's, and
    /// [`FeedbackError::Repeated`]; nothing is counted then.
    pub async fn feedback(
        &self,
        handle: &str,
        is_useful: bool,
        now: i64,
    ) -> Result<(), FeedbackError> {
        let secret = self.secret.as_ref().ok_or(FeedbackError::Forged)?;
        let shown = Shown::of(handle, secret, &self.owner)?;
        let port = self.ports.feedback.as_ref().ok_or(FeedbackError::NoStore)?;
        let vote = Vote::new(
            shown.vote_key(secret, &self.owner),
            shown.path,
            is_useful,
            now,
        );
        match port.vote(&vote).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(FeedbackError::Repeated),
            Err(error) => Err(FeedbackError::Store(error)),
        }
    }

    /// The answer that is kept, or one that is made.
    async fn cached(
        &self,
        request: &Request<'_>,
    ) -> Result<(Arc<PrimeContext>, Served), ServiceError> {
        let kept = self.cache.as_ref().zip(self.key(request));
        let Some((cache, key)) = kept else {
            let made = self.make(request).await?;
            return Ok((Arc::new(made), Served::Bypassed));
        };
        loop {
            let is_current = |kept| self.is_current(kept);
            if let Some(context) = cache.get(&key, &self.owner, is_current).await {
                return Ok((context, Served::Hit));
            }
            match cache.make(key, &self.owner, || self.make(request)).await {
                Ok((context, served)) => {
                    if !context.is_whole() || is_late(request.control) {
                        cache.forget(&key).await;
                    }
                    return Ok((context, served));
                }
                // Whoever was making it gave up; this one does not.
                Err(error) if is_cancelled(&error) && !request.control.cancel.is_cancelled() => {}
                Err(error) => {
                    return Err(Arc::try_unwrap(error).unwrap_or_else(ServiceError::Shared));
                }
            }
        }
    }

    /// What the answer depends on; `None` where that cannot be told, and nothing can be kept.
    fn key(&self, request: &Request<'_>) -> Option<Key> {
        let Thread {
            history,
            pinned,
            generation,
            failures,
        } = &request.thread;
        if !failures.is_empty() {
            return None;
        }
        let options = request.options;
        let mut said = Vec::new();
        for message in history {
            said.push(message.id.as_bytes());
            said.push(message.role.as_bytes());
            said.push(message.content.as_bytes());
        }
        let said = Key::of(&said);
        let pinned = Key::of(&pinned.iter().map(String::as_bytes).collect::<Vec<_>>());
        // Ages are told by the hour.
        let hour = options.now.div_euclid(3_600).to_le_bytes();
        Some(Key::of(&[
            FORM,
            self.owner.as_str().as_bytes(),
            request.thread_name.as_bytes(),
            request.asked.as_bytes(),
            &options.digest(),
            options.build.counter.as_str().as_bytes(),
            &(*generation)?.to_le_bytes(),
            said.as_bytes(),
            pinned.as_bytes(),
            &hour,
        ]))
    }

    /// Whether the files that `kept` shows say what they said.
    async fn is_current(&self, kept: Arc<PrimeContext>) -> bool {
        let resolver = Arc::clone(&self.resolver);
        let look = move || {
            kept.files.iter().all(|(path, hash)| {
                let text = resolver.sources().text(path);
                text.is_ok_and(|text| text.hash() == hash)
            })
        };
        tokio::task::spawn_blocking(look).await.unwrap_or(false)
    }

    /// Makes the answer.
    async fn make(&self, request: &Request<'_>) -> Result<PrimeContext, ServiceError> {
        let counter = ctx_tokens::counter(&request.options.build.counter)?;
        let cancel = request.control.cancel.child();
        let control = request.control.clone().with_cancel(cancel.clone());
        // Should the future be dropped, nobody waits for the answer any more.
        let _stop = CancelOnDrop(cancel);
        let mut clock = Instant::now();
        let query = Arc::new(Query::analyse(request.asked));
        let mut failures = Vec::new();
        let (gathered, reports) = self.gather(request, &query, &mut failures).await;
        let mut timings = request.timings;
        timings.retrieve = lap(&mut clock);

        let service = self.clone();
        let (thread, asked) = (request.thread_name.to_owned(), request.asked.to_owned());
        let options = request.options.clone();
        let work = move || -> Result<PrimeContext, ServiceError> {
            let labels = Labels {
                secret: &service.secret.unwrap_or_default(),
                owner: &service.owner,
                thread: &thread,
            };
            let resolver = &service.resolver;
            // Before they are read: what changes in between is then known to have changed.
            let mut files = service.hashes(gathered.paths());
            let mut candidates = Candidates::read(&gathered, &query, &asked, resolver, &labels);
            timings.resolve = lap(&mut clock);
            let signals =
                candidates.score(&asked, &query, &gathered, &options.profile, options.now);
            timings.score = lap(&mut clock);
            let items = items(&candidates, &signals);
            let mut stats = Stats::of(&candidates.chunks);
            let chunks = candidates.chunks.clone();
            let arranged = arranged(&options.build);
            let built = compose(&mut candidates, &arranged, &*counter, &control)?;
            timings.assemble = lap(&mut clock);
            stats.excluded_count = built.omitted.len();
            files.retain(|(path, _)| built.files.contains(path));
            let citations = of_chunks(&built, &chunks, |it| it.chunk_id.clone());
            Ok(PrimeContext {
                citations: service.with_handles(citations, &built.digest),
                files,
                unresolved: std::mem::take(&mut candidates.unresolved),
                built,
                items,
                stats,
                failures,
                reports,
                timings,
            })
        };
        tokio::task::spawn_blocking(work).await?
    }

    /// Asks all sources side by side.
    async fn gather(
        &self,
        request: &Request<'_>,
        query: &Arc<Query>,
        failures: &mut Vec<Failure>,
    ) -> (Gathered, Vec<Report>) {
        let options = request.options;
        let pinned = request.thread.pinned.iter();
        let mut mentioned: Vec<Mention> = pinned.filter_map(|it| Mention::of(it)).collect();
        for mention in mentions(request.asked) {
            if !mentioned.contains(&mention) {
                mentioned.push(mention);
            }
        }
        mentioned.truncate(2 * MOST);
        // Each begins when it is made.
        let named = self.ports.look_up(mentioned.clone(), options.deadline);
        let recent = self.ports.recent(options.recent, options.deadline);
        let mut retrieve = options.retrieve.clone();
        retrieve.now = options.now;
        let found = self.retriever.retrieve(query, &retrieve);
        let (named, recent, retrieved) = tokio::join!(named, recent, found);
        failures.clone_from(&request.thread.failures);
        let mut gathered = Gathered {
            named: or_note(named, failures),
            mentions: mentioned,
            found: retrieved.found,
            history: request.thread.history.clone(),
            recent: or_note(recent, failures),
            uses: BTreeMap::new(),
        };
        let late = retrieved
            .reports
            .iter()
            .filter_map(|it| it.failure.as_ref());
        failures.extend(late.map(|why| Failure {
            source: Source::Search,
            why: why.clone(),
        }));
        let uses = self.ports.counts(gathered.paths(), options.deadline).await;
        gathered.uses = or_note(uses, failures);
        (gathered, retrieved.reports)
    }

    /// Says with each citation of a file what feedback on it is given with.
    fn with_handles(&self, mut citations: Vec<Cited>, digest: &str) -> Vec<Cited> {
        let Some(secret) = &self.secret else {
            return citations;
        };
        for cited in &mut citations {
            cited.feedback = cited.citation.file_path.as_deref().map(|path| {
                let shown = Shown {
                    context: digest,
                    label: &cited.id,
                    path,
                };
                shown.handle(secret, &self.owner)
            });
        }
        citations
    }

    /// The hash of each file; none that a text has where it cannot be read.
    fn hashes(&self, paths: Vec<String>) -> Vec<(String, [u8; 32])> {
        let hash = |path: String| {
            let text = self.resolver.sources().text(&path);
            (path, text.map_or([0; 32], |text| *text.hash()))
        };
        paths.into_iter().map(hash).collect()
    }

    /// Notes, behind the answer, when its files were shown.
    fn record(&self, context: &PrimeContext, now: i64) -> Recording {
        let Some(usage) = self.ports.usage.clone() else {
            return Recording::default();
        };
        let paths = context.built.files.clone();
        if paths.is_empty() {
            return Recording::default();
        }
        Recording(Some(tokio::spawn(
            async move { usage.shown(&paths, now).await },
        )))
    }
}

impl Gathered {
    /// The files that something was gathered of, each once.
    fn paths(&self) -> Vec<String> {
        let named = self.named.parts.iter().map(|it| &it.path);
        let found = self.found.iter().map(|it| &it.hit.path);
        let recent = self.recent.iter().map(|(path, _)| path);
        let mut paths: Vec<String> = named.chain(found).chain(recent).cloned().collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

fn items(candidates: &Candidates, signals: &BTreeMap<String, [Contribution; 5]>) -> Vec<Item> {
    let mut items: Vec<Item> = candidates
        .chunks
        .iter()
        .filter_map(|chunk| {
            Some(Item {
                id: chunk.id.clone(),
                origin: chunk.origin,
                source: chunk.title().to_owned(),
                path: chunk.path.clone(),
                span: chunk.span,
                relevance: chunk.relevance,
                signals: *signals.get(&chunk.id)?,
            })
        })
        .collect();
    items.sort_by(|a, b| a.id.cmp(&b.id));
    items
}

/// Whether selection may have been cut short.
fn is_late(control: &Control) -> bool {
    let now = control.clock.as_ref().map(|clock| clock.now());
    now.zip(control.deadline)
        .is_some_and(|(now, deadline)| now >= deadline)
}

fn is_cancelled(error: &ServiceError) -> bool {
    matches!(
        error.own(),
        ServiceError::Assemble(AssembleError::Cancelled)
    )
}
