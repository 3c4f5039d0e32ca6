//! The rules, on made-up graphs.

use super::counts::{StatedCount, distinct, rows, sentences};
use super::graph::Graph;
use super::pure::reaches;
use super::rules::{Violation, check, longest_chain};
use super::table::{Row, TABLE, Table};

const SMALL: Table = Table {
    rows: &[
        Row {
            layer: "low",
            crates: &["a", "b"],
        },
        Row {
            layer: "middle",
            crates: &["c"],
        },
        Row {
            layer: "high",
            crates: &["d", "e"],
        },
    ],
    core: &["a"],
    facade: ("d", &["light"]),
    bare: &[&["c", "e"]],
    outside: &[("a", &["serde"])],
    pure: &[],
    impure: &["std::fs"],
    reaching: &[],
    longest_chain: 2,
};

fn graph(edges: &[(&str, &[&str], &[&str])]) -> Graph {
    let mut graph = Graph::default();
    for (name, inside, outside) in edges {
        let names = graph.crates.entry((*name).to_owned()).or_default();
        names.inside.extend(inside.iter().map(|&n| n.to_owned()));
        names.outside.extend(outside.iter().map(|&n| n.to_owned()));
    }
    graph
}

#[track_caller]
fn complains(edges: &[(&str, &[&str], &[&str])], expected: &[&str]) {
    let said: Vec<String> = check(&graph(edges), &SMALL)
        .iter()
        .map(Violation::to_string)
        .collect();
    assert_eq!(said, expected);
}

#[test]
fn a_downward_edge_is_nobodys_business() {
    complains(&[("a", &[], &["serde"]), ("c", &["a"], &["anything"])], &[]);
}

#[test]
fn an_upward_edge_is_named() {
    complains(
        &[("a", &["c"], &[]), ("c", &[], &[])],
        &["a → c: `c` (middle) is not below `a` (low)"],
    );
}

#[test]
fn crates_of_one_row_do_not_name_each_other() {
    complains(
        &[("d", &["e"], &[]), ("e", &[], &[])],
        &["d → e: `e` (high) is not below `d` (high)"],
    );
}

#[test]
fn a_crate_without_a_place_is_named_once() {
    complains(
        &[("d", &["new"], &[]), ("new", &[], &[])],
        &["new: has no place in the table of layers"],
    );
}

#[test]
fn a_stranger_in_a_small_crate_is_named() {
    complains(
        &[("a", &[], &["serde", "tokio"])],
        &["a → tokio: not among what `a` may depend on"],
    );
}

#[test]
fn too_long_a_chain_is_shown_whole() {
    complains(
        &[("a", &[], &[]), ("c", &["a"], &[]), ("d", &["a", "c"], &[])],
        &["d → c → a: a chain of 3, where 2 is the most"],
    );
}

#[test]
fn a_cycle_ends_and_is_reported_as_its_upward_edge() {
    let cycle = graph(&[("a", &["c"], &[]), ("c", &["a"], &[])]);
    assert_eq!(longest_chain(&cycle, &SMALL), ["c", "a"]);
    assert_eq!(check(&cycle, &SMALL).len(), 1);
}

#[test]
fn a_reach_for_the_world_outside_is_found_where_it_is_code() {
    let text = "//! std::fs\nuse std::fs;\n/// std::fs\nfn f() { std::fs::read(\"a\") } // x";
    assert_eq!(
        reaches(text, SMALL.impure),
        [(2, "std::fs"), (4, "std::fs")]
    );
}

#[test]
fn a_manifest_that_lacks_something_is_named() {
    let mut crates = graph(&[("a", &[], &[])]);
    crates.crates.get_mut("a").unwrap().lacks = vec!["a description"];
    let said: Vec<String> = check(&crates, &SMALL)
        .iter()
        .map(Violation::to_string)
        .collect();
    assert_eq!(said, ["a: its manifest lacks a description"]);
}

#[test]
fn a_crate_that_is_built_with_all_of_its_features_alone_is_named() {
    let of = ["a", "b", "c", "d", "d-light", "e"].map(|name| (name, &[][..], &[][..]));
    let mut crates = graph(&of);
    for names in crates.crates.values_mut() {
        names.has_features = true;
    }
    let said = check(&crates, &SMALL);
    let said = said
        .iter()
        .filter(|it| matches!(it, Violation::Unbuilt { .. }));
    let said: Vec<String> = said.map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["b: has features, and nothing builds it without them"]
    );
}

#[test]
fn the_table_places_every_crate_once_and_limits_every_core_crate() {
    let mut placed: Vec<&str> = TABLE
        .rows
        .iter()
        .flat_map(|row| row.crates)
        .copied()
        .collect();
    let count = placed.len();
    placed.sort_unstable();
    placed.dedup();
    assert_eq!(placed.len(), count);
    for name in TABLE.core {
        assert!(placed.contains(name), "{name}");
        assert!(TABLE.outside.iter().any(|(of, _)| of == name), "{name}");
    }
}

fn told(arguments: &str, crates: usize) -> StatedCount {
    let arguments = arguments.split(' ').map(str::to_owned).collect();
    StatedCount { arguments, crates }
}

#[test]
fn numbers_of_crates_are_read_with_the_command_that_lists_them() {
    let text = "It compiles 13\ncrates (`cargo tree -p a\n-e normal`), not 90 crates (of C), and the\n\
                rest 7 crates (`cargo tree -p b | sed 's/x//' | wc -l`, on Linux).";
    let expected = [told("tree -p a -e normal", 13), told("tree -p b", 7)];
    assert_eq!(sentences(text), expected);
    let table = "| feature | default | what | crates |\n|---|---|---|---|\n\
                 | none | | nothing | 3 |\n| `x` | on | a thing | 12 |\n";
    let all = "tree -p a --no-default-features -e normal,build --prefix none";
    let expected = [told(all, 3), told(&format!("{all} --features x"), 12)];
    assert_eq!(rows(table, "a"), expected);
}

#[test]
fn a_crate_that_is_listed_again_counts_once() {
    assert_eq!(
        distinct("a v1\nb v1 (proc-macro)\na v1 (*)\nb v1 (proc-macro) (*)\n\n"),
        2
    );
}
