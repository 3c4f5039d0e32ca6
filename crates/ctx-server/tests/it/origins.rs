//! Requests of pages of allowed sites, as browsers send them.

use serde_json::json;

use crate::client::{ADA, Answer, Running};

const NAMED: &str = "https://ctx.example";
const OTHER: &str = "http://other.example:8080";

/// What is said of who may read an answer.
fn allowed(answer: &Answer) -> (Option<&str>, Option<&str>) {
    let origin = answer.header("access-control-allow-origin");
    (origin, answer.header("vary"))
}

fn preflight(server: &Running, path: &str, headers: &[(&str, &str)]) -> Answer {
    let asked = [
        ("Access-Control-Request-Method", "POST"),
        (
            "Access-Control-Request-Headers",
            "authorization,content-type",
        ),
    ];
    let headers = [headers, &asked].concat();
    server.send(&format!("OPTIONS {path}"), &headers, b"")
}

#[test]
fn a_browser_is_told_that_a_page_of_a_named_site_may_ask_with_a_token() {
    let server = Running::letting(&[NAMED, OTHER]);
    for origin in [NAMED, OTHER] {
        for path in ["/v1/context/build", "/v1/threads", "/metrics", "/none"] {
            let answer = preflight(&server, path, &[("Origin", origin)]);
            assert_eq!((answer.status, &*answer.body), (204, ""), "{answer:?}");
            assert_eq!(allowed(&answer), (Some(origin), Some("Origin")));
            for (name, value) in [
                (
                    "access-control-allow-methods",
                    "GET, POST, PUT, PATCH, DELETE",
                ),
                (
                    "access-control-allow-headers",
                    "Authorization, Content-Type",
                ),
                ("access-control-max-age", "600"),
            ] {
                assert_eq!(answer.header(name), Some(value), "{name}");
            }
            // No cookie opens anything.
            assert_eq!(answer.header("access-control-allow-credentials"), None);
        }
    }
}

#[test]
fn a_page_of_a_named_site_may_read_what_is_answered() {
    let server = Running::letting(&[NAMED]);
    let origin = [("Origin", NAMED)];
    let built = server.post_with(ADA, "/v1/context/build", &json!({"message": "x"}), &origin);
    built.data(200);
    let refused = server.post_with("", "/v1/context/build", &json!({}), &origin);
    refused.refused(401, "Authorization");
    for answer in [built, refused] {
        assert_eq!(allowed(&answer), (Some(NAMED), Some("Origin")));
        let readable = answer.header("access-control-expose-headers");
        assert_eq!(readable, Some("X-Request-Id, Retry-After"));
    }
    // What no page asks says nothing of pages, but that it would.
    let answer = server.post(ADA, "/v1/context/build", &json!({"message": "x"}));
    assert_eq!(allowed(&answer), (None, Some("Origin")));
}

#[test]
fn pages_of_sites_that_were_not_named_stay_refused() {
    let server = Running::letting(&[NAMED]);
    for origin in [
        OTHER,
        "http://ctx.example",
        "https://ctx.example.evil.example",
        "https://ctx.example:8443",
        "null",
        "*",
        "",
    ] {
        let answer = preflight(&server, "/v1/threads", &[("Origin", origin)]);
        answer.refused(403, "Origin");
        assert_eq!(allowed(&answer), (None, Some("Origin")), "{origin}");
    }
    let both = [("Origin", NAMED), ("Origin", OTHER)];
    preflight(&server, "/v1/threads", &both).refused(403, "Origin");
    let twice = [("Origin", NAMED), ("Origin", NAMED)];
    let answer = preflight(&server, "/v1/threads", &twice);
    answer.refused(401, "Authorization");
    assert_eq!(allowed(&answer), (None, Some("Origin")));
    // Another name of the server is not one, whoever asks.
    let host = [("Origin", NAMED), ("Host", "evil.example")];
    preflight(&server, "/v1/threads", &host).refused(421, "Host");
    // Of its own pages browsers ask nobody, and what is no preflight has a token.
    let own = format!("http://{}", server.addr);
    let answer = preflight(&server, "/v1/threads", &[("Origin", &own)]);
    answer.refused(401, "Authorization");
    let answer = server.send("OPTIONS /v1/threads", &[("Origin", NAMED)], b"");
    answer.refused(401, "Authorization");
}

#[test]
fn where_no_site_was_named_nothing_is_said_of_pages() {
    let server = Running::embedded();
    let own = format!("http://{}", server.addr);
    for headers in [&[("Origin", own.as_str())][..], &[]] {
        let answer = server.send("GET /healthz", headers, b"");
        assert_eq!((answer.status, allowed(&answer)), (200, (None, None)));
    }
}
