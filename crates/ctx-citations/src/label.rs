//! The form of the short ids under which contexts show their sources.

use ctx_model::Origin;

/// The fewest hexadecimal digits of a label; it has more, up to 64, where they are needed to
/// distinguish two.
pub const LABEL_DIGITS: usize = 6;

/// The origin of the source with this label; `None` if `label` is not one.
///
/// ```
/// assert_eq!(ctx_citations::label_origin("mes-9f2a1c-2"), Some(ctx_model::Origin::Message));
/// assert_eq!(ctx_citations::label_origin("file-9f2a1c"), None);
/// ```
pub fn label_origin(label: &str) -> Option<Origin> {
    let (word, _) = label.split_once('-').filter(|_| is_label(label))?;
    Origin::of_label_prefix(word)
}

/// Whether `text` has the form of a label: `fil-9f2a1c`, `mes-9f2a1c-2`. O(bytes).
pub fn is_label(text: &str) -> bool {
    let Some((word, rest)) = text.split_once('-') else {
        return false;
    };
    let (hex, number) = rest
        .split_once('-')
        .map_or((rest, None), |(hex, number)| (hex, Some(number)));
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    Origin::of_label_prefix(word).is_some()
        && (LABEL_DIGITS..=64).contains(&hex.len())
        && hex.bytes().all(is_hex)
        && number.is_none_or(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether `text` is meant as a label but malformed: `FIL-9F2A1C`, `fil-12`.
pub(crate) fn resembles_label(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let rest = lower
        .split_once('-')
        .filter(|(word, _)| Origin::of_label_prefix(word).is_some());
    // `ref-counted` is a word.
    rest.is_some_and(|(_, rest)| rest.is_empty() || rest.contains(|c: char| c.is_ascii_digit()))
        && !is_label(text)
}

#[cfg(test)]
mod tests;
