//! `ctx mcp` over standard input and output.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::query::Asked;
use crate::run::{self, Folder};

/// A client of `ctx mcp`, which ends with it.
struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Agent {
    fn of(asked: &Asked) -> Self {
        let mut child = asked
            .command(&["mcp"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut agent = Agent {
            input: child.stdin.take(),
            answers: output.lines(),
            child,
        };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}});
        agent.ask(&hello);
        agent.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_ref().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.say(message);
        let mut answers = self
            .answers
            .by_ref()
            .map(|it| serde_json::from_str(&it.unwrap()).unwrap());
        let is_it = |it: &Value| it["id"] == message["id"];
        answers.find(is_it).expect("the server goes on")
    }

    /// The text of the reply to a question.
    fn query(&mut self, question: &str) -> String {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "context_query", "arguments": {"query": question}}});
        let answer = self.ask(&call);
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

#[test]
fn agents_and_questions_keep_one_index_by_the_same_settings() {
    let asked = Asked::of([
        ("a.go", b"package a\n\nfunc Apple() {}\n"),
        ("a.pb.go", b"package a\n\nfunc Pear() {}\n"),
        ("ctx.toml", b"[index]\ninclude-generated = true\n"),
    ]);
    asked.run(&["index"]).ok();
    let shown = Agent::of(&asked).query("func Pear");
    assert!(shown.contains("a.pb.go"), "{shown}");
    let status = asked.run(&["index", "--status", "--json"]).json();
    assert_eq!(status["files"], 3, "{status}");
    assert_eq!(status["pending"], json!({"changed": 0, "removed": 0}));
    asked.root.write("ctx.toml", "[index]\ninclude = true\n");
    let refused = Agent::of(&asked).query("func Pear");
    for part in ["ctx.toml:2: ", "`include`", "try: "] {
        assert!(refused.contains(part), "{refused}");
    }
}

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
