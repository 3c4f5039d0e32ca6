#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

#[test]
fn levels_are_those_of_indentation() {
    assert_eq!(indented_levels(""), 0);
    assert_eq!(indented_levels("a:\n  b:\n    c\n  d\n"), 3);
    assert_eq!(indented_levels("- - - a\n- b\n"), 4);
    assert_eq!(indented_levels("-a: b\n"), 1);
}

#[test]
fn angles_are_closed_by_their_own_and_by_braces() {
    assert_eq!(open_angles(""), 0);
    assert_eq!(open_angles("A<B<C>>>> a << b <"), 3);
    assert_eq!(open_angles("a < b; { c < d } e < f"), 1);
}

/// What `grammar` finds in `text` by queries at roots, and by one query over the whole tree.
fn both_ways(grammar: &Grammar, text: &str) -> [Reading; 2] {
    let mut limits = Limits::default();
    limits.time *= 60;
    let work = &mut Work::new(&limits);
    let tree = grammar.parse(text, work).unwrap();
    let walked = grammar.walk(&tree, text, work).unwrap();
    let work = &mut Work::new(&limits);
    let mut whole = Reading::default();
    let mut patterns = QueryCursor::new();
    grammar
        .ask(&mut patterns, tree.root_node(), text, work, &mut whole)
        .unwrap();
    [walked, whole]
}

/// All findings, sorted, since their order does not matter.
fn facts(reading: &Reading) -> Vec<String> {
    let definitions = reading.definitions.iter().map(|it| format!("{it:?}"));
    let references = reading.references.iter().map(|it| format!("{it:?}"));
    let imports = reading.imports.iter().map(|it| format!("{it:?}"));
    let docs = reading.docs.iter().map(|it| format!("{it:?}"));
    let comments = reading.comment_rows.iter().map(|it| format!("{it:?}"));
    let facts = definitions.chain(references).chain(imports).chain(docs);
    let mut facts: Vec<String> = facts.chain(comments).collect();
    facts.sort_unstable();
    facts
}

#[track_caller]
fn finds_the_same(path: &str, text: &str) -> usize {
    let Some(grammar) = Language::of(path, text).and_then(Grammar::of) else {
        return 0;
    };
    let [walked, whole] = both_ways(grammar, text).map(|it| facts(&it));
    assert_eq!(walked, whole, "{path}");
    walked.len()
}

/// Also reads the files in the folder that `CTX_SOURCES` names.
#[test]
fn nothing_is_found_by_one_pass_that_is_not_found_where_patterns_begin() {
    let mut folders = vec![env!("CARGO_MANIFEST_DIR").to_owned()];
    folders.extend(std::env::var("CTX_SOURCES").ok());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            if path.is_dir() {
                folders.push(name.to_owned());
            } else if let Ok(text) = std::fs::read_to_string(&path)
                && text.len() < 200_000
            {
                finds_the_same(name, &text);
                // Also for text with many syntax errors.
                let torn: Vec<&str> = text.split_inclusive(['(', '}']).step_by(2).collect();
                finds_the_same(name, &torn.concat());
            }
        }
    }
}

#[test]
fn every_query_is_one_for_its_grammar() {
    let wrong: Vec<String> = Language::all()
        .filter_map(|language| Some(format!("{language}: {}", Grammar::load(language).err()?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
