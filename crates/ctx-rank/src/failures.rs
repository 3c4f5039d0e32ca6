//! Lines of a report that say what failed, in the forms of compilers, logs and stack traces.

use crate::traces::{is_call, panic_message};

/// The most messages that are kept, the first ones.
const MOST: usize = 8;
/// The most bytes of a message; the rest is cut off.
const LONGEST: usize = 200;
/// The longest line that is examined, in bytes.
const LONGEST_LINE: usize = 2000;
/// The most words of a label; with more, it is a sentence.
const MOST_OF_LABEL: usize = 3;
/// The most bytes before a message on its line.
const LONGEST_BEFORE: usize = 120;

/// Words for failures, in lower case.
const FAILS: [&str; 7] = [
    "error",
    "err",
    "exception",
    "failed",
    "failure",
    "fatal",
    "panic",
];
/// Endings of names of errors.
const NAMED: [&str; 5] = ["Error", "Exception", "Failure", "Panic", "Warning"];
/// Levels of a log that need no colon.
const LEVELS: [&str; 4] = ["ERROR", "FATAL", "CRITICAL", "ERR!"];
/// Words before the name of an error that is handled, not raised.
const HANDLES: [&str; 7] = [
    "except", "catch", "case", "rescue", "raises", "throws", "when",
];
/// Beginnings of comments.
const COMMENTS: [&str; 6] = ["//", "#", "/*", "*", "--", "\"\"\""];

/// Collects lines that say what failed.
#[derive(Debug, Default)]
pub(crate) struct Failures<'t> {
    found: Vec<&'t str>,
    /// The previous line, if it may precede the calls of a trace.
    before: Option<&'t str>,
    /// The indentation of the last call of a Python trace.
    indent: Option<usize>,
    /// Whether the previous line announces that this one has the message.
    is_announced: bool,
}

impl<'t> Failures<'t> {
    pub(crate) fn found(&self) -> Vec<String> {
        self.found.iter().map(|&it| it.to_owned()).collect()
    }

    /// Examines a line of a block of code. O(bytes).
    pub(crate) fn code(&mut self, line: &'t str) {
        if self.is_looked_at(line) && !self.is_of_trace(line) {
            self.note(in_code(line.trim()));
        }
    }

    /// Examines a line of text, which is a message if it begins with the name of an error.
    /// O(bytes).
    pub(crate) fn text(&mut self, line: &'t str) {
        if self.is_looked_at(line) && !self.is_of_trace(line) {
            let is_mark = |it: char| it.is_whitespace() || "#>*-".contains(it);
            let line = line.trim_start_matches(is_mark);
            let first = line.split_whitespace().next().unwrap_or_default();
            let name = label(first.trim_end_matches('*')).filter(|it| fails(it));
            self.note(name.and_then(|it| said_of(it, line)));
        }
    }

    fn is_looked_at(&self, line: &str) -> bool {
        self.found.len() < MOST && line.len() <= LONGEST_LINE && !line.trim().is_empty()
    }

    /// Whether `line` belongs to a stack trace; notes the message at its beginning or end.
    fn is_of_trace(&mut self, line: &'t str) -> bool {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        let before = self.before.take();
        if std::mem::take(&mut self.is_announced) {
            self.note(Some(text));
        } else if text.starts_with("thread '") && text.contains(" panicked at ") {
            // Since 2023, Rust prints the message on the next line.
            self.is_announced = text.ends_with(':');
            let said = panic_message(text).unwrap_or(text);
            self.note(Some(said).filter(|_| !text.ends_with(':')));
        } else if text.starts_with("File \"") && indent > 0 {
            self.indent = Some(indent);
        } else if self.indent.is_some_and(|it| indent < it) {
            self.indent = None;
            let is_last = text.split(' ').next().and_then(label).is_some();
            self.note(Some(text).filter(|_| is_last));
            return is_last;
        } else if text.starts_with("at ") && is_call(line, None) {
            self.note(before.and_then(before_calls));
        } else if self.indent.is_none() {
            self.before = Some(text);
            return false;
        }
        true
    }

    fn note(&mut self, message: Option<&'t str>) {
        let Some(message) = message.map(str::trim).filter(|it| !it.is_empty()) else {
            return;
        };
        let message = &message[..message.floor_char_boundary(LONGEST)];
        let is_known = |it: &&str| it.ends_with(message) || message.ends_with(*it);
        if !self.found.iter().any(is_known) {
            self.found.push(message);
        }
    }
}

