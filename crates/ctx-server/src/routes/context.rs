//! The routes of contexts.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use ctx_assemble::AssembleError;
use ctx_model::{BuiltContext, Chunk, Warning};
use ctx_service::ServiceError;
use futures_core::Stream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::accept::Form;
use super::query::Id;
use super::{Building, Json, Looking, Writing, answer, aside, ask, ask_in, plain};
use crate::Owner;
use crate::admission::{Doing, Slot};
use crate::auth::Identity;
use crate::backend::{Backend, BackendError, Prime, PrimeRequest, Receipt, Vote};
use crate::job::Stage;
use crate::paging::{MessagePage, PageLimit};
use crate::problem::Problem;
use crate::request::carried;
use crate::schema;
use crate::state::{App, Shared};
use crate::tally::Outcome;
use crate::tasks::{self, Needs, StageListener};
use crate::wire::{
    AssembleRequest, Assembly, BuildRequest, ContextData, ContextMeta, FeedbackData,
    FeedbackRequest, NoMeta, Progress, ReceiptData, RemovedContext, Reply, ResolveRequest,
    ResolvedData, ResolvedMeta,
};

/// After this long without an event, a stream sends a keep-alive.
const SILENCE: Duration = Duration::from_secs(1);
/// How many events may wait for a slow reader; there are no more stages than that.
const EVENTS: usize = 16;

/// Build the context for a message of a thread: what the message is about, what was said before,
/// and what is pinned.
///
/// With `Accept: text/event-stream` the answer is a stream of events (`BuildEvent`): `progress` as
/// each stage begins, and finally either `result`, with the same data as the JSON answer, or
/// `problem`. If there is no slot, or the thread does not exist, the status says so and no stream
/// is sent. Of `application/json` and `text/event-stream` the one with the larger `q` is sent; if
/// these are equal, the first; and JSON if neither is mentioned. Closing the connection cancels the
/// build.
#[utoipa::path(post, path = "/v1/context/build", tag = "context", request_body = BuildRequest, responses(
    (status = 200, description = "The context", content((Reply<schema::ContextData, ContextMeta> = "application/json"), (schema::BuildEvent = "text/event-stream"))),
    (status = "4XX", description = "The request is invalid or refused; no context was built", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "No context can be built at the moment: the server is overloaded, or the store does not answer in time, so that a pin or one of the `references` cannot be looked up", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed; no context was built", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn build(
    State(app): State<Shared>,
    identity: Identity,
    form: Form,
    Json { request, slot, .. }: Json<BuildRequest, Building>,
) -> Result<Response, Problem> {
    let mut wanted = PrimeRequest::new(request.message.clone(), request.options(&app.limits)?);
    wanted.reserve = request.reserve();
    wanted.thread = request.thread_id;
    wanted.references = request.references;
    wanted.item_content = request.item_content;
    match form {
        Form::Json => {
            let prime = primed(&app, (identity, slot), wanted, None).await?;
            Ok(answer(StatusCode::OK, &reply(&prime, &prime.built())))
        }
        Form::Events => {
            if let Some(thread) = &wanted.thread {
                check_thread(&app, &identity, thread, slot.since()).await?;
            }
            Ok(stream(app, (identity, slot), wanted))
        }
    }
}

async fn primed(
    app: &App,
    (identity, slot): (Identity, Slot),
    wanted: PrimeRequest,
    told: StageListener,
) -> Result<Prime, Problem> {
    let (backend, owner) = (Arc::clone(&app.backend), identity.owner);
    let work = move |job| async move {
        let started = Instant::now();
        let prime = backend.build(&owner, wanted, &job).await?;
        Ok((prime, started.elapsed()))
    };
    let (prime, took) = tasks::run(app, slot, Needs::Store, told, work).await?;
    app.meter.prime(&prime, took);
    Ok(prime)
}

fn reply<'p>(prime: &'p Prime, built: &'p BuiltContext) -> Reply<ContextData<'p>, ContextMeta> {
    Reply {
        data: ContextData::new(prime, built),
        meta: ContextMeta::of_prime(prime),
    }
}

/// Checks that the thread exists, since a stream that has begun could not report it by its status.
/// The time that this takes counts as part of the request, which began at `since`.
async fn check_thread(
    app: &App,
    identity: &Identity,
    id: &str,
    since: Instant,
) -> Result<(), Problem> {
    let id = id.to_owned();
    let slot = tasks::enter(app, &app.store, &identity.owner, Doing::Reads)?;
    let slot = slot.of_request_since(since);
    let page = MessagePage {
        limit: PageLimit::new(1).unwrap_or_default(),
        ..MessagePage::default()
    };
    ask_in(app, identity, slot, |backend, owner| async move {
        match backend.messages(&owner, &id, page).await {
            Err(BackendError::NotFound { what, .. }) => Err(BackendError::NotFound {
                what,
                field: "threadId",
                id,
            }),
            found => found.map(|_| ()),
        }
    })
    .await
}

