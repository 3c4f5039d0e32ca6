//! Writes that change nothing do not count as changes.

use ctx_retrieve::{FileSearch, Generation, PartQuery};

use super::{corpus, wanted};

/// Checks that `again`, which stores the present contents of `store` again at a later time, or
/// removes files that it does not have, changes neither the generation nor anything returned about
/// files, including their times of change. Needs a `store` that holds [`corpus`].
///
/// # Panics
/// If the law does not hold.
pub async fn unchanged<S: FileSearch + Generation + ?Sized>(store: &S, again: impl AsyncFn()) {
    let files: Vec<PartQuery> = corpus()
        .into_iter()
        .map(|it| PartQuery::new(it.0))
        .collect();
    let said = async || {
        let generation = store.generation().await.expect("a generation");
        let parts = store.parts_of(&files, 10).await.expect("parts");
        let hits = store.passages(&wanted(&[("config", 1.0)], 10)).await;
        (generation, parts, hits.expect("a search"))
    };
    let before = said().await;
    again().await;
    assert_eq!(said().await, before);
}
