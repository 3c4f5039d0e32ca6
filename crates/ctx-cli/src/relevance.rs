//! How much a file matters when nobody asked a question.
//!
//! A file that was named matters most. Then what explains a tree (its README) and what declares it
//! (its manifest), more at the root than below. Then the rest; then tests; and last what machines
//! wrote. Files that matter alike come in the order of their paths.

const NAMED: f64 = 1.0;
const FRONT_AT_ROOT: f64 = 0.9;
const FRONT: f64 = 0.8;
const ORDINARY: f64 = 0.7;
const TEST: f64 = 0.5;
const GENERATED: f64 = 0.1;

/// File names, in lower case, that declare what a folder is. Sorted.
const MANIFESTS: &[&str] = &[
    "build.gradle",
    "build.gradle.kts",
    "cargo.toml",
    "cmakelists.txt",
    "composer.json",
    "gemfile",
    "go.mod",
    "mix.exs",
    "package.json",
    "package.swift",
    "pom.xml",
    "pyproject.toml",
    "setup.py",
];

/// Lock files without an extension that says so. Sorted.
const LOCKS: &[&str] = &[
    "go.sum",
    "package-lock.json",
    "packages.lock.json",
    "pnpm-lock.yaml",
];

/// Folders that hold tests and what they read. Sorted.
const TEST_FOLDERS: &[&str] = &["__tests__", "fixtures", "spec", "test", "testdata", "tests"];

/// The relevance, 0 to 1, of the file that is shown as `path`.
pub(crate) fn of(path: &str, named: bool) -> f64 {
    let name = file_name(path).to_ascii_lowercase();
    if named {
        NAMED
    } else if is_generated(&name) {
        GENERATED
    } else if is_test(path, &name) {
        TEST
    } else if name.split('.').next() == Some("readme") || is_in(MANIFESTS, &name) {
        if path.contains('/') {
            FRONT
        } else {
            FRONT_AT_ROOT
        }
    } else {
        ORDINARY
    }
}

fn is_generated(name: &str) -> bool {
    let ends = [".lock", ".map", ".min.css", ".min.js", ".min.mjs", ".snap"];
    is_in(LOCKS, name) || ends.iter().any(|end| name.ends_with(end))
}

fn is_test(path: &str, name: &str) -> bool {
    let (stem, _) = name.split_once('.').unwrap_or((name, ""));
    let folders = path.split('/').rev().skip(1);
    folders
        .into_iter()
        .any(|folder| is_in(TEST_FOLDERS, &folder.to_ascii_lowercase()))
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || [".test.", ".spec."].iter().any(|mark| name.contains(mark))
}

/// The last part of `path`.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', std::path::MAIN_SEPARATOR])
        .next()
        .unwrap_or(path)
}

fn is_in(sorted: &[&str], name: &str) -> bool {
    sorted.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        for table in [MANIFESTS, LOCKS, TEST_FOLDERS] {
            assert!(table.is_sorted());
        }
    }

    #[test]
    fn files_are_ranked_by_their_names() {
        for (path, expected) in [
            ("README.md", FRONT_AT_ROOT),
            ("Cargo.toml", FRONT_AT_ROOT),
            ("crates/a/README", FRONT),
            ("crates/a/Cargo.toml", FRONT),
            ("src/main.rs", ORDINARY),
            ("readme_writer.rs", ORDINARY),
            ("src/attest.rs", ORDINARY),
            ("tests/it/main.rs", TEST),
            ("pkg/server_test.go", TEST),
            ("web/app.spec.ts", TEST),
            ("test_all.py", TEST),
            ("Cargo.lock", GENERATED),
            ("web/package-lock.json", GENERATED),
            ("web/app.min.js", GENERATED),
        ] {
            assert!((of(path, false) - expected).abs() < 1e-9, "{path}");
            assert!((of(path, true) - NAMED).abs() < 1e-9, "{path}");
        }
    }
}
