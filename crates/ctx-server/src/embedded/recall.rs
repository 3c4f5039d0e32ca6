//! What threads were shown.

use std::sync::Arc;

use async_trait::async_trait;
use ctx_retrieve::{Answer, PortError};
use ctx_service::{Place, Recall};

use super::blocking;
use super::database::{Database, Result, read_failed};
use crate::recall::Recalling;

/// The receipts of one owner.
pub(super) struct Receipts(pub(super) Arc<Database>);

#[async_trait]
impl Recall for Receipts {
    async fn places(&self, thread: &str, labels: &[String]) -> Answer<Vec<Option<Place>>> {
        let database = Arc::clone(&self.0);
        let (thread, labels) = (thread.to_owned(), labels.to_vec());
        let places = blocking(move || database.places(&thread, &labels)).await;
        places.map_err(|error| PortError(error.to_string()))
    }
}

impl Database {
    /// Looks through the contexts that are kept, the latest first. O(bytes of their receipts).
    fn places(&self, thread: &str, labels: &[String]) -> Result<Vec<Option<Place>>> {
        let mut recalling = Recalling::new(thread, labels);
        for prime in self.unwritten().values() {
            let of = prime.thread.as_deref();
            recalling.look_at(of, &prime.context.built.citations);
        }
        let contexts = self.contexts_reader();
        let mut get = contexts
            .prepare_cached("SELECT receipt FROM contexts ORDER BY seq DESC")
            .map_err(read_failed)?;
        let mut rows = get.query([]).map_err(read_failed)?;
        while !recalling.is_done()
            && let Some(row) = rows.next().map_err(read_failed)?
        {
            let receipt = row.get_ref(0).map_err(read_failed)?;
            recalling.look_into(receipt.as_str().unwrap_or_default());
        }
        Ok(recalling.places())
    }
}
