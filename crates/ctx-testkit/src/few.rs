//! Laws for which one case is expensive: an index, a database, a folder, a process, a call.
//!
//! `PROPTEST_CASES` is meant for laws whose cases take microseconds, and overrides a
//! `ProptestConfig` in `proptest!`: 100,000 indexes would take hours.

use std::fmt::Debug;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};

/// The most cases, as a multiple of the usual number.
const MOST: u32 = 8;

/// The time spent on finding a smaller failing case, in milliseconds.
const SHRINKING: u32 = 60_000;

/// The number of cases where `usual` are enough: as many as `PROPTEST_CASES` asks for, but at most
/// 8 times `usual`.
#[must_use]
pub fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked_for(usual, asked.as_deref())
}

fn asked_for(usual: u32, asked: Option<&str>) -> u32 {
    let asked = asked.and_then(|it| it.parse().ok()).unwrap_or(usual);
    asked.min(usual.saturating_mul(MOST))
}

/// How much a test does: `few` in a usual run, and `all` where `CTX_THOROUGH` is set.
#[must_use]
pub fn thorough(all: usize, few: usize) -> usize {
    if std::env::var_os("CTX_THOROUGH").is_some() {
        all
    } else {
        few
    }
}

/// Holds `check` on so many values of `strategy`, whatever `PROPTEST_CASES` says.
///
/// # Panics
/// If it does not hold, with the smallest value found for which it does not.
#[track_caller]
pub fn run<S>(cases: u32, strategy: &S, check: impl Fn(S::Value) -> TestCaseResult)
where
    S: Strategy<Value: Debug>,
{
    let config = Config {
        failure_persistence: None,
        max_shrink_time: SHRINKING,
        ..Config::with_cases(cases)
    };
    if let Err(error) = TestRunner::new(config).run(strategy, check) {
        panic!("{error}");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn so_many_are_tried_as_are_asked_for_up_to_an_end() {
        assert_eq!(asked_for(64, None), 64);
        assert_eq!(asked_for(64, Some("10")), 10);
        assert_eq!(asked_for(64, Some("100")), 100);
        assert_eq!(asked_for(64, Some("100000")), 512);
        assert_eq!(asked_for(64, Some("many")), 64);
    }

    #[test]
    fn so_many_are_run_as_are_said() {
        let count = Cell::new(0);
        run(7, &(0..10_u8), |_| {
            count.set(count.get() + 1);
            Ok(())
        });
        assert_eq!(count.get(), 7);
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
