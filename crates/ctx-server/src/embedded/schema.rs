//! The databases of sealed rows: their tables, migrations from earlier formats, and integrity
//! checks. The combined seals of all rows are stored too, so that a missing row is noticed.

use rusqlite::{Connection, Transaction};

use super::database::{Result, damaged, read_failed, write_failed};
use super::rows::{
    CONTEXTS, CONTEXTS_2, FILES, MESSAGES, SHOWN, Seals, THREADS, THREADS_7, Table, USAGE, VOTES,
};
use crate::backend::BackendError;
use crate::cause::Fact;

/// The schema of a database.
#[derive(Debug)]
pub(super) struct Schema {
    /// The current format.
    version: i64,
    pub(super) tables: Tables,
    /// The SQL that creates tables and indexes.
    definitions: &'static str,
    earlier: &'static [Earlier],
}

/// An earlier format.
#[derive(Debug)]
struct Earlier {
    version: i64,
    /// Its tables; those of a format without seals are never read as such.
    tables: Tables,
    /// The SQL that gives its tables the current columns.
    steps: &'static [&'static str],
    seals: Seals,
}

/// The tables of a database.
type Tables = &'static [&'static Table];

/// From format 1, whose votes were on contexts: only their totals are kept.
const FROM_1: &str = "
    DROP TABLE votes;
    CREATE TABLE votes (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL, useful INTEGER NOT NULL,
        created_at INTEGER NOT NULL
    );
    ALTER TABLE usage RENAME COLUMN votes TO uses;
    UPDATE usage SET uses = max(0, uses);";

/// From format 2, whose files were never pending.
const FROM_2: &str = "ALTER TABLE files ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;";

/// From format 7, whose threads could not be listed by their last activity: that is the creation of
/// a thread or its last message.
const FROM_7: &str = "
    ALTER TABLE threads ADD COLUMN activity INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN active_at INTEGER NOT NULL DEFAULT 0;
    UPDATE threads SET activity = it.place, active_at = it.at FROM (
        SELECT seq, at, row_number() OVER (ORDER BY at, seq) AS place FROM (
            SELECT t.seq, max(t.created_at, coalesce(max(m.created_at), t.created_at)) AS at
            FROM threads t LEFT JOIN messages m ON m.thread = t.seq GROUP BY t.seq
        )
    ) it WHERE threads.seq = it.seq;";

/// The tables of threads, messages, votes, and file entries until format 7.
const STATE_7: Tables = &[&FILES, &THREADS_7, &MESSAGES, &VOTES, &USAGE];

/// An earlier format of these.
const fn state(version: i64, seals: Seals, steps: &'static [&'static str]) -> Earlier {
    Earlier {
        version,
        tables: STATE_7,
        steps,
        seals,
    }
}

/// From the first format of contexts, which may not record when files were shown.
const FROM_0: &str = "CREATE TABLE IF NOT EXISTS shown (path TEXT PRIMARY KEY, shown_at INTEGER NOT NULL) WITHOUT ROWID;";

/// From format 2 of contexts, in which only the receipts told of which threads they are.
const FROM_BUILT_2: &str = "
    ALTER TABLE contexts ADD COLUMN thread TEXT;
    UPDATE contexts SET thread = json_extract(receipt, '$.threadId') WHERE json_valid(receipt);";

/// An earlier format of contexts, and of when files were shown.
const fn built(version: i64, seals: Seals, steps: &'static [&'static str]) -> Earlier {
    Earlier {
        version,
        tables: &[&CONTEXTS_2, &SHOWN],
        steps,
        seals,
    }
}

