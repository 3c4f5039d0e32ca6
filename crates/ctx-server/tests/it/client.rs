//! A server for each test, and a client that sends exactly the given bytes.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ctx_server::{
    Backend, Credentials, Embedded, Limits, LiveCredentials, Options, Owner, Quota, Server,
};
use serde_json::Value;
use tokio::sync::oneshot;

/// The tokens that every server here knows.
pub(crate) const ADA: &str = "ada-0123456789abcdef";
pub(crate) const BOB: &str = "bob-0123456789abcdef";
pub(crate) const OPERATOR: &str = "operator-0123456789abcdef";
pub(crate) const EXPIRED: &str = "expired-0123456789abcdef";

/// A server that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    /// Who is let in.
    pub(crate) credentials: LiveCredentials,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Gone when the server is.
    folder: Option<tempfile::TempDir>,
    /// Is there for as long as the server is.
    #[cfg(all(unix, feature = "postgres"))]
    database: Option<Arc<ctx_testkit::postgres::Server>>,
}

impl Running {
    /// With the embedded store, in a folder of its own.
    pub(crate) fn embedded() -> Self {
        Running::with_limits(patient())
    }

    pub(crate) fn with_limits(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut running = Running::open(folder.path(), limits);
        running.folder = Some(folder);
        running
    }

    /// With the embedded store in `folder`, which outlives it.
    pub(crate) fn within(folder: &Path) -> Self {
        Running::open(folder, patient())
    }

    /// The same, within these limits.
    pub(crate) fn open(folder: &Path, limits: Limits) -> Self {
        let backend = Embedded::open(folder, Quota::default()).unwrap();
        Running::start(Arc::new(backend), limits)
    }

    /// With a database of its own; `None` where PostgreSQL is not installed.
    #[cfg(all(unix, feature = "postgres"))]
    pub(crate) fn postgres() -> Option<Self> {
        let database = ctx_testkit::postgres::Server::shared()?;
        let url = crate::postgres::block_on(database.database());
        let mut running = Running::over(&url);
        running.database = Some(database);
        Some(running)
    }

    /// With the database at `url`.
    #[cfg(all(unix, feature = "postgres"))]
    pub(crate) fn over(url: &str) -> Self {
        // A machine that is busy is no failure of the store.
        let limits = ctx_server::DatabaseLimits::default()
            .with_connections(4)
            .with_reading(Duration::from_mins(1));
        let backend = ctx_server::Postgres::connect(url, limits, Quota::default());
        let backend = crate::postgres::block_on(backend).unwrap();
        Running::start(Arc::new(backend), patient())
    }

    /// With this store.
    pub(crate) fn start(backend: Arc<dyn Backend>, limits: Limits) -> Self {
        Running::with(backend, Options::default().with_limits(limits))
    }

    /// Under this name, with an embedded store.
    pub(crate) fn called(host: &str) -> Self {
        Running::set_up(Options::default().with_hosts(vec![host.to_owned()]))
    }

    /// With an embedded store of its own, set up so.
    pub(crate) fn set_up(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
        let mut running = Running::with(Arc::new(backend), options);
        running.folder = Some(folder);
        running
    }

    /// With an embedded store, for the pages of these sites too.
    pub(crate) fn letting(origins: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
        let origins = origins.iter().map(|&it| it.to_owned()).collect();
        let options = Options::default().with_origins(origins);
        let mut running = Running::with(Arc::new(backend), options);
        running.folder = Some(folder);
        running
    }

