//! All that one owner has.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cap_std::fs::Dir;
use ctx_assemble::{Control, assemble};
use ctx_index::Index;
use ctx_model::{BuildOptions, BuiltContext, Chunk, ChunkKind, Origin, Relevance, Warning};
use ctx_resolve::Resolver;
use ctx_retrieve::{Options as RetrieveOptions, Retriever};
use ctx_service::{Answer, Service, ServiceError};
use ctx_source::{Limits, Root, Sources};

use super::database::Database;
use super::{Quota, blocking, files, now, references};
use crate::backend::{
    BackendError, Ingested, IngestedFile, Job, Listing, Message, NewFile, NewMessage, NewThread,
    Page, Prime, PrimeRequest, Receipt, Stage, Stats, Thread, Timing, Vote,
};

/// So many messages of a thread are looked at.
const HISTORY: usize = 20;
/// Bytes of texts of files that are kept in memory for one owner.
const CACHE: u64 = 16 << 20;

type Result<T> = std::result::Result<T, BackendError>;

/// One owner's folder.
pub(super) struct Store {
    files: Dir,
    index: Arc<Index>,
    resolver: Arc<Resolver>,
    service: Service,
    database: Database,
    quota: Arc<Quota>,
    /// Held while files are written and indexed.
    ingesting: Mutex<()>,
}

impl Store {
    /// Opens the folder `name` of `owners`, which is at `path`.
    pub(super) fn open(owners: &Dir, name: &str, path: &Path, quota: Arc<Quota>) -> Result<Self> {
        let failed = |error| BackendError::failed("open an owner's folder", error);
        owners.create_dir_all(name).map_err(failed)?;
        let folder = owners.open_dir(name).map_err(failed)?;
        folder.create_dir_all("files").map_err(failed)?;
        let files = folder.open_dir("files").map_err(failed)?;
        files::prepare(&files).map_err(failed)?;
        let mut options = ctx_index::Options::default();
        // What a user sent was meant to be found.
        options.include_generated = Some(true);
        let root = path.join("files");
        let (index, damage) = Index::open(&root, &path.join("index"), options)
            .map_err(|error| BackendError::failed("open an index", error))?;
        let mut limits = Limits::default();
        limits.cache_bytes = CACHE;
        let root = Root::open(&root).map_err(|error| BackendError::failed("open files", error))?;
        let sources = Sources::new(root, limits);
        let resolver = Arc::new(Resolver::new(sources, ctx_syntax::Limits::default()));
        let index = Arc::new(index);
        let retriever = Retriever::new(index.clone()).with_relations(index.clone());
        let store = Store {
            files,
            service: Service::new(retriever, Arc::clone(&resolver)),
            index,
            resolver,
            database: Database::open(path)?,
            quota,
            ingesting: Mutex::default(),
        };
        // A crash may have come between a file and its index.
        if damage.is_some() || store.is_behind()? {
            store.update()?;
        }
        Ok(store)
    }

    /// Whether files were noted that the index does not have.
    fn is_behind(&self) -> Result<bool> {
        let status = self.index.status();
        let status = status.map_err(|error| BackendError::failed("read an index", error))?;
        Ok(status.files < self.database.totals()?.0)
    }

    fn update(&self) -> Result<()> {
        let updated = self.index.update(&mut |_| ControlFlow::Continue(()));
        updated.map_err(|error| BackendError::failed("index files", error))?;
        Ok(())
    }

