//! The questions, their owners, and the files they are about.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::bench::corpus;
use crate::served::{Client, Owner, Request, post};
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// The number of threads per owner, each with `TURNS` earlier turns.
const THREADS: usize = 8;
const TURNS: usize = 3;
/// The status of creating a thread that exists already.
const EXISTS: u16 = 409;
/// A repeated question is one of this many latest questions of its owner, which are still cached.
const RECENT: usize = 16;
/// The size in bytes from which a batch of files is sent.
const BATCH: usize = 1 << 20;
/// The largest file that is used, below the server's limit.
const LARGEST: u64 = 512 << 10;

const FORMS: [&str; 6] = [
    "how does {a} work together with {b}?",
    "where is {a} called, and what becomes of {b}?",
    "why could {a} fail when {b} is empty?",
    "{a} returns the wrong result after {b} was changed",
    "what is the difference between {a} and {b}?",
    "add a test for {a} that goes through {b}",
];

/// A file that owners have.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) content: String,
}

/// The files of every owner, and what can be asked about them.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) files: Vec<File>,
    pub(crate) bytes: usize,
    /// What the files define, each name once.
    pub(crate) names: Vec<String>,
}

impl Corpus {
    /// The workspace's own sources and documents, as listed by git.
    ///
    /// # Errors
    /// There is no git, or a file cannot be read.
    pub(crate) fn of_workspace(workspace: &Workspace) -> Result<Self> {
        let list = Call::new("git").args(["ls-files", "-z"]);
        let list = list.within(&workspace.root).output()?;
        let paths = list.split('\0').filter(|it| is_source(it));
        Corpus::read(&workspace.root, paths.map(str::to_owned))
    }

    /// Some 20 MB of the dependencies' sources, which are more than 100,000 chunks for four owners.
    ///
    /// # Errors
    /// There are none.
    pub(crate) fn of_dependencies(workspace: &Workspace) -> Result<Self> {
        let corpus = corpus::build(workspace, &corpus::PACKED)?;
        let mut files = Vec::new();
        corpus::collect(&corpus.folder, corpus::PACKED.extensions, &mut files)?;
        files.sort();
        let paths = files.iter().filter_map(|it| {
            let path = it.strip_prefix(&corpus.folder).ok()?;
            Some(path.to_str()?.to_owned())
        });
        Corpus::read(&corpus.folder, paths)
    }

    /// The files at `paths` below `root`; those that are not text are skipped.
    ///
    /// # Errors
    /// None of them defines anything.
    pub(crate) fn read(root: &Path, paths: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut files = Vec::new();
        let mut names = BTreeSet::new();
        for path in paths {
            let full = root.join(&path);
            if fs::metadata(&full).map_or(u64::MAX, |it| it.len()) > LARGEST {
                continue;
            }
            let Ok(content) = fs::read_to_string(full) else {
                continue;
            };
            names.extend(content.lines().filter_map(defined).map(str::to_owned));
            files.push(File { path, content });
        }
        ensure!(names.len() > 100, "there is too little source to ask about");
        Ok(Corpus {
            bytes: files.iter().map(|it| it.content.len()).sum(),
            names: names.into_iter().collect(),
            files,
        })
    }

    /// How many different questions there are.
    pub(crate) fn questions(&self) -> usize {
        FORMS.len() * self.names.len() * self.names.len()
    }
}

fn is_source(path: &str) -> bool {
    let kinds = [".rs", ".md", ".toml"];
    kinds.iter().any(|it| path.ends_with(it)) && !path.starts_with("testdata")
}

/// The name that a line of Rust defines.
fn defined(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("pub(crate) ");
    let line = line.trim_start_matches("pub ");
    let words = ["fn ", "struct ", "enum ", "trait "];
    let rest = words.iter().find_map(|it| line.strip_prefix(it))?;
    let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_')?;
    let name = &rest[..end];
    (name.len() > 3).then_some(name)
}

/// Sends the corpus for every owner, and creates the threads.
///
/// # Errors
/// The server refuses.
pub(crate) async fn seed(client: &Client, owners: &[Owner], corpus: &Corpus) -> Result<()> {
    for owner in owners {
        ingest(client, owner, &corpus.files).await?;
        let mut random = Rng::with_seed(7);
        for thread in 0..THREADS {
            let id = thread_id(thread);
            let begun = post("/v1/threads", &owner.token, &json!({ "id": id }))?;
            let begun = client.ask(begun).await?;
            if begun.status == EXISTS {
                // The database existed before, with all of this.
                continue;
            }
            begun.data()?;
            for _ in 0..TURNS {
                let question = question(corpus, &mut random);
                let answer = format!("It does what its name says: {question}");
                for (role, content) in [("user", &question), ("assistant", &answer)] {
                    let message = json!({ "role": role, "content": content });
                    let path = format!("/v1/threads/{id}/messages");
                    let added = post(&path, &owner.token, &message)?;
                    client.ask(added).await?.data()?;
                }
            }
        }
    }
    Ok(())
}

/// Sends files in batches.
///
/// # Errors
/// The server refuses.
pub(crate) async fn ingest(client: &Client, owner: &Owner, files: &[File]) -> Result<()> {
    let mut batch: Vec<Value> = Vec::new();
    let mut bytes = 0;
    for (number, file) in files.iter().enumerate() {
        bytes += file.content.len();
        batch.push(json!({ "path": file.path, "content": file.content }));
        if bytes > BATCH || batch.len() == 500 || number + 1 == files.len() {
            let files = json!({ "files": std::mem::take(&mut batch) });
            bytes = 0;
            let sent = client.ask(post("/v1/files", &owner.token, &files)?).await?;
            sent.data().context("failed to send files")?;
        }
    }
    Ok(())
}

fn thread_id(number: usize) -> String {
    format!("thread-{number}")
}

fn question(corpus: &Corpus, random: &mut Rng) -> String {
    let mut name = || &corpus.names[random.usize(..corpus.names.len())];
    let (a, b) = (name(), name());
    FORMS[random.usize(..FORMS.len())]
        .replace("{a}", a)
        .replace("{b}", b)
}

/// The requests for builds, each from a random owner and in one of its threads.
#[derive(Debug)]
pub(crate) struct Questions<'c> {
    corpus: &'c Corpus,
    owners: &'c [Owner],
    repeats: f64,
    random: Rng,
    recent: Vec<VecDeque<Value>>,
}

impl<'c> Questions<'c> {
    /// A share of `repeats` of the questions was asked a moment ago; the others are new. Equal
    /// seeds give equal questions.
    pub(crate) fn new(corpus: &'c Corpus, owners: &'c [Owner], repeats: f64, seed: u64) -> Self {
        Questions {
            corpus,
            owners,
            repeats,
            random: Rng::with_seed(seed),
            recent: vec![VecDeque::new(); owners.len()],
        }
    }

    /// The next request.
    ///
    /// # Errors
    /// A token cannot be sent.
    pub(crate) fn next(&mut self) -> Result<Request> {
        let at = self.random.usize(..self.owners.len());
        let recent = &mut self.recent[at];
        let is_repeat = self.random.f64() < self.repeats && !recent.is_empty();
        let body = if is_repeat {
            recent[self.random.usize(..recent.len())].clone()
        } else {
            let thread = thread_id(self.random.usize(..THREADS));
            let message = question(self.corpus, &mut self.random);
            let body = json!({ "threadId": thread, "message": message });
            recent.push_front(body.clone());
            recent.truncate(RECENT);
            body
        };
        let token = &self.owners[at].token;
        post("/v1/context/build", token, &body)
    }
}
