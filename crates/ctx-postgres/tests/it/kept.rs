//! Documents are cached, and never older than the search that returns them.

use ctx_model::UnixSeconds;
use ctx_postgres::{FileText, Limits, OwnedStore, Store};
use ctx_retrieve::{
    Feedback as _, Field, FileSearch as _, PartQuery, Relations as _, TextQuery, Usage as _,
    Usefulness, Vote,
};

use crate::fresh;
use crate::ranking::asked;
use crate::server::{Fresh, patient};

fn file(path: &str, name: &str, at: i64) -> FileText {
    let text =
        format!("/// About walruses.\nfn {name}() {{\n    walrus(tusk, {name}_again);\n}}\n");
    FileText::new(path, text).with_modified_at(UnixSeconds::new(at))
}

/// Everything that a store says of walruses.
async fn said(store: &OwnedStore) -> Vec<String> {
    let query = asked("walrus tusk of one two three", 20);
    let within = query
        .clone()
        .within(vec!["a.rs".to_owned(), "b.rs".to_owned()]);
    let mut said = Vec::new();
    for query in [query.clone(), query.clone().by_presence(), within] {
        said.push(format!("{:?}", store.passages(&query).await.unwrap()));
    }
    let fields = vec![(Field::Path, 1.0), (Field::Text, 1.0)];
    let of_files = TextQuery::new(query.terms, fields, 20);
    said.push(format!("{:?}", store.files(&of_files).await.unwrap()));
    let names = ["one", "two", "three", "walrus", "none"].map(str::to_owned);
    said.push(format!("{:?}", store.definitions(&names, 9).await.unwrap()));
    said.push(format!("{:?}", store.users_of(&names, 9).await.unwrap()));
    let files = ["a.rs", "b.rs", "c.rs"].map(PartQuery::new);
    said.push(format!("{:?}", store.parts_of(&files, 9).await.unwrap()));
    said
}

async fn other(url: &str, limits: Limits) -> OwnedStore {
    let store = Store::connect(url, limits).await.unwrap();
    store.owner("alice").unwrap()
}

#[tokio::test]
async fn files_written_by_another_process_are_found_by_the_next_search() {
    let fresh = fresh!();
    let (writer, reader) = (fresh.owner("alice"), other(&fresh.url, patient()).await);
    // Another owner has files at the same paths.
    let bob = fresh.owner("bob");
    bob.ingest(vec![file("a.rs", "bobs", 1)]).await.unwrap();
    let steps = [
        vec![file("a.rs", "one", 1), file("b.rs", "two", 1)],
        vec![file("a.rs", "three", 2)],
        vec![file("b.rs", "two_again", 3)],
        vec![file("c.rs", "one", 4), file("a.rs", "one", 4)],
    ];
    let mut before = said(&reader).await;
    for files in steps {
        writer.ingest(files).await.unwrap();
        let cold = other(&fresh.url, patient()).await;
        let wanted = said(&cold).await;
        assert_ne!(wanted, before);
        // The second time from what is kept.
        for _ in 0..2 {
            assert_eq!(said(&reader).await, wanted);
            let (request, _) = reader.opened("t", 9, 9).await.unwrap();
            assert_eq!(said(&request).await, wanted);
        }
        // Nobody knows yet how often the terms are there.
        let (request, _) = cold.opened("t", 9, 9).await.unwrap();
        assert_eq!(said(&request).await, wanted);
        before = wanted;
    }
    assert!(
        before[0].contains("modified_at: Some(UnixSeconds(3))"),
        "{before:?}"
    );
    assert!(!before.concat().contains("bobs"));
    writer.remove(&["a.rs".to_owned()]).await.unwrap();
    let after = said(&reader).await;
    assert!(!after.concat().contains("a.rs"), "{after:?}");
    assert!(said(&bob).await.concat().contains("bobs"));
}

#[tokio::test]
async fn a_request_is_no_older_than_its_beginning_whoever_writes_meanwhile() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let (mut last, mut before_it) = (Vec::new(), "one");
    for (at, name) in (1..).zip(["one", "two", "three", "one"]) {
        let (before, _) = store.opened("t", 9, 9).await.unwrap();
        store.ingest(vec![file("a.rs", name, at)]).await.unwrap();
        let (after, _) = store.opened("t", 9, 9).await.unwrap();
        // As it was, where that was kept, or as it is; and it is not kept for those who come after.
        let late = said(&before).await.concat();
        let either = [name, before_it].map(|it| late.contains(it));
        assert!(at == 1 || either.contains(&true), "{late}");
        let now = said(&after).await;
        assert_eq!(now, said(&store).await);
        assert_ne!(now, last);
        (last, before_it) = (now, name);
    }
}

