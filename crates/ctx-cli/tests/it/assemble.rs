//! `ctx assemble`.

use serde_json::{Value, json};

use crate::run::{Folder, ctx};

fn chunk(id: &str, relevance: f64) -> Value {
    json!({
        "id": id, "content": format!("fn {id}() {{}}\n"), "relevance": relevance,
        "filePath": format!("src/{id}.rs"), "startLine": 3, "endLine": 3, "language": "rust",
    })
}

fn lines() -> String {
    [("a", 0.9), ("b", 0.5), ("c", 0.7)]
        .map(|(id, relevance)| chunk(id, relevance).to_string() + "\n")
        .concat()
}

fn request(options: &Value) -> String {
    json!({"chunks": [chunk("a", 0.9), chunk("b", 0.5), chunk("c", 0.7)], "options": options})
        .to_string()
}

#[test]
fn one_context_comes_out_of_every_form_of_input() {
    let array = json!([chunk("a", 0.9), chunk("b", 0.5), chunk("c", 0.7)]);
    let expected = ctx(["assemble"], lines());
    assert!(expected.ok().contains("fn a() {}"), "{expected:?}");
    for input in [
        request(&json!({})),
        array.to_string(),
        serde_json::to_string_pretty(&array).unwrap(),
        lines().replace('\n', "\r\n\n"),
    ] {
        assert_eq!(ctx(["assemble", "-"], input).ok(), expected.ok());
    }
    let folder = Folder::of([("hits.jsonl", lines().as_bytes())]);
    assert_eq!(folder.run(["assemble", "hits.jsonl"]).ok(), expected.ok());
}

#[test]
fn every_format_is_what_it_says() {
    for (format, begins) in [
        ("markdown", "### src/a.rs"),
        ("xml", "<context>"),
        ("json", "{"),
        ("plain", "File: src/a.rs"),
    ] {
        let out = ctx(["assemble", "--format", format], lines());
        assert!(
            out.ok().trim_start().starts_with(begins),
            "{format}: {out:?}"
        );
    }
    let value: Value = serde_json::from_str(ctx(["assemble", "-f", "json"], lines()).ok()).unwrap();
    assert_eq!(value["chunks"].as_array().unwrap().len(), 3);
}

#[test]
fn flags_override_the_options_of_the_input() {
    let input = request(
        &json!({"format": "xml", "maxChunks": 1, "includeScores": true, "contextHeader": "H"}),
    );
    let as_given = ctx(["assemble", "--json"], &input).json();
    assert_eq!(as_given["format"], "xml");
    assert_eq!(as_given["included"].as_array().unwrap().len(), 1);
    let context = as_given["context"].as_str().unwrap();
    assert!(
        context.contains("<header>") && context.contains("relevance"),
        "{context}"
    );

    let flags = [
        "assemble",
        "--json",
        "--format",
        "plain",
        "--max-chunks",
        "2",
        "--no-scores",
        "--header",
        "other",
    ];
    let changed = ctx(flags, &input).json();
    assert_eq!(changed["format"], "plain");
    assert_eq!(changed["included"].as_array().unwrap().len(), 2);
    let context = changed["context"].as_str().unwrap();
    assert!(
        context.starts_with("other\n") && !context.contains("elevance"),
        "{context}"
    );
}

