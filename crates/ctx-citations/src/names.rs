//! Names of code and words of prose, by which `kept in arr[1]` and `follows the moon[1]` are told
//! apart.

use std::collections::BTreeSet;

use crate::cited::Cited;
use crate::lists::code_of;
use crate::prose::is_prose;

/// The names that code indexes, as `arr[0]` does: code of `answer`, and files of `sources` that are
/// not prose. In marks of code a name alone is one as well. O(bytes).
pub(crate) fn indexed_names<'t>(
    answer: &'t str,
    sources: impl Iterator<Item = &'t Cited>,
) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    for code in code_of(answer) {
        names.extend(indexed(code.text));
        if code.is_span && code.text.chars().all(is_of_name) {
            names.insert(code.text);
        }
    }
    for source in sources.filter(|it| is_code(it)) {
        names.extend(indexed(&source.shown.text));
    }
    names
}

/// The words of `cited` in lower case where it may be prose, but for those that it indexes.
/// O(bytes).
pub(crate) fn words_of_prose(cited: &Cited) -> BTreeSet<String> {
    if is_code(cited) {
        return BTreeSet::new();
    }
    let text = &cited.shown.text;
    let names: BTreeSet<&str> = indexed(text).collect();
    let words = text.split(|c| !is_of_name(c));
    let words = words.filter(|it| !it.is_empty() && !names.contains(it));
    words.map(str::to_lowercase).collect()
}

/// Whether it is a file of anything but prose. What has no path may be prose.
fn is_code(cited: &Cited) -> bool {
    cited.metadata.path.is_some() && !is_prose(cited)
}

/// The names right before a square bracket.
fn indexed(text: &str) -> impl Iterator<Item = &str> {
    let name = |(at, _): (usize, &str)| text[..at].rsplit(|c| !is_of_name(c)).next();
    let names = text.match_indices('[').filter_map(name);
    names.filter(|it| !it.is_empty())
}

/// Whether `c` may be in a name of code.
pub(crate) fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
