//! Work on behalf of a request: let in or turned away, in its turn, for as long as somebody waits.

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

/// Who is told of the stages, if anybody is.
pub(crate) type Told = Option<Arc<dyn Fn(Stage) + Send + Sync>>;

/// What is to be there before work has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// What the store has of the owner.
    Store,
}

/// A place for a request of `owner`, to do that.
///
/// # Errors
/// There is none.
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

/// Runs `work` in `place` when it is its turn, which it waits for once there is what it needs, as far as the time of the request
/// that the place is for goes. Dropping this, or the deadline, raises the flag of the job; the place is
/// given back when the work has ended, and all that it began and did not wait for; not when nobody waits for it any more.
///
/// # Errors
/// The answer was late; what the work says.
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
    // Selection returns the best it has a little before the caller would have nothing.
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
    // Dropped when nobody waits any more.
    let guards = (cancel.drop_guard(), stop, watch);
    let store = (needs == Needs::Store).then(|| Arc::clone(&app.backend));
    let task = tokio::spawn(async move {
        job.begin(Stage::Queued)?;
        // Nobody has a turn who waits for that.
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
        // Others have use for the rest of the cores.
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

/// What is said to who is turned away.
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
