#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use ctx_model::{Chunk, OmittedReason, Relevance};
use ctx_retrieve::{FileSearch as _, Hit, PartQuery};
use ctx_testkit::laws;
use ctx_testkit::postgres::Server;

use super::*;
use crate::recall::tests::{THREAD, shown};

/// A hit as a search returns it: lines without text.
fn chunk(hit: &Hit) -> Chunk {
    let part = &hit.part;
    let id = format!("{}:{}", part.path, part.span.start());
    let mut chunk = Chunk::new(id, "", Relevance::ONE);
    chunk.path = Some(part.path.clone());
    chunk.span = Some(part.span);
    chunk.name.clone_from(&part.name);
    chunk.qualified_name.clone_from(&part.qualified_name);
    chunk
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts_keep_the_law_of_a_record() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.database().await;
    let kept = Postgres::connect(&url, Limits::default(), Quota::default());
    let kept = kept.await.unwrap();
    let owner = Owner::new("ada").unwrap();
    let shown = shown(&kept, &owner).await;
    let shown: Vec<_> = shown.iter().map(|it| (&*it.0, it.1.clone())).collect();
    let receipts = recall::Receipts(Arc::new(kept.owned(&owner).unwrap()));
    laws::recall(&receipts, THREAD, &shown).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hit_is_shown_at_its_place_in_the_version_of_the_file_stored_since() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.database().await;
    let limits = Limits::default().with_reading(std::time::Duration::from_mins(1));
    let kept = Postgres::connect(&url, limits, Quota::default());
    let kept = kept.await.unwrap();
    let owner = Owner::new("ada").unwrap();
    let store = kept.owned(&owner).unwrap();
    let put = async |files: &[(&str, &str)]| {
        let files = files
            .iter()
            .map(|&(path, text)| ctx_postgres::FileText::new(path, text));
        store.ingest(files.collect()).await.unwrap();
    };
    let notes = "one apple\n".repeat(20);
    let marked = format!("\u{feff}{notes}");
    let refund = "fn refund_invoice() {\n    give_back();\n}\n";
    put(&[
        ("billing.rs", refund),
        ("notes.txt", &notes),
        ("same.txt", &notes),
        ("marked.txt", &marked),
    ])
    .await;
    let (request, _) = kept.opened(&owner, "").await.unwrap();
    let wanted = ["billing.rs", "notes.txt", "same.txt", "marked.txt"].map(PartQuery::new);
    let hits = request.parts_of(&wanted, 9).await.unwrap().concat();
    assert_eq!(hits.len(), 4);

    let mut before = String::new();
    for number in 0..50 {
        writeln!(before, "fn ship_{number}() {{\n    send();\n}}\n").unwrap();
    }
    put(&[
        ("billing.rs", &format!("{before}{refund}")),
        ("notes.txt", &format!("something else\n{notes}")),
    ])
    .await;
    let resolver = kept.resolver(&request);
    let chunks = hits.iter().map(chunk).collect();
    let found = tokio::task::spawn_blocking(move || resolver.resolve(chunks));
    let found = found.await.unwrap();
    let shown = |path: &str| {
        let mut chunks = found.chunks.iter();
        let chunk = chunks.find(|it| it.path.as_deref() == Some(path))?;
        Some((chunk.span.unwrap().start(), chunk.content.clone()))
    };
    let (line, content) = shown("billing.rs").unwrap();
    assert!(content.starts_with("fn refund_invoice()"), "{content}");
    assert_eq!(line, 201);
    // A part without a name cannot be found again, and one that was not stored again need not be.
    assert_eq!(shown("notes.txt"), None);
    assert_eq!(found.omitted.len(), 1, "{found:?}");
    assert_eq!(found.omitted[0].reason, OmittedReason::Stale);
    for path in ["same.txt", "marked.txt"] {
        let (line, content) = shown(path).unwrap();
        assert_eq!(line, 1);
        assert!(content.starts_with("one apple"), "{content}");
    }
    // A request that was given hits of both versions is not told which lines belong to which.
    request
        .parts_of(&[PartQuery::new("notes.txt").at(1)], 9)
        .await
        .unwrap();
    assert_eq!(request.indexed("notes.txt"), Some([0; 32]));
    let (later, _) = kept.opened(&owner, "").await.unwrap();
    assert_eq!(later.indexed("billing.rs"), None);
    later.parts_of(&wanted, 9).await.unwrap();
    let now = store.hashes(&["billing.rs"]).await.unwrap();
    assert_eq!(later.indexed("billing.rs"), Some(now["billing.rs"]));
}
