//! What an update does about changes, and what it leaves alone.

use std::fs;
use std::ops::ControlFlow;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
#[cfg(unix)]
use std::path::Path;
use std::time::{Duration, SystemTime};

use ctx_index::{Index, IndexError, Options, Reason, StoredOptions};
use ctx_model::UnixSeconds;
use ctx_retrieve::FileSearch as _;

use crate::rebuilds::rebuild;
use crate::{
    Fixture, age, block_on, contents, definitions, function, passages, try_update, update,
};

#[test]
fn without_a_change_nothing_is_written() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.bin", "\0\x01\x02")]);
    let index = fixture.open();
    let first = update(&index);
    assert_eq!((first.files, first.changed, first.skipped), (1, 1, 1));
    let before = snapshot(&fixture);
    let second = update(&index);
    assert_eq!((second.files, second.changed, second.skipped), (1, 0, 1));
    assert_eq!(snapshot(&fixture), before);
    drop(index);
    update(&fixture.open());
    assert_eq!(snapshot(&fixture), before);
}

/// The files of the index, with their sizes and times.
fn snapshot(fixture: &Fixture) -> Vec<String> {
    let folders = [fixture.folder(), fixture.folder().join("text")];
    let entries = folders.iter().flat_map(|it| fs::read_dir(it).unwrap());
    let files = entries.map(Result::unwrap).filter(|it| it.path().is_file());
    let mut files: Vec<String> = files
        .map(|it| {
            let metadata = it.metadata().unwrap();
            let modified = metadata.modified().unwrap();
            format!("{} {} {modified:?}", it.path().display(), metadata.len())
        })
        .filter(|it| !it.contains(".lock"))
        .collect();
    files.sort();
    files
}

#[test]
fn a_changed_file_is_indexed_again() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    let index = fixture.updated();
    fixture.write("a.rs", function("three"));
    let updated = update(&index);
    assert_eq!((updated.files, updated.changed, updated.removed), (2, 1, 0));
    assert!(definitions(&index, "one").is_empty());
    assert_eq!(definitions(&index, "three"), ["a.rs:1"]);
    assert_eq!(contents(&index), fixture.fresh());
}

/// Each term is looked up in each segment.
#[test]
fn edits_of_single_files_leave_few_segments() {
    let files: Vec<(String, String)> = (0..12)
        .map(|it| (format!("f{it}.rs"), function(&format!("of_file_{it}"))))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (&**a, &**b)).collect();
    let fixture = Fixture::new(&files);
    let index = fixture.updated();
    for edit in 0..24 {
        fixture.write(
            &format!("f{}.rs", edit % 12),
            function(&format!("edit_{edit}")),
        );
        assert_eq!(update(&index).changed, 1);
        let entries = fs::read_dir(fixture.folder().join("text")).unwrap();
        let paths = entries.map(|it| it.unwrap().path());
        let segments = paths.filter(|it| it.extension().is_some_and(|it| it == "term"));
        assert!(segments.count() < 4, "after {edit} edits");
    }
    assert_eq!(contents(&index), fixture.fresh());
}

#[test]
fn a_touched_file_is_read_and_not_indexed() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let index = fixture.updated();
    let before = index.status().unwrap().generation;
    age(&fixture.path("a.rs"), 30);
    assert_eq!(update(&index).changed, 0);
    assert_eq!(index.status().unwrap().generation, before);
}

#[test]
fn a_file_that_changes_within_its_time_is_seen() {
    let fixture = Fixture::new(&[]);
    let path = fixture.path("a.rs");
    // However late the file is looked at, that is before its time.
    let time = SystemTime::now() + Duration::from_hours(1);
    let write = |text: String| {
        fs::write(&path, text).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
    };
    write(function("one"));
    let index = fixture.updated();
    assert_eq!(definitions(&index, "one"), ["a.rs:1"]);
    write(function("two"));
    assert_eq!(update(&index).changed, 1);
    assert_eq!(definitions(&index, "two"), ["a.rs:1"]);
}

