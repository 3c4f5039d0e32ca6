//! Laws of how a message names what its context must have.

use ctx_service::mention::names;

/// Checks the names in `message`, whatever it says:
///
/// * each is one line without blanks around it, and is there once;
/// * each names the same again, between quotation marks.
///
/// # Panics
/// If it does not hold.
#[track_caller]
pub fn mentions(message: &str) {
    let named = names(message);
    for (at, name) in named.iter().enumerate() {
        let is_plain = !name.is_empty() && name.trim() == name && !name.contains(char::is_control);
        assert!(is_plain, "{name:?} in {message:?}");
        assert!(!named[..at].contains(name), "{name:?} twice in {message:?}");
        // There may be another name in it.
        let again = names(&format!("@\"{name}\""));
        assert_eq!(again.first(), Some(name), "in {message:?}");
    }
}
