//! Any tokenizer that Hugging Face's `tokenizer.json` describes.

use std::fmt;
use std::path::Path;

use ctx_model::Tokens;
use tokenizers::Tokenizer;

use crate::{Exactness, TokenCounter, TokensError};

/// Counts with a tokenizer read from a `tokenizer.json`.
///
/// Special tokens in the text are ordinary text, and none are added; truncation and padding that
/// the file may ask for are left out, for they are no part of a count. Counts never add up: what
/// such a tokenizer does at a joint is unknown. A text that the tokenizer refuses (a vocabulary
/// without a token for what it does not know) counts a token for each byte, which is no less than
/// any tokenizer would find; of that alone the count is a bound, though the counter says that it is exact.
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
        // Of a pipe or a device there may be no end. What is not there is told by who reads it.
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

    /// Goes by this name, and not by its path.
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