#[test]
fn every_option_has_a_flag() {
    // One flag after the other, each with the field it must have changed in what the input says.
    for (flags, options) in [
        (&["--max-tokens", "60"][..], json!({"maxTokens": 60})),
        (&["--reserve", "7950"], json!({"reserve": 7950})),
        (&["--max-chunks", "1"], json!({"maxChunks": 1})),
        (
            &["--counter", "cl100k_base"],
            json!({"tokenEstimation": "cl100k_base"}),
        ),
        (
            &["--token-estimation", "character-based"],
            json!({"tokenEstimation": "characterBased"}),
        ),
        (
            &["--counter", "word-based"],
            json!({"tokenEstimation": "wordBased"}),
        ),
        (&["--group-by", "kind"], json!({"groupBy": "kind"})),
        (&["--group-by", "none"], json!({"groupByFile": false})),
        (&["--order", "stable"], json!({"order": "stable"})),
        (&["--order", "edges"], json!({"order": "edges"})),
        (
            &["--selection", "in-order"],
            json!({"selection": "inOrder"}),
        ),
        (&["--selection", "inOrder"], json!({"selection": "inOrder"})),
        (&["--min-relevance", "0.6"], json!({"minRelevance": 0.6})),
        (&["--header", "H"], json!({"contextHeader": "H"})),
        (&["--footer", "F"], json!({"contextFooter": "F"})),
        (
            &["--separator", "* * *"],
            json!({"chunkSeparator": "* * *"}),
        ),
        (
            &["--format", "xml", "--xml-content", "cdata"],
            json!({"format": "xml", "xmlContent": "cdata"}),
        ),
        (&["--no-file-headers"], json!({"includeFileHeaders": false})),
        (&["--no-line-numbers"], json!({"includeLineNumbers": false})),
        (&["--no-content"], json!({"includeContent": false})),
        (
            &["--no-notice", "--max-chunks", "1"],
            json!({"includeNotice": false, "maxChunks": 1}),
        ),
        (&["--scores"], json!({"includeScores": true})),
        (&["--sources"], json!({"includeSources": true})),
        (&["--imports"], json!({"includeImports": true})),
        (&["--relations"], json!({"includeRelations": true})),
        (&["--ids"], json!({"includeIds": true})),
        (&["--metadata"], json!({"includeMetadata": true})),
        (&["--scores", "--no-scores"], json!({})),
        (&["--no-scores", "--scores"], json!({"includeScores": true})),
    ] {
        let by_flag = ctx(
            [&["assemble", "--json"], flags].concat(),
            request(&json!({})),
        )
        .json();
        let by_option = ctx(["assemble", "--json"], request(&options)).json();
        for field in [
            "context", "tokens", "counter", "included", "omitted", "digest",
        ] {
            assert_eq!(by_flag[field], by_option[field], "{flags:?}");
        }
    }
}

#[test]
fn the_whole_result_is_one_json_value() {
    let result = ctx(["assemble", "--json", "--max-tokens", "50"], lines()).json();
    let fields: Vec<_> = result.as_object().unwrap().keys().cloned().collect();
    for field in [
        "context",
        "tokens",
        "exactness",
        "included",
        "omitted",
        "files",
        "averageRelevance",
        "wasTruncated",
        "citations",
        "certificate",
        "format",
        "buildTime",
        "digest",
    ] {
        assert!(
            fields.iter().any(|f| f == field),
            "{field} is not in {fields:?}"
        );
    }
    for field in ["total", "header", "chunks", "notices", "footer", "left"] {
        assert!(result["tokens"][field].is_u64(), "tokens.{field}");
    }
    for field in ["value", "upperBound", "gap", "lambda"] {
        assert!(result["certificate"][field].is_f64(), "certificate.{field}");
    }
    let included = &result["included"][0];
    assert_eq!(
        (&included["id"], &included["filePath"]),
        (&json!("a"), &json!("src/a.rs"))
    );
    assert_eq!(
        (&included["startLine"], &included["endLine"]),
        (&json!(3), &json!(3))
    );
    assert!(
        included["tokens"].is_u64()
            && included["citation"].is_string()
            && included["rendition"] == "full"
    );
    let omitted = &result["omitted"][0];
    assert_eq!(omitted["reason"], "over_budget");
    assert!(omitted["entersAt"].as_u64().unwrap() > 50);
    assert_eq!(result["wasTruncated"], true);
    let shown =
        result["included"].as_array().unwrap().len() + result["omitted"].as_array().unwrap().len();
    assert_eq!(shown, 3);
    assert!(result["tokens"]["total"].as_u64().unwrap() <= 50);
    // It reads back as the type it is.
    serde_json::from_value::<ctx::model::BuiltContext>(result).unwrap();
}

#[test]
fn the_context_alone_is_on_standard_output() {
    let result = ctx(["assemble", "--json"], lines()).json();
    let plain = ctx(["assemble"], lines());
    assert_eq!(plain.ok(), result["context"].as_str().unwrap());
    assert!(plain.stderr.contains("3 of 3 chunks"), "{plain:?}");
    assert_eq!(ctx(["assemble", "--quiet"], lines()).stderr, "");
}

