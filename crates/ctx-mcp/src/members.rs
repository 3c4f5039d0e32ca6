//! The members of a JSON object as they are written.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::value::RawValue;

/// The members of an object in their order, each with the text of its value: what is not set stays
/// as its owner wrote it.
pub(crate) struct Members<'t>(Vec<(String, Cow<'t, str>)>);

impl<'t> Members<'t> {
    /// The members of the object `text`; `None` if it is none.
    pub(crate) fn of(text: &'t str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The text of the member `name`. Of several, the last counts, as for parsers.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter().rev();
        all.find(|it| it.0 == name).map(|it| &*it.1)
    }

    /// Sets the member `name` to a text of JSON.
    pub(crate) fn set(&mut self, name: &str, text: String) {
        match self.0.iter_mut().rev().find(|it| it.0 == name) {
            Some(known) => known.1 = text.into(),
            None => self.0.push((name.to_owned(), text.into())),
        }
    }

    /// The object with one member on each line, `depth` levels within others.
    pub(crate) fn text(&self, unit: &str, depth: usize) -> String {
        let (inner, outer) = (unit.repeat(depth + 1), unit.repeat(depth));
        let line = |(name, text): &(String, Cow<'_, str>)| {
            format!("\n{inner}{}: {text}", pretty(name, unit, 0))
        };
        let lines: Vec<String> = self.0.iter().map(line).collect();
        format!("{{{}\n{outer}}}", lines.join(","))
    }
}

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(All)
    }
}

struct All;

impl<'t> Visitor<'t> for All {
    type Value = Members<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Members<'t>, A::Error> {
        let mut all = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            all.push((name, value.get().into()));
        }
        Ok(Members(all))
    }
}

/// The text of `value`, `depth` levels within others, each of which is indented by `unit`.
pub(crate) fn pretty(value: &impl Serialize, unit: &str, depth: usize) -> String {
    let mut text = Vec::new();
    let lines = PrettyFormatter::with_indent(unit.as_bytes());
    let written = value.serialize(&mut Serializer::with_formatter(&mut text, lines));
    written.expect("strings, lists and objects have a form in JSON");
    let text = String::from_utf8(text).expect("JSON is text");
    // In strings a line feed is escaped.
    text.replace('\n', &format!("\n{}", unit.repeat(depth)))
}

/// The least that a line within `text` is indented by; two spaces if none is.
pub(crate) fn indentation(text: &str) -> &str {
    let indented = text.lines().skip(1).filter_map(|line| {
        let bare = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - bare.len()];
        (!indent.is_empty() && !bare.trim().is_empty()).then_some(indent)
    });
    indented.min_by_key(|it| it.len()).unwrap_or("  ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_set_stays_as_it_is_written() {
        let text = "{\n    \"b\": [1,  2.0e1],\n    \"a\\n\": {\n        \"x\": 1\n    },\n    \"c\": 0\n}";
        let mut members = Members::of(text).unwrap();
        assert_eq!(indentation(text), "    ");
        assert_eq!(members.text("    ", 0), text);
        members.set("c", pretty(&json!({"y": ["z"]}), "    ", 1));
        members.set("d", "true".to_owned());
        let after = text.replace(
            "\"c\": 0",
            "\"c\": {\n        \"y\": [\n            \"z\"\n        ]\n    },\n    \"d\": true",
        );
        assert_eq!(members.text("    ", 0), after);
        assert_eq!(members.get("d"), Some("true"));
    }

    #[test]
    fn of_several_members_of_one_name_the_last_counts() {
        let mut members = Members::of(r#"{"a": 1, "a": 2}"#).unwrap();
        assert_eq!(members.get("a"), Some("2"));
        members.set("a", "3".to_owned());
        assert_eq!(members.text(" ", 0), "{\n \"a\": 1,\n \"a\": 3\n}");
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for text in ["", "1", "[]", "{", "null"] {
            assert!(Members::of(text).is_none(), "{text}");
        }
        assert!(Members::of("{}").unwrap().get("a").is_none());
        assert_eq!(indentation("{}"), "  ");
        assert_eq!(indentation("{\n\t\"a\": 1\n}"), "\t");
    }
}