    /// Writes files and indexes them.
    pub(super) fn ingest(&self, new: &[NewFile]) -> Result<Ingested> {
        let _held = self
            .ingesting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut known = Vec::with_capacity(new.len());
        let (mut count, mut bytes) = self.database.totals()?;
        for (number, file) in new.iter().enumerate() {
            if let Some(detail) = files::fault(&file.path) {
                return Err(of_file(number, detail));
            }
            let row = self.database.file(&file.path)?;
            count += u64::from(row.is_none());
            bytes = bytes - row.map_or(0, |it| it.1) + file.content.len() as u64;
            known.push(row.map(|it| it.0));
        }
        self.check(count, bytes)?;
        let mut ingested = Ingested::default();
        let mut noted = Vec::new();
        for (number, (file, known)) in new.iter().zip(known).enumerate() {
            let hash = *blake3::hash(file.content.as_bytes()).as_bytes();
            let is_same = known == Some(hash);
            if !is_same {
                let written = files::write(&self.files, &file.path, file.content.as_bytes());
                written.map_err(|error| match error {
                    BackendError::Invalid { detail, .. } => of_file(number, &detail),
                    other => other,
                })?;
                noted.push((file.path.as_str(), file.content.len(), hash));
            }
            let status = match known {
                _ if is_same => "unchanged",
                Some(_) => "updated",
                None => "created",
            };
            ingested.files.push(IngestedFile {
                path: file.path.clone(),
                status: status.to_owned(),
                bytes: file.content.len(),
            });
        }
        for (path, ..) in &noted {
            files::sync(&self.files, path)
                .map_err(|error| BackendError::failed("write a file", error))?;
        }
        self.database.note_files(&noted)?;
        if !noted.is_empty() {
            self.update()?;
        }
        Ok(ingested)
    }

    fn check(&self, files: u64, bytes: u64) -> Result<()> {
        let (most, what) = match &*self.quota {
            quota if files > quota.files => (quota.files, "files"),
            quota if bytes > quota.bytes => (quota.bytes, "bytes of files"),
            _ => return Ok(()),
        };
        let detail = format!("with these there would be more than {most} {what}");
        Err(BackendError::Quota {
            field: "files",
            detail,
        })
    }

    /// Builds a context: what the message is about, the thread's last messages, and what was pinned.
    pub(super) async fn build(
        self: &Arc<Self>,
        request: PrimeRequest,
        job: &Job,
        id: String,
        handle: String,
    ) -> Result<Prime> {
        let started = job.started;
        let control = Control::default()
            .with_cancel(job.cancel.clone())
            .with_clock(Arc::new(move || started.elapsed()))
            .with_deadline(Some(job.deadline));
        job.begin(Stage::History)?;
        let mut clock = Instant::now();
        let (messages, mut wanted) = self.history(request.thread.clone()).await?;
        wanted.extend(request.references.iter().cloned());
        let sources = self.resolver.sources();
        let (pinned, warnings) = references::pinned(&wanted, sources, &self.index).await;
        let explicit_count = pinned.len();
        let history_count = messages.len();
        let mut more = pinned;
        more.extend(messages.iter().enumerate().map(|(at, it)| spoken(at, it)));
        let read = clock.elapsed();
        job.begin(Stage::Search)?;
        let mut options = request.options.clone();
        if !more.is_empty() {
            // What is found comes into the context together with the rest, not before it.
            options.max_chunks = Some(0);
        }
        let answered = self
            .service
            .answer(
                &request.message,
                &RetrieveOptions::default(),
                &options,
                &control,
            )
            .await?;
        let mut timings = vec![timing("history", read)];
        timings.extend([
            timing("analyse", answered.timings.analyse),
            timing("retrieve", answered.timings.retrieve),
            timing("resolve", answered.timings.resolve),
        ]);
        let search_count = answered.retrieved.found.len();
        job.begin(Stage::Assemble)?;
        let mut took = answered.timings.assemble;
        let mut built = if more.is_empty() {
            answered.built
        } else {
            clock = Instant::now();
            let built = self.together(answered, more, request.options, control);
            let built = built.await?;
            took += clock.elapsed();
            built
        };
        timings.push(timing("assemble", took));
        built.warnings.extend(warnings);
        let mut prime = Prime::new(id, handle, built);
        prime.timings = timings;
        prime.stats = Stats {
            explicit_count,
            search_count,
            history_count,
            excluded_count: prime.built.omitted.len(),
        };
        self.keep(&prime, request.thread).await?;
        Ok(prime)
    }

    async fn history(self: &Arc<Self>, id: Option<String>) -> Result<(Vec<Message>, Vec<String>)> {
        let Some(id) = id else {
            return Ok((Vec::new(), Vec::new()));
        };
        let store = Arc::clone(self);
        blocking(move || store.database.history(&id, HISTORY)).await
    }

