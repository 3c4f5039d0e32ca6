//! Files.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::{Building, Json, answer};
use crate::auth::Identity;
use crate::backend::{Ingested, NewFile};
use crate::job;
use crate::problem::Problem;
use crate::state::Shared;
use crate::wire::{FilesMeta, FilesRequest, Reply};

/// Keep files, each in the place of what had its path. They are found as soon as this is answered.
#[utoipa::path(post, path = "/v1/files", tag = "files", request_body = FilesRequest, responses(
    (status = 200, description = "All of them are kept", body = Reply<Ingested, FilesMeta>),
    (status = "4XX", description = "None of them is kept that was not", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "No answer", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn ingest(
    State(app): State<Shared>,
    identity: Identity,
    Json { request, place, .. }: Json<FilesRequest, Building>,
) -> Result<Response, Problem> {
    let files = request.files.into_iter().map(|it| NewFile {
        path: it.path,
        content: it.content,
    });
    let files: Vec<NewFile> = files.collect();
    let (backend, owner) = (Arc::clone(&app.backend), identity.owner);
    let work = |_| async move { backend.ingest(&owner, files).await };
    let data = job::run(&app, place, None, work).await?;
    let changed = data.files.iter().filter(|it| it.status != "unchanged");
    let meta = FilesMeta {
        changed_count: changed.count(),
        file_count: data.files.len(),
    };
    Ok(answer(StatusCode::OK, &Reply { data, meta }))
}