/// As archives with fixed times are unpacked over each other, files copied with their times, and
/// written in place.
#[cfg(unix)]
#[test]
fn a_file_replaced_by_one_of_its_size_and_time_is_indexed_again() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let (path, other) = (fixture.path("a.rs"), fixture.path("b"));
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let write = |path: &Path, name: &str| {
        fs::write(path, function(name)).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    };
    let index = fixture.updated();
    write(&other, "two");
    fs::rename(&other, &path).unwrap();
    assert_eq!(index.pending().unwrap().changed, 1);
    assert_eq!(update(&index).changed, 1);
    assert_eq!(definitions(&index, "two"), ["a.rs:1"]);
    write(&path, "six");
    assert_eq!(update(&index).changed, 1);
    assert_eq!(definitions(&index, "six"), ["a.rs:1"]);
    // Only its metadata change.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let before = index.status().unwrap().generation;
    assert_eq!(update(&index).changed, 0);
    let after = snapshot(&fixture);
    assert_eq!(update(&index).changed, 0);
    assert_eq!(index.status().unwrap().generation, before);
    assert_eq!(snapshot(&fixture), after);
}

#[test]
fn a_file_of_any_time_is_indexed() {
    let fixture = Fixture::new(&[("far.rs", &function("far")), ("old.rs", &function("old"))]);
    let century = Duration::from_hours(100 * 366 * 24);
    let set = |path: &str, time: SystemTime| {
        let file = fs::File::options().write(true).open(fixture.path(path));
        // Not every file system has such times.
        let _ = file.unwrap().set_modified(time);
    };
    set("far.rs", SystemTime::UNIX_EPOCH + 5 * century);
    set("old.rs", SystemTime::UNIX_EPOCH - century / 2);
    let index = fixture.open();
    let updated = update(&index);
    assert_eq!((updated.files, updated.skipped), (2, 0));
    assert_eq!(definitions(&index, "far"), ["far.rs:1"]);
    let before = snapshot(&fixture);
    assert_eq!(update(&index).changed, 0);
    assert_eq!(snapshot(&fixture), before);
}

#[test]
fn removed_and_renamed_files_are_followed() {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("b.rs", &function("two")),
        ("deep/c.rs", &function("three")),
    ]);
    let index = fixture.updated();
    fs::remove_file(fixture.path("a.rs")).unwrap();
    fs::rename(fixture.path("b.rs"), fixture.path("d.rs")).unwrap();
    fs::rename(fixture.path("deep"), fixture.path("wide")).unwrap();
    let updated = update(&index);
    assert_eq!((updated.files, updated.changed, updated.removed), (2, 2, 3));
    assert_eq!(definitions(&index, "two"), ["d.rs:1"]);
    assert_eq!(definitions(&index, "three"), ["wide/c.rs:1"]);
    assert_eq!(contents(&index), fixture.fresh());
}

/// The text index has a document of such a file, and the file no part.
#[test]
fn a_file_without_a_word_is_followed_as_any_other() {
    let fixture = Fixture::new(&[("cfg/empty.json", "{}\n"), ("a.rs", &function("one"))]);
    let index = fixture.updated();
    let ending = || block_on(index.ending_with(&["empty.json".to_owned()], 10));
    let ending = || ending().unwrap().concat();
    assert_eq!(ending(), ["cfg/empty.json"]);
    for text in ["{}\n", "{\"common\": 1}\n", "\0\x01\x02", "[]\n"] {
        fs::remove_file(fixture.path("cfg/empty.json")).unwrap();
        update(&index);
        assert!(ending().is_empty(), "before {text:?}");
        for text in [text, "---\n", text] {
            fixture.write("cfg/empty.json", text);
            let updated = update(&index);
            let is_there = usize::from(!text.contains('\0'));
            assert_eq!(ending().len(), is_there, "{text:?}");
            let (files, skipped) = (updated.files, updated.skipped);
            assert_eq!((files, skipped), (1 + is_there, 1 - is_there), "{text:?}");
            assert_eq!(contents(&index), fixture.fresh());
        }
    }
}

#[test]
fn files_that_become_binary_or_too_large_are_forgotten() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    let index = fixture.updated();
    fixture.write("a.rs", b"\x7fELF\0\0\0\0\x01\x02\0common");
    fixture.write("b.rs", function("two").repeat(20_000));
    let updated = update(&index);
    assert_eq!((updated.files, updated.skipped), (0, 2));
    assert!(contents(&index).is_empty());
    fixture.write("a.rs", function("one"));
    fixture.write("b.rs", function("two"));
    assert_eq!(update(&index).files, 2);
    assert_eq!(contents(&index), fixture.fresh());
}

