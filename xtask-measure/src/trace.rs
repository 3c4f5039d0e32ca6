//! `cargo xtask trace`: replays conversations of several users with a server. Each answer is
//! compared with the present files and messages and with a build that uses no cache, and is checked
//! for data of other users.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use fastrand::Rng;
use futures_util::future;
use serde_json::{Value, json};

use crate::bench::machine;
use crate::record;
use crate::served::{self, Client, Keeps, Owner, Reply, Served, get, post};
use xtask_call::workspace::Workspace;

const OWNERS: [&str; 4] = ["ada", "bob", "cleo", "dan"];
const THREADS: usize = 3;
const TOPICS: [&str; 12] = [
    "invoice", "parcel", "ledger", "harbour", "voltage", "orchard", "glacier", "pigment",
    "turbine", "sonnet", "bakery", "compass",
];

/// Lines of each topic's file.
const LINES: u8 = 40;

/// How long the conversations are.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Turns per user
    #[arg(long, value_name = "N", default_value_t = 40)]
    turns: usize,
    /// The seed of the conversations
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    keeps: Keeps,
    /// Write the figures to docs/record/server.md
    #[arg(long)]
    record: bool,
}

/// The probability, in percent, of each action of a user after a build.
struct Habits {
    /// Asks the same again at once, like a client that lost the answer.
    retries: u8,
    /// Asks for another answer to the same message.
    regenerates: u8,
    /// Has a second window open that asks the same at the same time.
    second_client: u8,
    /// Changes the file that the message is about, and asks again.
    changes: u8,
    /// Votes, and asks again.
    votes: u8,
}

const HABITS: Habits = Habits {
    retries: 25,
    regenerates: 25,
    second_client: 20,
    changes: 10,
    votes: 10,
};

/// The results of the conversations.
#[derive(Debug, Default)]
struct Outcome {
    builds: usize,
    /// Builds that repeat a question since which nothing was written.
    repeats: usize,
    stale: Vec<String>,
    foreign: Vec<String>,
    /// Answers that differ from a new build after them, in which the files just shown count as
    /// recent.
    different: usize,
    compared: usize,
    hits: f64,
    misses: f64,
}

/// Replays the conversations twice over new servers: once as they are, to measure the share of
/// cached answers, and once with a new build after each answer. A wrong answer in either replay is
/// an error. The first is needed for correctness, too: without builds in between, a running build
/// may be returned to the wrong request.
///
/// # Errors
/// An answer is stale, or shows data of another owner.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    ensure!(
        !options.keeps.is_named(),
        "each replay wants a database of its own, which is started for it: leave --database-url out"
    );
    let tool = served::build(workspace, false)?;
    let plain = replay(&tool, options, false)?;
    let checked = replay(&tool, options, true)?;
    ensure!(
        checked.compared == checked.builds,
        "of {} answers {} were looked at",
        checked.builds,
        checked.compared
    );
    let section = section(workspace, options, &plain, &checked)?;
    println!("\n{section}");
    Faults::of([&plain, &checked]).check()?;
    if options.record {
        let title = format!("Conversations, {}", options.keeps.kind.title());
        record::write(workspace, &title, &section)?;
    }
    Ok(())
}

