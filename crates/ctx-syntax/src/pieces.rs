//! Cuts a file into the parts that an index finds: every line belongs to one, except for lines
//! without letters or digits.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use ctx_model::{LineSpan, without_line_end};

use crate::runs::{self, Row};
use crate::{Outline, PartKind, Symbol, SymbolKind, is_encoded};

/// A type, module or section with at most this many lines is one part.
const SMALL: u32 = 25;
/// A declaration with at least this many lines is a part of its own.
const LONG_DECLARATION: u32 = 15;
/// A function with more lines than this is split if functions are defined in it.
const LARGE: u32 = 150;
/// Lines outside definitions are cut into parts of about this many.
const RUN: u32 = 40;
/// A heading in a comment ends the part before it, if that has at least this many lines.
const SHORTEST_RUN: usize = 10;
/// The most bytes, approximately, of a part outside definitions and of a section: prose may have a
/// paragraph per line.
const RUN_BYTES: usize = 3_000;
/// The most bytes of any part, unless a single line is longer.
const MOST_BYTES: usize = 256 << 10;
/// The most names kept of those that a part uses.
const MOST_REFERENCES: usize = 64;

/// How lines begin that end a comment.
const CLOSES: [&str; 4] = ["*/", "-->", "-}", "*)"];

/// A part of a file that an index finds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// Its lines.
    pub span: LineSpan,
    /// The kind of its symbol, or lines; no piece is a whole file.
    pub kind: PartKind,
    /// The name of the symbol, if its definition begins in these lines.
    pub name: Option<String>,
    /// Whether `name` is found by references to it; see [`Symbol::is_known_by_name`].
    pub is_known_by_name: bool,
    /// The qualified name of the symbol to which these lines belong.
    pub qualified_name: Option<String>,
    /// The lines of its signature.
    pub signature: Option<LineSpan>,
    /// The lines of its doc comment.
    pub doc: Option<LineSpan>,
    /// The comments and decorators before it, where `doc` is the string its body begins with.
    pub lead: Option<LineSpan>,
    /// The names of small definitions in it, without titles of one word.
    pub defines: Vec<String>,
    /// The names that it uses, each once.
    pub refers_to: Vec<String>,
}

impl Piece {
    /// The names by which its definitions are found.
    pub fn known_names(&self) -> impl Iterator<Item = &String> {
        let own = self.name.iter().filter(|_| self.is_known_by_name);
        own.chain(&self.defines)
    }

    /// The texts of its signature, its doc comment and the rest, each line with a line feed; an
    /// [encoded](crate::is_encoded) line is empty. `lines` are those of the file. O(bytes).
    pub fn texts(&self, lines: &[&str]) -> [String; 3] {
        let is_in =
            |part: Option<LineSpan>, number| part.is_some_and(|it| it.contains_line(number));
        let [mut signature, mut doc, mut body] = [const { String::new() }; 3];
        for number in self.span.start()..=self.span.end() {
            let to = if is_in(self.doc, number) || is_in(self.lead, number) {
                &mut doc
            } else if is_in(self.signature, number) {
                &mut signature
            } else {
                &mut body
            };
            let line = lines.get(number as usize - 1).copied().unwrap_or_default();
            if !is_encoded(line) {
                to.push_str(line);
            }
            to.push('\n');
        }
        [signature, doc, body]
    }
}

/// The lines of `text` as grammars count them, which are those of [`ctx_model::lines`], without
/// line ends.
pub fn lines(text: &str) -> Vec<&str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let mut start = 0;
    let ends = || memchr::memchr_iter(b'\n', body.as_bytes());
    // Counting first costs less than growing the vector repeatedly.
    let mut lines = Vec::with_capacity(ends().count() + 1);
    for end in ends().chain([body.len()]) {
        lines.push(without_line_end(&body[start..end]));
        start = end + 1;
    }
    lines
}