/// Runs the build as a stream of events, and cancels it when the stream ends for any reason.
fn stream(app: Shared, from: (Identity, Slot), wanted: PrimeRequest) -> Response {
    let (sender, receiver) = mpsc::channel(EVENTS);
    let started = from.1.since();
    // Work that goes on after its deadline does not keep the stream open.
    let telling = sender.downgrade();
    let told = move |stage: Stage| {
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Some(telling) = telling.upgrade() {
            // A reader that is too slow misses this event.
            let _ = telling.try_send(event("progress", &Progress { stage, elapsed_ms }));
        }
    };
    let outcome = Outcome::default();
    let came_to = outcome.clone();
    let task = tokio::spawn(carried(async move {
        let event = match primed(&app, from, wanted, Some(Arc::new(told))).await {
            Ok(prime) => {
                came_to.set(StatusCode::OK);
                event("result", &reply(&prime, &prime.built()))
            }
            Err(problem) => {
                came_to.set(problem.status());
                event("problem", &problem.of_request())
            }
        };
        // If this fails, nobody waits for it.
        let _ = sender.send(event).await;
    }));
    let events = Events {
        receiver,
        task: task.abort_handle(),
    };
    let mut response = Sse::new(events)
        .keep_alive(KeepAlive::new().interval(SILENCE))
        .into_response();
    // The second tells proxies such as nginx to pass on each event as it comes.
    for (name, value) in [("cache-control", "no-store"), ("x-accel-buffering", "no")] {
        let value = axum::http::HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response.extensions_mut().insert(outcome);
    response
}

fn event(name: &str, data: &impl serde::Serialize) -> Event {
    let data = serde_json::to_string(data).unwrap_or_default();
    Event::default().event(name).data(data)
}

struct Events {
    receiver: mpsc::Receiver<Event>,
    task: AbortHandle,
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.receiver.poll_recv(cx).map(|it| it.map(Ok))
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Assemble a context of chunks that come with the request. Nothing is stored.
#[utoipa::path(post, path = "/v1/context/assemble", tag = "context", request_body = AssembleRequest, responses(
    (status = 200, description = "The context", body = Reply<schema::BuiltContext, ContextMeta>),
    (status = "4XX", description = "The request is invalid or refused; no context was built", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed; no context was built", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn assemble(
    State(app): State<Shared>,
    Json { request, slot, .. }: Json<Assembly, Building>,
) -> Result<Response, Problem> {
    let Assembly { chunks, options } = request;
    let work = |job: crate::job::Job| async move {
        job.begin(Stage::Assemble)?;
        let started = Instant::now();
        let (control, counters) = (job.control(), Arc::clone(&job.counters));
        let most = job.most_tokens;
        let assembling = move || {
            let (chunks, masked) = masked(chunks);
            let counter = counters.get(&options.counter)?;
            let mut built = ctx_assemble::assemble(&chunks, &options, &*counter, &control)?;
            built.warnings.extend(masked);
            for omitted in &mut built.omitted {
                omitted.enters_at = omitted.enters_at.filter(|it| *it <= most);
            }
            Ok(built)
        };
        let built: Result<BuiltContext, AssembleError> = aside("assemble", assembling).await?;
        let built = built.map_err(ServiceError::from)?;
        Ok::<_, BackendError>((built, started.elapsed()))
    };
    let (data, took) = tasks::run(&app, slot, Needs::Nothing, None, work).await?;
    app.meter.built(&data, took);
    let meta = ContextMeta::of(&data);
    Ok(answer(StatusCode::OK, &Reply { data, meta }))
}

/// The chunks with their secrets masked, and the warnings about these.
fn masked(mut chunks: Vec<Chunk>) -> (Vec<Chunk>, Vec<Warning>) {
    let masked = chunks.iter_mut().filter_map(ctx_resolve::mask).collect();
    (chunks, masked)
}

/// Report whether a context, or a file in it, was useful.
///
/// Only the first vote on a file of a context counts (`counted`). Contexts are distinguished by
/// `id`: those of two messages can each be voted on, even if their texts are equal.
#[utoipa::path(post, path = "/v1/context/feedback", tag = "context", request_body = FeedbackRequest, responses(
    (status = 200, description = "The feedback is stored", body = Reply<FeedbackData, NoMeta>),
    (status = "4XX", description = "The request is invalid or refused; no feedback was stored", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn feedback(
    State(app): State<Shared>,
    identity: Identity,
    Json { request, slot, .. }: Json<FeedbackRequest, Writing>,
) -> Result<Response, Problem> {
    let vote = Vote {
        handle: request.handle,
        useful: request.useful,
    };
    let counted = ask_in(&app, &identity, slot, |backend, owner| async move {
        backend.feedback(&owner, vote).await
    });
    let data = FeedbackData {
        success: true,
        counted: counted.await?,
    };
    Ok(plain(StatusCode::OK, data))
}

/// An earlier context with its receipt.
///
/// Receipts are kept for a day by default, and for less if those of an owner exceed 256 MiB: the
/// oldest make room. Expired ones are deleted when others are written. The detail of a 404 states
/// how long they are kept.
#[utoipa::path(get, path = "/v1/context/{id}", tag = "context",
    params(("id" = String, Path, description = "The context", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")), responses(
    (status = 200, description = "The context", body = Reply<schema::Receipt, ContextMeta>),
    (status = "4XX", description = "The context is not stored, or the request is invalid or refused", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn receipt(
    State(app): State<Shared>,
    identity: Identity,
    Id(id): Id,
) -> Result<Response, Problem> {
    let kept = ask(&app, &identity, Doing::Reads, |backend, owner| async move {
        kept(&*backend, &owner, id).await
    });
    let kept = kept.await?;
    let meta = ContextMeta::of(&kept.receipt);
    let data = ReceiptData::from(kept);
    Ok(answer(StatusCode::OK, &Reply { data, meta }))
}

/// Remove the receipt of an earlier context, and the context from the cache.
///
/// Its content can no longer be read, cited by labels or resolved. Counted votes remain, and the
/// context's handles are valid for votes until they expire. The receipts of a thread are removed
/// with it. If the same request is sent again, the context is built again, and its receipt is kept.
#[utoipa::path(delete, path = "/v1/context/{id}", operation_id = "remove_receipt", tag = "context",
    params(("id" = String, Path, description = "The context", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")), responses(
    (status = 200, description = "The context is removed", body = Reply<RemovedContext, NoMeta>),
    (status = "4XX", description = "The context is not stored, or the request is invalid or refused", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn remove(
    State(app): State<Shared>,
    identity: Identity,
    Id(id): Id,
) -> Result<Response, Problem> {
    let removed = ask(
        &app,
        &identity,
        Doing::Writes,
        |backend, owner| async move {
            if backend.remove_receipt(&owner, &id).await? {
                Ok(RemovedContext { id })
            } else {
                Err(not_kept(&*backend, id))
            }
        },
    );
    Ok(plain(StatusCode::OK, removed.await?))
}

/// Check the citations of an answer against its context: which items it uses, which ids are unknown
/// or malformed, which lines are out of range, and which quotations are not the item's.
#[utoipa::path(post, path = "/v1/context/{id}/resolve", tag = "context", request_body = ResolveRequest,
    params(("id" = String, Path, description = "The context", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")), responses(
    (status = 200, description = "The citations of the answer", body = Reply<schema::Resolved, ResolvedMeta>),
    (status = "4XX", description = "The context is not stored, or the request is invalid or refused", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn resolve(
    State(app): State<Shared>,
    identity: Identity,
    Id(id): Id,
    Json { request, slot, .. }: Json<ResolveRequest, Looking>,
) -> Result<Response, Problem> {
    let resolved = ask_in(&app, &identity, slot, |backend, owner| async move {
        let kept = kept(&*backend, &owner, id).await?;
        let resolving = move || kept.resolve(&request.answer);
        aside("resolve an answer", resolving).await?
    });
    let (resolved, citations) = resolved.await?;
    let meta = ResolvedMeta::of(&resolved);
    let data = ResolvedData::new(resolved, &citations);
    Ok(answer(StatusCode::OK, &Reply { data, meta }))
}

/// Returns a stored context.
async fn kept(backend: &dyn Backend, owner: &Owner, id: String) -> Result<Receipt, BackendError> {
    let found = backend.receipt(owner, &id).await?;
    found.ok_or_else(|| not_kept(backend, id))
}

fn not_kept(backend: &dyn Backend, id: String) -> BackendError {
    match backend.keeping() {
        Some(keeping) => BackendError::NotKept { id, keeping },
        None => BackendError::NotFound {
            what: "context",
            field: "id",
            id,
        },
    }
}
