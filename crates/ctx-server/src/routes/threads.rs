//! The routes of threads and their messages.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use super::query::Id;
use super::{Json, Writing, answer, ask, ask_in, plain};
use crate::Owner;
use crate::admission::Doing;
use crate::auth::Identity;
use crate::backend::{
    Appended, Backend, BackendError, Message, NewMessage, NewThread, Thread, ThreadInfo,
};
use crate::paging::{Listing, MessagePage, ThreadPage};
use crate::problem::Problem;
use crate::state::Shared;
use crate::wire::{
    Change, ListMeta, MessageRequest, MessagesQuery, NoMeta, PinsRequest, Reply, ThreadChange,
    ThreadRequest, ThreadsQuery,
};

/// Create a thread.
///
/// If the request is repeated with the same `id`, title and pins, for example because its answer
/// was lost, the existing thread is returned with status 200. With other values, or if its title or
/// pins have changed since, it is a conflict.
#[utoipa::path(post, path = "/v1/threads", tag = "threads", request_body = ThreadRequest, responses(
    (status = 201, description = "The thread is created", body = Reply<Thread, NoMeta>),
    (status = 200, description = "The thread existed already, with this title and these pins", body = Reply<Thread, NoMeta>),
    (status = "4XX", description = "The request is invalid or refused; no thread was created", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn create(
    State(app): State<Shared>,
    identity: Identity,
    Json { request, slot, .. }: Json<ThreadRequest, Writing>,
) -> Result<Response, Problem> {
    let thread = NewThread {
        id: request.id,
        title: request.title,
        pinned: each_once(request.pinned),
    };
    let begun = ask_in(&app, &identity, slot, |backend, owner| async move {
        begin(&*backend, &owner, thread).await
    });
    let (status, thread) = begun.await?;
    Ok(plain(status, thread))
}

/// Creates a thread, or returns an equal one that exists.
async fn begin(
    backend: &dyn Backend,
    owner: &Owner,
    new: NewThread,
) -> Result<(StatusCode, Thread), BackendError> {
    let exists = match backend.create_thread(owner, new.clone()).await {
        Ok(thread) => return Ok((StatusCode::CREATED, thread)),
        Err(error @ BackendError::Exists { .. }) => error,
        Err(error) => return Err(error),
    };
    let id = new.id.as_deref().unwrap_or_default();
    match backend.thread(owner, id).await {
        Ok(ThreadInfo { thread, .. })
            if (&thread.title, &thread.pinned) == (&new.title, &new.pinned) =>
        {
            Ok((StatusCode::OK, thread))
        }
        // The thread existed, and has been removed since.
        Ok(_) | Err(BackendError::NotFound { .. }) => Err(exists),
        Err(error) => Err(error),
    }
}

/// List threads, the last created or the last active first.
///
/// In that order, a thread that becomes active during listing moves to the beginning, which the
/// caller has already read: no thread is listed twice, and none that stays as it is is missed.
#[utoipa::path(get, path = "/v1/threads", operation_id = "list_threads", tag = "threads", params(ThreadsQuery), responses(
    (status = 200, description = "One page of the list", body = Reply<Vec<Thread>, ListMeta>),
    (status = "4XX", description = "The request is invalid or refused", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    State(app): State<Shared>,
    identity: Identity,
    page: ThreadPage,
) -> Result<Response, Problem> {
    let threads = ask(&app, &identity, Doing::Reads, |backend, owner| async move {
        backend.threads(&owner, page).await
    });
    Ok(listed(threads.await?))
}

/// A thread: what is pinned to it, and how many messages it has.
#[utoipa::path(get, path = "/v1/threads/{id}", tag = "threads",
    params(("id" = String, Path, description = "The thread", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")), responses(
    (status = 200, description = "The thread", body = Reply<ThreadInfo, NoMeta>),
    (status = "4XX", description = "There is no such thread, or the request is invalid or refused", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn get(
    State(app): State<Shared>,
    identity: Identity,
    Id(id): Id,
) -> Result<Response, Problem> {
    let thread = ask(&app, &identity, Doing::Reads, |backend, owner| async move {
        backend.thread(&owner, &id).await.map_err(of_path)
    });
    Ok(plain(StatusCode::OK, thread.await?))
}

/// Change the title of a thread, and return the changed thread.
///
/// Fields that the body does not contain stay as they are, and null removes a value (RFC 7396).
/// Pins are replaced by `PUT /v1/threads/{id}/pinned`. Changing the title is not activity of the
/// thread.
#[utoipa::path(patch, path = "/v1/threads/{id}", operation_id = "change_thread", tag = "threads", request_body = ThreadChange,
    params(("id" = String, Path, description = "The thread", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")), responses(
    (status = 200, description = "The thread with its new title", body = Reply<Thread, NoMeta>),
    (status = "4XX", description = "The request is invalid or refused; nothing was changed", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn change(
    State(app): State<Shared>,
    identity: Identity,
    Id(id): Id,
    Json { request, slot, .. }: Json<ThreadChange, Writing>,
) -> Result<Response, Problem> {
    let thread = ask_in(&app, &identity, slot, |backend, owner| async move {
        let thread = match request.title {
            Change::To(title) => backend.set_title(&owner, &id, title).await,
            Change::None => backend.thread(&owner, &id).await.map(|it| it.thread),
        };
        thread.map_err(of_path)
    });
    Ok(plain(StatusCode::OK, thread.await?))
}

/// Remove a thread with its messages and pins, and return what it was.
///
/// The receipts of its contexts are removed, too, and its contexts are no longer in the cache of
/// the process that answers; in those of other processes of one database they expire within half a
/// minute, and nobody is answered with them.
#[utoipa::path(delete, path = "/v1/threads/{id}", operation_id = "remove_thread", tag = "threads",
    params(("id" = String, Path, description = "The thread", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")), responses(
    (status = 200, description = "The thread is removed", body = Reply<ThreadInfo, NoMeta>),
    (status = "4XX", description = "There is no such thread, or the request is invalid or refused", body = Problem, content_type = "application/problem+json"),
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
            let removed = backend.remove_thread(&owner, &id).await;
            removed.map_err(of_path)
        },
    );
    Ok(plain(StatusCode::OK, removed.await?))
}

/// Replace the pins of a thread, which keep their order; duplicates count once.
#[utoipa::path(put, path = "/v1/threads/{id}/pinned", tag = "threads", request_body = PinsRequest,
    params(("id" = String, Path, description = "The thread", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")), responses(
    (status = 200, description = "The thread with its new pins", body = Reply<Thread, NoMeta>),
    (status = "4XX", description = "The request is invalid or refused; nothing was changed", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn pin(
    State(app): State<Shared>,
    identity: Identity,
    Id(id): Id,
    Json { request, slot, .. }: Json<PinsRequest, Writing>,
) -> Result<Response, Problem> {
    let pinned = each_once(request.pinned);
    let thread = ask_in(&app, &identity, slot, |backend, owner| async move {
        let thread = backend.pin(&owner, &id, pinned).await;
        thread.map_err(of_path)
    });
    Ok(plain(StatusCode::OK, thread.await?))
}

/// Add a message to a thread.
///
/// If the request is repeated with the same `id`, role and content, for example because its answer
/// was lost, the stored message is returned with status 200. With other content it is a conflict.
#[utoipa::path(post, path = "/v1/threads/{id}/messages", tag = "threads", request_body = MessageRequest,
    params(("id" = String, Path, description = "The thread", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")), responses(
    (status = 201, description = "The message is stored", body = Reply<Message, NoMeta>),
    (status = 200, description = "The message was stored already", body = Reply<Message, NoMeta>),
    (status = "4XX", description = "The request is invalid or refused; nothing was changed", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn append(
    State(app): State<Shared>,
    identity: Identity,
    Id(id): Id,
    Json { request, slot, .. }: Json<MessageRequest, Writing>,
) -> Result<Response, Problem> {
    let message = NewMessage {
        id: request.id,
        role: request.role.as_str().to_owned(),
        content: request.content,
    };
    let appended = ask_in(&app, &identity, slot, |backend, owner| async move {
        let appended = backend.append(&owner, &id, message).await;
        appended.map_err(of_path)
    });
    let Appended { message, is_new } = appended.await?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok(plain(status, message))
}

/// List the messages of a thread, oldest first, or latest first. A page ends early, with a `next`,
/// where its texts would take more than 4 MiB.
#[utoipa::path(get, path = "/v1/threads/{id}/messages", tag = "threads",
    params(("id" = String, Path, description = "The thread", min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$"), MessagesQuery), responses(
    (status = 200, description = "One page of the list", body = Reply<Vec<Message>, ListMeta>),
    (status = "4XX", description = "There is no such thread, or the request is invalid or refused", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn messages(
    State(app): State<Shared>,
    identity: Identity,
    Id(id): Id,
    page: MessagePage,
) -> Result<Response, Problem> {
    let messages = ask(&app, &identity, Doing::Reads, |backend, owner| async move {
        let messages = backend.messages(&owner, &id, page).await;
        messages.map_err(of_path)
    });
    Ok(listed(messages.await?))
}

/// Removes duplicate pins, keeping the first.
fn each_once(mut pinned: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    pinned.retain(|it| seen.insert(it.clone()));
    pinned
}

/// Makes the error name the thread id as these routes do: as part of the path.
fn of_path(error: BackendError) -> BackendError {
    match error {
        BackendError::NotFound { what, id, .. } => BackendError::NotFound {
            what,
            field: "id",
            id,
        },
        other => other,
    }
}

fn listed<T: Serialize>(listing: Listing<T>) -> Response {
    let meta = ListMeta {
        count: listing.items.len(),
        next: listing.next,
    };
    let data = listing.items;
    answer(StatusCode::OK, &Reply { data, meta })
}
