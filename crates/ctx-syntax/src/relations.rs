//! What refers to what, among the files of a project.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::OnceLock;

use ctx_model::LineSpan;
use rapidhash::{RapidHashMap, RapidHashSet};
use smallvec::SmallVec;

use crate::{Outline, Reference, ReferenceKind, SymbolKind};

/// A name leads to so many symbols, the first of a file or of those it imports. One that more symbols of the project
/// have, and none of these, is nobody's in particular.
const MOST_CANDIDATES: usize = 16;

/// How one thing relates to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EdgeKind {
    /// A file or symbol holds the definition of a symbol.
    Defines,
    /// A file imports a file.
    Imports,
    /// A symbol or file calls a symbol.
    Calls,
    /// A symbol or file has a use for a type.
    Uses,
    /// A type extends or implements a type.
    Extends,
}

impl EdgeKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            EdgeKind::Defines => "defines",
            EdgeKind::Imports => "imports",
            EdgeKind::Calls => "calls",
            EdgeKind::Uses => "uses",
            EdgeKind::Extends => "extends",
        }
    }
}

/// A relation between two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Edge {
    /// The node it goes out from.
    pub from: usize,
    /// The node it leads to.
    pub to: usize,
    /// What it says.
    pub kind: EdgeKind,
    /// 1 where the name leads to one symbol; where it could be any of n, 1/n to each of them, of which the first 16 have
    /// an edge.
    pub weight: f64,
}

/// A file, or a symbol in one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node<'f> {
    /// The file.
    pub path: &'f str,
    /// The symbol's qualified name and kind; `None` for the file itself.
    pub symbol: Option<(&'f str, SymbolKind)>,
    /// The symbol's lines.
    pub span: Option<LineSpan>,
}

/// Which way edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From what refers to what is referred to.
    Outgoing,
    /// Back.
    Incoming,
    /// Either way.
    Both,
}

/// Files, symbols and relations. Names are resolved by scope (the same file), then by what the file
/// imports, then where only one symbol of the project has the name; a name that several symbols
/// might have is kept as leading to each of them, with its weight divided.
#[derive(Clone, Debug, Default)]
pub struct Graph<'f> {
    nodes: Vec<Node<'f>>,
    outgoing: Ends,
    /// Made for the first that asks.
    incoming: OnceLock<Ends>,
}

/// Edges by the node at one end, those of a node the surest first.
#[derive(Clone, Debug, Default)]
struct Ends {
    edges: Vec<Edge>,
    /// Where the edges of each node begin, and where the last of them end.
    starts: Vec<usize>,
}

