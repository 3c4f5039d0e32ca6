//! `ctx verify`.

use std::process::Stdio;

use ::ctx::tokens::TokenCounter as _;
use ctx_testkit::few;
use serde_json::{Value, json};

use crate::run::{self, Folder, Ran, ctx};

const A: &[u8] = b"fn a() {\n    one();\n}\n";
const B: &[u8] = b"# Title\r\n\r\nText with ``` in it.\r\nAnd \xe2\x80\xae more.";

/// A folder of two files, and the receipt of packing them.
fn packed(format: &str) -> (Folder, Value) {
    let folder = Folder::of([("src/a.rs", A), ("b.md", B)]);
    let receipt = folder
        .run(["pack", ".", "--json", "-f", format, "--sources"])
        .json();
    (folder, receipt)
}

fn verify(folder: &Folder, receipt: &Value) -> Ran {
    folder.write("receipt.json", receipt.to_string());
    folder.run(["verify", "receipt.json", "--root", "."])
}

#[track_caller]
fn outcomes(ran: &Ran, expected: [&str; 7]) {
    let found: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(found, expected, "{ran:?}");
}

/// That exactly `check` fails, on a line with each of `parts`.
#[track_caller]
fn fails(ran: &Ran, check: &str, parts: &[&str]) {
    assert_eq!(ran.code, 6, "{ran:?}");
    let error = format!("error: the receipt does not hold: {check}\n");
    assert!(ran.stderr.contains(&error), "{ran:?}");
    assert!(ran.stderr.contains("hint: "), "{ran:?}");
    let says = |line: &str| parts.iter().all(|part| line.contains(part));
    assert!(ran.stdout.lines().any(says), "{ran:?} lacks {parts:?}");
}

#[test]
fn a_good_receipt_holds_in_every_format() {
    for format in ["markdown", "xml", "json", "plain"] {
        let (folder, receipt) = packed(format);
        let ran = verify(&folder, &receipt);
        ran.ok();
        outcomes(&ran, ["ok"; 7]);
        assert!(ran.stdout.contains("2 citations compared"), "{ran:?}");
    }
}

#[test]
fn standard_input_is_no_file_that_a_receipt_is_compared_with() {
    let folder = Folder::of([("src/a.rs", A)]);
    for format in ["markdown", "xml", "json", "plain"] {
        let mut pack = run::command(["pack", "src", "-", "--json", "-f", format, "--sources"]);
        pack.current_dir(folder.path());
        let receipt = run::feed(pack, "diff --git a/a.rs b/a.rs\n+    two();\n").json();
        let cited = receipt["citations"].as_array().unwrap().iter();
        let cited = cited.filter(|it| it["filePath"].is_null()).count();
        assert_eq!(cited, 1, "{receipt}");
        assert!(receipt["context"].as_str().unwrap().contains("stdin"));
        let ran = verify(&folder, &receipt);
        ran.ok();
        let told = "1 citation compared, 1 skipped: no lines of a file";
        assert!(ran.stdout.contains(told), "{ran:?}");
    }
}

#[test]
fn the_verdict_is_the_same_where_nobody_reads_it() {
    let (folder, mut receipt) = packed("markdown");
    for (is_good, code) in [(true, 0), (false, 6)] {
        if !is_good {
            receipt["digest"] = "0".repeat(64).into();
        }
        folder.write("receipt.json", receipt.to_string());
        for args in [
            &["verify", "receipt.json"][..],
            &["verify", "receipt.json", "--json"],
        ] {
            let mut verify = run::command(args);
            verify.current_dir(folder.path()).stdout(run::unread());
            let ended = verify.stderr(Stdio::null()).status().unwrap();
            assert_eq!(ended.code(), Some(code), "{args:?}");
        }
    }
}

