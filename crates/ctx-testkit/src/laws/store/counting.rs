//! By presence, a term counts once per document, in whichever fields it occurs.

use std::collections::BTreeMap;

use ctx_retrieve::{Field, Hit, TextQuery};

use super::{Ports, wanted};

/// Stores may round their scores to four digits, and two scores are summed.
const SLACK: f64 = 2e-4;

type Scores = BTreeMap<String, f64>;

fn by_part(hits: &[Hit]) -> Scores {
    let score = |it: &Hit| (format!("{}:{}", it.path, it.span.start()), it.score);
    hits.iter().map(score).collect()
}

/// Checks what holds for both kinds of documents.
pub(super) async fn laws<S: Ports + ?Sized>(store: &S) {
    let parts = async |query: TextQuery| {
        let hits = store.passages(&query).await.expect("a search");
        by_part(&hits)
    };
    once_each(&parts, |it| it).await;
    let files = async |query: TextQuery| {
        let found = store.files(&query).await.expect("a search");
        by_part(&found)
    };
    once_each(&files, |mut it| {
        it.fields = vec![(Field::Path, 1.0), (Field::Text, 1.0)];
        it
    })
    .await;
}

async fn once_each(find: &impl AsyncFn(TextQuery) -> Scores, of: impl Fn(TextQuery) -> TextQuery) {
    let query = |words: &[(&str, f32)]| of(wanted(words, 50));
    let present = async |words: &[(&str, f32)]| find(query(words).by_presence()).await;
    let (rare, common) = (("backoff", 1.0), ("config", 1.0));

    let often = find(query(&[common])).await;
    assert!(
        spread(&often) > SLACK,
        "by frequency some hold more of it than others: {often:?}"
    );
    let once = present(&[common]).await;
    assert!(
        spread(&once) <= SLACK,
        "by presence all hold it alike: {once:?}"
    );
    assert!(
        once.keys().eq(often.keys()),
        "the same are found: {once:?}, {often:?}"
    );

    let mut weighed = query(&[common]).by_presence();
    for (number, (_, worth)) in (1_u8..).zip(&mut weighed.fields) {
        *worth *= f32::from(number);
    }
    same(
        &find(weighed).await,
        &once,
        "what a field is worth is nothing",
    );
    let double = present(&[("config", 2.0)]).await;
    same(
        &double,
        &times(&once, 2.0),
        "twice the weight, twice the score",
    );

    let alone = present(&[rare]).await;
    let both = present(&[rare, common]).await;
    let mut sum = once.clone();
    for (document, score) in &alone {
        *sum.entry(document.clone()).or_default() += score;
        let common = once.get(document).copied().unwrap_or(0.0);
        assert!(
            *score > common,
            "a rare term tells more: {alone:?}, {once:?}"
        );
    }
    same(&both, &sum, "two terms are worth the sum of both");
}

/// The difference between the greatest and the least score.
fn spread(scores: &Scores) -> f64 {
    let most = scores.values().copied().fold(f64::MIN, f64::max);
    let least = scores.values().copied().fold(f64::MAX, f64::min);
    most - least
}

fn times(scores: &Scores, factor: f64) -> Scores {
    let scores = scores.iter();
    scores
        .map(|(it, score)| (it.clone(), score * factor))
        .collect()
}

#[track_caller]
fn same(found: &Scores, wanted: &Scores, why: &str) {
    assert!(
        found.keys().eq(wanted.keys()),
        "{why}: {found:?}, not {wanted:?}"
    );
    for (document, score) in found {
        let is_near = (score - wanted[document]).abs() <= SLACK;
        assert!(is_near, "{why}: {found:?}, not {wanted:?}");
    }
}
