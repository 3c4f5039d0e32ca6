//! Reading and searching the changes of repositories.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ctx_git::{GitChanges, GitError, Progress, Updated};
use ctx_rank::Query;
use ctx_retrieve::{Changes as _, PortError, PortResult, Touched};
use ctx_testkit::git::Repository;
use ctx_testkit::laws;
use ctx_testkit::pool::while_busy;
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

    /// So many changes that are about leaks.
    fn leak(&mut self, times: usize) {
        for number in 0..times {
            let text = POOL.replace('1', &format!("1{number}"));
            let message = format!("Leak {number} times");
            let repository = &mut self.repository;
            repository.commit(&message, &[("src/pool.py", Some(&text))]);
        }
    }

    fn open(&self) -> GitChanges {
        let changes = opened(self.root.path(), &self.file());
        assert_eq!(changes.discarded(), None);
        changes
    }

    /// What is kept is to the byte what it would be were it read for the first time.
    #[track_caller]
    fn as_at_once(&self) {
        let file = self.kept.path().join("anew");
        let changes = opened(self.root.path(), &file);
        update(&changes);
        assert!(fs::read(&file).unwrap() == fs::read(self.file()).unwrap());
        fs::remove_file(file).unwrap();
    }

    fn git(&self) -> PathBuf {
        self.root.path().join(".git")
    }

    /// Takes an object away, and gives where it was and what it held.
    fn take_away(&self, id: &str) -> (PathBuf, Vec<u8>) {
        let at = self.git().join("objects").join(&id[..2]).join(&id[2..]);
        let bytes = fs::read(&at).unwrap();
        fs::remove_file(&at).unwrap();
        (at, bytes)
    }
}

fn opened(root: &Path, file: &Path) -> GitChanges {
    GitChanges::open(root, file).unwrap().unwrap()
}

fn update(changes: &GitChanges) -> Updated {
    changes.update(&mut |_| ControlFlow::Continue(())).unwrap()
}

/// The locations that `question` finds: paths and the first names.
fn asked(changes: &GitChanges, question: &str) -> Vec<(String, Vec<String>)> {
    answer(changes, question).unwrap()
}

fn answer(changes: &GitChanges, question: &str) -> PortResult<Vec<(String, Vec<String>)>> {
    let terms = Query::analyse(question).terms;
    #[expect(clippy::cast_possible_truncation, reason = "weights are small")]
    let terms: Vec<_> = terms
        .into_iter()
        .map(|it| (it.text, it.weight as f32))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let found: Vec<Touched> = runtime.block_on(changes.touched(&terms, 100))?;
    assert!(found.iter().all(|it| it.score > 0.0));
    Ok(found.into_iter().map(|it| (it.path, it.names)).collect())
}

fn location(path: &str, names: &[&str]) -> (String, Vec<String>) {
    let names = names.iter().map(|it| (*it).to_owned());
    (path.to_owned(), names.collect())
}

#[test]
fn locations_are_found_by_the_message_of_the_change_that_touched_them() {
    let mut bench = Bench::new();
    bench.change(
        "Fix a leak when connections time out",
        "return 1",
        "return 3",
    );
    bench.change("Let slots be given back twice", "return 2", "return 4");
    let changes = bench.open();
    assert!(!changes.is_up_to_date().unwrap());
    let updated = update(&changes);
    assert!(changes.is_up_to_date().unwrap());
    assert_eq!(
        (updated.changes, updated.read, updated.unsaved),
        (2, 2, None)
    );
    assert_eq!(changes.count(), 2);
    let found = asked(&changes, "it leaks if a connection timed out");
    assert_eq!(
        found,
        [location(
            "src/pool.py",
            &["take", "def", "self", "class", "Pool"]
        )]
    );
    let found = asked(&changes, "giving twice");
    assert_eq!(found[0].1[0], "give");
    assert!(asked(&changes, "something else altogether").is_empty());
}

