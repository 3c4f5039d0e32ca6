//! Paths whose characters are written in another way.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use crate::ports::{FileSearch, PortResult};

/// As [`FileSearch::ending_with`]. An end that no file has is looked up once more in the other
/// normal forms of Unicode: macOS gives names of files decomposed (`u` and a diaeresis), and
/// keyboards write them composed (`ü`).
///
/// # Errors
/// Those of the store.
pub async fn files_ending_with(
    search: &dyn FileSearch,
    ends: &[String],
    limit: usize,
) -> PortResult<Vec<Vec<String>>> {
    let mut found = search.ending_with(ends, limit).await?;
    let (places, forms) = others_of(ends, &found);
    if !forms.is_empty() {
        let again = search.ending_with(&forms, limit).await?;
        fill(&mut found, places, again);
    }
    Ok(found)
}

/// As [`FileSearch::below`], in the other normal forms of Unicode too, as [`files_ending_with`].
///
/// # Errors
/// Those of the store.
pub(crate) async fn files_below(
    search: &dyn FileSearch,
    folders: &[String],
    limit: usize,
) -> PortResult<Vec<Vec<String>>> {
    let mut found = search.below(folders, limit).await?;
    let (places, forms) = others_of(folders, &found);
    if !forms.is_empty() {
        let again = search.below(&forms, limit).await?;
        fill(&mut found, places, again);
    }
    Ok(found)
}

/// The other forms of those of `asked` for which nothing is `found`, and the place of each there.
fn others_of(asked: &[String], found: &[Vec<String>]) -> (Vec<usize>, Vec<String>) {
    let without = asked.iter().zip(found).enumerate();
    let without = without.filter(|(_, (_, files))| files.is_empty());
    let forms = without
        .flat_map(|(place, (text, _))| other_forms(text).into_iter().map(move |it| (place, it)));
    forms.unzip()
}

/// Puts what was found `again` at its place, where nothing was `found` before.
fn fill(found: &mut [Vec<String>], places: Vec<usize>, again: Vec<Vec<String>>) {
    for (place, files) in places.into_iter().zip(again) {
        if found[place].is_empty() {
            found[place] = files;
        }
    }
}

/// The composed and the decomposed form of `text`, without those that it has. O(bytes of `text`).
fn other_forms(text: &str) -> Vec<String> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut forms = vec![text.nfc().collect(), text.nfd().collect()];
    forms.retain(|it: &String| it != text);
    forms
}

/// Whether `path` is the one that is `asked` for, in any normal form of Unicode. O(bytes).
pub fn is_same_path(asked: &str, path: &str) -> bool {
    asked == path || !asked.is_ascii() && asked.nfc().eq(path.nfc())
}

/// `path` as paths are compared: composed. O(bytes).
pub(crate) fn composed(path: &str) -> Cow<'_, str> {
    if path.is_ascii() {
        path.into()
    } else {
        path.nfc().collect()
    }
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
