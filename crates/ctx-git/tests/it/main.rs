//! Changes of repositories, read and asked for.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ctx_git::{GitChanges, GitError, Progress, Updated};
use ctx_rank::Query;
use ctx_retrieve::{Changes as _, Touched};
use ctx_testkit::git::Repository;
use tempfile::TempDir;

const POOL: &str =
    "class Pool:\n    def take(self):\n        return 1\n\n    def give(self):\n        return 2\n";

/// A repository, and a folder for what is kept of it.
struct Bench {
    root: TempDir,
    kept: TempDir,
    repository: Repository,
}

impl Bench {
    /// With `POOL` in it, in a folder.
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut repository = Repository::init(root.path());
        repository.commit(
            "Begin",
            &[("src/pool.py", Some(POOL)), ("notes.md", Some("# Notes\n"))],
        );
        Bench {
            root,
            kept: tempfile::tempdir().unwrap(),
            repository,
        }
    }

    fn file(&self) -> PathBuf {
        self.kept.path().join("changes")
    }

    /// Replaces `old` by `new` in the pool.
    fn change(&mut self, message: &str, old: &str, new: &str) -> String {
        let at = self.root.path().join("src/pool.py");
        let text = fs::read_to_string(at).unwrap();
        assert!(text.contains(old), "{text}");
        let text = text.replacen(old, new, 1);
        self.repository
            .commit(message, &[("src/pool.py", Some(&text))])
    }

    fn open(&self) -> GitChanges {
        let (changes, wrong) = opened(self.root.path(), &self.file());
        assert_eq!(wrong, None);
        changes
    }
}

fn opened(root: &Path, file: &Path) -> (GitChanges, Option<String>) {
    GitChanges::open(root, file).unwrap().unwrap()
}

fn update(changes: &GitChanges) -> Updated {
    changes.update(&mut |_| ControlFlow::Continue(())).unwrap()
}

/// The places that `question` finds: paths and the first names.
fn asked(changes: &GitChanges, question: &str) -> Vec<(String, Vec<String>)> {
    let terms = Query::analyse(question).terms;
    #[expect(clippy::cast_possible_truncation, reason = "weights are small")]
    let terms: Vec<_> = terms
        .into_iter()
        .map(|it| (it.text, it.weight as f32))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let found: Vec<Touched> = runtime.block_on(changes.touched(&terms, 100)).unwrap();
    assert!(found.iter().all(|it| it.score > 0.0));
    found.into_iter().map(|it| (it.path, it.names)).collect()
}

fn place(path: &str, names: &[&str]) -> (String, Vec<String>) {
    let names = names.iter().map(|it| (*it).to_owned());
    (path.to_owned(), names.collect())
}

#[test]
fn what_a_change_touched_is_found_by_what_was_said_of_it() {
    let mut bench = Bench::new();
    bench.change(
        "Fix a leak when connections time out",
        "return 1",
        "return 3",
    );
    bench.change("Let slots be given back twice", "return 2", "return 4");
    let changes = bench.open();
    let updated = update(&changes);
    assert_eq!(
        (updated.changes, updated.read, updated.unsaved),
        (2, 2, None)
    );
    assert_eq!(changes.count(), 2);
    let found = asked(&changes, "it leaks if a connection timed out");
    assert_eq!(
        found,
        [place(
            "src/pool.py",
            &["take", "def", "self", "class", "Pool"]
        )]
    );
    let found = asked(&changes, "giving twice");
    assert_eq!(found[0].1[0], "give");
    assert!(asked(&changes, "something else altogether").is_empty());
}

#[test]
fn what_is_known_is_not_read_again_and_what_head_has_not_is_forgotten() {
    let mut bench = Bench::new();
    let first = bench.change("Fix a leak", "return 1", "return 3");
    assert_eq!(update(&bench.open()).read, 1);
    // Another process, later.
    let changes = bench.open();
    assert_eq!(changes.count(), 1);
    assert_eq!(update(&changes).read, 0);
    bench.change("Let slots be given back twice", "return 2", "return 4");
    let updated = update(&changes);
    assert_eq!((updated.changes, updated.read), (2, 1));
    let asked_before = asked(&changes, "leak twice");
    // As if it were read for the first time.
    fs::remove_file(bench.file()).unwrap();
    let anew = bench.open();
    assert_eq!(update(&anew).read, 2);
    assert_eq!(asked(&anew, "leak twice"), asked_before);
    bench.repository.set_head(&first);
    let updated = update(&changes);
    assert_eq!((updated.changes, updated.read), (1, 0));
    assert!(asked(&changes, "twice").is_empty());
    // Up to a commit, whatever the head is, and from the git folder alone.
    let git = bench.root.path().join(".git");
    let (of_first, _) = GitChanges::at(&git, &first, &bench.kept.path().join("other")).unwrap();
    assert_eq!(update(&of_first).changes, 1);
}

#[test]
fn merges_new_files_and_what_touches_everything_are_about_no_place() {
    let mut bench = Bench::new();
    let side = bench.change("Fix a leak", "return 1", "return 3");
    let main = bench.change("Fix a leak too", "return 2", "return 4");
    let parents = [&side, &main].map(|it| it.parse().unwrap());
    bench.repository.commit_on(&parents, "Merge the leak", &[]);
    let many: Vec<String> = (0..30).map(|it| format!("many/{it}.py")).collect();
    for text in ["def leak():\n    1\n", "def leak():\n    2\n"] {
        let files: Vec<_> = many.iter().map(|it| (&**it, Some(text))).collect();
        bench.repository.commit("All leak", &files);
    }
    let changes = bench.open();
    assert_eq!(update(&changes).changes, 4);
    let found = asked(&changes, "leak");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|it| it.0 == "src/pool.py"));
}

