//! Overload, callers that leave, and shutdown.

use std::cell::Cell;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ctx_retrieve::TaskScope;
use ctx_server::{BackendError, Job, Limits, NewThread, Owner, Prime, PrimeRequest, Thread};
use serde_json::json;

use crate::client::{ADA, Answer, BOB, OPERATOR, Running};
use crate::only::{Builds, Only, no};

const BODY: &[u8] = b"{\"message\":\"x\"}";
const STREAM: (&str, &str) = ("Accept", "text/event-stream");

/// A store whose builds go on until they are let go or cancelled, and whose threads block.
pub(crate) struct Slow {
    running: AtomicUsize,
    most: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) open: AtomicBool,
    began: Mutex<Sender<()>>,
}

impl Slow {
    pub(crate) fn new() -> (Arc<Self>, Receiver<()>) {
        let (began, starts) = channel();
        let slow = Slow {
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            open: AtomicBool::new(false),
            began: Mutex::new(began),
        };
        (Arc::new(slow), starts)
    }

    /// Blocks a thread, as a build does.
    fn work(&self, job: &Job) -> Result<(), BackendError> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        let _ = self.began.lock().unwrap().send(());
        while !self.open.load(Ordering::SeqCst) && !job.cancel.is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        if job.cancel.is_cancelled() {
            self.cancelled.fetch_add(1, Ordering::SeqCst);
            return Err(BackendError::Cancelled);
        }
        Ok(())
    }
}

