//! The ports of a store. Times are in seconds since 1970, in all of these ports.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;
use std::iter;
use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use ctx_model::{LineSpan, error_chain};
use ctx_rank::{Query, Role};

/// A part of a file, with what a store knows of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// The path of the file, relative to the root, with `/` as separator.
    pub path: String,
    /// Its lines.
    pub span: LineSpan,
    /// Its kind: `function`, `class`, `section`, … or `lines`; `file` for a whole file.
    pub kind: String,
    /// Its name.
    pub name: Option<String>,
    /// Its name with the names around it.
    pub qualified_name: Option<String>,
    /// The language it is written in.
    pub language: Option<String>,
    /// The names that it uses.
    pub refers_to: Vec<String>,
    /// When the file was last changed, in seconds since 1970.
    pub modified_at: Option<i64>,
}

impl Part {
    /// The kind of a part that represents a whole file.
    pub const FILE: &str = "file";

    /// A part of which only the place is known.
    pub fn new(path: impl Into<String>, span: LineSpan) -> Self {
        Part {
            path: path.into(),
            span,
            kind: "lines".to_owned(),
            name: None,
            qualified_name: None,
            language: None,
            refers_to: Vec::new(),
            modified_at: None,
        }
    }

    /// The part that represents the whole file at `path`.
    pub fn of_file(path: impl Into<String>) -> Self {
        let first = LineSpan::new(1, 1).expect("1 is not before 1");
        let mut part = Part::new(path, first);
        Self::FILE.clone_into(&mut part.kind);
        part
    }

    /// Whether it represents a whole file.
    pub fn is_file(&self) -> bool {
        self.kind == Self::FILE
    }

    /// Its role: that of its file ([`Role::of`]), except for tests among the sources they test, in
    /// a module `tests` of Rust.
    pub fn role(&self, of_file: Role) -> Role {
        let is_rust = self.language.as_deref() == Some("rust");
        if of_file == Role::Source && is_rust && self.is_in_tests() {
            return Role::Test;
        }
        of_file
    }

    fn is_in_tests(&self) -> bool {
        let name = self.qualified_name.as_deref().unwrap_or_default();
        // Splitting at one byte is faster than at `::`; the parts between two colons are empty.
        name.split(':').any(|it| matches!(it, "test" | "tests"))
    }

    /// Identifies the part within its store, and orders parts.
    pub fn place(&self) -> (&str, u32, u32) {
        (&self.path, self.span.start(), self.span.end())
    }
}

/// A part that was found: a shared reference to the part, and how well it matches this question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The part that was found.
    pub part: Arc<Part>,
    /// How well it matches: comparable only within one list.
    pub score: f64,
}

impl Hit {
    /// A hit on `part` with this score.
    pub fn new(part: impl Into<Arc<Part>>, score: f64) -> Self {
        Hit {
            part: part.into(),
            score,
        }
    }
}

impl Deref for Hit {
    type Target = Part;

    fn deref(&self) -> &Part {
        &self.part
    }
}

/// A search for terms in texts.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TextQuery {
    /// Terms as `ctx_rank::Analyzer` gives them, with their weights.
    pub terms: Vec<(String, f32)>,
    /// The weight of a match in each field; a field that is missing here, or has a weight of 0 or
    /// less, is not searched.
    pub fields: Vec<(Field, f32)>,
    /// Only these files are searched, if there are any.
    pub paths: Vec<String>,
    /// How occurrences of a term are counted.
    pub counting: Counting,
    /// The most results.
    pub limit: usize,
}

/// How occurrences of a term of a [`TextQuery`] are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// By frequency, with saturation, in each field separately.
    #[default]
    Frequency,
    /// Once per document, in whichever field and whatever its weight: a term counts its weight ×
    /// its inverse document frequency. A store that cannot do this counts by frequency.
    Presence,
}

impl TextQuery {
    /// A search for `terms` in `fields`.
    pub fn new(terms: Vec<(String, f32)>, fields: Vec<(Field, f32)>, limit: usize) -> Self {
        TextQuery {
            terms,
            fields,
            paths: Vec::new(),
            counting: Counting::default(),
            limit,
        }
    }

    /// Counts each term at most once per document.
    #[must_use]
    pub fn by_presence(mut self) -> Self {
        self.counting = Counting::Presence;
        self
    }

    /// Searches only these files.
    #[must_use]
    pub fn within(mut self, paths: Vec<String>) -> Self {
        self.paths = paths;
        self
    }
}

/// A field of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The names of a part, including those around it.
    Name,
    /// Its signature.
    Signature,
    /// Its doc comment.
    Doc,
    /// The rest of the part.
    Body,
    /// The path of a file.
    Path,
    /// The whole text of a file.
    Text,
}

