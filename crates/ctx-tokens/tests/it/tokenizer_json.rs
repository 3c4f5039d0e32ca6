//! A tokenizer read from a file.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ctx_testkit::laws::token_counter;
use ctx_tokens::{CounterName, Counters, Exactness, TokenCounter, TokensError, counter};

/// Two merges, a special token, and a truncation that no count may obey.
const TINY: &str = r#"{
  "version": "1.0",
  "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
  "padding": null,
  "added_tokens": [
    {"id": 6, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
  ],
  "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
  "model": {
    "type": "BPE", "dropout": null, "unk_token": "?", "continuing_subword_prefix": null,
    "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
    "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "?": 5},
    "merges": [["a", "b"], ["ab", "c"]]
  }
}"#;

#[test]
fn a_file_counts_as_it_says() {
    let path = write("tiny/tokenizer.json", TINY);
    let counters = Counters::default().with_files();
    let name = CounterName::Named(path.display().to_string());
    let counter = counters.get(&name).unwrap();
    assert_eq!(counter.count("abcabca").get(), 3);
    assert_eq!(counter.count("ccccc").get(), 5);
    // Truncation and special tokens are no part of a count.
    assert_eq!(counter.count("<s>").get(), 3);
    assert_eq!(counter.exactness(), Exactness::Exact);
    assert_eq!(counter.name(), path.display().to_string());
    token_counter(&*counter);
}

#[test]
fn a_file_that_is_none_is_named() {
    let path = write("broken/tokenizer.json", "{}");
    check_refused(&path);
    check_refused(&path.with_file_name("missing.json"));
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_not_read() {
    let path = write("endless/tokenizer.json", "");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    check_refused(&path);
    fs::remove_file(&path).unwrap();
}

/// It may come from anybody: that there is one is told as little as that there is none.
#[test]
fn a_name_opens_no_file_unless_that_is_allowed() {
    let path = write("unasked/tokenizer.json", TINY);
    let missing = path.with_file_name("missing.json");
    for path in [&path, &missing] {
        let name = CounterName::Named(path.display().to_string());
        for refused in [counter(&name), Counters::default().get(&name)] {
            let refused = refused.err().unwrap();
            let TokensError::File { name } = &refused else {
                panic!("{refused}")
            };
            assert!(
                path.display()
                    .to_string()
                    .starts_with(name.trim_end_matches('…'))
            );
            assert!(std::error::Error::source(&refused).is_none());
        }
    }
}

#[track_caller]
fn check_refused(path: &PathBuf) {
    let counters = Counters::default().with_files();
    let refused = counters
        .get(&CounterName::Named(path.display().to_string()))
        .err()
        .unwrap();
    let TokensError::Tokenizer { path: named, .. } = &refused else {
        panic!("{refused}")
    };
    assert_eq!(named, path);
    assert!(refused.to_string().contains(&path.display().to_string()));
}

fn write(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_file_is_read_once() {
    let path = write("kept/tokenizer.json", TINY);
    let name = CounterName::Named(path.display().to_string());
    let counters = Counters::default().with_files();
    let first = counters.known(&name).unwrap();
    fs::remove_file(&path).unwrap();
    let again = counters.known(&name).unwrap();
    assert!(Arc::ptr_eq(&first.counter, &again.counter));
    assert_eq!(first.identity, again.identity);
    let new = || Counters::default().with_files();
    assert!(new().known(&name).is_err(), "it is gone");
    // Without the token for all three there are two.
    let other = TINY
        .replace(r#""abc": 4, "#, "")
        .replace(r#", ["ab", "c"]"#, "");
    write("kept/tokenizer.json", &other);
    let changed = new().known(&name).unwrap();
    assert_ne!(changed.identity, first.identity);
    assert_eq!(first.counter.count("abc").get(), 1);
    assert_eq!(changed.counter.count("abc").get(), 2);
}

#[test]
fn the_files_asked_for_last_are_kept() {
    let name = |number| {
        let path = write(&format!("many/{number}/tokenizer.json"), TINY);
        CounterName::Named(path.display().to_string())
    };
    let names: Vec<CounterName> = (0..5).map(name).collect();
    let counters = Counters::default().with_files();
    let get = |at: usize| counters.known(&names[at]).unwrap().identity;
    let first = get(0);
    let second = get(1);
    let _ = (get(2), get(3));
    assert_eq!(get(0), first);
    get(4);
    assert_eq!(get(0), first, "it was asked for last but one");
    assert_ne!(get(1), second, "it made room");
}
