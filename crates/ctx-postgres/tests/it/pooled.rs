//! A connection pooler between the client and the server.

use std::path::Path;
use std::sync::{Arc, Mutex};

use ctx_postgres::{Limits, Store, StoreError};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::server::Server;

const SOCKET: &str = ".s.PGSQL.5432";

/// A message as it is sent: what kind it is, its length, and what it says.
type Message = Vec<u8>;

/// A connection to the server, whose messages come one by one.
struct Backend {
    to: OwnedWriteHalf,
    from: UnboundedReceiver<Message>,
}

/// A pooler, as far as it matters here: each transaction has the connection that was given back
/// last, or a new one.
struct Pooler {
    server: Box<Path>,
    idle: Mutex<Vec<Backend>>,
}

impl Pooler {
    /// One before the server whose sockets are in that folder, and the folder of its own.
    fn before(server: &Path) -> TempDir {
        let folder = TempDir::with_prefix("ctx-pooler-").unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let pooler = Arc::new(Pooler {
            server: server.join(SOCKET).into(),
            idle: Mutex::default(),
        });
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let pooler = Arc::clone(&pooler);
                tokio::spawn(async move { pooler.serve(client).await });
            }
        });
        folder
    }

    /// A connection to the server that begins with `startup`, and what that was answered.
    async fn begin(&self, startup: &[u8]) -> (Backend, Vec<u8>) {
        let stream = UnixStream::connect(&self.server).await.unwrap();
        let (from, mut to) = stream.into_split();
        to.write_all(startup).await.unwrap();
        let mut from = messages(from);
        let mut answered = Vec::new();
        while let Some(message) = from.recv().await {
            answered.extend(&message);
            if message[0] == b'Z' {
                break;
            }
        }
        (Backend { to, from }, answered)
    }

    async fn serve(&self, client: UnixStream) -> Option<()> {
        let (mut from, mut to) = client.into_split();
        let length = from.read_u32().await.ok()?;
        let mut startup = length.to_be_bytes().to_vec();
        startup.resize(length as usize, 0);
        from.read_exact(&mut startup[4..]).await.ok()?;
        let (backend, answered) = self.begin(&startup).await;
        self.idle.lock().unwrap().push(backend);
        to.write_all(&answered).await.ok()?;
        let mut from = messages(from);
        while let Some(mut message) = from.recv().await {
            let idle = self.idle.lock().unwrap().pop();
            let mut backend = match idle {
                Some(backend) => backend,
                None => self.begin(&startup).await.0,
            };
            let mut awaited = 0;
            loop {
                awaited += i32::from(matches!(message[0], b'Q' | b'S'));
                backend.to.write_all(&message).await.ok()?;
                let next = loop {
                    tokio::select! {
                        next = from.recv() => break Some(next?),
                        answer = backend.from.recv() => {
                            let answer = answer?;
                            to.write_all(&answer).await.ok()?;
                            awaited -= i32::from(answer[0] == b'Z');
                            if awaited == 0 && answer[0] == b'Z' && answer[5] == b'I' {
                                break None;
                            }
                        }
                    }
                };
                match next {
                    Some(next) => message = next,
                    None => break,
                }
            }
            self.idle.lock().unwrap().push(backend);
        }
        Some(())
    }
}

/// The messages that are read of `half`, until it ends.
fn messages(mut half: OwnedReadHalf) -> UnboundedReceiver<Message> {
    let (tell, told) = unbounded_channel();
    tokio::spawn(async move {
        while let Some(message) = message(&mut half).await {
            if tell.send(message).is_err() {
                break;
            }
        }
    });
    told
}

async fn message(half: &mut OwnedReadHalf) -> Option<Message> {
    let mut message = vec![0; 5];
    half.read_exact(&mut message).await.ok()?;
    let length = u32::from_be_bytes(message[1..].try_into().unwrap());
    message.resize(1 + length as usize, 0);
    half.read_exact(&mut message[5..]).await.ok()?;
    Some(message)
}

#[tokio::test]
async fn a_pooler_of_transactions_is_told_at_once() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.database().await;
    let (place, rest) = url.split_once(' ').unwrap();
    let folder = Pooler::before(Path::new(place.strip_prefix("host=").unwrap()));
    let pooled = format!("host={} {rest}", folder.path().display());
    // It is one that answers.
    let client = ctx_testkit::postgres::raw(&pooled).await;
    let row = client.query_one("SELECT 1", &[]).await.unwrap();
    assert_eq!(row.get::<_, i32>(0), 1);
    for _ in 0..4 {
        let error = Store::connect(&pooled, Limits::default()).await;
        let error = error.unwrap_err();
        assert!(matches!(error, StoreError::Pooled), "{error}");
    }
    Store::connect(&url, Limits::default()).await.unwrap();
}
