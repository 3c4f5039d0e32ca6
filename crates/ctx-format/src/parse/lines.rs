//! Reads Markdown and plain text back, line by line.
//!
//! The two formats differ in how a body is opened (by a fence or a rule) and in their headings;
//! everything else is shared. A body is opened and closed by a line that cannot occur inside it, so
//! nothing in a body is taken for structure. Every other part of a block is one line that begins
//! with a fixed word. An empty body is represented by one such line.

use super::{Parsed, ParsedBlock, category_of_title};
use crate::fields::Inline;
use crate::{ParseError, fields, inline, markdown, plain};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Markdown,
    Plain,
}

impl Dialect {
    fn inline(self) -> Inline {
        match self {
            Dialect::Markdown => Inline::Markdown,
            Dialect::Plain => Inline::Plain,
        }
    }
}

/// A line without its newline, and its offset.
#[derive(Clone, Copy)]
struct Line<'t> {
    text: &'t str,
    start: usize,
    number: usize,
}

struct Lines<'t> {
    text: &'t str,
    next: usize,
    number: usize,
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        let rest = &self.text[self.next..];
        if rest.is_empty() {
            return None;
        }
        let length = rest.find('\n').unwrap_or(rest.len());
        let start = self.next;
        self.next = (start + length + 1).min(self.text.len());
        self.number += 1;
        Some(Line {
            text: &rest[..length],
            start,
            number: self.number,
        })
    }
}

/// The parts read so far of the next block.
#[derive(Default)]
struct Pending {
    block: ParsedBlock,
    /// The offset of its first line.
    start: Option<usize>,
    /// Whether it has a field, and not just a heading.
    has_fields: bool,
    /// Whether a blank line followed.
    is_complete: bool,
}

/// The known facts of the blocks to be read.
struct Known<'k> {
    count: usize,
    is_block: &'k mut dyn FnMut(&ParsedBlock) -> bool,
    /// The bytes that may still be read without result.
    spare: usize,
}

impl Known<'_> {
    /// Whether `block` is the next one, with the title of an earlier heading or without it.
    fn takes(&mut self, block: &mut ParsedBlock, has_own_title: bool) -> bool {
        if (self.is_block)(block) {
            return true;
        }
        !has_own_title && block.title.take().is_some() && (self.is_block)(block)
    }
}

struct Reader<'t, 'k> {
    known: Option<Known<'k>>,
    dialect: Dialect,
    text: &'t str,
    lines: Lines<'t>,
    parsed: Parsed,
    pending: Pending,
    /// The heading that applies to later blocks without one.
    title: Option<String>,
    group: Option<ctx_model::Category>,
    /// The offset of the first structure, where the header ends.
    header_end: Option<usize>,
    /// The offset after the last structure, where the footer begins.
    footer_start: usize,
}

pub(super) fn parse(dialect: Dialect, text: &str) -> Result<Parsed, ParseError> {
    Reader::new(dialect, text, None).read()
}

/// See [`super::parse_known`].
pub(super) fn parse_known(
    dialect: Dialect,
    text: &str,
    count: usize,
    is_block: &mut dyn FnMut(&ParsedBlock) -> bool,
) -> Result<Parsed, ParseError> {
    let known = Known {
        count,
        is_block,
        spare: text.len().saturating_mul(16),
    };
    Reader::new(dialect, text, Some(known)).read()
}

impl<'t, 'k> Reader<'t, 'k> {
    fn new(dialect: Dialect, text: &'t str, known: Option<Known<'k>>) -> Self {
        Reader {
            known,
            dialect,
            text,
            lines: Lines {
                text,
                next: 0,
                number: 0,
            },
            parsed: Parsed::default(),
            pending: Pending::default(),
            title: None,
            group: None,
            header_end: None,
            footer_start: 0,
        }
    }

