//! Relations among the files and symbols of a project.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::OnceLock;

use ctx_model::LineSpan;
use rapidhash::{RapidHashMap, RapidHashSet};
use smallvec::SmallVec;

use crate::{Outline, Reference, ReferenceKind, SymbolKind};

/// The most symbols that a name leads to, the first ones of the file or of its imports. If neither
/// defines the name and more symbols of the project have it, it leads to none.
const MOST_CANDIDATES: usize = 16;

/// The kind of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EdgeKind {
    /// A file or symbol contains the definition of a symbol.
    Defines,
    /// A file imports a file.
    Imports,
    /// A symbol or file calls a symbol.
    Calls,
    /// A symbol or file uses a type.
    Uses,
    /// A type extends or implements a type.
    Extends,
}

ctx_model::words! {
    EdgeKind, "kind of relation": Defines = "defines", Imports = "imports", Calls = "calls", Uses = "uses", Extends = "extends";
}

/// A relation between two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Edge {
    /// The index of the node from which it goes out.
    pub from: usize,
    /// The index of the node to which it leads.
    pub to: usize,
    /// The kind of the relation.
    pub kind: EdgeKind,
    /// 1 if the name means one symbol; 1/n to each if it may mean any of n, of which the first 16
    /// have an edge.
    pub weight: f64,
}

/// A file, or a symbol in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node<'f> {
    /// The path of the file.
    pub path: &'f str,
    /// The symbol's qualified name and kind; `None` for the file itself.
    pub symbol: Option<(&'f str, SymbolKind)>,
    /// The symbol's lines.
    pub span: Option<LineSpan>,
    /// Whether the symbol's name is the title of a test or of a suite of tests.
    pub is_title: bool,
}

/// The direction in which edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the referring node to the one it refers to.
    Outgoing,
    /// From a node to those that refer to it.
    Incoming,
    /// Both directions.
    Both,
}

/// Files, symbols and their relations. A name is resolved to symbols of the same file, else of the
/// files it imports, else of the whole project if at most 16 symbols there have the name. If
/// several symbols remain, each gets an edge, with the weight divided among them.
#[derive(Clone, Debug, Default)]
pub struct Graph<'f> {
    nodes: Vec<Node<'f>>,
    outgoing: Ends,
    /// Computed on first use.
    incoming: OnceLock<Ends>,
}

/// Edges grouped by the node at one end; of one node, the highest weight first.
#[derive(Clone, Debug, Default)]
struct Ends {
    edges: Vec<Edge>,
    /// The index of each node's first edge, and the number of edges.
    starts: Vec<usize>,
}

impl Ends {
    /// Groups `edges` by the node that `end` returns; there are `nodes` nodes.
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
    /// Builds the graph of `files`, each a path and its outline. The order of files does not
    /// matter. O(n log n) for n symbols and references.
    pub fn new(files: impl IntoIterator<Item = (&'f str, &'f Outline)>) -> Self {
        Graph::of(&files.into_iter().collect(), None)
    }

    /// Like [`Graph::new`], but only with edges that go out from `wanted`: for each path, the
    /// indices of symbols in the file's outline, or `None` for the file itself. O(n log n) for n
    /// symbols, and references of the wanted files.
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
        let holders: Vec<Option<Holders<'_>>> = files.iter().map(wanted_of).collect();
        let mut builder = Builder::default();
        let names = holders.iter().flatten().flat_map(|it| &it.references);
        builder.said.extend(names.map(|it| it.name.as_str()));
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

    /// Files and symbols, grouped by file.
    pub fn nodes(&self) -> &[Node<'f>] {
        &self.nodes
    }

    /// The edges that go out from node `id`, the highest weight first.
    pub fn outgoing(&self, id: usize) -> &[Edge] {
        self.outgoing.of_node(id)
    }

    /// The edges that lead to node `id`, the highest weight first. The first call takes O(n log n)
    /// for n edges.
    pub fn incoming(&self, id: usize) -> &[Edge] {
        let back = || Ends::of(self.outgoing.edges.clone(), self.nodes.len(), |it| it.to);
        self.incoming.get_or_init(back).of_node(id)
    }