/// Cuts a text with these `lines` and this `outline` into parts, in order: a function, a small
/// type, the head of a large one, a run of about 40 lines. Parts are disjoint, and a line in none
/// of them has neither letters nor digits. O(bytes + symbols + references), and O(log symbols) per
/// part.
pub fn pieces(lines: &[&str], outline: &Outline) -> Vec<Piece> {
    let roles = roles(&outline.symbols);
    let owners = owners(lines.len(), &outline.symbols, &roles);
    let mut pieces = Vec::new();
    let mut first = 0;
    while first < lines.len() {
        let owner = owners[first];
        let length = owners[first..]
            .iter()
            .take_while(|&&it| it == owner)
            .count();
        let last = first + length;
        let is_section = owner.is_some_and(|it| outline.symbols[it].kind == SymbolKind::Section);
        let is_whole = owner.is_some_and(|it| {
            roles[it] == Part::Whole && !(is_section && is_long(&lines[first..last]))
        });
        let form = match (is_whole, is_section) {
            (true, _) => Form::Definition,
            (false, true) => Form::Prose,
            (false, false) => Form::Lines,
        };
        for span in cut(lines, first, last, form) {
            pieces.push(piece(span, owner, outline, &roles));
        }
        first = last;
    }
    join_openings(lines, &mut pieces);
    refer(&mut pieces, outline);
    pieces
}

/// Joins each part that consists only of attributes and decorators, or of lines that only tell what
/// kind of file it is, to the part after it or, if it is the last, to the one before it: by itself
/// it says nothing. It remains a part if there is no other, or if both together have more bytes
/// than a part may have.
fn join_openings(lines: &[&str], pieces: &mut Vec<Piece>) {
    let rows = |span: LineSpan| span.start() as usize - 1..span.end() as usize;
    let fits = |span: LineSpan| {
        let bytes: usize = lines[rows(span)].iter().map(|it| it.len() + 1).sum();
        bytes <= MOST_BYTES
    };
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    // The last first, so that what several such parts stand before has them all.
    for piece in pieces.drain(..).rev() {
        if let Some(next) = joined.last_mut()
            && says_nothing_alone(&lines[rows(piece.span)])
            && let Ok(both) = LineSpan::new(piece.span.start(), next.span.end())
            && fits(both)
        {
            next.span = both;
            next.defines.splice(0..0, piece.defines);
        } else {
            joined.push(piece);
        }
    }
    if let [last, before, ..] = &mut joined[..]
        && says_nothing_alone(&lines[rows(last.span)])
        && let Ok(both) = LineSpan::new(before.span.start(), last.span.end())
        && fits(both)
    {
        before.span = both;
        before.defines.append(&mut last.defines);
        joined.remove(0);
    }
    joined.reverse();
    *pieces = joined;
}

fn says_nothing_alone(lines: &[&str]) -> bool {
    are_attributes(lines) || tell_the_form(lines)
}

/// Whether `lines` only tell what a file is (`<?php`, `<!DOCTYPE html>`), blank lines aside.
fn tell_the_form(lines: &[&str]) -> bool {
    let mut said = lines.iter().map(|it| it.trim()).filter(|it| !it.is_empty());
    let is_it = |line: &str| {
        let is_tag = || line.len() < 256 && line.find('>') == Some(line.len() - 1);
        let begins = |start: &str| {
            let own = line.get(..start.len());
            own.is_some_and(|it| it.eq_ignore_ascii_case(start))
        };
        line == "<?php" || (begins("<!doctype ") || begins("<?xml ")) && is_tag()
    };
    said.next().is_some_and(is_it) && said.all(is_it)
}

