//! Remembered data: it survives everything that can be rebuilt, and is never removed.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_index::Index;
use ctx_model::UnixSeconds;
use ctx_retrieve::{
    Feedback as _, History as _, Message, References as _, Threads as _, Usage as _, Usefulness,
    Vote,
};
use ctx_testkit::disk::files_below;

use crate::{Fixture, block_on, contents, definitions, function, rebuilt, update};

/// Uses, messages, pins and votes.
pub(crate) fn remember(index: &Index) {
    let paths = ["a.rs", "b.rs", "c.md"].map(str::to_owned);
    block_on(async {
        index.shown(&paths, UnixSeconds::new(5)).await.unwrap();
        for number in 0..40_i64 {
            let text = format!("message {number} of a thread");
            let message = Message::new(number.to_string(), "user", text, UnixSeconds::new(number));
            index.append("thread", &message).await.unwrap();
        }
        for what in ["a.rs:1-2", "b.rs", "gone.rs"] {
            index.pin("thread", what).await.unwrap();
        }
        index.unpin("thread", "gone.rs").await.unwrap();
        for number in 0..7 {
            let vote = Vote::new(
                format!("key {number}"),
                "b.rs",
                Usefulness::Useful,
                UnixSeconds::new(number),
            );
            assert!(index.vote(&vote).await.unwrap());
        }
    });
}

/// All of it, in lines.
pub(crate) fn remembered(index: &Index) -> String {
    let paths = ["a.rs", "b.rs", "c.md"].map(str::to_owned);
    block_on(async {
        let recent = index.recent(100).await.unwrap();
        let counts = index.counts(&paths).await.unwrap();
        let messages = index.messages("thread", 100).await.unwrap();
        let pinned = index.pinned("thread").await.unwrap();
        format!("{recent:?}\n{counts:?}\n{messages:?}\n{pinned:?}")
    })
}

/// Removes what can be made again.
fn remove(folder: &Path) {
    fs::remove_dir_all(folder.join("text")).unwrap();
    fs::remove_file(folder.join("manifest.db")).unwrap();
}

/// A vote that was counted is not counted again.
fn has_votes(index: &Index) -> bool {
    (0..7).all(|number| {
        let vote = Vote::new(
            format!("key {number}"),
            "b.rs",
            Usefulness::Useful,
            UnixSeconds::new(number),
        );
        !block_on(index.vote(&vote)).unwrap()
    })
}

fn used() -> Fixture {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("b.rs", &function("two")),
        ("c.md", "# What is common\n\nNot much.\n"),
    ]);
    remember(&fixture.updated());
    fixture
}

fn cut_short(file: &Path) {
    let length = fs::metadata(file).unwrap().len();
    let file = fs::File::options().write(true).open(file).unwrap();
    file.set_len(length / 2).unwrap();
}

/// Copies that were kept of what could not be read.
fn kept(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_below(folder);
    files.retain(|it| it.to_string_lossy().contains(".damaged-"));
    files
}

#[test]
fn remembered_data_outlives_damage_to_each_derived_file() {
    let fixture = used();
    let before = remembered(&fixture.open());
    let mut names: Vec<PathBuf> = files_below(&fixture.folder());
    names.retain(|it| {
        let name = it.to_string_lossy();
        !name.contains("remembered") && !name.ends_with(".lock")
    });
    assert!(names.len() > 5, "{names:?}");
    for file in names {
        if !file.exists() {
            continue; // It was of the index that was begun anew.
        }
        cut_short(&file);
        let index = fixture.reopen();
        assert!(index.rebuilt().is_some(), "{}", file.display());
        assert_eq!(index.loss(), None);
        assert_eq!(remembered(&index), before, "{}", file.display());
        update(&index);
        assert_eq!(contents(&index), fixture.fresh());
    }
    assert!(has_votes(&fixture.open()));
    assert!(kept(&fixture.folder()).is_empty());
}

#[test]
fn remembered_data_outlives_the_removal_of_the_index() {
    let fixture = used();
    let before = remembered(&fixture.open());
    remove(&fixture.folder());
    let index = fixture.open();
    assert!(contents(&index).is_empty());
    assert_eq!(remembered(&index), before);
    assert!(has_votes(&index));
}

#[test]
fn damaged_remembered_data_is_set_aside_and_the_index_goes_on() {
    let fixture = used();
    let expected = contents(&fixture.open());
    let garbage = b"this is no database, it is a sentence";
    fs::write(fixture.folder().join("remembered.db"), garbage).unwrap();
    let index = fixture.reopen();
    assert_eq!(rebuilt(&index), None, "the index itself is whole");
    let loss = index.loss().unwrap().to_owned();
    let kept = kept(&fixture.folder());
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(loss.contains(&kept[0].display().to_string()), "{loss}");
    assert!(loss.contains("0 entries were recovered"), "{loss}");
    assert_eq!(fs::read(&kept[0]).unwrap(), garbage);
    assert_eq!(contents(&index), expected);
    assert_eq!(update(&index).changed, 0);
    remember(&index);
    drop(index);
    let index = fixture.open();
    assert_eq!(index.loss(), None, "it is said once");
    assert!(has_votes(&index));
}

