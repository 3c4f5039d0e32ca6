//! The files below a folder: which ones, and which are returned if there are too many.

use std::collections::BTreeSet;

use ctx_retrieve::FileSearch;

use super::hostile_texts;

/// Paths at the root and deeper, below folders of the same name, with names that begin or end like
/// others, have a meaning in a pattern, or are sorted differently by some language.
const PATHS: [&str; 26] = [
    "50%/percent.rs",
    "50x/letter.rs",
    "a/a/b/nested.rs",
    "a/b/flat.rs",
    "b/a/a/a/deep.rs",
    "doc/one.md",
    "docs/Design/one.md",
    "docs/design.md",
    "docs/two.md",
    "lib/Docs/design/three.md",
    "lib/src/x/src/inner.rs",
    "lib/src/y/src/inner.rs",
    "my_lib/under.rs",
    "myxlib/letter.rs",
    "one/src/same.rs",
    "root.rs",
    "src/B.rs",
    "src/Z.rs",
    "src/_.rs",
    "src/a.rs",
    "src/b-1/c.rs",
    "src/b.1/c.rs",
    "srcs/begins.rs",
    "two/SRC/same.rs",
    "xsrc/ends.rs",
    "zero/src/same.rs",
];

/// The files, by path, that a store must hold for [`folders`].
pub fn in_folders() -> Vec<(&'static str, &'static str)> {
    PATHS.map(|path| (path, "Nothing.\n")).to_vec()
}

/// Checks what `store`, which must have files at `paths` and no others, returns for folders. Call
/// it again after some files have been removed.
///
/// # Panics
/// If a law does not hold.
pub async fn folders<S: FileSearch + ?Sized>(store: &S, paths: &[&str]) {
    let questions = questions(paths);
    for limit in [100, 3, 2, 1, 0] {
        let found = store.below(&questions, limit).await.expect("folders");
        assert_eq!(found.len(), questions.len(), "a list for each folder");
        for (folder, found) in questions.iter().zip(found) {
            let expected = below(paths, folder, limit);
            assert_eq!(found, expected, "{limit} files below {folder:?}");
        }
    }
}

/// The existing folders, by each suffix of their paths, and names that are not folders.
fn questions(paths: &[&str]) -> Vec<String> {
    let mut folders = BTreeSet::new();
    for path in PATHS.iter().chain(paths) {
        let slashes = || path.match_indices('/').map(|(at, _)| at);
        for begin in std::iter::once(0).chain(slashes().map(|it| it + 1)) {
            let ends = slashes().filter(|&end| end > begin);
            folders.extend(ends.map(|end| path[begin..end].to_owned()));
        }
        // A file is not a folder.
        folders.insert((*path).to_owned());
    }
    let upper: Vec<String> = folders.iter().map(|it| it.to_uppercase()).collect();
    let slashed: Vec<String> = folders.iter().map(|it| format!("/{it}/")).collect();
    let none = [
        "", "/", "//", "%", "50_", "d_c", "do", "doc%", "my%lib", "s*", "src//b", "x_src",
        "nowhere",
    ];
    let mut questions: Vec<String> = folders.into_iter().collect();
    questions.extend(upper.into_iter().chain(slashed));
    questions.extend(none.map(str::to_owned));
    questions.extend(hostile_texts());
    questions
}

/// The expected answer: the first `limit` files by the path from the last folder of that name on,
/// and then by their whole paths. They are returned in the order of their paths.
fn below<'p>(paths: &[&'p str], folder: &str, limit: usize) -> Vec<&'p str> {
    let folder = folder.trim_matches('/').to_lowercase();
    if folder.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for path in paths {
        let rooted = format!("/{}", path.to_lowercase());
        if let Some(at) = rooted.rfind(&format!("/{folder}/")) {
            found.push((rooted[at..].to_owned(), *path));
        }
    }
    found.sort_unstable();
    let mut found: Vec<&str> = found.into_iter().take(limit).map(|it| it.1).collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_paths_are_those_below_the_folder() {
        let of = |folder, limit| below(&PATHS, folder, limit);
        assert_eq!(of("doc", 9), ["doc/one.md"]);
        assert_eq!(
            of("docs/design/", 9),
            ["docs/Design/one.md", "lib/Docs/design/three.md"]
        );
        assert_eq!(of("a/a", 9), ["a/a/b/nested.rs", "b/a/a/a/deep.rs"]);
        assert_eq!(of("my_lib", 9), ["my_lib/under.rs"]);
        assert_eq!(of("50%", 9), ["50%/percent.rs"]);
        assert_eq!(of("src", 3), ["src/_.rs", "src/a.rs", "src/b-1/c.rs"]);
        assert_eq!(of("src", 99).len(), 11, "each once");
        assert!(of("root.rs", 9).is_empty());
    }
}
