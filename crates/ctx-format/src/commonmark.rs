//! Finds the construct that a text leaves open at its end, by the rules of CommonMark, without
//! building a tree.
//!
//! Only the top level matters: a fence in a list item or a quote ends with it, and the text that
//! follows begins at the first column. If the lines alone do not determine the nesting, the
//! construct is reported as open.

use std::borrow::Cow;

const FENCE: &str = "a code fence";
const UNTIL_END: &str = "an HTML block or comment";
pub(crate) const UNTIL_BLANK: &str = "an HTML block, which ends at a blank line,";

/// A construct that is still open where the text ends.
pub(crate) struct LeftOpen {
    /// The line that opens it, from 1.
    pub(crate) line_number: usize,
    /// The name of the construct.
    pub(crate) construct: &'static str,
}

/// The construct that is open at the end of a line (CommonMark 0.31, sections 4.5 and 4.6).
#[derive(Clone, Copy)]
enum Open {
    Nothing,
    Fence {
        mark: u8,
        length: usize,
    },
    /// Ends with a line that contains this text.
    HtmlUntil(&'static str),
    /// Ends with a line that contains the end tag of this name, in any case.
    Verbatim(&'static str),
    /// Ends at a blank line. Whether a tag of any other name begins a block depends on the text
    /// before and after it; then it is not certain.
    HtmlUntilBlank {
        is_certain: bool,
    },
}

/// The last construct that `text` opens at its top level and does not close.
pub(crate) fn left_open(text: &str) -> Option<LeftOpen> {
    let mut open = Open::Nothing;
    let mut opened_on = 0;
    // The column from which a line belongs to the current list item.
    let mut item: Option<usize> = None;
    // Whether a line was seen that may begin an item, depending on the lines before it. The end of
    // an item is uncertain as well: a paragraph in it may continue on lines without indentation.
    let mut may_be_item = false;
    let mut after_blank = true;
    for (index, line) in text.lines().enumerate() {
        let line = &*without_tabs(line);
        let is_blank = line.trim_matches([' ', '\t']).is_empty();
        let was_open = !matches!(open, Open::Nothing);
        may_be_item |= has_marker(line.trim_start_matches(' '));
        if let Some(construct) = uncertain(open, line) {
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
                let is_free = after_blank || item.is_some();
                item = list_item(line, indent).filter(|_| is_free);
            }
            if !is_nested && item.is_none() && indent < 4 {
                open = opens(&line[indent..]);
                opened_on = index + 1;
                if may_be_item && indent > 0 {
                    // It would end in different places inside and outside an item.
                    match &mut open {
                        Open::Nothing => {}
                        Open::HtmlUntilBlank { is_certain } => *is_certain = false,
                        _ => break,
                    }
                }
            }
        }
        after_blank = is_blank || (was_open && matches!(open, Open::Nothing));
    }
    construct_of(open).map(|construct| LeftOpen {
        line_number: opened_on,
        construct,
    })
}

/// `line` with its indentation in spaces: a tab extends to the next column divisible by four.
fn without_tabs(line: &str) -> Cow<'_, str> {
    let text = line.trim_start_matches([' ', '\t']);
    let indentation = &line[..line.len() - text.len()];
    if !indentation.contains('\t') {
        return Cow::Borrowed(line);
    }
    let columns = indentation.bytes().fold(0, |column, byte| match byte {
        b'\t' => column - column % 4 + 4,
        _ => column + 1,
    });
    Cow::Owned(" ".repeat(columns) + text)
}

fn construct_of(open: Open) -> Option<&'static str> {
    match open {
        Open::Nothing => None,
        Open::Fence { .. } => Some(FENCE),
        Open::HtmlUntil(_) | Open::Verbatim(_) => Some(UNTIL_END),
        Open::HtmlUntilBlank { .. } => Some(UNTIL_BLANK),
    }
}

