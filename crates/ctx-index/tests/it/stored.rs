//! Indexes seen from outside, and their removal.

use std::fs::{self, File};
use std::path::Path;

use ctx_index::{IndexError, Stored};
use ctx_model::UnixSeconds;
use ctx_retrieve::{Generation as _, Usage as _};
use rusqlite::Connection;

use crate::damage::bytes_of;
use crate::{Fixture, block_on, function, update};

fn indexed() -> Fixture {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    update(&fixture.open());
    fixture
}

fn stored(fixture: &Fixture) -> Stored {
    Stored::at(&fixture.folder()).unwrap().unwrap()
}

fn nothing_beside(_: &str) -> bool {
    false
}

fn remembered(fixture: &Fixture) -> Connection {
    Connection::open(fixture.folder().join("remembered.db")).unwrap()
}

#[test]
fn an_index_tells_what_it_is_of() {
    let fixture = indexed();
    let status = fixture.open().status().unwrap();
    let before = bytes_of(&fixture.folder());
    let stored = stored(&fixture);
    assert_eq!(stored.root.as_deref(), Some(status.root.as_path()));
    assert_eq!(
        (stored.bytes, stored.written_at),
        (status.bytes, status.written_at)
    );
    assert!(stored.used_at >= stored.written_at, "{stored:?}");
    assert_eq!(stored.fault().unwrap(), None);
    assert!(stored.format.is_some());
    assert!(bytes_of(&fixture.folder()) == before);
}

#[test]
fn an_index_that_moved_with_its_folder_tells_where_it_is_now() {
    let fixture = indexed();
    let moved = crate::memory();
    let root = moved.path().join("elsewhere");
    fs::create_dir(&root).unwrap();
    let options = ctx_index::Options::default();
    ctx_index::Index::open(&root, &fixture.folder(), options).unwrap();
    assert_eq!(stored(&fixture).root, Some(root.canonicalize().unwrap()));
}

#[test]
fn an_index_of_before_is_of_an_unknown_folder_until_it_is_opened() {
    let fixture = indexed();
    // As versions left it that did not note it: nothing was remembered.
    fs::remove_file(fixture.folder().join("remembered.db")).unwrap();
    let before = stored(&fixture);
    assert_eq!(
        (before.root.as_deref(), before.fault().unwrap()),
        (None, None)
    );
    fixture.open();
    assert!(stored(&fixture).root.is_some());
}

#[test]
fn a_root_that_is_not_as_it_was_noted_is_unknown() {
    let fixture = indexed();
    let sql = "UPDATE kept SET value = '/somewhere/else' WHERE key = 'root'";
    assert_eq!(remembered(&fixture).execute(sql, []).unwrap(), 1);
    assert_eq!(stored(&fixture).root, None);
}

#[test]
fn opening_is_noted_once_a_day() {
    let fixture = indexed();
    let path = fixture.folder().join("remembered.db");
    let before = fs::read(&path).unwrap();
    crate::age(&path, 3_600);
    let used_at = fs::metadata(&path).unwrap().modified().unwrap();
    fixture.open();
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), used_at);
}

#[test]
fn an_index_that_is_damaged_or_of_another_format_must_be_begun_anew() {
    let fixture = indexed();
    let manifest = Connection::open(fixture.folder().join("manifest.db")).unwrap();
    let sql = "UPDATE meta SET value = '1.1' WHERE key = 'format'";
    manifest.execute(sql, []).unwrap();
    drop(manifest);
    let of_before = stored(&fixture);
    assert_eq!(of_before.format.as_deref(), Some("1.1"));
    assert!(
        of_before
            .fault()
            .unwrap()
            .unwrap()
            .contains("it is of format 1.1")
    );
    assert!(of_before.root.is_some());

    fs::write(fixture.folder().join("manifest.db"), "no database").unwrap();
    let damaged = stored(&fixture);
    assert_eq!(
        (damaged.format.as_deref(), damaged.written_at),
        (None, None)
    );
    assert!(damaged.fault().unwrap().is_some());
    assert!(damaged.root.is_some());
}

#[test]
fn an_index_is_removed_with_what_it_remembers_and_what_is_said_to_be_beside_it() {
    let fixture = indexed();
    let index = fixture.open();
    block_on(index.shown(&["a.rs".to_owned()], UnixSeconds::new(7))).unwrap();
    drop(index);
    fs::write(fixture.folder().join("changes"), "of git").unwrap();
    let before = bytes_of(&fixture.folder());
    let stored = stored(&fixture);
    let error = stored.remove(&nothing_beside).unwrap_err();
    assert!(
        matches!(&error, IndexError::Foreign { found, .. } if *found == [Path::new("changes")]),
        "{error}"
    );
    assert!(bytes_of(&fixture.folder()) == before);
    stored.is_removable(&|name| name == "changes").unwrap();
    assert!(bytes_of(&fixture.folder()) == before);
    assert!(stored.remove(&|name| name == "changes").unwrap());
    assert!(!fixture.folder().exists());
    assert_eq!(Stored::at(&fixture.folder()).unwrap(), None);
}

#[test]
fn a_damaged_index_is_removed_with_what_was_kept_aside() {
    let fixture = indexed();
    fs::write(fixture.folder().join("remembered.db"), "no database").unwrap();
    assert!(fixture.open().loss().is_some());
    assert!(fixture.folder().join("remembered.damaged-1.db").exists());
    fs::write(fixture.folder().join("manifest.db"), "no database").unwrap();
    assert!(stored(&fixture).remove(&nothing_beside).unwrap());
    assert!(!fixture.folder().exists());
}

