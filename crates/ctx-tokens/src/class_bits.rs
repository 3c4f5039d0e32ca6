//! The classes of a character, one bit each. Shared with the build script, which writes the table.

#![allow(
    dead_code,
    reason = "the estimators need fewer of them than the encodings do"
)]

/// `\p{L}`.
pub(crate) const LETTER: u8 = 1;
/// `\p{N}`.
pub(crate) const NUMBER: u8 = 1 << 1;
/// `\s`: the Unicode property `White_Space`.
pub(crate) const SPACE: u8 = 1 << 2;
/// Carriage return or line feed.
pub(crate) const NEWLINE: u8 = 1 << 3;
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`: may be one of the capitals of a word.
pub(crate) const UPPER: u8 = 1 << 4;
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`: may be one of the small letters of a word.
pub(crate) const LOWER: u8 = 1 << 5;
/// `\p{Nd}`.
pub(crate) const DECIMAL: u8 = 1 << 6;
/// `\p{Lt}`.
pub(crate) const TITLE: u8 = 1 << 7;
