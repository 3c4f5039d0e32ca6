//! The tables of the remembered data. Each row carries a seal, and the sum over all rows is stored
//! with them.

use std::ops::Deref;

use rusqlite::types::Value;
use rusqlite::{
    Connection, OptionalExtension as _, Transaction, TransactionBehavior, params, params_from_iter,
};

use crate::database::{Seal, Sum, short};
use crate::error::Fault;

/// The layout of the tables.
const LAYOUT: u64 = 1;

const TABLES: &str = "
    CREATE TABLE sums (layout INTEGER NOT NULL, count INTEGER NOT NULL, seals INTEGER NOT NULL, seal TEXT NOT NULL);
    CREATE TABLE usage (
        path TEXT PRIMARY KEY, uses INTEGER NOT NULL, shown_at INTEGER NOT NULL, seal BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX usage_shown ON usage (shown_at);
    CREATE TABLE messages (
        thread TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL,
        content TEXT NOT NULL, created_at INTEGER NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (thread, seq)
    ) WITHOUT ROWID;
    CREATE TABLE pinned (
        thread TEXT NOT NULL, seq INTEGER NOT NULL, what TEXT NOT NULL, seal BLOB NOT NULL,
        PRIMARY KEY (thread, seq)
    ) WITHOUT ROWID;
    CREATE TABLE votes (
        key TEXT PRIMARY KEY, voted_at INTEGER NOT NULL, seal BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE kept (
        key TEXT PRIMARY KEY, value TEXT NOT NULL, seal BLOB NOT NULL
    ) WITHOUT ROWID;";

/// A table of sealed rows.
#[derive(Debug)]
pub(super) struct Table {
    name: &'static str,
    /// The key columns, followed by the others except the seal.
    columns: &'static [&'static str],
    keys: usize,
}

/// How often each file was useful, and when it was last shown.
pub(super) const USAGE: Table = Table {
    name: "usage",
    columns: &["path", "uses", "shown_at"],
    keys: 1,
};
/// The messages of threads.
pub(super) const MESSAGES: Table = Table {
    name: "messages",
    columns: &["thread", "seq", "id", "role", "content", "created_at"],
    keys: 2,
};
/// What is to be shown in every answer of a thread.
pub(super) const PINNED: Table = Table {
    name: "pinned",
    columns: &["thread", "seq", "what"],
    keys: 2,
};
/// The votes that were counted.
pub(super) const VOTES: Table = Table {
    name: "votes",
    columns: &["key", "voted_at"],
    keys: 1,
};
/// Single values by key.
pub(super) const KEPT: Table = Table {
    name: "kept",
    columns: &["key", "value"],
    keys: 1,
};
pub(super) const ALL: [&Table; 5] = [&USAGE, &MESSAGES, &PINNED, &VOTES, &KEPT];

impl Table {
    pub(super) fn name(&self) -> &str {
        self.name
    }

    /// The query for its rows by key, in ascending or descending order.
    fn select(&self, has_seals: bool, direction: &str) -> String {
        let columns = self.columns.join(", ");
        let seal = if has_seals { ", seal" } else { "" };
        let keys = self.columns[..self.keys].join(&format!(" {direction}, "));
        format!(
            "SELECT {columns}{seal} FROM {} ORDER BY {keys} {direction}",
            self.name
        )
    }

    fn of_key(&self, what: &str) -> String {
        let keys = self.columns[..self.keys].join(" = ? AND ");
        format!("{what} FROM {} WHERE {keys} = ?", self.name)
    }

    fn insert(&self) -> String {
        let columns = self.columns.join(", ");
        let places = "?, ".repeat(self.columns.len());
        format!(
            "INSERT OR REPLACE INTO {} ({columns}, seal) VALUES ({places}?)",
            self.name
        )
    }

    fn seal(&self, row: &[Value]) -> Seal {
        let mut hasher = blake3::Hasher::new();
        let mut add = |kind: u8, bytes: &[u8]| {
            hasher.update(&[kind]);
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(0, self.name.as_bytes());
        for value in row {
            match value {
                Value::Null => add(1, &[]),
                Value::Integer(it) => add(2, &it.to_le_bytes()),
                Value::Real(it) => add(3, &it.to_le_bytes()),
                Value::Text(it) => add(4, it.as_bytes()),
                Value::Blob(it) => add(5, it),
            }
        }
        short(&hasher)
    }

    /// Reads rows in the order of `direction` until one cannot be read. Each comes with its seal,
    /// or `None` if the row does not match its seal.
    pub(super) fn read(
        &self,
        connection: &Connection,
        has_seals: bool,
        direction: &str,
        each: &mut dyn FnMut(Vec<Value>, Option<Seal>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut statement = connection.prepare(&self.select(has_seals, direction))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let values = (0..self.columns.len()).map(|it| row.get(it));
            let values = values.collect::<rusqlite::Result<Vec<Value>>>()?;
            let seal = self.seal(&values);
            let is_whole = !has_seals || row.get::<_, Seal>(self.columns.len())? == seal;
            each(values, is_whole.then_some(seal))?;
        }
        Ok(())
    }
}

/// Changes that are committed together or not at all.
pub(super) struct Changes<'c> {
    transaction: Transaction<'c>,
    sum: Sum,
    /// Whether there is anything to commit.
    is_dirty: bool,
}

/// For reads before a change.
impl Deref for Changes<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.transaction
    }
}

