//! Checks on threads and messages that are the same for every store.

use crate::backend::BackendError;
use crate::limits::LONGEST_NAME;

/// Checks that a thread can be created with these values.
///
/// # Errors
/// [`BackendError::Invalid`], which names the field.
pub(crate) fn check_thread(
    id: &str,
    title: Option<&str>,
    pinned: &[String],
) -> Result<(), BackendError> {
    check("id", id, LONGEST_NAME)?;
    check_title(title)?;
    check_pinned(pinned)
}

/// Checks that a thread can have this title.
///
/// # Errors
/// [`BackendError::Invalid`], which names the field.
pub(crate) fn check_title(title: Option<&str>) -> Result<(), BackendError> {
    check("title", title.unwrap_or_default(), LONGEST_NAME)
}

/// Checks that these references can be pinned to a thread.
///
/// # Errors
/// [`BackendError::Invalid`], which names the first that cannot.
pub(crate) fn check_pinned(pinned: &[String]) -> Result<(), BackendError> {
    for (number, what) in pinned.iter().enumerate() {
        check(&format!("pinned[{number}]"), what, LONGEST_NAME)?;
    }
    Ok(())
}

/// Checks that a message can be stored. Its length is limited by the server, not here.
///
/// # Errors
/// [`BackendError::Invalid`], which names the field.
pub(crate) fn check_message(id: &str, role: &str, content: &str) -> Result<(), BackendError> {
    check("id", id, LONGEST_NAME)?;
    check("role", role, LONGEST_NAME)?;
    check("content", content, usize::MAX)
}

fn check(field: &str, text: &str, longest: usize) -> Result<(), BackendError> {
    let detail = if text.contains('\0') {
        "it has a NUL character in it, so it is not text".to_owned()
    } else if text.len() > longest {
        format!("it may have at most {longest} bytes")
    } else {
        return Ok(());
    };
    Err(BackendError::Invalid {
        field: field.to_owned(),
        detail,
    })
}
