//! Checks files, and stores them in one transaction, or several if they are too large for one.

use ctx_model::UnixSeconds;
use ctx_postgres::{Bounds, FileText, OwnedStore, StoreError};
use ctx_retrieve::TaskScope;

use super::{Result, failed};
use crate::Quota;
use crate::backend::{BackendError, Ingested, IngestedFile, NewFile};
use crate::batch;

/// A file as it was sent.
struct Sent {
    path: String,
    hash: [u8; 32],
    bytes: usize,
}

/// Stores `files`, with their secrets masked, in place of the files at their paths. Each may then
/// have at most `most` bytes.
pub(super) async fn ingest(
    store: &OwnedStore,
    files: Vec<NewFile>,
    quota: &Quota,
    most: usize,
) -> Result<Ingested> {
    // Work on texts does not run on the threads of the runtime.
    let checked = TaskScope::current()
        .blocking(move || checked(files, most))
        .await;
    let checked = checked.map_err(|error| BackendError::failed("finish", error))?;
    let (sent, files, masked_secrets) = checked?;
    let number = |path: &str| sent.iter().position(|it| it.path == path).unwrap_or(0);
    let bounds = Bounds::new(quota.files, quota.bytes);
    let stored = store.ingest_within(bounds, files).await;
    let stored = stored.map_err(|error| match error {
        StoreError::Place { path, is_folder } => {
            let detail = if is_folder {
                batch::OF_FOLDER
            } else {
                batch::THROUGH_FILE
            };
            batch::refused(number(&path), detail)
        }
        StoreError::Full { what, most } => BackendError::Quota {
            field: "files",
            detail: format!("with these there would be more than {most} {what}"),
        },
        error => failed(error),
    })?;
    if let Some((path, why)) = stored.skipped.first() {
        return Err(batch::refused_content(number(path), why));
    }
    let mut known = stored.before;
    let mut ingested = Ingested {
        masked_secrets,
        ..Ingested::default()
    };
    for Sent { path, hash, bytes } in sent {
        let status = match known.insert(path.clone(), Some(hash)) {
            Some(its) if its == Some(hash) => "unchanged",
            Some(_) => "updated",
            None => "created",
        };
        ingested.files.push(IngestedFile {
            path,
            status: status.to_owned(),
            bytes,
        });
    }
    Ok(ingested)
}

/// Checks `files`, and returns their hashes, their form for the store, and how many secrets were
/// masked in them. O(bytes).
fn checked(mut files: Vec<NewFile>, most: usize) -> Result<(Vec<Sent>, Vec<FileText>, usize)> {
    let masked_secrets = batch::mask(&mut files);
    batch::check(&files, most)?;
    let sent = files.iter().map(|it| Sent {
        path: it.path.clone(),
        hash: *blake3::hash(it.content.as_bytes()).as_bytes(),
        bytes: it.content.len(),
    });
    let sent = sent.collect();
    let at = UnixSeconds::from_millis(crate::build::now());
    let text = |it: NewFile| FileText::new(it.path, it.content).with_modified_at(at);
    Ok((sent, files.into_iter().map(text).collect(), masked_secrets))
}
