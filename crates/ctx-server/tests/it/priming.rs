//! What a context built over HTTP contains, and when it comes from the cache.

use ctx_server::Limits;
use serde_json::{Value, json};

use crate::client::{ADA, Answer, BOB, OPERATOR, Running};

fn keep(server: &Running, token: &str, files: &[(&str, &str)]) {
    let files: Vec<Value> = files
        .iter()
        .map(|(path, content)| json!({"path": path, "content": content}))
        .collect();
    server
        .post(token, "/v1/files", &json!({"files": files}))
        .data(200);
}

fn begin(server: &Running, token: &str, id: &str, messages: &[(&str, &str)]) {
    server
        .post(token, "/v1/threads", &json!({"id": id}))
        .data(201);
    for message in messages {
        say(server, token, id, *message);
    }
}

fn say(server: &Running, token: &str, thread: &str, (role, content): (&str, &str)) -> Value {
    let path = format!("/v1/threads/{thread}/messages");
    let message = json!({"role": role, "content": content});
    server.post(token, &path, &message).data(201)
}

fn build(server: &Running, token: &str, body: &Value) -> Answer {
    let answer = server.post(token, "/v1/context/build", body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

fn is_cached(answer: &Answer) -> bool {
    answer.json()["meta"]["cached"].as_bool().unwrap()
}

fn vote(server: &Running, handle: &Value, useful: bool) -> bool {
    let vote = json!({"handle": handle, "useful": useful});
    let data = server.post(ADA, "/v1/context/feedback", &vote).data(200);
    data["counted"].as_bool().unwrap()
}

/// The item of a file: its id, its worth and its handle.
#[track_caller]
fn item<'d>(data: &'d Value, source: &str) -> &'d Value {
    let items = data["items"].as_array().unwrap();
    let found = items
        .iter()
        .find(|it| it["source"].as_str().unwrap().starts_with(source));
    found.unwrap_or_else(|| panic!("no {source} in {data}"))
}

