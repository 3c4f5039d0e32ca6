//! Data folders that another process uses, or that are damaged.

use std::path::{Path, PathBuf};

use ctx_server::{Embedded, Quota, ServerError};
use serde_json::json;

use crate::client::{ADA, BOB, Running};

#[test]
fn a_data_folder_is_one_server_s_alone() {
    let folder = tempfile::tempdir().unwrap();
    let first = Running::within(folder.path());
    let second = Embedded::open(folder.path(), Quota::default());
    let Err(error @ ServerError::Busy { process, .. }) = second else {
        panic!("{second:?}");
    };
    assert_eq!(process, Some(std::process::id()));
    let said = error.to_string();
    assert!(said.ends_with(&format!(": process {} has it", std::process::id())));
    drop(first);
    drop(Running::within(folder.path()));
}

/// The databases of this name of all owners.
fn databases(folder: &Path, name: &str) -> Vec<PathBuf> {
    let owners = std::fs::read_dir(folder.join("owners")).unwrap();
    let found = owners.map(|it| it.unwrap().path().join(name));
    found.collect()
}

/// Flips a bit of `word` in the databases of this name, in each that has it. Returns how many these
/// are.
fn flip(folder: &Path, name: &str, word: &[u8]) -> usize {
    let mut changed = 0;
    for path in databases(folder, name) {
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(word.len()).position(|it| it == word);
        if let Some(at) = at {
            bytes[at] ^= 1;
            std::fs::write(path, bytes).unwrap();
            changed += 1;
        }
    }
    changed
}

#[test]
fn a_message_that_was_changed_on_the_disk_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::within(folder.path());
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
    assert_eq!(flip(folder.path(), "state.db", b"crossing of ada"), 1);
    let server = Running::within(folder.path());
    let answer = server.get(ADA, "/v1/threads/t/messages");
    answer.refused(500, "");
    assert!(answer.body.contains("damaged"), "{answer:?}");
    // What is another's is as it was.
    let data = server.get(BOB, "/v1/threads/t/messages").data(200);
    assert_eq!(data[0]["content"], "the zebra crossing of bob");
}

