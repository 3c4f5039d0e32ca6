//! From the name of a counter to the counter.

use std::sync::Arc;

use ctx_model::CounterName;

use crate::models::{self, Row, Target};
use crate::{Characters, TokenCounter, TokensError, Words};

/// The counter that `name` stands for: an estimator, an encoding or a model. It opens no file: a name may be somebody
/// else's, and one that ends in `.json` is a path. `with_files` of [`Counters`](crate::Counters) has those read.
///
/// A model's name may go on after its family, as in `gpt-4o-2024-08-06`, and may be preceded by a
/// provider, as in `openai/gpt-4o`. Closed models get an estimate that errs on the high side, and
/// says that it is one. Only what is asked for is touched: estimators read no vocabulary, and one
/// encoding does not read the other's.
///
/// # Errors
/// [`TokensError::UnknownName`] lists known names that look like it; [`TokensError::FeatureOff`]
/// tells which feature brings it; [`TokensError::File`] that it is the path of a file.
///
/// # Examples
/// ```
/// use ctx_tokens::{CounterName, TokenCounter, TokensError};
///
/// let characters = ctx_tokens::counter(&CounterName::CharacterBased)?;
/// assert_eq!(characters.count("fn main() {}").get(), 4);
///
/// let Err(error) = ctx_tokens::counter(&"gpt4o".parse().unwrap()) else { panic!() };
/// assert!(error.to_string().contains("near it: \"gpt-4o\""));
/// # Ok::<(), TokensError>(())
/// ```
pub fn counter(name: &CounterName) -> Result<Arc<dyn TokenCounter>, TokensError> {
    match name {
        CounterName::CharacterBased => Ok(Arc::new(Characters)),
        CounterName::WordBased => Ok(Arc::new(Words)),
        CounterName::Named(path) if is_tokenizer_path(path) => Err(refused(path)),
        CounterName::Named(model) => match models::find(model) {
            Some(row) => encoding(model, row),
            None => Err(TokensError::UnknownName {
                name: told(model),
                near: models::near(model),
            }),
        },
    }
}

/// As an error tells it: a long one by its beginning.
fn told(name: &str) -> String {
    let end = name.floor_char_boundary(models::LONGEST);
    let more = if end < name.len() { "…" } else { "" };
    format!("{}{more}", &name[..end])
}

/// Every name in the table of models, with where its row comes from. A model counts as the
/// longest of them that begins its name.
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
    // Named, so that the table is not dead weight in this build.
    let (Target::Cl100k | Target::O200k | Target::Calibrated { .. }) = row.target;
    Err(TokensError::FeatureOff {
        name: name.to_owned(),
        feature: "openai",
    })
}

/// A path that nobody said may be opened.
fn refused(path: &str) -> TokensError {
    if cfg!(feature = "tokenizer-json") {
        TokensError::File { name: told(path) }
    } else {
        TokensError::FeatureOff {
            name: told(path),
            feature: "tokenizer-json",
        }
    }
}
