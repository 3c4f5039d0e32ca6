//! Laws of `ctx_syntax::Truncate`.

use std::collections::BTreeMap;

use ctx_model::{LineSpan, RenditionKind, Tokens};
use ctx_syntax::{Limits, Source, Truncate};
use ctx_tokens::{Characters, TokenCounter, Words};
use proptest::prelude::*;
use proptest::sample::select;

use super::run::run;

/// The least number of texts; `PROPTEST_CASES` may ask for more.
const CASES: u32 = 256;

/// Checks that `strategy` keeps the promises of [`Truncate`], on the same texts each time:
///
/// * it orders each line of a span once, and the same way each time;
/// * what it shows never counts more than the limit, and is all of the span if that fits;
/// * lines with a number are those of the source, within the span and in order.
///
/// # Panics
/// If a law does not hold, with the smallest text found for which it does not.
pub fn truncate<T: Truncate + ?Sized>(strategy: &T) {
    let texts = prop_oneof!["([a-z(){}; \t☔é]{0,30}\n){0,30}", "[a-zé☔ ]{0,300}"];
    let paths = select(vec!["a.rs", "a.py", "a.txt"]);
    let inputs = (texts, paths, 0_u32..120, 1_u32..10, 0_u32..40);
    run(CASES, &inputs, |(text, path, limit, start, length)| {
        let source = Source::new(path, &text, &Limits::default());
        let span = LineSpan::new(start, start + length).expect("the end is not before the start");
        let lines: BTreeMap<u32, &str> = source.lines(span).collect();
        let order = strategy.order(&source, span);
        prop_assert_eq!(&strategy.order(&source, span), &order, "another order");
        let mut each = order;
        each.sort_unstable();
        let all: Vec<u32> = lines.keys().copied().collect();
        prop_assert_eq!(each, all, "each line of {:?} once", span);
        let whole = source.render(span, RenditionKind::Full, &[]).text();
        for counter in [&Characters as &dyn TokenCounter, &Words] {
            let shown = strategy.truncate(&source, span, Tokens::new(limit), counter);
            let count = counter.count(&shown.text());
            prop_assert!(count.get() <= limit, "{} of {}: {:?}", count, limit, shown);
            let mut last = 0;
            for line in shown.as_slice() {
                let Some(number) = line.number else { continue };
                prop_assert_eq!(lines.get(&number), Some(&&*line.text), "line {}", number);
                prop_assert!(number > last, "line {} after {}", number, last);
                last = number;
            }
            let roomy = strategy.truncate(&source, span, Tokens::MAX, counter);
            prop_assert_eq!(roomy.text(), whole.clone(), "where there is room");
        }
        Ok(())
    });
}
