//! References between symbols, and their weights.

use std::collections::{BTreeMap, BTreeSet};

use ctx_syntax::{Direction, Edge, EdgeKind, Graph, Language, Limits, Outline};
use ctx_testkit::laws::linear;

fn outline(path: &str, text: &str) -> Outline {
    Outline::of(text, Language::of(path, text), &Limits::default())
}

fn outlines<'f>(files: &[(&'f str, &str)]) -> Vec<(&'f str, Outline)> {
    let outline = |&(path, text): &(&'f str, &str)| (path, outline(path, text));
    files.iter().map(outline).collect()
}

fn graph<'f>(outlines: &'f [(&'f str, Outline)]) -> Graph<'f> {
    Graph::new(outlines.iter().map(|(path, outline)| (*path, outline)))
}

const FILES: &[(&str, &str)] = &[
    (
        "app/main.py",
        "from app.shapes import Circle\nimport app.util\n\ndef run():\n    c = Circle()\n    log(c)\n    shared()\n",
    ),
    (
        "app/shapes.py",
        "from app.base import Shape\n\nclass Circle(Shape):\n    def area(self):\n        return helper()\n\ndef helper():\n    pass\n\ndef shared():\n    pass\n",
    ),
    ("app/base.py", "class Shape:\n    pass\n"),
    ("app/util.py", "def log(x):\n    pass\n"),
    (
        "other/noise.py",
        "def helper():\n    pass\n\ndef common():\n    pass\n",
    ),
    (
        "other/more.py",
        "def common():\n    pass\n\ndef user():\n    unknown()\n",
    ),
    ("third/user.py", "def third():\n    common()\n"),
];

#[track_caller]
fn edges(graph: &Graph<'_>, name: &str, expected: &[(EdgeKind, &str, &str, f64)]) {
    let id = graph.find(name)[0];
    let mut found: Vec<(EdgeKind, &str, &str, f64)> = graph
        .outgoing(id)
        .iter()
        .map(|edge| {
            let node = &graph.nodes()[edge.to];
            let symbol = node.symbol.map_or("", |(name, _)| name);
            (edge.kind, node.path, symbol, edge.weight)
        })
        .collect();
    found.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
    assert_eq!(found, expected, "{name}");
}

#[test]
fn kinds_of_relations_are_shown_and_read_by_their_words() {
    for kind in EdgeKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(*kind));
    }
    let error = "call".parse::<EdgeKind>().unwrap_err().to_string();
    let known = "it is one of defines, imports, calls, uses, extends";
    assert_eq!(error, format!("unknown kind of relation \"call\": {known}"));
}

#[test]
fn names_are_resolved_by_scope_import_and_uniqueness() {
    use EdgeKind::{Calls, Defines, Extends, Imports};
    let outlines = outlines(FILES);
    let graph = graph(&outlines);
    edges(
        &graph,
        "app/main.py",
        &[
            (Defines, "app/main.py", "run", 1.0),
            (Imports, "app/shapes.py", "", 1.0),
            (Imports, "app/util.py", "", 1.0),
        ],
    );
    edges(
        &graph,
        "run",
        &[
            (Calls, "app/shapes.py", "Circle", 1.0),
            (Calls, "app/shapes.py", "shared", 1.0),
            (Calls, "app/util.py", "log", 1.0),
        ],
    );
    edges(
        &graph,
        "Circle",
        &[
            (Defines, "app/shapes.py", "Circle.area", 1.0),
            (Extends, "app/base.py", "Shape", 1.0),
        ],
    );
    // The helper of the same file, not the one of another.
    edges(&graph, "area", &[(Calls, "app/shapes.py", "helper", 1.0)]);
}

#[test]
fn references_of_terraform_are_found_by_the_names_it_uses() {
    use EdgeKind::{Defines, Imports, Uses};
    let outlines = outlines(&[
        (
            "main.tf",
            "resource \"aws_vpc\" \"main\" {\n  cidr = var.cidr == local.none.a ? null : data.aws_ami.last[0].id\n  each = each.value\n  name = \"${module.net.name}-a\"\n}\nmodule \"net\" {\n  source = \"./modules/net\"\n  vpc    = aws_vpc.main[0].id\n}\n",
        ),
        (
            "variables.tf",
            "variable \"cidr\" {}\nlocals {\n  none = {}\n}\ndata \"aws_ami\" \"last\" {}\n",
        ),
        ("modules/net/main.tf", "output \"name\" {\n  value = 1\n}\n"),
    ]);
    let graph = graph(&outlines);
    edges(
        &graph,
        "aws_vpc.main",
        &[
            (Uses, "main.tf", "module.net", 1.0),
            (Uses, "variables.tf", "data.aws_ami.last", 1.0),
            (Uses, "variables.tf", "local.none", 1.0),
            (Uses, "variables.tf", "var.cidr", 1.0),
        ],
    );
    edges(
        &graph,
        "main.tf",
        &[
            (Defines, "main.tf", "aws_vpc.main", 1.0),
            (Defines, "main.tf", "module.net", 1.0),
            (Imports, "modules/net/main.tf", "", 1.0),
        ],
    );
    edges(
        &graph,
        "module.net",
        &[(Uses, "main.tf", "aws_vpc.main", 1.0)],
    );
}

#[test]
fn ambiguous_names_have_an_edge_to_each_candidate_and_no_other() {
    use EdgeKind::Calls;
    let outlines = outlines(FILES);
    let graph = graph(&outlines);
    edges(
        &graph,
        "third",
        &[
            (Calls, "other/more.py", "common", 0.5),
            (Calls, "other/noise.py", "common", 0.5),
        ],
    );
    edges(&graph, "user", &[]);
}

#[test]
fn a_name_leads_to_the_first_that_have_it() {
    let calls = format!("def target():\n{}", "    a()\n".repeat(600));
    let importing = format!("import b\nimport c\n{calls}");
    let one = "def a(): pass\n";
    let out = |files: &[(&str, &str)]| {
        let outlines = outlines(files);
        let graph = graph(&outlines);
        let calls = graph.outgoing(graph.find("target")[0]).to_vec();
        (calls.len(), calls.first().map(|it| it.weight))
    };
    for count in [16_u16, 17, 300] {
        let defined = one.repeat(count.into());
        let expected = (16, Some(1.0 / f64::from(count)));
        // Of those in the same file, and of those in imported ones.
        assert_eq!(out(&[("a.py", &format!("{defined}{calls}"))]), expected);
        let files = [("a.py", &*importing), ("b.py", &defined), ("d.py", one)];
        assert_eq!(out(&files), expected);
        // Elsewhere, a name that so many have leads nowhere.
        let expected = if count == 16 { expected } else { (0, None) };
        assert_eq!(out(&[("a.py", &calls), ("b.py", &defined)]), expected);
    }
}

#[test]
fn edges_are_no_more_than_references_times_sixteen() {
    let text = "def a(): a(); a()\n".repeat(400);
    let outlines = outlines(&[("a.py", &text)]);
    let graph = graph(&outlines);
    let all = (0..graph.nodes().len()).map(|it| graph.outgoing(it).len());
    let edges: usize = all.sum();
    assert!((1..400 * 18).contains(&edges), "{edges}");
}

#[test]
fn a_module_is_found_by_the_first_of_what_it_names() {
    use EdgeKind::Imports;
    let list = "Name, ".repeat(1_000);
    let importing = format!("use crate::app::shapes::{{{list}}};\n");
    let outlines = outlines(&[("main.rs", &importing), ("src/app/shapes.rs", "")]);
    let graph = graph(&outlines);
    let expected = [(Imports, "src/app/shapes.rs", "", 1.0)];
    edges(&graph, "main.rs", &expected);
}

#[test]
#[cfg(feature = "go")]
fn imports_of_go_name_folders_below_the_project() {
    use EdgeKind::{Calls, Defines, Imports};
    let importing = "package main\n\nimport (\n\t\"net/http\"\n\t\"github.com/a/b/v2/pkg/cmd/factory\"\n\t\"github.com/a/b/v2/api\"\n\t\"github.com/c/errors\"\n\t\"app/internal/db\"\n)\n\nfunc main() {\n\tfactory.New()\n}\n";
    let outlines = outlines(&[
        ("cmd/b/main.go", importing),
        (
            "pkg/cmd/factory/new.go",
            "package factory\n\nfunc New() {}\n",
        ),
        ("pkg/cmd/factory/old.go", "package factory\n"),
        (
            "pkg/cmd/factory/new_test.go",
            "package factory\n\nfunc New() {}\n",
        ),
        ("pkg/cmd/list/list.go", "package list\n\nfunc New() {}\n"),
        ("api/client.go", "package api\n"),
        ("internal/db/db.go", "package db\n"),
        ("internal/errors/errors.go", "package errors\n"),
        ("internal/http/http.go", "package http\n"),
    ]);
    let graph = graph(&outlines);
    edges(
        &graph,
        "cmd/b/main.go",
        &[
            (Defines, "cmd/b/main.go", "main", 1.0),
            (Imports, "api/client.go", "", 1.0),
            (Imports, "internal/db/db.go", "", 1.0),
            (Imports, "pkg/cmd/factory/new.go", "", 1.0),
            (Imports, "pkg/cmd/factory/old.go", "", 1.0),
        ],
    );
    let expected = [(Calls, "pkg/cmd/factory/new.go", "New", 1.0)];
    edges(&graph, "main", &expected);
}

#[test]
#[cfg(feature = "typescript")]
fn a_file_that_stands_for_its_folder_is_found_by_its_own_name_too() {
    use EdgeKind::Imports;
    let importing = "import './lib';\nimport '@/components/Box';\nimport '~/views';\n";
    let outlines = outlines(&[
        ("src/app.ts", importing),
        ("src/lib.ts", ""),
        ("src/components/Box.tsx", ""),
        ("src/views/index.ts", ""),
        ("other/lib.ts", ""),
    ]);
    let graph = graph(&outlines);
    edges(
        &graph,
        "src/app.ts",
        &[
            (Imports, "src/components/Box.tsx", "", 1.0),
            (Imports, "src/lib.ts", "", 1.0),
            (Imports, "src/views/index.ts", "", 1.0),
        ],
    );
}

#[test]
fn a_long_module_is_looked_for_in_linear_time() {
    for (path, before) in [("a.js", ""), ("a.go", "package a\n")] {
        let text = |n| format!("{before}import \"{}\"\n", "b/".repeat(n));
        let outline = |n| outline(path, &text(n));
        linear("parts of a module", outline, |it| {
            Graph::new([(path, it)]).nodes().len()
        });
    }
}

#[test]
fn a_neighbourhood_is_bounded_and_has_a_direction() {
    let outlines = outlines(FILES);
    let graph = graph(&outlines);
    let names = |name: &str, depth, direction| -> Vec<(String, usize)> {
        graph
            .neighbourhood(graph.find(name)[0], depth, direction)
            .into_iter()
            .map(|(id, distance)| {
                let node = &graph.nodes()[id];
                let name = node.symbol.map_or(node.path, |(name, _)| name);
                (name.to_owned(), distance)
            })
            .collect()
    };
    assert!(names("run", 0, Direction::Both).is_empty());
    let one = names("run", 1, Direction::Outgoing);
    assert_eq!(one.len(), 3);
    let two = names("run", 2, Direction::Outgoing);
    assert!(two.contains(&("Shape".to_owned(), 2)), "{two:?}");
    assert_eq!(two[..3], one[..]);
    let back = names("Shape", 1, Direction::Incoming);
    assert_eq!(
        back,
        [("app/base.py".to_owned(), 1), ("Circle".to_owned(), 1)]
    );
}

#[test]
fn the_order_of_files_does_not_matter() {
    let told = |files: &[(&str, &str)]| {
        let outlines = outlines(files);
        let graph = graph(&outlines);
        // What leads to a node is told when it is asked for.
        let back: Vec<Vec<Edge>> = (0..graph.nodes().len())
            .map(|id| graph.incoming(id).to_vec())
            .collect();
        format!("{graph:?} {back:?}")
    };
    let mut files = FILES.to_vec();
    let before = told(&files);
    files.reverse();
    assert_eq!(told(&files), before);
}

#[test]
fn incoming_edges_are_the_outgoing_edges_of_others() {
    let outlines = outlines(FILES);
    let graph = graph(&outlines);
    let copy = graph.clone();
    let order = |it: &Edge| (it.from, it.to, it.kind);
    for id in 0..graph.nodes().len() {
        let all = (0..graph.nodes().len()).flat_map(|it| graph.outgoing(it));
        let mut expected: Vec<Edge> = all.filter(|it| it.to == id).copied().collect();
        let mut found = graph.incoming(id).to_vec();
        assert_eq!(found, copy.incoming(id));
        assert!(found.is_sorted_by(|a, b| a.weight >= b.weight));
        expected.sort_by_key(order);
        found.sort_by_key(order);
        assert_eq!(found, expected);
    }
}

#[test]
fn edges_that_go_out_from_some_are_those_among_all() {
    let outlines = outlines(FILES);
    let files = || outlines.iter().map(|(path, outline)| (*path, outline));
    let all = Graph::new(files());
    for every in 1..5 {
        let mut wanted: BTreeMap<&str, BTreeSet<Option<usize>>> = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for (path, outline) in files() {
            let file = all.nodes().iter().position(|it| it.path == path).unwrap();
            let symbols = (0..outline.symbols.len()).map(Some);
            for (at, symbol) in [None].into_iter().chain(symbols).enumerate() {
                if (file + at) % every == 0 {
                    wanted.entry(path).or_default().insert(symbol);
                    ids.insert(file + at);
                }
            }
        }
        // What does not exist has no edges.
        wanted.entry(FILES[0].0).or_default().insert(Some(1_000));
        let some = Graph::outgoing_from(files(), &wanted);
        assert_eq!(some.nodes(), all.nodes());
        for id in 0..all.nodes().len() {
            let expected = if ids.contains(&id) {
                all.outgoing(id)
            } else {
                &[]
            };
            assert_eq!(some.outgoing(id), expected, "{:?}", all.nodes()[id]);
        }
    }
}
