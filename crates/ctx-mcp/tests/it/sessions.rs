//! What was sent in a session is not sent again.

use serde_json::json;

use crate::Project;
use crate::client::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sent_is_not_sent_again_and_the_reply_says_so() {
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
async fn what_changed_is_sent_again() {
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
async fn what_was_sent_in_part_may_be_sent_in_full() {
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