#[test]
fn ignore_files_are_heeded_also_later() {
    let fixture = Fixture::new(&[
        (".gitignore", "build/\n"),
        ("build/out.rs", &function("built")),
        ("secret.rs", &function("secret")),
        ("a.rs", &function("one")),
    ]);
    let index = fixture.updated();
    assert!(definitions(&index, "built").is_empty());
    assert_eq!(definitions(&index, "secret"), ["secret.rs:1"]);
    fixture.write(".ctxignore", "secret.rs\n");
    fixture.write(".gitignore", "");
    let updated = update(&index);
    assert_eq!((updated.changed, updated.removed), (1, 1));
    assert!(definitions(&index, "secret").is_empty());
    assert_eq!(definitions(&index, "built"), ["build/out.rs:1"]);
}

#[test]
fn generated_and_vendored_files_are_indexed_when_asked_for() {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("vendor/lib.rs", &function("theirs")),
        ("api.pb.go", "package common\n"),
    ]);
    let index = fixture.open();
    let updated = update(&index);
    assert_eq!((updated.files, updated.skipped), (1, 2));
    drop(index);
    let options = Options::default().with_generated(Some(true));
    let index = fixture.open_with(options);
    assert_eq!(update(&index).files, 3);
    assert_eq!(definitions(&index, "theirs"), ["vendor/lib.rs:1"]);
    drop(index);
    let updated = update(&fixture.open());
    assert_eq!((updated.removed, updated.left_out), (2, 2));
}

#[test]
fn skipped_files_are_not_reported_as_removed() {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("long.rs", &function("two").repeat(50)),
    ]);
    for name in ["b.bin", "c.bin", "gone.bin"] {
        fixture.write(name, [0; 2_000]);
    }
    let index = fixture.updated();
    assert_eq!(index.status().unwrap().files, 2);
    drop(index);
    fs::remove_file(fixture.path("gone.bin")).unwrap();
    let index = fixture.open_with(Options::default().with_max_file_bytes(Some(1_000)));
    assert_eq!(index.pending().unwrap().removed, 1);
    let updated = update(&index);
    assert_eq!(
        (updated.files, updated.removed, updated.left_out),
        (1, 1, 1)
    );
}

#[test]
fn generated_files_are_skipped_unless_requested() {
    let generated = format!("// @generated\n{}", function("made"));
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("made.rs", &generated),
        ("env/pyvenv.cfg", "home = /usr\n"),
        ("env/lib.rs", &function("theirs")),
    ]);
    let index = fixture.open();
    let passed = |updated: &ctx_index::Updated| {
        let passed = updated.skipped_files.iter();
        let passed = passed.map(|it| (it.path.to_string_lossy().into_owned(), it.reason));
        passed.collect::<Vec<_>>()
    };
    let expected = [
        ("env/lib.rs".to_owned(), Reason::Vendored),
        ("env/pyvenv.cfg".to_owned(), Reason::Vendored),
        ("made.rs".to_owned(), Reason::Generated),
    ];
    for changed in [1, 0] {
        let updated = update(&index);
        assert_eq!((updated.files, updated.changed), (1, changed));
        assert_eq!((passed(&updated), updated.skipped), (expected.to_vec(), 3));
        let pending = index.pending().unwrap();
        assert!(
            pending.is_nothing() && pending.generated == 3,
            "{pending:?}"
        );
    }
    let options = Options::default().with_generated(Some(true));
    let all = fixture.open_with(options);
    let pending = all.pending().unwrap();
    assert_eq!((pending.changed, pending.generated), (3, 0));
    assert_eq!(update(&all).files, 4);
    assert_eq!(update(&all).changed, 0);
    assert_eq!(definitions(&all, "made"), ["made.rs:1"]);
    assert_eq!(index.pending().unwrap().changed, 1);
    let updated = update(&index);
    assert_eq!(
        (updated.changed, updated.removed, updated.left_out),
        (0, 3, 3)
    );
    assert_eq!(contents(&index), fixture.fresh());
    fixture.write("made.rs", function("written"));
    assert_eq!(update(&index).files, 2);
    fixture.write("made.rs", &generated);
    assert_eq!(
        (update(&index).files, contents(&index)),
        (1, fixture.fresh())
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_becomes_a_link_is_told_as_one() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b/c.rs", &function("two"))]);
    let index = fixture.updated();
    fs::remove_file(fixture.path("b/c.rs")).unwrap();
    std::os::unix::fs::symlink("../a.rs", fixture.path("b/c.rs")).unwrap();
    let updated = update(&index);
    assert_eq!(
        (updated.files, updated.removed, updated.left_out),
        (1, 1, 0)
    );
    let passed: Vec<_> = updated.skipped_files.iter().map(|it| it.reason).collect();
    assert_eq!(passed, [Reason::Link]);
}

