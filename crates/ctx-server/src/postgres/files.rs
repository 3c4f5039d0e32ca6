//! Files that are sent: checked, counted, and stored whole or not at all.

use ctx_postgres::{Bounds, FileText, OwnedStore, StoreError};

use super::{Result, failed};
use crate::Quota;
use crate::backend::{BackendError, Ingested, IngestedFile, NewFile};
use crate::batch;

/// Stores `files`, in place of what was at their paths.
pub(super) async fn ingest(
    store: &OwnedStore,
    files: Vec<NewFile>,
    quota: &Quota,
) -> Result<Ingested> {
    batch::check(&files)?;
    let paths: Vec<&str> = files.iter().map(|it| it.path.as_str()).collect();
    let hash = |it: &NewFile| *blake3::hash(it.content.as_bytes()).as_bytes();
    let hashes: Vec<[u8; 32]> = files.iter().map(hash).collect();
    let mut known = store.hashes(&paths).await.map_err(failed)?;
    let sent = files.iter().zip(&hashes);
    let sent = sent.map(|(it, hash)| (it.path.as_str(), it.content.as_str(), *hash));
    let same = sent.filter(|(path, _, hash)| known.get(*path) == Some(hash));
    let same: Vec<(&str, &str, [u8; 32])> = same.collect();
    let damaged = store.damaged(&same).await.map_err(failed)?;
    let mut ingested = Ingested::default();
    for (file, hash) in files.iter().zip(hashes) {
        let status = match known.insert(file.path.clone(), hash) {
            Some(its) if its == hash && !damaged.contains(&file.path) => "unchanged",
            Some(_) => "updated",
            None => "created",
        };
        ingested.files.push(IngestedFile {
            path: file.path.clone(),
            status: status.to_owned(),
            bytes: file.content.len(),
        });
    }
    let order: Vec<String> = files.iter().map(|it| it.path.clone()).collect();
    let at = crate::build::now() / 1_000;
    let text = |it: NewFile| FileText::new(it.path, it.content).with_modified_at(at);
    let number = |path: &str| order.iter().position(|it| it == path).unwrap_or(0);
    let bounds = Bounds::new(quota.files, quota.bytes);
    let stored = store.ingest_within(bounds, files.into_iter().map(text).collect());
    let stored = stored.await.map_err(|error| match error {
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
    // What was checked above is all that is passed over, but for sizes.
    if let Some((path, why)) = stored.skipped.first() {
        return Err(batch::refused_content(number(path), why));
    }
    Ok(ingested)
}