/// Why a port has no answer. It displays as the error it was made from, and has that error's causes
/// below it: to print all once, use [`on_one_line`](PortError::on_one_line). Errors that print the
/// same are equal.
///
/// An error is permanent (damage, a panic, a refusal) or [transient](PortError::is_transient), as
/// the store says.
///
/// ```
/// use ctx_retrieve::{PortError, PortResult};
///
/// fn read(path: &str) -> PortResult<Vec<u8>> {
///     Ok(std::fs::read(path)?)
/// }
/// fn number(text: &str) -> PortResult<u32> {
///     text.parse().map_err(PortError::new)
/// }
/// fn port(text: &str) -> PortResult<u32> {
///     text.parse().map_err(|error| PortError::with_source("the port is no number", error))
/// }
/// assert!(read("no/such/file").unwrap_err().get_ref().is::<std::io::Error>());
/// assert_eq!(number("x"), Err(PortError::new("invalid digit found in string")));
/// assert_eq!(port("x").unwrap_err().to_string(), "the port is no number");
/// assert_eq!(port("x").unwrap_err().on_one_line(), "the port is no number: invalid digit found in string");
///
/// let away = PortError::new("nobody answers there").transient();
/// assert!(PortError::with_source("ask the store", away).is_transient());
/// assert!(!PortError::new("the disk is damaged").is_transient());
/// ```
#[derive(Clone, Debug)]
pub struct PortError {
    error: Arc<dyn Error + Send + Sync>,
    is_transient: bool,
}

impl PortError {
    /// Displays as `error`, and has its causes; a string has none.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        PortError {
            error: error.into().into(),
            is_transient: false,
        }
    }

    /// Says `what` failed, with `source` as the cause.
    pub fn with_source(
        what: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        PortError::new(Because {
            what: what.into(),
            source: source.into(),
        })
    }

    /// Marks the error as transient: the store was late or unreachable, and the request is not at
    /// fault.
    #[must_use]
    pub fn transient(self) -> Self {
        PortError {
            is_transient: true,
            ..self
        }
    }

    /// Whether retrying soon may succeed: this error, or a [`PortError`] among its causes, was
    /// marked [`transient`](PortError::transient). Every other error counts as permanent: an answer
    /// may be given without something that never succeeds, but not without something that would
    /// succeed a moment later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        let first: &(dyn Error + 'static) = self.get_ref();
        let mut causes = iter::successors(Some(first), |it| (*it).source());
        // The first of these takes its own causes into account.
        let cause = causes.find_map(|it| it.downcast_ref::<PortError>());
        self.is_transient || cause.is_some_and(PortError::is_transient)
    }

    /// The error that [`new`](PortError::new) was given; for
    /// [`with_source`](PortError::with_source), see `source()`.
    #[must_use]
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }

    /// The error and its causes, on one line.
    #[must_use]
    pub fn on_one_line(&self) -> String {
        error_chain(self)
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for PortError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl PartialEq for PortError {
    fn eq(&self, other: &Self) -> bool {
        self.on_one_line() == other.on_one_line()
    }
}

impl Eq for PortError {}

impl From<io::Error> for PortError {
    fn from(error: io::Error) -> Self {
        PortError::new(error)
    }
}

/// An error with its cause.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct Because {
    what: Cow<'static, str>,
    source: Box<dyn Error + Send + Sync>,
}

/// The result of most port methods.
pub type PortResult<T> = Result<T, PortError>;

/// Which parts of a file are wanted: all, or those that contain a line, have a name, or both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct PartQuery {
    /// The path of the file, as it is stored.
    pub path: String,
    /// A line that they contain.
    pub line: Option<u32>,
    /// Their name, matched exactly.
    pub name: Option<String>,
}

impl PartQuery {
    /// All parts of the file at `path`.
    pub fn new(path: impl Into<String>) -> Self {
        PartQuery {
            path: path.into(),
            line: None,
            name: None,
        }
    }

