//! Laws of decoding files.

use ctx_model::LineSpan;
use ctx_source::{Secrets, Text};

use super::masks;

/// Checks how the `bytes` of the file at `path` are decoded, and returns the text with unmasked
/// secrets, if the bytes are text:
///
/// * UTF-8 is taken as it is, but for a byte order mark and returns that alone end lines;
/// * no more characters are reported as replaced than there are replacement characters;
/// * line numbers agree with a character-by-character reading, and with the lines of the model;
/// * with secrets masked, the text is the same but for [`masks()`], and says how many
///   are on which lines.
///
/// # Panics
/// If it does not hold.
#[track_caller]
pub fn decodes(path: &str, bytes: &[u8]) -> Option<Text> {
    let of = |secrets| Text::decode(path, bytes.to_vec(), secrets);
    let (shown, masked) = (of(Secrets::Shown), of(Secrets::Masked));
    assert_eq!(shown.is_some(), masked.is_some(), "{bytes:?}");
    let (shown, masked) = (shown?, masked?);
    if let Some(plain) = plain(bytes) {
        assert_eq!(shown.as_str(), plain, "{bytes:?}");
    }
    let replaced = shown.converted().map_or(0, |it| it.replaced);
    let said = shown.as_str().matches(char::REPLACEMENT_CHARACTER).count();
    assert!(
        replaced <= said,
        "{replaced} of {said} are told as replaced: {bytes:?}"
    );
    numbers_lines(&shown);
    masks(path, shown.as_str());
    is_masked(path, &shown, &masked);
    Some(shown)
}

/// The text of `bytes`, if they are UTF-8 beyond doubt.
fn plain(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok();
    let text = text.filter(|it| !it.contains('\0'))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Some(if text.contains('\n') {
        text.to_owned()
    } else {
        text.replace('\r', "\n")
    })
}

#[track_caller]
fn is_masked(path: &str, shown: &Text, masked: &Text) {
    let mut text = shown.as_str().to_owned();
    let secrets = ctx_secrets::mask(path, &mut text);
    assert_eq!(masked.as_str(), text);
    assert_eq!(masked.masked(), secrets);
    assert_eq!(masked.unmasked_hash(), shown.unmasked_hash());
    let mut bytes = 0;
    for number in 1..=masked.lines().count() {
        let line = LineSpan::new(number, number).expect("it is from 1");
        let there = masked.lines().range(line).expect("there is such a line");
        let on = masked.masked_on(number);
        let mut count = 0;
        for range in on {
            assert!(
                range.start < range.end && range.end <= there.len(),
                "{range:?}"
            );
            bytes += range.len();
            count += 1;
        }
        assert_eq!(masked.masked_in(line), count, "line {number}");
    }
    let all: usize = secrets.iter().map(|it| it.span.len()).sum();
    assert_eq!(bytes, all, "{secrets:?}");
}

/// Lines with their terminators.
fn plainly(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
        if c == '\n' && chars.peek().is_some() {
            lines.push(String::new());
        }
    }
    lines
}

#[track_caller]
fn numbers_lines(decoded: &Text) {
    let (text, index) = (decoded.as_str(), decoded.lines());
    let expected = plainly(text);
    assert_eq!(index.count() as usize, expected.len(), "{text:?}");
    let of_text = (1..=index.count()).map(|number| decoded.line(number));
    assert!(of_text.eq(ctx_model::lines(text).map(Some)), "{text:?}");
    let mut offset = 0;
    for (line, number) in expected.iter().zip(1_u32..) {
        let span = |from| LineSpan::new(from, number).expect("it is from 1");
        let own = index.range(span(number));
        assert_eq!(own.map(|it| &text[it]), Some(&**line), "{text:?}");
        let without_end = ctx_model::without_line_end(line);
        assert_eq!(decoded.line(number), Some(without_end), "{text:?}");
        for at in offset..offset + line.len() {
            assert_eq!(index.line_of(at), number, "{text:?} at {at}");
        }
        offset += line.len();
        assert_eq!(index.range(span(1)), Some(0..offset), "{text:?}");
    }
    let past = LineSpan::new(1, index.count() + 1).expect("it is from 1");
    assert_eq!(index.range(past), None, "{text:?}");
    assert_eq!(index.line_of(usize::MAX), index.count(), "{text:?}");
}
