//! Over the embedded store in a temporary folder: found, shown, cited, recorded, and voted on.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_assemble::Control;
use ctx_index::{Index, Options};
use ctx_model::{BuildOptions, OmittedReason, Origin, UnixSeconds};
use ctx_resolve::Resolver;
use ctx_retrieve::{Message, Options as RetrieveOptions, Retriever, Threads, Usage};
use ctx_service::{Cache, FeedbackError, OwnerId, Ports, Served, Service, SigningKey, Usefulness};
use ctx_source::{Limits, Root, Sources};

use crate::support::{FILES, NOW, options, options_of, write};

fn open(folder: &Path) -> (Arc<Index>, Service) {
    open_at(&folder.join("root"), folder)
}

fn open_at(root: &Path, folder: &Path) -> (Arc<Index>, Service) {
    let index = Index::open(root, &folder.join("index"), Options::default()).unwrap();
    index.update(&mut |_| ControlFlow::Continue(())).unwrap();
    let index = Arc::new(index);
    let sources = Sources::new(Root::open(root).unwrap(), Limits::default());
    let resolver = Arc::new(Resolver::new(sources, ctx_syntax::Limits::default()));
    let retriever = Retriever::new(index.clone()).with_usage(index.clone());
    let service = Service::new(retriever, resolver)
        .for_owner(OwnerId::new("ada"), Ports::of(&index))
        .with_signing_key(SigningKey::new([7; 32]))
        .with_cache(Arc::new(Cache::default()));
    (index, service)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_and_a_message_become_a_context() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        write(&folder.path().join("root"), path, text);
    }
    let (index, service) = open(folder.path());
    index
        .append(
            "t",
            &Message::new("1", "user", "hello there", UnixSeconds::new(NOW - 9)),
        )
        .await
        .unwrap();
    index
        .append(
            "t",
            &Message::new("2", "assistant", "good day", UnixSeconds::new(NOW - 8)),
        )
        .await
        .unwrap();
    index.pin("t", "src/server.rs").await.unwrap();
    let message = "How is a header parsed? See @parse_body and @docs/guide.md:3";
    let prime = service
        .prime(Some("t"), message, &options(), &Control::default())
        .await
        .unwrap();
    let context = &prime.context;
    assert_eq!(context.failures, []);
    assert_eq!(context.unresolved, []);
    let named = context
        .citations
        .iter()
        .filter(|it| it.origin == Origin::Reference);
    let named: Vec<(&str, Option<u32>)> = named
        .map(|it| (it.citation.source.as_str(), it.citation.start_line))
        .collect();
    assert_eq!(
        named,
        [
            // Its line is shown within all of the file.
            ("docs/guide.md", Some(1)),
            ("src/parser.rs", Some(5)),
            ("src/server.rs", Some(1)),
        ]
    );
    for text in [
        "split(text)",
        "assistant: good day",
        "How to listen on a port.",
    ] {
        assert!(
            context.built.context.contains(text),
            "{text}: {}",
            context.built.context
        );
    }

    prime.recording.done().await.unwrap();
    let mut recent: Vec<String> = index
        .recent(9)
        .await
        .unwrap()
        .into_iter()
        .map(|it| it.0)
        .collect();
    recent.sort_unstable();
    let mut files = context.built.files.clone();
    files.sort_unstable();
    assert_eq!(recent, files);

    let again = service
        .prime(Some("t"), message, &options(), &Control::default())
        .await
        .unwrap();
    assert_eq!(again.served, Served::Hit);

    let cited = context
        .citations
        .iter()
        .find(|it| it.citation.source == "src/parser.rs")
        .unwrap();
    let handle = cited.feedback.clone().unwrap();
    service
        .feedback(&handle, Usefulness::Useful, UnixSeconds::new(NOW))
        .await
        .unwrap();
    let paths = ["src/parser.rs".to_owned()];
    assert_eq!(index.counts(&paths).await.unwrap()["src/parser.rs"], 1);
    let again = service
        .prime(Some("t"), message, &options(), &Control::default())
        .await
        .unwrap();
    assert_eq!(again.served, Served::Miss, "a vote was counted");

    // All of that is kept, and a handle stays what it is.
    drop((index, service));
    let (index, service) = open(folder.path());
    assert_eq!(
        service
            .feedback(&handle, Usefulness::Useful, UnixSeconds::new(NOW))
            .await,
        Err(FeedbackError::Repeated)
    );
    assert_eq!(index.counts(&paths).await.unwrap()["src/parser.rs"], 1);
}

