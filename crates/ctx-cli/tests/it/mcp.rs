//! `ctx mcp` over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::{self, Folder};

#[test]
fn a_malformed_message_is_answered_and_the_next_one_read() {
    let folder = Folder::of([("a.md", b"text\n")]);
    let mut child = run::command(["mcp"])
        .current_dir(folder.path())
        .env("CTX_CACHE_DIR", folder.path().join(".cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": []});
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{{\n{hello}\n{ready}\n{{\n{call}\n{ping}").unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let answers = output.lines().take(5).map(|it| {
        let answer: Value = serde_json::from_str(&it.unwrap()).unwrap();
        (answer["id"].clone(), answer["error"]["code"].clone())
    });
    let answers: Vec<_> = answers.collect();
    let wanted = [
        (Value::Null, json!(-32700)),
        (json!(1), Value::Null),
        (Value::Null, json!(-32700)),
        (json!(2), json!(-32600)),
        (json!(3), Value::Null),
    ];
    assert_eq!(answers, wanted);
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_root_that_is_no_folder_is_told_as_one() {
    let folder = Folder::of([("a.md", b"text\n")]);
    for flags in [&[][..], &["--install", "cursor"]] {
        let args = [&["mcp", "--root", "a.md"], flags].concat();
        folder
            .run(&args)
            .fails(3, &["a.md is a file, not a folder"]);
        let args = [&["mcp", "--root", "gone"], flags].concat();
        folder
            .run(&args)
            .fails(3, &["failed to open the folder gone"]);
    }
}
