//! An in-memory store over files in a temporary folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use ctx_assemble::Control;
use ctx_model::{BuildOptions, LineSpan, SymbolKind, Tokens, UnixSeconds};
use ctx_rank::Analyzer;
use ctx_resolve::Resolver;
use ctx_retrieve::{
    Feedback, FileSearch, Generation, History, Hit, MOST_USES, Message, PartQuery, PortError,
    PortResult, References, Retriever, TaskScope, TextQuery, Threads, Usage, VOTE_MEMORY, Vote,
};
use ctx_service::{
    Cache, OwnerId, PartRef, Ports, Prime, PrimeContext, PrimeOptions, Recall, Service, SigningKey,
};
use ctx_source::{Limits, Root, Sources};
use tempfile::TempDir;

/// A time in 2026.
pub(crate) const NOW: i64 = 1_795_000_000;

/// One paragraph of a file.
struct Part {
    hit: Hit,
    terms: BTreeSet<String>,
}

/// What may be the matter with a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It answers after so long.
    Slow(Duration),
    /// It never answers.
    Late,
    /// The store cannot be reached.
    Away,
    /// What the store has is damaged.
    Damaged,
    Panics,
}

/// Files cut at blank lines, searched by their terms; and all else that a store keeps.
#[derive(Default)]
pub(crate) struct Store {
    parts: Vec<Part>,
    pub(crate) messages: Mutex<BTreeMap<String, Vec<Message>>>,
    pub(crate) pinned: Mutex<BTreeMap<String, Vec<String>>>,
    pub(crate) shown: Mutex<BTreeMap<String, UnixSeconds>>,
    pub(crate) uses: Mutex<BTreeMap<String, u64>>,
    /// When there was a vote of a key; forgotten as soon as it may be.
    pub(crate) votes: Mutex<BTreeMap<String, UnixSeconds>>,
    /// What contexts of each thread showed, by label.
    pub(crate) labelled: Mutex<BTreeMap<(String, String), PartRef>>,
    pub(crate) generation: AtomicU64,
    /// How often a text was searched for.
    pub(crate) searches: AtomicUsize,
    /// How many of the first searches come with an update.
    pub(crate) updates: AtomicUsize,
    /// Whether equals come in the opposite order.
    pub(crate) is_reversed: AtomicBool,
    /// Whether asking for history fails.
    pub(crate) has_no_history: AtomicBool,
    /// Whether asking for more than the last 20 messages fails, as one does who looks for an
    /// exchange.
    pub(crate) is_mute: AtomicBool,
    /// Whether asking for more than the last 20 messages never ends.
    pub(crate) has_no_past: AtomicBool,
    /// Whether asking for recent files never ends.
    pub(crate) is_stuck: AtomicBool,
    /// No list is longer; 0 where there is no such bound.
    pub(crate) longest: AtomicUsize,
    /// Whether asking for definitions never ends.
    pub(crate) has_no_names: AtomicBool,
    /// Which threads noted what was shown and what was voted, and within a hold of how many things
    /// of the test's.
    pub(crate) writers: Mutex<Vec<(ThreadId, Option<u32>)>>,
    /// What is the matter with ports, by what they are asked for.
    pub(crate) faults: Mutex<BTreeMap<&'static str, Fault>>,
    /// How often it was asked for what is named.
    pub(crate) lookups: AtomicUsize,
    /// Searches wait for a permit where there is one.
    pub(crate) gate: Mutex<Option<Arc<tokio::sync::Semaphore>>>,
}

impl Store {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let mut parts = Vec::new();
        for (path, text) in files {
            let lines: Vec<&str> = text.lines().collect();
            for paragraph in lines.split(|line| line.is_empty()) {
                let Some(first) = paragraph.first() else {
                    continue;
                };
                let start = lines
                    .iter()
                    .position(|line| std::ptr::eq(line, first))
                    .unwrap();
                parts.push(part(path, start, paragraph));
            }
        }
        Store {
            parts,
            ..Store::default()
        }
    }

    fn hits(&self, score: impl Fn(&Part) -> f64, limit: usize) -> Vec<Hit> {
        let scored = self.parts.iter().map(|part| {
            let mut hit = part.hit.clone();
            hit.score = score(part);
            hit
        });
        let mut hits: Vec<Hit> = scored.filter(|hit| hit.score > 0.0).collect();
        if self.is_reversed.load(Ordering::Relaxed) {
            hits.reverse();
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit.min(self.longest_list()));
        hits
    }

    /// Goes on where nothing is the matter with `port`.
    async fn meet(&self, port: &str) -> PortResult<()> {
        let fault = self.faults.lock().unwrap().get(port).copied();
        match fault {
            None => {}
            Some(Fault::Slow(time)) => tokio::time::sleep(time).await,
            Some(Fault::Late) => std::future::pending().await,
            Some(Fault::Away) => {
                let why = io::Error::other("nobody answers there");
                return Err(PortError::with_source("ask the store", why).transient());
            }
            Some(Fault::Damaged) => return Err(PortError::new("the disk is damaged")),
            Some(Fault::Panics) => panic!("the disk is on fire"),
        }
        Ok(())
    }

    fn note_writer(&self) {
        let held = TaskScope::current().held::<u32>().copied();
        let writer = (thread::current().id(), held);
        self.writers.lock().unwrap().push(writer);
    }

    fn turned<T>(&self, mut list: Vec<T>) -> Vec<T> {
        if self.is_reversed.load(Ordering::Relaxed) {
            list.reverse();
        }
        list
    }
}

