//! The counter that a name stands for.

#[cfg(feature = "openai")]
use ctx_tokens::Exactness;
use ctx_tokens::{CounterName, Counters, TokensError, counter};

#[test]
fn estimators_have_names() {
    assert_eq!(name_of("characterBased"), "characterBased");
    assert_eq!(name_of("wordBased"), "wordBased");
}

#[test]
fn the_word_of_an_estimator_is_its_name_in_whatever_variant() {
    for word in ["characterBased", "wordBased"] {
        let named = CounterName::Named(word.to_owned());
        assert_eq!(counter(&named).unwrap().name(), word);
        assert_eq!(Counters::default().get(&named).unwrap().name(), word);
    }
}

#[test]
#[cfg(feature = "openai")]
fn models_count_with_their_encoding() {
    for model in [
        "cl100k_base",
        "gpt-4",
        "gpt-4-0613",
        "gpt-4-turbo-2024-04-09",
        "gpt-3.5-turbo",
        "gpt-35-turbo",
        "text-embedding-3-small",
        "openai/gpt-4",
        "GPT-4",
    ] {
        assert_eq!(name_of(model), "cl100k_base", "{model}");
    }
    for model in [
        "o200k_base",
        "gpt-4o",
        "gpt-4o-2024-08-06",
        "gpt-4o-mini",
        "gpt-4.1-nano",
        "gpt-4.5-preview",
        "chatgpt-4o-latest",
        "o1",
        "o1-preview",
        "o3-mini",
        "o4-mini",
        "gpt-5",
        "gpt-5.1",
        "gpt-5-mini",
        "gpt-oss-120b",
        "ft:gpt-4o:team::id",
    ] {
        assert_eq!(name_of(model), "o200k_base", "{model}");
    }
    let gpt = counter(&"gpt-4o".into()).unwrap();
    assert_eq!(gpt.exactness(), Exactness::Exact);
}

#[test]
#[cfg(feature = "openai")]
fn closed_models_are_estimates_on_the_high_side() {
    let exact = counter(&"o200k_base".into()).unwrap();
    let text = "fn main() { println!(\"a line of text\"); }\n".repeat(10);
    for (model, percent) in [
        ("claude", 180),
        ("claude-opus-4-7", 180),
        ("anthropic/claude-opus-4.7", 180),
        ("claude-sonnet-5", 180),
        ("claude-opus-4-1-20250805", 140),
        ("claude-3-5-sonnet-latest", 140),
        ("anthropic/claude-sonnet-4.5", 140),
        ("gemini-2.5-pro", 125),
    ] {
        let closed = counter(&model.parse().unwrap()).unwrap();
        assert_eq!(closed.exactness(), Exactness::Estimate, "{model}");
        assert_eq!(closed.name(), model);
        let expected = (exact.count(&text).get() * percent).div_ceil(100);
        assert_eq!(closed.count(&text).get(), expected, "{model}");
    }
}

#[test]
fn every_name_says_where_it_comes_from() {
    for (name, source) in ctx_tokens::known_names() {
        assert!(source.len() > 20, "{name}: {source}");
    }
}

#[test]
fn an_unknown_name_is_an_error_that_lists_near_ones() {
    check_unknown("gpt4o", &["gpt-4o"]);
    check_unknown("o200k", &["o200k_base"]);
    check_unknown("charBased", &["characterBased"]);
    check_unknown("gpt-4x", &["gpt-4"]);
    check_unknown("banana", &[]);
    check_unknown("", &[]);
}

#[test]
fn a_long_name_is_told_by_its_beginning_and_likened_to_none() {
    let refused = |length: usize| {
        let name = format!("gpt-4o{}", "x".repeat(length));
        let error = counter(&CounterName::Named(name)).err().unwrap();
        let TokensError::UnknownName { name, near } = error else {
            panic!("{error}")
        };
        (name.chars().count(), name.ends_with('…'), near.is_empty())
    };
    assert_eq!(refused(58), (64, false, false));
    assert_eq!(refused(59), (65, true, true));
    assert_eq!(refused(4 << 20), (65, true, true));
}

/// It may come from anybody, and go to a terminal or a log.
#[test]
fn a_name_stays_on_its_line_in_an_error() {
    let error = counter(&CounterName::from("a`\n\u{1b}[2J")).err().unwrap();
    let said = error.to_string();
    assert!(!said.contains(char::is_control), "{said:?}");
    assert!(said.starts_with(r#"unknown token counter "a`\n"#), "{said}");
}

#[test]
#[cfg(not(feature = "openai"))]
fn a_counter_that_needs_a_missing_feature_names_it() {
    let refused = counter(&"gpt-4o".into()).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "token counter \"gpt-4o\" needs the feature `openai` of ctx-tokens"
    );
}

#[test]
#[cfg(not(feature = "tokenizer-json"))]
fn a_path_needs_its_feature() {
    let refused = counter(&"dir/tokenizer.json".into()).err().unwrap();
    let TokensError::FeatureOff { feature, .. } = refused else {
        panic!("{refused}")
    };
    assert_eq!(feature, "tokenizer-json");
}

#[track_caller]
fn name_of(name: &str) -> String {
    let name: CounterName = name.parse().unwrap();
    counter(&name).unwrap().name().to_owned()
}

#[track_caller]
fn check_unknown(given: &str, first_near: &[&str]) {
    let refused = counter(&CounterName::Named(given.to_owned()))
        .err()
        .unwrap();
    let TokensError::UnknownName { name, near } = &refused else {
        panic!("{refused}")
    };
    assert_eq!(name, given);
    assert_eq!(
        near.iter().map(String::as_str).take(1).collect::<Vec<_>>(),
        first_near
    );
    assert!(near.len() <= 3);
    for known in near {
        assert!(refused.to_string().contains(known), "{refused}");
    }
}
