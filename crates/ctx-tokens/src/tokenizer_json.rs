//! Tokenizers described by a `tokenizer.json` of Hugging Face.

use std::fmt;
use std::path::Path;

use ctx_model::Tokens;
use tokenizers::Tokenizer;

use crate::{Exactness, TokenCounter, TokensError};

/// Counts with a tokenizer read from a `tokenizer.json`.
///
/// Special tokens in the text count as ordinary text, and none are added. Truncation and padding
/// that the file requests are ignored, since they are no part of a count. Counts never add up,
/// since the behaviour of such a tokenizer at a joint is unknown. A text that the tokenizer refuses
/// (if its vocabulary has no token for unknown input) counts one token per byte, which is at least
/// as many as any tokenizer would find; only in that case the count is an upper bound, though the
/// counter reports itself as exact.
pub struct TokenizerJson {
    tokenizer: Tokenizer,
    name: String,
}

impl TokenizerJson {
    /// Reads the tokenizer at `path`.
    ///
    /// # Errors
    /// [`TokensError::Tokenizer`] names the path of a file that is missing, unreadable or no
    /// tokenizer.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TokensError> {
        let path = path.as_ref();
        let refused = |source| TokensError::Tokenizer {
            path: path.to_owned(),
            source,
        };
        // A pipe or a device may have no end. A missing file is reported by the reader.
        if path.exists() && !path.is_file() {
            return Err(refused("it is no file".into()));
        }
        let mut tokenizer = Tokenizer::from_file(path).map_err(refused)?;
        tokenizer.with_truncation(None).map_err(refused)?;
        tokenizer.with_padding(None);
        tokenizer.set_encode_special_tokens(true);
        Ok(TokenizerJson {
            tokenizer,
            name: path.display().to_string(),
        })
    }

    /// Sets the name, which is the path by default.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

impl TokenCounter for TokenizerJson {
    fn count(&self, text: &str) -> Tokens {
        let counted = match self.tokenizer.encode_fast(text, false) {
            Ok(encoding) => encoding.len(),
            Err(_) => text.len(),
        };
        Tokens::saturating_from_u64(counted as u64)
    }

    fn exactness(&self) -> Exactness {
        Exactness::Exact
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for TokenizerJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenizerJson").field(&self.name).finish()
    }
}
