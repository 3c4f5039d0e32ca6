//! Files that are checked against their expected hashes.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ctx_source::{Hashes, SourceError, Sources};

use crate::{age, folder, sources, write};

/// What is known of files; what they say next, and the next time they are asked for.
#[derive(Debug, Default)]
struct Known {
    hashes: Mutex<BTreeMap<String, Vec<Vec<[u8; 32]>>>>,
    asked: AtomicUsize,
    told: Mutex<Vec<String>>,
}

impl Known {
    /// `path` has one of each of these, one set after the other; the last stays.
    fn of(path: &str, sets: &[&[&str]]) -> Arc<Self> {
        let hash = |text: &&str| *blake3::hash(text.as_bytes()).as_bytes();
        let set = |it: &&[&str]| it.iter().map(hash).collect();
        let known = Known::default();
        let sets = sets.iter().map(set).collect();
        known.hashes.lock().unwrap().insert(path.to_owned(), sets);
        Arc::new(known)
    }
}

impl Hashes for Known {
    fn of(&self, path: &str) -> Result<Vec<[u8; 32]>, SourceError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut hashes = self.hashes.lock().unwrap();
        let Some(sets) = hashes.get_mut(path) else {
            return Ok(Vec::new());
        };
        let next = sets[0].clone();
        if sets.len() > 1 {
            sets.remove(0);
        }
        Ok(next)
    }

    fn on_mismatch(&self, path: &str) {
        self.told.lock().unwrap().push(path.to_owned());
    }
}

fn held(folder: &tempfile::TempDir, known: &Arc<Known>) -> Sources {
    sources(folder).with_hashes(known.clone())
}

#[test]
fn a_file_with_an_expected_hash_is_read_and_checked_once() {
    let folder = folder(&[("a.rs", b"\xef\xbb\xbffn a() {}\r\n")]);
    let known = Known::of("a.rs", &[&["\u{feff}fn a() {}\r\n"]]);
    let sources = held(&folder, &known);
    for _ in 0..3 {
        assert_eq!(sources.text("a.rs").unwrap().line(1), Some("fn a() {}"));
    }
    assert_eq!(known.asked.load(Ordering::Relaxed), 1);
}

#[test]
fn each_flipped_bit_is_told() {
    let content = b"fn a() { b(); }\n";
    let folder = folder(&[("a.rs", content)]);
    let known = Known::of("a.rs", &[&["fn a() { b(); }\n"]]);
    for bit in 0..content.len() * 8 {
        let mut bytes = content.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        write(folder.path(), "a.rs", &bytes);
        let error = held(&folder, &known).text("a.rs").unwrap_err();
        assert!(
            matches!(error, SourceError::Damaged { .. }),
            "{bit}: {error}"
        );
        assert!(
            error
                .to_string()
                .starts_with("\"a.rs\" is damaged: its content does not match its hash")
        );
    }
    assert_eq!(known.told.lock().unwrap().len(), content.len() * 8);
    fs::write(folder.path().join("a.rs"), b"").unwrap();
    age(&folder.path().join("a.rs"));
    held(&folder, &known).text("a.rs").unwrap_err();
}

#[test]
fn a_file_without_an_expected_hash_does_not_exist() {
    let folder = folder(&[("a.rs", b"a"), ("b.rs", b"b")]);
    let known = Known::of("a.rs", &[&["a"]]);
    let error = held(&folder, &known).text("b.rs").unwrap_err();
    assert!(matches!(error, SourceError::NotFound { .. }), "{error}");
    assert!(known.told.lock().unwrap().is_empty());
}

#[test]
fn a_file_with_any_of_its_expected_hashes_is_not_damaged() {
    let folder = folder(&[("a.rs", b"new")]);
    // It is either, or it was another one when it was asked for.
    for sets in [&[&["old", "new"][..]][..], &[&["old"], &["new"]]] {
        let known = Known::of("a.rs", sets);
        assert_eq!(held(&folder, &known).text("a.rs").unwrap().as_str(), "new");
    }
}
