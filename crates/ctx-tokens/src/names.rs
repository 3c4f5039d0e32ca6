//! The counter for a name.

use std::sync::Arc;

use ctx_model::CounterName;

use crate::models::{self, Row, Target};
use crate::{Characters, TokenCounter, TokensError, Words};

/// Returns the counter for `name`: an estimator, an encoding or a model. It opens no file, since
/// names may come from untrusted users and one that ends in `.json` is a path; see `with_files` of
/// [`Counters`](crate::Counters) for those.
///
/// The name of a model may continue after its family, as in `gpt-4o-2024-08-06`, and may be
/// preceded by a provider, as in `openai/gpt-4o`. A closed model gets an estimate, reported as
/// such, that tends to be too high. Only the requested vocabulary is read: estimators read none,
/// and one encoding does not read that of the other.
///
/// # Errors
/// [`TokensError::UnknownName`], which lists similar known names; [`TokensError::FeatureOff`],
/// which names the feature needed; [`TokensError::File`] for the path of a file.
///
/// # Examples
/// ```
/// use ctx_tokens::{CounterName, TokenCounter, TokensError};
///
/// let characters = ctx_tokens::counter(&CounterName::CharacterBased)?;
/// assert_eq!(characters.count("fn main() {}").get(), 4);
///
/// let Err(error) = ctx_tokens::counter(&"gpt4o".into()) else { panic!() };
/// assert!(error.to_string().contains("near it: \"gpt-4o\""));
/// # Ok::<(), TokensError>(())
/// ```
pub fn counter(name: &CounterName) -> Result<Arc<dyn TokenCounter>, TokensError> {
    // It may hold the word of an estimator in `Named`.
    match &CounterName::from(name.as_str()) {
        CounterName::CharacterBased => Ok(Arc::new(Characters)),
        CounterName::WordBased => Ok(Arc::new(Words)),
        CounterName::Named(path) if is_tokenizer_path(path) => Err(refused(path)),
        CounterName::Named(model) => match models::find(model) {
            Some(row) => encoding(model, row),
            None => Err(TokensError::UnknownName {
                name: shortened(model),
                near: models::near(model),
            }),
        },
    }
}

/// The name as errors show it: a long one is cut.
fn shortened(name: &str) -> String {
    let end = name.floor_char_boundary(models::LONGEST);
    let more = if end < name.len() { "…" } else { "" };
    format!("{}{more}", &name[..end])
}

/// Every name in the table of models, with the source of its row. A model is counted by the longest
/// of these names that begins its own.
pub fn known_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    models::ROWS.iter().map(|row| (row.family, row.source))
}

pub(crate) fn is_tokenizer_path(name: &str) -> bool {
    name.len() > ".json".len() && name.to_ascii_lowercase().ends_with(".json")
}

#[cfg(feature = "openai")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
fn encoding(name: &str, row: &Row) -> Result<Arc<dyn TokenCounter>, TokensError> {
    use crate::{Calibrated, cl100k_base, o200k_base};

    Ok(match row.target {
        Target::Cl100k => Arc::new(cl100k_base()),
        Target::O200k => Arc::new(o200k_base()),
        Target::Calibrated {
            numerator,
            denominator,
        } => {
            let factor = (numerator, denominator);
            Arc::new(Calibrated::new(o200k_base(), name, factor, row.source))
        }
    })
}

#[cfg(not(feature = "openai"))]
fn encoding(name: &str, row: &Row) -> Result<Arc<dyn TokenCounter>, TokensError> {
    // Destructured, so that these variants count as used in this build.
    let (Target::Cl100k | Target::O200k | Target::Calibrated { .. }) = row.target;
    Err(TokensError::FeatureOff {
        name: name.to_owned(),
        feature: "openai",
    })
}

/// The error for a path that may not be opened.
fn refused(path: &str) -> TokensError {
    if cfg!(feature = "tokenizer-json") {
        TokensError::File {
            name: shortened(path),
        }
    } else {
        TokensError::FeatureOff {
            name: shortened(path),
            feature: "tokenizer-json",
        }
    }
}
