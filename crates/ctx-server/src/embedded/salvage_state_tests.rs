use std::collections::BTreeMap;

use rusqlite::types::Value;
use tempfile::TempDir;

use super::*;
use crate::backend::NewThread;
use crate::embedded::Quota;
use crate::embedded::database::Database;
use crate::embedded::rows::{MESSAGES, USAGE, VOTES};
use crate::embedded::tests::{each_flip, empty, write_threads};
use crate::paging::{MessagePage, ThreadPage};

/// Writes three threads with twelve messages each, and eight rows of each other kind.
fn fill(database: &Database) {
    write_threads(database, &NewThread::default());
    let filled = database.change(|transaction| {
        for number in 1..=8_i64 {
            let path = Value::from(format!("src/file-{number}.rs"));
            let key = format!("key-{number}");
            let vote = [
                number.into(),
                key.into(),
                path.clone(),
                1.into(),
                number.into(),
            ];
            VOTES.put(transaction, &vote)?;
            USAGE.put(transaction, &[path.clone(), number.into()])?;
            let hash = vec![7; 32];
            let file = [path, 10.into(), hash.into(), 3.into(), 0.into()];
            FILES.put(transaction, &file)?;
        }
        Ok(())
    });
    filled.unwrap();
}

/// All rows by their tables and keys.
fn everything(folder: &Path) -> BTreeMap<(&'static str, String), Vec<Value>> {
    let database = Database::open(folder).unwrap();
    let state = database.reader();
    let mut found = BTreeMap::new();
    for table in STATE.tables {
        let mut all = state.prepare(&table.select("")).unwrap();
        let mut rows = all.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = table.whole(row).and_then(|row| table.values(row)).unwrap();
            found.insert((table.name, format!("{:?}", values[0])), values);
        }
    }
    found
}

/// What was kept and lost of one kind.
fn of(salvaged: &Salvaged, table: &Table) -> (u64, u64) {
    let rows = salvaged.rows.iter().find(|it| it.kind == table.name);
    rows.map(|it| (it.kept, it.lost)).unwrap()
}

#[test]
fn a_flipped_bit_costs_no_more_than_what_cannot_be_read() {
    let folder = empty();
    fill(&Database::open(folder.path()).unwrap());
    let written = everything(folder.path());
    let (mut count, mut least) = (0, usize::MAX);
    let file = folder.path().join(STATE_FILE);
    each_flip(&file, (60, 1), empty, |at, damaged| {
        let flipped = fs::read(damaged.join(STATE_FILE)).unwrap();
        let Some(salvaged) = salvage(damaged).unwrap() else {
            assert_eq!(everything(damaged), written, "byte {at}");
            return;
        };
        let Some(kept_as) = &salvaged.kept_as else {
            assert_eq!(fs::read(damaged.join(STATE_FILE)).unwrap(), flipped);
            return;
        };
        assert_eq!(
            fs::read(damaged.join(kept_as)).unwrap(),
            flipped,
            "byte {at}"
        );
        count += 1;
        let found = everything(damaged);
        let made = found.iter().filter(|(key, _)| !written.contains_key(*key));
        assert_eq!(made.count(), 0, "byte {at}");
        let same = found.iter().filter(|(key, row)| written[*key] == **row);
        let same = same.count();
        assert_eq!(
            same as u64 + salvaged.threads_made,
            found.len() as u64,
            "byte {at}"
        );
        least = least.min(same);
        let kept: u64 = salvaged.rows.iter().map(|it| it.kept).sum();
        assert_eq!(kept, same as u64, "byte {at}");
        assert_eq!(salvage(damaged).unwrap(), None, "byte {at}");
        fill_more(damaged);
    });
    assert!(count > 8, "{count}");
    // At worst a page leads to all rows of one kind, and no kind has more than there are messages.
    let messages = written.keys().filter(|it| it.0 == MESSAGES.name).count();
    assert!(
        least >= written.len() - messages,
        "{least} of {}",
        written.len()
    );
}

fn fill_more(folder: &Path) {
    let database = Database::open(folder).unwrap();
    let thread = NewThread::default();
    let made = database.create_thread("another".into(), thread, &Quota::default());
    made.unwrap();
}

/// Changes rows past their seals.
fn change(folder: &Path, put: &str) {
    let state = Connection::open(folder.join(STATE_FILE)).unwrap();
    state.execute_batch(put).unwrap();
}

