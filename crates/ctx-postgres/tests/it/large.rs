//! Documents with many words, many of which match a question.

use std::time::Duration;

use ctx_postgres::Store;
use ctx_retrieve::{Field, FileSearch as _, TextQuery};

use crate::server::{Fresh, patient, raw};
use crate::{fresh, texts};

/// Files,
const FILES: usize = 48;
/// with so many words each: together more than one statement reads, and more than is held at once.
const WORDS: usize = 64_000;

#[tokio::test]
async fn large_results_are_read_by_several_statements() {
    let Some(fresh) = Fresh::logged().await else {
        return;
    };
    let owned = fresh.owner("alice");
    owned.ingest(texts([("0.txt", "walrus")])).await.unwrap();
    // To index so many words takes a minute; without it, files are looked through one by one.
    let others = format!(
        "DROP INDEX ctx.files_search;
         UPDATE ctx.files SET terms = terms || array_to_tsvector(
             ARRAY(SELECT left(md5(n::text), 7) FROM generate_series(1, {WORDS}) n)
         );
         INSERT INTO ctx.files (owner, path, reversed, name, hash, role, lines, parts, length, terms, content)
         SELECT owner, n || '.txt', 'txt.' || n, n || '.txt', hash, role, lines, 0, length, terms, content
         FROM ctx.files, generate_series(1, {FILES} - 1) n"
    );
    raw(&fresh.url).await.batch_execute(&others).await.unwrap();

    let terms = vec![("walrus".to_owned(), 1.0)];
    let query = TextQuery::new(terms, vec![(Field::Text, 1.0)], 100);
    let statement = "FROM ctx.files WHERE owner = $1 AND number = ANY ($2)";
    let read = || fresh.server.log().matches(statement).count();
    let before = read();
    let found = owned.files(&query).await.unwrap();
    assert_eq!(found.len(), FILES);
    let statements = read() - before;
    assert!(statements > 1, "{statements}");
    // The same again, of what is kept.
    assert_eq!(owned.files(&query).await.unwrap(), found);
}

#[tokio::test]
async fn a_statement_that_stores_files_has_a_time_of_its_own() {
    let fresh = fresh!();
    let mut limits = patient();
    limits.writing = Duration::from_secs(3);
    let store = Store::connect(&fresh.url, limits).await.unwrap();
    let slow = "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_sleep(4); RETURN NULL; END $$;
        CREATE TRIGGER wait AFTER INSERT ON ctx.files EXECUTE FUNCTION public.wait()";
    raw(&fresh.url).await.batch_execute(slow).await.unwrap();
    let owned = store.owner("alice").unwrap();
    let stored = owned.ingest(texts([("0.txt", "walrus")])).await.unwrap();
    assert_eq!(stored.stored, 1);
}
