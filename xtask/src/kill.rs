//! `cargo xtask kill`: ends the server as a power failure would, while it is written to, and looks for what it
//! had acknowledged.

mod files;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::bench::machine;
use crate::record;
use crate::served::{self, Client, Owner, Served, Store, get, post};
use crate::workspace::Workspace;

/// Who writes: each of them messages to a thread, files, and votes.
const OWNERS: [&str; 2] = ["ada", "bob"];
/// The server lives so long after its first acknowledgement, at most.
const LIFE: Duration = Duration::from_millis(500);

/// How often.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// So many times
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: u32,
    /// What the moments are drawn by
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The server keeps everything in this PostgreSQL database; the server is killed, not the database
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Write the figures to docs/record/server.md
    #[arg(long)]
    record: bool,
}

/// What one owner was told is kept.
#[derive(Debug, Default)]
struct Acknowledged {
    messages: Vec<String>,
    /// The content of each path.
    files: BTreeMap<String, String>,
    /// Handles whose vote counted, by the run.
    votes: Vec<(u32, String)>,
    /// Handles whose vote was sent; whether it was taken is not known.
    unknown_votes: Vec<String>,
}

/// What was found missing, in words.
type Faults = Vec<String>;

/// Writes, kills, looks; so often.
///
/// # Errors
/// Something that was acknowledged is gone, or counts twice.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let tool = served::build(workspace, false)?;
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let owners = served::owners(&tool, folder.path(), &OWNERS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let place = Place {
        tool: &tool,
        folder: folder.path(),
        store: Store::of(options.database_url.as_deref()),
    };
    let mut random = Rng::with_seed(options.seed);
    let mut told: Vec<_> = owners.iter().map(|_| Acknowledged::default()).collect();
    let mut faults = Faults::new();
    for run in 0..options.runs {
        let life = random.f64() * LIFE.as_secs_f64();
        let life = Duration::from_secs_f64(life);
        let is_last = run + 1 == options.runs;
        let once = once(&place, &owners, &mut told, (run, is_last), life);
        let local = tokio::task::LocalSet::new();
        let found = local.block_on(&runtime, once).with_context(|| {
            let log = std::fs::read_to_string(folder.path().join("log"));
            format!(
                "failed in run {run}; the server says: {}",
                log.unwrap_or_default()
            )
        })?;
        for fault in &found {
            println!("run {run}: {fault}");
        }
        faults.extend(found);
    }
    let section = section(workspace, options, &told, faults.len())?;
    println!("\n{section}");
    ensure!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
    if options.record {
        let title = match options.database_url {
            None => "Killed while it is written to, embedded store",
            Some(_) => "Killed while it is written to, PostgreSQL",
        };
        record::write(workspace, title, &section)?;
    }
    Ok(())
}

fn section(
    workspace: &Workspace,
    options: &Options,
    told: &[Acknowledged],
    faults: usize,
) -> Result<String> {
    let sum = |count: fn(&Acknowledged) -> usize| told.iter().map(count).sum::<usize>();
    Ok(format!(
        "\
Written by `cargo xtask kill --runs {} --seed {} --record{}`. Measured {}.

`ctx serve` with the {}, ended by SIGKILL {} times at a random moment within {} ms of the first acknowledgement, while
{} owners each add messages, send files, replace one, and vote. After each restart every message, file and vote that was ever
acknowledged is looked for: of each file the text is in a context that names it, and in one that is about a word of it. The votes of the
run (after the last, all votes) are sent again.

| acknowledged | | lost, or counted twice |
|---|--:|--:|
| messages | {} | |
| files | {} | |
| votes | {} | |
| all | | {faults} |
",
        options.runs,
        options.seed,
        options.database_url.iter().map(|_| " --database-url URL").collect::<String>(),
        machine::describe(workspace)?,
        if options.database_url.is_some() { "store in PostgreSQL" } else { "embedded store" },
        options.runs,
        LIFE.as_millis(),
        told.len(),
        sum(|it| it.messages.len()),
        sum(|it| it.files.len()),
        sum(|it| it.votes.len()),
    ))
}

/// Where the server is, and what it keeps things in.
struct Place<'p> {
    tool: &'p Path,
    folder: &'p Path,
    store: Store,
}

impl Place<'_> {
    fn start(&self) -> Result<Served> {
        Served::start(self.tool, self.folder, &self.store)
    }
}

/// One life of the server, and a look at what it left.
async fn once(
    place: &Place<'_>,
    owners: &[Owner],
    told: &mut Vec<Acknowledged>,
    (run, is_last): (u32, bool),
    life: Duration,
) -> Result<Faults> {
    let mut served = place.start()?;
    let client = Client::new(served.addr);
    let shared = Rc::new(RefCell::new(std::mem::take(told)));
    let mut writers = JoinSet::new();
    for (at, owner) in owners.iter().enumerate() {
        let writer = Writer {
            client: client.clone(),
            owner: owner.clone(),
            at,
            run,
            told: Rc::clone(&shared),
        };
        // An answer that does not come ends a writer, which is what is wanted.
        writers.spawn_local(writer.clone().messages());
        writers.spawn_local(writer.clone().files());
        writers.spawn_local(writer.votes());
    }
    let count = |told: &[Acknowledged]| -> usize {
        let all = told
            .iter()
            .map(|it| it.messages.len() + it.files.len() + it.votes.len());
        all.sum()
    };
    let before = count(&shared.borrow());
    while count(&shared.borrow()) == before && !writers.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(life).await;
    served.kill();
    writers.join_all().await;
    *told = shared.take();
    let served = place.start()?;
    let client = Client::new(served.addr);
    let mut faults = Faults::new();
    for (owner, told) in owners.iter().zip(told) {
        look(&client, owner, told, (run, is_last), &mut faults).await?;
    }
    Ok(faults)
}

