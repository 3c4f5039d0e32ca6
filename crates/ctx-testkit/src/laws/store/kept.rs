//! Stores keep texts of any kind unchanged.

/// Texts that are kept unchanged.
const TEXTS: [&str; 13] = [
    "a",
    "\\0",
    "\\u0000",
    "\u{1}\u{2}",
    "\r\n",
    "'); DROP TABLE ctx.messages; --",
    "100%_\\",
    "{\"a\": [null]}",
    "\u{202e}",
    "\u{feff}",
    "\u{fffd}",
    "e\u{301} 設定",
    "🦀",
];
/// Texts that no store keeps: one of the stores cannot, and stores should not differ.
const NO_TEXTS: [&str; 4] = ["\0", "a\0", "\0b", "a\0b"];

/// Checks `keep`, which stores a text of one kind (a title, a message, a reference), separately
/// from earlier ones, and returns what can be read back, or `None` if it is refused.
///
/// # Panics
/// If a text is refused or changed, or one of those that cannot be kept is not refused.
pub async fn kept(keep: impl AsyncFn(&str) -> Option<String>) {
    for text in TEXTS {
        let read = keep(text).await;
        assert_eq!(read.as_deref(), Some(text));
    }
    for text in NO_TEXTS {
        let read = keep(text).await;
        assert_eq!(read, None, "{text:?}");
    }
}
