//! The routes within another application.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;

use ctx_server::axum::{self, Router, routing::get};
use ctx_server::{Credentials, Embedded, Options, Owner, Quota, Routes};

use crate::client::{ADA, Answer};

#[test]
fn routes_are_nested_below_a_path_of_an_app() {
    let folder = tempfile::tempdir().unwrap();
    let backend = Arc::new(Embedded::open(folder.path(), Quota::default()).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
    let mut credentials = Credentials::none();
    credentials.add_operator(Owner::new("ada").unwrap(), ADA);
    let options = Options::default().with_credentials(credentials);
    let any = "127.0.0.1:0";
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind(any))
        .unwrap();
    let addr = listener.local_addr().unwrap();
    let _within = runtime.enter();
    let routes = Routes::new(addr, backend, options).unwrap();
    let app = Router::new().route("/", get(async || "an app"));
    let app = app.nest("/ctx", routes.router());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = axum::serve(listener, app).with_graceful_shutdown(async { drop(stopped.await) });
    let served = runtime.spawn(async move { served.await });
    let ask = |line: &str, more: &str, body: &str| {
        let length = body.len();
        let mut stream = TcpStream::connect(addr).unwrap();
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\nContent-Length: {length}\r\n{more}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        Answer::read(stream)
    };
    let ada = format!("Authorization: Bearer {ADA}\r\nContent-Type: application/json\r\n");
    assert_eq!(ask("GET /", "", "").body, "an app");
    for open in ["healthz", "readyz", "openapi.json", "docs"] {
        assert_eq!(
            ask(&format!("GET /ctx/{open}"), "", "").status,
            200,
            "{open}"
        );
        assert_eq!(ask(&format!("GET /{open}"), "", "").status, 404, "{open}");
    }
    // The description is found from where the page is.
    assert!(
        ask("GET /ctx/docs", "", "")
            .body
            .contains("href=\"openapi.json\"")
    );
    ask("GET /ctx/v1/files", "", "").refused(401, "Authorization");
    ask("GET /ctx/v1/nothing", &ada, "").refused(404, "");
    let evil = "Origin: https://evil.example\r\n";
    assert_eq!(ask("GET /ctx/v1/files", evil, "").status, 403);
    let files = r#"{"files": [{"path": "a.rs", "content": "fn owl() {}\n"}]}"#;
    ask("POST /ctx/v1/files", &ada, files).data(200);
    let message = r#"{"message": "what is owl?"}"#;
    let built = ask("POST /ctx/v1/context/build", &ada, message).data(200);
    assert!(
        built["context"].as_str().unwrap().contains("fn owl"),
        "{built}"
    );
    let metrics = ask("GET /ctx/metrics", &ada, "").body;
    assert!(metrics.contains("/v1/context/build"), "{metrics}");
    routes.drain();
    assert_eq!(ask("GET /ctx/readyz", "", "").status, 503);
    drop(stop);
    runtime.block_on(served).unwrap().unwrap();
    runtime.block_on(routes.end());
}