#[test]
fn of_what_is_damaged_the_rest_is_taken_along() {
    let fixture = used();
    let before = remembered(&fixture.open());
    let path = fixture.folder().join("remembered.db");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes
        .windows(12)
        .position(|it| it == b"message 20 o")
        .unwrap();
    bytes[at] = b'M';
    fs::write(&path, bytes).unwrap();
    let index = fixture.reopen();
    assert_eq!(rebuilt(&index), None);
    let loss = index.loss().unwrap();
    assert!(loss.contains("does not match its checksum"), "{loss}");
    let missing = "Message { id: \"20\"";
    let after = remembered(&index);
    assert!(before.contains(missing) && !after.contains(missing));
    let messages = block_on(index.messages("thread", 100)).unwrap();
    assert_eq!(messages.len(), 39);
    assert!(has_votes(&index));
    // What comes later comes behind what there is.
    let last = Message::new("last", "user", "text", UnixSeconds::new(99));
    block_on(index.append("thread", &last)).unwrap();
    let messages = block_on(index.messages("thread", 1)).unwrap();
    assert_eq!(messages[0].id, "last");
}

/// Turns a bit of what is remembered, and has another process put that right: it is what it gives.
#[cfg(unix)]
fn mended(fixture: &Fixture) -> Index {
    let path = fixture.folder().join("remembered.db");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(12).position(|it| it == b"message 20 o");
    bytes[at.unwrap()] = b'M';
    fs::write(&path, bytes).unwrap();
    let index = fixture.reopen();
    assert!(index.loss().is_some());
    index
}

#[cfg(unix)]
#[test]
fn whoever_has_what_is_remembered_open_goes_on_with_what_another_put_in_its_place() {
    let fixture = used();
    let here = fixture.open();
    let there = mended(&fixture);
    let append = |index: &Index, id: &str| {
        let message = Message::new(id, "user", "text", UnixSeconds::new(99));
        block_on(index.append("thread", &message)).unwrap();
    };
    let last = |index: &Index| {
        let messages = block_on(index.messages("thread", 2)).unwrap();
        messages.into_iter().map(|it| it.id).collect::<Vec<_>>()
    };
    append(&there, "there");
    append(&here, "here");
    for index in [&here, &there, &fixture.open()] {
        assert_eq!(last(index), ["there", "here"]);
    }
    // What is asked of the index is read before each update.
    let fixture = used();
    let here = fixture.open();
    let mut kept = ctx_index::StoredOptions::default();
    kept.include_generated = Some(true);
    mended(&fixture).store_options(kept).unwrap();
    assert_eq!(here.stored_options().unwrap(), kept);
    // One that is gone is no other.
    fs::remove_file(fixture.folder().join("remembered.db")).unwrap();
    assert_eq!(here.stored_options().unwrap(), kept);
}

#[test]
fn a_second_damage_is_kept_beside_the_first() {
    let fixture = used();
    for _ in 0..2 {
        cut_short(&fixture.folder().join("remembered.db"));
        assert!(fixture.reopen().loss().is_some());
    }
    assert_eq!(kept(&fixture.folder()).len(), 2);
}

