//! Wording shared by all messages: serde's errors in terms of JSON, shortened lists, and an error
//! with its causes.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{Display, Write as _};

/// Separates what was found from what was expected in a message of serde.
const WANTED: &str = ", expected ";

/// The message of a deserialization error, with the expected value named as in JSON instead of
/// Rust: `a number` for `f64`, `an object` for `struct Point`. The description of what was found
/// keeps its wording, but for `sequence` and `map`. O(bytes).
///
/// ```
/// let error = serde_json::from_str::<u32>("\"7\"").unwrap_err().to_string();
/// assert_eq!(
///     ctx_model::json_error(&error),
///     "invalid type: string \"7\", expected a whole number from 0 to 4294967295 at line 1 column 3"
/// );
/// ```
pub fn json_error(message: &str) -> Cow<'_, str> {
    let found = found(message);
    let Some((before, after)) = message.rsplit_once(WANTED) else {
        return Cow::Borrowed(message);
    };
    // Only these messages name a type. The text of the value found may contain the same words.
    if !["invalid type: ", "invalid value: ", "invalid length "]
        .iter()
        .any(|it| message.contains(it))
    {
        return Cow::Borrowed(message);
    }
    let (name, place) = match after.rfind(" at line ") {
        Some(at) => after.split_at(at),
        None => (after, ""),
    };
    match (wanted(name), found) {
        (None, None) => Cow::Borrowed(message),
        (wanted, found) => {
            let before = match found {
                Some((from, to)) => Cow::Owned(before.replacen(from, to, 1)),
                None => Cow::Borrowed(before),
            };
            let wanted = wanted.as_deref().unwrap_or(name);
            Cow::Owned(format!("{before}{WANTED}{wanted}{place}"))
        }
    }
}

/// The first `most` of `all`, separated by commas, and how many more there are: `a, b and 3 more`.
///
/// ```
/// assert_eq!(ctx_model::join_first(["a", "b", "c"], 2), "a, b and 1 more");
/// assert_eq!(ctx_model::join_first(["a", "b"], 2), "a, b");
/// ```
pub fn join_first<T: Display>(
    all: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    most: usize,
) -> String {
    let all = all.into_iter();
    let more = all.len().saturating_sub(most);
    let mut told = String::new();
    for (number, one) in all.take(most).enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(told, "{comma}{one}");
    }
    if more > 0 {
        let _ = write!(told, " and {more} more");
    }
    told
}

/// The messages of `error` and each of its causes on one line: `a: b: c`.
///
/// ```
/// let error = std::io::Error::other("it is full");
/// assert_eq!(ctx_model::error_chain(&error), "it is full");
/// ```
pub fn error_chain(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a string cannot fail.
        let _ = write!(said, ": {error}");
        cause = error.source();
    }
    said
}

/// The beginning of `message` that names a JSON value in Rust's terms, and the same in JSON's
/// terms.
fn found(message: &str) -> Option<(&'static str, &'static str)> {
    [
        ("invalid type: sequence", "invalid type: array"),
        ("invalid type: map", "invalid type: object"),
    ]
    .into_iter()
    .find(|(from, _)| message.starts_with(from))
}

/// The JSON term for `name`, which serde or a derived deserializer uses.
fn wanted(name: &str) -> Option<Cow<'static, str>> {
    if let Some(name) = name.strip_prefix("a nonzero ") {
        return whole(name, 1);
    }
    let word = match name {
        "f32" | "f64" => "a number",
        "a map" | "map" => "an object",
        "a sequence" | "sequence" => "an array",
        "unit" => "null",
        "string or map" => "a string or an object",
        _ if name.starts_with("struct ") && !name.contains(" with ") => "an object",
        _ if name.starts_with("struct ") => "an object with all its fields",
        _ if name.starts_with("tuple struct ") || name.starts_with("a tuple of size ") => {
            "an array"
        }
        _ if name.starts_with("enum ") => "a string",
        _ if name.contains(" enum ") => "a string or an object",
        _ => return whole(name, 0),
    };
    Some(word.into())
}

/// A description of whole numbers of the type `name`, from `least` if the type is unsigned.
fn whole(name: &str, least: u8) -> Option<Cow<'static, str>> {
    let most = match name {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" | "u128" | "usize" => return Some(format!("a whole number from {least}").into()),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => return Some("a whole number".into()),
        _ => return None,
    };
    Some(format!("a whole number from {least} to {most}").into())
}