    fn read(mut self) -> Result<Parsed, ParseError> {
        while let Some(line) = self.lines.next() {
            let (may_begin, may_end) = self.may_come();
            if may_begin && let Some(close) = self.opening(line.text) {
                self.body(line, &close)?;
            } else if may_begin && line.text == fields::SHOWN_NOTHING {
                self.nothing(line);
            } else if may_end && self.is_notice(line) {
                // Only the caller's footer can follow.
                break;
            } else if may_end && self.begins_sources(line) {
                self.sources();
            } else {
                self.outside(line);
            }
        }
        Ok(self.finish())
    }

    /// Whether a block may follow, and whether the parts after the blocks may follow.
    fn may_come(&self) -> (bool, bool) {
        let Some(known) = &self.known else {
            return (true, true);
        };
        let is_all = self.parsed.blocks.len() >= known.count;
        (!is_all && known.spare > 0, is_all)
    }

    /// The line that closes the body which `line` opens.
    fn opening(&mut self, line: &str) -> Option<String> {
        match self.dialect {
            Dialect::Markdown => {
                let info = line.trim_start_matches('`');
                let length = line.len() - info.len();
                if length < 3 || info.contains('`') {
                    return None;
                }
                self.pending.block.language = Some(info.to_owned());
                Some(line[..length].to_owned())
            }
            Dialect::Plain => {
                let length = plain::rule_length(line)?;
                (length >= plain::SHORTEST_RULE).then(|| line.to_owned())
            }
        }
    }

    /// Reads the body of the pending block, up to the line `close`.
    fn body(&mut self, opening: Line<'t>, close: &str) -> Result<(), ParseError> {
        let (start, number) = (self.lines.next, self.lines.number);
        let closing = self.lines.find(|line| line.text == close);
        let is_read = match closing {
            Some(closing) => {
                // The newline before the closing line belongs to the fence or rule.
                let end = closing.start.saturating_sub(1).max(start);
                self.complete(opening, &self.text[start..end])
            }
            None if self.known.is_some() => false,
            None => {
                return Err(ParseError::Unclosed {
                    line_number: opening.number,
                });
            }
        };
        if !is_read {
            // The line opens nothing, and the lines after it are read again.
            if let Some(known) = &mut self.known {
                known.spare = known.spare.saturating_sub(self.lines.next - start);
            }
            (self.lines.next, self.lines.number) = (start, number);
            self.outside(opening);
        }
        Ok(())
    }

    /// Reads the line that replaces an empty body.
    fn nothing(&mut self, line: Line<'t>) {
        self.forget_stale();
        if !self.complete(line, "") {
            self.outside(line);
        }
    }

    /// Completes the pending block with this body, unless it is known not to be a block. `opening`
    /// is the line that opens the body, or replaces it.
    fn complete(&mut self, opening: Line<'_>, body: &str) -> bool {
        let pending = std::mem::take(&mut self.pending);
        let mut block = pending.block;
        body.clone_into(&mut block.body);
        block.group = self.group;
        let has_own_title = block.title.is_some();
        if !has_own_title {
            block.title.clone_from(&self.title);
        }
        block.settle_title();
        if let Some(known) = &mut self.known
            && !known.takes(&mut block, has_own_title)
        {
            return false;
        }
        self.structure(pending.start.unwrap_or(opening.start));
        self.parsed.blocks.push(block);
        true
    }

    /// Notes a structure that begins at `start` and ends with the line read last.
    fn structure(&mut self, start: usize) {
        self.header_end.get_or_insert(start);
        self.footer_start = self.lines.next;
    }

    fn is_notice(&mut self, line: Line<'_>) -> bool {
        let text = match self.dialect {
            Dialect::Markdown => line.text.strip_prefix("> "),
            Dialect::Plain => Some(line.text),
        };
        self.parsed.notice = text.and_then(fields::read_notice);
        if self.parsed.notice.is_some() {
            self.structure(line.start);
        }
        self.parsed.notice.is_some()
    }

    fn begins_sources(&mut self, line: Line<'_>) -> bool {
        let wanted = match self.dialect {
            Dialect::Markdown => markdown::SOURCES,
            Dialect::Plain => plain::SOURCES,
        };
        let is_sources = line.text == wanted && self.parsed.sources.is_empty();
        if is_sources {
            self.structure(line.start);
        }
        is_sources
    }

