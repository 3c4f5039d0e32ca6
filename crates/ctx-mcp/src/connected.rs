//! The sessions of streamable HTTP, of which there are only so many.

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

/// For one more the session ends that was used longest ago. Each takes some 110 KB.
const MOST: usize = 256;

/// The sessions of the SDK, which of itself ends none before five minutes after it was used last.
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
            // One that is about to tell a client what this does not take may be long in hearing of it.
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

/// Which sessions there are, and when each was used last.
#[derive(Debug, Default)]
struct Uses(Mutex<Order>);

#[derive(Debug, Default)]
struct Order {
    /// How many uses there were.
    now: u64,
    of: HashMap<SessionId, Use>,
}

#[derive(Debug)]
struct Use {
    last: u64,
    /// So many answers are sent, and streams open.
    going: usize,
}

impl Uses {
    /// Notes the session `id`, and forgets the one that ends for it where there are `most`: the one used longest ago of those
    /// that are sent nothing, and of all if there is none. O(sessions).
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

    /// Whether there is the session `id`, which is used.
    fn note(&self, id: &SessionId) -> bool {
        self.order().change(id, |_| {})
    }

    /// The session `id` is used until what this gives is dropped.
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

    /// Whether there is the session `id`, which is used now.
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

/// What is sent to a client. Its session is used meanwhile.
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
        // One that ends by itself makes room.
        uses.end(&"c".into());
        assert_eq!(begin("e"), None);
        // What is under way is in use, and was used last once it has ended.
        let going = uses.go_on(&"a".into());
        assert!(uses.note(&"d".into()));
        assert_eq!(begin("f"), ended("e"));
        assert_eq!(begin("g"), ended("d"));
        drop(going);
        assert_eq!(begin("h"), ended("f"));
        // Where all are in use, one of them ends.
        let _going = ["a", "g", "h"].map(|id| uses.go_on(&id.into()));
        assert_eq!(begin("i"), ended("a"));
        assert_eq!(begin("j"), ended("i"));
        assert_eq!(uses.order().of.len(), 3);
    }
}
