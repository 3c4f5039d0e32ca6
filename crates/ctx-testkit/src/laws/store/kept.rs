//! What is kept is text, of any kind.

/// What is kept as it is.
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
/// What no store keeps: one of them could not, so that it would depend on the store.
const NO_TEXTS: [&str; 4] = ["\0", "a\0", "\0b", "a\0b"];

/// Checks what `keep` takes, which keeps a text of one kind (a title, a message, a reference), apart from what it was given before,
/// and returns what can be read of it then; `None` where it is refused.
///
/// # Panics
/// When a text is refused or is another afterwards, or what is none is kept.
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
