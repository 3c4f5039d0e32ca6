//! Takes a question apart: what it asks for and mentions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::failures::Failures;
use crate::foreign::Foreign;
use crate::logs::{has_clock, is_time, without_label};
use crate::mentions::{
    FileMention, before_text, definition_of, folder_of, is_between, line_mention_in, lines_beside,
    lines_in, may_be_file_name, mention_of, mentions_among, path_of_link, pattern_of, words_in,
};
use crate::messages::asks;
use crate::names::{Name, may_be_name, names_in, option_of};
use crate::runners::{Failed, failed};
use crate::traces::{
    Frame, Traced, function_before_location, is_call, is_call_of_ruby, is_location_of_call,
    is_of_path_alone, message_after_call, panic_message, recovered_function, traced,
};
use crate::versions::{Listing, listing};
use crate::words::{Analyzer, Part, composed, is_of_word, is_unspaced, says_nothing};

/// The most bytes of a question that are read.
pub const MOST_BYTES: usize = 256 << 10;
/// The most terms that are kept, the heaviest ones.
pub const MOST_TERMS: usize = 128;
/// The most names, files and phrases that are kept, the first of each.
pub const MOST_MENTIONS: usize = 128;
/// The most calls of stack traces that are kept: half of them the first, half the last. A trace
/// begins or ends with the call that failed, depending on the language.
pub const MOST_FRAMES: usize = 48;

/// The most words of a question of one line that counts as typed spontaneously.
const FEW_WORDS: usize = 24;

/// The factor for the weight of a version in a typed question.
const OF_VERSION: f64 = 2.0;
/// The factor for the weight of the [verb](VERBS) at the end of a typed question.
const OF_VERB: f64 = 0.2;
/// Verbs at the end of a question that say nothing of what it is about.
const VERBS: [&str; 14] = [
    "configured",
    "defined",
    "handled",
    "happen",
    "happening",
    "happens",
    "implemented",
    "located",
    "mean",
    "means",
    "set",
    "work",
    "working",
    "works",
];
/// The factor for the weight of words with hyphens between them as a whole: each of the words is a
/// term, too, and most of them in prose, as in "well-known", name nothing.
const OF_COMPOUND: f64 = 0.3;

/// The most terms that are used as keywords.
const KEYWORDS: usize = 32;

/// The most digits of a number that is a term anywhere.
const FEW_DIGITS: usize = 4;
/// The most digits of a number that is a term in text: enough for 64 bits.
const MOST_DIGITS: usize = 20;

/// Words that ask for the whole content of a file.
const ASKING: [&str; 19] = [
    "contain",
    "contains",
    "content",
    "contents",
    "describe",
    "document",
    "explain",
    "file",
    "overview",
    "read",
    "say",
    "says",
    "show",
    "summarise",
    "summarize",
    "summary",
    "tell",
    "tells",
    "written",
];

/// The part of a question where something occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Region {
    /// The first line: the topic.
    Title,
    /// Text.
    Prose,
    /// Between backticks, in a line of text.
    InlineCode,
    /// In a fenced block of code.
    CodeBlock,
    /// A line of a stack trace.
    Trace,
    /// A heading, and statements about versions and machines: a label, what is below such a
    /// heading up to the first sentence, also in blocks of code, and lists of versions anywhere.
    Setting,
}

impl Region {
    /// The weight of a term in this region, relative to prose. Chosen on issue reports: a title is
    /// deliberate, a block of code is mostly context.
    pub fn weight(self) -> f64 {
        match self {
            Region::Title => 2.5,
            Region::Prose => 1.0,
            Region::InlineCode => 1.5,
            Region::CodeBlock => 0.7,
            Region::Setting => 0.2,
            Region::Trace => 0.3,
        }
    }
}

/// One term to look for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Term {
    /// The term as [`Analyzer::words`] gives it.
    pub text: String,
    /// Its weight, above 0: a saturated sum over its occurrences.
    pub weight: f64,
}

impl Term {
    /// A term with this `text`, as [`Analyzer::words`] gives it, and this weight.
    pub fn new(text: impl Into<String>, weight: f64) -> Self {
        let text = text.into();
        Term { text, weight }
    }
}

