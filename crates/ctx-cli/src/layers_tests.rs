//! Which settings are accepted, and the errors for others.

use super::*;

#[test]
fn every_key_is_read() {
    let layer = parse(
        r#"
        [query]
        max-tokens = 4_000
        strategies = ["text", "names"]
        types = ["function"]
        limit = 20
        min-score = 0.5
        min-chance = 0.01
        selection = "in-order"
        relevance-power = 2
        [output]
        format = "xml"
        counter = "cl100k_base"
        [index]
        include-generated = true
        max-file-size = "2M"
        wait = 5
        "#,
    )
    .unwrap();
    let variables = [
        ("CTX_MAX_TOKENS", "4000"),
        ("CTX_STRATEGIES", "text,names"),
        ("CTX_TYPES", "function"),
        ("CTX_LIMIT", "20"),
        ("CTX_MIN_SCORE", "0.5"),
        ("CTX_MIN_CHANCE", "0.01"),
        ("CTX_SELECTION", "in-order"),
        ("CTX_RELEVANCE_POWER", "2"),
        ("CTX_FORMAT", "xml"),
        ("CTX_COUNTER", "cl100k_base"),
        ("CTX_INCLUDE_GENERATED", "true"),
        ("CTX_MAX_FILE_SIZE", "2097152"),
        ("CTX_WAIT", "5"),
    ];
    let variable = |name: &str| {
        let found = variables.iter().find(|(it, _)| *it == name);
        found.map(|(_, value)| OsString::from(value))
    };
    assert_eq!(environment(variable).unwrap(), layer);
    let settings = format!("{layer:?}");
    assert!(!settings.contains("None"), "{settings}");
}

#[track_caller]
fn refused(text: &str, line: usize, parts: &[&str]) {
    let (at, what) = parse(text).unwrap_err();
    assert_eq!(at, line, "{what}");
    for part in parts {
        assert!(what.contains(part), "{what:?} lacks {part:?}");
    }
}

#[test]
fn settings_that_are_not_understood_are_named_with_their_line() {
    refused(
        "\n[query]\nmax-token = 1\n",
        3,
        &["query", "max-token", "max-tokens"],
    );
    refused("[search]\n", 1, &["search", "query"]);
    refused(
        "[query]\n\nlimit = -1\n",
        3,
        &["query.limit", "whole number"],
    );
    refused(
        "[output]\nformat = \"pdf\"\n",
        2,
        &["output.format", "markdown"],
    );
    refused(
        "[query]\nstrategies = [\"luck\"]\n",
        2,
        &["query.strategies", "luck"],
    );
    refused(
        "[query]\nlimit = {}\n",
        2,
        &["query.limit", "a plain value"],
    );
    refused("[query]\nlimit = 1979-05-27\n", 2, &["query.limit"]);
    refused("query = 3\n", 1, &["query", "expected a table of settings"]);
    for large in ["99999999999999999999", "9223372036854775808"] {
        let refused = |key: &str, parts: &[&str]| {
            refused(&format!("[query]\n{key} = {large}\n"), 2, parts);
        };
        refused("max-tokens", &["too many tokens"]);
        if large.len() > 19 {
            refused("limit", &["too large"]);
        }
    }
    refused(
        "[query]\nlimit = 1\nlimit = 2\n",
        3,
        &["duplicate key limit"],
    );
    refused("[query]\n\n[query]\n", 3, &["duplicate key query"]);
    refused("[query\n", 1, &[]);
}

#[test]
fn deep_nesting_is_an_error() {
    for key in ["query", "query.limit", "output.format"] {
        let (section, key) = key.split_once('.').unwrap_or(("index", key));
        for deep in ctx_testkit::hostile::nested_toml(key) {
            let start = deep.chars().take(20).collect::<String>();
            assert!(parse(&deep).is_err(), "{start}");
            assert!(parse(&format!("[{section}]\n{deep}\n")).is_err(), "{start}");
        }
    }
}
