//! Every target of fuzzing, on its seeds and on changes of these: what can be had in seconds,
//! without a nightly toolchain.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::any::type_name;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use ctx_model::{BuildOptions, BuiltContext, Chunk};
use ctx_testkit::fuzz::{TARGETS, Target};
use ctx_testkit::{few, generate, laws};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A change of some bytes.
#[derive(Clone, Debug)]
enum Change {
    /// Puts bytes in.
    Insert(Index, Vec<u8>),
    /// Takes a part out.
    Remove(Index, usize),
    /// Has another byte in a place.
    Replace(Index, u8),
    /// Repeats a part.
    Repeat(Index, usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let byte = prop_oneof![select(&[0xff, b'0', b'1', b'7', b'\n'][..]), any::<u8>()];
    let bytes = prop_oneof![
        vec(any::<u8>(), 1..6),
        generate::hostile_text().prop_map(String::into_bytes),
    ];
    prop_oneof![
        2 => (any::<Index>(), bytes).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        1 => (any::<Index>(), 1_usize..20).prop_map(|(at, count)| Change::Remove(at, count)),
        2 => (any::<Index>(), byte).prop_map(|(at, byte)| Change::Replace(at, byte)),
        1 => (any::<Index>(), 1_usize..40, 1_usize..6)
            .prop_map(|(at, count, times)| Change::Repeat(at, count, times)),
    ]
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Insert(at, more) => {
                let at = at.index(bytes.len() + 1);
                bytes.splice(at..at, more.iter().copied());
            }
            Change::Remove(at, count) => {
                let at = at.index(bytes.len() + 1);
                bytes.drain(at..(at + count).min(bytes.len()));
            }
            Change::Replace(at, byte) => {
                if let Some(last) = bytes.len().checked_sub(1) {
                    bytes[at.index(last + 1)] = *byte;
                }
            }
            Change::Repeat(at, count, times) => {
                let at = at.index(bytes.len() + 1);
                let more = bytes[at..(at + count).min(bytes.len())].repeat(*times);
                bytes.splice(at..at, more);
            }
        }
    }
}

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The seeds of the target, in the order of their names.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = package().join("seeds").join(name);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|it| fs::read(it).unwrap()).collect()
}

fn holds(name: &str, cases: u32) {
    let Target { check, .. } = TARGETS.into_iter().find(|it| it.name == name).unwrap();
    let seeds = seeds(name);
    check(b"");
    for seed in &seeds {
        check(seed);
    }
    let changed = (select(seeds), vec(change(), 1..8)).prop_map(|(mut bytes, changes)| {
        for it in &changes {
            it.apply(&mut bytes);
        }
        bytes
    });
    few::run(few::cases(cases), &changed, |bytes| {
        check(&bytes);
        Ok(())
    });
}

/// One test for each target, with the number of changed seeds that it takes in a second or two.
macro_rules! targets {
    ($($name:ident: $cases:literal,)*) => {
        $(
            #[test]
            fn $name() {
                holds(stringify!($name), $cases);
            }
        )*

        #[test]
        fn every_target_has_a_test_a_program_and_seeds() {
            let all = BTreeSet::from(TARGETS.map(|it| it.name.to_owned()));
            assert_eq!(BTreeSet::from([$(stringify!($name).to_owned()),*]), all);
            let manifest = fs::read_to_string(package().join("Cargo.toml")).unwrap();
            for name in &all {
                let path = format!("fuzz_targets/{name}.rs");
                assert!(manifest.contains(&format!("path = \"{path}\"")), "{path}");
                let program = fs::read_to_string(package().join(path)).unwrap();
                assert!(program.contains(&format!("fuzz::{name}(")), "{program}");
                assert!(!seeds(name).is_empty());
            }
        }
    };
}

/// Bytes that no type accepts say nothing of how it is read.
#[test]
fn of_each_type_of_the_wire_there_is_a_seed() {
    fn has_seed<T: Serialize + DeserializeOwned + PartialEq + Debug>() {
        let seeds = seeds("wire");
        let is_read = |it: &Vec<u8>| laws::wire::is_read::<T>(it).is_some();
        assert!(seeds.iter().any(is_read), "{}", type_name::<T>());
    }
    has_seed::<Chunk>();
    has_seed::<Vec<Chunk>>();
    has_seed::<BuildOptions>();
    has_seed::<BuiltContext>();
}

targets! {
    assemble: 400,
    cite: 1_000,
    decode: 1_000,
    escape: 200,
    format: 1_000,
    mentions: 2_000,
    parse: 2_000,
    question: 1_000,
    renditions: 400,
    tokens: 1_000,
    wire: 2_000,
}
