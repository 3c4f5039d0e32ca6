//! A vote counts once, and only for files shown to the user.

use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;

use ctx_assemble::Control;
use ctx_model::UnixSeconds;
use ctx_retrieve::TaskScope;
use ctx_service::{FeedbackError, PrimeContext, SigningKey, Usefulness};
use ctx_source::{Limits, Root, Sources};
use ctx_testkit::few;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::support::{FILES, NOW, World, options, service_over, service_without_secret, world};

fn handle(context: &PrimeContext, path: &str) -> String {
    let is_it = |it: &&ctx_citations::Cited| it.citation.file_path.as_deref() == Some(path);
    let cited = context.citations.iter().find(is_it).unwrap();
    cited.feedback.clone().unwrap()
}

fn uses(world: &World, path: &str) -> u64 {
    world
        .store
        .uses
        .lock()
        .unwrap()
        .get(path)
        .copied()
        .unwrap_or(0)
}

/// On a runtime of one thread, which stands still while a store waits for a disk.
#[tokio::test]
async fn writes_of_a_store_run_on_a_blocking_thread() {
    let world = world(FILES);
    let scope = TaskScope::default().with(7_u32);
    scope
        .within(async {
            let primed = world.prime("How is a header parsed?").await;
            let handle = primed.context.feedback.clone().unwrap();
            primed.recording.done().await.unwrap();
            world
                .service
                .feedback(&handle, Usefulness::Useful, UnixSeconds::new(NOW))
                .await
                .unwrap();
        })
        .await;
    let writers = world.store.writers.lock().unwrap();
    assert!(writers.len() > 1);
    let here = std::thread::current().id();
    assert!(writers.iter().all(|(thread, _)| *thread != here));
    let within: Vec<Option<u32>> = writers.iter().map(|(_, held)| *held).collect();
    // Who has the answer has what was held, and who votes waits for it.
    assert_eq!(within[0], None);
    assert!(within[1..].iter().all(|it| *it == Some(7)), "{within:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_that_say_no_time_are_of_now() {
    let world = world(FILES);
    let options = options().with_now(None);
    let (service, control) = (&world.service, Control::default());
    let question = "How is a header parsed?";
    let primed = service.prime(Some("t"), question, &options, &control).await;
    let handle = handle(&primed.unwrap().context, "src/parser.rs");
    let now = UnixSeconds::after_1970(UNIX_EPOCH.elapsed().unwrap());
    assert!(
        service
            .feedback(&handle, Usefulness::Useful, now)
            .await
            .is_ok()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_replays_count_once() {
    let world = world(FILES);
    let context = world.prime("How is a header parsed?").await.context;
    let handle = handle(&context, "src/parser.rs");
    world
        .service
        .feedback(&handle, Usefulness::Useful, UnixSeconds::new(NOW))
        .await
        .unwrap();
    for number in 0..1_000 {
        let again = world
            .service
            .feedback(&handle, (number % 2 == 0).into(), UnixSeconds::new(NOW))
            .await;
        assert_eq!(again, Err(FeedbackError::Repeated));
    }
    assert_eq!(uses(&world, "src/parser.rs"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_counts_once_for_all_its_parts() {
    let world = world(FILES);
    let context = world.prime("parse_header and parse_body").await.context;
    let parts = context
        .citations
        .iter()
        .filter(|it| it.citation.file_path.as_deref() == Some("src/parser.rs"));
    let handles: Vec<String> = parts.filter_map(|it| it.feedback.clone()).collect();
    assert_eq!(handles.len(), 2);
    assert!(
        world
            .service
            .feedback(&handles[0], Usefulness::Useful, UnixSeconds::new(NOW))
            .await
            .is_ok()
    );
    assert!(
        world
            .service
            .feedback(&handles[1], Usefulness::Useful, UnixSeconds::new(NOW))
            .await
            .is_err()
    );
}

/// Of which the text is the same: what was useful for one question is so for another one, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_counts_once_for_each_context() {
    let world = world(&[(
        "pool.md",
        "The pool waits for a connection, and then fails.\n",
    )]);
    let (mut ids, mut digests) = (BTreeSet::new(), BTreeSet::new());
    for (number, message) in [
        "How long does the pool wait?",
        "Why does a pool fail?",
        "What is a connection?",
    ]
    .into_iter()
    .enumerate()
    {
        let primed = world.prime(message).await;
        primed.recording.done().await.unwrap();
        // What was shown lately would be worth more.
        world.store.shown.lock().unwrap().clear();
        let context = primed.context;
        ids.insert(context.id.clone());
        digests.insert(context.built.digest.clone());
        let handles = [
            handle(&context, "pool.md"),
            context.feedback.clone().unwrap(),
        ];
        for (at, handle) in handles.iter().chain(&handles).enumerate() {
            let vote = world
                .service
                .feedback(handle, Usefulness::Useful, UnixSeconds::new(NOW));
            let expected = if at == 0 {
                Ok(())
            } else {
                Err(FeedbackError::Repeated)
            };
            assert_eq!(vote.await, expected, "{message}: {at}");
        }
        assert_eq!(uses(&world, "pool.md"), number as u64 + 1);
    }
    assert_eq!((ids.len(), digests.len()), (3, 1));
}

/// Of which the receipt is the same, as only what is named is shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_file_counts_once_for_each_message() {
    let world = world(FILES);
    let options = options().with_references(vec!["src/parser.rs".to_owned()]);
    let (mut ids, mut shown) = (BTreeSet::new(), BTreeSet::new());
    for (at, message) in ["shorter please", "und auf deutsch?", "shorter please"]
        .into_iter()
        .enumerate()
    {
        let (service, control) = (&world.service, Control::default());
        let primed = service.prime(Some("t"), message, &options, &control).await;
        let primed = primed.unwrap();
        primed.recording.done().await.unwrap();
        world.store.shown.lock().unwrap().clear();
        let context = primed.context;
        ids.insert(context.id.clone());
        shown.insert(serde_json::to_string(&context.built.included).unwrap());
        let handle = context.feedback.clone().unwrap();
        let vote = service.feedback(&handle, Usefulness::Useful, UnixSeconds::new(NOW));
        let expected = if at < 2 {
            Ok(())
        } else {
            Err(FeedbackError::Repeated)
        };
        assert_eq!(vote.await, expected, "{message}");
    }
    assert_eq!((ids.len(), shown.len()), (2, 1));
    assert_eq!(uses(&world, "src/parser.rs"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_is_its_users() {
    let world = world(FILES);
    let context = world.prime("How is a header parsed?").await.context;
    let handle = handle(&context, "src/parser.rs");
    let other = service_over(&world.store, world.folder.path(), "bob");
    assert_eq!(
        other
            .feedback(&handle, Usefulness::Useful, UnixSeconds::new(NOW))
            .await,
        Err(FeedbackError::Forged)
    );
    let restarted = world
        .service
        .clone()
        .with_signing_key(SigningKey::new([8; 32]));
    assert_eq!(
        restarted
            .feedback(&handle, Usefulness::Useful, UnixSeconds::new(NOW))
            .await,
        Err(FeedbackError::Forged)
    );
    // Who signs nothing gave nothing out.
    let sources = Sources::new(Root::open(world.folder.path()).unwrap(), Limits::default());
    let unsigned = service_without_secret(&world.store, sources, "ada");
    assert_eq!(
        unsigned
            .feedback(&handle, Usefulness::Useful, UnixSeconds::new(NOW))
            .await,
        Err(FeedbackError::NoSigningKey)
    );
    assert_eq!(uses(&world, "src/parser.rs"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_about_a_handle_can_be_changed() {
    let world = world(FILES);
    let context = world.prime("How is a header parsed?").await.context;
    let handle = handle(&context, "src/parser.rs");
    let other = handle.replace("src/parser.rs", "src/server.rs");
    assert_eq!(
        world
            .service
            .feedback(&other, Usefulness::Useful, UnixSeconds::new(NOW))
            .await,
        Err(FeedbackError::Forged)
    );
    for at in 0..handle.len() {
        let mut bytes = handle.clone().into_bytes();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        let changed = String::from_utf8(bytes).unwrap();
        let answer = world
            .service
            .feedback(&changed, Usefulness::Useful, UnixSeconds::new(NOW))
            .await;
        let is_refused = matches!(
            answer,
            Err(FeedbackError::Forged | FeedbackError::Malformed)
        );
        assert!(is_refused, "{changed}: {answer:?}");
    }
    for text in [
        "",
        ".",
        "f2....",
        "f2.a.b.1.c",
        "f2.a.b.1.zz.d",
        "f1.a.b.c.d",
        "../../etc/passwd",
    ] {
        let answer = world
            .service
            .feedback(text, Usefulness::Useful, UnixSeconds::new(NOW))
            .await;
        assert_eq!(answer, Err(FeedbackError::Malformed), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn citations_of_messages_have_no_handle() {
    let world = world(FILES);
    world.say(&[("user", "one"), ("assistant", "two")]).await;
    let context = world.prime("How is a header parsed?").await.context;
    for cited in &context.citations {
        assert_eq!(cited.feedback.is_some(), cited.citation.file_path.is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn feedback_that_something_is_of_no_use_counts_down_to_nothing() {
    let world = world(FILES);
    world
        .store
        .uses
        .lock()
        .unwrap()
        .insert("src/parser.rs".to_owned(), 1);
    for (message, left) in [
        ("How is a header parsed?", 0),
        ("How is the header parsed?", 0),
    ] {
        let context = world
            .prime(&format!("{message} @src/server.rs"))
            .await
            .context;
        let handle = handle(&context, "src/parser.rs");
        let _ = world
            .service
            .feedback(&handle, Usefulness::NotUseful, UnixSeconds::new(NOW))
            .await;
        assert_eq!(uses(&world, "src/parser.rs"), left);
    }
}

const DAY: i64 = 86_400;

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_is_good_for_thirty_days_and_says_when_it_is_not() {
    let world = world(FILES);
    let context = world.prime("How is a header parsed?").await.context;
    let last = (NOW.div_euclid(DAY) + 31) * DAY - 1;
    let of_all = context.feedback.clone().unwrap();
    for handle in [handle(&context, "src/parser.rs"), of_all] {
        for late in [last + 1, last + 400 * DAY] {
            let answer = world
                .service
                .feedback(&handle, Usefulness::Useful, UnixSeconds::new(late))
                .await;
            assert_eq!(answer, Err(FeedbackError::Expired));
        }
    }
    assert_eq!(uses(&world, "src/parser.rs"), 0);
    let handle = handle(&context, "src/parser.rs");
    let day = NOW.div_euclid(DAY) + 30;
    for other in [format!("{}", day + 1), format!("+{day}"), format!("0{day}")] {
        let longer = handle.replace(&format!(".{day}."), &format!(".{other}."));
        assert_ne!(longer, handle);
        assert!(
            world
                .service
                .feedback(&longer, Usefulness::Useful, UnixSeconds::new(NOW))
                .await
                .is_err()
        );
    }
    world
        .service
        .feedback(&handle, Usefulness::Useful, UnixSeconds::new(last))
        .await
        .unwrap();
    assert_eq!(uses(&world, "src/parser.rs"), 1);
}

/// A handle of a file in a context, and when it was given out.
struct Given {
    handle: String,
    at: i64,
}

/// The same context, given out every third day for 120 days: its handle of one file, and that of
/// all its files.
async fn given(world: &World) -> Vec<Given> {
    let mut all = Vec::new();
    for day in (0..120).step_by(3) {
        let at = NOW + day * DAY;
        let options = options().with_now(Some(UnixSeconds::new(at)));
        // Nothing else is in it: what is not named is worth less with time.
        let primed = world.prime_with("@src/parser.rs", &options).await;
        primed.recording.done().await.unwrap();
        // What was shown lately would be shown again.
        world.store.shown.lock().unwrap().clear();
        let context = primed.context;
        let of_all = context.feedback.clone().unwrap();
        let handles = [handle(&context, "src/parser.rs"), of_all];
        all.extend(handles.map(|handle| Given { handle, at }));
    }
    let contexts: BTreeSet<&str> = all
        .iter()
        .filter_map(|it| it.handle.split('.').nth(2))
        .collect();
    assert_eq!(contexts.len(), 1, "it is one context: {contexts:?}");
    all
}

/// Votes with handles, each some hours after the one before, by clocks that are late by up to a
/// day; and that no handle counts which was out when another of its file did.
async fn vote(
    world: &World,
    all: &[Given],
    steps: &[(prop::sample::Index, i64, i64)],
) -> Result<(), TestCaseError> {
    world.store.votes.lock().unwrap().clear();
    world.store.uses.lock().unwrap().clear();
    let (mut time, mut counted_at) = (NOW, None);
    for (index, hours, late) in steps {
        time += hours * 3_600;
        let Given { handle, at } = index.get(all);
        if *at > time {
            continue;
        }
        let now = time - late * 3_600;
        let answer = world
            .service
            .feedback(handle, Usefulness::Useful, UnixSeconds::new(now))
            .await;
        let last_day = at.div_euclid(DAY) + 30;
        let is_expired = now.div_euclid(DAY) > last_day;
        prop_assert_eq!(is_expired, answer == Err(FeedbackError::Expired));
        if uses(world, "src/parser.rs") > 0 {
            world.store.uses.lock().unwrap().clear();
            prop_assert!(answer.is_ok());
            prop_assert!(
                counted_at.is_none_or(|it| it < *at),
                "{} counts again",
                handle
            );
            counted_at = Some(time);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_handle_counts_that_was_out_when_its_file_of_its_context_did() {
    let world = world(&FILES[..1]);
    let all = given(&world).await;
    let step = (any::<prop::sample::Index>(), 0_i64..100, 0_i64..=24);
    let steps = prop::collection::vec(step, 1..120);
    let runtime = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        few::run(128, &steps, |steps| {
            runtime.block_on(vote(&world, &all, &steps))
        });
    });
}
