//! The suite of laws for every store, applied to this one.

use std::fs;
use std::time::{Duration, SystemTime};

use ctx_index::{Index, Options};
use ctx_testkit::laws::store as laws;
use tempfile::TempDir;

use crate::{memory, update};

/// A folder with these files, the folder of its index, and that.
fn indexed(files: &[(&str, &str)]) -> (TempDir, TempDir, Index) {
    let folder = memory();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let at = memory();
    let options = Options::default().with_blank(true);
    let index = Index::open(folder.path(), at.path(), options).unwrap();
    update(&index);
    (folder, at, index)
}

#[tokio::test]
async fn it_keeps_the_laws_of_stores() {
    let (_folder, _at, index) = indexed(&laws::corpus());
    laws::threads(&index).await;
    laws::store(&index).await;
    laws::votes(&index).await;
}

#[tokio::test]
async fn an_update_without_changes_changes_nothing() {
    let (folder, _at, index) = indexed(&laws::corpus());
    laws::unchanged(&index, async || {
        let later = SystemTime::now() + Duration::from_mins(1);
        for (path, _) in laws::corpus() {
            let path = folder.path().join(path);
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(later).unwrap();
        }
        update(&index);
    })
    .await;
}

#[tokio::test]
async fn a_file_that_was_removed_is_not_recent() {
    let (folder, _at, index) = indexed(&laws::corpus());
    laws::removed(
        &index,
        async |path| {
            fs::remove_file(folder.path().join(path)).unwrap();
            assert_eq!(update(&index).removed, 1);
        },
        async |path, text| {
            fs::write(folder.path().join(path), text).unwrap();
            assert_eq!(update(&index).changed, 1);
        },
    )
    .await;
}

#[tokio::test]
async fn it_gives_as_many_equals_as_are_asked_for() {
    let equal = laws::equal();
    let files: Vec<(&str, &str)> = equal.iter().map(|(path, it)| (&**path, *it)).collect();
    let (_folder, _at, index) = indexed(&files);
    laws::equals(&index).await;
}

#[tokio::test]
async fn it_keeps_the_laws_of_folders() {
    let all = laws::in_folders();
    let (folder, _at, index) = indexed(&all);
    let all: Vec<&str> = all.into_iter().map(|it| it.0).collect();
    laws::folders(&index, &all).await;
    let (mut stay, mut go) = (Vec::new(), Vec::new());
    for (number, path) in all.into_iter().enumerate() {
        let those = if number % 3 > 0 { &mut stay } else { &mut go };
        those.push(path);
    }
    for path in go {
        fs::remove_file(folder.path().join(path)).unwrap();
    }
    update(&index);
    laws::folders(&index, &stay).await;
}
