//! What a question asks for.

use std::collections::BTreeMap;

use crate::failures::Failures;
use crate::foreign::Foreign;
use crate::logs::{has_clock, is_time, without_label};
use crate::mentions::{
    Place, definition_of, folder_of, is_between, lines_beside, lines_in, may_be_file_name,
    path_of_link, pattern_of, place_of, places_among,
};
use crate::names::{Name, may_be_name, names_in};
use crate::traces::{
    Frame, Traced, is_call, is_of_path_alone, recovered_function, said_behind, traced,
};
use crate::words::{Analyzer, Part, says_nothing};

/// So many bytes of a question are read.
pub const MOST_BYTES: usize = 256 << 10;
/// So many terms are kept, the heaviest.
pub const MOST_TERMS: usize = 128;
/// So many names, places, frames and phrases are kept, of each the first.
pub const MOST_MENTIONS: usize = 128;

/// A question of one line and so many words at most is typed as it comes to mind.
const FEW_WORDS: usize = 24;

/// What a version is worth in a typed question, against another word.
const OF_VERSION: f64 = 2.0;

/// So many terms are looked for in each text.
const KEYWORDS: usize = 32;

/// A number of so many digits is looked for wherever it stands,
const FEW_DIGITS: usize = 4;
/// and one of so many in text: those of 64 bits.
const MOST_DIGITS: usize = 20;

/// Words that ask for all that a file has to say.
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

/// Where in a question something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Region {
    /// The first line: what it is about.
    Title,
    /// Text.
    Prose,
    /// Between backticks, in a line of text.
    InlineCode,
    /// A block of code, by its fence.
    CodeBlock,
    /// A line of a stack trace.
    Trace,
    /// A heading, and what tells of versions and machines.
    Setting,
}

impl Region {
    /// What a term is worth here, against prose. Chosen on issue reports: a title is deliberate, a block of
    /// code is mostly setting.
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
    /// As [`Analyzer::words`] gives it.
    pub text: String,
    /// What it is worth, above 0: a saturated sum over where it occurs.
    pub weight: f64,
}

impl Term {
    /// `text`, as [`Analyzer::words`] gives it, and what it is worth.
    pub fn new(text: impl Into<String>, weight: f64) -> Self {
        let text = text.into();
        Term { text, weight }
    }
}

/// A question or an issue report, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Query {
    /// All of it as it was asked, as far as it was read.
    pub text: String,
    /// What to look for, the heaviest first; equal weights in the order of their text.
    pub terms: Vec<Term>,
    /// The same of its first line alone.
    pub title: Vec<Term>,
    /// Identifiers, in the order they are met. One whose last name is a stop word or shorter than three bytes is left out
    /// of a report as a whole, whatever stands before it, also in code: `Pool.get` and `pool.id` are, `Session.send` is not. Too
    /// much is called so for its definitions to tell anything. What it says is among the terms, as far as it is no stop word. In
    /// a [typed](Query::typed) question it is one where it is called, all that stands between backticks, or of something: `get()`,
    /// `pool.id`. A letter that is all of a question is a name, and where it has stop words alone, so are those that more than
    /// sentences have: `get` of `what does get do`. So is what stands behind the keyword of a definition there: `def get`.
    pub names: Vec<Name>,
    /// Files that are named, with a line, several, or a definition where they are.
    pub places: Vec<Place>,
    /// What may be paths of folders, in text: with two names at least, or with a slash behind one, which is left out; and what
    /// patterns of paths begin with, as `src` of `src/**/*.rs`. So may `and/or`; only what a store has folders of is meant.
    pub folders: Vec<String>,
    /// What may be names of files of no known extension, as it is written: what stands by itself between quotation marks or
    /// backticks and has no underscore, each word of a typed question that has a capital letter or a dot, and its only word. Only what a store has
    /// files of is meant: `README`, `Cargo.lock`. Of a question [about the project](Query::is_of_project), `README`, and of
    /// one about [what is new](Query::is_of_news), what changelogs are called.
    pub file_names: Vec<String>,
    /// Patterns of names of files in a [typed](Query::typed) question: `*.toml`, `test_*.py`, `src/**/*.rs`. Such a word is no
    /// place; a folder it may name, too.
    pub patterns: Vec<String>,
    /// Calls of stack traces.
    pub frames: Vec<Frame>,
    /// What stands between quotation marks, or backticks, and holds more than one word.
    pub phrases: Vec<String>,
    /// What failed, as lines of its code blocks and traces say it, and lines of text that begin with the name of an error: the
    /// first eight, each up to 200 bytes.
    pub failures: Vec<String>,
    /// All of it, where it is a single line of at most 24 words: such a question is typed as it comes to mind, and says
    /// of itself what it is for.
    pub typed: Option<String>,
    /// What the project is called that it is asked of, in lower case, where that [was told](Query::in_project).
    pub project: Option<String>,
    /// The text of its code blocks.
    pub code: Vec<String>,
    /// How many terms there were beyond the limit.
    pub terms_left_out: usize,
    /// How many bytes there were beyond the limit.
    pub bytes_left_out: usize,
    /// The names of the files that tell of the project what it asks, where it asks for nothing else, without their extensions.
    pub(crate) fronts: &'static [&'static str],
    /// Whether it is nothing but a definition.
    pub(crate) is_definition: bool,
}

