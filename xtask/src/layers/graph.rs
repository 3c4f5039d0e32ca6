//! The edges between the workspace's crates, as `cargo metadata` declares them.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, Package};

/// The workspace's crates and their dependencies, optional or not, on any platform. Dependencies
/// that only tests need are not edges: a test may use crates of any layer.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) crates: BTreeMap<String, Names>,
}

/// The dependencies of a crate.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Crates of the workspace.
    pub(super) inside: BTreeSet<String>,
    /// Crates of the registry.
    pub(super) outside: BTreeSet<String>,
    /// Whether it has features.
    pub(super) has_features: bool,
    /// What its manifest lacks that every manifest must have.
    pub(super) lacks: Vec<&'static str>,
}

impl Graph {
    pub(super) fn of(members: &Metadata) -> Self {
        let names: BTreeSet<&str> = members.packages.iter().map(|p| p.name.as_str()).collect();
        let mut graph = Graph::default();
        for package in &members.packages {
            let crate_names = graph.crates.entry(package.name.to_string()).or_default();
            crate_names.has_features = !package.features.is_empty();
            crate_names.lacks = lacks(package);
            for dependency in &package.dependencies {
                if dependency.kind == DependencyKind::Development {
                    continue;
                }
                let name = dependency.name.clone();
                // A registry crate with a member's name is not that member.
                if dependency.path.is_some() && names.contains(name.as_str()) {
                    crate_names.inside.insert(name);
                } else {
                    crate_names.outside.insert(name);
                }
            }
        }
        graph
    }

    pub(super) fn edges(&self) -> usize {
        self.crates.values().map(|names| names.inside.len()).sum()
    }
}

fn lacks(package: &Package) -> Vec<&'static str> {
    let mut lacks = Vec::new();
    if package.description.is_none() {
        lacks.push("a description");
    }
    if package.license.is_none() {
        lacks.push("a licence");
    }
    // The chores are no crates to depend on: `--help` is their front page.
    if package.readme.is_none() && !package.name.starts_with("xtask") {
        lacks.push("a README");
    }
    if package
        .publish
        .as_ref()
        .is_none_or(|registries| !registries.is_empty())
    {
        lacks.push("`publish = false`");
    }
    lacks
}
