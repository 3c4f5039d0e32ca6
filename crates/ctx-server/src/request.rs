//! The request for which code is running: its id in the log, in its answer and in a problem.

use std::future::Future;
use std::sync::Arc;

use ctx_retrieve::TaskScope;

use crate::random::random_id;

tokio::task_local! {
    static CURRENT: Arc<RequestInfo>;
}

/// A request, described in the server's own words: none of its fields comes from the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestInfo {
    /// A random id of this request: 32 hexadecimal digits. It is the `X-Request-Id` of its answer,
    /// and the `requestId` of a problem.
    pub id: String,
    /// Its method; `other` if it is not a common one.
    pub method: &'static str,
    /// Its route template, such as `/v1/threads/{id}/messages`; or `unmatched`.
    pub route: String,
}

impl RequestInfo {
    pub(crate) fn new(method: &'static str, route: String) -> Arc<Self> {
        // A request is answered even if the system provides no random bytes.
        let id = random_id().unwrap_or_else(|_| "unknown".to_owned());
        Arc::new(RequestInfo { id, method, route })
    }

    /// The request that the current task or thread works on, if any. Work that goes on behind an
    /// answer belongs to none.
    pub fn current() -> Option<Arc<RequestInfo>> {
        let here = CURRENT.try_with(Arc::clone).ok();
        here.or_else(|| TaskScope::current().held::<Arc<RequestInfo>>().cloned())
    }

    /// Runs `work` for this request.
    pub(crate) async fn within<F: Future>(self: Arc<Self>, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }
}

/// Makes `work` run for the current request, wherever it is polled.
pub(crate) fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let current = RequestInfo::current();
    async {
        match current {
            Some(asked) => asked.within(work).await,
            None => work.await,
        }
    }
}
