//! The one-line fields before a body in Markdown and plain text, written and read back, and helpers
//! shared by all formats.

use std::borrow::Cow;
use std::fmt::Write as _;

use ctx_model::{LineSpan, Relation, RenditionKind};
use serde::{Deserialize, Serialize};

use crate::neutral::{Slot, neutralise};
use crate::parse::ParsedBlock;
use crate::{Block, FormatOptions, Notice, inline};

const SUMMARY: &str = "Summary: ";
const IMPORTS: &str = "Imports: ";
const RELATIONS: &str = "Relations: ";
const SHOWN: &str = "Shown: ";
/// The line that replaces an empty body in Markdown and plain text.
pub const SHOWN_NOTHING: &str = "Shown: nothing";
const RELEVANCE: &str = "Relevance: ";
const LINES: &str = "Lines ";
const NOTICE: &str = "Left out: ";

/// The separator between two items of a list.
const BETWEEN: &str = "; ";

/// The language, if it can be used in an info string or an attribute: at most 32 ASCII letters,
/// digits and `+-#._`. Any other text counts as no language.
pub(crate) fn language<'a>(block: &Block<'a>) -> Option<&'a str> {
    block.language.filter(|language| {
        (1..=32).contains(&language.len())
            && language
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+-#._".contains(&b))
    })
}

/// A summary as one line: a run of white space that contains a line end becomes one space.
pub(crate) fn folded(summary: &str) -> String {
    let mut line = String::with_capacity(summary.len());
    for (index, part) in summary.trim().lines().map(str::trim).enumerate() {
        if index > 0 && !part.is_empty() {
            line.push(' ');
        }
        line.push_str(part);
    }
    neutralise(&line, Slot::Line).into_owned()
}

/// A share as whole per cent.
pub(crate) fn percent(share: f64) -> f64 {
    (share * 100.0).round()
}

/// The imports on one line; empty if there are none.
pub(crate) fn imports_line(block: &Block<'_>) -> String {
    let mut line = String::new();
    for import in block.imports {
        next_item(&mut line);
        push_item(&mut line, import, needs_quotes);
    }
    line
}

/// The relations on one line; empty if there are none.
pub(crate) fn relations_line(block: &Block<'_>) -> String {
    let mut line = String::new();
    for Relation { kind, target } in block.relations {
        next_item(&mut line);
        push_item(&mut line, kind, |kind| {
            needs_quotes(kind) || kind.contains(char::is_whitespace)
        });
        line.push(' ');
        push_item(&mut line, target, needs_quotes);
    }
    line
}

fn next_item(line: &mut String) {
    if !line.is_empty() {
        line.push_str(BETWEEN);
    }
}

/// Whether an item would be read back as something else.
fn needs_quotes(item: &str) -> bool {
    // Searching for one byte is faster than for two, and few items contain it.
    item.is_empty() || item.starts_with('"') || (item.contains(';') && item.contains(BETWEEN))
}

fn push_item(line: &mut String, item: &str, needs_quotes: impl Fn(&str) -> bool) {
    let item = neutralise(item, Slot::Line);
    if needs_quotes(&item) {
        push_quoted(line, &item);
    } else {
        line.push_str(&item);
    }
}

/// Appends one line of text as a JSON string.
pub(crate) fn push_quoted(out: &mut String, line: &str) {
    out.push('"');
    for c in line.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// Reads the JSON string that `text` begins with; returns it and the text after it.
pub(crate) fn take_quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut unquoted = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((unquoted, &inner[at + 1..])),
            '\\' => unquoted.push(chars.next()?.1),
            _ => unquoted.push(c),
        }
    }
    None
}

/// Takes one item off the front of a list; `end` ends an item without quotes.
fn take_item<'t>(text: &'t str, end: &str) -> (String, &'t str) {
    if let Some((item, rest)) = take_quoted(text) {
        return (item, rest);
    }
    let at = text.find(end).unwrap_or(text.len());
    (text[..at].to_owned(), &text[at..])
}

