//! Ports that fail, panic, wait, or block their thread.

use std::error::Error as _;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ctx_model::LineSpan;
use ctx_rank::Query;
use ctx_retrieve::{FileSearch, Hit, Part, PortError, PortResult, Retriever, Strategy, TextQuery};
use tokio::sync::{Barrier, Semaphore};

use crate::store::{Mood, Store};
use crate::{Threads, ask, failure, options, paths, report};

const QUESTION: &str = "why does `take_all` wait in pool.py:2?";

fn library() -> Store {
    Store::of(&[
        ("a.py", 1, "function", "take_all", "unrelated"),
        ("pool.py", 1, "function", "", "unrelated"),
        ("c.py", 1, "function", "", "wait, wait"),
    ])
}

#[test]
fn an_error_of_a_port_has_its_causes_and_tells_each_once() {
    #[derive(Debug, thiserror::Error)]
    #[error("open the store")]
    struct Opening(#[source] std::io::Error);

    let refused = || std::io::Error::other("nobody listens");
    let made = PortError::new(Opening(refused()));
    assert_eq!(made.to_string(), "open the store");
    assert!(made.source().unwrap().is::<std::io::Error>());
    assert!(made.get_ref().is::<Opening>());
    assert_eq!(made.on_one_line(), "open the store: nobody listens");

    let given = PortError::with_source("the store failed", Opening(refused()));
    assert_eq!(given.to_string(), "the store failed");
    assert!(given.source().unwrap().is::<Opening>());
    let told = "the store failed: open the store: nobody listens";
    assert_eq!(given.on_one_line(), told);

    assert_eq!(PortError::from(refused()), PortError::new("nobody listens"));
    assert_ne!(made, PortError::new("open the store"));
    assert_eq!(made, made.clone());
}

#[tokio::test]
async fn who_is_late_may_answer_soon_and_who_panics_may_not() {
    let limit = Duration::from_millis(20);
    let late = ctx_retrieve::call_port::<()>(limit, std::future::pending());
    assert!(late.await.0.unwrap_err().is_transient());
    let panics =
        ctx_retrieve::call_port::<()>(Duration::MAX, async { panic!("the disk is on fire") });
    assert!(!panics.await.0.unwrap_err().is_transient());

    let timed_out = || std::io::Error::from(std::io::ErrorKind::TimedOut);
    assert!(!PortError::from(timed_out()).is_transient());
    let away = PortError::with_source("ask", timed_out()).transient();
    assert!(away.is_transient() && away.source().is_some());
    // Whoever takes it along says so, too.
    let within = PortError::with_source("look it up", PortError::new(away));
    assert!(within.is_transient());
}

/// Whose answer is whose cannot be told then.
#[tokio::test]
async fn a_port_that_answers_fewer_questions_than_it_was_asked_fails() {
    let question = "why do `take_all` and `put_all` wait in pool.py:2 and queue.py:3?";
    for (port, strategy, why) in [
        ("definitions", Strategy::Names, "it answered 1 of 2 names"),
        ("definitions", Strategy::Similar, "it answered 1 of 2 names"),
        (
            "ending_with",
            Strategy::Places,
            "it answered 1 of 2 ends of paths",
        ),
        (
            "ending_with",
            Strategy::Similar,
            "it answered 1 of 2 ends of paths",
        ),
        ("parts_of", Strategy::Places, "it answered 1 of 2 places"),
        ("parts_of", Strategy::Files, "it answered 0 of 1 files"),
        ("users_of", Strategy::Relations, "it answered 0 of 1 names"),
    ] {
        let library = || {
            let mut library = library();
            let queue = Store::of(&[("queue.py", 1, "function", "", "unrelated")]);
            library.parts.extend(queue.parts);
            library
        };
        let whole = ask(library(), question, &options()).await;
        assert_eq!(failure(&whole, strategy).as_deref(), None, "{port}");
        let short = library().with(port, Mood::Short);
        let retrieved = ask(short, question, &options()).await;
        assert_eq!(
            failure(&retrieved, strategy).as_deref(),
            Some(why),
            "{port}"
        );
        assert_eq!(report(&retrieved, strategy).found, 0, "{port}");
    }
}

/// One of texts alone.
struct Texts;

#[async_trait::async_trait]
impl FileSearch for Texts {
    async fn passages(&self, _: &TextQuery) -> PortResult<Vec<Hit>> {
        let lines = LineSpan::new(1, 2).unwrap();
        Ok(vec![Hit::new(Part::new("a.md", lines), 1.0)])
    }
}

#[tokio::test]
async fn a_store_that_has_texts_alone_fails_nobody() {
    let texts = Retriever::new(Arc::new(Texts));
    let query = Arc::new(Query::analyse(QUESTION));
    let retrieved = texts.retrieve(&query, &options()).await;
    for report in &retrieved.reports {
        assert_eq!(report.failure, None, "{:?}", report.strategy);
    }
    assert_eq!(paths(&retrieved), ["a.md"]);
}

const LATE: Option<&str> = Some("it took too long");

#[tokio::test]
async fn a_strategy_that_fails_is_reported_and_has_no_say() {
    let ports = [
        ("passages", Strategy::Text),
        ("files", Strategy::Files),
        ("definitions", Strategy::Names),
        ("ending_with", Strategy::Places),
        ("similar", Strategy::Similar),
        ("touched", Strategy::Changes),
        ("nearest", Strategy::Semantic),
        ("users_of", Strategy::Relations),
    ];
    let both = Threads::BOTH.into_iter();
    for (threads, (port, strategy)) in both.flat_map(|it| ports.map(|port| (it, port))) {
        let store = library().with(port, Mood::Fails);
        let retrieved = threads.ask(store, QUESTION, &options()).await;
        assert_eq!(
            failure(&retrieved, strategy).as_deref(),
            Some("read: the disk is gone"),
            "{port}"
        );
        let said = retrieved.found.iter().map(|it| it.contribution(strategy));
        assert!(said.sum::<f64>() == 0.0, "{port}");
        assert!(!retrieved.found.is_empty(), "{port}");
        assert_eq!(retrieved.reports.len(), Strategy::ALL.len(), "{port}");
    }
}

#[tokio::test]
async fn a_strategy_that_panics_is_reported() {
    for threads in Threads::BOTH {
        let store = library().with("passages", Mood::Panics);
        let retrieved = threads.ask(store, QUESTION, &options()).await;
        assert_eq!(
            failure(&retrieved, Strategy::Text).as_deref(),
            Some("it panicked")
        );
        assert_eq!(
            failure(&retrieved, Strategy::Names).as_deref(),
            None,
            "{threads:?}"
        );
        assert_eq!(paths(&retrieved).len(), 2, "{threads:?}");
    }
}

#[tokio::test]
async fn when_all_fail_nothing_is_found() {
    let mut store = library();
    for port in ["passages", "files", "definitions", "ending_with"] {
        store = store.with(port, Mood::Fails);
    }
    let retrieved = ask(store, QUESTION, &options()).await;
    assert!(retrieved.found.is_empty());
    let failed = retrieved
        .reports
        .iter()
        .filter(|it| it.failure.is_some())
        .count();
    assert_eq!(
        failed, 6,
        "passages are asked for twice, for their text and their coverage"
    );
}

#[tokio::test]
async fn a_strategy_that_waits_for_ever_is_late() {
    let mut options = options();
    options.deadline = Duration::from_secs(1);
    for threads in Threads::BOTH {
        let store = library().with("ending_with", Mood::Waits);
        let retrieved = threads.ask(store, QUESTION, &options).await;
        assert_eq!(
            failure(&retrieved, Strategy::Places).as_deref(),
            LATE,
            "{threads:?}"
        );
        let why = report(&retrieved, Strategy::Places).failure.as_ref();
        assert!(why.is_some_and(PortError::is_transient), "{threads:?}");
        assert_eq!(paths(&retrieved).len(), 2, "{threads:?}");
    }
}

#[tokio::test]
async fn strategies_that_keep_their_threads_are_late() {
    // The runtime has one thread, and both strategies block where they run.
    let (hold, gate) = channel();
    let mut options = options();
    options.deadline = Duration::from_secs(1);
    let store = library().with("passages", Mood::Blocks(Mutex::new(gate)));
    let retrieved = ask(store, QUESTION, &options).await;
    drop(hold);
    assert_eq!(failure(&retrieved, Strategy::Text).as_deref(), LATE);
    assert_eq!(failure(&retrieved, Strategy::Files).as_deref(), LATE);
    assert_eq!(failure(&retrieved, Strategy::Names).as_deref(), None);
    assert!(paths(&retrieved).contains(&"a.py") && paths(&retrieved).contains(&"pool.py"));
}

#[tokio::test]
async fn a_strategy_that_keeps_the_only_thread_costs_the_others_no_time_of_theirs() {
    let (hold, gate) = channel();
    let mut options = options();
    options.deadline = Duration::from_millis(50);
    let store = library().with("passages", Mood::Blocks(Mutex::new(gate)));
    let asked = Threads::One.ask(store, QUESTION, &options);
    let opened = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(hold);
    };
    let (retrieved, ()) = tokio::join!(asked, opened);
    for &strategy in Strategy::ALL {
        assert_eq!(
            failure(&retrieved, strategy).as_deref(),
            None,
            "{strategy:?}"
        );
    }
    assert!(report(&retrieved, Strategy::Text).took > options.deadline);
    assert_eq!(retrieved.found.len(), 3);
}