#[test]
fn a_folder_of_something_else_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    std::fs::write(&lock, "left-pad 1.3.0\n").unwrap();
    let salvaged = Embedded::salvage(folder.path()).map(|_| ());
    let opened = Embedded::open(folder.path(), Quota::default()).map(|_| ());
    for refused in [salvaged, opened] {
        assert!(
            matches!(refused, Err(ServerError::DataFolder { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), "left-pad 1.3.0\n");
    std::fs::remove_file(&lock).unwrap();
    Embedded::salvage(folder.path()).unwrap_err();
    assert!(!lock.exists());
}

#[test]
fn what_is_intact_of_a_damaged_folder_is_salvaged_when_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::within(folder.path());
    for token in [ADA, BOB] {
        let files = json!({"files": [{"path": "a.rs", "content": "fn aardvark() {}\n"}]});
        server.post(token, "/v1/files", &files).data(200);
        server
            .post(token, "/v1/threads", &json!({"id": "t"}))
            .data(201);
        for word in ["first", "zebra", "last"] {
            let content = format!("the {word} message of {}", &token[..3]);
            let message = json!({"role": "user", "content": content});
            server
                .post(token, "/v1/threads/t/messages", &message)
                .data(201);
        }
    }
    let busy = Embedded::salvage(folder.path());
    assert!(matches!(busy, Err(ServerError::Busy { .. })), "{busy:?}");
    server.join();
    // What is no owner's folder is none of its business.
    std::fs::write(folder.path().join("owners/notes.txt"), "").unwrap();
    assert_eq!(Embedded::salvage(folder.path()).unwrap(), []);
    std::fs::remove_file(folder.path().join("owners/notes.txt")).unwrap();
    let flipped = flip(folder.path(), "state.db", b"zebra message of ada");
    assert_eq!(flipped, 1);
    let salvaged = Embedded::salvage(folder.path()).unwrap();
    let [salvaged] = &salvaged[..] else {
        panic!("{salvaged:?}");
    };
    let lost = salvaged.rows.iter().map(|it| (it.kind, it.kept, it.lost));
    assert_eq!(
        lost.collect::<Vec<_>>(),
        [
            ("files", 1, 0),
            ("threads", 1, 0),
            ("messages", 2, 1),
            ("votes", 0, 0),
            ("usage", 0, 0)
        ]
    );
    let server = Running::within(folder.path());
    let data = server.get(ADA, "/v1/threads/t/messages").data(200);
    let told = data.as_array().unwrap().iter().map(|it| &it["content"]);
    assert_eq!(
        told.collect::<Vec<_>>(),
        ["the first message of ada", "the last message of ada"]
    );
    let wanted = json!({"message": "what is aardvark?", "threadId": "t"});
    let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
    assert!(built["context"].as_str().unwrap().contains("fn aardvark"));
    let data = server.get(BOB, "/v1/threads/t/messages").data(200);
    assert_eq!(data.as_array().unwrap().len(), 3);
}

#[test]
fn a_context_that_was_changed_on_the_disk_is_not_shown_and_closes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::within(folder.path());
    let build = |server: &Running, token: &str, word: &str| {
        let content = format!("fn {word}() {{ the_zebra_of_{}(); }}\n", &token[..3]);
        let files = json!({"files": [{"path": format!("{word}.rs"), "content": content}]});
        server.post(token, "/v1/files", &files).data(200);
        let wanted = json!({"message": format!("what is {word}?")});
        let built = server.post(token, "/v1/context/build", &wanted).data(200);
        format!("/v1/context/{}", built["id"].as_str().unwrap())
    };
    let of_ada = build(&server, ADA, "stripes");
    let of_bob = build(&server, BOB, "stripes");
    server.join();
    let flipped = flip(folder.path(), "contexts.db", b"the_zebra_of_ada");
    assert_eq!(flipped, 1);
    // It stays damaged however often the folder is opened.
    for _ in 0..2 {
        let mut server = Running::within(folder.path());
        let answer = server.get(ADA, &of_ada);
        answer.refused(500, "");
        assert!(answer.body.contains("contexts is damaged"), "{answer:?}");
        let never = format!("/v1/context/ctx-{}", "0".repeat(32));
        server.get(ADA, &never).refused(404, "id");
        server.get(BOB, &of_bob).data(200);
        let again = build(&server, ADA, "hooves");
        server.get(ADA, &again).data(200);
        server.join();
    }
}

/// The one file of the owner that is called `name`.
fn kept(folder: &Path, name: &str) -> PathBuf {
    let mut found = databases(folder, "files");
    found.retain(|it| it.join(name).exists());
    found.pop().unwrap().join(name)
}

/// What is asked for by its name, and searched for.
fn asked(turn: usize) -> serde_json::Value {
    json!({"message": format!("what does aardvark do? {turn}"), "references": ["a.rs"]})
}

