//! The counts of an owner's data stay equal to the data as it comes and goes.

use ctx_model::UnixSeconds;
use ctx_postgres::{Added, Store, StoredMessage};
use ctx_retrieve::{FileSearch as _, Message, Threads as _};
use tokio_postgres::Client;

use crate::fresh;
use crate::server::{AS_OF_18, alone, patient, raw};

fn message(id: impl Into<String>) -> StoredMessage {
    StoredMessage::new(id, "user", "x", 1_000)
}

/// Threads and messages of an owner: as they are kept, and as they are.
async fn counts(client: &Client, owner: &str) -> [(i64, i64); 2] {
    let sql = "SELECT coalesce((SELECT threads FROM ctx.said WHERE owner = $1), 0),
                   coalesce((SELECT messages FROM ctx.said WHERE owner = $1), 0),
                   (SELECT count(*) FROM ctx.threads WHERE owner = $1),
                   (SELECT count(*) FROM ctx.messages WHERE owner = $1)";
    let row = client.query_one(sql, &[&owner]).await.unwrap();
    [(row.get(0), row.get(1)), (row.get(2), row.get(3))]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_match_the_rows_under_concurrent_writes() {
    let fresh = fresh!();
    let mut tasks = Vec::new();
    for writer in 0..4 {
        let store = fresh.owner("alice");
        tasks.push(tokio::spawn(async move {
            for number in 0..12 {
                // Threads and ids that others use too.
                let thread = format!("t{}", number % 3);
                let id = format!("m{}", (writer + number) % 9);
                store.begin_thread(&thread, None, &[], 1, 99).await.unwrap();
                store
                    .add_message(&thread, &message(id.clone()), 999)
                    .await
                    .unwrap();
                let said = Message::new(id, "user", "x", UnixSeconds::new(1));
                store.append(&format!("of {writer}"), &said).await.unwrap();
                store
                    .pin(&format!("pinned {number}"), "a.rs")
                    .await
                    .unwrap();
                if number % 5 == writer {
                    store.forget_thread(&thread).await.unwrap();
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let client = raw(&fresh.url).await;
    let [kept, there] = counts(&client, "alice").await;
    assert_eq!(kept, there);
    assert!(there.0 > 12 && there.1 > 30, "{there:?}");
    assert_eq!(counts(&client, "bob").await, [(0, 0), (0, 0)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_are_as_many_threads_and_messages_as_may_be_and_no_more() {
    let fresh = fresh!();
    let most = 15;
    let mut tasks = Vec::new();
    for writer in 0..6 {
        let store = fresh.owner("alice");
        tasks.push(tokio::spawn(async move {
            let mut all = [0, 0];
            for number in 0..5 {
                let thread = format!("{writer}.{number}");
                match store
                    .begin_thread(&thread, None, &[], 1, most)
                    .await
                    .unwrap()
                {
                    Added::Added => all[0] += 1,
                    Added::Full => continue,
                    other => panic!("{other:?}"),
                }
                for id in ["a", "b", "c"] {
                    match store
                        .add_message(&thread, &message(id), most)
                        .await
                        .unwrap()
                    {
                        Added::Added => all[1] += 1,
                        Added::Full => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
            all
        }));
    }
    let mut all = [0, 0];
    for task in tasks {
        let [threads, messages] = task.await.unwrap();
        all = [all[0] + threads, all[1] + messages];
    }
    assert_eq!(all, [most, most]);
    let client = raw(&fresh.url).await;
    assert_eq!(counts(&client, "alice").await, [(15, 15); 2]);
    let store = fresh.owner("alice");
    let mut threads = store.listed_threads(None, 14).await.unwrap();
    let thread = threads.pop().unwrap().thread;
    for (thread, wanted) in [(&*thread, Added::Exists), ("new", Added::Full)] {
        let begun = store.begin_thread(thread, None, &[], 1, most).await;
        assert_eq!(begun.unwrap(), wanted, "{thread}");
    }
    // What was forgotten makes room.
    let add = async |thread: &str| {
        store
            .add_message(thread, &message("z"), most)
            .await
            .unwrap()
    };
    assert_eq!(add(&thread).await, Added::Full);
    assert_eq!(add("never begun").await, Added::NoThread);
    for it in threads {
        store.forget_thread(&it.thread).await.unwrap();
    }
    let [kept, there] = counts(&client, "alice").await;
    assert_eq!(kept, there);
    let begun = store.begin_thread("new", None, &[], 1, most).await.unwrap();
    assert_eq!(begun, Added::Added);
    assert_eq!(add("new").await, Added::Added);
    assert_eq!(add("new").await, Added::Exists);
}

#[tokio::test]
async fn data_of_an_earlier_version_is_counted_and_found_by_folders_after_a_migration() {
    let Some(server) = alone() else {
        return;
    };
    let url = server.database().await;
    let admin = raw(&url).await;
    let role = "DO $$ BEGIN
            CREATE ROLE upgrader LOGIN CREATEROLE;
            EXECUTE format('GRANT CREATE ON DATABASE %I TO upgrader', current_database());
        END $$";
    admin.batch_execute(role).await.unwrap();
    let as_upgrader = url.replace("user=ctx", "user=upgrader");
    let store = Store::connect(&as_upgrader, patient()).await.unwrap();
    store.migrate().await.unwrap();
    for owner in ["alice", "bob"] {
        let owned = store.owner(owner).unwrap();
        let files = [("a", "éé"), ("D/b", owner)];
        owned.ingest(crate::texts(files)).await.unwrap();
        for (thread, id, at) in [("t", "1", 1), ("t", "2", 9), ("u", "3", 5)] {
            let said = Message::new(id, "user", owner, UnixSeconds::new(at));
            owned.append(thread, &said).await.unwrap();
        }
        let kept = owned.keep_context("c", owner, None, crate::keeping(60, 99));
        kept.await.unwrap();
    }
    // As it was before.
    let before = "INSERT INTO ctx.terms VALUES ('alice', 'of nothing', 0, 0), ('alice', 'of a file', 0, 1);
        DROP FUNCTION ctx.count_kept CASCADE; DROP TABLE ctx.kept;
        ALTER TABLE ctx.contexts DROP COLUMN kept_at, DROP COLUMN bytes;
        CREATE INDEX contexts_number ON ctx.contexts (owner, number);
        DROP FUNCTION ctx.choose_parts; DROP FUNCTION ctx.choose_files;
        ALTER TABLE ctx.parts DROP COLUMN number; ALTER TABLE ctx.files DROP COLUMN number;
        ALTER TABLE ctx.owners DROP COLUMN bytes; ALTER TABLE ctx.files DROP COLUMN outline;
        DROP TRIGGER count_added ON ctx.threads; DROP TRIGGER count_gone ON ctx.threads;
        DROP TRIGGER count_added ON ctx.messages; DROP TRIGGER count_gone ON ctx.messages;
        DROP FUNCTION ctx.keep_endings CASCADE; DROP FUNCTION ctx.files_below, ctx.endings_of; DROP TABLE ctx.endings;
        DROP FUNCTION ctx.count_said; DROP TABLE ctx.said; DROP INDEX ctx.feedback_given;
        DROP FUNCTION ctx.number_thread CASCADE;
        UPDATE ctx.threads SET number = number * 10 + length(owner);
        ALTER TABLE ctx.threads ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY;
        DELETE FROM ctx.version WHERE version >= 7;";
    for before in [AS_OF_18, before] {
        admin.batch_execute(before).await.unwrap();
    }
    store.migrate().await.unwrap();
    for (owner, bytes) in [("alice", 9), ("bob", 7)] {
        let owned = store.owner(owner).unwrap();
        let totals = owned.totals().await.unwrap();
        assert_eq!((totals.files, totals.bytes), (2, bytes), "{owner}");
        let below = owned.below(&["d".to_owned()], 9).await.unwrap();
        assert_eq!(below, [["D/b"]], "{owner}");
        assert_eq!(counts(&admin, owner).await, [(2, 3); 2], "{owner}");
        let kept = "SELECT bytes FROM ctx.kept WHERE owner = $1";
        let kept: i64 = admin.query_one(kept, &[&owner]).await.unwrap().get(0);
        assert_eq!(usize::try_from(kept), Ok(owner.len()));
        owned.pin("v", "a").await.unwrap();
        let threads = owned.listed_threads(None, 9).await.unwrap();
        let threads = threads.iter().map(|it| (it.number, it.thread.as_str()));
        assert_eq!(threads.collect::<Vec<_>>(), [(3, "v"), (2, "u"), (1, "t")]);
        // They were active in the order of their last messages, and one that begins comes after.
        let active = owned.active_threads(None, 9).await.unwrap();
        let active = (active.iter()).map(|it| (it.activity, it.active_at, it.thread.as_str()));
        let expected = [(3, 0, "v"), (2, 9_000, "t"), (1, 5_000, "u")];
        assert_eq!(active.collect::<Vec<_>>(), expected);
    }
    let terms = "SELECT array_agg(term ORDER BY term) FROM ctx.terms WHERE term LIKE 'of %'";
    let terms: Vec<String> = admin.query_one(terms, &[]).await.unwrap().get(0);
    assert_eq!(terms, ["of a file"]);
    let forced = "SELECT count(*) FROM pg_class c WHERE c.relnamespace = 'ctx'::regnamespace AND c.relkind = 'r'
        AND NOT (c.relrowsecurity AND c.relforcerowsecurity) AND c.relname NOT IN ('version', 'secret')";
    let row = admin.query_one(forced, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 0, "every table is under its policy");
}
