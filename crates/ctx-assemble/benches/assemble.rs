//! Assembling against counting: ten chunks, and ten thousand, where counting the same texts once
//! is what nobody can do without.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ctx_assemble::{Control, assemble};
use ctx_model::{BuildOptions, Chunk, GroupBy, LineSpan, Relevance, Tokens};
use ctx_tokens::{TokenCounter, o200k_base};

/// Source-like text of about 200 tokens, no two alike.
fn text(number: usize) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for line in 0..12 {
        let mixed = (number * 31 + line * 17) % 1009;
        writeln!(
            text,
            "    let total_{number} = compute_{line}(&items[{mixed}], options.limit);"
        )
        .expect("a String takes all that is written to it");
    }
    text
}

fn chunks(count: usize) -> Vec<Chunk> {
    (0..count)
        .map(|number| {
            let thousandths = u32::try_from(number * 7919 % 1000).expect("it is below 1000");
            let relevance = f64::from(thousandths) / 1000.0;
            let relevance = Relevance::new(relevance).expect("it is a share");
            let start = u32::try_from(number % 10).expect("it is below ten") * 12 + 1;
            Chunk::new(format!("chunk-{number}"), text(number), relevance)
                .with_path(format!("src/module{}/file{}.rs", number / 100, number / 10))
                .with_span(LineSpan::new(start, start + 11).expect("it is not empty"))
                .with_language("rust")
        })
        .collect()
}

fn ten_chunks(criterion: &mut Criterion) {
    let chunks = chunks(10);
    let options = BuildOptions::default();
    let counter = o200k_base();
    let control = Control::default();
    criterion.bench_function("assemble/10/ctx", |b| {
        b.iter(|| assemble(black_box(&chunks), &options, counter, &control).expect("it fits"));
    });
}

/// A budget that takes a part, and one that takes all: then every token is counted twice.
fn ten_thousand_chunks(criterion: &mut Criterion) {
    let chunks = chunks(10_000);
    let counter = o200k_base();
    let control = Control::default();
    let bytes: usize = chunks.iter().map(|chunk| chunk.content.len()).sum();
    let count = || -> u64 {
        chunks
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
    for (name, max_tokens) in [("ctx-128k", 128_000), ("ctx-all", 10_000_000)] {
        let options = BuildOptions::default()
            .with_max_tokens(Tokens::new(max_tokens))
            .with_group_by(GroupBy::File);
        let built = assemble(&chunks, &options, counter, &control).expect("it fits");
        assert_eq!(built.tokens.total, counter.count(&built.context));
        assert_eq!(built.omitted.is_empty(), name == "ctx-all");
        group.bench_function(name, |b| {
            b.iter(|| assemble(black_box(&chunks), &options, counter, &control).expect("it fits"));
        });
    }
    group.finish();
}

criterion_group!(benches, ten_chunks, ten_thousand_chunks);
criterion_main!(benches);
