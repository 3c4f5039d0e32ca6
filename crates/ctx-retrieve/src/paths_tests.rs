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