fn part(path: &str, start: usize, lines: &[&str]) -> Part {
    let number = |index: usize| u32::try_from(index + 1).unwrap();
    let span = LineSpan::new(number(start), number(start + lines.len() - 1)).unwrap();
    let mut found = ctx_retrieve::Part::new(path, span);
    found.modified_at = Some(UnixSeconds::new(NOW - 3_600));
    if let Some(rest) = lines[0].strip_prefix("fn ") {
        found.kind = SymbolKind::Function.into();
        let qualified = rest.split('(').next().unwrap();
        let name = qualified.rsplit(['.', ':']).next().unwrap();
        found.name = Some(name.to_owned());
        found.qualified_name = Some(qualified.to_owned());
        found.language = Some("rust".to_owned());
    }
    let hit = Hit::new(found, 1.0);
    let terms = Analyzer::default()
        .terms(&lines.join("\n"))
        .into_iter()
        .collect();
    Part { hit, terms }
}

#[async_trait]
impl FileSearch for Store {
    async fn passages(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        self.searches.fetch_add(1, Ordering::Relaxed);
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        let score = |part: &Part| {
            let is_within = wanted.paths.is_empty() || wanted.paths.contains(&part.hit.path);
            let has = |(term, _): &&(String, f32)| part.terms.contains(term);
            let found = wanted.terms.iter().filter(has);
            if is_within {
                found.map(|(_, weight)| f64::from(*weight)).sum()
            } else {
                0.0
            }
        };
        Ok(self.hits(score, wanted.limit))
    }

    async fn files(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        let mut best: BTreeMap<String, f64> = BTreeMap::new();
        for hit in self.passages(wanted).await? {
            let score = best.entry(hit.path.clone()).or_default();
            *score = score.max(hit.score);
        }
        let file = |(path, score)| Hit::new(ctx_retrieve::Part::of_file(path), score);
        let mut files: Vec<Hit> = best.into_iter().map(file).collect();
        files.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(files)
    }

    async fn definitions(&self, names: &[String], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        self.meet("definitions").await?;
        if self.has_no_names.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let of = |name: &String| {
            let is_it = |part: &Part| {
                let its = part.hit.name.as_ref().map(|it| it.to_lowercase());
                Some(name.to_lowercase()) == its
            };
            self.hits(|part| f64::from(u8::from(is_it(part))), limit)
        };
        Ok(names.iter().map(of).collect())
    }

    async fn similar(&self, _: &[String], _: usize) -> PortResult<Vec<Hit>> {
        Ok(Vec::new())
    }

    async fn ending_with(&self, ends: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        self.meet("ending_with").await?;
        let of = |end: &String| {
            let ends = |it: &str| it == end || it.ends_with(&format!("/{end}"));
            let mut paths: Vec<String> = self.parts.iter().map(|it| it.hit.path.clone()).collect();
            paths.sort_unstable();
            paths.dedup();
            paths.retain(|it| ends(it));
            paths.truncate(limit);
            paths
        };
        Ok(ends.iter().map(of).collect())
    }

    fn longest_list(&self) -> usize {
        match self.longest.load(Ordering::Relaxed) {
            0 => usize::MAX,
            longest => longest,
        }
    }

    fn version(&self) -> u64 {
        let updates = self.updates.load(Ordering::Relaxed);
        self.searches.load(Ordering::Relaxed).min(updates) as u64
    }

    async fn parts_of(&self, wanted: &[PartQuery], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        let of = |query: &PartQuery| {
            let is_it = |part: &Part| part.hit.path == query.path;
            self.hits(|part| f64::from(u8::from(is_it(part))), limit)
        };
        Ok(wanted.iter().map(of).collect())
    }
}

