//! Builds the context for a message of a thread from everything its owner has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ctx_assemble::{AssembleError, Cancel, Control};
use ctx_citations::Cited;
use ctx_model::{BuiltContext, Omitted, OmittedReason, UnixSeconds};
use ctx_rank::{Contribution, Keywords, Query};
use ctx_retrieve::{Message, PortError, Report, TaskScope};
use ctx_tokens::{SharedCounter, TokenCounter};
use tracing::debug;

use crate::cache::{Key, Served};
use crate::candidates::{Candidates, Gathered, Scoring};
use crate::cited::cited;
use crate::compose::{Stats, arranged, compose};
use crate::context::{Item, Prime, PrimeContext, Recording};
use crate::gather::{Failure, Named, Required, Source, Thread, Unresolved, or_note};
use crate::history::in_order;
use crate::label::Labels;
use crate::mention::{Mention, Mentioned, without_labels};
use crate::options::{LEAST_PARTS, PrimeOptions, PrimeStage, PrimeTimings};
use crate::ports::waited_for;
use crate::prose::Prose;
use crate::service::{
    BLANK_LINES, EXCERPT_TERMS, forget_entries_beyond, lap, share_of_named_lines,
};
use crate::{Service, ServiceError, SigningKey};

/// The form of the cache's key: it changes whenever an older answer would be a different one now.
const FORM: &[u8] = b"prime context 6";

/// The additional time for looking through messages, as one part in this many of the deadline.
const FOR_MESSAGES: u32 = 4;

/// A request, prepared as far as the cache needs it.
struct Request<'r> {
    thread_name: Option<&'r str>,
    asked: &'r str,
    options: &'r PrimeOptions,
    control: &'r Control,
    counter: SharedCounter,
    thread: Thread,
    timings: PrimeTimings,
    now: UnixSeconds,
}

/// The outcome of looking up what is named.
struct LookedUp {
    /// What was found in the store.
    named: Named,
    /// The failure of the store.
    of_store: Result<(), Failure>,
    /// The exchanges of the messages whose ids the other names are.
    exchanges: Result<Vec<Vec<Message>>, Failure>,
}

/// Whether a mention was looked up by a source.
type Asked<'a> = &'a dyn Fn(&Mention) -> bool;

/// The failures of looking up references, of recalling labels, and of reading earlier messages.
type Failed<'f> = (
    Option<&'f Failure>,
    Option<&'f Failure>,
    Option<&'f Failure>,
);

impl Request<'_> {
    /// The name of the thread, which for stores, labels and keys is empty if there is none.
    fn thread_name(&self) -> &str {
        self.thread_name.unwrap_or_default()
    }

    /// Fails if the pins could not be read for a transient reason.
    fn check_pins(&self) -> Result<(), ServiceError> {
        // Without a thread there are no pins.
        let has_thread = self.thread_name.is_some();
        let failure = self.thread.failure(Source::Pinned);
        match failure.filter(|it| has_thread && it.error.is_transient()) {
            None => Ok(()),
            Some(_) if self.control.cancel.is_cancelled() => Err(AssembleError::Cancelled.into()),
            Some(failure) => Err(ServiceError::Unavailable {
                what: Required::Pins,
                source: failure.error.clone(),
            }),
        }
    }

    /// Required references among `mentioned` that could not be looked up for a transient reason,
    /// with that reason.
    fn unavailable(
        &self,
        mentioned: &Mentioned,
        named: &Named,
        (looked_up, recalled, said): Failed<'_>,
    ) -> BTreeMap<String, PortError> {
        let ids = named.unknown(&mentioned.all, &self.thread.history);
        let is_id = |it: &Mention| ids.contains(&it.text);
        let is_said = |it: &Mention| is_id(it) || it.is_label_of_messages();
        let is_unavailable = |it: &Mention| named.is_unavailable(it);
        let has_thread = self.thread_name.is_some();
        let history = self.thread.failure(Source::History);
        let mut unavailable = BTreeMap::new();
        let failed: [(_, Asked<'_>); 4] = [
            (looked_up, &is_unavailable),
            (recalled, &Mention::is_label_of_a_file),
            // Without a thread there are no messages.
            (said.filter(|_| has_thread), &is_id),
            (history.filter(|_| has_thread), &is_said),
        ];
        for (failure, is_asked) in failed {
            let Some(failure) = failure.filter(|it| it.error.is_transient()) else {
                continue;
            };
            for (_, mention) in mentioned.required().filter(|(_, it)| is_asked(it)) {
                let why = unavailable.entry(mention.text.clone());
                why.or_insert_with(|| failure.error.clone());
            }
        }
        unavailable
    }
}

