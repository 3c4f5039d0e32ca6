//! What may be logged of the errors of the database.

use std::borrow::Cow;
use std::error::Error;

use ctx_postgres::StoreError;

/// Describes `error`, if it is one of these. The description quotes nothing that was sent, except
/// for a path.
pub(crate) fn fact(error: &(dyn Error + 'static)) -> Option<Cow<'static, str>> {
    Some(match error.downcast_ref()? {
        StoreError::Place { .. } => "store a file where there is a folder".into(),
        error => error.to_string().into(),
    })
}

/// Whether the database's disk is full.
pub(crate) fn is_full(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(StoreError::is_full)
}

/// Whether the database is unreachable, or was late.
pub(crate) fn is_away(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(StoreError::is_transient)
}
