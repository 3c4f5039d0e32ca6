//! Receipts of earlier runs, as `--json` writes them.

use std::fs::File;
use std::io;
use std::path::Path;

use ctx::model::{BuiltContext, Previous, in_words_of_json};

use crate::bounded::Bounded;
use crate::failure::Failure;
use crate::walk::cause;

/// The receipt in a file, or on standard input for `-`.
///
/// # Errors
/// The file cannot be read, or is no receipt.
pub(crate) fn read(path: &Path) -> Result<BuiltContext, Failure> {
    let hint = "give a file that an earlier run wrote with --json";
    let text = if path == Path::new("-") {
        io::read_to_string(Bounded::new(io::stdin().lock()))
    } else {
        File::open(path).and_then(|file| io::read_to_string(Bounded::new(file)))
    };
    let text = text.map_err(|error| {
        Failure::input(format!(
            "failed to read {}: {}",
            path.display(),
            cause(path, &error)
        ))
        .with_hint(hint)
    })?;
    parse(&text).map_err(|error| {
        Failure::input(format!(
            "{} is not a receipt: {}",
            path.display(),
            in_words_of_json(&error.to_string())
        ))
        .with_hint(hint)
    })
}

/// What `ctx query` tells besides of how it searched is no part of the receipt.
fn parse(text: &str) -> serde_json::Result<BuiltContext> {
    serde_json::from_str(text).or_else(|error| {
        let mut whole: serde_json::Map<_, _> = serde_json::from_str(text)?;
        match whole.remove("retrieval") {
            Some(_) => serde_json::from_value(whole.into()),
            None => Err(error),
        }
    })
}

/// What a receipt tells of the context before.
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
