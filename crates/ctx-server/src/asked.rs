//! Which request something is done for: what it is called in the log, in its answer and in a problem.

use std::future::Future;
use std::sync::Arc;

use ctx_retrieve::Hold;

use crate::chance::random_id;

tokio::task_local! {
    static CURRENT: Arc<Asked>;
}

/// A request, in words of the server's: nothing of it is its caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asked {
    /// Made up for this request: 32 hexadecimal digits. Its answer has it as `X-Request-Id`, and a problem as `requestId`.
    pub id: String,
    /// Its method; `other`, where that is none of those that are common.
    pub method: &'static str,
    /// Its route, as it is described: `/v1/threads/{id}/messages`; or `unmatched`.
    pub route: String,
}

impl Asked {
    pub(crate) fn new(method: &'static str, route: String) -> Arc<Self> {
        // A request is answered, also where the system gives no random bytes.
        let id = random_id().unwrap_or_else(|_| "unknown".to_owned());
        Arc::new(Asked { id, method, route })
    }

    /// The request that is worked on here, by this task or thread, if any is. What goes on behind an answer is for none.
    pub fn current() -> Option<Arc<Asked>> {
        let here = CURRENT.try_with(Arc::clone).ok();
        here.or_else(|| Hold::current().held::<Arc<Asked>>().cloned())
    }

    /// Does `work` for this request.
    pub(crate) async fn within<F: Future>(self: Arc<Self>, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }
}

/// What does `work` for the request that is worked on here, wherever that will be.
pub(crate) fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let current = Asked::current();
    async {
        match current {
            Some(asked) => asked.within(work).await,
            None => work.await,
        }
    }
}
