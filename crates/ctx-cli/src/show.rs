//! `ctx show`: a part of a file, in one of several renditions, or cut to a number of tokens.

use std::path::{Path, PathBuf};

use ctx::citations::path_and_lines;
use ctx::model::{LineSpan, RenditionKind, error_chain, join_first};
use ctx::source::{Root, Secrets, SourceError, Text};
use ctx::syntax::{Language, Limits, Lines, Source, strategies};
use serde::Serialize;

use crate::args::ShowArgs;
use crate::emit;
use crate::failure::Failure;
use crate::options::counters;
use crate::report::{self, Report};
use crate::walk::{hidden_by, shown};

/// The most names that a message lists.
const MOST_TOLD: usize = 5;
/// The least Jaro-Winkler similarity at which a name may be a misspelling of another.
const ALIKE: f64 = 0.85;

/// Runs the verb.
///
/// # Errors
/// The file cannot be read, or does not have the requested part.
pub(crate) fn run(args: &ShowArgs, report: Report) -> Result<(), Failure> {
    if !args.matches.is_empty() && args.rendition != RenditionKind::Excerpt {
        return Err(Failure::usage("--match is only for excerpts")
            .with_hint("give --rendition excerpt, or omit --match"));
    }
    let place = Target::of(&args.place)?;
    let text = read(&place.path, args.max_file_size, args.secrets.secrets())?;
    if let Some(converted) = text.converted() {
        report.note(&format!("decoded from {}", converted.from));
    }
    if !text.masked().is_empty() {
        report.note("masked secrets in the file (--keep-secrets shows them)");
    }
    let path = place.path.to_string_lossy();
    let source = Source::new(&path, text.as_str(), &Limits::default());
    if let Some(fallback) = source.outline().fallback {
        report.note(&format!("shown without an outline: {fallback}"));
    }
    let span = place.span(&source)?;
    let (first, last) = (span.start(), span.end().min(source.line_count()));
    let is_outside = |it: &&u32| !(first..=last).contains(*it);
    if let Some(outside) = args.matches.iter().find(is_outside) {
        let message = format!("--match {outside} is none of the lines {first}-{last}");
        return Err(Failure::input(message).with_hint("give lines of the part that is shown"));
    }
    if let Part::Symbol(name) = &place.part
        && let others = source.outline().others(name)
        && !others.is_empty()
    {
        report.note(&format!(
            "other definitions of {name}: {}",
            join_first(&others, MOST_TOLD)
        ));
    }
    let lines = match args.max_tokens {
        None => source.render(span, args.rendition, &args.matches),
        Some(limit) => {
            let counter = counters().get(&args.counter)?;
            let strategy = strategies()
                .into_iter()
                .find(|it| it.name() == args.strategy)
                .ok_or_else(|| {
                    Failure::usage(format!("there is no strategy {:?}", args.strategy))
                })?;
            strategy.truncate(&source, span, limit, &counter)
        }
    };
    let has_none = args.max_tokens.is_some() && lines.numbers().next().is_none();
    match lines.as_slice() {
        [] => report::warning("not even one line fits"),
        // The mark of omitted lines.
        [_] if has_none => report::warning("not even one line fits"),
        _ if has_none => {
            report::warning("not even one line fits: what is shown is the beginning of one");
        }
        _ => {}
    }
    if args.json {
        emit::json(&Wire::of(&path, source.language(), args, &lines))
    } else if args.numbers {
        emit::text(&numbered(&lines))
    } else {
        emit::text(&lines.text())
    }
}

/// A part of a file: `PATH`, `PATH:A`, `PATH:A-B`, `PATH#symbol`, or the other notations of lines
/// `PATH:A:COLUMN`, `PATH#LA`, `PATH#LA-LB`.
struct Target {
    path: PathBuf,
    part: Part,
}

enum Part {
    Whole,
    Lines(LineSpan),
    Symbol(String),
}

