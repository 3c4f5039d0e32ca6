//! Queries the ports concurrently, each within the deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ctx_model::{LineSpan, UnixSeconds, Warning};
use ctx_rank::Query;
use ctx_retrieve::{FileSearch, Hit, Message, PortError, PortResult};
use serde::{Serialize, Serializer};

use crate::history::{exchange_of, last};
use crate::lookup::LookUp;
use crate::mention::{MOST, Mention, What};
use crate::missing::{may_miss, missing_files, missing_names, no_such_file, no_such_name};
use crate::ports::{PartRef, Ports};

/// The most labels recalled for one context: the first ones. A store may look through all receipts
/// of a thread for each.
const MOST_LABELS: usize = MOST;
/// The most names looked up as ids of messages, of those that are neither files nor symbols: the
/// first ones. A store is asked for each.
const MOST_EXCHANGES: usize = MOST;

/// The most characters shown of a reference that is too long to be a name.
const LONGEST_SHOWN: usize = 100;

/// A source of a prime context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// The messages of the thread.
    History,
    /// The pins of the thread.
    Pinned,
    /// The lookup of references.
    References,
    /// The search.
    Search,
    /// Files that were shown recently.
    Recent,
    /// How often files were useful.
    Usage,
    /// The generation of the store.
    Generation,
}

/// A source that failed and contributes nothing to a context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// The source.
    pub source: Source,
    /// The reason; in JSON `why`, on one line.
    #[serde(rename = "why", serialize_with = "on_one_line")]
    pub error: PortError,
}

fn on_one_line<S: Serializer>(error: &PortError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&error.on_one_line())
}

/// Something without which a context is not built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Required {
    /// The pins of the thread, which could not be read.
    Pins,
    /// A pin of the thread, as it was written.
    Pin(String),
    /// One of the options' references, as it was written.
    Reference(String),
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Required::Pins => f.write_str("what is pinned"),
            Required::Pin(name) => write!(f, "the pin {name:?}"),
            Required::Reference(name) => write!(f, "the reference {name:?}"),
        }
    }
}

/// A reference that is not in the context.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Unresolved {
    /// The reference as it was written, or its beginning if it is too long to be a name.
    pub reference: String,
    /// The reason, for people.
    pub why: String,
    /// Whether it could not be looked up, so that it may exist.
    pub is_unavailable: bool,
}

impl Unresolved {
    pub(crate) fn new(reference: &str, why: impl Into<String>) -> Self {
        Unresolved {
            reference: reference.to_owned(),
            why: why.into(),
            is_unavailable: false,
        }
    }

    /// A reference that could not be looked up.
    pub(crate) fn unavailable(reference: &str, why: &str) -> Self {
        Unresolved {
            is_unavailable: true,
            ..Unresolved::new(reference, why)
        }
    }

    /// Shortens `reference` if it is long.
    pub(crate) fn cut(reference: &str, why: &str) -> Self {
        match reference.char_indices().nth(LONGEST_SHOWN) {
            Some((end, _)) => Unresolved::new(&format!("{}…", &reference[..end]), why),
            None => Unresolved::new(reference, why),
        }
    }
}

/// A port's answer within `deadline`, or the default value if there is no port. A failure names
/// `source`.
fn ask<T: Default + Send + 'static>(
    source: Source,
    deadline: Duration,
    answer: Option<impl Future<Output = PortResult<T>> + Send + 'static>,
) -> impl Future<Output = Result<T, Failure>> + Send {
    let asked = answer.map(|it| ctx_retrieve::call_port(deadline, it));
    async move {
        let Some(asked) = asked else {
            return Ok(T::default());
        };
        asked.await.0.map_err(|error| Failure { source, error })
    }
}

/// `answer`, or the default value after adding the failure to `failures`.
pub(crate) fn or_note<T: Default>(answer: Result<T, Failure>, failures: &mut Vec<Failure>) -> T {
    answer.unwrap_or_else(|failure| {
        failures.push(failure);
        T::default()
    })
}

/// The state of the thread and the store that a context depends on besides the question.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    pub(crate) history: Vec<Message>,
    pub(crate) pinned: Vec<String>,
    pub(crate) generation: Option<u64>,
    pub(crate) failures: Vec<Failure>,
}

