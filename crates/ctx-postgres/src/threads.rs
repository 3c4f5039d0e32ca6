//! Messages of threads, and references pinned to them.

use async_trait::async_trait;
use ctx_model::UnixSeconds;
use ctx_retrieve::{History, Message, PortResult, References, Threads};
use deadpool_postgres::Client;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::StoreError;
use crate::store::{OwnedStore, check_name};
use crate::transaction::Mode;

/// The longest name of a thread, id of a message, or reference in bytes, as they are in keys.
const LONGEST_KEY: usize = 1024;

/// Checks that `key` can be the name of a thread, the id of a message, or a reference.
pub(crate) fn check_key(what: &'static str, key: &str) -> Result<(), StoreError> {
    check_name(what, key, LONGEST_KEY)
}

/// Gives the number of the next message of a thread, and creates the thread if it is new.
const NEXT: &str = "
    INSERT INTO ctx.threads AS t (owner, thread, last, active_at) VALUES ($1, $2, 1, $3)
    ON CONFLICT (owner, thread) DO UPDATE
        SET last = t.last + 1, active_at = greatest(t.active_at, excluded.active_at)
    RETURNING last";
const ADD: &str = "
    INSERT INTO ctx.messages (owner, thread, number, id, role, content, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (owner, thread, id) DO NOTHING";

impl OwnedStore {
    /// Checks that `content` can be stored.
    pub(crate) fn check_content(&self, content: &str) -> Result<(), StoreError> {
        if content.is_empty() {
            return Ok(());
        }
        check_name("the message", content, self.limits().message_bytes)
    }

    async fn append_once(&self, thread: &str, message: &Message) -> Result<(), StoreError> {
        let mut client = self.client().await?;
        let added = self.append_on(&mut client, thread, message).await;
        client.given_back(added)
    }

    async fn append_on(
        &self,
        client: &mut Client,
        thread: &str,
        message: &Message,
    ) -> Result<(), StoreError> {
        let waiting = self.waiting("store a message", Mode::Writes);
        let transaction = self.begin(client, Mode::Writes).await?;
        let owner = self.owner();
        let next = waiting.of(transaction.prepare_cached(NEXT)).await?;
        let values: [&(dyn ToSql + Sync); 3] = [&owner, &thread, &message.sent_at.as_millis()];
        let row = waiting.of(transaction.query_one(&next, &values)).await?;
        let add = waiting.of(transaction.prepare_cached(ADD)).await?;
        let number: i64 = row.get(0);
        let values: [&(dyn ToSql + Sync); 7] = [
            &owner,
            &thread,
            &number,
            &message.id,
            &message.role,
            &message.content,
            &message.sent_at.get(),
        ];
        if waiting.of(transaction.execute(&add, &values)).await? == 0 {
            waiting.of(transaction.rollback()).await
        } else {
            waiting.of(transaction.commit()).await
        }
    }

    /// Removes `thread` with all its messages, references and contexts. Returns whether it existed.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a name that is empty, longer than 1,024 bytes or contains a NUL;
    /// those of the database.
    pub async fn forget_thread(&self, thread: &str) -> Result<bool, StoreError> {
        check_key("the name of the thread", thread)?;
        let sql = "DELETE FROM ctx.threads WHERE owner = $1 AND thread = $2";
        let forgotten = self.write_one("forget a thread", sql, &[&thread]).await?;
        Ok(forgotten > 0)
    }
}

#[async_trait]
impl History for OwnedStore {
    async fn messages(&self, thread: &str, limit: usize) -> PortResult<Vec<Message>> {
        let known = self.opening().and_then(|it| it.messages(thread, limit));
        if let Some(messages) = known {
            return Ok(messages);
        }
        if thread.contains('\0') {
            return Ok(Vec::new());
        }
        let sql = "SELECT id, role, content, created_at, number FROM ctx.messages
                   WHERE owner = $1 AND thread = $2 ORDER BY number DESC LIMIT $3::int";
        let limit = self.limits().rows(limit);
        let rows = self
            .read("read messages", sql, &[&self.owner(), &thread, &limit])
            .await?;
        Ok(rows.iter().rev().map(|row| message(row, 0)).collect())
    }

    async fn exchange(&self, thread: &str, id: &str, limit: usize) -> PortResult<Vec<Message>> {
        if thread.contains('\0') || id.contains('\0') {
            return Ok(Vec::new());
        }
        let limit = self.limits().rows(limit);
        let values: [&(dyn ToSql + Sync); 4] = [&self.owner(), &thread, &id, &limit];
        let rows = self.read("read an exchange", EXCHANGE, &values).await?;
        Ok(rows.iter().map(|row| message(row, 0)).collect())
    }
}

/// The bounds are computed first, so that the key leads to the exchange. If they were joined, every
/// message of the thread would be compared with bounds of its own.
const EXCHANGE: &str = "
    WITH bounds AS MATERIALIZED (
        SELECT coalesce((
            SELECT max(number) FROM ctx.messages
            WHERE owner = $1 AND thread = $2 AND number <= it.number AND role = 'user'
        ), 0) AS first, coalesce((
            SELECT min(number) FROM ctx.messages
            WHERE owner = $1 AND thread = $2 AND number > it.number AND role = 'user'
        ), 9223372036854775807) AS next
        FROM ctx.messages it WHERE owner = $1 AND thread = $2 AND id = $3
    )
    SELECT id, role, content, created_at, number FROM ctx.messages
    WHERE owner = $1 AND thread = $2
        AND number >= (SELECT first FROM bounds) AND number < (SELECT next FROM bounds)
    ORDER BY number LIMIT $4::int";

/// Reads a message from five columns of `row`, the first of which is `at`.
pub(crate) fn message(row: &Row, at: usize) -> Message {
    let text = |place: usize| row.get::<_, String>(at + place);
    let place = row.get::<_, i64>(at + 4).cast_unsigned();
    Message::new(text(0), text(1), text(2), UnixSeconds::new(row.get(at + 3))).with_position(place)
}

/// A thread that is new is created. What was written is on the server's disk when a call returns.
/// Refused with [`StoreError::Invalid`] as the source are an empty name, id, role or reference, one
/// longer than 1,024 bytes, a NUL, and a message over the limit.
#[async_trait]
impl Threads for OwnedStore {
    async fn append(&self, thread: &str, message: &Message) -> PortResult<()> {
        check_key("the name of the thread", thread)?;
        check_key("the id of the message", &message.id)?;
        check_key("the role of the message", &message.role)?;
        self.check_content(&message.content)?;
        let appended = self.retried(|| self.append_once(thread, message));
        Ok(appended.await?)
    }

    async fn pin(&self, thread: &str, what: &str) -> PortResult<()> {
        check_key("the name of the thread", thread)?;
        check_key("the reference", what)?;
        let sql = "WITH it AS (
                       INSERT INTO ctx.threads AS t (owner, thread, pins) VALUES ($1, $2, 1)
                       ON CONFLICT (owner, thread) DO UPDATE SET pins = t.pins + 1 RETURNING pins
                   )
                   INSERT INTO ctx.pinned (owner, thread, number, what) SELECT $1, $2, pins, $3 FROM it
                   ON CONFLICT (owner, thread, what) DO NOTHING";
        self.write_one("pin a reference", sql, &[&thread, &what])
            .await?;
        Ok(())
    }

    async fn unpin(&self, thread: &str, what: &str) -> PortResult<()> {
        check_key("the name of the thread", thread)?;
        check_key("the reference", what)?;
        let sql = "DELETE FROM ctx.pinned WHERE owner = $1 AND thread = $2 AND what = $3";
        self.write_one("unpin a reference", sql, &[&thread, &what])
            .await?;
        Ok(())
    }
}

#[async_trait]
impl References for OwnedStore {
    async fn pinned(&self, thread: &str) -> PortResult<Vec<String>> {
        if let Some(pinned) = self.opening().and_then(|it| it.pinned(thread)) {
            return Ok(pinned);
        }
        if thread.contains('\0') {
            return Ok(Vec::new());
        }
        let sql = "SELECT what FROM ctx.pinned WHERE owner = $1 AND thread = $2
                   ORDER BY number LIMIT $3::int";
        let limit = self.limits().rows(usize::MAX);
        let rows = self
            .read("read references", sql, &[&self.owner(), &thread, &limit])
            .await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}
