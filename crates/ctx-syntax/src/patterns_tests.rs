#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tree_sitter::{Parser, Query, QueryCursor, StreamingIterator as _, Tree};

use super::*;
use crate::matcher::Matcher;
use crate::work::Work;
use crate::{Fallback, Limits};

const CODE: &str = "#[test]\nfn a(x: u8, /* y */ y: u8) -> u8 { b(x, y, 1); c(x) }\nstruct S;\n\
    struct T { x: u8, pub y: u8 }\nfn d() {}\nmod m { fn e(self) {} use a::b; }\n";

fn grammar() -> Language {
    Language::new(tree_sitter_rust::LANGUAGE)
}

fn parsed(text: &str) -> Tree {
    let mut parser = Parser::new();
    parser.set_language(&grammar()).unwrap();
    parser.parse(text, None).unwrap()
}

/// A match in words: its pattern, and what it names with its text.
fn told<'a>(pattern: usize, captures: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    captures.fold(pattern.to_string(), |line, (name, text)| {
        format!("{line} {name}={text:?}")
    })
}

/// All matches of `patterns` in `tree`, by where they begin.
fn matches(patterns: &Patterns, tree: &Tree, text: &str) -> Result<Vec<String>, Fallback> {
    let mut found = Vec::new();
    let mut matcher = Matcher::new(patterns, tree.root_node());
    let mut limits = Limits::default();
    limits.time *= 60;
    let work = &mut Work::new(&limits);
    for node in nodes(tree) {
        let beginning = match patterns.at(node.kind_id()) {
            Root::Nothing => continue,
            Root::Capture(capture) => {
                let name = patterns.captures[capture as usize].as_str();
                let captures = [(name, &text[node.byte_range()])];
                let its = |it: &Pattern| {
                    let step = &patterns.steps[it.first_step];
                    step.wanted == Wanted::Kind(node.kind_id())
                };
                let pattern = patterns.all.iter().position(its).unwrap();
                found.push(told(pattern, captures.into_iter()));
                continue;
            }
            Root::Patterns(from, to) => patterns.beginning(from, to),
        };
        matcher.run(node, beginning, work, &mut |it| {
            let predicates = &patterns.all[it.pattern].predicates;
            if predicates
                .iter()
                .all(|predicate| it.satisfies(predicate, text))
            {
                let captures = it.captures.iter().map(|it| {
                    let name = patterns.captures[it.index as usize].as_str();
                    (name, &text[it.node.byte_range()])
                });
                found.push(told(it.pattern, captures));
            }
        })?;
    }
    Ok(found)
}

/// The same, as the library finds it.
fn matches_of_library(query: &Query, tree: &Tree, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for node in nodes(tree) {
        let mut cursor = QueryCursor::new();
        cursor.set_max_start_depth(Some(0));
        let mut matches = cursor.matches(query, node, text.as_bytes());
        while let Some(it) = matches.next() {
            let captures = it.captures().iter().map(|it| {
                let name = query.capture_names()[it.index as usize];
                (name, &text[it.node.byte_range()])
            });
            found.push(told(it.pattern_index, captures));
        }
    }
    found
}

/// All nodes, in preorder.
fn nodes(tree: &Tree) -> Vec<tree_sitter::Node<'_>> {
    let mut nodes = Vec::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        nodes.push(node);
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        open.extend(children.into_iter().rev());
    }
    nodes
}

/// Checks that `query` finds as many matches in [`CODE`], and the same as the library's.
#[track_caller]
fn finds(query: &str, count: usize) {
    let tree = parsed(CODE);
    let patterns = Patterns::of(&grammar(), query).unwrap();
    let found = matches(&patterns, &tree, CODE).unwrap();
    let expected = Query::new(&grammar(), query).unwrap();
    assert_eq!(found, matches_of_library(&expected, &tree, CODE), "{query}");
    assert_eq!(found.len(), count, "{query}: {found:#?}");
}

#[track_caller]
fn is_refused(query: &str, expected: &str) {
    assert_eq!(Patterns::of(&grammar(), query).err().unwrap(), expected);
}

