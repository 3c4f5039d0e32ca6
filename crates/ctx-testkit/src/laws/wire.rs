//! Laws of what is sent and stored as JSON.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Checks that `value` reads back as it was written.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn reads_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("it is plain data");
    let back: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&back, value, "{text}");
}

/// Checks that `json`, whatever it is, is refused, or is a value that reads back. Returns that.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn is_read<T: Serialize + DeserializeOwned + PartialEq + Debug>(json: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(json).ok()?;
    reads_back(&value);
    Some(value)
}
