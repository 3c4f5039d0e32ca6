//! A store of which every part fails in its own way, with messages that must not be shown.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use ctx_model::UnixSeconds;
use ctx_resolve::Resolver;
use ctx_retrieve::{
    Feedback, FileSearch, History, Hit, Message as Said, PartQuery, PortError, PortResult,
    Retriever, TextQuery, Usage,
};
use ctx_server::{
    Appended, Backend, BackendError, FilePage, FileText, Ingested, Job, KeptFile, Listing, Message,
    MessagePage, NewFile, NewMessage, NewThread, Owner, Prime, PrimeRequest, Priming, Receipt,
    Removed, Thread, ThreadInfo, ThreadPage, Vote,
};
use ctx_service::{Ports, Service, SigningKey};
use ctx_source::{Files, SourceError, Sources, Text};

/// Fails, and says `word` wherever that is possible.
pub(crate) struct Failing {
    word: &'static str,
    /// Each time in the next way.
    turn: AtomicUsize,
}

/// An error that quotes, and so does what caused it.
#[derive(Debug)]
struct Quoting(&'static str, Option<Box<Quoting>>);

impl fmt::Display for Quoting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is {:?} in the way", self.0)
    }
}

impl Error for Quoting {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|it| it as _)
    }
}

fn quoting(word: &'static str) -> Quoting {
    Quoting(word, Some(Box::new(Quoting(word, None))))
}

impl Failing {
    /// So many ways there are.
    pub(crate) const WAYS: usize = 6;

    pub(crate) fn new(word: &'static str) -> Arc<Self> {
        Arc::new(Failing {
            word,
            turn: AtomicUsize::new(0),
        })
    }

    async fn fail<T>(&self) -> Result<T, BackendError> {
        let word = self.word;
        Err(
            match self.turn.fetch_add(1, Ordering::Relaxed) % Self::WAYS {
                0 => BackendError::failed("do this", quoting(word)),
                1 => BackendError::failed("do this", std::io::Error::other(quoting(word))),
                2 => BackendError::failed("do this", word),
                3 => BackendError::Damaged {
                    what: "what is kept",
                    source: Box::new(quoting(word)),
                },
                4 => {
                    let ended =
                        tokio::task::spawn_blocking(move || panic!("no place for {word:?}"));
                    BackendError::failed("finish", ended.await.unwrap_err())
                }
                _ => panic!("no place for {word:?}"),
            },
        )
    }

    fn service(&self, owner: &Owner) -> Service {
        let port = Arc::new(Port(self.word));
        let resolver = Resolver::new(
            Sources::of(Arc::new(Nothing(self.word))),
            ctx_syntax::Limits::default(),
        );
        let ports = Ports::default()
            .with_search(port.clone())
            .with_history(port.clone())
            .with_usage(port.clone())
            .with_feedback(port.clone());
        Priming::new(SigningKey::new([7; 32])).service(
            owner,
            Retriever::new(port),
            Arc::new(resolver),
            ports,
        )
    }
}