impl<'c> Changes<'c> {
    pub(super) fn begin(connection: &'c mut Connection) -> Result<Self, Fault> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sum = sums(&transaction)?.1;
        Ok(Changes {
            transaction,
            sum,
            is_dirty: false,
        })
    }

    /// Begins changes of an empty database, and creates the tables.
    pub(super) fn first(connection: &'c mut Connection) -> Result<Self, Fault> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(TABLES)?;
        Ok(Changes {
            transaction,
            sum: Sum::default(),
            is_dirty: true,
        })
    }

    /// Writes a row, replacing the one of the same key. Returns whether there was none.
    pub(super) fn put(&mut self, table: &Table, row: &[Value]) -> Result<bool, Fault> {
        self.is_dirty = true;
        let before = self.seal_at(table, &row[..table.keys])?;
        let seal = table.seal(row);
        let values = row.iter().cloned().chain([Value::Blob(seal.to_vec())]);
        self.transaction
            .prepare_cached(&table.insert())?
            .execute(params_from_iter(values))?;
        if let Some(before) = before {
            self.sum.remove(before);
        }
        self.sum.add(seal);
        Ok(before.is_none())
    }

    /// Removes the row of this key, if there is one.
    pub(super) fn remove(&mut self, table: &Table, key: &[Value]) -> Result<(), Fault> {
        self.is_dirty = true;
        let before = self.seal_at(table, key)?;
        self.transaction
            .prepare_cached(&table.of_key("DELETE"))?
            .execute(params_from_iter(key))?;
        if let Some(before) = before {
            self.sum.remove(before);
        }
        Ok(())
    }

    fn seal_at(&self, table: &Table, key: &[Value]) -> Result<Option<Seal>, Fault> {
        let mut statement = self
            .transaction
            .prepare_cached(&table.of_key("SELECT seal"))?;
        let found = statement.query_row(params_from_iter(key), |row| row.get(0));
        Ok(found.optional()?)
    }

    pub(super) fn commit(self) -> Result<(), Fault> {
        let Changes {
            transaction,
            sum,
            is_dirty,
        } = self;
        if !is_dirty {
            return Ok(());
        }
        transaction.execute("DELETE FROM sums", [])?;
        transaction.execute(
            "INSERT INTO sums (layout, count, seals, seal) VALUES (?1, ?2, ?3, ?4)",
            params![
                LAYOUT.cast_signed(),
                sum.count.cast_signed(),
                sum.seals.cast_signed(),
                sum.seal(&transaction, &[LAYOUT])?
            ],
        )?;
        transaction.commit()?;
        Ok(())
    }
}

/// The stored layout of the tables and the stored sum of their rows.
fn sums(connection: &Connection) -> Result<(u64, Sum), Fault> {
    let damaged = || Fault::Damaged {
        what: "the sums of what is remembered are not as they were written".to_owned(),
    };
    let sql = "SELECT layout, count, seals, seal FROM sums";
    let found = connection.query_row(sql, [], |row| {
        let number = |at| row.get(at).map(i64::cast_unsigned);
        Ok((number(0)?, number(1)?, number(2)?, row.get::<_, String>(3)?))
    });
    let Some((layout, count, seals, seal)) = found.optional()? else {
        return Err(damaged());
    };
    let sum = Sum { count, seals };
    if sum.seal(connection, &[layout])? != seal {
        return Err(damaged());
    }
    Ok((layout, sum))
}

/// Whether the tables are of this version's layout.
pub(super) fn is_ours(connection: &Connection) -> Result<bool, Fault> {
    Ok(sums(connection)?.0 == LAYOUT)
}

/// Checks that every row is as it was written and none is missing.
pub(super) fn check(connection: &Connection) -> Result<(), Fault> {
    let written = sums(connection)?.1;
    let mut found = Sum::default();
    for table in ALL {
        table.read(connection, true, "ASC", &mut |row, seal| {
            let what = || format!("{:?} in {} does not match its checksum", row[0], table.name);
            found.add(seal.ok_or_else(|| Fault::Damaged { what: what() })?);
            Ok(())
        })?;
    }
    if found != written {
        let what = "some of the remembered data is missing".to_owned();
        return Err(Fault::Damaged { what });
    }
    Ok(())
}
