//! The contents of a prime context, their sources and their order.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ctx_assemble::{AssembleError, Cancel, Control};
use ctx_citations::Verdict;
use ctx_model::{Format, OmittedReason, Origin, Relevance, RenditionKind, UnixSeconds};
use ctx_retrieve::{Message, TaskScope, Threads};
use ctx_service::{Cache, PrimeContext, Served, ServiceError, Source};
use ctx_source::{Files, Secrets, SourceError, Sources, Text};
use serde_json::json;

use crate::support::{FILES, NOW, Store, options, options_of, service_of, world, world_of, write};

fn sources(context: &PrimeContext, origin: Origin) -> Vec<String> {
    let cited = context.citations.iter().filter(|it| it.origin == origin);
    let place = |it: &ctx_citations::Cited| match it.citation.start_line {
        Some(line) => format!("{}:{line}", it.citation.source),
        None => it.citation.source.clone(),
    };
    cited.map(place).collect()
}

#[track_caller]
fn unresolved(context: &PrimeContext, expected: &[(&str, &str)]) {
    let found: Vec<(&str, &str)> = context
        .unresolved
        .iter()
        .map(|it| (it.reference.as_str(), it.why.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn references_of_a_message_are_pinned_with_relevance_one() {
    let world = world(FILES);
    let context = world
        .prime("Compare @src/server.rs:1-3 and @parse_body please")
        .await
        .context;
    unresolved(&context, &[]);
    assert_eq!(
        sources(&context, Origin::Reference),
        ["src/parser.rs:5", "src/server.rs:1"]
    );
    for item in context
        .items
        .iter()
        .filter(|it| it.origin == Origin::Reference)
    {
        assert_eq!(item.relevance, Relevance::ONE);
    }
    let why: Vec<&str> = context
        .built
        .included
        .iter()
        .map(|it| it.why.as_str())
        .collect();
    assert_eq!(why.iter().filter(|it| **it == "pinned").count(), 2);
    assert_eq!(context.stats.explicit_count, 2);
}

/// Texts that come from elsewhere, and which of them were not asked for together.
#[derive(Debug, Default)]
struct Fetched {
    prepared: Mutex<BTreeSet<String>>,
    alone: Mutex<Vec<String>>,
    reads: AtomicUsize,
    /// Whether the texts are longer from the second reading on.
    grows: bool,
    /// Raised by the first reading.
    cancel: Cancel,
}

impl Files for Fetched {
    fn text(&self, path: &str) -> Result<Arc<Text>, SourceError> {
        self.cancel.cancel();
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        if !self.prepared.lock().unwrap().contains(path) {
            self.alone.lock().unwrap().push(path.to_owned());
        }
        let (_, text) = FILES.iter().find(|it| it.0 == path).unwrap();
        let more = if self.grows && reads > 0 {
            "// More.\n"
        } else {
            ""
        };
        let bytes = format!("{text}{more}").into_bytes();
        Ok(Arc::new(
            Text::decode(path, bytes, Secrets::Masked).unwrap(),
        ))
    }

    fn prepare(&self, paths: &[&str]) {
        let paths = paths.iter().map(|it| (*it).to_owned());
        self.prepared.lock().unwrap().extend(paths);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_come_from_elsewhere_are_fetched_together() {
    let files = Arc::new(Fetched::default());
    let store = Arc::new(Store::new(FILES));
    let service = service_of(&store, Sources::of(Arc::clone(&files) as _), "ada");
    let asked = "How is a header parsed in @src/server.rs:1-3 and @src/parser.rs:1-2?";
    let (options, control) = (options(), Control::default());
    let prime = service.prime(Some("t"), asked, &options, &control);
    let context = prime.await.unwrap().context;
    assert!(context.built.context.contains("fn listen"));
    assert_eq!(*files.alone.lock().unwrap(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_is_seen_between_two_files() {
    let asked = [
        "What of @src/server.rs and @src/parser.rs?",
        "What of @src/server.rs:1-3 and @src/parser.rs:1-2?",
    ];
    for (asked, is_meant) in asked.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let files = Arc::new(Fetched::default());
        let store = Arc::new(Store::new(FILES));
        let service = service_of(&store, Sources::of(Arc::clone(&files) as _), "ada");
        let mut control = Control::default();
        if is_meant {
            control.cancel = files.cancel.clone();
        }
        let prime = async move { service.prime(Some("t"), asked, &options(), &control).await };
        let prime = TaskScope::default().on_one_thread(prime).await.unwrap();
        assert_eq!(prime.is_err(), is_meant);
        let reads = files.reads.load(Ordering::Relaxed);
        assert_eq!(reads == 1, is_meant, "{reads}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_kept_answer_is_looked_through_for_who_has_gone() {
    let files = Arc::new(Fetched::default());
    let store = Arc::new(Store::new(FILES));
    let service = service_of(&store, Sources::of(Arc::clone(&files) as _), "ada");
    let service = service.with_cache(Arc::new(Cache::default()));
    let asked = "What of @src/server.rs and @src/parser.rs?";
    let (options, control) = (options(), Control::default());
    let kept = service.prime(Some("t"), asked, &options, &control).await;
    assert_eq!(kept.unwrap().served, Served::Miss);
    let reads = || files.reads.load(Ordering::Relaxed);
    let before = reads();
    let gone = control.clone().with_cancel(files.cancel.clone());
    assert!(
        service
            .prime(Some("t"), asked, &options, &gone)
            .await
            .is_err()
    );
    assert_eq!(reads(), before);
    // It is as good as it was to who comes next.
    let again = service.prime(Some("t"), asked, &options, &control).await;
    assert_eq!(again.unwrap().served, Served::Hit);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_it_is_read_is_not_served_from_the_cache() {
    for (grows, served) in [(false, Served::Hit), (true, Served::Miss)] {
        let files = Arc::new(Fetched {
            grows,
            ..Fetched::default()
        });
        let store = Arc::new(Store::new(FILES));
        let service = service_of(&store, Sources::of(files), "ada");
        let service = service.with_cache(Arc::new(Cache::default()));
        let (options, control) = (options(), Control::default());
        let prime = || {
            service.prime(
                Some("t"),
                "What of @src/parser.rs:1-90?",
                &options,
                &control,
            )
        };
        assert_eq!(prime().await.unwrap().served, Served::Miss);
        assert_eq!(prime().await.unwrap().served, served);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pins_of_a_thread_are_in_every_context() {
    let world = world(FILES);
    world.store.pin("t", "src/server.rs").await.unwrap();
    let context = world.prime("headers").await.context;
    assert_eq!(sources(&context, Origin::Reference), ["src/server.rs:1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_references_are_reported() {
    let world = world(FILES);
    let context = world
        .prime(
            "@guide.md @src/server.rs:90-99 @src/server.rs:9-3 @none.rs:9-3 @nothing @/etc/passwd \
             @../x.rs [fil-000000]",
        )
        .await
        .context;
    let none = "no indexed file or symbol has this name";
    unresolved(
        &context,
        &[
            ("../x.rs", none),
            ("/etc/passwd", none),
            ("fil-000000", "the context has no source with that id"),
            (
                "guide.md",
                "2 files have paths that end so, such as docs/guide.md",
            ),
            ("none.rs:9-3", none),
            ("nothing", none),
            ("src/server.rs:9-3", "lines 9-3 are reversed"),
            ("src/server.rs:90-99", "src/server.rs has 7 lines"),
        ],
    );
    assert_eq!(context.stats.explicit_count, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_names_what_it_was_given_to() {
    let world = world(FILES);
    let first = world.prime("how does it listen?").await.context;
    let cited = &first.citations[0];
    let next = world
        .prime(&format!("how does it listen in [{}]?", cited.id))
        .await
        .context;
    unresolved(&next, &[]);
    let item = next.items.iter().find(|it| it.id == cited.id).unwrap();
    assert_eq!(item.relevance, Relevance::ONE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_names_what_the_thread_was_shown_whatever_is_asked_next() {
    for named in ["", "@src/server.rs", "@src/server.rs:1-3"] {
        let world = world(FILES);
        let question = format!("how does it listen? {named}");
        let prime = world.prime(&question).await;
        prime.recording.done().await.unwrap();
        world.store.shown.lock().unwrap().clear();
        world.remember(&prime.context);
        let of_server = |it: &&ctx_citations::Cited| it.citation.source == "src/server.rs";
        let cited = prime.context.citations.iter().find(of_server).unwrap();
        let asked = options().with_references(vec![cited.id.clone()]);
        let next = world.prime_with("what is a header?", &asked).await.context;
        unresolved(&next, &[]);
        let again = next.citations.iter().find(|it| it.id == cited.id).unwrap();
        assert_eq!(again.citation, cited.citation);
        assert_eq!(again.relevance, Relevance::ONE);
        assert_eq!(next.stats.explicit_count, 1);
        // Not in another thread, and not when the lines say something else.
        let elsewhere = world
            .service
            .prime(Some("u"), "header", &asked, &Control::default())
            .await
            .unwrap();
        let none = "the context has no source with that id";
        unresolved(&elsewhere.context, &[(&cited.id, none)]);
        write(
            world.folder.path(),
            "src/server.rs",
            "fn lurk() {}\n\n\n\n\n\n\n",
        );
        let changed = world.prime_with("what is a header?", &asked).await.context;
        let lines = cited.citation.start_line.zip(cited.citation.end_line);
        let (start, end) = lines.unwrap();
        let since = format!("lines {start}-{end} of src/server.rs have changed since");
        unresolved(&changed, &[(&cited.id, &since)]);
        let is_named = |it: &ctx_citations::Cited| it.relevance == Relevance::ONE;
        assert!(!changed.citations.iter().any(is_named));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_letters_of_a_label_are_not_searched_for() {
    let world = world(&[
        ("src/pool.rs", "fn take() {\n    one()\n}\n"),
        ("web/box.ts", "function use(ref) {\n  return ref\n}\n"),
    ]);
    let prime = world.prime("@src/pool.rs").await;
    prime.recording.done().await.unwrap();
    world.remember(&prime.context);
    let label = &prime.context.citations[0].id;
    assert!(label.starts_with("ref-"), "{label}");
    for asked in [
        format!("explain [{label}] in other words"),
        format!("explain @{label}"),
    ] {
        let context = world.prime(&asked).await.context;
        unresolved(&context, &[]);
        assert_eq!(context.built.files, ["src/pool.rs"], "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_names_that_a_message_has_and_the_store_has_not_are_told() {
    let world = world(&[("src/pool.rs", "fn take() {\n    one()\n}\n")]);
    let file = |name: &str| ("no_such_file", format!("no file called {name} is searched"));
    let name = (
        "no_such_name",
        "nothing here is called frobnicate_widget".to_owned(),
    );
    for (message, expected) in [
        ("what does src/gone.rs do?", vec![file("gone.rs")]),
        ("how does lib/pool.rs take one?", vec![file("lib/pool.rs")]),
        ("does `take` call `frobnicate_widget`?", vec![name]),
        ("what does src/pool.rs do with `take`?", Vec::new()),
        // It is named, and reported as such.
        ("what does @src/gone.rs do?", Vec::new()),
    ] {
        let context = world.prime(message).await.context;
        let warnings = context.built.warnings.iter();
        let warnings = warnings.map(|it| (it.code.as_str(), it.detail.clone()));
        let told = warnings.filter(|it| it.0.starts_with("no_such"));
        assert_eq!(told.collect::<Vec<_>>(), expected, "{message}");
        let unresolved = context.unresolved.len();
        assert_eq!(unresolved, usize::from(message.contains('@')), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_named_by_its_id() {
    let world = world(FILES);
    world
        .say(&[
            ("user", "first"),
            ("assistant", "second"),
            ("user", "third"),
        ])
        .await;
    let context = world.prime("what of @m0?").await.context;
    unresolved(&context, &[]);
    let best = context
        .items
        .iter()
        .find(|it| it.relevance == Relevance::ONE)
        .unwrap();
    assert_eq!(
        (best.origin, best.source.as_str()),
        (Origin::Message, "turn 001-002")
    );
    // Uses are those of files.
    assert_eq!(best.signals[4].value, None);
    assert_eq!(context.stats.explicit_count, 1);
    // Who is told that an exchange is cited knows which messages are.
    let cited = context.citations.iter();
    let cited = cited.filter(|it| it.origin == Origin::Message);
    let of: Vec<&[String]> = cited.map(|it| &*it.metadata.message_ids).collect();
    assert_eq!(
        of,
        [&["m0".to_owned(), "m1".to_owned()][..], &["m2".to_owned()]]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_named_however_long_ago_it_was_said() {
    let world = world(FILES);
    let said: Vec<(&str, String)> = (0..60)
        .map(|n| ["user", "assistant"][n % 2])
        .zip((0..).map(|n| format!("said number {n}.")))
        .collect();
    let said: Vec<(&str, &str)> = said.iter().map(|(a, b)| (*a, b.as_str())).collect();
    world.say(&said).await;
    let context = world.prime("what of @m51, @m21 and @m4?").await.context;
    unresolved(&context, &[]);
    let named: Vec<&str> = context
        .items
        .iter()
        .filter(|it| it.relevance == Relevance::ONE)
        .map(|it| it.source.as_str())
        .collect();
    assert_eq!(named.len(), 3);
    assert_eq!(context.stats.history_count, 12);
    // In the order they were said, each question with its answer.
    let text = &context.built.context;
    let at = |n: u32| text.find(&format!("said number {n}.")).unwrap();
    assert!([4, 5, 20, 21, 40, 50, 51, 59].map(at).is_sorted(), "{text}");
    assert!(!text.contains("said number 6."));
    // Turns are called by their positions in the thread, whatever else is shown.
    let turns = context
        .items
        .iter()
        .filter(|it| it.origin == Origin::Message);
    let turns: BTreeSet<&str> = turns.map(|it| it.source.as_str()).collect();
    assert!(
        turns.is_superset(&BTreeSet::from([
            "turn 005-006",
            "turn 021-022",
            "turn 059-060"
        ])),
        "{turns:?}"
    );
    let context = world.prime("what of @m99?").await.context;
    let none = "no indexed file or symbol has this name";
    unresolved(&context, &[("m99", none)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_named_by_an_id_with_dots() {
    let world = world(FILES);
    let said = [("user", "first"), ("assistant", "second")];
    let ids = ["2024.03.11-7", "msg.b"];
    for (id, (role, content)) in ids.iter().zip(said) {
        let message = Message::new(*id, role, content, UnixSeconds::new(NOW - 200));
        world.store.append("t", &message).await.unwrap();
    }
    world.say(&vec![("user", "said"); 60]).await;
    let context = world
        .prime("what of @2024.03.11-7 and @msg.b?")
        .await
        .context;
    unresolved(&context, &[]);
    assert!(
        context.built.context.contains("user: first"),
        "{}",
        context.built.context
    );
    // A file that is not there is none.
    let none = "no indexed file or symbol has this name";
    let context = world.prime("what of @gone.rs?").await.context;
    unresolved(&context, &[("gone.rs", none)]);
}

/// As many as a request may have references.
const MOST: usize = 32;

#[tokio::test(flavor = "multi_thread")]
async fn as_many_messages_are_named_as_a_request_may_name() {
    let world = world(FILES);
    let said = vec![("user", "said"); 60];
    world.say(&said).await;
    let ids = (0..MOST).map(|n| format!("m{n}")).collect();
    let options = options().with_references(ids);
    let context = world.prime_with("what of these?", &options).await.context;
    unresolved(&context, &[]);
    let why = "no indexed file or symbol has this name; only 32 are looked up among the messages";
    let context = world.prime_with("and of @m32?", &options).await.context;
    unresolved(&context, &[("m32", why)]);
    let context = world.prime_with("and of @m59?", &options).await.context;
    unresolved(&context, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_labels_are_recalled_as_a_request_may_name() {
    let file = |n| (format!("src/f{n}.rs"), format!("fn name_{n}() {{}}\n"));
    let files: Vec<(String, String)> = (0..=MOST).map(file).collect();
    let files: Vec<_> = files.iter().map(|it| (&*it.0, &*it.1)).collect();
    let world = world(&files);
    let mut labels = Vec::new();
    for named in files.chunks(MOST) {
        let paths = named.iter().map(|it| it.0.to_owned()).collect();
        let prime = world
            .prime_with("one", &options().with_references(paths))
            .await;
        prime.recording.done().await.unwrap();
        world.remember(&prime.context);
        let cited = prime.context.citations.iter();
        let of_named = cited.filter(|it| named.iter().any(|file| file.0 == it.citation.source));
        labels.extend(of_named.map(|it| it.id.clone()));
    }
    world.store.shown.lock().unwrap().clear();
    assert_eq!(labels.len(), MOST + 1, "{labels:?}");
    let last = labels.pop().unwrap();
    let options = options().with_references(labels);
    let context = world.prime_with("and these?", &options).await.context;
    unresolved(&context, &[]);
    let asked = format!("and [{last}]?");
    let context = world.prime_with(&asked, &options).await.context;
    unresolved(&context, &[(&last, "only 32 such ids are looked up")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_searched_for() {
    let world = world(FILES);
    let context = world.prime("How is a header parsed?").await.context;
    let found = sources(&context, Origin::Chunk);
    assert!(found.contains(&"src/parser.rs:1".to_owned()), "{found:?}");
    assert!(found.contains(&"docs/guide.md:1".to_owned()), "{found:?}");
    assert!(context.built.context.contains("split(text)"));
    assert_eq!(context.stats.search_count, found.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_keep_their_order_in_every_format() {
    let world = world(FILES);
    world
        .say(&[
            ("user", "zebra header"),
            ("assistant", "yak"),
            ("user", "apple"),
            ("assistant", "banana"),
            ("user", "quokka, parsed"),
            ("assistant", "mango"),
            ("user", "How is a header parsed?"),
        ])
        .await;
    for format in Format::ALL {
        let options = options();
        let build = options.build.clone().with_format(format);
        let context = world
            .prime_with("How is a header parsed?", &options.with_build(build))
            .await
            .context;
        let text = &context.built.context;
        let at = |word: &str| {
            text.find(word)
                .unwrap_or_else(|| panic!("{word} in {text}"))
        };
        let places = ["zebra", "yak", "apple", "banana", "quokka", "mango"].map(at);
        assert!(places.is_sorted(), "{format}: {places:?}");
        assert_eq!(context.stats.history_count, 3);
        assert!(
            !text.contains("user: How is a header parsed?"),
            "the question itself"
        );
    }
}

/// What was said is chosen by its turn, so the least relevance does not hold for it.
#[tokio::test(flavor = "multi_thread")]
async fn messages_are_shown_below_the_least_relevance() {
    let world = world(FILES);
    world
        .say(&[
            ("user", "why are there tides?"),
            ("assistant", "the moon pulls at the sea."),
        ])
        .await;
    let mut least = options_of(4_000);
    least.build.min_relevance = Relevance::new(0.9).ok();
    let context = world.prime_with("go on", &least).await.context;
    let included = context.built.included.iter();
    let shown: Vec<&str> = included.map(|it| it.why.as_str()).collect();
    assert_eq!(shown, ["first claim"]);
    assert!(context.built.context.contains("the moon pulls at the sea."));
}

/// A message that only goes on with its thread is like nothing that was said.
#[tokio::test(flavor = "multi_thread")]
async fn the_latest_messages_are_shown_whatever_the_question() {
    let world = world(FILES);
    let long = "the moon pulls at the sea. ".repeat(200);
    world
        .say(&[
            ("user", "why are there tides?"),
            ("assistant", "the moon pulls at the sea."),
            ("user", "and in so many words?"),
            ("assistant", &long),
        ])
        .await;
    for max_tokens in [240, 520, 4_000] {
        let prime = world
            .prime_with("How is a header parsed on a port?", &options_of(max_tokens))
            .await;
        // Files that are known to have been shown leave less room.
        prime.recording.done().await.unwrap();
        let context = prime.context;
        let included = &context.built.included;
        assert!(included.iter().all(|it| it.why != "pinned"), "{included:?}");
        let holds = included.iter().filter(|it| it.id.starts_with("fil-"));
        let mut holds = holds.map(|it| it.why.as_str());
        assert!(holds.all(|it| it == "contains chunks that were chosen"));
        let claimed = included.iter().filter(|it| it.why == "first claim");
        let renditions: Vec<RenditionKind> = claimed.map(|it| it.rendition).collect();
        let (full, part) = (RenditionKind::Full, RenditionKind::Excerpt);
        let expected = match max_tokens {
            240 => vec![RenditionKind::Mention],
            520 => vec![part],
            // A claim may be shown more fully where there is room.
            _ => vec![full, full],
        };
        assert_eq!(renditions, expected, "{max_tokens}: {:#?}", context.built);
        assert!(context.built.context.contains("split(text)"));
    }
    // What must be in goes before it, and nothing fails that did not.
    let named = "@src/parser.rs @src/server.rs";
    let smallest = (1..200).find_map(|max_tokens| {
        let (service, options) = (world.service.clone(), options_of(max_tokens));
        let prime = async move {
            service
                .prime(Some("u"), named, &options, &Control::default())
                .await
        };
        let prime =
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(prime));
        prime.ok().map(|_| max_tokens)
    });
    let context = world
        .prime_with(named, &options_of(smallest.unwrap()))
        .await
        .context;
    assert_eq!(context.stats.history_count, 2);
    let pinned = context
        .built
        .included
        .iter()
        .filter(|it| it.why == "pinned");
    assert_eq!(pinned.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_a_long_exchange_is_shown_with_its_question_before_it() {
    let world = world(FILES);
    let answers: Vec<String> = (1..=40).map(|n| format!("answer number {n}.")).collect();
    let mut said = vec![("user", "why is that so?")];
    said.extend(answers.iter().map(|it| ("assistant", it.as_str())));
    world.say(&said).await;
    // Of the last twenty it is the rest, and the question.
    for (named, left_out) in [
        ("m5", &[16, 17, 18, 19, 20][..]),
        ("m19", &[1, 2, 3, 4, 20]),
        ("m19 and @m5", &[20]),
    ] {
        let context = world.prime(&format!("what of @{named}?")).await.context;
        unresolved(&context, &[]);
        assert_eq!(context.stats.history_count, 1, "{named}");
        let text = &context.built.context;
        let places = (1..=40).map(|n| text.find(&format!("answer number {n}.")));
        let (shown, not): (Vec<_>, Vec<_>) = (1..=40).zip(places).partition(|it| it.1.is_some());
        let not: Vec<u32> = not.into_iter().map(|it| it.0).collect();
        assert_eq!(not, left_out, "{named}: {text}");
        assert!(shown.is_sorted_by_key(|it| it.1), "{named}: {text}");
        assert!(text.find("why is") < shown[0].1, "{named}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_twenty_messages_are_history() {
    let world = world(FILES);
    let many: Vec<String> = (0..30).map(|n| format!("message number{n}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|it| ("user", it.as_str())).collect();
    world.say(&many).await;
    let context = world.prime("well?").await.context;
    assert_eq!(context.stats.history_count, 20);
    assert!(!context.built.context.contains("number9\n"));
    assert!(context.built.context.contains("number10\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn shown_files_are_recorded_after_the_answer_and_considered_next_time() {
    let world = world(FILES);
    let prime = world.prime("How to listen?").await;
    assert_eq!(prime.served, Served::Bypassed);
    prime.recording.done().await.unwrap();
    let shown = world.store.shown.lock().unwrap().clone();
    let files: BTreeSet<&String> = shown.keys().collect();
    assert_eq!(files, prime.context.built.files.iter().collect());
    assert!(shown.values().all(|&at| at == UnixSeconds::new(NOW)));
    let next = world.prime("and what of a port?").await.context;
    assert_eq!(next.stats.recent_count, shown.len());
}

/// Of two files that were shown for another message, one has a word of this one.
#[tokio::test(flavor = "multi_thread")]
async fn recently_shown_files_without_a_word_in_common_are_no_candidates_in_a_thread() {
    let world = world(FILES);
    for path in ["src/server.rs", "src/parser.rs"] {
        let mut shown = world.store.shown.lock().unwrap();
        shown.insert(path.to_owned(), UnixSeconds::new(NOW - 60));
    }
    let prime = async |thread: Option<&str>, asked: &str| {
        let (options, control) = (options().with_recent(5), Control::default());
        let mut service = world.service.clone();
        service = service.without_recording();
        let prime = service.prime(thread, asked, &options, &control).await;
        prime.unwrap().context
    };
    let recent = |context: &PrimeContext| {
        let items = context.items.iter().filter(|it| it.origin == Origin::File);
        let paths: BTreeSet<String> = items.filter_map(|it| it.path.clone()).collect();
        assert_eq!(context.stats.recent_count, paths.len());
        paths.into_iter().collect::<Vec<_>>()
    };
    let warned = |context: &PrimeContext| {
        let mut warnings = context.built.warnings.iter();
        warnings.any(|it| it.code == "nothing_found")
    };
    for asked in ["shorter please", "why?", "go on"] {
        let context = prime(Some("t"), asked).await;
        assert_eq!(recent(&context), [""; 0], "{asked}");
        assert!(warned(&context), "{asked}");
        assert!(context.built.files.is_empty());
    }
    let context = prime(Some("t"), "drain").await;
    assert_eq!(recent(&context), ["src/server.rs"]);
    assert!(!warned(&context));
    // Without a thread there is nothing else to go on with.
    let context = prime(None, "why?").await;
    assert_eq!(recent(&context), ["src/parser.rs", "src/server.rs"]);
    assert!(warned(&context));
    assert_eq!(prime(Some(""), "why?").await.id, context.id);
    // What is named is there, or is told not to be, and who says nothing looks for nothing.
    for asked in ["@src/nosuch.md why?", "why @src/parser.rs?", " "] {
        let context = prime(Some("t"), asked).await;
        assert!(!warned(&context), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recently_shown_files_are_not_shown_as_mentions_in_a_thread() {
    let lines: Vec<String> = (0..400)
        .map(|it| format!("    step_{it}(header);"))
        .collect();
    let long = format!("fn all() {{\n{}\n}}\n", lines.join("\n"));
    let world = world(&[("long.rs", &long), ("short.txt", "It is a tide.\n")]);
    for path in ["long.rs", "short.txt"] {
        let mut shown = world.store.shown.lock().unwrap();
        shown.insert(path.to_owned(), UnixSeconds::new(NOW));
    }
    for max_tokens in [60, 200, 600, 4_000] {
        let context = world
            .prime_with("tide step", &options_of(max_tokens))
            .await
            .context;
        for it in &context.built.included {
            let cited = context.citations.iter().find(|cited| cited.id == it.id);
            let is_recent = cited.is_some_and(|it| it.origin == Origin::File);
            assert!(
                !is_recent || it.rendition != RenditionKind::Mention,
                "{it:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recently_shown_files_have_no_excerpts_of_their_own() {
    let mut lines: Vec<String> = (0..150).map(|it| format!("    step({it});")).collect();
    "    check(header);".clone_into(&mut lines[75]);
    let long = format!("fn all() {{\n{}\n}}\n", lines.join("\n"));
    let short = "It is parsed.\n\nA header is a line.\n";
    let world = world(&[("long.rs", "Little."), ("short.txt", short)]);
    // No search finds what this says, so it is offered as a whole file alone.
    write(world.folder.path(), "long.rs", &long);
    for path in ["long.rs", "short.txt"] {
        let mut shown = world.store.shown.lock().unwrap();
        shown.insert(path.to_owned(), UnixSeconds::new(NOW));
    }
    let context = world.prime_with("header", &options_of(200)).await.context;
    let included = context.built.included.iter();
    let excerpts = included.filter(|it| it.rendition == RenditionKind::Excerpt);
    assert_eq!(excerpts.count(), 0, "{}", context.built.context);
    let mut cited = context.citations.iter();
    let whole = cited.find(|it| it.citation.source == "short.txt").unwrap();
    assert_eq!(whole.metadata.matched_keywords, ["header"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_notes_what_is_shown_elsewhere_notes_it_alone() {
    let mut world = world(FILES);
    world.service = world.service.without_recording();
    let prime = world.prime("How to listen?").await;
    assert!(!prime.context.built.files.is_empty());
    prime.recording.done().await.unwrap();
    assert!(world.store.shown.lock().unwrap().is_empty());
}

#[tokio::test]
async fn one_thread_makes_what_many_make() {
    let mut world = world(FILES);
    world.service = world.service.without_recording();
    let asked = "How is a header parsed in @src/server.rs:1-3?";
    let many = world.prime(asked).await.context;
    let (service, options) = (world.service.clone(), options());
    let one = async move {
        let control = Control::default();
        service.prime(Some("t"), asked, &options, &control).await
    };
    let one = TaskScope::default()
        .on_one_thread(one)
        .await
        .unwrap()
        .unwrap()
        .context;
    assert_eq!(one.id, many.id);
    assert_eq!(one.built.context, many.built.context);
}

#[tokio::test(flavor = "multi_thread")]
async fn uses_move_the_score() {
    let mut scores = Vec::new();
    for uses in [0, 10] {
        let world = world(FILES);
        let path = "docs/guide.md".to_owned();
        world.store.uses.lock().unwrap().insert(path.clone(), uses);
        let context = world.prime("header").await.context;
        let item = context
            .items
            .iter()
            .find(|it| it.path.as_ref() == Some(&path));
        let item = item.unwrap();
        let value = if uses == 0 { 0.0 } else { 1.0 };
        assert_eq!(item.signals[4].value, Some(value));
        scores.push(item.relevance.get());
    }
    let [before, after] = scores[..] else {
        unreachable!()
    };
    assert!((after - before - 0.1).abs() < 1e-9, "{before} {after}");
}

/// Others mention a file by its name; it does not say its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_the_words_that_it_is_called() {
    let world = world(&[
        ("README.md", "Flask is a framework.\n\nIt is small.\n"),
        (".github/tests.yaml", "skip:\n  - README\n  - md\n"),
        (
            "src/session.rs",
            "fn save(text: &str) {\n    write(text)\n}\n",
        ),
    ]);
    let context = world.prime("Summarise README.md of flask").await.context;
    let keywords = |path: &str| {
        let item = context.items.iter();
        let item = item.filter(|it| it.path.as_deref() == Some(path));
        let of_keywords = item.filter_map(|it| it.signals[1].value);
        of_keywords.fold(0.0, f64::max)
    };
    assert!(
        keywords("README.md") > keywords(".github/tests.yaml"),
        "{context:#?}"
    );
    let mut cited = context.citations.iter();
    let readme = cited.find(|it| it.citation.source == "README.md").unwrap();
    let matched = &readme.metadata.matched_keywords;
    assert!(matched.contains(&"README".to_owned()), "{matched:?}");
    // What a symbol is called counts as well.
    let context = world.prime("how does session save it?").await.context;
    let item = context
        .items
        .iter()
        .find(|it| it.path.as_deref() == Some("src/session.rs"));
    assert_eq!(item.unwrap().signals[1].value, Some(1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_line_is_shown_twice() {
    let world = world(FILES);
    let context = world
        .prime("How is a header parsed in @src/parser.rs?")
        .await
        .context;
    assert_eq!(context.built.context.matches("split(text)").count(), 1);
    let merged = |it: &&ctx_model::Omitted| it.reason == OmittedReason::MergedInto;
    let merged: Vec<&ctx_model::Omitted> = context.built.omitted.iter().filter(merged).collect();
    let whole = context
        .items
        .iter()
        .find(|it| it.origin == Origin::Reference)
        .unwrap();
    assert!(!merged.is_empty());
    assert!(merged.iter().all(|it| it.other.as_ref() == Some(&whole.id)));
    let omitted = context.built.omitted.len();
    assert_eq!(context.stats.excluded_count, omitted - merged.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_chunks_are_not_counted() {
    let world = world(FILES);
    std::fs::remove_file(world.folder.path().join("src/server.rs")).unwrap();
    let context = world.prime("@src/server.rs").await.context;
    let unread = context.built.omitted.iter();
    let unread = unread.filter(|it| it.reason == OmittedReason::Unreadable);
    let unread = unread.count();
    assert!(unread > 1, "what was named, and parts that were found");
    let stats = context.stats;
    assert_eq!(stats.excluded_count, context.built.omitted.len() - unread);
    assert_eq!(stats.explicit_count, 0, "{stats:?}");
}

/// Of a file of 58 lines, of which the search finds those from 9 on.
#[tokio::test(flavor = "multi_thread")]
async fn lines_that_are_named_are_shown_once_within_a_larger_part() {
    let body: Vec<String> = (10..58)
        .map(|it| format!("    let v{it} = tariff({it});"))
        .collect();
    let head = "// Prices.\n".repeat(7);
    let text = format!(
        "{head}\nfn price_of(order: u32) {{\n{}\n}}\n",
        body.join("\n")
    );
    let world = world(&[("src/price.rs", &text)]);
    let asked = "@src/price.rs:10-20 how does `price_of` know the tariff?";
    let context = world.prime_with(asked, &options_of(3_000)).await.context;
    unresolved(&context, &[]);
    for line in &body {
        assert_eq!(context.built.context.matches(line.as_str()).count(), 1);
    }
    // What holds them is what they were: named, and pinned.
    assert_eq!(sources(&context, Origin::Reference), ["src/price.rs:9"]);
    let mut citations = context.citations.iter();
    let whole = citations.find(|it| it.origin == Origin::Reference);
    let whole = whole.unwrap();
    assert_eq!(whole.relevance, Relevance::ONE);
    let included = &context.built.included;
    assert!(
        included
            .iter()
            .any(|it| it.id == whole.id && it.why == "pinned")
    );
    let part = context
        .items
        .iter()
        .find(|it| it.origin == Origin::Reference);
    let part = part.map(|it| it.id.clone()).unwrap();
    let omitted = context
        .built
        .omitted
        .iter()
        .find(|it| it.id == part)
        .unwrap();
    assert_eq!(omitted.reason, OmittedReason::MergedInto);
    assert_eq!(omitted.other.as_ref(), Some(&whole.id));
    // An answer may call it by the label of either.
    let resolved = context.resolve(&format!("[{part}:10-20], [{}:9]", whole.id));
    assert_eq!(resolved.used, std::slice::from_ref(&whole.id));
    assert_eq!(resolved.with(Verdict::Sound).count(), 2);
    // Where there is no room for all of it, the named lines stand alone.
    let context = world.prime_with(asked, &options_of(260)).await.context;
    assert_eq!(sources(&context, Origin::Reference), ["src/price.rs:10"]);
    for line in &body[..11] {
        assert!(context.built.context.contains(line.as_str()));
    }
}

/// Of a function that the search finds, the first lines are named with what is above them.
#[tokio::test(flavor = "multi_thread")]
async fn lines_that_are_named_are_shown_once_beside_the_rest_of_a_part() {
    let body: Vec<String> = (10..58)
        .map(|it| format!("    let v{it} = tariff({it});"))
        .collect();
    let head = "// Prices.\n".repeat(7);
    let text = format!(
        "{head}\nfn price_of(order: u32) {{\n{}\n}}\n",
        body.join("\n")
    );
    let mut world = world(&[("src/price.rs", &text)]);
    world.service = world.service.without_recording();
    let asked = "@src/price.rs:3-20 how does `price_of` know the tariff?";
    for max_tokens in (200..1_000).step_by(100) {
        let context = world
            .prime_with(asked, &options_of(max_tokens))
            .await
            .context;
        let built = &context.built;
        for line in &body {
            assert!(
                built.context.matches(line.as_str()).count() < 2,
                "{}",
                built.context
            );
        }
        let named = built.included.iter().find(|it| it.why == "pinned").unwrap();
        assert_eq!((named.start_line, named.end_line), (Some(3), Some(20)));
    }
    let context = world.prime_with(asked, &options_of(3_000)).await.context;
    for line in &body {
        assert_eq!(context.built.context.matches(line.as_str()).count(), 1);
    }
    let mut rest = context.citations.iter();
    let rest = rest.find(|it| it.citation.start_line == Some(21)).unwrap();
    assert_eq!(rest.origin, Origin::Chunk);
    let resolved = context.resolve(&format!("[{}:21-30]", rest.id));
    assert_eq!(resolved.with(Verdict::Sound).count(), 1);
}

/// Of a function that the search finds, the first lines are named with much that is above them.
#[tokio::test(flavor = "multi_thread")]
async fn lines_are_not_taken_out_of_a_part_where_what_is_named_is_shown_in_part() {
    let line = |it: u32| format!("    let v{it} = tariff({it});");
    let rows: Vec<String> = (3..100)
        .map(|it| format!("// Row {it}, and what it was before."))
        .collect();
    let body: Vec<String> = (102..140).map(line).collect();
    let text = format!(
        "// Prices.\n\n{}\n\nfn price_of(order: u32) {{\n{}\n}}\n",
        rows.join("\n"),
        body.join("\n")
    );
    let mut world = world(&[("src/price.rs", &text)]);
    world.service = world.service.without_recording();
    let asked = "@src/price.rs:3-120 how does `price_of` know the tariff?";
    let mut were_shown = BTreeSet::new();
    for max_tokens in (200..2_000).step_by(50) {
        let context = world
            .prime_with(asked, &options_of(max_tokens))
            .await
            .context;
        let included = &context.built.included;
        let is_full = |it: &&ctx_model::Included| it.rendition == RenditionKind::Full;
        let named = included.iter().find(|it| it.why == "pinned").unwrap();
        let is_whole = is_full(&named);
        let of_search = included.iter().filter(|it| it.why != "pinned");
        let starts: Vec<u32> = of_search.clone().filter_map(|it| it.start_line).collect();
        // The rest of the part stands alone only beside all of what is named.
        assert!(
            is_whole || !starts.contains(&121),
            "{max_tokens}: {included:?}"
        );
        // Each is told as it is shown.
        for it in included {
            let item = context.items.iter().find(|item| item.id == it.id).unwrap();
            assert_eq!(item.span.map(ctx_model::LineSpan::start), it.start_line);
        }
        let is_part = |it: &&ctx_model::Included| it.end_line.is_some_and(|it| it > 121);
        were_shown.insert((is_whole, of_search.filter(is_full).any(|it| is_part(&it))));
    }
    assert!(were_shown.contains(&(false, true)), "{were_shown:?}");
    assert!(were_shown.contains(&(true, true)), "{were_shown:?}");
}

/// Of a file that was shown lately the search finds a part, and the message names lines of that.
#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_merged_twice_names_the_chunk_that_is_shown() {
    let line = |number: u32| format!("    let v{number} = tariff({number});");
    let body: Vec<String> = (2..12).map(line).collect();
    let rest: Vec<String> = (15..45).map(|it| format!("    say(\"{it}\");")).collect();
    let text = format!(
        "fn price_of(order: u32) {{\n{}\n}}\n\nfn report() {{\n{}\n}}\n",
        body.join("\n"),
        rest.join("\n")
    );
    let asked = "@src/price.rs:3-9 how does `price_of` know the tariff?";
    let mut were_shown = BTreeSet::new();
    for budget in (140..300).step_by(10) {
        let world = world(&[("src/price.rs", &text)]);
        let shown = ("src/price.rs".to_owned(), UnixSeconds::new(NOW - 60));
        world.store.shown.lock().unwrap().extend([shown]);
        let context = world.prime_with(asked, &options_of(budget)).await.context;
        let included = context.built.included.iter().map(|it| &it.id);
        let included: BTreeSet<&String> = included.collect();
        let omitted = context.built.omitted.iter();
        let merged = omitted.filter(|it| it.reason == OmittedReason::MergedInto);
        let merged: Vec<_> = merged.filter_map(|it| it.other.as_ref()).collect();
        assert!(
            merged.iter().all(|it| included.contains(it)),
            "{budget}: {:?}",
            context.built
        );
        were_shown.insert((included.len(), merged.len()));
    }
    // The lines within their part, that beside a sketch of the file; and everything within the
    // file.
    let expected = BTreeSet::from([(2, 1), (1, 3)]);
    assert!(were_shown.is_superset(&expected), "{were_shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_was_considered_is_included_or_omitted() {
    let world = world(FILES);
    world.say(&[("user", "one"), ("assistant", "two")]).await;
    let context = world
        .prime_with("parse a header, listen", &options_of(60))
        .await
        .context;
    let built = &context.built;
    let included = built.included.iter().map(|it| it.id.clone());
    let mut all: Vec<String> = included
        .chain(built.omitted.iter().map(|it| it.id.clone()))
        .collect();
    all.sort_unstable();
    let items: Vec<String> = context.items.iter().map(|it| it.id.clone()).collect();
    assert_eq!(all, items);
    assert!(!built.omitted.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_fails_or_is_late_has_no_say() {
    let world = world(FILES);
    world.say(&[("user", "one")]).await;
    world.store.has_no_history.store(true, Ordering::Relaxed);
    world.store.is_stuck.store(true, Ordering::Relaxed);
    // One that is stuck is waited for so long; the others have as long to answer.
    let late = options().with_deadline(Duration::from_secs(2));
    let context = world
        .prime_with("How is a header parsed?", &late)
        .await
        .context;
    let failures: Vec<(Source, String, bool)> = context
        .failures
        .iter()
        .map(|it| (it.source, it.error.on_one_line(), it.error.is_transient()))
        .collect();
    let broken = "read: the disk is on fire".to_owned();
    let late = "it took too long".to_owned();
    assert_eq!(
        failures,
        [
            (Source::History, broken, false),
            (Source::Recent, late, true)
        ]
    );
    let told = serde_json::to_value(&context.failures[0]).unwrap();
    let expected = json!({"source": "history", "why": "read: the disk is on fire"});
    assert_eq!(told, expected);
    assert!(context.built.context.contains("split(text)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exact_path_is_named_however_many_paths_end_with_it() {
    let many = |name: &'static str| (10..90).map(move |it| format!("apps/{it}/{name}"));
    let text = "fn new() {\n    one()\n}\n";
    let paths: Vec<String> = many("package.json").chain(many("new.rs")).collect();
    let mut files: Vec<(&str, &str)> = paths.iter().map(|it| (it.as_str(), text)).collect();
    files.extend([("package.json", text), ("session.rs", text)]);
    let world = world(&files);
    let context = world
        .prime("@package.json @session::new @new.rs @new @90::new")
        .await
        .context;
    let symbols = "162 symbols have this name, such as that in apps/10/package.json:1";
    unresolved(
        &context,
        &[
            ("90::new", "no indexed file or symbol has this name"),
            ("new", symbols),
            (
                "new.rs",
                "more than 16 files have paths that end so, such as apps/10/new.rs",
            ),
        ],
    );
    let named = sources(&context, Origin::Reference);
    assert_eq!(named, ["package.json:1", "session.rs:1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_path_goes_before_symbols_and_these_before_its_end() {
    let world = world(&[
        ("build", "make all\n"),
        ("tools/serve", "run it\n"),
        (
            "src/steps.rs",
            "fn build() {\n    one()\n}\n\nfn serve() {\n    two()\n}\n",
        ),
    ]);
    for (asked, expected) in [
        ("@build", "build:1"),
        ("@./build", "build:1"),
        ("@steps::build", "src/steps.rs:1"),
        ("@Build", "src/steps.rs:1"),
        ("@serve", "src/steps.rs:1"),
        ("@tools/serve", "tools/serve:1"),
        ("@./serve", "tools/serve:1"),
    ] {
        let context = world.prime(asked).await.context;
        unresolved(&context, &[]);
        assert_eq!(sources(&context, Origin::Reference), [expected], "{asked}");
    }
    // `./` says that it is a path.
    let context = world.prime("@./steps").await.context;
    unresolved(
        &context,
        &[("./steps", "no indexed file or symbol has this name")],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_are_whole_names_and_those_around_a_symbol_go_before_its_file() {
    let world = world(&[
        ("src/parser.py", "fn Parser.parse(self)\n    one()\n"),
        ("src/xml_parser.py", "fn XmlParser.parse(self)\n    two()\n"),
        (
            "src/json_parser.py",
            "fn JsonParser.parse(self)\n    two()\n",
        ),
        ("src/csv_parser.py", "fn CsvParser.parse(self)\n    two()\n"),
        ("Parser/util.py", "fn parse(text)\n    three()\n"),
        (
            "parser/parse.py",
            "fn Outer::Parser<T>::parse(text)\n    four()\n",
        ),
    ]);
    for (asked, expected) in [
        ("@JsonParser.parse", &["src/json_parser.py:1"][..]),
        ("@crate::JsonParser::parse", &["src/json_parser.py:1"]),
        ("@Parser.parse", &["parser/parse.py:1", "src/parser.py:1"]),
        ("@Outer::Parser::parse", &["parser/parse.py:1"]),
        ("@util.parse", &["Parser/util.py:1"]),
        ("@Parser::util::parse", &["Parser/util.py:1"]),
        ("@csv_parser.CsvParser.parse", &["src/csv_parser.py:1"]),
    ] {
        let context = world.prime(asked).await.context;
        unresolved(&context, &[]);
        assert_eq!(sources(&context, Origin::Reference), expected, "{asked}");
    }
    let none = "no indexed file or symbol has this name";
    let many = "6 symbols have this name, such as that in src/parser.py:1";
    for (asked, why) in [("csv.parse", none), ("one.parse", none), ("parse", many)] {
        let context = world.prime(&format!("@{asked}")).await.context;
        unresolved(&context, &[(asked, why)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_ambiguous_is_told_and_no_other_reading_taken() {
    let function = |name: &str| format!("fn {name}() {{\n    one()\n}}\n");
    let (field, new) = (function("main.c"), function("Session.new"));
    let world = world(&[
        ("a/main.c", &field),
        ("b/main.c", "int main;\n"),
        ("a/build", "one\n"),
        ("b/build", "two\n"),
        ("c/1.py", &new),
        ("c/2.py", &new),
        ("c/3.py", &new),
        ("c/4.py", &new),
        ("d/@types/node.ts", "one\n"),
        ("e/@types/node.ts", "one\n"),
    ]);
    let files = |path: &str| format!("2 files have paths that end so, such as {path}");
    let symbols = "4 symbols have this name, such as that in c/1.py:1";
    for (asked, why) in [
        ("main.c", &*files("a/main.c")),
        ("main.c:9-3", &files("a/main.c")),
        ("build", &files("a/build")),
        ("types/node.ts", &files("d/@types/node.ts")),
        ("Session.new", symbols),
        ("Session::new", symbols),
    ] {
        let context = world.prime(&format!("@{asked}")).await.context;
        unresolved(&context, &[(asked, why)]);
    }
    // Colons join no path.
    let context = world.prime("@main::c").await.context;
    assert_eq!(sources(&context, Origin::Reference), ["a/main.c:1"]);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_named_by_its_path_whatever_that_looks_like() {
    let text = "fn new() {\n    one()\n}\n";
    let world = world(&[
        ("@scope/pkg.ts", text),
        ("src/scope/pkg.ts", text),
        ("libs/@types/node.d.ts", text),
        ("notes:2", text),
        ("app/@modal/page.tsx", text),
    ]);
    for (reference, expected) in [
        ("@scope/pkg.ts", "@scope/pkg.ts:1"),
        ("src/scope/pkg.ts", "src/scope/pkg.ts:1"),
        ("@types/node.d.ts", "libs/@types/node.d.ts:1"),
        ("notes:2", "notes:2:1"),
        ("app/@modal/page.tsx", "app/@modal/page.tsx:1"),
    ] {
        let required = options().with_references(vec![reference.to_owned()]);
        let message = format!("@\"{reference}\"");
        for (message, options) in [("", required), (&*message, options())] {
            let context = world.prime_with(message, &options).await.context;
            unresolved(&context, &[]);
            let named = sources(&context, Origin::Reference);
            assert_eq!(named, [expected], "{reference} {message}");
        }
    }
    let lines = options().with_references(vec!["@scope/pkg.ts:2-3".to_owned()]);
    let context = world.prime_with("", &lines).await.context;
    assert_eq!(sources(&context, Origin::Reference), ["@scope/pkg.ts:2"]);
    let context = world.prime("Is it @scope/pkg.ts?").await.context;
    assert_eq!(sources(&context, Origin::Reference), ["@scope/pkg.ts:1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_path_is_known_in_either_form_of_unicode() {
    let text = "fn new() {\n    one()\n}\n";
    let few = ["u\u{308}.rs".to_owned(), "docs/u\u{308}.rs".to_owned()];
    let many = (10..90).map(|it| format!("apps/{it}/u\u{308}.rs"));
    for paths in [few.to_vec(), many.chain(few.clone()).collect()] {
        let files: Vec<(&str, &str)> = paths.iter().map(|it| (it.as_str(), text)).collect();
        let world = world(&files);
        let context = world.prime("@\u{fc}.rs").await.context;
        unresolved(&context, &[]);
        let named = sources(&context, Origin::Reference);
        assert_eq!(named, ["u\u{308}.rs:1"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn symbols_that_a_store_cuts_do_not_pass_for_all() {
    let paths: Vec<String> = (10..90).map(|it| format!("apps/{it}/new.rs")).collect();
    let text = "fn new() {\n    one()\n}\n";
    let files: Vec<(&str, &str)> = paths.iter().map(|it| (it.as_str(), text)).collect();
    let world = world(&files);
    let told = async |expected: &[(&str, &str)]| {
        let context = world.prime("@new @90::new").await.context;
        unresolved(&context, expected);
    };
    let symbols = "symbols have this name, such as that in apps/10/new.rs:1";
    let none = "no indexed file or symbol has this name";
    told(&[("90::new", none), ("new", &format!("80 {symbols}"))]).await;
    world.store.longest.store(20, Ordering::Relaxed);
    let none = "none of the 20 symbols looked at has this name";
    told(&[("90::new", none), ("new", &format!("20 or more {symbols}"))]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_names_are_looked_up_at_once() {
    let asked = async |names: usize| {
        let world = world(FILES);
        // What the search asks, too.
        world.prime("one").await;
        let before = world.store.lookups.swap(0, Ordering::Relaxed);
        let names = (0..names).flat_map(|it| {
            [
                format!("src/{it}.rs"),
                format!("src{it}.close"),
                format!("name_{it}"),
                format!("a{it}.rs:7-3"),
            ]
        });
        let mut options = options();
        options.references = names.collect();
        let context = world.prime_with("one", &options).await.context;
        assert_eq!(context.unresolved.len(), options.references.len());
        world.store.lookups.load(Ordering::Relaxed) - before
    };
    let few = asked(1).await;
    assert!(few <= 6, "{few}");
    assert_eq!(asked(8).await, few);
}

#[tokio::test(flavor = "multi_thread")]
async fn references_found_in_time_are_shown_and_the_others_reported() {
    let world = world(FILES);
    world.store.has_no_names.store(true, Ordering::Relaxed);
    let late = options().with_deadline(Duration::from_secs(1));
    let context = world
        .prime_with("@src/server.rs and @parse_body", &late)
        .await
        .context;
    let why = "the store did not answer whether it exists";
    unresolved(&context, &[("parse_body", why)]);
    assert!(context.unresolved[0].is_unavailable);
    assert!(context.built.context.contains("accept(port)"));
    let is_late = (context.failures.iter())
        .any(|it| it.source == Source::References && it.error.on_one_line() == "it took too long");
    assert!(is_late, "{:?}", context.failures);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_knows_what_was_said_has_what_is_left_of_the_time() {
    let world = world(FILES);
    world.store.has_no_names.store(true, Ordering::Relaxed);
    world.store.has_no_past.store(true, Ordering::Relaxed);
    let mut late = options()
        .with_messages(5)
        .with_deadline(Duration::from_secs(2));
    // The search asks for names too.
    late.retrieve.deadline = late.deadline;
    let context = world.prime_with("@parse_body", &late).await.context;
    let failures: Vec<Source> = context.failures.iter().map(|it| it.source).collect();
    let is_there = |source| failures.contains(&source);
    assert!(is_there(Source::References) && is_there(Source::History));
    let took = context.timings.search;
    assert!(took < late.deadline * 2, "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn references_are_shown_without_the_history() {
    let world = world(FILES);
    world.store.is_mute.store(true, Ordering::Relaxed);
    let asked = "What of @nosuch and @src/parser.rs?";
    let context = world.prime(asked).await.context;
    let failures = context.failures.iter().map(|it| it.source);
    assert_eq!(failures.collect::<Vec<_>>(), [Source::History]);
    assert_eq!(sources(&context, Origin::Reference), ["src/parser.rs:1"]);
    let unresolved = context.unresolved.iter().map(|it| it.reference.as_str());
    assert_eq!(unresolved.collect::<Vec<_>>(), ["nosuch"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn references_that_do_not_fit_are_an_error_with_the_smallest_budget() {
    let world = world(FILES);
    let prime = |tokens| {
        let service = world.service.clone();
        async move {
            let named = "@src/parser.rs @src/server.rs @docs/guide.md";
            service
                .prime(Some("t"), named, &options_of(tokens), &Control::default())
                .await
        }
    };
    let error = prime(10).await.unwrap_err();
    assert!(
        matches!(error, ServiceError::Assemble(AssembleError::Budget(_))),
        "{error:?}"
    );
    assert!(prime(400).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_says_nothing_has_what_the_thread_has() {
    let world = world(FILES);
    world.say(&[("user", "one"), ("assistant", "two")]).await;
    let context = world.prime("  ").await.context;
    assert_eq!(
        (context.stats.search_count, context.stats.history_count),
        (0, 1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_request_ends() {
    let world = world(FILES);
    let cancel = Cancel::new();
    cancel.cancel();
    let control = Control::default().with_cancel(cancel);
    let error = world
        .service
        .prime(Some("t"), "header", &options(), &control)
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        ServiceError::Assemble(AssembleError::Cancelled)
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_stage_says_how_long_it_took() {
    let timings = world(FILES)
        .prime("How is a header parsed?")
        .await
        .context
        .timings;
    for stage in [
        timings.search,
        timings.resolve,
        timings.score,
        timings.assemble,
    ] {
        assert!(stage > Duration::ZERO);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn references_beyond_the_limits_are_reported() {
    let long = format!("{}deep.md", "directory/".repeat(50));
    let mut files = FILES.to_vec();
    files.push((&long, "A file far down.\n"));
    let world = world(&files);
    world.store.pin("t", &long).await.unwrap();
    let names: Vec<String> = (0..60).map(|n| format!("@no{n:02}.rs")).collect();
    let context = world.prime(&names.join(" ")).await.context;
    assert_eq!(context.stats.explicit_count, 1);
    let of_pin = |it: &&ctx_citations::Cited| it.origin == Origin::Reference;
    let of_pin = context.citations.iter().find(of_pin).unwrap();
    assert_eq!(of_pin.citation.source, long);
    assert_eq!(context.unresolved.len(), 60);
    let last = &context.unresolved[59];
    assert_eq!(
        (last.reference.as_str(), last.why.as_str()),
        ("no59.rs", "only 32 are looked up")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn contexts_that_differ_in_a_byte_or_in_whose_they_are_have_other_ids() {
    const TEXT: &str = "fn parse_header(text: &str) -> Header {\n    split(text)\n}\n";
    let asked = "How is a header parsed?";
    let primed = async |owner: &str, text: &str| {
        let world = world_of(owner, &[("src/parser.rs", text)], None);
        let context = world.prime(asked).await.context;
        assert!(context.built.context.contains("parse_header"), "{text}");
        context.id.clone()
    };
    let id = primed("ada", TEXT).await;
    assert_eq!(primed("ada", TEXT).await, id, "equal bytes have one id");
    assert_ne!(primed("bob", TEXT).await, id);
    let mut ids = vec![id];
    // Every byte but those that make it what is looked for.
    for at in TEXT.find("(text").unwrap()..TEXT.len() - 1 {
        let mut other = TEXT.as_bytes().to_vec();
        other[at] = if other[at] == b'z' { b'y' } else { b'z' };
        let other = String::from_utf8(other).unwrap();
        ids.push(primed("ada", &other).await);
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}
