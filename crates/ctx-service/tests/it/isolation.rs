//! No owner gets the answer of another: the seed's cache fails this test, and this crate's does
//! not.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ctx_assemble::Control;
use ctx_model::UnixSeconds;
use ctx_retrieve::{Message, Threads};
use ctx_service::{Cache, Key, OwnerId, PrimeContext, Service};
use ctx_testkit::few;
use proptest::prelude::*;
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::support::{NOW, Store, options, service_over, write};

const OWNERS: [&str; 3] = ["ada", "bob", "eve"];
const THREADS: [&str; 3] = ["1", "2", "1\u{0}2"];
const MESSAGES: [&str; 4] = [
    "what is secret?",
    "what is known?",
    "secret",
    "known @notes.md",
];

/// Who asks what, and where.
type Request = (usize, usize, usize);

fn requests() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec((0_usize..3, 0_usize..3, 0_usize..4), 1..60)
}

/// An answer that tells what it is an answer to.
fn answer((owner, thread, message): Request) -> String {
    format!(
        "{} {:?} {}",
        OWNERS[owner], THREADS[thread], MESSAGES[message]
    )
}

/// How many of `asked` get the answer to something else.
async fn strays<F: Future<Output = String>>(
    asked: &[Request],
    serve: impl Fn(Request) -> F,
) -> usize {
    let mut strays = 0;
    for &request in asked {
        strays += usize::from(serve(request).await != answer(request));
    }
    strays
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(future)
}

/// One cache with one key for each request.
async fn serve(cache: &Cache<String>, key: Key, request: Request) -> String {
    let owner = OwnerId::new(OWNERS[request.0]);
    if let Some(kept) = cache.get(&key, &owner, |_| async { Some(true) }).await {
        return (*kept).clone();
    }
    let make = || async { Ok::<String, Infallible>(answer(request)) };
    let (value, _) = cache.make(key, &owner, make).await.unwrap();
    (*value).clone()
}

fn full_key((owner, thread, message): Request) -> Key {
    let parts = [OWNERS[owner], THREADS[thread], MESSAGES[message]];
    Key::of(&parts.map(str::as_bytes))
}

/// The seed's key: the thread alone.
fn thread_key((_, thread, _): Request) -> Key {
    Key::of(&[THREADS[thread].as_bytes()])
}

#[test]
fn the_seeds_cache_answers_the_question_of_another() {
    let foreign = [(0, 0, 0), (1, 0, 0)];
    let previous = [(0, 0, 0), (0, 0, 1)];
    for asked in [foreign, previous] {
        // The seed's code: a map from thread to context.
        let map: Mutex<HashMap<&str, String>> = Mutex::default();
        let stray = run(strays(&asked, async |request: Request| {
            let mut map = map.lock().await;
            let kept = map
                .entry(THREADS[request.1])
                .or_insert_with(|| answer(request));
            kept.clone()
        }));
        assert_eq!(stray, 1);
    }
    // In our cache, that key gives nobody what is another's; and still answers the message before.
    let cache = Cache::new(100, Duration::from_secs(30));
    let by_thread = |request| serve(&cache, thread_key(request), request);
    assert_eq!(run(strays(&foreign, by_thread)), 0);
    assert_eq!(cache.metrics().refused, 2);
    assert_eq!(run(strays(&previous, by_thread)), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_full_key_never_strays(asked in requests()) {
        let cache = Cache::new(100, Duration::from_secs(30));
        let stray = run(strays(&asked, |request| serve(&cache, full_key(request), request)));
        prop_assert_eq!(stray, 0);
        prop_assert_eq!(cache.metrics().refused, 0);
    }

    #[test]
    fn lists_of_parts_that_differ_have_keys_that_differ(
        a in prop::collection::vec("[ab\0]{0,3}", 0..4),
        b in prop::collection::vec("[ab\0]{0,3}", 0..4),
    ) {
        let key = |parts: &[String]| Key::of(&parts.iter().map(String::as_bytes).collect::<Vec<_>>());
        prop_assert_eq!(a == b, key(&a) == key(&b));
    }
}

/// A user with notes of their own, whose contexts are kept with those of all others.
async fn user(owner: &str, cache: &Arc<Cache<PrimeContext>>) -> (TempDir, Service) {
    let folder = tempfile::tempdir().unwrap();
    let notes = format!("What is secret of {owner}: canary{owner}.\n\nWhat is known.\n");
    write(folder.path(), "notes.md", &notes);
    let store = Arc::new(Store::new(&[("notes.md", &notes)]));
    for thread in THREADS {
        let said = format!("thread {thread:?} of {owner}: said{owner}");
        store
            .append(
                thread,
                &Message::new("m", "user", said, UnixSeconds::new(NOW)),
            )
            .await
            .unwrap();
    }
    let service = service_over(&store, folder.path(), owner).with_cache(Arc::clone(cache));
    (folder, service)
}

/// How many of so many requests, all at once, hold anything of another user or thread.
async fn foreign(asked: &[Request]) -> usize {
    let cache = Arc::new(Cache::default());
    let mut users = Vec::new();
    for owner in OWNERS {
        users.push(user(owner, &cache).await);
    }
    let mut tasks = Vec::new();
    for &(owner, thread, message) in asked {
        let service = users[owner].1.clone();
        tasks.push(tokio::spawn(async move {
            let (options, control) = (options(), Control::default());
            let asked = service.prime(Some(THREADS[thread]), MESSAGES[message], &options, &control);
            let context = asked.await.unwrap().context;
            let text = &context.built.context;
            let own = format!("thread {:?} of {}", THREADS[thread], OWNERS[owner]);
            let others = OWNERS.iter().enumerate().filter(|(it, _)| *it != owner);
            let is_foreign = others.into_iter().any(|(_, it)| {
                text.contains(&format!("canary{it}")) || text.contains(&format!("said{it}"))
            });
            usize::from(is_foreign || !text.contains(&own))
        }));
    }
    let mut foreign = 0;
    for task in tasks {
        foreign += task.await.unwrap();
    }
    assert_eq!(cache.metrics().refused, 0);
    assert!(
        asked.len() < 100 || cache.metrics().hit_rate() > 0.3,
        "{:?}",
        cache.metrics()
    );
    foreign
}

#[test]
fn nobody_gets_what_another_asked_for() {
    few::run(few::cases(4), &requests(), |asked| {
        prop_assert_eq!(run(foreign(&asked)), 0);
        Ok(())
    });
}

/// 10,000 with `CTX_THOROUGH=1`, else 500.
#[test]
fn users_of_equally_named_threads_see_nothing_of_each_other() {
    let count = if std::env::var_os("CTX_THOROUGH").is_some() {
        10_000
    } else {
        500
    };
    let asked: Vec<Request> = (0..count)
        .map(|n: usize| (n % 3, n / 3 % 3, n / 7 % 4))
        .collect();
    assert_eq!(run(foreign(&asked)), 0);
}