fn section(
    workspace: &Workspace,
    options: &Options,
    plain: &Outcome,
    checked: &Outcome,
) -> Result<String> {
    let Options {
        turns, seed, keeps, ..
    } = options;
    let flags = keeps.flags();
    let percent = |part: f64, all: f64| 100.0 * part / all.max(1.0);
    #[expect(clippy::cast_precision_loss, reason = "there are some thousands")]
    let repeats = percent(plain.repeats as f64, plain.builds as f64);
    let hits = percent(plain.hits, plain.hits + plain.misses);
    let faults = Faults::of([plain, checked]);
    Ok(format!(
        "\
Written by `cargo xtask trace --turns {turns} --seed {seed}{flags} --record`. Measured {}.

{} users with threads and files of the same names, each {turns} turns in {THREADS} threads: a message is added, a context built, an answer
added. All take the same turn at the same time, with the same question. After a build a client asks the same again at once ({} %), has another answer made ({} %), has a second window that asks
at the same time ({} %), changes the file that it is about and asks again ({} %), or votes and asks again ({} %). So of {} builds {repeats:.0} %
ask what was asked before with nothing written since; what is asked again after a change is no repeat. They are asked twice: as they are, and with a new
build behind each answer, which the last line is of. All answers of both are looked at.

| | wanted | found | |
|---|---|---|---|
| answers that were kept, by `/metrics` | > 30 % | {hits:.0} % | {} |
| stale answers: with a line that is in no file any more, without the file asked about as it is, or without what was said last | 0 | {} of {} | {} |
| answers with a word of another user's | 0 | {} of {} | {} |
| answers unlike a new build that follows, in which what was just shown counts as recent | | {} of {} | |
",
        machine::describe(workspace)?,
        OWNERS.len(),
        HABITS.retries,
        HABITS.regenerates,
        HABITS.second_client,
        HABITS.changes,
        HABITS.votes,
        plain.builds,
        verdict(hits > 30.0),
        faults.stale.len(),
        faults.builds,
        verdict(faults.stale.is_empty()),
        faults.foreign.len(),
        faults.builds,
        verdict(faults.foreign.is_empty()),
        checked.different,
        checked.compared,
    ))
}

/// What was wrong with answers, over all replays.
#[derive(Debug, Default)]
struct Faults<'o> {
    builds: usize,
    stale: Vec<&'o str>,
    foreign: Vec<&'o str>,
}

impl<'o> Faults<'o> {
    fn of(outcomes: [&'o Outcome; 2]) -> Self {
        let mut faults = Faults::default();
        for outcome in outcomes {
            faults.builds += outcome.builds;
            faults.stale.extend(outcome.stale.iter().map(|it| &**it));
            let foreign = outcome.foreign.iter().map(|it| &**it);
            faults.foreign.extend(foreign);
        }
        faults
    }

    /// Prints the faults.
    ///
    /// # Errors
    /// There are some.
    fn check(&self) -> Result<()> {
        for fault in self.stale.iter().chain(&self.foreign) {
            println!("{fault}");
        }
        ensure!(
            self.foreign.is_empty(),
            "{} answers show what is another's",
            self.foreign.len()
        );
        ensure!(
            self.stale.is_empty(),
            "{} answers are stale",
            self.stale.len()
        );
        Ok(())
    }
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "**not met**" }
}

