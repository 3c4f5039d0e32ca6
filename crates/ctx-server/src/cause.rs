//! What may be logged of an error: its kind, and nothing that it quotes.
//!
//! Error messages are made for the caller: they name ids, and the message of a database or a panic
//! may contain lines of a document. So the log gets not the message of an error, but a description
//! from here, for the kinds of errors that are known here.

use std::borrow::Cow;
use std::error::Error;
use std::io;

use ctx_retrieve::{PortError, TaskFailed};
use ctx_service::ServiceError;
use ctx_source::SourceError;
use tokio::task::JoinError;

use crate::backend::BackendError;
#[cfg(feature = "embedded")]
use crate::embedded::cause as embedded;
#[cfg(feature = "postgres")]
use crate::postgres::cause as postgres;

/// A description of a failure that quotes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fact(pub(crate) &'static str);

/// The description of an error of an unknown kind.
const UNTOLD: &str = "an error whose message is not logged, as it may quote data";

/// Describes an error and its causes.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<Cow<'_, str>> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let fact = fact(error);
        // Some errors include the description of their cause.
        if !said.last().is_some_and(|it| it.ends_with(&*fact)) {
            said.push(fact);
        }
        next = error.source();
    }
    said.join(": ")
}

/// Whether the cause is a database that is unreachable or was late, or that the system allows no
/// more open files, rather than the request.
pub(crate) fn is_away(error: &(dyn Error + 'static)) -> bool {
    has(error, is_itself_away)
}

/// Whether the cause is a full disk.
pub(crate) fn is_full(error: &(dyn Error + 'static)) -> bool {
    has(error, is_itself_full)
}

/// Whether `is` holds for an error or one of its causes.
fn has(error: &(dyn Error + 'static), is: fn(&(dyn Error + 'static)) -> bool) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let told = match error.downcast_ref::<PortError>() {
            Some(port) => port.get_ref(),
            None => error,
        };
        if is(told) {
            return true;
        }
        next = error.source();
    }
    false
}

fn is_itself_full(error: &(dyn Error + 'static)) -> bool {
    #[cfg(feature = "postgres")]
    if postgres::is_full(error) {
        return true;
    }
    #[cfg(feature = "embedded")]
    if embedded::is_full(error) {
        return true;
    }
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(
        kind,
        Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    )
}

fn is_itself_away(error: &(dyn Error + 'static)) -> bool {
    #[cfg(feature = "postgres")]
    if postgres::is_away(error) {
        return true;
    }
    #[cfg(feature = "embedded")]
    if embedded::is_away(error) {
        return true;
    }
    error.downcast_ref().is_some_and(is_out_of_files)
}

/// Whether the process or the system has reached its limit of open files: `EMFILE` and `ENFILE`,
/// which have these numbers on every Unix.
fn is_out_of_files(error: &io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

fn fact(error: &(dyn Error + 'static)) -> Cow<'static, str> {
    if let Some(Fact(fact)) = error.downcast_ref() {
        return (*fact).into();
    }
    if let Some(error) = error.downcast_ref::<BackendError>() {
        return of_backend(error).into();
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return of_system(error);
    }
    #[cfg(feature = "embedded")]
    if let Some(fact) = embedded::fact(error) {
        return fact;
    }
    #[cfg(feature = "postgres")]
    if let Some(fact) = postgres::fact(error) {
        return fact;
    }
    if let Some(error) = error.downcast_ref::<PortError>() {
        return match fact(error.get_ref()) {
            Cow::Borrowed(UNTOLD) if error.is_transient() => {
                "it was too slow or unavailable".into()
            }
            fact => fact,
        };
    }
    if let Some(error) = error.downcast_ref::<TaskFailed>() {
        return error.to_string().into();
    }
    if let Some(error) = error.downcast_ref::<JoinError>() {
        let is_panic = error.is_panic();
        let ended = if is_panic {
            TaskFailed::Panicked
        } else {
            TaskFailed::Cancelled
        };
        return ended.to_string().into();
    }
    if let Some(ServiceError::Thread(_)) = error.downcast_ref() {
        return "finish".into();
    }
    if error.is::<SourceError>() {
        return "read a file".into();
    }
    if error.is::<serde_json::Error>() {
        return "it is not valid JSON".into();
    }
    UNTOLD.into()
}

fn of_backend(error: &BackendError) -> &'static str {
    match error {
        BackendError::Failed { what, .. }
        | BackendError::Damaged { what, .. }
        | BackendError::Unavailable { what, .. } => what,
        BackendError::Cancelled => "it was cancelled",
        BackendError::Service(_) => "the service failed",
        _ => "it was refused",
    }
}

/// The system's message; for an error without an OS code, its kind.
fn of_system(error: &io::Error) -> Cow<'static, str> {
    match error.raw_os_error() {
        Some(_) => error.to_string().into(),
        None => error.kind().to_string().into(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_no_more_files_to_open_is_to_be_asked_again() {
        for (number, is) in [(24, true), (23, true), (2, false), (13, false)] {
            let error = io::Error::from_raw_os_error(number);
            let failed = BackendError::failed("open an owner's folder", error);
            let is_for_now = matches!(failed, BackendError::Unavailable { .. });
            assert_eq!(is_for_now, is, "{failed:?}");
        }
    }
}
