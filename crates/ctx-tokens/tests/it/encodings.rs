//! The exact encodings count what the reference implementation and other crates count.

use std::sync::LazyLock;

use ctx_testkit::laws::tokens::{equals, on_texts};
use ctx_testkit::shared;
use ctx_tokens::{TokenCounter, Tokens, cl100k_base, o200k_base};
use proptest::prelude::*;
use tiktoken_rs::CoreBPE;

static CL100K: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::cl100k_base().unwrap());
static O200K: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::o200k_base().unwrap());

#[test]
fn equal_values_computed_elsewhere() {
    let Some(text) = shared::text("data/tokens/fixture.jsonl") else {
        return;
    };
    let mut texts = 0;
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        equals(cl100k_base(), text, case["cl100k"].as_u64().unwrap());
        equals(o200k_base(), text, case["o200k"].as_u64().unwrap());
        texts += 1;
    }
    assert!(texts > 2_900, "only {texts} texts");
}

/// The ends of every stretch of characters of one class, as the first byte and what the classes
/// tell apart change there: alone, in words, among symbols and blanks. That the classes are right
/// for every character is a test of their own.
#[test]
fn characters_of_every_script_are_cut_as_the_reference_does() {
    let kinds = |c: char| {
        (
            c.is_lowercase(),
            c.is_uppercase(),
            c.is_alphabetic(),
            c.is_numeric(),
        )
    };
    let characters: Vec<char> = ('\0'..=char::MAX).collect();
    let edges: Vec<char> = characters
        .windows(2)
        .filter(|pair| kinds(pair[0]) != kinds(pair[1]))
        .map(|pair| pair[1])
        .collect();
    for group in edges.chunks(512) {
        let text: String = group
            .iter()
            .flat_map(|&c| {
                [
                    c, 'a', c, c, 'B', c, ' ', c, '.', c, '\n', c, '1', c, '\'', 's',
                ]
            })
            .collect();
        equals_reference(&text);
    }
}

#[test]
fn special_tokens_are_ordinary_text() {
    equals_reference("<|endoftext|><|fim_prefix|> <|im_start|>user");
    assert!(o200k_base().count("<|endoftext|>").get() > 1);
}

#[test]
fn contractions_ignore_case_and_the_age_of_an_s() {
    for text in [
        "it's",
        "IT'S",
        "it'\u{17f}",
        "'\u{17f}x",
        "we'Re",
        "I'LLx",
        "'",
        "a'",
        "o'x",
        "'sx",
        "''s",
    ] {
        equals_reference(text);
    }
}

#[test]
fn white_space_that_ends_a_text_is_cut_as_the_reference_does() {
    for text in [
        "a\n  ",
        "a  ",
        "a \n \n",
        "\n  ",
        " ",
        "\t\t",
        "a\r\n\u{3000}",
        "a\u{2028}\n\u{2028}",
        "x\u{a0}\u{a0}y",
    ] {
        equals_reference(text);
    }
}

#[test]
fn generated_texts_equal_the_reference() {
    on_texts(equals_reference);
}

#[test]
fn limits_stop_in_the_middle_of_a_long_run() {
    for text in [
        "a".repeat(100_000),
        " ".repeat(100_000),
        "\u{1f980}".repeat(20_000),
    ] {
        for counter in [cl100k_base(), o200k_base()] {
            let n = counter.count(&text);
            let below = n.saturating_sub(Tokens::new(1));
            assert_eq!(counter.count_up_to(&text, n), Some(n));
            assert_eq!(counter.count_up_to(&text, below), None);
            assert_eq!(counter.count_up_to(&text, Tokens::ZERO), None);
        }
    }
}

#[test]
fn no_token_holds_a_line_break_and_what_a_safe_joint_begins_with() {
    // What additivity rests on: pieces may span a joint where white space ends the text, tokens
    // never do.
    for tokenizer in [bpe_openai::cl100k_base(), bpe_openai::o200k_base()] {
        for rank in 0..u32::try_from(tokenizer.bpe.num_tokens()).unwrap() {
            let bytes = tokenizer.bpe.token_bytes(rank);
            let tail = bytes.rsplit(|b| matches!(b, b'\r' | b'\n')).next().unwrap();
            let spans = tail.len() < bytes.len() && !tail.is_empty();
            assert!(!spans || tail.iter().all(|&b| b == b'/'), "{bytes:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_equals_the_reference(text in "\\PC{0,60}|[ -~\\s]{0,80}|[\\pL\\pM\\pN'\\s/]{0,60}") {
        equals_reference(&text);
    }
}

proptest! {
    // Texts of thousands of characters take their time where nothing is optimised.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn long_runs_equal_a_peer(
        unit in prop_oneof![
            "[a-c]{1,6}", " {1,3}", "\\PC{1,4}", "[!-/]{1,5}", "\u{301}{1,2}", "[\u{4e00}-\u{4e20}]{1,5}", "[0-9A-F]{2}",
        ],
        head in "[a-zA-Z]{0,7}",
        times in 200..3_000_usize,
    ) {
        let text = head + &unit.repeat(times);
        let cl100k = bpe_openai::cl100k_base().count(text.as_str()) as u64;
        prop_assert_eq!(cl100k_base().weigh(&text), cl100k);
        let o200k = bpe_openai::o200k_base().count(text.as_str()) as u64;
        prop_assert_eq!(o200k_base().weigh(&text), o200k);
    }

    #[test]
    fn long_words_of_random_letters_equal_a_peer(text in "[a-eA-E]{3000,9000}|[α-ε]{2000,4000}|[!-/]{3000,6000}") {
        let cl100k = bpe_openai::cl100k_base().count(text.as_str()) as u64;
        prop_assert_eq!(cl100k_base().weigh(&text), cl100k);
        let o200k = bpe_openai::o200k_base().count(text.as_str()) as u64;
        prop_assert_eq!(o200k_base().weigh(&text), o200k);
    }
}

#[track_caller]
fn equals_reference(text: &str) {
    equals(
        cl100k_base(),
        text,
        CL100K.encode_ordinary(text).len() as u64,
    );
    equals(o200k_base(), text, O200K.encode_ordinary(text).len() as u64);
}
