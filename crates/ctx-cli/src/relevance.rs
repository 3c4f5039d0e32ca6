//! How much a file matters when nobody asked a question.
//!
//! A file that was named matters most. Then what explains a tree (its README) and what declares it
//! (its manifest), more at the root than below. Then the rest; then tests; and last what machines
//! wrote or others did. Files that matter alike come in the order of their paths.

use ctx::rank::Role;

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

/// The relevance, 0 to 1, of the file that is shown as `path`.
pub(crate) fn of(path: &str, named: bool) -> f64 {
    let path = path.replace(std::path::MAIN_SEPARATOR, "/");
    match Role::of(&path) {
        _ if named => NAMED,
        Role::Generated | Role::Vendored => GENERATED,
        Role::Test => TEST,
        _ if !is_front(file_name(&path)) => ORDINARY,
        _ if path.contains('/') => FRONT,
        _ => FRONT_AT_ROOT,
    }
}

/// Whether a file of this name explains or declares the folder it is in.
fn is_front(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split('.').next() == Some("readme") || MANIFESTS.binary_search(&name.as_str()).is_ok()
}

/// The last part of `path`.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_sorted() {
        assert!(MANIFESTS.is_sorted());
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
            ("vendor/a/README.md", GENERATED),
        ] {
            assert!((of(path, false) - expected).abs() < 1e-9, "{path}");
            assert!((of(path, true) - NAMED).abs() < 1e-9, "{path}");
        }
    }
}
