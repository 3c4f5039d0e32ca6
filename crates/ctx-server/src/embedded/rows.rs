//! Rows with a checksum (the seal), by which changes on the disk are detected.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};

use super::database::{Result, read_failed, write_failed};
use crate::cause::Fact;

/// Which seals and sums a format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seals {
    /// A seal per row and a sum per table, as in the current format.
    OfEach,
    /// A seal per row and one sum of all tables.
    OfAll,
    HasNot,
}

/// The column that is summed.
const BYTES: &str = "bytes";

/// The sums over all rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: i64,
    /// The sum of the column `bytes`.
    pub(super) bytes: i64,
    /// The exclusive or of all seals.
    pub(super) seals: i64,
}

/// A table of sealed rows.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// The columns; the first is the key. The seal follows the last one.
    pub(super) columns: &'static [&'static str],
}

pub(super) const FILES: Table = Table {
    name: "files",
    columns: &["path", "bytes", "hash", "created_at", "pending"],
};
pub(super) const THREADS: Table = Table {
    name: "threads",
    columns: &[
        "seq",
        "id",
        "title",
        "pinned",
        "created_at",
        "activity",
        "active_at",
    ],
};
/// As it was until format 7.
pub(super) const THREADS_7: Table = Table {
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
pub(super) const CONTEXTS: Table = Table {
    name: "contexts",
    columns: &["id", "seq", "thread", "receipt"],
};
/// As it was until format 2.
pub(super) const CONTEXTS_2: Table = Table {
    name: "contexts",
    columns: &["id", "seq", "receipt"],
};
pub(super) const SHOWN: Table = Table {
    name: "shown",
    columns: &["path", "shown_at"],
};

impl Table {
    /// A query of whole rows; `rest` follows the name of the table.
    pub(super) fn select(&self, rest: &str) -> String {
        let columns = self.columns.join(", ");
        format!("SELECT {columns}, seal FROM {} {rest}", self.name)
    }

    /// Returns a row of such a query, if it is as it was written.
    pub(super) fn whole<'r, 's>(&self, row: &'r Row<'s>) -> rusqlite::Result<&'r Row<'s>> {
        self.sealed(row).map(|_| row)
    }

    /// Returns the seal of a row of such a query, if the row is as it was written.
    pub(super) fn sealed(&self, row: &Row<'_>) -> rusqlite::Result<i64> {
        let values = (0..self.columns.len()).map(|at| row.get_ref(at));
        let values = values.collect::<rusqlite::Result<Vec<_>>>()?;
        let seal = self.seal(values.into_iter());
        let at = self.columns.len();
        if row.get::<_, i64>(at)? == seal {
            return Ok(seal);
        }
        let kind = rusqlite::types::Type::Integer;
        let fact = Box::new(Fact("a row does not match its checksum"));
        Err(rusqlite::Error::FromSqlConversionFailure(at, kind, fact))
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

    /// Writes a row, replacing the one with its key.
    pub(super) fn put(&self, transaction: &Connection, row: &[Value]) -> Result<()> {
        let (name, columns) = (self.name, self.columns.join(", "));
        let remove = format!("DELETE FROM {name} WHERE {} = ?1", self.columns[0]);
        let places = "?, ".repeat(self.columns.len());
        let add = format!("INSERT INTO {name} ({columns}, seal) VALUES ({places}?)");
        let seal = self.seal(row.iter().map(ValueRef::from));
        let mut remove = transaction.prepare_cached(&remove).map_err(write_failed)?;
        remove.execute([&row[0]]).map_err(write_failed)?;
        let mut add = transaction.prepare_cached(&add).map_err(write_failed)?;
        let seal = Value::Integer(seal);
        let values = row.iter().chain([&seal]);
        add.execute(params_from_iter(values))
            .map_err(write_failed)?;
        Ok(())
    }

    /// The number of the last row; 0 if there is none.
    pub(super) fn last(&self, connection: &Connection) -> Result<i64> {
        let get = format!("SELECT coalesce(max(seq), 0) FROM {}", self.name);
        let mut get = connection.prepare_cached(&get).map_err(read_failed)?;
        get.query_row([], |row| row.get(0)).map_err(read_failed)
    }

    /// The triggers that keep the sums up to date.
    pub(super) fn triggers(&self) -> String {
        let name = self.name;
        let trigger = |event: &str, row: &str, sign: char| {
            let has_bytes = self.columns.contains(&BYTES);
            let bytes = if has_bytes {
                format!("{row}.{BYTES}")
            } else {
                "0".to_owned()
            };
            format!(
                "CREATE TRIGGER IF NOT EXISTS {name}_{event} AFTER {event} ON {name} BEGIN
                    UPDATE sums SET count = count {sign} 1, bytes = bytes {sign} {bytes},
                        seals = (seals | {row}.seal) - (seals & {row}.seal), changes = changes + 1 WHERE name = '{name}';
                END;"
            )
        };
        let none = format!("INSERT OR IGNORE INTO sums VALUES ('{name}', 0, 0, 0, 0);");
        none + &trigger("insert", "NEW", '+') + &trigger("delete", "OLD", '-')
    }

    /// The stored sums of all rows. O(1).
    pub(super) fn sum(&self, connection: &Connection) -> Result<Sum> {
        let get = "SELECT count, bytes, seals FROM sums WHERE name = ?1";
        let mut get = connection.prepare_cached(get).map_err(read_failed)?;
        let sum = get.query_row([self.name], |row| {
            Ok(Sum {
                count: row.get(0)?,
                bytes: row.get(1)?,
                seals: row.get(2)?,
            })
        });
        sum.map_err(read_failed)
    }

    /// The sums of all rows, computed from each row. O(bytes).
    pub(super) fn summed(&self, connection: &Connection) -> Result<Sum> {
        let bytes = self.columns.iter().position(|it| *it == BYTES);
        let mut all = connection.prepare(&self.select("")).map_err(read_failed)?;
        let mut rows = all.query([]).map_err(read_failed)?;
        let mut sum = Sum::default();
        while let Some(row) = rows.next().map_err(read_failed)? {
            sum.count += 1;
            sum.seals ^= self.sealed(row).map_err(read_failed)?;
            if let Some(at) = bytes {
                sum.bytes += row.get::<_, i64>(at).map_err(read_failed)?;
            }
        }
        Ok(sum)
    }

    /// Copies the rows of a table of an earlier format, whose name is prefixed with `old_`. Its
    /// seals, if it had any, were already checked.
    pub(super) fn take_over(&self, transaction: &Connection) -> Result<()> {
        let columns = self.columns.join(", ");
        let get = format!("SELECT {columns} FROM old_{}", self.name);
        let mut get = transaction.prepare(&get).map_err(read_failed)?;
        let mut rows = get.query([]).map_err(read_failed)?;
        while let Some(row) = rows.next().map_err(read_failed)? {
            self.put(transaction, &self.values(row).map_err(read_failed)?)?;
        }
        Ok(())
    }

    /// The values of a row.
    pub(super) fn values(&self, row: &Row<'_>) -> rusqlite::Result<Vec<Value>> {
        (0..self.columns.len()).map(|at| row.get(at)).collect()
    }
}