/// What a question names. Each list has its items once, in the order of the question, and at most
/// [`MOST_MENTIONS`] of them; of calls, at most [`MOST_FRAMES`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Mentions {
    /// Identifiers, in the order of the question. In a report, one whose last part is a stop word
    /// or shorter than three bytes is left out, with all that precedes that part, also in code:
    /// `Pool.get` and `pool.id` are, `Session.send` is not. Too many things have such a name for
    /// their definitions to be significant. Its other words are still among the terms. In a
    /// [typed](Query::typed) question, such a name counts if it is called (`get()`), is all of a
    /// text in backticks, or belongs to something (`pool.id`). A letter that is the whole question
    /// is a name, and of a question with only stop words, those that are common as names, too:
    /// `get` of `what does get do`. So is the word after the keyword of a definition: `def get`.
    /// The title of a test that a runner reports as failed is one, too, if it has several words and
    /// its file is not told.
    pub names: Vec<Name>,
    /// Files that are mentioned, with lines or a definition if given.
    pub files: Vec<FileMention>,
    /// Possible paths of folders in text: at least two names, or one with a slash after it, which
    /// is removed; and the fixed prefixes of patterns, as `src` of `src/**/*.rs`. `and/or` may be
    /// among them: the caller keeps those that exist.
    pub folders: Vec<String>,
    /// Possible names of files without a known extension, as written: a single word in quotation
    /// marks or backticks without an underscore, each word of a typed question with a capital
    /// letter or a dot, and its only word. The caller keeps those that exist: `README`,
    /// `Cargo.lock`. For a question [about the project](crate::Intent::Project), `README`, and for
    /// one about [what is new](crate::Intent::News), the names of changelogs.
    pub file_names: Vec<String>,
    /// Names of files and folders that a typed question may have, and that are no words: its
    /// [whole](Query::whole_name), what stands between quotation marks, backticks or the brackets
    /// of links between notes, dates (`2024-01-05`), words with a dot before them (`.env`), and
    /// each name with a known extension, or with a slash at its end, with up to seven words before
    /// it: `in Meeting Notes.md`, `Big Thing/`. Those of folders end with a slash. Most of them are
    /// no names: the caller keeps what there is.
    pub spaced_names: Vec<String>,
    /// Patterns of file names in a [typed](Query::typed) question: `*.toml`, `test_*.py`,
    /// `src/**/*.rs`. Such a word mentions no file, but may give a folder, too.
    pub patterns: Vec<String>,
    /// The calls of stack traces.
    pub frames: Vec<Frame>,
    /// Texts of more than one word in quotation marks or backticks.
    pub phrases: Vec<String>,
    /// Options of commands in the first line, with their dashes and without values: `--no-color` of
    /// `--no-color=always`. Their words are no names.
    pub options: Vec<String>,
}

/// A question or an issue report, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Query {
    /// The question as asked, up to [`MOST_BYTES`].
    pub text: String,
    /// Terms to search for, the heaviest first; ties in the order of their text.
    pub terms: Vec<Term>,
    /// The terms of the first line alone.
    pub title: Vec<Term>,
    /// What it names.
    pub mentions: Mentions,
    /// Failures: messages in code blocks and traces, and lines of text that begin with the name of
    /// an error. The first eight, each up to 200 bytes.
    pub failures: Vec<String>,
    /// The whole question if it is a single line of at most 24 words: such a question is typed
    /// spontaneously, and states its purpose.
    pub typed: Option<String>,
    /// The name of the project that it is about, in lower case, if it [was set](Query::in_project).
    pub project: Option<String>,
    /// The text of its code blocks.
    pub code: Vec<String>,
    /// The number of terms beyond the limit.
    pub terms_left_out: usize,
    /// The number of calls of stack traces beyond the limit, between the first and the last ones.
    pub frames_left_out: usize,
    /// The number of bytes beyond the limit.
    pub bytes_left_out: usize,
    /// The names, without extensions, of the files that answer a question about the project, if it
    /// asks for nothing else.
    pub(crate) fronts: &'static [&'static str],
    /// Whether it is only a definition.
    pub(crate) is_definition: bool,
}

impl Query {
    /// Takes `text` apart: free text, or an issue report in Markdown. O(bytes), of which at most
    /// [`MOST_BYTES`] are read. The result may have no terms; this is not an error.
    pub fn analyse(text: &str) -> Query {
        let end = text.floor_char_boundary(MOST_BYTES);
        let body = match typed(&text[..end]) {
            // Templates have more lines; who types a comment asks about it.
            Some(_) => text[..end].to_owned(),
            None => without_comments(&text[..end]),
        };
        let typed = typed(&body);
        let mut reader = Reader {
            is_typed: typed.is_some(),
            foreign: Foreign::of(lines_outside_code(&composed(&body))),
            ..Reader::default()
        };
        let mut block = String::new();
        let mut failures = Failures::default();
        let mut lines = lines_of(&body).peekable();
        let mut before = Listing::None;
        while let Some(line) = lines.next() {
            let listing = line.listing();
            let is_one = listing == Listing::One;
            reader.is_listing = listing == Listing::Many
                || is_one && before == listing
                || is_one && lines.peek().is_some_and(|it| it.listing() == listing);
            before = listing;
            reader.is_before_location = match lines.peek() {
                Some(Line::Text(next) | Line::Code(next)) => is_location_of_call(next),
                _ => false,
            };
            match line {
                Line::Open => {}
                Line::Close => keep(&mut reader.query.code, std::mem::take(&mut block)),
                Line::Code(line) => {
                    block.push_str(line);
                    block.push('\n');
                    failures.code(line);
                    let region = if reader.is_setting || reader.is_listing {
                        Region::Setting
                    } else {
                        Region::CodeBlock
                    };
                    reader.line(line, region);
                }
                Line::Text(line) => {
                    failures.text(line);
                    reader.prose(line);
                }
            }
        }
        if !block.is_empty() {
            keep(&mut reader.query.code, block);
        }
        let foreign = reader.foreign;
        let mut query = reader.finish();
        query.failures = failures.found();
        let first = first_line(&body);
        query.title = title(first, foreign, typed.is_some());
        query.mentions.options = options_in(first);
        query.typed = typed;
        query.mentions.spaced_names = query.find_spaced_names();
        query.note_typed();
        query.note_definition();
        query.note_users();
        query.weigh_versions();
        query.weigh_verb();
        query.bytes_left_out = text.len() - end;
        text[..end].clone_into(&mut query.text);
        query
    }

