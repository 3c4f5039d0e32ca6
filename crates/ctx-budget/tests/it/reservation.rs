//! Facts about the tokens taken off the budget first.

use ctx_budget::{BudgetError, Reservation, reserve};
use ctx_model::Tokens;

const fn tokens(n: u32) -> Tokens {
    Tokens::new(n)
}

const PARTS: Reservation = Reservation {
    header: tokens(10),
    footer: tokens(20),
    notices: tokens(5),
    reserve: tokens(100),
};

#[track_caller]
fn leaves(max_tokens: u32, expected: Result<u32, u32>) {
    let left = reserve(tokens(max_tokens), &PARTS);
    let left = left.map(Tokens::get).map_err(|error| match error {
        BudgetError::TooSmall { smallest, .. } => smallest.get(),
        other => panic!("{other}"),
    });
    assert_eq!(left, expected, "of {max_tokens}");
}

#[test]
fn the_rest_is_the_budget_less_every_part() {
    leaves(1_000, Ok(865));
    leaves(136, Ok(1));
    leaves(135, Ok(0));
    leaves(134, Err(135));
    leaves(0, Err(135));
}

#[test]
fn the_error_tells_the_breakdown() {
    let error = reserve(tokens(120), &PARTS).unwrap_err();
    let expected = BudgetError::TooSmall {
        max_tokens: tokens(120),
        needed: tokens(35),
        available: tokens(20),
        header: tokens(10),
        footer: tokens(20),
        notices: tokens(5),
        reserve: tokens(100),
        pinned: Tokens::ZERO,
        largest_pin: None,
        smallest: tokens(135),
    };
    assert_eq!(error, expected);
    assert_eq!(
        error.to_string(),
        "a budget of 120 tokens less a reserve of 100 is too small: 35 are needed, 20 are left (header 10, \
         footer 20, notices 5, pinned 0); the smallest budget that works is 135"
    );
}

#[test]
fn no_budget_is_named_that_does_not_work() {
    let parts = Reservation {
        reserve: tokens(u32::MAX - 34),
        ..PARTS
    };
    let error = reserve(tokens(u32::MAX), &parts).unwrap_err();
    assert_eq!(error.smallest(), None);
    let error = error.to_string();
    let said = "no budget works: with the reserve it would be of 4294967296";
    assert!(error.ends_with(said), "{error}");
    // The largest does.
    let parts = Reservation {
        reserve: tokens(u32::MAX - 35),
        ..PARTS
    };
    let error = reserve(tokens(u32::MAX - 1), &parts).unwrap_err();
    assert_eq!(error.smallest(), Some(tokens(u32::MAX)));
    assert_eq!(reserve(tokens(u32::MAX), &parts), Ok(Tokens::ZERO));
}

#[test]
fn a_reserve_beyond_the_budget_is_told_with_the_budget_that_was_given() {
    let error = reserve(tokens(10), &PARTS).unwrap_err().to_string();
    assert!(
        error.starts_with("a budget of 10 tokens less a reserve of 100 is too small"),
        "{error}"
    );
}

#[test]
fn the_smallest_budget_that_is_told_works() {
    for max_tokens in 0..135 {
        let Err(BudgetError::TooSmall { smallest, .. }) = reserve(tokens(max_tokens), &PARTS)
        else {
            panic!("{max_tokens} is too small");
        };
        assert_eq!(reserve(smallest, &PARTS), Ok(Tokens::ZERO));
    }
}

#[test]
fn parts_too_large_to_add_up_are_refused() {
    let parts = Reservation {
        header: Tokens::MAX,
        footer: Tokens::MAX,
        ..Reservation::default()
    };
    assert!(reserve(Tokens::MAX, &parts).is_err());
}
