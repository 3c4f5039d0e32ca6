//! Resolves ten hits in ten files of this workspace: with an empty cache, and with a filled one.

use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use ctx_model::{Chunk, LineSpan, Relevance};
use ctx_resolve::Resolver;
use ctx_source::{Limits, Root, Sources};

const FILES: [&str; 10] = [
    "ctx-assemble/src/assemble.rs",
    "ctx-assemble/src/plan.rs",
    "ctx-assemble/src/receipt.rs",
    "ctx-budget/src/lib.rs",
    "ctx-format/src/markdown.rs",
    "ctx-format/src/xml.rs",
    "ctx-model/src/options.rs",
    "ctx-source/src/root.rs",
    "ctx-syntax/src/outline.rs",
    "ctx-tokens/src/counter.rs",
];

fn hits() -> Vec<Chunk> {
    let hit = |path: &str| {
        let span = LineSpan::new(10, 30).expect("it is not empty");
        Chunk::new(path, "", Relevance::ONE)
            .with_path(path)
            .with_span(span)
    };
    FILES.into_iter().map(hit).collect()
}

fn ten_hits(criterion: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let resolver = || {
        let root = Root::open(&folder).expect("the workspace has crates");
        let sources = Sources::new(root, Limits::default());
        Resolver::new(sources, ctx_syntax::Limits::default())
    };
    let found = resolver().resolve(hits());
    assert_eq!((found.chunks.len(), found.warnings.len()), (10, 0));

    let mut group = criterion.benchmark_group("resolve/10");
    group.bench_function("cold", |b| {
        b.iter_batched(
            resolver,
            |resolver| black_box(resolver.resolve(hits())),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("warm", |b| {
        let resolver = resolver();
        b.iter(|| black_box(resolver.resolve(hits())));
    });
    group.finish();
}

criterion_group!(benches, ten_hits);
criterion_main!(benches);
