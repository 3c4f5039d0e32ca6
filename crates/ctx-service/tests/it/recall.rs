//! The law of a record of what was shown, and records that break it.

use std::collections::BTreeMap;

use async_trait::async_trait;
use ctx_model::LineSpan;
use ctx_retrieve::PortResult;
use ctx_service::{PartRef, Recall};
use ctx_testkit::laws;

use crate::support::{FILES, Store};

const THREAD: &str = "t";

fn shown() -> Vec<(&'static str, PartRef)> {
    let part = |path: &str, line| PartRef {
        path: path.to_owned(),
        lines: LineSpan::new(line, line + 2).unwrap(),
    };
    vec![
        ("chu-000001", part("a.rs", 1)),
        ("chu-000002", part("a.rs", 4)),
        ("fil-000001", part("b.md", 1)),
    ]
}

/// How a record breaks the law.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Sorted,
    Once,
    Dense,
    Guesses,
    OfAnyThread,
}

struct Record(Option<Fault>);

#[async_trait]
impl Recall for Record {
    async fn parts(&self, thread: &str, labels: &[String]) -> PortResult<Vec<Option<PartRef>>> {
        let shown = shown().into_iter().collect::<BTreeMap<&str, PartRef>>();
        let mut labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        if matches!(self.0, Some(Fault::Sorted)) {
            labels.sort_unstable();
        }
        if matches!(self.0, Some(Fault::Once)) {
            labels.dedup();
        }
        let is_of_thread = thread == THREAD || matches!(self.0, Some(Fault::OfAnyThread));
        let part = |label: &&str| match self.0 {
            Some(Fault::Guesses) => shown.get(label).or(shown.values().next()).cloned(),
            _ => shown.get(label).filter(|_| is_of_thread).cloned(),
        };
        let mut parts: Vec<Option<PartRef>> = labels.iter().map(part).collect();
        if matches!(self.0, Some(Fault::Dense)) {
            parts.retain(Option::is_some);
        }
        Ok(parts)
    }
}

#[tokio::test]
async fn a_record_of_what_was_shown_is_held_to_the_law() {
    laws::recall(&Record(None), THREAD, &shown()).await;
    for fault in [
        Fault::Sorted,
        Fault::Once,
        Fault::Dense,
        Fault::Guesses,
        Fault::OfAnyThread,
    ] {
        let checked = async move { laws::recall(&Record(Some(fault)), THREAD, &shown()).await };
        let broken = tokio::spawn(checked).await;
        assert!(broken.is_err_and(|it| it.is_panic()), "{fault:?}");
    }
}

#[tokio::test]
async fn the_store_of_these_tests_keeps_the_law() {
    let store = Store::new(FILES);
    for (label, part) in shown() {
        let key = (THREAD.to_owned(), label.to_owned());
        store.labelled.lock().unwrap().insert(key, part);
    }
    laws::recall(&store, THREAD, &shown()).await;
}
