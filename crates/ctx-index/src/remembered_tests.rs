#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ctx_model::UnixSeconds;
use ctx_retrieve::Usefulness;
use tempfile::TempDir;

use super::*;

fn remembered() -> (TempDir, Remembered) {
    // In memory if possible: otherwise each change waits for the disk.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.unwrap();
    let remembered = reopened(&folder);
    (folder, remembered)
}

fn reopened(folder: &TempDir) -> Remembered {
    let (remembered, loss) = Remembered::open(folder.path()).unwrap();
    assert_eq!(loss, None);
    remembered
}

fn uses(remembered: &Remembered, path: &str) -> u64 {
    let counts = remembered.uses(&[path.to_owned()]).unwrap();
    counts.get(path).copied().unwrap_or(0)
}

#[test]
fn a_vote_counts_once() {
    let (folder, remembered) = remembered();
    let vote = Vote::new("key", "a.rs", Usefulness::Useful, UnixSeconds::new(1));
    assert!(remembered.vote(&vote).unwrap());
    for _ in 0..1_000 {
        assert!(!remembered.vote(&vote).unwrap());
    }
    assert_eq!(uses(&remembered, "a.rs"), 1);
    drop(remembered);
    let again = reopened(&folder);
    assert!(!again.vote(&vote).unwrap(), "it is remembered");
}

#[test]
fn votes_move_uses_within_bounds() {
    let (_folder, remembered) = remembered();
    let vote = |n: u32, is_useful: bool| {
        let vote = Vote::new(
            format!("{is_useful} {n}"),
            "a.rs",
            is_useful.into(),
            UnixSeconds::new(1),
        );
        assert!(remembered.vote(&vote).unwrap());
        uses(&remembered, "a.rs")
    };
    assert_eq!(vote(0, false), 0);
    let up: Vec<u64> = (0..13).map(|n| vote(n, true)).collect();
    assert_eq!(up, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]);
    assert_eq!(vote(1, false), 9);
}

#[test]
fn a_vote_leaves_the_time_a_file_was_shown() {
    let (_folder, remembered) = remembered();
    remembered
        .shown(&["a.rs".to_owned()], UnixSeconds::new(7))
        .unwrap();
    remembered
        .vote(&Vote::new(
            "key",
            "a.rs",
            Usefulness::Useful,
            UnixSeconds::new(9),
        ))
        .unwrap();
    remembered
        .vote(&Vote::new(
            "other",
            "b.rs",
            Usefulness::Useful,
            UnixSeconds::new(9),
        ))
        .unwrap();
    assert_eq!(
        remembered.recent(5).unwrap(),
        [("a.rs".to_owned(), UnixSeconds::new(7))]
    );
}

#[test]
fn of_a_file_that_is_gone_and_was_of_no_use_nothing_is_remembered() {
    let (folder, remembered) = remembered();
    let rows = || {
        let connection = remembered.lock();
        let mut rows = connection.prepare("SELECT path FROM usage ORDER BY path");
        let rows = rows.as_mut().unwrap().query_map([], |row| row.get(0));
        rows.unwrap().map(Result::unwrap).collect::<Vec<String>>()
    };
    let gone = ["a.rs", "b.rs", "c.rs"].map(str::to_owned);
    remembered.shown(&gone, UnixSeconds::new(7)).unwrap();
    remembered
        .vote(&Vote::new(
            "key",
            "b.rs",
            Usefulness::Useful,
            UnixSeconds::new(9),
        ))
        .unwrap();
    // A vote against a file that was never shown, like those that earlier versions left.
    let against = Vote::new("other", "d.rs", Usefulness::NotUseful, UnixSeconds::new(9));
    remembered.vote(&against).unwrap();
    remembered.moved(&[], &gone[..2]).unwrap();
    assert_eq!(rows(), ["b.rs", "c.rs"]);
    assert_eq!(uses(&remembered, "b.rs"), 1);
    remembered
        .moved(&[("c.rs".to_owned(), "e.rs".to_owned())], &gone[2..])
        .unwrap();
    assert_eq!(rows(), ["b.rs", "e.rs"]);
    drop(remembered);
    reopened(&folder);
}

#[test]
fn votes_are_counted_and_nothing_else_is() {
    let (_folder, remembered) = remembered();
    assert_eq!(remembered.votes().unwrap(), 0);
    remembered
        .shown(&["a.rs".to_owned()], UnixSeconds::new(7))
        .unwrap();
    remembered
        .append(
            "t",
            &Message::new("1", "user", "hello", UnixSeconds::new(1)),
        )
        .unwrap();
    assert_eq!(remembered.votes().unwrap(), 0);
    remembered
        .vote(&Vote::new(
            "key",
            "a.rs",
            Usefulness::Useful,
            UnixSeconds::new(9),
        ))
        .unwrap();
    remembered
        .vote(&Vote::new(
            "key",
            "a.rs",
            Usefulness::Useful,
            UnixSeconds::new(9),
        ))
        .unwrap();
    assert_eq!(remembered.votes().unwrap(), 1);
}

#[test]
fn messages_keep_their_order_and_come_once() {
    let (_folder, remembered) = remembered();
    for id in ["1", "2", "2", "3"] {
        // All in the same second: the order is that of arrival.
        let message = Message::new(id, "user", "text", UnixSeconds::new(5));
        remembered.append("t", &message).unwrap();
    }
    remembered
        .append(
            "other",
            &Message::new("1", "user", "text", UnixSeconds::new(5)),
        )
        .unwrap();
    let ids = |limit| -> Vec<String> {
        let messages = remembered.messages("t", limit).unwrap();
        messages.into_iter().map(|it| it.id).collect()
    };
    assert_eq!(ids(20), ["1", "2", "3"]);
    assert_eq!(ids(2), ["2", "3"]);
}

#[test]
fn a_pin_is_kept_once_until_it_is_removed() {
    let (_folder, remembered) = remembered();
    for what in ["a.rs", "b.rs:1-2", "a.rs"] {
        remembered.pin("t", what).unwrap();
    }
    assert_eq!(remembered.pinned("t").unwrap(), ["a.rs", "b.rs:1-2"]);
    remembered.unpin("t", "a.rs").unwrap();
    remembered.unpin("t", "never").unwrap();
    assert_eq!(remembered.pinned("t").unwrap(), ["b.rs:1-2"]);
    assert!(remembered.pinned("other").unwrap().is_empty());
}