impl Service {
    /// The best context for `message` in `thread`, or in none: what the message and the thread's
    /// pins name, what a search finds, earlier messages, and recently shown files. All sources are
    /// queried concurrently, each within the deadline; their results are scored and selected within
    /// the budget. A source that fails or is late is reported and contributes nothing; but pins,
    /// and the references of the options, must be in the context. The times at which files were
    /// shown are recorded in the background, unless the keeper of the contexts records them
    /// ([`Service::without_recording`]). A thread without a name is none.
    ///
    /// What `message` names after an `@`, such as `@src/tide.rs:10-20`, must be in the context as
    /// well: [`mention`](crate::mention) has the grammar, with an example.
    ///
    /// With a cache, an equal request gets the same answer as long as nothing it depends on has
    /// changed. Dropping the future cancels the work.
    ///
    /// Within work that is [alone](TaskScope::on_one_thread) everything runs on that thread, and a
    /// source that computes beyond the deadline without checking whether it is still wanted is not
    /// interrupted.
    ///
    /// # Errors
    /// Those of the counter and of the assembler: most often, named parts do not fit the budget.
    /// [`ServiceError::Unavailable`] if a pin, or a reference of the options, could not be looked
    /// up or read for a transient reason.
    ///
    /// # Panics
    /// Outside a tokio runtime with its timers enabled.
    pub async fn prime(
        &self,
        thread: Option<&str>,
        message: &str,
        options: &PrimeOptions,
        control: &Control,
    ) -> Result<Prime, ServiceError> {
        let mut clock = Instant::now();
        let thread = thread.filter(|it| !it.is_empty());
        let name = thread.unwrap_or_default();
        let counter = self.counter_aside(&options.build.counter).await?;
        self.stages.begin(PrimeStage::History);
        let state = self
            .ports
            .thread(name, message.trim(), options.messages, options.deadline)
            .await;
        let timings = PrimeTimings {
            history: lap(&mut clock),
            ..PrimeTimings::default()
        };
        let request = Request {
            thread_name: thread,
            asked: message.trim(),
            options,
            control,
            counter,
            thread: state,
            timings,
            now: options.time(),
        };
        request.check_pins()?;
        let (context, served) = self.cached(&request).await?;
        debug!(?served, timings = ?context.timings, "primed");
        let recording = self.record(&context, request.now);
        Ok(Prime {
            context,
            served,
            recording,
        })
    }

