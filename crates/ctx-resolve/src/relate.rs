//! What the files of the hits refer to, among each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ctx_model::{Chunk, Relation};
use ctx_syntax::{EdgeKind, Graph, Outline};

/// So many relations are told of a chunk, the surest.
const MOST: usize = 5;

/// Gives each chunk without relations those of the symbol its first line is in, or of its file, if its lines are those of the file:
/// whether they are is said for each in `current`.
pub(crate) fn relate(
    chunks: &mut [Chunk],
    current: &[bool],
    outlines: &BTreeMap<String, Arc<Outline>>,
) {
    let places = chunks.iter().zip(current);
    let places = places.map(|(it, is_current)| place(it, outlines).filter(|_| *is_current));
    let places: Vec<Option<(&str, Option<usize>)>> = places.collect();
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
        // A file's symbols come right after it.
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

/// The file of a chunk that has no relations yet, and the number of the symbol that its first line is in.
fn place<'o>(
    chunk: &Chunk,
    outlines: &'o BTreeMap<String, Arc<Outline>>,
) -> Option<(&'o str, Option<usize>)> {
    let span = chunk.span.filter(|_| chunk.relations.is_empty())?;
    let (path, outline) = outlines.get_key_value(chunk.path.as_deref()?)?;
    let symbol = outline.enclosing(span.start()).or_else(|| {
        // Of the lines after, the first that is in a symbol is the first of one.
        let starts = outline.symbols.iter().map(|it| it.span.start());
        let first = starts.filter(|it| (span.start()..=span.end()).contains(it));
        outline.enclosing(first.min()?)
    });
    Some((path, symbol))
}