/// Whether `lines` are attributes (`#[test]`) and decorators (`@app.get("/")`) alone, blank lines
/// aside. O(bytes).
fn are_attributes(lines: &[&str]) -> bool {
    // Brackets that are open.
    let mut depth = 0_usize;
    let mut has_any = false;
    for line in lines.iter().map(|it| it.trim()).filter(|it| !it.is_empty()) {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let rest = match line.strip_prefix('@') {
            _ if depth > 0 => line,
            Some(name) if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                name.trim_start_matches(is_of_name)
            }
            _ => match line.strip_prefix("#![").or_else(|| line.strip_prefix("#[")) {
                Some(_) => &line[line.find('[').unwrap_or_default()..],
                None => return false,
            },
        };
        let behind = rest.trim_start();
        let has_comment = behind.starts_with('#') || behind.starts_with("//");
        if depth == 0 && !has_comment && !rest.is_empty() && !rest.starts_with(['(', '[']) {
            return false;
        }
        has_any = true;
        let mut ends = None;
        for (at, c) in rest.char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                ends = Some(at + c.len_utf8());
                break;
            }
        }
        // Behind what it says stands nothing, or a comment.
        let behind = ends.map_or("", |end| rest[end..].trim_start());
        if !behind.is_empty() && !behind.starts_with(['#', '/']) {
            return false;
        }
    }
    has_any && depth == 0
}

/// How a symbol becomes part of the pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A part of its own.
    Whole,
    /// Its own lines are a part; the symbols in it have parts of their own.
    Split,
    /// Its lines belong to the part around it.
    Within,
}

fn roles(symbols: &[Symbol]) -> Vec<Part> {
    let mut has_functions = vec![false; symbols.len()];
    for symbol in symbols {
        if let (Some(parent), SymbolKind::Function | SymbolKind::Method) =
            (symbol.parent, symbol.kind)
            && let Some(has_functions) = has_functions.get_mut(parent)
        {
            *has_functions = true;
        }
    }
    let mut roles: Vec<Part> = Vec::with_capacity(symbols.len());
    // Whether the symbol lies in a part of a symbol around it.
    let mut is_taken: Vec<bool> = Vec::with_capacity(symbols.len());
    for (index, symbol) in symbols.iter().enumerate() {
        // A parent precedes its children.
        let parent = symbol.parent.filter(|&it| it < index);
        let around = parent.is_some_and(|it| is_taken[it] || roles[it] == Part::Whole);
        let is_in_small = parent.is_some_and(|it| roles[it] == Part::Within);
        let lines = symbol.span.end() - symbol.span.start() + 1;
        let role = match symbol.kind {
            _ if around => Part::Within,
            // A short constant is not cut for the functions in it.
            SymbolKind::Function | SymbolKind::Method if is_in_small => Part::Within,
            SymbolKind::Function | SymbolKind::Method | SymbolKind::Macro => {
                if lines > LARGE && has_functions[index] {
                    Part::Split
                } else {
                    Part::Whole
                }
            }
            // `namespace App;` names what is around it, and `mod app;` what is elsewhere.
            SymbolKind::Module if lines == 1 && !has_functions[index] => Part::Within,
            SymbolKind::Class
            | SymbolKind::Struct
            | SymbolKind::Enum
            | SymbolKind::Interface
            | SymbolKind::Impl
            | SymbolKind::Module
            | SymbolKind::Section => {
                if lines > SMALL {
                    Part::Split
                } else {
                    Part::Whole
                }
            }
            _ if lines > LARGE => Part::Split,
            _ if lines >= LONG_DECLARATION => Part::Whole,
            _ => Part::Within,
        };
        roles.push(role);
        is_taken.push(around);
    }
    roles
}

/// The innermost symbol of each line, which is the last that contains it. O(lines + symbols),
/// however many symbols share lines.
fn owners(count: usize, symbols: &[Symbol], roles: &[Part]) -> Vec<Option<usize>> {
    let mut owners = vec![None; count];
    // For each line, a link towards the first line at or after it that no symbol has taken yet
    // (union-find).
    let mut next: Vec<usize> = (0..=count).collect();
    let first_free = |next: &mut [usize], mut row: usize| {
        while next[row] != row {
            next[row] = next[next[row]];
            row = next[row];
        }
        row
    };
    for (index, symbol) in symbols.iter().enumerate().rev() {
        if roles[index] == Part::Within {
            continue;
        }
        let span = symbol.span_with_doc();
        let last = (span.end() as usize).min(count);
        let mut row = first_free(&mut next, (span.start() as usize - 1).min(count));
        while row < last {
            owners[row] = Some(index);
            next[row] = row + 1;
            row = first_free(&mut next, row + 1);
        }
    }
    owners
}

