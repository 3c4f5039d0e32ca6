//! The speed of the search: in code without secrets, and in a text that has the words of all rules.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ctx_secrets::find;
use secrets_scanner::rules::BUNDLED_RULES;

fn benches(c: &mut Criterion) {
    let code = include_str!("../src/rule.rs").repeat(32);
    let mut group = c.benchmark_group("secrets");
    let mut measure = |name: &str, times: usize, text: &str| {
        // Rules are compiled when they are met first.
        find("a.rs", text);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::new(name, times), text, |b, text| {
            b.iter(|| black_box(find("a.rs", text)));
        });
    };
    for times in [1, 2, 4] {
        measure("code", times, &code.repeat(times));
    }
    for times in [1, 2, 4] {
        measure("words of all rules", times, &BUNDLED_RULES.repeat(times));
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
