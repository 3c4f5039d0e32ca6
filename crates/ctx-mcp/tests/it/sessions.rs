//! What was sent in a session is not sent again.

use serde_json::json;

use crate::Project;
use crate::client::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunks_sent_before_are_not_sent_again_and_the_reply_says_so() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let question = json!({"query": "parse_sum", "session": "s"});
    let first = client.call("context_query", question.clone()).await.text();
    assert!(first.contains("total += part"), "{first}");
    let second = client.call("context_query", question).await;
    assert!(
        !second.text().contains("total += part"),
        "{}",
        second.text()
    );
    assert!(
        second.text().contains("Already sent in this session"),
        "{}",
        second.text()
    );
    assert!(
        second.text().contains("src/parser.rs:"),
        "{}",
        second.text()
    );
    assert!(second.fact("alreadySent").as_u64().unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_best_of_what_was_sent_is_told_first_and_what_is_far_from_it_is_not_sent() {
    let noise = |it: usize| {
        let text = format!("def helper_{it}():\n    return store_{it}()\n\n\n");
        (format!("a/part_{it:02}.py"), text.repeat(2))
    };
    let mut files: Vec<(String, String)> = (0..30).map(noise).collect();
    let body = "    walrus = tusk(walrus)\n".repeat(40);
    files.push(("z/sea.py".to_owned(), format!("def save_walrus():\n{body}")));
    files.extend((0..3).map(|it| {
        let text = format!("def other_{it}():\n    # a walrus\n    pass\n");
        (format!("b/{it}.py"), text)
    }));
    let files: Vec<(&str, &str)> = files.iter().map(|it| (&*it.0, &*it.1)).collect();
    let project = Project::of(&files);
    let mut client = Client::connect(&project.server()).await;
    for (query, limit) in [("helper store", 20), ("save_walrus tusk", 1)] {
        let ask = json!({"query": query, "session": "s", "max_tokens": 1500, "limit": limit});
        client.call("context_query", ask).await;
    }
    let ask = json!({"query": "save_walrus", "session": "s"});
    let again = client.call("context_query", ask).await;
    let text = again.text();
    let told = text.lines().find(|it| it.starts_with("Already sent"));
    let told = told.unwrap_or_default();
    let (_, list) = told
        .split_once("(see earlier replies), best first: ")
        .unwrap_or_default();
    assert!(list.starts_with("z/sea.py:1-41 \"save_walrus\""), "{text}");
    assert!(!text.contains("def other_"), "{text}");
    assert!(text.contains("call without session"), "{text}");
    assert!(again.fact("omitted").as_u64().unwrap() > 0, "{text}");
    // Nothing is left out without one.
    let alone = client.call("context_query", json!({"query": "save_walrus"}));
    let alone = alone.await.text();
    assert!(alone.contains("def other_"), "{alone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn warnings_about_a_part_come_when_it_is_sent() {
    let text = "token = \"ghp_rl63XykWZeiNNCiia3anXn9k3ksu9mI4ROnl\"\n";
    let project = Project::of(&[("a.py", text)]);
    let mut client = Client::connect(&project.server()).await;
    let hit =
        json!([{"id": "a", "relevance": 1, "filePath": "a.py", "startLine": 1, "endLine": 1}]);
    let call = json!({"chunks": hit, "session": "s"});
    for is_sent in [true, false] {
        let reply = client.call("context_assemble", call.clone()).await;
        let told = reply.text();
        assert_eq!(told.contains("a: 1 secret is masked."), is_sent, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_chunks_are_sent_again() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let hit = json!([{"id": "a", "relevance": 1, "filePath": "src/printer.rs", "startLine": 4, "endLine": 6}]);
    let call = json!({"chunks": hit, "session": "s"});
    client.call("context_assemble", call.clone()).await;
    let again = client.call("context_assemble", call.clone()).await.text();
    assert!(!again.contains("println"), "{again}");
    project.write(
        "src/printer.rs",
        &crate::PRINTER.replace("the total is", "all in all it is"),
    );
    let changed = client.call("context_assemble", call).await.text();
    assert!(changed.contains("all in all it is"), "{changed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunks_sent_in_part_may_be_sent_in_full() {
    let body: String = (0..200)
        .map(|it| format!("    let value_{it} = {it} * 7;\n"))
        .collect();
    let text = format!("/// Computes at length.\nfn compute() {{\n{body}}}\n");
    let project = Project::of(&[("src/long.rs", &text)]);
    let mut client = Client::connect(&project.server()).await;
    let hit = json!([{"id": "a", "relevance": 1, "filePath": "src/long.rs", "startLine": 1, "endLine": 203}]);
    let part = client
        .call(
            "context_assemble",
            json!({"chunks": hit, "session": "s", "max_tokens": 400}),
        )
        .await
        .text();
    assert!(
        part.contains("fn compute") && !part.contains("value_150"),
        "{part}"
    );
    let full = client
        .call("context_assemble", json!({"chunks": hit, "session": "s"}))
        .await
        .text();
    assert!(full.contains("value_150"), "{full}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_know_nothing_of_each_other() {
    let project = Project::new();
    let mut client = Client::connect(&project.server()).await;
    let ask = |session: &str| json!({"query": "parse_sum", "session": session});
    let a = client.call("context_query", ask("a")).await;
    let b = client.call("context_query", ask("b")).await;
    let none = client
        .call("context_query", json!({"query": "parse_sum"}))
        .await;
    assert_eq!(a.text(), b.text());
    assert_eq!(a.text(), none.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_excerpt_of_what_was_sent_in_part_is_sent() {
    let step = |it: usize| match it {
        200 => "    walrus = tusk(walrus)\n".to_owned(),
        700 => "    pelican = beak(pelican)\n".to_owned(),
        _ => format!("    step_{it} = advance(step_{it}, {it})\n"),
    };
    let body: String = (0..900).map(step).collect();
    let project = Project::of(&[("long.py", &format!("def long_function():\n{body}"))]);
    let mut client = Client::connect(&project.server()).await;
    let ask = |query: &str| json!({"query": query, "session": "s", "max_tokens": 1200});
    let walrus = client.call("context_query", ask("walrus tusk")).await;
    assert!(walrus.text().contains("tusk("), "{}", walrus.text());
    let pelican = client.call("context_query", ask("pelican beak")).await;
    assert!(pelican.text().contains("beak("), "{}", pelican.text());
    // Neither shows a line beyond those any more, and the rest does not fit.
    for query in ["walrus tusk", "pelican beak"] {
        let again = client.call("context_query", ask(query)).await.text();
        assert!(!again.contains("(walrus)"), "{again}");
        assert!(!again.contains("(pelican)"), "{again}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_that_say_nearly_the_same_one_alone_was_sent() {
    let text = |host: &str| {
        let line = |it: usize| match it {
            20 => format!("host = \"{host}\"\n"),
            _ => format!("setting_{it} = {it}\n"),
        };
        (0..41).map(line).collect::<String>()
    };
    let (prod, stag) = (text("prod.example"), text("stag.example"));
    let files = [("prod.py", &*prod), ("stag.py", &stag), ("copy.py", &prod)];
    let project = Project::of(&files);
    let mut client = Client::connect(&project.server()).await;
    let hits: Vec<_> = files
        .iter()
        .zip([0.9, 0.8, 0.7])
        .map(|((path, _), relevance)| {
            json!({"id": path, "relevance": relevance, "filePath": path, "startLine": 1, "endLine": 41})
        })
        .collect();
    // Without a session a cursor leads on to it.
    let alone = json!({"chunks": hits});
    let alone = client.call("context_assemble", alone).await;
    let rest = json!({"cursor": alone.cursor().unwrap()});
    let rest = client.call("context_assemble", rest).await.text();
    assert!(rest.contains("stag.example"), "{rest}");
    let call = json!({"chunks": hits, "session": "s"});
    let first = client.call("context_assemble", call.clone()).await.text();
    assert!(first.contains("prod.example"), "{first}");
    assert!(!first.contains("stag.example"), "{first}");
    let second = client.call("context_assemble", call).await.text();
    assert!(second.contains("stag.example"), "{second}");
    let told = second.lines().find(|it| it.starts_with("Already sent"));
    let told = told.unwrap_or_default();
    assert!(
        told.contains("prod.py") && told.contains("copy.py"),
        "{told}"
    );
    assert!(!told.contains("stag.py"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_one_name_know_nothing_of_each_other_in_two_connections_or_roots() {
    let text = "fn apple() {\n    pear();\n}\n";
    let project = Project::of(&[("one/a.rs", text), ("two/a.rs", text)]);
    let uri = |name: &str| format!("file://{}/{name}", project.root().display());
    let server = project.server();
    let ask = json!({"query": "apple", "session": "s"});
    let mut first = Client::with_roots(&server, &[&uri("one")]).await;
    let mut second = Client::with_roots(&server, &[&uri("one")]).await;
    for client in [&mut first, &mut second] {
        let reply = client.call("context_query", ask.clone()).await.text();
        assert!(reply.contains("pear()"), "{reply}");
    }
    // What has the same path and text there is another file.
    first.declare(&[&uri("two")]);
    let changed = "notifications/roots/list_changed";
    first.notify(changed, json!({})).await;
    // The notification is handled beside the calls that follow it.
    let mut is_sent = false;
    for _ in 0..100 {
        let reply = first.call("context_query", ask.clone()).await;
        is_sent = reply.text().contains("pear()");
        if is_sent {
            break;
        }
    }
    assert!(is_sent);
}
