//! Data folders that another uses, or that are not as they were left.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ctx_server::{Embedded, Limits, Quota, ServerError};
use serde_json::json;

use crate::client::{ADA, BOB, Running};

fn start(folder: &Path) -> Running {
    let backend = Embedded::open(folder, Quota::default()).unwrap();
    Running::start(Arc::new(backend), Limits::default())
}

#[test]
fn a_data_folder_is_one_server_s_alone() {
    let folder = tempfile::tempdir().unwrap();
    let first = start(folder.path());
    let second = Embedded::open(folder.path(), Quota::default());
    let Err(error @ ServerError::Busy { process, .. }) = second else {
        panic!("{second:?}");
    };
    assert_eq!(process, Some(std::process::id()));
    let said = error.to_string();
    assert!(said.ends_with(&format!(": process {} has it", std::process::id())));
    drop(first);
    drop(start(folder.path()));
}

/// The databases of all owners.
fn databases(folder: &Path) -> Vec<PathBuf> {
    let owners = std::fs::read_dir(folder.join("owners")).unwrap();
    let found = owners.map(|it| it.unwrap().path().join("state.db"));
    found.collect()
}

#[test]
fn a_message_that_was_changed_on_the_disk_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path());
    for token in [ADA, BOB] {
        server
            .post(token, "/v1/threads", &json!({"id": "t"}))
            .data(201);
        let content = format!("the zebra crossing of {}", &token[..3]);
        let message = json!({"role": "user", "content": content});
        server
            .post(token, "/v1/threads/t/messages", &message)
            .data(201);
    }
    server.join();
    let word = b"crossing of ada";
    let mut changed = 0;
    for path in databases(folder.path()) {
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(word.len()).position(|it| it == word);
        if let Some(at) = at {
            bytes[at] ^= 1;
            std::fs::write(path, bytes).unwrap();
            changed += 1;
        }
    }
    assert_eq!(changed, 1);
    let server = start(folder.path());
    let answer = server.get(ADA, "/v1/threads/t/messages");
    answer.refused(500, "");
    assert!(answer.body.contains("damaged"), "{answer:?}");
    // What is another's is as it was.
    let data = server.get(BOB, "/v1/threads/t/messages").data(200);
    assert_eq!(data[0]["content"], "the zebra crossing of bob");
}

#[test]
fn a_batch_that_cannot_be_finished_does_not_close_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path());
    let file = |path: &str, content: &str| json!({"files": [{"path": path, "content": content}]});
    let old = file("a.rs", "fn aardvark() {}\n");
    let new = file("b/new.rs", "fn armadillo() {}\n");
    server.post(ADA, "/v1/files", &old).data(200);
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    let asked = json!({"message": "aardvark"});
    let built = server.post(ADA, "/v1/context/build", &asked).data(200);
    let receipt = format!("/v1/context/{}", built["id"].as_str().unwrap());
    let index = databases(folder.path())[0].with_file_name("index");
    // Somebody else writes the index, so that nothing can be added to it.
    let lock = index.join("writer.lock");
    let writer = std::fs::File::options().write(true).open(lock).unwrap();
    writer.lock().unwrap();
    server.post(ADA, "/v1/files", &new).refused(500, "");
    server.join();
    let server = start(folder.path());
    let listed = server.get(ADA, "/v1/threads").data(200);
    assert_eq!(listed[0]["id"], "t");
    server.get(ADA, &receipt).data(200);
    server.post(ADA, "/v1/context/build", &asked).data(200);
    // Nothing is told to be kept before it is found.
    server.post(ADA, "/v1/files", &old).refused(500, "");
    drop(writer);
    let data = server.post(ADA, "/v1/files", &new).data(200);
    assert_eq!(data["files"][0]["status"], "unchanged");
}