    /// The words of a [typed](Query::typed) question, without signs around them; none for other
    /// questions.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let is_around = |it: char| !is_of_word(it);
        let words = self.typed.iter().flat_map(|it| it.split_whitespace());
        let words = words.map(move |it| it.trim_matches(is_around));
        words.filter(|it| !it.is_empty())
    }

    /// Whether a [typed](Query::typed) question is a single word, or a single file. In a script
    /// without spaces, what has no space has several words if it has more than eight characters of
    /// that script, or others beside them (`config.py在哪里`).
    pub fn is_one_word(&self) -> bool {
        const FEW_CHARACTERS: usize = 8;
        let mut words = self.words();
        let (Some(one), None) = (words.next(), words.next()) else {
            return false;
        };
        let (unspaced, others): (Vec<char>, Vec<char>) = one
            .chars()
            .filter(|&it| is_of_word(it))
            .partition(|&it| is_unspaced(it));
        unspaced.is_empty()
            || unspaced.len() <= FEW_CHARACTERS && others.is_empty()
            || mention_of(one).is_some()
    }

    /// The name of several parts that is all of a [typed](Query::typed) question, as settings have
    /// them: `max-retries`, `MAX_RETRIES`. Where it is defined or read, it is written letter by
    /// letter.
    pub fn setting(&self) -> Option<&str> {
        let one = self.words().next().filter(|_| self.is_one_word())?;
        let is_part = |it: &str| !it.is_empty() && it.chars().all(char::is_alphanumeric);
        let is_name = one.contains(['-', '_']) && one.split(['-', '_']).all(is_part);
        (is_name && one.contains(char::is_alphabetic)).then_some(one)
    }

    /// The identifiers that the question itself names, and no code or trace in it.
    pub fn names_outside_code(&self) -> impl Iterator<Item = &Name> {
        let is_told = |region: Region| !matches!(region, Region::CodeBlock | Region::Trace);
        self.mentions
            .names
            .iter()
            .filter(move |it| is_told(it.region))
    }

    /// The paths of the files that a [typed](Query::typed) question mentions with a folder, a line
    /// or a definition: such a file is meant even if it does not exist. A bare name may be that of
    /// something else (`Node.js`), and reports mention files of other projects.
    pub fn mentioned_files(&self) -> impl Iterator<Item = &str> {
        let is_meant = |it: &&FileMention| it.is_part() || it.path.contains('/');
        let meant = self.mentions.files.iter().filter(is_meant);
        let is_joined = |it: &FileMention| {
            self.mentions
                .files
                .iter()
                .any(|other| it.is_joined_to(other))
        };
        let meant = meant.filter(move |it| self.typed.is_some() && !is_joined(it));
        meant.map(|it| it.path.as_str())
    }

    /// Whether it asks for [files](crate::Intent::Files) as a whole.
    pub(crate) fn is_of_files_alone(&self) -> bool {
        if !self.fronts.is_empty() {
            return true;
        }
        let is_document = |it: &String| !it.contains(char::is_lowercase);
        let files = self.mentions.file_names.iter().filter(|it| is_document(it));
        let has_file = !self.mentions.files.is_empty() || files.clone().next().is_some();
        let has_no_part = !self.mentions.files.iter().any(FileMention::is_part);
        let is_of_one = |word: &str| {
            says_nothing(word)
                || is_asking(word)
                || mention_of(word).is_some()
                || files.clone().any(|it| it == word)
        };
        self.typed.is_some()
            && has_file
            && has_no_part
            && self.mentions.phrases.is_empty()
            && self.words().all(is_of_one)
    }

    /// Its heaviest terms, at most 32, which [`keyword_match`](crate::keyword_match) looks for in a
    /// text.
    pub fn keywords(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().take(KEYWORDS).map(|it| it.text.as_str())
    }

    /// Whether it asks for files by [patterns](crate::Intent::Patterns).
    pub(crate) fn is_of_patterns_alone(&self) -> bool {
        let words = self.typed.iter().flat_map(|it| it.split(is_between));
        let words = words.filter(|it| pattern_of(it).is_none());
        let mut words = words.map(|it| it.trim_matches(|it: char| !it.is_alphanumeric()));
        let is_file = |it: &str| ["all", "files", "list"].contains(&it.to_lowercase().as_str());
        !self.mentions.patterns.is_empty()
            && words.all(|it| it.is_empty() || says_nothing(it) || is_asking(it) || is_file(it))
    }

    /// Whether a version is among its terms.
    pub(crate) fn has_version(&self) -> bool {
        // No other term has a dot.
        self.terms.iter().any(|it| it.text.contains('.'))
    }

    /// Whether there is nothing to search for. A typed question of stop words is not empty if one
    /// of them may be a name, or a file may be called like some of them: `[[to do]]`.
    pub fn is_empty(&self) -> bool {
        let has_paths = !self.mentions.files.is_empty() || !self.mentions.file_names.is_empty();
        self.terms.is_empty()
            && self.mentions.names.is_empty()
            && !has_paths
            && self.mentions.patterns.is_empty()
            && !self.quotes_a_name()
    }

    /// Raises the weight of versions in a typed question: it is about that version, and its other
    /// words also occur in texts about other versions.
    fn weigh_versions(&mut self) {
        if self.typed.is_none() || !self.has_version() {
            return;
        }
        self.weigh(OF_VERSION, |it| it.contains('.'));
    }

    /// Lowers the weight of the verb at the end of a typed question, such as `how does it work`: it
    /// is part of the question's form, and many texts have it for their own reasons.
    fn weigh_verb(&mut self) {
        let words: Vec<&str> = self.words().collect();
        let Some((&verb, others)) = words.split_last() else {
            return;
        };
        let is_verb = VERBS.iter().any(|it| it.eq_ignore_ascii_case(verb));
        if !is_verb || !others.first().is_some_and(|it| asks(it)) {
            return;
        }
        let mut analyzer = Analyzer::default();
        let others: Vec<String> = others.iter().flat_map(|it| analyzer.terms(it)).collect();
        let verbs = analyzer.terms(verb);
        let is_other = |it: &Term| !verbs.contains(&it.text);
        if self.terms.iter().any(is_other) && !verbs.iter().any(|it| others.contains(it)) {
            self.weigh(OF_VERB, |it| verbs.iter().any(|verb| verb == it));
        }
    }

    /// Multiplies the weights of terms by `factor` where `is_one` says so.
    fn weigh(&mut self, factor: f64, is_one: impl Fn(&str) -> bool) {
        for terms in [&mut self.terms, &mut self.title] {
            let chosen = terms.iter_mut().filter(|it| is_one(&it.text));
            chosen.for_each(|it| it.weight *= factor);
            terms.sort_by(|a, b| {
                let by_text = || a.text.cmp(&b.text);
                b.weight.total_cmp(&a.weight).then_with(by_text)
            });
        }
    }

    /// Adds names that only a typed question may have: names of files, and single letters.
    fn note_typed(&mut self) {
        let words: Vec<String> = self.words().map(str::to_owned).collect();
        // The words of a pattern are not considered alone.
        let is_alone = words.len() == 1 && self.mentions.patterns.is_empty();
        for word in words {
            let is_letter = is_alone && word.len() == 1 && may_be_file_name(&word);
            if is_letter && !says_nothing(&word) && self.mentions.names.is_empty() {
                self.mentions.names.push(Name::alone(&word));
            }
            let stands_out = word.contains(|c: char| c.is_uppercase() || c == '.');
            if (is_alone || stands_out) && is_file_name(&word) {
                keep(&mut self.mentions.file_names, word);
            }
        }
        self.name_fronts();
        if self.is_empty() {
            let words: Vec<&str> = self.words().collect();
            let names = words.iter().filter(|it| may_be_name(it, is_alone));
            let names: Vec<Name> = names.map(|it| Name::alone(it)).collect();
            for name in names {
                keep(&mut self.mentions.names, name);
            }
        }
    }
}