#[tokio::test]
async fn relations_that_wait_for_ever_are_late() {
    let mut options = options();
    options.deadline = Duration::from_secs(1);
    for threads in Threads::BOTH {
        let store = library().with("users_of", Mood::Waits);
        let retrieved = threads.ask(store, QUESTION, &options).await;
        let failure = failure(&retrieved, Strategy::Relations);
        assert_eq!(failure.as_deref(), LATE, "{threads:?}");
        assert_eq!(retrieved.found.len(), 3, "{threads:?}");
    }
}

#[tokio::test]
async fn use_that_is_not_known_changes_nothing() {
    let plain = ask(library(), QUESTION, &options()).await;
    let mut options = options();
    options.deadline = Duration::from_secs(1);
    for threads in Threads::BOTH {
        for mood in [Mood::Fails, Mood::Panics, Mood::Waits] {
            let store = library().with("counts", mood);
            let retrieved = threads.ask(store, QUESTION, &options).await;
            assert_eq!(retrieved.found, plain.found, "{threads:?}");
        }
    }
}

#[tokio::test]
async fn strategies_run_side_by_side() {
    let ports = ["passages", "files", "definitions", "ending_with"];
    for threads in Threads::BOTH {
        let barrier = Arc::new(Barrier::new(ports.len()));
        let mut store = library();
        for port in ports {
            store = store.with(port, Mood::Meets(Arc::clone(&barrier)));
        }
        // None of them goes on before all have begun.
        let retrieved = threads.ask(store, QUESTION, &options()).await;
        assert!(
            retrieved.reports.iter().all(|it| it.failure.is_none()),
            "{threads:?}: {:?}",
            retrieved.reports
        );
    }
}

