//! What is said on standard error.
//!
//! Every line goes through [`clean`] here, and only here: a path or an id may hold escape
//! sequences, and a terminal would obey them. Writing never fails the program: when nobody listens
//! to standard error there is nobody to tell.

use std::borrow::Cow;
use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use ctx::format::Slot;

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

fn say(style: Style, label: &str, text: &str) {
    let text = match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => &text[..cut],
        None => text,
    };
    let mut err = anstream::stderr().lock();
    // An error here cannot be reported anywhere.
    let _ = writeln!(err, "{style}{label}{style:#}{}", clean(text));
}