#[test]
fn skipped_files_are_named_with_the_reason() {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("vendor/lib.rs", &function("theirs")),
        ("api.pb.go", "package common\n"),
        ("large.txt", &"words ".repeat(200_000)),
        ("b.bin", "\0\x01\x02"),
        ("blank.md", " \n"),
        ("empty.md", ""),
        ("marked.md", "\u{feff}"),
    ]);
    let mut expected = vec![
        ("api.pb.go", Reason::Generated),
        ("b.bin", Reason::NoText),
        ("blank.md", Reason::NoText),
        ("empty.md", Reason::Empty),
        ("marked.md", Reason::Empty),
        ("large.txt", Reason::TooLarge),
        ("vendor/lib.rs", Reason::Vendored),
    ];
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let name = std::ffi::OsStr::from_bytes(b"n\xff.rs");
        fs::write(fixture.root().join(name), "fn common() {}\n").unwrap();
        expected.push(("n\u{fffd}.rs", Reason::Unnamed));
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.rs", fixture.path("link.rs")).unwrap();
        expected.push(("link.rs", Reason::Link));
        std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap();
        expected.push(("socket", Reason::Special));
    }
    expected.sort_unstable();
    let index = fixture.open();
    for _ in 0..2 {
        let updated = update(&index);
        let passed = updated.skipped_files.iter();
        let passed = passed.map(|it| (it.path.to_string_lossy(), it.reason));
        let mut passed: Vec<_> = passed.collect();
        passed.sort_unstable();
        let passed: Vec<_> = passed.iter().map(|(path, it)| (&**path, *it)).collect();
        assert_eq!(passed, expected);
        assert_eq!(updated.skipped, expected.len());
    }
}

#[test]
fn files_that_take_too_long_to_parse_are_found_by_lines_and_reported() {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one").repeat(100)),
        ("b.txt", "No grammar.\n"),
    ]);
    let mut options = Options::default();
    options.syntax.steps = 1;
    let index = fixture.open_with(options);
    let updated = update(&index);
    let expected = "\"a.rs\": parsing takes more than 1 steps";
    assert_eq!(updated.by_lines, [expected]);
    assert!(definitions(&index, "one").is_empty());
    assert!(!contents(&index).is_empty());
    let updated = rebuild(&index).unwrap();
    assert_eq!(updated.by_lines, [expected]);
    assert!(rebuild(&fixture.open()).unwrap().by_lines.is_empty());
}

#[test]
fn options_are_stored_with_the_index() {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("vendor/lib.rs", &function("theirs")),
        ("large.md", &"A long line of text.\n".repeat(200)),
    ]);
    let index = fixture.open();
    let mut kept = StoredOptions::default();
    kept.include_generated = Some(true);
    index.store_options(kept).unwrap();
    assert_eq!(update(&index).files, 3);
    drop(index);
    let index = fixture.open();
    let updated = update(&index);
    assert_eq!((updated.files, updated.removed), (3, 0));
    assert!(index.status().unwrap().include_generated);

    // What is said goes before what is kept, and is not kept.
    let options = Options::default().with_generated(Some(false));
    assert_eq!(update(&fixture.open_with(options)).left_out, 1);
    assert_eq!(update(&index).changed, 1);

    // Each is kept for itself, and whoever has it open heeds it.
    let mut kept = StoredOptions::default();
    kept.max_file_bytes = Some(1_000);
    fixture.open().store_options(kept).unwrap();
    let updated = update(&index);
    assert_eq!((updated.files, updated.left_out), (2, 1));
    assert_eq!(index.status().unwrap().max_file_bytes, 1_000);
    // An index that others made cannot ask for files without end; whoever asks now can.
    let mut endless = StoredOptions::default();
    endless.max_file_bytes = Some(u64::MAX);
    index.store_options(endless).unwrap();
    assert_eq!(index.status().unwrap().max_file_bytes, 64 << 20);
    let asked = Options::default().with_max_file_bytes(Some(u64::MAX));
    let asked = fixture.open_with(asked).status().unwrap();
    assert_eq!(asked.max_file_bytes, u64::MAX);
    index.store_options(kept).unwrap();

    // A new index has it too.
    assert_eq!(rebuild(&index).unwrap().files, 2);
    assert_eq!(
        index.stored_options().unwrap().include_generated,
        Some(true)
    );
}

