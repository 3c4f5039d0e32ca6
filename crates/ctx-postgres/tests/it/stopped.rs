//! A process that is stopped in the middle of a transaction.

use std::path::Path;
use std::time::Duration;

use ctx_model::UnixSeconds;
use ctx_postgres::{Limits, Store};
use ctx_retrieve::{Message, Threads as _};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use crate::server::{Server, raw};
use crate::texts;

const SOCKET: &str = ".s.PGSQL.5432";

/// A way to the server whose sockets are in that folder, by the folder of its own. Nothing goes
/// through while it is shut, and no connection is closed.
fn way(server: &Path) -> (TempDir, watch::Sender<bool>) {
    let folder = TempDir::with_prefix("ctx-way-").unwrap();
    let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
    let server = server.join(SOCKET);
    let (shut, is_shut) = watch::channel(false);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = UnixStream::connect(&server).await.unwrap();
            let (from, to) = client.into_split();
            let (answers, asked) = server.into_split();
            tokio::spawn(carry(from, asked, is_shut.clone()));
            tokio::spawn(carry(answers, to, is_shut.clone()));
        }
    });
    (folder, shut)
}

async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut is_shut: watch::Receiver<bool>,
) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let is_gone = is_shut.wait_for(|it| !it).await.is_err();
        if is_gone || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
    // Nor is it told that the other end is gone.
    let _ = is_shut.wait_for(|it| !it).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_stops_in_a_transaction_keeps_no_others_from_writing() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.database().await;
    let (place, rest) = url.split_once(' ').unwrap();
    let (folder, shut) = way(Path::new(place.strip_prefix("host=").unwrap()));
    let through = format!("host={} {rest}", folder.path().display());
    let mut limits = Limits::default();
    limits.writing = Duration::from_secs(3);
    let stopped = Store::connect(&through, limits).await.unwrap();
    stopped.migrate().await.unwrap();
    let stopped = stopped.owner("alice").unwrap();
    stopped.ingest(texts([("a.rs", "a")])).await.unwrap();
    let other = Store::connect(&url, Limits::default()).await.unwrap();
    let other = other.owner("alice").unwrap();
    // It is its turn, and it waits for a row.
    let mut holder = raw(&url).await;
    let held = holder.transaction().await.unwrap();
    let row = "SELECT FROM ctx.owners WHERE owner = 'alice' FOR UPDATE";
    held.execute(row, &[]).await.unwrap();
    let task = tokio::spawn(async move { stopped.ingest(texts([("a.rs", "b")])).await });
    let look = raw(&url).await;
    let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock')";
    while !look.query_one(waits, &[]).await.unwrap().get::<_, bool>(0) {
        tokio::task::yield_now().await;
    }
    shut.send(true).unwrap();
    held.rollback().await.unwrap();
    let stored = other.ingest(texts([("a.rs", "c")])).await.unwrap();
    assert_eq!(stored.stored, 1);
    shut.send(false).unwrap();
    let refused = task.await.unwrap().unwrap_err();
    assert!(refused.is_away(), "{refused:?}");
    let text = other.text("a.rs").await.unwrap();
    assert_eq!(text.as_deref(), Some("c"));
}

#[tokio::test]
async fn the_server_notices_a_connection_that_leads_nowhere_as_soon_as_the_client() {
    let port = crate::encryption::port();
    let at = format!("port={port}");
    // What its owner says of a server is heeded.
    let said = [
        "fsync=off",
        "listen_addresses=127.0.0.1",
        &at,
        "tcp_keepalives_count=7",
    ];
    let said: Vec<&str> = said.into_iter().flat_map(|it| ["-c", it]).collect();
    let Some(_server) = Server::start(&said) else {
        return;
    };
    let url = format!("host=127.0.0.1 port={port} user=ctx dbname=postgres");
    let store = Store::connect(&url, Limits::default()).await.unwrap();
    store.migrate().await.unwrap();
    let names = "ARRAY['tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout']";
    let trigger = format!(
        "CREATE TABLE public.said (name text, value text);
         CREATE FUNCTION public.say() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN
             INSERT INTO public.said SELECT it, current_setting(it) FROM unnest({names}) it;
             RETURN NEW;
         END $$;
         CREATE TRIGGER say BEFORE INSERT ON ctx.messages FOR EACH ROW EXECUTE FUNCTION public.say();"
    );
    let client = raw(&url).await;
    client.batch_execute(&trigger).await.unwrap();
    let message = Message::new("m", "user", "said", UnixSeconds::new(1));
    let owned = store.owner("alice").unwrap();
    owned.append("t", &message).await.unwrap();
    let rows = client.query("SELECT value FROM public.said", &[]).await;
    let rows = rows.unwrap();
    let values: Vec<&str> = rows.iter().map(|it| it.get(0)).collect();
    assert_eq!(values, ["15", "5", "7", "30000"]);
}
