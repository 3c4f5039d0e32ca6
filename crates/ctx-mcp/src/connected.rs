//! The sessions of streamable HTTP, and a limit on their number.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

/// The most sessions; a further one ends the least recently used. Each takes some 110 KB.
const MOST: usize = 256;

/// The sessions of the SDK, which by itself ends a session only after five idle minutes.
#[derive(Debug, Default)]
pub(crate) struct Connected {
    all: Arc<LocalSessionManager>,
    uses: Arc<Uses>,
}

impl SessionManager for Connected {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.all.create_session().await?;
        if let Some(oldest) = self.uses.begin(&id, MOST) {
            let all = Arc::clone(&self.all);
            // Ending a session may take long if its client does not read a message that is on its
            // way.
            tokio::spawn(async move { all.close_session(&oldest).await });
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.all.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.uses.note(id) && self.all.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.uses.end(id);
        self.all.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let going = self.uses.go_on(id);
        let answer = self.all.create_stream(id, message).await?;
        Ok(Answer::new(answer, going))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.all.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let going = self.uses.go_on(id);
        let answer = self.all.create_standalone_stream(id).await?;
        Ok(Answer::new(answer, going))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let going = self.uses.go_on(id);
        let answer = self.all.resume(id, last_event_id).await?;
        Ok(Answer::new(answer, going))
    }
}

/// Which sessions exist, and when each was last used.
#[derive(Debug, Default)]
struct Uses(Mutex<Order>);

#[derive(Debug, Default)]
struct Order {
    /// The number of uses so far.
    now: u64,
    of: HashMap<SessionId, Use>,
}

#[derive(Debug)]
struct Use {
    last: u64,
    /// How many answers and streams are being sent.
    going: usize,
}

impl Uses {
    /// Records the session `id`. If there are `most` already, removes and returns one: the least
    /// recently used of those to which nothing is being sent or, if there is none, of all.
    /// O(sessions).
    fn begin(&self, id: &SessionId, most: usize) -> Option<SessionId> {
        let mut order = self.order();
        let is_full = order.of.len() >= most;
        let sessions = order.of.iter().filter(|_| is_full);
        let oldest = sessions.min_by_key(|(_, it)| (it.going > 0, it.last));
        let oldest = oldest.map(|(id, _)| id.clone());
        if let Some(oldest) = &oldest {
            order.of.remove(oldest);
        }
        let last = order.tick();
        order.of.insert(id.clone(), Use { last, going: 0 });
        oldest
    }

    /// Records a use of the session `id`, and returns whether it exists.
    fn note(&self, id: &SessionId) -> bool {
        self.order().change(id, |_| {})
    }

    /// Marks the session `id` as in use until the returned value is dropped.
    fn go_on(self: &Arc<Self>, id: &SessionId) -> Going {
        self.order().change(id, |going| *going += 1);
        Going {
            uses: Arc::clone(self),
            id: id.clone(),
        }
    }

    fn end(&self, id: &SessionId) {
        self.order().of.remove(id);
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Order {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Applies `change` to the session `id`, counting it as a use. Returns whether the session
    /// exists.
    fn change(&mut self, id: &SessionId, change: impl FnOnce(&mut usize)) -> bool {
        let now = self.tick();
        let Some(session) = self.of.get_mut(id) else {
            return false;
        };
        session.last = now;
        change(&mut session.going);
        true
    }
}

/// A use that lasts until this is dropped.
#[derive(Debug)]
struct Going {
    uses: Arc<Uses>,
    id: SessionId,
}

impl Drop for Going {
    fn drop(&mut self) {
        let less = |going: &mut usize| *going = going.saturating_sub(1);
        self.uses.order().change(&self.id, less);
    }
}

/// A stream to a client; its session is in use meanwhile.
struct Answer<S> {
    stream: Pin<Box<S>>,
    _going: Going,
}

impl<S> Answer<S> {
    fn new(stream: S, going: Going) -> Self {
        Answer {
            stream: Box::pin(stream),
            _going: going,
        }
    }
}

impl<S: Stream> Stream for Answer<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(context)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_one_too_many_the_session_ends_that_was_used_longest_ago() {
        let uses = Arc::new(Uses::default());
        let begin = |id: &str| {
            let ended = uses.begin(&id.into(), 3);
            ended.as_deref().map(str::to_owned)
        };
        let ended = |id: &str| Some(id.to_owned());
        for id in ["a", "b", "c"] {
            assert_eq!(begin(id), None);
        }
        assert!(uses.note(&"a".into()));
        assert_eq!(begin("d"), ended("b"));
        assert!(!uses.note(&"b".into()));
        // A session that ends by itself makes room.
        uses.end(&"c".into());
        assert_eq!(begin("e"), None);
        // A session with a stream is in use, and counts as used when the stream ends.
        let going = uses.go_on(&"a".into());
        assert!(uses.note(&"d".into()));
        assert_eq!(begin("f"), ended("e"));
        assert_eq!(begin("g"), ended("d"));
        drop(going);
        assert_eq!(begin("h"), ended("f"));
        // If all are in use, one of them is ended.
        let _going = ["a", "g", "h"].map(|id| uses.go_on(&id.into()));
        assert_eq!(begin("i"), ended("a"));
        assert_eq!(begin("j"), ended("i"));
        assert_eq!(uses.order().of.len(), 3);
    }
}
