//! Which requests over HTTP are accepted.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::Duration;

use ctx_mcp::rmcp::ServerHandler;
use ctx_mcp::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ServerConfig,
};
use ctx_mcp::rmcp::service::{RequestContext, RoleServer};
use ctx_mcp::{ANY_HOST, Access, HostsError, Http, Token};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::Project;
use crate::client::Client;

struct Served {
    address: SocketAddr,
    token: String,
    stop: CancellationToken,
    ended: JoinHandle<io::Result<()>>,
    _project: Project,
}

async fn serve() -> Served {
    serve_as(|http| http).await
}

/// Serves so many connections at a time.
async fn serve_at_once(connections: NonZeroUsize) -> Served {
    serve_as(|http| http.with_connections(connections)).await
}

async fn serve_as(set_up: impl FnOnce(Http) -> Http) -> Served {
    let project = Project::new();
    let token = Token::generate().unwrap();
    let access = Access::new(token.clone())
        .with_hosts(vec!["ctx.example".to_owned()])
        .with_origins(vec!["https://app.example:443".to_owned()]);
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let http = Http::bind(project.server(), any_port, &access)
        .await
        .unwrap();
    let address = http.address().unwrap();
    let stop = CancellationToken::new();
    let ended = tokio::spawn(set_up(http).serve(stop.clone()));
    Served {
        address,
        token: token.reveal().to_owned(),
        stop,
        ended,
        _project: project,
    }
}

/// Says hello with these headers; the status.
async fn status(served: &Served, path: &str, headers: &[(&str, &str)]) -> u16 {
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"},
        },
    });
    status_of(served, path, headers, &hello.to_string()).await
}

