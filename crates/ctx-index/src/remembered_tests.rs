#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tempfile::TempDir;

use super::*;
use crate::manifest::Changes;

fn manifest() -> (TempDir, Manifest) {
    let folder = tempfile::tempdir().unwrap();
    let manifest = Manifest::open(&folder.path().join("manifest.db")).unwrap();
    (folder, manifest)
}

fn uses(manifest: &Manifest, path: &str) -> u64 {
    let counts = manifest.uses(&[path.to_owned()]).unwrap();
    counts.get(path).copied().unwrap_or(0)
}

#[test]
fn a_vote_counts_once() {
    let (folder, manifest) = manifest();
    let vote = Vote::new("key", "a.rs", true, 1);
    assert!(manifest.vote(&vote).unwrap());
    for _ in 0..1_000 {
        assert!(!manifest.vote(&vote).unwrap());
    }
    assert_eq!(uses(&manifest, "a.rs"), 1);
    drop(manifest);
    let again = Manifest::open(&folder.path().join("manifest.db")).unwrap();
    assert!(!again.vote(&vote).unwrap(), "it is remembered");
}

#[test]
fn votes_move_uses_within_bounds() {
    let (_folder, manifest) = manifest();
    let vote = |n: u32, is_useful| {
        let vote = Vote::new(format!("{is_useful} {n}"), "a.rs", is_useful, 1);
        assert!(manifest.vote(&vote).unwrap());
        uses(&manifest, "a.rs")
    };
    assert_eq!(vote(0, false), 0);
    let up: Vec<u64> = (0..13).map(|n| vote(n, true)).collect();
    assert_eq!(up, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]);
    assert_eq!(vote(1, false), 9);
}

#[test]
fn a_vote_leaves_the_time_a_file_was_shown() {
    let (_folder, manifest) = manifest();
    manifest.shown(&["a.rs".to_owned()], 7).unwrap();
    manifest.vote(&Vote::new("key", "a.rs", true, 9)).unwrap();
    manifest.vote(&Vote::new("other", "b.rs", true, 9)).unwrap();
    assert_eq!(manifest.recent(5).unwrap(), [("a.rs".to_owned(), 7)]);
}

#[test]
fn a_state_changes_with_votes_and_generations_alone() {
    let (_folder, manifest) = manifest();
    assert_eq!(manifest.state().unwrap(), 0);
    manifest.shown(&["a.rs".to_owned()], 7).unwrap();
    manifest
        .append("t", &Message::new("1", "user", "hello", 1))
        .unwrap();
    assert_eq!(manifest.state().unwrap(), 0);
    manifest.vote(&Vote::new("key", "a.rs", true, 9)).unwrap();
    manifest.vote(&Vote::new("key", "a.rs", true, 9)).unwrap();
    assert_eq!(manifest.state().unwrap(), 1);
    manifest.commit(&Changes::default(), 5).unwrap();
    assert_eq!(manifest.state().unwrap(), 6);
}

#[test]
fn messages_keep_their_order_and_come_once() {
    let (_folder, manifest) = manifest();
    for id in ["1", "2", "2", "3"] {
        // The same second: their order is that in which they came.
        let message = Message::new(id, "user", "text", 5);
        manifest.append("t", &message).unwrap();
    }
    manifest
        .append("other", &Message::new("1", "user", "text", 5))
        .unwrap();
    let ids = |limit| -> Vec<String> {
        let messages = manifest.messages("t", limit).unwrap();
        messages.into_iter().map(|it| it.id).collect()
    };
    assert_eq!(ids(20), ["1", "2", "3"]);
    assert_eq!(ids(2), ["2", "3"]);
}

#[test]
fn what_is_pinned_is_pinned_once_until_it_is_not() {
    let (_folder, manifest) = manifest();
    for what in ["a.rs", "b.rs:1-2", "a.rs"] {
        manifest.pin("t", what).unwrap();
    }
    assert_eq!(manifest.pinned("t").unwrap(), ["a.rs", "b.rs:1-2"]);
    manifest.unpin("t", "a.rs").unwrap();
    manifest.unpin("t", "never").unwrap();
    assert_eq!(manifest.pinned("t").unwrap(), ["b.rs:1-2"]);
    assert!(manifest.pinned("other").unwrap().is_empty());
}