/// Contexts of the folder that `CTX_MEASURE` names: how long they take, made and kept.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; set CTX_MEASURE"]
async fn measured() {
    let root = std::env::var_os("CTX_MEASURE").expect("CTX_MEASURE names a folder");
    let folder = tempfile::tempdir().unwrap();
    let (_, service) = open_at(Path::new(&root), folder.path());
    let words = [
        "budget", "citation", "cache", "escape", "encoding", "outline", "merge", "digest",
    ];
    let mut taken: [Vec<Duration>; 2] = Default::default();
    let mut stages = Vec::new();
    for round in 0..50 {
        let (a, b) = (words[round % 8], words[(round / 8 + round + 1) % 8]);
        let message =
            format!("Where does the {a} of a chunk meet its {b}, and what tests that? ({round})");
        for taken in &mut taken {
            let start = Instant::now();
            let prime = service
                .prime(Some("t"), &message, &options(), &Control::default())
                .await
                .unwrap();
            taken.push(start.elapsed());
            if prime.served == Served::Miss {
                stages.push(prime.context.timings);
            }
            prime.recording.done().await.unwrap();
        }
    }
    for (name, mut taken) in ["made", "kept"].into_iter().zip(taken) {
        taken.sort_unstable();
        eprintln!("{name}: median {:?}, 49th of 50 {:?}", taken[25], taken[48]);
    }
    stages.sort_unstable_by_key(|it| it.search + it.resolve + it.score + it.assemble);
    eprintln!("{:?}", stages[stages.len() / 2]);
}

/// Of two definitions of one name one is gone since they were indexed, and both are found where the
/// other is.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_two_hits_lead_to_is_shown_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let of = |system: &str| {
        format!("#[cfg({system})]\nfn load_settings() -> Settings {{\n    {system}()\n}}\n\n")
    };
    write(&root, "a.rs", &[of("unix"), of("windows")].concat());
    let (index, _) = open(folder.path());
    write(&root, "a.rs", &of("windows"));
    let sources = Sources::new(Root::open(&root).unwrap(), Limits::default());
    let resolver = Resolver::new(sources, ctx_syntax::Limits::default()).with_index(index.clone());
    let ports = Ports::of(&index);
    let service = Service::new(Retriever::over(index), Arc::new(resolver));
    let of_owner = service.clone().for_owner(OwnerId::new("ada"), ports);
    let build = BuildOptions::default().with_counter("wordBased".to_owned().into());
    let (retrieve, control) = (RetrieveOptions::default(), Control::default());
    let answer = service
        .answer("Where is load_settings?", &retrieve, &build, &control)
        .await
        .unwrap();
    assert_eq!(answer.material.retrieved.found.len(), 2);
    let shown = &answer.built;
    assert_eq!(
        shown.context.matches("windows()").count(),
        1,
        "{}",
        shown.context
    );
    let [it] = &shown.omitted[..] else {
        panic!("{:?}", shown.omitted);
    };
    assert_eq!(it.reason, OmittedReason::DuplicateOf);
    assert_eq!(it.other.as_ref(), Some(&shown.included[0].id));
    let message = "Where is load_settings?";
    let prime = of_owner
        .prime(Some("t"), message, &options_of(700), &control)
        .await
        .unwrap();
    let shown = &prime.context.built;
    assert_eq!(shown.context.matches("windows()").count(), 1);
    let [it] = &shown.omitted[..] else {
        panic!("{:?}", shown.omitted);
    };
    assert_eq!(it.reason, OmittedReason::DuplicateOf);
    assert_eq!(it.other.as_ref(), Some(&shown.included[0].id));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_a_message_is_preferred_to_short_parts_that_share_one_word() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let steps: Vec<String> = (0..40)
        .map(|it| format!("    rule_{it} = adapter.match(endpoint, values[{it}])"))
        .collect();
    let answer = format!(
        "def url_for(endpoint, values, external):\n    \"\"\"Builds the URL of an endpoint, external if that is asked for.\"\"\"\n{}\n    return adapter.build(endpoint, external)\n",
        steps.join("\n")
    );
    write(&root, "src/routing.py", &answer);
    for number in 0..60 {
        let short = format!("def build_{number}():\n    return urls\n");
        write(&root, &format!("src/part{number}.py"), &short);
    }
    let (_, service) = open(folder.path());
    let message = "how does url_for build external urls?";
    let prime = service
        .prime(Some("t"), message, &options_of(700), &Control::default())
        .await
        .unwrap();
    let shown = &prime.context.built.context;
    assert!(shown.contains("def url_for"), "{shown}");
}