fn replay(tool: &Path, options: &Options, checks: bool) -> Result<Outcome> {
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let owners = served::owners(tool, folder.path(), &OWNERS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let store = runtime.block_on(options.keeps.store(&[]))?;
    let served = Served::start(tool, folder.path(), &store, None)?;
    runtime.block_on(async {
        let client = Client::new(served.addr);
        let mut random = Rng::with_seed(options.seed);
        let mut users = Vec::new();
        for owner in &owners {
            users.push(User::begin(client.clone(), owner, random.fork(), checks).await?);
        }
        for number in 0..options.turns {
            let turn = Turn {
                number,
                thread: format!("thread-{}", random.usize(..THREADS)),
                topic: random.usize(..TOPICS.len()),
                line: random.u8(..LINES),
            };
            // All run concurrently, so that one asks for what is cached or being built for another.
            let all = users.iter_mut().map(|it| it.turn(&turn));
            future::try_join_all(all).await?;
        }
        let outcomes = users.into_iter().map(|it| it.outcome);
        let mut outcome = outcomes.fold(Outcome::default(), Outcome::and);
        let metrics = client.ask(get("/metrics", &owners[0].token)?).await?;
        let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
        let count = |name: &str| -> Option<f64> {
            let line = metrics.lines().find_map(|it| it.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        outcome.hits = count("context_cache_hits_total").context("no hits are told of")?;
        outcome.misses = count("context_cache_misses_total").context("no misses are told of")?;
        Ok(outcome)
    })
}

impl Outcome {
    /// The sum of both.
    fn and(mut self, other: Outcome) -> Outcome {
        self.builds += other.builds;
        self.repeats += other.repeats;
        self.stale.extend(other.stale);
        self.foreign.extend(other.foreign);
        self.different += other.different;
        self.compared += other.compared;
        self
    }
}

/// What all users ask at the same time.
struct Turn {
    number: usize,
    thread: String,
    topic: usize,
    /// The line of the topic's file that the question is about.
    line: u8,
}

/// A user with files and threads, and the expected state of these.
struct User {
    client: Client,
    name: String,
    token: String,
    checks: bool,
    /// The version of each topic's file.
    versions: Vec<u32>,
    /// What was asked since anything last changed.
    asked: BTreeSet<String>,
    /// The last answer in each thread.
    answers: BTreeMap<String, String>,
    fresh: u64,
    /// The random numbers for its habits.
    random: Rng,
    outcome: Outcome,
}

impl User {
    async fn begin(client: Client, owner: &Owner, random: Rng, checks: bool) -> Result<Self> {
        let user = User {
            client,
            name: owner.name.clone(),
            token: owner.token.clone(),
            checks,
            versions: vec![1; TOPICS.len()],
            asked: BTreeSet::new(),
            answers: BTreeMap::new(),
            fresh: 1_000_000,
            random,
            outcome: Outcome::default(),
        };
        let files: Vec<Value> = (0..TOPICS.len()).map(|it| user.file(it)).collect();
        user.send("/v1/files", &json!({ "files": files })).await?;
        for thread in 0..THREADS {
            let id = format!("thread-{thread}");
            user.send("/v1/threads", &json!({ "id": id })).await?;
        }
        Ok(user)
    }

    /// The file of a topic; every line names its owner and version.
    fn file(&self, topic: usize) -> Value {
        let path = format!("src/{}.rs", TOPICS[topic]);
        json!({"path": path, "content": self.text(topic)})
    }

    fn text(&self, topic: usize) -> String {
        let (word, version) = (TOPICS[topic], self.versions[topic]);
        let mark = format!("{} {word}-version-{version};", canary(&self.name));
        let line = |at| format!("fn {word}_{at}() {{ /* {word} rule {at} {mark} */ }}\n");
        (0..LINES).map(line).collect()
    }

    async fn send(&self, path: &str, body: &Value) -> Result<Value> {
        let request = post(path, &self.token, body)?;
        self.client.ask(request).await?.data()
    }

    async fn turn(&mut self, turn: &Turn) -> Result<()> {
        let &Turn {
            number,
            ref thread,
            topic,
            line,
        } = turn;
        let word = TOPICS[topic];
        let said = format!("turn-{number}-said: what does {word}_{line} do?");
        self.say(thread, "user", &said).await?;
        let asked = json!({"threadId": thread, "message": said});
        let handle = if self.happens(HABITS.second_client) {
            let other = post("/v1/context/build", &self.token, &asked)?;
            let client = self.client.clone();
            let one = self.build(&asked, topic);
            let (one, other) = tokio::join!(one, client.ask(other));
            self.take(&other?, &asked, topic).await?;
            one?
        } else {
            self.build(&asked, topic).await?
        };
        for percent in [HABITS.retries, HABITS.regenerates] {
            if self.happens(percent) {
                self.build(&asked, topic).await?;
            }
        }
        if self.happens(HABITS.changes) {
            self.versions[topic] += 1;
            let files = json!({ "files": [self.file(topic)] });
            self.send("/v1/files", &files).await?;
            self.asked.clear();
            self.build(&asked, topic).await?;
        }
        if self.happens(HABITS.votes) {
            let vote = json!({"handle": handle, "useful": true});
            self.send("/v1/context/feedback", &vote).await?;
            self.asked.clear();
            self.build(&asked, topic).await?;
        }
        let answer = format!("turn-{number}-answered: it does what {word} is for");
        self.say(thread, "assistant", &answer).await?;
        self.answers.insert(thread.to_owned(), answer);
        Ok(())
    }

    fn happens(&mut self, percent: u8) -> bool {
        self.random.u8(..100) < percent
    }

    async fn say(&mut self, thread: &str, role: &str, content: &str) -> Result<()> {
        let path = format!("/v1/threads/{thread}/messages");
        self.send(&path, &json!({"role": role, "content": content}))
            .await?;
        self.asked.clear();
        Ok(())
    }

    /// Requests a context, checks the answer, and returns its handle.
    async fn build(&mut self, asked: &Value, topic: usize) -> Result<String> {
        let request = post("/v1/context/build", &self.token, asked)?;
        let reply = self.client.ask(request).await?;
        self.take(&reply, asked, topic).await
    }

    /// Counts and checks an answer, and returns its handle.
    async fn take(&mut self, reply: &Reply, asked: &Value, topic: usize) -> Result<String> {
        let data = reply.data()?;
        self.outcome.builds += 1;
        let is_repeat = !self.asked.insert(asked.to_string());
        self.outcome.repeats += usize::from(is_repeat);
        let shown = data["context"].as_str().unwrap_or_default();
        self.look_for_others(reply, asked);
        self.look(shown, topic, asked);
        if self.checks {
            self.compare(asked, shown).await?;
        }
        let handle = data["handle"].as_str();
        Ok(handle.context("a context has a handle")?.to_owned())
    }

    /// Checks that nothing in the answer belongs to another owner.
    fn look_for_others(&mut self, reply: &Reply, asked: &Value) {
        for other in OWNERS.iter().filter(|it| **it != self.name) {
            if reply.contains(&canary(other)) {
                let what = format!(
                    "foreign: {} of {} shows {other}'s",
                    asked["message"], self.name
                );
                self.outcome.foreign.push(what);
            }
        }
    }

    /// Checks that the answer shows the present content.
    fn look(&mut self, shown: &str, topic: usize, asked: &Value) {
        let mut stale = Vec::new();
        let (word, version) = (TOPICS[topic], self.versions[topic]);
        if !shown.contains(&format!("{word}-version-{version};")) {
            stale.push(format!("does not show version {version} of {word}"));
        }
        let of_files = shown.lines().filter(|it| it.contains("-version-"));
        let gone = of_files.filter(|it| !self.has_line(it)).count();
        if gone > 0 {
            stale.push(format!("shows {gone} lines that are in no file"));
        }
        let last = self
            .answers
            .get(asked["threadId"].as_str().unwrap_or_default());
        if let Some(last) = last.filter(|it| !shown.contains(it.as_str())) {
            stale.push(format!("is without {last:?}"));
        }
        let of = format!("stale: {} of {}", asked["message"], self.name);
        let stale = stale.into_iter().map(|it| format!("{of} {it}"));
        self.outcome.stale.extend(stale);
    }

    /// Whether a file has this line at present.
    fn has_line(&self, line: &str) -> bool {
        let is_of = |topic: &usize| line.contains(&format!("fn {}_", TOPICS[*topic]));
        let topic = (0..TOPICS.len()).find(is_of);
        topic.is_some_and(|it| self.text(it).lines().any(|own| own == line))
    }

    /// Compares with a build under another cache key, which differs in a limit that no context
    /// reaches.
    async fn compare(&mut self, asked: &Value, shown: &str) -> Result<()> {
        self.fresh += 1;
        let mut asked = asked.clone();
        asked["options"] = json!({ "maxChunks": self.fresh });
        let fresh = self.send("/v1/context/build", &asked).await?;
        self.outcome.compared += 1;
        self.outcome.different += usize::from(fresh["context"].as_str() != Some(shown));
        Ok(())
    }
}

fn canary(owner: &str) -> String {
    format!("canary{owner}canary")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_either_replay_counts() {
        let outcome = |stale: &[&str], foreign: &[&str]| Outcome {
            builds: 10,
            stale: stale.iter().map(ToString::to_string).collect(),
            foreign: foreign.iter().map(ToString::to_string).collect(),
            ..Outcome::default()
        };
        let none = outcome(&[], &[]);
        assert!(Faults::of([&none, &none]).check().is_ok());
        assert_eq!(Faults::of([&none, &none]).builds, 20);
        for faulty in [outcome(&["old"], &[]), outcome(&[], &["other"])] {
            assert!(Faults::of([&faulty, &none]).check().is_err());
            assert!(Faults::of([&none, &faulty]).check().is_err());
        }
    }
}
