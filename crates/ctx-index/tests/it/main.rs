//! Tests with real folders and real faults.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod answers;
mod child;
#[cfg(target_os = "linux")]
mod confined;
mod conformance;
mod crash;
mod damage;
mod faults;
mod foreign;
mod histories;
mod memory;
mod moves;
mod rebuilds;
mod stored;
mod updates;
mod watching;
mod writers;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ctx_index::{Index, IndexError, Options, Updated};
use ctx_model::error_chain;
use ctx_rank::Analyzer;
use ctx_retrieve::{Field, FileSearch as _, Hit, TextQuery};
use tempfile::TempDir;

/// A folder that is in memory where the system has such, as each commit waits for the disk
/// otherwise.
fn memory() -> TempDir {
    let place = Path::new("/dev/shm");
    let made = tempfile::tempdir_in(place);
    made.or_else(|_| tempfile::tempdir()).unwrap()
}

/// A folder of files and one for its index.
struct Fixture {
    root: TempDir,
    store: TempDir,
}

impl Fixture {
    /// These files, all of them changed a minute ago.
    fn new(files: &[(&str, &str)]) -> Self {
        let fixture = Fixture {
            root: memory(),
            store: memory(),
        };
        for (path, text) in files {
            fixture.write(path, text);
        }
        fixture
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn folder(&self) -> PathBuf {
        self.store.path().join("index")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.path(path), text);
    }

    /// The index, of which nothing had to be begun anew.
    fn open(&self) -> Index {
        self.open_with(Options::default())
    }

    fn open_with(&self, options: Options) -> Index {
        let index = Index::open(self.root(), &self.folder(), options).unwrap();
        assert_eq!(rebuilt(&index), None);
        index
    }

    /// The index, which may have been begun anew.
    fn reopen(&self) -> Index {
        Index::open(self.root(), &self.folder(), Options::default()).unwrap()
    }

    /// The index, brought up to date.
    fn updated(&self) -> Index {
        let index = self.open();
        update(&index);
        index
    }

    /// What an index that is made now has.
    fn fresh(&self) -> Vec<String> {
        let store = memory();
        let index = Index::open(self.root(), store.path(), Options::default()).unwrap();
        update(&index);
        contents(&index)
    }
}

/// Why the index was begun anew, if it was.
fn rebuilt(index: &Index) -> Option<String> {
    index.rebuilt().map(|it| error_chain(it))
}

/// Writes a file that was changed a minute ago, whatever it was before.
fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    age(path, 60);
}

fn age(path: &Path, seconds: u64) {
    let before = SystemTime::now() - Duration::from_secs(seconds);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(before).unwrap();
}

fn update(index: &Index) -> Updated {
    try_update(index).unwrap()
}

fn try_update(index: &Index) -> Result<Updated, IndexError> {
    index.update(&mut |_| ControlFlow::Continue(()))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.build().unwrap().block_on(future)
}

/// The parts that hold one of these words, in the order of their places.
fn passages(index: &Index, words: &str) -> Vec<Hit> {
    let mut terms = Vec::new();
    Analyzer::default().words(words, &mut |term, _, _| terms.push((term.to_owned(), 1.0)));
    let fields = [Field::Name, Field::Signature, Field::Doc, Field::Body];
    let fields = fields.map(|it| (it, 1.0)).to_vec();
    let query = TextQuery::new(terms, fields, 10_000);
    let mut hits = block_on(index.passages(&query)).unwrap();
    hits.sort_by(|a, b| a.key().cmp(&b.key()));
    hits
}

/// Where this name is defined: `path:line`.
fn definitions(index: &Index, name: &str) -> Vec<String> {
    let hits = block_on(index.definitions(&[name.to_owned()], 100))
        .unwrap()
        .concat();
    hits.iter()
        .map(|hit| format!("{}:{}", hit.path, hit.span.start()))
        .collect()
}

/// All there is of files that say `common`.
fn contents(index: &Index) -> Vec<String> {
    let mut contents: Vec<String> = passages(index, "common")
        .iter()
        .map(|hit| {
            let (path, first, last) = hit.key();
            let key = (path.to_owned(), first, last);
            format!("{key:?} {} {:?} {:?}", hit.kind, hit.name, hit.refers_to)
        })
        .collect();
    let query = TextQuery::new(
        vec![("common".to_owned(), 1.0)],
        vec![(Field::Text, 1.0)],
        10_000,
    );
    let files = block_on(index.files(&query)).unwrap();
    let mut files: Vec<String> = files.iter().map(|it| it.path.clone()).collect();
    files.sort();
    contents.extend(files);
    contents
}

/// A function of this name, in Rust.
fn function(name: &str) -> String {
    format!("/// What is common.\npub fn {name}(common: u32) -> u32 {{\n    common + 1\n}}\n")
}