#[test]
fn changes_keep_the_laws() {
    let mut bench = Bench::new();
    for (message, before, after) in [
        (
            "Fix a leak when connections time out",
            "return 1",
            "return 3",
        ),
        (
            "Time out while a slot is given back",
            "return 2",
            "return 4",
        ),
        (
            "Give slots back when connections leak",
            "return 3",
            "return 5",
        ),
    ] {
        bench.change(message, before, after);
    }
    let changes = bench.open();
    update(&changes);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let questions = ["leaks of connections", "slots that time out", "neither"];
    runtime.block_on(laws::changes(&changes, &questions));
}

#[test]
fn a_change_of_a_definition_on_one_line_is_found_by_it() {
    let mut bench = Bench::new();
    let text = |limit: u32| format!("pub const LIMIT: u32 = {limit};\n\nfn one() {{ 0 }}\n");
    for (message, limit) in [("Begin it", 5), ("Raise what may leak", 6)] {
        bench
            .repository
            .commit(message, &[("src/a.rs", Some(&text(limit)))]);
    }
    let changes = bench.open();
    update(&changes);
    let found = asked(&changes, "leak");
    assert_eq!(
        found,
        [location("src/a.rs", &["pub", "const", "LIMIT", "u32"])]
    );
}

#[test]
fn known_commits_are_not_read_again_and_unreachable_ones_are_forgotten() {
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
    bench.as_at_once();
    bench.repository.set_head(&first);
    let updated = update(&changes);
    assert_eq!((updated.changes, updated.read), (1, 0));
    assert!(asked(&changes, "twice").is_empty());
    bench.as_at_once();
    // Another branch, and what joins them.
    let other = bench.change("Let slots be given back late", "return 4", "return 5");
    let parents = [&first, &other].map(|it| it.parse().unwrap());
    bench.repository.commit_on(&parents, "Merge it", &[]);
    assert_eq!(update(&changes).read, 1);
    bench.as_at_once();
    // Up to a commit, whatever the head is, and from the git folder alone.
    let kept = bench.kept.path().join("other");
    let of_first = GitChanges::at(&bench.git(), &first, &kept).unwrap();
    assert_eq!(update(&of_first).changes, 1);
}

#[test]
fn merges_new_files_and_what_touches_everything_are_about_no_location() {
    let mut bench = Bench::new();
    let side = bench.change("Fix a leak", "return 1", "return 3");
    let main = bench.change("Fix a leak too", "return 2", "return 4");
    let parents = [&side, &main].map(|it| it.parse().unwrap());
    bench.repository.commit_on(&parents, "Merge the leak", &[]);
    let new = "def leak():\n    1\n";
    bench
        .repository
        .commit("One leak more", &[("new.py", Some(new))]);
    bench
        .repository
        .commit("One leak less", &[("new.py", None)]);
    let many: Vec<String> = (0..30).map(|it| format!("many/{it}.py")).collect();
    for text in ["def leak():\n    1\n", "def leak():\n    2\n"] {
        let files: Vec<_> = many.iter().map(|it| (&**it, Some(text))).collect();
        bench.repository.commit("All leak", &files);
    }
    let changes = bench.open();
    assert_eq!(update(&changes).changes, 6);
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
    let changes = opened(&below, &bench.file());
    assert_eq!(changes.discarded(), None);
    // It was kept for another folder, and says nothing of this one.
    assert_eq!(changes.count(), 0);
    // What touched nothing in the folder is none of its changes.
    assert_eq!(update(&changes).read, 1);
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
    let changes = opened(bench.root.path(), &bench.file());
    assert_eq!(
        changes.discarded(),
        Some("it is damaged, or another version wrote it")
    );
    assert_eq!((changes.count(), update(&changes).read), (0, 1));
    assert_eq!(update(&bench.open()).read, 0);
    fs::write(bench.file(), "ctx-git\x7f of a later version").unwrap();
    let changes = opened(bench.root.path(), &bench.file());
    assert_eq!(changes.discarded(), Some("it is of another format"));
    let changes = opened(bench.root.path(), &bench.kept.path().join("none/changes"));
    let updated = update(&changes);
    assert!(updated.unsaved.is_some() && updated.changes == 1);
    assert_eq!(asked(&changes, "leak").len(), 1);
    // It is tried again, though nothing is to be read.
    assert!(update(&changes).unsaved.is_some());
    fs::create_dir(bench.kept.path().join("none")).unwrap();
    assert_eq!((update(&changes).read, update(&changes).unsaved), (0, None));
    assert!(bench.kept.path().join("none/changes").exists());
}

