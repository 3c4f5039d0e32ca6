//! Whether the store answers, for who asks without a token.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// So long an answer is good.
const GOOD: Duration = Duration::from_secs(1);

/// What the store said last. Anybody may ask, as often as they like, and the store is asked once for all of them.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// When that was, and whether it was ready; held by the one who asks.
    last: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Readiness {
    /// Whether the store is ready, by what it said within the last second, or by `asking` it now. That goes on when the
    /// caller has gone: who comes next waits for the same.
    pub(crate) async fn of<F>(&self, asking: impl FnOnce() -> F) -> bool
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let mut last = Arc::clone(&self.last).lock_owned().await;
        if let Some((at, is_ready)) = *last
            && at.elapsed() < GOOD
        {
            return is_ready;
        }
        let asking = asking();
        let asked = tokio::spawn(async move {
            let is_ready = asking.await;
            *last = Some((Instant::now(), is_ready));
            is_ready
        });
        asked.await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    /// A store that answers as often as it is let.
    struct Slow {
        asked: AtomicU32,
        open: Semaphore,
    }

    async fn ask(readiness: &Readiness, slow: &Arc<Slow>) -> bool {
        let slow = Arc::clone(slow);
        let asking = move || async move {
            slow.asked.fetch_add(1, Ordering::Relaxed);
            slow.open.acquire().await.unwrap().forget();
            true
        };
        readiness.of(asking).await
    }

    #[tokio::test]
    async fn the_store_is_asked_once_also_by_those_who_go_and_again_after_a_second() {
        let (asked, open) = (AtomicU32::new(0), Semaphore::new(0));
        let slow = Arc::new(Slow { asked, open });
        let readiness = Readiness::default();
        let moment = Duration::from_millis(10);
        for _ in 0..5 {
            let gone = tokio::time::timeout(moment, ask(&readiness, &slow)).await;
            assert!(gone.is_err());
        }
        slow.open.add_permits(2);
        assert!(ask(&readiness, &slow).await);
        assert_eq!(slow.asked.load(Ordering::Relaxed), 1);
        tokio::time::sleep(GOOD).await;
        assert!(ask(&readiness, &slow).await);
        assert_eq!(slow.asked.load(Ordering::Relaxed), 2);
    }
}
