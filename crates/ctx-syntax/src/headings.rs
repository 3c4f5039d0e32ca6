//! Sections of documents without a grammar, found by their heading lines: reStructuredText,
//! AsciiDoc and Org. Those of Markdown have a grammar that leaves some without their texts.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::grammar::{Body, Definition, Reading};
use crate::{Language, SymbolKind, pieces};

/// The most bytes of a title.
const LONGEST: usize = 1024;
/// An underline of at least this many signs may be shorter than its title (docutils).
const LONG: usize = 4;
/// The signs that docutils recommends for underlines in reStructuredText.
const UNDERLINES: &[u8] = b"=-`:.'\"~^_*+#";
/// The underline signs of two-line titles in AsciiDoc, from level 1 on.
const TWO_LINES: &[u8] = b"=-~^+";
/// The signs of delimiter lines, which begin and end blocks in AsciiDoc.
const DELIMITERS: &[u8] = b"-.+/=*_";
/// The deepest level in Org; deeper ones count as this, so that no text nests deeper than outlines
/// allow.
const LEVELS: usize = 32;
/// Blocks of Org in which no headings are recognised.
const VERBATIM: [&str; 4] = ["comment", "example", "export", "src"];

/// A heading.
struct Heading<'t> {
    /// Its rows including underline and overline, end exclusive.
    rows: Range<usize>,
    /// The row of its title.
    named_at: usize,
    /// Its level; outer ones are lower.
    level: usize,
    name: &'t str,
}

/// The sections of `text` by its headings; `None` if the language is not one of these. O(bytes).
pub(crate) fn read(text: &str, language: Language) -> Option<Reading> {
    let headings = match language.name() {
        "rst" => in_rst,
        "asciidoc" => in_asciidoc,
        "org" => in_org,
        _ => return None,
    };
    let lines = pieces::lines(text);
    let headings = headings(&lines);
    Some(Reading {
        definitions: sections(text, &lines, &headings),
        ..Reading::default()
    })
}

/// Gives headings of Markdown that are underlined their sections. The grammar ends such a heading
/// with its underline, and has sections begin at marked headings (`#`) alone. Headings in
/// quotations and lists stay as they are. O(bytes), if any heading is underlined.
pub(crate) fn nest_underlined(text: &str, reading: &mut Reading) {
    let is_underlined = |it: &Definition| it.head.as_ref().is_some_and(|it| it.len() > 1);
    if !reading.definitions.iter().any(is_underlined) {
        return;
    }
    let lines = pieces::lines(text);
    let rows_of = |it: &Definition| {
        // A heading may be indented by up to three spaces.
        let before = text[..it.bytes.start].trim_end_matches(' ');
        let begins_line = before.is_empty() || before.ends_with('\n');
        let rows = it.head.clone().filter(|_| begins_line)?;
        (rows.start < rows.end && rows.end <= lines.len()).then_some(rows)
    };
    let (own, others): (Vec<_>, Vec<_>) = std::mem::take(&mut reading.definitions)
        .into_iter()
        .partition(|it| rows_of(it).is_some());
    // A section has one definition for each of its blocks.
    let headings = own.iter().filter_map(|it| {
        let rows = rows_of(it)?;
        let heading = Heading {
            named_at: rows.start,
            level: level(&lines[rows.clone()]),
            name: &it.name,
            rows,
        };
        Some((heading.rows.start, heading))
    });
    let headings: BTreeMap<usize, Heading<'_>> = headings.collect();
    let headings: Vec<Heading<'_>> = headings.into_values().collect();
    reading.definitions = sections(text, &lines, &headings);
    reading.definitions.extend(others);
}

