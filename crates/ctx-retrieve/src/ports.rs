//! What a store offers to those who look for something in it. Times are in seconds since 1970, everywhere in these ports.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;
use std::iter;
use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use ctx_model::{LineSpan, with_causes};
use ctx_rank::{Query, Role};

/// A part of a file, and what a store knows of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// The file, relative to the root, with `/` between its parts.
    pub path: String,
    /// Its lines.
    pub span: LineSpan,
    /// What it is: `function`, `class`, `section`, … or `lines`; `file` for what stands for the whole file.
    pub kind: String,
    /// What it is called.
    pub name: Option<String>,
    /// That, with the names of what it is in.
    pub qualified_name: Option<String>,
    /// What it is written in.
    pub language: Option<String>,
    /// The names that it uses.
    pub refers_to: Vec<String>,
    /// When the file was last changed, in seconds since 1970.
    pub modified_at: Option<i64>,
}

impl Part {
    /// The kind of what stands for a whole file.
    pub const FILE: &str = "file";

    /// A part of which nothing is known but where it is.
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

    /// What stands for the whole file at `path`.
    pub fn of_file(path: impl Into<String>) -> Self {
        let first = LineSpan::new(1, 1).expect("1 is not before 1");
        let mut part = Part::new(path, first);
        Self::FILE.clone_into(&mut part.kind);
        part
    }

    /// Whether it stands for the whole file.
    pub fn is_file(&self) -> bool {
        self.kind == Self::FILE
    }

    /// What it is for: what its file is for ([`Role::of`]), but for tests that stand among the sources that they test, in
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
        // By one byte, which is found in less time than two; what is between the two is empty.
        name.split(':').any(|it| matches!(it, "test" | "tests"))
    }

    /// What tells it from any other of its store, and puts those in order.
    pub fn place(&self) -> (&str, u32, u32) {
        (&self.path, self.span.start(), self.span.end())
    }
}

/// A part that was found: it points to the part, which many questions share, and says how well it fits this one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// What was found.
    pub part: Arc<Part>,
    /// How well it fits: comparable within one list alone.
    pub score: f64,
}

impl Hit {
    /// `part`, which fits so well.
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

/// What is looked for in texts.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TextQuery {
    /// Terms as `ctx_rank::Analyzer` gives them, and what each is worth.
    pub terms: Vec<(String, f32)>,
    /// What a match in each field is worth; a field that is not named, or is worth nothing or less, is not searched.
    pub fields: Vec<(Field, f32)>,
    /// Only in these files, if there are any.
    pub paths: Vec<String>,
    /// How often a term is counted.
    pub counting: Counting,
    /// So many at most.
    pub limit: usize,
}

/// How often a term of a [`TextQuery`] is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// The more often the better, less and less so, in each field by itself.
    #[default]
    Frequency,
    /// Once for a document, whichever of the fields it is in and whatever that is worth: a term is worth its
    /// weight × its inverse document frequency. A store that cannot tell counts by frequency.
    Presence,
}

impl TextQuery {
    /// Looks for `terms` in `fields`.
    pub fn new(terms: Vec<(String, f32)>, fields: Vec<(Field, f32)>, limit: usize) -> Self {
        TextQuery {
            terms,
            fields,
            paths: Vec::new(),
            counting: Counting::default(),
            limit,
        }
    }

    /// Counts each term once for a document.
    #[must_use]
    pub fn by_presence(mut self) -> Self {
        self.counting = Counting::Presence;
        self
    }

    /// Only in these files.
    #[must_use]
    pub fn within(mut self, paths: Vec<String>) -> Self {
        self.paths = paths;
        self
    }
}

/// A part of what is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The names of a part, those it is in included.
    Name,
    /// Its first lines.
    Signature,
    /// What is said of it in comments.
    Doc,
    /// The rest of it.
    Body,
    /// The path of a file.
    Path,
    /// All the text of a file.
    Text,
}