    fn with(backend: Arc<dyn Backend>, options: Options) -> Self {
        let options = options.with_credentials(credentials());
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let any = "127.0.0.1:0".parse().unwrap();
                let server = Server::bind(any, backend, options).await.unwrap();
                tell.send((server.local_addr(), server.credentials()))
                    .unwrap();
                server.run(async { drop(stopped.await) }).await;
            });
            runtime.shutdown_timeout(Duration::from_secs(5));
        });
        let (addr, credentials) = told.recv().unwrap();
        Running {
            addr,
            credentials,
            stop: Some(stop),
            thread: Some(thread),
            folder: None,
            #[cfg(all(unix, feature = "postgres"))]
            database: None,
        }
    }

    /// Asks it to stop.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until it has stopped.
    pub(crate) fn join(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr).unwrap();
        // A batch that waits for a busy disk takes its time.
        stream
            .set_read_timeout(Some(Duration::from_mins(2)))
            .unwrap();
        stream
    }

    /// Sends `head` lines and `body` as they are, with the host, the length and
    /// `Connection: close`.
    pub(crate) fn send(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        // It may have been answered, and closed, before all of it was sent.
        let _ = stream.write_all(&self.request(line, headers, body));
        Answer::read(stream)
    }

    pub(crate) fn request(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let mut head = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|it| it.0 == "Host") {
            write!(head, "Host: {}\r\n", self.addr).unwrap();
        }
        if !body.is_empty() && !headers.iter().any(|it| it.0 == "Content-Length") {
            write!(head, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        head += "\r\n";
        [head.as_bytes(), body].concat()
    }

    /// Asks, and reads nothing of the answer yet. `line` is a method and a path.
    pub(crate) fn begin(&self, token: &str, line: &str, body: &Value) -> TcpStream {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
        ];
        let mut stream = self.connect();
        let request = self.request(line, &headers, body.to_string().as_bytes());
        stream.write_all(&request).unwrap();
        stream
    }

    pub(crate) fn get(&self, token: &str, path: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        self.send(&format!("GET {path}"), &[("Authorization", &bearer)], b"")
    }

    pub(crate) fn post(&self, token: &str, path: &str, body: &Value) -> Answer {
        self.post_with(token, path, body, &[])
    }

    pub(crate) fn patch(&self, token: &str, path: &str, body: &Value) -> Answer {
        Answer::read(self.begin(token, &format!("PATCH {path}"), body))
    }

    pub(crate) fn post_with(
        &self,
        token: &str,
        path: &str,
        body: &Value,
        more: &[(&str, &str)],
    ) -> Answer {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
        ];
        headers.extend(more);
        let body = match body {
            Value::String(raw) => raw.clone().into_bytes(),
            body => body.to_string().into_bytes(),
        };
        self.send(&format!("POST {path}"), &headers, &body)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(folder) = self.folder.take() {
            let _ = folder.close();
        }
    }
}

/// Limits that a busy machine does not come to.
pub(crate) fn patient() -> Limits {
    let mut limits = Limits::default();
    limits.request_time = Duration::from_mins(5);
    limits.batch_time = Duration::from_mins(5);
    limits.source_time = Duration::from_mins(1);
    limits.queue_time = Duration::from_mins(1);
    limits.batch_queue_time = Duration::from_mins(1);
    limits
}

fn credentials() -> Credentials {
    let owner = |name| Owner::new(name).unwrap();
    let mut credentials = Credentials::parse(&format!(
        "# tokens\n\n{} expires=1\n",
        Credentials::line(&owner("ada"), EXPIRED)
    ))
    .unwrap();
    credentials.add(owner("ada"), ADA);
    credentials.add(owner("bob"), BOB);
    credentials.add_operator(owner("root"), OPERATOR);
    credentials
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// Reads until the other side ends.
    pub(crate) fn read(mut stream: TcpStream) -> Answer {
        let mut bytes = Vec::new();
        // A connection that is reset has said what it had to say.
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }

    /// The same, where the connection must not be reset.
    #[track_caller]
    pub(crate) fn read_all(mut stream: TcpStream) -> Answer {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|it| it.split(' ').nth(1));
        let headers: Vec<(String, String)> = lines
            .filter_map(|it| it.split_once(':'))
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let is_chunked = headers.iter().any(|it| it.1 == "chunked");
        Answer {
            status: status.and_then(|it| it.parse().ok()).unwrap_or(0),
            headers,
            body: if is_chunked {
                joined(body)
            } else {
                body.to_owned()
            },
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|it| it.0 == name);
        found.map(|it| it.1.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The `data` of an answer of this status.
    #[track_caller]
    pub(crate) fn data(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()["data"].clone()
    }

    /// Holds a refusal against its status and field.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, field: &str) {
        assert_eq!(self.status, status, "{self:?}");
        let kind = self.header("content-type");
        assert_eq!(kind, Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], status, "{self:?}");
        assert_eq!(problem["field"].as_str().unwrap_or(""), field, "{self:?}");
        let id = self.header("x-request-id").expect("each answer has one");
        assert_eq!(problem["requestId"], id, "{self:?}");
        for said in ["type", "title", "detail"] {
            assert!(problem[said].is_string(), "{said} in {self:?}");
        }
    }
}

/// A chunked body in one piece.
fn joined(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        whole += &rest[..size];
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}
