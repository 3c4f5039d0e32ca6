#[path = "schema_tests/formats.rs"]
mod formats;

use std::path::Path;

use rusqlite::types::Value;

use super::*;
use crate::backend::{NewMessage, NewThread};
use crate::embedded::Quota;
use crate::embedded::database::Database;
use crate::embedded::salvage_state::salvage;
use crate::embedded::tests::{each_flip, empty, write_threads};
use crate::paging::{MessagePage, ThreadOrder, ThreadPage};

fn fill(folder: &Path) {
    fill_open(&Database::open(folder).unwrap());
}

fn fill_open(database: &Database) {
    let pinned = NewThread {
        pinned: vec!["src/a.rs".to_owned()],
        ..NewThread::default()
    };
    write_threads(database, &pinned);
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

/// Everything that is stored, if it is as it was written.
fn everything(folder: &Path) -> Result<Vec<Value>> {
    everything_but(folder, "")
}

/// The same without the column of this name.
fn everything_but(folder: &Path, column: &str) -> Result<Vec<Value>> {
    let database = Database::open(folder)?;
    let state = database.reader();
    let mut said = Vec::new();
    for table in STATE.tables {
        let all = table.select("ORDER BY 1");
        let mut all = state.prepare(&all).map_err(read_failed)?;
        let mut rows = all.query([]).map_err(read_failed)?;
        while let Some(row) = rows.next().map_err(read_failed)? {
            for (at, name) in table.columns.iter().enumerate() {
                if *name == column {
                    continue;
                }
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
    assert!(!folder.path().join("state.db-wal").exists(), "it is closed");
    let mut told = 0;
    let file = folder.path().join("state.db");
    each_flip(&file, (60, 1), empty, |at, damaged| {
        match everything(damaged) {
            Ok(found) => assert_eq!(found, written, "byte {at}"),
            Err(_) => told += 1,
        }
    });
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
    let read = |thread| database.messages(thread, &MessagePage::default());
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

/// The files of a process that was just killed.
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
    let mut told = 0;
    let file = folder.path().join("state.db-wal");
    let copy = || crashed(folder.path());
    each_flip(&file, (40, 61), copy, |at, crashed| {
        match everything(crashed) {
            Ok(found) => assert_eq!(found, written, "byte {at}"),
            Err(BackendError::Damaged { .. }) => told += 1,
            Err(error) => panic!("byte {at}: {error}"),
        }
    });
    assert!(told > 20, "{told}");
    let log = std::fs::read(&file).unwrap();
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
                id: None,
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
