//! What threads were shown, according to the receipts of their contexts.

use std::collections::BTreeSet;

use ctx_model::{Citation, LineSpan};
use ctx_service::PartRef;
use serde::Deserialize;

/// The most receipts of a thread that are searched, latest first: reading all that may be stored
/// would take seconds.
pub(crate) const MOST_RECALLED: usize = 1_024;
/// The bytes of receipts after which no earlier one is searched.
pub(crate) const MOST_RECALLED_BYTES: usize = 16 << 20;

/// Looks up labels in a series of receipts.
pub(crate) struct Recalling<'a> {
    thread: &'a str,
    labels: &'a [String],
    parts: Vec<Option<PartRef>>,
}

/// The fields of a stored receipt that map labels to sources.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredReceipt {
    #[serde(default)]
    thread_id: Option<String>,
    receipt: StoredContext,
}

#[derive(Deserialize)]
struct StoredContext {
    citations: Vec<Citation>,
}

impl<'a> Recalling<'a> {
    /// Looks for `labels` that `thread` was shown.
    pub(crate) fn new(thread: &'a str, labels: &'a [String]) -> Self {
        Recalling {
            thread,
            labels,
            parts: vec![None; labels.len()],
        }
    }

    /// Whether all labels were found.
    #[cfg(feature = "embedded")]
    pub(crate) fn is_done(&self) -> bool {
        self.parts.iter().all(Option::is_some)
    }

    /// Searches a receipt in its stored form; one that cannot be parsed is skipped. O(bytes).
    pub(crate) fn look_into(&mut self, receipt: &str) {
        let parts = self.labels.iter().zip(&self.parts);
        let missing = parts.filter_map(|(label, part)| part.is_none().then_some(label.as_str()));
        let missing: BTreeSet<&str> = missing.collect();
        let mut issued = receipt.split(FIELD).skip(1);
        let is_missing = |rest: &str| {
            rest.split_once('"')
                .is_some_and(|it| missing.contains(it.0))
        };
        if !issued.any(is_missing) {
            return;
        }
        if let Ok(kept) = serde_json::from_str::<StoredReceipt>(receipt) {
            self.look_at(kept.thread_id.as_deref(), &kept.receipt.citations);
        }
    }

    /// Searches the citations of a context of `thread`.
    pub(crate) fn look_at(&mut self, thread: Option<&str>, citations: &[Citation]) {
        if thread.unwrap_or_default() != self.thread {
            return;
        }
        for (label, part) in self.labels.iter().zip(&mut self.parts) {
            // If several chunks are shown together, the first citation with the label covers all of
            // them, and the last only the label's own lines.
            let cited = citations.iter().rev().find(|it| it.chunk_id == *label);
            *part = part.take().or_else(|| cited.and_then(part_of));
        }
    }

    /// The parts of files, in the order of the labels.
    pub(crate) fn parts(self) -> Vec<Option<PartRef>> {
        self.parts
    }
}

/// What comes before each label that a receipt issued. Text within a context cannot contain it,
/// since its quotation marks are escaped.
const FIELD: &str = "\"chunkId\":\"";

/// The JSON that a receipt contains if it issued `label`.
#[cfg(feature = "postgres")]
pub(crate) fn field(label: &str) -> String {
    format!("{FIELD}{label}\"")
}

fn part_of(citation: &Citation) -> Option<PartRef> {
    let lines = LineSpan::new(citation.start_line?, citation.end_line?).ok()?;
    let path = citation.file_path.clone()?;
    Some(PartRef { path, lines })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use ctx_assemble::Cancel;
    use ctx_model::BuildOptions;

    use super::*;
    use crate::Owner;
    use crate::backend::{Backend, NewFile, NewThread, PrimeRequest};
    use crate::job::Job;

    /// The thread of [`shown`].
    pub(crate) const THREAD: &str = "tides";

    /// What a context of [`THREAD`] shows, by label: parts of files that are kept for it.
    pub(crate) async fn shown(backend: &dyn Backend, owner: &Owner) -> Vec<(String, PartRef)> {
        let file = |name: &str| NewFile {
            path: format!("{name}.rs"),
            content: format!("fn {name}_tide() -> u32 {{\n    moon()\n}}\n"),
        };
        let files = ["neap", "spring", "slack"].map(file).to_vec();
        backend.ingest(owner, files).await.unwrap();
        let thread = NewThread {
            id: Some(THREAD.to_owned()),
            title: None,
            pinned: Vec::new(),
        };
        backend.create_thread(owner, thread).await.unwrap();
        let mut request = PrimeRequest::new("neap_tide, spring_tide", BuildOptions::default());
        request.thread = Some(THREAD.to_owned());
        let job = Job::new(Cancel::new(), Duration::from_mins(1));
        let prime = backend.build(owner, request, &job).await.unwrap();
        let cited = prime.context.built.citations.iter();
        let shown = cited.filter_map(|it| Some((it.chunk_id.clone(), part_of(it)?)));
        let shown: Vec<_> = shown.collect();
        assert!(shown.len() > 1, "{shown:?}");
        shown
    }
}
