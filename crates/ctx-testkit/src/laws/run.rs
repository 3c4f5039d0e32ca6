//! How a law is tried on values: the same ones each time, and nothing is written to a file, so that
//! it says the same of an implementation in another workspace.

use std::cell::RefCell;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseResult, TestRng, TestRunner};

/// Holds `check` on at least so many values of `strategy`, and on more if `PROPTEST_CASES` says so.
///
/// # Panics
/// If it does not hold, with the smallest value found for which it does not.
#[track_caller]
pub(super) fn run<S: Strategy>(
    cases: u32,
    strategy: &S,
    check: impl FnMut(S::Value) -> TestCaseResult,
) {
    let config = Config::default();
    let config = Config {
        cases: config.cases.max(cases),
        failure_persistence: None,
        ..config
    };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let check = RefCell::new(check);
    let result = TestRunner::new_with_rng(config, rng).run(strategy, |value| {
        let mut check = check.borrow_mut();
        check(value)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_are_the_same_each_time() {
        let tried = || {
            let mut tried = Vec::new();
            run(20, &(0..1_000_000_u32), |it| {
                tried.push(it);
                Ok(())
            });
            tried
        };
        let first = tried();
        assert!(first.len() >= 20);
        assert_eq!(tried(), first);
    }

    #[test]
    #[should_panic(expected = "minimal failing input: 5")]
    fn the_smallest_that_fails_is_told() {
        run(1_000, &(0..10_u8), |it| {
            proptest::prop_assert!(it < 5);
            Ok(())
        });
    }
}