#[async_trait]
impl Builds for Slow {
    async fn build(
        self: Arc<Self>,
        _: &Owner,
        _: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError> {
        let job = job.clone();
        let done = tokio::task::spawn_blocking(move || self.work(&job)).await;
        done.unwrap()?;
        // What it says does not matter here, only that it came to an end.
        no()
    }

    async fn create_thread(&self, _: &Owner, _: NewThread) -> Result<Thread, BackendError> {
        panic!("a store that panics")
    }

    async fn ready(&self) -> Result<(), BackendError> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let _ = self.began.lock().unwrap().send(());
        while !self.open.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

pub(crate) fn limits(workers: usize, queue: usize) -> Limits {
    let mut limits = Limits::default();
    limits.workers = workers;
    // Builds have threads for what blocks, on any machine.
    limits.cores = 64;
    limits.queue = queue;
    limits.owner_percent = 100;
    limits.request_time = Duration::from_secs(20);
    limits
}

/// Asks for a context, and reads nothing of the answer yet.
pub(crate) fn begin(server: &Running, token: &str) -> TcpStream {
    begin_with(server, token, &[])
}

/// The same, for a stream.
pub(crate) fn begin_stream(server: &Running, token: &str) -> TcpStream {
    begin_with(server, token, &[STREAM])
}

fn begin_with(server: &Running, token: &str, headers: &[(&str, &str)]) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(&build(server, token, headers)).unwrap();
    stream
}

/// A request for a context.
fn build(server: &Running, token: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let bearer = format!("Bearer {token}");
    let its = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    server.request("POST /v1/context/build", &[&its, headers].concat(), BODY)
}

/// Waits until `is` holds, for a minute at most.
#[track_caller]
pub(crate) fn wait_until(is: impl Fn() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "it never came to that"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn metric(server: &Running, name: &str) -> String {
    let body = server.get(OPERATOR, "/metrics").body;
    let line = body
        .lines()
        .find(|it| it.starts_with(name))
        .unwrap_or_default();
    line.rsplit(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn requests_without_a_place_are_refused_at_once() {
    let (slow, starts) = Slow::new();
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits(2, 3));
    let waiting: Vec<_> = (0..5).map(|_| begin(&server, ADA)).collect();
    starts.recv().unwrap();
    starts.recv().unwrap();
    // Places are taken as requests are read, which is when one more is turned away.
    let mut turned_away = 0;
    wait_until(|| {
        let answer = server.post(BOB, "/v1/context/build", &json!("{\"message\": \"\"}"));
        answer.status == 503
    });
    for _ in 0..50 {
        let answer = server.post(BOB, "/v1/context/build", &json!({"message": "x"}));
        answer.refused(503, "");
        assert_eq!(answer.header("retry-after"), Some("1"));
        turned_away += 1;
    }
    // All of these were answered while every build went on; how fast, `cargo xtask load` tells.
    assert!(metric(&server, "http_shed_total").parse::<u64>().unwrap() >= turned_away);
    assert_eq!(slow.most.load(Ordering::SeqCst), 2);
    slow.open.store(true, Ordering::SeqCst);
    for stream in waiting {
        assert_eq!(Answer::read(stream).status, 500);
    }
    assert_eq!(slow.most.load(Ordering::SeqCst), 2);
}

#[test]
fn a_store_is_asked_once_whether_it_is_ready_however_many_want_to_know() {
    let (slow, starts) = Slow::new();
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits(2, 3));
    let ask = || {
        let mut stream = server.connect();
        let request = server.request("GET /readyz", &[], b"");
        stream.write_all(&request).unwrap();
        stream
    };
    // The first of them goes, and is no reason to ask again.
    let first = ask();
    starts.recv().unwrap();
    drop(first);
    let waiting: Vec<_> = (0..50).map(|_| ask()).collect();
    // None of them is answered, and each could have asked by now.
    wait_until(|| server.get("", "/healthz").status == 200);
    std::thread::sleep(Duration::from_millis(100));
    slow.open.store(true, Ordering::SeqCst);
    for stream in waiting {
        assert_eq!(Answer::read(stream).status, 200);
    }
    assert_eq!(slow.running.load(Ordering::SeqCst), 1);
}

#[test]
fn one_owner_leaves_places_to_others() {
    let (slow, starts) = Slow::new();
    let mut limits = limits(2, 6);
    limits.owner_percent = 50;
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits);
    let _held: Vec<_> = (0..4).map(|_| begin(&server, ADA)).collect();
    starts.recv().unwrap();
    // It is no request, and takes no place that a held one is to have.
    let invalid = json!({"none": 1});
    wait_until(|| server.post(ADA, "/v1/context/build", &invalid).status == 503);
    server
        .post(ADA, "/v1/context/build", &json!({"message": "x"}))
        .refused(503, "");
    let other = begin(&server, BOB);
    slow.open.store(true, Ordering::SeqCst);
    assert_eq!(Answer::read(other).status, 500);
}

/// A store whose builds are slow for one owner alone.
struct SlowForAda(Arc<Slow>);

#[async_trait]
impl Builds for SlowForAda {
    async fn build(
        self: Arc<Self>,
        owner: &Owner,
        request: PrimeRequest,
        job: &Job,
    ) -> Result<Prime, BackendError> {
        if owner.as_str() == "ada" {
            return Arc::clone(&self.0).build(owner, request, job).await;
        }
        no()
    }
}

#[test]
fn the_long_builds_of_one_owner_leave_turns_to_others() {
    let (slow, starts) = Slow::new();
    let mut limits = limits(3, 48);
    limits.owner_percent = 75;
    let store = SlowForAda(Arc::clone(&slow));
    let server = Running::start(Arc::new(Only(Arc::new(store))), limits);
    let ask = |token| {
        let wanted = json!({"message": "x"});
        server.post(token, "/v1/context/build", &wanted).status
    };
    assert_eq!(ask(BOB), 500, "it has ended");
    let held: Vec<_> = (0..8).map(|_| begin(&server, ADA)).collect();
    for _ in 0..2 {
        starts.recv().unwrap();
    }
    for _ in 0..20 {
        assert_eq!(ask(BOB), 500);
    }
    assert_eq!(slow.most.load(Ordering::SeqCst), 2);
    slow.open.store(true, Ordering::SeqCst);
    for stream in held {
        assert_eq!(Answer::read(stream).status, 500);
    }
}

/// A server that holds 40,000 bytes of bodies, of which one owner may have 10,000, over a store
/// that is let go by hand.
fn narrow() -> (Arc<Slow>, Receiver<()>, Running) {
    let (slow, starts) = Slow::new();
    let mut limits = limits(2, 8);
    limits.held_bytes = 40_000;
    limits.body_time = Duration::from_mins(1);
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits);
    (slow, starts, server)
}

fn large() -> serde_json::Value {
    json!({"message": "x".repeat(6_000)})
}

