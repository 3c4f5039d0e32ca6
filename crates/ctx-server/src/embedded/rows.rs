//! The tables of `state.db`. Each row carries a seal, and what all of them come to is kept with them: a row that was
//! changed on the disk, or is gone, is told from what was written.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, Transaction, params_from_iter};

use super::database::{Result, damaged, read_failed, write_failed};

/// The tables. Triggers keep the sum of the seals, by an exclusive or: nothing is written but by [`Table::put`].
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS files (
        path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, hash BLOB NOT NULL, created_at INTEGER NOT NULL,
        pending INTEGER NOT NULL, seal INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS files_pending ON files (path) WHERE pending;
    CREATE TABLE IF NOT EXISTS threads (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT, pinned TEXT NOT NULL,
        created_at INTEGER NOT NULL, seal INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS messages (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, thread INTEGER NOT NULL, role TEXT NOT NULL,
        content TEXT NOT NULL, created_at INTEGER NOT NULL, seal INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS messages_of_threads ON messages (thread, seq);
    CREATE TABLE IF NOT EXISTS votes (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL, useful INTEGER NOT NULL,
        created_at INTEGER NOT NULL, seal INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS usage (
        path TEXT PRIMARY KEY, uses INTEGER NOT NULL, seal INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS sums (number INTEGER PRIMARY KEY, count INTEGER NOT NULL, seals INTEGER NOT NULL);
    INSERT OR IGNORE INTO sums VALUES (1, 0, 0);";

/// A table of sealed rows.
#[derive(Debug)]
pub(super) struct Table {
    name: &'static str,
    /// The first one is its key. The seal comes after all of them.
    columns: &'static [&'static str],
}

pub(super) const FILES: Table = Table {
    name: "files",
    columns: &["path", "bytes", "hash", "created_at", "pending"],
};
pub(super) const THREADS: Table = Table {
    name: "threads",
    columns: &["seq", "id", "title", "pinned", "created_at"],
};
pub(super) const MESSAGES: Table = Table {
    name: "messages",
    columns: &["seq", "id", "thread", "role", "content", "created_at"],
};
pub(super) const VOTES: Table = Table {
    name: "votes",
    columns: &["seq", "key", "path", "useful", "created_at"],
};
pub(super) const USAGE: Table = Table {
    name: "usage",
    columns: &["path", "uses"],
};
const ALL: [&Table; 5] = [&FILES, &THREADS, &MESSAGES, &VOTES, &USAGE];

impl Table {
    /// A query of whole rows: what follows the name of the table is `rest`.
    pub(super) fn select(&self, rest: &str) -> String {
        let columns = self.columns.join(", ");
        format!("SELECT {columns}, seal FROM {} {rest}", self.name)
    }

    /// A row of such a query, if it is as it was written.
    pub(super) fn whole<'r, 's>(&self, row: &'r Row<'s>) -> rusqlite::Result<&'r Row<'s>> {
        self.sealed(row).map(|_| row)
    }

    fn sealed(&self, row: &Row<'_>) -> rusqlite::Result<i64> {
        let values = (0..self.columns.len()).map(|at| row.get_ref(at));
        let values = values.collect::<rusqlite::Result<Vec<_>>>()?;
        let seal = self.seal(values.into_iter());
        let at = self.columns.len();
        if row.get::<_, i64>(at)? == seal {
            return Ok(seal);
        }
        let what = format!("a row of {} is not as it was written", self.name);
        let kind = rusqlite::types::Type::Integer;
        Err(rusqlite::Error::FromSqlConversionFailure(
            at,
            kind,
            what.into(),
        ))
    }

    fn seal<'v>(&self, values: impl Iterator<Item = ValueRef<'v>>) -> i64 {
        let mut hasher = blake3::Hasher::new();
        let mut add = |kind: u8, bytes: &[u8]| {
            hasher.update(&[kind]);
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(0, self.name.as_bytes());
        for value in values {
            match value {
                ValueRef::Null => add(1, &[]),
                ValueRef::Integer(it) => add(2, &it.to_le_bytes()),
                ValueRef::Real(it) => add(3, &it.to_le_bytes()),
                ValueRef::Text(it) => add(4, it),
                ValueRef::Blob(it) => add(5, it),
            }
        }
        let mut seal = [0; 8];
        hasher.finalize_xof().fill(&mut seal);
        i64::from_le_bytes(seal)
    }

    /// Writes a row, in the place of the one that has its key.
    pub(super) fn put<const N: usize>(
        &self,
        transaction: &Transaction<'_>,
        row: [Value; N],
    ) -> Result<()> {
        let (name, columns) = (self.name, self.columns.join(", "));
        let remove = format!("DELETE FROM {name} WHERE {} = ?1", self.columns[0]);
        let places = "?, ".repeat(self.columns.len());
        let add = format!("INSERT INTO {name} ({columns}, seal) VALUES ({places}?)");
        let seal = self.seal(row.iter().map(ValueRef::from));
        let mut remove = transaction.prepare_cached(&remove).map_err(write_failed)?;
        remove.execute([&row[0]]).map_err(write_failed)?;
        let mut add = transaction.prepare_cached(&add).map_err(write_failed)?;
        let values = row.into_iter().chain([Value::Integer(seal)]);
        add.execute(params_from_iter(values))
            .map_err(write_failed)?;
        Ok(())
    }

    /// The number of the last row; 0 where there is none.
    pub(super) fn last(&self, connection: &Connection) -> Result<i64> {
        let get = format!("SELECT coalesce(max(seq), 0) FROM {}", self.name);
        let mut get = connection.prepare_cached(&get).map_err(read_failed)?;
        get.query_row([], |row| row.get(0)).map_err(read_failed)
    }

    /// What keeps the sum while rows come and go.
    fn triggers(&self) -> String {
        let trigger = |event: &str, row: &str, step: &str| {
            let name = self.name;
            format!(
                "CREATE TRIGGER IF NOT EXISTS {name}_{event} AFTER {event} ON {name} BEGIN
                    UPDATE sums SET count = count {step}, seals = (seals | {row}.seal) - (seals & {row}.seal);
                END;"
            )
        };
        trigger("insert", "NEW", "+ 1") + &trigger("delete", "OLD", "- 1")
    }

    /// Takes over the rows of a table of before, which has no seals.
    fn take_over(&self, transaction: &Transaction<'_>) -> Result<()> {
        let columns = self.columns.join(", ");
        let get = format!("SELECT {columns} FROM old_{}", self.name);
        let add = format!(
            "INSERT INTO {} ({columns}, seal) VALUES ({}?)",
            self.name,
            "?, ".repeat(self.columns.len())
        );
        let mut get = transaction.prepare(&get).map_err(read_failed)?;
        let mut add = transaction.prepare(&add).map_err(write_failed)?;
        let mut rows = get.query([]).map_err(read_failed)?;
        while let Some(row) = rows.next().map_err(read_failed)? {
            let values = (0..self.columns.len()).map(|at| row.get(at));
            let mut values = values
                .collect::<rusqlite::Result<Vec<Value>>>()
                .map_err(read_failed)?;
            values.push(Value::Integer(self.seal(values.iter().map(ValueRef::from))));
            add.execute(params_from_iter(values))
                .map_err(write_failed)?;
        }
        Ok(())
    }
}

fn definitions() -> String {
    let triggers = ALL.iter().map(|it| it.triggers());
    TABLES.to_owned() + &triggers.collect::<String>()
}

/// Makes the tables where there are none.
pub(super) fn create(transaction: &Transaction<'_>) -> Result<()> {
    let created = transaction.execute_batch(&definitions());
    created.map_err(write_failed)
}

/// Makes the tables, with what those of an earlier format hold.
pub(super) fn replace(transaction: &Transaction<'_>) -> Result<()> {
    let run = |sql: &str| transaction.execute_batch(sql).map_err(write_failed);
    run("DROP INDEX IF EXISTS files_pending; DROP INDEX IF EXISTS messages_of_threads;")?;
    for table in ALL {
        let name = table.name;
        run(&format!("ALTER TABLE {name} RENAME TO old_{name}"))?;
    }
    create(transaction)?;
    for table in ALL {
        table.take_over(transaction)?;
    }
    // Messages refer to threads, and go first.
    for name in ["messages", "threads", "files", "votes", "usage"] {
        run(&format!("DROP TABLE old_{name}"))?;
    }
    Ok(())
}

/// Sees to it that every page, table, index and row is as it was written, and that none is missing. O(bytes).
pub(super) fn check(connection: &Connection) -> Result<()> {
    let said: String = connection
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .map_err(read_failed)?;
    if said != "ok" {
        return Err(damaged("its pages are not as they were written"));
    }
    let made = Connection::open_in_memory().map_err(read_failed)?;
    made.execute_batch(&definitions()).map_err(read_failed)?;
    if schema(connection).map_err(read_failed)? != schema(&made).map_err(read_failed)? {
        return Err(damaged("its tables are not as they were made"));
    }
    let written = connection.query_row("SELECT count, seals FROM sums", [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    });
    let mut found = (0_i64, 0_i64);
    for table in ALL {
        let all = table.select("");
        let mut all = connection.prepare(&all).map_err(read_failed)?;
        let mut rows = all.query([]).map_err(read_failed)?;
        while let Some(row) = rows.next().map_err(read_failed)? {
            found.0 += 1;
            found.1 ^= table.sealed(row).map_err(read_failed)?;
        }
    }
    if written.map_err(read_failed)? != found {
        return Err(damaged("some of its rows are missing"));
    }
    Ok(())
}

fn schema(connection: &Connection) -> rusqlite::Result<String> {
    // An earlier format counted with it, and it cannot be removed.
    let get = "SELECT group_concat(type || name || tbl_name || coalesce(sql, ''), ';')
        FROM (SELECT * FROM sqlite_master WHERE name <> 'sqlite_sequence' ORDER BY name)";
    connection.query_row(get, [], |row| row.get(0))
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
