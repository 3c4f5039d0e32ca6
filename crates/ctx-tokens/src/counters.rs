//! A registry of counters by name, with custom counters.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ctx_model::CounterName;

use crate::{TokenCounter, TokensError, counter};

/// A registry of counters by name: custom ones, which take precedence, and those of
/// [`counter`](crate::counter).
///
/// A custom counter is registered under its [`name`](TokenCounter::name), which options use to
/// request it and receipts to report it. It takes precedence over a built-in counter of the same
/// name. A name that is a path opens no file unless `with_files` (feature `tokenizer-json`) allows
/// it. The registry is shared between threads; two registries share nothing.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use ctx_tokens::{Counters, TokenCounter, Tokens};
///
/// /// One token a byte.
/// struct Bytes;
///
/// impl TokenCounter for Bytes {
///     fn count(&self, text: &str) -> Tokens {
///         Tokens::saturating_from_u64(text.len() as u64)
///     }
///
///     fn name(&self) -> &str {
///         "bytes"
///     }
/// }
///
/// let counters = Counters::default().with(Arc::new(Bytes))?;
/// let bytes = counters.get(&"bytes".into())?;
/// assert_eq!(bytes.count("äh"), Tokens::new(3));
/// assert_eq!(counters.get(&"characterBased".into())?.name(), "characterBased");
/// # Ok::<(), ctx_tokens::TokensError>(())
/// ```
#[derive(Default)]
pub struct Counters {
    own: BTreeMap<CounterName, SharedCounter>,
    /// The tokenizers read from files, if names may be paths.
    #[cfg(feature = "tokenizer-json")]
    files: Option<files::Files>,
}

/// Identifies a counter among all those of its name in this process, for the keys of caches whose
/// values depend on counts. All counters that their name alone determines (encodings and models)
/// have the same identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(u64);

impl Identity {
    /// A new identity, different from all others.
    fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Identity(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The identity as a number, which means nothing outside this process.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// A counter with its identity.
#[derive(Clone)]
pub struct SharedCounter {
    /// The counter.
    pub counter: Arc<dyn TokenCounter>,
    /// Its identity among the counters of its name.
    pub identity: Identity,
}

impl SharedCounter {
    fn new(counter: Arc<dyn TokenCounter>) -> Self {
        SharedCounter {
            counter,
            identity: Identity::new(),
        }
    }
}

impl fmt::Debug for SharedCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedCounter")
            .field("counter", &self.counter.name())
            .field("identity", &self.identity)
            .finish()
    }
}

impl Counters {
    /// Adds a custom counter under its name.
    ///
    /// # Errors
    /// [`TokensError::NameTaken`] if another custom counter has that name, which is `custom` for
    /// all counters that do not define one.
    pub fn with(mut self, counter: Arc<dyn TokenCounter>) -> Result<Self, TokensError> {
        let name = CounterName::from(counter.name());
        if self.own.contains_key(&name) {
            let name = counter.name().to_owned();
            return Err(TokensError::NameTaken { name });
        }
        self.own.insert(name, SharedCounter::new(counter));
        Ok(self)
    }

    /// Accepts a name that ends in `.json` as the path of a tokenizer file and reads it. Enable
    /// this only if names come from users who may read any file that this process can read: errors
    /// also disclose whether a file exists.
    ///
    /// A file is read when it is first requested, and the four tokenizers requested last are kept.
    /// Changes of a file are not noticed: make new counters to read it again.
    #[cfg(feature = "tokenizer-json")]
    #[must_use]
    pub fn with_files(mut self) -> Self {
        self.files = Some(files::Files::default());
        self
    }

    /// The counter called `name`.
    ///
    /// # Errors
    /// Those of [`counter`](crate::counter), unless it is a custom one. If files may be read, also
    /// `TokensError::Tokenizer` for a file that cannot be read or is not a tokenizer.
    pub fn get(&self, name: &CounterName) -> Result<Arc<dyn TokenCounter>, TokensError> {
        Ok(self.known(name)?.counter)
    }

    /// The counter called `name`, with its identity.
    ///
    /// # Errors
    /// Those of [`get`](Counters::get).
    pub fn known(&self, name: &CounterName) -> Result<SharedCounter, TokensError> {
        // They are registered by their names, of which some have variants of their own.
        let name = &CounterName::from(name.as_str());
        if let Some(known) = self.own.get(name) {
            return Ok(known.clone());
        }
        #[cfg(feature = "tokenizer-json")]
        if let (CounterName::Named(path), Some(files)) = (name, &self.files)
            && crate::names::is_tokenizer_path(path)
        {
            return files.get(path);
        }
        Ok(SharedCounter {
            counter: counter(name)?,
            identity: Identity::default(),
        })
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters")
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "tokenizer-json")]
mod files {
    use std::sync::{Arc, Mutex, PoisonError};

    use super::SharedCounter;
    use crate::{TokenizerJson, TokensError};

    /// The most tokenizers that are kept.
    const MOST: usize = 4;

    /// Tokenizers with their paths, the one requested last at the end.
    #[derive(Default)]
    pub(super) struct Files(Mutex<Vec<(String, SharedCounter)>>);

    impl Files {
        /// The tokenizer at `path`.
        pub(super) fn get(&self, path: &str) -> Result<SharedCounter, TokensError> {
            // The lock is held while a file is read, so that others wait for it and do not read it
            // too.
            let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let file = if let Some(at) = files.iter().position(|it| it.0 == path) {
                files.remove(at)
            } else {
                let read = SharedCounter::new(Arc::new(TokenizerJson::open(path)?));
                (path.to_owned(), read)
            };
            let known = file.1.clone();
            if files.len() >= MOST {
                files.remove(0);
            }
            files.push(file);
            Ok(known)
        }
    }
}