    /// The cached answer, or a new one.
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
            let is_current = |kept| self.is_current(kept, request.control.cancel.clone());
            if let Some(context) = cache.get(&key, &self.owner, is_current).await {
                return Ok((context, Served::Hit));
            }
            if request.control.cancel.is_cancelled() {
                // The cached answer may be valid: the check was not completed.
                return Err(AssembleError::Cancelled.into());
            }
            let is_kept = |context: &PrimeContext| context.is_whole() && !request.control.is_late();
            let made = cache.make_and_keep(key, &self.owner, is_kept, || self.make(request));
            match made.await {
                Ok(made) => return Ok(made),
                // The request that was building it was cancelled; this one was not.
                Err(error) if is_cancelled(&error) && !request.control.cancel.is_cancelled() => {}
                Err(error) => {
                    return Err(Arc::try_unwrap(error).unwrap_or_else(ServiceError::Shared));
                }
            }
        }
    }

    /// The key of the cache; `None` if a dependency is unknown, so that nothing can be cached.
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
        let positions = history
            .iter()
            .map(|it| it.position.unwrap_or(0).to_le_bytes());
        let positions: Vec<[u8; 8]> = positions.collect();
        for (message, position) in history.iter().zip(&positions) {
            said.push(&position[..]);
            said.push(message.id.as_bytes());
            said.push(message.role.as_bytes());
            said.push(message.content.as_bytes());
        }
        let said = Key::of(&said);
        let pinned = Key::of(&pinned.iter().map(String::as_bytes).collect::<Vec<_>>());
        // Ages are measured by the hour.
        let hour = request.now.get().div_euclid(3_600).to_le_bytes();
        Some(Key::of(&[
            FORM,
            self.owner.as_str().as_bytes(),
            request.thread_name().as_bytes(),
            request.asked.as_bytes(),
            self.project.as_deref().unwrap_or_default().as_bytes(),
            &options.digest(),
            options.build.counter.as_str().as_bytes(),
            &request.counter.identity.get().to_le_bytes(),
            &(*generation)?.to_le_bytes(),
            said.as_bytes(),
            pinned.as_bytes(),
            &hour,
        ]))
    }

    /// Whether the files that `kept` shows are unchanged, and those that it lacks still cannot be
    /// read; `None` if the request was cancelled.
    async fn is_current(&self, kept: Arc<PrimeContext>, cancel: Cancel) -> Option<bool> {
        let resolver = Arc::clone(&self.resolver);
        let look = move || {
            let paths = kept.files.iter().map(|it| &it.0).chain(&kept.unread);
            let paths: Vec<&str> = paths.map(String::as_str).collect();
            resolver.sources().prepare(&paths);
            for (path, hash) in &kept.files {
                if cancel.is_cancelled() {
                    return None;
                }
                let text = resolver.sources().text(path);
                if !text.is_ok_and(|text| text.unmasked_hash() == hash) {
                    return Some(false);
                }
            }
            let mut unread = kept.unread.iter();
            Some(unread.all(|path| resolver.sources().text(path).is_err()))
        };
        let looked = TaskScope::current().blocking(look);
        looked.await.unwrap_or(Some(false))
    }

    /// Builds the answer.
    async fn make(&self, request: &Request<'_>) -> Result<PrimeContext, ServiceError> {
        self.in_one_state(|| self.make_once(request)).await
    }

    async fn make_once(&self, request: &Request<'_>) -> Result<PrimeContext, ServiceError> {
        let cancel = request.control.cancel.child();
        let control = Service::control_here(request.control).with_cancel(cancel.clone());
        // Dropping the future cancels the work.
        let _guard = cancel.clone().drop_guard();
        let mut clock = Instant::now();
        self.begin(PrimeStage::Search, &cancel)?;
        let words = without_labels(request.asked).into_owned();
        let query = Arc::new(self.analyse(&words));
        let mut failures = Vec::new();
        let (gathered, reports) = self.gather(request, &query, &mut failures).await;
        let mut timings = request.timings;
        timings.search = lap(&mut clock);
        let making = Making {
            service: self.clone(),
            thread: request.thread_name.map(str::to_owned),
            asked: request.asked.to_owned(),
            words,
            options: request.options.clone(),
            control,
            counter: Arc::clone(&request.counter.counter),
            query,
            gathered,
            failures,
            reports,
            timings,
            now: request.now,
        };
        let made = TaskScope::current().blocking(move || making.finish(clock));
        made.await?
    }

    /// Reports the beginning of `stage`, unless the request was cancelled.
    fn begin(&self, stage: PrimeStage, cancel: &Cancel) -> Result<(), AssembleError> {
        if cancel.is_cancelled() {
            return Err(AssembleError::Cancelled);
        }
        self.stages.begin(stage);
        Ok(())
    }

    /// Looks up what is named in the store, and then, among earlier messages, the names that are
    /// neither of a file nor of a symbol. The latter gets the rest of the deadline, and some more
    /// in case other work on this thread has used it up.
    fn look_up(
        &self,
        request: &Request<'_>,
        mentioned: &Mentioned,
    ) -> impl Future<Output = LookedUp> + Send {
        let deadline = request.options.deadline;
        let (thread, known) = (request.thread_name(), &request.thread.history);
        let begun = Instant::now();
        let look_up = self.ports.look_up(mentioned.all.clone(), deadline);
        let has_history = request.thread.failure(Source::History).is_none();
        let time = deadline.saturating_add(deadline / FOR_MESSAGES);
        async move {
            let (mut named, of_store) = look_up.await;
            named.note_labels(&mentioned.all);
            let ids = named.unknown(&mentioned.all, known);
            let ids = Some(ids).filter(|it| has_history && !it.is_empty());
            named.note_ids(ids.as_deref().unwrap_or_default());
            let left = time.saturating_sub(begun.elapsed());
            let exchanges = match ids.map(|it| self.ports.exchanges(thread, it, left)) {
                Some(exchanges) => exchanges.await,
                None => Ok(Vec::new()),
            };
            LookedUp {
                named,
                of_store,
                exchanges,
            }
        }
    }

    /// Queries all sources concurrently.
    async fn gather(
        &self,
        request: &Request<'_>,
        query: &Arc<Query>,
        failures: &mut Vec<Failure>,
    ) -> (Gathered, Vec<Report>) {
        let options = request.options;
        let pinned = &request.thread.pinned;
        let mentioned = Mentioned::of(pinned, &options.references, request.asked);
        let (thread, known) = (request.thread_name(), &request.thread.history);
        let looked_up = self.look_up(request, &mentioned);
        let recalled = self
            .ports
            .recalled(thread, &mentioned.all, options.deadline);
        let recent = self.ports.recent(options.recent, options.deadline);
        let max_tokens = options.build.max_tokens;
        let mut retrieve = options.retrieve.clone().for_budget(max_tokens, LEAST_PARTS);
        retrieve.now = Some(request.now);
        let found = self.retriever.retrieve(query, &retrieve);
        let missing = self.ports.missing(query, &mentioned.all, options.deadline);
        let (looked_up, recalled, recent, retrieved, missing) =
            tokio::join!(looked_up, recalled, recent, found, missing);
        let failed = (
            looked_up.of_store.as_ref().err(),
            recalled.as_ref().err(),
            looked_up.exchanges.as_ref().err(),
        );
        let unavailable = request.unavailable(&mentioned, &looked_up.named, failed);
        failures.extend(request.thread.failures.iter().cloned());
        or_note(looked_up.of_store, failures);
        let mut gathered = Gathered {
            named: looked_up.named,
            recalled: or_note(recalled, failures),
            unavailable,
            mentioned,
            prose: Prose::of(query, &retrieved, options.retrieve.min_chance),
            found: retrieved.found,
            lines: retrieved.lines,
            warnings: [missing, retrieved.warnings].concat(),
            history: Vec::new(),
            recent: or_note(recent, failures),
            uses: None,
        };
        let passed_over = std::mem::take(&mut gathered.mentioned.passed_over);
        gathered.named.unresolved.extend(passed_over);
        gathered.history = in_order(or_note(looked_up.exchanges, failures), known);
        failures.extend(retrieved.reports.iter().filter_map(failure_of));
        let paths = gathered.paths().into_iter().map(str::to_owned).collect();
        let uses = self.ports.counts(paths, options.deadline).await;
        gathered.uses = or_note(uses, failures);
        (gathered, retrieved.reports)
    }

    /// An id that distinguishes the context for `making` from all others of the owner. `unresolved`
    /// is what the receipt will say besides `built`.
    fn context_id(
        &self,
        making: &Making,
        unresolved: &[Unresolved],
        built: &mut BuiltContext,
    ) -> String {
        // The build time is no part of the identity, and the text is represented by its digest.
        let took = std::mem::take(&mut built.build_time);
        let text = std::mem::take(&mut built.context);
        // Serialised first: hashing a few bytes at a time takes several times as long.
        let receipt = (&*built, unresolved, &making.failures);
        let receipt = serde_json::to_vec(&receipt).unwrap_or_default();
        debug_assert!(!receipt.is_empty(), "a receipt is JSON");
        built.build_time = took;
        built.context = text;
        let receipt = blake3::hash(&receipt);
        let key = self.signing_key.unwrap_or(SigningKey::KNOWN);
        // The message too: what is named alone has the same receipt for any message, and each is
        // voted on by itself.
        let parts = [
            self.owner.as_str().as_bytes(),
            making.thread_name().as_bytes(),
            making.asked.as_bytes(),
            receipt.as_bytes(),
        ];
        let hash = key.sign("ctx context 2", &parts).to_hex();
        format!("ctx-{}", &hash[..32])
    }

    /// Records in the background when the context's files were shown.
    fn record(&self, context: &PrimeContext, now: UnixSeconds) -> Recording {
        let Some(usage) = self.ports.usage.clone().filter(|_| self.records) else {
            return Recording::default();
        };
        let paths = context.built.files.clone();
        if paths.is_empty() {
            return Recording::default();
        }
        let noted = async move { usage.shown(&paths, now).await };
        // Runs in a scope of its own, so that it outlives the request and holds none of its
        // permits.
        let noted = waited_for(TaskScope::default(), noted);
        Recording(Some(tokio::spawn(noted)))
    }
}