/// What rows are that are cut into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// One part.
    Definition,
    /// Sections, with headings of their own.
    Prose,
    /// Code and comments.
    Lines,
}

/// Rows `first..last` as spans: a definition as a whole; anything else without blank lines at its
/// ends, from the line that opens the comment or string at its beginning, and in parts that end, if
/// possible, at blank lines (or empty lines of a comment) and before headings of a comment.
fn cut(lines: &[&str], first: usize, last: usize, form: Form) -> Vec<LineSpan> {
    let is_whole = form == Form::Definition;
    let rows = match form {
        Form::Lines => runs::rows(&lines[first..last]),
        _ => Vec::new(),
    };
    let kind = |row: usize| match rows.get(row - first) {
        Some(kind) => *kind,
        None if is_blank(lines[row]) => Row::Empty,
        None => Row::Plain,
    };
    let is_empty = |row: usize| matches!(kind(row), Row::Empty | Row::EmptyInCode);
    let says = |row: &usize| {
        lines[*row]
            .bytes()
            .any(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80)
    };
    let mut spans = Vec::new();
    let mut at = first;
    while at < last {
        let Some(said) = (at..last).find(says) else {
            break;
        };
        let start = opening(lines, at, said);
        let end = if is_whole {
            last
        } else {
            end_of_run(lines, start, last, kind)
        };
        let end = within_bytes(lines, start, end);
        // The line that closes a definition, or a table, belongs to it.
        let shown = if is_whole {
            end - 1
        } else {
            let says = (start..end).rev().find(|&row| !is_empty(row));
            says.unwrap_or(start)
        };
        spans.extend(span_of(start..=shown));
        at = (end..last).find(|&row| !is_empty(row)).unwrap_or(last);
    }
    spans
}

