//! Reads a 20 kB file, uncached and cached.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, SystemTime};

use criterion::{Criterion, criterion_group, criterion_main};
use ctx_source::{Limits, Root, Sources};

fn read(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("file.rs");
    fs::write(
        &path,
        "    let answer = question.ask(&everything)?;\n".repeat(455),
    )
    .expect("it is written");
    let long_ago = SystemTime::now() - Duration::from_mins(1);
    let file = fs::File::options()
        .write(true)
        .open(&path)
        .expect("it is there");
    file.set_modified(long_ago).expect("its time can be set");

    let mut group = criterion.benchmark_group("read");
    let root = || Root::open(folder.path()).expect("it is a folder");
    group.bench_function("cold", |b| {
        let root = root();
        b.iter(|| {
            let bytes = root.read("file.rs", 1 << 20).expect("it is there");
            black_box(ctx_source::Text::decode(
                "file.rs",
                bytes,
                ctx_source::Secrets::Masked,
            ))
        });
    });
    group.bench_function("warm", |b| {
        let sources = Sources::new(root(), Limits::default());
        b.iter(|| black_box(sources.text("file.rs").expect("it is there")));
        assert_eq!(sources.metrics().reads, 1);
    });
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
