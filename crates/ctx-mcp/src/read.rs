//! The tools that read files and their outlines, as far as a reply has room.

use std::ops::Range;
use std::sync::Arc;

use ctx_assemble::Cancel;
use ctx_citations::cited_lines;
use ctx_format::{Slot, neutralise};
use ctx_model::{LineSpan, RenditionKind};
use ctx_source::Text;
use ctx_syntax::{Language, Line, Outline, Source};

use crate::fault::{Fault, FaultKind, echo};
use crate::listing::{self, Listed};
use crate::pages::{self, Page, Start};
use crate::reply::{Limit, Reply, o200k};
use crate::tools::{OUTLINE, OutlineArguments, READ, ReadArguments};
use crate::workspace::{Folder, Workspace};

/// The most characters of a path that a reply shows.
const TITLE: usize = 200;

/// The most other definitions of the requested name that a reply lists.
const MOST_OTHERS: usize = 5;

/// A file's text and its outline.
struct File {
    path: String,
    text: Arc<Text>,
    language: Option<Language>,
    outline: Arc<Outline>,
    /// Notes on how it is shown.
    notes: Vec<String>,
}

impl File {
    fn open(folder: &Folder, path: &str) -> Result<Self, Fault> {
        let text = folder.resolver().sources().text(path)?;
        let language = Language::of(path, text.as_str());
        let outline = Outline::of(text.as_str(), language, &ctx_syntax::Limits::default());
        let converted = text.converted();
        let converted = converted.map(|it| format!("The file was decoded from {}.", it.from));
        let masked = (!text.masked().is_empty())
            .then(|| "Secrets in the file are replaced by asterisks.".to_owned());
        let notes = converted.into_iter().chain(masked).collect();
        Ok(File {
            path: path.to_owned(),
            text,
            language,
            outline: Arc::new(outline),
            notes,
        })
    }

    fn source(&self) -> Source<'_> {
        Source::with_outline(&self.path, self.text.as_str(), Arc::clone(&self.outline))
    }

    fn language(&self) -> &'static str {
        self.language.map_or("text", Language::name)
    }
}

/// The tool `context_read`.
pub(crate) fn read(
    workspace: &Workspace,
    arguments: &ReadArguments,
    limit: &Limit,
) -> Result<Reply, Fault> {
    let (folder, _, path) = workspace.at(&arguments.path)?;
    let file = File::open(folder, path)?;
    let source = file.source();
    let digest = pages::digest(&[&arguments.path, file.text.as_str()]);
    let (view, from) = View::of(arguments, &source, &digest)?;
    let View { span, rendition } = view;
    let lines = source.render(span, rendition, &[]);
    let lines = lines.as_slice();
    let count = source.line_count();
    let head = |reply: &mut Reply, shown: Range<usize>| {
        let on_it = on_page(lines, span, shown);
        reply.text = format!(
            "{}:{} of {count} lines ({}, {rendition})",
            title(&arguments.path),
            on_it.unwrap_or(span),
            file.language()
        );
        if let Some(on_it) = on_it {
            reply.fact("startLine", on_it.start());
            reply.fact("endLine", on_it.end());
        }
    };
    let mut reply = Reply::default();
    for note in &file.notes {
        reply.note(note);
    }
    if let (Some(fallback), true) = (file.outline.fallback, rendition != RenditionKind::Full) {
        reply.note(format!("Shown without an outline: {fallback}."));
    }
    if let Some(symbol) = &arguments.symbol {
        let others = source.outline().others(symbol);
        if !others.is_empty() {
            let told = others[..others.len().min(MOST_OTHERS)].join(", ");
            let told = neutralise(&told, Slot::Line);
            reply.note(format!(
                "Other definitions of this name ({}): {told}.",
                others.len()
            ));
        }
    }
    reply.fact("lines", count);
    reply.fact("digest", digest.as_str());
    let page = Page {
        of: format!("{digest}:{span}:{rendition}"),
        from,
        head: &head,
        tool: READ,
    };
    let mut line = |at: usize| Some(neutralise(&lines.get(at)?.text, Slot::Text).into_owned());
    Ok(page.fill(&reply, limit, &*o200k(), &mut line))
}

/// Which lines of a file are read, and how they are shown. Cursors have it, so that the next page
/// takes no arguments but the path.
struct View {
    span: LineSpan,
    rendition: RenditionKind,
}