/// What a heading of Markdown says: the text of its links, and nothing of images, such as badges;
/// all that is written where it says nothing else. O(bytes) of at most [`LONGEST`].
pub(crate) fn said(title: &str) -> String {
    if title.len() > LONGEST || !title.contains("](") {
        return title.to_owned();
    }
    let mut said = String::with_capacity(title.len());
    // Where each open bracket is in `said`, and whether it is that of an image.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let (mut rest, mut is_code, mut ends) = (title, false, true);
    while let Some(next) = rest.chars().next() {
        let mut taken = next.len_utf8();
        match next {
            '\\' if !is_code => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
            '`' => is_code = !is_code,
            '[' if !is_code => open.push((said.len(), said.ends_with('!'))),
            ']' if !is_code => {
                if let Some((at, is_image)) = open.pop()
                    && ends
                    && rest[1..].starts_with('(')
                {
                    if let Some(length) = target(&rest[1..]) {
                        if is_image {
                            said.truncate(at - 1);
                        } else {
                            said.remove(at);
                        }
                        rest = &rest[1 + length..];
                        continue;
                    }
                    // A target that does not end is not looked for again.
                    ends = false;
                }
            }
            _ => {}
        }
        said.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    let words: Vec<&str> = said.split_whitespace().collect();
    if words.is_empty() {
        title.to_owned()
    } else {
        words.join(" ")
    }
}

/// The bytes of the target of a link, `(…)`, with which `text` begins; `None` if it does not end.
fn target(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let closes = |byte: u8| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    Some(text.bytes().position(closes)? + 1)
}

/// The level of a heading of Markdown that has these `lines`.
fn level(lines: &[&str]) -> usize {
    match lines {
        [title] => title
            .trim_start()
            .bytes()
            .take_while(|it| *it == b'#')
            .count(),
        [.., underline] if underline.trim_start().starts_with('=') => 1,
        _ => 2,
    }
}

/// Makes sections: each extends to the next heading of the same or an outer level.
fn sections(text: &str, lines: &[&str], headings: &[Heading<'_>]) -> Vec<Definition> {
    let mut ends = vec![lines.len(); headings.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, heading) in headings.iter().enumerate() {
        while let Some(last) = open.pop_if(|it| headings[*it].level >= heading.level) {
            ends[last] = heading.rows.start;
        }
        open.push(index);
    }
    let starts = memchr::memchr_iter(b'\n', text.as_bytes()).map(|it| it + 1);
    let starts: Vec<usize> = [0].into_iter().chain(starts).collect();
    let at = |row: usize| starts.get(row).map_or(text.len(), |it| *it);
    let define = |(index, heading): (usize, &Heading<'_>)| {
        let next = headings.get(index + 1);
        let own = heading.rows.end..next.map_or(lines.len(), |it| it.rows.start);
        let rows = heading.rows.start..ends[index];
        Definition {
            kind: SymbolKind::Section,
            is_outer: false,
            name: heading.name.to_owned(),
            is_title: false,
            named_at: at(heading.named_at),
            within: Vec::new(),
            pattern: 0,
            // The end of the text belongs to the last section.
            bytes: at(rows.start)..if rows.end == lines.len() {
                text.len()
            } else {
                at(rows.end)
            },
            own_row: rows.start,
            rows,
            head: Some(heading.rows.clone()),
            body: body(lines, own),
        }
    };
    headings.iter().enumerate().map(define).collect()
}

/// The rows after the first block of `rows`.
fn body(lines: &[&str], rows: Range<usize>) -> Option<Body> {
    let says = |row: &usize| !is_blank(lines[*row]);
    let first = rows.clone().find(says)?;
    let blank = (first..rows.end).find(|row| !says(row))?;
    let start = (blank..rows.end).find(says)?;
    let last = (start..rows.end).rfind(says)?;
    Some(Body {
        rows: start..last + 1,
        begins_its_row: true,
    })
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// The sign of which `line` is a run, and the number of signs, if it is one of `signs`.
fn run(line: &str, signs: &[u8]) -> Option<(u8, usize)> {
    let line = line.trim_end().as_bytes();
    let first = line.first().filter(|it| signs.contains(it))?;
    line.iter()
        .all(|it| it == first)
        .then_some((*first, line.len()))
}

/// Finds titles with a line below, or with lines above and below: styles are levels in the order of
/// their first use.
fn in_rst<'t>(lines: &[&'t str]) -> Vec<Heading<'t>> {
    let mut styles: Vec<(u8, bool)> = Vec::new();
    let mut headings: Vec<Heading<'t>> = Vec::new();
    let mut row = 0;
    while row < lines.len() {
        let end = headings.last().map_or(0, |it| it.rows.end);
        let begins = row == end || {
            let above = lines[row - 1];
            is_blank(above) || above.starts_with("..") || above.starts_with("__ ")
        };
        let title = begins.then(|| title_of_rst(&lines[row..])).flatten();
        let Some((sign, is_overlined, name)) = title else {
            row += 1;
            continue;
        };
        let style = (sign, is_overlined);
        let level = styles.iter().position(|it| *it == style);
        let level = level.unwrap_or_else(|| {
            styles.push(style);
            styles.len() - 1
        });
        let above = usize::from(is_overlined);
        headings.push(Heading {
            rows: row..row + above + 2,
            named_at: row + above,
            level,
            name,
        });
        row += above + 2;
    }
    headings
}

/// The title at the start of `lines`: its sign, whether it has an overline, and its text.
fn title_of_rst<'t>(lines: &[&'t str]) -> Option<(u8, bool, &'t str)> {
    let is_long_enough = |title: &str, count: usize| {
        let title = title.trim();
        !title.is_empty()
            && title.len() <= LONGEST
            && (count >= LONG || count >= title.chars().count())
    };
    match (lines, run(lines[0], UNDERLINES)) {
        ([_, title, below, ..], Some((sign, count))) => {
            let is_it = run(below, UNDERLINES) == Some((sign, count))
                && is_long_enough(title, count)
                && run(title, UNDERLINES).is_none();
            is_it.then(|| (sign, true, title.trim()))
        }
        ([title, below, ..], None) => {
            let (sign, count) = run(below, UNDERLINES)?;
            let is_else = title.starts_with([' ', '\t'])
                || [".. ", "- ", "* ", "+ ", ">>> ", "| "]
                    .iter()
                    .any(|it| title.starts_with(it));
            let is_it = !is_else && is_long_enough(title, count);
            is_it.then(|| (sign, false, title.trim()))
        }
        _ => None,
    }
}

