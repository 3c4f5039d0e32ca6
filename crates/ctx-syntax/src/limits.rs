//! How much a grammar is trusted with.

use std::time::Duration;

/// What bounds a parse, whatever the text does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes that are parsed. A tree takes some 240 bytes of memory per byte of text.
    pub bytes: usize,
    /// How long parsing and querying may take together.
    pub time: Duration,
}

impl Default for Limits {
    /// 512 KiB, and 250 ms.
    fn default() -> Self {
        Limits {
            bytes: 512 * 1024,
            time: crate::grammar::TIME,
        }
    }
}
