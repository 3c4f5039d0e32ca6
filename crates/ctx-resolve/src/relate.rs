//! What the files of the hits refer to, among each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use ctx_model::{Chunk, Relation};
use ctx_syntax::{EdgeKind, Graph, Outline};

/// So many relations are told of a chunk, the surest.
const MOST: usize = 5;

/// Gives each chunk without relations those of the symbol its first line is in, or of its file.
pub(crate) fn relate(chunks: &mut [Chunk], outlines: &BTreeMap<String, Arc<Outline>>) {
    let graph = Graph::new(
        outlines
            .iter()
            .map(|(path, outline)| (path.as_str(), &**outline)),
    );
    let files: BTreeMap<&str, usize> = graph
        .nodes()
        .iter()
        .enumerate()
        .filter(|(_, node)| node.symbol.is_none())
        .map(|(id, node)| (node.path.as_str(), id))
        .collect();
    for chunk in chunks.iter_mut().filter(|it| it.relations.is_empty()) {
        let Some((path, span)) = chunk.path.as_deref().zip(chunk.span) else {
            continue;
        };
        let (Some(outline), Some(&file)) = (outlines.get(path), files.get(path)) else {
            continue;
        };
        let first = (span.start()..=span.end()).find_map(|line| outline.enclosing(line));
        // A file's symbols come right after it.
        let node = first.map_or(file, |symbol| file + 1 + symbol);
        let told = graph.outgoing(node).iter();
        let told = told
            .filter(|edge| edge.kind != EdgeKind::Defines)
            .take(MOST);
        chunk.relations = told
            .map(|edge| {
                let target = &graph.nodes()[edge.to];
                let name = target
                    .symbol
                    .as_ref()
                    .map_or(&target.path, |(name, _)| name);
                Relation {
                    kind: edge.kind.as_str().to_owned(),
                    target: name.clone(),
                }
            })
            .collect();
    }
}
