use std::path::Path;

use rusqlite::types::Value;

use super::*;
use crate::backend::{NewMessage, NewThread, Page};
use crate::embedded::Quota;
use crate::embedded::database::Database;

fn fill(folder: &Path) {
    fill_open(&Database::open(folder).unwrap());
}

fn fill_open(database: &Database) {
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
    let filled = database.change(|transaction| {
        for number in 0..8_i64 {
            let path = format!("src/file-{number}.rs");
            let vote = [
                (number + 1).into(),
                format!("key-{number}").into(),
                path.clone().into(),
                1.into(),
                number.into(),
            ];
            VOTES.put(transaction, &vote)?;
            for uses in 0..3 {
                USAGE.put(transaction, &[path.clone().into(), uses.into()])?;
            }
            let hash = vec![7; 32];
            let file = [path.into(), 10.into(), hash.into(), 3.into(), 0.into()];
            FILES.put(transaction, &file)?;
        }
        Ok(())
    });
    filled.unwrap();
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
    let other = Connection::open(folder.path().join("state.db")).unwrap();
    let put = "UPDATE messages SET content = 'another' WHERE id = 'msg-b-3'";
    other.execute(put, []).unwrap();
    let read = |thread| database.messages(thread, &Page::default());
    assert!(matches!(read("b"), Err(BackendError::Damaged { .. })));
    assert!(read("a").is_ok());
    let put = "UPDATE threads SET pinned = '[]' WHERE id = 'a'";
    other.execute(put, []).unwrap();
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

/// A file of format 4 or 5, as it was made then: with one sum of all rows.
fn sealed(version: i64, folder: &Path) {
    fill(folder);
    std::fs::remove_file(folder.join("state.mark")).unwrap();
    let state = Connection::open(folder.join("state.db")).unwrap();
    let total = "SELECT count, seals FROM sums";
    let mut total = state.prepare(total).unwrap();
    let rows = total.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    let add = |sum: (i64, i64), row: (i64, i64)| (sum.0 + row.0, sum.1 ^ row.1);
    let (count, seals) = rows
        .unwrap()
        .map(std::result::Result::unwrap)
        .fold((0, 0), add);
    drop(total);
    for Table { name, .. } in STATE.tables {
        let drop = format!("DROP TRIGGER {name}_insert; DROP TRIGGER {name}_delete;");
        state.execute_batch(&drop).unwrap();
        for (event, row, step) in [("insert", "NEW", "+ 1"), ("delete", "OLD", "- 1")] {
            let trigger = format!(
                "CREATE TRIGGER {name}_{event} AFTER {event} ON {name} BEGIN
                    UPDATE sums SET count = count {step}, seals = (seals | {row}.seal) - (seals & {row}.seal);
                END;"
            );
            state.execute_batch(&trigger).unwrap();
        }
    }
    let sums = format!(
        "DROP TABLE sums;
        CREATE TABLE sums (number INTEGER PRIMARY KEY, count INTEGER NOT NULL, seals INTEGER NOT NULL);
        INSERT INTO sums VALUES (1, {count}, {seals});
        PRAGMA user_version = {version};"
    );
    state.execute_batch(&sums).unwrap();
    if version == 4 {
        state.execute_batch("DROP INDEX votes_given").unwrap();
    }
}

#[test]
fn sealed_formats_are_taken_over_if_they_are_as_they_were_written() {
    let today = tempfile::tempdir().unwrap();
    fill(today.path());
    // Times of messages and threads are when they were written.
    let timeless = |folder: &Path| {
        let said = everything(folder).unwrap();
        let is_time = |it: &Value| matches!(it, Value::Integer(it) if *it > 1_000_000_000_000);
        said.into_iter()
            .filter(|it| !is_time(it))
            .collect::<Vec<_>>()
    };
    let written = timeless(today.path());
    for version in [4, 5] {
        let folder = tempfile::tempdir().unwrap();
        sealed(version, folder.path());
        assert_eq!(timeless(folder.path()), written);
        assert_eq!(timeless(folder.path()), written, "again");
        for change in [
            "UPDATE messages SET content = 'another' WHERE id = 'msg-b-3'",
            "DROP TRIGGER votes_delete; DELETE FROM votes WHERE seq = 3",
        ] {
            let folder = tempfile::tempdir().unwrap();
            sealed(version, folder.path());
            let state = Connection::open(folder.path().join("state.db")).unwrap();
            state.execute_batch(change).unwrap();
            drop(state);
            let error = everything(folder.path());
            assert!(
                matches!(error, Err(BackendError::Damaged { .. })),
                "{change}"
            );
        }
    }
}

/// The files of a process that was killed just now.
fn crashed(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for name in ["state.db", "state.db-wal", "state.mark"] {
        std::fs::copy(from.join(name), to.path().join(name)).unwrap();
    }
    to
}

#[test]
fn a_log_that_is_damaged_between_a_crash_and_the_next_opening_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    fill_open(&database);
    let written = everything(crashed(folder.path()).path()).unwrap();
    assert!(written.len() > 200, "{}", written.len());
    let log = std::fs::read(folder.path().join("state.db-wal")).unwrap();
    let is_thorough = std::env::var_os("CTX_THOROUGH").is_some();
    let step = if is_thorough { 61 } else { log.len() / 40 };
    let mut told = 0;
    for at in (0..log.len()).step_by(step) {
        let crashed = crashed(folder.path());
        let mut flipped = log.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(crashed.path().join("state.db-wal"), flipped).unwrap();
        match everything(crashed.path()) {
            Ok(found) => assert_eq!(found, written, "byte {at}"),
            Err(BackendError::Damaged { .. }) => told += 1,
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert!(told > 20, "{told}");
    for missing in [log.len() / 2, 0] {
        let crashed = crashed(folder.path());
        std::fs::write(crashed.path().join("state.db-wal"), &log[..missing]).unwrap();
        let found = everything(crashed.path());
        assert!(
            matches!(found, Err(BackendError::Damaged { .. })),
            "{missing}"
        );
    }
}

#[test]
fn a_mark_that_is_missing_damaged_or_behind_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let file = folder.path().join("state.mark");
    let written = everything(folder.path()).unwrap();
    let reached = std::fs::read(&file).unwrap();
    let early = tempfile::tempdir().unwrap();
    drop(Database::open(early.path()).unwrap());
    let behind = std::fs::read(early.path().join("state.mark")).unwrap();
    for mark in [&behind[..], b"", b"short", &[0xff; 16]] {
        std::fs::write(&file, mark).unwrap();
        assert_eq!(everything(folder.path()).unwrap(), written);
        assert_eq!(std::fs::read(&file).unwrap(), reached);
    }
    std::fs::remove_file(&file).unwrap();
    assert_eq!(everything(folder.path()).unwrap(), written);
    assert_eq!(std::fs::read(&file).unwrap(), reached);
}

#[test]
fn there_are_as_many_threads_and_messages_as_may_be_and_files_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let quota = Quota {
        threads: 2,
        messages: 3,
        ..Quota::default()
    };
    for _ in 0..2 {
        let database = Database::open(folder.path()).unwrap();
        for number in 0..4 {
            let begun = database.create_thread(format!("t{number}"), NewThread::default(), &quota);
            drop(begun);
            let message = NewMessage {
                role: "user".to_owned(),
                content: "x".to_owned(),
            };
            drop(database.append("t0", format!("m{number}"), message, &quota));
        }
        let state = database.reader();
        assert_eq!(THREADS.sum(&state).unwrap().count, 2);
        assert_eq!(MESSAGES.sum(&state).unwrap().count, 3);
    }
    let database = Database::open(folder.path()).unwrap();
    for (path, bytes) in [("a", 7), ("b", 5), ("a", 4)] {
        let hash = vec![7; 32];
        let file = [
            path.to_owned().into(),
            bytes.into(),
            hash.into(),
            3.into(),
            0.into(),
        ];
        database.change(|it| FILES.put(it, &file)).unwrap();
    }
    assert_eq!(database.totals().unwrap(), (2, 9));
}
