//! The PostgreSQL store, over HTTP.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ctx_server::{Backend as _, DatabaseLimits, NewFile, Owner, Postgres, Quota};
use ctx_testkit::postgres::Server;
use serde_json::json;

use crate::client::{ADA, BOB, Running};
use crate::tenants::never_meet;

/// What `work` comes to, on a runtime of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

/// A server over a database of its own, or the end of the test where there is no PostgreSQL.
macro_rules! running {
    () => {
        match Running::postgres() {
            Some(running) => running,
            None => return,
        }
    };
}

#[test]
fn two_owners_of_one_database_never_meet() {
    let builds = std::env::var("CTX_THOROUGH").map_or(40, |_| 10_000);
    never_meet(&running!(), builds);
}

const SUM: &str = "/// Adds two numbers.\npub fn sum_of(a: i32, b: i32) -> i32 {\n    a + b\n}\n";

#[test]
fn a_file_is_no_folder_of_another() {
    crate::routes::no_file_is_a_folder(&running!());
}

#[test]
fn content_that_is_no_text_is_not_stored_and_named_by_its_field() {
    crate::routes::only_text_is_kept(&running!());
}

#[test]
fn lengths_are_what_the_description_says() {
    crate::routes::lengths_are_as_described(&running!());
}

#[test]
fn a_file_that_is_removed_is_shown_no_more() {
    crate::routes::removed_files_are_gone(&running!());
}

#[test]
fn files_are_listed_in_the_order_of_their_paths() {
    crate::routes::files_are_listed(&running!());
}

#[test]
fn a_thread_is_read_and_removed_with_what_was_said_in_it() {
    crate::routes::threads_are_removed(&running!());
}

#[test]
fn a_message_that_is_sent_again_is_kept_once() {
    crate::routes::is_kept_once(&running!());
}

#[test]
fn content_that_is_no_text_is_refused() {
    crate::routes::no_text_is_refused(&running!());
}

#[test]
fn threads_are_listed_by_their_last_activity() {
    crate::routes::threads_are_listed_by_activity(&running!());
}

#[test]
fn the_title_of_a_thread_is_changed() {
    crate::routes::titles_are_changed(&running!());
}

#[test]
fn a_stored_file_is_read_back() {
    crate::routes::files_are_read(&running!());
}

#[test]
fn no_receipt_outlives_its_thread() {
    crate::routes::receipts_go_with_their_thread(&running!());
}

#[test]
fn a_receipt_is_removed() {
    crate::routes::receipts_are_removed(&running!());
}

#[test]
fn files_without_a_word_can_be_named() {
    crate::routes::blank_files_can_be_named(&running!());
}

#[test]
fn files_are_kept_and_found() {
    let server = running!();
    let send = |content: &str| {
        let files = json!({"files": [{"path": "src/sum.rs", "content": content}]});
        server.post(ADA, "/v1/files", &files).data(200)["files"][0]["status"].clone()
    };
    assert_eq!(send("fn other() {}\n"), "created");
    assert_eq!(send(SUM), "updated");
    assert_eq!(send(SUM), "unchanged");
    let wanted = json!({"message": "what does sum_of do?"});
    let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
    let context = built["context"].as_str().unwrap();
    assert!(context.contains("a + b"), "{built}");
    assert!(!context.contains("other"), "{built}");
    let foreign = server.post(BOB, "/v1/context/build", &wanted).data(200);
    assert_eq!(foreign["items"], json!([]));
    for (path, content, field) in [
        ("../a.rs", "x", "files[0].path"),
        ("", "x", "files[0].path"),
        ("a.rs", "a\0b", "files[0].content"),
    ] {
        let files = json!({"files": [{"path": path, "content": content}]});
        let answer = server.post(ADA, "/v1/files", &files);
        answer.refused(answer.status, field);
        assert!((400..500).contains(&answer.status), "{answer:?}");
    }
}

