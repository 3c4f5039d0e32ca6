//! Asks the ports side by side, each for as long as the deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::time::Duration;

use ctx_model::LineSpan;
use ctx_retrieve::{Answer, Hit, Message, PortError};
use serde::Serialize;

use crate::history::{exchange_of, last};
use crate::lookup::LookUp;
use crate::mention::{Mention, What};
use crate::ports::{Place, Ports};

/// So many labels are recalled for one context, the first.
const MOST_LABELS: usize = 16;
/// So many names that are of nothing else are looked for among what was said, the first.
const MOST_EXCHANGES: usize = 16;

/// So many characters of a name that cannot be one are told.
const LONGEST_TOLD: usize = 100;

/// Where a part of a prime context comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// What was said before.
    History,
    /// What is pinned to the thread.
    Pinned,
    /// What is named: where it is.
    References,
    /// The search.
    Search,
    /// Files that were shown last.
    Recent,
    /// What was of use.
    Usage,
    /// Whether the store still says what it said.
    Generation,
}

/// A source that has no say in a context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// Which.
    pub source: Source,
    /// Why.
    pub why: String,
}

/// Why a source has no answer: kept with its cause until it is known whether there is a context without it.
#[derive(Clone, Debug)]
pub(crate) struct Unanswered {
    pub(crate) source: Source,
    pub(crate) error: PortError,
}

impl From<Unanswered> for Failure {
    fn from(it: Unanswered) -> Self {
        Failure {
            source: it.source,
            why: it.error.on_one_line(),
        }
    }
}

/// What a context is not made without.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Required {
    /// What is pinned to the thread, whatever that is.
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

/// Something that was named and is not in the context.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Unresolved {
    /// As it was written; where it is too long to be a name, how it begins.
    pub reference: String,
    /// Why not, for people.
    pub why: String,
    /// Whether it was not looked up, as nobody told: there may be such a thing.
    pub is_untold: bool,
}

impl Unresolved {
    pub(crate) fn new(reference: &str, why: impl Into<String>) -> Self {
        Unresolved {
            reference: reference.to_owned(),
            why: why.into(),
            is_untold: false,
        }
    }

    /// One that was not looked up.
    pub(crate) fn untold(reference: &str, why: &str) -> Self {
        Unresolved {
            is_untold: true,
            ..Unresolved::new(reference, why)
        }
    }

    /// Names no more of `reference` than tells which it is.
    pub(crate) fn cut(reference: &str, why: &str) -> Self {
        match reference.char_indices().nth(LONGEST_TOLD) {
            Some((end, _)) => Unresolved::new(&format!("{}…", &reference[..end]), why),
            None => Unresolved::new(reference, why),
        }
    }
}

/// A port's answer within `deadline`; where there is nothing to ask, that is the answer. A failure is noted in what is
/// awaited.
fn ask<T: Default + Send + 'static>(
    source: Source,
    deadline: Duration,
    answer: Option<impl Future<Output = Answer<T>> + Send + 'static>,
) -> impl Future<Output = Result<T, Unanswered>> + Send {
    let asked = answer.map(|it| ctx_retrieve::ask(deadline, it));
    async move {
        let Some(asked) = asked else {
            return Ok(T::default());
        };
        asked.await.0.map_err(|error| Unanswered { source, error })
    }
}

/// `answer`, or nothing, with the failure noted in `failures`.
pub(crate) fn or_note<T: Default, F: From<Unanswered>>(
    answer: Result<T, Unanswered>,
    failures: &mut Vec<F>,
) -> T {
    answer.unwrap_or_else(|failure| {
        failures.push(failure.into());
        T::default()
    })
}

/// What a context depends on beside the question: what tells one answer from another.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    pub(crate) history: Vec<Message>,
    pub(crate) pinned: Vec<String>,
    pub(crate) generation: Option<u64>,
    pub(crate) failures: Vec<Unanswered>,
}

impl Thread {
    /// Why `source` has no answer, if that is so.
    pub(crate) fn failure(&self, source: Source) -> Option<&Unanswered> {
        self.failures.iter().find(|it| it.source == source)
    }
}

impl Ports {
    /// The last messages of `thread` before `asked`, its pins, and the generation of the store.
    pub(crate) async fn thread(
        &self,
        thread: &str,
        asked: &str,
        messages: usize,
        deadline: Duration,
    ) -> Thread {
        let (name, other, asked) = (thread.to_owned(), thread.to_owned(), asked.to_owned());
        let history = self.history.clone().filter(|_| messages > 0);
        let history = history.map(|it| async move { last(&*it, &name, &asked, messages).await });
        let history = ask(Source::History, deadline, history);
        let pinned = self.references.clone();
        let pinned = pinned.map(|it| async move { it.pinned(&other).await });
        let pinned = ask(Source::Pinned, deadline, pinned);
        let generation = self.generation.clone();
        let generation = generation.map(|it| async move { it.generation().await.map(Some) });
        let generation = ask(Source::Generation, deadline, generation);
        let (history, pinned, generation) = tokio::join!(history, pinned, generation);
        let mut failures = Vec::new();
        Thread {
            history: or_note(history, &mut failures),
            pinned: or_note(pinned, &mut failures),
            generation: or_note(generation, &mut failures),
            failures,
        }
    }