/// Sends `body` with these headers; the status.
async fn status_of(served: &Served, path: &str, headers: &[(&str, &str)], body: &str) -> u16 {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.push_str(body);
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    std::str::from_utf8(&start[9..]).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_its_own_names_and_pages_are_let_in() {
    let served = serve().await;
    let port = served.address.port();
    let other = if port == 1 { 2 } else { port - 1 };
    let bearer = format!("Bearer {}", served.token);
    let hosts = [
        (format!("127.0.0.1:{port}"), true),
        (format!("localhost:{port}"), true),
        (format!("LocalHost:{port}"), true),
        (format!("[::1]:{port}"), true),
        ("ctx.example".to_owned(), true),
        (format!("ctx.example:{port}"), true),
        // Which port a name has is of no account: an attacker's name is another.
        (format!("127.0.0.1:{other}"), true),
        ("127.0.0.1".to_owned(), true),
        ("evil.example".to_owned(), false),
        (format!("evil.example:{port}"), false),
        (format!("localhost.evil.example:{port}"), false),
        (format!("127.0.0.1.evil.example:{port}"), false),
        (format!("a@localhost:{port}"), false),
        (format!("localhost:{port}:{port}"), false),
        (format!("0.0.0.0:{port}"), false),
        (format!("192.168.0.1:{port}"), false),
        (String::new(), false),
    ];
    let origins = [
        (None, true),
        (Some(format!("http://127.0.0.1:{port}")), true),
        (Some(format!("http://localhost:{port}")), true),
        (Some(format!("http://ctx.example:{port}")), true),
        (Some("http://ctx.example".to_owned()), false),
        (Some("https://app.example".to_owned()), true),
        (Some("http://app.example".to_owned()), false),
        (Some("https://app.example:444".to_owned()), false),
        (Some("https://evil.example".to_owned()), false),
        (Some(format!("http://evil.example:{port}")), false),
        (Some(format!("https://localhost:{port}")), false),
        (Some(format!("http://127.0.0.1:{other}")), false),
        (Some("null".to_owned()), false),
        (Some(String::new()), false),
        (Some("file://".to_owned()), false),
    ];
    for (host, is_ours) in &hosts {
        for (origin, may_call) in &origins {
            let mut headers = vec![("Host", &**host), ("Authorization", &*bearer)];
            headers.extend(origin.as_deref().map(|it| ("Origin", it)));
            let status = status(&served, "/mcp", &headers).await;
            let expected = match (is_ours, may_call) {
                (true, true) => 200,
                (true, false) => 403,
                (false, _) => 421,
            };
            assert_eq!(status, expected, "{host:?} {origin:?}");
            // Each is looked at before the next: the host, the page, the token.
            headers.retain(|it| it.0 != "Authorization");
            for path in ["/mcp", "/other"] {
                let status = self::status(&served, path, &headers).await;
                let expected = if expected == 200 { 401 } else { expected };
                assert_eq!(status, expected, "{host:?} {origin:?} {path}");
            }
        }
    }
    served.stop.cancel();
}

/// The answer to what a page of `origin` asks, with these headers besides.
async fn answered(served: &Served, line: &str, origin: &str, headers: &[(&str, &str)]) -> String {
    let mut request = format!(
        "{line} HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nConnection: close\r\nContent-Length: 0\r\n",
        served.address
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.to_ascii_lowercase()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_is_told_that_a_page_of_a_named_site_may_ask_with_the_token() {
    let served = serve().await;
    let named = "https://app.example";
    let wants = [
        ("Access-Control-Request-Method", "POST"),
        (
            "Access-Control-Request-Headers",
            "authorization,content-type,mcp-session-id",
        ),
    ];
    let allowed = "access-control-allow-origin: https://app.example\r\n";
    let told = answered(&served, "OPTIONS /mcp", named, &wants).await;
    assert!(told.starts_with("http/1.1 204 "), "{told}");
    for header in [
        allowed,
        "vary: origin\r\n",
        "access-control-allow-methods: get, post, delete\r\n",
        "access-control-allow-headers: authorization, content-type, last-event-id, mcp-protocol-version, mcp-method, \
         mcp-name, mcp-session-id\r\n",
    ] {
        assert!(told.contains(header), "{header} {told}");
    }
    assert!(!told.contains("credentials"), "{told}");
    // What is asked then may be read, also what is refused.
    let bearer = format!("Bearer {}", served.token);
    let takes = ("Accept", "text/event-stream");
    for (headers, status) in [
        (&[("Authorization", &*bearer), takes][..], "400"),
        (&[("Authorization", "Bearer x"), takes], "401"),
        (&[takes], "401"),
    ] {
        let told = answered(&served, "GET /mcp", named, headers).await;
        assert_eq!(told.get(9..12), Some(status), "{told}");
        let readable = "access-control-expose-headers: mcp-session-id\r\n";
        assert!(told.contains(allowed) && told.contains(readable), "{told}");
    }
    for (line, origin, wants, status) in [
        ("OPTIONS /mcp", "https://evil.example", &wants[..], "403"),
        ("OPTIONS /mcp", named, &[], "401"),
        (
            "OPTIONS /mcp",
            &*format!("http://{}", served.address),
            &wants,
            "401",
        ),
    ] {
        let told = answered(&served, line, origin, wants).await;
        assert_eq!(told.get(9..12), Some(status), "{told}");
        let is_told = told.contains("access-control-allow-origin");
        assert_eq!(is_told, origin == named, "{told}");
    }
    served.stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_token_is_let_in() {
    let served = serve().await;
    let host = served.address.to_string();
    let token = &served.token;
    for (shown, expected) in [
        (None, 401),
        (Some(String::new()), 401),
        (Some("Bearer".to_owned()), 401),
        (Some("Bearer ".to_owned()), 401),
        (Some("Bearer x".to_owned()), 401),
        (Some(format!("Bearer {}", &token[1..])), 401),
        (Some(format!("Bearer {token}0")), 401),
        (Some(format!("Bearer {}", token.to_uppercase())), 401),
        (Some(format!("Basic {token}")), 401),
        (Some(token.clone()), 401),
        (Some(format!("Bearer {token}")), 200),
        (Some(format!("bearer {token}")), 200),
    ] {
        let mut headers = vec![("Host", &*host)];
        headers.extend(shown.as_deref().map(|it| ("Authorization", it)));
        for (path, found) in [
            ("/mcp", expected),
            ("/other", if expected == 200 { 404 } else { 401 }),
        ] {
            assert_eq!(
                status(&served, path, &headers).await,
                found,
                "{shown:?} {path}"
            );
        }
    }
    // Whoever passed it on may have looked at another one than who answers it.
    let right = format!("Bearer {token}");
    for (first, second) in [
        (&*right, &*right),
        (&right, "Bearer x"),
        ("Bearer x", &right),
    ] {
        let both = [("Authorization", first), ("Authorization", second)];
        let origin = "https://app.example";
        let told = answered(&served, "POST /mcp", origin, &both).await;
        assert!(told.starts_with("http/1.1 401 "), "{told}");
        assert!(told.contains("www-authenticate: bearer\r\n"), "{told}");
        assert!(
            told.contains("there is more than one authorization: send"),
            "{told}"
        );
    }
    served.stop.cancel();
}

#[tokio::test]
async fn a_server_that_others_reach_has_names_that_requests_can_have() {
    let project = Project::new();
    let token = Token::generate().unwrap();
    let bound = async |address: &str, hosts: &[&str]| {
        let hosts = hosts.iter().map(|&it| it.to_owned()).collect();
        let access = Access::new(token.clone()).with_hosts(hosts);
        let bound = Http::bind(project.server(), address.parse().unwrap(), &access).await;
        bound.map(drop).map_err(|it| (it.kind(), it.to_string()))
    };
    for (address, hosts, said) in [
        ("0.0.0.0:0", &[][..], "no name of the server is given"),
        (
            "127.0.0.1:0",
            &["ctx.example:80"],
            "\"ctx.example:80\" is no name",
        ),
    ] {
        let (kind, told) = bound(address, hosts).await.unwrap_err();
        assert_eq!(kind, io::ErrorKind::InvalidInput);
        assert!(told.starts_with(said), "{told}");
    }
    assert_eq!(bound("0.0.0.0:0", &[ANY_HOST]).await, Ok(()));
    let access = Access::new(token).with_origins(vec!["app.example".to_owned()]);
    let bound = Http::bind(project.server(), "127.0.0.1:0".parse().unwrap(), &access);
    let refused = bound.await.map(drop).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    let site = HostsError::Site("app.example".to_owned());
    let source = refused.get_ref().unwrap().downcast_ref::<HostsError>();
    assert_eq!(source, Some(&site));
}

/// What is answered to `body` of the protocol before the newest: its status and what it says.
async fn said(served: &Served, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
    let mut request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        served.token,
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    let request = [request.as_bytes(), b"\r\n", body].concat();
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(&request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_no_message_is_answered_as_json_rpc_has_it() {
    let served = serve().await;
    let json = ("Content-Type", "application/json; charset=utf-8");
    let cases: [(&[u8], i32, Value); 13] = [
        (b"", -32700, Value::Null),
        (b"x", -32700, Value::Null),
        (
            b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": ",
            -32700,
            Value::Null,
        ),
        (b"{\"jsonrpc\": \"2.0\"} {}", -32700, Value::Null),
        (b"{\"method\": \"\xff\"}", -32700, Value::Null),
        (b"7", -32600, Value::Null),
        (b"null", -32600, Value::Null),
        (b"[]", -32600, Value::Null),
        (
            b"[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}]",
            -32600,
            Value::Null,
        ),
        (b"{}", -32600, Value::Null),
        (b"{\"id\": 7, \"method\": \"ping\"}", -32600, json!(7)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": \"a\"}", -32600, json!("a")),
        (
            b"{\"jsonrpc\": \"1.0\", \"id\": 7, \"method\": \"ping\"}",
            -32600,
            json!(7),
        ),
    ];
    for (body, code, id) in cases {
        let shown = String::from_utf8_lossy(body);
        let (status, said) = said(&served, &[json], body).await;
        assert_eq!(status, 400, "{shown}: {said}");
        let answer: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(answer["jsonrpc"], "2.0", "{shown}: {said}");
        assert_eq!(answer["error"]["code"], code, "{shown}: {said}");
        assert_eq!(answer["id"], id, "{shown}: {said}");
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(told.starts_with("failed to read the body as "), "{told}");
        assert!(told.contains("\ntry: one "), "{told}");
    }
    // By its own word it is no JSON.
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let (status, said) = said(&served, &[("Content-Type", kind)], b"x").await;
        assert_eq!(status, 415, "{kind}: {said}");
    }
    served.stop.cancel();
}

/// Asks over a connection of its own, which the answer may keep open, and tells the head of that.
async fn head(
    served: &Served,
    method: &str,
    session: Option<&str>,
    body: &Value,
) -> (TcpStream, String) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut request = format!(
        "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        served.token,
        body.len()
    );
    if let Some(session) = session {
        request.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
    }
    request.push_str(&format!("\r\n{body}"));
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    (stream, String::from_utf8(answer).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn for_a_session_too_many_the_one_used_longest_ago_ends() {
    let served = serve().await;
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"},
        },
    });
    let begin = async || {
        let (_, told) = head(&served, "POST", None, &hello).await;
        let named = told
            .lines()
            .find_map(|it| it.strip_prefix("mcp-session-id: "));
        named.unwrap_or_else(|| panic!("{told}")).to_owned()
    };
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let asked = async |session: &str| {
        let (_, told) = head(&served, "POST", Some(session), &ping).await;
        told[9..12].to_owned()
    };
    let mut sessions = Vec::new();
    for _ in 0..256 {
        sessions.push(begin().await);
    }
    assert_eq!(asked(&sessions[0]).await, "200");
    // Its client hears of what comes.
    let (_open, told) = head(&served, "GET", Some(&sessions[1]), &Value::Null).await;
    assert_eq!(&told[9..12], "200", "{told}");
    sessions.push(begin().await);
    sessions.push(begin().await);
    let ended = [2, 3];
    for (number, session) in sessions.iter().enumerate() {
        let expected = if ended.contains(&number) {
            "404"
        } else {
            "200"
        };
        assert_eq!(asked(session).await, expected, "{number}");
    }
    served.stop.cancel();
}

#[test]
fn tokens_differ_and_do_not_show() {
    let (a, b) = (Token::generate().unwrap(), Token::generate().unwrap());
    assert_ne!(a.reveal(), b.reveal());
    assert_eq!(a.reveal().len(), 64);
    assert!(!format!("{a:?} {:?}", Access::new(a.clone())).contains(a.reveal()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nesting_without_end_is_refused() {
    let served = serve().await;
    let host = format!("127.0.0.1:{}", served.address.port());
    let bearer = format!("Bearer {}", served.token);
    let headers = [("Host", &*host), ("Authorization", &*bearer)];
    for deep in ctx_testkit::hostile::nested_json() {
        let status = status_of(&served, "/mcp", &headers, &deep).await;
        assert!((400..500).contains(&status), "{status}: {}", &deep[..40]);
    }
    assert_eq!(status(&served, "/mcp", &headers).await, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let served = serve().await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{{",
        served.address, served.token
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A byte now and then is no body.
    let mut tick = tokio::time::interval(Duration::from_millis(500));
    let said = loop {
        tokio::select! {
            _ = tick.tick() => { let _ = stream.write_all(b" ").await; }
            read = stream.read_buf(&mut answer) => if !matches!(read, Ok(1..)) {
                break String::from_utf8_lossy(&answer).into_owned();
            },
        }
    };
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    assert!(said.contains("did not arrive within 10 s"), "{said}");
    served.stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_long_or_broken_is_told_so() {
    let served = serve().await;
    let large = "x".repeat((8 << 20) + 1);
    let host = served.address.to_string();
    let bearer = format!("Bearer {}", served.token);
    let headers = [("Host", &*host), ("Authorization", &*bearer)];
    assert_eq!(status_of(&served, "/mcp", &headers, &large).await, 413);
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let broken = format!("{head}5\r\n{{\"a\":\r\nno length\r\n");
    stream.write_all(broken.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await.unwrap();
    let said = String::from_utf8_lossy(&said);
    assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
    assert!(said.contains("the body ended early"), "{said}");
    assert_eq!(status(&served, "/mcp", &headers).await, 200);
    served.stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_head_of_a_request_is_bounded() {
    let served = serve().await;
    let host = served.address.to_string();
    let bearer = format!("Bearer {}", served.token);
    for (count, bytes, answered) in [
        (40, 9, 200),
        (65, 9, 431),
        (1, 30 << 10, 200),
        (1, 96 << 10, 431),
    ] {
        let value = "x".repeat(bytes);
        let names: Vec<String> = (0..count).map(|it| format!("X-{it}")).collect();
        let more = names.iter().map(|it| (it.as_str(), value.as_str()));
        let ours = [("Host", &*host), ("Authorization", &*bearer)];
        let headers: Vec<_> = ours.into_iter().chain(more).collect();
        let status = status(&served, "/mcp", &headers).await;
        assert_eq!(status, answered, "{count} of {bytes} bytes");
    }
    served.stop.cancel();
}

/// What is answered without the tools, over a connection that is kept.
fn asking(served: &Served, host: &str, token: &str) -> String {
    let port = served.address.port();
    format!("GET /other HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// The answer, if the connection ends with it.
async fn last_answer(served: &Served, asked: &str) -> Option<String> {
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // Before it is cut off for what it does not send.
    let ended = tokio::time::timeout(Duration::from_secs(5), stream.read_to_string(&mut answer));
    let is_ended = ended.await.is_ok();
    is_ended.then_some(answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_ends_with_a_refusal_and_when_it_is_old() {
    let served = serve().await;
    let token = &served.token;
    let preflight = format!(
        "OPTIONS /mcp HTTP/1.1\r\nHost: {}\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
        served.address
    );
    for (asked, status) in [
        (asking(&served, "localhost", "x"), "401"),
        (asking(&served, "nobody", token), "421"),
        (preflight, "204"),
    ] {
        let answer = last_answer(&served, &asked).await.expect(status);
        assert_eq!(answer.get(9..12), Some(status), "{answer}");
    }
    let for_ever = serve_as(|http| http.with_connection_time(Duration::MAX)).await;
    let asked = [&served, &for_ever].map(|it| asking(it, "localhost", &it.token));
    let answers = tokio::join!(
        last_answer(&served, &asked[0]),
        last_answer(&for_ever, &asked[1])
    );
    assert_eq!(answers, (None, None));
    served.stop.cancel();
    for_ever.stop.cancel();
    let served = serve_as(|http| http.with_connection_time(Duration::ZERO)).await;
    let asked = asking(&served, "localhost", &served.token);
    let answer = last_answer(&served, &asked).await.unwrap();
    assert_eq!(answer.get(9..12), Some("404"), "{answer}");
    served.stop.cancel();
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_address_has_all_connections() {
    let served = serve_at_once(NonZeroUsize::new(8).unwrap()).await;
    let mut held = Vec::new();
    for _ in 0..7 {
        held.push(TcpStream::connect(served.address).await.unwrap());
    }
    let asked = asking(&served, "localhost", &served.token);
    let mut more = TcpStream::connect(served.address).await.unwrap();
    let _ = more.write_all(asked.as_bytes()).await;
    assert!(!matches!(more.read(&mut [0]).await, Ok(1..)));
    let other = TcpSocket::new_v4().unwrap();
    other.bind(SocketAddr::from(([127, 0, 0, 2], 0))).unwrap();
    let mut other = other.connect(served.address).await.unwrap();
    other.write_all(asked.as_bytes()).await.unwrap();
    let soon = Duration::from_secs(5);
    let answered = tokio::time::timeout(soon, other.read_u8()).await;
    assert_eq!(answered.unwrap().unwrap(), b'H');
    drop(held);
    served.stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_no_answer_is_cut_off() {
    let served = serve().await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(served.address).await.unwrap();
    let asked = asking(&served, "localhost", &served.token).repeat(100);
    let ask = async { while stream.write_all(asked.as_bytes()).await.is_ok() {} };
    // A server that waits for its answers to be read would wait for ever.
    let cut_off = tokio::time::timeout(Duration::from_mins(2), ask).await;
    assert!(cut_off.is_ok());
    served.stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_place_left_ends_when_told_to() {
    let served = serve_at_once(NonZeroUsize::new(2).unwrap()).await;
    let mut answered = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let asked = asking(&served, "localhost", &served.token);
        stream.write_all(asked.as_bytes()).await.unwrap();
        stream.read_u8().await.unwrap();
        answered.push(stream);
    }
    let mut waiting = TcpStream::connect(served.address).await.unwrap();
    served.stop.cancel();
    // Before any of them is cut off for what it does not send.
    let ended = tokio::time::timeout(Duration::from_secs(5), served.ended).await;
    ended.unwrap().unwrap().unwrap();
    assert!(!matches!(waiting.read(&mut [0]).await, Ok(1..)));
}

/// What is answered to a call of the newest protocol by a client with these capabilities.
async fn called(
    address: SocketAddr,
    token: &Token,
    capabilities: &Value,
    mut params: Value,
) -> String {
    let name = params["name"].as_str().unwrap().to_owned();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (body, token) = (body.to_string(), token.reveal());
    let asked = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Answers for its own tool, and hands on the calls of others.
struct Beside<S>(S);

impl<S: ServerHandler> ServerHandler for Beside<S> {
    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "motto" {
            let motto = ContentBlock::text("Nothing is left out without a reason.");
            return Ok(CallToolResult::success(vec![motto]).into());
        }
        self.0.call_tool(request, context).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_ones_own_stands_beside_the_others() {
    let project = Project::new();
    let server = project.server();
    let token = Token::generate().unwrap();
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let connect = move || Beside(server.connection());
    let access = Access::new(token.clone());
    let http = Http::bind_with(connect, any_port, &access).await.unwrap();
    let address = http.address().unwrap();
    let stop = CancellationToken::new();
    let ended = tokio::spawn(http.serve(stop.clone()));
    let call = async |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        called(address, &token, &json!({}), params).await
    };
    let motto = call("motto", json!({})).await;
    assert!(motto.contains("left out without a reason"), "{motto}");
    let outline = call("context_outline", json!({"path": "."})).await;
    assert!(outline.contains("struct Parser"), "{outline}");
    let none = call("nothing", json!({})).await;
    assert!(none.contains("-32602"), "{none}");
    stop.cancel();
    ended.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roots_must_lie_in_the_servers_own_also_where_it_was_not_told_so() {
    let project = Project::of(&[
        ("own/sub/a.rs", "fn apple() {}\n"),
        ("theirs/a.rs", "fn pear() {}\n"),
    ]);
    let mut options = project.options();
    options.root.push("own");
    let server = ctx_mcp::Server::new(options).unwrap();
    let token = Token::generate().unwrap();
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let access = Access::new(token.clone());
    let beside = {
        let server = server.clone();
        move || Beside(server.connection())
    };
    let plain = Http::bind(server.clone(), any_port, &access).await;
    let wrapped = Http::bind_with(beside, any_port, &access).await;
    for http in [plain.unwrap(), wrapped.unwrap()] {
        let address = http.address().unwrap();
        let stop = CancellationToken::new();
        let ended = tokio::spawn(http.serve(stop.clone()));
        let read = async |root: &str| {
            let root = format!("file://{}/{root}", project.root().display());
            let params = json!({
                "name": "context_read", "arguments": {"path": "a.rs"},
                "inputResponses": {"roots": {"roots": [{"uri": root}]}},
            });
            called(address, &token, &json!({"roots": {}}), params).await
        };
        let inside = read("own/sub").await;
        assert!(inside.contains("fn apple()"), "{inside}");
        for root in ["theirs", "", "own/../theirs"] {
            let outside = read(root).await;
            assert!(!outside.contains("fn pear()"), "{outside}");
            assert!(outside.contains("readable folder"), "{outside}");
        }
        stop.cancel();
        ended.await.unwrap().unwrap();
    }
    // Whoever comes otherwise may point it anywhere.
    let root = format!("file://{}/theirs", project.root().display());
    let mut client = Client::with_roots(&server, &[&root]).await;
    let read = client.call("context_read", json!({"path": "a.rs"})).await;
    assert!(read.text().contains("fn pear()"), "{}", read.text());
}
