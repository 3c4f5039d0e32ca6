//! The laws of a store of texts, and stores that break them.

use async_trait::async_trait;
use ctx_model::LineSpan;
use ctx_retrieve::{Field, FileSearch, Hit, Part, PortResult, TextQuery};
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
