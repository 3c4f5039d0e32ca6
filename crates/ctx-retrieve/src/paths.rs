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
    let (mut places, mut forms) = (Vec::new(), Vec::new());
    for (place, (end, files)) in ends.iter().zip(&found).enumerate() {
        if files.is_empty() {
            for form in other_forms(end) {
                places.push(place);
                forms.push(form);
            }
        }
    }
    if forms.is_empty() {
        return Ok(found);
    }
    let again = search.ending_with(&forms, limit).await?;
    for (place, files) in places.into_iter().zip(again) {
        if found[place].is_empty() {
            found[place] = files;
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
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;

    use super::*;
    use crate::ports::{Hit, TextQuery};

    /// Paths, and how often they were asked for.
    #[derive(Debug, Default)]
    struct Paths(Vec<String>, Mutex<usize>);

    #[async_trait]
    impl FileSearch for Paths {
        async fn passages(&self, _: &TextQuery) -> PortResult<Vec<Hit>> {
            Ok(Vec::new())
        }

        async fn ending_with(&self, ends: &[String], _: usize) -> PortResult<Vec<Vec<String>>> {
            *self.1.lock().unwrap() += 1;
            let is_it = |path: &&String, end: &String| path.ends_with(end.as_str());
            let files = ends.iter().map(|end| {
                let files = self.0.iter().filter(|it| is_it(it, end));
                files.cloned().collect()
            });
            Ok(files.collect())
        }
    }

    #[tokio::test]
    async fn a_path_is_found_in_either_form_and_its_own_first() {
        let [composed, decomposed] = ["notes/\u{fc}.md", "notes/u\u{308}.md"];
        for (kept, asked, times) in [
            (&[composed][..], composed, 1),
            (&[composed], decomposed, 2),
            (&[decomposed], composed, 2),
            (&[composed, decomposed], decomposed, 1),
        ] {
            let kept = kept.iter().map(|&it| it.to_owned()).collect();
            let store = Paths(kept, Mutex::default());
            let ends = ["notes/a.md".to_owned(), asked.to_owned()];
            let found = files_ending_with(&store, &ends, 2).await.unwrap();
            let expected: &str = if store.0.iter().any(|it| it == asked) {
                asked
            } else {
                &store.0[0]
            };
            assert_eq!(found, [vec![], vec![expected.to_owned()]], "{asked:?}");
            assert_eq!(*store.1.lock().unwrap(), times, "{asked:?}");
        }
    }
}