#[test]
fn chunks_that_are_shown_in_the_block_of_another_are_counted_as_shown() {
    let chunk = |id: &str, path: &str, lines: [u32; 2], content: &str| json!({"id": id, "filePath": path, "startLine": lines[0], "endLine": lines[1], "content": content, "relevance": 0.5});
    let twice: Vec<_> = (1..=40).map(|it| format!("fn of_{it}() {{}}")).collect();
    let twice = twice.join("\n");
    let chunks = json!([
        chunk("a", "a.rs", [1, 2], "fn one() {}\nfn two() {}"),
        chunk("b", "a.rs", [3, 3], "fn three() {}"),
        chunk("c", "c.rs", [1, 40], &twice),
        chunk("d", "d.rs", [1, 40], &twice),
    ]);
    let said = |args: &[&str]| {
        let run = ctx([&["assemble"], args].concat(), chunks.to_string());
        run.ok();
        run.stderr
    };
    let all = said(&[]);
    assert!(all.starts_with("4 of 4 chunks in 2 blocks, "), "{all}");
    let apart = said(&["--no-merge"]);
    assert!(apart.starts_with("4 of 4 chunks, "), "{apart}");
    let few = said(&["--max-chunks", "1"]);
    assert!(few.starts_with("2 of 4 chunks in 1 block, "), "{few}");
    // What says the same as something that is left out is left out, for the reader of the context,
    // too.
    let run = ctx(["assemble", "--max-tokens", "60"], chunks.to_string());
    assert!(run.ok().contains("> Left out: 2 of 4 chunks."), "{run:?}");
    assert!(
        run.stderr.starts_with("2 of 4 chunks in 1 block, "),
        "{run:?}"
    );
    let receipt = ctx(
        ["assemble", "--json", "--max-tokens", "60"],
        chunks.to_string(),
    );
    let old = receipt.json();
    let context = old["context"].as_str().unwrap();
    ctx(["verify", "-"], receipt.ok()).ok();
    // As it was told before.
    let told = context.replace("out: 2 of 4", "out: 1 of 4");
    let mut old = old.clone();
    old["digest"] = blake3::hash(told.as_bytes()).to_hex().as_str().into();
    old["context"] = told.into();
    ctx(["verify", "-"], old.to_string()).ok();
    let told = old["context"].as_str().unwrap();
    let told = told.replace("out: 1 of 4", "out: 3 of 4");
    old["digest"] = blake3::hash(told.as_bytes()).to_hex().as_str().into();
    old["context"] = told.into();
    let told = "the context says that 3 of 4 chunks were left out, the receipt lists 2 of 4";
    let run = ctx(["verify", "-"], old.to_string());
    assert!(run.code == 6 && run.stdout.contains(told), "{run:?}");
}

#[test]
fn an_explanation_names_what_came_in_and_what_stayed_out() {
    let out = ctx(["assemble", "--explain", "--max-tokens", "50"], lines());
    assert!(!out.ok().contains("over_budget"));
    for part in [
        "included",
        "src/a.rs:3-3",
        "omitted",
        "over_budget",
        "tokens in total",
        "o200k_base",
        "exact",
    ] {
        assert!(
            out.stderr.contains(part),
            "{part:?} is not in {}",
            out.stderr
        );
    }
}

#[test]
fn nothing_in_gives_an_empty_result() {
    for input in ["", "[]", "{\"chunks\": []}"] {
        let out = ctx(["assemble", "--header", "H", "--footer", "F"], input);
        assert!(out.ok().contains('H') && out.ok().contains('F'), "{out:?}");
        assert!(out.stderr.contains("no chunks"), "{out:?}");
    }
}

#[test]
fn the_order_of_arrival_does_not_matter() {
    let mut backwards: Vec<_> = lines().lines().map(str::to_owned).collect();
    backwards.reverse();
    assert_eq!(
        ctx(["assemble"], lines()).ok(),
        ctx(["assemble"], backwards.join("\n")).ok()
    );
}