#[test]
fn contexts_show_the_latest_version_of_a_file() {
    let server = running!();
    let wanted = json!({"message": "what does sum_of do?"});
    for word in ["first", "second", "third"] {
        let text = SUM.replace("a + b", &format!("{word}(a, b)"));
        let files = json!({"files": [{"path": "src/sum.rs", "content": text}]});
        server.post(ADA, "/v1/files", &files).data(200);
        for is_cached in [false, true] {
            let answer = server.post(ADA, "/v1/context/build", &wanted);
            let built = answer.data(200);
            assert!(built["context"].as_str().unwrap().contains(word), "{built}");
            assert_eq!(answer.json()["meta"]["cached"], is_cached);
        }
    }
}

#[test]
fn a_file_that_is_not_what_its_hash_says_is_told_and_not_shown() {
    let Some(database) = Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let server = Running::over(&url);
    let files = json!({"files": [
        {"path": "src/sum.rs", "content": SUM},
        {"path": "src/other.rs", "content": "fn other() { sum_of(1, 2); }\n"},
    ]});
    server.post(ADA, "/v1/files", &files).data(200);
    block_on(async {
        let raw = ctx_testkit::postgres::raw(&url).await;
        let change = "UPDATE ctx.files SET content = replace(content, 'a + b', 'a - b') WHERE path = 'src/sum.rs'";
        assert_eq!(raw.execute(change, &[]).await.unwrap(), 1);
    });
    let wanted = json!({"message": "what does sum_of do?", "references": ["src/sum.rs"]});
    let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
    let context = built["context"].as_str().unwrap();
    assert!(!context.contains("a - b"), "{built}");
    assert!(context.contains("other"), "{built}");
    let warnings = built["warnings"].to_string();
    assert!(
        warnings.contains("src/sum.rs") && warnings.contains("does not match its hash"),
        "{built}"
    );
    let read = || server.get(ADA, "/v1/files/content?path=src/sum.rs");
    read().refused(500, "");
    assert!(read().body.contains("the file is damaged"));
    // Sent anew, it is whole again.
    let sent = server.post(ADA, "/v1/files", &files).data(200);
    assert_eq!(sent["files"][0]["status"], "updated");
    assert_eq!(sent["files"][1]["status"], "unchanged");
    assert_eq!(read().data(200)["content"], SUM);
    let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
    assert!(
        built["context"].as_str().unwrap().contains("a + b"),
        "{built}"
    );
}

#[test]
fn stored_outlines_do_not_change_a_context() {
    let Some(database) = Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let caller = format!("fn caller() {{\n{}}}\n", "    sum_of(1, 2);\n".repeat(300));
    let files = json!({"files": [
        {"path": "src/sum.rs", "content": SUM},
        {"path": "src/caller.rs", "content": caller},
    ]});
    // Of no words, so that nothing is searched for, and too little room for all of it.
    let wanted = json!({
        "message": "what is it?",
        "references": ["src/caller.rs"],
        "options": {"maxTokens": 600, "reserve": 0},
    });
    let shown = |change: &str| {
        block_on(async {
            let raw = ctx_testkit::postgres::raw(&url).await;
            raw.execute(change, &[]).await.unwrap()
        });
        // One that has read nothing yet.
        let server = Running::over(&url);
        let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
        built["context"].as_str().unwrap().to_owned()
    };
    Running::over(&url).post(ADA, "/v1/files", &files).data(200);
    let nothing = "SELECT FROM ctx.files WHERE outline IS NOT NULL";
    // What was shown once counts as recent.
    shown(nothing);
    let as_stored = shown(nothing);
    assert!(as_stored.contains("Shown: skeleton"), "{as_stored}");
    for change in [
        "UPDATE ctx.files SET outline = set_byte(outline, 12, 255 - get_byte(outline, 12))",
        "UPDATE ctx.files f SET outline = (SELECT outline FROM ctx.files o WHERE o.path <> f.path)",
        "UPDATE ctx.files SET outline = ''",
        "UPDATE ctx.files SET outline = NULL",
    ] {
        assert_eq!(shown(change), as_stored, "{change}");
    }
}