/// Why a port has no answer. It says what the error says that it was made of, and has that error's causes below it: whoever
/// tells of it says each once, as [`on_one_line`](PortError::on_one_line) does. What a store means by them is its own. Two that tell the same are equal.
///
/// It lasts (damage, a panic, what is refused), or it is [for now](PortError::is_transient), as the store says.
///
/// ```
/// use ctx_retrieve::{Answer, PortError};
///
/// fn read(path: &str) -> Answer<Vec<u8>> {
///     Ok(std::fs::read(path)?)
/// }
/// fn number(text: &str) -> Answer<u32> {
///     text.parse().map_err(PortError::new)
/// }
/// fn port(text: &str) -> Answer<u32> {
///     text.parse().map_err(|error| PortError::with_source("the port is no number", error))
/// }
/// assert!(read("no/such/file").unwrap_err().get_ref().is::<std::io::Error>());
/// assert_eq!(number("x"), Err(PortError::new("invalid digit found in string")));
/// assert_eq!(port("x").unwrap_err().to_string(), "the port is no number");
/// assert_eq!(port("x").unwrap_err().on_one_line(), "the port is no number: invalid digit found in string");
///
/// let away = PortError::new("nobody answers there").for_now();
/// assert!(PortError::with_source("ask the store", away).is_transient());
/// assert!(!PortError::new("the disk is damaged").is_transient());
/// ```
#[derive(Clone, Debug)]
pub struct PortError {
    error: Arc<dyn Error + Send + Sync>,
    is_for_now: bool,
}

impl PortError {
    /// Says what `error` says, and has its causes; words have none.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        PortError {
            error: error.into().into(),
            is_for_now: false,
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

    /// The same, where the store was late or cannot be reached: what it was asked is not at fault.
    #[must_use]
    pub fn for_now(self) -> Self {
        PortError {
            is_for_now: true,
            ..self
        }
    }

    /// Whether the same may be answered soon, by what [`for_now`](PortError::for_now) said of it, or of a [`PortError`] that caused
    /// it. All else is taken to last: an answer may be given without what is never told, and not for what is told a moment later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        let first: &(dyn Error + 'static) = self.get_ref();
        let mut causes = iter::successors(Some(first), |it| (*it).source());
        // The first that is one speaks for those below it.
        let cause = causes.find_map(|it| it.downcast_ref::<PortError>());
        self.is_for_now || cause.is_some_and(PortError::is_transient)
    }

    /// The error that [`new`](PortError::new) was given; that of [`with_source`](PortError::with_source) is the `source()`.
    #[must_use]
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }

    /// What it says, and what its causes say, on one line.
    #[must_use]
    pub fn on_one_line(&self) -> String {
        with_causes(self)
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

/// What failed, and why.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct Because {
    what: Cow<'static, str>,
    source: Box<dyn Error + Send + Sync>,
}

/// What most answers are.
pub type Answer<T> = Result<T, PortError>;

