//! Decodes the bytes of a file into text.
//!
//! UTF-8 is taken as it is, without a copy. Otherwise the first of these that applies decides: a
//! byte order mark; a NUL, which means UTF-16 without a mark, or binary; mostly valid UTF-8, in
//! which the few broken sequences are replaced; and last the encoding that a detector finds most
//! likely. If all lines end with `\r` alone, each `\r` becomes `\n`. Every conversion is reported.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use content_inspector::ContentType;
use ctx_model::has_returns_alone;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// The encoding is detected from at most this many leading bytes.
const DETECT: usize = 1 << 20;

/// What the bytes of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// UTF-8, as it was.
    Text(String),
    /// Text that had to be converted, which users should be informed of.
    Converted {
        /// The text.
        text: String,
        /// The original encoding, such as `UTF-16LE` or `windows-1252`, or `CR line ends`.
        from: &'static str,
        /// How many undecodable sequences were replaced by U+FFFD.
        replaced: usize,
    },
    /// Not text.
    Binary,
    /// No bytes, or a byte order mark alone.
    Empty,
}

/// Decodes `bytes`, in time linear in their number.
pub fn decode(bytes: Vec<u8>) -> Decoded {
    match characters(bytes) {
        Decoded::Text(text) if has_returns_alone(&text) => Decoded::Converted {
            text: text.replace('\r', "\n"),
            from: "CR line ends",
            replaced: 0,
        },
        Decoded::Converted {
            text,
            from,
            replaced,
        } if has_returns_alone(&text) => Decoded::Converted {
            text: text.replace('\r', "\n"),
            from,
            replaced,
        },
        other => other,
    }
}

fn characters(mut bytes: Vec<u8>) -> Decoded {
    match content_inspector::inspect(&bytes) {
        ContentType::UTF_16LE => return convert(UTF_16LE, "UTF-16LE", &bytes[2..]),
        ContentType::UTF_16BE => return convert(UTF_16BE, "UTF-16BE", &bytes[2..]),
        ContentType::UTF_32LE => return utf_32(&bytes[4..], "UTF-32LE", u32::from_le_bytes),
        ContentType::UTF_32BE => return utf_32(&bytes[4..], "UTF-32BE", u32::from_be_bytes),
        // The byte order mark is no part of the text.
        ContentType::UTF_8_BOM => drop(bytes.drain(..3)),
        ContentType::BINARY => return unmarked_utf_16(&bytes).unwrap_or(Decoded::Binary),
        ContentType::UTF_8 => {}
    }
    if bytes.is_empty() {
        return Decoded::Empty;
    }
    // The inspector looks at the leading bytes only.
    if bytes.contains(&0) {
        return unmarked_utf_16(&bytes).unwrap_or(Decoded::Binary);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Decoded::Text(text),
        Err(error) => decode_legacy(error.as_bytes()),
    }
}

fn decode_legacy(bytes: &[u8]) -> Decoded {
    if controls(bytes) > bytes.len() / 32 {
        return Decoded::Binary;
    }
    let (good, broken) = utf_8_sequences(bytes);
    if good > broken {
        return convert(UTF_8, "damaged UTF-8", bytes);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let head = &bytes[..bytes.len().min(DETECT)];
    detector.feed(head, head.len() == bytes.len());
    let encoding = detector.guess(None, Utf8Detection::Deny);
    convert(encoding, encoding.name(), bytes)
}

/// Decodes UTF-16 without a byte order mark if there is no doubt: more than half of the units are
/// ASCII in one byte order, every unit decodes, and the text has no control characters.
fn unmarked_utf_16(bytes: &[u8]) -> Option<Decoded> {
    let (units, rest) = bytes.as_chunks::<2>();
    let zeros = |at: usize| units.iter().filter(|unit| unit[at] == 0).count();
    let (first, second) = (zeros(0), zeros(1));
    let (encoding, from) = match units.len() / 2 {
        _ if !rest.is_empty() => return None,
        half if second > half && first == 0 => (UTF_16LE, "UTF-16LE"),
        half if first > half && second == 0 => (UTF_16BE, "UTF-16BE"),
        _ => return None,
    };
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    if controls(text.as_bytes()) > 0 {
        return None;
    }
    Some(converted(text.into_owned(), from, 0))
}

fn convert(encoding: &'static Encoding, from: &'static str, bytes: &[u8]) -> Decoded {
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    let replaced = if had_errors { replacements(&text) } else { 0 };
    converted(text.into_owned(), from, replaced)
}

fn utf_32(bytes: &[u8], from: &'static str, read: fn([u8; 4]) -> u32) -> Decoded {
    let (units, rest) = bytes.as_chunks::<4>();
    let text: String = units
        .iter()
        .map(|unit| char::from_u32(read(*unit)).unwrap_or(char::REPLACEMENT_CHARACTER))
        .chain((!rest.is_empty()).then_some(char::REPLACEMENT_CHARACTER))
        .collect();
    let replaced = replacements(&text);
    converted(text, from, replaced)
}

fn converted(text: String, from: &'static str, replaced: usize) -> Decoded {
    if text.is_empty() {
        Decoded::Empty
    } else if text.contains('\0') {
        Decoded::Binary
    } else {
        Decoded::Converted {
            text,
            from,
            replaced,
        }
    }
}

/// Counts the multi-byte UTF-8 sequences: valid ones, and broken ones.
fn utf_8_sequences(bytes: &[u8]) -> (usize, usize) {
    bytes.utf8_chunks().fold((0, 0), |(good, broken), chunk| {
        let wide = chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        (
            good + wide,
            broken + usize::from(!chunk.invalid().is_empty()),
        )
    })
}

/// Counts the bytes that are control characters which text does not contain.
fn controls(bytes: &[u8]) -> usize {
    let is_control =
        |b: &&u8| b.is_ascii_control() && !matches!(**b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    bytes.iter().filter(is_control).count()
}

fn replacements(text: &str) -> usize {
    text.matches(char::REPLACEMENT_CHARACTER).count()
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
