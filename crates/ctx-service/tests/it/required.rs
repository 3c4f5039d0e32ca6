//! What a context is not built without: pins, and the references of a request.

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use ctx_assemble::{AssembleError, Control};
use ctx_retrieve::Threads as _;
use ctx_service::{Cache, PrimeOptions, Required, ServiceError, Source};
use ctx_source::{Files, SourceError, Sources, Text};
use tokio::task::JoinSet;

use crate::support::{FILES, Fault, World, options, service_of, world, world_of};

fn referring(to: &str) -> PrimeOptions {
    options().with_references(vec![to.to_owned()])
}

fn reference(name: &str) -> Required {
    Required::Reference(name.to_owned())
}

/// What is asked of `world` has no context without `what`, for now.
async fn untold(world: &World, options: &PrimeOptions, what: &Required) {
    let control = Control::default();
    let made = world
        .service
        .prime(Some("t"), "What?", options, &control)
        .await;
    let Err(error) = made else {
        panic!("{what} was not needed")
    };
    match error.own() {
        ServiceError::Unavailable {
            what: found,
            source,
        } => {
            assert_eq!(found, what);
            assert!(source.is_transient(), "{source:?}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

fn set(world: &World, port: &'static str, fault: Fault) {
    world.store.faults.lock().unwrap().insert(port, fault);
}

/// The port that fails, what of, what is then referred to, and whose answer is missing.
const ASKED: [(&str, &str, Source); 6] = [
    ("definitions", "parse_body", Source::References),
    ("ending_with", "src/server.rs", Source::References),
    ("parts", "fil-9f2a1c", Source::References),
    // It may be the id of a message.
    ("exchange", "m7", Source::History),
    ("messages", "m7", Source::History),
    ("messages", "mes-9f2a1c", Source::History),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_context_is_built_without_required_data_that_a_store_is_late_with() {
    // Those that wait do so at once.
    let mut late = JoinSet::new();
    for (port, name, _) in ASKED {
        untold_for_now(port, name, Fault::Away, options()).await;
        let deadline = Duration::from_secs(1);
        let mut options = options().with_deadline(deadline);
        options.retrieve = options.retrieve.with_deadline(deadline);
        late.spawn(untold_for_now(port, name, Fault::Late, options));
    }
    while let Some(ended) = late.join_next().await {
        ended.unwrap();
    }
}

/// While `port` has this fault, there is no context with what `name` must bring.
async fn untold_for_now(
    port: &'static str,
    name: &'static str,
    fault: Fault,
    options: PrimeOptions,
) {
    let cache = Arc::new(Cache::default());
    let world = world_of("ada", FILES, Some(cache));
    set(&world, port, fault);
    let within = options.clone().with_references(vec![name.to_owned()]);
    untold(&world, &within, &reference(name)).await;
    world.store.pin("t", name).await.unwrap();
    untold(&world, &options, &Required::Pin(name.to_owned())).await;
    // What only the message names may be missing.
    world.store.unpin("t", name).await.unwrap();
    let message = format!("What of @{name}?");
    let told = world.prime_with(&message, &options).await.context;
    assert!(!told.failures.is_empty(), "{port}");
    // It is for now.
    world.store.faults.lock().unwrap().clear();
    let told = world.prime_with("What?", &referring(name)).await.context;
    assert_eq!(told.failures, [], "{port}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pins_are_required_if_there_is_a_thread() {
    let world = world(FILES);
    for fault in [Fault::Away, Fault::Late] {
        set(&world, "pinned", fault);
        let options = options().with_deadline(Duration::from_millis(300));
        untold(&world, &options, &Required::Pins).await;
        let control = Control::default();
        let made = world.service.prime(None, "What?", &options, &control).await;
        let failures = &made.unwrap().context.failures;
        assert!(failures.iter().any(|it| it.source == Source::Pinned));
        control.cancel.cancel();
        let made = world
            .service
            .prime(Some("t"), "What?", &options, &control)
            .await;
        let is_cancelled =
            |it: &ServiceError| matches!(it, ServiceError::Assemble(AssembleError::Cancelled));
        assert!(made.as_ref().is_err_and(is_cancelled), "{made:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn data_lost_for_good_is_reported_as_missing() {
    for (port, name, source) in ASKED
        .into_iter()
        .chain([("pinned", "no_name", Source::Pinned)])
    {
        for fault in [Fault::Damaged, Fault::Panics] {
            let world = world(FILES);
            set(&world, port, fault);
            let context = world.prime_with("What?", &referring(name)).await.context;
            let failures = context.failures.iter().map(|it| it.source);
            assert!(failures.clone().any(|it| it == source), "{port}");
            let unresolved = context.unresolved.iter().map(|it| it.reference.as_str());
            assert_eq!(unresolved.collect::<Vec<_>>(), [name], "{port}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_that_is_found_needs_no_other_source() {
    let world = world(FILES);
    world.say(&[("user", "one"), ("assistant", "two")]).await;
    set(&world, "definitions", Fault::Away);
    // Of the last messages, and of those before them.
    for messages in [20, 0] {
        let options = referring("m1").with_messages(messages);
        let context = world.prime_with("What?", &options).await.context;
        assert_eq!(context.unresolved, [], "{messages}");
        assert!(context.built.context.contains("two"), "{messages}");
    }
    set(&world, "exchange", Fault::Away);
    set(&world, "parts", Fault::Away);
    let context = world.prime_with("What?", &referring("src/server.rs")).await;
    assert_eq!(context.context.stats.explicit_count, 1);
    untold(&world, &referring("m9"), &reference("m9")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_references_are_unknown_even_if_all_sources_are_slow() {
    let world = world(FILES);
    // Of three seconds these leave less than what was said takes.
    set(
        &world,
        "definitions",
        Fault::Slow(Duration::from_millis(2_200)),
    );
    set(
        &world,
        "exchange",
        Fault::Slow(Duration::from_millis(1_100)),
    );
    let options = referring("parse_boddy").with_deadline(Duration::from_secs(3));
    let context = world.prime_with("?", &options).await.context;
    let [unknown] = context.unresolved.as_slice() else {
        panic!("{:?}", context.unresolved)
    };
    assert!(!unknown.is_unavailable && unknown.reference == "parse_boddy");
    assert!(
        context
            .failures
            .iter()
            .all(|it| it.source != Source::History)
    );
}

/// Files of which none can be read, for this.
#[derive(Debug)]
struct Unread(ErrorKind);

impl Files for Unread {
    fn text(&self, path: &str) -> Result<Arc<Text>, SourceError> {
        let path = path.to_owned();
        Err(match self.0 {
            ErrorKind::InvalidData => SourceError::Damaged { path },
            kind => SourceError::Io {
                path,
                source: Error::new(kind, "nobody answers there"),
            },
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_context_is_built_without_required_files_that_are_unreadable_for_now() {
    let mut world = world(FILES);
    let names = ["src/server.rs", "src/server.rs:1-2", "parse_body"];
    for kind in [ErrorKind::TimedOut, ErrorKind::NotConnected] {
        world.service = service_of(&world.store, Sources::of(Arc::new(Unread(kind))), "ada");
        for name in names {
            untold(&world, &referring(name), &reference(name)).await;
            world.prime(&format!("What of @{name}?")).await;
        }
        world.store.pin("t", "src/server.rs").await.unwrap();
        let pin = Required::Pin("src/server.rs".to_owned());
        untold(&world, &options(), &pin).await;
        world.store.unpin("t", "src/server.rs").await.unwrap();
    }
    for kind in [ErrorKind::InvalidData, ErrorKind::Other] {
        world.service = service_of(&world.store, Sources::of(Arc::new(Unread(kind))), "ada");
        for name in names {
            let context = world.prime_with("What?", &referring(name)).await.context;
            let is_told = !context.unresolved.is_empty() || !context.built.warnings.is_empty();
            assert!(is_told, "{kind} {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_one_long_line_that_is_referred_to_is_in_by_its_beginning() {
    let text = format!("{{\"all\": [{}1]}}", "1, ".repeat(13_000));
    let world = world_of("ada", &[("data.min.json", &*text)], None);
    for name in ["data.min.json", "data.min.json:1"] {
        let (referring, control) = (referring(name), Control::default());
        let made = world
            .service
            .prime(Some("t"), "What is it?", &referring, &control);
        let prime = made.await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let shown = &prime.context.built.context;
        assert!(shown.contains("{\"all\": [1, 1, "), "{name}: {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_part_of_a_label_is_included_whatever_its_chance() {
    let text = "# Billing\n\nInvoices are sent each month. Refunds take a week.\n";
    let world = world_of("ada", &[("docs/billing.md", text)], None);
    let question = "When are invoices sent?";
    let first = world.prime(question).await.context;
    world.remember(&first);
    let label = first.citations[0].id.clone();
    let mut options = referring(&label);
    options.retrieve.min_chance = 1.0;
    let context = world.prime_with(question, &options).await.context;
    assert_eq!(context.unresolved, []);
    assert!(
        context.built.context.contains("Refunds"),
        "{}",
        context.built.context
    );
}
