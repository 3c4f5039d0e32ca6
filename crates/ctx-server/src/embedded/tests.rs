use std::sync::mpsc;
use std::time::Duration;

use ctx_assemble::Cancel;
use ctx_model::BuildOptions;
use tempfile::TempDir;

use super::database::Database;
use super::receipts::{MOST_UNWRITTEN, keep_behind};
use super::rows::SHOWN;
use super::*;
use crate::build::now;

/// Calls `look` for each of about `few` bytes of `file` (or for each `step`th, if all are to be
/// tried), with a folder that `copy` returns, in which one bit of that byte is flipped.
pub(super) fn each_flip(
    file: &Path,
    (few, step): (usize, usize),
    copy: impl Fn() -> TempDir,
    mut look: impl FnMut(usize, &Path),
) {
    let bytes = std::fs::read(file).unwrap();
    let is_thorough = std::env::var_os("CTX_THOROUGH").is_some();
    let step = if is_thorough { step } else { bytes.len() / few };
    for at in (0..bytes.len()).step_by(step) {
        let damaged = copy();
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(damaged.path().join(file.file_name().unwrap()), flipped).unwrap();
        look(at, damaged.path());
    }
}

pub(super) fn empty() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Writes three threads like `thread`, each with twelve messages.
pub(super) fn write_threads(database: &Database, thread: &NewThread) {
    let quota = Quota::default();
    for id in ["a", "b", "c"] {
        let new = thread.clone();
        database.create_thread(id.into(), new, &quota).unwrap();
        for number in 0..12 {
            let message = NewMessage {
                id: None,
                role: "user".to_owned(),
                content: format!("message {number} of {id}, {}", "and so on ".repeat(20)),
            };
            let name = format!("msg-{id}-{number}");
            database.append(id, name, message, &quota).unwrap();
        }
    }
}

#[cfg(unix)]
#[test]
fn nobody_else_looks_into_what_is_of_owners() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // One folder that was made readable by all, and one that is created.
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let inner = folder.path().join("a/b");
    for (data, seen) in [(folder.path(), 0o755), (&*inner, 0o700)] {
        Embedded::open(data, Quota::default()).unwrap();
        assert_eq!(mode(data), seen);
        assert_eq!(mode(&data.join("owners")), 0o700);
        assert_eq!(mode(&data.join("secret")), 0o600);
    }
}

#[tokio::test]
async fn a_folder_is_its_opener_s_until_the_last_work_in_it_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    let (tell, told) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let owner = Owner::new("ada").unwrap();
    let work = tokio::spawn(async move {
        let long = move |_: &Store| {
            tell.send(()).unwrap();
            Ok(ended.recv())
        };
        backend.with(&owner, long).await
    });
    // The caller goes, and the server with it, while the folder is in use.
    tokio::task::spawn_blocking(move || told.recv())
        .await
        .unwrap()
        .unwrap();
    work.abort();
    assert!(work.await.unwrap_err().is_cancelled());
    let second = Embedded::open(folder.path(), Quota::default());
    assert!(
        matches!(second, Err(ServerError::Busy { .. })),
        "{second:?}"
    );
    drop(end);
    while Embedded::open(folder.path(), Quota::default()).is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A job with a deadline of a minute.
fn job() -> Job {
    Job::new(Cancel::new(), Duration::from_mins(1))
}

/// A context that differs from all others.
async fn built(backend: &Embedded, owner: &Owner, number: usize) -> Prime {
    let header = Some(format!("context {number}"));
    let options = BuildOptions::default().with_header(header);
    let request = PrimeRequest::new("nothing of this is anywhere", options);
    backend.build(owner, request, &job()).await.unwrap()
}

/// A thread that holds the lock for writing contexts: until this is dropped, none is written.
struct Writing(Option<(mpsc::Sender<()>, std::thread::JoinHandle<()>)>);

