//! Threads and their messages.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::Quota;
use super::database::{Database, Result, at_most, read_failed, write_failed};
use super::rows::{MESSAGES, THREADS, Table};
use crate::backend::{Appended, BackendError, Message, NewMessage, NewThread, Thread, ThreadInfo};
use crate::build::now;
use crate::checks;
use crate::paging::{Listing, MessageOrder, MessagePage, ThreadOrder, ThreadPage};

impl Database {
    /// Creates a thread.
    pub(super) fn create_thread(
        &self,
        id: String,
        new: NewThread,
        quota: &Quota,
    ) -> Result<Thread> {
        let now = now();
        let thread = Thread {
            id,
            title: new.title,
            pinned: new.pinned,
            created_at: now,
            active_at: now,
        };
        checks::check_thread(&thread.id, thread.title.as_deref(), &thread.pinned)?;
        self.change(|transaction| {
            if find(transaction, &thread.id)?.is_some() {
                return Err(BackendError::Exists {
                    what: "thread",
                    field: "id",
                    id: thread.id.clone(),
                });
            }
            check(&THREADS, transaction, quota.threads, "id")?;
            let numbers = Numbers {
                seq: THREADS.last(transaction)? + 1,
                activity: next_activity(transaction)?,
            };
            put(transaction, numbers, &thread)
        })?;
        Ok(thread)
    }

