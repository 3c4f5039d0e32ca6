//! The routes of files.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::{Batching, Json, answer, ask, ask_in, plain};
use crate::admission::Doing;
use crate::auth::Identity;
use crate::backend::{FileText, Ingested, KeptFile, NewFile, Removed};
use crate::paging::FilePage;
use crate::problem::Problem;
use crate::state::Shared;
use crate::wire::{
    FileInput, FileListMeta, FileQuery, FilesMeta, FilesQuery, FilesRequest, NoMeta, RemovalMeta,
    RemovalRequest, Reply,
};

/// Store files, each replacing the file at its path. They can be found as soon as this is answered.
/// Secrets in them are masked before they are stored. Files of keys and settings (`.env`, `*.env`,
/// `*.pem`, `*.key`, `id_rsa`, …) are refused by their names, and so are `.ctx` and `.ctxignore`,
/// as the description of a file's `path` says; the `errors` of the problem list all faulty files.
#[utoipa::path(post, path = "/v1/files", tag = "files", request_body = FilesRequest, responses(
    (status = 200, description = "All files are stored", body = Reply<Ingested, FilesMeta>),
    (status = "4XX", description = "The request is invalid or refused; no file was stored", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn ingest(
    State(app): State<Shared>,
    identity: Identity,
    Json { request, slot, .. }: Json<FilesRequest, Batching>,
) -> Result<Response, Problem> {
    let ingested = ask_in(&app, &identity, slot, |backend, owner| async move {
        let files = request.files.into_iter().map(NewFile::from);
        backend.ingest(&owner, files.collect()).await
    });
    let data = ingested.await?;
    let changed = data.files.iter().filter(|it| it.status != "unchanged");
    let meta = FilesMeta {
        changed_count: changed.count(),
        file_count: data.files.len(),
        masked_secrets: data.masked_secrets,
    };
    Ok(answer(StatusCode::OK, &Reply { data, meta }))
}

/// Remove files.
///
/// When this is answered they are gone, and no context that is built from then on shows them;
/// receipts of earlier contexts still contain what those showed, until they are removed.
#[utoipa::path(delete, path = "/v1/files", operation_id = "remove_files", tag = "files", request_body = RemovalRequest, responses(
    (status = 200, description = "None of the files is stored any longer", body = Reply<Removed, RemovalMeta>),
    (status = "4XX", description = "The request is invalid or refused; no file was removed", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn remove(
    State(app): State<Shared>,
    identity: Identity,
    Json { request, slot, .. }: Json<RemovalRequest, Batching>,
) -> Result<Response, Problem> {
    let data = ask_in(&app, &identity, slot, |backend, owner| async move {
        backend.remove_files(&owner, request.paths).await
    });
    let data = data.await?;
    let removed = data.files.iter().filter(|it| it.status == "removed");
    let meta = RemovalMeta {
        removed_count: removed.count(),
        file_count: data.files.len(),
    };
    Ok(answer(StatusCode::OK, &Reply { data, meta }))
}

/// List files, in the order of their paths.
#[utoipa::path(get, path = "/v1/files", operation_id = "list_files", tag = "files", params(FilesQuery), responses(
    (status = 200, description = "One page of the list", body = Reply<Vec<KeptFile>, FileListMeta>),
    (status = "4XX", description = "The request is invalid or refused", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    State(app): State<Shared>,
    identity: Identity,
    page: FilePage,
) -> Result<Response, Problem> {
    let listing = ask(&app, &identity, Doing::Reads, |backend, owner| async move {
        backend.files(&owner, page).await
    });
    let listing = listing.await?;
    let meta = FileListMeta {
        count: listing.items.len(),
        next: listing.next,
    };
    let data = listing.items;
    Ok(answer(StatusCode::OK, &Reply { data, meta }))
}

/// A file with its text, as it was last stored.
///
/// Contexts show parts of this text: secrets are masked in it. `hash` and `bytes` are those of the
/// masked text, as in the list of files.
#[utoipa::path(get, path = "/v1/files/content", operation_id = "read_file", tag = "files", params(FileQuery), responses(
    (status = 200, description = "The file", body = Reply<FileText, NoMeta>),
    (status = "4XX", description = "There is no such file, or the request is invalid or refused", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed, or the text is no longer the one that was stored", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn read(
    State(app): State<Shared>,
    identity: Identity,
    FileQuery { path }: FileQuery,
) -> Result<Response, Problem> {
    let file = ask(&app, &identity, Doing::Reads, |backend, owner| async move {
        backend.file(&owner, &path).await
    });
    Ok(plain(StatusCode::OK, file.await?))
}

impl From<FileInput> for NewFile {
    fn from(it: FileInput) -> Self {
        NewFile {
            path: it.path,
            content: it.content,
        }
    }
}
