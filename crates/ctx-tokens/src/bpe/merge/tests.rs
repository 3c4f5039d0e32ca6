use proptest::prelude::*;

use super::{Scratch, count, count_in_windows, count_small, merge};
use crate::{cl100k_base, o200k_base};

proptest! {
    /// Windows of a few tokens, so that joints between them are tried thousands of times.
    #[test]
    fn windows_make_no_difference(
        piece in prop_oneof![
            "[a-e]{1,1500}", "[a-zA-Z]{1,900}", "(ab|abc|a){1,500}", " {1,900}", "[!-/]{1,900}",
            "[\u{4e00}-\u{4e40}]{1,300}", "(\u{1f980}|\u{301}|\u{1f468}){1,250}",
        ],
        window in prop_oneof![Just(150_usize), 129..600_usize],
    ) {
        let mut scratch = Scratch::default();
        for vocabulary in [&cl100k_base().vocabulary, &o200k_base().vocabulary] {
            let whole = merge(vocabulary, &mut scratch, piece.as_bytes()).len() as u64;
            let bytes = piece.as_bytes();
            let in_windows = count_in_windows(vocabulary, &mut scratch, bytes, u64::MAX, window);
            prop_assert_eq!(in_windows, Some(whole));
            prop_assert_eq!(count(vocabulary, &mut scratch, bytes, whole), Some(whole));
            prop_assert_eq!(count(vocabulary, &mut scratch, bytes, whole - 1), None);
        }
    }

    #[test]
    fn with_a_heap_and_without_is_the_same(piece in "[a-zA-Z]{1,48}|[!-/]{1,48}|\\pL{1,12}") {
        let mut scratch = Scratch::default();
        for vocabulary in [&cl100k_base().vocabulary, &o200k_base().vocabulary] {
            let with = merge(vocabulary, &mut scratch, piece.as_bytes()).len() as u64;
            prop_assert_eq!(count_small(vocabulary, piece.as_bytes()), with);
        }
    }
}
