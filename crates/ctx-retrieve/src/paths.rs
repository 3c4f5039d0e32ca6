//! Paths whose characters are written in another way.

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
    let (mut indices, mut forms) = (Vec::new(), Vec::new());
    for (index, (end, files)) in ends.iter().zip(&found).enumerate() {
        if files.is_empty() {
            for form in other_forms(end) {
                indices.push(index);
                forms.push(form);
            }
        }
    }
    if forms.is_empty() {
        return Ok(found);
    }
    let again = search.ending_with(&forms, limit).await?;
    for (index, files) in indices.into_iter().zip(again) {
        if found[index].is_empty() {
            found[index] = files;
        }
    }
    Ok(found)
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

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
