use std::sync::mpsc;
use std::time::Duration;

use super::*;

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
