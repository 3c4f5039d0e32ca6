//! Work that goes on past its deadline keeps its place until it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ctx_resolve::Resolver;
use ctx_retrieve::{
    FileSearch, History, Hit, Message as Said, PartQuery, PortError, PortResult, Retriever,
    TaskScope, TextQuery,
};
use ctx_server::{BackendError, Job, Limits, Owner, Prime, PrimeRequest, Priming};
use ctx_service::{Ports, SigningKey};
use ctx_source::{Files, SourceError, Sources, Text};
use serde_json::json;

use crate::client::{ADA, BOB, Running};
use crate::only::{Builds, Only};

/// How long a port computes.
const WORK: Duration = Duration::from_millis(300);
/// How long it is waited for.
const PATIENCE: Duration = Duration::from_millis(30);

/// What runs at once, and the most that ever did.
#[derive(Default)]
struct Load {
    now: AtomicUsize,
    most: AtomicUsize,
    all: AtomicUsize,
}

impl Load {
    /// Computes, and does not look up while it does.
    fn compute(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.all.fetch_add(1, Ordering::SeqCst);
        let started = Instant::now();
        while started.elapsed() < WORK {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ports of which a build asks two that compute, each once: one where it is asked, one by a thread
/// that may block.
#[derive(Default)]
struct Computing {
    files: Load,
    messages: Arc<Load>,
}

#[async_trait]
impl FileSearch for Computing {
    async fn passages(&self, _: &TextQuery) -> PortResult<Vec<Hit>> {
        Ok(Vec::new())
    }

    async fn files(&self, _: &TextQuery) -> PortResult<Vec<Hit>> {
        self.files.compute();
        Ok(Vec::new())
    }

    async fn definitions(&self, names: &[String], _: usize) -> PortResult<Vec<Vec<Hit>>> {
        Ok(vec![Vec::new(); names.len()])
    }

    async fn similar(&self, _: &[String], _: usize) -> PortResult<Vec<Hit>> {
        Ok(Vec::new())
    }

    async fn ending_with(&self, ends: &[String], _: usize) -> PortResult<Vec<Vec<String>>> {
        Ok(vec![Vec::new(); ends.len()])
    }

    async fn parts_of(&self, wanted: &[PartQuery], _: usize) -> PortResult<Vec<Vec<Hit>>> {
        Ok(vec![Vec::new(); wanted.len()])
    }
}

#[async_trait]
impl History for Computing {
    async fn messages(&self, _: &str, _: usize) -> PortResult<Vec<Said>> {
        let messages = Arc::clone(&self.messages);
        let work = move || messages.compute();
        let done = TaskScope::current().blocking(work).await;
        done.map_err(PortError::new)?;
        Ok(Vec::new())
    }
}

#[derive(Debug)]
struct Nothing;

impl Files for Nothing {
    fn text(&self, path: &str) -> Result<Arc<Text>, SourceError> {
        Err(SourceError::NotFound {
            path: path.to_owned(),
        })
    }
}

#[async_trait]
impl Builds for Computing {
    async fn build(
        self: Arc<Self>,
        owner: &Owner,
        request: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError> {
        let sources = Sources::of(Arc::new(Nothing));
        let resolver = Resolver::new(sources, ctx_syntax::Limits::default());
        let ports = Ports::default()
            .with_search(self.clone())
            .with_history(self.clone());
        let retriever = Retriever::new(self);
        let priming = Priming::new(SigningKey::new([7; 32]));
        let service = priming.service(owner, retriever, Arc::new(resolver), ports);
        ctx_server::build(&service, request, job).await
    }
}

fn server(workers: usize, cores: usize) -> (Arc<Computing>, Running) {
    let mut limits = Limits::default();
    limits.workers = workers;
    limits.cores = cores;
    limits.queue = 8;
    limits.owner_percent = 100;
    limits.source_time = PATIENCE;
    limits.queue_time = Duration::from_mins(1);
    limits.request_time = Duration::from_secs(20);
    let computing = Arc::new(Computing::default());
    let server = Running::start(Arc::new(Only(Arc::clone(&computing))), limits);
    (computing, server)
}

#[test]
fn work_past_its_deadline_keeps_its_place() {
    never_more_than_the_places(64);
}

#[test]
fn work_on_one_thread_past_its_deadline_keeps_its_place() {
    never_more_than_the_places(1);
}

/// On so many cores: where they are few a build is one thread's, which its ports delay.
fn never_more_than_the_places(cores: usize) {
    const WORKERS: usize = 2;
    let (computing, server) = server(WORKERS, cores);
    std::thread::scope(|scope| {
        for caller in 0..6 {
            let server = &server;
            scope.spawn(move || {
                for turn in 0..3 {
                    let message = format!("what does sparrow{caller}x{turn} do?");
                    let token = if caller % 2 == 0 { ADA } else { BOB };
                    let answer =
                        server.post(token, "/v1/context/build", &json!({"message": message}));
                    assert!([200, 503].contains(&answer.status), "{answer:?}");
                }
            });
        }
    });
    let ports = [
        ("files", &computing.files),
        ("messages", &*computing.messages),
    ];
    for (name, port) in ports {
        let most = port.most.load(Ordering::SeqCst);
        assert!(port.all.load(Ordering::SeqCst) > WORKERS, "{name}");
        assert!(most <= WORKERS, "{most} computed at once for {name}");
    }
}
