//! Private folders for derived data.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, absolute};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ctx_source::{begin_private, check_no_link, make_private};
use ctx_testkit::{Race, SetOnDrop};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_folder_is_for_its_owner_and_for_no_repository() {
    let outer = crate::folder(&[]);
    let folder = outer.path().join("project/.ctx");
    begin_private(&folder).unwrap();
    assert_eq!(
        (mode(&folder), mode(folder.parent().unwrap())),
        (0o700, 0o700)
    );
    let ignore = folder.join(".gitignore");
    assert_eq!(fs::read(&ignore).unwrap(), b"*\n");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    // One that is there is taken, with what somebody says of repositories.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&ignore, "").unwrap();
    begin_private(&folder).unwrap();
    assert_eq!(
        (mode(&folder), &*fs::read(&ignore).unwrap()),
        (0o700, &b""[..])
    );
    fs::remove_file(&ignore).unwrap();
    symlink("nowhere", &ignore).unwrap();
    begin_private(&folder).unwrap();
    assert!(fs::symlink_metadata(&ignore).unwrap().is_symlink());
    // Of one that is only made nothing is changed.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    make_private(&folder).unwrap();
    assert_eq!(mode(&folder), 0o755);
}

#[test]
fn a_link_is_followed_to_no_folder() {
    let outer = crate::folder(&[("elsewhere/a", b"")]);
    let (root, elsewhere) = (outer.path().join("root"), outer.path().join("elsewhere"));
    fs::create_dir(&root).unwrap();
    for to in ["../elsewhere", "../nowhere", "/"] {
        let link = root.join(".ctx");
        symlink(to, &link).unwrap();
        let refused = begin_private(&link).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotADirectory, "{to}");
        for folder in [&*link, &*link.join("serve")] {
            assert!(check_no_link(&root, folder).is_err(), "{to}");
        }
        fs::remove_file(&link).unwrap();
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
    assert_eq!(mode(&elsewhere) & 0o077, 0o055);
    assert!(!outer.path().join("nowhere").exists());
    // What is above the root is its owner's.
    let named = outer.path().join("named");
    symlink("root", &named).unwrap();
    assert!(check_no_link(&named, &named.join(".ctx")).is_ok());
    assert!(check_no_link(&root, &named.join(".ctx")).is_ok());
}

/// Whoever made the folder may have made what is in it.
#[test]
fn leftover_links_and_pipes_are_neither_followed_nor_waited_for() {
    let outer = crate::folder(&[("elsewhere/a", b"kept")]);
    let folder = outer.path().join(".ctx");
    fs::create_dir(&folder).unwrap();
    let pipe = |name: &str| {
        mknodat(CWD, folder.join(name), FileType::Fifo, Mode::RUSR, 0).unwrap();
    };
    pipe(".gitignore.new0");
    for (number, to) in ["../elsewhere/a", "../elsewhere/b", "/dev/null"]
        .iter()
        .enumerate()
    {
        symlink(to, folder.join(format!(".gitignore.new{}", number + 1))).unwrap();
    }
    // As earlier versions called it.
    pipe(".gitignore.new");
    begin_private(&folder).unwrap();
    assert_eq!(fs::read(folder.join(".gitignore")).unwrap(), b"*\n");
    let elsewhere = outer.path().join("elsewhere");
    assert_eq!(fs::read(elsewhere.join("a")).unwrap(), b"kept");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

#[test]
fn several_begin_at_once() {
    let outer = crate::folder(&[]);
    for round in 0..64 {
        let folder = outer.path().join(format!("{round}/.ctx"));
        let barrier = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    begin_private(&folder).unwrap();
                });
            }
        });
        assert_eq!(fs::read(folder.join(".gitignore")).unwrap(), b"*\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}

/// A folder and links are exchanged all the time: what is changed is the folder or nothing.
#[test]
fn swapping_at_the_right_moment_changes_nothing_elsewhere() {
    let outer = crate::folder(&[("elsewhere/a", b""), ("root/sibling/a", b"")]);
    let root = outer.path().join("root");
    let folder = root.join(".ctx");
    fs::create_dir(&folder).unwrap();
    let others = [outer.path().join("elsewhere"), root.join("sibling")];
    let links = [root.join("out"), root.join("within")];
    for (to, link) in ["../elsewhere", "sibling"].iter().zip(&links) {
        symlink(to, link).unwrap();
    }
    let stop = AtomicBool::new(false);
    let (mut begun, mut refused) = (0_u64, 0_u64);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for link in links.iter().flat_map(|it| [it, it]) {
                    renameat_with(CWD, &folder, CWD, link, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        let _stop = SetOnDrop(&stop);
        let race = Race::begin();
        while race.goes_on(begun > 0 && refused > 0) {
            match begin_private(&folder) {
                Ok(()) => begun += 1,
                Err(_) => refused += 1,
            }
            for other in &others {
                assert!(mode(other) & 0o077 != 0, "{other:?} was changed");
                assert_eq!(fs::read_dir(other).unwrap().count(), 1, "{other:?}");
            }
        }
    });
    assert!(
        begun > 0 && refused > 0,
        "{begun} begun, {refused} refused: there was no race"
    );
}

/// A folder has many names.
#[test]
fn a_link_is_seen_however_it_and_its_root_are_named() {
    let outer = crate::folder(&[("root/sub/a", b""), ("elsewhere/a", b"")]);
    let (root, elsewhere) = (outer.path().join("root"), outer.path().join("elsewhere"));
    let named = outer.path().join("named");
    symlink("root", &named).unwrap();
    symlink(&elsewhere, root.join("link")).unwrap();
    symlink(&elsewhere, elsewhere.join("link")).unwrap();
    let here = absolute(".").unwrap();
    let mut relative = std::path::PathBuf::new();
    for _ in here.components().skip(1) {
        relative.push("..");
    }
    let relative = relative.join(root.strip_prefix("/").unwrap());
    let roots = [&root, &named, &relative, &root.join("sub/..")];
    for root in roots {
        for within in [&root.join("sub/.."), &root.join("../root")]
            .into_iter()
            .chain(roots)
        {
            for link in ["link", "link/", "./link", "link/deep/er"] {
                let folder = within.join(link);
                let refused = check_no_link(root, &folder);
                assert!(refused.is_err(), "{folder:?} in {root:?}");
            }
            assert!(check_no_link(root, &within.join("sub/new")).is_ok());
        }
        let beside = root.join("../elsewhere/link/deep");
        assert!(check_no_link(root, &beside).is_ok(), "{beside:?}");
    }
    // The current folder has two names of its own.
    for root in ["", ".", here.to_str().unwrap()] {
        let folder = Path::new("src");
        assert!(check_no_link(Path::new(root), folder).is_ok());
    }
}