    /// Only those that contain `line`.
    #[must_use]
    pub fn at(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    /// Only those with this `name`.
    #[must_use]
    pub fn called(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// Finds files and parts of them.
///
/// Several names, paths or places are requested at once, since a store may be a network away. The
/// answer has one list for each, in the order of the requests, as if each was requested alone;
/// `limit` applies to each list. A strategy that gets more or fewer lists than it requested fails.
///
/// Implementors write [`passages`](FileSearch::passages); the other methods find nothing by
/// default.
#[async_trait]
pub trait FileSearch: Send + Sync {
    /// The parts that match best, each once, the best first: by BM25 or similar, summed over
    /// fields. The store orders ties in any way that is always the same.
    async fn passages(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>>;

    /// The files that match best, the best first, each as a part that represents it
    /// ([`Part::of_file`]). For any other part, its file is used.
    async fn files(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        let _ = wanted;
        Ok(Vec::new())
    }

    /// For each of `names`, the parts that define exactly this name, ignoring case.
    async fn definitions(&self, names: &[String], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        let _ = limit;
        Ok(vec![Vec::new(); names.len()])
    }

    /// The parts whose names are most similar to one of `names`, by their trigrams; scores are
    /// 0..=1. One list for all names.
    async fn similar(&self, names: &[String], limit: usize) -> PortResult<Vec<Hit>> {
        let _ = (names, limit);
        Ok(Vec::new())
    }

    /// For each of `ends`, the files whose paths are equal to it or end with a `/` and it, in the
    /// order of their paths, ignoring case. An empty end has none.
    async fn ending_with(&self, ends: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        let _ = limit;
        Ok(vec![Vec::new(); ends.len()])
    }

    /// For each of `folders`, with or without slashes around it, the files below folders whose
    /// paths are equal to it or end with a `/` and it, in the order of their paths, ignoring case.
    /// An empty one has none. If there are more than `limit`, the first by the lower-case rest of
    /// the path after the folder, and then by path. If a file is below two such folders, the nearer
    /// one counts; folders more than 64 levels above a file may be ignored.
    async fn below(&self, folders: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        let _ = limit;
        Ok(vec![Vec::new(); folders.len()])
    }

    /// The longest list that the store ever returns, whatever the `limit`: a list of this length
    /// may be cut off.
    fn longest_list(&self) -> usize {
        usize::MAX
    }

    /// For each of `wanted`, the parts of that file, in the order of their lines.
    async fn parts_of(&self, wanted: &[PartQuery], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        let _ = limit;
        Ok(vec![Vec::new(); wanted.len()])
    }
}

/// Finds relations between parts of code.
#[async_trait]
pub trait Relations: Send + Sync {
    /// For each of `names`, the parts that use it, as if each was requested alone (see
    /// [`FileSearch`]).
    async fn users_of(&self, names: &[String], limit: usize) -> PortResult<Vec<Vec<Hit>>>;
}

/// A place that an earlier change touched.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Touched {
    /// The path of the file.
    pub path: String,
    /// Possible names of the definition that was touched there, the likeliest first: the first that
    /// the file defines is meant.
    pub names: Vec<String>,
    /// How well the change matches: comparable only within one list.
    pub score: f64,
}

impl Touched {
    /// A touched place.
    pub fn new(path: impl Into<String>, names: Vec<String>, score: f64) -> Self {
        Touched {
            path: path.into(),
            names,
            score,
        }
    }
}

/// Finds places of earlier changes made for reasons like those of a question.
#[async_trait]
pub trait Changes: Send + Sync {
    /// The places touched by changes whose messages match `terms` best, the best first. Terms are
    /// as `ctx_rank::Analyzer` gives them, with their weights.
    async fn touched(&self, terms: &[(String, f32)], limit: usize) -> PortResult<Vec<Touched>>;
}

/// A place that a custom search found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Near {
    /// The path of the file, as it is stored.
    pub path: String,
    /// Its lines; `None` for the whole file.
    pub span: Option<LineSpan>,
    /// How near it is, on any scale: higher is nearer. Only the order counts.
    pub score: f64,
}

impl Near {
    /// Lines `span` of the file at `path`, or all of it.
    pub fn new(path: impl Into<String>, span: Option<LineSpan>, score: f64) -> Self {
        Near {
            path: path.into(),
            span,
            score,
        }
    }
}

/// Finds places by their meaning, or by anything else that this crate does not know: vectors, a
/// model, a service.
#[async_trait]
pub trait Semantic: Send + Sync {
    /// The `limit` places nearest to `query`, in any order; its text is [`Query::text`].
    async fn nearest(&self, query: &Query, limit: usize) -> PortResult<Vec<Near>>;
}

/// Places that were found beforehand, for one question.
#[async_trait]
impl Semantic for Vec<Near> {
    async fn nearest(&self, _: &Query, _: usize) -> PortResult<Vec<Near>> {
        Ok(self.clone())
    }
}

/// A message of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The unique id of the message.
    pub id: String,
    /// The role of the speaker: `user`, `assistant`, …
    pub role: String,
    /// The text of the message.
    pub content: String,
    /// The time, in seconds since 1970.
    pub said_at: i64,
    /// The position in the thread, from 1, which never changes. A store that knows it without
    /// reading the thread sets it on all messages; otherwise it is `None` on all.
    pub place: Option<u64>,
}

impl Message {
    /// A message.
    pub fn new(
        id: impl Into<String>,
        role: impl Into<String>,
        content: impl Into<String>,
        said_at: i64,
    ) -> Self {
        Message {
            id: id.into(),
            role: role.into(),
            content: content.into(),
            said_at,
            place: None,
        }
    }