impl View {
    /// What is asked for of the file with this digest, and where the page begins.
    fn of(
        arguments: &ReadArguments,
        source: &Source<'_>,
        digest: &str,
    ) -> Result<(View, Start), Fault> {
        let Some(cursor) = &arguments.cursor else {
            let span = span(arguments, source)?.unwrap_or_else(|| source.whole());
            let rendition = arguments.rendition.unwrap_or_default();
            return Ok((View { span, rendition }, Start::default()));
        };
        let parsed = View::continued(cursor);
        let (of, view, start) = parsed.ok_or_else(|| pages::no_cursor(cursor))?;
        if of != digest {
            return Err(pages::changed());
        }
        if view.span.end() > source.whole().end() {
            return Err(pages::no_cursor(cursor));
        }
        let is_same = span(arguments, source)?.is_none_or(|it| it == view.span)
            && arguments.rendition.is_none_or(|it| it == view.rendition);
        if !is_same {
            let View { span, rendition } = view;
            return Err(Fault::refused(
                format!("continue: the cursor is of lines {span} ({rendition})"),
                "path and cursor without lines, symbol and rendition; or no cursor",
            ));
        }
        Ok((view, start))
    }

    /// The digest, the view and the position of a cursor.
    fn continued(cursor: &str) -> Option<(&str, View, Start)> {
        let (of, start) = pages::split(cursor)?;
        let (digest, view) = of.split_once(':')?;
        let (span, rendition) = view.split_once(':')?;
        let view = View {
            span: span.parse().ok()?,
            rendition: rendition.parse().ok()?,
        };
        Some((digest, view, start))
    }
}

/// The lines of the file that a page covers: `shown` are the indexes of `lines`, which render
/// `span`. A line with a number covers itself, and a mark covers the lines that it stands for.
/// `None` for a page without lines.
fn on_page(lines: &[Line<'_>], span: LineSpan, shown: Range<usize>) -> Option<LineSpan> {
    let (first, last) = (shown.start, shown.end.checked_sub(1)?);
    let own = |at: usize| lines.get(at)?.number;
    let before = |at: usize| lines.get(..at)?.iter().rev().find_map(|it| it.number);
    let after = |at: usize| lines.get(at..)?.iter().find_map(|it| it.number);
    let start = own(first).or_else(|| Some(before(first)?.saturating_add(1)));
    let end = own(last).or_else(|| Some(after(last)?.saturating_sub(1)));
    let start = start.unwrap_or(span.start());
    let span = LineSpan::new(start, end.unwrap_or(span.end())).ok();
    span.filter(|_| first < lines.len())
}

/// The requested lines, if any are.
fn span(arguments: &ReadArguments, source: &Source<'_>) -> Result<Option<LineSpan>, Fault> {
    match (&arguments.lines, &arguments.symbol) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(Fault::refused(
            "read both lines and symbol",
            "one of lines and symbol",
        )),
        (Some(lines), None) => {
            let count = source.line_count();
            let span = cited_lines(&lines.replace(' ', "")).ok_or_else(|| {
                Fault::refused(
                    format!("read lines {}: it is not a range of lines", echo(lines)),
                    "lines such as \"12-40\"; they count from 1",
                )
            })?;
            if span.start() > count {
                return Err(Fault::refused(
                    format!("read lines {span}: the file has {count}"),
                    format!("lines up to {count}"),
                ));
            }
            LineSpan::new(span.start(), span.end().min(count))
                .map(Some)
                .map_err(|error| Fault::refused(error.to_string(), "other lines"))
        }
        (None, Some(symbol)) => {
            let outline = source.outline();
            let found = outline.find(symbol).ok_or_else(|| {
                Fault::refused(
                    format!("read {}: the file defines no such symbol", echo(symbol)),
                    "context_outline with the file's path to see what it defines",
                )
            })?;
            Ok(Some(outline.symbols[found].span_with_doc()))
        }
    }
}

/// The tool `context_outline`.
pub(crate) fn outline(
    workspace: &Workspace,
    arguments: &OutlineArguments,
    limit: &Limit,
    cancel: &Cancel,
) -> Result<Reply, Fault> {
    let path = arguments.path.as_deref().unwrap_or_default();
    let path = path.trim_end_matches('/');
    let (mut files, mut notes, mut is_file) = (Vec::new(), Vec::new(), false);
    if path.is_empty() || path == "." {
        notes.extend(workspace.note());
        for (prefix, folder) in workspace.folders() {
            let listed = listing::files(folder.root(), "", cancel)?;
            notes.extend(listed.notes);
            let below = listed.files.into_iter();
            files.extend(below.map(|it| (Arc::clone(folder), prefix.clone(), it)));
        }
    } else {
        let (folder, prefix, rest) = workspace.at(path)?;
        is_file = folder.resolver().sources().text(rest).is_ok();
        let listed = if is_file {
            Listed {
                files: vec![rest.to_owned()],
                ..Listed::default()
            }
        } else {
            listing::files(folder.root(), rest, cancel)?
        };
        notes.extend(listed.notes);
        let below = listed.files.into_iter();
        files.extend(below.map(|it| (Arc::clone(folder), prefix.clone(), it)));
    }
    if files.is_empty() {
        let (kind, why) = if notes.is_empty() {
            let why = "there is no such file or folder, or ignore files exclude all of it";
            (FaultKind::NotFound, why.to_owned())
        } else {
            (FaultKind::Other, notes.join(" "))
        };
        return Err(Fault::refused_for(
            kind,
            format!("outline {}: {why}", echo(path)),
            "context_outline without path to list files",
        ));
    }
    if is_file {
        let (folder, prefix, rest) = &files[0];
        return of_file(folder, &format!("{prefix}{rest}"), rest, arguments, limit);
    }
    of_folder(path, &files, &notes, arguments, limit, cancel)
}