/// Which parts of a file are wanted: all, or those that hold a line, or bear a name, or both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct PartQuery {
    /// The file, as it is stored.
    pub path: String,
    /// A line that they hold.
    pub line: Option<u32>,
    /// What they are called, to the letter.
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

    /// Only those that hold `line`.
    #[must_use]
    pub fn at(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    /// Only those that are called `name`.
    #[must_use]
    pub fn called(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// Finds files and parts of them.
///
/// Several names, paths or places are asked for at once, since a store may be a network away. Their answers are
/// a list for each, in the order asked, and those that each alone would have; `limit` is that of each list. A strategy
/// that gets more lists than it asked for, or fewer, has failed.
///
/// Implementors write [`passages`](FileSearch::passages); of what a store does not write it has nothing.
#[async_trait]
pub trait FileSearch: Send + Sync {
    /// The parts of files that fit best, each once, the best first: BM25 or its like, summed over fields. Of equals the store has an
    /// order of its own, which is the same each time.
    async fn passages(&self, wanted: &TextQuery) -> Answer<Vec<Hit>>;

    /// The files that fit best, the best first, each as what stands for it: [`Part::of_file`]. Of another part its file
    /// is taken.
    async fn files(&self, wanted: &TextQuery) -> Answer<Vec<Hit>> {
        let _ = wanted;
        Ok(Vec::new())
    }

    /// For each of `names`, the parts that define what is called exactly so; case does not matter.
    async fn definitions(&self, names: &[String], limit: usize) -> Answer<Vec<Vec<Hit>>> {
        let _ = limit;
        Ok(vec![Vec::new(); names.len()])
    }

    /// The parts whose names are most like one of `names`, by their trigrams; scores are 0..=1. One list for all.
    async fn similar(&self, names: &[String], limit: usize) -> Answer<Vec<Hit>> {
        let _ = (names, limit);
        Ok(Vec::new())
    }

    /// For each of `ends`, the files whose paths are it or end with a `/` and it, in the order of their paths; case does not
    /// matter. An empty one has none.
    async fn ending_with(&self, ends: &[String], limit: usize) -> Answer<Vec<Vec<String>>> {
        let _ = limit;
        Ok(vec![Vec::new(); ends.len()])
    }

    /// For each of `folders`, with slashes round it or without, the files below folders whose paths are it or end with a `/` and it,
    /// in the order of their paths; case does not matter. An empty one has none. Of more
    /// than `limit`, the first by what follows the folder, in lower case, and then by their paths. Of two such folders that a file is
    /// below, the nearer counts; a folder that is more than 64 above a file need not.
    async fn below(&self, folders: &[String], limit: usize) -> Answer<Vec<Vec<String>>> {
        let _ = limit;
        Ok(vec![Vec::new(); folders.len()])
    }

    /// No list that it answers with is longer, whatever the `limit`: one that is as long may go on.
    fn longest_list(&self) -> usize {
        usize::MAX
    }

    /// For each of `wanted`, the parts of that file, in the order of their lines.
    async fn parts_of(&self, wanted: &[PartQuery], limit: usize) -> Answer<Vec<Vec<Hit>>> {
        let _ = limit;
        Ok(vec![Vec::new(); wanted.len()])
    }
}

/// Finds what code has to do with code.
#[async_trait]
pub trait Relations: Send + Sync {
    /// For each of `names`, the parts that use it. As in [`FileSearch`], each is answered as it would be alone.
    async fn users_of(&self, names: &[String], limit: usize) -> Answer<Vec<Vec<Hit>>>;
}

/// A place that an earlier change touched.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Touched {
    /// The file.
    pub path: String,
    /// What may be the name of what was touched there, the likeliest first: the first that the file defines is it.
    pub names: Vec<String>,
    /// How well the change fits: comparable within one list alone.
    pub score: f64,
}

impl Touched {
    /// A place.
    pub fn new(path: impl Into<String>, names: Vec<String>, score: f64) -> Self {
        Touched {
            path: path.into(),
            names,
            score,
        }
    }
}

/// Finds what was changed before for reasons like those of a question.
#[async_trait]
pub trait Changes: Send + Sync {
    /// The places that changes touched whose messages fit `terms` best, the best first. Terms are as
    /// `ctx_rank::Analyzer` gives them, each with what it is worth.
    async fn touched(&self, terms: &[(String, f32)], limit: usize) -> Answer<Vec<Touched>>;
}

/// A place that a search of somebody's own found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Near {
    /// The file, as it is stored.
    pub path: String,
    /// Its lines, or all of it.
    pub span: Option<LineSpan>,
    /// How near it is, on whatever scale: more is nearer. It tells who comes first, and nothing else.
    pub score: f64,
}

impl Near {
    /// The lines `span` of the file at `path`, or all of it.
    pub fn new(path: impl Into<String>, span: Option<LineSpan>, score: f64) -> Self {
        Near {
            path: path.into(),
            span,
            score,
        }
    }
}

/// Finds places by their meaning, or by whatever else is known of them and not to this crate: vectors, a model, a service.
#[async_trait]
pub trait Semantic: Send + Sync {
    /// The `limit` places that are nearest to `query`, in any order; its text is [`Query::text`].
    async fn nearest(&self, query: &Query, limit: usize) -> Answer<Vec<Near>>;
}

/// What was found beforehand, for one question.
#[async_trait]
impl Semantic for Vec<Near> {
    async fn nearest(&self, _: &Query, _: usize) -> Answer<Vec<Near>> {
        Ok(self.clone())
    }
}

/// A message of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// What tells it from any other.
    pub id: String,
    /// Who speaks: `user`, `assistant`, …
    pub role: String,
    /// What is said.
    pub content: String,
    /// When, in seconds since 1970.
    pub said_at: i64,
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
        }
    }
}