#[test]
fn every_route_of_the_database_is_closed_to_others() {
    crate::matrix::every_route_is_closed(&running!());
}

#[test]
fn replays_of_a_vote_count_once() {
    crate::matrix::replays_count_once(&running!(), 4, 25);
}

#[test]
fn each_context_of_the_database_counts_once() {
    crate::matrix::each_context_counts_once(&running!());
}

#[test]
fn a_file_of_the_database_that_says_quoted_parts_have_the_highest_relevance() {
    crate::priming::quoted_parts_have_the_highest_relevance(&running!());
}

#[test]
fn what_was_said_last_in_the_database_can_be_listed_first() {
    crate::routes::messages_are_listed_from_either_end(&running!());
}

#[test]
fn a_page_of_large_messages_has_fewer() {
    crate::routes::a_page_of_messages_has_few_bytes(&running!());
}

#[test]
fn threads_have_their_messages_pages_and_pins() {
    let server = running!();
    let files = json!({"files": [{"path": "src/sum.rs", "content": SUM}]});
    server.post(ADA, "/v1/files", &files).data(200);
    let thread = json!({"id": "t", "title": "Sums", "pinned": ["src/sum.rs"]});
    let begun = server.post(ADA, "/v1/threads", &thread).data(201);
    assert_eq!(begun["title"], "Sums");
    assert_eq!(server.post(ADA, "/v1/threads", &thread).data(200), begun);
    let other = json!({"id": "t", "title": "Sums"});
    server.post(ADA, "/v1/threads", &other).refused(409, "id");
    server.post(BOB, "/v1/threads", &thread).data(201);
    for number in 1..=5 {
        let message = json!({"role": "user", "content": format!("said {number}")});
        server
            .post(ADA, "/v1/threads/t/messages", &message)
            .data(201);
    }
    let message = json!({"role": "user", "content": "x"});
    server
        .post(ADA, "/v1/threads/none/messages", &message)
        .refused(404, "id");
    let mut said = Vec::new();
    let mut path = "/v1/threads/t/messages?limit=2".to_owned();
    loop {
        let page = server.get(ADA, &path).json();
        let messages = page["data"].as_array().unwrap();
        assert!(messages.len() <= 2);
        said.extend(
            messages
                .iter()
                .map(|it| it["content"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["meta"]["next"].as_i64() else {
            break;
        };
        path = format!("/v1/threads/t/messages?limit=2&after={next}");
    }
    let all: Vec<String> = (1..=5).map(|it| format!("said {it}")).collect();
    assert_eq!(said, all);
    let threads = server.get(ADA, "/v1/threads").data(200);
    assert_eq!(threads[0]["pinned"], json!(["src/sum.rs"]));
    let wanted = json!({"threadId": "t", "message": "and then?"});
    let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
    let context = built["context"].as_str().unwrap();
    assert!(
        context.contains("a + b") && context.contains("said 5"),
        "{built}"
    );
    let kept = server.get(
        ADA,
        &format!("/v1/context/{}", built["id"].as_str().unwrap()),
    );
    assert_eq!(kept.data(200)["receipt"]["context"], built["context"]);
}

#[test]
fn processes_of_one_database_are_one_store() {
    let Some(database) = Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let (one, other) = (Running::over(&url), Running::over(&url));
    let files = json!({"files": [{"path": "src/sum.rs", "content": SUM}]});
    one.post(ADA, "/v1/files", &files).data(200);
    one.post(ADA, "/v1/threads", &json!({"id": "t"})).data(201);
    let message = json!({"role": "user", "content": "said here"});
    other
        .post(ADA, "/v1/threads/t/messages", &message)
        .data(201);
    let wanted = json!({"threadId": "t", "message": "what does sum_of do?"});
    let built = one.post(ADA, "/v1/context/build", &wanted).data(200);
    assert!(built["context"].as_str().unwrap().contains("said here"));
    let kept = other.get(
        ADA,
        &format!("/v1/context/{}", built["id"].as_str().unwrap()),
    );
    assert_eq!(kept.data(200)["receipt"]["context"], built["context"]);
    // Handles of one count at the other, and once.
    let vote = json!({"handle": built["handle"], "useful": true});
    let counted = |server: &Running| {
        server.post(ADA, "/v1/context/feedback", &vote).data(200)["counted"].clone()
    };
    assert_eq!(counted(&other), true);
    assert_eq!(counted(&one), false);
    other
        .post(BOB, "/v1/context/feedback", &vote)
        .refused(422, "handle");
    // What one has read, another may have changed since.
    let shows = |server: &Running, text: &str| {
        let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
        built["context"].as_str().unwrap().contains(text)
    };
    let changed = SUM.replace("a + b", "added(a, b)");
    let changed = json!({"files": [{"path": "src/sum.rs", "content": changed}]});
    other.post(ADA, "/v1/files", &changed).data(200);
    assert!(shows(&one, "added(a, b)") && !shows(&one, "a + b"));
    let removed = json!({"paths": ["src/sum.rs"]});
    crate::routes::delete(&other, ADA, "/v1/files", Some(&removed)).data(200);
    assert!(!shows(&one, "added(a, b)"));
}

#[test]
fn files_that_were_not_changed_are_read_once() {
    let Some(database) = Server::start(&["-c", "fsync=off", "-c", "log_statement=all"]) else {
        return;
    };
    let server = Running::over(&block_on(database.database()));
    let send = |path: &str| {
        let files = json!({"files": [{"path": path, "content": SUM}]});
        server.post(ADA, "/v1/files", &files).data(200);
    };
    send("src/sum.rs");
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    let reads = |message: &str| {
        let before = database.log().len();
        let wanted = json!({"threadId": "t", "message": message});
        let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
        assert!(built["context"].as_str().unwrap().contains("a + b"));
        let logged = database.log().split_off(before);
        logged
            .matches("FROM ctx.files WHERE owner = $1 AND path = ANY ($2)")
            .count()
    };
    assert_eq!(reads("what does sum_of do?"), 1);
    assert_eq!(reads("who needs sum_of?"), 0);
    send("src/other.rs");
    assert_eq!(reads("is sum_of good?"), 1);
    assert_eq!(reads("is sum_of bad?"), 0);
}

#[test]
fn a_server_is_ready_when_its_database_is_and_keeps_what_it_said() {
    let Some(database) = Server::start(&[]) else {
        return;
    };
    let server = Running::over(&block_on(database.database()));
    assert_eq!(server.get("", "/readyz").status, 200);
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    let message = json!({"role": "user", "content": "kept"});
    server
        .post(ADA, "/v1/threads/t/messages", &message)
        .data(201);
    let file = json!({"files": [{"path": "kept.md", "content": "What was kept.\n"}]});
    server.post(ADA, "/v1/files", &file).data(200);
    let asked = json!({"message": "what was kept?"});
    let built = server.post(ADA, "/v1/context/build", &asked).data(200);
    database.kill();
    let is_forgotten = || std::thread::sleep(Duration::from_millis(1_100));
    is_forgotten();
    let unready = server.get("", "/readyz");
    unready.refused(503, "");
    assert_eq!(
        unready.json()["detail"],
        "the store is not ready",
        "why is for the log"
    );
    assert_eq!(server.get("", "/healthz").status, 200);
    let in_thread = json!({"message": "what was kept?", "threadId": "t"});
    let files = json!({"files": [{"path": "a.rs", "content": "fn a() {}\n"}]});
    let vote = json!({"handle": built["handle"], "useful": true});
    for failed in [
        server.post(ADA, "/v1/threads/t/messages", &message),
        server.get(ADA, "/v1/threads"),
        server.post(ADA, "/v1/context/build", &in_thread),
        server.post(ADA, "/v1/files", &files),
        server.post(ADA, "/v1/context/feedback", &vote),
    ] {
        failed.refused(503, "");
        assert_eq!(failed.header("retry-after"), Some("1"), "{failed:?}");
    }
    database.restart();
    is_forgotten();
    assert_eq!(server.get("", "/readyz").status, 200);
    let said = server.get(ADA, "/v1/threads/t/messages").data(200);
    assert_eq!(said[0]["content"], "kept");
}

#[test]
fn a_database_that_goes_while_it_is_asked_is_not_the_fault_of_what_it_was_asked() {
    let Some(database) = Server::start(&[]) else {
        return;
    };
    let url = block_on(database.database());
    let server = Running::over(&url);
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    let message = json!({"role": "user", "content": "x"});
    for is_killed in [false, true] {
        let answer = std::thread::scope(|scope| {
            block_on(async {
                let raw = ctx_testkit::postgres::raw(&url).await;
                let lock = "BEGIN; LOCK TABLE ctx.messages IN ACCESS EXCLUSIVE MODE";
                raw.batch_execute(lock).await.unwrap();
                let ask = || scope.spawn(|| server.post(ADA, "/v1/threads/t/messages", &message));
                let mut asking = ask();
                let waiting = "SELECT pid FROM pg_locks WHERE NOT granted";
                while raw.query(waiting, &[]).await.unwrap().is_empty() {
                    if asking.is_finished() {
                        // It had a connection that had gone before.
                        asking.join().unwrap().refused(503, "");
                        asking = ask();
                    }
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                if is_killed {
                    database.kill();
                }
                // What only reads is tried again some times.
                while !is_killed && !asking.is_finished() {
                    let end = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted";
                    raw.query(end, &[]).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                asking.join().unwrap()
            })
        });
        answer.refused(503, "");
        assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}");
        if is_killed {
            // So it frees the shared memory that it had.
            database.restart();
        }
    }
}

#[test]
fn a_database_that_is_silent_is_told_within_the_time_of_each_request() {
    let Some(database) = Server::start(&[]) else {
        return;
    };
    let url = block_on(database.database());
    let limits = DatabaseLimits::default();
    let backend = block_on(Postgres::connect(&url, limits, Quota::default())).unwrap();
    // As they are where nothing else is said.
    let server = Running::start(Arc::new(backend), ctx_server::Limits::default());
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    let wanted = json!({"message": "what was said?", "threadId": "t"});
    server.post(ADA, "/v1/context/build", &wanted).data(200);
    let message = json!({"role": "user", "content": "x"});
    database.stop();
    let asked = [
        ("/v1/context/build", wanted),
        ("/v1/threads/t/messages", message),
        ("/v1/files", files_of("sum")),
    ];
    let answers = std::thread::scope(|scope| {
        let asking = asked.each_ref().map(|(path, body)| {
            let server = &server;
            scope.spawn(move || [(); 2].map(|()| server.post(ADA, path, body)))
        });
        asking.map(|it| it.join().unwrap())
    });
    database.go_on();
    for answer in answers.as_flattened() {
        answer.refused(503, "");
        assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}");
    }
}

#[test]
fn a_database_that_a_later_program_has_migrated_is_told_to_be() {
    let Some(database) = Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let server = Running::over(&url);
    block_on(async {
        let raw = ctx_testkit::postgres::raw(&url).await;
        let later = "INSERT INTO ctx.version (version) VALUES (99)";
        raw.execute(later, &[]).await.unwrap();
    });
    let answer = server.get("", "/readyz");
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json()["detail"], "the store is not ready");
}

#[test]
fn files_in_the_database_have_no_secret_whoever_sends_them() {
    let Some(database) = Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let file = NewFile {
        path: "src/forge.rs".to_owned(),
        content: format!("fn connect() {{\n    login(\"{secret}\");\n}}\n"),
    };
    block_on(async {
        let limits = DatabaseLimits::default();
        let store = Postgres::connect(&url, limits, Quota::default())
            .await
            .unwrap();
        let ada = Owner::new("ada").unwrap();
        let ingested = store.ingest(&ada, vec![file]).await.unwrap();
        assert_eq!(ingested.masked_secrets, 1);
        let raw = ctx_testkit::postgres::raw(&url).await;
        let kept = raw.query_one("SELECT content FROM ctx.files", &[]).await;
        let kept: String = kept.unwrap().get(0);
        assert!(kept.contains("login(") && !kept.contains(&secret), "{kept}");
    });
}

#[test]
fn a_database_that_takes_no_writes_is_not_ready() {
    let Some(database) = Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let server = Running::over(&url);
    let thread = |id: &str| server.post(ADA, "/v1/threads", &json!({"id": id}));
    thread("t").data(201);
    let files = json!({"files": [{"path": "src/sum.rs", "content": SUM}]});
    server.post(ADA, "/v1/files", &files).data(200);
    let build = || {
        let question = json!({"threadId": "t", "message": "what does sum do?"});
        let built = server.post(ADA, "/v1/context/build", &question);
        let id = built.data(200)["id"].as_str().unwrap().to_owned();
        server.get(ADA, &format!("/v1/context/{id}"))
    };
    let set = |value: &str| {
        let name = url.rsplit_once('=').unwrap().1;
        let set = format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = {value};
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        );
        block_on(async {
            database
                .raw("postgres")
                .await
                .batch_execute(&set)
                .await
                .unwrap();
        });
        // Connections that were closed are noticed by whoever has them next, and what was told is
        // forgotten.
        std::thread::sleep(Duration::from_millis(1_100));
    };
    set("on");
    assert_eq!(server.get("", "/readyz").status, 503);
    let refused = thread("u");
    refused.refused(503, "");
    assert_eq!(refused.header("retry-after"), Some("1"), "{refused:?}");
    assert_eq!(server.get(ADA, "/v1/threads").data(200)[0]["id"], "t");
    build().refused(404, "id");
    let again = Postgres::connect(&url, DatabaseLimits::default(), Quota::default());
    let error = block_on(again).unwrap_err();
    let told = std::error::Error::source(&error).unwrap().to_string();
    assert!(told.contains("nothing can be written"), "{told}");
    set("off");
    assert_eq!(server.get("", "/readyz").status, 200);
    thread("u").data(201);
    build().data(200);
}

/// Another process has what an owner's writes take turns by: of those here one of each kind waits
/// for it, and has a connection.
#[test]
fn writes_of_one_owner_leave_connections_and_turns_to_others() {
    let Some(database) = Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let server = Running::over(&url);
    let files = json!({"files": [{"path": "src/sum.rs", "content": SUM}]});
    for token in [ADA, BOB] {
        server.post(token, "/v1/files", &files).data(200);
        let thread = json!({"id": "t"});
        server.post(token, "/v1/threads", &thread).data(201);
    }
    block_on(async {
        let other = ctx_testkit::postgres::raw(&url).await;
        let take = "BEGIN;
            SELECT pg_advisory_xact_lock(hashtextextended('ctx.files:ada', 0));
            SELECT FROM ctx.said WHERE owner = 'ada' FOR UPDATE";
        other.batch_execute(take).await.unwrap();
        let message = json!({"role": "user", "content": "x"});
        let sent: Vec<_> = (0..12)
            .flat_map(|_| {
                [
                    server.begin(ADA, "POST /v1/files", &files_of("other")),
                    server.begin(ADA, "POST /v1/threads/t/messages", &message),
                ]
            })
            .collect();
        while waiting(&url).await < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // All of them were sent before.
        let wanted = json!({"threadId": "t", "message": "what does sum_of do?"});
        let built = server.post(BOB, "/v1/context/build", &wanted).data(200);
        assert!(built["context"].as_str().unwrap().contains("a + b"));
        server.post(BOB, "/v1/files", &files_of("other")).data(200);
        let added = server.post(BOB, "/v1/threads/t/messages", &message);
        added.data(201);
        assert_eq!(waiting(&url).await, 2);
        other.batch_execute("COMMIT").await.unwrap();
        for stream in sent {
            let answer = crate::client::Answer::read(stream);
            assert!([200, 201].contains(&answer.status), "{answer:?}");
        }
    });
}

/// Another process has what both wait for, so that both have looked for the file before either
/// removes it.
#[test]
fn of_two_who_remove_a_file_at_once_one_removed_it() {
    let Some(database) = Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let servers = [Running::over(&url), Running::over(&url)];
    let kept = servers[0].post(ADA, "/v1/files", &files_of("sum"));
    kept.data(200);
    block_on(async {
        let other = ctx_testkit::postgres::raw(&url).await;
        let take = "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('ctx.files:ada', 0))";
        other.batch_execute(take).await.unwrap();
        let paths = json!({"paths": ["src/sum.rs"]});
        let sent = servers
            .each_ref()
            .map(|it| it.begin(ADA, "DELETE /v1/files", &paths));
        while waiting(&url).await < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        other.batch_execute("COMMIT").await.unwrap();
        let mut said = sent.map(|it| {
            let answer = crate::client::Answer::read(it);
            answer.data(200)["files"][0]["status"].clone()
        });
        said.sort_by_key(ToString::to_string);
        assert_eq!(said, ["absent", "removed"]);
    });
}

/// How many statements wait for a lock.
async fn waiting(url: &str) -> i64 {
    let looking = ctx_testkit::postgres::raw(url).await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    looking.query_one(waiting, &[]).await.unwrap().get(0)
}

fn files_of(name: &str) -> serde_json::Value {
    json!({"files": [{"path": format!("src/{name}.rs"), "content": SUM}]})
}

#[test]
fn a_database_that_is_not_there_is_named_without_its_password() {
    let url = "postgres://ada:sesame@127.0.0.1:1/store";
    let limits = DatabaseLimits::default();
    let error = block_on(Postgres::connect(url, limits, Quota::default())).unwrap_err();
    let mut told = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        told = format!("{told}: {error}");
        source = error.source();
    }
    assert!(told.contains("127.0.0.1:1"), "{told}");
    for secret in ["sesame", "ada", "store?"] {
        assert!(!told.contains(secret), "{told}");
    }
}

#[test]
fn limits_of_the_database_leave_batches_and_lists_whole() {
    let Some(database) = Server::shared() else {
        return;
    };
    let url = block_on(database.database());
    let mut limits = DatabaseLimits::default().with_reading(Duration::from_mins(1));
    limits.file_bytes = 100;
    limits.rows = 2;
    let backend = block_on(Postgres::connect(&url, limits, Quota::default())).unwrap();
    let server = Running::start(Arc::new(backend), ctx_server::Limits::default());
    let large = json!({"path": "large.rs", "content": "x".repeat(101)});
    let small = |name: &str| json!({"path": name, "content": "x"});
    let both = json!({"files": [small("a.rs"), large]});
    server
        .post(ADA, "/v1/files", &both)
        .refused(422, "files[1].content");
    assert_eq!(server.get(ADA, "/v1/files").data(200), json!([]));
    let four = ["a", "b", "c", "d"].map(small);
    let four = json!({"files": four});
    server.post(ADA, "/v1/files", &four).data(200);
    let listed = server.get(ADA, "/v1/files?limit=3").json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 3);
    assert_eq!(listed["meta"]["next"], "c");
}
