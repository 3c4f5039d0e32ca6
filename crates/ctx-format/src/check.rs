//! What a caller's own text may not do: swallow what comes after it.

use ctx_model::Format;

use crate::FormatError;
use crate::separator::leading_lines;

/// The separator's name on the wire.
pub(crate) const SEPARATOR: &str = "chunkSeparator";

/// Whether a piece of a document keeps the rule under which token counts add up: it is empty, or it
/// ends in a newline and begins with neither a blank line nor `/`.
///
/// Byte-pair encodings cut text after a run of newlines, and `o200k_base` draws a `/` that follows
/// such a run into it.
pub fn joins_safely(piece: &str) -> bool {
    piece.is_empty()
        || (piece.ends_with('\n') && leading_lines(piece) == 0 && !piece.starts_with('/'))
}

/// Checks the caller's own text before it is used as `part` of a document: `chunkSeparator`,
/// `header` or `footer`.
///
/// In Markdown, text that opens a fence or an HTML block must also close it, for otherwise the
/// blocks after it are no blocks. A separator is followed at once by a block, so an HTML block in
/// it must be closed by a blank line. Text inside lists and quotes is confined by them. The check
/// is on the safe side: it may refuse a fence nested in a list in an unusual way. O(n).
///
/// # Errors
/// [`FormatError::LeavesOpen`] with the line; [`FormatError::JsonSeparator`] for a separator in JSON
/// that is not mere white space.
pub fn check_text(format: Format, part: &'static str, text: &str) -> Result<(), FormatError> {
    match format {
        Format::Json if part == SEPARATOR && !text.trim().is_empty() => {
            Err(FormatError::JsonSeparator {
                separator: text.to_owned(),
            })
        }
        Format::Markdown => match left_open(text) {
            Some(left) if left.construct != UNTIL_BLANK || part == SEPARATOR => {
                Err(FormatError::LeavesOpen {
                    part,
                    line_number: left.line_number,
                    construct: left.construct,
                })
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

const FENCE: &str = "a code fence";
const UNTIL_END: &str = "an HTML block or comment";
const UNTIL_BLANK: &str = "an HTML block, which ends at a blank line,";

struct LeftOpen {
    line_number: usize,
    construct: &'static str,
}

/// What is open at a line's end (CommonMark 0.31, sections 4.5 and 4.6).
#[derive(Clone, Copy)]
enum Open {
    Nothing,
    Fence {
        mark: u8,
        length: usize,
    },
    /// Ends with a line that holds one of these, in lower case.
    HtmlUntil(&'static [&'static str]),
    HtmlUntilBlank,
}

/// The last construct that `text` opens at its top level and does not close.
fn left_open(text: &str) -> Option<LeftOpen> {
    let mut open = Open::Nothing;
    let mut opened_on = 0;
    // The column from which a line belongs to the list item above it.
    let mut item: Option<usize> = None;
    let mut after_blank = true;
    for (index, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let is_blank = line.trim_matches([' ', '\t']).is_empty();
        let was_open = !matches!(open, Open::Nothing);
        if was_open {
            if closes(open, line, is_blank) {
                open = Open::Nothing;
            }
        } else if !is_blank {
            let indent = line.len() - line.trim_start_matches(' ').len();
            let is_nested = item.is_some_and(|column| indent >= column);
            if !is_nested {
                item = list_item(line, indent).filter(|_| after_blank || item.is_some());
            }
            if !is_nested && item.is_none() && indent < 4 {
                open = opens(&line[indent..]);
                opened_on = index + 1;
            }
        }
        after_blank = is_blank || (was_open && matches!(open, Open::Nothing));
    }
    let construct = match open {
        Open::Nothing => return None,
        Open::Fence { .. } => FENCE,
        Open::HtmlUntil(_) => UNTIL_END,
        Open::HtmlUntilBlank => UNTIL_BLANK,
    };
    Some(LeftOpen {
        line_number: opened_on,
        construct,
    })
}

fn closes(open: Open, line: &str, is_blank: bool) -> bool {
    match open {
        Open::Nothing => false,
        Open::Fence { mark, length } => {
            let indent = line.len() - line.trim_start_matches(' ').len();
            let run = line[indent..].trim_end_matches([' ', '\t']);
            indent < 4 && run.len() >= length && run.bytes().all(|b| b == mark)
        }
        Open::HtmlUntil(ends) => {
            let line = line.to_ascii_lowercase();
            ends.iter().any(|end| line.contains(end))
        }
        Open::HtmlUntilBlank => is_blank,
    }
}

/// What a top-level line opens and does not itself close; `line` is without its indentation.
fn opens(line: &str) -> Open {
    let bytes = line.as_bytes();
    for mark in [b'`', b'~'] {
        let length = bytes.iter().take_while(|&&b| b == mark).count();
        // The info string after backticks holds none, or it is a code span.
        if length >= 3 && !(mark == b'`' && bytes[length..].contains(&b'`')) {
            return Open::Fence { mark, length };
        }
    }
    let Some(open) = opens_html(line) else {
        return Open::Nothing;
    };
    // The end may stand on the line of the start; `<!-->` and `<?>` are ends as well.
    if closes(open, line, false) {
        Open::Nothing
    } else {
        open
    }
}

fn opens_html(line: &str) -> Option<Open> {
    const VERBATIM: [&str; 4] = ["pre", "script", "style", "textarea"];
    let rest = line.strip_prefix('<')?.to_ascii_lowercase();
    if VERBATIM.iter().any(|tag| rest.starts_with(tag)) {
        return Some(Open::HtmlUntil(&[
            "</pre>",
            "</script>",
            "</style>",
            "</textarea>",
        ]));
    }
    if rest.starts_with("!--") {
        return Some(Open::HtmlUntil(&["-->"]));
    }
    if rest.starts_with('?') {
        return Some(Open::HtmlUntil(&["?>"]));
    }
    if rest.starts_with("![cdata[") {
        return Some(Open::HtmlUntil(&["]]>"]));
    }
    let name = rest.trim_start_matches(['!', '/']);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    Some(if rest.starts_with('!') {
        Open::HtmlUntil(&[">"])
    } else {
        Open::HtmlUntilBlank
    })
}

/// The column at which the content of a list item begins, when `line` begins one.
fn list_item(line: &str, indent: usize) -> Option<usize> {
    let rest = &line[indent..];
    let is_break = |mark: u8| {
        rest.bytes().all(|b| b == mark || b == b' ')
            && rest.bytes().filter(|&b| b == mark).count() >= 3
    };
    if indent >= 4 || is_break(b'-') || is_break(b'*') {
        return None;
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let marker = match rest.as_bytes().get(digits)? {
        b'-' | b'+' | b'*' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    let content = &rest[marker..];
    let spaces = content.len() - content.trim_start_matches(' ').len();
    if spaces == 0 || spaces == content.len() {
        return None;
    }
    Some(indent + marker + if spaces > 4 { 1 } else { spaces })
}
