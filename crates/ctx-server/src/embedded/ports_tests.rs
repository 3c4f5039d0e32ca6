use std::cell::Cell;

use ctx_model::UnixSeconds;
use ctx_retrieve::Usefulness;
use ctx_testkit::laws::store as laws;

use super::*;
use crate::backend::{Backend as _, BackendError, NewFile, NewMessage, NewThread};
use crate::embedded::Embedded;
use crate::{Owner, Quota};

fn open() -> (tempfile::TempDir, State) {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    (folder, State(Arc::new(database)))
}

/// How many votes are remembered.
fn remembered(state: &State) -> i64 {
    let reader = state.0.reader();
    let count = reader.query_row("SELECT count(*) FROM votes", [], |row| row.get(0));
    count.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_shown_again_within_the_same_second_are_recorded_once() {
    let (_folder, state) = open();
    let changes = || crate::embedded::schema::changes(&state.0.contexts()).unwrap();
    let [one, both] =
        [&["a.rs"][..], &["a.rs", "b.rs"]].map(|it| it.iter().map(|it| (*it).to_owned()));
    let (one, both): (Vec<String>, Vec<String>) = (one.collect(), both.collect());
    state.shown(&one, UnixSeconds::new(7)).await.unwrap();
    let before = changes();
    for now in [7, 6] {
        state.shown(&one, UnixSeconds::new(now)).await.unwrap();
        assert_eq!(changes(), before);
    }
    state.shown(&both, UnixSeconds::new(7)).await.unwrap();
    assert_eq!(changes(), before + 1);
    state.shown(&one, UnixSeconds::new(8)).await.unwrap();
    let shown =
        [("a.rs", 8), ("b.rs", 7)].map(|(path, at)| (path.to_owned(), UnixSeconds::new(at)));
    assert_eq!(state.recent(10).await.unwrap(), shown);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_and_usage_keep_the_laws_of_every_store() {
    let (_folder, state) = open();
    let pinned = laws::PINNED.map(str::to_owned).to_vec();
    let id = laws::THREAD.to_owned();
    let thread = NewThread {
        id: Some(id.clone()),
        pinned,
        title: None,
    };
    let quota = Quota::default();
    state.0.create_thread(id.clone(), thread, &quota).unwrap();
    for said in laws::messages() {
        let new = NewMessage {
            id: None,
            role: said.role,
            content: said.content,
        };
        state.0.append(&id, said.id, new, &quota).unwrap();
    }
    laws::history(&state).await;
    laws::usage(&state).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_removed_is_not_recent() {
    let folder = tempfile::tempdir().unwrap();
    let backend = &Embedded::open(folder.path(), Quota::default()).unwrap();
    let owner = &Owner::new("ada").unwrap();
    let put = async |path: &str, content: &str| {
        let (path, content) = (path.to_owned(), content.to_owned());
        let file = NewFile { path, content };
        backend.ingest(owner, vec![file]).await.unwrap();
    };
    // A folder may have paths that may not be sent.
    let corpus = laws::corpus();
    for (path, text) in corpus.iter().filter(|it| it.0.starts_with("src/")) {
        put(path, text).await;
    }
    let store = backend.store(owner).await.unwrap();
    let state = State(Arc::clone(&store.database));
    let remove = async |path: &str| {
        let removed = backend.remove_files(owner, vec![path.to_owned()]).await;
        removed.unwrap();
    };
    laws::removed(&state, remove, put).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_text_of_any_kind() {
    let (_folder, State(database)) = open();
    let quota = Quota::default();
    let count = Cell::new(0);
    let next = || {
        count.set(count.get() + 1);
        format!("t{}", count.get())
    };
    let begin = |id: &str, title: Option<&str>, pinned: &[&str]| {
        let thread = NewThread {
            id: None,
            title: title.map(str::to_owned),
            pinned: pinned.iter().map(|&it| it.to_owned()).collect(),
        };
        match database.create_thread(id.to_owned(), thread, &quota) {
            Ok(_) => Some(database.thread_info(id).unwrap().thread),
            Err(error) => {
                assert!(matches!(error, BackendError::Invalid { .. }), "{error}");
                assert!(database.thread_info(id).is_err());
                None
            }
        }
    };
    laws::kept(async |id| Some(begin(id, None, &[])?.id)).await;
    laws::kept(async |title| begin(&next(), Some(title), &[])?.title).await;
    laws::kept(async |what| begin(&next(), None, &[what])?.pinned.pop()).await;
    laws::kept(async |what| {
        let set = database.pin("t1", vec![what.to_owned()]);
        let kept = database.pinned_to("t1").unwrap().pop();
        assert_eq!(set.is_ok(), kept.as_deref() == Some(what));
        set.ok().and(kept)
    })
    .await;
    laws::kept(async |content| {
        let new = NewMessage {
            id: None,
            role: "user".to_owned(),
            content: content.to_owned(),
        };
        database.append("t1", next(), new, &quota).ok()?;
        Some(database.last_messages("t1", 1).unwrap().pop()?.1.content)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn votes_count_once_for_as_long_as_they_are_to_be_remembered() {
    let (_folder, state) = open();
    laws::votes(&state).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_votes_are_kept_as_are_to_be_remembered_and_the_state_never_comes_back() {
    let (folder, state) = open();
    let day = 86_400;
    let vote = |number: i64, at| {
        Vote::new(
            format!("key {number}"),
            "a.rs",
            Usefulness::Useful,
            UnixSeconds::new(at),
        )
    };
    let burst: Vec<Vote> = (0..200).map(|it| vote(it, 0)).collect();
    assert_eq!(state.votes(&burst).await.unwrap(), 200);
    let mut last = state.0.last_vote().unwrap();
    for number in 1..=80 {
        // Every third vote comes from a clock that is a day late.
        let at = number * day - i64::from(number % 3 == 0) * day;
        let again = vote(1_000 + number, at);
        assert!(state.vote(&again).await.unwrap());
        let now = state.0.last_vote().unwrap();
        assert!(now > last, "a state for each vote");
        last = now;
    }
    assert!(remembered(&state) <= 35, "{}", remembered(&state));
    assert_eq!(
        state.counts(&["a.rs".to_owned()]).await.unwrap()["a.rs"],
        MOST_USES
    );
    drop(state);
    // The database is intact: forgotten votes are not reported as missing.
    let database = Database::open(folder.path()).unwrap();
    assert_eq!(database.last_vote().unwrap(), last);
}
