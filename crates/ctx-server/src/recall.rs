//! What threads were shown, according to the receipts of their contexts.

use ctx_model::{Citation, LineSpan};
use ctx_service::PartRef;
use serde::Deserialize;

/// The most receipts that are searched, latest first: reading all that may be stored would take
/// seconds.
pub(crate) const MOST_RECALLED: usize = 1_024;

/// Looks up labels in a series of receipts.
pub(crate) struct Recalling<'a> {
    thread: &'a str,
    labels: &'a [String],
    places: Vec<Option<PartRef>>,
}

/// The fields of a stored receipt that map labels to sources.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    #[serde(default)]
    thread_id: Option<String>,
    receipt: KeptContext,
}

#[derive(Deserialize)]
struct KeptContext {
    citations: Vec<Citation>,
}

impl<'a> Recalling<'a> {
    /// Looks for `labels` that `thread` was shown.
    pub(crate) fn new(thread: &'a str, labels: &'a [String]) -> Self {
        Recalling {
            thread,
            labels,
            places: vec![None; labels.len()],
        }
    }

    /// Whether all labels were found.
    #[cfg(feature = "embedded")]
    pub(crate) fn is_done(&self) -> bool {
        self.places.iter().all(Option::is_some)
    }

    /// Searches a receipt in its stored form; one that cannot be parsed is skipped. O(bytes).
    pub(crate) fn look_into(&mut self, receipt: &str) {
        let mut missing = self.labels.iter().zip(&self.places);
        if !missing.any(|(label, place)| place.is_none() && receipt.contains(&field(label))) {
            return;
        }
        if let Ok(kept) = serde_json::from_str::<Kept>(receipt) {
            self.look_at(kept.thread_id.as_deref(), &kept.receipt.citations);
        }
    }

    /// Searches the citations of a context of `thread`.
    pub(crate) fn look_at(&mut self, thread: Option<&str>, citations: &[Citation]) {
        if thread.unwrap_or_default() != self.thread {
            return;
        }
        for (label, place) in self.labels.iter().zip(&mut self.places) {
            // If several chunks are shown together, the first citation with the label covers all of
            // them, and the last only the label's own lines.
            let cited = citations.iter().rev().find(|it| it.chunk_id == *label);
            *place = place.take().or_else(|| cited.and_then(place_of));
        }
    }

    /// The parts of files, in the order of the labels.
    pub(crate) fn places(self) -> Vec<Option<PartRef>> {
        self.places
    }
}

/// The JSON that a receipt contains if it issued `label`. Text within a context cannot contain it,
/// since its quotation marks are escaped.
pub(crate) fn field(label: &str) -> String {
    format!("\"chunkId\":\"{label}\"")
}

fn place_of(citation: &Citation) -> Option<PartRef> {
    let lines = LineSpan::new(citation.start_line?, citation.end_line?).ok()?;
    let path = citation.file_path.clone()?;
    Some(PartRef { path, lines })
}
