//! The hits of another search, which are ranked together with those of the searches here.

use std::path::Path;

use ctx::model::{LineSpan, Wire};
use ctx::retrieve::Near;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::bounded::{self, Whole};
use crate::emit;
use crate::failure::Failure;
use crate::locate;
use crate::report;

const FORM: &str = "give an array, or one object a line: \
     {\"filePath\": \"src/a.rs\", \"startLine\": 1, \"endLine\": 9, \"relevance\": 0.7}; the lines are optional";

/// A hit; other fields are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hit {
    file_path: String,
    start_line: Option<u32>,
    end_line: Option<u32>,
    relevance: f64,
}

/// Reads the hits in the file at `path`, or on standard input.
///
/// # Errors
/// It cannot be read or is invalid; the error says where.
pub(crate) fn read(path: &Path) -> Result<Vec<Near>, Failure> {
    let name = if path == Path::new("-") {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    };
    hits(&text(path, &name)?, &name)
}

/// Makes paths relative that begin with one of the names of the searched folder: many tools give
/// whole paths.
pub(crate) fn below(roots: [&Path; 2], near: &mut [Near]) {
    for it in near {
        let path = Path::new(&it.path);
        let rest = roots.iter().find_map(|root| path.strip_prefix(root).ok());
        // Elsewhere than in the root the path stays as it is.
        if let Some(rest) = rest.filter(|_| path.is_absolute()).and_then(Path::to_str) {
            it.path = rest.replace(std::path::MAIN_SEPARATOR, "/");
        }
    }
}

/// Warns of those of `near` whose files are not indexed.
pub(crate) fn tell_unknown(near: &[Near], is_indexed: impl Fn(&str) -> bool) {
    let unknown: Vec<&Near> = near.iter().filter(|it| !is_indexed(&it.path)).collect();
    if let Some(first) = unknown.first() {
        report::warning(&format!(
            "{} of {} {} in files that are not indexed, such as {}; paths are relative to the searched folder",
            unknown.len(),
            emit::counted(near.len() as u64, "hit"),
            if unknown.len() == 1 { "is" } else { "are" },
            first.path,
        ));
    }
}

/// Warns of those of `near` that have lines behind the end of their file, of which `lines_of` tells
/// how many lines it has, if it is known.
pub(crate) fn tell_beyond(near: &[Near], lines_of: impl Fn(&str) -> Option<u32>) {
    if let Some(told) = beyond(near, lines_of) {
        report::warning(&told);
    }
}

fn beyond(near: &[Near], lines_of: impl Fn(&str) -> Option<u32>) -> Option<String> {
    let beyond = (1..).zip(near).filter_map(|(number, it)| {
        let (span, lines) = (it.span?, lines_of(&it.path)?);
        // Editors count an empty line behind the last newline.
        let is_beyond = span.start() > lines || span.end() > lines.saturating_add(1);
        is_beyond.then_some((number, it, span, lines))
    });
    let beyond: Vec<(u64, &Near, LineSpan, u32)> = beyond.collect();
    let (number, hit, span, lines) = beyond.first()?;
    Some(format!(
        "{} of {} {} lines beyond the end of {}, such as hit {number}, lines {}-{} of {}, which has {}",
        beyond.len(),
        emit::counted(near.len() as u64, "hit"),
        if beyond.len() == 1 { "has" } else { "have" },
        if beyond.len() == 1 {
            "its file"
        } else {
            "their files"
        },
        span.start(),
        span.end(),
        hit.path,
        emit::counted(u64::from(*lines), "line"),
    ))
}

fn text(path: &Path, name: &str) -> Result<String, Failure> {
    let whole = Whole {
        name,
        most: bounded::QUESTION,
        fewer: "give only the best hits; at most 200 are used",
        other: "give a file with hits, or - and pipe them in",
    };
    let bytes = if path == Path::new("-") {
        whole.stdin()?
    } else {
        whole.file(path)?
    };
    String::from_utf8(bytes)
        .map_err(|_| Failure::input(format!("{name} is not UTF-8")).with_hint(FORM))
}

fn hits(text: &str, name: &str) -> Result<Vec<Near>, Failure> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let wrong = |line: usize, why: &str| {
        Failure::input(format!("{name}, line {line}: {why}")).with_hint(FORM)
    };
    if text.trim_start().starts_with('[') {
        let all: Vec<Hit> = parsed(text).map_err(|(error, why)| wrong(error.line(), &why))?;
        let number = |it: usize| format!("hit {it}");
        let near = (1..).zip(&all).map(|(it, hit)| {
            near(hit).map_err(|why| {
                Failure::input(format!("{name}, {}: {why}", number(it))).with_hint(FORM)
            })
        });
        return near.collect();
    }
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, it)| !it.trim().is_empty());
    let read = lines.map(|(number, line)| {
        let hit: Hit = parsed(line).map_err(|(_, why)| wrong(number, &why))?;
        near(&hit).map_err(|why| wrong(number, &why))
    });
    read.collect()
}

