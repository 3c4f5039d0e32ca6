//! Counting, compared with other crates: real text, hostile texts of length n, 2n and 4n, and the
//! first count.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ctx_tokens::{Bpe, TokenCounter, cl100k_base, o200k_base};
use tiktoken_rs::CoreBPE;

const REAL_BYTES: usize = 4 << 20;
const HOSTILE_BYTES: usize = 50_000;

/// The same encoding, three times.
struct Encoding {
    ours: &'static Bpe,
    tiktoken: CoreBPE,
    bpe_openai: &'static bpe_openai::Tokenizer,
}

fn encodings() -> [Encoding; 2] {
    [
        Encoding {
            ours: cl100k_base(),
            tiktoken: tiktoken_rs::cl100k_base().expect("it is embedded"),
            bpe_openai: bpe_openai::cl100k_base(),
        },
        Encoding {
            ours: o200k_base(),
            tiktoken: tiktoken_rs::o200k_base().expect("it is embedded"),
            bpe_openai: bpe_openai::o200k_base(),
        },
    ]
}

fn real_text(criterion: &mut Criterion) {
    let Some(text) = sources() else {
        skipped("no cargo registry with sources in it");
        return;
    };
    for encoding in encodings() {
        let expected = encoding.ours.weigh(&text);
        let peer = || encoding.tiktoken.encode_ordinary(&text).len() as u64;
        assert_eq!(expected, peer());
        assert_eq!(expected, encoding.bpe_openai.count(text.as_str()) as u64);

        let mut group = criterion.benchmark_group(format!("count/{}", encoding.ours.name()));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.sample_size(10);
        group.bench_function("ctx", |b| b.iter(|| encoding.ours.weigh(black_box(&text))));
        group.bench_function("tiktoken-rs", |b| b.iter(peer));
        group.bench_function("bpe-openai", |b| {
            b.iter(|| encoding.bpe_openai.count(black_box(text.as_str())));
        });
        group.finish();
    }
}

fn hostile_text(criterion: &mut Criterion) {
    let families: [(&str, &str); 8] = [
        ("letters", "a"),
        ("spaces", " "),
        ("newlines", "\n"),
        ("mixed-blanks", " \t\n\u{3000}"),
        ("emoji", "\u{1f980}"),
        ("marks", "\u{301}"),
        ("digits", "7"),
        ("symbols", "!?=-"),
    ];
    for encoding in encodings() {
        for (family, unit) in families {
            let name = format!("hostile/{}/{family}", encoding.ours.name());
            let mut group = criterion.benchmark_group(name);
            group.sample_size(10);
            for bytes in [HOSTILE_BYTES, 2 * HOSTILE_BYTES, 4 * HOSTILE_BYTES] {
                let text = unit.repeat(bytes / unit.len());
                let expected = encoding.bpe_openai.count(text.as_str()) as u64;
                assert_eq!(encoding.ours.weigh(&text), expected);
                group.throughput(Throughput::Bytes(text.len() as u64));
                group.bench_with_input(BenchmarkId::from_parameter(bytes), &text, |b, text| {
                    b.iter(|| encoding.ours.weigh(black_box(text)));
                });
            }
            group.finish();
        }
    }
}

/// What a thread that has counted nothing yet pays for its first line.
fn first_count(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("first");
    group.sample_size(10);
    for counter in [cl100k_base(), o200k_base()] {
        group.bench_function(counter.name(), |b| {
            b.iter(|| {
                let first = std::thread::spawn(move || counter.weigh("fn main() {}\n"));
                assert_eq!(first.join().expect("counting does not panic"), 4);
            });
        });
    }
    group.finish();
}

/// Rust and Markdown from the sources that cargo has fetched, in the order of their paths.
fn sources() -> Option<String> {
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || std::env::home_dir().unwrap_or_default().join(".cargo"),
        PathBuf::from,
    );
    let mut text = String::new();
    gather(&home.join("registry/src"), &mut text);
    (text.len() >= REAL_BYTES).then_some(text)
}

fn gather(folder: &Path, text: &mut String) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if text.len() >= REAL_BYTES {
            return;
        }
        if path.is_dir() {
            gather(&path, text);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "md") {
            text.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

#[expect(clippy::print_stderr, reason = "a skipped benchmark says so")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    targets = real_text, hostile_text, first_count
}
criterion_main!(benches);
