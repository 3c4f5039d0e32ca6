//! What a service keeps of conversations: messages, and references pinned to threads.

use async_trait::async_trait;
use ctx_model::UnixSeconds;

use super::PortResult;

/// A message of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The unique id of the message.
    pub id: String,
    /// The role of the speaker: `user`, `assistant`, …
    pub role: String,
    /// The text of the message.
    pub content: String,
    /// When it was sent.
    pub sent_at: UnixSeconds,
    /// The position in the thread, from 1, which never changes. A store that knows it without
    /// reading the thread sets it on all messages; otherwise it is `None` on all.
    pub position: Option<u64>,
}

impl Message {
    /// A message.
    pub fn new(
        id: impl Into<String>,
        role: impl Into<String>,
        content: impl Into<String>,
        sent_at: UnixSeconds,
    ) -> Self {
        Message {
            id: id.into(),
            role: role.into(),
            content: content.into(),
            sent_at,
            position: None,
        }
    }

    /// Sets the position in the thread, from 1.
    #[must_use]
    pub fn with_position(mut self, position: u64) -> Self {
        self.position = Some(position);
        self
    }
}

/// The messages of threads.
#[async_trait]
pub trait History: Send + Sync {
    /// The last `limit` messages of `thread`, the oldest first.
    async fn messages(&self, thread: &str, limit: usize) -> PortResult<Vec<Message>>;

    /// The exchange of `thread` that contains the message `id`, the oldest message first: a message
    /// of a user, and the messages until the next one of a user; at most `limit` messages. Empty if
    /// there is no such message. Searches the last 200 messages, unless a store does better.
    async fn exchange(&self, thread: &str, id: &str, limit: usize) -> PortResult<Vec<Message>> {
        let last = self.messages(thread, RECENT_MESSAGES).await?;
        let mut exchanges = last.chunk_by(|_, next| next.role != "user");
        let found = exchanges.find(|it| it.iter().any(|message| message.id == id));
        Ok(found.map_or_else(Vec::new, |it| it.iter().take(limit).cloned().collect()))
    }
}

/// How many of the last messages are searched by a store that has no lookup by id.
const RECENT_MESSAGES: usize = 200;

/// References that users pinned to threads.
#[async_trait]
pub trait References: Send + Sync {
    /// The references pinned to `thread`, as written (a path, `path:10-20`, a symbol), in the order
    /// of pinning.
    async fn pinned(&self, thread: &str) -> PortResult<Vec<String>>;
}

/// Stores threads: their messages, and the references pinned to them.
#[async_trait]
pub trait Threads: Send + Sync {
    /// Appends `message` to `thread`. Does nothing if the thread has a message with this id.
    async fn append(&self, thread: &str, message: &Message) -> PortResult<()>;

    /// Pins `what` to `thread`: a path, `path:10-20`, a symbol. If it is pinned already, it keeps
    /// its position.
    async fn pin(&self, thread: &str, what: &str) -> PortResult<()>;

    /// Unpins `what` from `thread`, if it is pinned.
    async fn unpin(&self, thread: &str, what: &str) -> PortResult<()>;
}
