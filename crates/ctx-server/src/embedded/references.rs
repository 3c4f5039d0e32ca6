//! What a user points at: `path`, `path:10`, `path:10-20`, a name; an `@` before it is left aside.

use ctx_index::Index;
use ctx_model::{Chunk, ChunkKind, LineSpan, Origin, Relevance, Warning};
use ctx_retrieve::FileSearch as _;
use ctx_source::Sources;

/// So many definitions of one name are shown.
const DEFINITIONS: usize = 3;

/// The chunks that `references` stand for, each pinned and without its text, and a warning for each that
/// stands for nothing.
pub(super) async fn pinned(
    references: &[String],
    sources: &Sources,
    index: &Index,
) -> (Vec<Chunk>, Vec<Warning>) {
    let (mut chunks, mut warnings) = (Vec::<Chunk>::new(), Vec::new());
    for reference in references {
        let found = find(reference, sources, index).await;
        if found.is_empty() {
            warnings.push(Warning {
                id: None,
                code: "unknown_reference".to_owned(),
                detail: format!("{reference:?} is neither a file nor a name that one defines"),
            });
        }
        for chunk in found {
            if chunks.iter().all(|it| it.id != chunk.id) {
                chunks.push(chunk);
            }
        }
    }
    (chunks, warnings)
}

async fn find(reference: &str, sources: &Sources, index: &Index) -> Vec<Chunk> {
    let place = reference.strip_prefix('@').unwrap_or(reference);
    let whole = |path: &str| {
        let lines = sources.text(path).ok()?.lines().count();
        LineSpan::new(1, lines).ok()
    };
    if let Some(span) = whole(place) {
        return vec![chunk(place, span)];
    }
    if let Some((path, lines)) = place.rsplit_once(':')
        && let (Some(all), Some(span)) = (whole(path), span(lines))
        && span.start() <= all.end()
    {
        let end = span.end().min(all.end());
        let span = LineSpan::new(span.start(), end).unwrap_or(span);
        return vec![chunk(path, span)];
    }
    let hits = index.definitions(&[place.to_owned()], DEFINITIONS).await;
    let hits = hits.unwrap_or_default().concat();
    hits.iter().map(|hit| chunk(&hit.path, hit.span)).collect()
}

fn span(lines: &str) -> Option<LineSpan> {
    let (start, end) = lines.split_once('-').unwrap_or((lines, lines));
    LineSpan::new(start.parse().ok()?, end.parse().ok()?).ok()
}

fn chunk(path: &str, span: LineSpan) -> Chunk {
    let id = format!("reference:{path}:{span}");
    let mut chunk = Chunk::new(id, "", Relevance::ONE)
        .with_kind(ChunkKind::File)
        .with_path(path)
        .with_span(span)
        .with_pin();
    chunk.origin = Origin::Reference;
    chunk
}