#[test]
fn an_update_that_is_cancelled_before_it_reads_changes_nothing() {
    let mut bench = Bench::new();
    bench.change("Fix a leak", "return 1", "return 3");
    let changes = bench.open();
    let mut told = Vec::new();
    let cancelled = changes.update(&mut |Progress { done, of, .. }| {
        told.push((done, of));
        ControlFlow::Break(())
    });
    assert!(matches!(cancelled, Err(GitError::Cancelled)));
    assert_eq!((told, changes.count()), (vec![(0, 0)], 0));
    assert!(!bench.file().exists());
}

#[test]
fn an_update_that_is_cancelled_midway_keeps_what_it_read() {
    let mut bench = Bench::new();
    bench.change("Fix a leak", "return 1", "return 3");
    let changes = bench.open();
    assert_eq!(update(&changes).changes, 1);
    bench.leak(20);
    let mut most = 0;
    let cancelled = changes.update(&mut |Progress { done, of, .. }| {
        most = most.max(done);
        assert!(done <= of);
        if done > 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert!(matches!(cancelled, Err(GitError::Cancelled)));
    assert!((4..21).contains(&most), "{most}");
    let known = changes.count();
    assert!((4..21).contains(&known), "{known}");
    assert!(!asked(&changes, "leak").is_empty());
    // Another process goes on from there.
    let again = bench.open();
    assert_eq!(again.count(), known);
    assert_eq!(update(&again).read, 21 - known);
    bench.as_at_once();
    assert_eq!(update(&again).read, 0);
}

/// As questions do that are asked at once.
#[test]
fn updates_at_once_read_each_change_once() {
    let mut bench = Bench::new();
    bench.leak(40);
    // All are opened before one reads, and each has its own file open, as in processes of their
    // own.
    let all: Vec<GitChanges> = (0..4).map(|_| bench.open()).collect();
    let (sum, waited) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for changes in &all {
            scope.spawn(|| {
                let updated = changes.update(&mut |it| {
                    waited.fetch_or(it.is_waiting, Ordering::Relaxed);
                    if it.done < 20 && !it.is_waiting {
                        // Long enough for all to have begun.
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    ControlFlow::Continue(())
                });
                sum.fetch_add(updated.unwrap().read, Ordering::Relaxed);
                assert_eq!(changes.count(), 40);
            });
        }
    });
    assert_eq!(sum.into_inner(), 40);
    assert!(waited.into_inner());
    bench.as_at_once();
}

#[test]
fn who_ends_to_wait_for_another_has_what_that_one_read() {
    let mut bench = Bench::new();
    bench.leak(300);
    let (one, other) = (bench.open(), bench.open());
    let mut told = None;
    let updated = one.update(&mut |it| {
        if it.done > 280 && told.is_none() {
            let ended = other.update(&mut |it| {
                assert!(it.is_waiting);
                ControlFlow::Break(())
            });
            told = Some((ended, other.count()));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(updated.unwrap().read, 300);
    let (ended, known) = told.unwrap();
    assert!(matches!(ended, Err(GitError::Cancelled)), "{ended:?}");
    assert_eq!(known, 256);
    assert_eq!(update(&other).read, 0);
    assert_eq!(other.count(), 300);
}

#[test]
fn who_has_no_time_waits_for_no_other_and_has_what_was_read_so_far() {
    let mut bench = Bench::new();
    bench.leak(300);
    let (one, other) = (bench.open(), bench.open());
    let mut told = None;
    one.update(&mut |it| {
        if it.done > 280 && told.is_none() {
            let ended = other.update_within(Duration::ZERO, &mut |_| ControlFlow::Continue(()));
            told = Some((ended, other.count()));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    let (ended, known) = told.unwrap();
    assert!(matches!(ended, Err(GitError::Late)), "{ended:?}");
    assert_eq!(known, 256);
    assert!(!asked(&other, "leak").is_empty());
    bench.leak(1);
    let cancelled = other.update_within(Duration::MAX, &mut |_| ControlFlow::Break(()));
    assert!(matches!(cancelled, Err(GitError::Cancelled)));
}

#[test]
fn changes_are_read_while_all_threads_that_build_are_busy() {
    let mut bench = Bench::new();
    bench.leak(20);
    let changes = bench.open();
    assert_eq!(while_busy(move || update(&changes).read), Some(20));
}

#[test]
fn changes_are_on_the_disk_before_an_update_ends() {
    let mut bench = Bench::new();
    bench.leak(300);
    let changes = bench.open();
    let (root, file) = (bench.root.path(), bench.file());
    let mut kept = 0;
    let updated = changes.update(&mut |Progress { done, .. }| {
        if done > 280 {
            // What another process finds, should this one be killed now.
            kept = opened(root, &file).count();
        }
        ControlFlow::Continue(())
    });
    assert_eq!(updated.unwrap().read, 300);
    assert_eq!((kept, changes.count()), (256, 300));
    bench.as_at_once();
}

#[test]
fn no_repository_is_none_and_one_without_a_commit_has_no_change() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("changes");
    assert!(GitChanges::open(root.path(), &file).unwrap().is_none());
    let _repository = Repository::init(root.path());
    fs::write(&file, "damaged").unwrap();
    let changes = opened(root.path(), &file);
    assert!(changes.discarded().is_some());
    assert_eq!(update(&changes), Updated::default());
    assert_eq!(
        opened(root.path(), &file).discarded(),
        None,
        "it is made anew"
    );
    // Nor is what is in its own folder asked about.
    assert!(
        GitChanges::open(&root.path().join(".git"), &file)
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_missing_repository_and_a_missing_commit_are_reported() {
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
    let changes = GitChanges::at(&git, &none, &file).unwrap();
    let error = changes
        .update(&mut |_| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(matches!(error, GitError::Commit { .. }), "{error}");
}

/// Asks of the repository around `root` on a thread that is left behind where that never ends.
#[cfg(unix)]
fn ends(root: &Path, file: &Path) -> Result<Option<Updated>, GitError> {
    let (told, heard) = std::sync::mpsc::channel();
    let (root, file) = (root.to_owned(), file.to_owned());
    std::thread::spawn(move || {
        let opened = GitChanges::open(&root, &file);
        let updated = opened.and_then(|it| {
            let updated = it.map(|it| it.update(&mut |_| ControlFlow::Continue(())));
            updated.transpose()
        });
        told.send(updated)
    });
    let most = Duration::from_secs(20);
    heard.recv_timeout(most).expect("it ends")
}

#[cfg(unix)]
fn pipe(at: &Path) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    let _ = fs::remove_file(at);
    let made = std::process::Command::new("mkfifo").arg(at).status();
    assert!(made.unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_of_git_is_told_and_not_waited_for() {
    for file in [
        "HEAD",
        "config",
        "packed-refs",
        "shallow",
        "commondir",
        "objects/info/alternates",
        "objects/info/commit-graph",
        "objects/info/commit-graphs/commit-graph-chain",
        "objects/pack/pack-1.idx",
        "refs/heads/main",
    ] {
        let bench = Bench::new();
        fs::write(bench.git().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        pipe(&bench.git().join(file));
        let told = ends(bench.root.path(), &bench.file()).unwrap_err();
        let told = told.to_string();
        let (name, why) = (format!(".git/{file}: it is a pipe"), "cloning it again");
        assert!(told.contains(&name) && told.contains(why), "{told}");
    }
    // What is not read is no reason.
    let bench = Bench::new();
    for file in ["index", "description", "refs/tags/other", "info/exclude"] {
        pipe(&bench.git().join(file));
    }
    assert!(ends(bench.root.path(), &bench.file()).is_ok());
}

#[cfg(unix)]
#[test]
fn a_pipe_that_git_comes_to_by_what_it_reads_is_told() {
    let told = |bench: &Bench, name: &str| {
        let error = ends(bench.root.path(), &bench.file()).unwrap_err();
        let told = error.to_string();
        let is_named = told.contains(&format!("{name}: it is a pipe"));
        assert!(is_named, "{name}: {told}");
    };
    let mut bench = Bench::new();
    let begin = bench.change("Fix a leak", "return 1", "return 3");
    // The last commit, and one before it.
    let (head, _) = bench.take_away(&begin);
    pipe(&head);
    told(&bench, &begin[2..]);
    let mut bench = Bench::new();
    let before = bench.change("Fix a leak", "return 1", "return 3");
    bench.change("Fix a leak again", "return 2", "return 4");
    let (at, _) = bench.take_away(&before);
    pipe(&at);
    told(&bench, &before[2..]);
    // Behind other references.
    let bench = Bench::new();
    fs::write(
        bench.git().join("refs/heads/main"),
        "ref: refs/heads/next\n",
    )
    .unwrap();
    fs::write(bench.git().join("HEAD"), "ref: refs/heads/main\n").unwrap();
    pipe(&bench.git().join("refs/heads/next"));
    told(&bench, "refs/heads/next");
    // In a folder that it borrows from, and one that this borrows from.
    let bench = Bench::new();
    let other = bench.kept.path().join("other");
    let list = bench.git().join("objects/info/alternates");
    fs::create_dir_all(list.parent().unwrap()).unwrap();
    fs::write(list, format!("# others\n\"{}\"\n", other.display())).unwrap();
    pipe(&other.join("info/alternates"));
    told(&bench, "other/info/alternates");
    // Where a file says that the repository is.
    let bench = Bench::new();
    let elsewhere = bench.kept.path().join("elsewhere");
    fs::rename(bench.git(), &elsewhere).unwrap();
    fs::write(bench.git(), format!("gitdir: {}\n", elsewhere.display())).unwrap();
    assert!(ends(bench.root.path(), &bench.file()).is_ok());
    pipe(&elsewhere.join("HEAD"));
    told(&bench, "elsewhere/HEAD");
    pipe(&bench.git());
    told(&bench, ".git");
}

#[cfg(unix)]
#[test]
fn devices_sockets_and_what_is_endless_in_place_of_a_file_of_git_are_told() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    let told = |bench: &Bench| {
        let error = ends(bench.root.path(), &bench.file()).unwrap_err();
        error.to_string()
    };
    let bench = Bench::new();
    let config = bench.git().join("config");
    fs::remove_file(&config).unwrap();
    symlink("/dev/zero", &config).unwrap();
    assert!(told(&bench).contains(".git/config: it is a device"));
    fs::remove_file(&config).unwrap();
    let _socket = UnixListener::bind(&config).unwrap();
    assert!(told(&bench).contains(".git/config: it is a socket"));
    fs::remove_file(&config).unwrap();
    // It takes no room on the disk, and would in memory.
    let sparse = fs::File::create(&config).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert!(told(&bench).contains(".git/config: it is larger than 16777216 bytes"));
    let bench = Bench::new();
    let packed = fs::File::create(bench.git().join("packed-refs")).unwrap();
    packed.set_len(1 << 40).unwrap();
    assert!(told(&bench).contains(".git/packed-refs: it is larger than 67108864 bytes"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_the_system_that_says_that_it_is_empty_is_read_no_further_than_to_the_limit() {
    use std::os::unix::fs::symlink;

    use ctx_testkit::skip::skipped;
    // Anybody may read it: 8 bytes for each page that a process may have.
    let endless = Path::new("/proc/self/pagemap");
    if let Err(error) = fs::File::open(endless) {
        skipped(format_args!(
            "{} cannot be read: {error}",
            endless.display()
        ));
        return;
    }
    for file in [
        "",
        "HEAD",
        "config",
        "packed-refs",
        "shallow",
        "commondir",
        "objects/info/alternates",
        "refs/heads/main",
    ] {
        let bench = Bench::new();
        let at = if file.is_empty() {
            fs::remove_dir_all(bench.git()).unwrap();
            bench.git()
        } else {
            fs::write(bench.git().join("HEAD"), "ref: refs/heads/main\n").unwrap();
            bench.git().join(file)
        };
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&at);
        symlink(endless, &at).unwrap();
        let told = ends(bench.root.path(), &bench.file()).unwrap_err();
        let told = told.to_string();
        let at = at.strip_prefix(bench.root.path()).unwrap();
        let name = format!("{}: it is larger than", at.display());
        assert!(told.contains(&name), "{file}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn a_repository_is_looked_at_no_further_up_than_it_is_searched_for() {
    let above = tempfile::tempdir().unwrap();
    pipe(&above.path().join(".git/HEAD"));
    let kept = tempfile::tempdir().unwrap();
    let inner = above.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let told = ends(&inner, &kept.path().join("changes")).unwrap_err();
    assert!(told.to_string().contains("HEAD: it is a pipe"), "{told}");
    let mut repository = Repository::init(&inner);
    repository.commit("Begin", &[("a.py", Some(POOL))]);
    let found = ends(&inner, &kept.path().join("changes")).unwrap();
    assert!(found.is_some());
}

#[test]
fn unreadable_objects_are_left_out() {
    let mut bench = Bench::new();
    bench.change("Fix a leak", "return 1", "return 3");
    bench.change("Fix a leak again", "return 2", "return 4");
    // As in a clone that was made without most of its objects.
    let text = fs::read_to_string(bench.root.path().join("src/pool.py")).unwrap();
    let (at, bytes) = bench.take_away(&gix_id(&text));
    let changes = bench.open();
    assert_eq!(update(&changes).changes, 2);
    assert_eq!(asked(&changes, "leak").len(), 1);
    // When it is there, that is not known before something else changes; then it is what it would
    // be had it always been there.
    fs::write(at, bytes).unwrap();
    assert_eq!(update(&changes).read, 0);
    let notes = "# Notes\nOne.\n";
    bench
        .repository
        .commit("Note it", &[("notes.md", Some(notes))]);
    assert_eq!(update(&changes).read, 2);
    assert_eq!(asked(&changes, "leak").len(), 2);
    bench.as_at_once();
}

#[test]
fn after_an_update_that_failed_whoever_asks_is_told_until_one_can() {
    let mut bench = Bench::new();
    let leak = bench.change("Fix a leak", "return 1", "return 3");
    let changes = bench.open();
    update(&changes);
    let found = asked(&changes, "leak");
    let (at, bytes) = bench.take_away(&leak);
    fs::remove_file(bench.file()).unwrap();
    // What was known before is no answer: it depends on who asked when.
    let changes = [changes, bench.open()];
    for changes in &changes {
        let error = changes.update(&mut |_| ControlFlow::Continue(()));
        let error = PortError::from(&error.unwrap_err());
        assert!(error.to_string().starts_with("failed to "), "{error}");
        assert_eq!(answer(changes, "leak"), Err(error));
    }
    fs::write(at, bytes).unwrap();
    for changes in &changes {
        // One that is ended says nothing of the repository.
        let _ = changes.update(&mut |_| ControlFlow::Break(()));
        update(changes);
        assert_eq!(asked(changes, "leak"), found);
    }
}

#[test]
fn a_shallow_repository_tells_what_it_has_and_the_rest_when_that_comes() {
    let mut bench = Bench::new();
    let first = bench.change("Fix a leak", "return 1", "return 3");
    let second = bench.change("Fix a leak again", "return 2", "return 4");
    bench.change("Fix a leak for good", "return 4", "return 5");
    let away = bench.take_away(&first);
    let shallow = bench.git().join("shallow");
    fs::write(&shallow, format!("{second}\n")).unwrap();
    let changes = bench.open();
    // What the commit at the end changed cannot be told.
    assert_eq!(update(&changes).changes, 1);
    assert_eq!(update(&changes).read, 0);
    fs::write(away.0, away.1).unwrap();
    fs::remove_file(shallow).unwrap();
    let updated = update(&changes);
    assert_eq!((updated.changes, updated.read), (3, 2));
    bench.as_at_once();
}

#[test]
fn a_change_that_touches_too_much_is_about_no_location() {
    let mut bench = Bench::new();
    let text = |functions: usize, body: &str| -> String {
        let one = |it| format!("def leak_{it}():\n    {body}\n\n");
        (0..functions).map(one).collect()
    };
    let mut touched = |name: &str, before: &str, after: &str| {
        bench.repository.commit("Begin", &[(name, Some(before))]);
        let message = format!("Leak in {}", name.replace('.', " "));
        bench.repository.commit(&message, &[(name, Some(after))]);
        let changes = bench.open();
        update(&changes);
        let found = asked(&changes, "leak").into_iter();
        found.filter(|it| it.0 == name).count()
    };
    assert_eq!(touched("forty.py", &text(40, "1"), &text(40, "2")), 40);
    assert_eq!(touched("more.py", &text(41, "1"), &text(41, "2")), 0);
    let line = format!("def leak():\n    1\n{}", "# One\n".repeat(1 << 16));
    assert_eq!(line.len().next_power_of_two(), 512 << 10);
    let large = line.clone() + &"# One\n".repeat(1 << 16);
    assert_eq!(touched("fits.py", &line, &line.replacen('1', "2", 1)), 1);
    assert_eq!(touched("large.py", &large, &large.replacen('1', "2", 1)), 0);
    let binary = "def leak():\n    1\n\0";
    assert_eq!(touched("binary.py", binary, &binary.replace('1', "2")), 0);
}

#[test]
fn a_commit_of_many_differences_or_of_paths_that_no_system_has_is_about_no_location() {
    let mut bench = Bench::new();
    let many: Vec<String> = (0..401).map(|it| format!("many/{it}.txt")).collect();
    let files: Vec<_> = many.iter().map(|it| (&**it, Some("One.\n"))).collect();
    let mended = POOL.replace('1', "3");
    let mut all = files.clone();
    all.push(("src/pool.py", Some(&*mended)));
    bench.repository.commit("Fix a leak and note it", &all);
    let changes = bench.open();
    update(&changes);
    assert!(asked(&changes, "leak").is_empty());
    let text = |it: &str| format!("def take():\n    {it}\n");
    let deep = format!("{}pool.py", format!("{}/", "deep".repeat(50)).repeat(21));
    assert!(deep.len() > 4_096);
    bench
        .repository
        .commit_objects("Begin", &[(&deep, &text("1"))]);
    bench
        .repository
        .commit_objects("Fix a leak there", &[(&deep, &text("2"))]);
    assert_eq!(update(&changes).read, 2);
    assert!(asked(&changes, "leak").is_empty());
    // Nor is more kept of one than of a thousand others.
    for length in [300, 500] {
        let long = "l".repeat(length);
        let paths: Vec<String> = (0..20).map(|it| format!("{long}/{it}.py")).collect();
        for version in ["1", "2"] {
            let text = text(version);
            let files: Vec<_> = paths.iter().map(|it| (&**it, &*text)).collect();
            let message = format!("Leak where it is {length} long");
            bench.repository.commit_objects(&message, &files);
        }
    }
    update(&changes);
    let found = asked(&changes, "leak");
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|it| it.0.len() < 310), "{found:?}");
}

#[test]
fn a_linked_work_tree_and_a_root_by_a_link_are_of_their_repository() {
    let mut bench = Bench::new();
    bench.change("Fix a leak", "return 1", "return 3");
    let linked = bench.kept.path().join("linked");
    let admin = bench.git().join("worktrees/linked");
    fs::create_dir_all(&admin).unwrap();
    fs::create_dir_all(linked.join("src")).unwrap();
    fs::copy(bench.git().join("HEAD"), admin.join("HEAD")).unwrap();
    fs::write(admin.join("commondir"), "../..\n").unwrap();
    fs::write(
        admin.join("gitdir"),
        linked.join(".git").display().to_string(),
    )
    .unwrap();
    fs::write(
        linked.join(".git"),
        format!("gitdir: {}\n", admin.display()),
    )
    .unwrap();
    let changes = opened(&linked.join("src"), &bench.file());
    assert_eq!(update(&changes).changes, 1);
    assert_eq!(asked(&changes, "leak")[0].0, "pool.py");
    #[cfg(unix)]
    {
        let link = bench.kept.path().join("link");
        std::os::unix::fs::symlink(bench.root.path(), &link).unwrap();
        let changes = opened(&link, &bench.kept.path().join("of-link"));
        assert_eq!(update(&changes).changes, 1);
    }
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
    let needle = "x7Kq2mZ9vB4nR8tY1wE6uI3oP5aS0dF7gH2j";
    assert!(!is_kept(&bench, needle));
    // Nor where only its beginning is read.
    let long = format!("Fix a leak\n\n{}{secret}", "leak ".repeat(814));
    assert!((4_080..4_096).contains(&(long.len() - secret.len())));
    bench.change(&long, "return 3", "return 1");
    // Nor where its end is among the trailers.
    let key = "MIIEowIBAAKCAQEA1x7Kq2mZ9vB4nR8tY1wE6uI3oP5aS0dF7gH2jx7Kq2mZ9vB4";
    let body = format!("{key}\n").repeat(9);
    let key = format!(
        "Fix a leak\n\n-----BEGIN RSA PRIVATE KEY-----\n{body}\nReviewed-by: Ada <a@example.com>\n-----END RSA PRIVATE KEY-----\nSigned-off-by: Ada <a@example.com>\n"
    );
    bench.change(&key, "return 1", "return 3");
    update(&changes);
    assert!(!is_kept(&bench, "x7Kq2"));
}

/// Whether what is kept has `text`, in any case.
fn is_kept(bench: &Bench, text: &str) -> bool {
    let kept = fs::read(bench.file()).unwrap();
    let mut parts = kept.windows(text.len());
    parts.any(|it| it.eq_ignore_ascii_case(text.as_bytes()))
}

#[test]
fn secrets_in_the_lines_around_a_change_are_no_names() {
    let mut bench = Bench::new();
    let secret = concat!("ghp_", "x7Kq2mZ9vB4nR8tY1wE6uI3oP5aS0dF7gH2j");
    let key = "MIIEowIBAAKCAQEA1x7Kq2mZ9vB4nR8tY1wE6uI3oP5aS0dF7gH2jx7Kq2mZ9vB4";
    let body = format!("{key}\n").repeat(30);
    let pem = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{body}    SECRETLY\n{body}-----END RSA PRIVATE KEY-----\n"
    );
    let call = format!("connect({secret},\n    retries(1),\n)\n");
    let mixed = pem.replace("BEGIN RSA PRIVATE KEY", "Begin RSA Private Key");
    // What tells that it is one stands some lines above.
    let far = "# agora\na = 1\n\n\n\n\nb = 2\nconnect(app_secret=\"af86d081884c7d659a2feaa0c55ad015\",\n    retries(1),\n)\n";
    for (name, text, old, new) in [
        ("call.py", &*call, "retries(1)", "retries(2)"),
        ("far.py", far, "retries(1)", "retries(2)"),
        ("mixed.py", &mixed, "SECRETLY", "secretly"),
        ("deploy/.env", &call, "retries(1)", "retries(2)"),
        ("key.py", &pem, "SECRETLY", "secretly"),
    ] {
        bench.repository.commit("Begin", &[(name, Some(text))]);
        let text = text.replacen(old, new, 1);
        bench
            .repository
            .commit("Retry when it leaks", &[(name, Some(&text))]);
    }
    let changes = bench.open();
    update(&changes);
    let found = asked(&changes, "leaks");
    assert!(
        found.contains(&location("call.py", &["connect"])),
        "{found:?}"
    );
    assert!(found.iter().all(|it| !it.0.contains(".env")), "{found:?}");
    assert!(!is_kept(&bench, "x7Kq2mZ9vB4n"), "{found:?}");
    assert!(!is_kept(&bench, "af86d081884c7d65"), "{found:?}");
}
