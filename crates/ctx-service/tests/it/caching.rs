//! What is cached, for how long, and for which owner.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ctx_assemble::{Cancel, Control};
use ctx_model::{Tokens, UnixSeconds};
use ctx_retrieve::{Message, Threads};
use ctx_service::{Cache, Key, OwnerId, Prime, PrimeContext, Served, Usefulness};
use ctx_tokens::{Counters, TokenCounter};
use tokio::sync::Semaphore;

use crate::support::{FILES, NOW, World, options, world_of, write};

const QUESTION: &str = "How is a header parsed?";

/// A cache that counts seconds by hand.
fn cache<V: Send + Sync + 'static>(most: u64) -> (Arc<Cache<V>>, Arc<AtomicU64>) {
    let seconds = Arc::new(AtomicU64::new(0));
    let hand = Arc::clone(&seconds);
    let clock = move || Duration::from_secs(hand.load(Ordering::Relaxed));
    let cache = Cache::new(most, Duration::from_secs(30)).with_clock(Arc::new(clock));
    (Arc::new(cache), seconds)
}

fn kept_world() -> (World, Arc<Cache<PrimeContext>>) {
    let cache = Arc::new(Cache::default());
    (world_of("ada", FILES, Some(Arc::clone(&cache))), cache)
}

async fn served(world: &World) -> Served {
    let prime = world.prime(QUESTION).await;
    prime.recording.done().await.unwrap();
    prime.served
}

