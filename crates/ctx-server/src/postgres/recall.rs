//! What threads were shown, from the stored receipts.

use std::sync::Arc;

use async_trait::async_trait;
use ctx_postgres::OwnedStore;
use ctx_retrieve::{PortError, PortResult};
use ctx_service::{PartRef, Recall};

use crate::recall::{MOST_RECALLED, MOST_RECALLED_BYTES, Recalling, field};

/// The receipts of one owner.
pub(super) struct Receipts(pub(super) Arc<OwnedStore>);

#[async_trait]
impl Recall for Receipts {
    async fn parts(&self, thread: &str, labels: &[String]) -> PortResult<Vec<Option<PartRef>>> {
        let fields: Vec<String> = labels.iter().map(|it| field(it)).collect();
        let of = Some(thread).filter(|it| !it.is_empty());
        let receipts = self
            .0
            .contexts_with(of, &fields, MOST_RECALLED, MOST_RECALLED_BYTES);
        let receipts = receipts.await.map_err(PortError::from)?;
        let mut recalling = Recalling::new(thread, labels);
        for receipt in &receipts {
            recalling.look_into(receipt);
        }
        Ok(recalling.parts())
    }
}