    /// The threads.
    pub(super) fn threads(&self, page: &ThreadPage) -> Result<Listing<Thread>> {
        let state = self.reader();
        let column = match page.order {
            ThreadOrder::Created => "seq",
            ThreadOrder::Active => "activity",
        };
        let get = format!("WHERE {column} < ?1 ORDER BY {column} DESC LIMIT ?2");
        let get = THREADS.select(&get);
        let mut get = state.prepare_cached(&get).map_err(read_failed)?;
        let rows = params![
            page.after.unwrap_or(i64::MAX),
            at_most(page.limit.get() + 1)
        ];
        let numbered = |row: &Row<'_>| {
            let (numbers, thread) = thread(row)?;
            let number = match page.order {
                ThreadOrder::Created => numbers.seq,
                ThreadOrder::Active => numbers.activity,
            };
            Ok((number, thread))
        };
        let rows = get.query_map(rows, numbered).and_then(Iterator::collect);
        Ok(Listing::within(rows.map_err(read_failed)?, page.limit))
    }

    /// The thread with this id, and how many messages it has.
    pub(super) fn thread_info(&self, id: &str) -> Result<ThreadInfo> {
        info(&self.reader(), id).map(|it| it.1)
    }

    /// Removes a thread with its messages, and returns what it was.
    pub(super) fn remove_thread(&self, id: &str) -> Result<ThreadInfo> {
        self.change(|transaction| {
            let (seq, info) = info(transaction, id)?;
            for forget in [
                "DELETE FROM messages WHERE thread = ?1",
                "DELETE FROM threads WHERE seq = ?1",
            ] {
                transaction.execute(forget, [seq]).map_err(write_failed)?;
            }
            Ok(info)
        })
    }

    /// The number of a thread and when it was created, which no later thread has both.
    pub(super) fn begun(&self, id: &str) -> Result<(i64, i64)> {
        let (numbers, thread) = Database::thread(&self.reader(), id)?;
        Ok((numbers.seq, thread.created_at))
    }

    /// A thread and its numbers.
    fn thread(state: &Connection, id: &str) -> Result<(Numbers, Thread)> {
        find(state, id)?.ok_or_else(|| Thread::not_found(id))
    }

    /// Adds a message to a thread, unless it is stored already.
    pub(super) fn append(
        &self,
        thread: &str,
        id: String,
        new: NewMessage,
        quota: &Quota,
    ) -> Result<Appended> {
        checks::check_message(&id, &new.role, &new.content)?;
        self.change(|transaction| {
            let (Numbers { seq, .. }, mut its) = Database::thread(transaction, thread)?;
            if let Some(kept) = message(transaction, seq, &id)? {
                return Appended::again(kept, &new);
            }
            check(&MESSAGES, transaction, quota.messages, "content")?;
            let message = Message {
                id,
                role: new.role,
                content: new.content,
                created_at: now(),
            };
            let row = [
                (MESSAGES.last(transaction)? + 1).into(),
                message.id.clone().into(),
                seq.into(),
                message.role.clone().into(),
                message.content.clone().into(),
                message.created_at.into(),
            ];
            MESSAGES.put(transaction, &row)?;
            its.active_at = its.active_at.max(message.created_at);
            let activity = next_activity(transaction)?;
            put(transaction, Numbers { seq, activity }, &its)?;
            let is_new = true;
            Ok(Appended { message, is_new })
        })
    }

    /// The messages of a thread.
    pub(super) fn messages(&self, thread: &str, page: &MessagePage) -> Result<Listing<Message>> {
        let state = self.reader();
        let (Numbers { seq, .. }, _) = Database::thread(&state, thread)?;
        let (rest, begin) = match page.order {
            MessageOrder::Oldest => ("seq > ?2 ORDER BY seq", 0),
            MessageOrder::Latest => ("seq < ?2 ORDER BY seq DESC", i64::MAX),
        };
        let get = MESSAGES.select(&format!("WHERE thread = ?1 AND {rest} LIMIT ?3"));
        let mut get = state.prepare_cached(&get).map_err(read_failed)?;
        let limit = at_most(page.limit.get() + 1);
        let rows = params![seq, page.after.unwrap_or(begin), limit];
        let rows = get.query_map(rows, numbered).map_err(read_failed)?;
        let bytes = |it: &Message| it.content.len();
        Listing::within_bytes(rows, page.limit, bytes).map_err(read_failed)
    }

    /// The last `limit` messages of a thread, the oldest first, each with its position in it, from
    /// 1; none if there is no such thread.
    pub(super) fn last_messages(&self, thread: &str, limit: usize) -> Result<Vec<(u64, Message)>> {
        let state = self.reader();
        let Some((Numbers { seq, .. }, _)) = find(&state, thread)? else {
            return Ok(Vec::new());
        };
        let get = MESSAGES.select("WHERE thread = ?1 ORDER BY seq DESC LIMIT ?2");
        let mut get = state.prepare_cached(&get).map_err(read_failed)?;
        let rows = get
            .query_map(params![seq, at_most(limit)], numbered)
            .and_then(Iterator::collect::<rusqlite::Result<Vec<(i64, Message)>>>);
        let mut rows = rows.map_err(read_failed)?;
        rows.reverse();
        placed(&state, seq, rows)
    }

    /// At most `limit` messages of the exchange that a message is part of, the oldest first, each
    /// with its position; none if there is no such message.
    pub(super) fn exchange(
        &self,
        thread: &str,
        id: &str,
        limit: usize,
    ) -> Result<Vec<(u64, Message)>> {
        let state = self.reader();
        let mut get = state
            .prepare_cached(
                "WITH it AS (
                     SELECT m.thread, m.seq FROM messages m JOIN threads t ON t.seq = m.thread
                     WHERE t.id = ?1 AND m.id = ?2
                 )
                 SELECT m.seq, m.id, m.thread, m.role, m.content, m.created_at, m.seal
                 FROM it JOIN messages m ON m.thread = it.thread
                 WHERE m.seq >= coalesce((
                     SELECT max(u.seq) FROM messages u
                     WHERE u.thread = it.thread AND u.seq <= it.seq AND u.role = 'user'
                 ), 0) AND m.seq < coalesce((
                     SELECT min(u.seq) FROM messages u
                     WHERE u.thread = it.thread AND u.seq > it.seq AND u.role = 'user'
                 ), 9223372036854775807) ORDER BY m.seq LIMIT ?3",
            )
            .map_err(read_failed)?;
        let rows = get
            .query_map(params![thread, id, at_most(limit)], numbered)
            .and_then(Iterator::collect::<rusqlite::Result<Vec<(i64, Message)>>>);
        let rows = rows.map_err(read_failed)?;
        let Some((Numbers { seq, .. }, _)) = find(&state, thread)? else {
            return Ok(Vec::new());
        };
        placed(&state, seq, rows)
    }

    /// Gives a thread this title, or none.
    pub(super) fn set_title(&self, id: &str, title: Option<String>) -> Result<Thread> {
        checks::check_title(title.as_deref())?;
        self.change_thread(id, |it| it.title = title)
    }

    /// Replaces the pins of a thread by `pinned`.
    pub(super) fn pin(&self, id: &str, pinned: Vec<String>) -> Result<Thread> {
        checks::check_pinned(&pinned)?;
        self.change_thread(id, |it| it.pinned = pinned)
    }

    /// Changes what is said of a thread.
    fn change_thread(&self, id: &str, change: impl FnOnce(&mut Thread)) -> Result<Thread> {
        self.change(|transaction| {
            let (numbers, mut thread) = Database::thread(transaction, id)?;
            change(&mut thread);
            put(transaction, numbers, &thread)?;
            Ok(thread)
        })
    }

    /// The pins of a thread; empty if it does not exist.
    pub(super) fn pinned_to(&self, thread: &str) -> Result<Vec<String>> {
        let found = find(&self.reader(), thread)?;
        Ok(found.map(|it| it.1.pinned).unwrap_or_default())
    }
}

