//! Names in code and words of prose, by which `kept in arr[1]` and `follows the moon[1]` are
//! distinguished.

use std::collections::BTreeSet;

use crate::cited::Cited;
use crate::lists::code_of;
use crate::prose::is_prose;

/// The names that are indexed in code, as in `arr[0]`: in code of `answer`, and in those files of
/// `sources` that are not prose. A name alone within code marks counts, too. O(bytes).
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

/// The words of `cited` in lower case if it may be prose, except those that it indexes. O(bytes).
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

/// Whether it is a file other than prose. A source without a path may be prose.
fn is_code(cited: &Cited) -> bool {
    cited.metadata.path.is_some() && !is_prose(cited)
}

/// The names directly before a square bracket.
fn indexed(text: &str) -> impl Iterator<Item = &str> {
    let name = |(at, _): (usize, &str)| text[..at].rsplit(|c| !is_of_name(c)).next();
    let names = text.match_indices('[').filter_map(name);
    names.filter(|it| !it.is_empty())
}

/// Whether `c` may be in a name of code.
pub(crate) fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