#[test]
fn lost_remembered_data_is_reported() {
    for cut in [true, false] {
        let fixture = used();
        let path = fixture.folder().join("remembered.db");
        if cut {
            fs::write(&path, b"").unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        let index = fixture.reopen();
        assert_eq!(rebuilt(&index), None);
        assert_eq!(index.loss(), Some("the remembered data is gone"));
        drop(index);
        assert_eq!(fixture.open().loss(), None);
    }
}

/// The tables of an earlier version, all in one database.
const EARLIER: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL, hash BLOB NOT NULL,
        parts INTEGER NOT NULL, lines INTEGER NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE usage (path TEXT PRIMARY KEY, uses INTEGER NOT NULL, shown_at INTEGER NOT NULL, seal BLOB NOT NULL)
        WITHOUT ROWID;
    CREATE INDEX usage_shown ON usage (shown_at);
    CREATE TABLE messages (thread TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL,
        content TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (thread, seq)) WITHOUT ROWID;
    CREATE TABLE pinned (thread TEXT NOT NULL, seq INTEGER NOT NULL, what TEXT NOT NULL, PRIMARY KEY (thread, seq))
        WITHOUT ROWID;
    CREATE TABLE votes (key TEXT PRIMARY KEY, voted_at INTEGER NOT NULL) WITHOUT ROWID;
    PRAGMA user_version = 3;
    INSERT INTO meta VALUES ('votes', '7'), ('format', '2.3');";

/// Puts all that is remembered back to where an earlier version had it.
fn as_earlier(fixture: &Fixture) {
    let folder = fixture.folder();
    fs::remove_file(folder.join("manifest.db")).unwrap();
    let earlier = rusqlite::Connection::open(folder.join("manifest.db")).unwrap();
    earlier.execute_batch(EARLIER).unwrap();
    let now = folder.join("remembered.db");
    earlier
        .execute("ATTACH ?1 AS now", [now.to_str().unwrap()])
        .unwrap();
    earlier
        .execute_batch(
            "INSERT INTO usage SELECT * FROM now.usage;
             INSERT INTO messages SELECT thread, seq, id, role, content, created_at FROM now.messages;
             INSERT INTO pinned SELECT thread, seq, what FROM now.pinned;
             INSERT INTO votes SELECT key, voted_at FROM now.votes;",
        )
        .unwrap();
    drop(earlier);
    fs::remove_file(now).unwrap();
}

/// How many votes were counted.
fn votes_of(fixture: &Fixture) -> String {
    let remembered = rusqlite::Connection::open(fixture.folder().join("remembered.db")).unwrap();
    let sql = "SELECT value FROM kept WHERE key = 'votes'";
    remembered.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn remembered_data_of_an_earlier_version_is_taken_over() {
    for by_removal in [false, true] {
        let fixture = used();
        let index = fixture.open();
        let before = remembered(&index);
        assert_eq!(votes_of(&fixture), "7");
        drop(index);
        as_earlier(&fixture);
        let mut index = fixture.reopen();
        assert!(rebuilt(&index).is_some_and(|it| it.contains("it is of format 2.3")));
        if by_removal {
            drop(index);
            remove(&fixture.folder());
            index = fixture.open();
        }
        assert_eq!(index.loss(), None);
        assert_eq!(remembered(&index), before);
        assert!(has_votes(&index));
        assert_eq!(votes_of(&fixture), "7");
        update(&index);
        assert_eq!(definitions(&index, "one"), ["a.rs:1"]);
    }
}

#[test]
fn damaged_data_of_an_earlier_version_is_set_aside() {
    let fixture = used();
    as_earlier(&fixture);
    let manifest = fixture.folder().join("manifest.db");
    cut_short(&manifest);
    let bytes = fs::read(&manifest).unwrap();
    let index = fixture.reopen();
    assert!(index.rebuilt().is_some());
    let kept = kept(&fixture.folder());
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(fs::read(&kept[0]).unwrap(), bytes);
    assert!(index.loss().unwrap().contains("manifest.damaged-1.db"));
    update(&index);
    assert_eq!(contents(&index), fixture.fresh());
}

#[test]
fn remembered_data_of_a_later_version_is_left_alone() {
    let fixture = used();
    let path = fixture.folder().join("remembered.db");
    let later = rusqlite::Connection::open(&path).unwrap();
    later.execute("UPDATE sums SET layout = 2", []).unwrap();
    let seal = later_seal(&later);
    later.execute("UPDATE sums SET seal = ?1", [seal]).unwrap();
    drop(later);
    let before = fs::read(&path).unwrap();
    let index = fixture.reopen();
    assert_eq!(rebuilt(&index), None);
    assert!(index.loss().unwrap().contains("by a later version"));
    assert_eq!(definitions(&index, "one"), ["a.rs:1"]);
    block_on(index.shown(&["a.rs".to_owned()], UnixSeconds::new(9))).unwrap();
    let refused = block_on(index.pin("thread", "a.rs"));
    assert!(refused.is_err(), "what is not kept is not acknowledged");
    drop(index);
    assert_eq!(fs::read(path).unwrap(), before);
}

fn later_seal(connection: &rusqlite::Connection) -> String {
    let number = |column: &str| -> u64 {
        let sql = format!("SELECT {column} FROM sums");
        let number: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        number.cast_unsigned()
    };
    let tables: String = connection
        .query_row(
            "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_master ORDER BY name)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let mut hasher = blake3::Hasher::new();
    for part in ["layout", "count", "seals"] {
        hasher.update(&number(part).to_le_bytes());
    }
    hasher.update(tables.as_bytes());
    hasher.finalize().to_hex().to_string()
}

#[test]
fn several_that_remember_at_once_remember_all() {
    let fixture = used();
    std::thread::scope(|scope| {
        for one in 0..4 {
            let fixture = &fixture;
            scope.spawn(move || {
                let index = fixture.open();
                for number in 0..10 {
                    let message = Message::new(
                        format!("{one} {number}"),
                        "user",
                        "text",
                        UnixSeconds::new(1),
                    );
                    block_on(index.append("shared", &message)).unwrap();
                }
            });
        }
    });
    let index = fixture.open();
    assert_eq!(index.loss(), None);
    let messages = block_on(index.messages("shared", 100)).unwrap();
    assert_eq!(messages.len(), 40);
}
