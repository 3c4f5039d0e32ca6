//! No data of an owner is visible to another.

use ctx_model::UnixSeconds;
use ctx_postgres::{OwnedStore, StoreError};
use ctx_retrieve::{Feedback as _, Threads as _, Usage as _, Usefulness, Vote};
use ctx_testkit::laws::store as laws;

use crate::server::raw;
use crate::{fresh, texts};

const OWNED: [&str; 14] = [
    "owners", "files", "parts", "terms", "threads", "messages", "pinned", "usage", "feedback",
    "votes", "contexts", "kept", "said", "endings",
];

pub(crate) async fn fill(store: &OwnedStore, canary: &str) {
    store.ingest(texts(laws::canaries(canary))).await.unwrap();
    for thread in [laws::THREAD, canary] {
        for message in laws::canary_messages(canary) {
            store.append(thread, &message).await.unwrap();
        }
        store.pin(thread, canary).await.unwrap();
    }
    let paths = [format!("src/{canary}.rs"), "src/config.rs".to_owned()];
    store.shown(&paths, UnixSeconds::new(10)).await.unwrap();
    for path in &paths {
        let vote = Vote::new(
            format!("context 1 {path}"),
            path,
            Usefulness::Useful,
            UnixSeconds::new(10),
        );
        assert!(store.vote(&vote).await.unwrap());
    }
    let kept = store
        .keep_context("context 1", canary, None, crate::keeping(60, 1_000))
        .await;
    kept.unwrap();
}

#[tokio::test]
async fn no_port_shows_the_canary_of_another_owner() {
    never_seen(&fresh!()).await;
}

#[tokio::test]
async fn no_port_does_where_no_policy_binds_it() {
    let Some(fresh) = crate::server::Fresh::unbound().await else {
        return;
    };
    never_seen(&fresh).await;
}

async fn never_seen(fresh: &crate::server::Fresh) {
    // One name is the beginning of another, one is a pattern, one is SQL.
    let owners = [
        ("alice", "quokka"),
        ("alic", "wombat"),
        ("%", "numbat"),
        ("' OR ''='", "bilby"),
    ];
    for (owner, canary) in owners {
        fill(&fresh.owner(owner), canary).await;
    }
    for (owner, own) in owners {
        let store = fresh.owner(owner);
        for (_, canary) in owners.iter().filter(|(_, it)| *it != own) {
            laws::isolated(&store, canary).await;
            let (request, _) = store.opened(canary, 20, 9).await.unwrap();
            laws::isolated(&request, canary).await;
        }
        let seen = laws::ask_all(&store, own).await;
        assert!(seen.iter().any(|it| it.contains(own)), "its own is seen");
        let receipt = store.context("context 1").await.unwrap();
        assert_eq!(receipt.as_deref(), Some(own));
        assert_eq!(store.totals().await.unwrap().files, 2);
        assert_eq!(store.listed_threads(None, 10).await.unwrap().len(), 2);
        let paths: Vec<String> = store
            .stored_files("", 10)
            .await
            .unwrap()
            .into_iter()
            .map(|it| it.path)
            .collect();
        let mut expected = ["src/config.rs".to_owned(), format!("src/{own}.rs")];
        expected.sort();
        assert_eq!(paths, expected);
        assert!(
            store
                .text("src/config.rs")
                .await
                .unwrap()
                .unwrap()
                .contains(own)
        );
    }
    let alice = fresh.owner("alice");
    assert_eq!(alice.text("src/wombat.rs").await.unwrap(), None);
    let gone = alice.remove(&["src/wombat.rs".to_owned()]).await;
    assert!(gone.unwrap().is_empty());
    assert!(!alice.forget_thread("wombat").await.unwrap());
    assert!(
        fresh
            .owner("alic")
            .text("src/wombat.rs")
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn owners_that_take_turns_on_one_connection_never_meet() {
    let limits = ctx_postgres::Limits::default().with_connections(1);
    let Some(fresh) = crate::server::Fresh::with(limits).await else {
        return;
    };
    let (alice, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    fill(&alice, "quokka").await;
    fill(&bob, "wombat").await;
    for _ in 0..3 {
        laws::isolated(&alice, "wombat").await;
        laws::isolated(&bob, "quokka").await;
    }
}

#[tokio::test]
async fn a_statement_that_forgets_the_owner_sees_the_rows_of_one_alone() {
    let fresh = fresh!();
    fill(&fresh.owner("alice"), "quokka").await;
    fill(&fresh.owner("bob"), "wombat").await;
    let mut client = raw(&fresh.url).await;
    for table in OWNED {
        let sql = format!("SELECT DISTINCT owner FROM ctx.{table}");
        let transaction = client.transaction().await.unwrap();
        transaction
            .batch_execute("SET LOCAL ROLE ctx_app; SET LOCAL ctx.owner = 'alice'")
            .await
            .unwrap();
        let rows = transaction.query(&sql, &[]).await.unwrap();
        let owners: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(owners, ["alice"], "{table}");
        transaction.rollback().await.unwrap();

        // What a transaction said is gone with it: nobody is nobody.
        let transaction = client.transaction().await.unwrap();
        transaction
            .batch_execute("SET LOCAL ROLE ctx_app")
            .await
            .unwrap();
        assert!(
            transaction.query(&sql, &[]).await.unwrap().is_empty(),
            "{table}"
        );
    }
    let transaction = client.transaction().await.unwrap();
    transaction
        .batch_execute("SET LOCAL ROLE ctx_app; SET LOCAL ctx.owner = 'alice'")
        .await
        .unwrap();
    let sql = "INSERT INTO ctx.usage (owner, path) VALUES ('bob', 'a.rs')";
    let error = transaction.execute(sql, &[]).await.unwrap_err();
    let said = error.as_db_error().unwrap().message().to_owned();
    assert!(said.contains("row-level security"), "{said}");
}

#[tokio::test]
async fn every_table_of_owners_has_forced_row_level_security_and_the_owner_first_in_every_index() {
    let fresh = fresh!();
    let client = raw(&fresh.url).await;
    let rows = client
        .query(
            "SELECT c.relname FROM pg_class c
             WHERE c.relnamespace = 'ctx'::regnamespace AND c.relkind = 'r' AND c.relname <> 'version'
               AND c.relrowsecurity AND c.relforcerowsecurity ORDER BY 1",
            &[],
        )
        .await
        .unwrap();
    let mut tables: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    let mut expected = OWNED.to_vec();
    tables.sort_unstable();
    expected.sort_unstable();
    assert_eq!(tables, expected);
    let rows = client
        .query(
            "SELECT i.indexrelid::regclass::text FROM pg_index i
             JOIN pg_class c ON c.oid = i.indrelid
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
             WHERE c.relnamespace = 'ctx'::regnamespace AND c.relname NOT IN ('version', 'secret') AND a.attname <> 'owner'",
            &[],
        )
        .await
        .unwrap();
    assert!(rows.is_empty(), "{rows:?}");
}

#[tokio::test]
async fn names_of_owners_that_cannot_be_keys_are_refused() {
    let fresh = fresh!();
    for name in ["", "a\0b", &"x".repeat(256)] {
        let refused = fresh.store.owner(name);
        assert!(
            matches!(refused, Err(StoreError::Invalid { .. })),
            "{name:?}"
        );
    }
}