impl Ends {
    /// `edges` of `nodes` nodes, by `end`.
    fn of(mut edges: Vec<Edge>, nodes: usize, end: impl Fn(&Edge) -> usize) -> Self {
        edges.sort_unstable_by(|a, b| {
            let by_weight = || b.weight.total_cmp(&a.weight);
            let by_place = || (a.from, a.to, a.kind).cmp(&(b.from, b.to, b.kind));
            let by_end = end(a).cmp(&end(b));
            by_end.then_with(by_weight).then_with(by_place)
        });
        let mut starts = vec![0; nodes + 1];
        for edge in &edges {
            starts[end(edge) + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        Ends { edges, starts }
    }

    fn of_node(&self, id: usize) -> &[Edge] {
        let bounds = self.starts.get(id..id.saturating_add(2));
        bounds.map_or(&[], |it| &self.edges[it[0]..it[1]])
    }
}

impl<'f> Graph<'f> {
    /// The graph of `files`, each a path and its outline. The order of files does not matter.
    /// O(symbols + references) log of it.
    pub fn new(files: impl IntoIterator<Item = (&'f str, &'f Outline)>) -> Self {
        Graph::of(&files.into_iter().collect(), None)
    }

    /// The same with those edges alone that go out from what is `wanted`: by the path of its file, the number of a
    /// symbol in the file's outline, or `None` for the file itself. O(symbols + references of wanted files) log of
    /// it.
    pub fn outgoing_from(
        files: impl IntoIterator<Item = (&'f str, &'f Outline)>,
        wanted: &BTreeMap<&str, BTreeSet<Option<usize>>>,
    ) -> Self {
        Graph::of(&files.into_iter().collect(), Some(wanted))
    }

    fn of(
        files: &BTreeMap<&'f str, &'f Outline>,
        wanted: Option<&BTreeMap<&str, BTreeSet<Option<usize>>>>,
    ) -> Self {
        let wanted_of = |(path, outline): (&&str, &&'f Outline)| match wanted {
            None => Some(Holders::all(outline)),
            Some(wanted) => Some(Holders::of(wanted.get(path)?, outline)),
        };
        let holders: Vec<Option<Holders>> = files.iter().map(wanted_of).collect();
        let mut builder = Builder::default();
        for (outline, holders) in files.values().zip(&holders) {
            let names = holders.iter().flat_map(|it| it.references(outline));
            builder.said.extend(names.map(|it| it.name.as_str()));
        }
        for (path, outline) in files {
            builder.add_file(path, outline);
        }
        for (file, ((path, outline), holders)) in files.iter().zip(&holders).enumerate() {
            if let Some(holders) = holders {
                builder.relate(file, path, outline, holders);
            }
        }
        builder.finish()
    }

    /// Files and symbols, by file.
    pub fn nodes(&self) -> &[Node<'f>] {
        &self.nodes
    }

    /// What goes out from node `id`, the surest first.
    pub fn outgoing(&self, id: usize) -> &[Edge] {
        self.outgoing.of_node(id)
    }

    /// What leads to node `id`, the surest first. The first time it is O(edges) log of it.
    pub fn incoming(&self, id: usize) -> &[Edge] {
        let back = || Ends::of(self.outgoing.edges.clone(), self.nodes.len(), |it| it.to);
        self.incoming.get_or_init(back).of_node(id)
    }

    /// The nodes of this name: a path, or a symbol's name, qualified or not.
    pub fn find(&self, name: &str) -> Vec<usize> {
        let is_it = |node: &Node<'_>| match node.symbol {
            None => node.path == name,
            Some((symbol, _)) => {
                symbol == name
                    || symbol
                        .strip_suffix(name)
                        .is_some_and(|before| before.ends_with([':', '.', '\\', ' ']))
            }
        };
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(|(_, node)| is_it(node))
            .map(|(id, _)| id)
            .collect()
    }

    /// All nodes at most `depth` edges from `id`, with their distances, the nearest first; `id` itself
    /// is left out.
    pub fn neighbourhood(
        &self,
        id: usize,
        depth: usize,
        direction: Direction,
    ) -> Vec<(usize, usize)> {
        let mut seen = BTreeSet::from([id]);
        let mut queue = VecDeque::from([(id, 0)]);
        let mut found = Vec::new();
        while let Some((at, distance)) = queue.pop_front() {
            if distance == depth {
                continue;
            }
            let out = || self.outgoing(at).iter().map(|edge| edge.to);
            let back = || self.incoming(at).iter().map(|edge| edge.from);
            let next: Vec<usize> = match direction {
                Direction::Outgoing => out().collect(),
                Direction::Incoming => back().collect(),
                Direction::Both => out().chain(back()).collect(),
            };
            for node in next {
                if seen.insert(node) {
                    found.push((node, distance + 1));
                    queue.push_back((node, distance + 1));
                }
            }
        }
        found
    }
}

/// What edges are to go out from, of one file.
struct Holders {
    /// The file itself.
    file: bool,
    /// By number, its symbols.
    symbols: Vec<bool>,
}

impl Holders {
    fn all(outline: &Outline) -> Self {
        Holders {
            file: true,
            symbols: vec![true; outline.symbols.len()],
        }
    }

    fn of(wanted: &BTreeSet<Option<usize>>, outline: &Outline) -> Self {
        let mut symbols = vec![false; outline.symbols.len()];
        for &symbol in wanted.iter().flatten() {
            if let Some(is_wanted) = symbols.get_mut(symbol) {
                *is_wanted = true;
            }
        }
        Holders {
            file: wanted.contains(&None),
            symbols,
        }
    }

