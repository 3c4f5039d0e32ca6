//! Answers to questions: the work ends when the caller is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use ctx_assemble::Control;
use ctx_model::{BuildOptions, Tokens};
use ctx_retrieve::Options as RetrieveOptions;
use ctx_tokens::{Counters, TokenCounter};

use crate::support::{FILES, world};

/// Counts bytes once it is open.
#[derive(Default)]
struct Gated {
    asked: AtomicUsize,
    is_open: AtomicBool,
}

impl TokenCounter for Gated {
    fn count(&self, text: &str) -> Tokens {
        self.asked.fetch_add(1, Ordering::Relaxed);
        while !self.is_open.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        Tokens::new(u32::try_from(text.len()).unwrap())
    }

    fn name(&self) -> &'static str {
        "gated"
    }
}

/// How often a counter is asked for an answer to a question, and whether it is dropped at the
/// first.
async fn asked(is_dropped: bool) -> usize {
    let texts: Vec<(String, String)> = (0..40)
        .map(|it| (format!("docs/{it}.md"), format!("What zebra {it} says.\n")))
        .collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|it| (&*it.0, &*it.1)).collect();
    let world = world(&files);
    let gated = Arc::new(Gated::default());
    let counters = Counters::default().with(Arc::clone(&gated) as Arc<dyn TokenCounter>);
    let counters = counters.unwrap();
    let service = world.service.clone().with_counters(Arc::new(counters));
    let build = BuildOptions::default()
        .with_counter("gated".to_owned().into())
        .with_max_tokens(Tokens::new(2_000));
    let asked = || gated.asked.load(Ordering::Relaxed);
    let answer = tokio::spawn(async move {
        let (retrieve, control) = (RetrieveOptions::default(), Control::default());
        let answer = service.answer("zebra", &retrieve, &build, &control).await;
        answer.map(|it| it.built.included.len())
    });
    while asked() == 0 {
        tokio::task::yield_now().await;
    }
    if is_dropped {
        answer.abort();
        assert!(answer.await.unwrap_err().is_cancelled());
        gated.is_open.store(true, Ordering::Relaxed);
    } else {
        gated.is_open.store(true, Ordering::Relaxed);
        assert!(answer.await.unwrap().unwrap() > 10);
    }
    let mut last = usize::MAX;
    while last != asked() {
        last = asked();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    last
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_dropped_is_worked_on_no_more() {
    let (dropped, all) = (asked(true).await, asked(false).await);
    assert!(dropped * 4 < all, "{dropped} of {all}");
}

#[tokio::test]
async fn an_answer_is_assembled_of_what_is_found() {
    let world = world(&[
        ("docs/a.md", "What zebra says.\n\nMore of zebra.\n"),
        ("docs/b.md", "Zebra is there, too.\n"),
    ]);
    let (retrieve, control) = (RetrieveOptions::default(), Control::default());
    let build = BuildOptions::default();
    let answer = world.service.answer("zebra", &retrieve, &build, &control);
    let answer = answer.await.unwrap();
    let (most, counter) = (build.max_tokens, &build.counter);
    let found = world
        .service
        .find("zebra", &retrieve, most, counter, &control);
    let found = found.await.unwrap();
    assert!(!found.chunks.is_empty());
    assert_eq!(found.chunks, answer.material.chunks);
    let before = answer.built.omitted.len() - found.omitted.len();
    assert_eq!(found.omitted, answer.built.omitted[before..]);
    assert_eq!(found.omitted, answer.material.omitted);
    assert!(answer.built.warnings.ends_with(&answer.material.warnings));
    assert!(found.timings.assemble.is_zero() && !answer.material.timings.assemble.is_zero());
}

/// How often is searched for an answer and for a prime context, if so many of the searches come
/// with an update.
async fn searched(updates: usize) -> [usize; 2] {
    let world = world(FILES);
    world.store.updates.store(updates, Ordering::Relaxed);
    let count = || world.store.searches.load(Ordering::Relaxed);
    let (retrieve, control) = (RetrieveOptions::default(), Control::default());
    let build = BuildOptions::default().with_counter("wordBased".to_owned().into());
    let answer = world.service.answer("parse", &retrieve, &build, &control);
    answer.await.unwrap();
    let answered = count();
    if updates > 0 {
        world.store.updates.fetch_add(answered, Ordering::Relaxed);
    }
    world.prime("parse").await;
    [answered, count() - answered]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_updated_while_it_is_searched_is_searched_once_more() {
    let [answered, primed] = searched(0).await;
    assert!(answered > 0 && primed > 0);
    let twice = [2 * answered, 2 * primed];
    assert_eq!(searched(1).await, twice);
    assert_eq!(searched(1_000).await, twice, "and no more often");
}
