//! Laws of masking secrets.

use ctx_secrets::{find, mask};

/// Checks that masking `text`, of the file at `path`, changes nothing but the secrets that are
/// found: these are in order and do not overlap, each byte of one becomes a `*`, and lines end
/// where they ended.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn masks(path: &str, text: &str) {
    let found = find(path, text);
    let mut masked = text.to_owned();
    assert_eq!(mask(path, &mut masked), found, "{text:?}");
    assert_eq!(masked.len(), text.len(), "{text:?}");
    let mut last = 0;
    for secret in &found {
        let span = secret.span.clone();
        assert!(last <= span.start && span.start < span.end, "{found:?}");
        assert_eq!(masked[last..span.start], text[last..span.start]);
        let is_end = |c: char| c == '\r' || c == '\n';
        assert!(
            masked[span.clone()].chars().all(|c| c == '*' || is_end(c)),
            "{masked:?}"
        );
        last = span.end;
    }
    assert_eq!(masked[last..], text[last..]);
    let ends = |it: &str| -> Vec<(usize, u8)> {
        let bytes = it.bytes().enumerate();
        bytes
            .filter(|(_, byte)| matches!(byte, b'\r' | b'\n'))
            .collect()
    };
    assert_eq!(ends(&masked), ends(text));
}