#[tokio::test]
async fn who_answers_first_does_not_matter() {
    let expected = ask(library(), QUESTION, &options()).await;
    for (first, last) in [
        ("passages", "ending_with"),
        ("ending_with", "passages"),
        ("definitions", "files"),
        ("files", "definitions"),
    ] {
        for threads in Threads::BOTH {
            let permits = Arc::new(Semaphore::new(0));
            let store = library()
                .with(first, Mood::Before(Arc::clone(&permits)))
                .with(last, Mood::After(permits));
            let retrieved = threads.ask(store, QUESTION, &options()).await;
            assert_eq!(retrieved.found, expected.found, "{first} before {last}");
            assert_eq!(
                failure(&retrieved, Strategy::Text).as_deref(),
                None,
                "{threads:?}"
            );
        }
    }
}

#[tokio::test]
async fn scores_that_are_no_numbers_have_no_say() {
    for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
        let mut store = library();
        store.scores.insert("c.py".to_owned(), score);
        let retrieved = ask(store, QUESTION, &options()).await;
        assert!(
            paths(&retrieved).contains(&"a.py"),
            "{score}: {:?}",
            paths(&retrieved)
        );
        assert!(
            retrieved
                .found
                .iter()
                .all(|it| (0.0..=1.0).contains(&it.score)),
            "{score}"
        );
    }
}

#[tokio::test]
async fn a_strategy_that_the_question_says_nothing_for_asks_nobody() {
    for strategy in [Strategy::Names, Strategy::Places, Strategy::Similar] {
        let store = library();
        let calls = Arc::clone(&store.calls);
        let mut options = options();
        options.strategies = vec![strategy];
        let retrieved = ask(store, "why does it wait so long", &options).await;
        assert_eq!(calls.load(Ordering::Relaxed), 0, "{strategy:?}");
        assert_eq!(failure(&retrieved, strategy).as_deref(), None);
        assert_eq!(retrieved.reports.len(), 1, "{strategy:?}");
    }
}
