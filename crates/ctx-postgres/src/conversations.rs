//! Threads as a service lists them: begun explicitly, with titles, and listed in the order in which
//! they began, or were last active.

use std::time::Duration;

use deadpool_postgres::Client;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::StoreError;
use crate::store::{OwnedStore, check_name};
use crate::threads::check_key;
use crate::transaction::Mode;

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredThread {
    /// Its number among the threads of its owner, in the order in which they began.
    pub number: i64,
    /// Its name, which identifies it.
    pub thread: String,
    /// Its title.
    pub title: Option<String>,
    /// What is pinned to it, in the order of pinning.
    pub pinned: Vec<String>,
    /// When it began, in milliseconds since 1970.
    pub begun_at: i64,
    /// When it began or got its last message, in milliseconds since 1970.
    pub active_at: i64,
    /// The number of that among all beginnings and messages of its owner, in the order in which
    /// they came.
    pub activity: i64,
}

/// Which thread has a name: another that begins in the name after it was removed is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BegunThread {
    /// Its name.
    pub thread: String,
    /// Its number among the threads of its owner, in the order in which they began.
    pub number: i64,
}

/// A message of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredMessage {
    /// Its number in the thread, from 1.
    pub number: i64,
    /// Its id.
    pub id: String,
    /// The role of the speaker.
    pub role: String,
    /// The text.
    pub content: String,
    /// The time, in milliseconds since 1970.
    pub created_at: i64,
}

impl StoredMessage {
    /// A message that has no number yet.
    pub fn new(
        id: impl Into<String>,
        role: impl Into<String>,
        content: impl Into<String>,
        created_at: i64,
    ) -> Self {
        StoredMessage {
            number: 0,
            id: id.into(),
            role: role.into(),
            content: content.into(),
            created_at,
        }
    }
}

/// How long contexts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Older contexts are removed.
    pub age: Duration,
    /// The most bytes of all contexts of an owner together. The oldest are removed to stay within
    /// it, but never the latest.
    pub bytes: u64,
}

impl Retention {
    /// Contexts are kept for `age`, as far as all of an owner fit in `bytes`.
    pub fn new(age: Duration, bytes: u64) -> Self {
        Retention { age, bytes }
    }

    /// The values as they are sent: seconds, at most some thousand years, and bytes.
    fn values(self) -> (f64, i64) {
        let bytes = self.bytes.min(i64::MAX.cast_unsigned()).cast_signed();
        (self.age.as_secs_f64().min(3e10), bytes)
    }
}

/// The result of adding something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It was added.
    Added,
    /// There is one of this name or id already.
    Exists,
    /// The thread was never begun.
    NoThread,
    /// The limit is reached.
    Full,
}

/// The row in `ctx.said` is locked first, so that the threads of an owner are counted one
/// transaction at a time.
const BEGIN: &str = "
    WITH room AS (
        INSERT INTO ctx.said AS s (owner) VALUES ($1)
        ON CONFLICT (owner) DO UPDATE SET owner = s.owner RETURNING threads < $6::bigint AS has
    ), it AS (
        INSERT INTO ctx.threads (owner, thread, title, pins, begun_at, active_at)
        SELECT $1, $2, $3, cardinality($4::text[]), $5::bigint, $5::bigint FROM room WHERE room.has
        ON CONFLICT (owner, thread) DO NOTHING RETURNING thread
    ), pins AS (
        INSERT INTO ctx.pinned (owner, thread, number, what)
        SELECT $1, it.thread, p.number, p.what FROM it, unnest($4::text[]) WITH ORDINALITY AS p (what, number)
        ON CONFLICT (owner, thread, what) DO NOTHING RETURNING 1
    )
    SELECT (SELECT count(*) FROM it) > 0,
        (SELECT NOT has FROM room) AND NOT EXISTS (SELECT FROM ctx.threads WHERE owner = $1 AND thread = $2),
        (SELECT count(*) FROM pins)";

/// Locks the thread: of two transactions that pin to it, the second waits here.
const TURN: &str = "SELECT 1 FROM ctx.threads WHERE owner = $1 AND thread = $2 FOR NO KEY UPDATE";

