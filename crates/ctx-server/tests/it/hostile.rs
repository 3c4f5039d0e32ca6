//! Malicious and malformed requests.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use ctx_server::Limits;
use serde_json::json;

use crate::client::{ADA, Answer, Running};
use crate::overload::ROUTES;

fn strict() -> Limits {
    let mut limits = Limits::default();
    limits.body_bytes = 10_000;
    limits.files_body_bytes = 20_000;
    limits
}

#[test]
fn bodies_that_are_too_large_are_refused_however_they_come() {
    let server = Running::with_limits(strict());
    let large = json!({"message": "x".repeat(15_000)});
    server
        .post(ADA, "/v1/context/build", &large)
        .refused(413, "");
    let files = json!({"files": [{"path": "a", "content": "x".repeat(15_000)}]});
    server.post(ADA, "/v1/files", &files).data(200);
    let bearer = format!("Bearer {ADA}");
    let head = |more| {
        let kind = ("Content-Type", "application/json");
        [("Authorization", bearer.as_str()), kind, more]
    };
    // It says that it is large and sends nothing: what is told is the limit of what was asked.
    let announced = head(("Content-Length", "99999999999"));
    for (line, most) in [
        ("POST /v1/files", "20000"),
        ("DELETE /v1/files", "10000"),
        ("POST /v1/context/build", "10000"),
        ("POST /v1/threads", "10000"),
    ] {
        let answer = server.send(line, &announced, b"");
        answer.refused(413, "");
        assert!(
            answer.body.contains(&format!("at most {most} bytes")),
            "{line}: {answer:?}"
        );
    }
    // Where no body is read, none is too large.
    server.send("GET /v1/threads", &announced, b"").data(200);
    server
        .send("POST /v1/other", &announced, b"")
        .refused(404, "");
    // It does not say, and sends on.
    let chunked = head(("Transfer-Encoding", "chunked"));
    let mut request = server.request("POST /v1/context/build", &chunked, b"");
    for _ in 0..20 {
        request.extend(format!("400\r\n{}\r\n", "x".repeat(0x400)).as_bytes());
    }
    let mut stream = server.connect();
    let _ = stream.write_all(&request);
    Answer::read(stream).refused(413, "");
}

/// Within a body of 4 MiB a separator of 3 MB would be written 9,000 times.
#[test]
fn a_separator_takes_no_memory_for_each_chunk() {
    let server = Running::embedded();
    let described = server.send("GET /openapi.json", &[], b"").json();
    let options = &described["components"]["schemas"]["BuildOptions"]["properties"];
    assert_eq!(options["chunkSeparator"]["maxLength"], 1_024);
    let chunk = |id: u32| json!({"id": id.to_string(), "content": id.to_string(), "relevance": 1});
    let chunks: Vec<_> = (0..9_000).map(chunk).collect();
    let assemble = |separator: &str| {
        let options = json!({"chunkSeparator": separator, "tokenEstimation": "wordBased", "maxTokens": 1_000_000});
        let body = json!({"chunks": chunks, "options": options});
        server.post(ADA, "/v1/context/assemble", &body)
    };
    let build = |separator: &str| {
        let body = json!({"message": "x", "options": {"chunkSeparator": separator}});
        server.post(ADA, "/v1/context/build", &body)
    };
    for long in ["x".repeat(3_000_000), "é".repeat(1_025)] {
        for refused in [assemble(&long), build(&long)] {
            refused.refused(400, "options.chunkSeparator");
            let detail = "it may have at most 1024 characters";
            assert_eq!(refused.json()["detail"], detail);
        }
    }
    let longest = "é".repeat(1_024);
    build(&longest).data(200);
    let assembled = assemble(&longest).data(200);
    assert_eq!(assembled["included"].as_array().unwrap().len(), 9_000);
}

#[test]
fn bodies_of_other_types_are_refused() {
    let server = Running::embedded();
    let bearer = format!("Bearer {ADA}");
    let of = |headers: &[(&str, &str)]| {
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend(headers);
        server.send("POST /v1/context/build", &all, b"{\"message\":\"x\"}")
    };
    of(&[]).refused(415, "Content-Type");
    of(&[("Content-Type", "text/plain")]).refused(415, "Content-Type");
    of(&[
        ("Content-Type", "application/json"),
        ("Content-Encoding", "gzip"),
    ])
    .refused(415, "Content-Encoding");
    of(&[("Content-Type", "Application/JSON; charset=utf-8")]).data(200);
    of(&[
        ("Content-Type", "application/json"),
        ("Content-Encoding", "Identity"),
    ])
    .data(200);
}

#[test]
fn bodies_that_are_compressed_for_their_way_are_refused() {
    let server = Running::embedded();
    let bearer = format!("Bearer {ADA}");
    let body = b"f\r\n{\"message\":\"x\"}\r\n0\r\n\r\n";
    let of = |codings: &[&str]| {
        let mut headers = vec![
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
        ];
        headers.extend(codings.iter().map(|it| ("Transfer-Encoding", *it)));
        let mut request = server.request("POST /v1/context/build", &headers, b"");
        request.extend_from_slice(body);
        let mut stream = server.connect();
        let _ = stream.write_all(&request);
        Answer::read(stream)
    };
    of(&["chunked"]).data(200);
    of(&["Chunked"]).data(200);
    for codings in [
        &["gzip, chunked"][..],
        &["gzip", "chunked"],
        &["x, Chunked"],
    ] {
        of(codings).refused(415, "Transfer-Encoding");
    }
}

