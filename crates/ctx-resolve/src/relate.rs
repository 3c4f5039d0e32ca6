//! Adds relations between the files of the hits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ctx_model::{Chunk, LineSpan, Relation};
use ctx_syntax::{EdgeKind, Graph, Outline, Symbol, SymbolKind};

/// The most relations of a chunk, those with the highest weight.
const MOST: usize = 5;

/// Adds to each chunk without relations those of the symbol that its own lines are about, or of its
/// file. `own` has these lines for each chunk that shows lines of the present file.
pub(crate) fn relate(
    chunks: &mut [Chunk],
    own: &[Option<LineSpan>],
    outlines: &BTreeMap<String, Arc<Outline>>,
) {
    let places: Vec<Option<(&str, Option<usize>)>> = (chunks.iter().zip(own))
        .map(|(it, own)| place(it, (*own)?, outlines))
        .collect();
    let mut wanted: BTreeMap<&str, BTreeSet<Option<usize>>> = BTreeMap::new();
    for (path, symbol) in places.iter().flatten() {
        wanted.entry(path).or_default().insert(*symbol);
    }
    let graph = Graph::outgoing_from(
        outlines
            .iter()
            .map(|(path, outline)| (path.as_str(), &**outline)),
        &wanted,
    );
    let files: BTreeMap<&str, usize> = graph
        .nodes()
        .iter()
        .enumerate()
        .filter(|(_, node)| node.symbol.is_none())
        .map(|(id, node)| (node.path, id))
        .collect();
    let nodes = places.into_iter().map(|it| {
        let (path, symbol) = it?;
        let file = files.get(path)?;
        // The symbols of a file directly follow it.
        Some(symbol.map_or(*file, |symbol| file + 1 + symbol))
    });
    let nodes: Vec<Option<usize>> = nodes.collect();
    for (chunk, node) in chunks.iter_mut().zip(nodes) {
        let Some(node) = node else { continue };
        let told = graph.outgoing(node).iter();
        let told = told
            .filter(|edge| edge.kind != EdgeKind::Defines)
            .take(MOST);
        chunk.relations = told
            .map(|edge| {
                let target = &graph.nodes()[edge.to];
                let name = target.symbol.map_or(target.path, |(name, _)| name);
                Relation {
                    kind: edge.kind.as_str().to_owned(),
                    target: name.to_owned(),
                }
            })
            .collect();
    }
}

/// The file of a chunk that has no relations yet, and the index of the symbol that its lines `own`
/// are about.
fn place<'o>(
    chunk: &Chunk,
    own: LineSpan,
    outlines: &'o BTreeMap<String, Arc<Outline>>,
) -> Option<(&'o str, Option<usize>)> {
    if !chunk.relations.is_empty() {
        return None;
    }
    let (path, outline) = outlines.get_key_value(chunk.path.as_deref()?)?;
    Some((path, symbol_of(outline, own)))
}

/// The index of the symbol that the `own` lines are about: the one whose doc comment has the first
/// of them; else the innermost around their first line; but if that only contains others, or there
/// is none, the first that begins in them.
fn symbol_of(outline: &Outline, own: LineSpan) -> Option<usize> {
    use SymbolKind::{Class, Enum, Impl, Interface, Module, Struct};
    let (first, symbols) = (own.start(), &outline.symbols);
    let is_of = |it: &&Symbol| it.span_with_doc().start() <= first && first < it.span.start();
    if let Some(it) = symbols.iter().find(is_of) {
        return outline.enclosing(it.span.start());
    }
    let around = outline.enclosing(first);
    let is_about = around.map(|it| &symbols[it]).is_some_and(|it| {
        // A symbol that begins here is meant, and so is one that does more than contain others.
        it.span.start() == first
            || !matches!(it.kind, Class | Struct | Enum | Interface | Impl | Module)
    });
    if is_about {
        return around;
    }
    let starts = symbols.iter().map(|it| it.span.start());
    let starts = starts.filter(|it| first < *it && *it <= own.end());
    starts.min().and_then(|it| outline.enclosing(it)).or(around)
}