/// The schema of threads, messages, votes, and file entries.
pub(super) const STATE: Schema = Schema {
    version: 8,
    tables: &[&FILES, &THREADS, &MESSAGES, &VOTES, &USAGE],
    definitions: "
    CREATE TABLE IF NOT EXISTS files (
        path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, hash BLOB NOT NULL, created_at INTEGER NOT NULL,
        pending INTEGER NOT NULL, seal INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS files_pending ON files (path) WHERE pending;
    CREATE TABLE IF NOT EXISTS threads (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT, pinned TEXT NOT NULL,
        created_at INTEGER NOT NULL, activity INTEGER NOT NULL, active_at INTEGER NOT NULL, seal INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS threads_activity ON threads (activity);
    CREATE TABLE IF NOT EXISTS messages (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL, thread INTEGER NOT NULL, role TEXT NOT NULL,
        content TEXT NOT NULL, created_at INTEGER NOT NULL, seal INTEGER NOT NULL, UNIQUE (thread, id)
    );
    CREATE INDEX IF NOT EXISTS messages_of_threads ON messages (thread, seq);
    CREATE TABLE IF NOT EXISTS votes (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL, useful INTEGER NOT NULL,
        created_at INTEGER NOT NULL, seal INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS votes_given ON votes (created_at);
    CREATE TABLE IF NOT EXISTS usage (
        path TEXT PRIMARY KEY, uses INTEGER NOT NULL, seal INTEGER NOT NULL
    ) WITHOUT ROWID;",
    earlier: &[
        state(1, Seals::HasNot, &[FROM_1, FROM_2, FROM_7]),
        state(2, Seals::HasNot, &[FROM_2, FROM_7]),
        state(3, Seals::HasNot, &[FROM_7]),
        // Its votes had no index on their times.
        state(4, Seals::OfAll, &[FROM_7]),
        // It had one sum of all tables.
        state(5, Seals::OfAll, &[FROM_7]),
        // Its message ids were unique across threads.
        state(6, Seals::OfEach, &[FROM_7]),
        state(7, Seals::OfEach, &[FROM_7]),
    ],
};

/// The schema of contexts, and of when files were shown.
pub(super) const BUILT: Schema = Schema {
    version: 3,
    tables: &[&CONTEXTS, &SHOWN],
    definitions: "
    CREATE TABLE IF NOT EXISTS contexts (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, thread TEXT, receipt TEXT NOT NULL, seal INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS contexts_of_threads ON contexts (thread) WHERE thread IS NOT NULL;
    CREATE TABLE IF NOT EXISTS shown (
        path TEXT PRIMARY KEY, shown_at INTEGER NOT NULL, seal INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS shown_last ON shown (shown_at);",
    earlier: &[
        built(0, Seals::HasNot, &[FROM_0, FROM_BUILT_2]),
        built(1, Seals::OfAll, &[FROM_BUILT_2]),
        built(2, Seals::OfEach, &[FROM_BUILT_2]),
    ],
};

/// Triggers keep the sums of each table, and how often it was changed. Only [`Table::put`] writes
/// rows.
const SUMS: &str = "
    CREATE TABLE IF NOT EXISTS sums (
        name TEXT PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL, seals INTEGER NOT NULL,
        changes INTEGER NOT NULL
    ) WITHOUT ROWID;";

impl Schema {
    /// Creates the tables or migrates those of an earlier format, and checks that all rows are as
    /// they were written. O(bytes).
    ///
    /// # Errors
    /// [`BackendError::Damaged`], in which case nothing is changed; errors of reading or writing.
    pub(super) fn prepare(&self, connection: &mut Connection) -> Result<()> {
        let transaction = connection.transaction().map_err(write_failed)?;
        let found = transaction.pragma_query_value(None, "user_version", |row| row.get(0));
        let found: i64 = found.map_err(read_failed)?;
        if found == self.version || found == 0 && is_empty(&transaction)? {
            self.create(&transaction)?;
        } else {
            let is_it = |it: &&Earlier| it.version == found;
            let earlier = self.earlier.iter().find(is_it).ok_or_else(|| {
                let known = self.version;
                let what = format!("it is of format {found}, this program reads {known}");
                BackendError::failed("open a database", what)
            })?;
            self.replace(&transaction, earlier)?;
        }
        self.check(&transaction)?;
        // Not written needlessly: that takes room, and a full disk has none.
        if found != self.version {
            let version = transaction.pragma_update(None, "user_version", self.version);
            version.map_err(write_failed)?;
        }
        transaction.commit().map_err(write_failed)
    }

    /// The SQL of all tables, indexes and triggers.
    fn all(&self) -> String {
        let triggers = self.tables.iter().map(|it| it.triggers());
        self.definitions.to_owned() + SUMS + &triggers.collect::<String>()
    }

    /// Creates the tables that do not exist.
    pub(super) fn create(&self, transaction: &Transaction<'_>) -> Result<()> {
        let created = transaction.execute_batch(&self.all());
        created.map_err(write_failed)
    }

    /// Creates the tables, with the rows of those of an earlier format.
    fn replace(&self, transaction: &Transaction<'_>, earlier: &Earlier) -> Result<()> {
        let run = |sql: &str| transaction.execute_batch(sql).map_err(write_failed);
        check_pages(transaction)?;
        // The count of changes must not fall by rewriting: the mark records how far it had come.
        let mut before = 0;
        match earlier.seals {
            Seals::OfEach => {
                check_rows(earlier.tables, transaction)?;
                before = changes(transaction)?;
            }
            Seals::OfAll => check_rows_together(earlier.tables, transaction)?,
            Seals::HasNot => {}
        }
        for drop in removals(transaction)? {
            run(&drop)?;
        }
        run("DROP TABLE IF EXISTS sums")?;
        earlier.steps.iter().try_for_each(|it| run(it))?;
        for Table { name, .. } in self.tables {
            run(&format!("ALTER TABLE {name} RENAME TO old_{name}"))?;
        }
        self.create(transaction)?;
        for table in self.tables {
            table.take_over(transaction)?;
        }
        let name = self.tables[0].name;
        let more = format!("UPDATE sums SET changes = changes + {before} WHERE name = '{name}'");
        run(&more)?;
        // Messages refer to threads, so they are dropped first.
        let mut tables = self.tables.iter().rev();
        tables.try_for_each(|it| run(&format!("DROP TABLE old_{}", it.name)))
    }

    /// Checks that every page, table, index and row is as it was written, and that none is missing.
    /// O(bytes).
    fn check(&self, connection: &Connection) -> Result<()> {
        check_pages(connection)?;
        let made = Connection::open_in_memory().map_err(read_failed)?;
        made.execute_batch(&self.all()).map_err(read_failed)?;
        if schema(connection).map_err(read_failed)? != schema(&made).map_err(read_failed)? {
            return Err(damaged(Fact("its tables are not as they were made")));
        }
        check_rows(self.tables, connection)
    }

    /// The tables of the database of `connection`, if that is of this format or an earlier one.
    pub(super) fn tables_of(&self, connection: &Connection) -> Tables {
        let found = connection.pragma_query_value(None, "user_version", |row| row.get(0));
        let found: Option<i64> = found.ok();
        let earlier = self.earlier.iter().find(|it| Some(it.version) == found);
        earlier.map_or(self.tables, |it| it.tables)
    }
}

fn check_rows(tables: Tables, connection: &Connection) -> Result<()> {
    for table in tables {
        if table.summed(connection)? != table.sum(connection)? {
            return Err(damaged(Fact("some of its rows are missing")));
        }
    }
    Ok(())
}

/// The check of rows for earlier formats, which have one sum of all tables.
fn check_rows_together(tables: Tables, connection: &Connection) -> Result<()> {
    let written = connection.query_row("SELECT count, seals FROM sums", [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    });
    let mut found = (0_i64, 0_i64);
    for table in tables {
        let sum = table.summed(connection)?;
        found = (found.0 + sum.count, found.1 ^ sum.seals);
    }
    if written.map_err(read_failed)? != found {
        return Err(damaged(Fact("some of its rows are missing")));
    }
    Ok(())
}

/// How often rows of any table were written or removed; never decreases.
pub(super) fn changes(connection: &Connection) -> Result<i64> {
    let get = "SELECT coalesce(sum(changes), 0) FROM sums";
    let mut get = connection.prepare_cached(get).map_err(read_failed)?;
    get.query_row([], |row| row.get(0)).map_err(read_failed)
}

fn check_pages(connection: &Connection) -> Result<()> {
    let said: String = connection
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .map_err(read_failed)?;
    if said != "ok" {
        return Err(damaged(Fact("its pages are not as they were written")));
    }
    Ok(())
}

fn is_empty(connection: &Connection) -> Result<bool> {
    let get = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_master)";
    let empty = connection.query_row(get, [], |row| row.get(0));
    empty.map_err(read_failed)
}

/// The statements that drop all indexes and triggers.
fn removals(connection: &Connection) -> Result<Vec<String>> {
    let get = "SELECT 'DROP ' || type || ' ' || name FROM sqlite_master
        WHERE type IN ('index', 'trigger') AND sql IS NOT NULL";
    let mut get = connection.prepare(get).map_err(read_failed)?;
    let removals = get.query_map([], |row| row.get(0));
    removals.and_then(Iterator::collect).map_err(read_failed)
}

fn schema(connection: &Connection) -> rusqlite::Result<String> {
    // Created by earlier formats for counting; it cannot be removed.
    let get = "SELECT group_concat(type || name || tbl_name || coalesce(sql, ''), ';')
        FROM (SELECT * FROM sqlite_master WHERE name <> 'sqlite_sequence' ORDER BY name)";
    connection.query_row(get, [], |row| row.get(0))
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
