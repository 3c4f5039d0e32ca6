//! What an index costs: made from nothing, looked at again, and asked.
//!
//! `cargo bench -p ctx-index`. `CTX_BENCH_TREE` names a folder to index in place of 600 generated
//! files; bare tantivy with a whitespace analyzer gets the same texts, one document per file, on
//! one thread as well.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark is a program")]

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ctx_index::{Index, Options, Updated};
use ctx_retrieve::{Field, FileSearch as _, TextQuery};
use ctx_source::{EntryKind, Root, Step, WalkOptions};
use tantivy::schema::{STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};
use tempfile::TempDir;

/// Files of the generated tree, and of the one that does not change.
const GENERATED: u32 = 600;
const SMALL: u32 = 10_000;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    let before = SystemTime::now() - Duration::from_mins(1);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(before).unwrap();
}

/// A module of some 200 lines; its names are from a vocabulary of some thousand words.
fn module(number: u32) -> String {
    let mut random = u64::from(number) + 1;
    let mut word = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let place = (random >> 33) % 4_000;
        format!("w{}{}", char::from(b'a' + (place % 26) as u8), place)
    };
    let mut text = format!("//! The module {} of {}.\n\n", word(), word());
    for _ in 0..20 {
        let (name, a, b) = (word(), word(), word());
        let _ = write!(
            text,
            "/// Turns {a} into {b}, as {} has it.\npub fn {name}_{a}({a}: u32, {b}: &str) -> u32 {{\n    \
             let {} = {a} + 1;\n    if {b}.len() > {a} as usize {{\n        return {}({a});\n    }}\n    \
             {a} * 2\n}}\n\n",
            word(),
            word(),
            word()
        );
    }
    text
}

fn generated() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for number in 0..GENERATED {
        let path = root.path().join(format!("m{}/f{number}.rs", number % 20));
        write(&path, &module(number));
    }
    root
}

fn update(index: &Index) -> Updated {
    index.update(&mut |_| ControlFlow::Continue(())).unwrap()
}

fn indexed(root: &Path) -> (TempDir, Index, Updated) {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(root, folder.path(), Options::default()).unwrap();
    assert!(index.rebuilt().is_none());
    let updated = update(&index);
    (folder, index, updated)
}

/// The paths and texts that an index of `root` has.
fn corpus(root: &Path) -> Vec<(String, String)> {
    let folder = Root::open(root).unwrap();
    let mut paths: Vec<String> = Vec::new();
    folder.walk(&WalkOptions::default(), &mut |entry| {
        if entry.kind() == EntryKind::File {
            paths.push(entry.path().to_str().unwrap().to_owned());
        }
        Step::On
    });
    paths.sort();
    let texts = paths.into_iter().filter_map(|below| {
        let role = ctx_rank::Role::of(&below);
        let is_ours = !matches!(role, ctx_rank::Role::Generated | ctx_rank::Role::Vendored);
        let text = fs::read_to_string(root.join(&below)).ok()?;
        (is_ours && text.len() <= 1 << 20 && !text.trim().is_empty()).then_some((below, text))
    });
    texts.collect()
}

/// Bare tantivy: one document per file, words between spaces.
fn bare(root: &Path) -> (TempDir, u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut schema = Schema::builder();
    let path = schema.add_text_field("path", STRING | STORED);
    let words = TextFieldIndexing::default().set_tokenizer("spaces");
    let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(words));
    let index = tantivy::Index::create_in_dir(folder.path(), schema.build()).unwrap();
    let spaces = TextAnalyzer::from(WhitespaceTokenizer::default());
    index.tokenizers().register("spaces", spaces);
    let mut writer = index.writer_with_num_threads(1, 96 << 20).unwrap();
    for (its_path, its_text) in corpus(root) {
        let document = tantivy::doc!(path => its_path, text => its_text);
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    let count = index.reader().unwrap().searcher().num_docs();
    (folder, count)
}

fn cold(criterion: &mut Criterion) {
    let made = generated();
    let root =
        std::env::var_os("CTX_BENCH_TREE").map_or_else(|| made.path().to_owned(), PathBuf::from);
    let (_folder, index, updated) = indexed(&root);
    let corpus = corpus(&root);
    assert_eq!(updated.files, corpus.len());
    let status = index.status().unwrap();
    let bytes: usize = corpus.iter().map(|(_, text)| text.len()).sum();
    #[expect(clippy::print_stderr, reason = "what the figures are of")]
    {
        eprintln!(
            "{} files, {} lines, {bytes} bytes; index of {} parts, {} bytes",
            status.files, status.lines, status.parts, status.bytes
        );
    }
    let mut group = criterion.benchmark_group("cold");
    group
        .sample_size(10)
        .throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("ctx", |bencher| {
        bencher.iter_batched(
            || (),
            |()| {
                let made = indexed(&root);
                assert_eq!(made.2.files, corpus.len());
                made
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("bare tantivy", |bencher| {
        bencher.iter_batched(
            || (),
            |()| {
                let made = bare(&root);
                assert_eq!(made.1, corpus.len() as u64);
                made
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn unchanged(criterion: &mut Criterion) {
    let root = tempfile::tempdir().unwrap();
    for number in 0..SMALL {
        let path = root.path().join(format!("m{}/f{number}.txt", number % 100));
        write(&path, &format!("the words of {number}\n"));
    }
    let (folder, index, updated) = indexed(root.path());
    assert_eq!(updated.files, SMALL as usize);
    let mut group = criterion.benchmark_group("unchanged");
    group.sample_size(10);
    group.bench_function("update of 10,000 files", |bencher| {
        bencher.iter(|| {
            let updated = update(&index);
            assert_eq!((updated.files, updated.changed), (SMALL as usize, 0));
        });
    });
    group.bench_function("open, 10,000 files", |bencher| {
        bencher.iter(|| Index::open(root.path(), folder.path(), Options::default()).unwrap());
    });
    group.finish();
}

fn query(criterion: &mut Criterion) {
    let root = generated();
    let (_folder, index, _) = indexed(root.path());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let fields = [Field::Name, Field::Signature, Field::Doc, Field::Body];
    let terms = ["turn", "modul", "wa1300", "wb27", "return"].map(|it| (it.to_owned(), 1.0));
    let wanted = TextQuery::new(terms.to_vec(), fields.map(|it| (it, 1.0)).to_vec(), 50);
    let mut group = criterion.benchmark_group("warm");
    group.bench_function("passages, 5 terms in 4 fields", |bencher| {
        bencher.iter(|| {
            let hits = runtime.block_on(index.passages(&wanted)).unwrap();
            // Of equals at the end of the list some are left out.
            assert!((1..=50).contains(&hits.len()));
        });
    });
    group.finish();
}

criterion_group!(benches, cold, unchanged, query);
criterion_main!(benches);
