//! A cursor continues with what did not fit, and nothing is shown twice or lost.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::Project;
use crate::client::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_a_file_are_all_of_it() {
    let text: String = (1..=900)
        .map(|it| format!("line number {it} \"quoted\"\n"))
        .collect();
    let project = Project::of(&[("long.txt", &text)]);
    let mut client = Client::connect(&project.server()).await;
    let mut arguments = json!({"path": "long.txt", "max_tokens": 1_000});
    let (mut seen, mut pages) = (String::new(), 0);
    loop {
        let reply = client.call("context_read", arguments.clone()).await;
        let page = reply.result["content"][0]["text"].as_str().unwrap();
        seen.push_str(page.split_once('\n').unwrap().1);
        seen.push('\n');
        pages += 1;
        match reply.cursor() {
            Some(cursor) => arguments["cursor"] = cursor.into(),
            None => break,
        }
    }
    assert_eq!(seen, text);
    assert!(pages > 5, "{pages}");
}

/// All that the pages of `tool` on `path` show below their titles, and how many there are.
async fn paged(client: &mut Client, tool: &str, path: &str) -> (String, usize) {
    let mut arguments = json!({"path": path, "max_tokens": 300});
    let (mut seen, mut pages) = (String::new(), 0);
    loop {
        let reply = client.call(tool, arguments.clone()).await;
        let page = reply.result["content"][0]["text"].as_str().unwrap();
        let page = page.split_once('\n').unwrap().1;
        let is_cut = *reply.fact("cut") == true;
        // The file that goes on is named again.
        let page = match page.split_once('\n') {
            Some((name, page)) if name.ends_with(", continued") => page,
            _ => page,
        };
        seen.push_str(page);
        if !is_cut {
            seen.push('\n');
        }
        pages += 1;
        match reply.cursor() {
            Some(cursor) => arguments["cursor"] = cursor.into(),
            None => return (seen, pages),
        }
        assert!(pages < 1_000, "it goes on for ever");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_a_long_line_are_all_of_it() {
    let words: String = (0..900).map(|it| format!("wörd{it} ")).collect();
    let text = format!("before\n{words}\nafter\n");
    let project = Project::of(&[("long.txt", &text)]);
    let mut client = Client::connect(&project.server()).await;
    let (seen, pages) = paged(&mut client, "context_read", "long.txt").await;
    assert_eq!(seen, text);
    assert!(pages > 5, "{pages}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_a_folder_name_all_that_a_file_defines() {
    let many: String = (0..200).map(|it| format!("fn one_{it}() {{}}\n")).collect();
    let project = Project::of(&[
        ("a.rs", "fn first() {}\n"),
        ("b.rs", &many),
        ("c.rs", "fn last() {}\n"),
    ]);
    let mut client = Client::connect(&project.server()).await;
    let (seen, pages) = paged(&mut client, "context_outline", ".").await;
    let mut expected = "a.rs (rust)\n  function first:1-1\nb.rs (rust)\n".to_owned();
    for it in 0..200 {
        expected.push_str(&format!("  function one_{it}:{0}-{0}\n", it + 1));
    }
    expected.push_str("c.rs (rust)\n  function last:1-1\n");
    assert_eq!(seen, expected);
    assert!(pages > 5, "{pages}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_ends_within_a_file_says_so_and_the_next_names_it() {
    let many: String = (0..60).map(|it| format!("fn one_{it}() {{}}\n")).collect();
    let project = Project::of(&[("a.rs", "fn first() {}\n"), ("b.rs", &many)]);
    let mut client = Client::connect(&project.server()).await;
    let mut arguments = json!({"max_tokens": 400});
    let texts = |reply: &Value| {
        let text = |at: usize| reply["content"][at]["text"].as_str().unwrap_or_default();
        [text(0), text(1)].map(str::to_owned)
    };
    let mut within = Vec::new();
    loop {
        let reply = client.call("context_outline", arguments.clone()).await;
        assert_eq!(*reply.fact("cut"), Value::Null);
        let [page, note] = texts(&reply.result);
        let is_within = note.contains("The definitions of the last file are not complete.");
        assert!(!note.contains("bytes"), "{note}");
        within.push((is_within, page.contains("\nb.rs (rust), continued\n")));
        match reply.cursor() {
            Some(cursor) => arguments["cursor"] = cursor.into(),
            None => break,
        }
    }
    let (first, rest) = within.split_first().unwrap();
    assert_eq!(*first, (false, false), "the first ends behind a.rs");
    assert_eq!(rest[0], (true, false), "b.rs begins");
    assert!(
        rest.len() > 2 && rest[1..].iter().all(|it| it.1),
        "{rest:?}"
    );
    assert_eq!(rest.last(), Some(&(false, true)), "b.rs ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_is_of_the_text_it_was_given_for() {
    let text = "one line of many\n".repeat(900);
    let project = Project::of(&[("long.txt", &text)]);
    let mut client = Client::connect(&project.server()).await;
    let arguments = json!({"path": "long.txt", "max_tokens": 400});
    let cursor = client
        .call("context_read", arguments)
        .await
        .cursor()
        .unwrap();
    project.write("long.txt", &text.replace("one", "two"));
    let reply = client
        .call(
            "context_read",
            json!({"path": "long.txt", "max_tokens": 400, "cursor": cursor}),
        )
        .await;
    assert!(
        reply.is_error() && reply.text().contains("has changed since"),
        "{}",
        reply.text()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_of_a_file_has_the_other_arguments() {
    let functions: String = (0..300)
        .map(|it| format!("    fn one_{it}() {{\n        two({it});\n    }}\n"))
        .collect();
    let project = Project::of(&[("a.rs", &format!("mod all {{\n{functions}}}\n"))]);
    let mut client = Client::connect(&project.server()).await;
    let with = |mut arguments: Value, more: &Value| {
        let more = more.as_object().unwrap().clone();
        arguments.as_object_mut().unwrap().extend(more);
        arguments
    };
    let path = json!({"path": "a.rs", "max_tokens": 400});
    for arguments in [
        json!({}),
        json!({"lines": "100-900"}),
        json!({"symbol": "all"}),
        json!({"rendition": "skeleton"}),
        json!({"lines": "2-700", "rendition": "skeleton"}),
    ] {
        let whole = with(path.clone(), &arguments);
        let reply = client.call("context_read", whole.clone()).await;
        assert!(reply.text().contains("again with the same path and cursor"));
        let cursor = json!({"cursor": reply.cursor().unwrap()});
        let again = client.call("context_read", with(whole, &cursor)).await;
        let alone = with(path.clone(), &cursor);
        let reply = client.call("context_read", alone.clone()).await;
        assert!(!reply.is_error(), "{arguments}: {}", reply.text());
        assert_eq!(reply.result, again.result, "{arguments}");
        for other in [
            json!({"lines": "1-2"}),
            json!({"symbol": "one_7"}),
            json!({"rendition": "signature"}),
        ] {
            let reply = client
                .call("context_read", with(alone.clone(), &other))
                .await;
            let text = reply.text();
            assert!(
                reply.is_error() && text.contains("the cursor is of lines"),
                "{arguments}, {other}: {text}"
            );
        }
    }
    for cursor in [
        "a:1-9:full@0",
        "a@0",
        "a:1-9@0",
        "a:9-1:full@0",
        "a:1-9:all@0",
    ] {
        let arguments = with(path.clone(), &json!({"cursor": cursor}));
        let reply = client.call("context_read", arguments).await;
        assert!(reply.is_error(), "{cursor}: {}", reply.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_of_a_folder_is_of_the_files_that_it_has() {
    let files: Vec<String> = ["one", "two"]
        .iter()
        .flat_map(|root| (0..40).map(move |it| format!("{root}/file_{it}.rs")))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|it| (&**it, "fn apple() {}\n")).collect();
    let project = Project::of(&files);
    let uris = ["one", "two"].map(|it| format!("file://{}/{it}", project.root().display()));
    let uris: Vec<&str> = uris.iter().map(|it| &**it).collect();
    let mut client = Client::with_roots(&project.server(), &uris).await;
    let mut arguments = json!({"path": "one", "max_tokens": 400});
    let first = client.call("context_outline", arguments.clone()).await;
    let cursor = first.cursor().expect("not all of it fits");
    arguments["cursor"] = cursor.into();
    let reply = client.call("context_outline", arguments.clone()).await;
    assert!(!reply.is_error(), "{}", reply.text());
    arguments["path"] = "two".into();
    let other = client.call("context_outline", arguments.clone()).await;
    arguments["path"] = "one".into();
    // Whoever pages through a project writes to its files meanwhile.
    project.write("one/file_0.rs", "fn pear() {}\nfn apple() {}\n");
    let reply = client.call("context_outline", arguments.clone()).await;
    assert!(!reply.is_error(), "{}", reply.text());
    project.write("one/new.rs", "fn pear() {}\n");
    let changed = client.call("context_outline", arguments).await;
    for reply in [other, changed] {
        let text = reply.text();
        assert!(
            reply.is_error() && text.contains("has changed since"),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cursor_of_a_context_gives_the_parts_that_did_not_fit() {
    let function = |it: usize| {
        format!(
            "/// Adds {it} to a total.\nfn add_{it}(total: i64) -> i64 {{\n    total + {it}\n}}\n\n"
        )
    };
    let files: Vec<(String, String)> = (0..30)
        .map(|file| {
            (
                format!("src/{file}.rs"),
                (0..4).map(|it| function(file * 4 + it)).collect(),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let project = Project::of(&files);
    let mut client = Client::connect(&project.server()).await;
    let mut arguments = json!({"query": "add to a total", "max_tokens": 700, "limit": 40});
    let mut seen = Vec::new();
    for _ in 0..3 {
        let reply = client.call("context_query", arguments.clone()).await;
        let text = reply.text();
        let lines = text.lines().filter(|it| it.starts_with("fn add_"));
        seen.extend(lines.map(str::to_owned));
        let cursor = reply.cursor().expect("not all of it fits");
        arguments = json!({"cursor": cursor, "max_tokens": 700});
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count, "something came twice");
    assert!(count > 6, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_is_of_no_use_to_one_who_reads_other_folders() {
    let text =
        |it: usize| format!("fn number_{it}() -> usize {{\n    {it} * {it} + {it}\n}}\n").repeat(4);
    let files: Vec<(String, String)> = (0..40)
        .map(|it| (format!("one/{it}.rs"), text(it)))
        .collect();
    let mut files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    files.push(("two/c.rs", "fn c() {}\n"));
    let project = Project::of(&files);
    let server = project.server();
    let uri = |name: &str| format!("file://{}/{name}", project.root().display());
    let mut one = Client::with_roots(&server, &[&uri("one")]).await;
    let mut two = Client::with_roots(&server, &[&uri("two")]).await;
    let hits: Vec<_> = (0..40)
        .map(|it| json!({"id": format!("{it}"), "relevance": 1, "filePath": format!("{it}.rs"), "startLine": 1, "endLine": 12}))
        .collect();
    let cursor = one
        .call(
            "context_assemble",
            json!({"chunks": hits, "max_tokens": 600}),
        )
        .await
        .cursor();
    let cursor = cursor.expect("not all of it fits");
    let reply = one
        .call("context_assemble", json!({"cursor": cursor}))
        .await;
    assert!(!reply.is_error(), "{}", reply.text());
    let reply = two
        .call("context_assemble", json!({"cursor": cursor}))
        .await;
    assert!(
        reply.is_error() && reply.text().contains("it is not known any more"),
        "{}",
        reply.text()
    );
}

/// The ids of all `hits` that the pages of a context of `size` tokens show, each by a line that
/// begins with `part ID `, and how many pages there are.
async fn shown_of(client: &mut Client, hits: Vec<Value>, size: u32) -> (BTreeSet<String>, usize) {
    let mut arguments = json!({"chunks": hits, "max_tokens": size});
    let (mut shown, mut pages) = (BTreeSet::new(), 0);
    loop {
        let reply = client.call("context_assemble", arguments).await;
        let text = reply.text();
        let ids = text.lines().filter_map(|it| it.strip_prefix("part "));
        let ids = ids.map(|it| it.split(' ').next().unwrap().to_owned());
        let page: BTreeSet<String> = ids.collect();
        assert!(!page.is_empty(), "a page shows nothing: {text}");
        // What is told of a part is told on its page.
        for end in [": 1 secret is masked.", ": shown as it was stored"] {
            let told = text.lines().filter_map(|it| it.split_once(end));
            for (id, _) in told {
                assert!(page.contains(id), "{id}: {text}");
            }
        }
        let before = shown.len();
        shown.extend(page);
        assert!(shown.len() > before, "a page shows nothing else: {text}");
        pages += 1;
        let Some(cursor) = reply.cursor() else {
            return (shown, pages);
        };
        arguments = json!({"cursor": cursor, "max_tokens": size});
    }
}

fn hit(id: usize, path: &str, lines: u32) -> Value {
    json!({"id": id.to_string(), "relevance": 0.5, "filePath": path, "startLine": 1, "endLine": lines})
}

/// Files whose first lines begin with `part ID `; of every other one the second is a secret.
fn parts(count: usize) -> Vec<(String, String)> {
    let text = |it: usize| {
        let secret = match it % 2 {
            0 => format!("value = \"{it}\""),
            _ => format!("token = \"ghp_rl63XykWZeiNNCiia3anXn9k3ksu9mI4R{it:03}\""),
        };
        format!("part {it} of many, which is told apart\n{secret}\n")
    };
    (0..count)
        .map(|it| (format!("{it}.txt"), text(it)))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cursor_of_a_context_leads_to_parts_with_secrets_too() {
    let files = parts(40);
    let files: Vec<(&str, &str)> = files.iter().map(|it| (&*it.0, &*it.1)).collect();
    let project = Project::of(&files);
    let mut client = Client::connect(&project.server()).await;
    let hits = files.iter().enumerate();
    let hits = hits.map(|(it, (path, _))| hit(it, path, 2)).collect();
    let (shown, pages) = shown_of(&mut client, hits, 600).await;
    assert_eq!(shown.len(), 40, "{shown:?}");
    assert!(pages > 2, "{pages}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cursor_of_a_context_leads_to_what_its_client_gave() {
    let project = Project::of(&[("a.txt", "none of it\n")]);
    let mut client = Client::connect(&project.server()).await;
    // What no file says was shown with a warning, and is on the second page too.
    let stored = |it: usize| {
        let mut hit = hit(it, "a.txt", 1);
        hit["content"] = format!("part {it} of many, which no file says").into();
        hit
    };
    let hits = (0..40).map(stored).collect();
    let (shown, pages) = shown_of(&mut client, hits, 600).await;
    assert_eq!(shown.len(), 40, "{shown:?}");
    assert!(pages > 2, "{pages}");
    // All of one is more than a page.
    let long = |it: usize| {
        let content = format!("of {it}\n").repeat(400);
        let text = format!("part {it} of many, in short");
        let renditions = json!([{"rendition": "signature", "text": text, "information": 0.5}]);
        json!({"id": it.to_string(), "relevance": 0.5, "content": content, "renditions": renditions})
    };
    let (shown, pages) = shown_of(&mut client, (0..40).map(long).collect(), 600).await;
    assert_eq!(shown.len(), 40, "{shown:?}");
    assert!(pages > 2, "{pages}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cursor_of_a_context_does_not_lead_to_what_no_file_says_any_more() {
    let files = parts(40);
    let files: Vec<(&str, &str)> = files.iter().map(|it| (&*it.0, &*it.1)).collect();
    let project = Project::of(&files);
    let mut client = Client::connect(&project.server()).await;
    let hits = files.iter().enumerate();
    let hits: Vec<Value> = hits.map(|(it, (path, _))| hit(it, path, 2)).collect();
    let call = json!({"chunks": hits, "max_tokens": 600});
    let cursor = client.call("context_assemble", call).await.cursor();
    for (path, _) in &files {
        project.write(path, "another\n");
    }
    let call = json!({"cursor": cursor.unwrap()});
    let told = client.call("context_assemble", call).await.text();
    assert!(!told.contains("part "), "{told}");
    assert!(told.contains("have changed since"), "{told}");
    assert!(told.contains("is no longer in their files: "), "{told}");
    assert!(!told.contains("shown as it was stored"), "{told}");
}

/// That pages of `arguments` tell which lines of `text` each is of, one after the other, up to all
/// of `lines`.
async fn pages_tell_their_lines(
    client: &mut Client,
    mut arguments: Value,
    text: &str,
    lines: (u64, u64),
) {
    let is_full = arguments["rendition"].is_null();
    let all: Vec<&str> = text.lines().collect();
    let (mut next, mut pages) = (lines.0, 0);
    loop {
        let reply = client.call("context_read", arguments.clone()).await;
        let page = reply.result["content"][0]["text"].as_str().unwrap();
        let (title, shown) = page.split_once('\n').unwrap();
        let [start, end] = ["startLine", "endLine"].map(|it| reply.fact(it).as_u64().unwrap());
        assert_eq!(start, next, "{arguments}: {title}");
        assert!(
            title.contains(&format!(":{start}-{end} of {} lines", all.len())),
            "{title}"
        );
        if is_full {
            let its = &all[usize::try_from(start).unwrap() - 1..usize::try_from(end).unwrap()];
            assert_eq!(shown.lines().collect::<Vec<_>>(), its, "{title}");
        }
        (next, pages) = (end + 1, pages + 1);
        match reply.cursor() {
            Some(cursor) => arguments["cursor"] = cursor.into(),
            None => break,
        }
    }
    assert_eq!(next, lines.1 + 1, "{arguments}");
    assert!(pages > 2, "{arguments}: {pages}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_page_of_a_file_tells_the_lines_that_are_on_it() {
    let text: String = (1..=300)
        .map(|it| format!("fn f{it}() {{\n    g({it});\n}}\n"))
        .collect();
    let project = Project::of(&[("long.rs", &text)]);
    let mut client = Client::connect(&project.server()).await;
    for size in [300, 700] {
        let read = |more: Value| {
            let mut arguments = json!({"path": "long.rs", "max_tokens": size});
            let more = more.as_object().unwrap().clone();
            arguments.as_object_mut().unwrap().extend(more);
            arguments
        };
        for (more, lines) in [
            (json!({}), (1, 900)),
            (json!({"lines": "100-9000"}), (100, 900)),
            (json!({"rendition": "skeleton"}), (1, 900)),
            (
                json!({"rendition": "signature", "lines": "5-700"}),
                (5, 700),
            ),
        ] {
            pages_tell_their_lines(&mut client, read(more), &text, lines).await;
        }
    }
}