/// Whether `word` may be the name of a file, and is no stop word.
fn is_file_name(word: &str) -> bool {
    !says_nothing(word) && may_be_file_name(word)
}

/// Like [`is_file_name`], for a quoted word: reports quote names of code, which underscores give
/// away.
fn is_quoted_file_name(word: &str) -> bool {
    is_file_name(word) && !word.contains('_')
}

/// Whether `line` is the generic first line of a trace.
fn is_head_of_trace(line: &str) -> bool {
    const HEADS: [&str; 3] = [
        "Traceback (most recent call last):",
        "stack backtrace:",
        "Stack trace:",
    ];
    let line = line.trim();
    let of_go = line.strip_prefix("goroutine ");
    let is_of_go =
        of_go.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()) && it.ends_with("]:"));
    is_of_go || HEADS.contains(&line)
}

/// The only line of `text`, if it has few words.
fn typed(text: &str) -> Option<String> {
    let mut lines = text.lines().filter(|it| !it.trim().is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let is_short = line.split_whitespace().nth(FEW_WORDS).is_none();
    is_short.then(|| line.trim().to_owned())
}

/// The first line that is not blank; if a trace comes first, the first line after it.
fn first_line(text: &str) -> &str {
    let mut lines = text.lines().filter(|it| !it.trim().is_empty());
    let is_form = |line: &str| is_call(line, None) && message_after_call(line).is_none();
    let says = |(line, next): &(&str, Option<&str>)| {
        let is_function =
            || next.is_some_and(is_location_of_call) && function_before_location(line).is_some();
        !is_head_of_trace(line) && !is_form(line) && !is_location_of_call(line) && !is_function()
    };
    let next = lines.clone().skip(1).map(Some).chain([None]);
    let first = lines.clone().zip(next).find(says);
    let line = first.map(|(line, _)| line).or_else(|| lines.next());
    line.unwrap_or_default()
}

/// The terms of the first line.
fn title(line: &str, foreign: Foreign, is_typed: bool) -> Vec<Term> {
    let line = panic_message(line).unwrap_or(line);
    let mut reader = Reader {
        is_typed,
        foreign,
        ..Reader::default()
    };
    reader.terms(&without_label(line), Region::Prose);
    heaviest(reader.weights).0
}

/// The options of commands in `line`, each once.
fn options_in(line: &str) -> Vec<String> {
    let mut options = Vec::new();
    for option in line.split(is_between).filter_map(option_of) {
        keep(&mut options, option.to_owned());
    }
    options
}

/// A line of a report, by its position in blocks of code.
enum Line<'t> {
    Text(&'t str),
    /// A line within a block of code.
    Code(&'t str),
    Open,
    /// The line that closes a block of code.
    Close,
}

impl Line<'_> {
    fn listing(&self) -> Listing {
        match self {
            Line::Text(line) | Line::Code(line) => listing(line),
            Line::Open | Line::Close => Listing::None,
        }
    }
}

/// The fence that is open, if any.
#[derive(Default)]
struct Fence<'t>(Option<&'t str>);

