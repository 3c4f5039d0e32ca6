//! `ctx pack`.

use std::fs;

use serde_json::Value;

use crate::run::{Folder, ctx};

fn ids(result: &Value, list: &str, field: &str) -> Vec<String> {
    result[list]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item[field].as_str().unwrap().to_owned())
        .collect()
}

fn included(result: &Value) -> Vec<String> {
    ids(result, "included", "id")
}

#[track_caller]
fn warning(result: &Value, id: &str, code: &str) -> String {
    let warnings = result["warnings"].as_array().unwrap();
    let found = warnings.iter().find(|w| w["id"] == id && w["code"] == code);
    found.unwrap_or_else(|| panic!("{id} {code}: {warnings:?}"))["detail"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn files_come_by_rank_and_then_by_path() {
    let folder = Folder::of([
        ("src/z.rs", b"fn z() {}\n"),
        ("src/a.rs", b"fn a() {}\n"),
        ("src/a-b.rs", b"fn ab() {}\n"),
        ("Cargo.lock", b"lock\n"),
        ("Cargo.toml", b"[package]\n"),
        ("README.md", b"# Title\n"),
        ("tests/t.rs", b"fn t() {}\n"),
        ("sub/README.md", b"# Sub\n"),
    ]);
    let result = folder.run(["pack", "--json"]).json();
    let expected = [
        "Cargo.toml",
        "README.md",
        "src/a-b.rs",
        "src/a.rs",
        "src/z.rs",
        "sub/README.md",
        "tests/t.rs",
        "Cargo.lock",
    ];
    assert_eq!(included(&result), expected);
    assert_eq!(
        included(&folder.run(["pack", ".", "--json"]).json()),
        expected
    );
    assert_eq!(
        included(
            &folder
                .run(["pack", folder.path().to_str().unwrap(), "--json"])
                .json()
        ),
        expected
    );
    let first = &result["included"][0];
    assert_eq!(
        (&first["startLine"], &first["endLine"]),
        (&1.into(), &1.into())
    );
    assert!(
        result["context"]
            .as_str()
            .unwrap()
            .contains("```rust\nfn a() {}\n")
    );
}

#[test]
fn paths_are_told_apart_when_there_are_several() {
    let folder = Folder::of([("a/x.rs", b"1\n"), ("b/x.rs", b"2\n"), ("c.rs", b"3\n")]);
    let result = folder
        .run(["pack", "a/", "./b", "c.rs", "c.rs", "--json"])
        .json();
    assert_eq!(included(&result), ["c.rs", "a/x.rs", "b/x.rs"]);
}

#[test]
fn ignore_files_are_obeyed_and_named_files_are_taken() {
    let folder = Folder::of([
        (".gitignore", b"by-git\n"),
        (".ignore", b"by-ignore\n"),
        (".ctxignore", b"by-ctx\n*.log\n"),
        (".hidden", b"hidden\n"),
        ("by-git", b"1\n"),
        ("by-ignore", b"2\n"),
        ("by-ctx", b"3\n"),
        ("sub/a.log", b"4\n"),
        ("kept", b"5\n"),
    ]);
    assert_eq!(included(&folder.run(["pack", "--json"]).json()), ["kept"]);
    let result = folder
        .run(["pack", ".", "sub/a.log", ".hidden", "--json"])
        .json();
    assert_eq!(included(&result), [".hidden", "sub/a.log", "kept"]);
}

#[test]
fn files_without_text_are_skipped_and_reported() {
    let folder = Folder::of([
        ("a.rs", b"fn a() {}\n"),
        ("b.bin", b"\x00\x01\x02"),
        ("c.bin", b"\x7fELF\0"),
        ("empty", b""),
    ]);
    let run = folder.run(["pack", "--json"]);
    assert!(
        run.stderr
            .contains("2 without text, 1 empty (--verbose names them)"),
        "{run:?}"
    );
    let result = run.json();
    assert_eq!(included(&result), ["a.rs"]);
    assert_eq!(result["omitted"].as_array().unwrap().len(), 0);
    warning(&result, "b.bin", "binary");
    warning(&result, "empty", "empty");
    let verbose = folder.run(["pack", "--verbose"]);
    assert!(
        verbose.stderr.contains("skipped b.bin: it holds no text"),
        "{verbose:?}"
    );
}

#[test]
fn files_in_other_encodings_are_decoded_and_reported() {
    let utf_16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("naïve ☔\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let folder = Folder::of([
        ("wide.txt", &utf_16),
        (
            "latin.txt",
            b"Stra\xdfe und Gr\xf6\xdfe, ge\xe4ndert f\xfcr Gro\xdfb\xe4ckerei\n",
        ),
        ("mark.txt", b"\xef\xbb\xbfplain\n"),
    ]);
    let run = folder.run(["pack", "--json"]);
    assert!(run.stderr.contains("decoded 2 files"), "{run:?}");
    let result = run.json();
    let context = result["context"].as_str().unwrap();
    assert!(
        context.contains("naïve ☔") && context.contains("Straße und Größe"),
        "{context}"
    );
    assert!(!context.contains('\u{feff}'));
    assert_eq!(
        warning(&result, "wide.txt", "decoded"),
        "decoded from UTF-16LE"
    );
    assert_eq!(
        warning(&result, "latin.txt", "decoded"),
        "decoded from windows-1252"
    );
}

#[test]
fn a_file_that_is_too_large_is_a_loss_that_is_told() {
    let folder = Folder::of([("big.txt", &[b'a'; 3000]), ("small.txt", b"x\n")]);
    let run = folder.run(["pack", "--json", "--quiet", "--max-file-size", "2K"]);
    assert!(
        run.stderr
            .contains("warning: big.txt is left out: it is larger than 2048 bytes"),
        "{run:?}"
    );
    let result = run.json();
    assert_eq!(included(&result), ["small.txt"]);
    assert_eq!(
        result["omitted"][0],
        serde_json::json!({"id": "big.txt", "reason": "unreadable"})
    );
    warning(&result, "big.txt", "too_large");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let outside = Folder::of([("secret", b"secret\n")]);
    let folder = Folder::of([("a.rs", b"fn a() {}\n")]);
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
    std::os::unix::fs::symlink(".", folder.path().join("loop")).unwrap();
    let run = folder.run(["pack", "--json"]);
    assert!(run.stderr.contains("4 links"), "{run:?}");
    assert_eq!(included(&run.json()), ["a.rs"]);
    // A folder that is within another that is packed is passed through once.
    fs::create_dir(folder.path().join("sub")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("sub/dangling")).unwrap();
    let run = folder.run(["pack", ".", "sub", "--json"]);
    assert!(run.stderr.contains("5 links"), "{run:?}");
    assert_eq!(ids(&run.json(), "warnings", "id").len(), 5, "{run:?}");
    // One that is named is what the user means.
    assert_eq!(
        included(&folder.run(["pack", "link", "--json"]).json()),
        ["link"]
    );
    assert_eq!(
        included(&folder.run(["pack", "folder", "--json"]).json()),
        ["secret"]
    );
    folder.run(["pack", "dangling"]).fails(3, &["dangling"]);
}

#[cfg(unix)]
#[test]
fn special_files_are_not_opened() {
    let folder = Folder::of([("a.rs", b"fn a() {}\n")]);
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap();
    let result = folder.run(["pack", "--json"]).json();
    warning(&result, "s", "special");
    // It has no end; the cap does.
    let run = folder.run(["pack", "/dev/zero", "--max-file-size", "1M", "--json"]);
    warning(&run.json(), "/dev/zero", "too_large");
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_stands_in_the_receipt() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::of([
        ("a.rs", b"fn a() {}\n"),
        ("locked.rs", b"fn b() {}\n"),
        ("shut/c.rs", b"fn c() {}\n"),
    ]);
    for path in ["locked.rs", "shut"] {
        fs::set_permissions(folder.path().join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    if fs::read(folder.path().join("locked.rs")).is_ok() {
        // Permissions bind nobody here. A file whose reads fail for everybody does as well.
        let run = ctx(["pack", "/proc/self/mem", "--json"], "");
        if run.code == 0 {
            assert_eq!(ids(&run.json(), "omitted", "reason"), ["unreadable"]);
            assert!(run.stderr.contains("/proc/self/mem is left out"), "{run:?}");
        }
        return;
    }
    let run = folder.run(["pack", "--json"]);
    fs::set_permissions(
        folder.path().join("shut"),
        fs::Permissions::from_mode(0o700),
    )
    .unwrap();
    let result = run.json();
    assert_eq!(included(&result), ["a.rs"]);
    assert_eq!(ids(&result, "omitted", "id"), ["locked.rs", "shut"]);
    assert_eq!(
        ids(&result, "omitted", "reason"),
        ["unreadable", "unreadable"]
    );
    assert!(
        run.stderr.contains("warning: locked.rs is left out"),
        "{run:?}"
    );
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_told_apart() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new();
    for name in [b"a\xff".as_slice(), b"a\xfe", b"a\xef\xbf\xbd"] {
        folder.write(OsStr::from_bytes(name), b"x\n");
    }
    assert_eq!(
        included(&folder.run(["pack", "--json"]).json()),
        ["a\\xfe", "a\\xff", "a\u{fffd}"]
    );
    // What is shown as its name leads to it.
    for name in ["a\\xfe", "a\\xfe:1"] {
        assert_eq!(folder.run(["show", name]).ok(), "x\n");
    }
    folder
        .run(["show", "a\\xfe:2"])
        .fails(3, &["has only 1 line, but 2-2 was requested"]);
    folder.run(["show", "a\\xfd"]).fails(3, &["xfd"]);
}

#[cfg(unix)]
#[test]
fn the_file_it_writes_to_is_not_packed() {
    let folder = Folder::of([("a.rs", b"fn a() {}\n")]);
    let out = fs::File::create(folder.path().join("out.md")).unwrap();
    let output = crate::run::command(["pack"])
        .current_dir(folder.path())
        .stdout(out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let written = fs::read_to_string(folder.path().join("out.md")).unwrap();
    assert!(
        written.contains("a.rs") && !written.contains("out.md"),
        "{written}"
    );
}

#[test]
fn a_folder_without_text_gives_an_empty_context() {
    let run = Folder::new().run(["pack"]);
    assert_eq!(run.ok(), "");
    assert!(run.stderr.contains("no files with text"), "{run:?}");
}

#[test]
fn the_budget_is_kept_in_every_format() {
    let folder = Folder::new();
    for n in 0..40 {
        folder.write(
            format!("src/f{n}.rs"),
            format!("fn f{n}() {{ /* {} */ }}\n", "word ".repeat(n)),
        );
    }
    for format in ["markdown", "xml", "json", "plain"] {
        for budget in ["100", "500", "2000"] {
            let args = [
                "pack",
                "--format",
                format,
                "--max-tokens",
                budget,
                "--sources",
                "--reserve",
                "30",
            ];
            let run = folder.run(args);
            let tokens = ctx(["tokens", "-", "--json"], run.ok()).json();
            assert!(
                tokens["tokens"].as_u64().unwrap() <= budget.parse::<u64>().unwrap() - 30,
                "{format} {budget}"
            );
        }
    }
}

#[test]
fn the_same_tree_gives_the_same_bytes() {
    let files = || {
        let folder = Folder::new();
        for n in 0..50 {
            folder.write(format!("d{}/f{n}.rs", n % 7), format!("fn f{n}() {{}}\n"));
        }
        folder
    };
    assert_eq!(files().run(["pack"]).ok(), files().run(["pack"]).ok());
}

#[test]
fn an_ignore_file_that_makes_no_sense_is_told() {
    let folder = Folder::of([
        (".gitignore", b"[z-a]\nb\n"),
        ("a.rs", b"1\n"),
        ("b", b"2\n"),
    ]);
    let run = folder.run(["pack", "--json"]);
    assert!(
        run.stderr
            .contains("warning: line 1 of the ignore file \".gitignore\" ignores nothing"),
        "{run:?}"
    );
    assert_eq!(included(&run.json()), ["a.rs"]);
}

/// A file whose body is long, and one that fits.
fn long_and_short() -> Folder {
    let body = "    let value = compute(value, other, another);\n".repeat(200);
    let long =
        format!("/// Does it all.\npub fn work(value: u32) -> u32 {{\n{body}    value\n}}\n");
    Folder::of([
        ("src/long.rs", long.as_bytes()),
        ("src/short.rs", b"pub fn short() {}\n"),
    ])
}

#[test]
fn files_that_do_not_fit_are_shown_in_part() {
    let folder = long_and_short();
    let receipt = folder.run(["pack", "--max-tokens", "300", "--json"]).json();
    let kinds: Vec<(&str, &str)> = receipt["included"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["id"].as_str().unwrap(),
                it["rendition"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [("src/long.rs", "skeleton"), ("src/short.rs", "full")]
    );
    assert_eq!(receipt["wasTruncated"], true);
    let context = receipt["context"].as_str().unwrap();
    assert!(
        context.contains("pub fn work(value: u32) -> u32 {\n    // … 201 lines left out\n}"),
        "{context}"
    );
    let whole = folder
        .run(["pack", "--max-tokens", "300", "--whole-files", "--json"])
        .json();
    assert_eq!(whole["included"].as_array().unwrap().len(), 1);
    assert_eq!(whole["omitted"][0]["id"], "src/long.rs");
    let all = folder
        .run(["pack", "--max-tokens", "30000", "--json"])
        .json();
    assert_eq!(all["wasTruncated"], false);
    folder.write("receipt.json", receipt.to_string());
    folder.run(["verify", "receipt.json", "--root", "."]).ok();
}

/// The first file by path leaves no room for two others, which are worth more together.
#[test]
fn whole_files_are_chosen_by_their_worth_the_longest_first() {
    let line = "    let value = compute(value, other, another);\n";
    let folder = Folder::new();
    for (name, lines) in [("first", 40), ("second", 20), ("third", 24)] {
        let text = format!("pub fn {name}() {{\n{}}}\n", line.repeat(lines));
        folder.write(format!("src/{name}.rs"), text);
    }
    let whole = ["pack", "--max-tokens", "600", "--whole-files", "--json"];
    let receipt = folder.run(whole).json();
    assert_eq!(included(&receipt), ["src/third.rs", "src/second.rs"]);
    let in_order = [&whole[..], &["--selection", "in-order"]].concat();
    assert_eq!(included(&folder.run(in_order).json()), ["src/first.rs"]);
}

#[test]
fn what_a_header_leaves_no_room_for_is_shown_in_part() {
    let folder = long_and_short();
    let header = "word ".repeat(9_900);
    let args = [
        "pack",
        "--max-tokens",
        "11000",
        "--header",
        &header,
        "--json",
    ];
    let receipt = folder.run(args).json();
    assert_eq!(included(&receipt), ["src/long.rs", "src/short.rs"]);
    assert_eq!(receipt["included"][0]["rendition"], "skeleton");
}

#[test]
fn readme_manifest_and_sources_come_before_many_small_tests() {
    let body = "    let value = compute(value, other, another);\n".repeat(40);
    let folder = Folder::of([
        ("Cargo.toml", b"[package]\nname = \"a\"\n"),
        (
            "README.md",
            &b"# Title\n\nIt does all there is to do.\n".repeat(20),
        ),
    ]);
    for n in 0..10 {
        folder.write(
            format!("src/f{n}.rs"),
            format!("pub fn work{n}() {{\n{body}}}\n"),
        );
    }
    for n in 0..300 {
        folder.write(format!("tests/t{n}.rs"), format!("fn t{n}() {{}}\n"));
        folder.write(format!("data/{n}.toml"), format!("key = {n}\n"));
    }
    let receipt = folder
        .run(["pack", "--max-tokens", "3000", "--json"])
        .json();
    let all = receipt["included"].as_array().unwrap();
    let tokens = |prefix: &str| -> u64 {
        let of = all
            .iter()
            .filter(|it| it["id"].as_str().unwrap().starts_with(prefix));
        of.map(|it| it["tokens"].as_u64().unwrap()).sum()
    };
    let ids = included(&receipt);
    assert!(ids.contains(&"Cargo.toml".to_owned()) && ids.contains(&"README.md".to_owned()));
    let sources = ids.iter().filter(|it| it.starts_with("src/"));
    assert_eq!(sources.count(), 10, "{ids:?}");
    assert!(tokens("tests/") + tokens("data/") < 300, "{ids:?}");
    // Among so many nothing is said of budgets that were not tried out.
    let omitted = |receipt: &Value| receipt["omitted"].as_array().unwrap().clone();
    assert!(
        omitted(&receipt)
            .iter()
            .all(|it| it.get("entersAt").is_none())
    );
    let explained = folder
        .run(["pack", "--max-tokens", "3000", "--json", "--explain"])
        .json();
    let of_test = |it: &&Value| it["id"].as_str().unwrap().starts_with("tests/");
    let first = omitted(&explained);
    let first = first.iter().find(of_test).unwrap();
    let budget = first["entersAt"].as_u64().unwrap().to_string();
    let richer = folder
        .run(["pack", "--max-tokens", &budget, "--json"])
        .json();
    assert!(included(&richer).contains(&first["id"].as_str().unwrap().to_owned()));
}
