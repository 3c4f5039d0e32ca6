//! Errors of looking up a counter.

#[cfg(feature = "tokenizer-json")]
use std::path::PathBuf;

/// A counter that cannot be provided. `Display` follows a statement of what failed: "failed to
/// count: …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// A name that is not that of an encoding or a model, and not a path.
    #[error("unknown token counter {name:?}{}", did_you_mean(.near))]
    UnknownName {
        /// The name given, cut after 64 bytes.
        name: String,
        /// Known names that are similar, the nearest first.
        near: Vec<String>,
    },
    /// A name that needs a feature which this build does not have.
    #[error("token counter {name:?} needs the feature `{feature}` of ctx-tokens")]
    FeatureOff {
        /// The name given.
        name: String,
        /// The feature that provides it.
        feature: &'static str,
    },
    /// The path of a tokenizer, where files may not be opened: only
    /// [`Counters::with_files`](crate::Counters) allows it.
    #[error("token counter {name:?} is a file, and counters are not read from files here")]
    File {
        /// The name given, cut after 64 bytes.
        name: String,
    },
    /// A custom counter with the name of another custom counter.
    #[error("two token counters have the name {name:?}")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A `tokenizer.json` that cannot be read, or is not a tokenizer.
    #[cfg(feature = "tokenizer-json")]
    #[error("the tokenizer {} cannot be read", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    let names: Vec<String> = near.iter().map(|name| format!("{name:?}")).collect();
    format!("; near it: {}", names.join(", "))
}
