#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tree_sitter::{Query, QueryCursor, StreamingIterator as _};

use super::*;
use crate::captures::Capture;

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

/// The query of `language`, as the library understands it.
fn query_of(language: Language) -> Option<Result<Query, tree_sitter::QueryError>> {
    let grammar = tree_sitter::Language::new(language.row().grammar?);
    let source = format!("{}\n{}", language.row().query, comments(&grammar));
    Some(Query::new(&grammar, &source))
}

/// The library's queries, each compiled once.
fn query(language: Language) -> &'static Query {
    static QUERIES: [OnceLock<Query>; ROWS.len()] = [const { OnceLock::new() }; ROWS.len()];
    QUERIES[language.index()].get_or_init(|| query_of(language).unwrap().unwrap())
}

/// Collects what the library finds in `node`: matches that begin anywhere, or at most this deep.
fn ask(
    grammar: &Grammar,
    query: &Query,
    (node, depth): (Node<'_>, Option<u32>),
    text: &str,
    reading: &mut Reading,
) {
    let mut cursor = QueryCursor::new();
    cursor.set_max_start_depth(depth);
    let mut matches = cursor.matches(query, node, text.as_bytes());
    while let Some(found) = matches.next() {
        let named = found.captures().iter().map(|it| Capture {
            node: it.node,
            index: it.index,
        });
        let found = Match {
            pattern: found.pattern_index,
            captures: &named.collect::<Vec<_>>(),
        };
        grammar.note(&found, text, reading);
    }
}

/// What is found in `text`: by patterns where they begin, by the library's query where patterns
/// begin, and by one query over the whole tree.
fn all_ways(language: Language, grammar: &Grammar, text: &str) -> [Reading; 3] {
    let mut limits = Limits::default();
    limits.time *= 60;
    let work = &mut Work::new(&limits);
    let tree = grammar.parse(text, work).unwrap();
    let walked = grammar.walk(&tree, text, work).unwrap();
    let query = query(language);
    let (mut asked, mut whole) = (Reading::default(), Reading::default());
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if grammar.patterns.at(node.kind_id()) != Root::Nothing {
            ask(grammar, query, (node, Some(0)), text, &mut asked);
        }
        if !advance(&mut cursor) {
            break;
        }
    }
    ask(grammar, query, (tree.root_node(), None), text, &mut whole);
    [walked, asked, whole]
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
    let Some(language) = Language::of(path, text) else {
        return 0;
    };
    let Some(grammar) = Grammar::of(language) else {
        return 0;
    };
    let [walked, asked, whole] = all_ways(language, grammar, text);
    // In the same order, too.
    assert_eq!(format!("{walked:?}"), format!("{asked:?}"), "{path}");
    let [walked, whole] = [walked, whole].map(|it| facts(&it));
    assert_eq!(walked, whole, "{path}");
    walked.len()
}

/// Also reads the files in the folder that `CTX_SOURCES` names.
#[test]
fn patterns_find_what_the_query_of_the_library_finds() {
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
    let wrong = Language::all().filter_map(|language| {
        let by_library = query_of(language)?.err().map(|it| it.to_string());
        let error = Grammar::load(language).err().or(by_library)?;
        Some(format!("{language}: {error}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
