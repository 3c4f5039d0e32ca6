//! Requests that are answered before their bodies are read, on connections that go on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::client::{ADA, Answer, Running};

/// The head of the next answer, whose body is read off.
fn next(stream: &mut TcpStream) -> String {
    read(stream).unwrap()
}

/// The same, where the connection may have ended.
fn read(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|it| it.strip_prefix("content-length: "));
    let length: u64 = length.map_or(0, |it| it.parse().unwrap());
    std::io::copy(&mut stream.take(length), &mut std::io::sink())?;
    Ok(head)
}

/// Sends `head` and then `body` twice on one connection. Both answers have `status`, and neither
/// ends the connection. The server waits a quarter of a second for a body, which the sender on a
/// busy machine may miss, so it is tried three times at most.
#[track_caller]
fn is_kept(server: &Running, head: &str, body: &[u8], status: u16) {
    let twice = || {
        let mut stream = server.connect();
        let mut ask = || -> std::io::Result<String> {
            stream.write_all(head.as_bytes())?;
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(body)?;
            read(&mut stream)
        };
        (0..2).all(|_| {
            ask().is_ok_and(|answered| {
                let expected = format!("http/1.1 {status}");
                assert!(answered.starts_with(&expected), "{answered}");
                !is_last(&answered)
            })
        })
    };
    assert!((0..3).any(|_| twice()), "{head}");
}

fn is_last(head: &str) -> bool {
    head.contains("\r\nconnection: close\r\n")
}

/// The head of a request on a connection that is to go on.
fn head(server: &Running, line: &str, headers: &[(&str, &str)]) -> String {
    let request = server.request(line, headers, b"");
    let request = String::from_utf8(request).unwrap();
    request.replace("Connection: close\r\n", "")
}

/// As most clients send them: the head, and then the body.
#[test]
fn a_little_body_that_nobody_wants_leaves_the_connection_as_it_is() {
    let server = Running::embedded();
    let bearer = format!("Bearer {ADA}");
    let token = ("Authorization", bearer.as_str());
    let json = ("Content-Type", "application/json");
    let length = ("Content-Length", "2");
    for (line, headers, status) in [
        ("POST /v1/threads", &[json, length][..], 401),
        ("POST /v1/threads", &[token, length], 415),
        ("POST /v1/nothing", &[token, json, length], 404),
        ("POST /v1/threads/t/pinned", &[token, json, length], 405),
        (
            "POST /v1/threads",
            &[token, ("Host", "evil.example"), length],
            421,
        ),
        (
            "POST /v1/threads",
            &[token, ("Origin", "http://evil.example"), length],
            403,
        ),
        ("GET /healthz", &[length], 200),
    ] {
        is_kept(&server, &head(&server, line, headers), b"{}", status);
    }
    // In pieces of which it is not said how many come.
    let pieces = [token, ("Transfer-Encoding", "chunked")];
    let head = head(&server, "POST /v1/nothing", &pieces);
    is_kept(&server, &head, b"2\r\n{}\r\n0\r\n\r\n", 404);
}

/// Some clients read nothing before they have sent everything.
#[test]
fn who_sends_all_of_a_large_body_before_it_reads_is_told_why_it_is_refused() {
    let server = Running::embedded();
    let bearer = format!("Bearer {ADA}");
    let json = ("Content-Type", "application/json");
    let body = vec![b' '; 10 << 20];
    for (line, token, status) in [
        ("POST /v1/context/build", bearer.as_str(), 413),
        ("POST /v1/files", "Bearer none", 401),
    ] {
        for _ in 0..3 {
            let mut stream = server.connect();
            let headers = [json, ("Authorization", token)];
            let request = server.request(line, &headers, &body);
            stream.write_all(&request).unwrap();
            Answer::read_all(stream)
                .refused(status, if status == 401 { "Authorization" } else { "" });
        }
    }
}

#[test]
fn who_sends_more_or_does_not_send_it_is_told_that_the_connection_ends() {
    let server = Running::embedded();
    let (much, none) = (("Content-Length", "65537"), ("Content-Length", "2"));
    for headers in [&[much][..], &[none], &[none, ("Expect", "100-continue")]] {
        let mut stream = server.connect();
        let head = head(&server, "POST /v1/threads", headers);
        stream.write_all(head.as_bytes()).unwrap();
        let answered = next(&mut stream);
        assert!(answered.starts_with("http/1.1 401"), "{answered}");
        assert!(is_last(&answered), "{headers:?} {answered}");
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "{headers:?}");
    }
    // Who has sent all of it keeps the connection, whatever becomes of the request.
    let bearer = format!("Bearer {ADA}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Content-Length", "65537"),
    ];
    let mut stream = server.connect();
    for _ in 0..2 {
        let head = head(&server, "POST /v1/threads", &headers);
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(" ".repeat(65_537).as_bytes()).unwrap();
        let answered = next(&mut stream);
        assert!(
            answered.starts_with("http/1.1 400") && !is_last(&answered),
            "{answered}"
        );
    }
}
