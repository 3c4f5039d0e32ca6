//! What threads were shown, as the receipts of their contexts tell.

use ctx_model::{Citation, LineSpan};
use ctx_service::Place;
use serde::Deserialize;

/// So many receipts are looked through, the latest: to read all that may be kept would take seconds.
pub(crate) const MOST_RECALLED: usize = 1_024;

/// Looks labels up in receipts, one after the other.
pub(crate) struct Recalling<'a> {
    thread: &'a str,
    labels: &'a [String],
    places: Vec<Option<Place>>,
}

/// As much of a receipt, in the form in which it is kept, as tells what it calls what.
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

    /// Whether there is nothing left to look for.
    #[cfg(feature = "embedded")]
    pub(crate) fn is_done(&self) -> bool {
        self.places.iter().all(Option::is_some)
    }

    /// Looks into a receipt in the form in which it is kept. What cannot be read tells nothing. O(bytes).
    pub(crate) fn look_into(&mut self, receipt: &str) {
        let mut missing = self.labels.iter().zip(&self.places);
        if !missing.any(|(label, place)| place.is_none() && receipt.contains(&field(label))) {
            return;
        }
        if let Ok(kept) = serde_json::from_str::<Kept>(receipt) {
            self.look_at(kept.thread_id.as_deref(), &kept.receipt.citations);
        }
    }

    /// Looks at the citations of a context of `thread`.
    pub(crate) fn look_at(&mut self, thread: Option<&str>, citations: &[Citation]) {
        if thread.unwrap_or_default() != self.thread {
            return;
        }
        for (label, place) in self.labels.iter().zip(&mut self.places) {
            // Of lines that are shown together the first is of all, and the last of those of the label.
            let cited = citations.iter().rev().find(|it| it.chunk_id == *label);
            *place = place.take().or_else(|| cited.and_then(place_of));
        }
    }

    /// The parts of files, in the order of the labels.
    pub(crate) fn places(self) -> Vec<Option<Place>> {
        self.places
    }
}

/// What a receipt that gave `label` out has in it. What is said in a context has its quotation marks escaped.
pub(crate) fn field(label: &str) -> String {
    format!("\"chunkId\":\"{label}\"")
}

fn place_of(citation: &Citation) -> Option<Place> {
    let lines = LineSpan::new(citation.start_line?, citation.end_line?).ok()?;
    let path = citation.file_path.clone()?;
    Some(Place { path, lines })
}
