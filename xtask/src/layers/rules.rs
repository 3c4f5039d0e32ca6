//! Compares the graph with the table.

use std::collections::BTreeMap;
use std::fmt;

use super::graph::Graph;
use super::table::Table;

/// One way in which the graph differs from the table.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Violation {
    /// The table does not contain the crate.
    Unplaced { name: String },
    /// A crate depends on one that is not below it.
    Upward {
        from: String,
        from_layer: &'static str,
        to: String,
        to_layer: &'static str,
    },
    /// A crate that must stay small depends on a registry crate that is not allowed.
    Outside { from: String, to: String },
    /// A manifest lacks something that every manifest must have.
    Manifest { name: String, lacks: &'static str },
    /// A crate has features, and nothing builds it without them.
    Unbuilt { name: String },
    /// A chain of dependencies is longer than allowed.
    LongChain { chain: Vec<String>, longest: usize },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Unplaced { name } => {
                write!(f, "{name}: has no place in the table of layers")
            }
            Violation::Upward {
                from,
                from_layer,
                to,
                to_layer,
            } => write!(
                f,
                "{from} → {to}: `{to}` ({to_layer}) is not below `{from}` ({from_layer})"
            ),
            Violation::Outside { from, to } => {
                write!(f, "{from} → {to}: not among what `{from}` may depend on")
            }
            Violation::Manifest { name, lacks } => {
                write!(f, "{name}: its manifest lacks {lacks}")
            }
            Violation::Unbuilt { name } => {
                write!(
                    f,
                    "{name}: has features, and nothing builds it without them"
                )
            }
            Violation::LongChain { chain, longest } => write!(
                f,
                "{}: a chain of {}, where {longest} is the most",
                chain.join(" → "),
                chain.len()
            ),
        }
    }
}

/// All violations, crate by crate in the order of their names; the chain last.
pub(super) fn check(graph: &Graph, table: &Table) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (name, names) in &graph.crates {
        violations.extend(names.lacks.iter().map(|lacks| Violation::Manifest {
            name: name.clone(),
            lacks,
        }));
        if names.has_features && !is_built_bare(table, name) {
            violations.push(Violation::Unbuilt { name: name.clone() });
        }
        let Some(row) = row_of(table, name) else {
            violations.push(Violation::Unplaced { name: name.clone() });
            continue;
        };
        for to in &names.inside {
            // An unplaced crate is reported once, as itself.
            if let Some(to_row) = row_of(table, to).filter(|&to_row| to_row >= row) {
                violations.push(Violation::Upward {
                    from: name.clone(),
                    from_layer: table.rows[row].layer,
                    to: to.clone(),
                    to_layer: table.rows[to_row].layer,
                });
            }
        }
        if let Some((_, allowed)) = table.outside.iter().find(|(of, _)| of == name) {
            let strangers = names
                .outside
                .iter()
                .filter(|o| !allowed.contains(&o.as_str()));
            violations.extend(strangers.map(|to| Violation::Outside {
                from: name.clone(),
                to: to.clone(),
            }));
        }
    }
    let chain = longest_chain(graph, table);
    if chain.len() > table.longest_chain {
        violations.push(Violation::LongChain {
            chain,
            longest: table.longest_chain,
        });
    }
    violations
}

/// Whether something builds the crate with its features off, including the facade with the feature
/// of the crate's name.
fn is_built_bare(table: &Table, name: &str) -> bool {
    let (facade, light) = table.facade;
    let is_behind = |feature: &&str| name.strip_prefix(facade) == Some(&*format!("-{feature}"));
    table.core.contains(&name)
        || facade == name
        || light.iter().any(is_behind)
        || table.bare.iter().any(|it| it.contains(&name))
}

/// The longest chain of crates each of which depends on the next; the first by name among equals.
/// Only downward edges count, so that there is one even in a graph that breaks the rules.
pub(super) fn longest_chain(graph: &Graph, table: &Table) -> Vec<String> {
    let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in table.rows {
        // A row's crates depend on earlier rows only, whose chains are already known.
        let chains: Vec<_> = row
            .crates
            .iter()
            .filter_map(|&name| Some((name, graph.crates.get(name)?)))
            .map(|(name, names)| {
                let tails = names.inside.iter().filter_map(|to| below.get(to.as_str()));
                let mut chain = vec![name];
                chain.extend(longest(tails).into_iter().flatten());
                (name, chain)
            })
            .collect();
        below.extend(chains);
    }
    let chain = longest(below.values()).cloned().unwrap_or_default();
    chain.into_iter().map(str::to_owned).collect()
}

fn longest<'a, 'n: 'a>(chains: impl Iterator<Item = &'a Vec<&'n str>>) -> Option<&'a Vec<&'n str>> {
    chains.reduce(|best, chain| {
        if chain.len() > best.len() {
            chain
        } else {
            best
        }
    })
}

fn row_of(table: &Table, name: &str) -> Option<usize> {
    table.rows.iter().position(|row| row.crates.contains(&name))
}