#[test]
fn a_text_of_many_megabytes_passes() {
    let big = json!({"id": "big", "content": "word ".repeat(4 << 20), "relevance": 1.0});
    let input = format!("{}{big}\n", lines());
    let result = ctx(
        ["assemble", "--json", "--counter", "character-based"],
        input,
    )
    .json();
    assert_eq!(result["included"].as_array().unwrap().len(), 3);
    assert_eq!(result["omitted"][0]["id"], "big");
}

#[test]
fn a_budget_that_no_chunk_fits_is_told() {
    let run = ctx(["assemble", "--quiet", "--max-tokens", "12"], lines());
    run.ok();
    let (_, at) = run.stderr.split_once(" would with a budget of ").unwrap();
    let enough = at.split(' ').next().unwrap();
    let enough = ctx(["assemble", "--json", "--max-tokens", enough], lines()).json();
    assert_eq!(enough["included"].as_array().unwrap().len(), 1);
}

#[test]
fn many_tiny_chunks_pass() {
    let line =
        |n| format!("{{\"id\": \"c{n}\", \"content\": \"fn f{n}() {{}}\", \"relevance\": 0.5}}\n");
    let input: String = (0..30_000).map(line).collect();
    let result = ctx(["assemble", "--json", "--max-tokens", "500"], input).json();
    let shown = result["included"].as_array().unwrap().len();
    assert!(shown > 0);
    assert_eq!(shown + result["omitted"].as_array().unwrap().len(), 30_000);
    assert!(result["tokens"]["total"].as_u64().unwrap() <= 500);
}

#[test]
fn a_second_run_keeps_the_beginning_of_the_first() {
    let folder = Folder::of([("hits.jsonl", lines().as_bytes())]);
    let first = folder.run(["assemble", "hits.jsonl", "--json"]);
    folder.write("first.json", first.ok());
    folder.write("more.jsonl", chunk("z", 1.0).to_string() + "\n" + &lines());
    let args = [
        "assemble",
        "more.jsonl",
        "--previous",
        "first.json",
        "--json",
    ];
    let second = folder.run(args).json();
    let ids: Vec<&str> = second["included"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a", "c", "b", "z"]);
    assert_eq!(second["sharedPrefix"]["firstDifference"], "z");
    assert!(second["sharedPrefix"]["tokens"].as_u64().unwrap() > 20);
}

#[test]
fn a_previous_receipt_that_is_none_is_refused_by_name() {
    let folder = Folder::of([("hits.jsonl", lines().as_bytes()), ("first.json", b"{}")]);
    for name in ["first.json", "missing.json"] {
        let ran = folder.run(["assemble", "hits.jsonl", "--previous", name]);
        ran.fails(3, &[name]);
    }
}

#[test]
fn a_previous_context_that_was_changed_is_refused_as_input() {
    let folder = Folder::of([("hits.jsonl", lines().as_bytes())]);
    let first = folder.run(["assemble", "hits.jsonl", "--json"]);
    let mut receipt = first.json();
    receipt["context"] = json!("something else");
    folder.write("first.json", receipt.to_string());
    let ran = folder.run(["assemble", "hits.jsonl", "--previous", "first.json"]);
    ran.fails(3, &["digest"]);
    let hint = "hint: give --previous the unchanged receipt of an earlier run";
    assert!(ran.stderr.contains(hint), "{ran:?}");
}

/// To write it anew: run what the page says, and paste.
#[test]
fn the_front_page_shows_what_the_program_prints() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = std::fs::read_to_string(format!("{root}/README.md")).unwrap();
    for format in ["markdown", "xml", "json", "plain"] {
        let hits = format!("{root}/testdata/hits.json");
        let args = ["assemble", &hits, "--max-tokens", "130", "--format", format];
        let printed = ctx(args, "");
        let shown = format!("**{format}**\n\n`````text\n{}`````\n", printed.ok());
        assert!(page.contains(&shown), "{format}:\n{}", printed.ok());
    }
}