/// Routes that take a body.
pub(crate) const ROUTES: [&str; 6] = [
    "/v1/context/build",
    "/v1/context/assemble",
    "/v1/context/feedback",
    "/v1/files",
    "/v1/threads",
    "/v1/threads/t/messages",
];

#[test]
fn bodies_that_are_still_to_come_leave_no_room_for_more_of_their_owner() {
    let (_slow, _starts, server) = narrow();
    let bearer = format!("Bearer {ADA}");
    let head = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let said = [head[0], head[1], ("Content-Length", "9000")];
    let chunked = [head[0], head[1], ("Transfer-Encoding", "chunked")];
    let chunk = format!("1F40\r\n{}\r\n", "x".repeat(8_000));
    for (headers, part, bytes) in [(said, String::new(), "9000"), (chunked, chunk, "8000")] {
        let mut half = server.connect();
        let head = server.request("POST /v1/files", &headers, b"");
        half.write_all(&[&head, part.as_bytes()].concat()).unwrap();
        // Nothing else may come meanwhile: it would take the room that this one is to have.
        wait_until(|| metric(&server, "http_body_bytes") == bytes);
        for route in ROUTES {
            let invalid = json!({"none": "x".repeat(6_000)});
            let answer = server.post(ADA, route, &invalid);
            answer.refused(503, "");
            assert!(
                answer.body.contains("unread answers of this owner"),
                "{answer:?}"
            );
            assert_eq!(answer.header("retry-after"), Some("1"));
            server.post(BOB, route, &invalid).refused(400, "none");
        }
        drop(half);
        wait_until(|| metric(&server, "http_body_bytes") == "0");
        server
            .post(ADA, "/v1/files", &large())
            .refused(400, "message");
    }
}

#[test]
fn a_body_is_held_until_its_work_has_ended() {
    let (slow, starts, server) = narrow();
    let bearer = format!("Bearer {ADA}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let mut first = server.connect();
    let body = large().to_string();
    first
        .write_all(&server.request("POST /v1/context/build", &headers, body.as_bytes()))
        .unwrap();
    starts.recv().unwrap();
    server.post(ADA, "/v1/files", &large()).refused(503, "");
    slow.open.store(true, Ordering::SeqCst);
    assert_eq!(Answer::read(first).status, 500);
    server
        .post(ADA, "/v1/files", &large())
        .refused(400, "message");
}

/// Answers that nobody reads are held, and leave less room for what their owner sends next.
#[test]
fn answers_that_are_not_read_count_like_bodies() {
    let mut limits = crate::client::patient();
    limits.body_bytes = 250_000;
    limits.files_body_bytes = 250_000;
    limits.held_bytes = 1_000_000;
    limits.write_time = Duration::from_mins(5);
    let server = Running::with_limits(limits);
    let line = "a line of a file that is long enough\n";
    for path in ["a.txt", "b.txt"] {
        let files = json!({"files": [{"path": path, "content": line.repeat(6_000) + path}]});
        server.post(ADA, "/v1/files", &files).data(200);
    }
    let wanted = json!({
        "message": "x",
        "references": ["a.txt", "b.txt"],
        "options": {"maxTokens": 200_000},
    });
    let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
    let length = built["context"].as_str().unwrap().len();
    // Longer than all that its owner may send meanwhile.
    assert!(length > 400_000, "{length}");
    let held = || metric(&server, "http_body_bytes").parse::<usize>().unwrap();
    wait_until(|| held() == 0);
    // So often that the buffers of the system do not take the answers.
    let bearer = format!("Bearer {ADA}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let body = wanted.to_string();
    let request = server.request("POST /v1/context/build", &headers, body.as_bytes());
    let request = String::from_utf8(request).unwrap();
    let request = request.replace("Connection: close\r\n", "");
    let deaf = server.connect();
    (&deaf).write_all(request.repeat(75).as_bytes()).unwrap();
    wait_until(|| held() > length && built_status(&server, ADA) == 503);
    let refused = server.post(ADA, "/v1/context/build", &wanted);
    refused.refused(503, "");
    assert!(
        refused.body.contains("unread answers of this owner"),
        "{refused:?}"
    );
    assert_eq!(built_status(&server, BOB), 200);
    // What is only asked for has an answer, too.
    server.get(ADA, "/v1/files").refused(503, "");
    server.get(BOB, "/v1/files").data(200);
    drop(deaf);
    wait_until(|| held() == 0);
    server.post(ADA, "/v1/context/build", &wanted).data(200);
}

fn built_status(server: &Running, token: &str) -> u16 {
    let wanted = json!({"message": "x"});
    server.post(token, "/v1/context/build", &wanted).status
}

#[test]
fn who_has_no_place_is_told_before_its_body_is_read() {
    let (slow, starts) = Slow::new();
    let mut limits = limits(1, 3);
    limits.owner_percent = 50;
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits);
    let _held = [begin(&server, ADA), begin(&server, ADA)];
    starts.recv().unwrap();
    wait_until(|| {
        server
            .post(ADA, "/v1/context/build", &json!({"none": 1}))
            .status
            == 503
    });
    let bearer = format!("Bearer {ADA}");
    let announced = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Content-Length", "5000"),
    ];
    for route in ["/v1/context/build", "/v1/context/assemble"] {
        server
            .send(&format!("POST {route}"), &announced, b"")
            .refused(503, "");
    }
    slow.open.store(true, Ordering::SeqCst);
}

