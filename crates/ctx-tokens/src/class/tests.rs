use regex_syntax::hir::HirKind;

use super::{DECIMAL, LETTER, LOWER, NEWLINE, NUMBER, SPACE, TITLE, UPPER, of};

#[test]
fn classes_are_what_regular_expressions_take_them_for() {
    check(r"\p{L}", LETTER);
    check(r"\p{N}", NUMBER);
    check(r"\s", SPACE);
    check(r"[\r\n]", NEWLINE);
    check(r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", UPPER);
    check(r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", LOWER);
    check(r"\p{Nd}", DECIMAL);
    check(r"\p{Lt}", TITLE);
}

#[track_caller]
fn check(pattern: &str, bit: u8) {
    let parsed = regex_syntax::parse(pattern).unwrap();
    let HirKind::Class(regex_syntax::hir::Class::Unicode(class)) = parsed.kind() else {
        panic!("{pattern} is no class")
    };
    let mut expected = vec![false; 0x11_0000];
    for range in class.ranges() {
        expected[range.start() as usize..=range.end() as usize].fill(true);
    }
    for character in '\0'..=char::MAX {
        assert_eq!(
            of(character.into()) & bit != 0,
            expected[character as usize],
            "{pattern} and {character:?}"
        );
    }
}