impl<'t> Fence<'t> {
    /// The kind of the next line, which may open or close a block of code.
    fn line(&mut self, line: &'t str) -> Line<'t> {
        let trimmed = line.trim_start();
        match (self.0, fence_of(trimmed)) {
            (None, Some(mark)) => {
                self.0 = Some(mark);
                Line::Open
            }
            (Some(open), Some(mark)) if mark.starts_with(open) && is_bare(trimmed, mark) => {
                self.0 = None;
                Line::Close
            }
            (Some(_), _) => Line::Code(line),
            (None, None) => Line::Text(line),
        }
    }
}

/// The lines of `text`, except for generic first lines of traces.
fn lines_of(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut fence = Fence::default();
    let lines = text.lines().filter(|it| !is_head_of_trace(it));
    lines.map(move |line| fence.line(line))
}

/// The lines of `text` outside fenced blocks of code, as CommonMark defines these, except for
/// generic first lines of traces. O(bytes).
pub fn lines_outside_code(text: &str) -> impl Iterator<Item = &str> {
    lines_of(text).filter_map(|line| match line {
        Line::Text(line) => Some(line),
        _ => None,
    })
}

/// Removes comments, which issue templates contain for their authors. Those in blocks of code and
/// between backticks are code. O(bytes).
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut fence = Fence::default();
    // Whether text of the current line was kept: nothing behind it opens a block.
    let mut is_begun = false;
    let mut at = 0;
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |it| at + it + 1);
        let line = &text[at..end];
        if is_begun || matches!(fence.line(line), Line::Text(_)) {
            let ticks = Backticks::of(line);
            let mut from = at;
            while from < end
                && let Some(begin) = ticks.comment(line, from - at)
            {
                let begin = at + begin;
                let Some(length) = text[begin..].find("-->") else {
                    return kept + &text[from..];
                };
                kept.push_str(&text[from..begin]);
                is_begun |= !text[from..begin].trim().is_empty();
                from = begin + length + 3;
            }
            at = from;
        }
        if at < end {
            kept.push_str(&text[at..end]);
            is_begun = false;
            at = end;
        }
    }
    kept
}

/// The runs of backticks in a line, which begin and end code.
struct Backticks {
    /// In order.
    runs: Vec<Range<usize>>,
    /// The indices in `runs` by the length of the run.
    of_length: BTreeMap<usize, Vec<usize>>,
}

impl Backticks {
    fn of(line: &str) -> Self {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (at, _) in line.match_indices('`') {
            match runs.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        let mut of_length: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, run) in runs.iter().enumerate() {
            of_length.entry(run.len()).or_default().push(index);
        }
        Backticks { runs, of_length }
    }

    /// The beginning of the first comment in `line` that is at or after `at` and in no code. As in
    /// CommonMark, code ends at the next run of as many backticks; without one, none begins.
    fn comment(&self, line: &str, mut at: usize) -> Option<usize> {
        let mut index = self.runs.partition_point(|it| it.start < at);
        loop {
            let run = self.runs.get(index);
            let end = run.map_or(line.len(), |it| it.start);
            if let Some(found) = line[at..end].find("<!--") {
                return Some(at + found);
            }
            let run = run?;
            let same = self
                .of_length
                .get(&run.len())
                .map_or(&[][..], Vec::as_slice);
            let closing = same.get(same.partition_point(|&it| it <= index));
            let last = closing.copied().unwrap_or(index);
            (at, index) = (self.runs[last].end, last + 1);
        }
    }
}

fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|&c| c == mark).count();
    let mark = (length >= 3).then(|| &line[..length])?;
    // An info string has no backticks.
    (!line[length..].contains('`')).then_some(mark)
}

/// Whether `word` asks for the whole content, ignoring case.
pub(crate) fn is_asking(word: &str) -> bool {
    ASKING.iter().any(|it| it.eq_ignore_ascii_case(word))
}

/// Whether `line`, in which pytest names a test, says that the test did not fail.
fn has_passed(line: &str) -> bool {
    const VERDICTS: [&str; 4] = ["PASSED", "SKIPPED", "XFAIL", "XPASS"];
    let mut words = line.split_whitespace();
    words.any(|it| VERDICTS.contains(&it))
}

/// Whether nothing follows the `mark` of a fence: a closing fence has no language.
fn is_bare(line: &str, mark: &str) -> bool {
    line[mark.len()..].trim().is_empty()
}

fn keep<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST_MENTIONS && !list.contains(&item) {
        list.push(item);
    }
}

/// Reduces `list` to its first and last items, at most `most` in all. Returns the number of those
/// dropped between them.
fn drop_middle<T>(list: &mut Vec<T>, most: usize) -> usize {
    let dropped = list.len().saturating_sub(most);
    let first = list.len().min(most) / 2;
    list.drain(first..first + dropped);
    dropped
}

#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each remembers one thing of the lines before, and any of them go together"
)]
struct Reader {
    query: Query,
    analyzer: Analyzer,
    weights: BTreeMap<String, f64>,
    /// The calls that are known.
    frames: BTreeSet<Frame>,
    /// Whether it is a typed question.
    is_typed: bool,
    /// The stop words of its language.
    foreign: Foreign,
    has_title: bool,
    /// Whether the current section of the report is about versions and machines.
    is_setting: bool,
    /// Whether the current line is of a list of versions.
    is_listing: bool,
    /// Whether the next line is the location of a call that this one may name.
    is_before_location: bool,
    /// The function that the previous line of a Go trace named, before its location.
    last_function: Option<String>,
    /// The call whose function the next line may name.
    recovered: Option<Frame>,
    /// The file of the tests that a runner reports on the next lines.
    failed_in: Option<String>,
}

