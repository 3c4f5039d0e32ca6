//! The shape of an id: which other texts would be ids of the same kind.

use std::collections::BTreeSet;

use crate::label::is_label;

/// Stands for a number.
const NUMBER: char = '\0';
/// Stands for a hexadecimal digit of a code.
const DIGIT: char = '\u{1}';
/// The fewest hexadecimal digits of a code: fewer are a word or a number.
const LEAST_CODE: usize = 8;
/// Numbers with more digits are years and counts, unless an id is as long.
const LONGEST_COUNTED: usize = 3;

/// The shapes of the ids of a context. Labels are not included: they have a form of their own.
#[derive(Debug)]
pub(crate) struct Shapes {
    all: BTreeSet<String>,
    /// The most digits of an id that is only a number.
    most_digits: usize,
}

impl Shapes {
    /// O(bytes).
    pub(crate) fn of<'i>(ids: impl Iterator<Item = &'i str>) -> Self {
        let (mut all, mut most_digits) = (BTreeSet::new(), LONGEST_COUNTED);
        for id in ids.filter(|it| !is_label(it)) {
            all.extend(shapes(id));
            if is_number(id) {
                most_digits = most_digits.max(id.len());
            }
        }
        Shapes { all, most_digits }
    }

    /// Whether `text` equals one of the ids except for its numbers or the digits of its hexadecimal
    /// code, in either case. A bare number has at most three digits, or as many as one of the ids.
    /// O(bytes).
    pub(crate) fn fit(&self, text: &str) -> bool {
        let is_other = is_number(text) && text.len() > self.most_digits;
        !is_other && shapes(text).any(|it| self.all.contains(&it))
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The last id of a range of ids that each end in a number, and the ids between `first` and it:
/// `4`, and `2` and `3`, for `1` and `4`; `doc-3`, and `doc-2`, for `doc-1` and `3`. If one number
/// begins with a zero, both have the same number of digits. `None` if it is not a range, or more
/// than `most` ids are between.
pub(crate) fn following<'i>(
    first: &'i str,
    last: &str,
    most: usize,
) -> Option<(String, impl Iterator<Item = String> + use<'i>)> {
    let name = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let (from, to) = (
        &first[name.len()..],
        last.strip_prefix(name).unwrap_or(last),
    );
    let is_padded = [from, to]
        .iter()
        .any(|it| it.len() > 1 && it.starts_with('0'));
    if is_label(first) || !is_number(to) || is_padded && from.len() != to.len() {
        return None;
    }
    let width = if is_padded { from.len() } else { 0 };
    let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
    let between = from.checked_add(1)?..to;
    if from >= to || between.len() > most {
        return None;
    }
    let id = move |number: u32| format!("{name}{number:0width$}");
    Some((id(to), between.map(id)))
}

fn shapes(id: &str) -> impl Iterator<Item = String> {
    numbered(id).into_iter().chain(coded(id))
}

/// `id` with each number replaced by one mark; `None` if it has none.
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

/// `id` with a mark for each hexadecimal digit of its words that consist only of such digits, if
/// together these are a code: a UUID, a hash, or one with a name before it.
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

/// Whether `id` may also be a number or a name in code: an index such as `arr[1]` is no citation.
pub(crate) fn may_be_code(id: &str) -> bool {
    id.chars().all(|c| c.is_alphanumeric() || c == '_')
}
