//! `ctx outline`: what files define, and where.

use std::fmt::Write as _;

use ctx::assemble::Cancel;
use ctx::syntax::{Language, Limits, Outline, Symbol};
use serde::Serialize;

use crate::args::OutlineArgs;
use crate::emit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::read::{Content, read_each};
use crate::report::{self, Report, clean};
use crate::skipped;
use crate::walk::{Found, Skipped, walk};

/// A file that was read.
pub(crate) struct Outlined {
    pub(crate) path: String,
    pub(crate) language: Option<Language>,
    pub(crate) outline: Outline,
}

/// Runs the verb.
///
/// # Errors
/// Any of those in the list of exit codes except the budget's.
pub(crate) fn run(args: &OutlineArgs, report: Report, cancel: &Cancel) -> Result<(), Failure> {
    let files = outlines(&args.files, report, cancel)?;
    if args.json {
        let files: Vec<FileWire<'_>> = files.iter().map(FileWire::of).collect();
        return emit::json(&Wire { files });
    }
    if files.is_empty() {
        report::warning("there are no files with text here");
    }
    let mut text = String::new();
    for file in &files {
        write_file(&mut text, file);
    }
    emit::text(&text)
}

/// The outlines of all files with text below the paths, in their order.
///
/// # Errors
/// A path does not exist, or the user cancelled.
pub(crate) fn outlines(
    files: &crate::args::Files,
    report: Report,
    cancel: &Cancel,
) -> Result<Vec<Outlined>, Failure> {
    let walked = walk(&files.paths, cancel)?;
    let limits = Limits::default();
    let read = read_each(
        &walked,
        files.max_file_size,
        files.secrets.secrets(),
        cancel,
        &Progress::start("reading", walked.files.len(), report),
        |index, content| outline(&walked.files[index], content, &limits),
    )?;
    let mut skipped = walked.skipped;
    let mut outlined = Vec::with_capacity(read.len());
    for file in read {
        match file {
            Ok(file) => outlined.push(file),
            Err(why) => skipped.push(why),
        }
    }
    skipped::report_faults(&walked.faults);
    skipped::report(&skipped, report);
    Ok(outlined)
}

fn outline(file: &Found, content: Content, limits: &Limits) -> Result<Outlined, Skipped> {
    match content {
        Content::Skipped(skipped) => Err(skipped),
        Content::Text { text, .. } => {
            let language = Language::of(&file.shown, &text);
            Ok(Outlined {
                outline: Outline::of(&text, language, limits),
                path: file.shown.clone(),
                language,
            })
        }
    }
}

fn write_file(text: &mut String, file: &Outlined) {
    let language = file.language.map_or("-", Language::name);
    let _ = writeln!(text, "{} ({language})", clean(&file.path));
    if let Some(fallback) = file.outline.fallback {
        let _ = writeln!(text, "  no outline: {fallback}");
    }
    let symbols = &file.outline.symbols;
    for (index, symbol) in symbols.iter().enumerate() {
        let depth = file.outline.path_to(index).len();
        let (start, end) = (symbol.span.start(), symbol.span.end());
        let _ = writeln!(
            text,
            "{:depth$}{} {}:{start}-{end}",
            "",
            symbol.kind.as_str(),
            clean(&symbol.name),
            depth = depth * 2
        );
    }
}

#[derive(Serialize)]
struct Wire<'a> {
    files: Vec<FileWire<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileWire<'a> {
    path: &'a str,
    language: Option<&'static str>,
    symbols: Vec<SymbolWire<'a>>,
    imports: Vec<ImportWire<'a>>,
    /// Why no grammar was used for the outline.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SymbolWire<'a> {
    kind: &'static str,
    name: &'a str,
    qualified_name: &'a str,
    start_line: u32,
    end_line: u32,
    signature_end_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc_start_line: Option<u32>,
    /// The index of the enclosing symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportWire<'a> {
    module: &'a str,
    start_line: u32,
    end_line: u32,
}

impl<'a> FileWire<'a> {
    fn of(file: &'a Outlined) -> Self {
        let outline = &file.outline;
        let import = |it: &'a ctx::syntax::Import| ImportWire {
            module: &it.module,
            start_line: it.span.start(),
            end_line: it.span.end(),
        };
        FileWire {
            path: &file.path,
            language: file.language.map(Language::name),
            symbols: outline.symbols.iter().map(SymbolWire::of).collect(),
            imports: outline.imports.iter().map(import).collect(),
            fallback: outline.fallback.map(|it| it.to_string()),
        }
    }
}

impl<'a> SymbolWire<'a> {
    fn of(symbol: &'a Symbol) -> Self {
        SymbolWire {
            kind: symbol.kind.as_str(),
            name: &symbol.name,
            qualified_name: &symbol.qualified_name,
            start_line: symbol.span.start(),
            end_line: symbol.span.end(),
            signature_end_line: symbol.signature.end(),
            doc_start_line: symbol.doc.map(ctx::model::LineSpan::start),
            parent: symbol.parent,
        }
    }
}
