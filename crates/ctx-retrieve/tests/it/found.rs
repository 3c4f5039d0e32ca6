//! Which parts are found, and in what order.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ctx_model::{LineSpan, PartKind, SymbolKind, Tokens, UnixSeconds};
use ctx_rank::{Query, Role};
use ctx_retrieve::{
    Field, Found, Near, Options, PortError, PortResult, Report, Retrieved, Retriever, Semantic,
    Strategy, Touched, Weights, async_trait,
};

use crate::store::Store;
use crate::{ask, failure, options, paths, report};

fn library() -> Store {
    Store::of(&[
        (
            "src/pool.py",
            10,
            "function",
            "take",
            "take a connection from the pool",
        ),
        (
            "src/cache.py",
            1,
            "class",
            "Cache",
            "remember answers, evict old ones",
        ),
        (
            "src/proxy.py",
            40,
            "function",
            "tunnel",
            "tunnel a connection through a proxy",
        ),
        (
            "docs/guide.md",
            1,
            "section",
            "",
            "how a connection is made",
        ),
    ])
}

/// A test that is named, and parts of sources that share more words with the question than it does.
fn named_test() -> Store {
    let words = "what does the input conversion of a type verify";
    let source = |path| (path, 1, "function", "convert", words);
    let test = "input";
    Store::of(&[
        source("src/input.rs"),
        source("src/type.rs"),
        (
            "tests/regression.rs",
            9,
            "function",
            "test_input_types",
            test,
        ),
    ])
}

#[tokio::test]
async fn definitions_named_in_a_question_come_first_whatever_the_role_of_their_file() {
    let question = "What does `test_input_types` verify of the conversion of a type?";
    let retrieved = ask(named_test(), question, &options()).await;
    assert_eq!(paths(&retrieved)[0], "tests/regression.rs");
    assert_eq!(retrieved.found[0].role, Role::Test);
    // One of many names has no more say than words have.
    let question = format!("{question} `one_a`, `two_b`, `three_c` and `four_d` do not.");
    let retrieved = ask(named_test(), &question, &options()).await;
    assert_eq!(retrieved.found[0].role, Role::Source);
}

#[test]
fn names_weigh_the_less_the_more_there_are_and_never_nothing_or_something_for_nothing() {
    let weights = Weights::default();
    let of: Vec<f64> = (0..9).map(|it| weights.of_names(it)).collect();
    assert!(of.is_sorted_by(|a, b| a >= b), "{of:?}");
    assert_eq!(of[1], 20.0 * of[8]);
    assert_eq!(of[8], weights.strategy(Strategy::Names));
    let mute = weights.with_strategy(Strategy::Names, 0.0);
    assert_eq!(mute.of_names(1), 0.0);
}

#[tokio::test]
async fn the_best_is_1_and_the_rest_below() {
    let retrieved = ask(library(), "connection pool", &options()).await;
    assert_eq!(paths(&retrieved)[0], "docs/guide.md");
    assert_eq!(retrieved.found.len(), 3);
    assert_eq!(retrieved.found[0].score, 1.0);
    assert!(
        retrieved
            .found
            .iter()
            .all(|it| 0.0 < it.score && it.score <= 1.0)
    );
    assert!(retrieved.found.is_sorted_by(|a, b| a.score >= b.score));
    assert_eq!(retrieved.left_out, 0);
}

#[tokio::test]
async fn a_found_part_names_the_strategies_that_found_it() {
    let retrieved = ask(library(), "why does `take` wait in pool.py:12", &options()).await;
    let best = &retrieved.found[0];
    assert_eq!(best.part.name.as_deref(), Some("take"));
    assert_eq!(best.role, Role::Source);
    for strategy in [
        Strategy::Text,
        Strategy::Files,
        Strategy::Names,
        Strategy::Places,
    ] {
        assert!(best.contribution(strategy) > 0.0, "{strategy:?}");
    }
    assert_eq!(best.contribution(Strategy::Similar), 0.0);
    assert_eq!(best.signals[0].name, "textSimilarity");
    // No text was read.
    let keywords = best.signals[1];
    assert_eq!((keywords.name, keywords.value), ("keywordMatch", None));
}

/// A function, and a longer test of it in its file that shares more words with a question.
fn tested_theme() -> Store {
    let words = "the theme that is chosen for dark terminals";
    let mut store = Store::of(&[
        ("src/theme.rs", 40, "function", "chooses_dark", words),
        (
            "src/theme.rs",
            2,
            "function",
            "choose",
            "the theme is chosen",
        ),
        ("src/tests.c", 9, "function", "chooses", "dark"),
        ("src/latest.rs", 2, "function", "latest", "chosen"),
    ]);
    let names = [
        ("theme::tests::dark::chooses_dark", "rust"),
        ("choose", "rust"),
        ("test::chooses", "cpp"),
        ("latest::tested", "rust"),
    ];
    for ((part, _), (name, language)) in store.parts.iter_mut().zip(names) {
        part.qualified_name = Some(name.to_owned());
        part.language = Some(language.to_owned());
    }
    store
}

#[tokio::test]
async fn tests_among_the_sources_that_they_test_are_tests() {
    let parts = tested_theme().parts;
    let roles = parts.iter().map(|(part, _)| part.role(Role::Source));
    let roles: Vec<&str> = roles.map(Role::as_str).collect();
    assert_eq!(roles, ["test", "source", "source", "source"]);
    assert_eq!(parts[0].0.role(Role::Vendored), Role::Vendored);

    let report = "How is the theme chosen?\n\nIt was dark, and terminals differ.";
    let retrieved = ask(tested_theme(), report, &Options::default()).await;
    assert_eq!(retrieved.found[0].part.name.as_deref(), Some("choose"));
    // Who asks for tests is shown them.
    let question = "which tests choose the theme for dark terminals";
    let retrieved = ask(tested_theme(), question, &Options::default()).await;
    assert_eq!(retrieved.found[0].role, Role::Test);
}

/// What was touched: the path, and what may be the name there.
fn touched(path: &str, names: &[&str], score: f64) -> Touched {
    let names = names.iter().map(|it| (*it).to_owned());
    Touched::new(path, names.collect(), score)
}

#[tokio::test]
async fn a_touched_location_is_the_first_of_its_names_that_the_file_defines() {
    let mut store = Store::of(&[
        ("src/pool.py", 10, "method", "take", "slots"),
        ("src/pool.py", 40, "method", "give", "slots"),
        ("src/slot.py", 10, "method", "take", "slots"),
        ("src/slot.py", 40, "method", "take", "slots"),
        ("src/slot.py", 70, "lines", "", "slots"),
    ]);
    for (number, within) in [(2, "SubLease"), (3, "Lease")] {
        store.parts[number].0.qualified_name = Some(format!("{within}.take"));
    }
    store.touched = vec![
        touched("src/pool.py", &["wait", "give", "take"], 4.0),
        touched("src/slot.py", &["take", "class", "Lease"], 2.0),
        touched("src/pool.py", &["give"], 1.0),
        touched("src/gone.py", &["take"], 9.0),
        touched("src/slot.py", &[], 3.0),
    ];
    let mut options = options();
    options.weights = options.weights.with_strategy(Strategy::Changes, 0.5);
    let retrieved = ask(store, "a leak when connections time out", &options).await;
    let said: Vec<_> = (retrieved.found.iter())
        .map(|it| (&*it.part.path, it.part.span.start()))
        .zip(retrieved.found.iter())
        .map(|(location, it)| (location, it.contribution(Strategy::Changes)))
        .collect();
    assert_eq!(
        said,
        [(("src/pool.py", 40), 0.5), (("src/slot.py", 40), 0.25)]
    );
    assert_eq!(report(&retrieved, Strategy::Changes).found, 3);
}