fn of_file(
    folder: &Folder,
    shown: &str,
    path: &str,
    arguments: &OutlineArguments,
    limit: &Limit,
) -> Result<Reply, Fault> {
    let file = File::open(folder, path)?;
    let digest = pages::digest(&[shown, file.text.as_str()]);
    let from = pages::start(arguments.cursor.as_deref(), &digest)?;
    let lines = symbols(&file.outline, usize::MAX, 0);
    let title = format!("{} ({})", title(shown), file.language());
    let mut reply = Reply::default();
    if let Some(fallback) = file.outline.fallback {
        reply.note(format!("There is no outline: {fallback}."));
    }
    reply.fact("symbols", lines.len());
    reply.fact("digest", digest.as_str());
    let page = Page {
        of: digest,
        from,
        head: &|reply, _| title.clone_into(&mut reply.text),
        tool: OUTLINE,
    };
    Ok(page.fill(&reply, limit, &*o200k(), &mut |at| lines.get(at).cloned()))
}

fn of_folder(
    path: &str,
    files: &[(Arc<Folder>, String, String)],
    notes: &[String],
    arguments: &OutlineArguments,
    limit: &Limit,
    cancel: &Cancel,
) -> Result<Reply, Fault> {
    // The digest covers the list of files only: files are parsed as they are shown.
    let paths = files
        .iter()
        .map(|(_, prefix, path)| format!("{prefix}{path}"));
    let digest = pages::digest(&paths.collect::<Vec<String>>());
    let from = pages::start(arguments.cursor.as_deref(), &digest)?;
    let shown = if path.is_empty() { "." } else { path };
    let title = format!("{} ({} files)", title(shown), files.len());
    let mut reply = Reply::default();
    for note in notes {
        reply.note(note);
    }
    reply.fact("files", files.len());
    reply.fact("digest", digest.as_str());
    // Files are parsed when needed; there is one entry per file.
    let mut entry = |at: usize| {
        let (folder, prefix, path) = files.get(at).filter(|_| !cancel.is_cancelled())?;
        let shown = neutralise(&format!("{prefix}{path}"), Slot::Line).into_owned();
        let Ok(file) = File::open(folder, path) else {
            return Some(shown);
        };
        let mut lines = vec![format!("{shown} ({})", file.language())];
        lines.extend(symbols(&file.outline, 0, 1));
        Some(lines.join("\n"))
    };
    let first = from.within().and_then(&mut entry);
    let file = first.as_deref().and_then(|it| from.behind_first(it));
    let mut page_under = |title: &str| {
        let page = Page {
            of: digest.clone(),
            from,
            head: &|reply, _| title.clone_into(&mut reply.text),
            tool: OUTLINE,
        };
        page.fill(&reply, limit, &*o200k(), &mut entry)
    };
    let reply = file
        .map(|it| page_under(&format!("{title}\n{}, continued", self::title(it))))
        // The continued file's name is dropped if it is so long that nothing else fits.
        .filter(|it| limit.fits(&it.result(), &*o200k()))
        .unwrap_or_else(|| page_under(&title));
    if cancel.is_cancelled() {
        return Err(Fault::Cancelled);
    }
    Ok(reply)
}

/// A line for each symbol with a depth of at most `depth`.
fn symbols(outline: &Outline, depth: usize, indent: usize) -> Vec<String> {
    let symbols = outline.symbols.iter().enumerate();
    symbols
        .filter_map(|(index, symbol)| {
            let level = outline.path_to(index).len().saturating_sub(1);
            let name = neutralise(&symbol.name, Slot::Line);
            let line = format!(
                "{:width$}{} {name}:{}",
                "",
                symbol.kind.as_str(),
                symbol.span,
                width = (level + indent) * 2
            );
            (level <= depth).then_some(line)
        })
        .collect()
}

fn title(path: &str) -> String {
    let short: String = path.chars().take(TITLE).collect();
    neutralise(&short, Slot::Line).into_owned()
}
