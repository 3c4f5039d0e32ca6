//! Assembling against counting: ten chunks, and ten thousand, where counting the same texts once
//! is what nobody can do without.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ctx_assemble::{Control, assemble};
use ctx_model::{BuildOptions, Chunk, GroupBy, LineSpan, Relevance, Tokens};
use ctx_tokens::{TokenCounter, o200k_base};

/// Text of about 200 tokens and no two alike: twelve lines of words that are put together anew
/// every time, as identifiers are.
fn text(number: usize) -> String {
    use std::fmt::Write;
    const WORDS: [&str; 32] = [
        "token", "budget", "chunk", "render", "select", "weight", "price", "joint", "fence",
        "parse", "source", "line", "owner", "query", "index", "cache", "digest", "escape",
        "notice", "header", "footer", "group", "order", "value", "bound", "slack", "piece",
        "writer", "reader", "symbol", "graph", "span",
    ];
    // Knuth's linear congruential generator.
    let mut state = number as u64 + 1;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 59) as usize]
    };
    let mut text = String::new();
    for _ in 0..12 {
        let (name, verb, argument) = (word(), word(), word());
        let line = number % 977;
        writeln!(
            text,
            "    let {name}_{} = self.{verb}_{}(&{argument}, {name}.{argument}, {line});",
            word(),
            word(),
        )
        .expect("a String takes all that is written to it");
    }
    text
}

/// Ten chunks a file, `gap` lines apart.
fn chunks(count: usize, gap: u32) -> Vec<Chunk> {
    (0..count)
        .map(|number| {
            let thousandths = u32::try_from(number * 7919 % 1000).expect("it is below 1000");
            let relevance = f64::from(thousandths) / 1000.0;
            let relevance = Relevance::new(relevance).expect("it is a share");
            let start = u32::try_from(number % 10).expect("it is below ten") * (12 + gap) + 1;
            Chunk::new(format!("chunk-{number}"), text(number), relevance)
                .with_path(format!("src/module{}/file{}.rs", number / 100, number / 10))
                .with_span(LineSpan::new(start, start + 11).expect("it is not empty"))
                .with_language("rust")
        })
        .collect()
}

fn ten_chunks(criterion: &mut Criterion) {
    let chunks = chunks(10, 5);
    let options = BuildOptions::default();
    let counter = o200k_base();
    let control = Control::default();
    criterion.bench_function("assemble/10/ctx", |b| {
        b.iter(|| assemble(black_box(&chunks), &options, counter, &control).expect("it fits"));
    });
}

/// A budget that takes a part, and one that takes all: then every token is counted twice.
fn ten_thousand_chunks(criterion: &mut Criterion) {
    let apart = chunks(10_000, 5);
    let touching = chunks(10_000, 0);
    let counter = o200k_base();
    let control = Control::default();
    let bytes: usize = apart.iter().map(|chunk| chunk.content.len()).sum();
    let count = || -> u64 {
        apart
            .iter()
            .map(|chunk| counter.weigh(&chunk.content))
            .sum()
    };
    let tokens = count();
    assert!((1_800_000..2_600_000).contains(&tokens), "{tokens} tokens");

    let mut group = criterion.benchmark_group("assemble/10000");
    group.throughput(Throughput::Bytes(bytes as u64));
    group.sample_size(10);
    group.bench_function("count-once", |b| b.iter(|| black_box(count())));
    // Those that touch are merged, and priced in several ways.
    for (name, chunks, max_tokens) in [
        ("ctx-128k", &apart, 128_000),
        ("ctx-all", &apart, 10_000_000),
        ("ctx-touching-128k", &touching, 128_000),
    ] {
        let options = BuildOptions::default()
            .with_max_tokens(Tokens::new(max_tokens))
            .with_group_by(GroupBy::File);
        let built = assemble(chunks, &options, counter, &control).expect("it fits");
        assert_eq!(built.tokens.total, counter.count(&built.context));
        assert_eq!(built.was_truncated, name != "ctx-all");
        group.bench_function(name, |b| {
            b.iter(|| assemble(black_box(chunks), &options, counter, &control).expect("it fits"));
        });
    }
    group.finish();
}

criterion_group!(benches, ten_chunks, ten_thousand_chunks);
criterion_main!(benches);
