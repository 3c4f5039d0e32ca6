//! Threads and messages: what can be kept of them, whatever store it is for.

use crate::backend::BackendError;
use crate::limits::LONGEST_NAME;

/// Sees to it that a thread can begin so.
///
/// # Errors
/// [`BackendError::Invalid`], which names the field.
pub(crate) fn check_thread(
    id: &str,
    title: Option<&str>,
    pinned: &[String],
) -> Result<(), BackendError> {
    check("id", id, LONGEST_NAME)?;
    check("title", title.unwrap_or_default(), LONGEST_NAME)?;
    check_pinned(pinned)
}

/// Sees to it that these can be pinned to a thread.
///
/// # Errors
/// [`BackendError::Invalid`], which names the first that cannot.
pub(crate) fn check_pinned(pinned: &[String]) -> Result<(), BackendError> {
    for (number, what) in pinned.iter().enumerate() {
        check(&format!("pinned[{number}]"), what, LONGEST_NAME)?;
    }
    Ok(())
}

/// Sees to it that a message can be kept. How long it may be is its server's business.
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
        "it has a NUL character in it, so it is no text".to_owned()
    } else if text.len() > longest {
        format!("it has at most {longest} bytes")
    } else {
        return Ok(());
    };
    Err(BackendError::Invalid {
        field: field.to_owned(),
        detail,
    })
}