impl Reader {
    fn prose(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let panic = panic_message(line);
        let is_function = || self.is_before_location && function_before_location(line).is_some();
        let is_frame =
            || panic.is_none() && is_call(line, self.last_function.as_deref()) || is_function();
        let region = if self.has_title || is_frame() {
            Region::Prose
        } else {
            self.has_title = true;
            Region::Title
        };
        let region = self.about(line, region);
        // Text and code alternate between backticks; an unclosed backtick is text.
        let mut pieces: Vec<&str> = line.split('`').collect();
        if pieces.len().is_multiple_of(2) || panic.is_some() || is_call_of_ruby(line) {
            pieces = vec![line];
        }
        if pieces.len() == 1 {
            return self.line(line, region);
        }
        let mut at = 0;
        for (index, piece) in pieces.into_iter().enumerate() {
            let around = (&line[..at], &line[at + piece.len()..]);
            at += piece.len() + 1;
            if index % 2 == 1 {
                self.piece(piece, around, Region::InlineCode);
                // Code in a title also counts as title.
                if region == Region::Title {
                    self.terms(piece, Region::Title);
                }
                if piece.split_whitespace().nth(1).is_some() {
                    keep(&mut self.query.mentions.phrases, piece.to_owned());
                } else if is_quoted_file_name(piece) {
                    keep(&mut self.query.mentions.file_names, piece.to_owned());
                }
            } else if !piece.is_empty() {
                self.piece(piece, around, region);
            }
        }
    }

    /// The region of a line of text, by its form and by the heading above it.
    fn about(&mut self, line: &str, region: Region) -> Region {
        if region == Region::Title {
            return region;
        }
        let text = line.trim();
        if self.is_listing && !self.is_sentence(text) {
            return Region::Setting;
        }
        let bare = text.trim_matches(['*', '_', '#', ':', ' ', '-']);
        let is_heading = text.starts_with('#')
            || text.starts_with("**") && text.ends_with("**")
            || text.ends_with(':') && bare.split_whitespace().count() <= 4;
        if is_heading {
            self.is_setting = is_about_setting(bare);
            return Region::Setting;
        }
        let label = text
            .trim_start_matches(['-', '*', ' '])
            .split_once(':')
            .map(|(label, _)| label);
        let is_label =
            label.is_some_and(|it| it.split_whitespace().count() <= 3 && is_about_setting(it));
        if is_label {
            return Region::Setting;
        }
        self.is_setting &= !self.is_sentence(text);
        if self.is_setting {
            Region::Setting
        } else {
            region
        }
    }

    /// Whether `line` reads as a sentence, and not as an item of a list or a value: a heading that
    /// only sounds like versions and machines ("Python bindings") has sentences below it.
    fn is_sentence(&self, line: &str) -> bool {
        const WORDS: usize = 5;
        const FUNCTION_WORDS: usize = 2;
        let is_item = !line.starts_with(|c: char| c.is_alphabetic() || "`\"'(“„«「".contains(c));
        if is_item {
            return false;
        }
        let is_around = |c: char| !c.is_alphanumeric();
        let words = || line.split_whitespace().map(|it| it.trim_matches(is_around));
        let says_nothing = |it: &&str| says_nothing(it) || self.foreign.says_nothing(it);
        line.ends_with(['。', '！', '？'])
            || words().nth(WORDS - 1).is_some()
                && words()
                    .filter(says_nothing)
                    .nth(FUNCTION_WORDS - 1)
                    .is_some()
    }

    fn line(&mut self, line: &str, region: Region) {
        self.piece(line, ("", ""), region);
    }

    /// Reads a piece of a line, or all of it; `beside` is the text before and after it on that
    /// line.
    fn piece(&mut self, line: &str, beside: (&str, &str), region: Region) {
        if let Some(mut frame) = self.recovered.take() {
            let function = recovered_function(line);
            frame.function = function.map(str::to_owned);
            self.keep_frame(frame);
            if function.is_some() {
                return self.says(line, Region::Trace);
            }
        }
        let before = self.last_function.take();
        let frame = match traced(line, before.as_deref()) {
            Some(Traced::Call(frame)) => frame,
            Some(Traced::Location(frame)) => {
                self.terms(frame.path.as_deref().unwrap_or_default(), Region::Trace);
                self.recovered = Some(frame);
                return;
            }
            told => {
                let is_line = beside == ("", "");
                let before_location = self.is_before_location && is_line;
                self.last_function = before_location
                    .then(|| function_before_location(line))
                    .flatten();
                // What it is called is said with its location, and all else in the line is the form
                // of a trace.
                if self.last_function.is_some() {
                    return;
                }
                if let Some(Traced::Function(function)) = told {
                    // No line of code is written as those of Rust are.
                    if is_line && function.contains("::") {
                        self.says(&function, Region::Trace);
                        return;
                    }
                    self.last_function = Some(function);
                }
                return self.untraced(line, beside, region);
            }
        };
        match &frame.function {
            // The rest of the line is trace syntax.
            Some(function) => {
                let path = frame.path.as_deref().unwrap_or_default();
                let is_of_go = path.rsplit_once('.').is_some_and(|it| it.1 == "go");
                // Of the path of a package its last name is said of the function.
                let name = function.rsplit('/').next().filter(|_| is_of_go);
                self.says(name.unwrap_or(function), Region::Trace);
                self.terms(
                    if is_of_go { below_package(path) } else { path },
                    Region::Trace,
                );
                if let Some(said) = message_after_call(line) {
                    self.says(said, region);
                }
            }
            None if is_of_path_alone(line) => {
                self.terms(frame.path.as_deref().unwrap_or_default(), Region::Trace);
                if let Some(said) = message_after_call(line) {
                    self.says(said, region);
                }
            }
            None => self.says(line, Region::Trace),
        }
        self.keep_frame(frame);
    }

