//! One suite for every store: the embedded one and this one.

use std::fs;
use std::ops::ControlFlow;

use ctx_index::{Index, Options};
use ctx_postgres::OwnedStore;
use ctx_testkit::laws::store as laws;

use crate::{fresh, texts};

pub(crate) async fn fill(store: &OwnedStore) {
    store.ingest(texts(laws::corpus())).await.unwrap();
    for message in laws::messages() {
        assert!(store.append(laws::THREAD, &message).await.unwrap());
    }
    for what in laws::PINNED {
        assert!(store.pin(laws::THREAD, what).await.unwrap());
    }
}

#[tokio::test]
async fn the_shared_store_keeps_the_laws_of_stores() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    fill(&store).await;
    laws::store(&store).await;
}

#[tokio::test]
async fn it_keeps_them_among_the_files_of_another_owner() {
    let fresh = fresh!();
    let other = fresh.owner("bob");
    fill(&other).await;
    other.ingest(texts(laws::canaries("quokka"))).await.unwrap();
    let store = fresh.owner("alice");
    fill(&store).await;
    laws::store(&store).await;
}

#[tokio::test]
async fn the_embedded_store_keeps_the_laws_of_stores() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in laws::corpus() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let at = tempfile::tempdir().unwrap();
    let (index, _) = Index::open(folder.path(), at.path(), Options::default()).unwrap();
    index.update(&mut |_| ControlFlow::Continue(())).unwrap();
    let manifest = rusqlite::Connection::open(at.path().join("manifest.db")).unwrap();
    for (seq, it) in (1_i64..).zip(&laws::messages()) {
        let sql = "INSERT INTO messages (thread, seq, id, role, content, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let row = (
            laws::THREAD,
            seq,
            &it.id,
            &it.role,
            &it.content,
            it.created_at,
        );
        manifest.execute(sql, row).unwrap();
    }
    for (seq, what) in (1_i64..).zip(laws::PINNED) {
        let sql = "INSERT INTO pinned (thread, seq, what) VALUES (?1, ?2, ?3)";
        manifest.execute(sql, (laws::THREAD, seq, what)).unwrap();
    }
    laws::store(&index).await;
}