    /// Sets the position in the thread, from 1.
    #[must_use]
    pub fn at(mut self, place: u64) -> Self {
        self.place = Some(place);
        self
    }
}

/// The messages of threads.
#[async_trait]
pub trait History: Send + Sync {
    /// The last `limit` messages of `thread`, the oldest first.
    async fn messages(&self, thread: &str, limit: usize) -> PortResult<Vec<Message>>;

    /// The exchange of `thread` that contains the message `id`, the oldest message first: a message
    /// of a user, and the messages until the next one of a user; at most `limit` messages. Empty if
    /// there is no such message. Searches the last 200 messages, unless a store does better.
    async fn exchange(&self, thread: &str, id: &str, limit: usize) -> PortResult<Vec<Message>> {
        let last = self.messages(thread, RECENT_MESSAGES).await?;
        let mut exchanges = last.chunk_by(|_, next| next.role != "user");
        let found = exchanges.find(|it| it.iter().any(|message| message.id == id));
        Ok(found.map_or_else(Vec::new, |it| it.iter().take(limit).cloned().collect()))
    }
}

/// How many of the last messages are searched by a store that has no lookup by id.
const RECENT_MESSAGES: usize = 200;

/// References that users pinned to threads.
#[async_trait]
pub trait References: Send + Sync {
    /// The references pinned to `thread`, as written (a path, `path:10-20`, a symbol), in the order
    /// of pinning.
    async fn pinned(&self, thread: &str) -> PortResult<Vec<String>>;
}

/// How useful files were before.
#[async_trait]
pub trait Usage: Send + Sync {
    /// How often each of these files was useful; files without a count may be missing.
    async fn counts(&self, paths: &[String]) -> PortResult<BTreeMap<String, u64>>;

    /// Records that these files were shown, at `now` in seconds since 1970; a later time already
    /// recorded is kept.
    async fn shown(&self, paths: &[String], now: i64) -> PortResult<()>;

    /// The files that were shown last, the latest first, with their times; ties in descending order
    /// of their paths. A file that was removed from the store is missing, even after it comes back,
    /// until it is shown again; its usefulness count is kept.
    async fn recent(&self, limit: usize) -> PortResult<Vec<(String, i64)>>;
}

/// Stores threads: their messages, and the references pinned to them.
#[async_trait]
pub trait Threads: Send + Sync {
    /// Appends `message` to `thread`. Does nothing if the thread has a message with this id.
    async fn append(&self, thread: &str, message: &Message) -> PortResult<()>;

    /// Pins `what` to `thread`: a path, `path:10-20`, a symbol. If it is pinned already, it keeps
    /// its position.
    async fn pin(&self, thread: &str, what: &str) -> PortResult<()>;

    /// Unpins `what` from `thread`, if it is pinned.
    async fn unpin(&self, thread: &str, what: &str) -> PortResult<()>;
}

/// The highest usefulness count of a file.
pub const MOST_USES: u64 = 10;

/// How long the key of a vote is remembered at least, in seconds: 33 days.
pub const REMEMBERED: i64 = 33 * 86_400;

/// A user's vote on a file that was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vote {
    /// Identifies the vote: it counts once for as long as the key is remembered.
    pub key: String,
    /// The file.
    pub path: String,
    /// Whether the file was useful.
    pub is_useful: bool,
    /// The time, in seconds since 1970.
    pub at: i64,
}

impl Vote {
    /// A vote.
    pub fn new(key: impl Into<String>, path: impl Into<String>, is_useful: bool, at: i64) -> Self {
        Vote {
            key: key.into(),
            path: path.into(),
            is_useful,
            at,
        }
    }
}

/// Stores the votes of users on files they were shown.
#[async_trait]
pub trait Feedback: Send + Sync {
    /// Changes the count of [`Usage::counts`] up or down by one, within 0..=[`MOST_USES`], and
    /// returns whether it did: a vote with a remembered key changes nothing. The vote and its key
    /// are stored atomically. A store may forget a key once a vote comes more than [`REMEMBERED`]
    /// seconds after the vote with that key, by the times in the votes.
    async fn vote(&self, vote: &Vote) -> PortResult<bool>;

    /// Counts each of `votes` like [`Feedback::vote`], and returns how many counted. One by one,
    /// unless a store does better.
    async fn votes(&self, votes: &[Vote]) -> PortResult<usize> {
        let mut counted = 0;
        for vote in votes {
            counted += usize::from(self.vote(vote).await?);
        }
        Ok(counted)
    }
}

/// Detects changes of a store.
#[async_trait]
pub trait Generation: Send + Sync {
    /// A number that changes whenever files are indexed or a vote is counted. Messages, pins, and
    /// times when files were shown do not change it.
    async fn generation(&self) -> PortResult<u64>;
}