#[test]
fn a_summary_in_place_of_a_text_is_no_full_text() {
    let folder = Folder::of([("src/a.rs", A), ("b.md", B)]);
    let told = json!([
        {"id": "a", "filePath": "src/a.rs", "startLine": 1, "endLine": 3, "content": "", "relevance": 0.9, "summary": "Calls one."},
        {"id": "b", "filePath": "b.md", "startLine": 1, "endLine": 1, "content": "# Title", "relevance": 0.8},
    ]);
    folder.write("chunks.json", told.to_string());
    for format in ["markdown", "xml", "json", "plain"] {
        let args = [
            "assemble",
            "chunks.json",
            "--no-content",
            "--json",
            "-f",
            format,
        ];
        let receipt = folder.run(args).json();
        let context = receipt["context"].as_str().unwrap();
        assert!(context.contains("Calls one."), "{context}");
        for shown in receipt["included"].as_array().unwrap() {
            assert_eq!(shown["rendition"], "mention", "{shown}");
        }
        let ran = verify(&folder, &receipt);
        ran.ok();
        assert!(ran.stdout.contains("2 skipped"), "{ran:?}");
    }
}

#[test]
fn chunks_shown_in_part_are_compared_with_their_files() {
    let steps: Vec<String> = (0..40).map(|it| format!("    step_{it}();\n")).collect();
    let body = steps.concat();
    let code = format!("fn first() {{\n{body}}}\n\nfn second() {{\n{body}}}\n");
    for format in ["markdown", "xml", "json", "plain"] {
        let folder = Folder::of([("src/a.rs", code.as_bytes())]);
        let args = ["pack", ".", "--json", "-f", format, "-t", "120"];
        let receipt = folder.run(args).json();
        let rendition = receipt["included"][0]["rendition"].as_str().unwrap();
        assert!(matches!(rendition, "skeleton" | "signature"), "{receipt}");
        let ran = verify(&folder, &receipt);
        ran.ok();
        assert!(ran.stdout.contains("1 of them shown in part"), "{ran:?}");
        // What is not shown may have changed.
        folder.write("src/a.rs", code.replace("step_7", "step_8"));
        verify(&folder, &receipt).ok();
        folder.write("src/a.rs", code.replace("second", "seconds"));
        let parts = ["src/a.rs:1-85", "is not in the file"];
        fails(&verify(&folder, &receipt), "files", &parts);
    }
}

#[test]
fn without_a_folder_the_files_are_not_looked_at() {
    let (_folder, receipt) = packed("xml");
    let ran = ctx(["verify", "-"], receipt.to_string());
    ran.ok();
    outcomes(&ran, ["ok", "ok", "ok", "ok", "ok", "ok", "skipped"]);
}

#[test]
fn programs_get_the_same_as_json() {
    let (folder, mut receipt) = packed("markdown");
    let good = ctx(["verify", "-", "--json"], receipt.to_string()).json();
    assert_eq!(good["holds"], true);
    assert_eq!(good["checks"][0]["check"], "digest");
    receipt["tokens"]["total"] = json!(7);
    folder.write("receipt.json", receipt.to_string());
    let ran = folder.run(["verify", "receipt.json", "--json"]);
    assert_eq!(ran.code, 6);
    let bad: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(bad["holds"], false);
    let failed = bad["checks"].as_array().unwrap().iter();
    let failed: Vec<&Value> = failed.filter(|it| it["outcome"] == "failed").collect();
    assert_eq!(failed.len(), 2, "{bad}");
    assert_eq!(failed[0]["failures"][0], "the receipt states 7");
}

#[test]
fn another_context_is_found_out() {
    let (folder, receipt) = packed("markdown");
    let context = receipt["context"].as_str().unwrap();
    folder.write("receipt.json", receipt.to_string());
    folder.write("same.md", context);
    folder
        .run(["verify", "receipt.json", "--context", "same.md"])
        .ok();
    folder.write("other.md", context.replace("one()", "two()"));
    let ran = folder.run(["verify", "receipt.json", "--context", "other.md"]);
    fails(
        &ran,
        "digest, texts",
        &["src/a.rs", "differs from the cited one"],
    );
    folder.write("cut.md", &context[..context.len() / 2]);
    let ran = folder.run(["verify", "receipt.json", "--context", "cut.md"]);
    assert_eq!(ran.code, 6, "{ran:?}");
}