    /// The nodes of this name: a path, or the name of a symbol, qualified or not. Titles of tests
    /// only if nothing else has the name: they are mostly of what is tested.
    pub fn find(&self, name: &str) -> Vec<usize> {
        let is_it = |node: &Node<'_>| match node.symbol {
            None => node.path == name,
            Some((symbol, kind)) => {
                // A title of a test has blanks of its own.
                let joints: &[char] = match kind {
                    SymbolKind::Section => &[':', '.', '\\', ' '],
                    _ => &[':', '.', '\\'],
                };
                let before = symbol.strip_suffix(name);
                before.is_some_and(|it| it.is_empty() || it.ends_with(joints))
            }
        };
        let nodes = self.nodes.iter().enumerate();
        let found = nodes.filter(|(_, node)| is_it(node)).map(|(id, _)| id);
        let (titles, named): (Vec<usize>, Vec<usize>) =
            found.partition(|&id| self.nodes[id].is_title);
        if named.is_empty() { titles } else { named }
    }

    /// All nodes at most `depth` edges from `id`, with their distances, the nearest first; without
    /// `id` itself.
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

/// The nodes of one file from which edges are wanted.
struct Holders<'o> {
    /// The file itself.
    file: bool,
    /// Whether each symbol is wanted, by index.
    symbols: Vec<bool>,
    /// The references in wanted nodes.
    references: Vec<&'o Reference>,
}

impl<'o> Holders<'o> {
    fn all(outline: &'o Outline) -> Self {
        Holders::with(true, vec![true; outline.symbols.len()], outline)
    }

    fn of(wanted: &BTreeSet<Option<usize>>, outline: &'o Outline) -> Self {
        let mut symbols = vec![false; outline.symbols.len()];
        for &symbol in wanted.iter().flatten() {
            if let Some(is_wanted) = symbols.get_mut(symbol) {
                *is_wanted = true;
            }
        }
        Holders::with(wanted.contains(&None), symbols, outline)
    }

    fn with(file: bool, symbols: Vec<bool>, outline: &'o Outline) -> Self {
        let mut holders = Holders {
            file,
            symbols,
            references: Vec::new(),
        };
        let references = outline.references.iter();
        holders.references = references.filter(|it| holders.has(it.within)).collect();
        holders
    }

    /// Whether this symbol, or the file for `None`, is wanted.
    fn has(&self, symbol: Option<usize>) -> bool {
        symbol.map_or(self.file, |it| self.symbols.get(it).is_some_and(|it| *it))
    }
}

/// The symbols that a name may mean.
#[derive(Default)]
struct Targets {
    /// The nodes of the first [`MOST_CANDIDATES`].
    first: SmallVec<[usize; MOST_CANDIDATES]>,
    /// The number of all.
    count: usize,
}

impl Targets {
    /// Adds `symbols`, pairs of file and node.
    fn add(&mut self, symbols: &[(usize, usize)]) {
        let room = MOST_CANDIDATES - self.first.len();
        let nodes = symbols.iter().map(|&(_, node)| node);
        self.first.extend(nodes.take(room));
        self.count += symbols.len();
    }

    /// The weight of an edge to each of them.
    #[expect(clippy::cast_precision_loss, reason = "symbols are not that many")]
    fn weight(&self) -> f64 {
        1.0 / self.count.max(1) as f64
    }
}

