//! What the server offers, and how invalid requests are answered.

use std::num::NonZeroUsize;
use std::time::Duration;

use ctx_mcp::Server;
use ctx_testkit::git::Repository;
use serde_json::{Value, json};

use crate::Project;
use crate::client::{Client, tokens};

#[test]
fn the_tools_take_fewer_than_1500_tokens() {
    let listed = serde_json::to_string(&ctx_mcp::tools()).unwrap();
    let count = tokens(&listed);
    assert!(count < 1_500, "they take {count}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_only_reads_and_takes_max_tokens() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let answer = client.ask("tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "context_query",
            "context_assemble",
            "context_read",
            "context_outline"
        ]
    );
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(
            tool["inputSchema"]["properties"]["max_tokens"]["maximum"], 25_000,
            "{tool}"
        );
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_with_the_lines_that_fit_it() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let reply = client
        .call(
            "context_query",
            json!({"query": "how does parse_sum read a sum"}),
        )
        .await;
    assert!(!reply.is_error());
    assert!(reply.text().contains("src/parser.rs"), "{}", reply.text());
    assert!(
        reply.text().contains("total += part.trim()"),
        "{}",
        reply.text()
    );
    assert!(reply.fact("included").as_u64().unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_written_just_before_a_question_are_found() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let ask = |query: &str| json!({"query": query});
    for (number, name) in ["walrus", "pelican", "numbat"].into_iter().enumerate() {
        // The index is as new as this answer.
        client.call("context_query", ask("parse_sum")).await;
        project.write(
            &format!("late_{number}.py"),
            &format!("def {name}():\n    pass\n"),
        );
        let reply = client.call("context_query", ask(name)).await.text();
        assert!(reply.contains(&format!("def {name}")), "{reply}");
        project.write(
            &format!("late_{number}.py"),
            &format!("\n\n\ndef {name}(a):\n    pass\n"),
        );
        let reply = client.call("context_query", ask(name)).await.text();
        assert!(reply.contains(&format!("def {name}(a)")), "{reply}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limits_of_a_question_are_honoured() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let arguments = json!({
        "query": "parse a sum, print the total", "include_types": ["function"], "format": "xml", "limit": 1.0,
        "strategies": ["text"], "min_score": 0.1,
    });
    let reply = client.call("context_query", arguments).await;
    assert!(reply.text().starts_with("<context"), "{}", reply.text());
    assert!(
        reply.text().contains("print_total") && !reply.text().contains("parser.rs"),
        "{}",
        reply.text()
    );
    assert_eq!(reply.fact("included"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_parts_are_looked_for_as_the_reply_may_hold() {
    let function = |it: usize| {
        format!(
            "/// Adds {it} to a total.\nfn add_{it}(total: i64) -> i64 {{\n    total + {it}\n}}\n\n"
        )
    };
    let files: Vec<(String, String)> = (0..75)
        .map(|file| {
            let path = format!("src/{file}.rs");
            (path, (0..4).map(|it| function(file * 4 + it)).collect())
        })
        .collect();
    let files = files.iter().map(|(path, text)| (&**path, &**text));
    let project = Project::of(&files.collect::<Vec<_>>());
    let mut client = Client::connect(&project.server()).await;
    for (max_tokens, least) in [(8_000, 1), (25_000, 200)] {
        let arguments = json!({"query": "add to a total", "max_tokens": max_tokens});
        let reply = client.call("context_query", arguments).await;
        let text = reply.text();
        let found = text.lines().filter(|it| it.starts_with("fn add_")).count();
        assert!(found >= least, "{found} of {least} in {max_tokens}");
        assert_eq!(found > 100, max_tokens > 8_000, "{found} in {max_tokens}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_hits_are_read_from_their_files() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let chunks = json!([
        {"id": "a", "relevance": 1.0, "filePath": "src/parser.rs", "startLine": 10, "endLine": 12},
        {"id": "b", "relevance": 0.5, "content": "said elsewhere", "name": "note"},
        {"id": "c", "relevance": 0.5, "filePath": "src/gone.rs", "startLine": 1, "endLine": 2},
    ]);
    let reply = client
        .call("context_assemble", json!({"chunks": chunks}))
        .await;
    for expected in ["pub fn parse_sum", "said elsewhere", "src/gone.rs"] {
        assert!(reply.text().contains(expected), "{}", reply.text());
    }
    assert_eq!(reply.fact("included"), 2);
    assert_eq!(reply.fact("omitted"), 1);
    assert_eq!(reply.fact("unreadable"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_counts_of_a_reply_are_all_that_came_in() {
    let text: String = (1..=900)
        .map(|it| format!("line number {it} of many\n"))
        .collect();
    let project = Project::of(&[("a.txt", &text), ("b.png", "\u{0}\u{1}\u{2}")]);
    let mut client = Client::connect(&project.server()).await;
    let hit = |id: String, path: &str, start: u32, end: u32| json!({"id": id, "relevance": 0.5, "filePath": path, "startLine": start, "endLine": end});
    let mut chunks = vec![
        hit("gone".to_owned(), "gone.txt", 1, 1),
        hit("png".to_owned(), "b.png", 1, 1),
        hit("past".to_owned(), "a.txt", 2_000, 2_001),
    ];
    // Each overlaps the next.
    chunks.extend((0..60).map(|it| hit(format!("h{it}"), "a.txt", it * 15 + 1, it * 15 + 16)));
    let count = chunks.len() as u64;
    for max_tokens in [256, 700, 2_000, 25_000] {
        let arguments = json!({"chunks": chunks, "max_tokens": max_tokens});
        let mut reply = client.call("context_assemble", arguments).await;
        let mut left = count;
        loop {
            let fact = |name: &str| reply.fact(name).as_u64().unwrap_or(0);
            let (shown, omitted) = (fact("included") + fact("merged"), fact("omitted"));
            assert_eq!(
                shown + omitted,
                left,
                "{}",
                reply.result["structuredContent"]
            );
            left = omitted - fact("unreadable");
            assert_eq!(reply.cursor().is_some(), left > 0 && shown > 0);
            let Some(cursor) = reply.cursor() else { break };
            let note = format!("{left} more parts did not fit");
            assert!(reply.text().contains(&note), "{}", reply.text());
            let arguments = json!({"cursor": cursor, "max_tokens": max_tokens});
            reply = client.call("context_assemble", arguments).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hits_that_overlap_are_shown_as_one() {
    let text: String = (1..=200).map(|it| format!("    call({it})\n")).collect();
    let project = Project::of(&[("app.py", &text)]);
    let mut client = Client::connect(&project.server()).await;
    let hit = |id: &str, start: u32, end: u32| json!({"id": id, "relevance": 0.5, "filePath": "app.py", "startLine": start, "endLine": end});
    let chunks = json!([
        hit("a", 3, 6),
        hit("g", 4, 5),
        hit("long", 50, 150),
        hit("in", 60, 70),
    ]);
    let arguments = json!({"chunks": chunks, "max_tokens": 8_000});
    let reply = client.call("context_assemble", arguments).await;
    let text = reply.text();
    for number in [3, 4, 5, 6, 50, 60, 70, 150] {
        let line = format!("call({number})");
        assert_eq!(text.matches(&line).count(), 1, "{line}: {text}");
    }
    let facts = ["included", "merged", "omitted"].map(|it| reply.fact(it).as_u64());
    assert_eq!(facts, [Some(2), Some(2), Some(0)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_symbol_that_several_have_is_read_with_a_note_of_the_others() {
    let project = Project::new();
    let text = "class Mixin:\n    def send(self): ...\n\nclass Session:\n    def send(self):\n        return 1\n";
    project.write("src/sessions.py", text);
    let mut client = Client::connect(&project.server()).await;
    let arguments = json!({"path": "src/sessions.py", "symbol": "send"});
    let reply = client.call("context_read", arguments).await;
    let text = reply.text();
    assert!(text.contains("return 1"), "{text}");
    assert!(
        text.contains("Other definitions of this name (1): Mixin.send (2-2)."),
        "{text}"
    );
}

#[tokio::test]
async fn files_are_read_by_lines_symbol_and_rendition() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    for (arguments, has, has_not) in [
        (json!({"lines": "1-1"}), "A parser of sums", "Parser {"),
        (
            json!({"lines": "4-900"}),
            "pub struct ParseError",
            "A parser of sums",
        ),
        (json!({"lines": "L1"}), "A parser of sums", "Parser {"),
        (
            json!({"lines": "L4 – L900"}),
            "pub struct ParseError",
            "A parser of sums",
        ),
        (json!({"symbol": "parse_sum"}), "Ok(total)", "It is no sum"),
        (
            json!({"rendition": "skeleton"}),
            "pub fn parse_sum",
            "total += part",
        ),
        (json!({}), "total += part", "\u{0}"),
    ] {
        let mut arguments = arguments;
        arguments["path"] = "src/parser.rs".into();
        let reply = client.call("context_read", arguments.clone()).await;
        assert!(reply.text().contains(has), "{arguments}: {}", reply.text());
        assert!(
            !reply.text().contains(has_not),
            "{arguments}: {}",
            reply.text()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_argument_that_is_null_is_as_one_that_is_not_there() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let answer = client.ask("tools/list", json!({})).await;
    let hit = |content: Value| {
        json!({"chunks": [{"id": "a", "relevance": 1, "filePath": "src/parser.rs",
            "startLine": 10, "endLine": 12, "content": content}]})
    };
    for (tool, required) in [
        ("context_query", json!({"query": "where is parse_sum?"})),
        ("context_assemble", hit("".into())),
        ("context_read", json!({"path": "src/parser.rs"})),
        ("context_outline", json!({})),
    ] {
        let tools = answer["result"]["tools"].as_array().unwrap();
        let schema = tools.iter().find(|it| it["name"] == tool).unwrap();
        let properties = schema["inputSchema"]["properties"].as_object().unwrap();
        let mut all = required.clone();
        for name in properties.keys() {
            let all = all.as_object_mut().unwrap();
            all.entry(name.as_str()).or_insert(Value::Null);
        }
        let without = client.call(tool, required).await;
        assert!(!without.is_error(), "{tool}: {}", without.text());
        assert_eq!(
            client.call(tool, all).await.result,
            without.result,
            "{tool}"
        );
    }
    let reply = client.call("context_assemble", hit(Value::Null)).await;
    assert!(
        reply.text().contains("pub fn parse_sum"),
        "{}",
        reply.text()
    );
}

/// A carriage return ends a line before a line feed, and is a character anywhere else.
#[tokio::test]
async fn the_lines_of_an_answer_are_those_that_are_read_by_their_numbers() {
    let text =
        "fn first() {\n    open();\r    close();\n}\n\r\nfn tariff() {\r\n    due();\r\r\n}\n";
    let project = Project::of(&[("a.rs", text)]);
    let mut client = Client::connect(&project.server()).await;
    let arguments = json!({"query": "tariff"});
    let reply = client.call("context_query", arguments).await;
    assert!(reply.text().contains("Lines 5-7\n"), "{}", reply.text());
    for mut arguments in [json!({"lines": "5-7"}), json!({"symbol": "tariff"})] {
        arguments["path"] = "a.rs".into();
        let reply = client.call("context_read", arguments).await;
        let lines = ["startLine", "endLine", "lines"].map(|it| reply.fact(it).as_u64());
        assert_eq!(lines, [Some(5), Some(7), Some(7)]);
        let shown = reply.text();
        let its = "\nfn tariff() {\n    due();\\u{d}\n}";
        assert!(shown.ends_with(its), "{shown:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_outlined_by_its_files() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let all = client.call("context_outline", json!({})).await.text();
    assert!(
        all.contains("README.md (markdown)") && all.contains("struct Parser:4-6"),
        "{all}"
    );
    let folder = client
        .call("context_outline", json!({"path": "src/"}))
        .await
        .text();
    assert!(
        folder.contains("function print_total:4-6") && !folder.contains("README"),
        "{folder}"
    );
    let file = client
        .call("context_outline", json!({"path": "src/parser.rs"}))
        .await
        .text();
    assert!(file.contains("  method parse_sum:10-16"), "{file}");
}

#[expect(clippy::too_many_lines, reason = "a table")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_makes_no_sense_says_what_to_try() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    for (tool, arguments, expected) in [
        ("context_query", json!({}), "query: a question"),
        (
            "context_query",
            json!({"query": "a", "max_tokens": 1}),
            "max_tokens of 256 or more",
        ),
        (
            "context_query",
            json!({"query": "a", "max_tokens": -1}),
            "max_tokens: invalid value: integer `-1`, expected a whole number from 0",
        ),
        (
            "context_query",
            json!({"query": "a", "strategies": ["grep"]}),
            "some of text, coverage, files",
        ),
        (
            "context_query",
            json!({"query": "a", "min_score": 7}),
            "from 0 to 1",
        ),
        (
            "context_query",
            json!({"query": "a", "strategies": ["relations"]}),
            "one more of text, coverage",
        ),
        (
            "context_query",
            json!({"query": "a", "include_types": ["method", "Function"]}),
            "some of function, method",
        ),
        (
            "context_query",
            json!({"query": "a", "limit": 0}),
            "limit from 1 to 500",
        ),
        (
            "context_query",
            json!({"query": "a", "limit": 501}),
            "limit from 1 to 500",
        ),
        (
            "context_query",
            json!({"query": "a", "limit": 1.5}),
            "limit: ",
        ),
        (
            "context_query",
            json!({"query": "a", "cursor": "x"}),
            "without cursor",
        ),
        (
            "context_query",
            json!({"query": "a", "session": ""}),
            "a name of at most",
        ),
        (
            "context_query",
            json!({"query": ["a"]}),
            "expected a string",
        ),
        (
            "context_query",
            json!({"question": "a"}),
            "unknown field `question`",
        ),
        ("context_assemble", json!({}), "\"filePath\": \"src/a.rs\""),
        (
            "context_assemble",
            json!({"chunks": [{"id": "a"}]}),
            "chunks[0]",
        ),
        (
            "context_assemble",
            json!({"chunks": [["a", null, "chunk", null, null, null, null, null, null, "x", null, null, 0.5]]}),
            "chunks[0]: invalid type: array, expected a chunk, an object",
        ),
        (
            "context_assemble",
            json!({"chunks": [{"id": "a", "relevance": 1, "content": "", "relations": [["calls", "x"]]}]}),
            "chunks[0]: relations[0]: invalid type: array, expected an object",
        ),
        (
            "context_assemble",
            json!({"chunks": [{"id": "a", "relevance": 2, "content": ""}]}),
            "relevance 2",
        ),
        (
            "context_assemble",
            json!({"chunks": [{"id": "a", "relevance": "1", "content": ""}]}),
            "chunks[0]: relevance: invalid type: string \"1\", expected a number",
        ),
        (
            "context_read",
            json!({"path": "none.rs"}),
            "context_outline",
        ),
        (
            "context_read",
            json!({"path": "src"}),
            "context_outline for a folder",
        ),
        (
            "context_read",
            json!({"path": "README.md", "lines": "9-1"}),
            "not a range of lines",
        ),
        (
            "context_read",
            json!({"path": "README.md", "lines": "99"}),
            "lines up to 7",
        ),
        (
            "context_read",
            json!({"path": "README.md", "symbol": "gone"}),
            "defines no such symbol",
        ),
        (
            "context_read",
            json!({"path": "README.md", "cursor": "a@b"}),
            "not a cursor of this tool",
        ),
        ("context_outline", json!({"path": "none"}), "without path"),
    ] {
        let reply = client.call(tool, arguments.clone()).await;
        assert!(reply.is_error(), "{tool} {arguments}");
        assert!(
            reply.text().starts_with("failed to ") && reply.text().contains("\ntry: "),
            "{}",
            reply.text()
        );
        assert!(
            reply.text().contains(expected),
            "{tool} {arguments}: {}",
            reply.text()
        );
        assert!(reply.tokens() <= 256, "{tool} {arguments}");
    }
    let answer = client
        .ask(
            "tools/call",
            json!({"name": "context_write", "arguments": {}}),
        )
        .await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("try: context_query"), "{message}");
}

#[tokio::test]
async fn a_method_that_is_not_there_is_told_with_those_that_are() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let unknown = "a/\u{7}method".repeat(40);
    for (method, params, code, said) in [
        (
            "tools/cal",
            json!({}),
            -32601,
            "unknown method \"tools/cal\"",
        ),
        (
            &unknown,
            json!({}),
            -32601,
            "unknown method \"a/\\u{7}method",
        ),
        (
            "logging/setLevel",
            json!({"level": "debug"}),
            -32601,
            "unknown method \"logging/setLevel\"",
        ),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "answer"},
                "argument": {"name": "question", "value": "w"},
            }),
            -32601,
            "unknown method \"completion/complete\"",
        ),
        (
            "resources/subscribe",
            json!({"uri": "ctx://file/README.md"}),
            -32601,
            "unknown method \"resources/subscribe\"",
        ),
        (
            "resources/unsubscribe",
            json!({"uri": "ctx://file/README.md"}),
            -32601,
            "unknown method \"resources/unsubscribe\"",
        ),
        (
            "tools/call",
            json!({"arguments": {}}),
            -32602,
            "tools/call: its parameters are invalid",
        ),
        (
            "resources/read",
            json!({"uri": 7}),
            -32602,
            "resources/read: its parameters are invalid",
        ),
    ] {
        let error = client.ask(method, params).await["error"].take();
        assert_eq!(error["code"], code, "{error}");
        let told = error["message"].as_str().unwrap();
        assert!(told.contains(said) && told.contains("\ntry: "), "{told}");
        assert!(tokens(told) <= 256, "{told}");
        assert_eq!(told.contains("tools/call, "), code == -32601, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_outlines_are_resources() {
    let project = Project::new();
    project.write("a b/ü#.rs", "fn odd() {}\n");
    let mut client = Client::connect(&project.server()).await;
    let answer = client.ask("resources/list", json!({})).await;
    let uris: Vec<&str> = answer["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["uri"].as_str().unwrap())
        .collect();
    assert_eq!(uris.len(), 4, "{uris:?}");
    for uri in uris {
        let answer = client.ask("resources/read", json!({"uri": uri})).await;
        assert!(
            answer["result"]["contents"][0]["text"].is_string(),
            "{uri}: {answer}"
        );
    }
    let file = client
        .ask("resources/read", json!({"uri": "ctx://file/src/parser.rs"}))
        .await;
    assert_eq!(
        file["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .trim_end(),
        crate::PARSER.trim_end()
    );
    let outline = client
        .ask(
            "resources/read",
            json!({"uri": "ctx://outline/src/parser.rs"}),
        )
        .await;
    assert!(
        outline["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("parse_sum")
    );
    project.write(".env", "KEY=1\n");
    project.write("debugger.png", &"\u{0}\u{1}".repeat(40));
    for (uri, code) in [
        ("ctx://file/../x", -32602),
        ("ctx://file/%2e%2e/x", -32602),
        ("ctx://outline/../x", -32602),
        ("ctx://file/%FF", -32602),
        ("ctx://file/src", -32602),
        ("file:///etc/passwd", -32002),
        ("ctx://file/gone", -32002),
        ("ctx://outline/gone", -32002),
        ("ctx://file/.env", -32602),
        ("ctx://file/debugger.png", -32602),
    ] {
        let answer = client.ask("resources/read", json!({"uri": uri})).await;
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(told.contains("try: "), "{uri} {told}");
        assert_eq!(answer["error"]["code"], code, "{uri} {told}");
    }
    let answer = client.ask("resources/templates/list", json!({})).await;
    assert_eq!(
        answer["result"]["resourceTemplates"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resource_is_all_of_it_or_none() {
    let long = "let a = 1; ".repeat(20_000);
    let lines = "let a = 1;\n".repeat(20_000);
    let project = Project::of(&[("long.js", &long), ("lines.js", &lines), ("empty.js", "")]);
    let mut client = Client::connect(&project.server()).await;
    for path in ["long.js", "lines.js"] {
        let uri = format!("ctx://file/{path}");
        let answer = client.ask("resources/read", json!({"uri": uri})).await;
        let told = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(told.contains("more than 25000 tokens"), "{path}: {told}");
        assert_eq!(answer["error"]["code"], -32602, "{path}");
    }
    let uri = json!({"uri": "ctx://file/empty.js"});
    let answer = client.ask("resources/read", uri).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "", "{answer}");
    let reply = client
        .call("context_read", json!({"path": "long.js"}))
        .await;
    assert_eq!(reply.fact("cut"), true);
    assert!(reply.cursor().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listed_resources_read_as_their_files() {
    let long = "let a = 1; ".repeat(20_000);
    let files = [
        ("a.txt", "one\r\ntwo\r\n\r\n\r\n"),
        ("b.txt", "x=1\n\n\n"),
        ("c/empty.txt", ""),
        ("c/short.txt", "no line end"),
        ("long.js", &long),
        ("picture.png", "\u{0}\u{1}\u{2}\u{3}\u{0}"),
    ];
    let project = Project::of(&files);
    let mut client = Client::connect(&project.server()).await;
    let answer = client.ask("resources/list", json!({})).await;
    let listed = answer["result"]["resources"].as_array().unwrap();
    let paths: Vec<&str> = listed
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["a.txt", "b.txt", "c/empty.txt", "c/short.txt"]);
    for (resource, (path, text)) in listed.iter().zip(files) {
        assert_eq!(resource["size"].as_u64(), Some(text.len() as u64), "{path}");
        let uri = json!({"uri": resource["uri"]});
        let answer = client.ask("resources/read", uri).await;
        assert_eq!(answer["result"]["contents"][0]["text"], text, "{path}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_name_of_a_resource_drives_no_terminal_and_leads_to_its_file() {
    let names = [
        "a\u{1b}[31mred.py",
        "bidi\u{202e}gnp.py",
        "c1\u{9b}31m.py",
        "nl\nname.py",
    ];
    let files = names.map(|it| (it, "a = 1\n"));
    let project = Project::of(&files);
    let mut client = Client::connect(&project.server()).await;
    let answer = client.ask("resources/list", json!({})).await;
    let listed = answer["result"]["resources"].as_array().unwrap();
    assert_eq!(listed.len(), names.len());
    for resource in listed {
        let name = resource["name"].as_str().unwrap();
        let is_plain = name.chars().all(|it| it.is_ascii_graphic());
        assert!(is_plain, "{name:?}");
        let uri = json!({"uri": resource["uri"]});
        let answer = client.ask("resources/read", uri).await;
        assert_eq!(answer["result"]["contents"][0]["text"], "a = 1\n", "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_come_in_pages() {
    let files: Vec<String> = (0..250).map(|it| format!("many/{it:03}.txt")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|it| (&**it, "a\n")).collect();
    let project = Project::of(&files);
    let mut client = Client::connect(&project.server()).await;
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let params = cursor
            .as_ref()
            .map_or(json!({}), |it| json!({"cursor": it}));
        let answer = client.ask("resources/list", params).await;
        let page = answer["result"]["resources"].as_array().unwrap().clone();
        seen.extend(
            page.iter()
                .map(|it| it["name"].as_str().unwrap().to_owned()),
        );
        match answer["result"]["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    let expected: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(seen, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_prompt_carries_the_question() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let answer = client.ask("prompts/list", json!({})).await;
    assert_eq!(answer["result"]["prompts"][0]["name"], "answer");
    let params = json!({"name": "answer", "arguments": {"question": "why?"}});
    let answer = client.ask("prompts/get", params).await;
    let text = answer["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(
        text.ends_with("Question: why?") && text.contains("context_query"),
        "{text}"
    );
    for params in [json!({"name": "answer"}), json!({"name": "other"})] {
        let answer = client.ask("prompts/get", params).await;
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("try: ")
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_is_told_while_indexing_and_not_after() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let params = json!({
        "name": "context_query", "arguments": {"query": "sum"}, "_meta": {"progressToken": "p"},
    });
    let id = client.begin("tools/call", params).await;
    client.wait(id).await;
    let told: Vec<f64> = client
        .heard
        .iter()
        .filter(|it| it["params"]["progressToken"] == "p")
        .map(|it| it["params"]["progress"].as_f64().unwrap())
        .collect();
    assert!(told.len() >= 2, "{told:?}");
    assert!(told.is_sorted_by(|a, b| a < b), "{told:?}");
    assert_eq!(client.heard[0]["params"]["total"], 3.0);
    // Whatever came later would be heard before this answer.
    client.ask("ping", json!({})).await;
    assert_eq!(client.heard, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_call_is_not_answered_and_the_next_one_is() {
    let files: Vec<(String, String)> = (0..400)
        .map(|it| (format!("src/{it}.rs"), crate::PARSER.repeat(4)))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let project = Project::of(&files);
    let mut client = Client::connect(&project.server()).await;
    let params = json!({
        "name": "context_query", "arguments": {"query": "sum"}, "_meta": {"progressToken": 1},
    });
    let cancelled = client.begin("tools/call", params).await;
    client
        .notify("notifications/cancelled", json!({"requestId": cancelled}))
        .await;
    // An answer to the cancelled call would be one that nobody waits for.
    let reply = client
        .call("context_query", json!({"query": "parse_sum"}))
        .await;
    assert!(!reply.is_error(), "{}", reply.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_calls_at_once_are_refused_and_the_next_one_is_answered() {
    let project = Project::new();
    let one = NonZeroUsize::MIN;
    let server = Server::new(project.options().with_calls(one)).unwrap();
    let mut client = Client::connect(&server).await;
    let call =
        json!({"name": "context_query", "arguments": {"query": "parse_sum", "max_tokens": 1000}});
    // The first has an index to make: the others come meanwhile.
    for _ in 0..100 {
        client.begin("tools/call", call.clone()).await;
    }
    let answers = client.answers(100).await;
    let (refused, answered): (Vec<_>, Vec<_>) = answers.iter().partition(|it| it.is_error());
    assert!(!answered.is_empty());
    for answer in &answered {
        assert!(answer.text().contains("fn parse_sum"), "{}", answer.text());
    }
    assert!(!refused.is_empty());
    for answer in &refused {
        assert!(
            answer.text().contains("too many calls are waiting"),
            "{}",
            answer.text()
        );
        assert!(
            answer.text().contains("try: the same call again"),
            "{}",
            answer.text()
        );
    }
    let reply = client
        .call("context_query", json!({"query": "parse_sum"}))
        .await;
    assert!(!reply.is_error(), "{}", reply.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_all_clients_are_counted_and_those_that_were_cancelled_no_more() {
    let project = Project::new();
    let one = NonZeroUsize::MIN;
    let server = Server::new(project.options().with_calls(one)).unwrap();
    // It does not answer which roots it has, as long as nobody reads what it is asked.
    let mut silent = Client::with_roots(&server, &["file:///nowhere"]).await;
    let mut other = Client::connect(&server).await;
    let read = json!({"path": "README.md"});
    let call = json!({"name": "context_read", "arguments": read});
    let mut begun = Vec::new();
    for _ in 0..6 {
        begun.push(silent.begin("tools/call", call.clone()).await);
    }
    // Five have their places when one is refused.
    let sixth = silent.answers(1).await.remove(0).text();
    assert!(sixth.contains("too many calls are waiting"), "{sixth}");
    let refused = other.call("context_read", read.clone()).await.text();
    assert!(refused.contains("too many calls are waiting"), "{refused}");
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "ctx://README.md"})),
    ] {
        let answer = other.ask(method, params).await;
        assert!(
            answer["error"]["message"]
                .as_str()
                .is_some_and(|it| it.contains("too many calls are waiting")),
            "{answer}"
        );
    }
    for id in begun {
        let cancelled = json!({"requestId": id});
        silent.notify("notifications/cancelled", cancelled).await;
    }
    let freed = async { while other.call("context_read", read.clone()).await.is_error() {} };
    let freed = tokio::time::timeout(Duration::from_secs(5), freed).await;
    freed.expect("those that were cancelled have no place");
    // None of them was answered, which would be another reason to have a place again.
    silent.ask("ping", json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nesting_without_end_is_refused_and_the_next_request_is_answered() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    for deep in ctx_testkit::hostile::nested_json() {
        let call = r#"{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"context_assemble","arguments":"#;
        for line in [&deep, &format!("{call}{deep}}}}}")] {
            client.send_text(line).await;
            let id = client.begin("ping", json!({})).await;
            assert!(
                client.is_answered(id).await,
                "{}",
                &line[..line.len().min(120)]
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_roots_has_no_turn_and_takes_its_question_back() {
    let project = Project::new();
    let server = Server::new(project.options().with_calls(NonZeroUsize::MIN)).unwrap();
    let mut silent = Client::with_roots(&server, &[]).await;
    let mut other = Client::connect(&server).await;
    let read = json!({"path": "README.md"});
    let call = json!({"name": "context_read", "arguments": read});
    let begun = silent.begin("tools/call", call).await;
    let asked = silent.hear("roots/list").await;
    // Less than the server waits for the roots.
    let soon = Duration::from_secs(5);
    let reply = tokio::time::timeout(soon, other.call("context_read", read)).await;
    assert!(!reply.expect("there is a turn").is_error());
    let gone = json!({"requestId": begun});
    silent.notify("notifications/cancelled", gone).await;
    let back = tokio::time::timeout(soon, silent.hear("notifications/cancelled")).await;
    let back = back.expect("it is taken back");
    assert_eq!(back["params"]["requestId"], asked["id"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roots_that_come_with_a_request_are_parameters_of_it() {
    let project = Project::new();
    let mut client = Client::with_roots(&project.server(), &[]).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    });
    let read = |responses: Value| json!({"uri": "ctx:///README.md", "_meta": meta, "inputResponses": responses});
    let asked = client.ask("resources/read", read(json!({}))).await;
    let question = &asked["result"]["inputRequests"]["roots"];
    assert_eq!(question["method"], "roots/list", "{asked}");
    let malformed = [
        json!({"roots": {}}),
        json!({"roots": {"roots": "/"}}),
        json!({"roots": {"roots": [{"uri": "https://a.example/"}]}}),
    ];
    for roots in malformed {
        let answer = client.ask("resources/read", read(roots.clone())).await;
        assert_eq!(answer["error"]["code"], -32602, "{roots} {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_question_about_a_file_that_is_not_there_is_told_so() {
    let project = Project::new();
    let other = Project::of(&[("lib/other.rs", "fn other_thing() {}\n")]);
    let told = "no file called gone.rs is searched.";
    let mut client = Client::connect(&project.server()).await;
    for (question, is_told) in [
        ("src/gone.rs", true),
        ("what does gone.rs:7 do with parse_sum?", true),
        ("parser.rs:4", false),
        ("/home/me/project/src/Parser.rs:4", false),
        ("lib/other.rs:1", true),
        ("The total of Node.js is wrong", false),
        ("The total is wrong\n\nsee gone.rs:7", false),
    ] {
        let reply = client
            .call("context_query", json!({"query": question}))
            .await;
        let said = reply.text().replace("other.rs is", "gone.rs is");
        assert_eq!(said.contains(told), is_told, "{question}: {said}");
    }
    let question = json!({"query": "what of src/gone.rs, parser.rs:4 and lost.rs:3?"});
    let reply = client.call("context_query", question).await;
    let both = "no files called gone.rs, lost.rs are searched.";
    assert!(reply.text().contains(both), "{}", reply.text());
    // Of several roots, one that has it will do.
    let roots = [&project, &other].map(|it| format!("file://{}", it.root().display()));
    let roots: Vec<&str> = roots.iter().map(|it| &**it).collect();
    let mut client = Client::with_roots(&project.server(), &roots).await;
    for (question, is_told) in [("lib/other.rs:1", false), ("lib/gone.rs:1", true)] {
        let reply = client
            .call("context_query", json!({"query": question}))
            .await;
        assert_eq!(reply.text().contains(told), is_told, "{question}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_that_cannot_be_read_is_told() {
    let told = "The strategy changes was left out";
    let damaged = Project::of(&[
        ("a.rs", "fn parse_sum() {}\n"),
        (".git", "gitdir: nowhere\n"),
    ]);
    let mut client = Client::connect(&damaged.server()).await;
    let query = json!({"query": "parse_sum"});
    let reply = client.call("context_query", query.clone()).await.text();
    assert!(
        reply.contains("fn parse_sum") && reply.contains(told),
        "{reply}"
    );
    // Also where it is found, and its last commit is not.
    let project = Project::of(&[]);
    let mut repository = Repository::init(&project.root());
    repository.commit("Begin", &[("a.rs", Some("fn parse_sum() {}\n"))]);
    let mut client = Client::connect(&project.server()).await;
    let reply = client.call("context_query", query.clone()).await.text();
    assert!(
        reply.contains("fn parse_sum") && !reply.contains(told),
        "{reply}"
    );
    repository.set_head("0123456789012345678901234567890123456789");
    let mut client = Client::connect(&project.server()).await;
    let reply = client.call("context_query", query).await.text();
    assert!(
        reply.contains("fn parse_sum") && reply.contains(told),
        "{reply}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn imports_and_relations_are_shown_on_request() {
    let run = "import os\nfrom help import helper\n\n\ndef run():\n    return helper(os.name)\n";
    let project = Project::of(&[
        ("run.py", run),
        ("help.py", "def helper(name):\n    return name\n"),
    ]);
    let mut client = Client::connect(&project.server()).await;
    let query = json!({"query": "run helper"});
    let hits = json!([
        {"id": "a", "relevance": 1, "filePath": "run.py", "startLine": 5, "endLine": 6},
        {"id": "b", "relevance": 1, "filePath": "help.py", "startLine": 1, "endLine": 2},
    ]);
    for (tool, mut call) in [
        ("context_query", query),
        ("context_assemble", json!({"chunks": hits})),
    ] {
        for (imports, relations) in [(None, None), (Some(true), None), (None, Some(true))] {
            call["imports"] = imports.into();
            call["relations"] = relations.into();
            let text = client.call(tool, call.clone()).await.text();
            let shown = (
                text.contains("Imports: os; help"),
                text.contains("calls helper"),
            );
            let asked = (imports.is_some(), relations.is_some());
            assert_eq!(shown, asked, "{tool}: {text}");
        }
    }
}
