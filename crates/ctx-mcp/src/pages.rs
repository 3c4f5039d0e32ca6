//! Splits long results into pages that fit into a reply, with cursors for the rest.

use std::ops::Range;

use ctx_tokens::TokenCounter;

use crate::fault::{Fault, echo};
use crate::reply::{Limit, Reply};

/// The key of the fact with the cursor for the rest.
const CURSOR: &str = "cursor";
/// The key of the fact that a line is shown in part; the cursor continues within it.
const CUT: &str = "cut";

/// A list of lines, of which a reply shows as many as fit.
pub(crate) struct Page<'a> {
    /// What the cursor for the rest says that it continues: a digest of the source of the lines,
    /// by which a change between two pages is detected, and what else the next page must know.
    pub(crate) of: String,
    /// Where the page begins.
    pub(crate) from: Start,
    /// Adds the heading to a reply, given the indexes from 0 of the lines shown.
    pub(crate) head: &'a dyn Fn(&mut Reply, Range<usize>),
    /// The tool that shows the next page.
    pub(crate) tool: &'a str,
}

/// The position at which a page begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// The index of its first line, from 0.
    line: usize,
    /// How many bytes of that line were shown before.
    byte: usize,
}

impl Start {
    /// Parses `LINE`, or `LINE.BYTE` for a position within a line.
    fn of(text: &str) -> Option<Self> {
        let (line, byte) = text.split_once('.').unwrap_or((text, "0"));
        Some(Start {
            line: line.parse().ok()?,
            byte: byte.parse().ok()?,
        })
    }

    /// The index of the line that the position is within; `None` if it is at the beginning of one.
    pub(crate) fn within(self) -> Option<usize> {
        (self.byte > 0).then_some(self.line)
    }

    /// The first line of `text`, which stands for several, if the position is behind it.
    pub(crate) fn behind_first(self, text: &str) -> Option<&str> {
        let (first, _) = text.split_once('\n')?;
        let is_behind = self.byte > first.len() && text.is_char_boundary(self.byte);
        is_behind.then_some(first)
    }
}

/// The position at which `cursor` continues.
///
/// # Errors
/// The cursor does not belong to this tool, or to a text with another digest.
pub(crate) fn start(cursor: Option<&str>, digest: &str) -> Result<Start, Fault> {
    let Some(cursor) = cursor else {
        return Ok(Start::default());
    };
    let (of, start) = split(cursor).ok_or_else(|| no_cursor(cursor))?;
    if of == digest {
        Ok(start)
    } else {
        Err(changed())
    }
}

/// What `cursor` continues, and where.
pub(crate) fn split(cursor: &str) -> Option<(&str, Start)> {
    let (of, at) = cursor.split_once('@')?;
    Some((of, Start::of(at)?))
}

/// The error for a cursor that is none of this tool.
pub(crate) fn no_cursor(cursor: &str) -> Fault {
    Fault::refused(
        format!(
            "continue at cursor {}: it is not a cursor of this tool",
            echo(cursor)
        ),
        "the cursor of the last reply, or no cursor",
    )
}

/// The error for a cursor with another digest.
pub(crate) fn changed() -> Fault {
    Fault::refused(
        "continue: the content has changed since the cursor was given, or it was given for another path",
        "the same call without cursor",
    )
}

/// Twelve hexadecimal digits of a hash of the text.
pub(crate) fn digest<T: AsRef<str>>(parts: &[T]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts.iter().map(AsRef::as_ref) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..12].to_owned()
}

/// Whether `reply` is complete.
pub(crate) fn is_whole(reply: &Reply) -> bool {
    !reply.facts.contains_key(CURSOR)
}

