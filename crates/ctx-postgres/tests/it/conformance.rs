//! The suite of laws for every store, applied to this one.

use std::cell::Cell;

use ctx_model::UnixSeconds;
use ctx_postgres::{Added, Limits, OwnedStore, Store, StoreError, StoredMessage};
use ctx_retrieve::{FileSearch as _, Threads as _};
use ctx_testkit::laws::store as laws;

use crate::{fresh, texts};

pub(crate) async fn fill(store: &OwnedStore) {
    store.ingest(texts(laws::corpus())).await.unwrap();
    for message in laws::messages() {
        store.append(laws::THREAD, &message).await.unwrap();
    }
    for what in laws::PINNED {
        store.pin(laws::THREAD, what).await.unwrap();
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
async fn messages_and_pins_keep_the_laws_of_threads() {
    let fresh = fresh!();
    laws::threads(&fresh.owner("alice")).await;
}

#[tokio::test]
async fn storing_the_same_and_removing_nothing_change_nothing() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let at = |time| {
        let files = texts(laws::corpus()).into_iter();
        files
            .map(move |it| it.with_modified_at(UnixSeconds::new(time)))
            .collect()
    };
    store.ingest(at(1)).await.unwrap();
    laws::unchanged(&store, async || {
        store.ingest(at(2)).await.unwrap();
        store.ingest(Vec::new()).await.unwrap();
        for none in [&["nowhere.rs".to_owned()][..], &[]] {
            assert!(store.remove(none).await.unwrap().is_empty());
        }
    })
    .await;
}

#[tokio::test]
async fn a_file_that_was_removed_is_not_recent() {
    let fresh = fresh!();
    let store = &fresh.owner("alice");
    store.ingest(texts(laws::corpus())).await.unwrap();
    laws::removed(
        store,
        async |path| assert_eq!(store.remove(&[path.to_owned()]).await.unwrap().len(), 1),
        async |path, text| drop(store.ingest(texts([(path, text)])).await.unwrap()),
    )
    .await;
}

#[tokio::test]
async fn a_list_that_is_cut_is_as_long_as_any_may_be() {
    let fresh = fresh!();
    let files = (0..5).map(|it| (format!("{it}.rs"), "fn one() {}\n"));
    fresh.owner("alice").ingest(texts(files)).await.unwrap();
    let mut limits = Limits::default();
    limits.rows = 3;
    let store = Store::connect(&fresh.url, limits).await.unwrap();
    let store = store.owner("alice").unwrap();
    let found = store.definitions(&["one".to_owned()], 9).await.unwrap();
    assert_eq!((found[0].len(), store.longest_list()), (3, 3));
}

#[tokio::test]
async fn votes_count_once_for_as_long_as_they_are_to_be_remembered() {
    let fresh = fresh!();
    laws::votes(&fresh.owner("alice")).await;
    // The same keys of another owner are others.
    laws::votes(&fresh.owner("bob")).await;
}

#[tokio::test]
async fn it_keeps_text_of_any_kind() {
    let fresh = fresh!();
    let store = &fresh.owner("alice");
    let count = &Cell::new(0);
    let next = || {
        count.set(count.get() + 1);
        format!("t{}", count.get())
    };
    let begin = async |id: &str, title: Option<&str>, pinned: &[String]| {
        let begun = store.begin_thread(id, title, pinned, 1, u64::MAX).await;
        match begun {
            Ok(added) => assert_eq!(added, Added::Added),
            Err(error) => assert!(matches!(error, StoreError::Invalid { .. }), "{error}"),
        }
        let found = store.stored_thread(id).await.unwrap();
        found.map(|it| it.0)
    };
    laws::kept(async |id| Some(begin(id, None, &[]).await?.thread)).await;
    laws::kept(async |title| begin(&next(), Some(title), &[]).await?.title).await;
    let pinned = async |what: &str| begin(&next(), None, &[what.to_owned()]).await?.pinned.pop();
    laws::kept(pinned).await;
    laws::kept(async |content| {
        let id = next();
        let message = StoredMessage::new(&*id, "user", content, 1);
        store.add_message("t1", &message, u64::MAX).await.ok()?;
        Some(store.message("t1", &id).await.unwrap()?.content)
    })
    .await;
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

/// The paths of the files of [`laws::in_folders`], those that stay and those that go.
fn in_folders() -> (Vec<&'static str>, Vec<&'static str>) {
    let paths = laws::in_folders().into_iter().map(|it| it.0);
    let numbered = paths.enumerate();
    let (stay, go): (Vec<_>, Vec<_>) = numbered.partition(|(number, _)| number % 3 > 0);
    let path = |(_, path)| path;
    (
        stay.into_iter().map(path).collect(),
        go.into_iter().map(path).collect(),
    )
}

#[tokio::test]
async fn the_shared_store_keeps_the_laws_of_folders_for_each_owner_alone() {
    let fresh = fresh!();
    let (alice, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    let (stay, go) = in_folders();
    let all: Vec<&str> = laws::in_folders().into_iter().map(|it| it.0).collect();
    let bobs = ["docs/bob.md", "src/bob/a.rs", "src/_.rs"];
    alice.ingest(texts(laws::in_folders())).await.unwrap();
    laws::folders(&bob, &[]).await;
    bob.ingest(texts(bobs.map(|it| (it, "x")))).await.unwrap();
    laws::folders(&alice, &all).await;
    let go: Vec<String> = go.into_iter().map(str::to_owned).collect();
    assert_eq!(alice.remove(&go).await.unwrap().len(), go.len());
    // One that is stored anew is there once.
    let again = texts([(stay[0], "Something.\n")]);
    assert_eq!(alice.ingest(again).await.unwrap().stored, 1);
    laws::folders(&alice, &stay).await;
    laws::folders(&bob, &bobs).await;
}

#[tokio::test]
async fn it_gives_as_many_equals_as_are_asked_for() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    store.ingest(texts(laws::equal())).await.unwrap();
    laws::equals(&store).await;
}
