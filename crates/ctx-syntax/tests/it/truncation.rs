//! No strategy exceeds its limit of tokens, the mark included.

use ctx_model::{LineSpan, Tokens};
use ctx_syntax::{Limits, Source, Truncate, strategies};
use ctx_testkit::laws;
use ctx_tokens::{Characters, TokenCounter, Words, o200k_base};
use proptest::prelude::*;

const TEXT: &str = "\
use std::fmt;

/// One.
fn one() {
    prepare_the_first_of_all_things(with, arguments, and, more);
    prepare_the_second_of_all_things(with, arguments, and, more);
    prepare_the_third_of_all_things(with, arguments, and, more);
    prepare_the_fourth_of_all_things(with, arguments, and, more);
    prepare_the_fifth_of_all_things(with, arguments, and, more);
    prepare_the_sixth_of_all_things(with, arguments, and, more);
}

/// Two.
fn two() {
    finish_the_first_of_all_things(with, arguments, and, more);
    finish_the_second_of_all_things(with, arguments, and, more);
    finish_the_third_of_all_things(with, arguments, and, more);
    finish_the_fourth_of_all_things(with, arguments, and, more);
    finish_the_fifth_of_all_things(with, arguments, and, more);
    finish_the_sixth_of_all_things(with, arguments, and, more);
}
";

#[track_caller]
fn cut(name: &str, limit: u32, shown: &[u32]) {
    let source = Source::new("a.rs", TEXT, &Limits::default());
    let strategy = strategies()
        .into_iter()
        .find(|it| it.name() == name)
        .unwrap();
    let lines = strategy.truncate(&source, source.whole(), Tokens::new(limit), o200k_base());
    let numbers: Vec<u32> = lines.numbers().collect();
    assert_eq!(numbers, shown, "{name}: {}", lines.text());
    let with_one_more = o200k_base().count(&lines.text()).get() + 25;
    assert!(with_one_more > limit, "{name} left room: {}", lines.text());
}

#[test]
fn each_strategy_keeps_what_it_says() {
    cut("head", 60, &[1, 2, 3, 4, 5, 6]);
    cut("bookend", 60, &[1, 2, 3, 4, 19, 20, 21]);
    cut("signature-first", 70, &[1, 2, 3, 4, 5, 6, 13, 14]);
    cut("outline", 70, &[1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 21]);
    let all: Vec<u32> = (1..=21).collect();
    for strategy in strategies() {
        let source = Source::new("a.rs", TEXT, &Limits::default());
        let lines = strategy.truncate(&source, source.whole(), Tokens::new(500), o200k_base());
        assert_eq!(lines.numbers().collect::<Vec<_>>(), all);
        assert_eq!(lines.text(), TEXT);
    }
}

#[test]
fn each_strategy_keeps_the_laws() {
    for strategy in strategies() {
        laws::truncate(strategy);
    }
}

/// Leaves out the last line.
#[derive(Debug)]
struct Forgetful;

impl Truncate for Forgetful {
    fn name(&self) -> &'static str {
        "forgetful"
    }

    fn order(&self, source: &Source<'_>, span: LineSpan) -> Vec<u32> {
        (span.start()..span.end().min(source.line_count())).collect()
    }
}

#[test]
#[should_panic(expected = "each line of")]
fn a_strategy_that_passes_over_a_line_breaks_them() {
    laws::truncate(&Forgetful);
}

proptest! {
    #[test]
    fn none_ever_goes_over(
        text in prop_oneof!["([a-z(){}; \t☔é]{0,30}\n){0,30}", "[a-zé☔ ]{0,300}"],
        path in prop::sample::select(vec!["a.rs", "a.py", "a.txt"]),
        limit in 0_u32..120,
        start in 1_u32..10,
        length in 0_u32..40,
    ) {
        let source = Source::new(path, &text, &Limits::default());
        let span = LineSpan::new(start, start + length).unwrap();
        let counters: [&dyn TokenCounter; 3] = [o200k_base(), &Characters, &Words];
        for strategy in strategies() {
            for counter in counters {
                let lines = strategy.truncate(&source, span, Tokens::new(limit), counter);
                let count = counter.count(&lines.text());
                prop_assert!(count.get() <= limit, "{}: {} of {}: {:?}", strategy.name(), count, limit, lines);
                laws::renditions::is_verbatim(&text, &lines);
            }
        }
    }
}
