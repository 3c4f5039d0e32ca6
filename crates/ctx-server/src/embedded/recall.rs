//! What threads were shown, from the stored receipts.

use std::sync::Arc;

use async_trait::async_trait;
use ctx_retrieve::{PortResult, is_awaited};
use ctx_service::{PartRef, Recall};

use super::blocking;
use super::database::{Database, Result, at_most};
use super::ports::answer;
use super::receipts::of_contexts;
use super::rows::CONTEXTS;
use crate::recall::{MOST_RECALLED, Recalling};

/// The receipts of one owner.
pub(super) struct Receipts(pub(super) Arc<Database>);

#[async_trait]
impl Recall for Receipts {
    async fn parts(&self, thread: &str, labels: &[String]) -> PortResult<Vec<Option<PartRef>>> {
        let database = Arc::clone(&self.0);
        let (thread, labels) = (thread.to_owned(), labels.to_vec());
        answer(blocking(move || database.recalled(&thread, &labels)).await)
    }
}

impl Database {
    /// Searches the latest stored contexts, latest first. O(bytes of their receipts).
    fn recalled(&self, thread: &str, labels: &[String]) -> Result<Vec<Option<PartRef>>> {
        let mut recalling = Recalling::new(thread, labels);
        for answered in self.unwritten().iter() {
            let of = answered.prime.thread.as_deref();
            recalling.look_at(of, &answered.prime.context.built.citations);
        }
        let contexts = self.contexts_reader();
        let get = CONTEXTS.select("ORDER BY seq DESC LIMIT ?1");
        let mut get = contexts.prepare_cached(&get).map_err(of_contexts)?;
        let mut rows = get.query([at_most(MOST_RECALLED)]).map_err(of_contexts)?;
        while !recalling.is_done()
            && is_awaited()
            && let Some(row) = rows.next().map_err(of_contexts)?
        {
            let receipt = CONTEXTS.whole(row).and_then(|row| row.get_ref(3));
            let receipt = receipt.map_err(of_contexts)?;
            recalling.look_into(receipt.as_str().unwrap_or_default());
        }
        Ok(recalling.parts())
    }
}

#[cfg(test)]
mod tests {
    use ctx_testkit::laws;

    use super::*;
    use crate::backend::Backend as _;
    use crate::embedded::Embedded;
    use crate::recall::tests::{THREAD, shown};
    use crate::{Owner, Quota};

    #[tokio::test(flavor = "multi_thread")]
    async fn receipts_keep_the_law_before_and_after_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
        let owner = Owner::new("ada").unwrap();
        let shown = shown(&backend, &owner).await;
        let shown: Vec<_> = shown.iter().map(|it| (&*it.0, it.1.clone())).collect();
        let store = backend.store(&owner).await.unwrap();
        let receipts = Receipts(Arc::clone(&store.database));
        laws::recall(&receipts, THREAD, &shown).await;
        backend.settle().await;
        laws::recall(&receipts, THREAD, &shown).await;
    }
}
