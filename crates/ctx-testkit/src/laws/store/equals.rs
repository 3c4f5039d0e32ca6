//! Searches with many equal results return as many as requested.

use std::collections::BTreeSet;

use ctx_retrieve::{FileSearch, Hit, Relations};

use super::wanted;

/// More files than are ever requested, plus those that a store may examine in addition.
const FILES: usize = 1_100;
/// The limits requested, ascending; stores need not return more than the last.
const LIMITS: [usize; 8] = [1, 63, 64, 65, 200, 500, 936, 1_000];

/// The files, by path, that a store must hold for [`equals`]: they define and use the same names.
pub fn equal() -> Vec<(String, &'static str)> {
    let path = |n| format!("src/{n:04}.rs");
    (0..FILES)
        .map(|n| (path(n), "pub fn begin() {\n    finish();\n}\n"))
        .collect()
}

/// Checks that `store`, which must have the files of [`equal`] and no others, returns as many parts
/// as requested, though all are equally good, and that a larger limit returns those of a smaller
/// limit first.
///
/// # Panics
/// If a law does not hold.
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
