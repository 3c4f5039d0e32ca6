//! Damaged indexes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ctx_index::{Index, Inspected, Options};
use ctx_retrieve::Generation as _;
use ctx_testkit::disk::files_below;
use tempfile::TempDir;

use crate::memory::{remember, remembered};
use crate::{Fixture, block_on, contents, function, memory, rebuilt, update};

/// An index of several commits, with deletions in it and with some use.
fn used() -> Fixture {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("b.rs", &function("two")),
        ("c.md", "# What is common\n\nNot much.\n"),
        ("d.bin", "\0\x01"),
    ]);
    let index = fixture.updated();
    fixture.write("a.rs", function("three"));
    update(&index);
    fixture.write("e.rs", function("four"));
    update(&index);
    remember(&index);
    fixture
}

fn copy(from: &Path) -> TempDir {
    let to = memory();
    for file in files_below(from) {
        let at = to.path().join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::copy(file, at).unwrap();
    }
    to
}

fn all_of(index: &Index) -> String {
    let remembered = remembered(index);
    let state = block_on(index.generation()).unwrap();
    let status = index.status().unwrap();
    let counts = (status.files, status.parts, status.lines, status.generation);
    format!("{:?} {remembered} {state} {counts:?}", contents(index))
}

/// 3 bits of each file by default, and `CTX_FLIPS` if that is set. A bit of a database that no
/// answer depends on may be turned unnoticed; of the text index none may.
#[test]
fn a_flipped_bit_is_found_in_every_file() {
    let flips: u64 = std::env::var("CTX_FLIPS").map_or(3, |it| it.parse().unwrap());
    let fixture = used();
    let before = all_of(&fixture.open());
    let fresh = fixture.fresh();
    let (mut found, mut harmless, mut random) = (0, 0, 1_u64);
    for file in files_below(&fixture.folder()) {
        let name = file.strip_prefix(fixture.folder()).unwrap();
        let bytes = fs::read(&file).unwrap();
        let is_lock = name.extension().is_some_and(|it| it == "lock");
        if bytes.is_empty() || is_lock {
            continue;
        }
        // Most of a small database is empty, and no answer depends on that.
        let is_database = name.extension().is_some_and(|it| it == "db");
        let places = (0..bytes.len()).filter(|it| !is_database || bytes[*it] != 0);
        let places: Vec<usize> = places.collect();
        for flip in 0..flips {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let place = match flip {
                0 => 0,
                1 => bytes.len() - 1,
                _ => places[usize::try_from(random >> 33).unwrap() % places.len()],
            };
            let bit = (random >> 60) % 8;
            let what = format!("bit {bit} of byte {place} of {}", name.display());
            let copied = copy(&fixture.folder());
            let mut turned = bytes.clone();
            turned[place] ^= 1 << bit;
            fs::write(copied.path().join(name), turned).unwrap();
            let opened = Index::open(fixture.root(), copied.path(), Options::default());
            let index = opened.unwrap_or_else(|it| panic!("{what}: {it:?}"));
            if let Some(why) = &rebuilt(&index) {
                is_in_words(why);
                assert_eq!(remembered(&index), remembered(&fixture.open()), "{what}");
                found += 1;
                if flip == 0 {
                    update(&index);
                    assert_eq!(contents(&index), fresh, "{what}");
                }
            } else if index.loss().is_some() {
                assert_eq!(name, Path::new("remembered.db"), "{what}");
                assert_eq!(contents(&index), fresh, "{what}");
                found += 1;
            } else {
                assert_eq!(name.extension(), Some("db".as_ref()), "{what}");
                assert_eq!(all_of(&index), before, "{what}");
                harmless += 1;
            }
        }
    }
    assert!(found > harmless);
    eprintln!("{found} flipped bits were found, {harmless} of the databases changed no answer");
}

/// Whether a message has no values as a program writes them for its authors.
#[track_caller]
fn is_in_words(why: &str) {
    let is_code = [" { ", "Custom", "kind:", "(\""]
        .iter()
        .any(|it| why.contains(it));
    assert!(!is_code, "{why}");
}

#[test]
fn a_file_that_is_cut_short_or_gone_is_found() {
    let fixture = used();
    let fresh = fixture.fresh();
    for file in files_below(&fixture.folder()) {
        let name = file.strip_prefix(fixture.folder()).unwrap();
        let length = fs::metadata(&file).unwrap().len();
        let is_lock = name.extension().is_some_and(|it| it == "lock");
        if is_lock {
            continue;
        }
        for cut in [Some(0), Some(length / 2), None] {
            let copied = copy(&fixture.folder());
            let at = copied.path().join(name);
            match cut {
                Some(length) => fs::File::options()
                    .write(true)
                    .open(at)
                    .unwrap()
                    .set_len(length)
                    .unwrap(),
                None => fs::remove_file(at).unwrap(),
            }
            let index = Index::open(fixture.root(), copied.path(), Options::default()).unwrap();
            let told = index.rebuilt().is_some() || index.loss().is_some();
            assert!(told, "{} {cut:?}", name.display());
            if let Some(why) = &rebuilt(&index) {
                is_in_words(why);
            }
            if cut.is_none() {
                update(&index);
                assert_eq!(contents(&index), fresh);
            }
        }
    }
}

