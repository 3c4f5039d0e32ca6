use std::path::Path;

use super::*;
use crate::backend::{BackendError, NewMessage, NewThread, Page};
use crate::embedded::Quota;
use crate::embedded::database::Database;

fn fill(folder: &Path) {
    let database = Database::open(folder).unwrap();
    let quota = Quota::default();
    for thread in ["a", "b", "c"] {
        let new = NewThread {
            pinned: vec!["src/a.rs".to_owned()],
            ..NewThread::default()
        };
        database.create_thread(thread.into(), new, &quota).unwrap();
        for number in 0..12 {
            let message = NewMessage {
                role: "user".to_owned(),
                content: format!("message {number} of {thread}, {}", "and so on ".repeat(20)),
            };
            let id = format!("msg-{thread}-{number}");
            database.append(thread, id, message, &quota).unwrap();
        }
    }
    let mut state = database.state();
    let transaction = state.transaction().unwrap();
    for number in 0..8_i64 {
        let path = format!("src/file-{number}.rs");
        let vote = [
            (number + 1).into(),
            format!("key-{number}").into(),
            path.clone().into(),
            1.into(),
            number.into(),
        ];
        VOTES.put(&transaction, vote).unwrap();
        for uses in 0..3 {
            USAGE
                .put(&transaction, [path.clone().into(), uses.into()])
                .unwrap();
        }
        let hash = vec![7; 32];
        let file = [path.into(), 10.into(), hash.into(), 3.into(), 0.into()];
        FILES.put(&transaction, file).unwrap();
    }
    transaction.commit().unwrap();
}

/// All that is kept, if it is as it was written.
fn everything(folder: &Path) -> Result<Vec<Value>> {
    let database = Database::open(folder)?;
    let state = database.reader();
    let mut said = Vec::new();
    for table in ALL {
        let all = table.select("ORDER BY 1");
        let mut all = state.prepare(&all).map_err(read_failed)?;
        let mut rows = all.query([]).map_err(read_failed)?;
        while let Some(row) = rows.next().map_err(read_failed)? {
            for at in 0..table.columns.len() {
                let value = table.whole(row).and_then(|it| it.get(at));
                said.push(value.map_err(read_failed)?);
            }
        }
    }
    Ok(said)
}

#[test]
fn a_flipped_bit_is_told_or_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let written = everything(folder.path()).unwrap();
    let bytes = std::fs::read(folder.path().join("state.db")).unwrap();
    assert!(!folder.path().join("state.db-wal").exists(), "it is closed");
    let is_thorough = std::env::var_os("CTX_THOROUGH").is_some();
    let step = if is_thorough { 1 } else { bytes.len() / 60 };
    let mut told = 0;
    for at in (0..bytes.len()).step_by(step) {
        let damaged = tempfile::tempdir().unwrap();
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(damaged.path().join("state.db"), flipped).unwrap();
        match everything(damaged.path()) {
            Ok(found) => assert_eq!(found, written, "byte {at}"),
            Err(_) => told += 1,
        }
    }
    assert!(told > 8, "{told}");
}

#[test]
fn a_row_that_changes_while_it_is_open_is_told_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let database = Database::open(folder.path()).unwrap();
    let put = "UPDATE messages SET content = 'another' WHERE id = 'msg-b-3'";
    database.state().execute(put, []).unwrap();
    let read = |thread| database.messages(thread, &Page::default());
    assert!(matches!(read("b"), Err(BackendError::Damaged { .. })));
    assert!(read("a").is_ok());
    let put = "UPDATE threads SET pinned = '[]' WHERE id = 'a'";
    database.state().execute(put, []).unwrap();
    assert!(matches!(
        database.pinned_to("a"),
        Err(BackendError::Damaged { .. })
    ));
}

#[test]
fn a_row_that_is_gone_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let state = Connection::open(folder.path().join("state.db")).unwrap();
    let remove = "DROP TRIGGER votes_delete; DELETE FROM votes WHERE seq = 3;";
    state.execute_batch(remove).unwrap();
    drop(state);
    assert!(matches!(
        everything(folder.path()),
        Err(BackendError::Damaged { .. })
    ));
}

#[test]
fn an_opening_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let database = Database::open(folder.path()).unwrap();
    for name in ["state.db-wal", "contexts.db-wal"] {
        let log = std::fs::metadata(folder.path().join(name)).unwrap();
        assert_eq!(log.len(), 0, "{name}");
    }
    drop(database);
}

#[test]
fn what_an_earlier_format_holds_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let state = Connection::open(folder.path().join("state.db")).unwrap();
    state
        .execute_batch(
            "CREATE TABLE files (
                path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, hash BLOB NOT NULL, created_at INTEGER NOT NULL
            ) WITHOUT ROWID;
            CREATE TABLE threads (
                seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT, pinned TEXT NOT NULL,
                created_at INTEGER NOT NULL
            );
            CREATE TABLE messages (
                seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
                thread INTEGER NOT NULL REFERENCES threads (seq), role TEXT NOT NULL, content TEXT NOT NULL,
                created_at INTEGER NOT NULL
            );
            CREATE INDEX messages_of_threads ON messages (thread, seq);
            CREATE TABLE votes (
                seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
                useful INTEGER NOT NULL, created_at INTEGER NOT NULL
            );
            CREATE TABLE usage (path TEXT PRIMARY KEY, uses INTEGER NOT NULL) WITHOUT ROWID;
            INSERT INTO files VALUES ('a.rs', 3, zeroblob(32), 5);
            INSERT INTO threads VALUES (4, 't', NULL, '[\"a.rs\"]', 6);
            INSERT INTO messages VALUES (9, 'm', 4, 'user', 'hello', 7);
            INSERT INTO votes VALUES (2, 'k', 'a.rs', 1, 8);
            INSERT INTO usage VALUES ('a.rs', 3);
            PRAGMA user_version = 2;",
        )
        .unwrap();
    drop(state);
    let written = everything(folder.path()).unwrap();
    assert_eq!(everything(folder.path()).unwrap(), written);
    let database = Database::open(folder.path()).unwrap();
    assert_eq!(database.totals().unwrap(), (1, 3));
    assert_eq!(database.pinned_to("t").unwrap(), ["a.rs"]);
    let messages = database.messages("t", &Page::default()).unwrap().items;
    assert_eq!((&*messages[0].id, &*messages[0].content), ("m", "hello"));
}
