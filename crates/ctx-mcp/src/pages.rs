//! As many lines as a reply holds, and where to go on.

use std::ops::Range;

use ctx_tokens::TokenCounter;

use crate::fault::{Fault, echo};
use crate::reply::{Limit, Reply};

/// The fact that there is more, and where it is.
const CURSOR: &str = "cursor";
/// The fact that a line is shown in part; the cursor leads to the rest of it.
const CUT: &str = "cut";

/// Lines of which a beginning is shown.
pub(crate) struct Page<'a> {
    /// What the lines are of, to tell whether they changed between two pages.
    pub(crate) digest: String,
    /// What is before it was shown before.
    pub(crate) from: Start,
    /// Says in a reply what is above the lines that it shows, which are told by their numbers from 0.
    pub(crate) head: &'a dyn Fn(&mut Reply, Range<usize>),
    /// Which tool shows more.
    pub(crate) tool: &'a str,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// The number of its first line, from 0.
    line: usize,
    /// So many bytes of that line were shown before.
    byte: usize,
}

impl Start {
    /// `LINE`, or `LINE.BYTE` within a line.
    fn of(text: &str) -> Option<Self> {
        let (line, byte) = text.split_once('.').unwrap_or((text, "0"));
        Some(Start {
            line: line.parse().ok()?,
            byte: byte.parse().ok()?,
        })
    }

    /// The number of the line that it is within; `None` where it is before one.
    pub(crate) fn within(self) -> Option<usize> {
        (self.byte > 0).then_some(self.line)
    }

    /// The first of the lines that `text` is, where it goes on behind that.
    pub(crate) fn behind_first(self, text: &str) -> Option<&str> {
        let (first, _) = text.split_once('\n')?;
        let is_behind = self.byte > first.len() && text.is_char_boundary(self.byte);
        is_behind.then_some(first)
    }
}

/// Where `cursor` goes on.
///
/// # Errors
/// It is none of this tool's, or of another text than that of `digest`.
pub(crate) fn start(cursor: Option<&str>, digest: &str) -> Result<Start, Fault> {
    let Some(cursor) = cursor else {
        return Ok(Start::default());
    };
    let parsed = cursor
        .split_once('@')
        .and_then(|(of, at)| Some((of, Start::of(at)?)));
    match parsed {
        Some((of, at)) if of == digest => Ok(at),
        Some(_) => Err(Fault::new(
            "continue: what the cursor is of has changed since",
            "the same call without cursor",
        )),
        None => Err(Fault::new(
            format!(
                "continue at cursor {}: it is no cursor of this tool",
                echo(cursor)
            ),
            "a cursor as the last reply told it, or none",
        )),
    }
}

/// Twelve digits that tell one text from another.
pub(crate) fn digest<T: AsRef<str>>(parts: &[T]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts.iter().map(AsRef::as_ref) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..12].to_owned()
}

/// Whether `reply` is all that there is.
pub(crate) fn is_whole(reply: &Reply) -> bool {
    !reply.facts.contains_key(CURSOR)
}

impl Page<'_> {
    /// As many of the lines as fit beside what `reply` says already, and a cursor for the others. `line` gives
    /// the text of a line by its number from 0, and `None` after the last; it is asked for few more than fit.
    pub(crate) fn fill(
        &self,
        reply: &Reply,
        limit: &Limit,
        counter: &dyn TokenCounter,
        line: &mut dyn FnMut(usize) -> Option<String>,
    ) -> Reply {
        // Bytes of the first line that were shown before; of one that has changed since, which is shown from its beginning, none.
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
        // Twice as many each time, until there are no more or they do not fit.
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

    /// The first `count` of `lines`, and how to go on where they are not all.
    fn with(&self, reply: &Reply, lines: &[String], count: usize, is_all: bool) -> Reply {
        let mut reply = reply.clone();
        (self.head)(&mut reply, self.from.line..self.from.line + count);
        for line in &lines[..count] {
            reply.text.push('\n');
            reply.text.push_str(line);
        }
        if !is_all {
            let cursor = format!("{}@{}", self.digest, self.from.line + count);
            self.go_on(&mut reply, &cursor, "");
        }
        reply
    }

    fn go_on(&self, reply: &mut Reply, cursor: &str, what: &str) {
        let note = format!(
            "{what}Not all fits: for the rest call {} again with cursor \"{cursor}\".",
            self.tool
        );
        reply.notes.insert(0, note);
        reply.fact(CURSOR, cursor);
    }

    /// The beginning of a line of which not all fits, and of which `before` was shown: where it is several, as all that a file
    /// defines is, whole ones if it can be.
    fn cut(
        &self,
        reply: &Reply,
        limit: &Limit,
        counter: &dyn TokenCounter,
        (before, line): (Before, &str),
    ) -> Reply {
        // No token has more characters than fit here for each that there may be.
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
                "Of the last file here not all that it defines is shown. ".to_owned()
            } else {
                reply.fact(CUT, true);
                let all = line.find('\n').unwrap_or(line.len());
                let (shown, all) = (before.of_line + end, before.of_line + all);
                format!("Of the last line here {shown} of {all} bytes were shown. ")
            };
            let (line, byte) = (self.from.line, before.bytes + end);
            self.go_on(&mut reply, &format!("{}@{line}.{byte}", self.digest), &what);
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
        // Where not one character fits, neither does this, and the caller is told so.
        beginning(ends.get(low).copied().unwrap_or(0))
    }
}

/// What was shown before of the line that a page begins within, which may be several.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    bytes: usize,
    /// So many of them are of the last.
    of_line: usize,
}

impl Before {
    /// That of `bytes` of `text`.
    fn of(text: &str, bytes: usize) -> Self {
        let ended = text[..bytes].rfind('\n').map_or(0, |at| at + 1);
        Before {
            bytes,
            of_line: bytes - ended,
        }
    }
}