impl Thread {
    /// Why `source` gave no answer, if it failed.
    pub(crate) fn failure(&self, source: Source) -> Option<&Failure> {
        self.failures.iter().find(|it| it.source == source)
    }
}

impl Ports {
    /// Reads the last messages of `thread` before `asked`, its pins, and the generation of the
    /// store.
    pub(crate) async fn thread(
        &self,
        thread: &str,
        asked: &str,
        messages: usize,
        deadline: Duration,
    ) -> Thread {
        let (name, other, asked) = (thread.to_owned(), thread.to_owned(), asked.to_owned());
        let history = (self.history.clone())
            .filter(|_| messages > 0)
            .map(|it| async move { last(&*it, &name, &asked, messages).await });
        let pinned = (self.references.clone()).map(|it| async move { it.pinned(&other).await });
        let generation =
            (self.generation.clone()).map(|it| async move { it.generation().await.map(Some) });
        let (history, pinned, generation) = tokio::join!(
            ask(Source::History, deadline, history),
            ask(Source::Pinned, deadline, pinned),
            ask(Source::Generation, deadline, generation),
        );
        let mut failures = Vec::new();
        Thread {
            history: or_note(history, &mut failures),
            pinned: or_note(pinned, &mut failures),
            generation: or_note(generation, &mut failures),
            failures,
        }
    }