impl Page<'_> {
    /// Adds as many lines as fit to `reply`, and a cursor for the others. `line` returns the text
    /// of a line by its index from 0, and `None` after the last; it is called for few more lines
    /// than fit.
    pub(crate) fn fill(
        &self,
        reply: &Reply,
        limit: &Limit,
        counter: &dyn TokenCounter,
        line: &mut dyn FnMut(usize) -> Option<String>,
    ) -> Reply {
        // The bytes of the first line that were shown before; none if it has changed since and is
        // shown from its beginning.
        let mut before = Before::default();
        let mut line = |at: usize| {
            let text = line(at)?;
            let rest = (at == self.from.line).then(|| text.get(self.from.byte..));
            Some(match rest.flatten() {
                Some(rest) => {
                    before = Before::of(&text, self.from.byte);
                    rest.to_owned()
                }
                None => text,
            })
        };
        let mut lines: Vec<String> = Vec::new();
        let mut is_all = false;
        // Doubles the number of lines until there are no more or they do not fit.
        let mut wanted = 64;
        loop {
            while lines.len() < wanted && !is_all {
                match line(self.from.line + lines.len()) {
                    Some(text) => lines.push(text),
                    None => is_all = true,
                }
            }
            let shown = self.with(reply, &lines, lines.len(), is_all);
            if !limit.fits(&shown.result(), counter) {
                break;
            }
            if is_all {
                return shown;
            }
            wanted *= 2;
        }
        let (mut low, mut high) = (0, lines.len().saturating_sub(1));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if limit.fits(&self.with(reply, &lines, middle, false).result(), counter) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        if low > 0 || lines.is_empty() {
            return self.with(reply, &lines, low, false);
        }
        self.cut(reply, limit, counter, (before, &lines[0]))
    }

    /// Adds the first `count` of `lines`, and a cursor if they are not all.
    fn with(&self, reply: &Reply, lines: &[String], count: usize, is_all: bool) -> Reply {
        let mut reply = reply.clone();
        (self.head)(&mut reply, self.from.line..self.from.line + count);
        for line in &lines[..count] {
            reply.text.push('\n');
            reply.text.push_str(line);
        }
        if !is_all {
            let cursor = format!("{}@{}", self.of, self.from.line + count);
            self.go_on(&mut reply, &cursor, "");
        }
        reply
    }

    fn go_on(&self, reply: &mut Reply, cursor: &str, what: &str) {
        let note = format!(
            "{what}Not all fits: for the rest call {} again with the same path and cursor \"{cursor}\".",
            self.tool
        );
        reply.notes.insert(0, note);
        reply.fact(CURSOR, cursor);
    }

    /// Adds the beginning of a line that does not fit, of which `before` was shown already. If its
    /// text consists of several lines, as the outline of a file does, it is cut between them where
    /// possible.
    fn cut(
        &self,
        reply: &Reply,
        limit: &Limit,
        counter: &dyn TokenCounter,
        (before, line): (Before, &str),
    ) -> Reply {
        // An upper bound: no token has more characters per token of the limit than this.
        let most = limit.tokens().get() as usize * 128;
        let ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
        let ends: Vec<usize> = ends.skip(1).take(most).collect();
        let beginning = |end: usize| {
            let whole = line[..end].rfind('\n').map(|at| at + 1);
            let end = whole.unwrap_or(end);
            let mut reply = reply.clone();
            (self.head)(&mut reply, self.from.line..self.from.line + 1);
            reply.text.push('\n');
            reply.text.push_str(line[..end].trim_end_matches('\n'));
            let what = if whole.is_some() {
                "The definitions of the last file are not complete. ".to_owned()
            } else {
                reply.fact(CUT, true);
                let all = line.find('\n').unwrap_or(line.len());
                let (shown, all) = (before.of_line + end, before.of_line + all);
                format!("{shown} of {all} bytes of the last line have been shown. ")
            };
            let (line, byte) = (self.from.line, before.bytes + end);
            self.go_on(&mut reply, &format!("{}@{line}.{byte}", self.of), &what);
            reply
        };
        let (mut low, mut high) = (0, ends.len().saturating_sub(1));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if limit.fits(&beginning(ends[middle]).result(), counter) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        // If not even one character fits, this does not fit either, and the caller gets an error.
        beginning(ends.get(low).copied().unwrap_or(0))
    }
}

/// How much of the first line of a page, which may have several lines of text, was shown before.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    bytes: usize,
    /// How many of these bytes belong to the last of its lines.
    of_line: usize,
}

impl Before {
    /// The counts for the first `bytes` of `text`.
    fn of(text: &str, bytes: usize) -> Self {
        let ended = text[..bytes].rfind('\n').map_or(0, |at| at + 1);
        Before {
            bytes,
            of_line: bytes - ended,
        }
    }
}