/// The number of the thread with this id, and its description.
fn info(state: &Connection, id: &str) -> Result<(i64, ThreadInfo)> {
    let (Numbers { seq, .. }, thread) = Database::thread(state, id)?;
    let count = "SELECT count(*) FROM messages WHERE thread = ?1";
    let mut count = state.prepare_cached(count).map_err(read_failed)?;
    let messages = count.query_row([seq], |row| row.get::<_, i64>(0));
    let message_count = messages.map_err(read_failed)?.cast_unsigned();
    let info = ThreadInfo {
        thread,
        message_count,
    };
    Ok((seq, info))
}

/// Adds positions to consecutive `messages` of the thread of this number. Counts the messages
/// before them in an index: O(messages of the thread).
fn placed(
    state: &Connection,
    thread: i64,
    messages: Vec<(i64, Message)>,
) -> Result<Vec<(u64, Message)>> {
    let Some((first, _)) = messages.first() else {
        return Ok(Vec::new());
    };
    let count = "SELECT count(*) FROM messages WHERE thread = ?1 AND seq <= ?2";
    let mut count = state.prepare_cached(count).map_err(read_failed)?;
    let place = count.query_row(params![thread, first], |row| row.get::<_, i64>(0));
    let place = place.map_err(read_failed)?.cast_unsigned();
    let messages = messages.into_iter().map(|it| it.1);
    Ok((place..).zip(messages).collect())
}

/// Whether there may be one more row of `table`, of which there may be `most`. O(1).
fn check(table: &Table, state: &Connection, most: u64, field: &'static str) -> Result<()> {
    let count = table.sum(state)?.count;
    if count.cast_unsigned() < most {
        return Ok(());
    }
    let detail = format!(
        "there are {count} {} already, which is the most allowed",
        table.name
    );
    Err(BackendError::Quota { field, detail })
}

/// The numbers of a thread, by which lists go on.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    /// Its number among the threads, in the order in which they were created.
    seq: i64,
    /// The number of its last activity, in the order of these.
    activity: i64,
}

/// The number of an activity that is the last.
fn next_activity(transaction: &Transaction<'_>) -> Result<i64> {
    let get = "SELECT coalesce(max(activity), 0) + 1 FROM threads";
    let mut get = transaction.prepare_cached(get).map_err(read_failed)?;
    get.query_row([], |row| row.get(0)).map_err(read_failed)
}

/// Writes the thread with these numbers.
fn put(transaction: &Transaction<'_>, numbers: Numbers, thread: &Thread) -> Result<()> {
    let pinned = serde_json::to_string(&thread.pinned)
        .map_err(|error| BackendError::failed("write a thread", error))?;
    let row = [
        numbers.seq.into(),
        thread.id.clone().into(),
        thread.title.clone().into(),
        pinned.into(),
        thread.created_at.into(),
        numbers.activity.into(),
        thread.active_at.into(),
    ];
    THREADS.put(transaction, &row)
}

/// The thread with this id, and its numbers.
fn find(state: &Connection, id: &str) -> Result<Option<(Numbers, Thread)>> {
    let get = THREADS.select("WHERE id = ?1");
    let mut get = state.prepare_cached(&get).map_err(read_failed)?;
    get.query_row([id], thread).optional().map_err(read_failed)
}

fn thread(row: &Row<'_>) -> rusqlite::Result<(Numbers, Thread)> {
    let row = THREADS.whole(row)?;
    let pinned: String = row.get(3)?;
    let thread = Thread {
        id: row.get(1)?,
        title: row.get(2)?,
        pinned: serde_json::from_str(&pinned).unwrap_or_default(),
        created_at: row.get(4)?,
        active_at: row.get(6)?,
    };
    let numbers = Numbers {
        seq: row.get(0)?,
        activity: row.get(5)?,
    };
    Ok((numbers, thread))
}

/// The message with this id in the thread with this number.
fn message(state: &Connection, thread: i64, id: &str) -> Result<Option<Message>> {
    let get = MESSAGES.select("WHERE thread = ?1 AND id = ?2");
    let mut get = state.prepare_cached(&get).map_err(read_failed)?;
    let found = get.query_row(params![thread, id], numbered).optional();
    Ok(found.map_err(read_failed)?.map(|it| it.1))
}

fn numbered(row: &Row<'_>) -> rusqlite::Result<(i64, Message)> {
    let row = MESSAGES.whole(row)?;
    let message = Message {
        id: row.get(1)?,
        role: row.get(3)?,
        content: row.get(4)?,
        created_at: row.get(5)?,
    };
    Ok((row.get(0)?, message))
}
