//! Whether the store answers, for callers without a token.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// How long an answer of the store stays valid.
const GOOD: Duration = Duration::from_secs(1);

/// When the store answered, and whether it was ready or why not.
type Last = (Instant, Result<(), Arc<str>>);

/// The last answer of the store. Anyone may ask as often as they like; the store is asked once for
/// all of them.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// Locked while the store is being asked.
    last: Arc<Mutex<Option<Last>>>,
}

impl Readiness {
    /// Whether the store is ready: its answer within the last second, or else the result of
    /// `asking` it now. The check goes on if the caller goes away, and the next caller waits for
    /// the same one. A change of the answer is logged.
    ///
    /// # Errors
    /// Why the store is not ready.
    pub(crate) async fn of<F>(&self, asking: impl FnOnce() -> F) -> Result<(), Arc<str>>
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let mut last = Arc::clone(&self.last).lock_owned().await;
        if let Some((at, said)) = &*last
            && at.elapsed() < GOOD
        {
            return said.clone();
        }
        let asking = asking();
        let asked = tokio::spawn(async move {
            let said = asking.await.map_err(Arc::from);
            let before = last.take().map_or(Ok(()), |it| it.1);
            match &said {
                Err(cause) if before.as_ref().err() != Some(cause) => {
                    tracing::error!(cause = &**cause, "the store is not ready");
                }
                Ok(()) if before.is_err() => tracing::warn!("the store is ready again"),
                _ => {}
            }
            *last = Some((Instant::now(), said.clone()));
            said
        });
        let ended = |_| Err("it was not asked to the end".into());
        asked.await.unwrap_or_else(ended)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    /// A store that answers as often as it is allowed to.
    struct Slow {
        asked: AtomicU32,
        open: Semaphore,
    }

    async fn ask(readiness: &Readiness, slow: &Arc<Slow>) -> Result<(), Arc<str>> {
        let slow = Arc::clone(slow);
        let asking = move || async move {
            let asked = slow.asked.fetch_add(1, Ordering::Relaxed);
            slow.open.acquire().await.unwrap().forget();
            if asked == 0 {
                Ok(())
            } else {
                Err("it is away".to_owned())
            }
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
        assert_eq!(ask(&readiness, &slow).await, Ok(()));
        assert_eq!(slow.asked.load(Ordering::Relaxed), 1);
        tokio::time::sleep(GOOD).await;
        assert_eq!(ask(&readiness, &slow).await, Err("it is away".into()));
        assert_eq!(slow.asked.load(Ordering::Relaxed), 2);
    }
}
