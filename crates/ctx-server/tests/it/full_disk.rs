//! A data folder on a disk that is full.

use ctx_testkit::disk::Disk;
use serde_json::json;

use crate::client::{ADA, Running};

#[test]
fn what_is_on_a_full_disk_can_be_read_from_the_beginning_on() {
    let Some(disk) = Disk::new(4 << 20) else {
        return;
    };
    let folder = disk.path().join("data");
    let mut server = Running::within(&folder);
    let file = |path: &str, content: &str| json!({"files": [{"path": path, "content": content}]});
    let old = file("a.rs", "fn aardvark() {}\n");
    let new = file("b/new.rs", "fn armadillo() {}\n");
    server.post(ADA, "/v1/files", &old).data(200);
    let thread = json!({"id": "t"});
    server.post(ADA, "/v1/threads", &thread).data(201);
    let message = json!({"role": "user", "content": "the zebra crossing"});
    let messages = "/v1/threads/t/messages";
    server.post(ADA, messages, &message).data(201);
    let asked = json!({"message": "aardvark"});
    let built = server.post(ADA, "/v1/context/build", &asked).data(200);
    server.join();
    let full = disk.path().join("full");
    std::fs::write(&full, vec![1; 8 << 20]).unwrap_err();

    let mut server = Running::within(&folder);
    let said = server.get(ADA, messages).data(200);
    assert_eq!(said[0]["content"], "the zebra crossing");
    let receipt = format!("/v1/context/{}", built["id"].as_str().unwrap());
    server.get(ADA, &receipt).data(200);
    server.post(ADA, "/v1/context/build", &asked).data(200);
    server.post(ADA, messages, &message).refused(500, "");
    server.post(ADA, "/v1/files", &new).refused(500, "");
    let said = server.get(ADA, messages).data(200);
    assert_eq!(said.as_array().unwrap().len(), 1);
    server.join();

    std::fs::remove_file(full).unwrap();
    let server = Running::within(&folder);
    server.post(ADA, messages, &message).data(201);
    server.post(ADA, "/v1/files", &new).data(200);
}