pub(crate) fn read_imports(mut line: &str) -> Vec<String> {
    let mut imports = Vec::new();
    while !line.is_empty() {
        let (item, rest) = take_item(line, BETWEEN);
        imports.push(item);
        line = rest.strip_prefix(BETWEEN).unwrap_or_default();
    }
    imports
}

pub(crate) fn read_relations(mut line: &str) -> Vec<Relation> {
    let mut relations = Vec::new();
    while !line.is_empty() {
        let (kind, rest) = take_item(line, " ");
        let rest = rest.strip_prefix(' ').unwrap_or_default();
        let (target, rest) = take_item(rest, BETWEEN);
        relations.push(Relation { kind, target });
        line = rest.strip_prefix(BETWEEN).unwrap_or_default();
    }
    relations
}

/// Writes the lines of a block, as `Lines 3-9`, with a newline.
pub(crate) fn push_lines(out: &mut String, span: LineSpan) {
    let _ = writeln!(out, "{LINES}{span}");
}

/// Writes the relevance of a block, as `Relevance: 85%`, with a newline.
pub(crate) fn push_relevance(out: &mut String, block: &Block<'_>) {
    let _ = writeln!(out, "{RELEVANCE}{}%", percent(block.relevance.get()));
}

/// How the text of a line is interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inline {
    /// By a Markdown renderer, for which some characters must be escaped.
    Markdown,
    /// Not at all: the characters are read as they are.
    Plain,
}

impl Inline {
    fn push(self, out: &mut String, line: &str) {
        match self {
            Inline::Markdown => inline::push_escaped(out, line),
            Inline::Plain => out.push_str(line),
        }
    }

    fn read(self, line: &str) -> Cow<'_, str> {
        match self {
            Inline::Markdown => inline::unescaped(line).into(),
            Inline::Plain => line.into(),
        }
    }
}

/// Writes every field of a document's block that a fragment does not have, one per line.
pub(crate) fn push_extra(
    out: &mut String,
    block: &Block<'_>,
    options: &FormatOptions,
    inline: Inline,
) {
    let mut field = |name: &str, value: &str| {
        out.push_str(name);
        // Metadata has its own escapes.
        if name.is_empty() {
            out.push_str(value);
        } else {
            inline.push(out, value);
        }
        out.push('\n');
    };
    if let Some(summary) = block.summary.map(folded).filter(|line| !line.is_empty()) {
        field(SUMMARY, &summary);
    }
    if options.imports && !block.imports.is_empty() {
        field(IMPORTS, &imports_line(block));
    }
    if options.relations && !block.relations.is_empty() {
        field(RELATIONS, &relations_line(block));
    }
    if block.rendition != RenditionKind::Full {
        field(SHOWN, block.rendition.as_str());
    }
    if options.metadata {
        field("", &metadata(block));
    } else if options.ids {
        let id = neutralise(block.id, Slot::Line);
        out.push('[');
        match inline {
            Inline::Markdown => inline::push_bracketed(out, &id),
            Inline::Plain => out.push_str(&id),
        }
        out.push_str("]\n");
    }
}

/// The line that states what was left out, without its newline.
pub(crate) fn notice_line(notice: &Notice) -> String {
    format!("{NOTICE}{} of {} chunks.", notice.omitted, notice.total)
}

pub(crate) fn read_notice(line: &str) -> Option<Notice> {
    let (omitted, rest) = line.strip_prefix(NOTICE)?.split_once(" of ")?;
    let total = rest.strip_suffix(" chunks.")?;
    Some(Notice {
        omitted: omitted.parse().ok()?,
        total: total.parse().ok()?,
    })
}

/// Writes the name of a source as an item of a list, on one line. A name that could begin a
/// construct of its own (a list, a fence, a heading) is put in quotes.
pub(crate) fn push_source(out: &mut String, label: &str, inline: Inline) {
    out.push_str("- ");
    let label = neutralise(label, Slot::Line);
    let digits = label.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = digits.len() < label.len() && digits.starts_with(['.', ')']);
    let begins_plain = label
        .chars()
        .next()
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '@' | '('));
    if begins_plain && !is_number {
        inline.push(out, &label);
    } else {
        let mut quoted = String::with_capacity(label.len() + 2);
        push_quoted(&mut quoted, &label);
        inline.push(out, &quoted);
    }
    out.push('\n');
}