/// Who writes for one owner.
#[derive(Clone)]
struct Writer {
    client: Client,
    owner: Owner,
    at: usize,
    run: u32,
    told: Rc<RefCell<Vec<Acknowledged>>>,
}

impl Writer {
    async fn send(&self, path: &str, body: &Value) -> Result<Value> {
        let request = post(path, &self.owner.token, body)?;
        self.client.ask(request).await?.data()
    }

    fn note(&self, note: impl FnOnce(&mut Acknowledged)) {
        note(&mut self.told.borrow_mut()[self.at]);
    }

    async fn messages(self) -> Result<()> {
        // There is one already but in the first run.
        let _ = self.send("/v1/threads", &json!({"id": "t"})).await;
        for number in 0_u64.. {
            let content = format!(
                "message {number} of run {} of {}",
                self.run, self.owner.name
            );
            let body = json!({"role": "user", "content": content});
            self.send("/v1/threads/t/messages", &body).await?;
            self.note(|it| it.messages.push(content));
        }
        Ok(())
    }

    async fn files(self) -> Result<()> {
        for number in 0_u64.. {
            // Every other one takes the place of one that is there.
            let path = match number % 2 {
                0 => format!("notes/{}-{number}.md", self.run),
                _ => "replaced.md".to_owned(),
            };
            let content = files::content(&self.owner, self.run, number);
            let body = json!({"files": [{"path": path, "content": content}]});
            // Until it is acknowledged, either may be there.
            self.note(|it| drop(it.files.remove(&path)));
            self.send("/v1/files", &body).await?;
            self.note(|it| drop(it.files.insert(path, content)));
        }
        Ok(())
    }

    async fn votes(self) -> Result<()> {
        for number in 0_u64.. {
            let message = format!("vote {number} of run {}", self.run);
            let built = self
                .send("/v1/context/build", &json!({"message": message}))
                .await?;
            let handle = built["handle"]
                .as_str()
                .context("a context has a handle")?
                .to_owned();
            self.note(|it| it.unknown_votes.push(handle.clone()));
            let body = json!({"handle": handle, "useful": true});
            let voted = self.send("/v1/context/feedback", &body).await?;
            self.note(|it| {
                it.unknown_votes.retain(|it| *it != handle);
                if voted["counted"] == true {
                    it.votes.push((self.run, handle));
                }
            });
        }
        Ok(())
    }
}

/// Whether all that `owner` was told is there. Votes of earlier runs are looked at after the last alone.
async fn look(
    client: &Client,
    owner: &Owner,
    told: &mut Acknowledged,
    (run, is_last): (u32, bool),
    faults: &mut Faults,
) -> Result<()> {
    let found = messages(client, owner).await?;
    for message in &told.messages {
        match found.get(message).copied().unwrap_or(0) {
            1 => {}
            count => faults.push(format!("{message:?} is there {count} times")),
        }
    }
    files::look(client, owner, &told.files, faults).await?;
    for handle in std::mem::take(&mut told.unknown_votes) {
        // This one counts if the other was not taken; either way none does after it.
        vote(client, owner, &handle).await?;
        told.votes.push((run, handle));
    }
    let is_meant = |(of, _): &&(u32, String)| is_last || *of == run;
    for (_, handle) in told.votes.iter().filter(is_meant) {
        if vote(client, owner, handle).await? {
            faults.push(format!(
                "of {} the vote on {handle} counted again",
                owner.name
            ));
        }
    }
    Ok(())
}

async fn vote(client: &Client, owner: &Owner, handle: &str) -> Result<bool> {
    let body = json!({"handle": handle, "useful": true});
    let request = post("/v1/context/feedback", &owner.token, &body)?;
    let voted = client.ask(request).await?.data()?;
    Ok(voted["counted"] == true)
}

/// How often each message is there.
async fn messages(client: &Client, owner: &Owner) -> Result<BTreeMap<String, usize>> {
    let mut found = BTreeMap::new();
    let mut after = String::new();
    loop {
        let path = format!("/v1/threads/t/messages?limit=200{after}");
        let reply = client.ask(get(&path, &owner.token)?).await?;
        if reply.status == 404 {
            return Ok(found);
        }
        let whole: Value = serde_json::from_slice(&reply.body)?;
        for message in whole["data"].as_array().into_iter().flatten() {
            let content = message["content"].as_str().unwrap_or_default();
            *found.entry(content.to_owned()).or_default() += 1;
        }
        match whole["meta"]["next"].as_i64() {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(found),
        }
    }
}
