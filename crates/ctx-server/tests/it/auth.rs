//! Which tokens are accepted.

use std::error::Error as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use ctx_model::UnixSeconds;
use ctx_server::{
    ANY_HOST, Backend, Credentials, Embedded, Options, Owner, Quota, Refusal, Server, ServerError,
};
use serde_json::json;

use crate::client::{ADA, Answer, EXPIRED, OPERATOR, Running};

const CLOSED: [&str; 13] = [
    "POST /v1/context/build",
    "POST /v1/context/assemble",
    "POST /v1/context/feedback",
    "GET /v1/context/ctx-1",
    "POST /v1/context/ctx-1/resolve",
    "POST /v1/files",
    "POST /v1/threads",
    "GET /v1/threads",
    "PUT /v1/threads/a/pinned",
    "POST /v1/threads/a/messages",
    "GET /v1/threads/a/messages",
    "GET /metrics",
    "GET /no/such/route",
];

#[test]
fn every_route_but_the_open_ones_wants_a_token_that_is_known_and_has_not_expired() {
    let server = Running::embedded();
    let expired = format!("Bearer {EXPIRED}");
    let refused: [&[(&str, &str)]; 9] = [
        &[],
        &[("Authorization", "")],
        &[("Authorization", "Bearer")],
        &[("Authorization", "Bearer ")],
        &[("Authorization", "Bearer 0123456789abcdef0123456789abcdef")],
        &[("Authorization", "Basic YWRhOmFkYQ==")],
        &[("Authorization", ADA)],
        &[("Authorization", &expired)],
        &[("X-Owner", "ada"), ("Cookie", "token=ada")],
    ];
    for line in CLOSED {
        for headers in refused {
            let answer = server.send(line, headers, b"");
            answer.refused(401, "Authorization");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    let ada = format!("Bearer {ADA}");
    for (first, second) in [(&*ada, &*ada), (&ada, "Bearer x"), ("Bearer x", &ada)] {
        let both = [("Authorization", first), ("Authorization", second)];
        let answer = server.send("GET /v1/threads", &both, b"");
        answer.refused(401, "Authorization");
    }
    for line in [
        "GET /healthz",
        "GET /readyz",
        "GET /openapi.json",
        "GET /docs",
    ] {
        assert_eq!(server.send(line, &[], b"").status, 200, "{line}");
    }
}

#[test]
fn metrics_are_for_operators() {
    let server = Running::embedded();
    server.get(ADA, "/metrics").refused(403, "Authorization");
    assert_eq!(server.get(OPERATOR, "/metrics").status, 200);
}

#[test]
fn other_hosts_and_pages_of_other_sites_are_refused() {
    let server = Running::embedded();
    let bearer = format!("Bearer {ADA}");
    let port = server.addr.port();
    let ask = |host: &str, origin: Option<&str>| {
        let mut headers = vec![("Host", host), ("Authorization", bearer.as_str())];
        headers.extend(origin.map(|it| ("Origin", it)));
        server.send("GET /v1/threads", &headers, b"").status
    };
    let ours = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        "LOCALHOST".to_owned(),
        "[::1]:80".to_owned(),
    ];
    let foreign = [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "127.0.0.2",
        "",
        "localhost:80:80",
    ];
    let other = if port == 65_535 { 1 } else { port + 1 };
    let own = ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"];
    let origins = [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        "https://localhost.evil.example".to_owned(),
        "file://".to_owned(),
        "http://127.0.0.1@evil.example".to_owned(),
        // Another program of the same machine.
        format!("http://localhost:{other}"),
        format!("http://127.0.0.1:{other}"),
        format!("http://[::1]:{other}"),
        "http://localhost".to_owned(),
        "http://localhost:".to_owned(),
        format!("http://localhost:{port}0"),
        format!("http://localhost:0{port}"),
        format!("http://localhost:{port}/"),
        format!("http://a@localhost:{port}"),
        format!("localhost:{port}"),
        // What answers there does not do so here.
        format!("https://localhost:{port}"),
        format!("https://127.0.0.1:{port}"),
        format!("ws://localhost:{port}"),
        "https://localhost".to_owned(),
    ];
    for host in &ours {
        assert_eq!(ask(host, None), 200, "{host}");
        for name in own {
            let origin = format!("http://{name}:{port}");
            assert_eq!(ask(host, Some(&origin)), 200, "{host} {origin}");
        }
        for origin in &origins {
            assert_eq!(ask(host, Some(origin)), 403, "{host} {origin}");
        }
    }
    for host in foreign {
        for origin in origins.iter().map(|it| Some(it.as_str())).chain([None]) {
            assert!(
                [421, 400, 403].contains(&ask(host, origin)),
                "{host} {origin:?}"
            );
        }
        assert_ne!(
            server.send("GET /docs", &[("Host", host)], b"").status,
            200,
            "{host}"
        );
    }
    let absolute = server.send("GET http://evil.example/docs", &[], b"");
    assert_eq!(absolute.status, 421);
    let answer = server.post(ADA, "/v1/threads", &json!({}));
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[test]
fn a_server_that_others_reach_has_names() {
    let bind = |addr: &str, hosts: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let backend = Arc::new(Embedded::open(folder.path(), Quota::default()).unwrap());
        let hosts = hosts.iter().map(|&it| it.to_owned()).collect();
        let options = Options::default().with_hosts(hosts);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let bound = runtime.block_on(Server::bind(addr.parse().unwrap(), backend, options));
        bound.map(drop).map_err(|it| it.to_string())
    };
    let refused = bind("0.0.0.0:0", &[]).unwrap_err();
    assert!(refused.contains("no name of the server"), "{refused}");
    let refused = bind("127.0.0.1:0", &["ctx.example:80"]).unwrap_err();
    assert!(refused.contains("\"ctx.example:80\""), "{refused}");
    assert_eq!(bind("0.0.0.0:0", &["ctx.example"]), Ok(()));
}

#[test]
fn a_server_that_does_not_start_opens_no_store() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let any = "127.0.0.1:0".parse().unwrap();
    let options = Options::default;
    let hosts = options().with_hosts(vec!["ctx.example:80".to_owned()]);
    let sites = options().with_origins(vec!["ctx.example".to_owned()]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (addr, options, said) in [
        (any, hosts, "\"ctx.example:80\" is no name"),
        (any, sites, "\"ctx.example\" is no site"),
        (taken.local_addr().unwrap(), options(), "listen on "),
    ] {
        let bound = Server::bind_then(addr, options, async || panic!("it was opened"));
        let refused = runtime.block_on(bound).map(drop).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let bound = Server::bind_then(any, options(), async || {
        let path = "tokens".into();
        Err(ServerError::NoToken { path })
    });
    let refused = runtime.block_on(bound).map(drop).unwrap_err();
    assert!(matches!(refused, ServerError::NoToken { .. }), "{refused}");
}

/// A database may take its time, and whoever asks meanwhile is not left waiting.
#[cfg(target_os = "linux")]
#[test]
fn nobody_is_let_in_before_the_store_is_open() {
    // Of this address nobody else takes a port.
    let free = std::net::TcpListener::bind("127.18.40.6:0").unwrap();
    let addr = free.local_addr().unwrap();
    drop(free);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bound = Server::bind_then(addr, Options::default(), async || {
        let refused = tokio::net::TcpStream::connect(addr).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        let store = Embedded::open(folder.path(), Quota::default())?;
        Ok(Arc::new(store) as Arc<dyn Backend>)
    });
    let server = runtime.block_on(bound).unwrap();
    assert_eq!(server.local_addr(), addr);
    assert!(std::net::TcpStream::connect(addr).is_ok());
}

#[test]
fn a_name_of_its_own_comes_to_those_of_the_loopback() {
    let server = Running::called("ctx.example");
    let port = server.addr.port();
    for (host, status) in [
        ("ctx.example", 200),
        ("CTX.example:1", 200),
        ("localhost", 200),
        ("127.0.0.1:80", 200),
        ("evil.example", 421),
    ] {
        let answer = server.send("GET /docs", &[("Host", host)], b"");
        assert_eq!(answer.status, status, "{host}");
    }
    for (name, status) in [
        ("ctx.example", 200),
        ("localhost", 200),
        ("evil.example", 403),
    ] {
        let origin = format!("http://{name}:{port}");
        let headers = [("Host", "ctx.example"), ("Origin", origin.as_str())];
        let answer = server.send("GET /healthz", &headers, b"");
        assert_eq!(answer.status, status, "{origin}");
    }
}

#[test]
fn whoever_looks_after_a_server_needs_no_name_of_it() {
    let server = Running::called("ctx.example");
    for path in ["/healthz", "/readyz"] {
        for host in ["10.0.0.7:8787", "[fd00::7]", "ctx", "ctx.example"] {
            let headers = [("Host", host)];
            let answer = server.send(&format!("GET {path}"), &headers, b"");
            assert_eq!(answer.status, 200, "{path} {host}");
            let line = format!("GET http://{host}{path}");
            assert_eq!(server.send(&line, &headers, b"").status, 200, "{line}");
            let page = [("Host", host), ("Origin", "http://evil.example")];
            let answer = server.send(&format!("GET {path}"), &page, b"");
            answer.refused(403, "Origin");
        }
        let mut stream = server.connect();
        let request = format!("GET {path} HTTP/1.0\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(Answer::read(stream).status, 200, "{path}");
    }
    // The others are the server's by its names alone.
    let foreign = [("Host", "10.0.0.7:8787")];
    for path in ["/healthz/", "/openapi.json", "/metrics", "/v1/files"] {
        let answer = server.send(&format!("GET {path}"), &foreign, b"");
        answer.refused(421, "Host");
    }
}

#[test]
fn any_name_will_do_where_that_is_said_and_no_other_site() {
    let server = Running::called(ANY_HOST);
    for host in ["10.0.0.7:80", "ctx.example", "evil.example:1"] {
        assert_eq!(
            server.send("GET /healthz", &[("Host", host)], b"").status,
            200
        );
        let origin = format!("http://{host}");
        let headers = [("Host", host), ("Origin", origin.as_str())];
        assert_eq!(server.send("GET /healthz", &headers, b"").status, 403);
    }
}

#[test]
fn lines_of_tokens_that_are_none_are_named() {
    let hash = "0".repeat(64);
    for line in [
        "ada".to_owned(),
        format!("ada {}", &hash[1..]),
        format!("ada {hash} admin"),
        format!("ada {hash} expires=soon"),
        format!("ä {hash}"),
        format!("ada {hash}\nbob {hash}"),
    ] {
        let error = Credentials::parse(&format!("# first\n{line}\n")).unwrap_err();
        let at = |line: &str| format!("read line {} of the tokens: ", 1 + line.lines().count());
        assert!(error.to_string().starts_with(&at(&line)), "{line}: {error}");
    }
}

#[test]
fn a_file_of_tokens_has_at_least_one_and_is_named_with_its_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let hash = "0".repeat(64);
    for (text, said) in [
        (String::new(), ": there is none"),
        ("# ada\n".to_owned(), ": there is none"),
        (
            format!("ada {hash}\n\nbob {hash}\n"),
            ": it has the same hash as line 1",
        ),
    ] {
        std::fs::write(&path, &text).unwrap();
        let error = Credentials::read(&path).unwrap_err().to_string();
        let named = format!("{}{said}", path.display());
        assert!(error.ends_with(&named), "{text:?}: {error}");
    }
}

#[test]
fn a_file_of_tokens_has_a_bound_and_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let line = format!("ada {}\n", "0".repeat(64));
    let write = |bytes: usize| {
        let rest = "#".repeat(bytes - line.len());
        std::fs::write(&path, line.clone() + &rest).unwrap();
    };
    write(16 << 20);
    assert_eq!(Credentials::read(&path).unwrap().len(), 1);
    write((16 << 20) + 1);
    refuses(&path, "it is larger than 16 MiB");
    refuses(folder.path(), "it is a folder, not a file");
    #[cfg(unix)]
    {
        std::fs::remove_file(&path).unwrap();
        // Nobody ever writes to it.
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        for path in [&*path, Path::new("/dev/zero")] {
            refuses(path, "it is a pipe or a device, not a file");
        }
    }
}

/// Whether the tokens at `path` are not read, for the reason `why`.
#[track_caller]
fn refuses(path: &Path, why: &str) {
    let error = Credentials::read(path).unwrap_err();
    let told = format!("read the tokens in {}", path.display());
    assert_eq!(error.to_string(), told);
    assert_eq!(error.source().unwrap().to_string(), why);
}

#[test]
fn who_is_let_in_can_be_replaced_while_the_server_runs() {
    let server = Running::embedded();
    assert_eq!(server.get(ADA, "/v1/threads").status, 200);
    let mut credentials = Credentials::none();
    let token = Credentials::generate().unwrap();
    credentials.add(Owner::new("ada").unwrap(), &token);
    server.credentials.replace(credentials);
    let answer = server.get(ADA, "/v1/threads");
    answer.refused(401, "Authorization");
    assert_eq!(server.get(&token, "/v1/threads").status, 200);
}

#[test]
fn tokens_are_told_apart_and_expire() {
    let ada = Owner::new("ada").unwrap();
    let token = Credentials::generate().unwrap();
    let line = format!("{} expires=100 operator", Credentials::line(&ada, &token));
    assert!(!line.contains(&token));
    // As some editors save it.
    let credentials = Credentials::parse(&format!("\u{feff}{line}\r\n")).unwrap();
    let identity = credentials.identify(&token, UnixSeconds::new(99)).unwrap();
    assert_eq!((&identity.owner, identity.is_operator), (&ada, true));
    assert_eq!(
        credentials.identify(&token, UnixSeconds::new(100)),
        Err(Refusal::Expired)
    );
    assert_eq!(
        credentials.identify("", UnixSeconds::new(0)),
        Err(Refusal::Unknown)
    );
    assert_ne!(token, Credentials::generate().unwrap());
    for name in ["", "a b", "a\n", "ä", "#ada", &"a".repeat(129)] {
        assert_eq!(Owner::new(name), None, "{name:?}");
    }
}