/// The message in the `line` before the calls of a trace, unless it is a sentence.
fn before_calls(line: &str) -> Option<&str> {
    let is_label = |it: &str| it.split_whitespace().count() <= MOST_OF_LABEL;
    let is_labelled = line.split_once(": ").is_some_and(|(it, _)| is_label(it));
    in_code(line).or(Some(line).filter(|_| is_labelled))
}

/// The message in `line` of a block of code, from the word that indicates a failure.
fn in_code(line: &str) -> Option<&str> {
    // `** (ArgumentError) cannot …` of Elixir, `what():  cannot …` of C++.
    let form = ["** (", "what():"];
    if let Some(rest) = form.iter().find_map(|it| line.strip_prefix(it)) {
        return Some(rest);
    }
    let is_comment = COMMENTS.iter().any(|it| line.starts_with(it));
    let is_code = line.ends_with([';', '{', '(', ',', '\\']) || line.contains(" = ");
    if is_comment || is_code {
        return None;
    }
    // `undefined method 'f' for nil (NoMethodError)` of Ruby.
    let named = line.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
    if named.is_some_and(|(_, it)| is_named(last_name(it))) {
        return Some(line);
    }
    let mut before: Option<(usize, &str)> = None;
    for (index, word) in words(line) {
        if index > LONGEST_BEFORE || index > 0 && line[..index].contains(['=', ';', '{']) {
            return None;
        }
        let is_handled = before.is_some_and(|(_, it)| HANDLES.contains(&it));
        let name = label(word).filter(|it| fails(it) || index == 0 && is_location(it));
        if let Some(name) = name {
            return said_of(name, &line[index..]).filter(|_| !is_handled);
        }
        // `error TS2339: …`
        let code = label(word).filter(|it| is_code_of_error(it));
        if let Some((start, _)) = before.filter(|(_, it)| code.is_some() && fails(it)) {
            return Some(&line[start..]);
        }
        if LEVELS.contains(&word.trim_matches(['[', ']'])) {
            return Some(&line[index..]);
        }
        before = Some((index, word));
    }
    None
}

/// Returns `line`, which begins with the `name` of an error, if enough words follow: a field called
/// `error` may have a type of two words.
fn said_of<'l>(name: &str, line: &'l str) -> Option<&'l str> {
    let is_name = last_name(name).starts_with(|it: char| it.is_ascii_uppercase());
    let least = if is_name { 2 } else { 3 };
    let count = line.split_whitespace().skip(1).take(least).count();
    (count == least).then_some(line)
}

/// The words of `line`, with their offsets.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    line.split_inclusive(char::is_whitespace)
        .filter_map(move |piece| {
            let start = at;
            at += piece.len();
            let word = piece.trim_end();
            (!word.is_empty()).then_some((start, word))
        })
}

/// `word` without its final colon; `None` if it has none.
fn label(word: &str) -> Option<&str> {
    word.strip_suffix(':').filter(|it| !it.is_empty())
}

/// Whether `name` is that of an error: `error`, `error[E0599]`, `ValueError`,
/// `java.io.IOException`.
pub(crate) fn fails(name: &str) -> bool {
    let name = match name.split_once('[') {
        Some((name, rest)) if rest.ends_with(']') => name,
        _ => name,
    };
    let last = last_name(name);
    let is_word = last.bytes().all(|it| it.is_ascii_alphanumeric());
    let is_named = is_named(last);
    is_word && (is_named || FAILS.iter().any(|it| it.eq_ignore_ascii_case(last)))
}

/// Whether `name` is `ValueError`, `IOException` or the like.
fn is_named(name: &str) -> bool {
    let mut before = NAMED.iter().filter_map(|it| name.strip_suffix(it));
    before.any(|it| it.starts_with(|it: char| it.is_ascii_alphabetic()))
}

fn last_name(name: &str) -> &str {
    name.rsplit(['.', ':', '\\', '/']).next().unwrap_or(name)
}

/// `TS2339`, `C2065`.
fn is_code_of_error(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = &word.as_bytes()[letters..];
    letters > 0 && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// `./a/b.go:3:4`: a file, a line and a column.
fn is_location(word: &str) -> bool {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let mut parts = word.rsplitn(3, ':');
    let numbers = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    numbers && parts.next().is_some_and(|it| it.contains('.'))
}
