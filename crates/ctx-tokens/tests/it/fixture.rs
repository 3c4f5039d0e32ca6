//! The counters equal values that were computed elsewhere.

use ctx_testkit::shared;
use ctx_tokens::{Characters, TokenCounter, Words, cl100k_base, o200k_base};

#[test]
fn encodings_equal_the_reference_implementation() {
    let Some(text) = shared::text("data/tokens/fixture.jsonl") else {
        return;
    };
    let mut texts = 0;
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        check(cl100k_base(), text, &case["cl100k"]);
        check(o200k_base(), text, &case["o200k"]);
        texts += 1;
    }
    assert!(texts > 2_900, "only {texts} texts");
}

#[test]
fn estimators_equal_the_seed() {
    let Some(vectors) = shared::json("vectors/core.json") else {
        return;
    };
    for case in vectors["estimates"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        check(&Characters, text, &case["characterBased"]);
        check(&Words, text, &case["wordBased"]);
    }
}

#[track_caller]
fn check(counter: &dyn TokenCounter, text: &str, expected: &serde_json::Value) {
    let expected = expected.as_u64().unwrap();
    let name = counter.name();
    assert_eq!(
        u64::from(counter.count(text)),
        expected,
        "{name} of {text:?}"
    );
}