/// Ports that fail or panic.
struct Port(&'static str);

impl Port {
    fn fail<T>(&self) -> PortResult<T> {
        Err(PortError::with_source("answer", quoting(self.0)))
    }

    fn panic<T>(&self) -> PortResult<T> {
        let text = format!("é{}", self.0);
        // No character begins there, and the panic says so by the text.
        Err(PortError::new(&text[1..]))
    }
}

#[async_trait]
impl FileSearch for Port {
    async fn passages(&self, _: &TextQuery) -> PortResult<Vec<Hit>> {
        self.panic()
    }

    async fn files(&self, _: &TextQuery) -> PortResult<Vec<Hit>> {
        self.fail()
    }

    async fn definitions(&self, _: &[String], _: usize) -> PortResult<Vec<Vec<Hit>>> {
        self.panic()
    }

    async fn similar(&self, _: &[String], _: usize) -> PortResult<Vec<Hit>> {
        self.fail()
    }

    async fn ending_with(&self, _: &[String], _: usize) -> PortResult<Vec<Vec<String>>> {
        self.fail()
    }

    async fn parts_of(&self, _: &[PartQuery], _: usize) -> PortResult<Vec<Vec<Hit>>> {
        self.panic()
    }
}

#[async_trait]
impl History for Port {
    async fn messages(&self, _: &str, _: usize) -> PortResult<Vec<Said>> {
        self.panic()
    }
}

#[async_trait]
impl Usage for Port {
    async fn counts(&self, _: &[String]) -> PortResult<std::collections::BTreeMap<String, u64>> {
        self.fail()
    }

    async fn shown(&self, _: &[String], _: UnixSeconds) -> PortResult<()> {
        self.panic()
    }

    async fn recent(&self, _: usize) -> PortResult<Vec<(String, UnixSeconds)>> {
        // It is read, which fails.
        Ok(vec![("a.rs".to_owned(), UnixSeconds::new(1))])
    }
}

#[async_trait]
impl Feedback for Port {
    async fn vote(&self, _: &ctx_retrieve::Vote) -> PortResult<bool> {
        self.fail()
    }
}

/// Files that cannot be read.
#[derive(Debug)]
struct Nothing(&'static str);

impl Files for Nothing {
    fn text(&self, path: &str) -> Result<Arc<Text>, SourceError> {
        Err(SourceError::Io {
            path: path.to_owned(),
            source: std::io::Error::other(quoting(self.0)),
        })
    }
}

/// The same, as a server has it. It is the ports that fail of a build that names something.
pub(crate) struct Shared(pub(crate) Arc<Failing>);

#[async_trait]
impl Backend for Shared {
    async fn ready(&self) -> Result<(), BackendError> {
        self.0.fail().await
    }

    async fn build(
        &self,
        owner: &Owner,
        request: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError> {
        if request.references.is_empty() {
            return self.0.fail().await;
        }
        ctx_server::build(&self.0.service(owner), request, job).await
    }

    async fn ingest(&self, _: &Owner, _: Vec<NewFile>) -> Result<Ingested, BackendError> {
        self.0.fail().await
    }

    async fn create_thread(&self, _: &Owner, _: NewThread) -> Result<Thread, BackendError> {
        self.0.fail().await
    }

    async fn threads(&self, _: &Owner, _: ThreadPage) -> Result<Listing<Thread>, BackendError> {
        self.0.fail().await
    }

    async fn remove_files(&self, _: &Owner, _: Vec<String>) -> Result<Removed, BackendError> {
        self.0.fail().await
    }

    async fn files(
        &self,
        _: &Owner,
        _: FilePage,
    ) -> Result<Listing<KeptFile, String>, BackendError> {
        self.0.fail().await
    }

    async fn file(&self, _: &Owner, _: &str) -> Result<FileText, BackendError> {
        self.0.fail().await
    }

    async fn remove_receipt(&self, _: &Owner, _: &str) -> Result<bool, BackendError> {
        self.0.fail().await
    }

    async fn thread(&self, _: &Owner, _: &str) -> Result<ThreadInfo, BackendError> {
        self.0.fail().await
    }

    async fn remove_thread(&self, _: &Owner, _: &str) -> Result<ThreadInfo, BackendError> {
        self.0.fail().await
    }

    async fn set_title(
        &self,
        _: &Owner,
        _: &str,
        _: Option<String>,
    ) -> Result<Thread, BackendError> {
        self.0.fail().await
    }

    async fn pin(&self, _: &Owner, _: &str, _: Vec<String>) -> Result<Thread, BackendError> {
        self.0.fail().await
    }

    async fn append(&self, _: &Owner, _: &str, _: NewMessage) -> Result<Appended, BackendError> {
        self.0.fail().await
    }

    async fn messages(
        &self,
        _: &Owner,
        _: &str,
        _: MessagePage,
    ) -> Result<Listing<Message>, BackendError> {
        self.0.fail().await
    }

    async fn feedback(&self, _: &Owner, _: Vote) -> Result<bool, BackendError> {
        let error = ctx_service::FeedbackError::Store(PortError::with_source(
            self.0.word,
            quoting(self.0.word),
        ));
        Err(BackendError::failed("count a vote", error))
    }

    async fn receipt(&self, _: &Owner, _: &str) -> Result<Option<Receipt>, BackendError> {
        self.0.fail().await
    }
}
