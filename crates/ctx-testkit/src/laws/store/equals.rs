//! As many equals as are asked for.

use std::collections::BTreeSet;

use ctx_retrieve::{FileSearch, Hit, Relations};

use super::wanted;

/// More than are ever asked for, with those that a store may look at besides.
const FILES: usize = 1_100;
/// What is asked for, ascending; stores may give no more than the last.
const LIMITS: [usize; 8] = [1, 63, 64, 65, 200, 500, 936, 1_000];

/// Files, by path, that define and use the same names: what a store must hold for [`equals`].
pub fn equal() -> Vec<(String, &'static str)> {
    let path = |n| format!("src/{n:04}.rs");
    (0..FILES)
        .map(|n| (path(n), "pub fn begin() {\n    finish();\n}\n"))
        .collect()
}

/// Checks that `store`, which has the files of [`equal`] and no others, gives as many parts as are asked for, though each is as
/// good as any other, and first those that it gives where fewer are asked for.
///
/// # Panics
/// When a law does not hold.
pub async fn equals<S: FileSearch + Relations + ?Sized>(store: &S) {
    let begin = ["begin".to_owned()];
    let finish = ["finish".to_owned()];
    are_as_many(async |limit| {
        store
            .definitions(&begin, limit)
            .await
            .expect("definitions")
            .concat()
    })
    .await;
    are_as_many(async |limit| {
        store
            .users_of(&finish, limit)
            .await
            .expect("users")
            .concat()
    })
    .await;
    are_as_many(async |limit| store.similar(&begin, limit).await.expect("names")).await;
    are_as_many(async |limit| {
        let query = wanted(&[("begin", 1.0)], limit);
        store.passages(&query).await.expect("passages")
    })
    .await;
}

async fn are_as_many(found: impl AsyncFn(usize) -> Vec<Hit>) {
    let mut all: Vec<Hit> = Vec::new();
    for limit in LIMITS {
        let found = found(limit).await;
        assert_eq!(found.len(), limit, "of {FILES}");
        assert!(found[..all.len()] == all, "the first of {limit}");
        all = found;
    }
    let paths: BTreeSet<&str> = all.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths.len(), all.len(), "each once");
}