pub(crate) fn read_label(line: &str, inline: Inline) -> String {
    let line = inline.read(line);
    match take_quoted(&line) {
        Some((label, "")) => label,
        _ => line.into_owned(),
    }
}

/// The facts of a block for programs.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Metadata<'b> {
    pub(crate) id: Cow<'b, str>,
    pub(crate) kind: Cow<'b, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Cow<'b, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<Cow<'b, str>>,
}

/// One line of JSON without any character that has a meaning in Markdown or HTML, except its own
/// backslashes.
fn metadata(block: &Block<'_>) -> String {
    let line = |text| neutralise(text, Slot::Line);
    let json = serde_json::to_string(&Metadata {
        id: line(block.id),
        kind: line(block.kind.as_str()),
        name: block.name.map(line),
        file: block.path.map(line),
    })
    .expect("strings are JSON");
    let is_meant = |c: char| matches!(c, '<' | '>' | '&' | '`');
    let any_meant = |any, byte| any | is_meant(char::from(byte));
    if !json.bytes().fold(false, any_meant) && inline::acting(&json).next().is_none() {
        return json;
    }
    let mut acting = inline::acting(&json).peekable();
    let mut safe = String::with_capacity(json.len());
    for (at, c) in json.char_indices() {
        let acts = acting.next_if_eq(&at).is_some();
        // Outside its strings this JSON has only braces, colons and commas; a backslash is always
        // its own.
        if is_meant(c) || acts && c != '\\' {
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Reads one field into `block`; false if `line` is not a field.
pub(crate) fn read_field(line: &str, block: &mut ParsedBlock, inline: Inline) -> bool {
    if let Some(span) = line.strip_prefix(LINES).and_then(|it| it.parse().ok()) {
        block.span = Some(span);
    } else if let Some(relevance) = line.strip_prefix(RELEVANCE).and_then(read_percent) {
        block.relevance = Some(relevance);
    } else if let Some(summary) = line.strip_prefix(SUMMARY) {
        block.summary = Some(inline.read(summary).into_owned());
    } else if let Some(imports) = line.strip_prefix(IMPORTS) {
        block.imports = read_imports(&inline.read(imports));
    } else if let Some(relations) = line.strip_prefix(RELATIONS) {
        block.relations = read_relations(&inline.read(relations));
    } else if let Some(kind) = line.strip_prefix(SHOWN).and_then(read_rendition) {
        block.rendition = kind;
    } else if let Some(metadata) = read_metadata(line) {
        block.take_metadata(metadata);
    } else if let Some(id) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        block.id = Some(inline.read(id).into_owned());
        block.has_own_id = true;
    } else {
        return false;
    }
    true
}

fn read_metadata(line: &str) -> Option<Metadata<'_>> {
    if !line.starts_with('{') {
        return None;
    }
    serde_json::from_str(line).ok()
}

fn read_percent(text: &str) -> Option<f64> {
    let number: u8 = text.strip_suffix('%')?.parse().ok()?;
    Some(f64::from(number) / 100.0)
}

pub(crate) fn read_rendition(word: &str) -> Option<RenditionKind> {
    word.parse().ok()
}

/// Writes the caller's own text at the end of a document, without its leading blank lines and with
/// one newline at its end.
pub(crate) fn push_footer(out: &mut String, footer: &str) {
    let footer = neutralise(footer, Slot::Text);
    let footer = footer[crate::separator::leading_lines(&footer)..].trim_end_matches(['\r', '\n']);
    if !footer.trim().is_empty() {
        out.push_str(footer);
        out.push('\n');
    }
}

/// Writes the caller's own text at the start of a document, followed by a blank line.
pub(crate) fn push_header(out: &mut String, header: &str) {
    let header = neutralise(header, Slot::Text);
    let header = header.trim_end_matches(['\r', '\n']);
    if !header.trim().is_empty() {
        out.push_str(header);
        out.push_str("\n\n");
    }
}
