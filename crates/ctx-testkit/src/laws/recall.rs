//! Laws of `ctx_service::Recall`.

use ctx_service::{PartRef, Recall};

/// Labels that no context gives.
const STRANGE: [&str; 6] = ["", "%", "no_such_label", "'; --", "\"chunkId\":\"\\", "☔"];

/// Checks that `recall` keeps the promises of [`Recall`], where a context of `thread` last showed
/// each label of `shown` for its part of a file, and no other thread was shown these labels:
///
/// * each label has its part, in the order of the labels, also of one that is asked for twice;
/// * the answer is the same as if each label was asked for alone;
/// * labels that were not shown have none, whatever characters they have, and neither have labels
///   of another thread.
///
/// # Panics
/// If a law does not hold, or if the record cannot be read.
pub async fn recall<R: Recall + ?Sized>(recall: &R, thread: &str, shown: &[(&str, PartRef)]) {
    assert!(!shown.is_empty(), "nothing was shown");
    let recalled = async |thread: &str, labels: &[&str]| {
        let labels: Vec<String> = labels.iter().map(|&it| it.to_owned()).collect();
        let parts = recall.parts(thread, &labels).await;
        let parts = parts.expect("what was shown");
        assert_eq!(parts.len(), labels.len(), "one answer for each label");
        parts
    };
    for (label, part) in shown {
        let alone = recalled(thread, &[label]).await;
        assert_eq!(alone, [Some(part.clone())], "what {label:?} was shown for");
    }
    let backwards = shown.iter().rev();
    let twice: Vec<_> = shown.iter().chain(backwards).collect();
    let labels: Vec<&str> = twice.iter().map(|it| it.0).collect();
    let parts: Vec<_> = twice.iter().map(|it| Some(it.1.clone())).collect();
    assert_eq!(recalled(thread, &labels).await, parts, "in the order asked");

    let between: Vec<&str> = STRANGE.iter().flat_map(|it| [*it, shown[0].0]).collect();
    let first = Some(shown[0].1.clone());
    let expected: Vec<_> = STRANGE.iter().flat_map(|_| [None, first.clone()]).collect();
    let found = recalled(thread, &between).await;
    assert_eq!(found, expected, "labels that were not shown");
    for other in ["", "another thread", &format!("{thread} ")] {
        let found = recalled(other, &labels).await;
        assert!(found.iter().all(Option::is_none), "of {other:?}: {found:?}");
    }
    assert!(recalled(thread, &[]).await.is_empty(), "no label, no part");
}