    /// Keeps `frame`, if it is new. [`Reader::finish`] drops those beyond the limit, as the last
    /// ones are not known before.
    fn keep_frame(&mut self, frame: Frame) {
        if self.frames.insert(frame.clone()) {
            self.query.mentions.frames.push(frame);
        }
    }

    /// Keeps the test that `line` of a runner reports as failed; whether it reports one. A title of
    /// one word is kept only with its file, as more than the test may be called so.
    fn failed(&mut self, line: &str, region: Region) -> bool {
        let (path, titles) = match failed(line) {
            Some(Failed::Test { path, titles }) => (path, titles),
            Some(Failed::File(path)) => {
                self.failed_in = Some(path);
                return false;
            }
            None => return false,
        };
        let Some((&last, suites)) = titles.split_last() else {
            return false;
        };
        let name = Name {
            text: titles.join(" > "),
            last: last.to_owned(),
            sign: None,
            within: suites.last().map(|&it| it.to_owned()),
            region: region.min(Region::InlineCode),
            may_be_file: false,
        };
        match path.or_else(|| self.failed_in.clone()) {
            Some(path) => keep(
                &mut self.query.mentions.files,
                FileMention::defined(path, name),
            ),
            None if !suites.is_empty() && last.contains(' ') => {
                keep(&mut self.query.mentions.names, name);
            }
            None => return false,
        }
        true
    }

    /// Reads a piece that is not a call of a trace.
    fn untraced(&mut self, line: &str, (before, behind): (&str, &str), region: Region) {
        if self.failed(line, region) {
            return self.says(line, region);
        }
        let is_text = matches!(region, Region::Title | Region::Prose | Region::InlineCode);
        let line = without_label(line);
        let line = line.as_ref();
        for (start, word) in words_in(line) {
            let word = before_text(word);
            let pattern = pattern_of(word).filter(|_| self.is_typed && is_text);
            let is_pattern = pattern.is_some();
            if let Some(pattern) = pattern {
                keep(&mut self.query.mentions.patterns, pattern);
            }
            let names_test = || word.contains(".py::") && !has_passed(line);
            let defined = (self.is_typed || names_test()).then(|| definition_of(word));
            let defined = defined.flatten();
            let mut mentions = match defined {
                Some(mention) => vec![mention],
                None => mentions_among(word),
            };
            mentions.retain(|_| !is_pattern);
            let names_file = !mentions.is_empty();
            for mut mention in mentions {
                let (left, right) = line.split_at(start);
                let right = &right[word.len()..];
                // A quoted piece has nothing beside its words but the text around the piece.
                let left = if left.is_empty() { before } else { left };
                let right = if right.is_empty() { behind } else { right };
                if !mention.is_part()
                    && let Some((line, end)) = lines_beside(left, right)
                {
                    (mention.line, mention.end) = (Some(line), end);
                }
                keep(&mut self.query.mentions.files, mention);
            }
            if !names_file
                && is_text
                // Reports have more names and escapes with backslashes than folders.
                && (self.is_typed || !word.contains('\\'))
                && let Some(folder) = folder_of(word)
            {
                // The folder itself may have this name: `@scope/package`.
                let bare = folder.strip_prefix('@').filter(|_| self.is_typed);
                let bare = bare.map(|it| it.trim_start_matches('/').to_owned());
                keep(&mut self.query.mentions.folders, folder);
                if let Some(bare) = bare.filter(|it| !it.is_empty()) {
                    keep(&mut self.query.mentions.folders, bare);
                }
            }
        }
        for phrase in quoted(line) {
            if phrase.split_whitespace().nth(1).is_some() {
                keep(&mut self.query.mentions.phrases, phrase.to_owned());
            } else if is_text && is_quoted_file_name(phrase) {
                keep(&mut self.query.mentions.file_names, phrase.to_owned());
            }
        }
        self.says(line, region);
    }

    /// Adds the names and the terms of `text`.
    fn says(&mut self, text: &str, region: Region) {
        for name in names_in(text, region, self.is_typed) {
            match self
                .query
                .mentions
                .names
                .iter_mut()
                .find(|it| it.text == name.text)
            {
                Some(known) => {
                    known.region = known.region.min(name.region);
                    known.may_be_file &= name.may_be_file;
                }
                None => keep(&mut self.query.mentions.names, name),
            }
        }
        self.terms(text, region);
    }

