//! Runs the work of requests: admission, turns, deadlines and cancellation.

use std::future::Future;
use std::sync::Arc;

use ctx_retrieve::{Ended, Hold};
use tokio::sync::oneshot;

use crate::Owner;
use crate::admission::{Admission, Doing, Full, Place};
use crate::asked::Asked;
use crate::backend::{BackendError, Job, Stage};
use crate::cause::cause;
use crate::problem::Problem;
use crate::state::App;

/// A callback for the stages of a build, if the caller wants them.
pub(crate) type Told = Option<Arc<dyn Fn(Stage) + Send + Sync>>;

/// What must be available before work gets its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// The owner's data, opened in the store.
    Store,
}

/// Returns a place for a request of `owner`.
///
/// # Errors
/// No place is available.
pub(crate) fn enter(
    app: &App,
    admission: &Arc<Admission>,
    owner: &Owner,
    doing: Doing,
) -> Result<Place, Problem> {
    admission.enter(owner, doing).map_err(|full| {
        app.meter.shed();
        refused(full)
    })
}

/// Runs `work` in `place` when its turn comes, which it waits for once it has what it `needs`; all
/// within the time limit of the request of that place. Dropping this future, or reaching the
/// deadline, cancels the job. The place is returned when the work and all tasks that it began have
/// ended, not when the caller leaves.
///
/// # Errors
/// The answer was late; errors of the work.
pub(crate) async fn run<T, F>(
    app: &App,
    place: Place,
    needs: Needs,
    told: Told,
    work: impl FnOnce(Job) -> F + Send + 'static,
) -> Result<T, Problem>
where
    T: Send + 'static,
    F: Future<Output = Result<T, BackendError>> + Send + 'static,
{
    let limit = app.limits.request_time;
    let cancel = app.cancel.child();
    // Selection returns the best it has a little before the caller's deadline.
    let patience = app.limits.source_time.min(limit / 5);
    let since = place.since();
    let mut job = Job::new(cancel.clone(), limit.mul_f64(0.75))
        .with_started(since)
        .with_patience(patience)
        .with_counters(Arc::clone(&app.counters));
    if let Some(told) = told {
        job = job.with_progress(told);
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let hold = match Asked::current() {
        Some(asked) => Hold::default().with(asked),
        None => Hold::default(),
    };
    let (hold, watch) = hold.watched();
    // Dropped when the caller no longer waits.
    let guards = (cancel.drop_guard(), stop, watch);
    let store = (needs == Needs::Store).then(|| Arc::clone(&app.backend));
    let task = tokio::spawn(async move {
        job.begin(Stage::Queued)?;
        // No request with a turn waits for its store to be opened.
        let ready = hold.clone().within(async {
            let opened = match store {
                Some(store) => Some(store.open(place.owner()).await?),
                None => None,
            };
            Ok::<_, BackendError>((opened, place.turn().await))
        });
        let (opened, turn) = tokio::select! {
            ready = ready => ready?,
            _ = stopped => return Err(BackendError::Cancelled),
        };
        if job.cancel.is_cancelled() {
            return Err(BackendError::Cancelled);
        }
        // When it is crowded, the remaining cores are left to others.
        let (is_alone, hold) = (turn.is_crowded(), hold.with((opened, turn)));
        let work = work(job);
        if is_alone {
            let done = hold.alone(work).await;
            done.map_err(|error| BackendError::failed("finish", error))?
        } else {
            hold.within(work).await
        }
    });
    let left = limit.saturating_sub(since.elapsed());
    let done = tokio::time::timeout(left, task).await;
    drop(guards);
    match done {
        Err(_) => {
            app.meter.late();
            Err(Problem::late(limit))
        }
        Ok(Err(error)) => {
            let cause = cause(&Ended::from(error));
            tracing::error!(status = 500, cause, "work ended without an answer");
            Err(Problem::internal())
        }
        Ok(Ok(done)) => done.map_err(Problem::from),
    }
}

/// The problem that a rejected request is answered with.
pub(crate) fn refused(full: Full) -> Problem {
    Problem::overloaded(match full {
        Full::All => "every place is taken",
        Full::Late => "those who wait already would take too long",
        Full::Owner => "every place that one owner may have is taken",
        Full::Behind => "what the owner writes already would take too long",
        Full::Bodies => "the bodies that are sent take all the memory that they may",
        Full::OwnBodies => "the bodies that one owner sends may take no more memory",
    })
}
