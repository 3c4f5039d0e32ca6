//! What the metrics report about requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ctx_server::{BackendError, Job, Owner, Prime, PrimeRequest};
use serde_json::json;

use crate::client::{ADA, Answer, Running};
use crate::only::{Builds, Only, no};
use crate::overload::{Slow, begin, begin_stream, limits, metric, wait_until};

const BUILD: &str = "route=\"/v1/context/build\"";

/// How many builds were answered with `status`.
fn answered(server: &Running, status: u16) -> String {
    let name = format!("http_requests_total{{{BUILD},method=\"POST\",status=\"{status}\"}}");
    metric(server, &name)
}

#[test]
fn a_stream_is_counted_by_what_it_came_to() {
    let server = Running::embedded();
    let ask = |message: &serde_json::Value| {
        let accept = [("Accept", "text/event-stream")];
        let answer = server.post_with(ADA, "/v1/context/build", message, &accept);
        assert_eq!(answer.status, 200);
        answer.body
    };
    assert!(ask(&json!({"message": "x"})).contains("event: result"));
    assert_eq!(answered(&server, 200), "1");
    let unknown = json!({"message": "x", "options": {"tokenEstimation": "none"}});
    assert!(ask(&unknown).contains("event: problem"));
    assert_eq!(answered(&server, 422), "1");
    assert_eq!(answered(&server, 200), "1");
}

#[test]
fn a_stream_is_timed_to_its_end() {
    let (slow, starts) = Slow::new();
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits(1, 1));
    let stream = begin_stream(&server, ADA);
    starts.recv().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(answered(&server, 200), "");
    slow.open.store(true, Ordering::SeqCst);
    assert!(Answer::read(stream).body.contains("event: problem"));
    assert_eq!(answered(&server, 500), "1");
    let sum = metric(&server, &format!("http_request_seconds_sum{{{BUILD}}}"));
    assert!(sum.parse::<f64>().unwrap() >= 0.2, "{sum}");
}

/// Works until it is let go, whoever has given up.
#[derive(Default)]
struct Deaf {
    is_over: AtomicBool,
}

#[async_trait]
impl Builds for Deaf {
    async fn build(
        self: Arc<Self>,
        _: &Owner,
        _: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError> {
        let job = job.clone();
        let work = move || {
            while !self.is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(job);
        };
        tokio::task::spawn_blocking(work).await.unwrap();
        no()
    }
}

#[test]
fn a_stream_ends_with_its_problem_though_the_work_goes_on() {
    let deaf = Arc::new(Deaf::default());
    let mut limits = limits(1, 1);
    limits.request_time = Duration::from_millis(300);
    let server = Running::start(Arc::new(Only(Arc::clone(&deaf))), limits);
    let answer = Answer::read(begin_stream(&server, ADA));
    assert!(answer.body.contains("event: problem"), "{answer:?}");
    deaf.is_over.store(true, Ordering::SeqCst);
}

#[test]
fn callers_that_go_before_their_answer_are_counted_as_such() {
    let gone = format!("http_gone_total{{{BUILD},method=\"POST\"}}");
    for is_stream in [false, true] {
        let (slow, starts) = Slow::new();
        let server = Running::start(Arc::new(Only(slow)), limits(1, 1));
        let stream = if is_stream {
            begin_stream(&server, ADA)
        } else {
            begin(&server, ADA)
        };
        starts.recv().unwrap();
        assert_eq!(metric(&server, &gone), "");
        drop(stream);
        wait_until(|| metric(&server, &gone) == "1");
        let requests = format!("http_requests_total{{{BUILD}");
        assert_eq!(metric(&server, &requests), "", "{is_stream}");
    }
}