impl Query {
    /// Takes `text` apart: free text, or an issue report in Markdown. O(bytes), and never more than
    /// [`MOST_BYTES`] of them. No term may be left; that is no error.
    pub fn analyse(text: &str) -> Query {
        let end = text.floor_char_boundary(MOST_BYTES);
        let body = without_comments(&text[..end]);
        let typed = typed(&body);
        let mut reader = Reader {
            is_typed: typed.is_some(),
            foreign: Foreign::of(text_of(&body)),
            ..Reader::default()
        };
        let mut block = String::new();
        let mut failures = Failures::default();
        for line in lines_of(&body) {
            match line {
                Line::Open => {}
                Line::Close => keep(&mut reader.query.code, std::mem::take(&mut block)),
                Line::Code(line) => {
                    block.push_str(line);
                    block.push('\n');
                    failures.code(line);
                    reader.line(line, Region::CodeBlock);
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
        query.title = title(&body, foreign, typed.is_some());
        query.typed = typed;
        query.note_typed();
        query.note_definition();
        query.note_users();
        query.weigh_versions();
        query.bytes_left_out = text.len() - end;
        text[..end].clone_into(&mut query.text);
        query
    }

    /// The words of a question that is [typed](Query::typed), without what stands around them; else none.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let is_around = |it: char| !it.is_alphanumeric();
        let words = self.typed.iter().flat_map(|it| it.split_whitespace());
        let words = words.map(move |it| it.trim_matches(is_around));
        words.filter(|it| !it.is_empty())
    }

    /// The names of the files that a [typed](Query::typed) question calls by a part or a folder of theirs, without the folders: such
    /// a file is meant, whether it is there or not. A name by itself may be that of something else (`Node.js`), and reports name files
    /// of others.
    pub fn meant_files(&self) -> impl Iterator<Item = &str> {
        let is_meant = |it: &&Place| it.is_part() || it.path.contains('/');
        let meant = self.places.iter().filter(is_meant);
        let is_joined = |it: &Place| self.places.iter().any(|other| it.is_joined_to(other));
        let meant = meant.filter(move |it| self.typed.is_some() && !is_joined(it));
        meant.map(|it| it.path.rsplit('/').next().unwrap_or(&it.path))
    }

    /// Whether it is [typed](Query::typed), names files and asks for nothing of them in particular: `what does CONTRIBUTING.md
    /// say?`. A file that is named without an extension has no small letter: `README`. What the project is asks for that
    /// one, and what is new in it for a changelog.
    pub fn is_of_files_alone(&self) -> bool {
        if !self.fronts.is_empty() {
            return true;
        }
        let is_document = |it: &String| !it.contains(char::is_lowercase);
        let files = self.file_names.iter().filter(|it| is_document(it));
        let has_file = !self.places.is_empty() || files.clone().next().is_some();
        let has_no_part = !self.places.iter().any(Place::is_part);
        let is_of_one = |word: &str| {
            says_nothing(word)
                || is_asking(word)
                || place_of(word).is_some()
                || files.clone().any(|it| it == word)
        };
        self.typed.is_some()
            && has_file
            && has_no_part
            && self.phrases.is_empty()
            && self.words().all(is_of_one)
    }

    /// The heaviest of its terms, 32 at most: those of which a text has a share by [`keyword_match`](crate::keyword_match).
    pub fn keywords(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().take(KEYWORDS).map(|it| it.text.as_str())
    }

    /// Whether it is [typed](Query::typed) and asks for files by [patterns](Query::patterns) alone: `which *.toml files are there?`.
    pub fn is_of_patterns_alone(&self) -> bool {
        let words = self.typed.iter().flat_map(|it| it.split(is_between));
        let words = words.filter(|it| pattern_of(it).is_none());
        let mut words = words.map(|it| it.trim_matches(|it: char| !it.is_alphanumeric()));
        let is_file = |it: &str| ["all", "files", "list"].contains(&it.to_lowercase().as_str());
        !self.patterns.is_empty()
            && words.all(|it| it.is_empty() || says_nothing(it) || is_asking(it) || is_file(it))
    }

    /// Whether a version is among its terms.
    pub(crate) fn has_version(&self) -> bool {
        // No other term has a dot.
        self.terms.iter().any(|it| it.text.contains('.'))
    }

    /// Whether there is nothing to look for. A typed question of stop words is not, where one of them may be a name.
    pub fn is_empty(&self) -> bool {
        let has_paths = !self.places.is_empty() || !self.file_names.is_empty();
        self.terms.is_empty() && self.names.is_empty() && !has_paths && self.patterns.is_empty()
    }

    /// Who types a version asks for that one, and says with the other words what to tell of it: texts of other versions have those,
    /// too.
    fn weigh_versions(&mut self) {
        if self.typed.is_none() || !self.has_version() {
            return;
        }
        for terms in [&mut self.terms, &mut self.title] {
            let versions = terms.iter_mut().filter(|it| it.text.contains('.'));
            versions.for_each(|it| it.weight *= OF_VERSION);
            terms.sort_by(|a, b| {
                let by_text = || a.text.cmp(&b.text);
                b.weight.total_cmp(&a.weight).then_with(by_text)
            });
        }
    }

    /// Takes in what a typed question may name: files, and what has a single letter for its name.
    fn note_typed(&mut self) {
        let words: Vec<String> = self.words().map(str::to_owned).collect();
        // Of a pattern its words are none by themselves.
        let is_alone = words.len() == 1 && self.patterns.is_empty();
        for word in words {
            let is_letter = is_alone && word.len() == 1 && may_be_file_name(&word);
            if is_letter && !says_nothing(&word) && self.names.is_empty() {
                self.names.push(Name::alone(&word));
            }
            let stands_out = word.contains(|c: char| c.is_uppercase() || c == '.');
            if (is_alone || stands_out) && is_file_name(&word) {
                keep(&mut self.file_names, word);
            }
        }
        self.name_fronts();
        if self.is_empty() {
            let words: Vec<&str> = self.words().collect();
            let names = words.iter().filter(|it| may_be_name(it, is_alone));
            let names: Vec<Name> = names.map(|it| Name::alone(it)).collect();
            for name in names {
                keep(&mut self.names, name);
            }
        }
    }
}

/// Whether `word` may be the name of a file, and says something.
fn is_file_name(word: &str) -> bool {
    !says_nothing(word) && may_be_file_name(word)
}

/// The same of one that is quoted: reports quote names of code, of which underscores tell.
fn is_quoted_file_name(word: &str) -> bool {
    is_file_name(word) && !word.contains('_')
}

/// What a trace begins with, whatever failed.
fn is_head_of_trace(line: &str) -> bool {
    const HEADS: [&str; 3] = [
        "Traceback (most recent call last):",
        "stack backtrace:",
        "Stack trace:",
    ];
    HEADS.contains(&line.trim())
}

/// The only line of `text`, if its words are few.
fn typed(text: &str) -> Option<String> {
    let mut lines = text.lines().filter(|it| !it.trim().is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let is_short = line.split_whitespace().nth(FEW_WORDS).is_none();
    is_short.then(|| line.trim().to_owned())
}

/// The terms of the first line that says something; where a trace stands first, of what follows it.
fn title(text: &str, foreign: Foreign, is_typed: bool) -> Vec<Term> {
    let mut lines = text.lines().filter(|it| !it.trim().is_empty());
    let is_form = |line: &str| is_call(line, None) && said_behind(line).is_none();
    let says = |line: &&str| !is_head_of_trace(line) && !is_form(line);
    let first = lines.clone().find(says);
    let Some(line) = first.or_else(|| lines.next()) else {
        return Vec::new();
    };
    let mut reader = Reader {
        is_typed,
        foreign,
        ..Reader::default()
    };
    reader.terms(&without_label(line), Region::Prose);
    heaviest(reader.weights).0
}

/// A line of a report.
enum Line<'t> {
    Text(&'t str),
    /// One in a block of code, between one that opens it
    Code(&'t str),
    Open,
    /// and one that closes it.
    Close,
}

/// The lines of `text`, but for the heads of traces.
fn lines_of(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut fence: Option<&str> = None;
    let lines = text.lines().filter(|it| !is_head_of_trace(it));
    lines.map(move |line| {
        let trimmed = line.trim_start();
        match (fence, fence_of(trimmed)) {
            (None, Some(mark)) => {
                fence = Some(mark);
                Line::Open
            }
            (Some(open), Some(mark)) if mark.starts_with(open) && is_bare(trimmed, mark) => {
                fence = None;
                Line::Close
            }
            (Some(_), _) => Line::Code(line),
            (None, None) => Line::Text(line),
        }
    })
}

/// The lines of `text` that stand in no block of code.
fn text_of(text: &str) -> impl Iterator<Item = &str> {
    lines_of(text).filter_map(|line| match line {
        Line::Text(line) => Some(line),
        _ => None,
    })
}

/// Issue templates bring comments for those who write them.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        let Some(end) = rest[start..].find("-->") else {
            break;
        };
        kept.push_str(&rest[..start]);
        rest = &rest[start + end + 3..];
    }
    kept + rest
}

fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|&c| c == mark).count();
    let mark = (length >= 3).then(|| &line[..length])?;
    // An info string has no backticks.
    (!line[length..].contains('`')).then_some(mark)
}

