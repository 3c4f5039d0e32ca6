use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use ctx_service::SigningKey;
use tokio_util::task::TaskTracker;

use crate::Owner;
use crate::backend::{BackendError, NewFile};
use crate::build::Priming;
use crate::embedded::lock::lock;
use crate::embedded::store::Store;
use crate::embedded::{Quota, files};
use crate::paging::FilePage;

fn open(folder: &Path) -> Store {
    let owners = Dir::open_ambient_dir(folder, ambient_authority()).unwrap();
    let owner = Owner::new("ada").unwrap();
    let priming = Priming::new(SigningKey::new([7; 32]));
    Store::open(
        &owners,
        folder,
        &owner,
        &priming,
        Arc::new(Quota::default()),
        TaskTracker::new(),
        Arc::new(lock(folder, &owners).unwrap()),
    )
    .unwrap()
}

fn batch(files: [(&str, &str); 2]) -> Vec<NewFile> {
    let file = |(path, content): (&str, &str)| NewFile {
        path: path.to_owned(),
        content: content.to_owned(),
    };
    files.map(file).to_vec()
}

/// How far a batch gets before the process ends.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Until {
    Staged,
    Noted,
    HalfPlaced,
    Placed,
    Indexed,
}

fn break_off(store: &Store, new: &[NewFile], until: Until) {
    let (_, changed) = store.compare(new).unwrap();
    store.stage(&changed).unwrap();
    if until >= Until::Noted {
        store.database.note_pending(&changed).unwrap();
    }
    let pending = store.database.pending().unwrap();
    if until >= Until::HalfPlaced {
        let (path, hash) = &pending[0];
        files::place(&store.staged, &store.files, path, *hash).unwrap();
    }
    if until >= Until::Placed {
        store.place(&pending).unwrap();
    }
    if until >= Until::Indexed {
        store.update().unwrap();
    }
}

#[test]
fn a_batch_that_breaks_off_is_whole_or_not_at_all() {
    let before = batch([("a/old.md", "before\n"), ("b.md", "stays\n")]);
    let after = batch([("a/old.md", "after\n"), ("a/b/new.md", "new\n")]);
    for until in [
        Until::Staged,
        Until::Noted,
        Until::HalfPlaced,
        Until::Placed,
        Until::Indexed,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        store.ingest(before.clone()).unwrap();
        break_off(&store, &after, until);
        drop(store);
        let store = open(folder.path());
        let is_kept = until > Until::Staged;
        let read = |path| store.files.read_to_string(path).ok();
        let text = if is_kept { "after\n" } else { "before\n" };
        assert_eq!(read("a/old.md").as_deref(), Some(text), "{until:?}");
        assert_eq!(read("a/b/new.md").is_some(), is_kept, "{until:?}");
        let statuses = store.compare(&after).unwrap().0.files;
        let is_same = statuses.iter().all(|it| it.status == "unchanged");
        assert_eq!(is_same, is_kept, "{until:?}");
        assert_eq!(store.database.pending().unwrap(), [], "{until:?}");
        assert_eq!(store.staged.entries().unwrap().count(), 0, "{until:?}");
        let files = if is_kept { 3 } else { 2 };
        assert_eq!(store.database.totals().unwrap().0, files, "{until:?}");
    }
}

fn staged(store: &Store) -> usize {
    store.staged.entries().unwrap().count()
}

