//! Counters by name, kept from one use to the next, and counters of one's own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ctx_model::CounterName;

use crate::{TokenCounter, TokensError, counter};

/// The counters that names stand for, for whoever counts again and again: those of one's own, and those of
/// [`counter`](crate::counter).
///
/// A counter of one's own goes by its [`name`](TokenCounter::name), in the options that ask for it as in the receipts
/// that tell of it, and before one of this crate of the same name. A name that is a path opens no file unless
/// `with_files` (feature `tokenizer-json`) allows it. Threads share them; what is kept of one is not known to another.
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
    /// Where names may be paths, what was read of them.
    #[cfg(feature = "tokenizer-json")]
    files: Option<files::Files>,
}

/// What tells a counter from every other of its name in this process: for keys of what depends on counts. Those that their
/// name alone decides, of all encodings and models, have one and the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(u64);

impl Identity {
    /// One that nothing had before.
    fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Identity(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// As a number, which means nothing beyond this process.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// A counter, and which it is.
#[derive(Clone)]
pub struct SharedCounter {
    /// The counter.
    pub counter: Arc<dyn TokenCounter>,
    /// Which it is of those of its name.
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
    /// Adds a counter of one's own, which goes by its name.
    ///
    /// # Errors
    /// [`TokensError::NameTaken`] where another of one's own has that name, as two have that are called `custom`, for want
    /// of a name.
    pub fn with(mut self, counter: Arc<dyn TokenCounter>) -> Result<Self, TokensError> {
        let name = CounterName::from(counter.name());
        if self.own.contains_key(&name) {
            let name = counter.name().to_owned();
            return Err(TokensError::NameTaken { name });
        }
        self.own.insert(name, SharedCounter::new(counter));
        Ok(self)
    }

    /// Takes a name that ends in `.json` for the path of a tokenizer, and reads that: for names that come from whoever may
    /// read any file that this process may, and for no others. An error tells whether there is one.
    ///
    /// A file is read when it is first asked for, and the four that were asked for last are kept as they were read: whoever
    /// changes a file begins with new counters.
    #[cfg(feature = "tokenizer-json")]
    #[must_use]
    pub fn with_files(mut self) -> Self {
        self.files = Some(files::Files::default());
        self
    }

    /// The counter that `name` stands for.
    ///
    /// # Errors
    /// Those of [`counter`](crate::counter), where it is none of one's own; and where files may be read, `TokensError::Tokenizer`
    /// for one that cannot be, or is no tokenizer.
    pub fn get(&self, name: &CounterName) -> Result<Arc<dyn TokenCounter>, TokensError> {
        Ok(self.known(name)?.counter)
    }

    /// The same, with what tells it from others of its name.
    ///
    /// # Errors
    /// Those of [`get`](Counters::get).
    pub fn known(&self, name: &CounterName) -> Result<SharedCounter, TokensError> {
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

    /// So many tokenizers are kept.
    const MOST: usize = 4;

    /// Tokenizers that were read, each with its path, those that were asked for last at the end.
    #[derive(Default)]
    pub(super) struct Files(Mutex<Vec<(String, SharedCounter)>>);

    impl Files {
        /// The tokenizer at `path`.
        pub(super) fn get(&self, path: &str) -> Result<SharedCounter, TokensError> {
            // Who wants one that is being read waits for it, and does not read it too.
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
