//! Assembly compared with counting: ten chunks, and ten thousand, against one count of the same
//! texts, which is the least possible work. And how soon a cancelled assembly ends.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use ctx_assemble::{AssembleError, Cancel, Control, assemble};
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

/// An assembly is cancelled at so many moments, which are spread evenly over the time that it would
/// take.
const MOMENTS: u32 = 32;

/// The longest that an assembly went on after it was cancelled.
fn slowest_end(chunks: &[Chunk], options: &BuildOptions, whole: Duration) -> Duration {
    let ends = (1..=MOMENTS).map(|moment| {
        let cancel = Cancel::new();
        let control = Control::default().with_cancel(cancel.clone());
        let after = whole * moment / (MOMENTS + 1);
        thread::scope(|scope| {
            let cancelled = scope.spawn(move || {
                thread::sleep(after);
                let at = Instant::now();
                cancel.cancel();
                at
            });
            let answer = assemble(chunks, options, o200k_base(), &control);
            let ended = Instant::now();
            let cancelled = cancelled.join().expect("it sleeps and cancels");
            if let Err(error) = answer {
                assert!(matches!(error, AssembleError::Cancelled), "{error}");
            }
            // Nothing where it was done before.
            ended.saturating_duration_since(cancelled)
        })
    });
    ends.max().unwrap_or_default()
}

/// A file of as many lines as ten thousand chunks have. Those of two files differ by one in a
/// hundred.
fn large(file: usize) -> Chunk {
    let part = |number: usize| {
        text(if number.is_multiple_of(100) {
            number + file
        } else {
            number
        })
    };
    let content: String = (0..10_000).map(part).collect();
    let lines = u32::try_from(content.lines().count()).expect("there are 120,000");
    Chunk::new(format!("large-{file}"), content, Relevance::ONE)
        .with_path(format!("src/large{file}.rs"))
        .with_span(LineSpan::new(1, lines).expect("it is not empty"))
        .with_language("rust")
}

/// As many chunks that touch, all of one file.
fn in_one_file(count: usize) -> Vec<Chunk> {
    let mut chunks = chunks(count, 0);
    for (chunk, number) in chunks.iter_mut().zip(0_u32..) {
        chunk.path = Some("src/all.rs".to_owned());
        chunk.span = LineSpan::new(12 * number + 1, 12 * number + 12).ok();
    }
    chunks
}

/// Many chunks, many that are merged, very large ones, and two of those that are near duplicates.
fn cancelled(criterion: &mut Criterion) {
    let options = BuildOptions::default()
        .with_max_tokens(Tokens::new(10_000_000))
        .with_group_by(GroupBy::File);
    let mut group = criterion.benchmark_group("cancelled");
    group.sample_size(10);
    group.sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(1));
    for (name, chunks) in [
        ("10000 chunks", chunks(10_000, 5)),
        ("10000 chunks that touch", chunks(10_000, 0)),
        ("10000 chunks of one file", in_one_file(10_000)),
        ("one chunk of their size", vec![large(0)]),
        ("two of their size, almost alike", vec![large(0), large(1)]),
    ] {
        // The quickest of a few: a moment after the end tells nothing.
        let times = (0..3).map(|_| {
            let start = Instant::now();
            assemble(&chunks, &options, o200k_base(), &Control::default()).expect("it fits");
            start.elapsed()
        });
        let whole = times.min().unwrap_or_default();
        group.bench_function(name, |b| {
            b.iter_custom(|times| {
                let ends = (0..times).map(|_| slowest_end(&chunks, &options, whole));
                ends.sum()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, ten_chunks, ten_thousand_chunks, cancelled);
criterion_main!(benches);