#[derive(Default)]
struct Builder<'f> {
    nodes: Vec<Node<'f>>,
    /// Unsorted, with duplicates.
    edges: Vec<Edge>,
    /// For each file, its node and that of its first symbol.
    files: Vec<(usize, usize)>,
    /// Files by the ends of their paths that imports may name; see [`stems`].
    stems: RapidHashMap<&'f str, SmallVec<[usize; 2]>>,
    /// The bytes of the longest key of `stems`.
    longest_stem: usize,
    /// The names that are referred to.
    said: RapidHashSet<&'f str>,
    /// The symbols of each name in `said`: file and node.
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
            is_title: false,
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
                is_title: symbol.is_title,
            });
            debug_assert_eq!(id, node + 1 + index);
            // An `impl` block of a type is not the type.
            let is_named = !matches!(symbol.kind, SymbolKind::Impl | SymbolKind::Section)
                && symbol.is_known_by_name();
            if is_named && self.said.contains(symbol.name.as_str()) {
                self.names.entry(&symbol.name).or_default().push((file, id));
            }
        }
    }

    /// Adds the edges that go out from the wanted nodes of a file.
    fn relate(&mut self, file: usize, path: &str, outline: &Outline, wanted: &Holders<'f>) {
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
        let of_reference = |it: &&'f Reference| {
            let kind = match it.kind {
                ReferenceKind::Call => EdgeKind::Calls,
                ReferenceKind::Type => EdgeKind::Uses,
                ReferenceKind::Extends => EdgeKind::Extends,
            };
            let from = it.within.map_or(node, |within| first + within);
            (it.name.as_str(), from, kind)
        };
        let mut uses: Vec<_> = wanted.references.iter().map(of_reference).collect();
        // Each name is resolved once, and repeated uses add nothing.
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

    /// The symbols that `name` may mean in `file`. O(imported files × log symbols).
    fn resolve(&self, name: &str, file: usize, imported: &BTreeSet<usize>) -> Targets {
        let mut targets = Targets::default();
        let Some(all) = self.names.get(name) else {
            return targets;
        };
        // They are sorted by file.
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

    /// The files that `module`, imported by the file at `path`, may name: those whose path ends
    /// with it. Of several, those that share the longest prefix with the importing path. O(bytes of
    /// `module` + the square of the longest stem).
    fn imported(&self, path: &str, module: &str) -> Vec<usize> {
        let files = if is_go(path) {
            self.in_folder(module)
        } else {
            self.with_stem(module)
        };
        let shared = |file: &usize| {
            let other = self.nodes[self.files[*file].0].path;
            path.bytes()
                .zip(other.bytes())
                .take_while(|(a, b)| a == b)
                .count()
        };
        let most = files.iter().map(shared).max();
        let nearest = files.iter().filter(|file| Some(shared(file)) == most);
        nearest.copied().collect()
    }

    /// The files that end with all of `module`, or with as many of its first parts as possible: the
    /// last ones may be names within it.
    fn with_stem(&self, module: &str) -> &[usize] {
        let no_name = ["crate", "self", "super", "*", "@", "~"];
        let parts = module
            .split(['/', '.', ':', '\\', '{', '}', ',', ' ', ';'])
            .filter(|part| !part.is_empty() && !no_name.contains(part));
        let mut wanted = String::new();
        for part in parts {
            let slash = usize::from(!wanted.is_empty());
            // A name longer than any stem is none, whatever follows.
            if wanted.len() + slash + part.len() > self.longest_stem {
                break;
            }
            wanted.extend(std::iter::repeat_n('/', slash));
            wanted.push_str(part);
        }
        while !wanted.is_empty() {
            if let Some(files) = self.stems.get(wanted.as_str()) {
                return files;
            }
            wanted.truncate(wanted.rfind('/').unwrap_or(0));
        }
        &[]
    }

    /// The files of the folder that `module` ends with, the longest that there is: what precedes
    /// it names the project, by its host and more, or by a word.
    fn in_folder(&self, module: &str) -> &[usize] {
        let mut ends = ends(module).filter(|it| it.len() <= self.longest_stem);
        let files = ends.find_map(|end| self.stems.get(end));
        files.map_or(&[], SmallVec::as_slice)
    }

    fn finish(mut self) -> Graph<'f> {
        let place = |edge: &Edge| (edge.from, edge.to, edge.kind);
        // Of equal edges, the one with the highest weight comes first and is kept.
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

/// The ends of `path` by which an import may name it: for `a/b/c.py` these are `c`, `b/c` and
/// `a/b/c`. A file that represents its folder has those of the folder, too.
///
/// Imports of Go name folders only. One within another is not meant by its own name alone: packages
/// of others have that, too. Tests cannot be imported.
fn stems(path: &str) -> impl Iterator<Item = &str> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.split('.').next().unwrap_or(file);
    let whole = &path[..path.len() - file.len() + stem.len()];
    let has_own = !is_go(path);
    let is_folder = if has_own {
        matches!(stem, "mod" | "index" | "__init__" | "lib" | "main")
    } else {
        !stem.ends_with("_test")
    };
    let own = has_own.then_some(whole);
    let wholes = own.into_iter().chain(is_folder.then_some(folder));
    let ends = wholes.filter(|it| !it.is_empty()).flat_map(ends);
    ends.filter(move |it| has_own || it.contains('/') || *it == folder)
}

/// `path`, and what follows each of its slashes.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |rest| Some(rest.split_once('/')?.1))
}

/// Whether the file at `path` imports folders, and is imported with its own.
fn is_go(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, it)| it == "go")
}
