//! The time of an outline compared with that of the bare parse, on this crate's own source.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ctx_model::RenditionKind;
use ctx_syntax::{Language, Limits, Outline, Source};

const SOURCES: [&str; 4] = [
    include_str!("../src/outline.rs"),
    include_str!("../src/grammar.rs"),
    include_str!("../src/rendition.rs"),
    include_str!("../src/relations.rs"),
];

fn outline(criterion: &mut Criterion) {
    let text = SOURCES.concat().repeat(4);
    let language = Language::by_name("rust");
    let limits = Limits::default();
    let symbols = Outline::of(&text, language, &limits).symbols.len();
    assert!(symbols > 500, "{symbols} symbols");

    let mut group = criterion.benchmark_group("outline");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("bare-parse", |b| {
        let mut parser = tree_sitter::Parser::new();
        let grammar = tree_sitter::Language::new(tree_sitter_rust::LANGUAGE);
        parser
            .set_language(&grammar)
            .expect("it is of this version");
        b.iter(|| black_box(parser.parse(&text, None)));
    });
    group.bench_function("ctx", |b| {
        b.iter(|| black_box(Outline::of(&text, language, &limits)));
    });
    group.bench_function("skeleton", |b| {
        let source = Source::new("a.rs", &text, &limits);
        b.iter(|| black_box(source.render(source.whole(), RenditionKind::Skeleton, &[])));
    });
    group.finish();
}

criterion_group!(benches, outline);
criterion_main!(benches);