/// The inputs for building a context, once everything was gathered.
struct Making {
    service: Service,
    thread: Option<String>,
    asked: String,
    /// The message without the labels in it.
    words: String,
    options: PrimeOptions,
    control: Control,
    counter: Arc<dyn TokenCounter>,
    query: Arc<Query>,
    gathered: Gathered,
    failures: Vec<Failure>,
    reports: Vec<Report>,
    timings: PrimeTimings,
    now: UnixSeconds,
}

impl Making {
    fn thread_name(&self) -> &str {
        self.thread.as_deref().unwrap_or_default()
    }

    /// Reads, scores and assembles, on a blocking thread.
    fn finish(mut self, mut clock: Instant) -> Result<PrimeContext, ServiceError> {
        let cancel = self.control.cancel.clone();
        self.service.begin(PrimeStage::Resolve, &cancel)?;
        let mut candidates = self.read();
        self.timings.resolve = lap(&mut clock);
        self.service.begin(PrimeStage::Score, &cancel)?;
        let signals = self.score(&mut candidates)?;
        self.timings.score = lap(&mut clock);
        self.service.begin(PrimeStage::Assemble, &cancel)?;
        if let Some((what, source)) = candidates.missed(&self.gathered) {
            return Err(ServiceError::Unavailable { what, source });
        }
        self.assemble(candidates, &signals, clock)
    }

