//! Finds where in the input an error is: line, chunk, field.

use std::fmt;

use ctx::model::json_error;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::document::offset;

/// The longest name that is quoted in full.
const LONGEST_NAME: usize = 80;

/// A text within an input, and its position there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputSlice<'a> {
    name: &'a str,
    text: &'a str,
    /// The line and column where `text` begins, both from 1.
    line_number: usize,
    column: usize,
}

impl<'a> InputSlice<'a> {
    /// A text that begins at line `line_number` of the input called `name`.
    pub(crate) fn new(name: &'a str, text: &'a str, line_number: usize) -> Self {
        InputSlice {
            name,
            text,
            line_number,
            column: 1,
        }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The position of `part`, which is a part of this text. O(its offset).
    pub(crate) fn at(&self, part: &'a str) -> InputSlice<'a> {
        let before = &self.text[..offset(self.text, part).unwrap_or(0)];
        let lines = before.matches('\n').count();
        let last = before.rsplit('\n').next().unwrap_or("").len();
        InputSlice {
            name: self.name,
            text: part,
            line_number: self.line_number + lines,
            column: if lines == 0 {
                self.column + last
            } else {
                last + 1
            },
        }
    }

    /// The prefix `name:line:column: ` of an error that occurred while reading this text.
    pub(crate) fn of(&self, error: &serde_json::Error) -> String {
        // A semantic error has no position of its own.
        let (line, column) = match error.line() {
            0 => (self.line_number, self.column),
            1 => (
                self.line_number,
                self.column + error.column().saturating_sub(1),
            ),
            line => (self.line_number + line - 1, error.column()),
        };
        format!("{}:{line}:{column}: ", self.name)
    }
}

/// The message of `error` without its position, which is relative to a part.
pub(crate) fn message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    json_error(message.strip_suffix(&position).unwrap_or(&message)).into_owned()
}

/// The name of a chunk that is not parsed yet: its number, and its id if that could be read.
pub(crate) fn who(index: usize, id: Option<&str>) -> String {
    let number = index + 1;
    match id {
        None => format!("chunk {number}"),
        Some(id) => match id.char_indices().nth(LONGEST_NAME) {
            None => format!("chunk {number} ({id:?})"),
            Some((cut, _)) => format!("chunk {number} ({:?}…)", &id[..cut]),
        },
    }
}

/// The parts of an object that could be read before it failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Probed {
    /// Its id.
    pub(crate) id: Option<String>,
    /// The field whose value failed.
    pub(crate) field: Option<String>,
}

/// Reads the object at the beginning of `text` as far as possible.
pub(crate) fn probe(text: &str) -> Probed {
    let mut probed = Probed::default();
    // The error is known already; only what comes before it matters.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(Probe(&mut probed));
    probed
}

struct Probe<'p>(&'p mut Probed);

impl<'de> Visitor<'de> for Probe<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a chunk")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let is_id = key == "id";
            self.0.field = Some(key);
            if is_id {
                self.0.id = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            self.0.field = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, id: Option<&str>, field: Option<&str>) {
        let expected = Probed {
            id: id.map(str::to_owned),
            field: field.map(str::to_owned),
        };
        assert_eq!(probe(text), expected);
    }

    #[test]
    fn a_probe_tells_what_came_before_the_break() {
        check(
            r#"{"id": "a", "relevance": NaN}"#,
            Some("a"),
            Some("relevance"),
        );
        check(r#"{"relevance": NaN, "id": "a"}"#, None, Some("relevance"));
        check(r#"{"id": 7, "content": ""}"#, None, Some("id"));
        check(r#"{"id": "a"}"#, Some("a"), None);
        check(r#"{"id": "a", "content": "x"#, Some("a"), Some("content"));
        check("[]", None, None);
        check("", None, None);
    }

    #[test]
    fn a_place_counts_lines_and_columns_from_one() {
        let whole = "first\nsecond\n  third";
        let place = InputSlice::new("in", whole, 10);
        let at = |needle: &str| {
            let from = whole.find(needle).unwrap();
            let part = place.at(&whole[from..]);
            (part.line_number, part.column)
        };
        assert_eq!(at("first"), (10, 1));
        assert_eq!(at("irst"), (10, 2));
        assert_eq!(at("second"), (11, 1));
        assert_eq!(at("third"), (12, 3));
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(who(0, None), "chunk 1");
        assert_eq!(who(1, Some("a")), "chunk 2 (\"a\")");
        assert!(who(1, Some(&"☔".repeat(1000))).chars().count() < 120);
    }
}