/// What was said before.
#[async_trait]
pub trait History: Send + Sync {
    /// The last `limit` messages of `thread`, the oldest first.
    async fn messages(&self, thread: &str, limit: usize) -> Answer<Vec<Message>>;

    /// The exchange of `thread` that the message `id` is part of, the oldest first: what a user said, and what
    /// followed until a user spoke again; at most `limit` messages. None where there is no such message. Looks
    /// through the last 200, unless a store does better.
    async fn exchange(&self, thread: &str, id: &str, limit: usize) -> Answer<Vec<Message>> {
        let last = self.messages(thread, RECENT_MESSAGES).await?;
        let mut exchanges = last.chunk_by(|_, next| next.role != "user");
        let found = exchanges.find(|it| it.iter().any(|message| message.id == id));
        Ok(found.map_or_else(Vec::new, |it| it.iter().take(limit).cloned().collect()))
    }
}

/// So many of the last messages a store looks through that does not know them by their ids.
const RECENT_MESSAGES: usize = 200;

/// What the user pinned to a thread.
#[async_trait]
pub trait References: Send + Sync {
    /// What is pinned to `thread`, as it was written (a path, `path:10-20`, a symbol), in the order it was pinned.
    async fn pinned(&self, thread: &str) -> Answer<Vec<String>>;
}

/// What was of use before.
#[async_trait]
pub trait Usage: Send + Sync {
    /// How often each of these files was of use; those that never were may be missing.
    async fn counts(&self, paths: &[String]) -> Answer<BTreeMap<String, u64>>;

    /// Notes that these files were shown, at `now` in seconds since 1970; of one that was shown later, that stays.
    async fn shown(&self, paths: &[String], now: i64) -> Answer<()>;

    /// The files that were shown last, the latest first, each with when; of those shown at once, the last by their paths
    /// first. One that was removed from the store is not among them, also when it comes back, until it is shown again; how often it was
    /// of use stays.
    async fn recent(&self, limit: usize) -> Answer<Vec<(String, i64)>>;
}

/// Keeps threads: what is said in them, and what is pinned to them.
#[async_trait]
pub trait Threads: Send + Sync {
    /// Adds `message` at the end of `thread`. A message whose id the thread has already changes nothing.
    async fn append(&self, thread: &str, message: &Message) -> Answer<()>;

    /// Pins `what` to `thread`: a path, `path:10-20`, a symbol. What is pinned already stays where it is.
    async fn pin(&self, thread: &str, what: &str) -> Answer<()>;

    /// Takes the pin of `what` off `thread`, if it has one.
    async fn unpin(&self, thread: &str, what: &str) -> Answer<()>;
}

/// No file counts as of use more often than this.
pub const MOST_USES: u64 = 10;

/// The key of a vote is remembered for so many seconds after the vote, at least: 33 days.
pub const REMEMBERED: i64 = 33 * 86_400;

/// What a user said of a file that was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vote {
    /// What tells this vote from any other: it counts once, as long as it is remembered.
    pub key: String,
    /// The file.
    pub path: String,
    /// Whether it was of use.
    pub is_useful: bool,
    /// When, in seconds since 1970.
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

/// Remembers what users said of what they were shown.
#[async_trait]
pub trait Feedback: Send + Sync {
    /// Moves the count of [`Usage::counts`] up or down by one, within 0..=[`MOST_USES`], and tells whether it
    /// did: a vote whose key is remembered changes nothing. The vote and its key are kept together or not
    /// at all. A store may forget a key once a vote comes more than [`REMEMBERED`] seconds after the one that had it,
    /// by what the votes themselves say of when they are.
    async fn vote(&self, vote: &Vote) -> Answer<bool>;

    /// Counts each of `votes` as [`Feedback::vote`] does, and tells how many counted. One by one, unless a store
    /// does better.
    async fn votes(&self, votes: &[Vote]) -> Answer<usize> {
        let mut counted = 0;
        for vote in votes {
            counted += usize::from(self.vote(vote).await?);
        }
        Ok(counted)
    }
}

/// Tells whether a store still says what it said.
#[async_trait]
pub trait Generation: Send + Sync {
    /// A number that is another one after files were indexed anew or a vote was counted. Messages, pins, and
    /// when files were shown, do not change it.
    async fn generation(&self) -> Answer<u64>;
}
