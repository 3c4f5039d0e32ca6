//! Secrets in files: masked, reported, and shown on request.

use serde_json::json;

use crate::query::Asked;
use crate::run::{Folder, ctx};

fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

fn source() -> String {
    format!(
        "/// Connects to the forge.\npub fn connect() {{\n    login(\"{}\");\n}}\n",
        token()
    )
}

#[test]
fn every_verb_masks_secrets_and_says_so() {
    let folder = Folder::of([("a.rs", source().as_bytes()), ("key.pem", b"some words\n")]);
    let receipt = folder.run(["pack", ".", "--json"]).json();
    folder.write("receipt.json", receipt.to_string());
    let verified = folder.run(["verify", "receipt.json", "--root", "."]);
    verified.ok();
    for args in [
        &["pack", "."][..],
        &["show", "a.rs"],
        &["show", "a.rs#connect", "--json"],
    ] {
        let ran = folder.run(args.iter().copied());
        assert!(ran.ok().contains("****"), "{ran:?}");
        assert!(!ran.stdout.contains("ghp_"), "{ran:?}");
        assert!(ran.stderr.contains("--keep-secrets"), "{ran:?}");
        let shown = folder.run(args.iter().copied().chain(["--keep-secrets"]));
        assert!(shown.ok().contains(&token()), "{shown:?}");
    }
    let packed = folder.run(["pack", "."]);
    assert!(packed.stderr.contains("key.pem is left out"), "{packed:?}");
    assert!(!packed.stdout.contains("some words"), "{packed:?}");
    let refused = folder.run(["show", "key.pem"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(
        refused.stderr.contains("hint: --keep-secrets"),
        "{refused:?}"
    );
}

#[test]
fn contexts_with_secrets_are_compared_unmasked() {
    let folder = Folder::of([("a.rs", source().as_bytes()), ("key.pem", b"some words\n")]);
    let receipt = folder.run(["pack", ".", "--keep-secrets", "--json"]).json();
    folder.write("receipt.json", receipt.to_string());
    let verified = folder.run(["verify", "receipt.json", "--root", "."]);
    assert!(
        verified.ok().contains("2 citations compared"),
        "{verified:?}"
    );
    folder.write("key.pem", "other words\n");
    folder.write("a.rs", source().replace("a1B2", "b1B2"));
    let verified = folder.run(["verify", "receipt.json", "--root", "."]);
    assert_eq!(verified.code, 6, "{verified:?}");
    assert!(!verified.stdout.contains("ghp_"), "{verified:?}");
}

#[test]
#[cfg(unix)]
fn a_link_to_a_file_of_secrets_shows_it_to_nobody_either() {
    let folder = Folder::of([(".env", b"DB_PASSWORD=hunter2\n")]);
    std::os::unix::fs::symlink(".env", folder.path().join("setup.txt")).unwrap();
    for args in [["show", "setup.txt"], ["pack", "setup.txt"]] {
        let ran = folder.run(args);
        assert!(!ran.stdout.contains("hunter2"), "{ran:?}");
        assert!(ran.stderr.contains("--keep-secrets"), "{ran:?}");
        let shown = folder.run(args.into_iter().chain(["--keep-secrets"]));
        assert!(shown.ok().contains("hunter2"), "{shown:?}");
    }
}

#[test]
fn chunks_that_bring_secrets_along_do_not_show_them() {
    let chunk = json!({"chunks": [{"id": "a", "content": source(), "relevance": 1}]}).to_string();
    let ran = ctx(["assemble", "-"], chunk.clone());
    assert!(
        ran.ok().contains("****") && !ran.stdout.contains("ghp_"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("masked secrets in 1 text"), "{ran:?}");
    let shown = ctx(["assemble", "-", "--keep-secrets"], chunk);
    assert!(shown.ok().contains(&token()), "{shown:?}");
}

#[test]
fn an_answer_shows_no_secret_unless_that_is_wanted() {
    let asked = Asked::of([("src/forge.rs", source().as_bytes())]);
    let ran = asked.run(&["query", "how do we connect to the forge?"]);
    assert!(
        ran.ok().contains("****") && !ran.stdout.contains("ghp_"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("masked secrets in 1 text"), "{ran:?}");
    let shown = asked.run(&["query", "how do we connect to the forge?", "--keep-secrets"]);
    assert!(shown.ok().contains(&token()), "{shown:?}");
}

#[test]
fn secrets_in_what_is_not_shown_are_not_told() {
    let other = "/// Whether the forge is there.\npub fn is_there() -> bool {\n    true\n}\n";
    let files = [
        ("src/forge.rs", source()),
        ("src/there.rs", other.to_owned()),
    ];
    let asked = Asked::of(
        files
            .each_ref()
            .map(|(path, text)| (*path, text.as_bytes())),
    );
    let question = ["query", "is_there of the forge", "--json", "--max-chunks"];
    let told = |most: &str| {
        let ran = asked.run(&[&question[..], &[most]].concat());
        let included = ran.json()["included"].as_array().unwrap().len();
        (included, ran.stderr.contains("masked secrets in 1 text"))
    };
    assert_eq!(told("1"), (1, false));
    assert_eq!(told("2"), (2, true));
}
