//! A data folder, and a database, on a disk that is full.

use ctx_testkit::disk::Disk;
use serde_json::json;

use crate::client::{ADA, Running};

#[test]
fn data_on_a_full_disk_can_be_read_after_a_start() {
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
    server.post(ADA, messages, &message).refused(507, "");
    server.post(ADA, "/v1/files", &new).refused(507, "");
    let gone = json!({"paths": ["a.rs"]});
    crate::routes::delete(&server, ADA, "/v1/files", Some(&gone)).refused(507, "");
    let vote = json!({"handle": built["handle"], "useful": true});
    server
        .post(ADA, "/v1/context/feedback", &vote)
        .refused(507, "");
    let said = server.get(ADA, messages).data(200);
    assert_eq!(said.as_array().unwrap().len(), 1);
    server.join();

    std::fs::remove_file(full).unwrap();
    let server = Running::within(&folder);
    server.post(ADA, messages, &message).data(201);
    server.post(ADA, "/v1/files", &new).data(200);
}

/// Whatever was in progress when the disk became full.
#[test]
fn files_can_be_removed_from_a_full_disk() {
    for is_batch_left in [false, true] {
        let Some(disk) = Disk::new(32 << 20) else {
            return;
        };
        let server = Running::within(&disk.path().join("data"));
        let lines = |from: u32, count: u32| {
            let hashes = (from..from + count).map(|it| blake3::hash(&it.to_le_bytes()));
            let lines: Vec<String> = hashes.map(|it| format!("// {it}\n")).collect();
            lines.concat()
        };
        let files: Vec<_> = (0..4)
            .map(|it| json!({"path": format!("{it}.rs"), "content": lines(it << 16, 8_000)}))
            .collect();
        server
            .post(ADA, "/v1/files", &json!({"files": files}))
            .data(200);
        let fill = |name: &str| {
            std::fs::write(disk.path().join(name), vec![1; 64 << 20]).unwrap_err();
        };
        if is_batch_left {
            // There is room for the file, and not for its index.
            let spare = disk.path().join("spare");
            std::fs::write(&spare, vec![1; 160 << 10]).unwrap();
            fill("full");
            std::fs::remove_file(spare).unwrap();
            let new = json!({"files": [{"path": "new.rs", "content": lines(1 << 24, 1_500)}]});
            server.post(ADA, "/v1/files", &new).refused(507, "");
        } else {
            fill("full");
        }
        fill("fuller");
        let gone = json!({"paths": ["0.rs", "1.rs", "2.rs"]});
        let removed = crate::routes::delete(&server, ADA, "/v1/files", Some(&gone)).data(200);
        for file in removed["files"].as_array().unwrap() {
            assert_eq!(file["status"], "removed", "{file}");
        }
        let kept = server.get(ADA, "/v1/files").data(200);
        assert_eq!(kept[0]["path"], "3.rs", "{kept}");
        let small = json!({"files": [{"path": "b.rs", "content": "fn b() {}\n"}]});
        server.post(ADA, "/v1/files", &small).data(200);
    }
}

#[cfg(feature = "postgres")]
#[test]
fn a_database_on_a_full_disk_can_be_read() {
    let Some(disk) = Disk::new(16 << 20) else {
        return;
    };
    let Some(database) = ctx_testkit::postgres::Server::start(&["-c", "fsync=off"]) else {
        return;
    };
    let url = crate::postgres::block_on(database.database_in(disk.path()));
    let server = Running::over(&url);
    let file = |path: &str, content: &str| json!({"files": [{"path": path, "content": content}]});
    let old = file("a.rs", "fn aardvark() {}\n");
    server.post(ADA, "/v1/files", &old).data(200);
    let thread = json!({"id": "t"});
    server.post(ADA, "/v1/threads", &thread).data(201);
    let said = |content: &str| json!({"role": "user", "content": content});
    let messages = "/v1/threads/t/messages";
    let message = said("the zebra crossing");
    server.post(ADA, messages, &message).data(201);
    let asked = json!({"message": "aardvark"});
    let built = server.post(ADA, "/v1/context/build", &asked).data(200);
    let full = disk.path().join("full");
    std::fs::write(&full, vec![1; 32 << 20]).unwrap_err();

    // More than there is room for in the pages that tables have already, however well it is
    // compressed.
    let hashes = (0..3_000_u32).map(|it| blake3::hash(&it.to_le_bytes()));
    let lines: Vec<String> = hashes.map(|it| format!("// {it}\n")).collect();
    let large = lines.concat();
    let new = file("b/new.rs", &large);
    let long = said(&large);
    server.post(ADA, "/v1/files", &new).refused(507, "");
    server.post(ADA, messages, &long).refused(507, "");
    let kept = server.get(ADA, messages).data(200);
    assert_eq!(kept.as_array().unwrap().len(), 1, "{kept}");
    let receipt = format!("/v1/context/{}", built["id"].as_str().unwrap());
    server.get(ADA, &receipt).data(200);
    let again = json!({"message": "aardvark, and new.rs"});
    let again = server.post(ADA, "/v1/context/build", &again).data(200);
    let context = again["context"].as_str().unwrap();
    assert!(context.contains("aardvark()"), "{context}");
    assert!(!context.contains("b/new.rs"), "{context}");

    std::fs::remove_file(full).unwrap();
    server.post(ADA, messages, &long).data(201);
    let sent = server.post(ADA, "/v1/files", &new).data(200);
    assert_eq!(sent["files"][0]["status"], "created");
}