#[test]
fn a_changed_receipt_is_found_out() {
    let (folder, receipt) = packed("json");
    let with = |change: fn(&mut Value)| {
        let mut receipt = receipt.clone();
        change(&mut receipt);
        verify(&folder, &receipt)
    };
    let ran = with(|it| it["digest"] = json!("0".repeat(64)));
    fails(&ran, "digest", &["that in the receipt is 000"]);
    let ran = with(|it| it["tokens"]["header"] = json!(1));
    fails(&ran, "split", &["add up to"]);
    let ran = with(|it| it["omitted"] = json!([{"id": "b.md", "reason": "over_budget"}]));
    fails(&ran, "once, receipt", &["\"b.md\" is included and omitted"]);
    let ran = with(|it| it["included"][0]["citation"] = json!("fil-0000000000"));
    fails(&ran, "texts", &["included[0].citation", "fil-0000000000"]);
    let ran = with(|it| drop(it["included"].as_array_mut().unwrap().pop()));
    fails(&ran, "receipt, texts", &["2 blocks", "lists 1"]);
    for name in ["no-such-model", "o200k_bas", ""] {
        let mut receipt = receipt.clone();
        receipt["counter"] = json!(name);
        fails(
            &verify(&folder, &receipt),
            "tokens",
            &["unknown token counter"],
        );
    }
    // Whoever has the file can count.
    let ran = with(|it| it["counter"] = json!("elsewhere/tokenizer.json"));
    ran.ok();
    outcomes(&ran, ["ok", "skipped", "ok", "ok", "ok", "ok", "ok"]);
}

/// Texts of the caller's that look like blocks, and what comes after blocks, where they are none.
const OWN: &[&str] = &[
    "```\nown\n```\n",
    "```\nShown: nothing\n````\n",
    "~~~\n```\n~~~\n",
    "Shown: nothing\n",
    "----------------------------------------\n",
    "----------------------------------------\nFile: a\n----------------------------------------\n",
    "-----------------------------------------\n",
    "**Sources:**\nShown: nothing\n",
    "Sources:\n\n- a\n",
    "> Left out: 1 of 2 chunks.\nLeft out: 1 of 2 chunks.\n",
    "### own\n",
    "File: own\n",
];

#[test]
fn a_good_receipt_holds_whatever_the_caller_writes_around_the_chunks() {
    let chunks = json!([
        {"id": "a", "filePath": "a.rs", "startLine": 1, "endLine": 2, "content": "one\ntwo", "relevance": 0.9},
        {"id": "b", "filePath": "a.rs", "startLine": 7, "endLine": 7, "content": "```\u{1b}```", "relevance": 0.8},
        {"id": "c", "content": "-----------------------------------------", "relevance": 0.7},
        {"id": "d", "content": "", "relevance": 0.6},
        {"id": "e", "content": "word ".repeat(2_000), "relevance": 0.5},
    ]);
    let more = [
        json!({}),
        json!({"includeFileHeaders": false}),
        json!({"includeFileHeaders": false, "groupBy": "kind"}),
        json!({"includeFileHeaders": false, "includeMetadata": true}),
    ];
    // Each is two processes: in a usual run each two of the four come together once.
    let tried = few::thorough(more.len(), 1);
    // The other formats tell the caller's own texts apart.
    for (first, format) in ["markdown", "plain"].into_iter().enumerate() {
        for (second, own) in OWN.iter().enumerate() {
            let places = ["contextHeader", "contextFooter", "chunkSeparator"];
            for (third, place) in places.into_iter().enumerate() {
                for number in 0..tried {
                    let number = first * 2 + second + third + number;
                    let mut options = more[number % more.len()].clone();
                    options["format"] = json!(format);
                    options["maxTokens"] = json!(900);
                    options[place] = json!(own);
                    let input = json!({"chunks": chunks, "options": options});
                    let built = ctx(["assemble", "--json"], input.to_string());
                    // Some of them no context may have.
                    if built.code == 0 {
                        ctx(["verify", "-"], built.stdout).ok();
                    }
                }
            }
        }
    }
}

/// `receipt` with the context changed, and the digest and the tokens that this context has.
fn with_context(receipt: &Value, change: impl Fn(&str) -> String) -> String {
    let context = change(receipt["context"].as_str().unwrap());
    assert_ne!(receipt["context"], *context, "{context}");
    let mut receipt = receipt.clone();
    let counter = ::ctx::tokens::counter(&"o200k_base".into()).unwrap();
    let total = u64::from(counter.count(&context).get());
    let chunks = receipt["tokens"]["chunks"].as_u64().unwrap() + total;
    receipt["tokens"]["chunks"] = json!(chunks - receipt["tokens"]["total"].as_u64().unwrap());
    receipt["tokens"]["total"] = json!(total);
    receipt["digest"] = json!(blake3::hash(context.as_bytes()).to_hex().as_str());
    receipt["context"] = json!(context);
    receipt.to_string()
}

