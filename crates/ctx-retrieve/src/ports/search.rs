//! What a search offers: files and their parts, relations, earlier changes, locations by meaning.

use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use ctx_model::{LineSpan, PartKind, UnixSeconds};
use ctx_rank::{Query, Role};

use super::PortResult;

/// A part of a file, with what a store knows of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// The path of the file, relative to the root, with `/` as separator.
    pub path: String,
    /// Its lines.
    pub span: LineSpan,
    /// Its kind.
    pub kind: PartKind,
    /// Its name.
    pub name: Option<String>,
    /// Its name with the names around it.
    pub qualified_name: Option<String>,
    /// The language it is written in.
    pub language: Option<String>,
    /// The names that it uses.
    pub refers_to: Vec<String>,
    /// When the file was last changed.
    pub modified_at: Option<UnixSeconds>,
}

impl Part {
    /// A part of which only the location is known.
    pub fn new(path: impl Into<String>, span: LineSpan) -> Self {
        Part {
            path: path.into(),
            span,
            kind: PartKind::Lines,
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
        part.kind = PartKind::File;
        part
    }

    /// Whether it represents a whole file.
    pub fn is_file(&self) -> bool {
        self.kind == PartKind::File
    }

    /// Whether `scope` is one of the names around it, or several of them: `Pool` of `Pool.take`,
    /// and `a::Pool` of `a::Pool::take`. O(bytes).
    pub fn is_within(&self, scope: &str) -> bool {
        let qualified = self.qualified_name.as_deref().unwrap_or_default();
        let name = self.name.as_deref().unwrap_or_default();
        let around = qualified.strip_suffix(name).unwrap_or(qualified);
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        around.match_indices(scope).any(|(at, _)| {
            let (before, behind) = (&around[..at], &around[at + scope.len()..]);
            !before.ends_with(is_of_name) && !behind.starts_with(is_of_name)
        })
    }

    /// Whether its file, without extensions, or a folder that it is in, is called `name`. O(bytes).
    pub fn is_in_path_called(&self, name: &str) -> bool {
        let mut names = self.path.split('/');
        names.any(|it| it.split('.').next() == Some(name))
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
        name.contains("test") && name.split(':').any(|it| matches!(it, "test" | "tests"))
    }

    /// Identifies the part within its store, and orders parts: the path, and the first and last
    /// line.
    pub fn key(&self) -> (&str, u32, u32) {
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

/// Which parts of a file are wanted: all, or those that meet each of the conditions given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct PartQuery {
    /// The path of the file, as it is stored.
    pub path: String,
    /// A line that they contain.
    pub line: Option<u32>,
    /// Lines of which they contain at least one.
    pub span: Option<LineSpan>,
    /// Their name, matched exactly.
    pub name: Option<String>,
}

impl PartQuery {
    /// All parts of the file at `path`.
    pub fn new(path: impl Into<String>) -> Self {
        PartQuery {
            path: path.into(),
            line: None,
            span: None,
            name: None,
        }
    }

    /// Only those that contain `line`.
    #[must_use]
    pub fn at(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    /// Only those that contain a line of `span`.
    #[must_use]
    pub fn overlapping(mut self, span: LineSpan) -> Self {
        self.span = Some(span);
        self
    }

    /// Only those with this `name`.
    #[must_use]
    pub fn called(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Whether `part` is one of them; a part that represents a whole file is not.
    pub fn is_met_by(&self, part: &Part) -> bool {
        let lines = part.span;
        let overlaps = |it: LineSpan| it.start() <= lines.end() && lines.start() <= it.end();
        !part.is_file()
            && self.path == part.path
            && self.line.is_none_or(|it| lines.contains_line(it))
            && self.span.is_none_or(overlaps)
            && (self.name.is_none() || self.name == part.name)
    }
}

/// Finds files and parts of them.
///
/// Several names, paths or locations are requested at once, since a store may be a network away.
/// The answer has one list for each, in the order of the requests, as if each was requested alone;
/// `limit` applies to each list. A strategy that gets more or fewer lists than it requested fails.
///
/// Implementors write [`passages`](FileSearch::passages); the other methods find nothing by
/// default. `ctx_testkit::laws::file_search` checks a store with any texts.
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

    /// A number that differs as soon as the store answers from newer texts: lines of hits from
    /// before are then lines of other texts, and the question is asked once more. A store that
    /// answers each question from one state keeps the default.
    fn version(&self) -> u64 {
        0
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

/// A location that an earlier change touched.
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
    /// A touched location.
    pub fn new(path: impl Into<String>, names: Vec<String>, score: f64) -> Self {
        Touched {
            path: path.into(),
            names,
            score,
        }
    }
}

/// Finds locations of earlier changes made for reasons like those of a question. Its laws are
/// `ctx_testkit::laws::changes`.
#[async_trait]
pub trait Changes: Send + Sync {
    /// The locations touched by changes whose messages match `terms` best, each once, the best
    /// first. Terms are as `ctx_rank::Analyzer` gives them, with their weights. Ties are ordered in
    /// any way that is always the same.
    async fn touched(&self, terms: &[(String, f32)], limit: usize) -> PortResult<Vec<Touched>>;
}

/// A location that a custom search found.
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

/// The `limit` nearest of `locations`, the nearest first, ties by location; without those whose
/// score is not finite. O(n log n).
pub(crate) fn nearest_of(mut locations: Vec<Near>, limit: usize) -> Vec<Near> {
    let lines = |it: &Near| it.span.map(|it| (it.start(), it.end()));
    locations.retain(|it| it.score.is_finite());
    locations.sort_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        let by_path = || a.path.cmp(&b.path);
        by_score
            .then_with(by_path)
            .then_with(|| lines(a).cmp(&lines(b)))
    });
    locations.truncate(limit);
    locations
}

/// Finds locations by their meaning, or by anything else that this crate does not know: vectors, a
/// model, a service. Its laws are `ctx_testkit::laws::semantic`.
#[async_trait]
pub trait Semantic: Send + Sync {
    /// The `limit` locations nearest to `query`, in any order; its text is [`Query::text`]. Equal
    /// questions have equal answers.
    async fn nearest(&self, query: &Query, limit: usize) -> PortResult<Vec<Near>>;
}

/// Locations that were found beforehand, for one question.
#[async_trait]
impl Semantic for Vec<Near> {
    async fn nearest(&self, _: &Query, limit: usize) -> PortResult<Vec<Near>> {
        Ok(nearest_of(self.clone(), limit))
    }
}
