//! A vote counts once, for what its user was shown.

use ctx_service::{FeedbackError, PrimeContext, Secret};

use crate::support::{FILES, NOW, World, service_over, world};

fn handle(context: &PrimeContext, path: &str) -> String {
    let is_it = |it: &&ctx_service::Cited| it.citation.file_path.as_deref() == Some(path);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_replays_count_once() {
    let world = world(FILES);
    let context = world.prime("How is a header parsed?").await.context;
    let handle = handle(&context, "src/parser.rs");
    world.service.feedback(&handle, true, NOW).await.unwrap();
    for number in 0..1_000 {
        let again = world.service.feedback(&handle, number % 2 == 0, NOW).await;
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
    assert!(world.service.feedback(&handles[0], true, NOW).await.is_ok());
    assert!(
        world
            .service
            .feedback(&handles[1], true, NOW)
            .await
            .is_err()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_is_its_users() {
    let world = world(FILES);
    let context = world.prime("How is a header parsed?").await.context;
    let handle = handle(&context, "src/parser.rs");
    let other = service_over(&world.store, world.folder.path(), "bob");
    assert_eq!(
        other.feedback(&handle, true, NOW).await,
        Err(FeedbackError::Forged)
    );
    let restarted = world.service.clone().with_secret(Secret::new([8; 32]));
    assert_eq!(
        restarted.feedback(&handle, true, NOW).await,
        Err(FeedbackError::Forged)
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
        world.service.feedback(&other, true, NOW).await,
        Err(FeedbackError::Forged)
    );
    for at in 0..handle.len() {
        let mut bytes = handle.clone().into_bytes();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        let changed = String::from_utf8(bytes).unwrap();
        let answer = world.service.feedback(&changed, true, NOW).await;
        let is_refused = matches!(
            answer,
            Err(FeedbackError::Forged | FeedbackError::Malformed)
        );
        assert!(is_refused, "{changed}: {answer:?}");
    }
    for text in [
        "",
        ".",
        "f1....",
        "f1.a.b.c",
        "f1.a.b.zz.d",
        "../../etc/passwd",
    ] {
        let answer = world.service.feedback(text, true, NOW).await;
        assert_eq!(answer, Err(FeedbackError::Malformed), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_file_has_no_handle() {
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
        let _ = world.service.feedback(&handle, false, NOW).await;
        assert_eq!(uses(&world, "src/parser.rs"), left);
    }
}