/// The construct that `line` may leave open although another one is open. If parsers disagree on
/// whether that one has ended, the text is refused to be safe.
fn uncertain(open: Open, line: &str) -> Option<&'static str> {
    match open {
        Open::HtmlUntilBlank { is_certain: false } => {
            construct_of(opens(line.trim_start_matches(' ')))
                .filter(|construct| *construct != UNTIL_BLANK)
        }
        // By the specification a tab may follow a closing fence; not every parser agrees.
        Open::Fence { .. } => (line.contains('\t') && closes(open, line, false)).then_some(FENCE),
        // By the specification any of the four end tags ends it; not every parser agrees.
        Open::Verbatim(tag) => VERBATIM_TAGS
            .into_iter()
            .any(|other| other != tag && holds_end_tag(line, other))
            .then_some(UNTIL_END),
        _ => None,
    }
}

fn holds_end_tag(line: &str, tag: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let mut ends = line.match_indices("</").map(|(at, _)| &line[at + 2..]);
    ends.any(|end| {
        end.strip_prefix(tag)
            .is_some_and(|end| end.starts_with('>'))
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
        Open::HtmlUntil(end) => line.contains(end),
        Open::Verbatim(tag) => holds_end_tag(line, tag),
        Open::HtmlUntilBlank { .. } => is_blank,
    }
}

/// The construct that a top-level line opens and does not close itself; `line` has no indentation.
fn opens(line: &str) -> Open {
    let bytes = line.as_bytes();
    for mark in [b'`', b'~'] {
        let length = bytes.iter().take_while(|&&b| b == mark).count();
        // If the info string after backticks contains a backtick, the line is a code span.
        if length >= 3 && !(mark == b'`' && bytes[length..].contains(&b'`')) {
            return Open::Fence { mark, length };
        }
    }
    let Some(open) = opens_html(line) else {
        return Open::Nothing;
    };
    // The end may be on the same line as the start; `<!-->` and `<?>` are ends as well.
    if closes(open, line, false) {
        Open::Nothing
    } else {
        open
    }
}

fn opens_html(line: &str) -> Option<Open> {
    let rest = line.strip_prefix('<')?.to_ascii_lowercase();
    if rest.starts_with("!--") {
        return Some(Open::HtmlUntil("-->"));
    }
    if rest.starts_with('?') {
        return Some(Open::HtmlUntil("?>"));
    }
    if rest.starts_with("![cdata[") {
        return Some(Open::HtmlUntil("]]>"));
    }
    if let Some(name) = rest.strip_prefix('!') {
        let is_declaration = name.starts_with(|c: char| c.is_ascii_alphabetic());
        return is_declaration.then_some(Open::HtmlUntil(">"));
    }
    let closing = rest.strip_prefix('/');
    let tag = closing.unwrap_or(&rest);
    let name_end = tag.find(|c: char| !c.is_ascii_alphanumeric());
    let (name, after) = tag.split_at(name_end.unwrap_or(tag.len()));
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let is_named = after.is_empty() || after.starts_with([' ', '\t', '>']);
    if closing.is_none() && is_named {
        let verbatim = VERBATIM_TAGS.into_iter().find(|tag| *tag == name);
        if let Some(tag) = verbatim {
            return Some(Open::Verbatim(tag));
        }
    }
    let is_certain = (is_named || after.starts_with("/>")) && BLOCK_TAGS.contains(&name);
    Some(Open::HtmlUntilBlank { is_certain })
}

/// Tags whose content is verbatim (start condition 1).
const VERBATIM_TAGS: [&str; 4] = ["pre", "script", "style", "textarea"];

/// Tags that begin a block at the beginning of any line (start condition 6).
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

/// Whether `line` begins with a list marker.
fn has_marker(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = if rest.len() < line.len() {
        rest.strip_prefix(['.', ')'])
    } else {
        rest.strip_prefix(['-', '+', '*'])
    };
    after.is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t']))
}

/// The column at which the content of a list item begins, if `line` begins one.
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
