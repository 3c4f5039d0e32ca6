use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;

use super::*;

/// Calls `look` with a folder for each of about `few` bytes of `file` (or each `step`th, where all are to be tried): one
/// that `copy` gives, with the file in it and a bit of that byte turned.
pub(super) fn each_flip(
    file: &Path,
    (few, step): (usize, usize),
    copy: impl Fn() -> TempDir,
    mut look: impl FnMut(usize, &Path),
) {
    let bytes = std::fs::read(file).unwrap();
    let is_thorough = std::env::var_os("CTX_THOROUGH").is_some();
    let step = if is_thorough { step } else { bytes.len() / few };
    for at in (0..bytes.len()).step_by(step) {
        let damaged = copy();
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(damaged.path().join(file.file_name().unwrap()), flipped).unwrap();
        look(at, damaged.path());
    }
}

pub(super) fn empty() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test]
async fn a_folder_is_its_opener_s_until_the_last_work_in_it_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    let (tell, told) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let owner = Owner::new("ada").unwrap();
    let work = tokio::spawn(async move {
        let long = move |_: &Store| {
            tell.send(()).unwrap();
            Ok(ended.recv())
        };
        backend.with(&owner, long).await
    });
    // Whoever asked for it goes, and the server with it, while it is at work.
    tokio::task::spawn_blocking(move || told.recv())
        .await
        .unwrap()
        .unwrap();
    work.abort();
    assert!(work.await.unwrap_err().is_cancelled());
    let second = Embedded::open(folder.path(), Quota::default());
    assert!(
        matches!(second, Err(ServerError::Busy { .. })),
        "{second:?}"
    );
    drop(end);
    while Embedded::open(folder.path(), Quota::default()).is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