#[test]
fn nodes_are_found_by_kind_and_field() {
    finds("(identifier) @a", 14);
    finds("; Of any.\n(function_item name: (_) @name) @def", 3);
    finds("(function_item name: (_) @name)\n(identifier) @a", 17);
    finds("(parameter pattern: (identifier) @name type: (_) @type)", 2);
    finds("(call_expression arguments: (arguments (_) @argument))", 4);
    finds("(arguments _ @any)", 10);
    finds("(arguments \",\" @comma)", 2);
    finds("(struct_item \"struct\" @a @b name: (_)) @c", 2);
    finds(
        "(call_expression function: (identifier) @a arguments: (arguments (identifier) @b))",
        3,
    );
}

#[test]
fn anchors_ignore_tokens_and_comments_are_nodes() {
    finds("(parameters . (parameter) @first)", 1);
    finds("(parameters . (_) @first)", 2);
    finds("(parameters (_) @last .)", 2);
    finds("(parameters . (_) @only .)", 1);
    finds("(parameters (_) @a . (_) @b)", 2);
    finds("(parameters (parameter) @a . (parameter) @b)", 0);
    finds("(parameters (parameter) @a (parameter) @b)", 1);
    finds("(arguments _ @any . (_) @next)", 4);
    finds("(arguments (identifier) . (integer_literal) @next)", 1);
    finds("(source_file . (_) @first . (_) @second)", 1);
}

#[test]
fn optional_parts_are_taken_if_they_are_there() {
    finds("(struct_item name: (_) @name body: (_)? @body)", 2);
    finds(
        "(field_declaration (visibility_modifier)? @pub name: (_) @name)",
        2,
    );
    finds(
        "(field_declaration . (visibility_modifier)? @pub . name: (_) @name)",
        2,
    );
    finds("(arguments (identifier) @a . (integer_literal)? @b .)", 2);
    finds("(parameters . (self_parameter)? @self (parameter)? @a)", 3);
    finds(
        "(block (expression_statement)? @a (call_expression)? @b .)",
        3,
    );
}

#[test]
fn fields_may_have_to_be_absent() {
    finds("(struct_item !body name: (_) @name)", 1);
    finds("(function_item !return_type name: (_) @name)", 2);
    finds("(struct_item !body !type_parameters) @def", 1);
}

#[test]
fn alternatives_are_tried_at_any_level() {
    finds("(source_file [(struct_item) (function_item)] @item)", 4);
    finds(
        "(source_file [(struct_item name: (_) @name) @a (function_item name: (_) @name) @b])",
        4,
    );
    finds(
        "(parameter pattern: [(identifier) @a (self) @b] type: [(primitive_type)] @type)",
        2,
    );
    finds(
        "(source_file [(mod_item body: (declaration_list [(function_item) (use_declaration)] @a)) (struct_item body: (_) @b)])",
        3,
    );
    finds("(struct_item [\"struct\" (type_identifier) @name])", 2);
    finds(
        "(arguments [(identifier) (integer_literal)] @a . [(identifier) (integer_literal)] @b)",
        2,
    );
    finds("(parameters [(self_parameter) (parameter)] @last .)", 2);
}

#[test]
fn predicates_are_about_the_texts_of_all_captures_of_a_name() {
    finds(
        "(call_expression function: (_) @f (#eq? @f \"b\")) @call",
        1,
    );
    finds(
        "(call_expression function: (_) @f (#not-eq? @f \"b\")) @call",
        1,
    );
    finds(
        "(call_expression function: (_) @f (#any-of? @f b \"c\")) @call",
        2,
    );
    finds(
        "(function_item name: (_) @f (#not-any-of? @f \"a\" \"d\" \"\\n\"))",
        1,
    );
    finds(
        "(struct_item name: (_) @name body: (_)? @body (#eq? @body \"\"))",
        1,
    );
    finds("(arguments (_) @a (_) @a (#eq? @a \"x\"))", 0);
    finds("(function_item name: (_) @name (#set! key \"value\"))", 3);
}