/// Finds titles after `=` or `#`, and titles with a line below, outside delimited blocks.
fn in_asciidoc<'t>(lines: &[&'t str]) -> Vec<Heading<'t>> {
    let mut headings = Vec::new();
    // Where the last title or block ended.
    let (mut row, mut end) = (0, 0);
    while row < lines.len() {
        let title = marked(lines[row]).map(|it| (it, 1));
        let is_first = row == end
            || is_blank(lines[row - 1])
            || lines[row - 1].starts_with('[')
            || lines[row - 1].starts_with("//");
        let underlined = || is_first.then(|| underlined(&lines[row..])).flatten();
        if let Some(((level, name), count)) = title.or_else(|| Some((underlined()?, 2))) {
            headings.push(Heading {
                rows: row..row + count,
                named_at: row,
                level,
                name,
            });
            row += count;
            end = row;
            continue;
        }
        row += 1;
        if let Some(close) = delimiter(lines[row - 1]) {
            // A block that is not closed extends to the end.
            let behind = lines[row..].iter().position(|it| it.trim_end() == close);
            row = behind.map_or(lines.len(), |it| row + it + 1);
            end = row;
        }
    }
    headings
}

/// Parses `== Title` and `== Title ==`: its level and its text.
fn marked(line: &str) -> Option<(usize, &str)> {
    let sign = line.chars().next().filter(|it| "=#".contains(*it))?;
    let title = line.trim_start_matches(sign);
    let level = line.len() - title.len();
    if level > 6 || !title.starts_with([' ', '\t']) || title.len() > LONGEST {
        return None;
    }
    let title = title.trim();
    let bare = title.strip_suffix(&line[..level]).map(str::trim_end);
    let title = bare.filter(|it| !it.is_empty()).unwrap_or(title);
    (!title.is_empty()).then_some((level, title))
}

/// A title with a line below whose length differs by at most one.
fn underlined<'t>(lines: &[&'t str]) -> Option<(usize, &'t str)> {
    let [title, below, ..] = lines else {
        return None;
    };
    let (sign, count) = run(below, TWO_LINES)?;
    let level = TWO_LINES.iter().position(|it| *it == sign)? + 1;
    let title = title.trim_end();
    let is_else = title.starts_with([' ', '\t', '.', '[', '/', ':', '|', '*', '-']);
    let is_it = !is_else
        && title.contains(char::is_alphanumeric)
        && title.len() <= LONGEST
        && count >= 3
        && title.chars().count().abs_diff(count) <= 1;
    is_it.then_some((level, title))
}

/// The line that ends a block that begins with `line`.
fn delimiter(line: &str) -> Option<&str> {
    let line = line.trim_end();
    if line.starts_with("```") {
        return Some("```");
    }
    let is_table = line.starts_with(['|', ',', ':', '!'])
        && line.len() >= 4
        && line.bytes().skip(1).all(|it| it == b'=');
    let is_run = run(line, DELIMITERS).is_some_and(|(_, count)| count >= 4);
    (is_table || is_run).then_some(line)
}

/// Finds titles after stars, outside the blocks of [`VERBATIM`].
fn in_org<'t>(lines: &[&'t str]) -> Vec<Heading<'t>> {
    let mut headings = Vec::new();
    let mut is_endless = [false; VERBATIM.len()];
    let mut row = 0;
    while row < lines.len() {
        if let Some(kind) = block(lines[row], "#+begin_").filter(|it| !is_endless[*it]) {
            let is_end = |line: &&str| block(line, "#+end_") == Some(kind);
            let behind = lines[row..].iter().position(is_end);
            is_endless[kind] = behind.is_none();
            row += behind.unwrap_or_default();
        } else if let Some((level, name)) = starred(lines[row]) {
            headings.push(Heading {
                rows: row..row + 1,
                named_at: row,
                level,
                name,
            });
        }
        row += 1;
    }
    headings
}

/// The index in [`VERBATIM`] of the block that `line` begins or ends; `before` is the prefix of its
/// name.
fn block(line: &str, before: &str) -> Option<usize> {
    let line = line.trim_start();
    let (start, name) = line.split_at_checked(before.len())?;
    let name = name.split_whitespace().next()?;
    let is_it = |it: &&str| it.eq_ignore_ascii_case(name);
    start
        .eq_ignore_ascii_case(before)
        .then(|| VERBATIM.iter().position(is_it))?
}

/// Parses `** TODO Title  :tag:`: its level and its text.
fn starred(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('*');
    let level = line.len() - title.len();
    if level == 0 || !title.starts_with(' ') || title.len() > LONGEST {
        return None;
    }
    let title = title.trim();
    let stated = ["TODO ", "DONE "].iter();
    let title = stated
        .fold(title, |it, state| it.strip_prefix(state).unwrap_or(it))
        .trim_start();
    let is_tags = |it: &str| it.len() > 2 && it.starts_with(':') && it.ends_with(':');
    let title = match title.rsplit_once([' ', '\t']) {
        Some((name, tags)) if is_tags(tags) => name.trim_end(),
        _ => title,
    };
    (!title.is_empty()).then_some((level.min(LEVELS), title))
}
