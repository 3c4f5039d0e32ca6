//! Nothing outside the root is indexed, even if files are replaced by links during the scan.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use ctx_index::{Index, IndexError, Options};
use ctx_retrieve::{FileSearch as _, PartQuery};
use ctx_testkit::{Race, SetOnDrop, hostile};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::{Fixture, block_on, contents, definitions, function, memory, passages, update};

/// A file and a link out, a folder and a link out.
#[test]
fn swapping_at_the_right_moment_indexes_nothing_from_outside() {
    let fixture = Fixture::new(&[
        ("inside.rs", &function("inside")),
        ("sub/same.rs", &function("inside")),
    ]);
    let other = Fixture::new(&[("same.rs", &function("secret"))]);
    let at = |path: &str| fixture.path(path);
    symlink(other.path("same.rs"), at("link.rs")).unwrap();
    symlink(other.root(), at("out")).unwrap();
    let index = fixture.open();
    let stop = AtomicBool::new(false);
    let (mut updates, exchanges) = (0, AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (a, b) in [("inside.rs", "link.rs"), ("sub", "out")] {
                    renameat_with(CWD, at(a), CWD, at(b), RenameFlags::EXCHANGE).unwrap();
                }
                exchanges.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _stop = SetOnDrop(&stop);
        let race = Race::begin();
        while race.goes_on(updates > 1 && exchanges.load(Ordering::Relaxed) > 1) {
            update(&index);
            updates += 1;
            let found = definitions(&index, "secret");
            let all = contents(&index);
            assert!(
                found.is_empty() && !all.iter().any(|it| it.contains("secret")),
                "{found:?} {all:?}"
            );
        }
    });
    assert!(
        updates > 1 && exchanges.load(Ordering::Relaxed) > 1,
        "{updates}, {exchanges:?}: there was no race"
    );
}

#[test]
fn an_index_is_for_nobody_else_to_look_into() {
    let fixture = Fixture::new(&[("a.rs", &function("a"))]);
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("kept/index");
    let open = || Index::open(fixture.root(), &place, Options::default()).unwrap();
    let others = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
    let index = open();
    update(&index);
    assert_eq!(others(&place), 0);
    assert_eq!(others(place.parent().unwrap()), 0);
    // One that is there is its owner's to open.
    fs::set_permissions(&place, fs::Permissions::from_mode(0o750)).unwrap();
    drop(index);
    drop(open());
    assert_eq!(others(&place), 0o050);
}

/// Whoever made the files may have made the link.
#[test]
fn an_index_is_not_kept_where_a_link_in_the_root_leads() {
    let (fixture, other) = (
        Fixture::new(&[("a.rs", "fn a() {}\n")]),
        Fixture::new(&[("b.rs", "")]),
    );
    symlink(other.root(), fixture.path("link")).unwrap();
    for folder in [fixture.path("link"), fixture.path("link/deep/er")] {
        let opened = Index::open(fixture.root(), &folder, Options::default());
        let looked = Index::inspect(fixture.root(), &folder, Options::default());
        for refused in [opened.map(drop), looked.map(drop)] {
            let error = refused.unwrap_err();
            assert!(
                matches!(&error, IndexError::Folder { folder: it, .. } if *it == folder),
                "{error}"
            );
        }
    }
    // It is in the root by any name of the two.
    let named = fixture.folder().with_file_name("root");
    symlink(fixture.root(), &named).unwrap();
    let opened = Index::open(&named, &fixture.path("./link"), Options::default());
    assert!(matches!(opened, Err(IndexError::Folder { .. })));
    assert_eq!(fs::read_dir(other.root()).unwrap().count(), 1);
    // Whoever names a folder elsewhere knows where it leads.
    let named = fixture.folder().join("named");
    fs::create_dir_all(named.parent().unwrap()).unwrap();
    let elsewhere = memory();
    symlink(elsewhere.path(), &named).unwrap();
    Index::open(fixture.root(), &named, Options::default()).unwrap();
}

/// Whoever made the files may have made the folder of the index, too, with whatever is in it.
#[test]
fn no_file_of_an_index_is_opened_through_a_link() {
    let segment = "text/0123456789abcdef0123456789abcdef.idx";
    let of_databases = ["manifest", "remembered", "remembered.new"].into_iter();
    let of_databases = of_databases
        .flat_map(|it| ["", "-journal", "-wal", "-shm"].map(|end| format!("{it}.db{end}")));
    let others = [
        "writer.lock",
        "remembered.lock",
        "room.tmp",
        "remembered.damaged-1.db",
        "remembered.damaged-1.db-journal",
        "text/meta.json",
        "text/.managed.json",
        "text/.tantivy-meta.lock",
        "text/.tantivy-writer.lock",
        segment,
        "text",
    ];
    let names = of_databases.chain(others.map(str::to_owned));
    for (name, is_index) in names.flat_map(|it| [(it.clone(), false), (it, true)]) {
        let fixture = Fixture::new(&[("a.rs", &function("one"))]);
        let (folder, other) = (fixture.path(".ctx"), memory());
        let open = || Index::open(fixture.root(), &folder, Options::default());
        fs::create_dir(&folder).unwrap();
        if is_index {
            update(&open().unwrap());
        }
        let (at, there) = (folder.join(&name), other.path().join("notes"));
        fs::write(&there, "keep this").unwrap();
        for to in [there.clone(), other.path().join("new")] {
            if at.is_dir() && !at.is_symlink() {
                fs::rename(&at, other.path().join("its")).unwrap();
            } else {
                let _ = fs::remove_file(&at);
            }
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            symlink(&to, &at).unwrap();
            let looked = Index::inspect(fixture.root(), &folder, Options::default());
            for refused in [looked.map(drop), open().map(drop)] {
                let Err(IndexError::Foreign { found, .. }) = refused else {
                    panic!("{name}: {refused:?}");
                };
                assert_eq!(found, [Path::new(&name)]);
            }
            assert_eq!(fs::read_to_string(&there).unwrap(), "keep this", "{name}");
            assert!(!other.path().join("new").exists(), "{name}");
        }
    }
}

/// Files whose names are hostile, links out among them, and questions by such names.
#[test]
fn hostile_names_index_and_find_nothing_from_outside() {
    let base = memory();
    let root = hostile::lay_out(base.path());
    let paths = hostile::paths(base.path());
    let mut made = 0;
    for path in &paths {
        let name = path.replace(['/', '\0'], "_");
        let outside = base.path().join("secret.rs");
        made += usize::from(symlink(&outside, root.join(&name)).is_ok());
        made += usize::from(symlink(base.path().join("other"), root.join(name + "d")).is_ok());
    }
    assert!(made >= 200, "{made}");
    let store = memory();
    let index = Index::open(&root, store.path(), Options::default()).unwrap();
    update(&index);
    assert_eq!(definitions(&index, hostile::INSIDE).len(), 2);
    assert_eq!(definitions(&index, hostile::OUTSIDE), [""; 0]);
    assert!(passages(&index, hostile::OUTSIDE).is_empty());
    let wanted: Vec<PartQuery> = paths.iter().map(PartQuery::new).collect();
    let parts = block_on(index.parts_of(&wanted, 10)).unwrap().concat();
    let ending = block_on(index.ending_with(&paths, 10)).unwrap().concat();
    let found = parts.iter().map(|it| &it.path).chain(&ending);
    for path in found {
        assert!(["inside.rs", "sub/deep.rs"].contains(&&**path), "{path}");
    }
}