#[tokio::test]
async fn counts_of_two_generations_are_not_mixed() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let files = |from: i64| (from..from + 8).map(|it| file(&format!("{it}.rs"), "one", it));
    store.ingest(files(0).collect()).await.unwrap();
    let (request, _) = store.opened("t", 9, 9).await.unwrap();
    request.passages(&asked("walrus", 50)).await.unwrap();
    let other_text = FileText::new("z.rs", "fn tusk() {}\n");
    let more = files(8).chain([other_text]).collect();
    fresh.owner("alice").ingest(more).await.unwrap();
    // One of the words is known as of before, the other is not known at all.
    let both = asked("walrus tusk", 50);
    let cold = other(&fresh.url, patient()).await;
    let wanted = cold.passages(&both).await.unwrap();
    for _ in 0..2 {
        assert_eq!(request.passages(&both).await.unwrap(), wanted);
    }
}

#[tokio::test]
async fn data_beyond_the_cache_is_read_again() {
    let fresh = fresh!();
    let files = (0..40).map(|it| file(&format!("{it}.rs"), "one", it));
    let files: Vec<FileText> = files.chain([file("a.rs", "two", 1)]).collect();
    fresh.owner("alice").ingest(files).await.unwrap();
    let wanted = said(&fresh.owner("alice")).await;
    for bytes in [0, 1 << 10, 16 << 10] {
        let limits = patient().with_kept_bytes(bytes);
        let small = other(&fresh.url, limits).await;
        for _ in 0..2 {
            assert_eq!(said(&small).await, wanted, "{bytes} bytes");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_ask_for_the_same_at_once_all_are_answered_whoever_goes_away() {
    let fresh = fresh!();
    let files = (0..40).map(|it| file(&format!("{it}.rs"), &format!("f{it}"), it));
    let store = fresh.owner("alice");
    store.ingest(files.collect()).await.unwrap();
    for round in 0..20 {
        let query = asked(&format!("walrus f{round}"), 50);
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let (store, query) = (store.clone(), query.clone());
                tokio::spawn(async move { store.passages(&query).await.unwrap().len() })
            })
            .collect();
        tokio::task::yield_now().await;
        tasks[round % 3].abort();
        for (number, task) in tasks.into_iter().enumerate() {
            match task.await {
                Ok(found) => assert!(found > 0),
                Err(error) => assert!(error.is_cancelled() && number == round % 3),
            }
        }
    }
}

#[tokio::test]
async fn cached_terms_and_files_are_not_queried_again() {
    let Some(fresh) = Fresh::logged().await else {
        return;
    };
    let store = fresh.owner("alice");
    let files = ["seal", "otter", "bear"].map(|it| file(&format!("{it}.rs"), it, 1));
    store.ingest(files.into()).await.unwrap();
    let paths = ["seal.rs", "otter.rs", "none.rs"].map(str::to_owned);
    store.shown(&paths[..2], UnixSeconds::new(7)).await.unwrap();
    // What a request sends that has one of these in it.
    let told = ["LEFT JOIN counted", "unnest($1::tsquery[])", "u.uses"];
    let asks = async |words: &str| {
        let before = fresh.server.log().len();
        let (request, _) = store.opened("t", 9, 9).await.unwrap();
        let found = request.passages(&asked(words, 9)).await.unwrap();
        let presence = asked(words, 9).by_presence();
        let present = request.passages(&presence).await.unwrap();
        assert_eq!(found.len(), present.len());
        let counts = request.counts(&paths).await.unwrap();
        let recent = request.recent(9).await.unwrap();
        assert_eq!(
            recent,
            ["seal.rs", "otter.rs"].map(|it| (it.to_owned(), UnixSeconds::new(7)))
        );
        let later = fresh.server.log().split_off(before);
        let sent = told.map(|it| later.matches(it).count());
        (found.len(), counts.into_values().sum::<u64>(), sent)
    };
    assert_eq!(asks("seal otter").await, (2, 0, [1, 0, 1]));
    assert_eq!(asks("otter seal").await, (2, 0, [0, 0, 0]));
    assert_eq!(
        asks("bear otter").await,
        (2, 0, [1, 0, 0]),
        "one term is new"
    );
    let vote = Vote::new("v", "seal.rs", Usefulness::Useful, UnixSeconds::new(1));
    assert!(store.vote(&vote).await.unwrap());
    assert_eq!(asks("seal otter").await, (2, 1, [0, 0, 1]), "another state");
    store
        .ingest(vec![file("more.rs", "seal", 1)])
        .await
        .unwrap();
    assert_eq!(asks("seal otter").await, (3, 1, [1, 0, 1]), "other files");
}
