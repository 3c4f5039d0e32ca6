//! Tables for people: what was included and omitted, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ctx::model::{BuiltContext, Included, Omitted, SharedPrefix};
use unicode_width::UnicodeWidthStr as _;

use crate::emit::{Counts, counted, exactness, grouped};
use crate::report::clean;

/// The widest that a column is padded to, so that one long name does not push the rest off the
/// screen.
const WIDEST: usize = 48;

/// The receipt of `built` as text, in time linear in its length. The parts of each of `documents`
/// share one row.
pub(crate) fn table(built: &BuiltContext, documents: &BTreeSet<String>) -> String {
    let mut out = String::new();
    if !built.included.is_empty() {
        out.push_str("included\n");
        let groups = together(&built.included, documents, |it| it.file_path.as_deref());
        let rows = groups.iter().map(|it| included(it));
        let titles = ["tokens", "value", "shown", "id", "source", "why"];
        aligned(&mut out, titles, rows);
    }
    if !built.omitted.is_empty() {
        out.push_str("omitted\n");
        let rows = built.omitted.iter().map(omitted);
        aligned(&mut out, ["enters at", "why", "id", "for"], rows);
    }
    out.push_str("total\n");
    aligned(&mut out, ["", ""], totals(built).into_iter());
    out
}

/// Groups `rows`, keeping their order; the rows of one of `documents` form a group at the place of
/// the first. O(rows).
pub(crate) fn together<'r, T>(
    rows: &'r [T],
    documents: &BTreeSet<String>,
    path: impl Fn(&T) -> Option<&str>,
) -> Vec<Vec<&'r T>> {
    let mut groups: Vec<Vec<&T>> = Vec::with_capacity(rows.len());
    let mut places: BTreeMap<&String, usize> = BTreeMap::new();
    for row in rows {
        let document = path(row).and_then(|it| documents.get(it));
        let next = groups.len();
        let at = document.map_or(next, |it| *places.entry(it).or_insert(next));
        match groups.get_mut(at) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// The location of parts of the file at `path`, given their first and last lines in any order: from
/// the first line of any part to the last.
pub(crate) fn location(path: &str, lines: impl Iterator<Item = (u32, u32)>) -> String {
    let whole = lines.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    match whole {
        Some((start, end)) => format!("{path}:{start}-{end}"),
        None => path.to_owned(),
    }
}

fn lines(chunk: &Included) -> Option<(u32, u32)> {
    chunk.start_line.zip(chunk.end_line)
}

/// The row of a chunk, or of all shown parts of a document that was requested as a whole.
fn included(chunks: &[&Included]) -> [String; 6] {
    let [first, _, ..] = chunks else {
        return chunks.first().map(|it| row(it)).unwrap_or_default();
    };
    let tokens: u64 = chunks.iter().map(|it| u64::from(it.tokens.get())).sum();
    let value: f64 = chunks.iter().map(|it| it.value).sum();
    let is_alike = chunks.iter().all(|it| it.rendition == first.rendition);
    let path = clean(first.file_path.as_deref().unwrap_or("-"));
    let lines = chunks.iter().filter_map(|it| lines(it));
    [
        grouped(tokens),
        format!("{value:.4}"),
        if is_alike {
            first.rendition.to_string()
        } else {
            "in part".to_owned()
        },
        path.to_string(),
        location(&path, lines),
        format!("requested as a whole, {} parts", chunks.len()),
    ]
}

fn row(chunk: &Included) -> [String; 6] {
    let path = clean(chunk.file_path.as_deref().unwrap_or("-"));
    let source = location(&path, lines(chunk).into_iter());
    [
        grouped(chunk.tokens.get().into()),
        format!("{:.4}", chunk.value),
        chunk.rendition.to_string(),
        clean(&chunk.id).into_owned(),
        source,
        clean(&chunk.why).into_owned(),
    ]
}

fn omitted(chunk: &Omitted) -> [String; 4] {
    let enters_at = match chunk.enters_at {
        Some(tokens) => grouped(tokens.get().into()),
        None => "-".to_owned(),
    };
    let other = chunk.other.as_deref().map(clean).unwrap_or_default();
    [
        enters_at,
        chunk.reason.to_string(),
        clean(&chunk.id).into_owned(),
        other.into_owned(),
    ]
}

fn totals(built: &BuiltContext) -> Vec<[String; 2]> {
    let tokens = &built.tokens;
    let split = [
        (tokens.header, "tokens of the header"),
        (tokens.chunks, "tokens of chunks"),
        (tokens.notices, "tokens of sources and notice"),
        (tokens.footer, "tokens of the footer"),
        (tokens.total, "tokens in total"),
        (tokens.left, "tokens left"),
    ]
    .map(|(count, what)| [grouped(count.get().into()), what.to_owned()]);
    let certificate = &built.certificate;
    let quality = [
        (
            format!("{:.4}", certificate.value),
            "value of what was selected",
        ),
        (
            format!("{:.4}", certificate.upper_bound),
            "upper bound of that value",
        ),
        (
            format!("{:.2} %", certificate.gap * 100.0),
            "largest possible gap to the best selection",
        ),
        (
            format!("{:.2e}", certificate.lambda),
            "value of one more token",
        ),
    ]
    .map(|(value, what)| [value, what.to_owned()]);
    let counter = format!("counted by {}", clean(&built.counter));
    let mut rows = chunks(built);
    rows.extend(split);
    rows.extend(quality);
    rows.push([exactness(built.exactness).to_owned(), counter]);
    rows.extend(built.shared_prefix.as_ref().map(shared));
    rows
}

/// The numbers of chunks: those that the notice counts, and those omitted before the selection.
fn chunks(built: &BuiltContext) -> Vec<[String; 2]> {
    let counts = Counts::of(built);
    let row = |count: usize, what: String| [grouped(count as u64), what];
    let blocks = counted(built.included.len() as u64, "block");
    let mut rows = vec![row(counts.shown, format!("chunks shown, in {blocks}"))];
    rows.push(row(counts.left_out, "chunks left out".to_owned()));
    let before = counts.before.into_iter();
    rows.extend(before.map(|(why, count)| row(count, format!("left out before selection: {why}"))));
    rows
}

fn shared(prefix: &SharedPrefix) -> [String; 2] {
    let until = match &prefix.first_difference {
        Some(id) => format!(", up to {} or part of it", clean(id)),
        None => String::new(),
    };
    [
        grouped(prefix.tokens.get().into()),
        format!(
            "leading tokens shared with the previous context ({} bytes{until})",
            grouped(prefix.bytes as u64),
        ),
    ]
}

/// Writes rows under their titles, the first column aligned to the right and the others to the
/// left.
pub(crate) fn aligned<const N: usize>(
    out: &mut String,
    titles: [&str; N],
    rows: impl Iterator<Item = [String; N]> + Clone,
) {
    let mut widths = titles.map(width);
    for row in rows.clone() {
        for (widest, cell) in widths.iter_mut().zip(&row) {
            *widest = width(cell).max(*widest).min(WIDEST);
        }
    }
    let titles = titles.map(str::to_owned);
    let head = titles
        .iter()
        .any(|title| !title.is_empty())
        .then_some(titles);
    for row in head.into_iter().chain(rows) {
        let start = out.len();
        for (at, (cell, widest)) in row.iter().zip(widths).enumerate() {
            // The padding of `write!` counts characters, and some take two columns or none.
            let blank = widest.saturating_sub(width(cell));
            let _ = if at == 0 {
                write!(out, "  {:blank$}{cell}", "")
            } else {
                write!(out, "  {cell}{:blank$}", "")
            };
        }
        let end = start + out[start..].trim_end().len();
        out.truncate(end);
        out.push('\n');
    }
}

/// The columns that `cell` takes on a terminal.
fn width(cell: &str) -> usize {
    cell.width()
}

#[cfg(test)]
mod tests {
    use ctx::model::{RenditionKind, Tokens};

    use super::*;

    #[test]
    fn columns_line_up() {
        let mut out = String::new();
        let rows = [["1", "a", "x"], ["1,000", "bb", "y"]].map(|row| row.map(str::to_owned));
        aligned(&mut out, ["n", "name", ""], rows.into_iter());
        assert_eq!(out, "      n  name\n      1  a     x\n  1,000  bb    y\n");
    }

    #[test]
    fn columns_line_up_whatever_the_width_of_characters() {
        let mut out = String::new();
        let rows = [
            ["1", "日本.py", "x"],
            ["2", "e\u{301}.py", "y"],
            ["3", "a.py", "z"],
        ];
        let rows = rows.map(|row| row.map(str::to_owned));
        aligned(&mut out, ["n", "file", ""], rows.into_iter());
        let starts = out.lines().skip(1).map(|it| it[..it.len() - 1].width());
        assert!(starts.eq([14; 3]), "{out}");
    }

    #[test]
    fn the_lines_of_a_document_are_those_of_all_its_parts_in_any_order() {
        let part = |(start, end)| {
            let mut part = Included::new("a", RenditionKind::Full, Tokens::new(1), "c");
            part.file_path = Some("README.md".to_owned());
            (part.start_line, part.end_line) = (Some(start), Some(end));
            part
        };
        for lines in [
            [(1, 40), (41, 179), (180, 200)],
            [(180, 200), (41, 179), (1, 40)],
            [(41, 179), (180, 200), (1, 40)],
        ] {
            let parts = lines.map(part);
            let row = included(&parts.iter().collect::<Vec<_>>());
            assert_eq!(row[4], "README.md:1-200", "{lines:?}");
        }
    }
}
