//! The shape of an id: what else would be one, if the context showed it.

use std::collections::BTreeSet;

use crate::label::is_label;

/// Stands for a number.
const NUMBER: char = '\0';
/// Stands for a hexadecimal digit of a code.
const DIGIT: char = '\u{1}';
/// A code has so many hexadecimal digits at least: fewer are a word or a number.
const LEAST_CODE: usize = 8;

/// The shapes of the ids of a context. Labels are none of them: they have a form of their own.
#[derive(Debug)]
pub(crate) struct Shapes(BTreeSet<String>);

impl Shapes {
    /// O(bytes).
    pub(crate) fn of<'i>(ids: impl Iterator<Item = &'i str>) -> Self {
        let own = ids.filter(|it| !is_label(it));
        Shapes(own.flat_map(shapes).collect())
    }

    /// Whether `text` is as one of the ids is but for its numbers or the digits of its hexadecimal
    /// code, in either case. O(bytes).
    pub(crate) fn fit(&self, text: &str) -> bool {
        shapes(text).any(|it| self.0.contains(&it))
    }
}

fn shapes(id: &str) -> impl Iterator<Item = String> {
    numbered(id).into_iter().chain(coded(id))
}

/// `id` with each number as one mark; `None` where it has none.
fn numbered(id: &str) -> Option<String> {
    let mut shape = String::with_capacity(id.len());
    for c in id.chars() {
        if !c.is_ascii_digit() {
            shape.push(c.to_ascii_lowercase());
        } else if !shape.ends_with(NUMBER) {
            shape.push(NUMBER);
        }
    }
    shape.contains(NUMBER).then_some(shape)
}

/// `id` with a mark for each hexadecimal digit of its words that have no others, where together
/// these are a code: a UUID, a hash, or one with a name before it.
fn coded(id: &str) -> Option<String> {
    let mut shape = String::with_capacity(id.len());
    let (mut digits, mut letters) = (0, 0);
    for word in id.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let body = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if body.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let decimal = body.bytes().filter(u8::is_ascii_digit).count();
            digits += decimal;
            letters += body.len() - decimal;
            shape.extend(body.chars().map(|_| DIGIT));
        } else {
            shape.push_str(&body.to_ascii_lowercase());
        }
        shape.push_str(&word[body.len()..]);
    }
    let is_code = digits > 0 && letters > 0 && digits + letters >= LEAST_CODE;
    is_code.then_some(shape)
}

/// Whether `id` may be a number or a name of code as well: an index such as `arr[1]` is no
/// citation.
pub(crate) fn may_be_code(id: &str) -> bool {
    id.chars().all(|c| c.is_alphanumeric() || c == '_')
}