#[test]
fn paths_are_those_below_the_folder_that_is_asked_about() {
    let mut bench = Bench::new();
    bench.change("Fix a leak", "return 1", "return 3");
    bench
        .repository
        .commit("Tell of the leak", &[("notes.md", Some("# Notes\nOne.\n"))]);
    let changes = bench.open();
    update(&changes);
    assert_eq!(
        asked(&changes, "leak").len(),
        1,
        "a heading is no head by its indentation"
    );
    let below = bench.root.path().join("src");
    let (changes, wrong) = opened(&below, &bench.file());
    assert_eq!(wrong, None);
    // It was kept for another folder.
    assert_eq!(update(&changes).read, 2);
    assert_eq!(asked(&changes, "leak")[0].0, "pool.py");
}

#[test]
fn a_damaged_file_is_told_and_made_anew_and_one_that_cannot_be_written_is_no_reason_to_fail() {
    let mut bench = Bench::new();
    bench.change("Fix a leak", "return 1", "return 3");
    update(&bench.open());
    let mut bytes = fs::read(bench.file()).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(bench.file(), &bytes).unwrap();
    let (changes, wrong) = opened(bench.root.path(), &bench.file());
    assert_eq!(wrong.as_deref(), Some("it is not as it was written"));
    assert_eq!((changes.count(), update(&changes).read), (0, 1));
    assert_eq!(update(&bench.open()).read, 0);
    fs::write(bench.file(), "ctx-git\x02 of a later version").unwrap();
    let (_, wrong) = opened(bench.root.path(), &bench.file());
    assert_eq!(wrong.as_deref(), Some("it is of another format"));
    let (changes, _) = opened(bench.root.path(), &bench.kept.path().join("none/changes"));
    let updated = update(&changes);
    assert!(updated.unsaved.is_some() && updated.changes == 1);
    assert_eq!(asked(&changes, "leak").len(), 1);
}

#[test]
fn an_update_that_is_cancelled_changes_nothing() {
    let mut bench = Bench::new();
    bench.change("Fix a leak", "return 1", "return 3");
    let changes = bench.open();
    let mut told = Vec::new();
    let cancelled = changes.update(&mut |Progress { done, of, .. }| {
        told.push((done, of));
        ControlFlow::Break(())
    });
    assert!(matches!(cancelled, Err(GitError::Cancelled)));
    assert_eq!((told, changes.count()), (vec![(0, 1)], 0));
    assert!(!bench.file().exists());
}

#[test]
fn no_repository_is_none_and_one_without_a_commit_has_no_change() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("changes");
    assert!(GitChanges::open(root.path(), &file).unwrap().is_none());
    let _repository = Repository::init(root.path());
    let (changes, _) = opened(root.path(), &file);
    assert_eq!(update(&changes), Updated::default());
    // Nor is what is in its own folder asked about.
    assert!(
        GitChanges::open(&root.path().join(".git"), &file)
            .unwrap()
            .is_none()
    );
}

#[test]
fn what_is_no_repository_and_no_commit_is_told() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("changes");
    fs::write(root.path().join(".git"), "gitdir: nowhere\n").unwrap();
    let error = GitChanges::open(root.path(), &file).unwrap_err();
    assert!(
        error.to_string().starts_with("read the git repository "),
        "{error}"
    );
    let error = GitChanges::at(root.path(), "main", &file).unwrap_err();
    assert!(matches!(error, GitError::Commit { .. }), "{error}");
    let bench = Bench::new();
    let (git, none) = (bench.root.path().join(".git"), "0".repeat(40));
    let (changes, _) = GitChanges::at(&git, &none, &file).unwrap();
    let error = changes
        .update(&mut |_| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(matches!(error, GitError::Commit { .. }), "{error}");
}

#[test]
fn what_cannot_be_read_of_a_repository_is_left_out() {
    let mut bench = Bench::new();
    bench.change("Fix a leak", "return 1", "return 3");
    bench.change("Fix a leak again", "return 2", "return 4");
    // As in a clone that was made without most of its objects.
    let objects = bench.root.path().join(".git/objects");
    let text = fs::read_to_string(bench.root.path().join("src/pool.py")).unwrap();
    let blob = gix_id(&text);
    fs::remove_file(objects.join(&blob[..2]).join(&blob[2..])).unwrap();
    let changes = bench.open();
    assert_eq!(update(&changes).changes, 2);
    assert_eq!(asked(&changes, "leak").len(), 1);
}

/// The id of a text.
fn gix_id(text: &str) -> String {
    let kind = gix::hash::Kind::Sha1;
    let id = gix::objs::compute_hash(kind, gix::objs::Kind::Blob, text.as_bytes());
    id.unwrap().to_string()
}

#[test]
fn secrets_and_trailers_in_messages_are_no_words_of_them() {
    let mut bench = Bench::new();
    let secret = concat!("ghp_", "x7Kq2mZ9vB4nR8tY1wE6uI3oP5aS0dF7gH2j");
    let message =
        format!("Fix a leak\n\nThe token was {secret}.\n\nReviewed-by: Grace <g@example.com>\n");
    bench.change(&message, "return 1", "return 3");
    let changes = bench.open();
    update(&changes);
    assert_eq!(asked(&changes, "token").len(), 1);
    assert!(asked(&changes, "Grace reviewed").is_empty());
    assert!(asked(&changes, secret).is_empty());
    let kept = fs::read(bench.file()).unwrap();
    let needle = b"x7kq2mz9vb4nr8ty1we6ui3op5as0df7gh2j";
    assert!(
        !kept
            .windows(needle.len())
            .any(|it| it.eq_ignore_ascii_case(needle))
    );
}