    /// Whether a symbol is one, or the file.
    fn has(&self, symbol: Option<usize>) -> bool {
        symbol.map_or(self.file, |it| self.symbols.get(it).is_some_and(|it| *it))
    }

    /// What they refer to.
    fn references<'o>(&self, outline: &'o Outline) -> impl Iterator<Item = &'o Reference> {
        outline.references.iter().filter(|it| self.has(it.within))
    }
}

/// What a name may lead to.
#[derive(Default)]
struct Targets {
    /// The nodes of the first.
    first: SmallVec<[usize; MOST_CANDIDATES]>,
    /// How many there are.
    count: usize,
}

impl Targets {
    /// With `symbols`, by file and node, after those that it has.
    fn add(&mut self, symbols: &[(usize, usize)]) {
        let room = MOST_CANDIDATES - self.first.len();
        let nodes = symbols.iter().map(|&(_, node)| node);
        self.first.extend(nodes.take(room));
        self.count += symbols.len();
    }

    /// That of each.
    #[expect(clippy::cast_precision_loss, reason = "symbols are not that many")]
    fn weight(&self) -> f64 {
        1.0 / self.count.max(1) as f64
    }
}

#[derive(Default)]
struct Builder<'f> {
    nodes: Vec<Node<'f>>,
    /// In any order, and some more than once.
    edges: Vec<Edge>,
    /// The node of each file, and of its first symbol.
    files: Vec<(usize, usize)>,
    /// A path without its extension → its file.
    stems: RapidHashMap<&'f str, SmallVec<[usize; 2]>>,
    /// The bytes of the longest of those.
    longest_stem: usize,
    /// The names that are referred to.
    said: RapidHashSet<&'f str>,
    /// Each of them → its symbols: file and node.
    names: RapidHashMap<&'f str, SmallVec<[(usize, usize); 2]>>,
}

impl<'f> Builder<'f> {
    fn add_file(&mut self, path: &'f str, outline: &'f Outline) {
        let file = self.files.len();
        let node = self.nodes.len();
        self.files.push((node, node + 1));
        self.nodes.push(Node {
            path,
            symbol: None,
            span: None,
        });
        for part in stems(path) {
            self.longest_stem = self.longest_stem.max(part.len());
            self.stems.entry(part).or_default().push(file);
        }
        for (index, symbol) in outline.symbols.iter().enumerate() {
            let id = self.nodes.len();
            self.nodes.push(Node {
                path,
                symbol: Some((&symbol.qualified_name, symbol.kind)),
                span: Some(symbol.span),
            });
            debug_assert_eq!(id, node + 1 + index);
            // The blocks of methods of a type are not the type.
            let is_named = !matches!(symbol.kind, SymbolKind::Impl | SymbolKind::Section);
            if is_named && self.said.contains(symbol.name.as_str()) {
                self.names.entry(&symbol.name).or_default().push((file, id));
            }
        }
    }