    /// The files that were shown last, and when.
    pub(crate) fn recent(
        &self,
        limit: usize,
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<(String, i64)>, Unanswered>> + Send + use<> {
        let usage = self.usage.clone().filter(|_| limit > 0);
        let recent = usage.map(|it| async move { it.recent(limit).await });
        ask(Source::Recent, deadline, recent)
    }

    /// How often each of `paths` was of use; `None` where nobody knows.
    pub(crate) fn counts(
        &self,
        paths: Vec<String>,
        deadline: Duration,
    ) -> impl Future<Output = Result<Option<BTreeMap<String, u64>>, Unanswered>> + Send + use<>
    {
        let usage = self.usage.clone().filter(|_| !paths.is_empty());
        let counts = usage.map(|it| async move { it.counts(&paths).await.map(Some) });
        ask(Source::Usage, deadline, counts)
    }

    /// The parts of files that `thread` was shown under the labels among `mentions`.
    pub(crate) fn recalled(
        &self,
        thread: &str,
        mentions: &[Mention],
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<Recalled>, Unanswered>> + Send + use<> {
        let thread = thread.to_owned();
        let of_files = mentions.iter().filter(|it| it.is_label_of_a_file());
        let of_files = of_files.take(MOST_LABELS);
        let labels: Vec<String> = of_files.map(|it| it.text.clone()).collect();
        let recall = self.recall.clone().filter(|_| !labels.is_empty());
        let recalled = recall.map(|it| async move {
            let places = it.places(&thread, &labels).await?;
            let found = labels.into_iter().zip(places);
            let found = found.filter_map(|(label, place)| {
                let place = place?;
                Some(Recalled { label, place })
            });
            Ok(found.collect())
        });
        ask(Source::References, deadline, recalled)
    }

    /// Where what is named is: files and symbols. Labels are left to whoever knows those, and so are messages. Where the store fails
    /// or is late, what it said before, and that.
    pub(crate) fn look_up(
        &self,
        mentions: Vec<Mention>,
        deadline: Duration,
    ) -> impl Future<Output = (Named, Result<(), Unanswered>)> + Send + use<> {
        let search = self.search.clone().filter(|_| !mentions.is_empty());
        let look_up = LookUp::new(mentions);
        let why = match search {
            Some(_) => "the store did not tell whether there is such a thing",
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

    /// The exchanges of `thread` that `ids` are of.
    pub(crate) fn exchanges(
        &self,
        thread: &str,
        ids: Vec<String>,
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<Vec<Message>>, Unanswered>> + Send + use<> {
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

/// A part of a file that the thread was shown under a label that is named.
#[derive(Clone, Debug)]
pub(crate) struct Recalled {
    pub(crate) label: String,
    pub(crate) place: Place,
}

/// A part of a file, or all of it, that was named.
#[derive(Clone, Debug)]
pub(crate) struct NamedPart {
    pub(crate) reference: String,
    pub(crate) path: String,
    pub(crate) lines: Option<LineSpan>,
    /// The symbol, where it was named for that.
    pub(crate) hit: Option<Hit>,
}

/// What was named, and where it is.
#[derive(Debug, Default)]
pub(crate) struct Named {
    pub(crate) parts: Vec<NamedPart>,
    pub(crate) unresolved: Vec<Unresolved>,
}

impl Named {
    /// Whether nobody told what `mention` is the name of.
    pub(crate) fn is_untold(&self, mention: &Mention) -> bool {
        let mut untold = self.unresolved.iter().filter(|it| it.is_untold);
        mention.what != What::Label && untold.any(|it| it.reference == mention.text)
    }

    /// What of `mentions` is the name of no file and no symbol, nor the id of a `known` message.
    pub(crate) fn unknown(&self, mentions: &[Mention], known: &[Message]) -> Vec<String> {
        let unresolved: BTreeSet<&str> = (self.unresolved.iter())
            .map(|it| it.reference.as_str())
            .collect();
        let names = mentions.iter().filter(|it| it.what == What::Name);
        let names = names.map(|it| it.text.as_str()).filter(|name| {
            unresolved.contains(name) && known.iter().all(|message| message.id != *name)
        });
        names.map(str::to_owned).collect()
    }
}
