//! Strings that have broken other programs, as contents and as names.

use ctx_format::FormatOptions;
use ctx_model::Format;
use ctx_testkit::laws::documents::{document_of, full_of, survives};
use ctx_testkit::shared;
use serde_json::Value;

#[test]
fn naughty_strings_survive() {
    let Some(Value::Array(strings)) = shared::json("data/hostile/blns.json") else {
        return;
    };
    assert!(strings.len() > 500);
    for text in &strings {
        survives(text.as_str().unwrap());
    }
}

#[test]
fn examples_of_markdown_survive() {
    let Some(Value::Array(examples)) = shared::json("data/hostile/commonmark.json") else {
        return;
    };
    assert!(examples.len() > 600);
    for example in &examples {
        survives(example["markdown"].as_str().unwrap());
        survives(example["html"].as_str().unwrap());
    }
}

#[test]
fn documents_survive_inside_documents() {
    let mut nested = full_of("the innermost");
    for round in 0..4 {
        let format = Format::ALL[round % 4];
        let options = FormatOptions::default()
            .with_metadata(true)
            .with_scores(true);
        nested = full_of(&document_of(format, &options, &nested));
        survives(&nested.content);
    }
}

#[test]
fn long_runs_survive() {
    for run in [
        "`", "~", "-", "]", "]]>", "\r", "\n", "- ", "<", "&", "\"", "\\", "\u{200d}", "{",
    ] {
        survives(&run.repeat(500));
    }
}
