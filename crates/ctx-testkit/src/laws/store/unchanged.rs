//! What changes nothing is no change.

use ctx_retrieve::{FileSearch, Generation, PartQuery};

use super::{corpus, wanted};

/// Checks that `again`, which stores anew, at a later time, what `store` holds as it is, or removes what it does not hold, leaves
/// the generation and all that is said of files, with when they were changed. Needs a `store` that holds [`corpus`].
///
/// # Panics
/// When the law does not hold.
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