#[test]
fn a_caller_that_goes_ends_its_build_and_its_place_is_free_when_it_has_ended() {
    let (slow, starts) = Slow::new();
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits(1, 1));
    for round in 1..=20 {
        let stream = begin(&server, ADA);
        starts.recv().unwrap();
        drop(stream);
        wait_until(|| slow.cancelled.load(Ordering::SeqCst) == round);
    }
    assert_eq!(slow.most.load(Ordering::SeqCst), 1);
    // One that waits for its turn is forgotten without one.
    let first = begin(&server, ADA);
    starts.recv().unwrap();
    drop(begin(&server, ADA));
    drop(first);
    wait_until(|| slow.running.load(Ordering::SeqCst) == 0);
    slow.open.store(true, Ordering::SeqCst);
    wait_until(|| {
        server
            .post(ADA, "/v1/context/build", &json!({"message": "x"}))
            .status
            == 500
    });
    assert_eq!(slow.most.load(Ordering::SeqCst), 1);
}

#[test]
fn a_reader_of_progress_that_goes_ends_the_build() {
    let (slow, starts) = Slow::new();
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits(1, 1));
    let stream = begin_stream(&server, ADA);
    starts.recv().unwrap();
    drop(stream);
    wait_until(|| slow.cancelled.load(Ordering::SeqCst) == 1);
}

#[test]
fn a_stream_that_finds_no_place_is_none() {
    let (slow, starts) = Slow::new();
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits(1, 1));
    let _held = [begin(&server, ADA), begin(&server, ADA)];
    starts.recv().unwrap();
    let ask = |message: &str| {
        let body = json!({"message": message});
        server.post_with(BOB, "/v1/context/build", &body, &[STREAM])
    };
    wait_until(|| ask("").status == 503);
    let answer = ask("x");
    answer.refused(503, "");
    assert_eq!(answer.header("retry-after"), Some("1"));
    slow.open.store(true, Ordering::SeqCst);
}

/// Bodies that come while the places go: some find one, and the others have to be told so by their
/// status.
#[test]
fn streams_that_are_shed_after_their_body_are_told_so_by_their_status() {
    let (slow, starts) = Slow::new();
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits(1, 1));
    let request = build(&server, ADA, &[STREAM, ("Expect", "100-continue")]);
    let (head, rest) = request.split_at(request.len() - BODY.len());
    let mut streams: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for stream in &mut streams {
        stream.write_all(head).unwrap();
        // It is asked for the body, so it was let in so far.
        let mut said = [0; 25];
        std::io::Read::read_exact(stream, &mut said).unwrap();
        assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    for stream in &mut streams {
        stream.write_all(rest).unwrap();
    }
    starts.recv().unwrap();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let answers: Vec<_> = streams
            .into_iter()
            .map(|stream| scope.spawn(|| Answer::read(stream).status))
            .collect();
        wait_until(|| answers.iter().filter(|it| it.is_finished()).count() == 6);
        slow.open.store(true, Ordering::SeqCst);
        answers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|it| **it == status).count();
    assert_eq!((count(200), count(503)), (2, 6), "{statuses:?}");
}