const PIN: &str = "
    WITH it AS (
        UPDATE ctx.threads SET pins = pins + cardinality($3::text[]) WHERE owner = $1 AND thread = $2
        RETURNING thread, number, title, begun_at, active_at, activity, pins - cardinality($3::text[]) AS before
    ), gone AS (
        DELETE FROM ctx.pinned WHERE owner = $1 AND thread = $2 AND what <> ALL ($3::text[])
    ), new AS (
        INSERT INTO ctx.pinned (owner, thread, number, what)
        SELECT $1, it.thread, it.before + p.number, p.what FROM it, unnest($3::text[]) WITH ORDINALITY AS p (what, number)
        ON CONFLICT (owner, thread, what) DO UPDATE SET number = excluded.number
    )
    SELECT number, thread, title, begun_at, $3::text[], active_at, activity FROM it";

/// The columns of a [`StoredThread`], of a row `t` of the owner `$1`.
const COLUMNS: &str = "t.number, t.thread, t.title, t.begun_at, ARRAY(
        SELECT what FROM ctx.pinned p WHERE p.owner = $1 AND p.thread = t.thread ORDER BY p.number
    ), t.active_at, t.activity";

/// Messages of an owner are counted one transaction at a time: the one that has found room keeps
/// the lock until its message is added. A transaction that finds no room at first, or the message
/// there already, neither writes nor waits. The last number of the thread is read under the lock
/// and changes only with a message; of two equal messages at once, the second finds the first when
/// it is to be added.
const ADD: &str = "
    WITH turn AS MATERIALIZED (
        SELECT last FROM ctx.threads
        WHERE owner = $1 AND thread = $2
          AND EXISTS (SELECT FROM ctx.said WHERE owner = $1 AND messages < $8::bigint)
          AND NOT EXISTS (SELECT FROM ctx.messages WHERE owner = $1 AND thread = $2 AND id = $3)
        FOR NO KEY UPDATE
    ), room AS (
        SELECT messages < $8::bigint AS has FROM ctx.said WHERE owner = $1 AND EXISTS (SELECT FROM turn) FOR UPDATE
    ), new AS (
        INSERT INTO ctx.messages (owner, thread, number, id, role, content, created_at, milliseconds)
        SELECT $1, $2, turn.last + 1, $3, $4, $5, $6::bigint, $7::smallint FROM turn, room WHERE room.has
        ON CONFLICT (owner, thread, id) DO NOTHING RETURNING number
    ), moved AS (
        UPDATE ctx.threads SET last = new.number,
            active_at = greatest(active_at, $6::bigint * 1000 + $7::smallint) FROM new
        WHERE owner = $1 AND thread = $2
    )
    SELECT (SELECT count(*) FROM new) > 0, coalesce((SELECT has FROM room), false)
            OR EXISTS (SELECT FROM ctx.messages WHERE owner = $1 AND thread = $2 AND id = $3),
        EXISTS (SELECT FROM ctx.threads WHERE owner = $1 AND thread = $2)";

/// A thread that is being forgotten is waited for, and one that is not forgotten stays until the
/// context is kept: that goes with it.
///
/// No part of a statement sees what another part writes, so this computes which other contexts to
/// remove: as many of the oldest as make room for this one, and all up to the latest that is too
/// old. At most 64 at a time.
const KEEP: &str = "
    WITH its AS MATERIALIZED (
        SELECT FROM ctx.threads WHERE owner = $1 AND thread = $6::text AND number = $7::bigint FOR KEY SHARE
    ), kept AS (
        INSERT INTO ctx.contexts (owner, id, receipt, thread)
        SELECT $1, $2, $3, $6::text WHERE $6::text IS NULL OR EXISTS (SELECT FROM its)
        ON CONFLICT (owner, id) DO UPDATE SET number = DEFAULT, kept_at = now(), thread = excluded.thread
        RETURNING 1
    ), over AS (
        SELECT coalesce((SELECT bytes FROM ctx.kept WHERE owner = $1), 0) - $5::bigint + octet_length($3)
            - coalesce((SELECT bytes FROM ctx.contexts WHERE owner = $1 AND id = $2), 0) AS bytes
    ), oldest AS (
        SELECT number, bytes, kept_at FROM ctx.contexts WHERE owner = $1 AND id <> $2 ORDER BY number LIMIT 64
    ), gone AS (
        DELETE FROM ctx.contexts WHERE owner = $1 AND id <> $2 AND number <= (
            SELECT max(it.number) FROM over, (
                SELECT number, kept_at, sum(bytes) OVER (ORDER BY number) - bytes AS before FROM oldest
            ) it
            WHERE it.before < over.bytes OR it.kept_at < now() - make_interval(secs => $4::float8)
        )
    )
    SELECT EXISTS (SELECT FROM kept)";

