//! The laws of the ports, and what breaks them.

use async_trait::async_trait;
use ctx_model::LineSpan;
use ctx_retrieve::{
    Changes, Field, FileSearch, Hit, Near, Part, PortResult, Query, Semantic, TextQuery, Touched,
};
use ctx_testkit::laws;

use crate::store::Store;

fn queries() -> Vec<TextQuery> {
    let query = |words: &[&str]| {
        let terms = words.iter().map(|&it| (it.to_owned(), 1.0)).collect();
        TextQuery::new(terms, vec![(Field::Body, 1.0)], 10)
    };
    vec![query(&["tide", "moon"]), query(&["unheardof"])]
}

fn notes() -> Store {
    Store::of(&[
        ("sea/tides.md", 1, "section", "Tides", "tide"),
        ("sea/tides.md", 7, "section", "", "tide moon"),
        ("sea/waves.md", 1, "section", "Waves", "wind"),
        ("sky/moon.md", 1, "section", "Moon", "moon"),
    ])
}

#[tokio::test]
async fn a_store_in_memory_keeps_the_laws() {
    laws::file_search(&notes(), &queries()).await;
}

/// How a store of texts breaks a law.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Twice,
    TooMany,
    WorstFirst,
    NoNumber,
    Elsewhere,
    Nothing,
}

/// A store of texts alone.
struct Texts(Option<Fault>);

#[async_trait]
impl FileSearch for Texts {
    async fn passages(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        let part = |line| Part::new("a.md", LineSpan::new(line, line).unwrap());
        let mut hits = vec![Hit::new(part(1), 2.0), Hit::new(part(2), 1.0)];
        match self.0 {
            None | Some(Fault::TooMany | Fault::Elsewhere) => {}
            Some(Fault::Twice) => hits[1].part = hits[0].part.clone(),
            Some(Fault::WorstFirst) => hits.reverse(),
            Some(Fault::NoNumber) => hits[1].score = f64::NAN,
            Some(Fault::Nothing) => hits.clear(),
        }
        if matches!(self.0, Some(Fault::Elsewhere)) && !wanted.paths.is_empty() {
            hits[0] = Hit::new(Part::of_file("b.md"), 3.0);
        }
        if !matches!(self.0, Some(Fault::TooMany)) {
            hits.truncate(wanted.limit);
        }
        Ok(hits)
    }
}

#[tokio::test]
async fn a_store_of_texts_alone_is_held_to_the_laws() {
    laws::file_search(&Texts(None), &queries()).await;
    for fault in [
        Fault::Twice,
        Fault::TooMany,
        Fault::WorstFirst,
        Fault::NoNumber,
        Fault::Elsewhere,
        Fault::Nothing,
    ] {
        let checked = async move { laws::file_search(&Texts(Some(fault)), &queries()).await };
        let broken = tokio::spawn(checked).await;
        assert!(broken.is_err_and(|it| it.is_panic()), "{fault:?}");
    }
}

/// How a list of locations breaks a law.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ListFault {
    Twice,
    TooMany,
    WorstFirst,
    NoNumber,
    /// Another location for each limit.
    Fickle,
    Nothing,
}

/// Every fault.
const LIST_FAULTS: [ListFault; 6] = [
    ListFault::Twice,
    ListFault::TooMany,
    ListFault::WorstFirst,
    ListFault::NoNumber,
    ListFault::Fickle,
    ListFault::Nothing,
];

/// Numbers of locations with scores, the best first, but for the fault.
fn locations(fault: Option<ListFault>, limit: usize) -> Vec<(usize, f64)> {
    let mut locations = vec![(1, 3.0), (2, 2.0), (3, 1.0)];
    match fault {
        None | Some(ListFault::TooMany) => {}
        Some(ListFault::Twice) => locations[1].0 = 1,
        Some(ListFault::WorstFirst) => locations.reverse(),
        Some(ListFault::NoNumber) => locations[2].1 = f64::NAN,
        Some(ListFault::Fickle) => locations[0].0 = 10 + limit,
        Some(ListFault::Nothing) => locations.clear(),
    }
    if fault != Some(ListFault::TooMany) {
        locations.truncate(limit);
    }
    locations
}

/// A history of changes.
struct History(Option<ListFault>);

#[async_trait]
impl Changes for History {
    async fn touched(&self, _: &[(String, f32)], limit: usize) -> PortResult<Vec<Touched>> {
        let touched = |(file, score)| Touched::new(format!("{file}.rs"), Vec::new(), score);
        Ok(locations(self.0, limit).into_iter().map(touched).collect())
    }
}

/// A search by meaning.
struct Meaning(Option<ListFault>);

#[async_trait]
impl Semantic for Meaning {
    async fn nearest(&self, _: &Query, limit: usize) -> PortResult<Vec<Near>> {
        let near = |(file, score)| Near::new(format!("{file}.rs"), None, score);
        Ok(locations(self.0, limit).into_iter().map(near).collect())
    }
}

#[tokio::test]
async fn a_history_of_changes_is_held_to_the_laws() {
    laws::changes(&History(None), &["tide", "moon"]).await;
    for fault in LIST_FAULTS {
        let checked = async move { laws::changes(&History(Some(fault)), &["tide"]).await };
        let broken = tokio::spawn(checked).await;
        assert!(broken.is_err_and(|it| it.is_panic()), "{fault:?}");
    }
}

#[tokio::test]
async fn a_search_by_meaning_is_held_to_the_laws() {
    laws::semantic(&Meaning(None), &["tide", "moon"]).await;
    // A location may come twice.
    laws::semantic(&Meaning(Some(ListFault::Twice)), &["tide"]).await;
    for fault in LIST_FAULTS.into_iter().filter(|it| *it != ListFault::Twice) {
        let checked = async move { laws::semantic(&Meaning(Some(fault)), &["tide"]).await };
        let broken = tokio::spawn(checked).await;
        assert!(broken.is_err_and(|it| it.is_panic()), "{fault:?}");
    }
}

#[tokio::test]
async fn locations_found_beforehand_keep_the_laws_in_any_order() {
    let near = |line, score| Near::new("a.rs", LineSpan::new(line, line + 3).ok(), score);
    let locations = vec![
        near(9, 0.1),
        near(1, 0.7),
        near(20, f64::NAN),
        near(5, 0.7),
        Near::new("b.rs", None, 0.3),
    ];
    laws::semantic(&locations, &["tide"]).await;
    let query = Query::analyse("tide");
    let nearest = locations.nearest(&query, 2).await.unwrap();
    assert_eq!(nearest, [near(1, 0.7), near(5, 0.7)]);
}