#[test]
fn an_index_tells_how_far_it_is_behind() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    let index = fixture.open();
    assert_eq!(index.status().unwrap().written_at, None);
    assert_eq!(index.pending().unwrap().changed, 2);
    update(&index);
    assert!(index.status().unwrap().written_at > Some(UnixSeconds::new(1_700_000_000)));
    let pending = index.pending().unwrap();
    assert_eq!((pending.changed, pending.removed), (0, 0));
    // The time of a file is no change of it.
    age(&fixture.path("a.rs"), 30);
    assert!(index.pending().unwrap().is_nothing());
    fixture.write("a.rs", function("one").repeat(2));
    fixture.write("c.rs", function("three"));
    fs::remove_file(fixture.path("b.rs")).unwrap();
    let pending = index.pending().unwrap();
    assert_eq!((pending.changed, pending.removed), (2, 1));
    assert_eq!(update(&index).changed, 2, "looking changed nothing");
}

#[test]
fn an_index_below_its_own_root_is_not_indexed() {
    for place in [".ctx/index", "index"] {
        let fixture = Fixture::new(&[("a.rs", &function("one"))]);
        let folder = fixture.path(place);
        let index = Index::open(fixture.root(), &folder, Options::default()).unwrap();
        assert_eq!(update(&index).files, 1);
        let updated = update(&index);
        assert_eq!((updated.files, updated.changed), (1, 0), "{place}");
    }
}

#[test]
fn work_done_before_a_cancellation_is_kept() {
    let files: Vec<(String, String)> = (0..200)
        .map(|it| (format!("f{it:03}.rs"), function(&format!("f{it}"))))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let fixture = Fixture::new(&files);
    let index = fixture.open();
    let result = index.update(&mut |progress| {
        if progress.done > 64 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert!(matches!(result, Err(IndexError::Cancelled)), "{result:?}");
    drop(index);
    let index = fixture.open();
    let done = index.status().unwrap().files;
    assert_eq!(done, 128);
    let updated = try_update(&index).unwrap();
    assert_eq!((updated.files, updated.changed), (200, 72));
    assert_eq!(contents(&index), fixture.fresh());
}

#[test]
fn blank_files_are_named_where_they_are_wanted_also_in_an_index_of_before() {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("pkg/__init__.py", ""),
        ("pkg/blank.py", "\n"),
    ]);
    let named = |index: &Index, end: &str| {
        let ends = [end.to_owned()];
        block_on(index.ending_with(&ends, 9)).unwrap().concat()
    };
    let index = fixture.updated();
    assert_eq!(named(&index, "__init__.py"), [""; 0]);
    assert_eq!(index.status().unwrap().files, 1);
    drop(index);
    let options = Options::default().with_blank(true);
    let index = fixture.open_with(options);
    // One with a blank line was not told from what is no text.
    fixture.write("pkg/blank.py", "\n\n");
    assert_eq!(update(&index).changed, 2);
    assert_eq!(named(&index, "__init__.py"), ["pkg/__init__.py"]);
    assert_eq!(named(&index, "blank.py"), ["pkg/blank.py"]);
    assert_eq!(index.status().unwrap().files, 3);
    assert_eq!(passages(&index, "blank"), []);
    assert_eq!(update(&index).changed, 0);
}