/// Asks until what goes on behind the answers is done.
fn until(mut ask: impl FnMut() -> Option<Value>) -> Value {
    for _ in 0..500 {
        if let Some(found) = ask() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it never came");
}

const TIDES: &str =
    "fn tide_height(moon: f64) -> f64 {\n    let pull = moon * 0.46;\n    pull + 1.0\n}\n";
const LOCKS: &str = "fn close_lock(gate: u32) {\n    lower(gate);\n}\n\nfn open_lock(gate: u32) {\n    raise(gate);\n}\n";

#[test]
fn tokens_are_kept_back_for_the_answer() {
    let server = Running::embedded();
    let tide = |n: u32| format!("fn tide_{n}() {{\n{}}}\n\n", "    tide(moon);\n".repeat(20));
    let long = (0..60).map(tide).collect::<Vec<_>>().concat();
    keep(&server, ADA, &[("a.rs", &long), ("b.rs", TIDES)]);
    for (options, most) in [
        (json!({}), 3_500),
        (json!({"maxTokens": 800}), 700),
        (json!({"maxTokens": 800, "reserve": 0}), 800),
        (json!({"maxTokens": 9_000, "reserve": 8_000}), 1_000),
    ] {
        let wanted = json!({"message": "tide tide_height", "options": options});
        let data = build(&server, ADA, &wanted).data(200);
        let total = data["tokens"]["total"].as_u64().unwrap();
        assert!(total <= most && total > most / 4, "{total} of {most}");
    }
}

/// Parts that were left out of a context of so many tokens, and the budgets at which they would be
/// let in.
fn entering(server: &Running, question: &str, options: &Value) -> Vec<(String, u64)> {
    let wanted = json!({"message": question, "options": options});
    let data = build(server, ADA, &wanted).data(200);
    let omitted = data["omitted"].as_array().unwrap().iter();
    let entering =
        omitted.filter_map(|it| Some((it["id"].as_str()?.to_owned(), it["entersAt"].as_u64()?)));
    entering.collect()
}

/// Also where what is reserved of it is a share of it, and never where more would be looked for.
#[test]
fn omitted_chunks_enter_at_the_reported_budget() {
    let server = Running::embedded();
    let tides = |n: usize| {
        let lines = "    moon.pull(tide_height);\n".repeat(5 + n * 3 % 17);
        (
            format!("src/tide_{n}.rs"),
            format!("fn tide_height_{n}(moon: Moon) {{\n{lines}}}\n"),
        )
    };
    let files: Vec<(String, String)> = (0..30).map(tides).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|it| (&*it.0, &*it.1)).collect();
    keep(&server, ADA, &files);
    let question = "tide_height of the moon";
    let mut asked = 0;
    for options in [
        json!({"maxTokens": 600}),
        json!({"maxTokens": 600, "reserve": 0}),
        json!({"maxTokens": 900}),
    ] {
        // What was shown lately changes no more.
        for _ in 0..3 {
            entering(&server, question, &options);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        for (id, budget) in entering(&server, question, &options).into_iter().take(6) {
            assert!(budget <= 3_279, "{options} {id} {budget}");
            let mut more = options.clone();
            more["maxTokens"] = budget.into();
            let wanted = json!({"message": question, "options": more});
            let data = build(&server, ADA, &wanted).data(200);
            let mut included = data["included"].as_array().unwrap().iter();
            assert!(
                included.any(|it| it["id"] == *id),
                "{options} {id} {budget}: {data}"
            );
            asked += 1;
        }
    }
    assert!(asked > 10, "{asked}");
    for max_tokens in [3_200, 3_279, 4_000] {
        let told = entering(&server, question, &json!({"maxTokens": max_tokens}));
        let known = told
            .iter()
            .all(|it| it.1 < u64::max(3_280, max_tokens / 80 * 80 + 80));
        assert!(known, "{max_tokens} {told:?}");
    }
}

#[test]
fn references_are_included_in_every_notation() {
    let server = Running::embedded();
    keep(
        &server,
        ADA,
        &[("src/tides.rs", TIDES), ("src/locks.rs", LOCKS)],
    );
    begin(
        &server,
        ADA,
        "t",
        &[("user", "first words"), ("assistant", "an answer")],
    );
    let said = say(&server, ADA, "t", ("user", "last words"));
    for (reference, shown) in [
        ("src/tides.rs", "pull + 1.0"),
        ("@src/tides.rs", "pull + 1.0"),
        ("tides.rs:2-3", "let pull"),
        ("@src/tides.rs#L3", "pull + 1.0"),
        ("close_lock", "lower(gate)"),
        ("@open_lock", "raise(gate)"),
    ] {
        let wanted = json!({"message": "?", "threadId": "t", "references": [reference]});
        let data = build(&server, ADA, &wanted).data(200);
        let context = data["context"].as_str().unwrap();
        assert!(context.contains(shown), "{reference}: {context}");
        assert_eq!(data["stats"]["explicitCount"], 1, "{reference}");
        assert_eq!(data["warnings"], Value::Null, "{reference}");
        let item = item(&data, "src/");
        assert_eq!(
            (&item["type"], &item["relevance"]),
            (&json!("reference"), &json!(1.0))
        );
        // The message may name it as well.
        let name = reference.trim_start_matches('@');
        let wanted = json!({"message": format!("what of @{name} ?"), "threadId": "t"});
        let data = build(&server, ADA, &wanted).data(200);
        assert_eq!(data["stats"]["explicitCount"], 1, "{name}");
    }
    // A message by its id, and whatever the thread was shown by its label.
    let wanted = json!({"message": "?", "threadId": "t", "references": [said["id"]]});
    let data = build(&server, ADA, &wanted).data(200);
    assert_eq!(data["warnings"], Value::Null);
    let worth: Vec<&Value> = data["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["relevance"] == 1.0)
        .collect();
    assert_eq!(worth.len(), 1, "{data}");
    let wanted = json!({"message": "?", "threadId": "t", "references": [worth[0]["id"]]});
    let data = build(&server, ADA, &wanted).data(200);
    assert_eq!(data["warnings"], Value::Null);
    let wanted = json!({"message": "?", "references": ["nowhere.rs", "src"]});
    let data = build(&server, ADA, &wanted).data(200);
    assert_eq!(data["warnings"][0]["code"], "unknown_reference");
    assert_eq!(data["warnings"][1]["code"], "unknown_reference");
}

/// One of many files with the same words has them as the message quotes them.
pub(crate) fn quoted_parts_have_the_highest_relevance(server: &Running) {
    let says =
        |n: usize| format!("// A folder {n} is not a file.\nfn folder_{n}(file: File) {{}}\n");
    let mut files: Vec<(String, String)> = (0..12)
        .map(|n| (format!("src/folder_{n}.rs"), says(n)))
        .collect();
    let bail = "fn open(path: &str) {\n    let found = look(path);\n    bail!(\"{path} is a file,  not a Folder\");\n}\n";
    files.push(("src/open.rs".to_owned(), bail.to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|it| (&*it.0, &*it.1)).collect();
    keep(server, ADA, &files);
    begin(
        server,
        ADA,
        "folders",
        &[("user", "is a file, not a folder")],
    );
    let message = "What does `is a file, not a folder` mean?";
    let body = json!({"message": message, "threadId": "folders"});
    let data = build(server, ADA, &body).data(200);
    let worth = |it: &Value| it["relevance"].as_f64().unwrap();
    let quoted = worth(item(&data, "src/open.rs"));
    let others = data["items"].as_array().unwrap().iter().map(worth);
    assert!(quoted >= others.fold(0.0, f64::max), "{data}");
}

#[test]
fn a_file_that_says_what_is_quoted_is_worth_most() {
    quoted_parts_have_the_highest_relevance(&Running::embedded());
}

#[test]
fn the_last_twenty_messages_are_in_and_in_their_order() {
    let server = Running::embedded();
    begin(&server, ADA, "t", &[]);
    for turn in 0..15 {
        say(
            &server,
            ADA,
            "t",
            ("user", &format!("question number {turn}")),
        );
        say(
            &server,
            ADA,
            "t",
            ("assistant", &format!("answer number {turn}")),
        );
    }
    let data = build(
        &server,
        ADA,
        &json!({"message": "and now?", "threadId": "t"}),
    )
    .data(200);
    let context = data["context"].as_str().unwrap();
    assert_eq!(data["stats"]["historyCount"], 10);
    let mut from = 0;
    for turn in 5..15 {
        for said in [
            format!("question number {turn}"),
            format!("answer number {turn}"),
        ] {
            let at = context[from..].find(&said);
            from += at.unwrap_or_else(|| panic!("no {said} after {from} in {context}"));
        }
    }
    assert!(!context.contains("number 4"), "{context}");
    // What is asked may be in the thread already, and an answer may take several messages.
    say(&server, ADA, "t", ("user", "and now?"));
    let now = json!({"message": "and now?", "threadId": "t"});
    assert_eq!(
        build(&server, ADA, &now).data(200)["context"],
        data["context"]
    );
    for said in [("tool", "looked it up"), ("assistant", "answer number 15")] {
        say(&server, ADA, "t", said);
    }
    let now = json!({"message": "and then?", "threadId": "t"});
    let data = build(&server, ADA, &now).data(200);
    let context = data["context"].as_str().unwrap();
    let first = context.find("question number 6").unwrap();
    assert!(
        first < context.find("answer number 6").unwrap(),
        "{context}"
    );
    assert!(context.contains("answer number 15"), "{context}");
    assert!(!context.contains("number 5"), "{context}");
}

#[test]
fn files_that_were_shown_lately_are_considered_again() {
    let server = Running::embedded();
    keep(&server, ADA, &[("tides.rs", TIDES), ("locks.rs", LOCKS)]);
    let data = build(&server, ADA, &json!({"message": "close_lock"})).data(200);
    assert_eq!(data["files"], json!(["locks.rs"]));
    let mut asked = 0;
    let data = until(|| {
        asked += 1;
        let wanted = json!({"message": format!("tide_height {asked}")});
        let data = build(&server, ADA, &wanted).data(200);
        (data["stats"]["recentCount"] != 0).then_some(data)
    });
    assert_eq!(item(&data, "locks.rs")["type"], "file");
    // Nobody else's.
    keep(&server, BOB, &[("locks.rs", LOCKS)]);
    let data = build(&server, BOB, &json!({"message": "tide_height"})).data(200);
    assert_eq!(data["stats"]["recentCount"], 0);
}

#[test]
fn an_equal_request_gets_the_same_context_until_something_has_changed() {
    let server = Running::embedded();
    for token in [ADA, BOB] {
        keep(&server, token, &[("tides.rs", TIDES)]);
        begin(&server, token, "t", &[("user", "how high?")]);
    }
    let wanted = json!({"message": "tide_height", "threadId": "t"});
    let first = build(&server, ADA, &wanted);
    assert!(!is_cached(&first));
    let again = build(&server, ADA, &wanted);
    assert!(is_cached(&again));
    let (first, again) = (first.data(200), again.data(200));
    for same in [
        "id",
        "handle",
        "context",
        "digest",
        "items",
        "stats",
        "citations",
    ] {
        assert_eq!(first[same], again[same], "{same}");
    }
    assert_eq!(again["timings"], json!([]));
    let receipt = format!("/v1/context/{}", again["id"].as_str().unwrap());
    let receipt = server.get(ADA, &receipt).data(200);
    assert_eq!(receipt["receipt"]["digest"], first["digest"]);

    let fresh = |body: &Value| assert!(!is_cached(&build(&server, ADA, body)), "{body}");
    fresh(&json!({"message": "tide_height"}));
    fresh(&json!({"message": "tide_height", "threadId": "t", "references": ["tides.rs"]}));
    fresh(&json!({"message": "tide_height", "threadId": "t", "options": {"maxTokens": 3_999}}));
    assert!(!is_cached(&build(&server, BOB, &wanted)));
    assert!(is_cached(&build(&server, ADA, &wanted)));
    say(&server, ADA, "t", ("assistant", "very"));
    fresh(&wanted);
    assert!(is_cached(&build(&server, ADA, &wanted)));
    keep(&server, ADA, &[("locks.rs", LOCKS)]);
    fresh(&wanted);
    let of_now = build(&server, ADA, &wanted);
    assert!(is_cached(&of_now));
    assert!(vote(&server, &of_now.data(200)["handle"], true));
    fresh(&wanted);
    // What another does changes nothing.
    keep(&server, BOB, &[("locks.rs", LOCKS)]);
    assert!(is_cached(&build(&server, ADA, &wanted)));
}

#[test]
fn of_equal_requests_at_once_one_is_worked_on() {
    let mut limits = Limits::default();
    // However long the first takes.
    limits.queue_time = limits.request_time;
    let server = Running::with_limits(limits);
    keep(&server, ADA, &[("tides.rs", TIDES)]);
    let wanted = json!({"message": "tide_height"});
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let ask = || build(&server, ADA, &wanted).data(200);
        let asked: Vec<_> = (0..12).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|it| it["id"] == answers[0]["id"]));
    let metrics = server.get(OPERATOR, "/metrics").body;
    for count in [
        "context_cache_misses_total 1\n",
        "context_cache_hits_total 11\n",
        "context_cache_refused_total 0\n",
    ] {
        assert!(metrics.contains(count), "{count} in {metrics}");
    }
}

#[test]
fn a_vote_changes_what_a_file_is_worth_later_and_a_thousand_replays_change_no_more() {
    let server = Running::embedded();
    keep(&server, ADA, &[("tides.rs", TIDES), ("locks.rs", LOCKS)]);
    let mut budget = 5_000;
    // Each is made anew.
    let mut ask = || {
        budget += 1;
        let wanted = json!({"message": "close_lock tide_height", "options": {"maxTokens": budget}});
        build(&server, ADA, &wanted).data(200)
    };
    // What was shown lately comes in once that is noted, and is then there to stay. Of the tides it
    // is what is found.
    let before = until(|| Some(ask()).filter(|it| it["stats"]["recentCount"] == 1));
    let worth = |data: &Value, path: &str| item(data, path)["relevance"].as_f64().unwrap();
    let handle = &item(&before, "tides.rs")["handle"];
    assert!(vote(&server, handle, true));
    let after = ask();
    let gained = worth(&after, "tides.rs") - worth(&before, "tides.rs");
    // A tenth of the worth is use, and a vote is a tenth of that.
    assert!((gained - 0.01).abs() < 0.001, "{gained}");
    let gained = worth(&after, "locks.rs") - worth(&before, "locks.rs");
    assert!(gained.abs() < 0.001, "{gained}");
    for turn in 0..1_000 {
        assert!(!vote(&server, handle, turn % 2 == 0));
    }
    // Nor does the vote on all of it count again for that file; for the other one it does.
    assert!(vote(&server, &before["handle"], true));
    assert!(!vote(&server, &before["handle"], true));
    let replayed = ask();
    for path in ["tides.rs", "locks.rs"] {
        let gained = worth(&replayed, path) - worth(&before, path);
        assert!((gained - 0.01).abs() < 0.001, "{path}: {gained}");
    }
}

#[test]
fn an_answer_is_held_to_the_context_it_was_given() {
    let server = Running::embedded();
    keep(&server, ADA, &[("tides.rs", TIDES), ("locks.rs", LOCKS)]);
    let wanted = json!({
        "message": "?",
        "references": ["tides.rs", "close_lock"],
        "options": {"includeSources": true},
    });
    let data = build(&server, ADA, &wanted).data(200);
    let context = data["context"].as_str().unwrap();
    let label = |path: &str| item(&data, path)["id"].as_str().unwrap().to_owned();
    let (tides, locks) = (label("tides.rs"), label("locks.rs"));
    // Each block, and the list of sources, say what it is cited by.
    for label in [&tides, &locks] {
        assert_eq!(context.matches(label.as_str()).count(), 2, "{context}");
    }
    let answer = format!(
        "It is \"let pull = moon * 0.46\" [{tides}:2], \"as the moon does\" [{tides}]. \
         See [{tides}:2-9], [ref-000000] and [{locks}, fil-12]. \"let pull = moon * 0.46\" [see {tides}:1]."
    );
    let path = format!("/v1/context/{}/resolve", data["id"].as_str().unwrap());
    let reply = server.post(ADA, &path, &json!({"answer": answer}));
    let resolved = reply.data(200);
    let verdicts: Vec<&str> = resolved["marks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(
        verdicts,
        [
            "sound",
            "misquoted",
            "outOfRange",
            "unknown",
            "sound",
            "malformed",
            "otherLines"
        ]
    );
    assert_eq!(resolved["used"], json!([tides, locks]));
    assert_eq!(
        resolved["text"],
        format!(
            "It is \"let pull = moon * 0.46\" [{tides}:2], \"as the moon does\" [{tides}: not a quotation]. \
             See [{tides}:2-9: no such lines], [ref-000000: unknown] and [{locks}, fil-12: malformed]. \
             \"let pull = moon * 0.46\" [see {tides}:1: not in these lines]."
        )
    );
    let sources = resolved["sources"].as_str().unwrap();
    assert!(sources.starts_with("\n\n---\nSources:\n["), "{sources}");
    assert!(
        sources.contains(&format!("[{tides}]: tides.rs")),
        "{sources}"
    );
    let meta = json!({"citationCount": 7, "soundCount": 2});
    assert_eq!(reply.json()["meta"], meta);
    let range = &resolved["marks"][0]["range"];
    let at = |end: &str| usize::try_from(range[end].as_u64().unwrap()).unwrap();
    assert_eq!(&answer[at("start")..at("end")], format!("{tides}:2"));

    server
        .post(BOB, &path, &json!({"answer": answer}))
        .refused(404, "id");
    server
        .post(ADA, &path, &json!({"answer": ""}))
        .refused(400, "answer");
    server
        .post(ADA, "/v1/context/ctx-none/resolve", &json!({"answer": "x"}))
        .refused(404, "id");
    // The texts of its sources are kept, and not told.
    let receipt = path.strip_suffix("/resolve").unwrap();
    let receipt = server.get(ADA, receipt).data(200);
    assert_eq!(receipt["sources"], Value::Null);
}

#[test]
fn ten_votes_are_as_many_as_count() {
    let server = Running::embedded();
    keep(&server, ADA, &[("tides.rs", TIDES)]);
    let mut worth = Vec::new();
    for turn in 0..14 {
        // In each thread the context is another one.
        let thread = format!("t{turn}");
        begin(&server, ADA, &thread, &[]);
        let wanted = json!({"message": "tide_height", "threadId": thread});
        let data = build(&server, ADA, &wanted).data(200);
        let item = item(&data, "tides.rs");
        worth.push(item["relevance"].as_f64().unwrap());
        assert!(vote(&server, &item["handle"], true));
    }
    for (number, it) in worth.windows(2).enumerate() {
        let gained = if number < 10 { 0.01 } else { 0.0 };
        assert!((it[1] - it[0] - gained).abs() < 0.001, "{worth:?}");
    }
}

#[cfg(unix)]
#[test]
fn the_secret_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let open = || ctx_server::Embedded::open(folder.path(), ctx_server::Quota::default());
    drop(open().unwrap());
    let secret = folder.path().join("secret");
    let bytes = std::fs::read(&secret).unwrap();
    assert_eq!(bytes.len(), 32);
    let mode = std::fs::metadata(&secret).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(open().unwrap());
    assert_eq!(std::fs::read(&secret).unwrap(), bytes);
    for cut in [&bytes[1..], &[], &[7; 33]] {
        std::fs::write(&secret, cut).unwrap();
        let error = open().unwrap_err();
        let told = std::error::Error::source(&error).unwrap().to_string();
        assert!(told.contains("`secret` is not 32 bytes long"), "{told}");
    }
}