/// Where the part begins whose first row with a letter or digit is `said`: with the rows right
/// before it that open a comment, a string or a value, and close nothing. Rows before `first` are
/// not considered.
fn opening(lines: &[&str], first: usize, said: usize) -> usize {
    let closes = |line: &str| {
        line.starts_with(['}', ')', ']', ';', ',']) || CLOSES.iter().any(|it| line.starts_with(it))
    };
    let opens = |row: &usize| !is_blank(lines[*row]) && !closes(lines[*row].trim_start());
    let before = (first..said).rev().take_while(opens);
    before.last().unwrap_or(said)
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Whether `lines` have more bytes than a run may have.
fn is_long(lines: &[&str]) -> bool {
    let mut bytes = 0;
    lines.iter().any(|line| {
        bytes += line.len() + 1;
        bytes > RUN_BYTES
    })
}

/// Where a run that begins at `start` ends because of its bytes: after the last paragraph that
/// fits, else after the last line that fits, else after its first line.
fn end_by_bytes(lines: &[&str], start: usize, last: usize) -> usize {
    let mut bytes = 0;
    let fits = |row: &usize| {
        bytes += lines[*row].len() + 1;
        bytes <= RUN_BYTES
    };
    let fitting = (start..last).take_while(fits).count();
    let end = start + fitting.max(1);
    if end == last || is_blank(lines[end]) {
        return end;
    }
    // A part of less than half the size is no better than a cut paragraph.
    (start + fitting / 2..end)
        .rev()
        .find(|&row| is_blank(lines[row]))
        .filter(|&row| row > start)
        .unwrap_or(end)
}

/// Where a run that begins at `start` ends, `kind` telling what a row is to it.
fn end_of_run(lines: &[&str], start: usize, last: usize, kind: impl Fn(usize) -> Row) -> usize {
    let end = end_by_lines(lines, start, last, &kind);
    let mut begun = (start + SHORTEST_RUN).min(end)..end;
    begun.find(|&row| kind(row) == Row::Heading).unwrap_or(end)
}

fn end_by_lines(lines: &[&str], start: usize, last: usize, kind: impl Fn(usize) -> Row) -> usize {
    let wanted = start + RUN as usize;
    if is_long(&lines[start..last.min(wanted)]) {
        return end_by_bytes(lines, start, last);
    }
    let half = RUN as usize / 2;
    if last <= wanted + half {
        return last;
    }
    let nearest = |wanted_row: Row| {
        let is_it = |row: &usize| kind(*row) == wanted_row;
        let before = (wanted - half..wanted).rev().find(is_it);
        before.or_else(|| (wanted..(wanted + half).min(last)).find(is_it))
    };
    nearest(Row::Empty)
        .or_else(|| nearest(Row::EmptyInCode))
        .unwrap_or(wanted)
}

fn within_bytes(lines: &[&str], start: usize, end: usize) -> usize {
    let mut bytes = 0;
    for (row, line) in lines[start..end].iter().enumerate() {
        bytes += line.len() + 1;
        if bytes > MOST_BYTES {
            return start + row.max(1);
        }
    }
    end
}

fn span_of(rows: RangeInclusive<usize>) -> Option<LineSpan> {
    let number = |row: usize| u32::try_from(row + 1).ok();
    LineSpan::new(number(*rows.start())?, number(*rows.end())?).ok()
}

fn piece(span: LineSpan, owner: Option<usize>, outline: &Outline, roles: &[Part]) -> Piece {
    let symbols = &outline.symbols;
    let within = |part: LineSpan| {
        LineSpan::new(part.start().max(span.start()), part.end().min(span.end())).ok()
    };
    let begins =
        |symbol: &Symbol| span.start() <= symbol.span.start() && symbol.span.start() <= span.end();
    // Symbols are sorted by their beginnings.
    let first = symbols.partition_point(|it| it.span.start() < span.start());
    let begun = symbols[first..].iter().zip(&roles[first..]);
    let small = begun
        .take_while(|(it, _)| begins(it))
        .filter(|(it, role)| **role == Part::Within && it.is_known_by_name());
    let defines = small.map(|(it, _)| it.name.clone()).collect();
    let Some(symbol) = owner.map(|it| &symbols[it]) else {
        return Piece {
            span,
            kind: PartKind::Lines,
            name: None,
            is_known_by_name: false,
            qualified_name: None,
            signature: None,
            doc: None,
            lead: None,
            defines,
            refers_to: Vec::new(),
        };
    };
    let is_head = begins(symbol);
    Piece {
        span,
        kind: symbol.kind.into(),
        name: is_head.then(|| symbol.name.clone()),
        is_known_by_name: is_head && symbol.is_known_by_name(),
        qualified_name: Some(symbol.qualified_name.clone()),
        signature: is_head.then(|| within(symbol.signature)).flatten(),
        doc: symbol.doc.and_then(within),
        lead: symbol.lead.and_then(within),
        defines,
        refers_to: Vec::new(),
    }
}

/// Adds to each part the names that it uses.
fn refer(pieces: &mut [Piece], outline: &Outline) {
    let mut references: Vec<(u32, &str)> = outline
        .references
        .iter()
        .map(|it| (it.line, it.name.as_str()))
        .collect();
    references.sort_unstable();
    for piece in pieces {
        let first = references.partition_point(|&(line, _)| line < piece.span.start());
        let mut seen = BTreeSet::new();
        let own = references[first..]
            .iter()
            .take_while(|&&(line, _)| line <= piece.span.end());
        for &(_, name) in own {
            let is_own = piece.is_known_by_name && piece.name.as_deref() == Some(name);
            if !is_own && seen.len() < MOST_REFERENCES && seen.insert(name) {
                piece.refers_to.push(name.to_owned());
            }
        }
    }
}