#[test]
fn bodies_that_are_no_json_are_refused() {
    let server = Running::embedded();
    let bearer = format!("Bearer {ADA}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let deep = "[".repeat(200_000);
    let bodies: [&[u8]; 7] = [
        b"{",
        b"nul",
        b"\xff\xfe",
        b"{\"message\":\"\xff\"}",
        b"{\"message\":\"x\",\"message\":\"y\"}",
        deep.as_bytes(),
        b"\0",
    ];
    for line in [
        "POST /v1/context/build",
        "POST /v1/context/assemble",
        "POST /v1/files",
        "POST /v1/threads",
    ] {
        for body in bodies {
            let answer = server.send(line, &headers, body);
            assert_eq!(
                answer.status,
                400,
                "{line} {:?}",
                &body[..body.len().min(40)]
            );
        }
    }
    assert_eq!(server.send("GET /healthz", &[], b"").status, 200);
}

#[test]
fn heads_and_bodies_that_do_not_come_are_not_waited_for() {
    let mut limits = Limits::default();
    limits.header_time = Duration::from_secs(2);
    limits.body_time = Duration::from_secs(2);
    let server = Running::with_limits(limits);
    let bearer = format!("Bearer {ADA}");
    let head = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Content-Length", "100"),
    ];
    let mut slow = server.connect();
    slow.write_all(&server.request("POST /v1/context/build", &head, b"{"))
        .unwrap();
    let mut halves: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = server.connect();
            stream
                .write_all(b"GET /healthz HTTP/1.1\r\nHost: loc")
                .unwrap();
            stream
        })
        .collect();
    // Others are served meanwhile.
    assert_eq!(server.send("GET /healthz", &[], b"").status, 200);
    Answer::read(slow).refused(408, "");
    for half in &mut halves {
        let mut rest = Vec::new();
        let _ = half.read_to_end(&mut rest);
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
    }
}

#[test]
fn heads_that_are_too_large_or_malformed_are_refused() {
    let server = Running::embedded();
    let long = "x".repeat(100_000);
    assert!(
        (400..500).contains(
            &server
                .send("GET /healthz", &[("X-Long", &long)], b"")
                .status
        )
    );
    let many: Vec<(String, String)> = (0..200)
        .map(|n| (format!("X-{n}"), "x".to_owned()))
        .collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|it| (it.0.as_str(), it.1.as_str()))
        .collect();
    assert!((400..500).contains(&server.send("GET /healthz", &many, b"").status));
    for raw in [
        "\r\n\r\n\0",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        let mut stream = server.connect();
        stream.write_all(raw.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let status = Answer::read(stream).status;
        assert!(
            status == 0 || (400..600).contains(&status),
            "{raw:?}: {status}"
        );
    }
    assert_eq!(server.send("GET /healthz", &[], b"").status, 200);
}

#[test]
fn a_question_that_means_to_be_a_query_is_a_question() {
    let server = Running::embedded();
    server
        .post(
            ADA,
            "/v1/files",
            &json!({"files": [{"path": "a.rs", "content": "fn a() {}\n"}]}),
        )
        .data(200);
    for message in [
        "' OR 1=1; --",
        "don't",
        "a & | ! ( <-> :*",
        "\"",
        "\\",
        "*:* AND path:/etc",
        "[1 TO 2]",
        "%00",
        "\u{202e}\u{0}",
    ] {
        server
            .post(ADA, "/v1/context/build", &json!({"message": message}))
            .data(200);
        // What is kept is text.
        let kept = message.replace('\0', "");
        let thread = json!({"title": kept, "pinned": [kept]});
        let thread = server.post(ADA, "/v1/threads", &thread).data(201);
        assert_eq!(thread["title"], kept);
    }
    let terms: Vec<String> = (0..5_000).map(|n| format!("t{n}")).collect();
    let terms = terms.join(" ");
    server
        .post(ADA, "/v1/context/build", &json!({"message": terms}))
        .data(200);
}

/// One owner's file of any name ends nothing and hides nothing.
#[test]
fn ignore_files_that_are_sent_are_files_like_others() {
    let server = Running::embedded();
    let bomb = ["{".repeat(100_000), "}".repeat(100_000)].concat();
    let files = json!({"files": [
        {"path": ".gitignore", "content": format!("{bomb}\n*\n")},
        {"path": ".ignore", "content": "*\n"},
        {"path": "sub/.gitignore", "content": "words_of_rules\n*\n"},
        {"path": "sub/a.rs", "content": "fn unhidden_function() {}\n"},
    ]});
    server.post(ADA, "/v1/files", &files).data(200);
    for (message, expected) in [
        ("unhidden_function", "sub/a.rs"),
        ("words_of_rules", "sub/.gitignore"),
    ] {
        let wanted = json!({"message": message});
        let data = server.post(ADA, "/v1/context/build", &wanted).data(200);
        assert!(
            data["context"].as_str().unwrap().contains(expected),
            "{data}"
        );
    }
}

#[test]
fn nesting_without_end_is_refused_by_every_route() {
    let server = Running::embedded();
    let bearer = format!("Bearer {ADA}");
    let head = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    for deep in ctx_testkit::hostile::nested_json() {
        for route in ROUTES {
            let answer = server.send(&format!("POST {route}"), &head, deep.as_bytes());
            assert!([400, 413].contains(&answer.status), "{route}: {answer:?}");
        }
    }
    assert_eq!(server.send("GET /healthz", &[], b"").status, 200);
}