/// Parses `text`. An error names the field, but not the position, as the text may be one line of
/// many.
fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, (serde_json::Error, String)> {
    let told = |path: &str, error: serde_json::Error| {
        let why = locate::message(&error);
        match path.trim_matches('?').trim_matches('.') {
            "" => (error, why),
            // The error concerns a whole hit, and its reason says more.
            path if path.ends_with(']') => (error, why),
            path => (error, format!("field `{path}`: {why}")),
        }
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(Wire(&mut json))
        .map_err(|error| told(&error.path().to_string(), error.into_inner()))?;
    json.end().map_err(|error| told("", error))?;
    Ok(read)
}

/// The file and lines of `hit`.
fn near(hit: &Hit) -> Result<Near, String> {
    let path = hit.file_path.strip_prefix("./").unwrap_or(&hit.file_path);
    let span = match (hit.start_line, hit.end_line) {
        (None, None) => None,
        (Some(start), end) => {
            let span = LineSpan::new(start, end.unwrap_or(start));
            Some(span.map_err(|error| error.to_string())?)
        }
        (None, Some(_)) => return Err("there is an endLine but no startLine".to_owned()),
    };
    Ok(Near::new(path, span, hit.relevance))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    type Place = (String, Option<(u32, u32)>, f64);

    fn told(text: &str) -> Vec<Place> {
        let place = |it: Near| {
            let span = it.span.map(|it| (it.start(), it.end()));
            (it.path, span, it.score)
        };
        hits(text, "h").unwrap().into_iter().map(place).collect()
    }

    #[cfg(unix)]
    #[test]
    fn a_whole_path_below_the_folder_is_relative_to_it() {
        let roots = ["/a/real", "/a/link"].map(Path::new);
        for (path, expected) in [
            ("/a/real/src/b.rs", "src/b.rs"),
            ("/a/link/b c.rs", "b c.rs"),
            ("/a/really/b.rs", "/a/really/b.rs"),
            ("src/b.rs", "src/b.rs"),
            ("a/real/b.rs", "a/real/b.rs"),
        ] {
            let mut near = [Near::new(path, None, 1.0)];
            below(roots, &mut near);
            assert_eq!(near[0].path, expected);
        }
    }

    #[test]
    fn lines_behind_the_end_of_a_file_are_told() {
        let near = |path: &str, lines: Option<(u32, u32)>| {
            let span = lines.map(|(start, end)| LineSpan::new(start, end).unwrap());
            Near::new(path, span, 1.0)
        };
        let lines_of = |path: &str| (path == "a.rs").then_some(3);
        let within = [(1, 3), (3, 4)].map(|it| near("a.rs", Some(it)));
        let others = [near("a.rs", None), near("gone.rs", Some((9, 9)))];
        let mut all = [&within[..], &others[..]].concat();
        assert_eq!(beyond(&all, lines_of), None);
        all.push(near("a.rs", Some((4, 4))));
        let first = "hit 5, lines 4-4 of a.rs, which has 3 lines";
        assert_eq!(
            beyond(&all, lines_of),
            Some(format!(
                "1 of 5 hits has lines beyond the end of its file, such as {first}"
            ))
        );
        all.push(near("a.rs", Some((1, 5))));
        assert_eq!(
            beyond(&all, lines_of),
            Some(format!(
                "2 of 6 hits have lines beyond the end of their files, such as {first}"
            ))
        );
    }

    #[test]
    fn hits_are_an_array_or_one_a_line() {
        let one = r#"{"id": 7, "filePath": "./a.rs", "startLine": 2, "endLine": 9, "relevance": 12.5, "content": "x"}"#;
        let other = r#"{"filePath": "b.md", "relevance": -1}"#;
        let both = [
            ("a.rs".to_owned(), Some((2, 9)), 12.5),
            ("b.md".to_owned(), None, -1.0),
        ];
        assert_eq!(told(&format!("[{one},\n{other}]")), both);
        assert_eq!(told(&format!("\u{feff}{one}\n\n  {other}\n")), both);
        assert_eq!(told("[]"), []);
        assert_eq!(told(" \n"), []);
        let line = r#"{"filePath": "a", "startLine": 3.0, "relevance": 1}"#;
        assert_eq!(told(line), [("a".to_owned(), Some((3, 3)), 1.0)]);
    }

    #[test]
    fn a_malformed_hit_is_named_by_its_line() {
        let good = r#"{"filePath": "a", "relevance": 1}"#;
        for (bad, why) in [
            ("x", "expected value"),
            ("{}", "missing field `filePath`"),
            (r#"{"filePath": "a"}"#, "missing field `relevance`"),
            (
                r#"{"filePath": "a", "relevance": "1"}"#,
                "field `relevance`: invalid type: string \"1\", expected a number",
            ),
            // Any scale is allowed, but it must be a number.
            (r#"{"filePath": "a", "relevance": 1e999}"#, "out of range"),
            (
                r#"{"filePath": "a", "relevance": NaN}"#,
                "field `relevance`",
            ),
            (
                r#"{"filePath": "a", "relevance": 1, "endLine": 4}"#,
                "no startLine",
            ),
            (r#"{"filePath": "a", "relevance": 1, "startLine": 0}"#, "0"),
            (
                r#"{"filePath": "a", "relevance": 1, "startLine": 5, "endLine": 4}"#,
                "5",
            ),
        ] {
            let error = hits(&format!("{good}\n\n{bad}\n"), "h").unwrap_err().error;
            let error = error.to_string();
            assert!(
                error.contains("h, line 3: ") && error.contains(why),
                "{bad}: {error}"
            );
            assert!(!error.contains("line 1"), "{error}");
        }
        let error = hits(&format!("[{good},\n[\"a\", 1, 2, 0.5]]"), "h").unwrap_err();
        assert_eq!(
            error.error.to_string(),
            "h, line 2: invalid type: array, expected an object"
        );
        let error = hits(&format!("[{good},\n{{\"filePath\": \"a\"}}]"), "h").unwrap_err();
        assert_eq!(
            error.error.to_string(),
            "h, line 2: missing field `relevance`"
        );
    }
}
