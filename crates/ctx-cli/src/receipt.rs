//! Reads receipts of earlier runs, as `--json` writes them.

use std::path::Path;

use ctx::model::{BuiltContext, Previous, Wire, json_error};
use serde::Deserialize as _;

use crate::bounded::{self, Whole};
use crate::failure::Failure;
use crate::walk::shown;

/// Reads the receipt in a file, or on standard input for `-`.
///
/// # Errors
/// The file cannot be read, or is not a receipt.
pub(crate) fn read(path: &Path) -> Result<BuiltContext, Failure> {
    let hint = "give a file that an earlier run wrote with --json";
    let name = shown(path);
    let whole = Whole {
        name: &name,
        most: bounded::CONTEXT,
        fewer: "is it what an earlier run wrote with --json? no receipt is so large",
        other: hint,
    };
    let bytes = if path == Path::new("-") {
        whole.stdin()?
    } else {
        whole.file(path)?
    };
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::input(format!("{name} is not a receipt: it is not UTF-8")).with_hint(hint)
    })?;
    parse(&text).map_err(|error| {
        Failure::input(format!(
            "{name} is not a receipt: {}",
            json_error(&error.to_string())
        ))
        .with_hint(hint)
    })
}

fn parse(text: &str) -> serde_json::Result<BuiltContext> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = BuiltContext::deserialize(Wire(&mut json))?;
    json.end()?;
    Ok(read)
}

/// What a receipt says about the previous context.
///
/// # Errors
/// Those of [`read`].
pub(crate) fn previous(path: &Path) -> Result<Previous, Failure> {
    let receipt = read(path)?;
    Ok(Previous {
        digest: receipt.digest,
        ids: receipt.included.into_iter().map(|it| it.id).collect(),
        context: Some(receipt.context),
    })
}