/// Whether `word` asks for all that there is to say, in any case.
pub(crate) fn is_asking(word: &str) -> bool {
    ASKING.iter().any(|it| it.eq_ignore_ascii_case(word))
}

/// Whether nothing follows the `mark` of a fence: the one that closes a block has no language.
fn is_bare(line: &str, mark: &str) -> bool {
    line[mark.len()..].trim().is_empty()
}

fn keep<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST_MENTIONS && !list.contains(&item) {
        list.push(item);
    }
}

#[derive(Default)]
struct Reader {
    query: Query,
    analyzer: Analyzer,
    weights: BTreeMap<String, f64>,
    /// Whether it is a single line that says what it is for.
    is_typed: bool,
    /// Words that say nothing in the language that it is in.
    foreign: Foreign,
    has_title: bool,
    /// Whether this part of the report is about versions and machines.
    is_setting: bool,
    /// The function that a Go trace names in the line before its place.
    last_function: Option<String>,
    /// The call whose function the next line may name.
    recovered: Option<Frame>,
}

impl Reader {
    fn prose(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let is_frame = || is_call(line, self.last_function.as_deref());
        let region = if self.has_title || is_frame() {
            Region::Prose
        } else {
            self.has_title = true;
            Region::Title
        };
        let region = self.about(line, region);
        // Text and code take turns between backticks; one that is not closed is text.
        let mut pieces: Vec<&str> = line.split('`').collect();
        if pieces.len().is_multiple_of(2) {
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
                // In a title it is in the title too.
                if region == Region::Title {
                    self.terms(piece, Region::Title);
                }
                if piece.split_whitespace().nth(1).is_some() {
                    keep(&mut self.query.phrases, piece.to_owned());
                } else if is_quoted_file_name(piece) {
                    keep(&mut self.query.file_names, piece.to_owned());
                }
            } else if !piece.is_empty() {
                self.piece(piece, around, region);
            }
        }
    }

    /// The region of a line of text, as its form and the heading above it tell.
    fn about(&mut self, line: &str, region: Region) -> Region {
        if region == Region::Title {
            return region;
        }
        let text = line.trim();
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
        if self.is_setting || is_label {
            Region::Setting
        } else {
            region
        }
    }

    fn line(&mut self, line: &str, region: Region) {
        self.piece(line, ("", ""), region);
    }

    /// A piece of a line, or all of it, between what stands before it there and behind it.
    fn piece(&mut self, line: &str, beside: (&str, &str), region: Region) {
        if let Some(mut frame) = self.recovered.take() {
            let function = recovered_function(line);
            frame.function = function.map(str::to_owned);
            keep(&mut self.query.frames, frame);
            if function.is_some() {
                return self.says(line, Region::Trace);
            }
        }
        let before = self.last_function.take();
        let frame = match traced(line, before.as_deref()) {
            Some(Traced::Call(frame)) => frame,
            Some(Traced::Place(frame)) => {
                self.terms(frame.path.as_deref().unwrap_or_default(), Region::Trace);
                self.recovered = Some(frame);
                return;
            }
            told => {
                if let Some(Traced::Function(function)) = told {
                    self.last_function = Some(function);
                }
                return self.untraced(line, beside, region);
            }
        };
        match &frame.function {
            // All else in the line is the form of a trace.
            Some(function) => {
                self.says(function, Region::Trace);
                self.terms(frame.path.as_deref().unwrap_or_default(), Region::Trace);
                if let Some(said) = said_behind(line) {
                    self.says(said, region);
                }
            }
            None if is_of_path_alone(line) => {
                self.terms(frame.path.as_deref().unwrap_or_default(), Region::Trace);
            }
            None => self.says(line, Region::Trace),
        }
        keep(&mut self.query.frames, frame);
    }

    /// A piece that tells of no call.
    fn untraced(&mut self, line: &str, (before, behind): (&str, &str), region: Region) {
        let is_text = matches!(region, Region::Title | Region::Prose | Region::InlineCode);
        let line = without_label(line);
        let line = line.as_ref();
        let mut at = 0;
        for word in line.split_inclusive(is_between) {
            let start = at;
            at += word.len();
            let word = word.strip_suffix(is_between).unwrap_or(word);
            let pattern = pattern_of(word).filter(|_| self.is_typed && is_text);
            let is_pattern = pattern.is_some();
            if let Some(pattern) = pattern {
                keep(&mut self.query.patterns, pattern);
            }
            let defined = self.is_typed.then(|| definition_of(word)).flatten();
            let mut places = match defined {
                Some(place) => vec![place],
                None => places_among(word),
            };
            places.retain(|_| !is_pattern);
            let names_file = !places.is_empty();
            for mut place in places {
                let (left, right) = line.split_at(start);
                let right = &right[word.len()..];
                // What is quoted has nothing beside it in its piece.
                let left = if left.is_empty() { before } else { left };
                let right = if right.is_empty() { behind } else { right };
                if !place.is_part()
                    && let Some((line, end)) = lines_beside(left, right)
                {
                    (place.line, place.end) = (Some(line), end);
                }
                keep(&mut self.query.places, place);
            }
            if !names_file
                && is_text
                && let Some(folder) = folder_of(word)
            {
                // It may be called so: `@scope/package`.
                let bare = folder.strip_prefix('@').filter(|_| self.is_typed);
                let bare = bare.map(|it| it.trim_start_matches('/').to_owned());
                keep(&mut self.query.folders, folder);
                if let Some(bare) = bare.filter(|it| !it.is_empty()) {
                    keep(&mut self.query.folders, bare);
                }
            }
        }
        for phrase in quoted(line) {
            if phrase.split_whitespace().nth(1).is_some() {
                keep(&mut self.query.phrases, phrase.to_owned());
            } else if is_text && is_quoted_file_name(phrase) {
                keep(&mut self.query.file_names, phrase.to_owned());
            }
        }
        self.says(line, region);
    }

    /// Takes in the names and the terms of `text`.
    fn says(&mut self, text: &str, region: Region) {
        for name in names_in(text, region, self.is_typed) {
            match self.query.names.iter_mut().find(|it| it.text == name.text) {
                Some(known) => known.region = known.region.min(name.region),
                None => keep(&mut self.query.names, name),
            }
        }
        self.terms(text, region);
    }

    fn terms(&mut self, text: &str, region: Region) {
        let weights = &mut self.weights;
        let foreign = self.foreign;
        let is_text = matches!(region, Region::Title | Region::Prose | Region::Setting);
        let is_of_log = text.split_whitespace().any(has_clock);
        for piece in text.split_inclusive(char::is_whitespace) {
            // What stands behind `https://` is an address, and says little; so does when something was logged. Of a link into a
            // repository only the path in it is of this one.
            let is_address = piece.contains("://");
            let path = is_address.then(|| path_of_link(piece)).flatten();
            let piece = path.as_deref().unwrap_or(piece);
            let says_little = is_address || is_of_log && is_time(piece);
            let weight = if says_little { 0.1 } else { 1.0 } * region.weight();
            // Who types a line asks for a place, and no number.
            let lines = self.is_typed.then(|| lines_in(piece)).flatten();
            let is_line = |at: usize| lines.as_ref().is_some_and(|it| it.contains(&at));
            // Where the version ends that was met last: beside all of it, its parts say nothing.
            let mut end_of_version = 0;
            self.analyzer.words(piece, &mut |term, part, bytes| {
                let is_within_version = bytes.end <= end_of_version;
                if part == Part::Version {
                    end_of_version = end_of_version.max(bytes.end);
                }
                let word = &piece[bytes.clone()];
                // What is called or quoted is no word of any language.
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

    fn finish(self) -> Query {
        let mut query = self.query;
        if let Some(frame) = self.recovered {
            keep(&mut query.frames, frame);
        }
        let (terms, left_out) = heaviest(self.weights);
        query.terms = terms;
        query.terms_left_out = left_out;
        query
    }
}

/// Whether `term` is a number that nobody means by itself: a part of a word, or one of code, traces and settings, that has more than
/// four digits; elsewhere one that no number of a text has.
fn is_data(term: &str, part: Part, region: Region) -> bool {
    let is_text = matches!(region, Region::Title | Region::Prose | Region::InlineCode);
    let most = if is_text && part == Part::Word {
        MOST_DIGITS
    } else {
        FEW_DIGITS
    };
    term.len() > most && term.bytes().all(|byte| byte.is_ascii_digit())
}

/// The terms of most weight, and how many there are besides.
fn heaviest(weights: BTreeMap<String, f64>) -> (Vec<Term>, usize) {
    let saturate = |weight: f64| weight / (weight + 5.0) * 2.0;
    let mut terms: Vec<Term> = weights
        .into_iter()
        .map(|(text, weight)| Term::new(text, saturate(weight)))
        .collect();
    // Stable: they come in the order of their text.
    terms.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let left_out = terms.len().saturating_sub(MOST_TERMS);
    terms.truncate(MOST_TERMS);
    (terms, left_out)
}

/// Whether a heading or a label announces versions, machines and settings.
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
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| WORDS.contains(&word))
}

/// What stands between double quotation marks in `line`.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let mut pieces = line.split('"');
    pieces.next();
    let inner = std::iter::from_fn(move || {
        let inner = pieces.next()?;
        // The last piece has no mark behind it.
        pieces.next().map(|_| inner)
    });
    inner.filter(|it| it.len() <= 200)
}