#[test]
fn settings_belong_to_their_pattern() {
    let query = "(mod_item) @a (struct_item (#set! before \"var\") (#set! names 2)) @b";
    let patterns = Patterns::of(&grammar(), query).unwrap();
    assert!(patterns.all[0].settings.is_empty());
    let expected = [("before", "var"), ("names", "2")];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(patterns.all[1].settings, expected);
}

#[test]
fn what_is_not_understood_is_named() {
    is_refused("(nothing) @a", "\"nothing) @a\" is no kind of node");
    is_refused("(_expression) @a", "\"_expression) @a\" is no kind of node");
    is_refused("(ERROR) @a", "\"ERROR) @a\" is no kind of node");
    is_refused("(block \"nothing\")", "\"\\\"nothing\\\")\" is no token");
    is_refused("(block nothing: (_))", "\"nothing\" is no field");
    is_refused("(block !nothing)", "\"nothing\" is no field");
    is_refused(
        "(block ((identifier)))",
        "\"((identifier)))\" is a group, which is not supported",
    );
    is_refused(
        "(block (_)+)",
        "\"+)\" is a repetition, which is not supported",
    );
    is_refused("(block . )", "\"(block . )\" has an anchor beside nothing");
    is_refused("(block [])", "\"[])\" has no alternatives");
    is_refused(
        "(block [(self)? (identifier)])",
        "\"(self)? (identifier)])\" is no plain alternative",
    );
    is_refused(
        "(block (#eq? @a \"b\"))",
        "\"(#eq? @a \\\"b\\\"))\" is about an unknown capture",
    );
    is_refused(
        "(block (#match? \"b\"))",
        "\"(#match? \\\"b\\\"))\" is not supported",
    );
    is_refused("(block) @a @b @c @d", "\"@d\" is one capture too many");
    is_refused("(block", "\"\" is not understood");
    is_refused("(block \"{", "\"\\\"{\" does not end");
    for query in [
        "(_) @a",
        "[(block) (self)] @a",
        "\"{\" @a",
        "(block)? @a",
        "_ @a",
        "#",
    ] {
        is_refused(query, &format!("{query:?} begins with no kind of node"));
    }
}

#[test]
fn only_patterns_that_capture_a_node_and_nothing_else_need_no_matcher() {
    let root = |query: &str| {
        let patterns = Patterns::of(&grammar(), query).unwrap();
        patterns.at(grammar().id_for_node_kind("block", true))
    };
    assert_eq!(root("(block) @a"), Root::Capture(0));
    assert_eq!(root("(self) @b (block) @a (self) @b"), Root::Capture(1));
    assert_eq!(root("(self) @a"), Root::Nothing);
    assert_eq!(root("(block) @a (block) @b"), Root::Patterns(0, 2));
    for query in [
        "(block)",
        "(block) @a @b",
        "(block (_)) @a",
        "(block !type) @a",
    ] {
        assert_eq!(root(query), Root::Patterns(0, 1), "{query}");
    }
}

#[test]
fn an_explosion_of_states_ends() {
    // Each node triples the states.
    let query = format!("(arguments {})", "[(integer_literal) @a (_) @b] ".repeat(9));
    let patterns = Patterns::of(&grammar(), &query).unwrap();
    let text = format!("fn a() {{ b({}) }}", "1, ".repeat(16));
    let found = matches(&patterns, &parsed(&text), &text);
    let limit = Limits::default().steps;
    assert_eq!(found, Err(Fallback::TooMuchWork { limit }));
}

#[test]
fn neighbours_take_linear_time() {
    let query = "(arguments . (_) @a) (arguments (_) @a .) (arguments (_) @a . (_) @b)";
    let patterns = Patterns::of(&grammar(), query).unwrap();
    let text = format!("fn a() {{ b({}) }}", "1, ".repeat(10_000));
    let found = matches(&patterns, &parsed(&text), &text).unwrap();
    assert_eq!(found.len(), 1 + 1 + 9_999);
}