impl OwnedStore {
    /// Begins `thread` at `at`, in milliseconds since 1970, unless it exists or the owner has
    /// `most` threads. It is on the server's disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a name or a pin that is empty, longer than 1,024 bytes or
    /// contains a NUL; those of the database.
    pub async fn begin_thread(
        &self,
        thread: &str,
        title: Option<&str>,
        pinned: &[String],
        at: i64,
        most: u64,
    ) -> Result<Added, StoreError> {
        check_key("the name of the thread", thread)?;
        check_title(title)?;
        for what in pinned {
            check_key("the reference", what)?;
        }
        let most = most.min(i64::MAX.cast_unsigned()).cast_signed();
        let values: [&(dyn ToSql + Sync); 5] = [&thread, &title, &pinned, &at, &most];
        let row = self.write_row("begin a thread", BEGIN, &values).await?;
        Ok(match (row.get(0), row.get(1)) {
            (true, _) => Added::Added,
            (false, true) => Added::Full,
            (false, false) => Added::Exists,
        })
    }

    /// Replaces the pins of `thread` by `pinned`, which has no duplicates. Of two calls at once,
    /// the later one wins. Returns the thread, or `None` if there is none. The pins are on the
    /// server's disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a pin that is empty, longer than 1,024 bytes or contains a NUL;
    /// those of the database.
    pub async fn set_pins(
        &self,
        thread: &str,
        pinned: &[String],
    ) -> Result<Option<StoredThread>, StoreError> {
        check_key("the name of the thread", thread)?;
        for what in pinned {
            check_key("the reference", what)?;
        }
        self.retried(|| self.set_pins_once(thread, pinned)).await
    }

    async fn set_pins_once(
        &self,
        thread: &str,
        pinned: &[String],
    ) -> Result<Option<StoredThread>, StoreError> {
        let mut client = self.client().await?;
        let set = self.set_pins_on(&mut client, thread, pinned).await;
        client.given_back(set)
    }

    async fn set_pins_on(
        &self,
        client: &mut Client,
        thread: &str,
        pinned: &[String],
    ) -> Result<Option<StoredThread>, StoreError> {
        let waiting = self.waiting("pin references", Mode::Writes);
        let transaction = self.begin(client, Mode::Writes).await?;
        let owner = self.owner();
        let turn = waiting.of(transaction.prepare_cached(TURN)).await?;
        let found = waiting
            .of(transaction.query_opt(&turn, &[&owner, &thread]))
            .await?;
        if found.is_none() {
            waiting.of(transaction.rollback()).await?;
            return Ok(None);
        }
        // A statement sees the state at its beginning, so this must be another one than that which
        // waited.
        let pin = waiting.of(transaction.prepare_cached(PIN)).await?;
        let row = waiting
            .of(transaction.query_one(&pin, &[&owner, &thread, &pinned]))
            .await?;
        waiting.of(transaction.commit()).await?;
        Ok(Some(stored_thread(&row)))
    }

