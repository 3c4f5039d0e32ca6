//! Matches paths with patterns.

use crate::paths::composed;

/// Whether `path`, or a suffix of it that begins at a folder or file, matches `pattern`: `*` stands
/// for any characters of a name, and `**` for any folders. Ignores case, and normal forms of
/// Unicode. O(bytes of the pattern × bytes of the path).
pub(super) fn fits(pattern: &str, path: &str) -> bool {
    let [pattern, path] = [pattern, path].map(|it| composed(it).to_lowercase());
    let wanted = pattern.split('/').filter(|it| !it.is_empty() && *it != ".");
    let names: Vec<&str> = path.split('/').collect();
    // Whether the pattern so far may end before each name, or after the last.
    let mut ends = vec![true; names.len() + 1];
    for name in wanted {
        if name == "**" {
            let first = ends.iter().position(|&it| it).unwrap_or(ends.len());
            ends.iter_mut().skip(first).for_each(|it| *it = true);
            continue;
        }
        for at in (0..names.len()).rev() {
            ends[at + 1] = ends[at] && is_like(name, names[at]);
        }
        ends[0] = false;
    }
    ends[names.len()]
}

/// Whether `name` matches `pattern`, in which `*` stands for any characters.
fn is_like(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(last) = pieces.next_back() else {
        return pattern == name;
    };
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    // Matching the middle pieces as early as possible leaves most for the rest.
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_of_a_name_and_two_are_of_folders() {
        for (pattern, path) in [
            ("*.toml", "Cargo.toml"),
            ("*.toml", "crates/a/Cargo.toml"),
            ("*.TOML", "cargo.Toml"),
            ("**/*.sql", "a.sql"),
            ("**/*.sql", "db/migrations/1.sql"),
            ("test_*.py", "tests/test_a.py"),
            ("test_*.py", "test_.py"),
            ("*_test.go", "net/conn_test.go"),
            ("*a*a.rs", "aaa.rs"),
            ("src/**/*.rs", "src/a.rs"),
            ("src/**/*.rs", "x/src/a/b/c.rs"),
            ("crates/*/Cargo.toml", "crates/a/Cargo.toml"),
            ("./*.md", "docs/a.md"),
            ("**", "a/b"),
            ("caf\u{e9}/*.md", "docs/Cafe\u{301}/a.md"),
            ("cafe\u{301}/*.md", "caf\u{e9}/a.md"),
        ] {
            assert!(fits(pattern, path), "{pattern} and {path}");
        }
        for (pattern, path) in [
            ("*.toml", "Cargo.toml.orig"),
            ("*.toml", "a.toml/b"),
            ("test_*.py", "a_test_b.py"),
            ("*aa*aa.rs", "aaa.rs"),
            ("src/**/*.rs", "lib/a.rs"),
            ("src/**/*.rs", "asrc/a.rs"),
            ("crates/*/Cargo.toml", "crates/a/b/Cargo.toml"),
            ("a/*.rs", "a.rs"),
            ("*.rs", ""),
        ] {
            assert!(!fits(pattern, path), "{pattern} and {path}");
        }
    }
}