#[test]
fn the_rest_of_a_killed_removal_is_still_recognized_as_an_index() {
    let fixture = indexed();
    let folder = fixture.folder();
    for name in ["manifest.db", "text/meta.json"] {
        fs::remove_file(folder.join(name)).unwrap();
        assert!(stored(&fixture).root.is_some(), "without {name}");
    }
    fs::remove_dir_all(folder.join("text")).unwrap();
    let left = stored(&fixture);
    assert!(left.root.is_some() && left.fault().unwrap().is_some());
    assert!(left.remove(&nothing_beside).unwrap());
    assert!(!folder.exists());
}

#[test]
fn an_index_that_somebody_writes_is_left() {
    let fixture = indexed();
    for name in ["writer.lock", "remembered.lock"] {
        let path = fixture.folder().join(name);
        let held = File::options()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        held.lock().unwrap();
        let before = bytes_of(&fixture.folder());
        let stored = stored(&fixture);
        for error in [
            stored.is_removable(&nothing_beside).err(),
            stored.remove(&nothing_beside).err(),
        ] {
            assert!(
                matches!(error, Some(IndexError::Busy { .. })),
                "{name}: {error:?}"
            );
        }
        assert!(bytes_of(&fixture.folder()) == before);
    }
}

#[test]
fn who_has_an_index_open_makes_it_anew_when_it_was_removed() {
    let fixture = indexed();
    let index = fixture.open();
    let before = block_on(index.generation()).unwrap();
    assert!(stored(&fixture).remove(&nothing_beside).unwrap());
    assert_eq!(update(&index).changed, 1);
    // It counts from the beginning, and is another one.
    assert_eq!(index.status().unwrap().generation, 1);
    assert_ne!(block_on(index.generation()).unwrap(), before);
    let anew = stored(&fixture);
    assert_eq!(anew.root.as_deref(), Some(index.root()));
    assert_eq!(anew.fault().unwrap(), None);
    // What it remembers from then on outlives it.
    block_on(index.shown(&["a.rs".to_owned()], UnixSeconds::new(7))).unwrap();
    drop(index);
    let recent = block_on(fixture.open().recent(9)).unwrap();
    assert_eq!(recent, [("a.rs".to_owned(), UnixSeconds::new(7))]);
}

#[test]
fn an_index_that_was_removed_since_it_was_looked_at_is_no_error() {
    let fixture = indexed();
    let (one, other) = (stored(&fixture), stored(&fixture));
    assert!(one.remove(&nothing_beside).unwrap());
    assert!(!other.remove(&nothing_beside).unwrap());
    assert!(!fixture.folder().exists());
}

#[test]
fn an_index_that_was_used_since_it_was_looked_at_is_left() {
    let fixture = indexed();
    let remembered = fixture.folder().join("remembered.db");
    for name in ["remembered.db", "manifest.db"] {
        crate::age(&fixture.folder().join(name), 86_400);
    }
    for entry in fs::read_dir(fixture.folder().join("text")).unwrap() {
        crate::age(&entry.unwrap().path(), 86_400);
    }
    let before = stored(&fixture);
    block_on(
        fixture
            .open()
            .shown(&["a.rs".to_owned()], UnixSeconds::new(7)),
    )
    .unwrap();
    assert!(!before.remove(&nothing_beside).unwrap());
    assert!(remembered.exists());
}

#[test]
fn a_folder_of_something_else_is_no_index() {
    let fixture = Fixture::new(&[]);
    assert_eq!(Stored::at(&fixture.folder()).unwrap(), None);
    crate::write(&fixture.folder().join("remembered.db"), "no database");
    assert_eq!(Stored::at(&fixture.folder()).unwrap(), None);
    crate::write(&fixture.folder().join("manifest.db"), "no database");
    let error = Stored::at(&fixture.folder()).unwrap_err();
    assert!(matches!(error, IndexError::Foreign { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let fixture = indexed();
    let link = fixture.path("link");
    std::os::unix::fs::symlink(fixture.folder(), &link).unwrap();
    assert_eq!(Stored::at(&link).unwrap(), None);
    // One in place of what an index has is somebody else's.
    let (text, moved) = (fixture.folder().join("text"), fixture.path("moved"));
    let its = stored(&fixture);
    fs::rename(&text, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &text).unwrap();
    let before = bytes_of(&moved);
    let removed = its.remove(&nothing_beside).map(drop);
    for refused in [removed, Stored::at(&fixture.folder()).map(drop)] {
        let error = refused.unwrap_err();
        assert!(
            matches!(&error, IndexError::Foreign { found, .. } if *found == [Path::new("text")]),
            "{error}"
        );
    }
    assert!(bytes_of(&moved) == before);
}

#[cfg(unix)]
#[test]
fn pipes_are_not_waited_for() {
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    let fixture = Fixture::new(&[]);
    fs::create_dir_all(fixture.folder()).unwrap();
    let manifest = fixture.folder().join("manifest.db");
    let remembered = fixture.folder().join("remembered.db");
    pipe(&remembered);
    assert_eq!(Stored::at(&fixture.folder()).unwrap(), None);
    pipe(&manifest);
    let error = Stored::at(&fixture.folder()).unwrap_err();
    assert!(matches!(error, IndexError::Foreign { .. }), "{error}");
    // Beside what is an index's, too.
    let fixture = indexed();
    let remembered = fixture.folder().join("remembered.db");
    fs::remove_file(&remembered).unwrap();
    pipe(&remembered);
    let stored = stored(&fixture);
    assert_eq!(stored.root, None);
    let error = stored.remove(&nothing_beside).unwrap_err();
    assert!(matches!(error, IndexError::Foreign { .. }), "{error}");
    assert!(remembered.exists());
}
