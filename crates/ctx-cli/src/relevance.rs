//! The relevance of a file without a question.
//!
//! Files named by the user rank highest. Then come the file that explains the tree (its README) and
//! those that declare it (its manifests); then sources; then documents, settings and examples; then
//! tests; and last generated and copied files. A file of a higher rank is worth more than any file
//! of a lower one, whatever their lengths. If not everything fits, a longer file of a rank is worth
//! more than a shorter one, though less than in proportion to their lengths; otherwise files of a
//! rank are ordered by path.

use ctx::rank::Role;

/// The role of a file for readers of a tree, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// It was named by the user.
    Named,
    /// The README or a manifest of the whole tree.
    Front,
    Source,
    /// Documents, settings and examples.
    Beside,
    Test,
    /// Generated, or a copy of code from elsewhere.
    Generated,
}

/// Files shorter than this, in bytes, are valued as if they had this length.
const SHORT: usize = 256;
/// Files longer than this, in bytes, are valued as if they had this length.
const LONG: usize = 64 << 10;
/// The exponent of the length in a file's value: with 1 the longest files would take all the room,
/// with 1/2 there would be room for the shortest only.
const GROWTH: f64 = 0.75;
/// The value of the README in units of the longest source: high enough that it is always shown, and
/// low enough that a long one is not shown completely before any line of the sources.
const FRONT: f64 = 2.0;

/// The names, in lower case, of files that declare what a folder is. Sorted.
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

impl Rank {
    /// The rank of the file that is shown as `path`.
    pub(crate) fn of(path: &str, named: bool) -> Rank {
        let path = path.replace(std::path::MAIN_SEPARATOR, "/");
        match Role::of(&path) {
            _ if named => Rank::Named,
            Role::Generated | Role::Vendored => Rank::Generated,
            Role::Test => Rank::Test,
            _ if is_front(file_name(&path)) => {
                if path.contains('/') {
                    Rank::Source
                } else {
                    Rank::Front
                }
            }
            Role::Source => Rank::Source,
            _ => Rank::Beside,
        }
    }

    /// The relevance, 0 to 1, of any file of this rank.
    pub(crate) fn relevance(self) -> f64 {
        self.weighed(LONG)
    }

    /// The relevance, 0 to 1, of a file with this many bytes, for weighing it against others.
    #[expect(clippy::cast_precision_loss, reason = "it is at most 65,536")]
    pub(crate) fn weighed(self, bytes: usize) -> f64 {
        let share_of = |bytes: usize| (bytes as f64 / LONG as f64).powf(GROWTH);
        let (least, share) = (share_of(SHORT), share_of(bytes.clamp(SHORT, LONG)));
        let rank = |number: i32| least.powi(number) / FRONT * share;
        match self {
            Rank::Named => share,
            // Manifests are short, and worth as much as the README.
            Rank::Front => least,
            Rank::Source => rank(1),
            Rank::Beside => rank(2),
            Rank::Test => rank(3),
            Rank::Generated => rank(4),
        }
    }
}

/// The value of a part of a file, as a share of the whole, given its share of the `information`, 0
/// to 1.
pub(crate) fn of_part(information: f64) -> f64 {
    information.sqrt()
}

/// Whether a file of this name explains or declares its folder.
fn is_front(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split('.').next() == Some("readme") || MANIFESTS.binary_search(&name.as_str()).is_ok()
}

/// The last component of `path`.
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
            ("README.md", Rank::Front),
            ("Cargo.toml", Rank::Front),
            ("crates/a/README", Rank::Source),
            ("crates/a/Cargo.toml", Rank::Source),
            ("src/main.rs", Rank::Source),
            ("readme_writer.rs", Rank::Source),
            ("src/attest.rs", Rank::Source),
            ("docs/guide.md", Rank::Beside),
            ("examples/a.rs", Rank::Beside),
            ("settings.yaml", Rank::Beside),
            ("tests/it/main.rs", Rank::Test),
            ("tests/README.md", Rank::Test),
            ("pkg/server_test.go", Rank::Test),
            ("web/app.spec.ts", Rank::Test),
            ("test_all.py", Rank::Test),
            ("Cargo.lock", Rank::Generated),
            ("web/package-lock.json", Rank::Generated),
            ("web/app.min.js", Rank::Generated),
            ("vendor/a/README.md", Rank::Generated),
        ] {
            assert_eq!(Rank::of(path, false), expected, "{path}");
            assert_eq!(Rank::of(path, true), Rank::Named, "{path}");
        }
    }

    #[test]
    fn the_shortest_file_of_a_rank_is_worth_no_less_than_the_longest_of_the_next() {
        let ranks = [
            Rank::Named,
            Rank::Front,
            Rank::Source,
            Rank::Beside,
            Rank::Test,
            Rank::Generated,
        ];
        for pair in ranks.windows(2) {
            assert!(
                pair[0].weighed(0) >= pair[1].weighed(usize::MAX),
                "{pair:?}"
            );
            assert!(pair[0].relevance() > pair[1].relevance(), "{pair:?}");
        }
        assert!(
            ranks
                .iter()
                .all(|it| (0.0..=1.0).contains(&it.weighed(1_000)))
        );
    }

    #[test]
    fn a_longer_file_is_worth_more_and_its_tokens_less() {
        let worth = |bytes| Rank::Source.weighed(bytes);
        assert!(worth(1_000) < worth(10_000));
        assert!(10.0 * worth(1_000) > worth(10_000));
    }
}