    fn read(&self) -> Candidates {
        let labels = Labels {
            signing_key: &self.service.signing_key.unwrap_or(SigningKey::KNOWN),
            owner: &self.service.owner,
            thread: self.thread_name(),
        };
        let resolver = self.service.resolver_for(&self.control);
        let resolver = resolver
            .with_lines(
                self.gathered.lines.clone(),
                share_of_named_lines(&self.query),
            )
            .with_blank_lines(BLANK_LINES);
        Candidates::read(
            &self.gathered,
            &self.query,
            &self.asked,
            &resolver,
            &labels,
            &self.service.memory,
        )
    }

    /// The signals of each candidate, by id.
    fn score(
        &self,
        candidates: &mut Candidates,
    ) -> Result<BTreeMap<String, [Contribution; 5]>, ServiceError> {
        let is_awaited = || !self.control.cancel.is_cancelled();
        let bags = self.service.memory.bags(candidates.texts(), &is_awaited);
        let bags = bags.ok_or(AssembleError::Cancelled)?;
        let scoring = Scoring {
            asked: &self.words,
            query: &self.query,
            profile: &self.options.profile,
            now: self.now,
            is_in_thread: self.thread.is_some(),
        };
        let mut analyzer = self.service.memory.analyzer();
        let signals = candidates.score(bags, &scoring, &self.gathered, &mut analyzer, &is_awaited);
        // A failed search has its own warning.
        if !self.failures.iter().any(|it| it.source == Source::Search) {
            candidates.warn_of_nothing(&self.asked, &self.gathered);
        }
        Ok(signals)
    }