    fn sources(&mut self) {
        let inline = self.dialect.inline();
        for line in self.lines.by_ref() {
            if let Some(label) = line.text.strip_prefix("- ") {
                self.parsed.sources.push(fields::read_label(label, inline));
            } else if !line.text.is_empty() {
                break;
            }
        }
        self.footer_start = self.lines.next;
    }

    /// Reads a line outside bodies: a heading, a field, a blank line, or the caller's own text.
    fn outside(&mut self, line: Line<'_>) {
        if line.text.is_empty() {
            self.pending.is_complete = self.pending.start.is_some();
            return;
        }
        self.forget_stale();
        self.pending.is_complete = false;
        let start = self.pending.start.unwrap_or(line.start);
        if self.read_group(line.text) {
            self.structure(line.start);
            self.pending = Pending::default();
        } else if let Some(block) = read_title(self.dialect, line.text) {
            self.title.clone_from(&block.title);
            self.pending = Pending {
                block,
                start: Some(line.start),
                ..Pending::default()
            };
        } else if fields::read_field(line.text, &mut self.pending.block, self.dialect.inline()) {
            self.pending.start = Some(start);
            self.pending.has_fields = true;
        } else {
            self.pending = Pending::default();
            if self.parsed.blocks.is_empty() {
                self.title = None;
            }
        }
    }

    /// Drops pending fields after a blank line, since only a body could have followed them. A
    /// heading alone is kept: it may be that of a whole group.
    fn forget_stale(&mut self) {
        if self.pending.is_complete && self.pending.has_fields {
            self.pending = Pending::default();
        }
    }

    fn read_group(&mut self, line: &str) -> bool {
        let title = match self.dialect {
            Dialect::Markdown => line.strip_prefix(markdown::SECTION),
            Dialect::Plain => line
                .strip_prefix("=== ")
                .and_then(|line| line.strip_suffix(" ===")),
        };
        let Some(category) = title.and_then(category_of_title) else {
            return false;
        };
        self.group = Some(category);
        true
    }

    fn finish(mut self) -> Parsed {
        let header_end = self.header_end.unwrap_or(self.text.len());
        self.parsed.header = own_text(&self.text[..header_end]);
        if self.header_end.is_some() {
            self.parsed.footer = own_text(&self.text[self.footer_start..]);
        }
        self.parsed
    }
}

/// Reads the heading of a block.
fn read_title(dialect: Dialect, line: &str) -> Option<ParsedBlock> {
    let mut block = ParsedBlock::default();
    match dialect {
        Dialect::Markdown => {
            block.title = Some(inline::unescaped(line.strip_prefix(markdown::TITLE)?));
        }
        Dialect::Plain => {
            let (word, text) = [plain::FILE, plain::NAME, plain::ID]
                .into_iter()
                .find_map(|word| Some((word, line.strip_prefix(word)?)))?;
            let (title, span) = split_span(text);
            block.span = span;
            block.title = Some(title.clone());
            *match word {
                plain::FILE => &mut block.path,
                plain::NAME => &mut block.name,
                _ => &mut block.id,
            } = Some(title);
        }
    }
    Some(block)
}

/// Splits `title (lines 3-9)` into the title and the lines.
fn split_span(text: &str) -> (String, Option<ctx_model::LineSpan>) {
    let (quoted, rest) = match fields::take_quoted(text) {
        Some((title, rest)) => (Some(title), rest),
        None => (None, text),
    };
    let split = rest.strip_suffix(')').and_then(|rest| {
        let (title, span) = rest.rsplit_once(plain::SPAN)?;
        Some((title, span.parse().ok()?))
    });
    let (title, span) = match split {
        Some((title, span)) => (title, Some(span)),
        None => (rest, None),
    };
    (quoted.unwrap_or_else(|| title.to_owned()), span)
}

fn own_text(text: &str) -> Option<String> {
    let text = text[crate::separator::leading_lines(text)..].trim_end_matches(['\r', '\n']);
    (!text.is_empty()).then(|| text.to_owned())
}
