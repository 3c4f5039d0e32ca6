//! Folders that are made for what files say.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use ctx_source::{begin_private, check_no_link, make_private};

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
