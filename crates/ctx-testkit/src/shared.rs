//! Expected values and data that are stored beside a checkout and are not part of it.

use std::path::{Path, PathBuf};

use crate::skip::skipped;

/// The folder `name` of the data beside the checkout. If it is missing, `None`, after a report by
/// [`skipped`].
pub fn path(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    skipped(format_args!("../shared/{name} is not beside this checkout"));
    None
}

/// The text of the file `name`, or `None` if it is missing.
///
/// # Panics
/// If the file exists but cannot be read as text.
pub fn text(name: &str) -> Option<String> {
    let path = path(name)?;
    Some(std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// The JSON value in the file `name`, or `None` if it is missing.
///
/// # Panics
/// If the file exists but is not JSON.
pub fn json(name: &str) -> Option<serde_json::Value> {
    let text = text(name)?;
    Some(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}")))
}