/// The disk has room for the batch and for nothing else.
#[test]
fn a_batch_that_cannot_be_noted_leaves_nothing_staged() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let kept = batch([("a.md", "stays\n"), ("b.md", "goes\n")]);
    store.ingest(kept).unwrap();
    let run = |sql: &str| {
        let change = |it: &rusqlite::Transaction<'_>| {
            it.execute_batch(sql)
                .map_err(crate::embedded::database::write_failed)
        };
        store.database.change(change)
    };
    run("CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.files BEGIN SELECT RAISE(ABORT, 'no room'); END").unwrap();
    let refused = batch([("a.md", "another\n"), ("c.md", "new\n")]);
    store.ingest(refused.clone()).unwrap_err();
    assert_eq!(staged(&store), 0);
    assert_eq!(store.files.read_to_string("a.md").unwrap(), "stays\n");
    assert_eq!(store.kept.indexed("a.md"), None);
    run("DROP TRIGGER refuse").unwrap();
    // Leftovers of a process that could not remove them are removed before anything is written, by
    // whatever comes next.
    for is_batch in [true, false] {
        store.staged.write("left", "in the way").unwrap();
        if is_batch {
            store.ingest(refused.clone()).unwrap();
        } else {
            store.remove_files(vec!["b.md".to_owned()]).unwrap();
        }
        assert_eq!(staged(&store), 0);
    }
    assert_eq!(store.files.read_to_string("a.md").unwrap(), "another\n");
}

/// Makes a file unreadable even for root: it is the memory of a process, whose first page is not
/// mapped.
#[cfg(target_os = "linux")]
struct Unreadable(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Unreadable {
    fn make(path: std::path::PathBuf) -> Option<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let closed = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(&path, closed).unwrap();
        if std::fs::read(&path).is_ok() {
            let memory = format!("/proc/{}/mem", std::process::id());
            let mut mount = std::process::Command::new("mount");
            mount.args(["--bind", &memory]).arg(&path);
            if !mount.output().is_ok_and(|it| it.status.success()) {
                return None;
            }
        }
        Some(Unreadable(path))
    }
}

