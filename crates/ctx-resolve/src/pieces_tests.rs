use ctx_testkit::laws::linear;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, ends: &[&str]) {
    let found = pieces(text, 0..text.len());
    assert_eq!(found.len(), ends.len(), "{found:?}");
    for (piece, end) in found.into_iter().zip(ends) {
        assert!(text[piece.clone()].ends_with(end), "{}", &text[piece]);
    }
}

#[test]
fn a_piece_ends_where_reading_is_hindered_least() {
    let words = "word ".repeat(180);
    let lines = format!("{words}\n{words}\n");
    check(&words, &["word"]);
    check(&lines, &["word", "word"]);
    assert_eq!(pieces(&lines, 0..lines.len())[1].start, words.len() + 1);
    check(&"word ".repeat(300), &["word", "word"]);
    check(&"1234,".repeat(300), &["1234,", "1234,"]);
    // Of a row of numbers, not at its only blank.
    let row = "1234,".repeat(190);
    check(&format!("{row}zebra walks,{row}"), &["1234,", "1234,"]);
    check(&"漢字、".repeat(200), &["漢字、", "漢字、"]);
    check(&"é".repeat(600), &["é", "é"]);
    // A mark belongs to the letter before it, and too many of them to nothing.
    check(&"i\u{301}".repeat(400), &["i\u{301}", "i\u{301}"]);
    check(&"\u{301}".repeat(600), &["\u{301}", "\u{301}"]);
    // A space near the beginning would leave hardly anything before it.
    check(&format!("a {}", "b".repeat(1100)), &["b", "b"]);
    check(&" ".repeat(3000), &[]);
}

proptest! {
    #[test]
    fn pieces_are_short_and_leave_out_white_space_alone(
        text in "[a-cé\u{301}ก่漢,;\n ]{0,40}",
        times in 1..300_usize,
    ) {
        let text = text.repeat(times);
        let found = pieces(&text, 0..text.len());
        let mut next = 0;
        for it in &found {
            prop_assert!(text[next..it.start].trim().is_empty());
            prop_assert!(it.len() <= LONGEST && !it.is_empty());
            next = it.end;
        }
        prop_assert!(text[next..].trim().is_empty());
        prop_assert!(found.len() <= 1 + text.len() * 2 / LONGEST);
    }
}

#[test]
fn pieces_take_linear_time() {
    for pattern in [" ", "a", "a ", "\u{301}", "🇩", "👩\u{200d}", ",", "\n", "ก่"] {
        let text = |n: usize| pattern.repeat(n / pattern.len());
        linear(pattern, text, |it| pieces(it, 0..it.len()));
    }
}