#[test]
fn with_a_root_chunks_take_their_text_from_files() {
    let folder = Folder::of([("src/a.rs", b"// new\nfn a() {\n    one();\n    two();\n}\n")]);
    let hit = |id: &str, path: &str, content: &str, start: u32, end: u32| json!({"id": id, "content": content, "relevance": 0.5, "filePath": path, "startLine": start, "endLine": end});
    let hits = json!([
        hit("named", "src/a.rs", "", 2, 5),
        hit("moved", "src/a.rs", "    one();\n    two();", 1, 2),
        hit("gone", "src/b.rs", "", 1, 1),
        hit("outside", "../a.rs", "", 1, 1),
    ]);
    folder.write("hits.json", hits.to_string());
    let ran = folder.run(["assemble", "hits.json", "--root", ".", "--json"]);
    let receipt = ran.json();
    assert!(
        ran.stderr.contains("3 chunks do not match their files"),
        "{ran:?}"
    );
    let context = receipt["context"].as_str().unwrap();
    assert!(
        context.contains("fn a() {\n    one();\n    two();\n}"),
        "{context}"
    );
    let reasons: Vec<(&str, &str)> = receipt["omitted"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["id"].as_str().unwrap(), it["reason"].as_str().unwrap()))
        .collect();
    assert!(
        reasons.contains(&("gone", "unreadable")) && reasons.contains(&("outside", "unreadable")),
        "{reasons:?}"
    );
    let moved = receipt["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|it| it["code"] == "moved");
    assert!(moved, "{receipt}");
    folder.write("receipt.json", receipt.to_string());
    folder.run(["verify", "receipt.json", "--root", "."]).ok();
    folder
        .run(["assemble", "hits.json", "--root", "nowhere"])
        .fails(3, &["nowhere"]);
}

#[test]
fn a_hash_that_is_not_compared_with_a_file_of_secrets_is_reported() {
    let folder = Folder::of([(
        "a.sh",
        b"curl -u admin:correct-horse https://example.com/\n",
    )]);
    let hit = |hash: &str| {
        let hit = json!({"id": "a", "content": "", "relevance": 1, "filePath": "a.sh", "startLine": 1, "endLine": 1, "contentHash": hash});
        folder.write("hits.json", json!([hit]).to_string());
        folder.run(["assemble", "hits.json", "--root", ".", "--json"])
    };
    let ran = hit(&"0".repeat(64));
    let told = "1 chunk could not be compared with its file";
    assert!(ran.stderr.contains(told), "{ran:?}");
    let receipt = ran.json();
    assert_eq!(receipt["warnings"][0]["code"], "unverified");
    assert_eq!(receipt["included"][0]["id"], "a");
    // What a receipt cites is the masked text.
    let cited = receipt["citations"][0]["contentHash"].as_str().unwrap();
    let ran = hit(cited);
    assert!(!ran.stderr.contains(told), "{ran:?}");
    assert_eq!(ran.json()["warnings"][0]["code"], "masked");
}

