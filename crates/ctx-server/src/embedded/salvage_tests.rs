use std::collections::BTreeMap;

use super::*;
use crate::Quota;
use crate::backend::NewThread;
use crate::embedded::database::Database;
use crate::embedded::rows::{CONTEXTS_2, SHOWN};
use crate::embedded::tests::{each_flip, empty};

fn fill(folder: &Path) {
    let mut contexts = open(folder).unwrap();
    let transaction = contexts.transaction().unwrap();
    for number in 1..=20_i64 {
        let id = format!("ctx-{number}");
        let text = format!("{number} {}", "of what was shown ".repeat(30));
        let row = [id.into(), number.into(), Value::Null, text.into()];
        CONTEXTS.put(&transaction, &row).unwrap();
        let row = [format!("src/{number}.rs").into(), number.into()];
        SHOWN.put(&transaction, &row).unwrap();
    }
    transaction.commit().unwrap();
}

/// All contexts by their ids, with the texts of intact ones, and when files were shown.
fn everything(folder: &Path) -> BTreeMap<String, Option<String>> {
    let contexts = open(folder).unwrap();
    let mut found = BTreeMap::new();
    for table in [&CONTEXTS, &SHOWN] {
        let mut all = contexts.prepare(&table.select("")).unwrap();
        let mut rows = all.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = table.whole(row).and_then(|row| table.values(row)).unwrap();
            let [Value::Text(key), .., last] = &values[..] else {
                panic!("{values:?}");
            };
            let is_gone = *last == Value::Text(String::new());
            found.insert(key.clone(), (!is_gone).then(|| format!("{last:?}")));
        }
    }
    found
}

#[test]
fn a_flipped_bit_shows_no_context_otherwise_and_closes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let written = everything(folder.path());
    let mut lost = 0;
    let file = folder.path().join(BUILT_FILE);
    each_flip(&file, (60, 1), empty, |at, damaged| {
        let found = everything(damaged);
        for (key, value) in &found {
            if value.is_some() {
                assert_eq!(value, &written[key], "byte {at}");
            }
        }
        lost += usize::from(found != written);
        assert_eq!(everything(damaged), found, "byte {at}, opened again");
        fill(damaged);
        assert_eq!(everything(damaged), written, "byte {at}, written again");
    });
    assert!(lost > 8, "{lost}");
}

#[test]
fn a_file_that_says_it_is_only_to_be_read_makes_room_for_another() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let written = everything(folder.path());
    let file = folder.path().join(BUILT_FILE);
    let mut bytes = fs::read(&file).unwrap();
    // The version that is needed to write it.
    assert_eq!(bytes[18], 2);
    bytes[18] |= 4;
    fs::write(&file, bytes).unwrap();
    assert_eq!(everything(folder.path()), written);
    fill(folder.path());
}

#[test]
fn a_context_that_is_damaged_is_told_from_one_that_never_was() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let change = |database: &Database| {
        let put = "UPDATE contexts SET receipt = '{}' WHERE id = 'ctx-7'";
        database.contexts().execute(put, []).unwrap();
    };
    let is_damaged = |database: &Database| {
        let said = database.receipt("ctx-7");
        let what = "read what is kept of contexts: it is damaged";
        said.is_err_and(|it| it.to_string() == what)
    };
    let database = Database::open(folder.path()).unwrap();
    change(&database);
    assert!(is_damaged(&database), "while it is open");
    drop(database);
    for _ in 0..2 {
        let database = Database::open(folder.path()).unwrap();
        assert!(is_damaged(&database), "when it is opened");
        assert!(matches!(database.receipt("ctx-70"), Ok(None)));
    }
    let found = everything(folder.path());
    assert_eq!(found.values().filter(|it| it.is_none()).count(), 1);
    assert_eq!(found.len(), 40);
}