    /// The edges that go out from those of a file that are wanted.
    fn relate<'o>(&mut self, file: usize, path: &str, outline: &'o Outline, wanted: &Holders) {
        let (node, first) = self.files[file];
        for (index, symbol) in outline.symbols.iter().enumerate() {
            if wanted.has(symbol.parent) {
                let holder = symbol.parent.map_or(node, |parent| first + parent);
                self.add(holder, first + index, EdgeKind::Defines, 1.0);
            }
        }
        let mut imported: BTreeSet<usize> = BTreeSet::new();
        for import in &outline.imports {
            imported.extend(self.imported(path, &import.module));
        }
        imported.remove(&file);
        if wanted.file {
            for &other in &imported {
                let to = self.files[other].0;
                self.add(node, to, EdgeKind::Imports, 1.0);
            }
        }
        let of_reference = |it: &'o Reference| {
            let kind = match it.kind {
                ReferenceKind::Call => EdgeKind::Calls,
                ReferenceKind::Type => EdgeKind::Uses,
                ReferenceKind::Extends => EdgeKind::Extends,
            };
            let from = it.within.map_or(node, |within| first + within);
            (it.name.as_str(), from, kind)
        };
        let mut uses: Vec<_> = wanted.references(outline).map(of_reference).collect();
        // A name is resolved once, and what says the same again adds nothing.
        uses.sort_unstable();
        uses.dedup();
        for uses in uses.chunk_by(|a, b| a.0 == b.0) {
            let targets = self.resolve(uses[0].0, file, &imported);
            let weight = targets.weight();
            for &(_, from, kind) in uses {
                for &to in targets.first.iter().filter(|it| **it != from) {
                    self.add(from, to, kind, weight);
                }
            }
        }
    }

    fn add(&mut self, from: usize, to: usize, kind: EdgeKind, weight: f64) {
        self.edges.push(Edge {
            from,
            to,
            kind,
            weight,
        });
    }

    /// The symbols that `name` may be, as seen from `file`. O(imported files) log symbols.
    fn resolve(&self, name: &str, file: usize, imported: &BTreeSet<usize>) -> Targets {
        let mut targets = Targets::default();
        let Some(all) = self.names.get(name) else {
            return targets;
        };
        // They are in the order of files.
        let within = |file: usize| {
            let start = all.partition_point(|&(at, _)| at < file);
            let count = all[start..].partition_point(|&(at, _)| at == file);
            &all[start..start + count]
        };
        targets.add(within(file));
        if targets.count == 0 {
            for &it in imported {
                targets.add(within(it));
            }
        }
        if targets.count == 0 && all.len() <= MOST_CANDIDATES {
            targets.add(all);
        }
        targets
    }

    /// The files that `module` may name, as written in the file at `path`: those whose path ends as it
    /// does. Several are told apart by how much of the path they share with the importing file. O(bytes of `module` +
    /// the square of the longest such end).
    fn imported(&self, path: &str, module: &str) -> Vec<usize> {
        let parts = module
            .split(['/', '.', ':', '\\', '{', '}', ',', ' ', ';'])
            .filter(|part| !part.is_empty() && !matches!(*part, "crate" | "self" | "super" | "*"));
        let mut wanted = String::new();
        for part in parts {
            let slash = usize::from(!wanted.is_empty());
            // What is longer than any stem is none, whatever follows.
            if wanted.len() + slash + part.len() > self.longest_stem {
                break;
            }
            wanted.extend(std::iter::repeat_n('/', slash));
            wanted.push_str(part);
        }
        while !wanted.is_empty() {
            if let Some(files) = self.stems.get(wanted.as_str()) {
                let shared = |file: &usize| {
                    let other = self.nodes[self.files[*file].0].path;
                    path.bytes()
                        .zip(other.bytes())
                        .take_while(|(a, b)| a == b)
                        .count()
                };
                let most = files.iter().map(shared).max().unwrap_or_default();
                return files
                    .iter()
                    .copied()
                    .filter(|file| shared(file) == most)
                    .collect();
            }
            // The last part may be a name in the module, and not the module.
            wanted.truncate(wanted.rfind('/').unwrap_or(0));
        }
        Vec::new()
    }

    fn finish(mut self) -> Graph<'f> {
        let place = |edge: &Edge| (edge.from, edge.to, edge.kind);
        // Of edges that say the same, the surest comes first and stays.
        self.edges.sort_unstable_by(|a, b| {
            let by_weight = || b.weight.total_cmp(&a.weight);
            place(a).cmp(&place(b)).then_with(by_weight)
        });
        self.edges
            .dedup_by(|later, first| place(later) == place(first));
        let nodes = self.nodes.len();
        Graph {
            nodes: self.nodes,
            outgoing: Ends::of(self.edges, nodes, |it| it.from),
            incoming: OnceLock::new(),
        }
    }
}

/// The ends of `path` by which an import may name it: `a/b/c.py` is `c`, `b/c` and `a/b/c`; a file that
/// stands for its folder has the folder's too.
fn stems(path: &str) -> impl Iterator<Item = &str> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.split('.').next().unwrap_or(file);
    let is_folder = matches!(stem, "mod" | "index" | "__init__" | "lib" | "main");
    let whole = match (folder, is_folder) {
        ("", _) => stem,
        (folder, true) => folder,
        (folder, false) => &path[..folder.len() + 1 + stem.len()],
    };
    std::iter::successors(Some(whole), |rest| Some(rest.split_once('/')?.1))
}
