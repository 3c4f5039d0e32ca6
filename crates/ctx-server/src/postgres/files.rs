//! Files that are sent: checked, counted, and stored whole or not at all.

use std::collections::BTreeMap;

use ctx_postgres::{FileText, OwnedStore};

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
    for (number, file) in files.iter().enumerate() {
        if file.content.contains('\0') {
            let detail = "the content has a NUL character in it, which the database does not store";
            return Err(refused(number, "content", detail));
        }
    }
    let paths: Vec<&str> = files.iter().map(|it| it.path.as_str()).collect();
    let mut known = store.sizes(&paths).await.map_err(failed)?;
    check_places(store, &files, &known).await?;
    check(store, &files, &known, quota).await?;
    let mut ingested = Ingested::default();
    for file in &files {
        let hash = *blake3::hash(file.content.as_bytes()).as_bytes();
        let before = known.insert(file.path.clone(), (hash, file.content.len() as u64));
        let status = match before {
            Some((its, _)) if its == hash => "unchanged",
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
    let stored = store.ingest(files.into_iter().map(text).collect());
    let stored = stored.await.map_err(failed)?;
    // What was checked above is all that is passed over, but for sizes.
    if let Some((path, why)) = stored.skipped.first() {
        let number = order.iter().position(|it| it == path).unwrap_or(0);
        return Err(refused(number, "content", why));
    }
    Ok(ingested)
}

/// Sees to it that no file that is stored is a folder of a new one, nor a new one of it.
async fn check_places(
    store: &OwnedStore,
    files: &[NewFile],
    known: &BTreeMap<String, ([u8; 32], u64)>,
) -> Result<()> {
    let new = files.iter().map(|it| it.path.as_str());
    let new: Vec<&str> = new.filter(|it| !known.contains_key(*it)).collect();
    let above: Vec<&str> = new.iter().copied().flat_map(batch::above).collect();
    if new.is_empty() {
        return Ok(());
    }
    let through = store.sizes(&above).await.map_err(failed)?;
    let folders = store.folders(&new).await.map_err(failed)?;
    for (number, file) in files.iter().enumerate() {
        if batch::above(&file.path).any(|it| through.contains_key(it)) {
            return Err(batch::refused(number, batch::THROUGH_FILE));
        }
        if folders.contains(&file.path) {
            return Err(batch::refused(number, batch::OF_FOLDER));
        }
    }
    Ok(())
}

/// Whether the owner may have all these.
async fn check(
    store: &OwnedStore,
    files: &[NewFile],
    known: &BTreeMap<String, ([u8; 32], u64)>,
    quota: &Quota,
) -> Result<()> {
    // Of files with the same path the last counts.
    let sizes: BTreeMap<&str, u64> = files
        .iter()
        .map(|it| (it.path.as_str(), it.content.len() as u64))
        .collect();
    let totals = store.totals().await.map_err(failed)?;
    let new = sizes.keys().filter(|it| !known.contains_key(**it)).count();
    let count = totals.files + new as u64;
    let before: u64 = known.values().map(|it| it.1).sum();
    let after: u64 = sizes.values().sum();
    let bytes = (store.bytes().await.map_err(failed)? + after).saturating_sub(before);
    let (most, what) = match quota {
        quota if count > quota.files => (quota.files, "files"),
        quota if bytes > quota.bytes => (quota.bytes, "bytes of files"),
        _ => return Ok(()),
    };
    let detail = format!("with these there would be more than {most} {what}");
    Err(BackendError::Quota {
        field: "files",
        detail,
    })
}

fn refused(number: usize, field: &str, detail: &str) -> BackendError {
    BackendError::Invalid {
        field: format!("files[{number}].{field}"),
        detail: detail.to_owned(),
    }
}
