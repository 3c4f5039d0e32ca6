//! What is said on standard error.
//!
//! Every line goes through [`clean`] here, and only here: a path or an id may hold escape
//! sequences, and a terminal would obey them. Writing never fails the program: when nobody listens
//! to standard error there is nobody to tell. Whoever must not wait for who listens writes [behind](write_behind).

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

/// What a line begins with that says what to do.
const HINTED: &str = "hint: ";

/// Characters that one line holds at most: an id may be as long as its author liked.
const LONGEST: usize = 2000;

/// How much is said besides errors and warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// One line of what came out, and counts of what was passed over.
    Normal,
    /// Each file that was passed over, and why.
    Verbose,
}

/// Tells people what happened.
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

    /// Says what came out.
    pub(crate) fn note(self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            say(PLAIN, "", text);
        }
    }

    /// Says what may have been meant instead.
    pub(crate) fn hint(self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            say(HINT, HINTED, text);
        }
    }

    /// Says what only some want to know.
    pub(crate) fn detail(self, text: &str) {
        if self.is_verbose() {
            say(PLAIN, "", text);
        }
    }
}

/// Says what failed and what to do about it as JSON, on one line.
pub(crate) fn failure_as_json(failure: &Failure) {
    let text = visible(failure.json()).to_string();
    let (style, label) = (PLAIN, "");
    write(Line { style, label, text });
}

/// The same with all texts in it as a line would show them: they are no longer than that, and no terminal obeys them.
fn visible(mut told: Value) -> Value {
    for value in told.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Value::String(text) = value {
            *text = clean(cut(text)).into_owned();
        }
    }
    told
}

/// Says what failed, and on its own line what to do about it.
pub(crate) fn failure(failure: &Failure) {
    say(ERROR, "error: ", &format!("{:#}", failure.error));
    if let Some(hint) = &failure.hint {
        say(HINT, HINTED, hint);
    }
}

/// Says that something was passed over or changed; no verbosity silences it.
pub(crate) fn warning(text: &str) {
    say(WARNING, "warning: ", text);
}

/// Says a line of a log, which says itself how bad it is; no verbosity silences it.
pub(crate) fn logged(line: &str) {
    say(PLAIN, "", line);
}

/// Prints lines that were asked for, such as a table, whatever the verbosity.
pub(crate) fn lines(text: &str) {
    text.lines().for_each(|line| say(PLAIN, "", line));
}

/// `text` on one line, with everything a terminal would obey made visible.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    ctx::format::neutralise(text, Slot::Line)
}

fn say(style: Style, label: &'static str, text: &str) {
    let text = clean(cut(text)).into_owned();
    write(Line { style, label, text });
}

/// What one line holds of it.
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

/// One line of standard error.
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

/// So many lines wait for whoever reads standard error; what is said while as many wait is lost, and told as a number.
const WAITING: usize = 1_000;

/// How long a program that ends waits for whoever reads standard error.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Who writes for those who do not wait.
static BEHIND: OnceLock<Behind> = OnceLock::new();

/// From now on has a thread of its own write what is said: nobody waits for a standard error that nobody reads.
/// The program ends by way of [`flush`].
pub(crate) fn write_behind() {
    BEHIND.get_or_init(Behind::begin);
}

/// Waits until what was said is written, and no longer than [`LAST_WORDS`].
pub(crate) fn flush() {
    if let Some(behind) = BEHIND.get() {
        behind.flush();
    }
}

/// What is handed to the thread that writes.
enum Said {
    Line(Line),
    /// Whoever sent it is told once all that was said before is written.
    Flush(SyncSender<()>),
}

struct Behind {
    said: SyncSender<Said>,
    /// Lines for which there was no room, and that nobody was told of.
    lost: AtomicUsize,
}

impl Behind {
    fn begin() -> Self {
        let (said, all) = sync_channel(WAITING);
        let write = move || {
            for said in all {
                match said {
                    Said::Line(line) => line.write(),
                    // Who asked may not wait any more.
                    Said::Flush(done) => drop(done.try_send(())),
                }
            }
        };
        // Without a thread nothing is said: who says it must not wait.
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
        // While as many wait as may, there is no room for this either.
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

    /// What is said of lines that were lost.
    fn lost(&self) -> Option<Line> {
        let count = self.lost.swap(0, Ordering::Relaxed);
        (count > 0).then(|| Line {
            style: WARNING,
            label: "warning: ",
            text: format!(
                "some lines are missing here, {count} or more: nobody read those before them"
            ),
        })
    }
}