#[cfg(target_os = "linux")]
impl Drop for Unreadable {
    fn drop(&mut self) {
        use std::os::unix::fs::PermissionsExt as _;
        let mut unmount = std::process::Command::new("umount");
        let _ = unmount.arg("-l").arg(&self.0).output();
        let open = std::fs::Permissions::from_mode(0o600);
        let _ = std::fs::set_permissions(&self.0, open);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_batch_that_could_not_be_read_is_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let new = batch([("a/b.md", "zebra\n"), ("c.md", "quokka\n")]);
    break_off(&store, &new, Until::Placed);
    let files = folder
        .path()
        .join(Owner::new("ada").unwrap().digest())
        .join("files");
    let Some(unreadable) = Unreadable::make(files.join("a/b.md")) else {
        ctx_testkit::skip::skipped("nothing can be made unreadable");
        return;
    };
    let left = |store: &Store| {
        let left = store.finish().unwrap();
        let is_for_now = |it: &BackendError| matches!(it, BackendError::Unavailable { .. });
        assert!(left.values().all(is_for_now), "{left:?}");
        left.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(left(&store), ["a/b.md"]);
    // Other files are not affected, neither of that batch nor of later ones, nor is their removal.
    let others = batch([("c.md", "quokka\n"), ("d.md", "okapi\n")]);
    let stored = store.ingest(others).unwrap().files;
    let statuses: Vec<&str> = stored.iter().map(|it| it.status.as_str()).collect();
    assert_eq!(statuses, ["unchanged", "created"]);
    let removed = store.remove_files(vec!["d.md".to_owned()]).unwrap();
    assert_eq!(removed.files[0].status, "removed");
    drop(store);
    let store = open(folder.path());
    assert_eq!(store.database.pending().unwrap().len(), 1);
    assert_eq!(left(&store), ["a/b.md"]);
    drop(unreadable);
    assert_eq!(left(&store), [""; 0]);
    assert_eq!(store.database.pending().unwrap(), []);
}

/// What is on the disk in the place of a file is neither its old text nor its new one, and nothing
/// is staged.
#[test]
fn a_file_that_is_lost_in_a_batch_can_be_sent_again_or_removed() {
    for is_sent in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let new = batch([("a/b.md", "zebra\n"), ("c.md", "quokka\n")]);
        break_off(&store, &new, Until::HalfPlaced);
        store.files.write("a/b.md", "zebrA\n").unwrap();
        assert_eq!(
            store.finish().unwrap().into_keys().collect::<Vec<_>>(),
            ["a/b.md"]
        );
        assert_eq!(store.files.read_to_string("c.md").unwrap(), "quokka\n");
        let known = store.compare(&new).unwrap().1;
        assert_eq!(known.len(), 1, "it is not as it was sent");
        if is_sent {
            store.ingest(new.clone()).unwrap();
            assert_eq!(store.files.read_to_string("a/b.md").unwrap(), "zebra\n");
        } else {
            store.remove_files(vec!["a/b.md".to_owned()]).unwrap();
            assert!(!store.files.exists("a"));
        }
        assert_eq!(store.database.pending().unwrap(), []);
        assert!(store.finish().unwrap().is_empty());
        assert_eq!(staged(&store), 0);
    }
}

#[test]
fn a_batch_that_came_to_nothing_leaves_no_folder_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let before = batch([("c/d.md", "stays\n"), ("e.md", "stays\n")]);
    store.ingest(before).unwrap();
    let lost = batch([("a/b/c/d.md", "lost\n"), ("a/b/e/f/g.md", "lost\n")]);
    break_off(&store, &lost, Until::Staged);
    drop(store);
    let store = open(folder.path());
    let kept = batch([("a/b", "kept\n"), ("a/c.md", "kept\n")]);
    store.ingest(kept).unwrap();
    assert_eq!(store.files.read_to_string("a/b").unwrap(), "kept\n");
    // A folder that contains a file stays in the way, whoever put the file there.
    store.files.create_dir_all("f/g").unwrap();
    store.files.write("f/g/x.md", "another's\n").unwrap();
    let error = store.ingest(batch([("f", "x\n"), ("g.md", "x\n")]));
    let Err(BackendError::Invalid { field, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(field, "files[0].path");
    assert!(store.files.exists("f/g/x.md"));
    assert_eq!(store.database.totals().unwrap().0, 4);
}

#[test]
fn a_removal_that_breaks_off_is_done_at_the_next_opening() {
    for is_half_done in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let new = batch([("a/b/gone.md", "gone\n"), ("stays.md", "stays\n")]);
        store.ingest(new).unwrap();
        let gone = std::collections::BTreeSet::from(["a/b/gone.md".to_owned()]);
        store.database.note_leaving(&gone).unwrap();
        let listed = |store: &Store| {
            let files = store.database.files(&FilePage::default()).unwrap().items;
            files.into_iter().map(|it| it.path).collect::<Vec<_>>()
        };
        // It is gone as soon as its removal is noted.
        assert_eq!(listed(&store), ["stays.md"]);
        assert_eq!(store.database.file("a/b/gone.md").unwrap(), None);
        if is_half_done {
            files::remove(&store.files, &["a/b/gone.md".to_owned()]).unwrap();
        }
        drop(store);
        let store = open(folder.path());
        assert!(!store.files.exists("a"), "with its folders");
        assert_eq!(store.database.totals().unwrap(), (1, 6));
        assert_eq!(listed(&store), ["stays.md"]);
        // A former folder may become a file.
        store.ingest(batch([("a", "x\n"), ("b", "x\n")])).unwrap();
    }
}

#[test]
fn folders_that_a_crash_took_back_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let new = batch([("a/b/c.md", "kept\n"), ("d", "kept\n")]);
    break_off(&store, &new, Until::Noted);
    store.files.remove_dir_all("a").unwrap();
    store.files.create_dir("d").unwrap();
    drop(store);
    let store = open(folder.path());
    for path in ["a/b/c.md", "d"] {
        assert_eq!(store.files.read_to_string(path).unwrap(), "kept\n");
    }
    assert_eq!(store.database.pending().unwrap(), []);
}