/// Keeps the number of `name`, and gives what is kept.
async fn keep(cache: &Cache<u64>, name: &str, number: u64) -> (u64, Served) {
    let (key, owner) = (Key::of(&[name.as_bytes()]), OwnerId::new("o"));
    if let Some(kept) = cache.get(&key, &owner, |_| async { Some(true) }).await {
        return (*kept, Served::Hit);
    }
    let made = cache.make(key, &owner, || async { Ok::<u64, ()>(number) });
    let (value, served) = made.await.unwrap();
    cache.settle().await;
    (*value, served)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_equal_request_gets_the_same_answer() {
    let (world, cache) = kept_world();
    let first = world.prime(QUESTION).await;
    let again = world.prime(&format!("  {QUESTION}\n")).await;
    assert_eq!((first.served, again.served), (Served::Miss, Served::Hit));
    assert!(Arc::ptr_eq(&first.context, &again.context));
    let metrics = cache.metrics();
    assert_eq!((metrics.hits, metrics.misses, metrics.refused), (1, 1, 0));
    assert!((metrics.hit_rate() - 0.5).abs() < 1e-9);
}

#[tokio::test(flavor = "multi_thread")]
async fn forgotten_contexts_are_built_anew_and_those_of_others_stay() {
    let (ada, cache) = kept_world();
    let bob = world_of("bob", FILES, Some(cache));
    for world in [&ada, &bob] {
        let first = world.prime(QUESTION).await;
        assert_eq!(first.context.thread.as_deref(), Some("t"));
        assert_eq!(
            (first.served, served(world).await),
            (Served::Miss, Served::Hit)
        );
    }
    for (thread, of_ada) in [("u", Served::Hit), ("t", Served::Miss)] {
        let is_of_it = |it: &PrimeContext| it.thread.as_deref() == Some(thread);
        ada.service.forget(is_of_it).await;
        assert_eq!(
            (served(&ada).await, served(&bob).await),
            (of_ada, Served::Hit)
        );
    }
}

/// So many tokens a byte.
struct PerByte(u64);

impl TokenCounter for PerByte {
    fn count(&self, text: &str) -> Tokens {
        Tokens::saturating_from_u64(text.len() as u64 * self.0)
    }

    fn name(&self) -> &'static str {
        "perByte"
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_not_reused_for_another_counter_of_the_same_name() {
    let (world, _) = kept_world();
    let options = options();
    let build = options.build.clone();
    let build = build
        .with_counter("perByte".into())
        .with_max_tokens(Tokens::new(9_000));
    let options = options.with_build(build);
    for (per_byte, wanted) in [(1, Served::Miss), (2, Served::Miss)] {
        let counters = Counters::default().with(Arc::new(PerByte(per_byte)));
        let counters = Arc::new(counters.unwrap());
        for served in [wanted, Served::Hit] {
            let service = world.service.clone().with_counters(Arc::clone(&counters));
            let control = Control::default();
            let prime = service.prime(Some("t"), QUESTION, &options, &control).await;
            let prime = prime.unwrap();
            assert_eq!(prime.served, served, "{per_byte}");
            let context = &prime.context.built;
            assert_eq!(context.counter, "perByte");
            let bytes = context.context.len() as u64;
            assert_eq!(u64::from(context.tokens.total.get()), bytes * per_byte);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_is_noted_as_shown_too() {
    let (world, _) = kept_world();
    served(&world).await;
    world.store.shown.lock().unwrap().clear();
    assert_eq!(served(&world).await, Served::Hit);
    assert!(!world.store.shown.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_an_answer_depends_on_makes_another() {
    let (world, _) = kept_world();
    assert_eq!(served(&world).await, Served::Miss);
    assert_eq!(served(&world).await, Served::Hit);

    world
        .store
        .append(
            "t",
            &Message::new("m", "user", "hello", UnixSeconds::new(NOW)),
        )
        .await
        .unwrap();
    assert_eq!(served(&world).await, Served::Miss, "a message");
    world.store.pin("t", "src/server.rs").await.unwrap();
    assert_eq!(served(&world).await, Served::Miss, "a pin");
    let handle = world.prime(QUESTION).await.context.citations[0]
        .feedback
        .clone()
        .unwrap();
    world
        .service
        .feedback(&handle, Usefulness::Useful, UnixSeconds::new(NOW))
        .await
        .unwrap();
    assert_eq!(served(&world).await, Served::Miss, "a vote");
    write(
        world.folder.path(),
        "src/parser.rs",
        "fn parse_header() {}\n",
    );
    assert_eq!(served(&world).await, Served::Miss, "a file that is shown");
    assert_eq!(served(&world).await, Served::Hit);

    let other = options();
    let build = other.build.clone().with_max_tokens(Tokens::new(3_999));
    let prime = world
        .prime_with(QUESTION, &other.clone().with_build(build))
        .await;
    assert_eq!(prime.served, Served::Miss, "an option");
    let prime = world
        .prime_with(
            QUESTION,
            &other.with_now(Some(UnixSeconds::new(NOW + 3_600))),
        )
        .await;
    assert_eq!(prime.served, Served::Miss, "an hour");
    let prime = world
        .service
        .prime(Some("u"), QUESTION, &options(), &Control::default())
        .await
        .unwrap();
    assert_eq!(prime.served, Served::Miss, "a thread");
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_with_equal_files_have_answers_of_their_own() {
    let cache = Arc::new(Cache::default());
    let of = |owner| world_of(owner, FILES, Some(Arc::clone(&cache)));
    let (ada, bob) = (of("ada"), of("bob"));
    assert_eq!(served(&ada).await, Served::Miss);
    assert_eq!(served(&bob).await, Served::Miss);
    assert_eq!(served(&ada).await, Served::Hit);
    assert_eq!(served(&bob).await, Served::Hit);
    assert_eq!(cache.metrics().refused, 0, "one had the key of the other");
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_in_which_nothing_was_said_have_answers_of_their_own() {
    let (world, _) = kept_world();
    let ask = async |thread| {
        let (options, control) = (options(), Control::default());
        let prime = world
            .service
            .prime(Some(thread), QUESTION, &options, &control);
        prime.await.unwrap()
    };
    let (one, other) = (ask("t").await, ask("u").await);
    assert_eq!((one.served, other.served), (Served::Miss, Served::Miss));
    assert_ne!(one.context.id, other.context.id);
    let labels = |prime: &Prime| -> BTreeSet<String> {
        let citations = prime.context.citations.iter();
        citations.map(|it| it.id.clone()).collect()
    };
    assert!(!labels(&one).is_empty());
    assert!(labels(&one).is_disjoint(&labels(&other)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_lacks_a_source_is_not_kept() {
    let (world, cache) = kept_world();
    world.store.is_stuck.store(true, Ordering::Relaxed);
    let late = options().with_deadline(Duration::from_secs(2));
    for _ in 0..2 {
        let prime = world.prime_with(QUESTION, &late).await;
        assert_eq!(prime.served, Served::Miss);
        assert_eq!(prime.context.failures.len(), 1);
    }
    world.store.has_no_history.store(true, Ordering::Relaxed);
    assert_eq!(
        world.prime_with(QUESTION, &late).await.served,
        Served::Bypassed
    );
    assert_eq!(cache.metrics().hits, 0);
}

#[tokio::test]
async fn an_answer_is_kept_for_thirty_seconds_after_its_last_use() {
    let (cache, seconds) = cache(100);
    assert_eq!(keep(&cache, "a", 1).await, (1, Served::Miss));
    for at in [29, 58, 87] {
        seconds.store(at, Ordering::Relaxed);
        assert_eq!(keep(&cache, "a", 2).await, (1, Served::Hit), "at {at} s");
    }
    seconds.store(87 + 30, Ordering::Relaxed);
    assert_eq!(keep(&cache, "a", 2).await, (2, Served::Miss));
}

#[tokio::test]
async fn the_hundred_answers_used_last_are_kept() {
    let (cache, _) = cache(100);
    for number in 0..100 {
        keep(&cache, &number.to_string(), number).await;
    }
    assert_eq!(keep(&cache, "0", 1_000).await, (0, Served::Hit));
    cache.settle().await;
    keep(&cache, "100", 100).await;
    assert_eq!(cache.metrics().evictions, 1);
    assert_eq!(keep(&cache, "0", 1_000).await.1, Served::Hit, "it was used");
    assert_eq!(keep(&cache, "1", 1_000).await.1, Served::Miss, "it was not");
}

/// How many of these numbers of bytes are kept, of at most 100 answers of 1,000 bytes together.
async fn kept_of(sizes: &[usize]) -> usize {
    let cache = Cache::weighed(100, 1_000, Duration::from_secs(30), String::len);
    let mut weak = Vec::new();
    for (number, &size) in sizes.iter().enumerate() {
        let (key, owner) = (Key::of(&[&number.to_le_bytes()]), OwnerId::new("o"));
        let made = cache.make(key, &owner, || async { Ok::<_, ()>("x".repeat(size)) });
        let (value, served) = made.await.unwrap();
        assert_eq!((value.len(), served), (size, Served::Miss));
        weak.push(Arc::downgrade(&value));
        drop(value);
        // Not only once many more have come.
        let bytes = weak.iter().filter_map(|it| Some(it.upgrade()?.len()));
        assert!(bytes.sum::<usize>() <= 1_000, "{sizes:?}");
    }
    weak.iter().filter(|it| it.strong_count() > 0).count()
}

#[tokio::test]
async fn answers_are_kept_by_their_bytes_and_by_their_number() {
    for (sizes, wanted) in [
        (vec![1; 150], 100),
        (vec![100; 12], 10),
        (vec![400, 300, 300, 300], 3),
        (vec![10, 1_000], 1),
        (vec![10, 1_001], 1),
    ] {
        assert_eq!(kept_of(&sizes).await, wanted, "{sizes:?}");
    }
}

/// Which answers of these numbers of bytes are kept, of at most `most` of `bytes` bytes together.
async fn kept_within(most: u64, bytes: u64, sizes: &[u64]) -> Vec<u64> {
    let bytes_of = |it: &u64| usize::try_from(*it).unwrap();
    let cache = Cache::weighed(most, bytes, Duration::from_secs(30), bytes_of);
    let (key, owner) = (
        |number: usize| Key::of(&[&number.to_le_bytes()]),
        OwnerId::new("o"),
    );
    for (number, &size) in sizes.iter().enumerate() {
        let made = cache.make(key(number), &owner, || async { Ok::<_, ()>(size) });
        made.await.unwrap();
    }
    let mut kept = Vec::new();
    for number in 0..sizes.len() {
        let key = key(number);
        let found = cache.get(&key, &owner, |_| async { Some(true) });
        kept.extend(found.await.as_deref());
    }
    kept
}

#[tokio::test]
async fn no_more_answers_are_kept_than_was_said_whatever_the_bytes() {
    for (most, bytes, wanted) in [
        (3, 100, 3),
        (9, 100, 9),
        (7, 7, 7),
        (1, u64::MAX, 1),
        (1, 1, 1),
        // Of so few bytes, no whole number is a fifth and not a quarter.
        (4, 10, 3),
    ] {
        for size in [0, 1] {
            let kept = kept_within(most, bytes, &[size; 20]).await.len();
            assert_eq!(kept, wanted, "{most} of {bytes} bytes");
        }
    }
    assert_eq!(kept_within(u64::MAX, 10, &[1; 20]).await.len(), 10);
    for (most, bytes) in [(0, 100), (0, 0), (0, u64::MAX)] {
        assert_eq!(kept_within(most, bytes, &[0, 1, 0]).await, [0_u64; 0]);
    }
    assert_eq!(kept_within(9, 0, &[0, 1]).await, [0_u64; 0]);
}

#[tokio::test]
async fn bytes_count_beyond_four_gigabytes() {
    const GIB: u64 = 1 << 30;
    for (sizes, wanted) in [
        (vec![9 * GIB], vec![]),
        (vec![8 * GIB + 1], vec![]),
        (vec![u64::MAX], vec![]),
        (vec![5 * GIB], vec![5 * GIB]),
        (vec![5 * GIB, 4 * GIB], vec![4 * GIB]),
        (vec![3 * GIB, 4 * GIB], vec![3 * GIB, 4 * GIB]),
    ] {
        assert_eq!(kept_within(10, 8 * GIB, &sizes).await, wanted, "{sizes:?}");
    }
}

#[tokio::test]
async fn expired_entries_are_dropped_without_a_request() {
    let (cache, seconds) = cache::<u64>(100);
    let mut weak = Vec::new();
    for name in ["a", "b"] {
        let (key, owner) = (Key::of(&[name.as_bytes()]), OwnerId::new("o"));
        let made = cache.make(key, &owner, || async { Ok::<u64, ()>(1) });
        weak.push(Arc::downgrade(&made.await.unwrap().0));
    }
    let gone = async |weak: &[Weak<u64>], wanted: usize| {
        let all = Instant::now() + Duration::from_mins(1);
        let count = || weak.iter().filter(|it| it.strong_count() == 0).count();
        while count() < wanted && Instant::now() < all {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        count()
    };
    seconds.store(29, Ordering::Relaxed);
    let (key, owner) = (Key::of(&[b"b"]), OwnerId::new("o"));
    assert!(
        cache
            .get(&key, &owner, |_| async { Some(true) })
            .await
            .is_some()
    );
    seconds.store(30, Ordering::Relaxed);
    assert_eq!(gone(&weak, 1).await, 1, "the other was used since");
    seconds.store(59, Ordering::Relaxed);
    assert_eq!(gone(&weak, 2).await, 2);
    // And so it is with what comes after there was nothing.
    let made = cache.make(Key::of(&[b"c"]), &owner, || async { Ok::<u64, ()>(1) });
    weak.push(Arc::downgrade(&made.await.unwrap().0));
    seconds.store(89, Ordering::Relaxed);
    assert_eq!(gone(&weak, 3).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_of_a_context_are_those_of_its_texts() {
    let (world, _) = kept_world();
    let context = world.prime(QUESTION).await.context;
    let shown: usize = context.citations.iter().map(|it| it.shown().len()).sum();
    let texts = context.built.context.len() + shown;
    let bytes = context.bytes();
    assert!(
        shown > 0 && bytes > texts && bytes < texts + 64_000,
        "{bytes} {texts}"
    );
}

#[tokio::test]
async fn entries_of_another_owner_are_neither_returned_nor_replaced() {
    let (cache, _) = cache::<&str>(100);
    let key = Key::of(&[b"the same"]);
    let (ada, bob) = (OwnerId::new("ada"), OwnerId::new("bob"));
    let make = |owner: OwnerId, text: &'static str| {
        let cache = Arc::clone(&cache);
        async move {
            let made = cache.make(key, &owner, || async { Ok::<&str, ()>(text) });
            let (value, served) = made.await.unwrap();
            (*value, served)
        }
    };
    assert_eq!(make(ada.clone(), "ada's").await, ("ada's", Served::Miss));
    assert!(
        cache
            .get(&key, &bob, |_| async { Some(true) })
            .await
            .is_none()
    );
    assert_eq!(make(bob, "bob's").await, ("bob's", Served::Bypassed));
    assert_eq!(
        *cache
            .get(&key, &ada, |_| async { Some(true) })
            .await
            .unwrap(),
        "ada's"
    );
    assert_eq!(cache.metrics().refused, 2);
}

#[tokio::test]
async fn a_failure_is_not_kept() {
    let (cache, _) = cache::<u64>(100);
    let (key, owner) = (Key::of(&[b"a"]), OwnerId::new("o"));
    let failed = cache
        .make(key, &owner, || async { Err::<u64, &str>("no") })
        .await;
    assert_eq!(*failed.unwrap_err(), "no");
    assert_eq!(keep(&cache, "a", 1).await, (1, Served::Miss));
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_requests_at_once_are_one() {
    let cases = [
        (100, true, true),
        (100, false, false),
        // Without room for the answer.
        (0, true, false),
    ];
    for (most, is_wanted, is_kept) in cases {
        equal_requests_are_one(&cache(most).0, is_wanted, is_kept).await;
    }
}

/// Fifty calls that all wait before the first is answered.
async fn equal_requests_are_one(cache: &Arc<Cache<u64>>, is_wanted: bool, is_kept: bool) {
    let (gate, made) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let waiting = Arc::new(Semaphore::new(0));
    let mut tasks = Vec::new();
    for _ in 0..50 {
        let (cache, gate, made) = (Arc::clone(cache), Arc::clone(&gate), Arc::clone(&made));
        let waiting = Arc::clone(&waiting);
        tasks.push(tokio::spawn(async move {
            let (key, owner) = (Key::of(&[b"a"]), OwnerId::new("o"));
            let answer = || async {
                made.fetch_add(1, Ordering::Relaxed);
                let _ = gate.acquire().await;
                Ok::<u64, ()>(1)
            };
            let mut call = pin!(cache.make_and_keep(key, &owner, |_| is_wanted, answer));
            let mut is_first = true;
            let call = poll_fn(|context| {
                let polled = call.as_mut().poll(context);
                waiting.add_permits(usize::from(std::mem::take(&mut is_first)));
                polled
            });
            call.await.unwrap().1
        }));
    }
    let _ = waiting.acquire_many(50).await;
    gate.add_permits(50);
    let mut misses = 0;
    for task in tasks {
        misses += usize::from(task.await.unwrap() == Served::Miss);
    }
    assert_eq!((misses, made.load(Ordering::Relaxed)), (1, 1));
    assert_eq!(cache.metrics().coalesced, 49);
    let (key, owner) = (Key::of(&[b"a"]), OwnerId::new("o"));
    let kept = cache.get(&key, &owner, |_| async { Some(true) });
    assert_eq!(kept.await.is_some(), is_kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_goes_on_when_the_first_gives_up() {
    let (world, cache) = kept_world();
    let gate = Arc::new(Semaphore::new(0));
    *world.store.gate.lock().unwrap() = Some(Arc::clone(&gate));
    let cancel = Cancel::new();
    let ask = |cancel: Cancel| {
        let service = world.service.clone();
        tokio::spawn(async move {
            let control = Control::default().with_cancel(cancel);
            service
                .prime(Some("t"), QUESTION, &options(), &control)
                .await
        })
    };
    let searching = || world.store.searches.load(Ordering::Relaxed);
    let first = ask(cancel.clone());
    while searching() == 0 {
        tokio::task::yield_now().await;
    }
    let second = ask(Cancel::new());
    // A third goes away altogether.
    let third = ask(Cancel::new());
    third.abort();
    cancel.cancel();
    gate.add_permits(1_000);
    assert!(first.await.unwrap().is_err());
    assert!(second.await.unwrap().is_ok());
    assert_eq!(cache.metrics().refused, 0);
}
