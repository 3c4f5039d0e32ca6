//! Tables are created once, however often and by whomever that is requested.

use std::time::Duration;

use ctx_postgres::{Limits, Store, StoreError};
use ctx_retrieve::{FileSearch as _, Usage as _};

use crate::server::{AS_OF_18, Fresh, Server, alone, patient, raw};

#[tokio::test]
async fn migrating_twice_is_migrating_once() {
    let fresh = crate::fresh!();
    fresh.store.migrate().await.unwrap();
    fresh.store.ready().await.unwrap();
    let rows = raw(&fresh.url)
        .await
        .query("SELECT version FROM ctx.version ORDER BY version", &[])
        .await
        .unwrap();
    let versions: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(versions, (1..=21).collect::<Vec<i32>>());
}

#[tokio::test]
async fn processes_that_migrate_at_once_wait_for_each_other() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.database().await;
    let mut tasks = Vec::new();
    for _ in 0..6 {
        let url = url.clone();
        tasks.push(tokio::spawn(async move {
            let store = Store::connect(&url, Limits::default()).await?;
            store.migrate().await
        }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_database_without_tables_is_told_from_one_that_is_away() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.database().await;
    let store = Store::connect(&url, Limits::default()).await.unwrap();
    let error = store.ready().await.unwrap_err();
    assert!(
        matches!(error, StoreError::NotMigrated { found: 0, .. }),
        "{error}"
    );
    let owned = store.owner("alice").unwrap();
    assert!(owned.ending_with(&["a.rs".to_owned()], 1).await.is_err());

    let nowhere = Store::connect(&server.url("nowhere"), Limits::default()).await;
    let error = nowhere.unwrap_err();
    assert!(matches!(error, StoreError::Connect { .. }), "{error}");
}

#[tokio::test]
async fn a_database_of_a_later_version_is_left_alone() {
    let fresh = crate::fresh!();
    let client = raw(&fresh.url).await;
    let sql = "INSERT INTO ctx.version (version) VALUES (99)";
    client.execute(sql, &[]).await.unwrap();
    for error in [fresh.store.ready().await, fresh.store.migrate().await] {
        assert!(
            matches!(error, Err(StoreError::TooNew { found: 99, .. })),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_database_that_takes_no_writes_or_not_every_text_is_told() {
    let fresh = crate::fresh!();
    let alice = fresh.owner("alice");
    alice.begin_thread("t", None, &[], 1, 9).await.unwrap();
    let name = fresh.url.rsplit_once('=').unwrap().1;
    let admin = fresh.server.raw("postgres").await;
    let only_read = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    admin.batch_execute(&only_read).await.unwrap();
    let store = Store::connect(&fresh.url, Limits::default()).await.unwrap();
    for error in [store.ready().await, store.migrate().await] {
        let told = matches!(error, Err(StoreError::ReadOnly { .. }));
        assert!(told, "{error:?}");
    }
    let owned = store.owner("alice").unwrap();
    let of = |it: StoreError| (it.is_away(), it.to_string());
    // Whether a write is one statement or several.
    let written = [
        owned.begin_thread("u", None, &[], 1, 9).await.map(drop),
        owned.set_pins("t", &[]).await.map(drop),
        owned
            .ingest(crate::texts([("a.rs", "fn a() {}\n")]))
            .await
            .map(drop),
    ];
    for refused in written.map(|it| it.map_err(of)) {
        let (is_away, told) = refused.unwrap_err();
        assert!(is_away && told.contains("it takes no writes"), "{told}");
    }
    assert_eq!(owned.listed_threads(None, 9).await.unwrap().len(), 1);

    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    admin.batch_execute(latin).await.unwrap();
    let store = Store::connect(&fresh.server.url("latin"), Limits::default()).await;
    let error = store.unwrap().migrate().await.unwrap_err();
    assert!(error.to_string().contains("LATIN1"), "{error}");
    let nowhere = Store::connect(&fresh.server.url("nowhere"), Limits::default()).await;
    let error = nowhere.unwrap_err().to_string();
    assert!(error.contains("there is no such database"), "{error}");
}

#[tokio::test]
async fn a_role_that_is_no_superuser_can_migrate_and_one_that_may_less_can_work() {
    let Some(server) = alone() else {
        return;
    };
    let url = server.database().await;
    let admin = raw(&url).await;
    admin
        .batch_execute(
            "DO $$ BEGIN
                 EXECUTE format('CREATE ROLE migrator LOGIN CREATEROLE');
                 EXECUTE format('GRANT CREATE ON DATABASE %I TO migrator', current_database());
                 CREATE ROLE worker LOGIN;
             END $$",
        )
        .await
        .unwrap();
    as_role(&url, "migrator").await.migrate().await.unwrap();
    admin
        .batch_execute("GRANT ctx_app TO worker")
        .await
        .unwrap();
    let owned = as_role(&url, "worker").await.owner("alice").unwrap();
    crate::conformance::fill(&owned).await;
    ctx_testkit::laws::store::store(&owned).await;
}

/// A store for `role` in the database at `url`, which is told by its superuser.
async fn as_role(url: &str, role: &str) -> Store {
    let url = url.replace("user=ctx", &format!("user={role}"));
    Store::connect(&url, patient()).await.unwrap()
}

#[tokio::test]
async fn a_migration_that_stopped_is_finished_by_a_role_that_is_no_superuser() {
    let Some(server) = alone() else {
        return;
    };
    let url = server.database().await;
    let admin = raw(&url).await;
    let name = url.rsplit_once('=').unwrap().1;
    let made = format!("CREATE ROLE migrator LOGIN; ALTER DATABASE {name} OWNER TO migrator");
    admin.batch_execute(&made).await.unwrap();
    let error = as_role(&url, "migrator").await.migrate().await.unwrap_err();
    assert!(
        matches!(error, StoreError::Migration { version: 2, .. }),
        "{error}"
    );
    let able = "ALTER ROLE migrator CREATEROLE";
    admin.batch_execute(able).await.unwrap();
    as_role(&url, "migrator").await.migrate().await.unwrap();
}

#[tokio::test]
async fn a_right_that_is_lacking_is_granted_or_told_before_anything_is_asked() {
    let Some(fresh) = Fresh::alone().await else {
        return;
    };
    let admin = raw(&fresh.url).await;
    let name = fresh.url.rsplit_once('=').unwrap().1;
    let revoked = format!("REVOKE TEMPORARY ON DATABASE {name} FROM PUBLIC, ctx_app");
    let made =
        "CREATE ROLE worker LOGIN NOINHERIT; CREATE ROLE stranger LOGIN; GRANT ctx_app TO worker";
    for sql in [&*revoked, made] {
        admin.batch_execute(sql).await.unwrap();
    }
    let worker = as_role(&fresh.url, "worker").await;
    let lacking = async |store: &Store, what: &str| {
        for error in [store.ready().await, store.migrate().await] {
            let error = error.unwrap_err();
            assert!(matches!(error, StoreError::Rights { .. }), "{error}");
            assert!(error.to_string().contains(what), "{error}");
        }
    };
    // It may not grant what it lacks.
    lacking(&worker, "GRANT TEMPORARY").await;
    lacking(&as_role(&fresh.url, "stranger").await, "GRANT ctx_app").await;
    fresh.store.migrate().await.unwrap();
    // Whoever has nothing but the role, and that only when it is taken.
    worker.migrate().await.unwrap();
    worker.ready().await.unwrap();
    assert_eq!(
        worker.secret().await.unwrap(),
        fresh.store.secret().await.unwrap()
    );
    let file = crate::texts([("a.rs", "fn a() {}\n")]);
    let stored = worker.owner("alice").unwrap().ingest(file).await.unwrap();
    assert_eq!(stored.stored, 1);
}

#[tokio::test]
async fn no_error_shows_the_password() {
    let secret = "hunter2";
    for url in [
        format!("postgres://u:{secret}@[::1:1/db"),
        format!("host=/nowhere user=u password={secret}"),
        format!("postgres://u:{secret}@127.0.0.1:1/db"),
        format!("password={secret} what"),
        format!("mysql://u:{secret}@h/db?sslmode=require&a=b"),
    ] {
        let error = Store::connect(&url, Limits::default()).await.unwrap_err();
        let mut said = format!("{error} {error:?}");
        let mut source = std::error::Error::source(&error);
        while let Some(it) = source {
            said.push_str(&it.to_string());
            source = it.source();
        }
        assert!(!said.contains(secret), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_waits_for_those_who_use_a_table_and_keeps_nobody_waiting() {
    let fresh = crate::fresh!();
    let client = raw(&fresh.url).await;
    client.batch_execute(AS_OF_18).await.unwrap();
    let again = "DELETE FROM ctx.version WHERE version = 18";
    client.execute(again, &[]).await.unwrap();
    let mut other = raw(&fresh.url).await;
    let holder = other.transaction().await.unwrap();
    let held = "LOCK TABLE ctx.usage IN ACCESS SHARE MODE";
    holder.batch_execute(held).await.unwrap();
    let store = fresh.store.clone();
    let migrated = tokio::spawn(async move { store.migrate().await });
    let waits = "SELECT EXISTS (SELECT FROM pg_locks
                 WHERE relation = 'ctx.usage'::regclass AND NOT granted)";
    while !client
        .query_one(waits, &[])
        .await
        .unwrap()
        .get::<_, bool>(0)
    {
        tokio::task::yield_now().await;
    }
    // Who comes after it would wait for as long as the holder does.
    let limits = Limits::default().with_reading(Duration::from_secs(20));
    let store = Store::connect(&fresh.url, limits).await.unwrap();
    let recent = store.owner("alice").unwrap().recent(1).await;
    assert_eq!(recent.unwrap(), []);
    assert!(!migrated.is_finished());
    holder.rollback().await.unwrap();
    migrated.await.unwrap().unwrap();
    fresh.store.ready().await.unwrap();
}

#[tokio::test]
async fn receipts_of_an_earlier_version_are_those_of_their_threads() {
    let fresh = crate::fresh!();
    let (alice, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    for store in [&alice, &bob] {
        store.begin_thread("t", None, &[], 1, 9).await.unwrap();
        for (id, receipt) in [
            ("1", r#"{"id":"1","createdAt":5,"threadId":"t","stats":{}}"#),
            (
                "2",
                r#"{"id":"2","createdAt":5,"threadId":"gone","stats":{}}"#,
            ),
            (
                "3",
                r#"{"id":"3","createdAt":5,"stats":{},"receipt":"\"threadId\":\"t\""}"#,
            ),
            ("4", "not read"),
        ] {
            let long = crate::keeping(3_600, 1_000);
            assert!(store.keep_context(id, receipt, None, long).await.unwrap());
        }
    }
    let client = raw(&fresh.url).await;
    client.batch_execute(AS_OF_18).await.unwrap();
    fresh.store.migrate().await.unwrap();
    let there = async |store: &ctx_postgres::OwnedStore| {
        let mut there = Vec::new();
        for id in ["1", "2", "3", "4"] {
            if store.context(id).await.unwrap().is_some() {
                there.push(id);
            }
        }
        there
    };
    for store in [&alice, &bob] {
        assert_eq!(there(store).await, ["1", "3", "4"]);
    }
    alice.forget_thread("t").await.unwrap();
    assert_eq!(there(&alice).await, ["3", "4"]);
    assert_eq!(there(&bob).await, ["1", "3", "4"]);
    let bytes = "SELECT k.bytes = sum(c.bytes) FROM ctx.kept k JOIN ctx.contexts c USING (owner)
        GROUP BY owner, k.bytes";
    for row in client.query(bytes, &[]).await.unwrap() {
        assert!(row.get::<_, bool>(0));
    }
}