#[test]
fn messages_outlive_the_row_of_their_thread() {
    let folder = empty();
    fill(&Database::open(folder.path()).unwrap());
    change(
        folder.path(),
        "UPDATE threads SET title = 'another' WHERE id = 'b';
         UPDATE messages SET content = 'another' WHERE id = 'msg-c-3';",
    );
    let salvaged = salvage(folder.path()).unwrap().unwrap();
    assert_eq!(of(&salvaged, &THREADS), (2, 1));
    assert_eq!(of(&salvaged, &MESSAGES), (35, 1));
    assert_eq!(of(&salvaged, &FILES), (8, 0));
    assert_eq!((salvaged.threads_made, salvaged.is_behind), (1, false));
    assert_eq!(salvaged.kept_as.as_deref(), Some("state.db.damaged-1"));
    let database = Database::open(folder.path()).unwrap();
    let threads = database.threads(&ThreadPage::default()).unwrap().items;
    let made = threads.iter().find(|it| it.title.is_some()).unwrap();
    assert_eq!(made.title.as_deref(), Some("salvaged"));
    let count = |id: &str| {
        database
            .messages(id, &MessagePage::default())
            .unwrap()
            .items
            .len()
    };
    assert_eq!((count("a"), count(&made.id), count("c")), (12, 12, 11));
    assert!(database.messages("b", &MessagePage::default()).is_err());
    drop(database);
    // Another time, another name.
    change(folder.path(), "UPDATE votes SET useful = 0 WHERE seq = 3");
    let salvaged = salvage(folder.path()).unwrap().unwrap();
    assert_eq!(salvaged.kept_as.as_deref(), Some("state.db.damaged-2"));
    assert_eq!(of(&salvaged, &VOTES), (7, 1));
}

/// A filled state as a crash leaves it: what was written last is in its log alone.
fn crashed() -> TempDir {
    let folder = empty();
    let database = Database::open(folder.path()).unwrap();
    fill(&database);
    let crashed = empty();
    let log = log_of(Path::new(STATE_FILE));
    for name in [Path::new(STATE_FILE), &log, Path::new("state.mark")] {
        fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    crashed
}

#[test]
fn what_was_written_last_and_is_missing_is_told() {
    let crashed = crashed();
    let log = log_of(&crashed.path().join(STATE_FILE));
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() / 2]).unwrap();
    let salvaged = salvage(crashed.path()).unwrap().unwrap();
    assert!(salvaged.is_behind);
    let (kept, lost) = of(&salvaged, &MESSAGES);
    assert!(kept > 5 && lost == 0, "{salvaged:?}");
    assert_eq!(
        everything(crashed.path()).len() as u64,
        salvaged.rows.iter().map(|it| it.kept).sum::<u64>()
    );
    assert_eq!(salvage(crashed.path()).unwrap(), None);
}

#[test]
fn a_log_stays_whole_whatever_is_damaged_in_it() {
    let crashed = crashed();
    let log = log_of(&crashed.path().join(STATE_FILE));
    let mut bytes = fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let opened = Database::open(crashed.path());
    assert!(matches!(opened, Err(BackendError::Damaged { .. })));
    assert!(fs::read(&log).unwrap() == bytes, "as it was found");
    let salvaged = salvage(crashed.path()).unwrap().unwrap();
    assert!(salvaged.is_behind);
    let kept = crashed.path().join(salvaged.kept_as.unwrap());
    assert!(fs::read(log_of(&kept)).unwrap() == bytes, "beside its copy");
    assert!(!log.exists(), "it is not that of the new state");
}

#[test]
fn a_file_of_which_nothing_can_be_read_stays() {
    let folder = empty();
    fill(&Database::open(folder.path()).unwrap());
    let file = folder.path().join(STATE_FILE);
    let text = "no database at all ".repeat(500);
    fs::write(&file, &text).unwrap();
    let salvaged = salvage(folder.path()).unwrap().unwrap();
    assert_eq!(salvaged.kept_as, None);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    names.retain(|it| it.to_string_lossy().starts_with("state"));
    names.sort();
    assert_eq!(names, ["state.db", "state.mark"]);
    let opened = Database::open(folder.path());
    assert!(matches!(opened, Err(BackendError::Damaged { .. })));
}