#[test]
fn late_requests_are_cancelled_and_answered_as_late() {
    let (slow, starts) = Slow::new();
    let mut limits = limits(1, 1);
    limits.request_time = Duration::from_millis(100);
    let server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits);
    let late = Cell::new(0);
    // On a busy machine it may be late before its work begins, and then there is nothing to cancel.
    wait_until(|| {
        let wanted = json!({"message": "x"});
        let answer = server.post(ADA, "/v1/context/build", &wanted);
        answer.refused(504, "");
        late.set(late.get() + 1);
        starts.try_recv().is_ok()
    });
    wait_until(|| slow.cancelled.load(Ordering::SeqCst) > 0);
    assert_eq!(metric(&server, "http_late_total"), late.get().to_string());
}

#[test]
fn a_store_that_fails_or_panics_is_told_of_without_its_words() {
    let (slow, _starts) = Slow::new();
    let server = Running::start(Arc::new(Only(slow)), limits(1, 1));
    for answer in [
        server.post(ADA, "/v1/threads", &json!({})),
        server.get(ADA, "/v1/threads"),
        server.post(
            ADA,
            "/v1/files",
            &json!({"files": [{"path": "a", "content": ""}]}),
        ),
    ] {
        answer.refused(500, "");
        assert!(!answer.body.contains("it is not for that"));
    }
    assert_eq!(server.send("GET /healthz", &[], b"").status, 200);
}

#[test]
fn the_end_lets_requests_finish_and_takes_no_more() {
    let (slow, starts) = Slow::new();
    let mut server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits(1, 1));
    let stream = begin(&server, ADA);
    starts.recv().unwrap();
    server.stop();
    wait_until(|| TcpStream::connect(server.addr).is_err());
    slow.open.store(true, Ordering::SeqCst);
    assert_eq!(Answer::read(stream).status, 500);
    assert_eq!(slow.cancelled.load(Ordering::SeqCst), 0);
    server.join();
}

#[test]
fn the_end_is_told_beforehand_and_requests_are_taken_for_as_long_as_that() {
    let (slow, _starts) = Slow::new();
    slow.open.store(true, Ordering::SeqCst);
    let limits = limits(1, 1).with_grace(Duration::from_secs(3));
    let mut server = Running::start(Arc::new(Only(slow)), limits);
    assert_eq!(server.get("", "/readyz").status, 200);
    server.stop();
    let told = Instant::now();
    wait_until(|| server.get("", "/readyz").status == 503);
    let answer = server.get("", "/readyz");
    answer.refused(503, "");
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(server.get("", "/healthz").status, 200);
    assert_eq!(
        server
            .post(ADA, "/v1/context/build", &json!({"message": "x"}))
            .status,
        500
    );
    wait_until(|| TcpStream::connect(server.addr).is_err());
    assert!(told.elapsed() >= Duration::from_secs(3));
    server.join();
}

#[test]
fn the_end_does_not_wait_for_ever() {
    let (slow, starts) = Slow::new();
    let mut limits = limits(1, 1);
    limits.drain_time = Duration::from_millis(100);
    let mut server = Running::start(Arc::new(Only(Arc::clone(&slow))), limits);
    let stream = begin(&server, ADA);
    starts.recv().unwrap();
    server.join();
    assert_eq!(slow.cancelled.load(Ordering::SeqCst), 1);
    let answer = Answer::read(stream);
    let told = answer.json();
    let kind = "/docs#problem-unavailable";
    assert_eq!((answer.status, told["type"].as_str()), (503, Some(kind)));
}

/// Asks for the description so often that no buffer takes the answers, and reads none.
fn ask_and_read_nothing(server: &Running) -> TcpStream {
    let request = server.request("GET /openapi.json", &[], b"");
    let request = String::from_utf8(request).unwrap();
    let request = request.replace("Connection: close\r\n", "");
    let stream = server.connect();
    stream.set_nonblocking(true).unwrap();
    // What does not go through is not needed any more.
    let _ = (&stream).write_all(request.repeat(1_000).as_bytes());
    stream
}

