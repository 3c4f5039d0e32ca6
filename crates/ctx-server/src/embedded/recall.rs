//! What threads were shown, from the stored receipts.

use std::sync::Arc;

use async_trait::async_trait;
use ctx_retrieve::{PortResult, is_awaited};
use ctx_service::{PartRef, Recall};
use rusqlite::params;

use super::blocking;
use super::database::{Database, Result, at_most};
use super::ports::answer;
use super::receipts::of_contexts;
use super::rows::CONTEXTS;
use crate::recall::{MOST_RECALLED, MOST_RECALLED_BYTES, Recalling};

/// The receipts of one owner.
pub(super) struct Receipts(pub(super) Arc<Database>);

#[async_trait]
impl Recall for Receipts {
    async fn parts(&self, thread: &str, labels: &[String]) -> PortResult<Vec<Option<PartRef>>> {
        let database = Arc::clone(&self.0);
        let (thread, labels) = (thread.to_owned(), labels.to_vec());
        answer(blocking(move || database.recalled(&thread, &labels, MOST_RECALLED)).await)
    }
}

impl Database {
    /// Searches the latest `most` stored contexts of the thread, latest first. O(bytes of their
    /// receipts).
    fn recalled(
        &self,
        thread: &str,
        labels: &[String],
        most: usize,
    ) -> Result<Vec<Option<PartRef>>> {
        let mut recalling = Recalling::new(thread, labels);
        for answered in self.unwritten().iter() {
            let of = answered.prime.thread.as_deref();
            recalling.look_at(of, &answered.prime.context.built.citations);
        }
        let contexts = self.contexts_reader();
        let of_thread = match thread {
            "" => "thread IS NULL AND ?1 = ''",
            _ => "thread = ?1",
        };
        let get = CONTEXTS.select(&format!("WHERE {of_thread} ORDER BY seq DESC LIMIT ?2"));
        let mut get = contexts.prepare_cached(&get).map_err(of_contexts)?;
        let rows = get.query(params![thread, at_most(most)]);
        let mut rows = rows.map_err(of_contexts)?;
        let mut bytes = 0;
        while !recalling.is_done()
            && bytes < MOST_RECALLED_BYTES
            && is_awaited()
            && let Some(row) = rows.next().map_err(of_contexts)?
        {
            let receipt = CONTEXTS.whole(row).and_then(|row| row.get_ref(3));
            let receipt = receipt.map_err(of_contexts)?;
            let receipt = receipt.as_str().unwrap_or_default();
            bytes += receipt.len();
            recalling.look_into(receipt);
        }
        Ok(recalling.parts())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ctx_assemble::Cancel;
    use ctx_model::BuildOptions;
    use ctx_testkit::laws;

    use super::*;
    use crate::backend::{Backend as _, PrimeRequest};
    use crate::embedded::Embedded;
    use crate::job::Job;
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

    #[tokio::test(flavor = "multi_thread")]
    async fn what_other_threads_were_shown_since_takes_no_labels_from_a_thread() {
        let folder = tempfile::tempdir().unwrap();
        let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
        let owner = Owner::new("ada").unwrap();
        let shown = shown(&backend, &owner).await;
        let request = PrimeRequest::new("slack_tide", BuildOptions::default());
        let job = Job::new(Cancel::new(), Duration::from_mins(1));
        backend.build(&owner, request, &job).await.unwrap();
        backend.settle().await;
        let store = backend.store(&owner).await.unwrap();
        let (labels, parts): (Vec<_>, Vec<_>) = shown.into_iter().unzip();
        let parts: Vec<_> = parts.into_iter().map(Some).collect();
        assert_eq!(store.database.recalled(THREAD, &labels, 1).unwrap(), parts);
        let none = store.database.recalled("", &labels, 1).unwrap();
        assert!(none.iter().all(Option::is_none), "{none:?}");
    }
}
