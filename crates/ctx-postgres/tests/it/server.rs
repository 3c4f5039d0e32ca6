//! Gives each test a store in a database of its own.

use std::sync::Arc;
use std::time::Duration;

use ctx_postgres::{Limits, OwnedStore, Store};
pub(crate) use ctx_testkit::postgres::{Server, raw};

/// Takes back what the steps of the migration from 19 on did.
pub(crate) const AS_OF_18: &str = "
    ALTER TABLE ctx.contexts DROP COLUMN thread;
    DROP FUNCTION ctx.number_activity CASCADE;
    DROP INDEX ctx.threads_activity;
    ALTER TABLE ctx.threads DROP COLUMN activity;
    ALTER TABLE ctx.threads RENAME COLUMN active_at TO changed_at;
    UPDATE ctx.threads SET changed_at = changed_at / 1000;
    CREATE INDEX threads_changed ON ctx.threads (owner, changed_at);
    ALTER TABLE ctx.said DROP COLUMN active;
    DELETE FROM ctx.version WHERE version > 18;";

/// Statements that read have a minute: a machine that is busy is no failure of the store.
pub(crate) fn patient() -> Limits {
    Limits::default().with_reading(Duration::from_mins(1))
}

/// A server of one test, which makes roles. None of these is killed, so nothing has to be on the
/// disk.
pub(crate) fn alone() -> Option<Server> {
    Server::start(&["-c", "fsync=off"])
}

/// A store in a database of its own.
pub(crate) struct Fresh {
    pub(crate) server: Arc<Server>,
    pub(crate) url: String,
    pub(crate) store: Store,
}

impl Fresh {
    /// `None` where PostgreSQL is not installed.
    pub(crate) async fn new() -> Option<Fresh> {
        Self::with(patient()).await
    }

    pub(crate) async fn with(limits: Limits) -> Option<Fresh> {
        Some(Self::on(Server::shared()?, limits).await)
    }

    /// On a server of its own: roles are a server's, and other tests make some of the same name.
    pub(crate) async fn alone() -> Option<Fresh> {
        Some(Self::on(Arc::new(alone()?), patient()).await)
    }

    /// On a server of its own, whose log has every statement.
    pub(crate) async fn logged() -> Option<Fresh> {
        let server = Server::start(&["-c", "fsync=off", "-c", "log_statement=all"])?;
        Some(Self::on(Arc::new(server), patient()).await)
    }

    /// On a server of its own, whose policies bind nobody: what keeps owners apart then is what
    /// each statement says.
    pub(crate) async fn unbound() -> Option<Fresh> {
        let fresh = Self::alone().await?;
        let client = raw(&fresh.url).await;
        let unbound = "ALTER ROLE ctx_app BYPASSRLS; ALTER ROLE ctx_search BYPASSRLS";
        client.batch_execute(unbound).await.unwrap();
        Some(fresh)
    }

    async fn on(server: Arc<Server>, limits: Limits) -> Fresh {
        let url = server.database().await;
        let store = Store::connect(&url, limits).await.unwrap();
        store.migrate().await.unwrap();
        Fresh { server, url, store }
    }

    pub(crate) fn owner(&self, name: &str) -> OwnedStore {
        self.store.owner(name).unwrap()
    }
}
