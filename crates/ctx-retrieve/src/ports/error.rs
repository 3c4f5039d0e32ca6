//! Why a port has no answer.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;
use std::iter;
use std::sync::Arc;

use ctx_model::error_chain;

/// Why a port has no answer. It displays as the error it was made from, and has that error's causes
/// below it: to print all once, use [`on_one_line`](PortError::on_one_line). Errors that print the
/// same are equal.
///
/// An error is permanent (damage, a panic, a refusal) or [transient](PortError::is_transient), as
/// the store says.
///
/// ```
/// use ctx_retrieve::{PortError, PortResult};
///
/// fn read(path: &str) -> PortResult<Vec<u8>> {
///     Ok(std::fs::read(path)?)
/// }
/// fn number(text: &str) -> PortResult<u32> {
///     text.parse().map_err(PortError::new)
/// }
/// fn port(text: &str) -> PortResult<u32> {
///     text.parse().map_err(|error| PortError::with_source("the port is no number", error))
/// }
/// assert!(read("no/such/file").unwrap_err().get_ref().is::<std::io::Error>());
/// assert_eq!(number("x"), Err(PortError::new("invalid digit found in string")));
/// assert_eq!(port("x").unwrap_err().to_string(), "the port is no number");
/// assert_eq!(port("x").unwrap_err().on_one_line(), "the port is no number: invalid digit found in string");
///
/// let away = PortError::new("nobody answers there").transient();
/// assert!(PortError::with_source("ask the store", away).is_transient());
/// assert!(!PortError::new("the disk is damaged").is_transient());
/// ```
#[derive(Clone, Debug)]
pub struct PortError {
    error: Arc<dyn Error + Send + Sync>,
    is_transient: bool,
}

impl PortError {
    /// Displays as `error`, and has its causes; a string has none.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        PortError {
            error: error.into().into(),
            is_transient: false,
        }
    }

    /// Says `what` failed, with `source` as the cause.
    pub fn with_source(
        what: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        PortError::new(Because {
            what: what.into(),
            source: source.into(),
        })
    }

    /// Marks the error as transient: the store was late or unreachable, and the request is not at
    /// fault.
    #[must_use]
    pub fn transient(self) -> Self {
        PortError {
            is_transient: true,
            ..self
        }
    }

    /// Whether retrying soon may succeed: this error, or a [`PortError`] among its causes, was
    /// marked [`transient`](PortError::transient). Every other error counts as permanent: an answer
    /// may be given without something that never succeeds, but not without something that would
    /// succeed a moment later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        let first: &(dyn Error + 'static) = self.get_ref();
        let mut causes = iter::successors(Some(first), |it| (*it).source());
        // The first of these takes its own causes into account.
        let cause = causes.find_map(|it| it.downcast_ref::<PortError>());
        self.is_transient || cause.is_some_and(PortError::is_transient)
    }

    /// The error that [`new`](PortError::new) was given; for
    /// [`with_source`](PortError::with_source), see `source()`.
    #[must_use]
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }

    /// The error and its causes, on one line.
    #[must_use]
    pub fn on_one_line(&self) -> String {
        error_chain(self)
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for PortError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl PartialEq for PortError {
    fn eq(&self, other: &Self) -> bool {
        self.on_one_line() == other.on_one_line()
    }
}

impl Eq for PortError {}

impl From<io::Error> for PortError {
    fn from(error: io::Error) -> Self {
        PortError::new(error)
    }
}

/// An error with its cause.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct Because {
    what: Cow<'static, str>,
    source: Box<dyn Error + Send + Sync>,
}

/// The result of most port methods.
pub type PortResult<T> = Result<T, PortError>;