    fn terms(&mut self, text: &str, region: Region) {
        let weights = &mut self.weights;
        let foreign = self.foreign;
        let is_text = matches!(region, Region::Title | Region::Prose | Region::Setting);
        let is_of_log = text.split_whitespace().any(has_clock);
        // Elsewhere a number in hexadecimal is an address of memory, or a value.
        let is_meant = self.is_typed || matches!(region, Region::Title | Region::InlineCode);
        for piece in text.split_inclusive(char::is_whitespace) {
            // A URL says little, and so does the time of a log entry. Of a link into a repository,
            // only the path counts.
            let is_address = piece.contains("://");
            let path = is_address.then(|| path_of_link(piece)).flatten();
            let piece = path.as_deref().unwrap_or(piece);
            let says_little = is_address || is_of_log && is_time(piece);
            // A mention of a line is a direction wherever it stands.
            let mention = line_mention_in(piece);
            // In a typed question, a line number is a location, not a term.
            let lines = self.is_typed.then(|| lines_in(piece)).flatten();
            let is_line = |at: usize| lines.as_ref().is_some_and(|it| it.contains(&at));
            // The end of the last version: within it, its parts are not terms.
            let mut end_of_version = 0;
            self.analyzer.words(piece, &mut |term, part, bytes| {
                let is_within_version = bytes.end <= end_of_version;
                if part == Part::Version {
                    end_of_version = end_of_version.max(bytes.end);
                }
                let word = &piece[bytes.clone()];
                let is_of_mention = mention.as_ref().is_some_and(|it| it.contains(&bytes.start));
                let region = if is_of_mention { Region::Trace } else { region };
                let weight = if says_little { 0.1 } else { 1.0 } * region.weight();
                let weight = match part {
                    Part::Compound => OF_COMPOUND * weight,
                    _ => weight,
                };
                // A called or quoted word is not a word of a natural language.
                let is_name = || {
                    let is_quoted = piece[..bytes.start].ends_with(['"', '`']);
                    is_quoted || piece[bytes.end..].starts_with(['(', '"', '`'])
                };
                if term.len() < 2
                    || is_within_version
                    || is_line(bytes.start)
                    || part != Part::Identifier && says_nothing(word)
                    || is_text && foreign.says_nothing(word) && !is_name()
                    || is_data(term, part, region)
                    || !is_meant && is_in_hexadecimal(piece, &bytes)
                {
                    return;
                }
                match weights.get_mut(term) {
                    Some(known) => *known += weight,
                    None => {
                        weights.insert(term.to_owned(), weight);
                    }
                }
            });
        }
    }

    fn finish(mut self) -> Query {
        if let Some(frame) = self.recovered.take() {
            self.keep_frame(frame);
        }
        let mut query = self.query;
        query.frames_left_out = drop_middle(&mut query.mentions.frames, MOST_FRAMES);
        let (terms, left_out) = heaviest(self.weights);
        query.terms = terms;
        query.terms_left_out = left_out;
        query
    }
}

/// Whether `term` is a number that is not meaningful alone: one with more than four digits that is
/// a part of a word, or in code, traces or settings; in text, one with more than 20 digits.
fn is_data(term: &str, part: Part, region: Region) -> bool {
    let is_text = matches!(region, Region::Title | Region::Prose | Region::InlineCode);
    let most = if is_text && part == Part::Word {
        MOST_DIGITS
    } else {
        FEW_DIGITS
    };
    term.len() > most && term.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the text at `bytes` of `piece` is part of a hexadecimal number such as `0xc0001a2000`. A
/// number has at most 32 digits.
fn is_in_hexadecimal(piece: &str, bytes: &Range<usize>) -> bool {
    const MOST: usize = 34;
    let is_of_run = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let all = piece.as_bytes();
    let before = all[..bytes.start].iter().rev().take(MOST);
    let start = bytes.start - before.take_while(|it| is_of_run(it)).count();
    let run = all[start..]
        .iter()
        .take(MOST + 1)
        .take_while(|it| is_of_run(it));
    let end = start + run.count();
    let digits = all[start..end]
        .strip_prefix(b"0x")
        .or_else(|| all[start..end].strip_prefix(b"0X"));
    end - start <= MOST
        && digits.is_some_and(|it| !it.is_empty() && it.iter().all(u8::is_ascii_hexdigit))
}

/// The name of the file at `path` with that of its folder: what is before them is the path of a
/// package in Go.
fn below_package(path: &str) -> &str {
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at);
    slashes.nth(1).map_or(path, |at| &path[at + 1..])
}

/// The heaviest terms, and the number of the others.
fn heaviest(weights: BTreeMap<String, f64>) -> (Vec<Term>, usize) {
    let saturate = |weight: f64| weight / (weight + 5.0) * 2.0;
    let mut terms: Vec<Term> = weights
        .into_iter()
        .map(|(text, weight)| Term::new(text, saturate(weight)))
        .collect();
    // The sort is stable: ties keep the order of their text.
    terms.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let left_out = terms.len().saturating_sub(MOST_TERMS);
    terms.truncate(MOST_TERMS);
    (terms, left_out)
}

/// Whether a heading or a label announces versions, machines or settings. A word with a dot or a
/// backslash in it, or a slash before it, is a name of code or a path: `System.IO.IOException`.
fn is_about_setting(text: &str) -> bool {
    const WORDS: [&str; 13] = [
        "environment",
        "version",
        "versions",
        "platform",
        "system",
        "os",
        "checklist",
        "browser",
        "python",
        "extensions",
        "tools",
        "distribution",
        "desktop",
    ];
    let lower = text.to_lowercase();
    let is_around = |c: char| !c.is_alphanumeric() && c != '/';
    let words = lower
        .split_whitespace()
        .map(|it| it.trim_matches(is_around));
    let plain = words.filter(|it| !it.contains(['.', '\\']) && !it.starts_with('/'));
    let mut parts = plain.flat_map(|it| it.split(|c: char| !c.is_alphanumeric()));
    parts.any(|it| WORDS.contains(&it))
}

/// The texts between double quotation marks in `line`.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let mut pieces = line.split('"');
    pieces.next();
    let inner = std::iter::from_fn(move || {
        let inner = pieces.next()?;
        // The last piece has no closing mark.
        pieces.next().map(|_| inner)
    });
    inner.filter(|it| it.len() <= 200)
}