#[test]
fn a_block_with_the_heading_of_another_file_is_found_out() {
    let of = |id: &str, path: &str, (start, end): (u32, u32)| {
        let lines: Vec<String> = (start..=end).map(|it| format!("{path} {it}")).collect();
        json!({"id": id, "filePath": path, "startLine": start, "endLine": end,
            "content": lines.join("\n"), "relevance": 0.5})
    };
    let one = of("a", "src/a.rs", (3, 4));
    let two = of("b", "src/b.rs", (1, 1));
    let same = of("c", "src/a.rs", (8, 9));
    // In a body, the path is that of a line of text.
    let head = |from: &str, to: &str, context: &str| {
        let lines = context.split('\n').map(|line| match line {
            body if body.starts_with("src/") => body.to_owned(),
            head => head.replace(from, to),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    for format in ["markdown", "plain"] {
        for more in [
            json!({"groupBy": "none"}),
            json!({"groupBy": "file"}),
            json!({"groupBy": "kind"}),
            json!({"groupBy": "none", "contextHeader": "Hello\n\nYou."}),
            json!({"groupBy": "none", "includeMetadata": true}),
        ] {
            let mut options = more;
            options["format"] = json!(format);
            options["maxTokens"] = json!(1_000);
            let built = |chunks: &[&Value]| {
                let input = json!({"chunks": chunks, "options": options});
                let receipt = ctx(["assemble", "--json"], input.to_string()).json();
                ctx(["verify", "-"], receipt.to_string()).ok();
                receipt
            };
            let found_out = |receipt: &Value, change: &dyn Fn(&str) -> String| {
                let ran = ctx(["verify", "-"], with_context(receipt, change));
                assert_eq!(ran.code, 6, "{options} {ran:?}");
            };
            let receipt = built(&[&one]);
            found_out(&receipt, &|it| head("src/a.rs", "etc/passwd", it));
            found_out(&receipt, &|it| {
                head("3-4", "900-999", &head("src/a.rs", "etc/passwd", it))
            });
            let receipt = built(&[&one, &two]);
            found_out(&receipt, &|it| head("src/a.rs", "etc/passwd", it));
            found_out(&receipt, &|it| head("src/b.rs", "etc/passwd", it));
            found_out(&receipt, &|it| {
                head("src/b.rs", "src/y.rs", &head("src/a.rs", "src/x.rs", it))
            });
            let receipt = built(&[&one, &same]);
            found_out(&receipt, &|it| head("8-9", "900-999", it));
            if options["groupBy"] == "none" {
                // The heading of the second.
                found_out(&receipt, &|it| {
                    let is_head =
                        |line: &str| line.starts_with("### ") || line.starts_with("File: ");
                    let at = it.split_inclusive('\n').rev().find(|line| is_head(line));
                    let at = it.rfind(at.unwrap()).unwrap();
                    let (before, after) = it.split_at(at);
                    format!("{before}{}", after.replacen("src/a.rs", "etc/passwd", 1))
                });
            }
        }
    }
}

#[test]
fn a_text_with_escapes_is_compared() {
    for format in ["markdown", "plain", "xml", "json"] {
        for (content, from, to) in [
            ("fn a() {\u{200b}}", "fn a", "fn b"),
            ("fn a() {\u{200b}}", "200b", "200c"),
            ("let a = '\\u{200b}'; // \u{feff}", "let a", "let b"),
            ("let a = '\\u{200b}'; // \u{feff}", "; //", "\\u{0}; //"),
        ] {
            let chunks = json!([{"id": "a", "content": content, "relevance": 0.9}]);
            let options = json!({"format": format, "maxTokens": 1_000});
            let input = json!({"chunks": chunks, "options": options});
            let receipt = ctx(["assemble", "--json"], input.to_string()).json();
            let ran = ctx(["verify", "-"], receipt.to_string());
            ran.ok();
            assert!(ran.stdout.contains("1 of them with escapes"), "{ran:?}");
            let to = if format == "json" {
                to.replace('\\', "\\\\")
            } else {
                to.to_owned()
            };
            let changed = with_context(&receipt, |it| it.replacen(from, &to, 1));
            let ran = ctx(["verify", "-"], changed);
            fails(&ran, "texts", &["differs from the cited one"]);
        }
    }
    // A warning does not make an escape of what is none.
    let chunks = json!([{"id": "a", "content": "fn a() {\n}", "relevance": 0.9}]);
    let input = json!({"chunks": chunks, "options": {"maxTokens": 1_000}});
    let mut receipt = ctx(["assemble", "--json"], input.to_string()).json();
    receipt["warnings"] = json!([{"id": "a", "code": "neutralised", "detail": "1"}]);
    let changed = with_context(&receipt, |it| {
        it.replace("fn a() {\n}", "fn evil() {} // \\u{0}")
    });
    fails(
        &ctx(["verify", "-"], changed),
        "texts",
        &["differs from the cited one"],
    );
    // Of many escapes it is not known which the text itself held.
    let content = r"\u{200b}".repeat(20) + "\u{200b}";
    let chunks = json!([{"id": "a", "content": content, "relevance": 0.9}]);
    let input = json!({"chunks": chunks, "options": {"maxTokens": 1_000}});
    let ran = ctx(
        ["verify", "-"],
        ctx(["assemble", "--json"], input.to_string()).stdout,
    );
    ran.ok();
    assert!(ran.stdout.contains("1 have too many to compare"), "{ran:?}");
}

#[test]
fn the_notice_is_checked_even_if_nothing_is_shown() {
    let chunks: Vec<Value> = (0..4)
        .map(|n| json!({"id": format!("c{n}"), "content": format!("word{n} ").repeat(400), "relevance": 0.5}))
        .collect();
    for format in ["markdown", "xml", "json", "plain"] {
        for header in [Value::Null, json!("> Left out: 1 of 9 chunks.")] {
            for has_notice in [true, false] {
                let options = json!({"format": format, "maxTokens": 100, "contextHeader": header, "includeNotice": has_notice});
                let input = json!({"chunks": chunks, "options": options});
                let mut receipt = ctx(["assemble", "--json", "-q"], input.to_string()).json();
                assert_eq!(receipt["included"], json!([]), "{receipt}");
                ctx(["verify", "-"], receipt.to_string()).ok();
                receipt["omitted"].as_array_mut().unwrap().pop();
                let ran = ctx(["verify", "-"], receipt.to_string());
                if has_notice {
                    fails(&ran, "receipt", &["left out", "3 of 3"]);
                } else {
                    ran.ok();
                }
            }
        }
    }
}

/// What nothing else in a receipt or its context tells.
const NOT_CHECKED: &[&str] = &[
    // Another one may count the same.
    "counter",
    "buildTime",
    "tokens.left",
    "included.tokens",
    "included.why",
    "omitted.id",
    "omitted.reason",
    "omitted.entersAt",
    "averageRelevance",
    "wasTruncated",
    "certificate.lambda",
    "warnings.id",
    "warnings.code",
    "warnings.detail",
];

/// `value` with one thing changed, for each thing in it, and the names of the fields that lead
/// there.
fn changes(value: &Value) -> Vec<(String, Value)> {
    let within = |name: &str, inner: &str| match (name, inner) {
        ("", name) | (name, "") => name.to_owned(),
        (name, inner) => format!("{name}.{inner}"),
    };
    let changed = match value {
        Value::Object(fields) => {
            let inner = fields.iter().flat_map(|(name, field)| {
                changes(field).into_iter().map(move |(inner, other)| {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), other);
                    (within(name, &inner), Value::Object(fields))
                })
            });
            return inner.collect();
        }
        Value::Array(items) => {
            let inner = items.iter().enumerate().flat_map(|(at, item)| {
                changes(item).into_iter().map(move |(name, other)| {
                    let mut items = items.clone();
                    items[at] = other;
                    (name, Value::Array(items))
                })
            });
            let mut inner: Vec<_> = inner.collect();
            if let Some((_, fewer)) = items.split_last() {
                inner.push((String::new(), json!(fewer)));
            }
            return inner;
        }
        Value::Bool(it) => json!(!it),
        Value::Number(it) => match it.as_u64() {
            Some(it) => json!(it + 1),
            None => json!(it.as_f64().unwrap() / 2.0 + 0.01),
        },
        Value::String(it) => json!(match it.as_str() {
            "exact" => "estimate",
            "full" => "skeleton",
            "skeleton" => "full",
            "markdown" | "xml" | "json" => "plain",
            "plain" => "markdown",
            "over_budget" => "max_chunks",
            "o200k_base" => "cl100k_base",
            other => return vec![(String::new(), json!(format!("{other}Z")))],
        }),
        Value::Null => return Vec::new(),
    };
    vec![(String::new(), changed)]
}

#[test]
fn whatever_is_changed_in_a_receipt_is_found_out_if_anything_tells() {
    let chunks = json!([
        {"id": "a", "content": "aaa aaa", "relevance": 0.9, "filePath": "a.rs", "startLine": 3, "endLine": 3},
        {"id": "b", "content": "bbb\nccc", "relevance": 0.8, "filePath": "b.rs", "startLine": 1, "endLine": 2, "summary": "sum"},
        {"id": "c", "content": "ddd ".repeat(400), "relevance": 0.3},
        {"id": "d", "content": "ee\nff", "relevance": 0.2, "filePath": "b.rs", "startLine": 5, "endLine": 6},
        {"id": "e", "content": "long ".repeat(400), "relevance": 0.5,
            "renditions": [{"rendition": "skeleton", "text": "short", "information": 0.5}]},
    ]);
    for format in ["markdown", "xml", "json", "plain"] {
        let options = json!({"format": format, "maxTokens": 250, "includeSources": true});
        let input = json!({"chunks": chunks, "options": options});
        let receipt = ctx(["assemble", "--json", "-q"], input.to_string()).json();
        ctx(["verify", "-"], receipt.to_string()).ok();
        for (field, changed) in changes(&receipt) {
            let ran = ctx(["verify", "-"], changed.to_string());
            if ran.code == 0 {
                assert!(
                    NOT_CHECKED.contains(&&*field),
                    "{format}: {field} may be anything"
                );
            } else {
                assert!([3, 6].contains(&ran.code), "{format}, {field}: {ran:?}");
            }
        }
    }
}

#[test]
fn files_that_changed_are_named_with_their_lines() {
    let (folder, receipt) = packed("markdown");
    folder.write("src/a.rs", b"// new\nfn a() {\n    one();\n}\n");
    let ran = verify(&folder, &receipt);
    fails(
        &ran,
        "files",
        &["src/a.rs:1-3", "the text is on lines 2-4 now"],
    );
    folder.write("src/a.rs", b"fn a() {\n    two();\n}\n");
    let ran = verify(&folder, &receipt);
    fails(&ran, "files", &["src/a.rs:1-3", "lines 1-3 have changed"]);
    std::fs::remove_file(folder.path().join("src/a.rs")).unwrap();
    let ran = verify(&folder, &receipt);
    fails(&ran, "files", &["src/a.rs:1-3", "does not exist"]);
}

#[test]
fn merged_chunks_are_compared_part_by_part() {
    let folder = Folder::of([("a.rs", A)]);
    let chunk = |id: &str, content: &str, start: u32, end: u32| json!({"id": id, "content": content, "relevance": 0.5, "filePath": "a.rs", "startLine": start, "endLine": end});
    let chunks = json!([
        chunk("x", "fn a() {\n    one();\n", 1, 2),
        chunk("y", "    one();\n}\n", 2, 3)
    ]);
    let receipt = ctx(["assemble", "--json"], chunks.to_string()).json();
    assert_eq!(
        receipt["included"].as_array().unwrap().len(),
        1,
        "{receipt}"
    );
    let ran = verify(&folder, &receipt);
    ran.ok();
    assert!(ran.stdout.contains("3 citations compared"), "{ran:?}");
}

#[test]
fn a_hostile_receipt_reads_nothing_outside_its_folder() {
    let (folder, receipt) = packed("markdown");
    folder.write("secret", "outside");
    let hash = receipt["citations"][0]["contentHash"].clone();
    for path in [
        "../secret",
        "/etc/passwd",
        "a/../../secret",
        "",
        "src",
        "a\u{0}b",
        "link",
    ] {
        let mut receipt = receipt.clone();
        receipt["citations"][0]["filePath"] = json!(path);
        receipt["citations"][0]["contentHash"] = hash.clone();
        #[cfg(unix)]
        let _ = std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link"));
        let ran = verify(&folder, &receipt);
        fails(&ran, "receipt, texts, files", &["citations[0]"]);
        assert!(!ran.stdout.contains("root:"), "{ran:?}");
    }
    let mut receipt = receipt;
    receipt["citations"][0]["endLine"] = json!(4_294_967_295_u32);
    fails(
        &verify(&folder, &receipt),
        "receipt, texts, files",
        &["citations[0]", "lines"],
    );
    receipt["citations"][0]["startLine"] = json!(0);
    fails(
        &verify(&folder, &receipt),
        "receipt, texts, files",
        &["citations[0]", "startLine must be at least 1"],
    );
}

#[test]
fn inputs_that_cannot_be_read_are_named() {
    let (folder, receipt) = packed("markdown");
    folder.write("receipt.json", receipt.to_string());
    folder.write("no.json", "{\"digest\": 1}");
    folder.run(["verify", "gone.json"]).fails(3, &["gone.json"]);
    folder
        .run(["verify", "no.json"])
        .fails(3, &["no.json", "not a receipt"]);
    folder
        .run(["verify", "receipt.json", "--root", "gone"])
        .fails(3, &["gone"]);
    folder
        .run(["verify", "receipt.json", "--context", "gone.md"])
        .fails(3, &["gone.md"]);
    folder.run(["verify"]).fails(2, &["required"]);
}

#[test]
fn files_that_were_named_by_paths_that_lead_out_are_compared() {
    let (folder, _) = packed("markdown");
    folder.write("sub/c.md", "c\n");
    let absolute = folder.path().join("b.md");
    for path in ["sub/../b.md", absolute.to_str().unwrap()] {
        let receipt = folder.run(["pack", path, "src/a.rs", "--json"]).json();
        let ran = verify(&folder, &receipt);
        outcomes(&ran, ["ok"; 7]);
        assert!(ran.stdout.contains("2 citations compared"), "{ran:?}");
        folder.write("b.md", "another\n\nand\nmore\n");
        fails(
            &verify(&folder, &receipt),
            "files",
            &["b.md", "have changed"],
        );
        folder.write("b.md", B);
    }
}

#[test]
fn where_no_file_is_there_the_folder_is_to_blame() {
    let (folder, _) = packed("markdown");
    let receipt = folder.run(["pack", "src", "--json"]).json();
    let ran = verify(&folder, &receipt);
    fails(&ran, "files", &["a.rs"]);
    assert!(
        ran.stderr.contains("--root the folder that was packed"),
        "{ran:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_name_is_no_text_is_found_again() {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    let name = |bytes| Path::new(OsStr::from_bytes(bytes));
    let (folder, _) = packed("markdown");
    folder.write(name(b"d\xfe/c\xff.rs"), "fn c() {}\n");
    let above = [
        OsStr::new("pack"),
        OsStr::from_bytes(b"src/../d\xfe/c\xff.rs"),
        OsStr::new("--json"),
    ];
    let receipts = [
        folder.run(["pack", ".", "--json"]).json(),
        folder.run(["pack", "src", ".", "--json"]).json(),
        folder.run(above).json(),
    ];
    for receipt in &receipts {
        assert!(
            receipt["files"].to_string().contains(r"d\\xfe/c\\xff.rs"),
            "{receipt}"
        );
        let ran = verify(&folder, receipt);
        ran.ok();
        outcomes(&ran, ["ok"; 7]);
        // Another that is called by what stands for the bytes is no reason to fail it.
        folder.write(r"d\xfe/c\xff.rs", "fn other() {}\n");
        verify(&folder, receipt).ok();
        fs::remove_dir_all(folder.path().join(r"d\xfe")).unwrap();
    }
    folder.write(name(b"d\xfe/c\xff.rs"), "fn d() {}\n");
    let told = [r"d\xfe/c\xff.rs", "have changed"];
    for receipt in &receipts {
        fails(&verify(&folder, receipt), "files", &told);
    }
    folder.write(r"d\xfe/c\xff.rs", "fn other() {}\n");
    let told = ["have changed; the file whose name has these bytes does not match either"];
    fails(&verify(&folder, &receipts[0]), "files", &told);
    fs::remove_dir_all(folder.path().join(r"d\xfe")).unwrap();
    fs::remove_dir_all(folder.path().join(name(b"d\xfe"))).unwrap();
    fails(&verify(&folder, &receipts[0]), "files", &["does not exist"]);
}
