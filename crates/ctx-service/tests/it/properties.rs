//! Laws of prime contexts, over random stores, threads and budgets.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use ctx_assemble::{AssembleError, Control};
use ctx_model::{Format, Origin, Selection, Tokens, UnixSeconds};
use ctx_retrieve::{Message, Threads};
use ctx_service::{PrimeContext, PrimeOptions, ServiceError};
use ctx_testkit::few;
use proptest::prelude::*;

use crate::support::{NOW, World, options, options_of, world};

const WORDS: [&str; 8] = [
    "header", "parse", "port", "listen", "```", "]]>", "moon", "tide",
];

/// Files, what was said, what is pinned, and what is asked.
#[derive(Clone, Debug)]
struct Case {
    files: Vec<(String, String)>,
    said: Vec<(bool, String)>,
    pinned: Vec<usize>,
    asked: String,
    options: PrimeOptions,
}

fn text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let words = prop::collection::vec(prop::sample::select(&WORDS[..]), words);
    words.prop_map(|words| words.join(" "))
}

fn file() -> impl Strategy<Value = String> {
    let paragraph = (0_u8..30, text(1..40))
        .prop_map(|(name, body)| format!("fn name{name}() {{\n    {body}\n}}\n"));
    prop::collection::vec(paragraph, 1..6).prop_map(|paragraphs| paragraphs.join("\n"))
}

fn case() -> impl Strategy<Value = Case> {
    let files = prop::collection::vec(file(), 1..6);
    let said = prop::collection::vec((any::<bool>(), text(1..30)), 0..24);
    let pinned = prop::collection::vec(0_usize..6, 0..4);
    let budget = (20_u32..1_500, 0_u32..200);
    let format = prop::sample::select(&Format::ALL[..]);
    let selections = [Selection::InOrder, Selection::Density, Selection::Optimal];
    let selection = prop::sample::select(selections.to_vec());
    (files, said, pinned, text(0..12), budget, format, selection).prop_map(
        |(files, said, pinned, asked, (most, reserve), format, selection)| {
            let name = |(number, text)| (format!("src/f{number}.rs"), text);
            let options = options();
            let build = options
                .build
                .clone()
                .with_max_tokens(Tokens::new(most))
                .with_reserve(Tokens::new(reserve))
                .with_selection(selection)
                .with_format(format);
            Case {
                files: files.into_iter().enumerate().map(name).collect(),
                said,
                pinned,
                asked,
                options: options.with_build(build),
            }
        },
    )
}

impl Case {
    async fn world(&self) -> World {
        let files: Vec<(&str, &str)> = self
            .files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let world = world(&files);
        for (number, (is_user, content)) in self.said.iter().enumerate() {
            let role = if *is_user { "user" } else { "assistant" };
            let content = format!("said{number:03} {content}");
            let message = Message::new(
                format!("m{number}"),
                role,
                content,
                UnixSeconds::new(NOW - 50),
            );
            world.store.append("t", &message).await.unwrap();
        }
        let mut pinned = self.pinned.clone();
        pinned.sort_unstable();
        pinned.dedup();
        for number in pinned {
            world
                .store
                .pin("t", &format!("src/f{number}.rs"))
                .await
                .unwrap();
        }
        let shown = self
            .files
            .iter()
            .take(3)
            .map(|(path, _)| (path.clone(), UnixSeconds::new(NOW - 60)));
        world.store.shown.lock().unwrap().extend(shown);
        world
    }