    /// Gives `thread` this title, or none. Returns the thread, or `None` if there is none. The
    /// title is on the server's disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a title that is longer than 1,024 bytes or contains a NUL; those
    /// of the database.
    pub async fn set_title(
        &self,
        thread: &str,
        title: Option<&str>,
    ) -> Result<Option<StoredThread>, StoreError> {
        check_key("the name of the thread", thread)?;
        check_title(title)?;
        let sql = format!(
            "WITH t AS (
                 UPDATE ctx.threads SET title = $3 WHERE owner = $1 AND thread = $2
                 RETURNING number, thread, title, begun_at, active_at, activity
             )
             SELECT {COLUMNS} FROM t"
        );
        let values: [&(dyn ToSql + Sync); 2] = [&thread, &title];
        let rows = self.write_rows("name a thread", Mode::Writes, &sql, &values);
        let rows = rows.await?;
        Ok(rows.first().map(stored_thread))
    }

    /// The thread that has this name now, if there is one.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn begun_thread(&self, thread: &str) -> Result<Option<BegunThread>, StoreError> {
        if thread.contains('\0') {
            return Ok(None);
        }
        let sql = "SELECT number FROM ctx.threads WHERE owner = $1 AND thread = $2";
        let values: [&(dyn ToSql + Sync); 2] = [&self.owner(), &thread];
        let rows = self.read("look for a thread", sql, &values).await?;
        Ok(rows.first().map(|row| BegunThread {
            thread: thread.to_owned(),
            number: row.get(0),
        }))
    }

    /// The thread of this name and the number of its messages; `None` if it was never begun.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn stored_thread(
        &self,
        thread: &str,
    ) -> Result<Option<(StoredThread, u64)>, StoreError> {
        if thread.contains('\0') {
            return Ok(None);
        }
        let sql = format!(
            "SELECT {COLUMNS},
                 (SELECT count(*) FROM ctx.messages m WHERE m.owner = $1 AND m.thread = t.thread)
             FROM ctx.threads t WHERE owner = $1 AND thread = $2"
        );
        let values: [&(dyn ToSql + Sync); 2] = [&self.owner(), &thread];
        let rows = self.read("read a thread", &sql, &values).await?;
        let found = rows.first();
        Ok(found.map(|row| (stored_thread(row), row.get::<_, i64>(7).cast_unsigned())))
    }

    /// The threads that began before the one with number `before`, the latest first.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn listed_threads(
        &self,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<StoredThread>, StoreError> {
        self.threads_in("number", before, limit).await
    }

    /// The threads whose last activity was before the one with number `before`, the latest first.
    /// A thread that is active while it is listed moves to the beginning of the list, which was
    /// read before: no thread is listed twice.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn active_threads(
        &self,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<StoredThread>, StoreError> {
        self.threads_in("activity", before, limit).await
    }

    /// At most `limit` threads before the one that has `before` in this column, the latest first.
    async fn threads_in(
        &self,
        column: &'static str,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<StoredThread>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM ctx.threads t WHERE owner = $1 AND {column} < $2
             ORDER BY {column} DESC LIMIT $3::int"
        );
        let (before, limit) = (before.unwrap_or(i64::MAX), self.limits().rows(limit));
        let values: [&(dyn ToSql + Sync); 3] = [&self.owner(), &before, &limit];
        let rows = self.read("list threads", &sql, &values).await?;
        Ok(rows.iter().map(stored_thread).collect())
    }

    /// Adds `message` at the end of `thread`, unless the owner has `most` messages in all threads
    /// together. It is on the server's disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a name, id or role that is empty, longer than 1,024 bytes or
    /// contains a NUL, and for a message that contains a NUL or is over the limit; those of the
    /// database.
    pub async fn add_message(
        &self,
        thread: &str,
        message: &StoredMessage,
        most: u64,
    ) -> Result<Added, StoreError> {
        check_key("the name of the thread", thread)?;
        check_key("the id of the message", &message.id)?;
        check_key("the role of the message", &message.role)?;
        self.check_content(&message.content)?;
        let seconds = message.created_at.div_euclid(1_000);
        let rest = i16::try_from(message.created_at.rem_euclid(1_000)).unwrap_or(0);
        let most = most.min(i64::MAX.cast_unsigned()).cast_signed();
        let values: [&(dyn ToSql + Sync); 7] = [
            &thread,
            &message.id,
            &message.role,
            &message.content,
            &seconds,
            &rest,
            &most,
        ];
        let row = self.write_row("store a message", ADD, &values).await?;
        Ok(match (row.get(0), row.get(1), row.get(2)) {
            (true, ..) => Added::Added,
            (false, true, _) => Added::Exists,
            (false, false, true) => Added::Full,
            (false, false, false) => Added::NoThread,
        })
    }

    /// The message of `thread` with this id, if there is one.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn message(
        &self,
        thread: &str,
        id: &str,
    ) -> Result<Option<StoredMessage>, StoreError> {
        if thread.contains('\0') || id.contains('\0') {
            return Ok(None);
        }
        let sql =
            "SELECT number, id, role, content, created_at * 1000 + milliseconds FROM ctx.messages
                   WHERE owner = $1 AND thread = $2 AND id = $3";
        let values: [&(dyn ToSql + Sync); 3] = [&self.owner(), &thread, &id];
        let rows = self.read("read a message", sql, &values).await?;
        Ok(rows.first().map(stored_message))
    }

    /// The messages of `thread` after the one with number `after`, the oldest first: at most
    /// `limit`, and none after the texts take more than `bytes` together.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn listed_messages(
        &self,
        thread: &str,
        after: i64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let order = ["number > $3", "number"];
        self.messages_in(order, thread, after, limit, bytes).await
    }

    /// The messages of `thread` before the one with number `before`, the latest first, as many as
    /// of [`OwnedStore::listed_messages`].
    ///
    /// # Errors
    /// Those of the database.
    pub async fn latest_messages(
        &self,
        thread: &str,
        before: Option<i64>,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let order = ["number < $3", "number DESC"];
        let before = before.unwrap_or(i64::MAX);
        self.messages_in(order, thread, before, limit, bytes).await
    }

    /// At most `limit` messages of `thread` from `after` on in this order, which end with the one
    /// that makes them more than `bytes`.
    async fn messages_in(
        &self,
        [rest, order]: [&'static str; 2],
        thread: &str,
        after: i64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        if thread.contains('\0') {
            return Ok(Vec::new());
        }
        // The lengths are known without the texts.
        let sql = format!(
            "SELECT number, id, role, content, at FROM (
                 SELECT number, id, role, content, created_at * 1000 + milliseconds AS at,
                     sum(octet_length(content)) OVER (ORDER BY {order}) - octet_length(content) AS before
                 FROM ctx.messages WHERE owner = $1 AND thread = $2 AND {rest}
                 ORDER BY {order} LIMIT $4::int
             ) page WHERE before <= $5::bigint ORDER BY {order}"
        );
        let limit = self.limits().rows(limit);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let values: [&(dyn ToSql + Sync); 5] = [&self.owner(), &thread, &after, &limit, &bytes];
        let rows = self.read("list messages", &sql, &values).await?;
        Ok(rows.iter().map(stored_message).collect())
    }

    /// Whether the context `id` is kept and not about to be removed: newer contexts take at most
    /// half the bytes allowed, and it is at most half the maximal age old.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn is_kept(&self, id: &str, keeping: Retention) -> Result<bool, StoreError> {
        if id.contains('\0') {
            return Ok(false);
        }
        let sql = "SELECT kept_at >= now() - make_interval(secs => $3::float8 / 2) AND (
                       SELECT coalesce(sum(l.bytes), 0) FROM ctx.contexts l WHERE l.owner = $1 AND l.number > c.number
                   ) <= $4::bigint / 2
                   FROM ctx.contexts c WHERE owner = $1 AND id = $2";
        let (age, bytes) = keeping.values();
        let values: [&(dyn ToSql + Sync); 4] = [&self.owner(), &id, &age, &bytes];
        let rows = self.read("look for a context", sql, &values).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// Stores `receipt` as that of the context `id`, and removes others that `keeping` no longer
    /// allows: expired ones, and the oldest while all together take too many bytes. If these are
    /// many, some are removed with each call. A context that is already stored becomes the latest.
    /// A receipt of a thread is removed with that thread, and is not stored if the thread is gone,
    /// even if another has begun in its name: returns whether it was stored. Returns before the
    /// data is on the disk, since a context can be built again.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for an invalid id or a NUL; those of the database.
    pub async fn keep_context(
        &self,
        id: &str,
        receipt: &str,
        thread: Option<&BegunThread>,
        keeping: Retention,
    ) -> Result<bool, StoreError> {
        check_key("the id of the context", id)?;
        check_name("the receipt", receipt, usize::MAX)?;
        let (age, bytes) = keeping.values();
        let (thread, number) = (thread.map(|it| &it.thread), thread.map(|it| it.number));
        let values: [&(dyn ToSql + Sync); 6] = [&id, &receipt, &age, &bytes, &thread, &number];
        let kept = self.write_rows("keep a context", Mode::Notes, KEEP, &values);
        Ok(kept.await?.first().is_some_and(|row| row.get(0)))
    }

    /// Removes the context `id`. Returns whether it was kept.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn forget_context(&self, id: &str) -> Result<bool, StoreError> {
        if id.contains('\0') {
            return Ok(false);
        }
        let sql = "DELETE FROM ctx.contexts WHERE owner = $1 AND id = $2";
        Ok(self.write_one("forget a context", sql, &[&id]).await? > 0)
    }

    /// The receipt of the context `id`, while it is kept.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn context(&self, id: &str) -> Result<Option<String>, StoreError> {
        if id.contains('\0') {
            return Ok(None);
        }
        let sql = "SELECT receipt FROM ctx.contexts WHERE owner = $1 AND id = $2";
        let values: [&(dyn ToSql + Sync); 2] = [&self.owner(), &id];
        let rows = self.read("read a context", sql, &values).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    /// For each of `texts`, the latest receipt that contains it, if one of the latest `most` of
    /// `thread` does, or of those without a thread, which take at most `bytes` but for the last.
    /// O(bytes of these) for a text that none contains.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn contexts_with(
        &self,
        thread: Option<&str>,
        texts: &[String],
        most: usize,
        bytes: usize,
    ) -> Result<Vec<String>, StoreError> {
        if thread.is_some_and(|it| it.contains('\0')) {
            return Ok(Vec::new());
        }
        let of_thread = match thread {
            Some(_) => "thread = $4",
            None => "thread IS NULL AND $4::text IS NULL",
        };
        let sql = format!(
            "SELECT latest.receipt FROM unnest($2::text[]) AS it (text)
             CROSS JOIN LATERAL (
                 SELECT receipt FROM ctx.contexts
                 WHERE owner = $1 AND {of_thread} AND strpos(receipt, it.text) > 0
                 AND number >= (
                     SELECT min(number) FROM (
                         SELECT number, sum(bytes) OVER (ORDER BY number DESC) - bytes AS before
                         FROM ctx.contexts WHERE owner = $1 AND {of_thread}
                         ORDER BY number DESC LIMIT $3::bigint
                     ) AS latest WHERE before < $5::bigint
                 )
                 ORDER BY number DESC LIMIT 1
             ) AS latest"
        );
        let [most, bytes] = [most, bytes].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        let fits = |it: &&String| !it.is_empty() && !it.contains('\0');
        let texts: Vec<&String> = texts.iter().filter(fits).collect();
        let values: [&(dyn ToSql + Sync); 5] = [&self.owner(), &texts, &most, &thread, &bytes];
        let rows = self.read("look for contexts", &sql, &values).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

fn stored_message(row: &Row) -> StoredMessage {
    StoredMessage {
        number: row.get(0),
        id: row.get(1),
        role: row.get(2),
        content: row.get(3),
        created_at: row.get(4),
    }
}

fn stored_thread(row: &Row) -> StoredThread {
    StoredThread {
        number: row.get(0),
        thread: row.get(1),
        title: row.get(2),
        begun_at: row.get(3),
        pinned: row.get(4),
        active_at: row.get(5),
        activity: row.get(6),
    }
}

/// Checks that `title` can be that of a thread; it may be empty.
fn check_title(title: Option<&str>) -> Result<(), StoreError> {
    let title = title.filter(|it| !it.is_empty());
    title.map_or(Ok(()), |it| check_key("the title of the thread", it))
}
