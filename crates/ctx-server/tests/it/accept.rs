//! Content negotiation by `Accept`.

use serde_json::json;

use crate::client::{ADA, Running};

#[test]
fn of_json_and_a_stream_the_one_that_is_wanted_more_is_sent() {
    const JSON: &str = "application/json";
    const EVENTS: &str = "text/event-stream";
    let server = Running::embedded();
    let build = |accept: &[(&str, &str)]| {
        let body = json!({"message": "x"});
        server.post_with(ADA, "/v1/context/build", &body, accept)
    };
    for (accept, wanted) in [
        ("application/json", JSON),
        ("text/event-stream", EVENTS),
        ("Text/Event-Stream; q=0.1", EVENTS),
        ("*/*", JSON),
        ("", JSON),
        // The larger weight.
        ("text/event-stream;q=0.1, application/json;q=0.9", JSON),
        ("application/json;q=0.1, text/event-stream;q=0.9", EVENTS),
        ("text/event-stream;q=0.5, application/json", JSON),
        (
            "application/json;charset=utf-8;q=0.2, text/event-stream;q=0.3",
            EVENTS,
        ),
        // Of equal ones the first.
        ("application/json, text/event-stream", JSON),
        ("text/event-stream, application/json", EVENTS),
        ("text/event-stream;q=0.5, application/json;q=0.50", EVENTS),
        // What is refused.
        ("text/event-stream;q=0, application/json;q=0.1", JSON),
        ("text/event-stream;q=0, */*", JSON),
        ("application/json;q=0, text/event-stream;q=0.001", EVENTS),
        ("application/json;q=0.000, text/event-stream", EVENTS),
        // The closest that names it, and a stream for those alone who name one.
        (
            "*/*, application/json;q=0.1, text/event-stream;q=0.2",
            EVENTS,
        ),
        ("application/*;q=0.1, text/*;q=0.2", EVENTS),
        ("application/json;q=0.1, */*", JSON),
        ("application/json, text/plain, */*", JSON),
    ] {
        let answer = build(&[("Accept", accept)]);
        assert_eq!(answer.status, 200, "{accept}");
        assert_eq!(answer.header("content-type"), Some(wanted), "{accept}");
    }
    let lines = [
        ("Accept", "application/json;q=0.2"),
        ("Accept", "text/event-stream;q=0.3"),
    ];
    assert_eq!(build(&lines).header("content-type"), Some(EVENTS));
    for accept in [
        "application/json;q=0",
        "text/event-stream;q=0",
        "*/*;q=0",
        "application/json;q=0, */*",
        "application/json;q=2",
        "application/json;q=x",
        "image/png",
    ] {
        build(&[("Accept", accept)]).refused(406, "Accept");
    }
}
