//! Files of earlier formats, made as they were then.

use super::*;

/// Threads and messages, from format 1 to 3.
const TALK: &str = "
    CREATE TABLE threads (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT, pinned TEXT NOT NULL,
        created_at INTEGER NOT NULL
    );
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
        thread INTEGER NOT NULL REFERENCES threads (seq), role TEXT NOT NULL, content TEXT NOT NULL,
        created_at INTEGER NOT NULL
    );
    CREATE INDEX messages_of_threads ON messages (thread, seq);";

/// Votes on files, in formats 2 and 3.
const VOTES_OF_FILES: &str = "
    CREATE TABLE votes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
        useful INTEGER NOT NULL, created_at INTEGER NOT NULL
    );
    CREATE TABLE usage (path TEXT PRIMARY KEY, uses INTEGER NOT NULL) WITHOUT ROWID;";

#[test]
fn data_of_an_earlier_format_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let state = Connection::open(folder.path().join("state.db")).unwrap();
    state
        .execute_batch(&format!(
            "CREATE TABLE files (
                path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, hash BLOB NOT NULL, created_at INTEGER NOT NULL
            ) WITHOUT ROWID;
            {TALK}
            {VOTES_OF_FILES}
            INSERT INTO files VALUES ('a.rs', 3, zeroblob(32), 5);
            INSERT INTO threads VALUES (4, 't', NULL, '[\"a.rs\"]', 6);
            INSERT INTO messages VALUES (9, 'm', 4, 'user', 'hello', 7);
            INSERT INTO votes VALUES (2, 'k', 'a.rs', 1, 8);
            INSERT INTO usage VALUES ('a.rs', 3);
            PRAGMA user_version = 2;"
        ))
        .unwrap();
    drop(state);
    let written = everything(folder.path()).unwrap();
    assert_eq!(everything(folder.path()).unwrap(), written);
    let database = Database::open(folder.path()).unwrap();
    assert_eq!(database.totals().unwrap(), (1, 3));
    assert_eq!(database.pinned_to("t").unwrap(), ["a.rs"]);
    let messages = database
        .messages("t", &MessagePage::default())
        .unwrap()
        .items;
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
            &format!(
                "CREATE INDEX files_pending ON files (path) WHERE pending;
            {VOTES_OF_FILES}
            INSERT INTO votes (key, path, useful, created_at) VALUES ('k1', 'src/a.rs', 1, 8), ('k2', 'src/b.rs', 0, 9);"
            )[..],
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
            {TALK}
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
        let threads = database.threads(&ThreadPage::default()).unwrap().items;
        let titles: Vec<_> = threads.iter().map(|it| it.title.as_deref()).collect();
        assert_eq!(titles, [Some("title 3"), Some("title 2"), None]);
        let active: Vec<_> = threads.iter().map(|it| it.active_at).collect();
        assert_eq!(active, [59, 58, 57]);
        for (at, thread) in ["t1", "t2", "t3"].into_iter().enumerate() {
            assert_eq!(database.pinned_to(thread).unwrap(), ["src/a.rs"]);
            let said = database
                .messages(thread, &MessagePage::default())
                .unwrap()
                .items;
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
        // Votes of format 1 were on contexts: their totals stay.
        let votes = if version == 1 { 0 } else { 2 };
        assert_eq!(count("SELECT count(*) FROM votes"), Ok(votes));
        let uses = |path| count(&format!("SELECT uses FROM usage WHERE path = '{path}'"));
        assert_eq!((uses("src/a.rs"), uses("src/b.rs")), (Ok(3), Ok(0)));
        drop(state);
        // New rows are numbered after the old ones.
        let message = NewMessage {
            id: None,
            role: "user".to_owned(),
            content: "the last".to_owned(),
        };
        let quota = Quota::default();
        database
            .append("t1", "new".into(), message, &quota)
            .unwrap();
        let said = database
            .messages("t1", &MessagePage::default())
            .unwrap()
            .items;
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

/// A file as formats 4 and 5 made it, with one sum of all rows, or as formats 6 and 7 did, with one
/// sum per table and a mark.
fn sealed(version: i64, folder: &Path) {
    fill(folder);
    as_sealed(version, folder);
}

/// Turns a file of today into one of an earlier format.
fn as_sealed(version: i64, folder: &Path) {
    let state = Connection::open(folder.join("state.db")).unwrap();
    let changes = changes(&state).unwrap();
    let threads =
        "DROP TRIGGER threads_insert; DROP TRIGGER threads_delete; DROP INDEX threads_activity;
        ALTER TABLE threads RENAME TO old_threads; DELETE FROM sums WHERE name = 'threads';
        CREATE TABLE threads (
            seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT, pinned TEXT NOT NULL,
            created_at INTEGER NOT NULL, seal INTEGER NOT NULL
        );";
    state.execute_batch(threads).unwrap();
    state.execute_batch(&THREADS_7.triggers()).unwrap();
    THREADS_7.take_over(&state).unwrap();
    let rest = format!(
        "DROP TABLE old_threads; UPDATE sums SET changes = changes + {changes} WHERE name = 'threads';"
    );
    state.execute_batch(&rest).unwrap();
    if version >= 6 {
        return state.pragma_update(None, "user_version", version).unwrap();
    }
    std::fs::remove_file(folder.join("state.mark")).unwrap();
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
    // The creation times of messages and threads differ, so they are removed.
    let timeless = |folder: &Path| {
        // The numbers of their activities do, too: as many as there were, or as there are threads.
        let said = everything_but(folder, "activity").unwrap();
        let is_time = |it: &Value| matches!(it, Value::Integer(it) if *it > 1_000_000_000_000);
        said.into_iter()
            .filter(|it| !is_time(it))
            .collect::<Vec<_>>()
    };
    let written = timeless(today.path());
    for version in [4, 5, 6, 7] {
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

/// The ids of the threads, the last active first, and when they were.
fn active(folder: &Path) -> Vec<(String, i64)> {
    let database = Database::open(folder).unwrap();
    let page = ThreadPage {
        order: ThreadOrder::Active,
        ..ThreadPage::default()
    };
    let threads = database.threads(&page).unwrap().items.into_iter();
    threads.map(|it| (it.id, it.active_at)).collect()
}

#[test]
fn threads_of_earlier_formats_were_active_when_they_got_their_last_messages() {
    for version in [4, 5, 6, 7] {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path());
        let database = Database::open(folder.path()).unwrap();
        let quota = Quota::default();
        // A time of its own for each.
        for thread in ["b", "a"] {
            std::thread::sleep(std::time::Duration::from_millis(2));
            let message = NewMessage {
                id: None,
                role: "user".to_owned(),
                content: "the last".to_owned(),
            };
            let added = database.append(thread, format!("last of {thread}"), message, &quota);
            added.unwrap();
        }
        drop(database);
        let before = active(folder.path());
        let ids: Vec<&str> = before.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(ids, ["a", "b", "c"]);
        as_sealed(version, folder.path());
        assert_eq!(active(folder.path()), before, "{version}");
        // A damaged one of that format is salvaged with the same.
        as_sealed(version, folder.path());
        let state = Connection::open(folder.path().join("state.db")).unwrap();
        let damage = "UPDATE votes SET useful = 0 WHERE seq = 3";
        state.execute_batch(damage).unwrap();
        drop(state);
        let salvaged = salvage(folder.path()).unwrap().unwrap();
        assert!(salvaged.rows.iter().map(|it| it.lost).sum::<u64>() == 1);
        assert_eq!(active(folder.path()), before, "{version}");
    }
}