    fn assemble(
        mut self,
        mut candidates: Candidates,
        signals: &BTreeMap<String, [Contribution; 5]>,
        mut clock: Instant,
    ) -> Result<PrimeContext, ServiceError> {
        let mut items = items(&candidates, signals);
        let mut stats = Stats::of(&candidates);
        let arranged = arranged(&self.options.build);
        let is_unlikely = |it: &&Omitted| it.reason == OmittedReason::BelowMinChance;
        let unlikely = candidates.omitted.iter().filter(is_unlikely).count();
        let unread = candidates.omitted.len() - unlikely;
        stats.search_count += unlikely;
        let mut built = compose(&mut candidates, &arranged, &*self.counter, &self.control)?;
        rename(&mut items, &candidates);
        forget_entries_beyond(self.options.largest_budget(), &mut built);
        self.timings.assemble = lap(&mut clock);
        stats.excluded_count = built.left_out_count() - unread;
        // A file that could not be read gets a hash of zeros, which no text has, so that the answer
        // is not served again.
        let hash = |path: &String| candidates.files.get(path).copied().unwrap_or_default();
        let files = built.files.iter().map(|it| (it.clone(), hash(it)));
        let files = files.collect();
        let asked = Keywords::of(&self.query, EXCERPT_TERMS);
        let is_awaited = || !self.control.cancel.is_cancelled();
        let memory = &self.service.memory;
        let found = &self.gathered.found;
        let cited = cited(
            &built,
            &candidates.chunks,
            found,
            &asked,
            memory,
            &is_awaited,
        );
        let mut citations = cited.ok_or(AssembleError::Cancelled)?;
        add_facts(&mut citations, &candidates);
        let (service, now) = (&self.service, self.now);
        let id = service.context_id(&self, &candidates.unresolved, &mut built);
        Ok(PrimeContext {
            feedback: service.context_handle(&id, &built.files, now),
            citations: service.with_handles(citations, &id, now),
            id,
            thread: self.thread,
            files,
            unread: candidates.unread.paths.into_iter().collect(),
            unresolved: std::mem::take(&mut candidates.unresolved),
            built: Arc::new(built),
            items,
            stats,
            failures: self.failures,
            reports: self.reports,
            timings: self.timings,
        })
    }
}

/// The failure of a strategy of the search.
fn failure_of(report: &Report) -> Option<Failure> {
    let error = report.failure.clone()?;
    Some(Failure {
        source: Source::Search,
        error,
    })
}

impl Gathered {
    /// The distinct files of what was gathered.
    pub(crate) fn paths(&self) -> Vec<&str> {
        let named = self.named.parts.iter().map(|it| &it.path);
        let found = self.found.iter().map(|it| &it.part.path);
        let recent = self.recent.iter().map(|(path, _)| path);
        let recalled = self.recalled.iter().map(|it| &it.part.path);
        let all = named.chain(found).chain(recent).chain(recalled);
        let mut paths: Vec<&str> = all.map(String::as_str).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

/// Adds to what the context shows the labels of the chunks that it contains, and the ids of its
/// messages.
fn add_facts(citations: &mut [Cited], candidates: &Candidates) {
    for cited in citations {
        // What was taken out meanwhile is not shown.
        if let Some(facts) = candidates.facts(&cited.id) {
            cited.also = facts.held.iter().cloned().collect();
            cited.metadata.message_ids.clone_from(&facts.message_ids);
        }
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

/// Gives items whose chunks got lines back their new ids and lines.
fn rename(items: &mut [Item], candidates: &Candidates) {
    for item in &mut *items {
        if let Some((id, span)) = candidates.put_back_as(&item.id) {
            item.id.clone_from(id);
            item.span = *span;
        }
    }
    items.sort_by(|a, b| a.id.cmp(&b.id));
}

fn is_cancelled(error: &ServiceError) -> bool {
    matches!(
        error.own(),
        ServiceError::Assemble(AssembleError::Cancelled)
    )
}
