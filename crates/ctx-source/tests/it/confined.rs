//! Nothing outside the folder is read, and every read ends.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ctx_source::{Limits, PathFault, Root, SourceError, Sources};
use ctx_testkit::hostile;
use proptest::prelude::*;
use tempfile::TempDir;

const SECRET: &[u8] = b"outside";
const LIMIT: u64 = 1 << 20;

#[test]
fn a_path_that_begins_as_the_folder_was_opened_is_relative_to_it() {
    let all = super::folder(&[("root/src/a.rs", b"")]);
    let absolute = all.path().join("root");
    let root = Root::open(&absolute).unwrap();
    let relative = |path: &str| root.relative(Path::new(path)).to_owned();
    let within = absolute.join("src/a.rs");
    assert_eq!(root.relative(&within), Path::new("src/a.rs"));
    for other in ["src/a.rs", "root/src/a.rs", "../a.rs", "/a.rs", ""] {
        assert_eq!(relative(other), Path::new(other));
    }
    // Tests run in the folder of their crate.
    let root = Root::open("src").unwrap();
    for (path, relative) in [
        ("src/lib.rs", "lib.rs"),
        ("src", ""),
        ("lib.rs", "lib.rs"),
        ("srcs/lib.rs", "srcs/lib.rs"),
    ] {
        assert_eq!(root.relative(Path::new(path)), Path::new(relative));
    }
    assert!(root.stamp(root.relative(Path::new("src/lib.rs"))).is_ok());
}

/// A folder with a file in it, beside a folder with a secret and a prefix twin.
fn beside_a_secret() -> (TempDir, Root) {
    let all = super::folder(&[
        ("root/inside.txt", b"inside"),
        ("root/sub/deep.txt", b"inside"),
        ("secret.txt", SECRET),
        ("root-twin/secret.txt", SECRET),
        ("other/secret.txt", SECRET),
    ]);
    let root = Root::open(all.path().join("root")).unwrap();
    (all, root)
}

#[track_caller]
fn leaks_nothing(root: &Root, path: &str) {
    if let Ok(bytes) = root.read(path, LIMIT) {
        assert_eq!(bytes, b"inside", "{path:?} leads out");
    }
}

#[test]
fn a_folder_that_is_gone_or_another_one_by_its_name_is_told() {
    let outer = crate::folder(&[("inner/a", b"")]);
    let path = outer.path().join("inner");
    let root = Root::open(&path).unwrap();
    assert!(root.is_there());
    fs::remove_dir_all(&path).unwrap();
    assert!(!root.is_there());
    #[cfg(unix)]
    {
        fs::create_dir(&path).unwrap();
        assert!(!root.is_there());
        assert!(Root::open(&path).unwrap().is_there());
    }
}

#[test]
fn hostile_names_lead_nowhere() {
    let base = tempfile::tempdir().unwrap();
    let folder = hostile::lay_out(base.path());
    let root = Root::open(&folder).unwrap();
    let sources = Sources::new(Root::open(&folder).unwrap(), Limits::default());
    let paths = hostile::paths(base.path());
    assert!(paths.len() >= 200, "{}", paths.len());
    for path in paths {
        let read = root.read(&path, LIMIT).unwrap_or_default();
        let read = String::from_utf8_lossy(&read);
        let text = sources.text(&path);
        let text = text.as_ref().map_or("", |it| it.as_str());
        for shown in [&*read, text] {
            assert!(
                shown.is_empty() || shown.contains(hostile::INSIDE),
                "{path:?}"
            );
            assert!(!shown.contains(hostile::OUTSIDE), "{path:?} leads out");
        }
    }
}

#[track_caller]
fn faulty(root: &Root, path: &str, expected: PathFault) {
    match root.read(path, LIMIT) {
        Err(SourceError::Path { fault, path: named }) => {
            assert_eq!((fault, &*named), (expected, path));
        }
        other => panic!("{path:?}: {other:?}"),
    }
}

#[test]
fn invalid_paths_are_errors_that_name_the_fault() {
    let (_all, root) = beside_a_secret();
    faulty(&root, "", PathFault::Empty);
    faulty(&root, "./.", PathFault::Empty);
    faulty(&root, "/etc/passwd", PathFault::Absolute);
    faulty(&root, "sub/../inside.txt", PathFault::Parent);
    faulty(&root, "a\0b", PathFault::Nul);
    faulty(&root, &"a/".repeat(3000), PathFault::TooLong);
    assert_eq!(root.read("./sub//deep.txt", LIMIT).unwrap(), b"inside");
    assert!(matches!(
        root.read("none", LIMIT),
        Err(SourceError::NotFound { .. })
    ));
    assert!(matches!(
        root.read("inside.txt/x", LIMIT),
        Err(SourceError::NotFound { .. })
    ));
    let folder = root.read("sub", LIMIT);
    assert!(
        matches!(
            folder,
            Err(SourceError::NotAFile {
                what: "a folder",
                ..
            })
        ),
        "{folder:?}"
    );
}