#[test]
fn a_file_with_a_flipped_bit_is_told_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::within(folder.path());
    let content = "fn aardvark() { zebra(); }\n";
    let files = json!({"files": [
        {"path": "a.rs", "content": content},
        {"path": "b.rs", "content": "fn armadillo() { aardvark(); }\n"},
    ]});
    server.post(ADA, "/v1/files", &files).data(200);
    let built = server.post(ADA, "/v1/context/build", &asked(0)).data(200);
    assert!(built["context"].as_str().unwrap().contains("zebra"));
    let file = kept(folder.path(), "a.rs");
    let modified = std::fs::metadata(&file).unwrap().modified().unwrap();
    let mut missed = Vec::new();
    for at in 0..=content.len() {
        let mut bytes = content.as_bytes().to_vec();
        match bytes.get_mut(at) {
            Some(byte) => *byte ^= 1 << (at % 8),
            // The end of it is gone.
            None => bytes.truncate(at / 2),
        }
        std::fs::write(&file, bytes).unwrap();
        if at % 8 == 0 {
            // As a disk does it: nothing but the bits tells, and nothing is remembered.
            let written = std::fs::File::options().append(true).open(&file).unwrap();
            written.set_modified(modified).unwrap();
            server.join();
            server = Running::within(folder.path());
        }
        let read = server.get(ADA, "/v1/files/content?path=a.rs");
        read.refused(500, "");
        assert!(read.body.contains("the file is damaged"), "{at} {read:?}");
        // Also what was answered before, and is kept.
        for turn in [0, at + 1] {
            let answer = server.post(ADA, "/v1/context/build", &asked(turn));
            let built = answer.data(200);
            let shown = built["context"].as_str().unwrap();
            let warnings = built["warnings"].to_string();
            let is_told = warnings.contains("a.rs") && warnings.contains("does not match its hash");
            if !is_told || shown.contains("fn aardvark") || shown.contains("zebra()") {
                missed.push((at, answer.body));
            }
        }
    }
    assert!(missed.is_empty(), "{} {:?}", missed.len(), missed.first());
    // Sent anew, it is whole again.
    let sent = server.post(ADA, "/v1/files", &files).data(200);
    assert_eq!(sent["files"][0]["status"], "updated");
    assert_eq!(sent["files"][1]["status"], "unchanged");
    let read = server.get(ADA, "/v1/files/content?path=a.rs");
    assert_eq!(read.data(200)["content"], content);
    // Also for who was told before, and kept waiting, that it is not.
    for turn in [1, content.len() + 1] {
        let answer = server.post(ADA, "/v1/context/build", &asked(turn));
        let built = answer.data(200);
        let shown = built["context"].as_str().unwrap();
        assert!(shown.contains("zebra"), "{turn} {answer:?}");
    }
}

#[test]
fn a_file_that_nobody_sent_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::within(folder.path());
    let files = json!({"files": [{"path": "b.rs", "content": "fn armadillo() {}\n"}]});
    server.post(ADA, "/v1/files", &files).data(200);
    server.join();
    let beside = kept(folder.path(), "b.rs").with_file_name("a.rs");
    std::fs::write(beside, "fn aardvark() { zebra(); }\n").unwrap();
    let server = Running::within(folder.path());
    let more = json!({"files": [{"path": "c.rs", "content": "fn anteater() {}\n"}]});
    server.post(ADA, "/v1/files", &more).data(200);
    let built = server.post(ADA, "/v1/context/build", &asked(0)).data(200);
    assert!(!built["context"].as_str().unwrap().contains("zebra"));
}

#[test]
fn files_that_are_replaced_meanwhile_are_not_taken_for_damaged() {
    let server = Running::embedded();
    let send = |turn: usize| {
        let content = format!("fn aardvark() {{ zebra({turn}); }}\n");
        let files = json!({"files": [{"path": "a.rs", "content": content}]});
        server.post(ADA, "/v1/files", &files).data(200);
    };
    send(0);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| (1..40).for_each(send));
        let mut turn = 0;
        while !sending.is_finished() {
            turn += 1;
            let answer = server.post(ADA, "/v1/context/build", &asked(turn));
            let context = answer.data(200)["context"].as_str().unwrap().to_owned();
            assert!(context.contains("zebra("), "{answer:?}");
            let read = server.get(ADA, "/v1/files/content?path=a.rs").data(200);
            assert!(read["content"].as_str().unwrap().contains("zebra("));
        }
    });
}

#[test]
fn a_batch_that_cannot_be_finished_does_not_close_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::within(folder.path());
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
    let index = databases(folder.path(), "state.db")[0].with_file_name("index");
    // Somebody else writes the index, so that nothing can be added to it.
    let lock = index.join("writer.lock");
    let writer = std::fs::File::options().write(true).open(lock).unwrap();
    writer.lock().unwrap();
    server.post(ADA, "/v1/files", &new).refused(500, "");
    server.join();
    let server = Running::within(folder.path());
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
