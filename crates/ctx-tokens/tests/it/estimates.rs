//! The estimators equal the original formulas, and their capacities bound what fits.

use ctx_testkit::shared;
use ctx_tokens::{Characters, TokenCounter, Tokens, Words};

#[test]
fn estimators_equal_the_seed() {
    let Some(vectors) = shared::json("vectors/core.json") else {
        return;
    };
    let cases = vectors["estimates"].as_array().unwrap();
    assert_eq!(cases.len(), 121);
    for case in cases {
        let text = case["text"].as_str().unwrap();
        check(&Characters, text, case["characterBased"].as_u64().unwrap());
        check(&Words, text, case["wordBased"].as_u64().unwrap());
    }
}

#[test]
fn characters_are_utf16_units_and_special_ones_cost_more() {
    check(&Characters, "", 0);
    check(&Characters, "a", 1);
    check(&Characters, "abcde", 2);
    check(&Characters, "{}", 1);
    check(&Characters, "{};", 1 + 1);
    check(&Characters, "\u{1f980}", 1);
    check(&Characters, "\u{1f980}\u{1f980}", 1 + 1);
    // A letter outside the basic plane is two surrogates, neither of them a letter.
    check(&Characters, "\u{10400}{", 1 + 1);
    // A half is a number, but no decimal digit.
    check(&Characters, "\u{bd}\u{bd}\u{bd}", 1 + 1);
    check(&Characters, "\u{663}\u{663}\u{663}", 1);
}

#[test]
fn words_pay_for_length_and_mixed_case() {
    check(&Words, "", 0);
    check(&Words, " \n\t", 0);
    check(&Words, "a", 2);
    check(&Words, "a b c", 4);
    check(&Words, "abcdefghij", 2);
    check(&Words, "abcdefghijk", 3);
    check(&Words, "aB", 3);
    check(&Words, "abcdefghiJK", 4);
    // Titlecase is neither upper nor lower.
    check(&Words, "\u{1c5}a", 2);
    check(&Words, "a\u{3000}b", 3);
}

/// Every weight that some text has is looked at, not only those of generated texts.
#[test]
fn weight_bounds_of_characters_are_as_tight_as_can_be() {
    for limit in 0..40 {
        let bounds = Characters.weight_bounds(Tokens::new(limit));
        let (mut heaviest_in, mut lightest_out) = (0, u64::MAX);
        for units in 0_u32..200 {
            for special in 0..=units {
                let count = units.div_ceil(4) + special / 3;
                let weight = u64::from(3 * units + 4 * special);
                assert_eq!(Characters.count_of(weight).get(), count);
                if count <= limit {
                    heaviest_in = heaviest_in.max(weight);
                } else {
                    lightest_out = lightest_out.min(weight);
                }
            }
        }
        assert!(bounds.safe < lightest_out, "limit {limit}");
        assert!(bounds.loose >= heaviest_in, "limit {limit}");
        if limit > 0 {
            assert_eq!(bounds.safe + 1, lightest_out, "limit {limit}");
        }
    }
}

#[track_caller]
fn check(counter: &dyn TokenCounter, text: &str, expected: u64) {
    let name = counter.name();
    assert_eq!(
        u64::from(counter.count(text)),
        expected,
        "{name} of {text:?}"
    );
}
