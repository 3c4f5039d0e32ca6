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
    /// Ends at a blank line. Whether a tag of any other name begins a block depends on what is
    /// before it and behind it; then it is not certain.
    HtmlUntilBlank {
        is_certain: bool,
    },
}

/// The last construct that `text` opens at its top level and does not close.
fn left_open(text: &str) -> Option<LeftOpen> {
    let mut open = Open::Nothing;
    let mut opened_on = 0;
    // The column from which a line belongs to the list item above it.
    let mut item: Option<usize> = None;
    let mut after_blank = true;
    for (index, line) in text.lines().enumerate() {
        let is_blank = line.trim_matches([' ', '\t']).is_empty();
        let was_open = !matches!(open, Open::Nothing);
        if let Open::HtmlUntilBlank { is_certain: false } = open
            && let Some(construct) = construct_of(opens(line.trim_start_matches(' ')))
            && construct != UNTIL_BLANK
        {
            // Whether this line opens something is as uncertain; it is not worth the risk.
            let line_number = index + 1;
            return Some(LeftOpen {
                line_number,
                construct,
            });
        }
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
    construct_of(open).map(|construct| LeftOpen {
        line_number: opened_on,
        construct,
    })
}

fn construct_of(open: Open) -> Option<&'static str> {
    match open {
        Open::Nothing => None,
        Open::Fence { .. } => Some(FENCE),
        Open::HtmlUntil(_) => Some(UNTIL_END),
        Open::HtmlUntilBlank { .. } => Some(UNTIL_BLANK),
    }
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
        Open::HtmlUntilBlank { .. } => is_blank,
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
    let rest = line.strip_prefix('<')?.to_ascii_lowercase();
    if rest.starts_with("!--") {
        return Some(Open::HtmlUntil(&["-->"]));
    }
    if rest.starts_with('?') {
        return Some(Open::HtmlUntil(&["?>"]));
    }
    if rest.starts_with("![cdata[") {
        return Some(Open::HtmlUntil(&["]]>"]));
    }
    if let Some(name) = rest.strip_prefix('!') {
        let is_declaration = name.starts_with(|c: char| c.is_ascii_alphabetic());
        return is_declaration.then_some(Open::HtmlUntil(&[">"]));
    }
    let closing = rest.strip_prefix('/');
    let tag = closing.unwrap_or(&rest);
    let name_end = tag.find(|c: char| !c.is_ascii_alphanumeric());
    let (name, after) = tag.split_at(name_end.unwrap_or(tag.len()));
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let is_named = after.is_empty() || after.starts_with([' ', '\t', '>']);
    if closing.is_none() && is_named && VERBATIM_TAGS.contains(&name) {
        return Some(Open::HtmlUntil(&[
            "</pre>",
            "</script>",
            "</style>",
            "</textarea>",
        ]));
    }
    let is_certain = (is_named || after.starts_with("/>")) && BLOCK_TAGS.contains(&name);
    Some(Open::HtmlUntilBlank { is_certain })
}

/// Tags whose content is verbatim (start condition 1).
const VERBATIM_TAGS: [&str; 4] = ["pre", "script", "style", "textarea"];

/// Tags that begin a block wherever they begin a line (start condition 6).
const BLOCK_TAGS: [&str; 62] = [
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];

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
