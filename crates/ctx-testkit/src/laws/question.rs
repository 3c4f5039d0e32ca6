//! Laws of the analysis of questions.

use ctx_rank::{Analyzer, MOST_TERMS, Query, Term};

/// Checks what is read of a question, whatever it says:
///
/// * it is read the same way each time;
/// * its terms are few, weigh something, and are in the order of their weights;
/// * lines are counted from 1, paths are relative, and names of files and folders are of one part;
/// * its words lie in the text, in order.
///
/// # Panics
/// If it does not hold.
#[track_caller]
pub fn question(text: &str) {
    let query = Query::analyse(text);
    assert_eq!(query, Query::analyse(text), "{text:?}, again");
    for terms in [&query.terms, &query.title] {
        assert!(terms.len() <= MOST_TERMS, "{} terms", terms.len());
        let is_one = |it: &Term| it.weight.is_finite() && it.weight > 0.0 && !it.text.is_empty();
        assert!(terms.iter().all(is_one), "{terms:?}");
        let order = |a: &Term, b: &Term| {
            a.weight > b.weight || a.weight.total_cmp(&b.weight).is_eq() && a.text < b.text
        };
        assert!(terms.is_sorted_by(order), "{terms:?}");
    }
    let its = &query.mentions;
    let of_files = its.files.iter().map(|it| it.line);
    let mut lines = of_files
        .chain(its.frames.iter().map(|it| it.line))
        .flatten();
    assert!(lines.all(|line| line > 0), "{query:?}");
    let is_relative = |path: &str| !path.is_empty() && !path.starts_with('/');
    assert!(its.files.iter().all(|it| is_relative(&it.path)), "{its:?}");
    let is_last = |name: &str, last: &str| name.ends_with(last);
    assert!(
        its.names.iter().all(|it| is_last(&it.text, &it.last)),
        "{its:?}"
    );
    let mut folders = its.folders.iter().flat_map(|it| it.split('/'));
    assert!(folders.all(|name| !name.is_empty()), "{its:?}");
    let is_name = |name: &str| !name.is_empty() && !name.contains('/');
    assert!(its.file_names.iter().all(|it| is_name(it)), "{its:?}");
    let spaced = &its.spaced_names;
    let is_short = |name: &String| !name.is_empty() && name.len() <= 200;
    assert!(
        spaced.len() <= 32 && spaced.iter().all(is_short),
        "{spaced:?}"
    );
    let has_paths = !its.files.is_empty() || !its.file_names.is_empty() || !its.patterns.is_empty();
    let is_quoted = !its.phrases.is_empty() || query.text.contains("[[");
    let has_names =
        !its.names.is_empty() || is_quoted && its.spaced_names.iter().any(|it| it.len() > 1);
    let is_empty = query.terms.is_empty() && !has_names && !has_paths;
    assert_eq!(query.is_empty(), is_empty, "{query:?}");
    words(text);
}

#[track_caller]
fn words(text: &str) {
    let mut last = 0;
    Analyzer::default().words(text, &mut |term, _, bytes| {
        assert!(
            !term.is_empty() && !text[bytes.clone()].is_empty(),
            "{bytes:?} of {text:?}"
        );
        assert!(last <= bytes.start, "{bytes:?} comes after {last}");
        last = bytes.start;
    });
}