impl Writing {
    fn begin(store: &Store) -> Self {
        let (held, is_held) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let database = Arc::clone(&store.database);
        let thread = std::thread::spawn(move || {
            let contexts = database.contexts();
            held.send(()).unwrap();
            let _ = released.recv();
            drop(contexts);
        });
        is_held.recv().unwrap();
        Writing(Some((release, thread)))
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let Some((release, thread)) = self.0.take() {
            drop(release);
            thread.join().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_are_let_go_by_bytes_and_by_age_and_not_by_number() {
    let folder = empty();
    let owner = Owner::new("ada").unwrap();
    let mut quota = Quota::default();
    let backend = Embedded::open(folder.path(), quota.clone()).unwrap();
    let mut ids = Vec::new();
    for number in 0..300 {
        ids.push(built(&backend, &owner, number).await.id().to_owned());
    }
    backend.settle().await;
    let store = backend.store(&owner).await.unwrap();
    assert_eq!(written(&store), ids, "more than were ever kept by number");
    let bytes = "SELECT sum(length(CAST(receipt AS BLOB))) FROM contexts";
    let bytes = store
        .database
        .contexts()
        .query_row(bytes, [], |row| row.get::<_, i64>(0));
    let bytes = bytes.unwrap().unsigned_abs();
    drop((store, backend));
    // After reopening, the stored contexts are known as before.
    quota.contexts.bytes = bytes / 2;
    let backend = Embedded::open(folder.path(), quota.clone()).unwrap();
    ids.push(built(&backend, &owner, 300).await.id().to_owned());
    backend.settle().await;
    let store = backend.store(&owner).await.unwrap();
    let left = written(&store);
    assert!(left.len() > 100 && left.len() < 200, "{}", left.len());
    assert_eq!(left, ids[ids.len() - left.len()..]);
    drop((store, backend));
    tokio::time::sleep(Duration::from_millis(30)).await;
    quota.contexts.age = Duration::from_millis(20);
    let backend = Embedded::open(folder.path(), quota).unwrap();
    let last = built(&backend, &owner, 301).await.id().to_owned();
    backend.settle().await;
    let store = backend.store(&owner).await.unwrap();
    assert_eq!(written(&store), [&*last]);
    assert!(backend.receipt(&owner, &ids[0]).await.unwrap().is_none());
}

/// This includes those that were answered again meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn receipts_are_let_go_after_a_restart_as_they_would_have_been_before() {
    let folder = empty();
    let [ada, bob] = ["ada", "bob"].map(|it| Owner::new(it).unwrap());
    let mut quota = Quota::default();
    quota.contexts.age = Duration::from_secs(100);
    let backend = Embedded::open(folder.path(), quota.clone()).unwrap();
    let begun = now() - 1_000_000;
    let mut primes = Vec::new();
    for number in 0..5 {
        primes.push(built(&backend, &bob, number).await);
    }
    let ids: Vec<&str> = primes.iter().map(Prime::id).collect();
    let answer = async |store: &Store, number: usize, second: i64| {
        let mut prime = primes[number].clone();
        prime.answered_at = begun + 1_000 * second;
        keep_behind(
            &store.database,
            &prime,
            &store.quota,
            &TaskTracker::new(),
            (),
        )
        .await;
        store.database.write(&store.quota);
    };
    let store = backend.store(&ada).await.unwrap();
    // At 40 the second still has time left, and at 55 the first becomes the latest.
    for (number, second) in [(0, 0), (1, 10), (2, 20), (1, 40), (0, 55)] {
        answer(&store, number, second).await;
    }
    assert_eq!(written(&store), [ids[1], ids[2], ids[0]]);
    let ledger = store.database.ledger.lock().unwrap().clone();
    backend.settle().await;
    drop((store, backend));
    let backend = Embedded::open(folder.path(), quota).unwrap();
    let store = backend.store(&ada).await.unwrap();
    assert_eq!(*store.database.ledger.lock().unwrap(), ledger);
    for (number, second, left) in [
        (3, 115, &[2, 0, 3][..]),
        (4, 125, &[0, 3, 4]),
        (4, 156, &[3, 4]),
    ] {
        answer(&store, number, second).await;
        let left: Vec<&str> = left.iter().map(|it| ids[*it]).collect();
        assert_eq!(written(&store), left, "{second}");
    }
}

/// The written contexts, in the order in which they are deleted.
fn written(store: &Store) -> Vec<String> {
    let contexts = store.database.contexts_reader();
    let mut get = contexts
        .prepare("SELECT id FROM contexts ORDER BY seq")
        .unwrap();
    let rows = get.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn contexts_are_found_at_once_and_written_together_in_their_order() {
    let folder = empty();
    let backend = Arc::new(Embedded::open(folder.path(), Quota::default()).unwrap());
    let owner = Owner::new("ada").unwrap();
    let store = backend.store(&owner).await.unwrap();
    let writing = Writing::begin(&store);
    let mut ids = Vec::new();
    for number in 0..MOST_UNWRITTEN {
        let prime = built(&backend, &owner, number).await;
        ids.push(prime.id().to_owned());
        assert!(backend.receipt(&owner, prime.id()).await.unwrap().is_some());
    }
    // One more waits until there is room.
    let (its_backend, its_owner) = (Arc::clone(&backend), owner.clone());
    let mut waits =
        tokio::spawn(async move { built(&its_backend, &its_owner, MOST_UNWRITTEN).await });
    let waited = tokio::time::timeout(Duration::from_millis(300), &mut waits).await;
    assert!(waited.is_err(), "it is kept before those before it are");
    assert_eq!(written(&store), [""; 0]);
    drop(writing);
    ids.push(waits.await.unwrap().id().to_owned());
    backend.settle().await;
    assert_eq!(store.database.unwritten().iter().count(), 0);
    assert_eq!(written(&store), ids);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_cannot_be_written_takes_no_other_along() {
    let folder = empty();
    let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    let owner = Owner::new("ada").unwrap();
    let store = backend.store(&owner).await.unwrap();
    let refused = built(&backend, &owner, 0).await.id().to_owned();
    backend.settle().await;
    assert_eq!(written(&store), [&*refused]);
    let refuse = format!(
        "DELETE FROM contexts;
         CREATE TRIGGER refuse BEFORE INSERT ON contexts WHEN NEW.id = '{refused}'
         BEGIN SELECT RAISE(ABORT, 'it is refused'); END"
    );
    store.database.contexts().execute_batch(&refuse).unwrap();
    let mut ids = Vec::new();
    // They are written together, however long they take to build.
    let writing = Writing::begin(&store);
    for number in 0..3 {
        ids.push(built(&backend, &owner, number).await.id().to_owned());
    }
    drop(writing);
    assert_eq!(ids.remove(0), refused);
    backend.settle().await;
    assert_eq!(written(&store), ids);
    assert_eq!(store.database.unwritten().iter().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn shown_files_are_known_at_once_and_written_with_the_context_despite_damaged_rows() {
    let folder = empty();
    let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    let owner = Owner::new("ada").unwrap();
    let file = |name: &str| NewFile {
        path: format!("{name}.rs"),
        content: format!("fn {name}() {{}}\n"),
    };
    let files = ["open_valve", "feed_cat"].map(file).to_vec();
    backend.ingest(&owner, files).await.unwrap();
    let store = backend.store(&owner).await.unwrap();
    let paths = || {
        let shown = store.database.shown_last(10).unwrap();
        shown.into_iter().map(|it| it.0).collect::<Vec<_>>()
    };
    let job = job();
    for (question, expected) in [
        ("where is `open_valve`?", &["open_valve.rs"][..]),
        (
            "and `feed_cat` after `open_valve`?",
            &["feed_cat.rs", "open_valve.rs"],
        ),
    ] {
        let options = BuildOptions::default();
        let prime = backend.build(&owner, PrimeRequest::new(question, options), &job);
        let shown = &prime.await.unwrap().context.built.files;
        assert_eq!(shown, expected);
        // Of those shown at once, those with the last paths come first.
        let latest: Vec<&str> = expected.iter().rev().copied().collect();
        if expected.len() == 1 {
            assert_eq!(paths(), latest, "before it is written");
        }
        while store.database.unwritten().iter().count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(paths(), latest);
        let contexts = store.database.contexts();
        assert_eq!(
            SHOWN.sum(&contexts).unwrap().count.unsigned_abs(),
            expected.len() as u64
        );
        // For the next context.
        let how = "UPDATE shown SET shown_at = shown_at - 9 WHERE path = 'open_valve.rs'";
        damage(&contexts, how);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_row_is_damaged_is_told_to_be() {
    let folder = empty();
    let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    let owner = Owner::new("ada").unwrap();
    let file = NewFile {
        path: "a.rs".to_owned(),
        content: "fn zebra() {}\n".to_owned(),
    };
    backend.ingest(&owner, vec![file]).await.unwrap();
    let store = backend.store(&owner).await.unwrap();
    let damage = "UPDATE files SET created_at = created_at + 1";
    let damaged = store
        .database
        .change(|it| it.execute(damage, []).map_err(database::write_failed));
    assert_eq!(damaged.unwrap(), 1);
    for reference in ["a.rs", "a.rs:1"] {
        let mut request = PrimeRequest::new("What is it?", BuildOptions::default());
        request.references = vec![reference.to_owned()];
        let prime = backend.build(&owner, request, &job()).await.unwrap();
        let built = prime.built();
        let mut told = built.warnings.iter().map(|it| it.detail.as_str());
        let is_damaged = |it: &str| it.contains("\"a.rs\" is damaged");
        assert!(told.any(is_damaged), "{:?}", built.warnings);
        assert!(!built.context.contains("zebra"));
    }
}

/// The batch is in its place, and the index does not have it yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_context_built_while_a_batch_is_indexed_names_the_files_it_shows() {
    let folder = empty();
    let mut backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    let owner = Owner::new("ada").unwrap();
    let file = |content: String| NewFile {
        path: "billing.rs".to_owned(),
        content,
    };
    let others = |count: usize| -> String {
        let other = |it| format!("fn ship_parcel_{it}() {{\n    send({it});\n}}\n\n");
        (0..count).map(other).collect()
    };
    let asked = "fn refund_invoice() {\n    pay_back();\n}\n";
    let (old, new) = (others(1) + asked, others(40) + asked);
    backend.ingest(&owner, vec![file(old)]).await.unwrap();
    let index = folder.path().join("owners").join(owner.digest());
    let lock = index.join("index/writer.lock");
    let mut lock = std::fs::File::options().write(true).open(lock).unwrap();
    assert_eq!(ctx_source::lock(&mut lock).unwrap(), ctx_source::Lock::Ours);
    let sent = backend.ingest(&owner, vec![file(new.clone())]).await;
    assert!(matches!(sent, Err(BackendError::Failed { .. })), "{sent:?}");
    for question in ["how does", "and after a restart, how does"] {
        let question = format!("{question} `refund_invoice` work?");
        let options = BuildOptions::default().with_max_tokens(ctx_model::Tokens::new(150));
        let request = PrimeRequest::new(question, options);
        let prime = backend.build(&owner, request, &job()).await.unwrap();
        let context = &prime.built().context;
        assert!(context.contains("pay_back();"), "{context}");
        assert!(!context.contains("ship_parcel_1("), "{context}");
        backend.settle().await;
        drop(backend);
        backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    }
    drop(lock);
    let sent = backend.ingest(&owner, vec![file(new)]).await.unwrap();
    assert_eq!(sent.files[0].status, "unchanged");
    let store = backend.store(&owner).await.unwrap();
    assert_eq!(store.kept.indexed("billing.rs"), None);
}

#[cfg(unix)]
#[tokio::test]
async fn the_data_of_an_owner_is_not_opened_through_a_link() {
    for name in ["index", "state.db", "contexts.db", "state.mark"] {
        let (folder, outside) = (empty(), empty());
        let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
        let owner = Owner::new("ada").unwrap();
        let its = folder.path().join("owners").join(owner.digest());
        std::fs::create_dir(&its).unwrap();
        let to = match name {
            "index" => outside.path().to_owned(),
            _ => outside.path().join(name),
        };
        std::os::unix::fs::symlink(to, its.join(name)).unwrap();
        assert!(backend.store(&owner).await.is_err(), "{name}");
        let left = std::fs::read_dir(outside.path()).unwrap().count();
        assert_eq!(left, 0, "{name}");
    }
}

#[tokio::test]
async fn a_damaged_row_of_what_was_shown_takes_nothing_along() {
    let folder = empty();
    let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    let store = backend.store(&Owner::new("ada").unwrap()).await.unwrap();
    let database = &store.database;
    let note = |paths: &[&str], at: i64| {
        let paths: Vec<String> = paths.iter().map(|it| (*it).to_owned()).collect();
        database.note_shown(&paths, at).unwrap();
    };
    let shown = || database.shown_last(10).unwrap();
    let told = |path: &str, at: i64| (path.to_owned(), at);
    let how = "UPDATE shown SET shown_at = shown_at - 9 WHERE path = 'a.rs'";
    note(&["a.rs", "b.rs", "c.rs"], 100);
    damage(&database.contexts(), how);
    // The index still has the row at its old place: SQLite does not find it there to remove it.
    note(&["a.rs", "b.rs"], 101);
    assert_eq!(
        shown(),
        [told("b.rs", 101), told("a.rs", 101), told("c.rs", 100)]
    );
    damage(&database.contexts(), how);
    for _ in 0..2 {
        assert_eq!(shown(), [told("b.rs", 101), told("c.rs", 100)]);
    }
    let contexts = database.contexts();
    let sum = SHOWN.sum(&contexts).unwrap();
    assert_eq!((sum.count, sum), (2, SHOWN.summed(&contexts).unwrap()));
}

/// Changes rows of when files were shown as a faulty disk would: neither index nor sum is updated.
fn damage(contexts: &rusqlite::Connection, how: &str) {
    let script = |sql: &str| contexts.execute_batch(sql).unwrap();
    let hide = "type IN ('index', 'trigger') AND tbl_name = 'shown' AND sql IS NOT NULL";
    script(&format!(
        "PRAGMA writable_schema = ON;
         CREATE TEMP TABLE hidden AS SELECT * FROM sqlite_schema WHERE {hide};
         DELETE FROM sqlite_schema WHERE {hide};
         PRAGMA writable_schema = RESET;"
    ));
    script(how);
    script(
        "PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema SELECT * FROM hidden;
         PRAGMA writable_schema = RESET;
         DROP TABLE hidden;",
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_data_folder_that_is_gone_or_another_is_not_ready() {
    let folder = empty();
    let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    backend.ready().await.unwrap();
    let (here, elsewhere) = (folder.path().join("owners"), folder.path().join("moved"));
    std::fs::rename(&here, &elsewhere).unwrap();
    assert!(backend.ready().await.is_err());
    std::fs::create_dir(&here).unwrap();
    let told = crate::cause::cause(&backend.ready().await.unwrap_err());
    assert!(told.contains("another is in its place"), "{told}");
    std::fs::remove_dir(&here).unwrap();
    std::fs::rename(&elsewhere, &here).unwrap();
    backend.ready().await.unwrap();
}

#[tokio::test]
async fn stored_files_have_no_secret_whoever_sends_them() {
    let folder = empty();
    let backend = Embedded::open(folder.path(), Quota::default()).unwrap();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let file = NewFile {
        path: "src/forge.rs".to_owned(),
        content: format!("fn connect() {{\n    login(\"{secret}\");\n}}\n"),
    };
    let owner = Owner::new("ada").unwrap();
    let ingested = backend.ingest(&owner, vec![file]).await.unwrap();
    assert_eq!(ingested.masked_secrets, 1);
    let store = backend.store(&owner).await.unwrap();
    let kept = store.files.read_to_string("src/forge.rs").unwrap();
    assert!(kept.contains("login(") && !kept.contains(&secret), "{kept}");
}