#[tokio::test]
async fn touched_and_near_parts_are_found_anywhere_in_a_long_file() {
    let names: Vec<String> = (0..1_000).map(|it| format!("step_{it}")).collect();
    let part = |(at, name): (u32, &'static str)| ("src/long.py", 10 * at + 1, "function", name, "");
    let names = names.into_iter().map(|it| &*it.leak());
    let parts: Vec<_> = (0_u32..).zip(names).map(part).collect();
    let start = 10 * 900 + 1;
    let mut store = Store::of(&parts);
    store.touched = vec![touched("src/long.py", &["step_900"], 1.0)];
    let mut options = options();
    options.strategies = vec![Strategy::Changes];
    let touched = ask(store, "it stops half way", &options).await;
    options.strategies = vec![Strategy::Semantic];
    let near = vec![location("src/long.py", start, start + 2, 1.0)];
    let retriever = Retriever::new(Arc::new(Store::of(&parts))).with_semantic(Arc::new(near));
    let query = Arc::new(Query::analyse("it stops half way"));
    let near = retriever.retrieve(&query, &options).await;
    for found in [touched, near].map(|it| it.found) {
        let starts: Vec<u32> = found.iter().map(|it| it.part.span.start()).collect();
        assert_eq!(starts, [start]);
    }
}

#[tokio::test]
async fn changes_do_not_count_without_a_port_for_them() {
    let question = Arc::new(Query::analyse("connection pool"));
    let retrieved = Retriever::new(Arc::new(library()));
    let retrieved = retrieved.retrieve(&question, &options()).await;
    let is_there = |it: &Report| it.strategy == Strategy::Changes;
    assert!(!retrieved.found.is_empty() && !retrieved.reports.iter().any(is_there));
}

#[tokio::test]
async fn the_coverage_of_a_part_does_not_raise_the_rest_of_its_file() {
    let store = || {
        Store::of(&[
            ("src/pool.py", 10, "function", "take", "take a connection"),
            ("src/pool.py", 40, "function", "give", "give it to the pool"),
            ("src/pool.py", 70, "function", "close", "close all"),
        ])
    };
    let mut options = options();
    options.strategies = vec![Strategy::Text, Strategy::Coverage];
    let of_text = ask(store(), "take the connection to the pool", &options).await;
    options.strategies = vec![Strategy::Coverage];
    let of_coverage = ask(store(), "take the connection to the pool", &options).await;
    for retrieved in [&of_text, &of_coverage] {
        assert_eq!(retrieved.found.len(), 2, "the third holds no word of it");
        assert_eq!(retrieved.found[0].part.name.as_deref(), Some("take"));
    }
    let second = &of_coverage.found[1];
    assert_eq!(second.score, second.contribution(Strategy::Coverage));
    assert!(
        of_text.found[1].score > second.score,
        "what fits by its text lifts its neighbours"
    );
}

#[tokio::test]
async fn neighbours_of_the_best_part_of_a_file_are_found_below_it() {
    let store = Store::of(&[
        ("src/pool.py", 1, "lines", "", "import collections"),
        ("src/pool.py", 10, "function", "take", "take a connection"),
        ("src/other.py", 1, "lines", "", "import sys"),
        ("docs/pool.md", 1, "section", "", "how a connection is made"),
        ("docs/pool.md", 9, "section", "", "who wrote this"),
    ]);
    let retrieved = ask(store, "connection", &options()).await;
    let location = |path: &str, line: u32| {
        let mut found = retrieved.found.iter();
        found.find(|it| it.part.path == path && it.part.span.start() == line)
    };
    let best = location("src/pool.py", 10).unwrap();
    let beside = location("src/pool.py", 1).unwrap();
    assert!(0.0 < beside.score && beside.score < best.score);
    assert_eq!(location("src/other.py", 1), None);
    // Of a text, a section that shares nothing with the question says nothing of it.
    assert!(location("docs/pool.md", 1).is_some());
    assert_eq!(location("docs/pool.md", 9), None);
}

#[tokio::test]
async fn a_question_that_says_nothing_asks_nobody() {
    for question in ["", " \n", "how do I do this?", "<!-- pool\n-->", "!!!"] {
        let store = library();
        let calls = Arc::clone(&store.calls);
        let retrieved = ask(store, question, &options()).await;
        assert!(
            retrieved.found.is_empty() && retrieved.reports.is_empty(),
            "{question}"
        );
        assert_eq!(calls.load(Ordering::Relaxed), 0, "{question}");
    }
}

#[tokio::test]
async fn missing_names_and_files_find_nothing() {
    let retrieved = ask(library(), "quaternion", &options()).await;
    assert!(retrieved.found.is_empty());
    assert!(
        retrieved
            .reports
            .iter()
            .all(|it| it.failure.is_none() && it.found == 0)
    );
}

#[tokio::test]
async fn no_more_than_the_limit_is_found() {
    for (limit, left_out) in [(0, 3), (1, 2), (3, 0), (9, 0)] {
        let mut options = options();
        options.limit = Some(limit);
        let retrieved = ask(library(), "connection pool", &options).await;
        assert_eq!(retrieved.found.len(), 3 - left_out);
        assert_eq!(retrieved.left_out, left_out);
    }
}

#[tokio::test]
async fn searches_go_as_deep_as_the_limit_up_to_a_thousand() {
    let paths: Vec<String> = (0..1_200).map(|it| format!("src/pool{it}.py")).collect();
    let part = |path| {
        (
            path,
            1,
            "function",
            "take",
            "take a connection from the pool",
        )
    };
    let parts: Vec<_> = paths.iter().map(|it| part(it.as_str())).collect();
    for (limit, found) in [(100, 100), (450, 450), (900, 900), (2_000, 1_000)] {
        let options = options()
            .with_strategies(vec![Strategy::Text])
            .with_limit(Some(limit));
        let retrieved = ask(Store::of(&parts), "connection from a pool", &options).await;
        assert_eq!(retrieved.found.len(), found, "{limit}");
    }
}

#[test]
fn as_many_are_found_as_the_budget_may_hold_unless_told_otherwise() {
    let limit = |set, max_tokens| {
        let options = Options::default().with_limit(set);
        options.for_budget(Tokens::new(max_tokens), 100).limit
    };
    assert_eq!(limit(None, 0), Some(100));
    assert_eq!(limit(None, 8_000), Some(100));
    assert_eq!(limit(None, 32_000), Some(400));
    assert_eq!(limit(Some(7), 32_000), Some(7));
}

#[test]
fn up_to_the_largest_budget_as_many_are_found_and_beyond_it_more() {
    for max_tokens in [0, 79, 80, 4_000, 7_999, 8_000, 8_080, 32_000, u32::MAX] {
        for least in [0, 40, 100] {
            let options = Options::default();
            let limit = |budget| {
                let budget = Tokens::new(budget);
                options.clone().for_budget(budget, least).limit
            };
            let budget = Tokens::new(max_tokens);
            let largest = options.largest_budget(budget, least).get();
            assert!(largest >= max_tokens);
            assert_eq!(limit(largest), limit(max_tokens), "{max_tokens} {least}");
            if let Some(more) = largest.checked_add(1) {
                assert!(limit(more) > limit(max_tokens), "{max_tokens} {least}");
            }
            let limited = options.with_limit(Some(7));
            assert_eq!(limited.largest_budget(budget, least), Tokens::MAX);
        }
    }
}

#[tokio::test]
async fn nothing_below_the_least_score_is_found() {
    let mut options = options();
    options.min_score = 1.0;
    let retrieved = ask(library(), "connection pool", &options).await;
    assert_eq!(paths(&retrieved), ["docs/guide.md"]);
    assert_eq!(retrieved.left_out, 2);
}

#[tokio::test]
async fn only_the_kinds_that_are_wanted_are_found() {
    let mut options = options();
    options.kinds = vec![SymbolKind::Section.into(), SymbolKind::Class.into()];
    let retrieved = ask(library(), "connection pool", &options).await;
    assert_eq!(paths(&retrieved), ["docs/guide.md"]);
    assert_eq!(retrieved.left_out, 2);
}

#[tokio::test]
async fn parts_of_a_rare_kind_are_found_behind_hundreds_of_others() {
    let paths_of: Vec<String> = (0..3_000).map(|it| format!("src/{it:04}.py")).collect();
    let function = |it| (it, 1, "function", "take", "take a connection from the pool");
    let mut parts: Vec<_> = paths_of.iter().map(|it| function(it.as_str())).collect();
    parts.push(("src/pool.py", 1, "class", "Many", "many things and a pool"));
    let mut options = options();
    options.strategies = vec![Strategy::Text, Strategy::Coverage, Strategy::Files];
    options.kinds = vec!["class".parse().unwrap()];
    let retrieved = ask(Store::of(&parts), "connection pool", &options).await;
    assert_eq!(paths(&retrieved), ["src/pool.py"]);
    let found = report(&retrieved, Strategy::Text).found;
    assert!((300..=401).contains(&found), "{found}");
    // Where enough are among the first, no search goes deeper.
    let store = Store::of(&parts);
    let calls = Arc::clone(&store.calls);
    options.kinds = vec!["function".parse().unwrap()];
    let retrieved = ask(store, "connection pool", &options).await;
    assert_eq!(
        (retrieved.found.len(), calls.load(Ordering::Relaxed)),
        (100, 5)
    );
}

#[tokio::test]
async fn a_name_with_a_sign_is_meant_if_anything_is_called_so() {
    let store = || {
        Store::of(&[
            ("app/a.rb", 1, "method", "save", "stores it"),
            ("app/b.rb", 1, "method", "save!", "stores it, or raises"),
            ("app/c.rb", 1, "method", "load", "reads it"),
        ])
    };
    let of = async |question: &str, strategy| {
        let options = options().with_strategies(vec![strategy]);
        let retrieved = ask(store(), question, &options).await;
        paths(&retrieved)
            .iter()
            .map(|&it| it.to_owned())
            .collect::<Vec<_>>()
    };
    for (question, expected) in [
        ("what does `save!` do", &["app/b.rb"][..]),
        ("where is save! defined", &["app/b.rb"]),
        ("what does `save` do", &["app/a.rb"]),
        ("where is load? defined", &["app/c.rb"]),
        ("where is `load`!", &["app/c.rb"]),
    ] {
        assert_eq!(of(question, Strategy::Names).await, expected, "{question}");
    }
    // Names like it are looked for only if nothing is called so.
    assert!(
        of("what does `save!` do", Strategy::Similar)
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn only_the_strategies_that_are_wanted_run() {
    let mut options = options();
    options.strategies = vec![Strategy::Places, Strategy::Text];
    let retrieved = ask(library(), "connection pool in cache.py", &options).await;
    let ran: Vec<Strategy> = retrieved.reports.iter().map(|it| it.strategy).collect();
    assert_eq!(ran, [Strategy::Text, Strategy::Places]);
    assert_eq!(report(&retrieved, Strategy::Text).found, 3);
    assert_eq!(report(&retrieved, Strategy::Places).found, 1);
}

#[tokio::test]
async fn a_strategy_without_a_weight_is_heard_where_it_is_alone() {
    let mut options = options();
    options.weights = options.weights.with_strategy(Strategy::Names, 0.0);
    let both = ask(library(), "`Cache` or a proxy", &options).await;
    assert_eq!(paths(&both)[0], "src/proxy.py");
    let asked = both.reports.iter().map(|it| it.strategy);
    assert!(!asked.clone().any(|it| it == Strategy::Names), "{asked:?}");
    options.strategies = vec![Strategy::Names];
    let alone = ask(library(), "`Cache` or a proxy", &options).await;
    assert_eq!(paths(&alone), ["src/cache.py"]);
}

/// Each way to set one weight of ranking.
#[expect(
    clippy::cast_possible_truncation,
    reason = "weights of fields are numbers of 32 bits"
)]
fn weight_setters() -> Vec<Box<dyn Fn(Weights, f64) -> Weights>> {
    let mut setters: Vec<Box<dyn Fn(Weights, f64) -> Weights>> = vec![
        Box::new(Weights::with_title),
        Box::new(Weights::with_neighbour),
        Box::new(Weights::with_head),
        Box::new(Weights::with_documents),
        Box::new(Weights::with_first_document),
        Box::new(|it, weight| it.with_fields(vec![(Field::Body, weight as f32)])),
        Box::new(|it, weight| it.with_file_fields(vec![(Field::Text, weight as f32)])),
    ];
    for &strategy in Strategy::ALL {
        setters.push(Box::new(move |it, weight| {
            it.with_strategy(strategy, weight)
        }));
    }
    for &role in Role::ALL {
        setters.push(Box::new(move |it, weight| it.with_role(role, weight)));
    }
    setters
}

#[tokio::test]
async fn a_weight_that_is_infinite_or_not_above_0_counts_as_0() {
    for question in ["connection pool", "`Cache` or a proxy"] {
        for (index, with) in weight_setters().iter().enumerate() {
            let set = |weight| {
                let options = options();
                let weights = with(options.weights.clone(), weight);
                options.with_weights(weights)
            };
            let zero = ask(library(), question, &set(0.0)).await;
            for weight in [-1.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let retrieved = ask(library(), question, &set(weight)).await;
                assert_eq!(retrieved.found, zero.found, "{index} {weight}");
            }
            let most = ask(library(), question, &set(f64::MAX)).await;
            let is_unit = |it: &Found| (0.0..=1.0).contains(&it.score);
            assert!(most.found.iter().all(is_unit), "{index}");
            assert!(most.found.len() >= zero.found.len(), "{index}");
        }
    }
    let weights = Strategy::ALL
        .iter()
        .fold(Weights::default(), |it, &strategy| {
            it.with_strategy(strategy, f64::NAN)
        });
    let retrieved = ask(
        library(),
        "connection pool",
        &options().with_weights(weights),
    )
    .await;
    assert_eq!(retrieved.found.len(), 3);
}

#[tokio::test]
async fn the_highest_weights_find_something() {
    let all = weight_setters();
    let highest = all
        .iter()
        .fold(Weights::default(), |it, with| with(it, f64::MAX));
    let retrieved = ask(
        library(),
        "connection pool",
        &options().with_weights(highest),
    )
    .await;
    assert_eq!(retrieved.found.len(), 3);
    assert!(retrieved.found.iter().all(|it| it.score.is_finite()));
}

#[tokio::test]
async fn a_least_score_that_is_no_number_leaves_nothing_out() {
    let options = options().with_min_score(f64::NAN);
    let retrieved = ask(library(), "connection pool", &options).await;
    assert_eq!((retrieved.found.len(), retrieved.left_out), (3, 0));
}

#[tokio::test]
async fn equals_come_in_the_order_of_their_keys() {
    let parts = [
        ("b.py", 1, "function", "", "socket"),
        ("a.py", 20, "function", "", "socket"),
        ("a.py", 1, "function", "", "socket"),
        ("c.py", 1, "function", "", "socket"),
    ];
    let mut orders = Vec::new();
    for turn in 0..parts.len() {
        let mut parts = parts;
        parts.rotate_left(turn);
        let retrieved = ask(Store::of(&parts), "socket", &options()).await;
        assert!(retrieved.found.iter().all(|it| it.score == 1.0));
        let keys = retrieved
            .found
            .iter()
            .map(|it| (it.part.path.clone(), it.part.span.start()));
        orders.push(keys.collect::<Vec<_>>());
    }
    let expected = [("a.py", 1), ("a.py", 20), ("b.py", 1), ("c.py", 1)];
    let expected = expected.map(|(path, line)| (path.to_owned(), line));
    assert!(orders.iter().all(|it| *it == expected), "{orders:?}");
}

#[tokio::test]
async fn a_path_of_another_machine_is_found_by_its_end() {
    let trace = "it fails\n  File \"/home/me/site-packages/src/proxy.py\", line 999, in tunnel\n";
    let mut options = options();
    options.strategies = vec![Strategy::Places];
    let retrieved = ask(library(), trace, &options).await;
    assert_eq!(paths(&retrieved), ["src/proxy.py"]);
    // A file within another package only has the same name.
    for (folder, is_it) in [
        ("site-packages/urllib3", false),
        ("node_modules/urllib3/lib", false),
        (
            ".cargo/registry/src/index.crates.io-1/urllib3-2.0/lib",
            false,
        ),
        ("go/pkg/mod/a.b/urllib3@v2.0.0", false),
        ("site-packages", true),
        ("lib", true),
    ] {
        let trace = format!("it fails\n  File \"/a/{folder}/proxy.py\", line 2, in <module>\n");
        let retrieved = ask(library(), &trace, &options).await;
        assert_eq!(!retrieved.found.is_empty(), is_it, "{folder}");
    }
}

#[tokio::test]
async fn many_names_and_files_are_asked_for_together() {
    let lines = (0..40).map(|it| {
        format!(
            "  File \"/home/me/a/b/file{it}.py\", line 9, in call_{it}\n`name_{it}` of file{it}.py\n"
        )
    });
    let question = "it fails\n".to_owned() + &lines.collect::<String>();
    let mut options = options();
    for (strategy, most) in [
        (Strategy::Text, 2),
        // Files, the parts in them that fit, and all of the best.
        (Strategy::Files, 3),
        (Strategy::Names, 1),
        // Each end of the longest path, then the parts of all files, and what is called as calls
        // are whose files are not there.
        (Strategy::Places, 7),
        // Which names and files are of nothing, what is like them, and the parts of such files.
        (Strategy::Similar, 4),
    ] {
        let store = library();
        let calls = Arc::clone(&store.calls);
        options.strategies = vec![strategy];
        ask(store, &question, &options).await;
        let calls = calls.load(Ordering::Relaxed);
        assert!((1..=most).contains(&calls), "{strategy:?}: {calls}");
    }
}

#[tokio::test]
async fn a_name_that_is_nowhere_is_found_by_one_like_it() {
    let mut options = options();
    options.strategies = vec![Strategy::Similar];
    let retrieved = ask(library(), "`tunnels` is gone", &options).await;
    assert_eq!(paths(&retrieved), ["src/proxy.py"]);
}

/// Many definitions of a common name, in files that speak of what it is of, and one that is at the
/// top of its file.
fn getters() -> Store {
    let words = "a session and its requests: the session has a get, and the requests wait";
    let paths: Vec<String> = (10..70).map(|at| format!("src/web/f{at}.py")).collect();
    let mut parts: Vec<_> = paths
        .iter()
        .map(|it| (it.as_str(), 10, "method", "get", words))
        .collect();
    parts.push(("tests/test_api.py", 1, "function", "get", "pass"));
    parts.push(("src/web/api.py", 1, "function", "get", "pass"));
    parts.push(("src/web/session.py", 5, "method", "get", "pass"));
    parts.push(("docs/session.md", 1, "section", "", words));
    let mut store = Store::of(&parts);
    for (part, _) in &mut store.parts {
        let within = if part.path.ends_with("session.py") {
            "Session"
        } else {
            "Fake"
        };
        if part.kind == PartKind::from(SymbolKind::Method) {
            part.qualified_name = Some(format!("{within}.get"));
        }
    }
    store
}

#[tokio::test]
async fn a_name_that_is_a_common_word_is_found_where_it_is_marked() {
    for (question, wanted) in [
        ("get", "src/web/api.py"),
        ("what does get do", "src/web/api.py"),
        ("`get`", "src/web/api.py"),
        ("get()", "src/web/api.py"),
        ("api.get()", "src/web/api.py"),
        ("Session.get", "src/web/session.py"),
        ("Session::get()", "src/web/session.py"),
    ] {
        let retrieved = ask(getters(), question, &Options::default()).await;
        assert_eq!(paths(&retrieved)[0], wanted, "{question}");
    }
    // In a report they are among many words.
    let report = "It hangs\n\n`Session.get` of a session\n```\nsession.get()\n```\n";
    let retrieved = ask(getters(), report, &Options::default()).await;
    let names = Strategy::Names;
    assert!(
        retrieved
            .found
            .iter()
            .all(|it| it.contribution(names) == 0.0)
    );
}

#[tokio::test]
async fn who_types_a_definition_is_shown_it_before_what_speaks_of_it() {
    let words = "def class fn a route: a session has routes, and a route has a session";
    let mut parts = vec![
        ("docs/route.md", 1, "section", "", words),
        ("src/route.py", 10, "function", "make_route", words),
        ("src/route.py", 20, "method", "__init__", words),
        ("src/route.py", 30, "function", "route", "pass"),
        ("src/session.py", 1, "class", "Session", "pass"),
        ("src/api.py", 1, "function", "get", "pass"),
    ];
    let paths: Vec<String> = (0..50).map(|at| format!("src/f{at}.py")).collect();
    parts.extend(paths.iter().map(|it| (it.as_str(), 1, "lines", "", words)));
    for (question, wanted) in [
        ("fn route", ("src/route.py", 30)),
        ("class Session", ("src/session.py", 1)),
        ("def get", ("src/api.py", 1)),
        ("where is get defined", ("src/api.py", 1)),
    ] {
        let retrieved = ask(Store::of(&parts), question, &Options::default()).await;
        let first = &retrieved.found[0].part;
        assert_eq!((&*first.path, first.span.start()), wanted, "{question}");
    }
}

#[tokio::test]
async fn a_call_in_a_file_that_is_not_there_is_found_by_its_name() {
    let mut options = options();
    options.strategies = vec![Strategy::Places];
    let proxy = |path| Store::of(&[(path, 1, "function", "tunnel", "of a proxy")]);
    for (trace, path, is_found) in [
        (
            "    at tunnel (/srv/x/dist/bundle.js:3:4)\n",
            "src/proxy.ts",
            true,
        ),
        (
            "    at tunnel (/srv/x/dist/bundle.js:3:4)\n",
            "src/Proxy.VUE",
            true,
        ),
        (
            "    at tunnel (/srv/x/dist/bundle.js:3:4)\n",
            "src/proxy.py",
            false,
        ),
        (
            "    at tunnel (/srv/x/dist/bundle:3:4)\n",
            "src/proxy.py",
            true,
        ),
        ("\tat p.Proxy.tunnel(Proxy.java:42)\n", "src/Pool.kt", true),
        ("\tat p.Proxy.tunnel(Proxy.java:42)\n", "rewrite.go", false),
        (
            "  File \"/x/worker.py\", line 3, in tunnel\n",
            "lib/tunnel",
            false,
        ),
    ] {
        let report = format!("TypeError: it broke\n{trace}");
        let retrieved = ask(proxy(path), &report, &options).await;
        let expected = if is_found { vec![path] } else { Vec::new() };
        assert_eq!(paths(&retrieved), expected, "{trace}");
        assert_eq!(retrieved.traced[0].is_empty(), !is_found, "{trace}");
        let codes = retrieved.warnings.iter().map(|it| it.code.as_str());
        let told: &[&str] = if is_found { &[] } else { &["no_such_call"] };
        assert_eq!(codes.collect::<Vec<_>>(), told, "{trace}");
    }
}

#[tokio::test]
async fn a_call_without_a_file_is_found_by_its_name_and_type() {
    let mut options = options();
    options.strategies = vec![Strategy::Places];
    let store = || {
        let mut store = Store::of(&[("src/a.cs", 1, "method", "take", "of a pool")]);
        store.parts[0].0.qualified_name = Some("Acme.Pool.take".to_owned());
        store
    };
    for (frame, is_found) in [
        ("./server(take+0x1d)[0x55d0]", true),
        ("   at Acme.Pool.take(Int32 n)", true),
        ("   at Acme.Pool`1.take(Int32 n)", true),
        ("   at Acme.Outer+Pool.take(Int32 n)", true),
        ("   at Acme.Pool.take[T](T item)", true),
        ("   at Acme.Other.take(Int32 n)", false),
        ("   at Acme.Pool+Other.take(Int32 n)", false),
    ] {
        let report = format!("It broke\n\n{frame}\n");
        let retrieved = ask(store(), &report, &options).await;
        assert_eq!(!retrieved.traced[0].is_empty(), is_found, "{frame}");
    }
}

#[tokio::test]
async fn that_no_call_of_a_trace_is_found_is_told_once() {
    let call = |file: &str| format!("  File \"/app/{file}.py\", line 3, in gone\n");
    let details = |retrieved: &Retrieved| -> Vec<String> {
        let warnings = retrieved.warnings.iter();
        warnings.map(|it| it.detail.clone()).collect()
    };
    let trace = ["a", "b", "a", "c", "d"].map(call).concat();
    let report = format!("It fails\n{trace}ValueError: why\n");
    let told = details(&ask(library(), &report, &options()).await);
    assert_eq!(
        told,
        ["no call of the stack trace is found here: /app/a.py, /app/b.py, /app/c.py and 1 more"]
    );
    // One that is found is enough, and so is a line that is named.
    let found = format!("{report}\n  File \"/x/src/proxy.py\", line 41, in <module>\n");
    assert!(details(&ask(library(), &found, &options()).await).is_empty());
    let named = format!("{report}\nsee src/proxy.py:41\n");
    assert!(details(&ask(library(), &named, &options()).await).is_empty());
    assert!(details(&ask(library(), "it fails", &options()).await).is_empty());
}

#[tokio::test]
async fn the_last_call_of_a_long_trace_is_looked_up() {
    let call = |at: usize| format!("  File \"/venv/lib/f{at}.py\", line 3, in gone\n");
    let calls = (0..200).map(call).collect::<String>();
    let crash = "  File \"/home/me/src/proxy.py\", line 41, in tunnel\n";
    let mut options = options();
    options.strategies = vec![Strategy::Places];
    let report = format!("It fails\n{calls}{crash}ValueError: why\n");
    let retrieved = ask(library(), &report, &options).await;
    assert_eq!(paths(&retrieved), ["src/proxy.py"]);
    assert_eq!(retrieved.traced.last().map(Vec::len), Some(1));
    assert!(retrieved.warnings.is_empty());
    // Of a trace without such a call it is told that some were not looked up.
    let report = format!("It fails\n{calls}ValueError: why\n");
    let retrieved = ask(library(), &report, &options).await;
    assert_eq!(
        retrieved.warnings[0].detail,
        "no call of the stack trace is found here: /venv/lib/f0.py, /venv/lib/f1.py, \
         /venv/lib/f2.py and 45 more; 152 calls between the first and the last were not looked up"
    );
}

#[tokio::test]
async fn a_call_of_a_function_without_a_name_is_one_of_what_it_is_in() {
    let trace = "panic: no pool\n\ngoroutine 1 [running]:\nmain.tunnel.func1.2(0x1)\n\t/srv/x/gone.go:3 +0x1d\n";
    let mut options = options();
    options.strategies = vec![Strategy::Places];
    let store = Store::of(&[("src/proxy.go", 1, "function", "tunnel", "of a proxy")]);
    let retrieved = ask(store, trace, &options).await;
    assert_eq!(paths(&retrieved), ["src/proxy.go"]);
}

#[tokio::test]
async fn a_call_of_what_its_file_does_not_define_is_where_its_line_is() {
    let mut options = options();
    options.strategies = vec![Strategy::Places];
    let of = |function: &str| {
        format!("it fails\n  File \"/home/me/src/proxy.py\", line 41, in {function}\n")
    };
    for function in [
        "<module>",
        "tunnel.<locals>.<lambda>",
        "Pool.<init>",
        "wrapper",
        "__init__",
    ] {
        let retrieved = ask(library(), &of(function), &options).await;
        assert_eq!(paths(&retrieved), ["src/proxy.py"], "{function}");
        assert_eq!(retrieved.traced[0].len(), 1, "{function}");
    }
    // A library's file has the same name.
    let other = of("handle").replace("/home/me/src/", "/usr/lib/django/core/");
    assert!(paths(&ask(library(), &other, &options).await).is_empty());
    for function in ["a::tunnel::{{closure}}", "Proxy#tunnel", "tunnel [as open]"] {
        // Of a line of another version no part is.
        let question = of(function).replace("line 41", "line 999");
        let retrieved = ask(library(), &question, &options).await;
        assert_eq!(paths(&retrieved), ["src/proxy.py"], "{function}");
    }
}

/// Sections of documents, the last of which says most of what a question says, and a source that
/// says more.
fn documents() -> Store {
    let words = "what does the guide say, says guide.md";
    Store::of(&[
        ("docs/guide.md", 1, "section", "First", "of owls"),
        ("docs/guide.md", 9, "section", "Second", "of hens"),
        ("docs/guide.md", 17, "section", "Third", words),
        ("src/guide.rs", 1, "function", "guide", words),
        ("lib/guide.md", 1, "section", "Other", words),
    ])
}

#[tokio::test]
async fn of_a_document_that_is_all_a_question_asks_for_the_parts_come_first_in_their_order() {
    let lines = |retrieved: &Retrieved| {
        let found = retrieved.found.iter();
        let found = found.map(|it| (it.part.path.clone(), it.part.span.start(), it.score));
        found.take(3).collect::<Vec<_>>()
    };
    let guide = |line| ("docs/guide.md".to_owned(), line, 1.0);
    for question in ["What does docs/guide.md say?", "docs/guide.md"] {
        let retrieved = ask(documents(), question, &options()).await;
        assert_eq!(lines(&retrieved), [guide(1), guide(9), guide(17)]);
        assert_eq!(
            retrieved.whole.iter().collect::<Vec<_>>(),
            ["docs/guide.md"]
        );
    }
    // Of a name that several have, each is meant.
    let retrieved = ask(documents(), "guide.md", &options()).await;
    assert_eq!(retrieved.whole.len(), 2);
    // A source is asked about, and not for.
    for question in ["src/guide.rs", "docs/guide.md: what does the guide say?"] {
        let retrieved = ask(documents(), question, &options()).await;
        assert!(retrieved.whole.is_empty(), "{question}");
    }
}

#[tokio::test]
async fn a_document_comes_first_where_it_explains() {
    let words = "how retries work, and what a retry works with";
    let first = |document: &'static str, question: &'static str| async move {
        let store = Store::of(&[
            (document, 1, "section", "Retries", words),
            ("src/retry.rs", 1, "function", "work_again", words),
        ]);
        let retrieved = ask(store, question, &Options::default()).await;
        retrieved.found[0].part.path.clone()
    };
    let question = "how do retries work?";
    for document in ["docs/retries.md", "README.md"] {
        assert_eq!(first(document, question).await, document);
    }
    for document in ["LICENSE", "docs/man.go", "integration/adapt/retry.txt"] {
        assert_eq!(
            first(document, question).await,
            "src/retry.rs",
            "{document}"
        );
    }
    // Who names it asks for it.
    assert_eq!(
        first("LICENSE", "how do retries work by the LICENSE?").await,
        "LICENSE"
    );
}

#[tokio::test]
async fn a_changelog_comes_first_where_it_is_asked_what_became_of_something() {
    let words = "how redirects of a session are followed";
    let store = || {
        Store::of(&[
            (
                "HISTORY.md",
                1,
                "section",
                "",
                &format!("{words}: improved since 2.0.1, added"),
            ),
            (
                "docs/guide.md",
                1,
                "section",
                "",
                "how redirects are followed, and where to",
            ),
            (
                "src/session.py",
                1,
                "function",
                "send",
                "redirects of a session",
            ),
        ])
    };
    for (question, wanted) in [
        ("how are redirects of a session followed", "docs/guide.md"),
        ("when were redirects of a session added", "HISTORY.md"),
        ("redirects of a session since 2.0.1", "HISTORY.md"),
        ("redirects of a session in HISTORY.md", "HISTORY.md"),
    ] {
        let retrieved = ask(store(), question, &Options::default()).await;
        assert_eq!(paths(&retrieved)[0], wanted, "{question}");
        // It is found all the same.
        assert!(paths(&retrieved).contains(&"HISTORY.md"), "{question}");
    }
}

#[tokio::test]
async fn words_that_nothing_has_are_taken_for_misspelt_names() {
    let retrieved = ask(library(), "xtunnelx", &options()).await;
    assert_eq!(paths(&retrieved), ["src/proxy.py"]);
    assert_eq!(report(&retrieved, Strategy::Similar).found, 1);
    let order: Vec<Strategy> = retrieved.reports.iter().map(|it| it.strategy).collect();
    let known: Vec<Strategy> = Strategy::ALL
        .iter()
        .copied()
        .filter(|it| order.contains(it))
        .collect();
    assert_eq!(order, known);
    // A word that something has is meant as it is.
    assert_eq!(
        paths(&ask(library(), "xtunnelx evict", &options()).await),
        ["src/cache.py"]
    );
}

#[tokio::test]
async fn changes_that_cannot_be_read_are_told_and_the_rest_answers() {
    let store = Arc::new(library());
    let without = Retriever::new(Arc::clone(&store) as _);
    let why = "failed to read the history";
    let told = without.clone().without_changes(PortError::new(why));
    for question in ["where is a tunnel opened?", "xtunnelx"] {
        let query = Arc::new(Query::analyse(question));
        let mut retrieved = told.retrieve(&query, &options()).await;
        assert_eq!(failure(&retrieved, Strategy::Changes).as_deref(), Some(why));
        retrieved
            .reports
            .retain(|it| it.strategy != Strategy::Changes);
        assert!(retrieved.reports.iter().all(|it| it.failure.is_none()));
        let found = without.retrieve(&query, &options()).await;
        assert!(!found.found.is_empty(), "{question}");
        assert_eq!(retrieved.found, found.found, "{question}");
    }
}

/// What is found by being mentioned alone.
async fn mentioned(store: Store, question: &str) -> Vec<String> {
    let mut options = options();
    options.strategies = vec![Strategy::Places];
    let retrieved = ask(store, question, &options).await;
    paths(&retrieved).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn files_of_a_folder_that_is_named_are_found() {
    let found = mentioned(library(), "src/").await;
    assert_eq!(found, ["src/cache.py", "src/pool.py", "src/proxy.py"]);
    for none in ["take or evict", "and/or", "client/server", "sr/"] {
        assert!(mentioned(library(), none).await.is_empty(), "{none}");
    }
    // In a report a folder speaks for what else is found, and finds nothing.
    let report = "It breaks\n\nin src/ somewhere";
    assert!(mentioned(library(), report).await.is_empty());
    let both = "It breaks\n\nthe connection, in docs/ somewhere";
    let retrieved = ask(library(), both, &Options::default()).await;
    let guide = retrieved
        .found
        .iter()
        .find(|it| it.part.path == "docs/guide.md");
    let said = guide.unwrap().contribution(Strategy::Places);
    assert!((said - 0.2).abs() < 1e-9, "{said}");
    // One of very many files says nothing.
    let names: Vec<String> = (0..101).map(|it| format!("src/f{it}.py")).collect();
    let parts: Vec<_> = names
        .iter()
        .map(|it| (it.as_str(), 1, "lines", "", "text"))
        .collect();
    assert!(mentioned(Store::of(&parts), "src/").await.is_empty());
}

#[tokio::test]
async fn lines_that_are_named_are_told_by_their_files() {
    let told = async |question: &str| {
        let retrieved = ask(library(), question, &options()).await;
        let lines = retrieved.lines.into_iter();
        lines
            .map(|(path, lines)| (path, lines.into_iter().collect()))
            .collect::<Vec<(String, Vec<u32>)>>()
    };
    let of = |path: &str, lines: &[u32]| (path.to_owned(), lines.to_vec());
    let both = told("does pool.py:12 or src/gone.py:7 use src/pool.py:11?").await;
    assert_eq!(both, [of("src/pool.py", &[11, 12])]);
    assert_eq!(told("what does src/pool.py do?").await, []);
    let trace = "Traceback (most recent call last):\n  File \"/x/src/pool.py\", line 11, in take\n    a()\n  \
        File \"/x/src/cache.py\", line 900, in Cache\n    b()\nValueError: gone\n";
    assert_eq!(told(trace).await, [of("src/pool.py", &[11])]);
}

#[tokio::test]
async fn all_parts_that_several_lines_meet_are_named() {
    let path = "src/pool.py";
    let parts: Vec<_> = (0..20)
        .map(|at| (path, 10 * at + 1, "function", "", "text"))
        .collect();
    let named = async |question: &str| {
        let retrieved = ask(Store::of(&parts), question, &Options::default()).await;
        let strategy = Strategy::Places;
        let highest = retrieved.found.iter().map(|it| it.contribution(strategy));
        let highest = highest.fold(0.0, f64::max);
        let named = retrieved.found.iter();
        let named = named.filter(|it| it.contribution(strategy) >= highest);
        let mut named: Vec<u32> = named.map(|it| it.part.span.start()).collect();
        named.sort_unstable();
        let lines = retrieved.lines.get(path).cloned().unwrap_or_default();
        (named, lines.len())
    };
    // Of the lines that a part has, six of ten.
    assert_eq!(named("pool.py:33-52").await, (vec![31, 41, 51], 4 + 6 + 2));
    assert_eq!(named("pool.py#L38-L40").await, (vec![31, 41], 3));
    assert_eq!(named("pool.py:38-41").await.0, [41]);
    assert_eq!(named("pool.py:1-999").await.0.len(), 20);
    assert_eq!(named("pool.py:33").await, (vec![31], 1));
    // A report is about where it begins, where it has much of the file.
    assert_eq!(named("It waits\n\npool.py:33-52").await.0, [31, 41, 51]);
    assert_eq!(named("It waits\n\npool.py:33-190").await, (vec![31], 1));
}

#[tokio::test]
async fn a_definition_that_is_named_in_its_file_comes_first() {
    let words = "a KeyError: the application context is not set up";
    let mut parts: Vec<_> = (0..20)
        .map(|at| ("src/app.py", 10 * at + 1, "function", "", words))
        .collect();
    parts.push(("docs/context.md", 1, "section", "", words));
    for (at, name) in [(1, "test_a"), (10, "test_b"), (20, "test_b")] {
        parts.push(("tests/test_app.py", at, "function", name, "assert 1"));
    }
    let first = async |question: &str| {
        let mut store = Store::of(&parts);
        let last = store.parts.len() - 1;
        store.parts[last].0.qualified_name = Some("TestB.test_b".to_owned());
        let retrieved = ask(store, question, &Options::default()).await;
        let first = &retrieved.found[0].part;
        (first.path.clone(), first.span.start())
    };
    let of_test = |line: u32| ("tests/test_app.py".to_owned(), line);
    let failed = |id: &str| format!("FAILED {id} - KeyError: application context is not set up");
    let asked = first(&failed("tests/test_app.py::test_a")).await;
    assert_eq!(asked, of_test(1));
    let asked = first(&failed("tests/test_app.py::TestB::test_b")).await;
    assert_eq!(asked, of_test(20));
    assert_eq!(first("test_app.py#test_b").await, of_test(10));
    // One that is not there: the file is.
    let asked = first(&failed("tests/test_app.py::test_z")).await;
    assert_eq!(asked.0, "tests/test_app.py");
}

/// A test, its suite, and parts of sources and of documents with the words of its title.
fn titled() -> Store {
    let words = "retries after a timeout";
    let mut parts: Vec<_> = (0..20)
        .map(|at| ("src/pool.ts", 10 * at + 1, "function", "", words))
        .collect();
    parts.extend([
        ("docs/pool.md", 1, "section", "Retries", words),
        ("src/pool.test.ts", 1, "module", "Pool", "close"),
        ("src/pool.test.ts", 40, "function", words, "expect"),
    ]);
    Store::of(&parts)
}

#[tokio::test]
async fn a_test_is_found_by_its_title() {
    for question in [
        "why does \"retries after a timeout\" fail?",
        "FAIL src/pool.test.ts > Pool > retries after a timeout",
        "FAIL src/pool.test.ts\n  \u{25cf} Pool \u{203a} retries after a timeout",
        "It fails\n\n  \u{25cf} Pool \u{203a} retries after a timeout",
    ] {
        let retrieved = ask(titled(), question, &options()).await;
        let first = &retrieved.found[0].part;
        let first = (first.path.as_str(), first.span.start());
        assert_eq!(first, ("src/pool.test.ts", 40), "{question}");
    }
    // A small suite is one part with all its tests.
    let small = "FAIL src/pool.test.ts > Pool > closes";
    let retrieved = ask(titled(), small, &options()).await;
    let first = &retrieved.found[0].part;
    assert_eq!(
        (first.path.as_str(), first.span.start()),
        ("src/pool.test.ts", 1)
    );
}

#[tokio::test]
async fn that_a_file_does_not_have_a_line_is_told_where_a_typed_question_names_it() {
    let told = async |question: &str| {
        let retrieved = ask(library(), question, &options()).await;
        let warnings = retrieved.warnings.into_iter();
        let told = warnings.map(|it| (String::from(it.code), it.detail));
        told.collect::<Vec<_>>()
    };
    let beyond = "no part of src/pool.py has line 9000".to_owned();
    let beyond = ("no_such_line".to_owned(), beyond);
    assert_eq!(told("src/pool.py:9000 and pool.py:11").await, [beyond]);
    // Whether a file is there is asked elsewhere, what is before a part is blank, and reports are
    // of other versions.
    for none in [
        "src/pool.py:2",
        "src/pool.py:11",
        "src/gone.py:9000",
        "src/pool.py",
        "It breaks\n\nin src/pool.py:9000",
    ] {
        assert_eq!(told(none).await, [], "{none}");
    }
}

#[tokio::test]
async fn a_line_that_no_part_holds_is_that_of_the_nearest() {
    let at = |path, line| (path, line, "function", "run", "start");
    // Each has six lines.
    let parts: Vec<_> = [1, 20, 40, 60].map(|it| at("src/app.py", it)).into();
    let first = async |question: &str| {
        let retrieved = ask(Store::of(&parts), question, &options()).await;
        assert!(retrieved.warnings.is_empty(), "{question}: {retrieved:?}");
        let found = retrieved.found.iter().take(2);
        let mut found: Vec<u32> = found.map(|it| it.part.span.start()).collect();
        found.sort_unstable();
        let lines = retrieved.lines.get("src/app.py");
        let lines = lines.map_or_else(Vec::new, |it| it.iter().copied().collect());
        (found, lines)
    };
    let trace = "It breaks\n\nTraceback (most recent call last):\n  File \"/srv/src/app.py\", line 35, in <module>\nTypeError: y\n";
    for (question, lines) in [
        ("why does src/app.py:35 fail", vec![25, 35, 40]),
        ("It breaks\n\nin src/app.py:35 today", vec![25, 35, 40]),
        ("why does src/app.py:33-35 fail", vec![25, 33, 40]),
        (trace, vec![25, 40]),
    ] {
        assert_eq!(first(question).await, (vec![20, 40], lines), "{question}");
    }
    // Behind the last part nobody knows whether there is such a line.
    let retrieved = ask(Store::of(&parts), "why does src/app.py:90 fail", &options()).await;
    assert_eq!(retrieved.warnings.len(), 1, "{retrieved:?}");
}

#[tokio::test]
async fn a_line_named_by_a_short_report_is_among_the_first() {
    let paths: Vec<String> = (0..40).map(|at| format!("src/f{at}.py")).collect();
    let said = |it| (it, 1, "function", "run", "start the app");
    let mut parts: Vec<_> = paths.iter().map(|it| said(it.as_str())).collect();
    parts.push((
        "src/main.py",
        1,
        "function",
        "main",
        "the app crashes on start",
    ));
    parts.push(("src/pool.py", 70, "function", "sign", "a cookie"));
    let rank = async |report: &str| {
        let options = Options::default().with_limit(Some(30));
        let retrieved = ask(Store::of(&parts), report, &options).await;
        let mut found = retrieved.found.iter();
        found.position(|it| it.part.path == "src/pool.py")
    };
    let trace =
        "Traceback (most recent call last):\n  File \"/x/src/pool.py\", line 70\nTypeError: y\n";
    let terse = format!("The app crashes on start\n\n{trace}");
    assert_eq!(rank(&terse).await, Some(1));
    // Who says much is asked about by what is said.
    let words: Vec<String> = (0..40).map(|at| format!("word{at}")).collect();
    let long = format!("{terse}\n{}", words.join(" "));
    assert_eq!(rank(&long).await, None);
}

#[tokio::test]
async fn a_file_is_found_by_its_name_without_an_extension() {
    let store = || {
        let part = |path| (path, 1, "lines", "", "text");
        let mut parts = vec![
            part("README.md"),
            part("Makefile"),
            part("LICENSE"),
            part("src/readme.py"),
        ];
        let others = ["a/README.md", "b/README.md", "c/README.md", "d/README.md"];
        parts.extend(others.map(part));
        Store::of(&parts)
    };
    for (question, expected) in [
        ("README", &["README.md"][..]),
        ("README.md", &["README.md"]),
        ("what does the Makefile build", &["Makefile"]),
        ("It breaks\n\nsee `LICENSE` there", &["LICENSE"]),
        ("readme", &["README.md"]),
        ("makefile", &[]),
        ("It breaks\n\nsee the LICENSE there", &[]),
    ] {
        assert_eq!(mentioned(store(), question).await, expected, "{question}");
    }
}

#[tokio::test]
async fn of_many_readmes_that_of_the_project_is_the_one_at_the_root() {
    let others = ["a", "b", "c", "d", "e"].map(|it| format!("{it}/README.md"));
    for root in ["README.md", "Readme.md", "readme.md"] {
        let paths = others.iter().map(String::as_str).chain([root]);
        let parts: Vec<_> = paths.map(|it| (it, 1, "lines", "", "text")).collect();
        let found = mentioned(Store::of(&parts), "what does this project do?").await;
        assert_eq!(found, [root]);
    }
}

#[tokio::test]
async fn who_asks_for_documents_is_shown_documents() {
    let text = "how a connection is made";
    let store = || {
        let source = ("src/a.py", 1, "function", "", text);
        Store::of(&[source, ("docs/guide.md", 1, "section", "", text)])
    };
    for (question, first) in [
        ("connection", "src/a.py"),
        ("connection\n\nIt is made.", "src/a.py"),
        ("connection made, in the docs", "docs/guide.md"),
    ] {
        let retrieved = ask(store(), question, &Options::default()).await;
        assert_eq!(paths(&retrieved)[0], first, "{question}");
    }
}

#[tokio::test]
async fn who_asks_for_tests_is_shown_tests_before_documents() {
    let store = || {
        let files = ["docs/guide.md", "src/a.py", "tests/a.py"];
        Store::of(&files.map(|it| (it, 1, "function", "", "how a connection is made")))
    };
    for (question, last) in [
        ("how is a connection made", "tests/a.py"),
        ("which tests have a connection made", "docs/guide.md"),
        ("show the tests of a connection made", "docs/guide.md"),
        ("is a connection made when a test fails", "tests/a.py"),
        ("docs and tests of a connection made", "tests/a.py"),
    ] {
        let retrieved = ask(store(), question, &Options::default()).await;
        assert_eq!(paths(&retrieved)[2], last, "{question}");
    }
}

#[tokio::test]
async fn the_best_documents_of_a_typed_question_stand_among_the_sources() {
    let store = || {
        let mut parts = Vec::new();
        for line in 0..30 {
            parts.push(("src/a.py", 10 * line + 1, "function", "", "a connection"));
            // Three of them have all words of the question.
            let text = if line < 3 {
                "a connection is made"
            } else {
                "a connection"
            };
            parts.push(("docs/guide.md", 10 * line + 1, "section", "", text));
        }
        Store::of(&parts)
    };
    let first_document = |question: &'static str| async move {
        let options = Options::default().with_limit(Some(40));
        let retrieved = ask(store(), question, &options).await;
        let mut paths = paths(&retrieved).into_iter();
        paths.position(|it| it == "docs/guide.md")
    };
    let typed = first_document("how is a connection made").await;
    assert_eq!(typed, Some(0));
    // A report is about the sources, whatever was written of them.
    let report = first_document("connection made\n\nIt is not, since yesterday.").await;
    assert!(report.is_none_or(|at| at >= 30), "{report:?}");
}

#[tokio::test]
async fn the_best_document_of_a_typed_question_comes_first_and_the_next_behind_the_sources() {
    let documents = |question: &'static str, text: &'static str| async move {
        let lines = (0..12).map(|at| 20 * at + 1);
        let source = |line| ("src/a.py", line, "function", "", "connection made here");
        let mut parts: Vec<_> = lines.clone().map(source).collect();
        parts.extend(lines.map(|line| ("docs/guide.md", line, "section", "", text)));
        let retrieved = ask(Store::of(&parts), question, &Options::default()).await;
        let paths = paths(&retrieved).into_iter().enumerate();
        let documents = paths.filter(|(_, path)| *path == "docs/guide.md");
        documents.map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let text = "of how a connection is made and kept";
    let typed = documents("how is a connection made", text).await;
    assert_eq!(typed[..2], [0, 13]);
    // What asks where something is asks for the code, unless it is the asker who does it there.
    let place = documents("where is a connection made", text).await;
    assert_ne!(place[0], 0);
    for question in [
        "where can I see how a connection is made",
        "where is documented how a connection is made",
    ] {
        assert_eq!(documents(question, text).await[0], 0, "{question}");
    }
    // One word is the name of something, a report is about the sources, and so is a question of
    // which a document has little.
    let question = "how is a connection made here";
    for (question, text) in [
        ("connection", text),
        ("connection made\n\nIt is not, since yesterday.", text),
        (
            question,
            "much is made of it in long texts that tell of other matters",
        ),
    ] {
        let found = documents(question, text).await;
        let first = found.first().is_none_or(|at| *at >= 12);
        assert!(first, "{question}: {found:?}");
    }
}

/// `serve` uses `route`, which uses `parse`.
fn chain() -> Store {
    let mut store = Store::of(&[
        ("src/a.py", 1, "function", "serve", "nothing to see"),
        (
            "src/b.py",
            1,
            "function",
            "route",
            "dispatches wobbly requests",
        ),
        ("src/c.py", 1, "function", "parse", "nothing to see"),
        ("src/d.py", 1, "function", "other", "nothing to see"),
    ]);
    store.parts[0].0.refers_to = vec!["route".to_owned()];
    store.parts[1].0.refers_to = vec!["parse".to_owned()];
    store
}

#[tokio::test]
async fn users_and_uses_of_the_best_parts_are_found() {
    let retrieved = ask(chain(), "wobbly requests", &options()).await;
    assert_eq!(paths(&retrieved), ["src/b.py", "src/a.py", "src/c.py"]);
    assert_eq!(report(&retrieved, Strategy::Relations).found, 2);
    let of = |at: usize| retrieved.found[at].contribution(Strategy::Relations);
    assert!(of(1) > 0.0 && of(2) > 0.0);
}

/// `route_path`, what stands beside it and shares its words, and what calls it from other files and
/// has its name alone.
fn routed() -> Store {
    let mut store = Store::of(&[
        ("src/b.py", 1, "lines", "", "imports"),
        ("src/b.py", 40, "function", "route", "def route_path: route"),
        ("src/b.py", 60, "function", "routes", "all the route path"),
        ("src/b.py", 80, "function", "path", "a route and its path"),
        ("src/c.py", 1, "function", "serve", "has routepath"),
        ("src/d.py", 1, "function", "proxy", "has routepath"),
        ("tests/e.py", 1, "function", "check", "has routepath"),
    ]);
    store.parts[1].0.name = Some("route_path".to_owned());
    for at in [1, 4, 5, 6] {
        store.parts[at].0.refers_to = vec!["route_path".to_owned()];
    }
    store
}

#[tokio::test]
async fn who_asks_what_uses_a_name_is_shown_that_behind_its_definition() {
    for question in ["callers of route_path", "where is route_path used?"] {
        let retrieved = ask(routed(), question, &Options::default()).await;
        let found = paths(&retrieved);
        assert_eq!(
            found[..3],
            ["src/b.py", "src/c.py", "src/d.py"],
            "{question}"
        );
        assert_eq!(retrieved.found[0].part.span.start(), 40, "{question}");
        assert!(found.contains(&"tests/e.py"), "{question}");
        assert_eq!(report(&retrieved, Strategy::Relations).found, 4);
    }
    // Who does not ask is shown what has the words.
    let retrieved = ask(routed(), "how is route_path used?", &Options::default()).await;
    assert_eq!(paths(&retrieved)[..3], ["src/b.py"; 3]);
}

#[tokio::test]
async fn users_beyond_those_that_are_taken_are_told() {
    for (count, told) in [(200, None), (201, Some("route_path"))] {
        let paths: Vec<String> = (0..count).map(|it| format!("src/{it:03}.py")).collect();
        let parts = paths
            .iter()
            .map(|it| (it.as_str(), 1, "function", "serve", ""));
        let mut store = Store::of(&parts.collect::<Vec<_>>());
        for (part, _) in &mut store.parts {
            part.refers_to = vec!["route_path".to_owned()];
        }
        let retrieved = ask(store, "callers of route_path", &Options::default()).await;
        assert_eq!(report(&retrieved, Strategy::Relations).found, 200);
        let warnings = retrieved.warnings.iter();
        let warnings: Vec<_> = warnings.map(|it| (it.code.as_str(), &*it.detail)).collect();
        let detail = told.map(|it| format!("more than 200 parts use {it}, of which 200 are taken"));
        let detail = detail.iter().map(|it| ("users_limited", it.as_str()));
        assert_eq!(warnings, detail.collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_question_for_users_is_one_of_text_without_relations() {
    let mut options = Options::default();
    options.strategies.retain(|it| *it != Strategy::Relations);
    let of = |question: &'static str, options: Options| async move {
        let retrieved = ask(routed(), question, &options).await;
        let found = retrieved.found.into_iter();
        found.map(|it| it.part.span.start()).collect::<Vec<u32>>()
    };
    let asked = of("callers of route_path", options.clone()).await;
    assert_eq!(asked, of("route_path", options).await);
}

#[tokio::test]
async fn without_a_port_for_relations_none_are_followed() {
    let query = Arc::new(Query::analyse("wobbly requests"));
    let retrieved = Retriever::new(Arc::new(chain()))
        .retrieve(&query, &options())
        .await;
    assert_eq!(paths(&retrieved), ["src/b.py"]);
    assert!(
        retrieved
            .reports
            .iter()
            .all(|it| it.strategy != Strategy::Relations)
    );
}

#[tokio::test]
async fn useful_files_come_first_if_usage_has_a_weight() {
    let parts = [
        ("a.py", 1, "function", "", "socket"),
        ("b.py", 1, "function", "", "socket"),
    ];
    let mut options = options();
    options.profile.usage_frequency = 0.5;
    let mut store = Store::of(&parts);
    store.uses.insert("b.py".to_owned(), 7);
    let retrieved = ask(store, "socket", &options).await;
    assert_eq!(paths(&retrieved), ["b.py", "a.py"]);
    assert_eq!(retrieved.found[0].signals[4].value, Some(0.7));
    assert_eq!(retrieved.found[1].signals[4].value, Some(0.0));
}

#[tokio::test]
async fn uses_that_are_not_looked_up_are_not_told_to_be_none() {
    let store = || {
        let mut store = Store::of(&[("a.py", 1, "function", "", "socket")]);
        store.uses.insert("a.py".to_owned(), 7);
        store
    };
    let mut options = options();
    let unweighed = ask(store(), "socket", &options).await;
    options.profile.usage_frequency = 0.5;
    let query = Arc::new(Query::analyse("socket"));
    let nobody_knows = Retriever::new(Arc::new(store()));
    let unknown = nobody_knows.retrieve(&query, &options).await;
    for retrieved in [unweighed, unknown] {
        let [found] = &*retrieved.found else {
            panic!("{retrieved:?}")
        };
        let uses = found.signals[4];
        assert_eq!((uses.name, uses.value), ("usageFrequency", None));
    }
}

#[tokio::test]
async fn recent_files_come_first_if_recency_has_a_weight() {
    let parts = [
        ("a.py", 1, "function", "", "socket"),
        ("b.py", 1, "function", "", "socket"),
    ];
    let mut options = options();
    options.profile.recency = 0.5;
    options.now = Some(UnixSeconds::new(1_000_000));
    let mut store = Store::of(&parts);
    store.parts[0].0.modified_at = Some(UnixSeconds::new(i64::MIN));
    store.parts[1].0.modified_at = Some(UnixSeconds::new(999_000));
    let retrieved = ask(store, "socket", &options).await;
    assert_eq!(paths(&retrieved), ["b.py", "a.py"]);
    assert_eq!(retrieved.found[1].signals[2].value, Some(0.0));
}

#[tokio::test]
async fn a_question_that_is_asked_again_is_answered_alike() {
    let question = "why does `take` wait in pool.py:12 for a connection?";
    let first = ask(library(), question, &options()).await;
    for _ in 0..20 {
        assert_eq!(
            ask(library(), question, &options()).await.found,
            first.found
        );
    }
}

#[test]
fn strategies_have_words() {
    for strategy in Strategy::ALL {
        assert_eq!(strategy.to_string().parse(), Ok(*strategy));
    }
    let error = "Text".parse::<Strategy>().unwrap_err().to_string();
    assert!(
        error.starts_with("unknown strategy \"Text\": it is one of text, "),
        "{error}"
    );
}

#[test]
fn each_weight_is_set_by_itself() {
    let usual = Weights::default();
    let weights = usual.clone().with_strategy(Strategy::Text, 7.0);
    let weights = weights.with_role(Role::Test, 8.0);
    for &strategy in Strategy::ALL {
        let changed = (strategy == Strategy::Text).then_some(7.0);
        let expected = changed.unwrap_or_else(|| usual.strategy(strategy));
        assert_eq!(weights.strategy(strategy), expected, "{strategy}");
    }
    for &role in Role::ALL {
        let changed = (role == Role::Test).then_some(8.0);
        let expected = changed.unwrap_or_else(|| usual.role(role));
        assert_eq!(weights.role(role), expected, "{role}");
    }
}

fn of_each(found: &Found) -> Vec<f64> {
    let all = Strategy::ALL.iter();
    all.map(|&it| found.contribution(it)).collect()
}

#[tokio::test]
async fn a_part_in_place_of_a_file_stands_for_the_file() {
    let mut options = options();
    options.strategies = vec![Strategy::Files];
    let mut told = Vec::new();
    for has_parts_for_files in [false, true] {
        let mut store = library();
        store.has_parts_for_files = has_parts_for_files;
        let retrieved = ask(store, "connection pool", &options).await;
        let found = retrieved.found.iter();
        let found: Vec<_> = found
            .map(|it| (it.part.path.clone(), it.score, of_each(it)))
            .collect();
        told.push((found, report(&retrieved, Strategy::Files).found));
    }
    assert!(!told[0].0.is_empty());
    assert_eq!(told[0], told[1]);
}

/// What is found for `question` by `semantic` alone.
async fn nearest(semantic: impl Semantic + 'static, question: &str) -> Retrieved {
    let mut options = options();
    options.strategies = vec![Strategy::Semantic];
    let retriever = Retriever::new(Arc::new(library())).with_semantic(Arc::new(semantic));
    let query = Arc::new(Query::analyse(question));
    retriever.retrieve(&query, &options).await
}

fn location(path: &str, start: u32, end: u32, score: f64) -> Near {
    Near::new(path, Some(LineSpan::new(start, end).unwrap()), score)
}

/// Lines 10 to 15 are a part of `src/pool.py`, 40 to 45 of `src/proxy.py`, and 1 to 6 of the
/// others.
#[tokio::test]
async fn locations_of_a_custom_search_are_the_parts_at_their_lines() {
    let near = vec![
        location("src/cache.py", 2, 2, -3.0),
        location("src/pool.py", 9, 90, 0.5),
        location("src/proxy.py", 1, 39, 9.0),
        location("src/gone.py", 1, 9, 10.0),
        location("src/cache.py", u32::MAX, u32::MAX, 8.0),
        location("docs/guide.md", 1, 6, f64::NAN),
    ];
    let retrieved = nearest(near, "whatever was meant").await;
    assert_eq!(paths(&retrieved), ["src/pool.py", "src/cache.py"]);
    assert_eq!(report(&retrieved, Strategy::Semantic).found, 2);
}

#[tokio::test]
async fn scores_of_another_search_put_its_locations_in_order_whatever_their_scale() {
    let scores = |by: f64| {
        let parts = ["src/proxy.py", "src/pool.py", "src/cache.py"].into_iter();
        let starts = [40, 10, 1].into_iter();
        let near = parts.zip(starts).zip([3.0, 2.0, 1.0]);
        let near = near.map(|((path, at), score)| location(path, at, at + 5, score * by));
        near.rev().collect::<Vec<Near>>()
    };
    let first = nearest(scores(1.0), "whatever").await;
    assert_eq!(
        paths(&first),
        ["src/proxy.py", "src/pool.py", "src/cache.py"]
    );
    for by in [1e-9, 0.25, 1e300] {
        assert_eq!(
            nearest(scores(by), "whatever").await.found,
            first.found,
            "{by}"
        );
    }
}

#[tokio::test]
async fn a_part_that_hardly_holds_a_location_is_hardly_meant() {
    let both = vec![
        location("src/pool.py", 1, 10, 2.0),
        location("src/proxy.py", 40, 45, 1.0),
    ];
    assert_eq!(
        paths(&nearest(both, "whatever").await),
        ["src/proxy.py", "src/pool.py"]
    );
}

/// A search by meaning that looks at the question.
struct Embeddings;

#[async_trait]
impl Semantic for Embeddings {
    async fn nearest(&self, query: &Query, limit: usize) -> PortResult<Vec<Near>> {
        assert!(limit > 0);
        match query.text.as_str() {
            "fails" => Err(PortError::new("the model is not there")),
            "where is a link kept open?\n" => Ok(vec![location("src/pool.py", 10, 15, 0.9)]),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn another_search_is_asked_by_the_text_of_the_question() {
    let retrieved = nearest(Embeddings, "where is a link kept open?\n").await;
    assert_eq!(paths(&retrieved), ["src/pool.py"]);
    let retrieved = nearest(Embeddings, "fails").await;
    let failure = failure(&retrieved, Strategy::Semantic);
    assert_eq!(failure.as_deref(), Some("the model is not there"));
}

#[tokio::test]
async fn a_file_of_a_custom_search_counts_for_all_of_its_parts() {
    let near = vec![
        Near::new("gone.py", None, 2.0),
        Near::new("src/proxy.py", None, 1.0),
        Near::new("src/cache.py", None, 0.0),
    ];
    let retrieved = nearest(near, "whatever was meant").await;
    assert_eq!(paths(&retrieved), ["src/proxy.py", "src/cache.py"]);
}

/// So many files that fit `*.cc`, of three parts each, which all say `cc`; of one, which stands
/// first, that is all they say.
fn many_files(count: u32) -> Store {
    let paths: Vec<String> = (0..count).map(|it| format!("src/{it:03}.cc")).collect();
    let part = |path, line, text| (path, line, "function", "", text);
    let mut parts = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let said = if number == 0 {
            "cc cc"
        } else {
            "int main of a cc"
        };
        parts.extend([1, 21, 41].map(|line| part(path.as_str(), line, said)));
    }
    parts.push(part("docs/cc.md", 1, "which cc files there are"));
    Store::of(&parts)
}

#[tokio::test]
async fn of_files_that_are_asked_for_by_a_pattern_each_is_shown_before_more_of_any() {
    let question = "which *.cc files are there";
    for count in [3, 30, 70] {
        let retrieved = ask(many_files(count), question, &Options::default()).await;
        let first = &retrieved.found[..count as usize];
        let mut paths: Vec<&str> = first.iter().map(|it| it.part.path.as_str()).collect();
        assert!(first.iter().all(|it| it.part.span.start() == 1));
        paths.dedup();
        assert!(paths.is_sorted() && paths.len() == count as usize);
        assert!(paths.iter().all(|it| it.starts_with("src/")), "{paths:?}");
        assert_eq!(retrieved.warnings, []);
    }
}

#[tokio::test]
async fn that_a_pattern_may_fit_more_files_is_told() {
    let told = async |count: u32, question: &str| {
        let store = many_files(count);
        let retrieved = ask(store, question, &Options::default()).await;
        let warnings = retrieved.warnings.iter();
        let told = warnings.map(|it| (it.code.to_string(), it.detail.clone()));
        told.collect::<Vec<_>>()
    };
    let limited = |detail: &str| vec![("pattern_limited".to_owned(), detail.to_owned())];
    let question = "which *.cc files are there";
    let first = "the pattern *.cc matches 110 files, of which the first 100 are used";
    assert_eq!(told(110, question).await, limited(first));
    let many = "the pattern *.cc matches 110 files, too many to be used";
    let asks_more = "which *.cc files speak of owls";
    assert_eq!(told(110, asks_more).await, limited(many));
    assert_eq!(told(90, asks_more).await, []);
}

#[tokio::test]
async fn of_a_path_that_many_files_end_with_the_whole_path_is_meant() {
    let mut options = options();
    options.strategies = vec![Strategy::Places];
    let store = |root: Option<&'static str>| {
        let ends = root.map_or("src/lib.rs", |it| it);
        let others = (0..9).map(|at| format!("crates/c{at}/{ends}"));
        let others: Vec<String> = others.collect();
        let parts = others.iter().map(String::as_str).chain(root);
        let parts: Vec<_> = parts.map(|it| (it, 10, "lines", "", "pass")).collect();
        Store::of(&parts)
    };
    for (question, root) in [
        ("what does src/lib.rs:12 do", "src/lib.rs"),
        ("what does src/lib.rs do", "src/lib.rs"),
        ("It fails\n\n./main.go:12:2: undefined: foo", "main.go"),
        ("It fails\n\nCargo.toml:12: no", "Cargo.toml"),
        ("It fails\n    at ./src/main.rs:12:5\n", "src/main.rs"),
    ] {
        let retrieved = ask(store(Some(root)), question, &options).await;
        assert_eq!(paths(&retrieved), [root], "{question}");
    }
    for question in [
        // None is there, or that of another project is meant.
        "what does src/lib.rs:12 do",
        "It fails\n    at /home/me/.cargo/x-1.0/src/lib.rs:12:5\n",
    ] {
        let others = store(None);
        assert!(paths(&ask(others, question, &options).await).is_empty());
    }
    for question in [
        "It fails\n    at /home/me/.cargo/x-1.0/src/lib.rs:12:5\n",
        "It fails\n\nmy src/lib.rs is empty",
    ] {
        let retrieved = ask(store(Some("src/lib.rs")), question, &options).await;
        assert!(paths(&retrieved).is_empty(), "{question}");
    }
}

#[tokio::test]
async fn the_name_of_a_file_is_no_name_of_what_is_defined() {
    let mut store = Store::of(&[
        ("src/app.py", 1, "function", "json", "pass"),
        ("src/requests.py", 20, "method", "json", "pass"),
        ("src/users.py", 1, "function", "read", "pass"),
    ]);
    store.parts[1].0.qualified_name = Some("Response.json".to_owned());
    store.parts[2].0.refers_to = vec!["json".to_owned()];
    let store = Arc::new(store);
    let find = async |question: &str, strategies: &[Strategy]| {
        let retriever = Retriever::over(Arc::clone(&store));
        let mut options = options();
        options.strategies = strategies.to_vec();
        let query = Arc::new(Query::analyse(question));
        let answer = retriever.retrieve(&query, &options).await;
        let found = paths(&answer).into_iter().map(str::to_owned);
        found.collect::<Vec<_>>()
    };
    let users = [Strategy::Names, Strategy::Relations];
    assert!(find("where is config.json used?", &users).await.is_empty());
    let names = [Strategy::Names];
    assert!(find("what is in config.json", &names).await.is_empty());
    let found = find("what does Response.json return", &names).await;
    assert_eq!(found, ["src/requests.py"]);
    // A call is none of a file.
    let found = find("what does Other.json() return", &names).await;
    assert_eq!(found.len(), 2);
}

#[tokio::test]
async fn a_file_beside_text_without_spaces_is_not_all_of_a_question() {
    let store = Store::of(&[
        ("src/config.py", 1, "lines", "", "pass"),
        ("src/reader.py", 1, "lines", "", "config.py在哪里被读取"),
    ]);
    let retrieved = ask(store, "config.py在哪里被读取？", &Options::default()).await;
    assert_eq!(paths(&retrieved)[0], "src/reader.py");
}
