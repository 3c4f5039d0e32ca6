//! Files below folders, beyond the laws of all stores.

use ctx_postgres::{FileText, OwnedStore};
use ctx_retrieve::FileSearch as _;

use crate::server::raw;
use crate::{fresh, texts};

/// So many folders above a file are looked at.
const NEAREST: usize = 64;

async fn below(store: &OwnedStore, folder: &str, limit: usize) -> Vec<String> {
    let found = store.below(&[folder.to_owned()], limit).await.unwrap();
    found.concat()
}

#[tokio::test]
async fn letters_of_any_script_are_compared_in_lower_case() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let paths = ["Übung/ΔΟΜΗ/ΣΑΣ/İ.rs", "設定/🦀/a.rs", "ẞ/Ⱥ/b.rs"];
    store
        .ingest(texts(paths.map(|it| (it, "x"))))
        .await
        .unwrap();
    for (folder, path) in [
        ("übung", paths[0]),
        ("ÜBUNG/δομη/ΣΑΣ", paths[0]),
        ("🦀", paths[1]),
        ("設定/🦀", paths[1]),
        ("ß/ⱥ", paths[2]),
    ] {
        assert_eq!(below(&store, folder, 9).await, [path], "{folder}");
    }
    assert!(below(&store, "bung", 9).await.is_empty());
}

#[tokio::test]
async fn of_a_file_below_very_many_folders_the_nearest_are_looked_at() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let folders: Vec<String> = (0..280).map(|it| format!("{it}")).collect();
    // In lower case the second is longer than any key may be.
    let (deep, long) = (
        folders.join("/") + "/a",
        format!("x/{}/y/a", "Ⱥ".repeat(500)),
    );
    assert!(deep.len() > 1_000 && deep.len() <= 1_024);
    let files = texts([(deep.as_str(), "x"), (long.as_str(), "x")]);
    let ingested = store.ingest(files).await.unwrap();
    assert_eq!(ingested.skipped, []);
    let nearest = folders.len() - NEAREST;
    for (at, folder) in folders.iter().enumerate() {
        let is_found = below(&store, folder, 9).await == [deep.as_str()];
        assert_eq!(is_found, at >= nearest, "{folder}");
    }
    assert_eq!(below(&store, "y", 9).await, [long.as_str()]);
    store.remove(&[deep, long]).await.unwrap();
    let left = raw(&fresh.url).await;
    let left = left
        .query_one("SELECT count(*) FROM ctx.endings", &[])
        .await;
    assert_eq!(left.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn no_more_is_read_than_is_asked_for() {
    let fresh = fresh!();
    for owner in ["alice", "bob"] {
        let file = |it: usize| FileText::new(format!("src/{}/{it:04}.rs", it % 7), "x");
        let files = (0..2_000).map(file).collect();
        fresh.owner(owner).ingest(files).await.unwrap();
    }
    let mut client = raw(&fresh.url).await;
    let transaction = client.transaction().await.unwrap();
    let settings = "SET LOCAL ROLE ctx_app; SET LOCAL ctx.owner = 'alice'";
    transaction.batch_execute(settings).await.unwrap();
    let asked = "SELECT count(*) FROM ctx.files_below(ARRAY['src', 'src/3', 'nowhere'], 10)";
    let found = transaction.query_one(asked, &[]).await.unwrap();
    assert_eq!(found.get::<_, i64>(0), 20);
    let read =
        "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint FROM pg_stat_xact_all_tables
                WHERE schemaname = 'ctx'";
    let read = transaction.query_one(read, &[]).await.unwrap();
    assert!(read.get::<_, i64>(0) <= 20, "{read:?}");
}
