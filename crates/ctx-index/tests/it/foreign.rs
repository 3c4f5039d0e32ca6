//! Folders with files that no index made.

use std::fs;
use std::path::Path;

use ctx_index::{Index, IndexError, Options};

use crate::damage::bytes_of;
use crate::{Fixture, contents, function, memory, update};

fn open(fixture: &Fixture) -> Result<Index, IndexError> {
    Index::open(fixture.root(), &fixture.folder(), Options::default())
}

/// What is found in the folder that is not of an index; nothing in it is changed.
#[track_caller]
fn refused(fixture: &Fixture) -> Vec<String> {
    let folder = fixture.folder();
    let before = bytes_of(&folder);
    let error = open(fixture).unwrap_err();
    assert!(bytes_of(&folder) == before, "{error}");
    let said = error.to_string();
    assert!(said.contains(folder.to_str().unwrap()), "{said}");
    let IndexError::Foreign { found, .. } = error else {
        panic!("{error:?}");
    };
    let found: Vec<_> = found.iter().map(|it| it.to_str().unwrap()).collect();
    assert!(said.contains(&found.join(", ")), "{said}");
    found.into_iter().map(str::to_owned).collect()
}

fn put(folder: &Path, name: &str, text: &str) {
    crate::write(&folder.join(name), text);
}

fn database(path: &Path) {
    let database = rusqlite::Connection::open(path).unwrap();
    let tables = "CREATE TABLE files (path TEXT PRIMARY KEY); INSERT INTO files VALUES ('a')";
    database.execute_batch(tables).unwrap();
}

#[test]
fn a_folder_of_something_else_is_left_as_it_is() {
    for (name, text) in [
        ("text/novel.md", "Call me Ishmael."),
        ("text/meta.json", "{}"),
        ("text/0123456789abcdef0123456789abcde.idx", "not a segment"),
        ("text/tmp", ""),
        ("manifest.db", "no database"),
    ] {
        let fixture = Fixture::new(&[("a.rs", &function("one"))]);
        put(&fixture.folder(), name, text);
        assert_eq!(refused(&fixture), [name]);
        let inspected = Index::inspect(fixture.root(), &fixture.folder(), Options::default());
        assert!(matches!(inspected, Err(IndexError::Foreign { .. })));
    }
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    put(&fixture.folder(), "text/novel.md", "Call me Ishmael.");
    database(&fixture.folder().join("manifest.db"));
    assert_eq!(refused(&fixture), ["manifest.db", "text/novel.md"]);
}

#[test]
fn a_database_of_something_else_in_an_index_is_left_as_it_is() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    update(&fixture.open());
    let manifest = fixture.folder().join("manifest.db");
    fs::remove_file(&manifest).unwrap();
    database(&manifest);
    assert_eq!(refused(&fixture), ["manifest.db"]);
}

#[test]
fn a_file_in_the_text_of_an_index_is_no_reason_not_to_open_it_and_is_not_removed() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let before = contents(&fixture.updated());
    put(&fixture.folder(), "text/novel.md", "Call me Ishmael.");
    assert_eq!(contents(&fixture.open()), before);
    let text = fixture.folder().join("text");
    fs::remove_file(text.join("meta.json")).unwrap();
    assert_eq!(refused(&fixture), ["text/novel.md"]);
    fs::remove_file(text.join("novel.md")).unwrap();
    let index = fixture.reopen();
    assert!(index.rebuilt().is_some());
    update(&index);
    assert_eq!(contents(&index), before);
}

#[test]
fn a_folder_that_changes_owner_while_an_index_is_open_is_left_alone() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let index = fixture.updated();
    fs::remove_dir_all(fixture.folder()).unwrap();
    put(&fixture.folder(), "text/novel.md", "Call me Ishmael.");
    let error = crate::try_update(&index).unwrap_err();
    assert!(matches!(error, IndexError::Foreign { .. }), "{error:?}");
    assert_eq!(refused(&fixture), ["text/novel.md"]);
}

/// Manifests had no id of their own before.
#[test]
fn an_earlier_index_opens_is_known_when_it_is_damaged_and_gets_an_id() {
    let id = |of: &Path| {
        let manifest = rusqlite::Connection::open(of.join("manifest.db")).unwrap();
        let id: i64 = manifest
            .pragma_query_value(None, "application_id", |row| row.get(0))
            .unwrap();
        id
    };
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    update(&fixture.open());
    let (folder, ours) = (fixture.folder(), id(&fixture.folder()));
    assert_ne!(ours, 0);
    let manifest = rusqlite::Connection::open(folder.join("manifest.db")).unwrap();
    manifest
        .pragma_update(None, "application_id", 0_i64)
        .unwrap();
    drop(manifest);

    let copied = memory();
    fs::copy(
        folder.join("manifest.db"),
        copied.path().join("manifest.db"),
    )
    .unwrap();
    let index = Index::open(fixture.root(), copied.path(), Options::default()).unwrap();
    assert!(index.rebuilt().is_some(), "it has no text");

    let index = fixture.open();
    assert_eq!(id(&folder), 0);
    fixture.write("b.rs", function("two"));
    update(&index);
    assert_eq!(id(&folder), ours);
}
