//! Why a counter cannot be had.

#[cfg(feature = "tokenizer-json")]
use std::path::PathBuf;

/// Why a counter cannot be had. `Display` stands behind what was tried: "failed to count: …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// A name that is no encoding, no model and no path.
    #[error("unknown token counter {name:?}{}", did_you_mean(.near))]
    UnknownName {
        /// The name given, of one of more than 64 bytes the beginning.
        name: String,
        /// Known names that look like it, the nearest first.
        near: Vec<String>,
    },
    /// A name that this build leaves out.
    #[error("token counter {name:?} needs the feature `{feature}` of ctx-tokens")]
    FeatureOff {
        /// The name given.
        name: String,
        /// The feature that brings it.
        feature: &'static str,
    },
    /// The path of a tokenizer, where files are not opened: only [`Counters::with_files`](crate::Counters) does.
    #[error("token counter {name:?} is a file, and counters are not read from files here")]
    File {
        /// The name given, of one of more than 64 bytes the beginning.
        name: String,
    },
    /// A counter of one's own with the name of another one.
    #[error("two token counters have the name {name:?}")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A `tokenizer.json` that cannot be read, or is none.
    #[cfg(feature = "tokenizer-json")]
    #[error("read tokenizer {}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
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