#[async_trait]
impl History for Store {
    async fn messages(&self, thread: &str, limit: usize) -> PortResult<Vec<Message>> {
        // Exchanges are looked for among so many.
        let port = if limit < 200 { "messages" } else { "exchange" };
        self.meet(port).await?;
        if limit > 20 && self.has_no_past.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let is_too_far = limit > 20 && self.is_mute.load(Ordering::Relaxed);
        if is_too_far || self.has_no_history.load(Ordering::Relaxed) {
            return Err(PortError::with_source(
                "read",
                io::Error::other("the disk is on fire"),
            ));
        }
        let all = self
            .messages
            .lock()
            .unwrap()
            .get(thread)
            .cloned()
            .unwrap_or_default();
        let messages = all.into_iter().zip(1..);
        let messages = messages.map(|(it, position)| it.with_position(position));
        let mut messages: Vec<Message> = messages.collect();
        Ok(messages.split_off(messages.len().saturating_sub(limit)))
    }
}

#[async_trait]
impl Threads for Store {
    async fn append(&self, thread: &str, message: &Message) -> PortResult<()> {
        let mut threads = self.messages.lock().unwrap();
        threads
            .entry(thread.to_owned())
            .or_default()
            .push(message.clone());
        Ok(())
    }

    async fn pin(&self, thread: &str, what: &str) -> PortResult<()> {
        let mut pinned = self.pinned.lock().unwrap();
        pinned
            .entry(thread.to_owned())
            .or_default()
            .push(what.to_owned());
        Ok(())
    }

    async fn unpin(&self, thread: &str, what: &str) -> PortResult<()> {
        let mut pinned = self.pinned.lock().unwrap();
        pinned
            .entry(thread.to_owned())
            .or_default()
            .retain(|it| it != what);
        Ok(())
    }
}

#[async_trait]
impl References for Store {
    async fn pinned(&self, thread: &str) -> PortResult<Vec<String>> {
        self.meet("pinned").await?;
        let pinned = self.pinned.lock().unwrap().get(thread).cloned();
        Ok(self.turned(pinned.unwrap_or_default()))
    }
}

#[async_trait]
impl Usage for Store {
    async fn counts(&self, paths: &[String]) -> PortResult<BTreeMap<String, u64>> {
        let mut uses = self.uses.lock().unwrap().clone();
        uses.retain(|path, _| paths.contains(path));
        Ok(uses)
    }

    async fn shown(&self, paths: &[String], now: UnixSeconds) -> PortResult<()> {
        self.note_writer();
        let shown = paths.iter().map(|path| (path.clone(), now));
        self.shown.lock().unwrap().extend(shown);
        Ok(())
    }

    async fn recent(&self, limit: usize) -> PortResult<Vec<(String, UnixSeconds)>> {
        if self.is_stuck.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let mut recent: Vec<(String, UnixSeconds)> =
            self.shown.lock().unwrap().clone().into_iter().collect();
        recent.sort_unstable_by(|(a, a_at), (b, b_at)| (b_at, b).cmp(&(a_at, a)));
        recent.truncate(limit);
        Ok(self.turned(recent))
    }
}

#[async_trait]
impl Feedback for Store {
    async fn vote(&self, vote: &Vote) -> PortResult<bool> {
        self.note_writer();
        let mut votes = self.votes.lock().unwrap();
        votes.retain(|_, at| vote.at.saturating_sub(VOTE_MEMORY) <= *at);
        if votes.contains_key(&vote.key) {
            return Ok(false);
        }
        votes.insert(vote.key.clone(), vote.at);
        let mut uses = self.uses.lock().unwrap();
        let count = uses.entry(vote.path.clone()).or_default();
        *count = if vote.is_useful() {
            (*count + 1).min(MOST_USES)
        } else {
            count.saturating_sub(1)
        };
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }
}

#[async_trait]
impl Recall for Store {
    async fn parts(&self, thread: &str, labels: &[String]) -> PortResult<Vec<Option<PartRef>>> {
        self.meet("parts").await?;
        let labelled = self.labelled.lock().unwrap();
        let part = |label: &String| labelled.get(&(thread.to_owned(), label.clone())).cloned();
        Ok(labels.iter().map(part).collect())
    }
}

#[async_trait]
impl Generation for Store {
    async fn generation(&self) -> PortResult<u64> {
        Ok(self.generation.load(Ordering::Relaxed))
    }
}

