use super::fault;

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    for path in [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../x",
        "a/../b",
        "a/..",
        "./a",
        "a/.",
        "a//b",
        "a/",
        "//a",
        "a\0b",
        "a\nb",
        "a\\b",
        "C:\\x",
        ".ctx/x",
        "a/.ctx",
        ".ctxignore",
        "a/.ctxignore",
    ] {
        assert!(fault(path).is_some(), "{path:?}");
    }
    assert!(fault(&"a/".repeat(40)).is_some());
    assert!(fault(&"a".repeat(201)).is_some());
    assert!(fault(&format!("{}/x", "a/b".repeat(400))).is_some());
}

#[test]
fn ordinary_paths_are_taken() {
    for path in [
        "a",
        "a/b.rs",
        ".github/workflows/ci.yml",
        "ä/ö.md",
        "a b/c",
        "..a",
        "a..b/...",
    ] {
        assert_eq!(fault(path), None, "{path:?}");
    }
}
