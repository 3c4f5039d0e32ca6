//! Which joints are safe.

use ctx_tokens::is_safe_joint;

#[test]
fn a_joint_is_safe_between_lines() {
    check("", "anything", true);
    check("", "\n", true);
    check("anything", "", true);
    check("a\n", "b", true);
    check("a\n", "  b", true);
    check("a\n", "\u{3000}b", true);
    check("a\n", "  ", true);
    check("a\n", " /", true);
    check("a\r\n", "b", true);

    check("a", "b", false);
    check("a ", "b", false);
    check("a\r", "b", false);
    check("a\n ", "b", false);
    check("a\n", "\n", false);
    check("a\n", "\rb", false);
    check("a\n", " \nb", false);
    check("a\n", "\u{3000}\r\nb", false);
    check("a\n", "/", false);
    check("a\n", "//b", false);
}

#[track_caller]
fn check(left: &str, right: &str, safe: bool) {
    assert_eq!(is_safe_joint(left, right), safe, "{left:?} and {right:?}");
}