#[test]
fn with_a_root_a_chunk_that_names_its_file_needs_no_content() {
    let folder = Folder::of([("src/a.rs", b"fn a() {\n    one();\n}\n")]);
    let hit =
        r#"{"id": "a", "relevance": 0.5, "filePath": "src/a.rs", "startLine": 1, "endLine": 3}"#;
    for input in [
        hit.to_owned(),
        format!("[{hit}]"),
        format!(r#"{{"chunks": [{hit}]}}"#),
    ] {
        folder.write("hits.json", input);
        let ran = folder.run(["assemble", "hits.json", "--root", "."]);
        assert!(ran.ok().contains("    one();\n"), "{ran:?}");
        let ran = folder.run(["assemble", "hits.json"]);
        assert!(
            ran.code == 3 && ran.stderr.contains("--root DIR"),
            "{ran:?}"
        );
    }
    folder.write("hits.json", r#"{"id": "a", "relevance": 0.5}"#);
    let ran = folder.run(["assemble", "hits.json", "--root", "."]);
    assert!(
        ran.code == 3 && ran.stderr.contains("`filePath` below --root"),
        "{ran:?}"
    );
}

#[test]
fn with_a_root_a_field_that_is_given_twice_is_refused() {
    let folder = Folder::of([("a.rs", b"fn a() {}\n"), ("b.rs", b"fn b() {}\n")]);
    let lines = r#""startLine": 1, "endLine": 1"#;
    for (field, hit) in [
        ("filePath", r#""filePath": "a.rs", "filePath": "b.rs""#),
        ("filePath", r#""filePath": "a.rs", "file\u0050ath": "a.rs""#),
        ("relevance", r#""filePath": "a.rs", "relevance": 1"#),
        ("id", r#""filePath": "a.rs", "id": "b""#),
        ("endLine", r#""filePath": "a.rs", "endLine": 2"#),
        (
            "content",
            r#""filePath": "a.rs", "content": "a", "content": "b""#,
        ),
    ] {
        let hit = format!(r#" {{"id": "hit", "relevance": 0.5, {lines}, {hit}}}"#);
        for input in [
            hit.clone(),
            format!("[{hit}]"),
            format!(r#"{{"chunks": [{hit}]}}"#),
        ] {
            folder.write("hits.json", input);
            let ran = folder.run(["assemble", "hits.json", "--root", "."]);
            ran.fails(3, &[&format!("duplicate field `{field}`")]);
            assert!(
                ran.stderr.contains("a field may be given only once"),
                "{ran:?}"
            );
        }
    }
}

#[test]
fn a_file_of_one_long_line_that_is_pinned_is_mentioned() {
    let folder = Folder::of([]);
    let text = format!("{{\"all\": [{}1]}}\n", "1, ".repeat(13_000));
    for path in ["data.min.json", "a.log"] {
        folder.write(path, &text);
    }
    let hits = json!([
        {"id": "json", "relevance": 1, "filePath": "data.min.json", "pinned": true},
        {"id": "log", "relevance": 1, "filePath": "a.log", "startLine": 1, "endLine": 1, "pinned": true},
    ]);
    folder.write("hits.json", hits.to_string());
    for format in ["markdown", "xml", "json", "plain"] {
        let assemble = [
            "assemble",
            "hits.json",
            "--root",
            ".",
            "--json",
            "-t",
            "500",
            "-f",
            format,
        ];
        let ran = folder.run(assemble);
        let receipt = ran.json();
        assert_eq!(
            receipt["included"].as_array().unwrap().len(),
            2,
            "{receipt}"
        );
        folder.write("receipt.json", receipt.to_string());
        let ran = folder.run(["verify", "receipt.json", "--root", "."]);
        assert!(
            ran.ok()
                .contains("2 citations compared, 2 of them shown in part"),
            "{ran:?}"
        );
    }
    let ran = folder.run(["show", "data.min.json", "--rendition", "mention"]);
    assert!(ran.ok().len() < 300, "{ran:?}");
}

#[test]
fn with_a_root_lines_of_hits_that_overlap_are_there_once() {
    let lines = (1..=200).map(|it| format!("    call(url_for({it}))\n"));
    let text = lines.collect::<Vec<_>>().concat();
    let folder = Folder::of([("app.py", text.as_bytes())]);
    let hit = |id: &str, start: u32, end: u32| json!({"id": id, "relevance": 0.5, "filePath": "app.py", "startLine": start, "endLine": end});
    let hits = [
        hit("a", 10, 26),
        hit("b", 11, 27),
        hit("c", 12, 13),
        hit("d", 100, 180),
        hit("e", 120, 125),
    ];
    let assembled = |hits: Vec<&Value>| {
        folder.write("hits.json", json!(hits).to_string());
        let ran = folder.run(["assemble", "hits.json", "--root", ".", "--json"]);
        let receipt = ran.json();
        folder.write("receipt.json", receipt.to_string());
        folder.run(["verify", "receipt.json", "--root", "."]).ok();
        receipt
    };
    let receipt = assembled(hits.iter().collect());
    let context = receipt["context"].as_str().unwrap();
    for number in [10, 12, 26, 27, 120, 180] {
        let line = format!("url_for({number})");
        assert_eq!(context.matches(&line).count(), 1, "{line}: {context}");
    }
    assert_eq!(receipt["included"].as_array().unwrap().len(), 2);
    let omitted = receipt["omitted"].as_array().unwrap();
    assert_eq!(omitted.len(), 3);
    assert!(
        omitted.iter().all(|it| it["reason"] == "merged_into"),
        "{omitted:?}"
    );
    let other = assembled(hits.iter().rev().collect());
    assert_eq!(other["context"], receipt["context"]);
}