/// The file at `path`, or the one whose name is no UTF-8 and is shown so.
fn existing(path: &str) -> PathBuf {
    let hidden = || hidden_by(path).filter(|it| it.exists());
    let path = PathBuf::from(path);
    if path.exists() {
        return path;
    }
    hidden().unwrap_or(path)
}

impl Target {
    /// Parses a place. An existing file with exactly this name takes precedence over a part of
    /// another.
    fn of(text: &str) -> Result<Target, Failure> {
        let place = |path: &str, part| Target {
            path: existing(path),
            part,
        };
        if Path::new(text).exists() {
            return Ok(place(text, Part::Whole));
        }
        // A title of a test may have such marks of its own.
        let symbol = text.split_once('#');
        let symbol = symbol.filter(|(path, it)| {
            let is_line = it
                .strip_prefix('L')
                .is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
            !is_line && !path.is_empty() && Path::new(path).exists()
        });
        if let Some((path, symbol)) = symbol {
            return Ok(place(path, Part::Symbol(symbol.to_owned())));
        }
        if let (path, Some(span)) = path_and_lines(text) {
            return Ok(place(path, Part::Lines(span)));
        }
        if let Some((path, symbol)) = text.rsplit_once('#') {
            return Ok(place(path, Part::Symbol(symbol.to_owned())));
        }
        match without_column(text).rsplit_once(':') {
            Some((_, lines)) if lines.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {
                let message = format!("{lines:?} in {text:?} is not a range of lines");
                Err(Failure::usage(message).with_hint(
                    "lines count from 1, and the last must not be before the first: PATH:12-40",
                ))
            }
            _ => Ok(place(text, Part::Whole)),
        }
    }

    fn span(&self, source: &Source<'_>) -> Result<LineSpan, Failure> {
        match &self.part {
            Part::Whole => Ok(source.whole()),
            Part::Lines(span) if span.start() <= source.line_count() => Ok(*span),
            Part::Lines(span) => Err(Failure::input(format!(
                "{} has only {}, but {span} was requested",
                self.path.display(),
                emit::counted(u64::from(source.line_count()), "line"),
            ))
            .with_hint("give lines of the file")),
            Part::Symbol(name) => {
                let outline = source.outline();
                let found = outline.find(name).ok_or_else(|| {
                    Failure::input(format!(
                        "{} has no definition of {name:?}",
                        self.path.display()
                    ))
                    .with_hint("`ctx outline` lists its definitions")
                })?;
                Ok(outline.symbols[found].span_with_doc())
            }
        }
    }
}

/// Removes the column of `path:10:4`, the notation of compilers.
fn without_column(place: &str) -> &str {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let (before, last) = place.rsplit_once(':').unwrap_or((place, ""));
    let line = before.rsplit_once(':').map_or("", |(_, line)| line);
    if is_number(last) && is_number(line) {
        before
    } else {
        place
    }
}

/// The text of a file that the user named, which may be in any folder, and may be a link.
fn read(path: &Path, limit: u64, secrets: Secrets) -> Result<Text, Failure> {
    let near = if path.exists() {
        Vec::new()
    } else {
        near(path)
    };
    let hint = match &near[..] {
        [] => "give the path of a file with text".to_owned(),
        near => format!("names near it: {}", near.join(", ")),
    };
    let failed = |error: SourceError| {
        let hint = match &error {
            SourceError::Io { .. } | SourceError::Root { .. } => {
                "give the path of a readable file; a link must not lead out of its folder"
            }
            _ => &*hint,
        };
        Failure::input(error_chain(&error)).with_hint(hint)
    };
    let file = path.file_name().ok_or_else(|| {
        Failure::input(format!("{} is not the path of a file", path.display())).with_hint(&*hint)
    })?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let root = Root::open(folder).map_err(failed)?;
    if secrets == Secrets::Masked && root.is_secret_file(file).map_err(failed)? {
        let path = shown(file.as_ref());
        let error = SourceError::Secret { path };
        return Err(Failure::input(error).with_hint("--keep-secrets shows it as it is"));
    }
    let bytes = root.read(file, limit).map_err(failed)?;
    Text::decode(&file.to_string_lossy(), bytes, secrets).ok_or_else(|| {
        Failure::input(format!("{} holds no text", path.display())).with_hint(&*hint)
    })
}