proptest! {
    #[test]
    fn no_path_of_such_parts_leads_out(
        parts in prop::collection::vec(
            prop::sample::select(vec!["..", ".", "sub", "inside.txt", "deep.txt", "", "/", "secret.txt", "link", "up"]),
            0..8,
        ),
    ) {
        use std::sync::OnceLock;
        static SETTING: OnceLock<(TempDir, Root)> = OnceLock::new();
        let (_, root) = SETTING.get_or_init(|| {
            let (all, root) = beside_a_secret();
            #[cfg(unix)]
            {
                let link = |from: &str, to: &str| std::os::unix::fs::symlink(to, all.path().join(from)).unwrap();
                link("root/link", "../secret.txt");
                link("root/up", "..");
                link("root/sub/up", "../..");
            }
            (all, root)
        });
        leaks_nothing(root, &parts.join("/"));
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = Root::open("/no/such/folder").unwrap_err();
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}

#[test]
fn a_file_over_the_limit_is_refused_before_it_is_read() {
    let folder = super::folder(&[("a", b"12345")]);
    let root = Root::open(folder.path()).unwrap();
    assert_eq!(root.read("a", 5).unwrap(), b"12345");
    let error = root.read("a", 4).unwrap_err();
    assert_eq!(error.to_string(), "\"a\" is larger than 4 bytes");
    // A terabyte of nothing.
    let sparse = fs::File::create(folder.path().join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert!(matches!(
        root.read("sparse", LIMIT),
        Err(SourceError::TooLarge { .. })
    ));
}

#[test]
fn a_file_that_grows_is_cut_off() {
    let folder = super::folder(&[("log", b"")]);
    let root = Root::open(folder.path()).unwrap();
    let path = folder.path().join("log");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write as _;
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            while !stop.load(Ordering::Relaxed) {
                file.write_all(&[b'x'; 4096]).unwrap();
                if file.metadata().unwrap().len() > 8 << 20 {
                    break;
                }
            }
        });
        let limit = 64 * 1024;
        loop {
            match root.read("log", limit) {
                Ok(bytes) => assert!(bytes.len() as u64 <= limit),
                Err(SourceError::TooLarge { .. }) => break,
                Err(other) => panic!("{other}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;

    use super::*;
    use ctx_testkit::{Race, SetOnDrop};
    use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

    #[test]
    fn links_are_followed_within_and_not_out() {
        let (all, root) = beside_a_secret();
        let link = |from: &str, to: &Path| symlink(to, all.path().join("root").join(from)).unwrap();
        link("good", Path::new("sub/deep.txt"));
        link("also-good", Path::new("sub/../inside.txt"));
        link("up", Path::new("../secret.txt"));
        link("far", &all.path().join("secret.txt"));
        link("folder", Path::new("../other"));
        link("loop", Path::new("loop"));
        link("loop2", Path::new("sub/loop3"));
        link("sub/loop3", Path::new("../loop2"));
        assert_eq!(root.read("good", LIMIT).unwrap(), b"inside");
        assert_eq!(root.read("also-good", LIMIT).unwrap(), b"inside");
        for path in ["up", "far", "folder/secret.txt", "loop", "loop2"] {
            let error = root.read(path, LIMIT).unwrap_err();
            assert!(matches!(error, SourceError::Io { .. }), "{path}: {error:?}");
        }
    }

    #[test]
    fn pipes_and_devices_are_not_waited_for() {
        let folder = super::super::folder(&[]);
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let root = Root::open(folder.path()).unwrap();
        let began = Instant::now();
        let pipe = root.read("pipe", LIMIT);
        assert!(
            matches!(pipe, Err(SourceError::NotAFile { what: "a pipe", .. })),
            "{pipe:?}"
        );
        assert!(root.read("socket", LIMIT).is_err());
        let devices = Root::open("/dev").unwrap();
        for device in ["zero", "null", "tty"] {
            assert!(devices.read(device, LIMIT).is_err(), "{device}");
        }
        // Waiting would last for ever; this only tells the two apart.
        assert!(began.elapsed() < Duration::from_secs(20));
        if let Ok(process) = Root::open("/proc/self") {
            // Files without a size have what they have, up to the limit.
            assert!(!process.read("status", LIMIT).unwrap().is_empty());
            assert!(matches!(
                process.read("status", 10),
                Err(SourceError::TooLarge { .. })
            ));
        }
    }

    /// A file and a link out are exchanged all the time: what is read is the file or nothing.
    #[test]
    fn swapping_at_the_right_moment_shows_nothing() {
        let (all, root) = beside_a_secret();
        let inside = all.path().join("root/inside.txt");
        let link = all.path().join("root/link");
        symlink("../secret.txt", &link).unwrap();
        let out = all.path().join("root/out");
        symlink("../other", &out).unwrap();
        let folder = all.path().join("root/sub");
        fs::write(folder.join("secret.txt"), b"inside").unwrap();
        let stop = AtomicBool::new(false);
        let (mut read, mut refused) = (0_u64, 0_u64);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, &inside, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                    renameat_with(CWD, &folder, CWD, &out, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let _stop = SetOnDrop(&stop);
            let race = Race::begin();
            while race.goes_on(read > 0 && refused > 0) {
                for path in ["inside.txt", "sub/secret.txt"] {
                    match root.read(path, LIMIT) {
                        Ok(bytes) => {
                            assert_eq!(bytes, b"inside");
                            read += 1;
                        }
                        Err(_) => refused += 1,
                    }
                }
            }
        });
        assert!(
            read > 0 && refused > 0,
            "{read} read, {refused} refused: there was no race"
        );
    }
}
