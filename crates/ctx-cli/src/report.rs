//! Messages on standard error.
//!
//! Every line passes through [`clean`] here, and only here: a path or an id may contain escape
//! sequences, which a terminal would obey. Writing never fails the program: if standard error is
//! closed, the message is lost. Code that must not wait for a slow reader writes
//! [behind](write_behind).

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use ctx::format::Slot;
use serde_json::{Map, Value};

use crate::failure::Failure;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();
const PLAIN: Style = Style::new();

/// The prefix of a line that says what to do.
const HINTED: &str = "hint: ";

/// The most characters of one line: an id may be arbitrarily long.
const LONGEST: usize = 2000;

/// How much is reported besides errors and warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// One line about the result, and counts of skipped files.
    Normal,
    /// Each skipped file, and why.
    Verbose,
}

/// Reports to people what happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    verbosity: Verbosity,
}

impl Report {
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        Report { verbosity }
    }

    pub(crate) fn is_quiet(self) -> bool {
        self.verbosity == Verbosity::Quiet
    }

    pub(crate) fn is_verbose(self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    /// Reports the result.
    pub(crate) fn note(self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            say(PLAIN, "", text);
        }
    }

    /// Suggests what may have been meant instead.
    pub(crate) fn hint(self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            say(HINT, HINTED, text);
        }
    }

    /// Reports a detail, only with `--verbose`.
    pub(crate) fn detail(self, text: &str) {
        if self.is_verbose() {
            say(PLAIN, "", text);
        }
    }
}

/// Reports a failure and its hint as JSON, on one line.
pub(crate) fn failure_as_json(failure: &Failure) {
    let text = visible(failure.json()).to_string();
    let (style, label) = (PLAIN, "");
    write(Line { style, label, text });
}

/// Cleans all texts in it as a line would be, so that they are no longer and no terminal obeys
/// them.
fn visible(mut told: Value) -> Value {
    for value in told.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Value::String(text) = value {
            *text = clean(cut(text)).into_owned();
        }
    }
    told
}

/// Reports a failure and, on its own line, its hint.
pub(crate) fn failure(failure: &Failure) {
    say(ERROR, "error: ", &format!("{:#}", failure.error));
    if let Some(hint) = &failure.hint {
        say(HINT, HINTED, hint);
    }
}

/// Reports that something was skipped or changed, whatever the verbosity.
pub(crate) fn warning(text: &str) {
    say(WARNING, "warning: ", text);
}

/// Writes a line of a log, which states its own severity, whatever the verbosity.
pub(crate) fn logged(line: &str) {
    say(PLAIN, "", line);
}

/// Prints lines that were requested, such as a table, whatever the verbosity.
pub(crate) fn lines(text: &str) {
    text.lines().for_each(|line| say(PLAIN, "", line));
}

/// `text` on one line, with control characters made visible.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    ctx::format::neutralise(text, Slot::Line)
}

fn say(style: Style, label: &'static str, text: &str) {
    let text = clean(cut(text)).into_owned();
    write(Line { style, label, text });
}

/// The part of `text` that fits into one line.
fn cut(text: &str) -> &str {
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => &text[..cut],
        None => text,
    }
}

fn write(line: Line) {
    match BEHIND.get() {
        Some(behind) => behind.say(line),
        None => line.write(),
    }
}

/// A line of standard error.
struct Line {
    style: Style,
    label: &'static str,
    text: String,
}

impl Line {
    fn write(&self) {
        let Line { style, label, text } = self;
        let mut err = anstream::stderr().lock();
        // An error here cannot be reported anywhere.
        let _ = writeln!(err, "{style}{label}{style:#}{text}");
    }
}

/// The most lines that wait for a reader of standard error; further ones are lost and only counted.
const WAITING: usize = 1_000;

/// How long the program waits at its end for a reader of standard error.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The thread that writes for callers that must not wait.
static BEHIND: OnceLock<Behind> = OnceLock::new();

/// Makes a separate thread write all messages from now on, so that no caller waits for a reader of
/// standard error. The program must then end through [`flush`].
pub(crate) fn write_behind() {
    BEHIND.get_or_init(Behind::begin);
}

/// Waits until all messages are written, but at most [`LAST_WORDS`].
pub(crate) fn flush() {
    if let Some(behind) = BEHIND.get() {
        behind.flush();
    }
}

/// A message to the thread that writes.
enum Said {
    Line(Line),
    /// Asks for a reply when everything before it is written.
    Flush(SyncSender<()>),
}

struct Behind {
    said: SyncSender<Said>,
    /// The number of lost lines that are not reported yet.
    lost: AtomicUsize,
}

impl Behind {
    fn begin() -> Self {
        let (said, all) = sync_channel(WAITING);
        let write = move || {
            for said in all {
                match said {
                    Said::Line(line) => line.write(),
                    // The caller may have stopped waiting.
                    Said::Flush(done) => drop(done.try_send(())),
                }
            }
        };
        // If there is no thread, nothing is written, since callers must not wait.
        let _ = thread::Builder::new().spawn(write);
        Behind {
            said,
            lost: AtomicUsize::new(0),
        }
    }

    fn say(&self, line: Line) {
        let before = self.lost();
        for line in before.into_iter().chain([line]) {
            if self.said.try_send(Said::Line(line)).is_err() {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn flush(&'static self) {
        let (told, done) = sync_channel(1);
        // If the queue is full, there is no room for this either.
        let asking = move || {
            let said = self.lost().map(Said::Line).into_iter();
            for said in said.chain([Said::Flush(told)]) {
                let _ = self.said.send(said);
            }
        };
        if thread::Builder::new().spawn(asking).is_ok() {
            let _ = done.recv_timeout(LAST_WORDS);
        }
    }

    /// The line that reports lost lines.
    fn lost(&self) -> Option<Line> {
        let count = self.lost.swap(0, Ordering::Relaxed);
        (count > 0).then(|| Line {
            style: WARNING,
            label: "warning: ",
            text: format!(
                "at least {count} lines are missing here: standard error was not read fast enough"
            ),
        })
    }
}