    async fn prime(&self, world: &World) -> Result<std::sync::Arc<PrimeContext>, ServiceError> {
        let control = Control::default();
        let prime = world
            .service
            .prime(Some("t"), &self.asked, &self.options, &control);
        let prime = prime.await?;
        prime.recording.done().await.unwrap();
        Ok(prime.context)
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn a_context_keeps_every_law() {
    few::run(few::cases(32), &case(), |case| {
        let made = run(async { case.prime(&case.world().await).await });
        let context = match made {
            Ok(context) => context,
            Err(error) => {
                let is_too_small =
                    matches!(error, ServiceError::Assemble(AssembleError::Budget(_)));
                prop_assert!(is_too_small, "{:?}", error);
                return Ok(());
            }
        };
        let (built, options) = (&context.built, &case.options.build);
        // The budget.
        let limit = options.max_tokens.saturating_sub(options.reserve);
        prop_assert!(built.tokens.total <= limit);
        let counter = ctx_tokens::counter(&options.counter).unwrap();
        prop_assert_eq!(counter.count(&built.context), built.tokens.total);
        // The order of what was said.
        let said =
            (0..case.said.len()).filter_map(|it| built.context.find(&format!("said{it:03}")));
        prop_assert!(said.is_sorted());
        // Nothing is lost, and nothing is there twice.
        let mut ids: Vec<&String> = built.included.iter().map(|it| &it.id).collect();
        ids.extend(built.omitted.iter().map(|it| &it.id));
        ids.sort_unstable();
        let items: Vec<&String> = context.items.iter().map(|it| &it.id).collect();
        prop_assert_eq!(ids, items);
        // What is named is there.
        let named = context
            .items
            .iter()
            .filter(|it| it.origin == Origin::Reference);
        for item in named {
            let is_there = |it: &ctx_model::Included| it.id == item.id;
            let is_merged = |it: &ctx_model::Omitted| it.id == item.id && it.other.is_some();
            prop_assert!(
                built.included.iter().any(is_there) || built.omitted.iter().any(is_merged)
            );
        }
        // Each block can be cited by one id, and that resolves to it.
        for cited in &context.citations {
            let resolved = context.resolve(&format!("so [{}]", cited.id));
            prop_assert_eq!(&resolved.used, &vec![cited.id.clone()]);
        }
        Ok(())
    });
}

#[test]
fn the_order_in_which_a_store_gives_equals_does_not_show() {
    few::run(few::cases(32), &case(), |case| {
        let contexts = run(async {
            let mut contexts = Vec::new();
            for is_reversed in [false, true] {
                let world = case.world().await;
                world
                    .store
                    .is_reversed
                    .store(is_reversed, Ordering::Relaxed);
                contexts.push(case.prime(&world).await.map(|it| it.built.context.clone()));
            }
            contexts
        });
        match &contexts[..] {
            [Ok(one), Ok(other)] => prop_assert_eq!(one, other),
            contexts => prop_assert!(contexts.iter().all(Result::is_err), "{:?}", contexts),
        }
        Ok(())
    });
}

/// Files of which each has what the question asks for, and short exchanges that have nothing of it.
#[test]
fn the_latest_exchanges_have_their_claims_without_a_gap_whatever_the_search_found() {
    const ASKED: &str = "parse the header of a port";
    let paragraph = |file: usize, number: usize| {
        let asked = format!("    parse(header, port{file}); // Parse the header of a port.\n");
        format!(
            "fn parse_header_{file}_{number}() {{\n{}}}\n",
            asked.repeat(6)
        )
    };
    let text = |file| (0..10).map(|it| paragraph(file, it)).collect::<Vec<_>>();
    let files: Vec<(String, String)> = (0..8)
        .map(|file| (format!("src/f{file}.rs"), text(file).join("\n")))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|it| (&*it.0, &*it.1)).collect();
    let world = world(&files);
    let exchange = prop::collection::vec(prop::sample::select(&["moon", "tide", "yes"][..]), 1..12);
    let case = (
        prop::collection::vec((exchange.clone(), exchange), 1..11),
        prop_oneof![Just(500_u32), Just(4_000), 200_u32..6_000],
        prop::sample::select(&Format::ALL[..]),
    );
    few::run(few::cases(48), &case, |(said, max_tokens, format)| {
        let options = options_of(max_tokens);
        let build = options.build.clone().with_format(format);
        let options = options.with_build(build);
        let (with, without) = run(async {
            let mut messages = Vec::new();
            for (number, (question, answer)) in said.iter().enumerate() {
                for (role, words) in [("user", question), ("assistant", answer)] {
                    let content = format!("said{number:02} {}", words.join(" "));
                    let id = format!("{role} {number}");
                    messages.push(Message::new(id, role, content, UnixSeconds::new(NOW - 50)));
                }
            }
            world.store.messages.lock().unwrap().clear();
            world.store.shown.lock().unwrap().clear();
            let without = prime_in(&world, "t", ASKED, &options).await;
            world.store.shown.lock().unwrap().clear();
            let thread = ("t".to_owned(), messages);
            world.store.messages.lock().unwrap().extend([thread]);
            (prime_in(&world, "t", ASKED, &options).await, without)
        });
        let context = &with.built.context;
        let at = |number: usize| context.find(&format!("said{number:02}"));
        let shown: Vec<usize> = (0..said.len()).filter(|it| at(*it).is_some()).collect();
        prop_assert!(shown.iter().map(|it| at(*it)).is_sorted());
        let is_said = |it: &&ctx_model::Included| it.why == "first claim";
        let claimed: Vec<_> = with.built.included.iter().filter(is_said).collect();
        // Their names are in the order of the turns.
        let exchanges = with.items.iter().filter(|it| it.origin == Origin::Message);
        let mut turns: Vec<(&str, &str)> = exchanges.map(|it| (&*it.source, &*it.id)).collect();
        turns.sort_unstable();
        prop_assert_eq!(turns.len(), said.len());
        let ids: BTreeSet<&str> = claimed.iter().map(|it| &*it.id).collect();
        let latest = &turns[turns.len() - claimed.len()..];
        prop_assert_eq!(&ids, &latest.iter().map(|it| it.1).collect(), "{}", context);
        // An earlier one may take room that nothing else fits into.
        prop_assert!(claimed.len() <= shown.len());
        let tokens: u32 = claimed.iter().map(|it| it.tokens.get()).sum();
        prop_assert!(tokens <= max_tokens / 4, "{} of {}", tokens, max_tokens);
        if max_tokens >= 4_000 {
            prop_assert_eq!(shown.len(), said.len());
        }
        if max_tokens >= 500 {
            prop_assert!(!shown.is_empty());
        }
        // Three quarters and more are left for files, less one that no longer fits whole.
        let of_files = |it: &PrimeContext| {
            it.built
                .included
                .iter()
                .filter(|it| it.file_path.is_some())
                .count()
        };
        let (with, without) = (of_files(&with), of_files(&without));
        prop_assert!((with + 1) * 2 >= without, "{with} of {without}: {context}");
        Ok(())
    });
}

async fn prime_in(
    world: &World,
    thread: &str,
    asked: &str,
    options: &PrimeOptions,
) -> std::sync::Arc<PrimeContext> {
    let control = Control::default();
    let prime = world.service.prime(Some(thread), asked, options, &control);
    let prime = prime.await.unwrap();
    prime.recording.done().await.unwrap();
    prime.context
}