/// Names in the folder of `path` that are similar to its own, the most similar first.
fn near(path: &Path) -> Vec<String> {
    let name = path.file_name().and_then(|it| it.to_str());
    let folder = path.parent().filter(|it| *it != Path::new(""));
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new(".")));
    let (Some(name), Ok(entries)) = (name, entries) else {
        return Vec::new();
    };
    let names = entries.filter_map(|it| it.ok()?.file_name().into_string().ok());
    // A dangling link has the very name.
    let names = names.filter(|it| it != name);
    let score = |it: &str| strsim::jaro_winkler(name, it);
    let mut near: Vec<String> = names.filter(|it| score(it) >= ALIKE).collect();
    near.sort_by(|a, b| score(b).total_cmp(&score(a)).then_with(|| a.cmp(b)));
    near.truncate(MOST_TOLD);
    let shown = |it: String| folder.map_or(it.clone(), |folder| shown(&folder.join(&it)));
    near.into_iter().map(shown).collect()
}

fn numbered(lines: &Lines<'_>) -> String {
    let last = lines.numbers().last().unwrap_or_default();
    let width = last.to_string().len();
    let mut text = String::new();
    for line in lines.as_slice() {
        let number = line.number.map(|it| it.to_string()).unwrap_or_default();
        let row = format!("{number:>width$}  {}", line.text);
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

#[derive(Serialize)]
struct Wire<'a> {
    path: &'a str,
    language: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendition: Option<RenditionKind>,
    /// Set instead of a rendition; lines cut by a strategy belong to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<&'a str>,
    lines: Vec<LineWire<'a>>,
}

#[derive(Serialize)]
struct LineWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    text: &'a str,
}

impl<'a> Wire<'a> {
    fn of(
        path: &'a str,
        language: Option<Language>,
        args: &'a ShowArgs,
        lines: &'a Lines<'_>,
    ) -> Self {
        let line = |line: &'a ctx::syntax::Line<'_>| LineWire {
            number: line.number,
            text: &line.text,
        };
        Wire {
            path,
            language: language.map(Language::name),
            rendition: args.max_tokens.is_none().then_some(args.rendition),
            strategy: args.max_tokens.is_some().then_some(&*args.strategy),
            lines: lines.as_slice().iter().map(line).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_lines_of_it_or_a_definition() {
        for (text, path, lines) in [
            ("no.rs:3", "no.rs", "3-3"),
            ("no.rs:3-9", "no.rs", "3-9"),
            ("no.rs:3\u{2013}9", "no.rs", "3-9"),
            ("no.rs:3:14", "no.rs", "3-3"),
            ("no.rs#L3", "no.rs", "3-3"),
            ("no.rs#L3-L9", "no.rs", "3-9"),
            ("no.rs", "no.rs", ""),
            ("no.rs:all", "no.rs:all", ""),
            ("no.rs#Log", "no.rs", "Log"),
            ("no.rs#a::b", "no.rs", "a::b"),
        ] {
            let Ok(place) = Target::of(text) else {
                panic!("{text}");
            };
            let part = match place.part {
                Part::Whole => String::new(),
                Part::Lines(span) => span.to_string(),
                Part::Symbol(name) => name,
            };
            assert_eq!((&*place.path.to_string_lossy(), &*part), (path, lines));
        }
        for text in ["no.rs:0", "no.rs:9-3", "no.rs:0:5", "no.rs:"] {
            assert!(Target::of(text).is_err(), "{text}");
        }
    }
}
