use std::path::Path;

use rusqlite::types::Value;

use super::*;
use crate::backend::{NewMessage, NewThread, Page};
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
        VOTES.put(&transaction, &vote).unwrap();
        for uses in 0..3 {
            USAGE
                .put(&transaction, &[path.clone().into(), uses.into()])
                .unwrap();
        }
        let hash = vec![7; 32];
        let file = [path.into(), 10.into(), hash.into(), 3.into(), 0.into()];
        FILES.put(&transaction, &file).unwrap();
    }
    transaction.commit().unwrap();
}

/// All that is kept, if it is as it was written.
fn everything(folder: &Path) -> Result<Vec<Value>> {
    let database = Database::open(folder)?;
    let state = database.reader();
    let mut said = Vec::new();
    for table in STATE.tables {
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

/// A file of format 1 or 3, as it was made then.
fn earlier(version: i64, folder: &Path) {
    let (pending, votes, usage) = match version {
        1 => (
            "",
            "CREATE TABLE votes (
                context TEXT PRIMARY KEY, useful INTEGER NOT NULL, item TEXT, created_at INTEGER NOT NULL
            ) WITHOUT ROWID;
            CREATE TABLE usage (path TEXT PRIMARY KEY, votes INTEGER NOT NULL) WITHOUT ROWID;
            INSERT INTO votes VALUES ('ctx-1', 1, NULL, 8), ('ctx-2', 0, 'chk', 9);",
            "('src/a.rs', 3), ('src/b.rs', -2)",
        ),
        _ => (
            ", pending INTEGER NOT NULL DEFAULT 0",
            "CREATE INDEX files_pending ON files (path) WHERE pending;
            CREATE TABLE votes (
                seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
                useful INTEGER NOT NULL, created_at INTEGER NOT NULL
            );
            CREATE TABLE usage (path TEXT PRIMARY KEY, uses INTEGER NOT NULL) WITHOUT ROWID;
            INSERT INTO votes (key, path, useful, created_at) VALUES ('k1', 'src/a.rs', 1, 8), ('k2', 'src/b.rs', 0, 9);",
            "('src/a.rs', 3), ('src/b.rs', 0)",
        ),
    };
    let state = Connection::open(folder.join("state.db")).unwrap();
    state
        .execute_batch(&format!(
            "CREATE TABLE files (
                path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, hash BLOB NOT NULL, created_at INTEGER NOT NULL
                {pending}
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
            {votes}
            INSERT INTO usage VALUES {usage};
            INSERT INTO files (path, bytes, hash, created_at)
                VALUES ('src/a.rs', 30, zeroblob(32), 5), ('src/b.rs', 12, zeroblob(32), 6);
            PRAGMA user_version = {version};",
        ))
        .unwrap();
    for thread in 1..=3 {
        let put = "INSERT INTO threads (id, title, pinned, created_at) VALUES (?1, ?2, '[\"src/a.rs\"]', ?3)";
        let title = (thread > 1).then(|| format!("title {thread}"));
        let row = (format!("t{thread}"), title, thread);
        state.execute(put, row).unwrap();
    }
    for number in 0..60_u32 {
        let put = "INSERT INTO messages (id, thread, role, content, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let content = format!("said {number}, {}", "and so on ".repeat(20));
        let row = (format!("m{number}"), number % 3 + 1, role, content, number);
        state.execute(put, row).unwrap();
    }
}

#[test]
fn threads_messages_votes_and_files_of_formats_1_and_3_are_all_there() {
    for version in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        earlier(version, folder.path());
        let written = everything(folder.path()).unwrap();
        assert_eq!(everything(folder.path()).unwrap(), written, "{version}");
        let database = Database::open(folder.path()).unwrap();
        assert_eq!(database.totals().unwrap(), (2, 42));
        let threads = database.threads(&Page::default()).unwrap().items;
        let titles: Vec<_> = threads.iter().map(|it| it.title.as_deref()).collect();
        assert_eq!(titles, [Some("title 3"), Some("title 2"), None]);
        for (at, thread) in ["t1", "t2", "t3"].into_iter().enumerate() {
            assert_eq!(database.pinned_to(thread).unwrap(), ["src/a.rs"]);
            let said = database.messages(thread, &Page::default()).unwrap().items;
            let ids: Vec<&str> = said.iter().map(|it| it.id.as_str()).collect();
            let all: Vec<String> = (at..60).step_by(3).map(|it| format!("m{it}")).collect();
            assert_eq!(ids, all, "{thread} of format {version}");
            for (message, number) in said.iter().zip((at..60).step_by(3)) {
                assert_eq!(message.role, ["user", "assistant"][number % 2]);
                assert!(message.content.starts_with(&format!("said {number}, ")));
                assert_eq!(usize::try_from(message.created_at), Ok(number));
            }
        }
        let state = database.reader();
        let count = |sql: &str| state.query_row(sql, [], |row| row.get::<_, i64>(0));
        // Votes of format 1 were of contexts: what they came to stays.
        let votes = if version == 1 { 0 } else { 2 };
        assert_eq!(count("SELECT count(*) FROM votes"), Ok(votes));
        let uses = |path| count(&format!("SELECT uses FROM usage WHERE path = '{path}'"));
        assert_eq!((uses("src/a.rs"), uses("src/b.rs")), (Ok(3), Ok(0)));
        drop(state);
        // What comes is numbered after what was.
        let message = NewMessage {
            role: "user".to_owned(),
            content: "the last".to_owned(),
        };
        let quota = Quota::default();
        database
            .append("t1", "new".into(), message, &quota)
            .unwrap();
        let said = database.messages("t1", &Page::default()).unwrap().items;
        assert_eq!(said.last().map(|it| it.id.as_str()), Some("new"));
    }
}

#[test]
fn an_earlier_format_with_a_damaged_page_is_said_to_be_and_left_as_it_is() {
    for version in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        earlier(version, folder.path());
        let file = folder.path().join("state.db");
        let bytes = std::fs::read(&file).unwrap();
        let mut told = 0;
        for page in (4096..bytes.len()).step_by(4096) {
            let damaged = tempfile::tempdir().unwrap();
            let file = damaged.path().join("state.db");
            let mut changed = bytes.clone();
            changed[page..page + 12].fill(0xa5);
            std::fs::write(&file, &changed).unwrap();
            let found = everything(damaged.path());
            assert!(matches!(found, Err(BackendError::Damaged { .. })), "{page}");
            let kept = Connection::open(&file).unwrap();
            let version_now = kept.pragma_query_value(None, "user_version", |row| row.get(0));
            assert_eq!(version_now, Ok(version), "{page}");
            told += 1;
        }
        assert!(told > 5, "{told}");
    }
}

#[test]
fn a_later_format_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let state = Connection::open(folder.path().join("state.db")).unwrap();
    state.pragma_update(None, "user_version", 99).unwrap();
    drop(state);
    let error = everything(folder.path()).unwrap_err();
    assert!(matches!(error, BackendError::Failed { .. }), "{error:?}");
}