#[test]
fn contexts_without_seals_are_taken_over() {
    let with_shown =
        "CREATE TABLE shown (path TEXT PRIMARY KEY, shown_at INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX shown_last ON shown (shown_at);
        INSERT INTO shown VALUES ('a.rs', 5);";
    for more in ["", with_shown] {
        let folder = tempfile::tempdir().unwrap();
        let before = Connection::open(folder.path().join(BUILT_FILE)).unwrap();
        let tables = "CREATE TABLE contexts (
                seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, receipt TEXT NOT NULL
            );
            INSERT INTO contexts VALUES (4, 'ctx-4', 'four'), (9, 'ctx-9', 'nine');";
        before.execute_batch(&(tables.to_owned() + more)).unwrap();
        drop(before);
        let found = everything(folder.path());
        assert_eq!(found.len(), if more.is_empty() { 2 } else { 3 });
        assert_eq!(found["ctx-9"].as_deref(), Some("Text(\"nine\")"));
        let contexts = open(folder.path()).unwrap();
        assert_eq!(CONTEXTS.last(&contexts).unwrap(), 9);
    }
}

#[test]
fn a_file_that_is_no_database_makes_room_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(BUILT_FILE);
    fs::write(file, "no database at all ".repeat(500)).unwrap();
    assert!(everything(folder.path()).is_empty());
    fill(folder.path());
    assert_eq!(everything(folder.path()).len(), 40);
}

/// Turns the file into one of format 2.
fn as_of_2(folder: &Path) {
    let contexts = Connection::open(folder.join(BUILT_FILE)).unwrap();
    let table = "DROP TRIGGER contexts_insert; DROP TRIGGER contexts_delete; DROP INDEX contexts_of_threads;
        ALTER TABLE contexts RENAME TO old_contexts; DELETE FROM sums WHERE name = 'contexts';
        CREATE TABLE contexts (
            seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, receipt TEXT NOT NULL, seal INTEGER NOT NULL
        );";
    contexts.execute_batch(table).unwrap();
    contexts.execute_batch(&CONTEXTS_2.triggers()).unwrap();
    CONTEXTS_2.take_over(&contexts).unwrap();
    let rest = "DROP TABLE old_contexts; PRAGMA user_version = 2;";
    contexts.execute_batch(rest).unwrap();
}

#[test]
fn contexts_of_format_2_are_of_the_threads_that_their_receipts_tell() {
    for is_damaged in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path());
        let contexts = open(folder.path()).unwrap();
        for (number, thread) in [(31, "t"), (32, "u"), (33, "t")] {
            let id = format!("ctx-{number}");
            let receipt = format!(r#"{{"id":"{id}","createdAt":1,"threadId":"{thread}"}}"#);
            let row = [id.into(), number.into(), Value::Null, receipt.into()];
            CONTEXTS.put(&contexts, &row).unwrap();
        }
        drop(contexts);
        as_of_2(folder.path());
        if is_damaged {
            let contexts = Connection::open(folder.path().join(BUILT_FILE)).unwrap();
            let damage = "UPDATE contexts SET receipt = '{}' WHERE id = 'ctx-7'";
            contexts.execute(damage, []).unwrap();
        }
        let contexts = open(folder.path()).unwrap();
        let threads = "SELECT id, thread FROM contexts WHERE thread IS NOT NULL ORDER BY id";
        let mut threads = contexts.prepare(threads).unwrap();
        let threads = threads.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let threads: Vec<(String, String)> =
            threads.unwrap().map(std::result::Result::unwrap).collect();
        let expected = [("ctx-31", "t"), ("ctx-32", "u"), ("ctx-33", "t")];
        assert_eq!(
            threads,
            expected.map(|(id, it)| (id.to_owned(), it.to_owned()))
        );
        assert_eq!(everything(folder.path()).len(), 43);
    }
}

#[test]
fn contexts_of_threads_that_are_gone_go_when_the_folder_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    let thread = NewThread {
        id: None,
        title: None,
        pinned: Vec::new(),
    };
    let quota = Quota::default();
    database.create_thread("t".into(), thread, &quota).unwrap();
    {
        let contexts = database.contexts();
        for (number, thread) in [
            (1, Value::from("t".to_owned())),
            (2, "gone".to_owned().into()),
            (3, Value::Null),
        ] {
            let id = format!("ctx-{number}");
            let row = [id.into(), number.into(), thread, "{}".to_owned().into()];
            CONTEXTS.put(&contexts, &row).unwrap();
        }
    }
    drop(database);
    Database::open(folder.path()).unwrap();
    let found: Vec<String> = everything(folder.path()).into_keys().collect();
    assert_eq!(found, ["ctx-1", "ctx-3"]);
}