/// All files but those that are locked, with what is in them.
pub(crate) fn bytes_of(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = files_below(folder);
    files.retain(|it| it.extension().is_none_or(|it| it != "lock"));
    let bytes = |it: PathBuf| (it.clone(), fs::read(it).unwrap());
    files.into_iter().map(bytes).collect()
}

/// Each file is once gone and once cut short, of the segments of the text index one of each kind;
/// with `CTX_THOROUGH=1` all of them.
#[test]
fn looking_changes_nothing_whatever_is_there() {
    let inspect = |fixture: &Fixture, folder: &Path| {
        Index::inspect(fixture.root(), folder, Options::default()).unwrap()
    };
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let found = inspect(&fixture, &fixture.folder());
    assert!(matches!(found, Inspected::Nothing), "{found:?}");
    assert!(!fixture.folder().exists());

    let fixture = used();
    let before = bytes_of(&fixture.folder());
    fixture.write("new.rs", function("new"));
    let Inspected::Whole(index) = inspect(&fixture, &fixture.folder()) else {
        panic!("it is whole");
    };
    assert_eq!(index.pending().unwrap().changed, 1);
    assert_eq!(index.status().unwrap().files, 4);
    assert_eq!(remembered(&index), remembered(&fixture.open()));
    assert_eq!(bytes_of(&fixture.folder()), before);

    let is_thorough = std::env::var_os("CTX_THOROUGH").is_some();
    let mut seen = BTreeSet::new();
    for file in files_below(&fixture.folder()) {
        let name = file.strip_prefix(fixture.folder()).unwrap();
        if name.extension().is_some_and(|it| it == "lock") {
            continue;
        }
        // A segment's files are called by 32 digits, and by what they hold.
        let is_segment = name.file_stem().is_some_and(|it| it.len() == 32);
        let kind = name.extension().filter(|_| is_segment && !is_thorough);
        if !seen.insert(kind.unwrap_or(name.as_os_str()).to_owned()) {
            continue;
        }
        for cut in [false, true] {
            let copied = copy(&fixture.folder());
            let at = copied.path().join(name);
            if cut {
                fs::write(&at, &fs::read(&file).unwrap()[1..]).unwrap();
            } else {
                fs::remove_file(&at).unwrap();
            }
            let before = bytes_of(copied.path());
            match inspect(&fixture, copied.path()) {
                Inspected::Damaged(why) => assert!(!why.is_empty()),
                Inspected::Whole(index) => {
                    assert_eq!(name, Path::new("remembered.db"));
                    assert_eq!(index.loss().is_some(), cut);
                }
                Inspected::Nothing => panic!("{}", name.display()),
            }
            assert!(bytes_of(copied.path()) == before, "{}", name.display());
        }
    }
}

#[test]
fn another_format_is_begun_anew_and_said_so() {
    let fixture = used();
    let manifest = fixture.folder().join("manifest.db");
    let manifest = rusqlite::Connection::open(manifest).unwrap();
    manifest
        .execute("UPDATE meta SET value = '0.1' WHERE key = 'format'", [])
        .unwrap();
    drop(manifest);
    let index = fixture.reopen();
    let why = rebuilt(&index).unwrap();
    assert!(why.contains("it is of format 0.1"), "{why}");
    assert_eq!(index.status().unwrap().files, 0);
    update(&index);
    assert_eq!(contents(&index), fixture.fresh());
}

#[test]
fn a_part_that_was_put_back_from_before_is_found() {
    for part in ["manifest.db", "text"] {
        let fixture = used();
        let before = copy(&fixture.folder());
        fixture.write("new.rs", function("new"));
        update(&fixture.open());
        let folder = fixture.folder();
        if part == "text" {
            fs::remove_dir_all(folder.join(part)).unwrap();
        }
        for file in files_below(before.path()) {
            let name = file.strip_prefix(before.path()).unwrap();
            if name.starts_with(part) {
                fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
                fs::copy(&file, folder.join(name)).unwrap();
            }
        }
        fs::remove_file(fixture.path("new.rs")).unwrap();
        let index = fixture.reopen();
        assert!(index.rebuilt().is_some(), "{part}");
        update(&index);
        assert_eq!(contents(&index), fixture.fresh(), "{part}");
    }
}
