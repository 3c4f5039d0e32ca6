//! Receipts of earlier runs, as `--json` writes them.

use std::fs;
use std::path::Path;

use ctx::model::{BuiltContext, Previous};

use crate::failure::Failure;

/// What a receipt tells of the context before.
///
/// # Errors
/// The file cannot be read, or is no receipt.
pub(crate) fn previous(path: &Path) -> Result<Previous, Failure> {
    let hint = "give a file that an earlier run wrote with --json";
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::input(format!("failed to read {}: {error}", path.display())).with_hint(hint)
    })?;
    let receipt: BuiltContext = serde_json::from_str(&text).map_err(|error| {
        Failure::input(format!("{} is not a receipt: {error}", path.display())).with_hint(hint)
    })?;
    Ok(Previous {
        digest: receipt.digest,
        ids: receipt.included.into_iter().map(|it| it.id).collect(),
        context: Some(receipt.context),
    })
}