#[test]
fn who_reads_no_answer_holds_no_connection() {
    let mut limits = Limits::default();
    limits.connections = 2;
    limits.write_time = Duration::from_millis(300);
    let server = Running::with_limits(limits);
    for _ in 0..3 {
        let _deaf = [ask_and_read_nothing(&server), ask_and_read_nothing(&server)];
        assert_eq!(server.send("GET /healthz", &[], b"").status, 200);
    }
}

#[test]
fn a_connection_ends_with_its_last_request_and_with_its_time() {
    let mut few = Limits::default();
    few.connection_requests = 3;
    let mut short = Limits::default();
    short.connection_time = Duration::ZERO;
    let mut long = few.clone();
    for time in [
        &mut long.connection_time,
        &mut long.header_time,
        &mut long.body_time,
        &mut long.request_time,
        &mut long.batch_time,
        &mut long.write_time,
    ] {
        *time = Duration::MAX;
    }
    for count in [
        &mut long.connections,
        &mut long.peer_connections,
        &mut long.workers,
        &mut long.queue,
        &mut long.batch_workers,
        &mut long.batch_queue,
        &mut long.store_workers,
        &mut long.store_queue,
    ] {
        *count = usize::MAX;
    }
    for (limits, wanted) in [(few, 3), (short, 1), (long, 3)] {
        let server = Running::with_limits(limits);
        let request = server.request("GET /healthz", &[], b"");
        let request = String::from_utf8(request).unwrap();
        let request = request.replace("Connection: close\r\n", "");
        let mut stream = server.connect();
        let _ = stream.write_all(request.repeat(5).as_bytes());
        let mut said = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut said);
        let said = String::from_utf8(said).unwrap();
        assert_eq!(said.matches("HTTP/1.1 200").count(), wanted, "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn one_address_leaves_connections_to_others() {
    let mut limits = Limits::default();
    limits.peer_connections = 2;
    let server = Running::with_limits(limits);
    let ask = |mut stream: TcpStream| {
        let _ = stream.write_all(&server.request("GET /healthz", &[], b""));
        Answer::read(stream).status
    };
    let held = [server.connect(), server.connect()];
    // Connections are counted in the order in which they were made.
    assert_eq!(ask(server.connect()), 0);
    assert_eq!(ask(connect_from("127.0.0.2", &server)), 200);
    drop(held);
    wait_until(|| ask(server.connect()) == 200);
}

/// A connection from another address of the loopback.
#[cfg(target_os = "linux")]
fn connect_from(addr: &str, server: &Running) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{addr}:0").parse().unwrap()).unwrap();
        let stream = socket.connect(server.addr).await.unwrap();
        let stream = stream.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream
    })
}

/// A store that tells whether builds are one thread's, and know it.
struct Telling(Mutex<Sender<(bool, bool)>>);

#[async_trait]
impl Builds for Telling {
    async fn build(
        self: Arc<Self>,
        _: &Owner,
        _: PrimeRequest,
        _: &Job,
    ) -> Result<Prime, BackendError> {
        let is_alone = TaskScope::current().is_on_one_thread();
        let here = std::thread::current().id();
        let blocking = TaskScope::current().blocking(|| std::thread::current().id());
        let is_one = blocking.await.unwrap() == here;
        self.0.lock().unwrap().send((is_alone, is_one)).unwrap();
        no()
    }
}

#[test]
fn a_build_is_one_threads_where_there_are_no_more_than_two_cores_for_it_however_many_may_run() {
    for (cores, is_one) in [(1, true), (2, true), (3, false)] {
        let (tell, told) = channel();
        let mut limits = limits(1 + 7 * usize::from(is_one), 1);
        limits.cores = cores;
        let telling = Arc::new(Telling(Mutex::new(tell)));
        let server = Running::start(Arc::new(Only(telling)), limits);
        server.post(ADA, "/v1/context/build", &json!({"message": "x"}));
        assert_eq!(told.recv().unwrap(), (is_one, is_one), "{cores} cores");
    }
}