/// A service over files, a store, and one owner.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) store: Arc<Store>,
    pub(crate) service: Service,
}

/// All files that most tests ask about.
pub(crate) const FILES: &[(&str, &str)] = &[
    (
        "src/parser.rs",
        "fn parse_header(text: &str) -> Header {\n    split(text)\n}\n\n\
         fn parse_body(text: &str) -> Body {\n    Body::from(text)\n}\n",
    ),
    (
        "src/server.rs",
        "fn listen(port: u16) {\n    accept(port);\n}\n\n\
         fn shut_down() {\n    drain();\n}\n",
    ),
    (
        "docs/guide.md",
        "How a header is parsed, in so many words.\n\nHow to listen on a port.\n",
    ),
    ("other/guide.md", "Nothing much.\n"),
];

pub(crate) fn world(files: &[(&str, &str)]) -> World {
    world_of("ada", files, None)
}

pub(crate) fn world_of(
    owner: &str,
    files: &[(&str, &str)],
    cache: Option<Arc<Cache<PrimeContext>>>,
) -> World {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    let store = Arc::new(Store::new(files));
    let mut service = service_over(&store, folder.path(), owner);
    if let Some(cache) = cache {
        service = service.with_cache(cache);
    }
    World {
        folder,
        store,
        service,
    }
}

/// A service for `owner` over `store`, with the secret that all tests share.
pub(crate) fn service_over(store: &Arc<Store>, folder: &Path, owner: &str) -> Service {
    let sources = Sources::new(Root::open(folder).unwrap(), Limits::default());
    service_of(store, sources, owner)
}

/// The same, of texts from elsewhere.
pub(crate) fn service_of(store: &Arc<Store>, sources: Sources, owner: &str) -> Service {
    service_without_secret(store, sources, owner).with_signing_key(SigningKey::new([7; 32]))
}

pub(crate) fn service_without_secret(store: &Arc<Store>, sources: Sources, owner: &str) -> Service {
    let resolver = Arc::new(Resolver::new(sources, ctx_syntax::Limits::default()));
    let search = Arc::clone(store) as Arc<dyn FileSearch>;
    let ports = Ports::of(store).with_recall(Arc::clone(store) as Arc<dyn Recall>);
    Service::new(Retriever::new(search), resolver).for_owner(OwnerId::new(owner), ports)
}

/// Writes a file that was changed a minute ago.
pub(crate) fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_mins(1))
        .unwrap();
}

/// Counted in words, which needs no vocabulary, and with time for each source on a busy machine.
pub(crate) fn options() -> PrimeOptions {
    let build = PrimeOptions::default()
        .build
        .with_counter("wordBased".to_owned().into());
    let deadline = Duration::from_secs(5);
    let retrieve = PrimeOptions::default().retrieve.with_deadline(deadline);
    PrimeOptions::default()
        .with_build(build)
        .with_retrieve(retrieve)
        .with_deadline(deadline)
        .with_now(Some(UnixSeconds::new(NOW)))
}

/// The same with this budget and no reserve.
pub(crate) fn options_of(max_tokens: u32) -> PrimeOptions {
    let options = options();
    let build: BuildOptions = options
        .build
        .clone()
        .with_max_tokens(Tokens::new(max_tokens))
        .with_reserve(Tokens::ZERO);
    options.with_build(build)
}

impl World {
    pub(crate) async fn prime(&self, message: &str) -> Prime {
        self.prime_with(message, &options()).await
    }

    pub(crate) async fn prime_with(&self, message: &str, options: &PrimeOptions) -> Prime {
        self.service
            .prime(Some("t"), message, options, &Control::default())
            .await
            .unwrap()
    }

    /// Remembers what `context` showed, as a store of receipts does.
    pub(crate) fn remember(&self, context: &PrimeContext) {
        let mut labelled = self.store.labelled.lock().unwrap();
        for cited in &context.built.citations {
            let (Some(path), Some(start), Some(end)) =
                (&cited.file_path, cited.start_line, cited.end_line)
            else {
                continue;
            };
            let part = PartRef {
                path: path.clone(),
                lines: LineSpan::new(start, end).unwrap(),
            };
            labelled.insert(("t".to_owned(), cited.chunk_id.clone()), part);
        }
    }

    pub(crate) async fn say(&self, messages: &[(&str, &str)]) {
        for (number, (role, content)) in messages.iter().enumerate() {
            let at = NOW - 100 + i64::try_from(number).unwrap();
            let message = Message::new(format!("m{number}"), *role, *content, UnixSeconds::new(at));
            self.store.append("t", &message).await.unwrap();
        }
    }
}
