//! What may be logged of the errors of an owner's databases and index.

use std::borrow::Cow;
use std::error::Error;

use ctx_index::IndexError;
use rusqlite::ErrorCode;

/// Describes `error`, if it is one of these.
pub(crate) fn fact(error: &(dyn Error + 'static)) -> Option<Cow<'static, str>> {
    if let Some(error) = error.downcast_ref::<rusqlite::Error>() {
        return Some(of_database(error));
    }
    if let Some(error) = error.downcast_ref::<rusqlite::ffi::Error>() {
        return Some(error.to_string().into());
    }
    let error = error.downcast_ref::<IndexError>()?;
    Some(of_index(error).into())
}

/// Whether the disk is full.
pub(crate) fn is_full(error: &(dyn Error + 'static)) -> bool {
    code(error) == Some(ErrorCode::DiskFull)
}

/// Whether a database cannot be opened; the library reports no more than that.
pub(crate) fn is_away(error: &(dyn Error + 'static)) -> bool {
    code(error) == Some(ErrorCode::CannotOpen)
}

fn code(error: &(dyn Error + 'static)) -> Option<ErrorCode> {
    let error = error.downcast_ref::<rusqlite::Error>()?;
    error.sqlite_error_code()
}

fn of_database(error: &rusqlite::Error) -> Cow<'static, str> {
    match error.sqlite_error() {
        Some(error) => error.to_string().into(),
        None => "a value of a database is invalid".into(),
    }
}

fn of_index(error: &IndexError) -> &'static str {
    match error {
        IndexError::Root(_) => "open the folder that is indexed",
        IndexError::Folder { .. } => "use the folder of the index",
        IndexError::Busy { .. } => "write the index: another process is writing it",
        IndexError::Text { .. } => "use the text index",
        IndexError::Manifest { .. } => "use a database of the index",
        IndexError::Damaged { .. } => "read the index: it is damaged",
        IndexError::Cancelled => "it was cancelled",
        _ => "use the index",
    }
}
