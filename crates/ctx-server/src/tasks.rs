//! Runs the work of requests: admission, turns, deadlines and cancellation.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ctx_assemble::Cancel;
use ctx_model::Tokens;
use ctx_retrieve::{TaskFailed, TaskScope};
use tokio::sync::oneshot;
use tokio::task::JoinError;
use tokio::time::error::Elapsed;

use crate::Owner;
use crate::admission::{Admission, Doing, Full, Slot};
use crate::backend::BackendError;
use crate::cause::cause;
use crate::job::{Job, Stage};
use crate::problem::Problem;
use crate::request::RequestInfo;
use crate::state::App;

/// A callback for the stages of a build, if the caller wants them.
pub(crate) type StageListener = Option<Arc<dyn Fn(Stage) + Send + Sync>>;

/// What must be available before work gets its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// The owner's data, opened in the store.
    Store,
}

/// Returns a slot for a request of `owner`.
///
/// # Errors
/// No slot is available, or unread answers take all the memory allowed for them.
pub(crate) fn enter(
    app: &App,
    admission: &Arc<Admission>,
    owner: &Owner,
    doing: Doing,
) -> Result<Slot, Problem> {
    let room = app.bodies.full(owner).map_or(Ok(()), Err);
    let slot = room.and_then(|()| admission.enter(owner, doing));
    slot.map_err(|full| {
        app.meter.shed();
        refused(full, admission)
    })
}

/// Runs `work` in `slot` when its turn comes, which it waits for once it has what it `needs`; all
/// within the time that a request of that slot has. Dropping this future, or reaching the
/// deadline, cancels the job. The slot is returned when the work and all tasks that it began have
/// ended, not when the caller leaves.
///
/// # Errors
/// The answer was late; errors of the work.
pub(crate) async fn run<T, F>(
    app: &App,
    slot: Slot,
    needs: Needs,
    told: StageListener,
    work: impl FnOnce(Job) -> F + Send + 'static,
) -> Result<T, Problem>
where
    T: Send + 'static,
    F: Future<Output = Result<T, BackendError>> + Send + 'static,
{
    let (limit, since) = (slot.time(), slot.since());
    let cancel = app.cancel.child();
    let job = job(app, &slot, cancel.clone(), told);
    let (stop, stopped) = oneshot::channel::<()>();
    let scope = match RequestInfo::current() {
        Some(asked) => TaskScope::default().with(asked),
        None => TaskScope::default(),
    };
    let (scope, guard) = scope.cancel_on_drop();
    // Dropped when the caller no longer waits.
    let guards = (cancel.drop_guard(), stop, guard);
    let store = (needs == Needs::Store).then(|| Arc::clone(&app.backend));
    let task = tokio::spawn(async move {
        job.begin(Stage::Queued)?;
        // No request with a turn waits for its store to be opened.
        let ready = scope.clone().within(async {
            let opened = match store {
                Some(store) => Some(store.open(slot.owner()).await?),
                None => None,
            };
            Ok::<_, BackendError>((opened, slot.turn().await))
        });
        let (opened, turn) = tokio::select! {
            ready = ready => ready?,
            _ = stopped => return Err(BackendError::Cancelled),
        };
        if job.cancel.is_cancelled() {
            return Err(BackendError::Cancelled);
        }
        // When it is crowded, the remaining cores are left to others.
        let (is_alone, scope) = (turn.is_crowded(), scope.with((opened, turn)));
        let work = work(job);
        if is_alone {
            let done = scope.on_one_thread(work).await;
            done.map_err(|error| BackendError::failed("finish", error))?
        } else {
            scope.within(work).await
        }
    });
    let left = limit.saturating_sub(since.elapsed());
    let done = tokio::time::timeout(left, task).await;
    drop(guards);
    answer(app, limit, done)
}

/// The job of a request in `slot`, which reports its stages to `told`.
fn job(app: &App, slot: &Slot, cancel: Cancel, told: StageListener) -> Job {
    let limit = slot.time();
    let patience = app.limits.source_time.min(limit / 5);
    // Selection returns the best it has a little before the caller's deadline.
    let job = Job::new(cancel, limit.mul_f64(0.75))
        .with_started(slot.since())
        .with_patience(patience)
        .with_counters(Arc::clone(&app.counters))
        .with_most_tokens(Tokens::new(app.limits.max_tokens));
    match told {
        Some(told) => job.with_progress(told),
        None => job,
    }
}

/// The answer of a task that had until `limit`: what it came to, unless it was late or ended before
/// its work did.
fn answer<T>(
    app: &App,
    limit: Duration,
    done: Result<Result<Result<T, BackendError>, JoinError>, Elapsed>,
) -> Result<T, Problem> {
    match done {
        Err(_) => {
            app.meter.late();
            Err(Problem::late(limit))
        }
        Ok(Err(error)) => {
            let cause = cause(&TaskFailed::from(error));
            tracing::error!(status = 500, cause, "work ended without an answer");
            Err(Problem::internal())
        }
        Ok(Ok(done)) => done.map_err(|error| Problem::from(error).within(app.limits.max_tokens)),
    }
}

/// The problem that a request is answered with that `admission`, or the memory for its body, has no
/// room for.
pub(crate) fn refused(full: Full, admission: &Admission) -> Problem {
    let problem = Problem::overloaded(match full {
        Full::All => "too many requests are running and waiting",
        Full::Late => "the requests that are waiting would take too long",
        Full::Owner => "too many requests of this owner are running and waiting",
        Full::Behind => "the writes of this owner that are waiting would take too long",
        Full::Bodies => "request bodies and unread answers use all the memory allowed for them",
        Full::OwnBodies => {
            "request bodies and unread answers of this owner use all the memory allowed for them"
        }
    });
    match full {
        Full::Bodies | Full::OwnBodies => problem,
        _ => problem.again(admission.retry_after()),
    }
}
