//! Connections that somebody has, and what becomes of them when they go away.

use std::ops::{Deref, DerefMut};

use deadpool_postgres::{Client, Object};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_postgres::NoTls;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;
use crate::transaction::SLACK;

/// A connection, which is given back with what was done on it. Who is dropped before leaves statements on it that run, and it
/// answers in order: they are ended, and it is nobody's any more.
pub(crate) struct Lent {
    /// None once it is given back.
    client: Option<Client>,
    tls: Option<MakeRustlsConnect>,
}

impl Lent {
    /// A connection that was made by `tls`, where it is encrypted.
    pub(crate) fn new(client: Client, tls: Option<MakeRustlsConnect>) -> Self {
        Lent {
            client: Some(client),
            tls,
        }
    }

    /// Gives it back to the others, once this was `done` with it. A connection on which the server was silent is closed, and
    /// makes way for a new one: who had it next would wait for the same answer first.
    pub(crate) fn given_back<T>(mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        let client = self.client.take();
        if matches!(done, Err(StoreError::Silent { .. })) {
            drop(client.map(Object::take));
        }
        done
    }
}

impl Deref for Lent {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client
            .as_ref()
            .expect("who gives it back has it no more")
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Client {
        self.client
            .as_mut()
            .expect("who gives it back has it no more")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(left(client, self.tls.take()))),
            Err(_) => drop(Object::take(client)),
        }
    }
}

/// Ends what runs on `client`, for which nobody waits any more, and closes it then, or once that takes long. Until then it counts
/// among the connections that there may be.
///
/// Nobody has it again: the server acts on a cancellation after it has taken it, and where nothing ran any more, it would end
/// the next statement on the connection.
async fn left(client: Client, tls: Option<MakeRustlsConnect>) {
    let ended = async {
        let running = client.cancel_token();
        match tls {
            Some(tls) => running.cancel_query(tls).await?,
            None => running.cancel_query(NoTls).await?,
        }
        // It comes after all that was asked before.
        client.batch_execute("").await
    };
    let _ = timeout(SLACK, ended).await;
    drop(Object::take(client));
}
