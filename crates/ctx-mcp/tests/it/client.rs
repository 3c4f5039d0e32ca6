//! A client that sends lines, and keeps the lines that it receives.

use ctx_mcp::Server;
use ctx_model::CounterName;
use rmcp::ServiceExt as _;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

/// One connection to a server in this process.
pub(crate) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    roots: Option<Vec<String>>,
    next: u64,
    /// Notifications that came before the last answer.
    pub(crate) heard: Vec<Value>,
}

/// What a tool replied.
#[derive(Debug)]
pub(crate) struct Replied {
    /// The line as it came.
    pub(crate) line: String,
    pub(crate) result: Value,
}

impl Replied {
    /// All text, blocks one after the other.
    pub(crate) fn text(&self) -> String {
        let blocks = self.result["content"].as_array().unwrap();
        let texts: Vec<&str> = blocks
            .iter()
            .map(|it| it["text"].as_str().unwrap())
            .collect();
        texts.join("\n")
    }

    pub(crate) fn is_error(&self) -> bool {
        self.result["isError"] == true
    }

    pub(crate) fn fact(&self, name: &str) -> &Value {
        &self.result["structuredContent"][name]
    }

    pub(crate) fn cursor(&self) -> Option<String> {
        self.fact("cursor").as_str().map(str::to_owned)
    }

    pub(crate) fn tokens(&self) -> u32 {
        tokens(&self.line)
    }
}

pub(crate) fn tokens(text: &str) -> u32 {
    ctx_tokens::counter(&CounterName::default())
        .unwrap()
        .count(text)
        .get()
}

impl Client {
    /// Says hello as one that declares no roots.
    pub(crate) async fn connect(server: &Server) -> Self {
        Client::hello(server, None).await
    }

    /// Says hello as one that declares these.
    pub(crate) async fn with_roots(server: &Server, roots: &[&str]) -> Self {
        Client::hello(
            server,
            Some(roots.iter().map(|&it| it.to_owned()).collect()),
        )
        .await
    }

    async fn hello(server: &Server, roots: Option<Vec<String>>) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let connection = server.connection();
        tokio::spawn(async move {
            if let Ok(running) = connection.serve(tokio::io::split(theirs)).await {
                let _ = running.waiting().await;
            }
        });
        let (reader, writer) = tokio::io::split(ours);
        let mut client = Client {
            lines: BufReader::new(reader).lines(),
            writer,
            roots,
            next: 0,
            heard: Vec::new(),
        };
        let capabilities = match &client.roots {
            Some(_) => json!({"roots": {"listChanged": true}}),
            None => json!({}),
        };
        let answer = client
            .ask(
                "initialize",
                json!({
                    "protocolVersion": "2025-06-18", "capabilities": capabilities,
                    "clientInfo": {"name": "test", "version": "0"},
                }),
            )
            .await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "ctx");
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    pub(crate) fn declare(&mut self, roots: &[&str]) {
        self.roots = Some(roots.iter().map(|&it| it.to_owned()).collect());
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    /// Sends a line, whatever it says.
    pub(crate) async fn send_text(&mut self, line: &str) {
        for text in [line, "\n"] {
            self.writer.write_all(text.as_bytes()).await.unwrap();
        }
    }

    /// The next so many answers, whatever they answer.
    pub(crate) async fn answers(&mut self, count: usize) -> Vec<Replied> {
        let mut answers = Vec::new();
        while answers.len() < count {
            let line = self.lines.next_line().await.unwrap();
            let line = line.expect("the server hung up");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            if message["method"].is_null() {
                let result = message["result"].take();
                answers.push(Replied { line, result });
            }
        }
        answers
    }

    /// What the server next asks or tells by `method`; what it says before is lost.
    pub(crate) async fn hear(&mut self, method: &str) -> Value {
        loop {
            let line = self.lines.next_line().await.unwrap();
            let message: Value = serde_json::from_str(&line.expect("the server hung up")).unwrap();
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Whether request `id` is answered, whatever else is answered before.
    pub(crate) async fn is_answered(&mut self, id: u64) -> bool {
        while let Some(line) = self.lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["error"].is_null();
            }
        }
        false
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Sends a request without waiting for its answer; its id.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// The answer to a request, result or error.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        let line = self.wait(id).await;
        serde_json::from_str(&line).unwrap()
    }

    /// The line that answers request `id`. What the server asks meanwhile is answered.
    pub(crate) async fn wait(&mut self, id: u64) -> String {
        self.heard.clear();
        loop {
            let line = self
                .lines
                .next_line()
                .await
                .unwrap()
                .expect("the server hung up");
            let message: Value = serde_json::from_str(&line).unwrap();
            match message["method"].as_str() {
                Some("roots/list") => {
                    let roots: Vec<Value> = self
                        .roots
                        .iter()
                        .flatten()
                        .map(|it| json!({"uri": it}))
                        .collect();
                    let answer =
                        json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": roots}});
                    self.send(&answer).await;
                }
                Some(_) => self.heard.push(message),
                None if message["id"] == id => return line,
                None => panic!("an answer nobody waits for: {line}"),
            }
        }
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Replied {
        let id = self
            .begin("tools/call", json!({"name": tool, "arguments": arguments}))
            .await;
        let line = self.wait(id).await;
        let message: Value = serde_json::from_str(&line).unwrap();
        assert!(message["error"].is_null(), "{line}");
        Replied {
            result: message["result"].clone(),
            line,
        }
    }
}
