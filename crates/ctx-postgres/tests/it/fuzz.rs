//! Arbitrary text for every function that takes some: the result is the owner's own data or a
//! documented error. `CTX_FUZZ=1000` tries that many texts rather than 16, in about a minute;
//! `questions.rs` asks questions by the hundred thousand.

use std::error::Error as _;

use ctx_model::UnixSeconds;
use ctx_postgres::{FileText, OwnedStore, StoreError};
use ctx_retrieve::{Feedback as _, Message, PortError, Threads as _, Usage as _, Usefulness, Vote};
use ctx_testkit::laws::store as laws;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::conformance::fill;
use crate::{fresh, texts};

pub(crate) const OWN: &str = "quokka";
pub(crate) const FOREIGN: &str = "wallaby";

/// What means something to a query language, to SQL, to a pattern, or to the server's own forms.
const PIECES: [&str; 90] = [
    "'",
    "''",
    "\"",
    "\\",
    "&",
    "|",
    "!",
    "!!",
    "<->",
    "<0>",
    "<16384>",
    "<99999>",
    ":",
    ":*",
    ":A",
    ":*ABCD",
    ":5",
    "(",
    ")",
    "%",
    "_",
    "*",
    "$1",
    "$$",
    ";",
    "--",
    "/*",
    "*/",
    "{",
    "}",
    ",",
    "NULL",
    "OR",
    "-",
    "E'\\x00'",
    "\0",
    "\u{1}",
    "\u{7f}",
    "\r\n",
    "\u{202e}",
    "\u{feff}",
    "\u{fffd}",
    "e\u{301}",
    "İ",
    "設定",
    "🦀",
    "\u{e0041}",
    "\u{10ffff}",
    "\\'",
    "\\0",
    "\\x27",
    "\\u0027",
    "%00",
    "%27",
    "%%",
    ".*",
    "[a-z]+",
    "^",
    "$",
    "?",
    "+",
    "[",
    "]",
    "\\m",
    "***:",
    "(?i)",
    "$tag$",
    "$tag$ $tag$",
    "$2::text",
    "' OR '1'='1",
    "' UNION SELECT content FROM ctx.files --",
    "'; DROP TABLE ctx.files; --",
    "SET ROLE ctx_search",
    "current_setting('ctx.owner')",
    "pg_sleep(60)",
    "::tsquery",
    "U&'\\0027'",
    "the",
    "not",
    "\u{1b}[31m",
    "\u{85}",
    "\u{301}",
    "\u{200d}",
    "\u{2066}",
    "\u{fe0f}",
    "\u{ffff}",
    "\u{d7ff}",
    "ﬃ",
    "ẞ",
    "\u{1f468}\u{200d}\u{1f4bb}",
];

/// What is there, of one's own and of another's.
const WORDS: [&str; 8] = [
    "config",
    "load_config",
    OWN,
    FOREIGN,
    "load_wallaby",
    "src/wallaby.rs",
    "thread 1",
    "m1",
];

pub(crate) fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        24 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        12 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned),
        8 => Just(" ".to_owned()),
        8 => any::<String>(),
        1 => (prop::sample::select(&PIECES[..]), 1_usize..3_000).prop_map(|(it, many)| it.repeat(many)),
        1 => (any::<char>(), 1_usize..3_000).prop_map(|(it, many)| String::from(it).repeat(many)),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|it| it.concat())
}

/// Whether something was refused as it is documented to be, or done.
fn is_documented<T>(done: Result<T, StoreError>) -> Result<(), TestCaseError> {
    match done {
        Ok(_) | Err(StoreError::Invalid { .. } | StoreError::Place { .. }) => Ok(()),
        Err(error) => Err(TestCaseError::fail(error.to_string())),
    }
}

/// The same of a port.
fn is_invalid<T>(done: Result<T, PortError>) -> Result<(), TestCaseError> {
    match done {
        Ok(_) => Ok(()),
        Err(error)
            if error
                .source()
                .and_then(|it| it.downcast_ref::<StoreError>())
                .is_some_and(|it| matches!(it, StoreError::Invalid { .. })) =>
        {
            Ok(())
        }
        Err(error) => Err(TestCaseError::fail(error.on_one_line())),
    }
}

/// Tells `store` the text as every name, id, key, path and content that it takes.
async fn tell_all(store: &OwnedStore, text: &str) -> Result<(), TestCaseError> {
    let message = Message::new(text, "user", text, UnixSeconds::new(1));
    is_invalid(store.append(text, &message).await)?;
    is_invalid(
        store
            .append("t", &Message::new("m", text, text, UnixSeconds::new(1)))
            .await,
    )?;
    is_invalid(store.pin(text, text).await)?;
    is_invalid(store.unpin(text, text).await)?;
    let pinned = [text.to_owned()];
    is_documented(
        store
            .begin_thread(text, Some(text), &pinned, 1, 1 << 40)
            .await,
    )?;
    is_documented(store.set_pins("t", &pinned).await)?;
    is_documented(store.set_title("t", Some(text)).await)?;
    is_documented(
        store
            .keep_context(text, "{}", None, crate::keeping(60, 9))
            .await,
    )?;
    is_documented(store.opened(text, 5, 5).await)?;
    is_documented(store.begun_thread(text).await)?;
    is_documented(store.contexts_with(None, &pinned, 9, 9_999).await)?;
    is_documented(store.contexts_with(Some(text), &pinned, 9, 9_999).await)?;
    is_documented(store.forget_thread(text).await)?;
    is_documented(store.forget_context(text).await)?;
    is_invalid(
        store
            .vote(&Vote::new(
                text,
                text,
                Usefulness::Useful,
                UnixSeconds::new(1),
            ))
            .await,
    )?;
    is_invalid(store.shown(&pinned, UnixSeconds::new(1)).await)?;
    is_invalid(store.counts(&pinned).await)?;
    let files = vec![FileText::new(text, text), FileText::new("a.rs", text)];
    is_documented(store.ingest(files).await)?;
    is_documented(store.text(text).await)?;
    is_documented(store.texts(&[text], &[]).await)?;
    is_documented(store.hashes(&[text]).await)?;
    is_documented(store.remove(&pinned).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_text_is_answered_with_what_is_ones_own_or_refused() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    for (owner, canary) in [(&store, OWN), (&fresh.owner("bob"), FOREIGN)] {
        fill(owner).await;
        owner.ingest(texts(laws::canaries(canary))).await.unwrap();
        for message in laws::canary_messages(canary) {
            owner.append(canary, &message).await.unwrap();
        }
    }
    let writer = fresh.owner("carol");
    let cases = std::env::var("CTX_FUZZ")
        .ok()
        .and_then(|it| it.parse().ok());
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(cases.unwrap_or(16))
    };
    let runtime = tokio::runtime::Handle::current();
    let ask = async |text: String| {
        for answer in laws::ask_all(&store, &text).await {
            prop_assert!(!answer.contains(FOREIGN), "{answer:?}");
        }
        tell_all(&writer, &text).await
    };
    let run = || TestRunner::new(config).run(&any_text(), |text| runtime.block_on(ask(text)));
    tokio::task::block_in_place(run).unwrap();
    // What is asked for is there all the same.
    let answers = laws::ask_all(&store, OWN).await.concat();
    assert!(answers.contains(OWN));
    let files = fresh.owner("bob").totals().await.unwrap().files;
    assert_eq!(files, store.totals().await.unwrap().files);
}
