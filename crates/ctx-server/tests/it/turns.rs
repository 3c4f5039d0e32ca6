//! A request with a turn is working, and waits for no other request of the same owner.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ctx_server::{
    Appended, BackendError, Ingested, Job, Limits, Listing, Message, Owner, Prime, PrimeRequest,
    Thread,
};
use serde_json::{Value, json};

use crate::client::{ADA, Answer, BOB, Running};
use crate::only::{Builds, Only, no};
use crate::overload::{limits, metric, wait_until};

/// What a store is asked for that goes on until it is let go.
type Slow = (&'static str, String);

/// A store in which some things go on until they are let go.
struct Gated {
    /// What is not let go from the beginning on: all of it.
    slow: &'static [&'static str],
    open: AtomicBool,
    began: Mutex<Sender<Slow>>,
    /// How long builds had been waited for when they began.
    waited: Mutex<Vec<Duration>>,
    /// How many of each run, and the most that ever did.
    running: Mutex<BTreeMap<Slow, (usize, usize)>>,
}

impl Gated {
    fn new(slow: &'static [&'static str]) -> (Arc<Self>, Receiver<Slow>) {
        let (began, starts) = channel();
        let gated = Gated {
            slow,
            open: AtomicBool::new(false),
            began: Mutex::new(began),
            waited: Mutex::default(),
            running: Mutex::default(),
        };
        (Arc::new(gated), starts)
    }

    async fn pass(&self, what: &'static str, owner: &Owner) {
        if !self.slow.contains(&what) {
            return;
        }
        let it = (what, owner.as_str().to_owned());
        let count = |change: fn(&mut (usize, usize))| {
            change(self.running.lock().unwrap().entry(it.clone()).or_default());
        };
        count(|(now, most)| {
            *now += 1;
            *most = *now.max(most);
        });
        let _ = self.began.lock().unwrap().send(it.clone());
        while !self.open.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        count(|(now, _)| *now -= 1);
    }

    /// The most of this that ever ran at once for `owner`.
    fn most(&self, what: &'static str, owner: &str) -> usize {
        self.running.lock().unwrap()[&(what, owner.to_owned())].1
    }

    fn let_go(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl Builds for Gated {
    async fn open(&self, owner: &Owner) -> Result<(), BackendError> {
        if owner.as_str() == "ada" {
            self.pass("opening", owner).await;
        }
        Ok(())
    }

    async fn build(
        self: Arc<Self>,
        owner: &Owner,
        _: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError> {
        self.waited.lock().unwrap().push(job.started.elapsed());
        self.pass("build", owner).await;
        // What it says does not matter here, only that it came to an end.
        no()
    }

    async fn ingest(&self, owner: &Owner) -> Result<Ingested, BackendError> {
        self.pass("batch", owner).await;
        Ok(Ingested::default())
    }

    async fn append(&self, owner: &Owner) -> Result<Appended, BackendError> {
        self.pass("message", owner).await;
        no()
    }

    async fn messages(&self, owner: &Owner) -> Result<Listing<Message>, BackendError> {
        self.pass("messages", owner).await;
        let (items, next) = (Vec::new(), None);
        Ok(Listing { items, next })
    }

    async fn threads(&self, _: &Owner) -> Result<Listing<Thread>, BackendError> {
        let (items, next) = (Vec::new(), None);
        Ok(Listing { items, next })
    }
}

fn start(gated: &Arc<Gated>, limits: Limits) -> Running {
    Running::start(Arc::new(Only(Arc::clone(gated))), limits)
}

/// Sends this so often, and waits until there is room for all of it, and for nothing else. Its
/// places are taken a moment later.
fn begin(
    server: &Running,
    token: &str,
    (line, body): (&str, &Value),
    count: usize,
) -> Vec<TcpStream> {
    let held = || metric(server, "http_body_bytes").parse::<usize>().unwrap();
    let wanted = held() + count * body.to_string().len();
    let streams = (0..count).map(|_| server.begin(token, line, body));
    let streams = streams.collect();
    wait_until(|| held() == wanted);
    streams
}

#[track_caller]
fn all_are(streams: Vec<TcpStream>, status: u16) {
    for stream in streams {
        let answer = Answer::read(stream);
        assert_eq!(answer.status, status, "{answer:?}");
    }
}

fn built(server: &Running, token: &str) -> u16 {
    let wanted = json!({"message": "x"});
    server.post(token, "/v1/context/build", &wanted).status
}

#[test]
fn batches_of_one_owner_come_one_after_the_other_and_keep_no_turn_from_others() {
    let (gated, starts) = Gated::new(&["batch"]);
    let mut limits = limits(2, 8);
    limits.batch_workers = 2;
    let server = start(&gated, limits);
    let files = json!({"files": [{"path": "a.rs", "content": "fn a() {}\n"}]});
    let batch = ("POST /v1/files", &files);
    let adas = begin(&server, ADA, batch, 4);
    assert_eq!(starts.recv().unwrap().1, "ada");
    for token in [ADA, BOB] {
        assert_eq!(built(&server, token), 500, "it has a turn");
    }
    let bobs = begin(&server, BOB, batch, 2);
    assert_eq!(starts.recv().unwrap().1, "bob");
    assert_eq!(built(&server, BOB), 500);
    gated.let_go();
    all_are(adas, 200);
    all_are(bobs, 200);
    assert_eq!(
        (gated.most("batch", "ada"), gated.most("batch", "bob")),
        (1, 1)
    );
}

#[test]
fn a_batch_has_more_time_than_other_requests_and_is_told_when_to_come_again() {
    let files = json!({"files": [{"path": "a.rs", "content": "fn a() {}\n"}]});
    let (gated, starts) = Gated::new(&["batch", "messages"]);
    let mut limits = limits(1, 4);
    limits.request_time = Duration::from_millis(300);
    let server = start(&gated, limits.clone());
    let batch = begin(&server, ADA, ("POST /v1/files", &files), 1);
    starts.recv().unwrap();
    let late = server.get(ADA, "/v1/threads/t/messages");
    late.refused(503, "");
    assert_eq!(late.header("retry-after"), Some("1"));
    assert_eq!(late.json()["detail"], "the store had no answer in time");
    gated.let_go();
    all_are(batch, 200);

    let (gated, _starts) = Gated::new(&["batch"]);
    limits.batch_time = Duration::from_millis(300);
    let server = start(&gated, limits);
    let late = server.post(ADA, "/v1/files", &files);
    late.refused(503, "");
    assert_eq!(late.header("retry-after"), Some("5"));
    let told = "the store had no answer in time, and may do it yet";
    assert_eq!(late.json()["detail"], told);
    gated.let_go();
}

#[test]
fn the_duration_of_batches_does_not_count_for_the_waiting_time_of_builds() {
    let (gated, starts) = Gated::new(&["batch", "build"]);
    let mut limits = limits(1, 4);
    limits.queue_time = Duration::from_millis(1);
    let server = start(&gated, limits);
    let files = json!({"files": [{"path": "a.rs", "content": "fn a() {}\n"}]});
    let batches = begin(&server, ADA, ("POST /v1/files", &files), 1);
    starts.recv().unwrap();
    // However long it is, it is longer than anybody may wait for a build.
    std::thread::sleep(Duration::from_millis(20));
    gated.let_go();
    all_are(batches, 200);
    gated.open.store(false, Ordering::SeqCst);
    let wanted = json!({"message": "x"});
    let builds = begin(&server, BOB, ("POST /v1/context/build", &wanted), 5);
    // Once all five have places there is none for another. This body is no request, so it takes
    // none itself.
    wait_until(|| {
        let none = json!("{\"message\": \"\"}");
        server.post(ADA, "/v1/context/build", &none).status == 503
    });
    gated.let_go();
    all_are(builds, 500);
}

#[test]
fn messages_of_one_owner_come_one_after_the_other_and_keep_no_turn_from_what_is_read() {
    let (gated, starts) = Gated::new(&["message"]);
    let mut limits = limits(2, 8);
    limits.store_workers = 2;
    let server = start(&gated, limits);
    let message = json!({"role": "user", "content": "x"});
    let adas = begin(&server, ADA, ("POST /v1/threads/t/messages", &message), 6);
    starts.recv().unwrap();
    for token in [ADA, BOB] {
        server.get(token, "/v1/threads").data(200);
    }
    gated.let_go();
    all_are(adas, 500);
    assert_eq!(gated.most("message", "ada"), 1);
}

#[test]
fn who_waits_for_what_is_opened_has_no_turn_and_gives_its_place_back_when_it_goes() {
    let (gated, starts) = Gated::new(&["opening"]);
    let mut limits = limits(1, 1);
    (limits.store_workers, limits.store_queue) = (1, 1);
    let server = start(&gated, limits);
    let wanted = json!({"message": "x"});
    let mut builds = begin(&server, ADA, ("POST /v1/context/build", &wanted), 1);
    let reads = vec![server.begin(ADA, "GET /v1/threads", &json!(null))];
    for _ in 0..2 {
        assert_eq!(starts.recv().unwrap().0, "opening");
    }
    assert_eq!(built(&server, BOB), 500);
    server.get(BOB, "/v1/threads").data(200);
    builds.extend(begin(&server, ADA, ("POST /v1/context/build", &wanted), 1));
    assert_eq!(starts.recv().unwrap().0, "opening");
    assert_eq!(built(&server, BOB), 503);
    drop(builds.pop());
    wait_until(|| built(&server, BOB) == 500);
    gated.let_go();
    all_are(builds, 500);
    all_are(reads, 200);
}

#[test]
fn a_stream_has_the_time_of_one_request_and_tells_it_from_the_beginning() {
    const LOOKED: Duration = Duration::from_millis(50);
    let (gated, starts) = Gated::new(&["messages"]);
    let server = start(&gated, limits(1, 1));
    let wanted = json!({"message": "x", "threadId": "t"});
    let (path, stream) = ("/v1/context/build", [("Accept", "text/event-stream")]);
    let answer = std::thread::scope(|scope| {
        let asking = scope.spawn(|| server.post_with(ADA, path, &wanted, &stream));
        starts.recv().unwrap();
        // So long it takes to see that there is the thread.
        std::thread::sleep(LOOKED);
        gated.let_go();
        asking.join().unwrap()
    });
    assert_eq!(answer.status, 200, "{answer:?}");
    let told = answer.body.lines().find(|it| it.contains("elapsedMs"));
    let told = told.and_then(|it| it.strip_prefix("data:")).unwrap();
    let told: Value = serde_json::from_str(told).unwrap();
    assert!(told["elapsedMs"].as_u64().unwrap() >= 50, "{told}");
    let builds = gated.waited.lock().unwrap();
    assert!(builds.len() == 1 && builds[0] >= LOOKED, "{builds:?}");
}
