//! A text is that of the file as it is now, and an unchanged file is read once.

use std::fs;
use std::sync::Barrier;
use std::thread;

use ctx_source::{Limits, Root, SourceError, Sources};
use ctx_testkit::few;
use proptest::prelude::*;

#[test]
fn a_file_is_read_once_while_it_stays_as_it_is() {
    let folder = super::folder(&[("a", b"one")]);
    let sources = super::sources(&folder);
    for _ in 0..5 {
        assert_eq!(sources.text("a").unwrap().as_str(), "one");
    }
    let metrics = sources.metrics();
    assert_eq!((metrics.reads, metrics.hits), (1, 4));
}

#[test]
fn a_change_shows_at_once() {
    let folder = super::folder(&[("a", b"one")]);
    let sources = super::sources(&folder);
    assert_eq!(sources.text("a").unwrap().as_str(), "one");
    // The same length, and perhaps the same tick of the clock.
    for text in ["two", "six", "ten"] {
        fs::write(folder.path().join("a"), text).unwrap();
        assert_eq!(sources.text("a").unwrap().as_str(), text);
    }
    fs::remove_file(folder.path().join("a")).unwrap();
    assert!(matches!(
        sources.text("a"),
        Err(SourceError::NotFound { .. })
    ));
    super::write(folder.path(), "a", b"back");
    assert_eq!(sources.text("a").unwrap().as_str(), "back");
}

#[test]
fn a_file_put_in_its_place_shows_whatever_its_time() {
    let folder = super::folder(&[("a", b"one"), ("b", b"two")]);
    let time = fs::metadata(folder.path().join("a"))
        .unwrap()
        .modified()
        .unwrap();
    let file = fs::File::options()
        .write(true)
        .open(folder.path().join("b"))
        .unwrap();
    file.set_modified(time).unwrap();
    let sources = super::sources(&folder);
    assert_eq!(sources.text("a").unwrap().as_str(), "one");
    fs::rename(folder.path().join("b"), folder.path().join("a")).unwrap();
    assert_eq!(sources.text("a").unwrap().as_str(), "two");
}

/// As `rsync --inplace --times` does.
#[cfg(unix)]
#[test]
fn a_file_rewritten_in_its_place_shows_whatever_its_time() {
    let folder = super::folder(&[("a", b"one")]);
    let path = folder.path().join("a");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let sources = super::sources(&folder);
    assert_eq!(sources.text("a").unwrap().as_str(), "one");
    fs::write(&path, "two").unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(time).unwrap();
    assert_eq!(sources.text("a").unwrap().as_str(), "two");
}

#[test]
fn many_threads_share_one_reading() {
    let folder = super::folder(&[("a", &vec![b'x'; 1 << 20])]);
    let sources = super::sources(&folder);
    let start = Barrier::new(16);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                start.wait();
                assert_eq!(sources.text("a").unwrap().as_str().len(), 1 << 20);
            });
        }
    });
    assert_eq!(sources.metrics().reads, 1);
}

#[test]
fn the_cache_is_bounded_in_bytes_and_entries() {
    let names: Vec<String> = (0..200).map(|n| format!("f{n}")).collect();
    let text = vec![b'x'; 10_000];
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &*text)).collect();
    let folder = super::folder(&files);
    let mut limits = Limits::default();
    limits.cache_bytes = 100_000;
    limits.cache_entries = 16;
    let sources = Sources::new(Root::open(folder.path()).unwrap(), limits);
    for _ in 0..2 {
        for name in &names {
            assert_eq!(sources.text(name).unwrap().as_str().len(), 10_000);
            assert!(
                sources.cached_bytes() <= 100_000,
                "{}",
                sources.cached_bytes()
            );
        }
    }
    assert!(sources.metrics().reads > 200);
}

#[test]
fn binary_and_large_files_are_named_and_not_cached() {
    let folder = super::folder(&[("binary", b"\x7fELF\0\0"), ("empty", b"")]);
    let sources = super::sources(&folder);
    assert!(matches!(
        sources.text("binary"),
        Err(SourceError::Binary { .. })
    ));
    assert_eq!(sources.text("empty").unwrap().as_str(), "");
    let folder = super::folder(&[(
        "latin",
        b"Stra\xdfe und Gr\xf6\xdfe, ge\xe4ndert f\xfcr alle",
    )]);
    let text = super::sources(&folder).text("latin").unwrap();
    assert_eq!(text.converted().unwrap().from, "windows-1252");
    assert_eq!(text.as_str(), "Straße und Größe, geändert für alle");
}

/// Writes, renames, removals and reads in any order: a read tells the present.
#[test]
fn no_read_tells_the_past() {
    let strategy = prop::collection::vec((0_u8..4, 0_usize..3, "[a-c]{0,3}"), 1..40);
    few::run(few::cases(32), &strategy, |steps| {
        let folder = super::folder(&[]);
        let sources = super::sources(&folder);
        let names = ["x", "y", "z"];
        for (step, which, text) in steps {
            let path = folder.path().join(names[which]);
            match step {
                0 => fs::write(&path, &text).unwrap(),
                1 => drop(fs::rename(
                    &path,
                    folder.path().join(names[(which + 1) % 3]),
                )),
                2 => drop(fs::remove_file(&path)),
                _ => {
                    if path.exists() {
                        super::age(&path);
                    }
                }
            }
            for name in names {
                let now = fs::read_to_string(folder.path().join(name)).ok();
                let told = sources.text(name).ok().map(|text| text.as_str().to_owned());
                prop_assert_eq!(told, now);
            }
        }
        Ok(())
    });
}