    /// What was found and `more` in one context.
    async fn together(
        self: &Arc<Self>,
        answered: Answer,
        more: Vec<Chunk>,
        options: BuildOptions,
        control: Control,
    ) -> Result<BuiltContext> {
        let store = Arc::clone(self);
        blocking(move || {
            let resolved = store.resolver.resolve(more);
            let mut chunks = answered.chunks;
            let is_chunk = |id: &str| chunks.iter().any(|it| it.id == id);
            let before = answered.built.omitted.into_iter();
            let unread: Vec<_> = before.filter(|it| !is_chunk(&it.id)).collect();
            let of_reading = |it: &Warning| {
                ["moved", "stale", "moved_or_deleted", "unreadable"].contains(&it.code.as_str())
            };
            let warned = answered.built.warnings.into_iter().filter(of_reading);
            let warned: Vec<_> = warned.collect();
            chunks.extend(resolved.chunks);
            let counter = ctx_tokens::counter(&options.counter).map_err(ServiceError::from)?;
            let built = assemble(&chunks, &options, &*counter, &control);
            let mut built = built.map_err(ServiceError::from)?;
            built.omitted.extend(unread);
            built.omitted.extend(resolved.omitted);
            built.warnings.extend(warned);
            built.warnings.extend(resolved.warnings);
            Ok(built)
        })
        .await
    }

    async fn keep(self: &Arc<Self>, prime: &Prime, thread_id: Option<String>) -> Result<()> {
        let receipt = Receipt {
            id: prime.id.clone(),
            created_at: now(),
            thread_id,
            stats: prime.stats,
            receipt: prime.built.clone(),
        };
        let store = Arc::clone(self);
        blocking(move || store.database.keep(&receipt, &store.quota)).await
    }

    /// Begins a thread.
    pub(super) fn create_thread(&self, id: String, thread: NewThread) -> Result<Thread> {
        self.database.create_thread(id, thread, &self.quota)
    }

    /// The threads, the latest first.
    pub(super) fn threads(&self, page: &Page) -> Result<Listing<Thread>> {
        self.database.threads(page)
    }

    /// Adds a message to a thread.
    pub(super) fn append(&self, thread: &str, id: String, message: NewMessage) -> Result<Message> {
        self.database.append(thread, id, message, &self.quota)
    }

    /// The messages of a thread, the oldest first.
    pub(super) fn messages(&self, thread: &str, page: &Page) -> Result<Listing<Message>> {
        self.database.messages(thread, page)
    }

    /// Counts the first vote on the context `id`.
    pub(super) fn feedback(&self, id: &str, vote: &Vote) -> Result<bool> {
        let receipt = self.database.receipt(id)?;
        let mut paths = Vec::new();
        if let Some(Receipt { receipt, .. }) = &receipt {
            let is_meant = |id: &str| vote.item.as_deref().is_none_or(|it| it == id);
            let included = receipt.included.iter().filter(|it| is_meant(&it.id));
            paths.extend(included.filter_map(|it| it.file_path.clone()));
            paths.sort_unstable();
            paths.dedup();
        }
        self.database
            .vote(id, vote.useful, vote.item.as_deref(), &paths)
    }

    /// The context of this id, where it is kept.
    pub(super) fn receipt(&self, id: &str) -> Result<Option<Receipt>> {
        self.database.receipt(id)
    }
}

fn of_file(number: usize, detail: &str) -> BackendError {
    BackendError::Invalid {
        field: format!("files[{number}].path"),
        detail: detail.to_owned(),
    }
}

fn timing(stage: &'static str, took: std::time::Duration) -> Timing {
    Timing {
        stage: stage.into(),
        milliseconds: took.as_secs_f64() * 1_000.0,
    }
}

/// A message as a chunk; the later it was said, the more it matters.
fn spoken(at: usize, message: &Message) -> Chunk {
    #[expect(clippy::cast_precision_loss, reason = "there are at most twenty")]
    let relevance = 0.5 + 0.4 * (at + 1) as f64 / HISTORY as f64;
    let relevance = Relevance::new(relevance.min(1.0)).unwrap_or(Relevance::ONE);
    let mut chunk = Chunk::new(message.id.clone(), message.content.clone(), relevance)
        .with_kind(ChunkKind::Message)
        .with_name(format!(
            "message {} of the thread, {}",
            at + 1,
            message.role
        ));
    chunk.origin = Origin::Message;
    chunk.created_at = Some(message.created_at);
    chunk
}
