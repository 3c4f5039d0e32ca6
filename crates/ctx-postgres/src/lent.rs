//! Connections taken from the pool, and what happens to them if their user is dropped.

use std::ops::{Deref, DerefMut};

use deadpool_postgres::{Client, Object};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_postgres::NoTls;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;
use crate::transaction::SLACK;

/// A connection taken from the pool, to be returned together with the result of its use. If it is
/// dropped before that, its statements may still be running and would delay the next user, as the
/// server answers in order: they are cancelled and the connection is closed.
pub(crate) struct Lent {
    /// `None` once it is returned.
    client: Option<Client>,
    tls: Option<MakeRustlsConnect>,
}

impl Lent {
    /// A connection that was made with `tls` if it is encrypted.
    pub(crate) fn new(client: Client, tls: Option<MakeRustlsConnect>) -> Self {
        Lent {
            client: Some(client),
            tls,
        }
    }

    /// Returns the connection to the pool after a use with the result `done`. If the server was
    /// silent or ended the connection, it is closed instead and makes way for a new one: the next
    /// user would first wait for the same answer, or get none. That the server closed it may be
    /// noticed only some time after the server has said so.
    pub(crate) fn given_back<T>(mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        let client = self.client.take();
        if done.as_ref().is_err_and(StoreError::is_of_connection) {
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

/// Cancels what runs on `client`, for which no caller waits any more, and then closes it, at the
/// latest after a time limit. Until then it counts among the connections of the pool.
///
/// The connection is not reused: the server may act on a cancellation after it was sent, and if
/// nothing was running any more, that would end the next statement on the connection.
async fn left(client: Client, tls: Option<MakeRustlsConnect>) {
    let ended = async {
        let running = client.cancel_token();
        match tls {
            Some(tls) => running.cancel_query(tls).await?,
            None => running.cancel_query(NoTls).await?,
        }
        // It is answered after everything sent before.
        client.batch_execute("").await
    };
    let _ = timeout(SLACK, ended).await;
    drop(Object::take(client));
}