    /// The files shown last, with the times.
    pub(crate) fn recent(
        &self,
        limit: usize,
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<(String, UnixSeconds)>, Failure>> + Send + use<> {
        let usage = self.usage.clone().filter(|_| limit > 0);
        let recent = usage.map(|it| async move { it.recent(limit).await });
        ask(Source::Recent, deadline, recent)
    }

    /// How often each of `paths` was useful; `None` if there is no store that knows.
    pub(crate) fn counts(
        &self,
        paths: Vec<String>,
        deadline: Duration,
    ) -> impl Future<Output = Result<Option<BTreeMap<String, u64>>, Failure>> + Send + use<> {
        let usage = self.usage.clone().filter(|_| !paths.is_empty());
        let counts = usage.map(|it| async move { it.counts(&paths).await.map(Some) });
        ask(Source::Usage, deadline, counts)
    }

    /// Warnings about files and names that the question of `query` has and the store has not; those
    /// of `mentions` are reported as unresolved. Without any if they cannot be looked up: the
    /// search reports why.
    pub(crate) fn missing(
        &self,
        query: &Arc<Query>,
        mentions: &[Mention],
        deadline: Duration,
    ) -> impl Future<Output = Vec<Warning>> + Send + use<> {
        let search = self.search.clone().filter(|_| may_miss(query));
        let missing = search.map(|search| {
            let query = Arc::clone(query);
            let required: Vec<String> = mentions.iter().map(|it| it.text.clone()).collect();
            async move {
                let stores = [&*search as &dyn FileSearch];
                let mut files = missing_files(&query, &stores).await;
                files.retain(|file| !required.iter().any(|it| it.contains(file)));
                let names = missing_names(&query, &stores).await;
                let warnings = [no_such_file(&files), no_such_name(&names)];
                Ok(warnings.into_iter().flatten().collect())
            }
        });
        let missing = ask(Source::Search, deadline, missing);
        async move { missing.await.unwrap_or_default() }
    }

    /// The parts of files that `thread` was shown under the labels among `mentions`.
    pub(crate) fn recalled(
        &self,
        thread: &str,
        mentions: &[Mention],
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<Recalled>, Failure>> + Send + use<> {
        let thread = thread.to_owned();
        let labels = labels_of_files(mentions).take(MOST_LABELS);
        let labels: Vec<String> = labels.map(str::to_owned).collect();
        let recall = self.recall.clone().filter(|_| !labels.is_empty());
        let recalled = recall.map(|it| async move {
            let parts = it.parts(&thread, &labels).await?;
            let found = labels.into_iter().zip(parts);
            let found = found.filter_map(|(label, part)| {
                let part = part?;
                Some(Recalled { label, part })
            });
            Ok(found.collect())
        });
        ask(Source::References, deadline, recalled)
    }

    /// Looks up references to files and symbols; labels and messages are resolved elsewhere. If the
    /// store fails or is late, the answers so far are returned together with the failure.
    pub(crate) fn look_up(
        &self,
        mentions: Vec<Mention>,
        deadline: Duration,
    ) -> impl Future<Output = (Named, Result<(), Failure>)> + Send + use<> {
        let search = self.search.clone().filter(|_| !mentions.is_empty());
        let look_up = LookUp::new(mentions);
        let why = match search {
            Some(_) => "the store did not answer whether it exists",
            None => "there is no store to look it up in",
        };
        let asking = look_up.clone();
        let asked = search.map(|it| async move { asking.ask(&*it).await });
        let asked = ask(Source::References, deadline, asked);
        async move {
            let asked = asked.await;
            (look_up.named(why), asked)
        }
    }

    /// The exchanges of `thread` that contain the messages `ids`.
    pub(crate) fn exchanges(
        &self,
        thread: &str,
        ids: Vec<String>,
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<Vec<Message>>, Failure>> + Send + use<> {
        let thread = thread.to_owned();
        let history = self.history.clone();
        let exchanges = history.map(|history| async move {
            let mut said = Vec::new();
            for id in ids.iter().take(MOST_EXCHANGES) {
                said.push(exchange_of(&*history, &thread, id).await?);
            }
            Ok(said)
        });
        ask(Source::History, deadline, exchanges)
    }
}

/// A part of a file that the thread was shown under a label that is now named.
#[derive(Clone, Debug)]
pub(crate) struct Recalled {
    pub(crate) label: String,
    pub(crate) part: PartRef,
}

/// A part of a file, or a whole file, that was named.
#[derive(Clone, Debug)]
pub(crate) struct NamedPart {
    pub(crate) reference: String,
    pub(crate) path: String,
    pub(crate) lines: Option<LineSpan>,
    /// The symbol, if it was named as one.
    pub(crate) hit: Option<Hit>,
}

/// The references that were found, with their parts, and those that were not.
#[derive(Debug, Default)]
pub(crate) struct Named {
    pub(crate) parts: Vec<NamedPart>,
    pub(crate) unresolved: Vec<Unresolved>,
}

impl Named {
    /// Whether `mention` could not be looked up.
    pub(crate) fn is_unavailable(&self, mention: &Mention) -> bool {
        let mut untold = self.unresolved.iter().filter(|it| it.is_unavailable);
        mention.what != What::Label && untold.any(|it| it.reference == mention.text)
    }

    /// The names among `mentions` that may be ids of messages, and are neither a file, nor a
    /// symbol, nor the id of a `known` message.
    pub(crate) fn unknown(&self, mentions: &[Mention], known: &[Message]) -> Vec<String> {
        let unresolved: BTreeSet<&str> = (self.unresolved.iter())
            .map(|it| it.reference.as_str())
            .collect();
        let names = mentions.iter().filter(|it| it.may_be_message());
        let names = names.map(|it| it.text.as_str()).filter(|name| {
            unresolved.contains(name) && known.iter().all(|message| message.id != *name)
        });
        names.map(str::to_owned).collect()
    }

    /// Says of the labels among `mentions` that there are too many of to be recalled that they were
    /// not, in case that they are not found otherwise.
    pub(crate) fn note_labels(&mut self, mentions: &[Mention]) {
        let labels: BTreeSet<&str> = labels_of_files(mentions).skip(MOST_LABELS).collect();
        for it in &mut self.unresolved {
            if labels.contains(it.reference.as_str()) {
                it.why = format!("only {MOST_LABELS} such ids are looked up");
            }
        }
    }

    /// Says the same of the names in `ids` that there are too many of to be looked up as messages.
    pub(crate) fn note_ids(&mut self, ids: &[String]) {
        let ids = ids.get(MOST_EXCHANGES..).unwrap_or_default();
        for it in &mut self.unresolved {
            if ids.contains(&it.reference) {
                let more = format!("; only {MOST_EXCHANGES} are looked up among the messages");
                it.why.push_str(&more);
            }
        }
    }
}

/// The labels of parts of files among `mentions`.
fn labels_of_files(mentions: &[Mention]) -> impl Iterator<Item = &str> {
    let labels = mentions.iter().filter(|it| it.is_label_of_a_file());
    labels.map(|it| it.text.as_str())
}
