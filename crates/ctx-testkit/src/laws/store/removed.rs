//! Removed files are not among the recent ones.

use ctx_model::UnixSeconds;
use ctx_retrieve::{Feedback, Usage, Usefulness, Vote};

use super::{corpus, owned};

/// Checks that a file that `remove` removes from `store` is not among the files shown last, not
/// even after `restore` has brought it back with its text, until it is shown again; and that its
/// count of uses is unchanged. Needs a `store` that holds [`corpus`] and was not used before.
///
/// # Panics
/// If the law does not hold.
pub async fn removed<S: Usage + Feedback + ?Sized>(
    store: &S,
    remove: impl AsyncFn(&str),
    restore: impl AsyncFn(&str, &str),
) {
    let (gone, stays) = ("src/config.rs", "src/retry.rs");
    let shown = async |paths: &[&str], at| {
        store
            .shown(&owned(paths), UnixSeconds::new(at))
            .await
            .expect("noted");
    };
    let recent = async || store.recent(10).await.expect("recent files");
    let told = |path: &str, at: i64| (path.to_owned(), UnixSeconds::new(at));
    shown(&[gone, stays], 100).await;
    let vote = Vote::new("a vote", gone, Usefulness::Useful, UnixSeconds::new(100));
    assert!(store.vote(&vote).await.expect("a vote"));
    assert_eq!(recent().await, [told(stays, 100), told(gone, 100)]);
    remove(gone).await;
    assert_eq!(recent().await, [told(stays, 100)], "it was removed");
    let corpus = corpus();
    let text = corpus.iter().find(|it| it.0 == gone).map(|it| it.1);
    restore(gone, text.expect("it is there")).await;
    assert_eq!(recent().await, [told(stays, 100)], "it came back");
    let counts = store.counts(&owned(&[gone])).await.expect("counts");
    assert_eq!(counts.get(gone), Some(&1), "how often it was of use stays");
    shown(&[gone], 200).await;
    assert_eq!(recent().await, [told(gone, 200), told(stays, 100)]);
}
