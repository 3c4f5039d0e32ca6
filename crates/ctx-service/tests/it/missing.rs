//! Files that a question refers to and no store has.

use async_trait::async_trait;
use ctx_rank::Query;
use ctx_retrieve::{FileSearch, Hit, PortError, PortResult, TaskFailed, TextQuery};
use ctx_service::{ServiceError, missing_files, missing_names, no_such_file, no_such_name};

use crate::support::Store;

/// It cannot look files up, or says nothing of them.
struct Odd {
    is_broken: bool,
}

#[async_trait]
impl FileSearch for Odd {
    async fn passages(&self, _: &TextQuery) -> PortResult<Vec<Hit>> {
        Ok(Vec::new())
    }

    async fn ending_with(&self, _: &[String], _: usize) -> PortResult<Vec<Vec<String>>> {
        if self.is_broken {
            return Err(PortError::new("the disk is on fire"));
        }
        Ok(Vec::new())
    }
}

async fn told(question: &str, stores: &[&dyn FileSearch]) -> Option<String> {
    let query = Query::analyse(question);
    let warning = no_such_file(&missing_files(&query, stores).await);
    warning.map(|it| {
        assert_eq!(it.code, "no_such_file");
        it.detail
    })
}

#[tokio::test]
async fn all_files_that_a_question_means_and_no_store_has_are_told() {
    let one = Store::new(&[("src/a.rs", "fn a() {}\n"), ("src/b.rs", "fn b() {}\n")]);
    let other = Store::new(&[("lib/c.rs", "fn c() {}\n")]);
    let both: [&dyn FileSearch; 2] = [&one, &other];
    let none = |name: &str| Some(format!("no file called {name} is searched"));
    let most: Vec<String> = (0..11).map(|n| format!("src/m{n}.rs")).collect();
    for (question, expected) in [
        ("src/a.rs and b.rs:1", None),
        ("src/gone.rs", none("gone.rs")),
        ("does src/a.rs call gone.rs:7?", none("gone.rs")),
        ("src/gone.rs:1 or lib/gone.rs:2", none("gone.rs")),
        // Another file has the name,
        ("lib/b.rs", none("lib/b.rs")),
        ("old/src/x/a.rs:7", none("old/src/x/a.rs")),
        (
            "lib/b.rs, src/c.rs or src/gone.rs",
            Some("no files called gone.rs, lib/b.rs, src/c.rs are searched".to_owned()),
        ),
        // and here the beginning may lead to the root, or to wherever one is.
        ("/home/me/project/src/a.rs:3", None),
        ("project/lib/c.rs", None),
        ("../b.rs:1 and ./a.rs:1", None),
        // What one of them has is there.
        ("src/a.rs or lib/c.rs", None),
        (
            "src/gone.rs, lib/c.rs and old/lost.rs",
            Some("no files called gone.rs, lost.rs are searched".to_owned()),
        ),
        (
            &most.join(" "),
            Some(
                "no files called m0.rs, m1.rs, m2.rs, m3.rs, m4.rs, m5.rs, m6.rs, m7.rs and 3 more are searched"
                    .to_owned(),
            ),
        ),
    ] {
        assert_eq!(told(question, &both).await, expected, "{question}");
    }
    let of_one = told("src/a.rs or lib/c.rs", &[&one]).await;
    assert_eq!(of_one, none("c.rs"));
    let many: Vec<String> = (0..1_001).map(|it| format!("m{it}/a.rs")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|it| (it.as_str(), "fn a() {}\n")).collect();
    // Too many to tell.
    assert_eq!(told("src/x/a.rs", &[&Store::new(&many)]).await, None);
    assert_eq!(
        told("src/x/a.rs", &[&Store::new(&many[..999])]).await,
        none("src/x/a.rs")
    );
    assert_eq!(told("src/gone.rs", &[]).await, None, "nothing is searched");
}

#[tokio::test]
async fn a_quoted_identifier_that_nothing_is_called_by_is_told() {
    let store = Store::new(&[("src/pool.rs", "fn take_one() { give_back(LIMIT_OF_ALL) }\n")]);
    for (question, expected) in [
        (
            "how is `frobnicate_widget` implemented",
            Some("nothing here is called frobnicate_widget"),
        ),
        (
            "does `Pool.drain_all` call `frobnicate_widget`?",
            Some("nothing here is called Pool.drain_all, frobnicate_widget"),
        ),
        // It is defined, used or written here, or not quoted.
        ("how is `take_one` implemented", None),
        ("what does `give_back` do", None),
        ("what is `LIMIT_OF_ALL`", None),
        ("is `take_one?` defined", None),
        ("how is frobnicate_widget implemented", None),
        ("what is in `src/gone_file.rs`", None),
        // A report has names of others.
        ("It fails\n\nin `frobnicate_widget` of a library\n", None),
    ] {
        let query = Query::analyse(question);
        let warning = no_such_name(&missing_names(&query, &[&store]).await);
        let told = warning.map(|it| {
            assert_eq!(it.code, "no_such_name");
            it.detail
        });
        assert_eq!(told.as_deref(), expected, "{question}");
        assert!(missing_names(&query, &[]).await.is_empty());
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_looked_up_is_not_reported_missing() {
    let store = Store::new(&[]);
    for is_broken in [false, true] {
        let odd = Odd { is_broken };
        for stores in [[&store as &dyn FileSearch, &odd], [&odd, &store]] {
            assert_eq!(told("src/gone.rs", &stores).await, None);
        }
    }
}

#[test]
fn the_cause_of_a_failed_thread_is_named_once() {
    let error = ServiceError::from(TaskFailed::Panicked);
    assert_eq!(ctx_model::error_chain(&error), "finish: it panicked");
}
