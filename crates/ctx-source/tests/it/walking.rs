//! What walks visit, how ignore files apply, and that every walk ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctx_source::{
    EntryKind, Ignoring, LeftOut, Mark, Root, Step, WalkFault, WalkLimit, WalkOptions,
};
use tempfile::TempDir;

use crate::folder;

/// The files that are told, sorted, and the faults.
fn walked(root: &Path, options: &WalkOptions) -> (Vec<String>, Vec<WalkFault>) {
    let mut files = Vec::new();
    let faults = Root::open(root).unwrap().walk(options, &mut |entry| {
        if entry.kind() == EntryKind::File {
            files.push(entry.path().to_string_lossy().into_owned());
        }
        Step::On
    });
    files.sort_unstable();
    (files, faults)
}

#[track_caller]
fn finds(root: &Path, expected: &[&str]) {
    let (files, faults) = walked(root, &WalkOptions::default());
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(files, expected);
}

/// The only fault of a walk that finds these files, in words.
#[track_caller]
fn faulty(root: &Path, expected: &[&str]) -> String {
    let (files, faults) = walked(root, &WalkOptions::default());
    assert_eq!(files, expected);
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults[0].to_string()
}

#[test]
fn why_a_walk_does_not_come_to_a_file_is_told_by_what_leaves_it_out() {
    let files: [(&str, &[u8]); 8] = [
        (".gitignore", b"# built\n/out/\n*.log\n!kept.log\n"),
        (".ctxignore", b"!.github\n"),
        (".github/workflows/ci.yml", b""),
        ("src/.cache/a/b.rs", b""),
        ("src/.ignore", b"later.rs\n"),
        ("src/later.rs", b""),
        ("out/deep/kept.log", b""),
        ("kept.log", b""),
    ];
    let all = folder(&files);
    let root = Root::open(all.path()).unwrap();
    let ignored = |file: &str, rule: &str| LeftOut::Ignored {
        file: file.into(),
        rule: rule.to_owned(),
    };
    let expected = [
        (".gitignore", LeftOut::Hidden),
        (".ctxignore", LeftOut::Hidden),
        ("src/.cache", LeftOut::Hidden),
        ("src/.ignore", LeftOut::Hidden),
        ("src/later.rs", ignored("src/.ignore", "later.rs")),
        ("out", ignored(".gitignore", "/out/")),
    ];
    let (walked, _) = walked(all.path(), &WalkOptions::default());
    for (path, _) in files {
        let told = root.left_out(Path::new(path));
        assert_eq!(told.is_none(), walked.iter().any(|it| it == path), "{path}");
        let expected = expected
            .iter()
            .find(|(at, _)| Path::new(path).starts_with(at));
        assert_eq!(
            told,
            expected.map(|(at, it)| (PathBuf::from(at), it.clone())),
            "{path}"
        );
        for other in [
            format!("./{path}"),
            format!("././{path}"),
            format!("{path}/."),
        ] {
            assert_eq!(root.left_out(Path::new(&other)), told, "{other}");
        }
    }
    for elsewhere in ["../a", "src/../out", "/out"] {
        assert_eq!(root.left_out(Path::new(elsewhere)), None, "{elsewhere}");
    }
}

#[test]
fn a_walk_may_take_any_time() {
    let all = folder(&[("a", b"")]);
    let mut options = WalkOptions::default();
    options.time = Duration::MAX;
    let (files, faults) = walked(all.path(), &options);
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(files, ["a"]);
}

#[test]
fn rules_are_heeded_in_their_order() {
    let all = folder(&[
        (
            ".gitignore",
            b"by-git\n*.log\n!kept.log\n/anchored\nonly-folder/\nx/**\n",
        ),
        (".ignore", b"by-ignore\n!again.log\n"),
        (
            ".ctxignore",
            b"\xef\xbb\xbfby-ctx\r\n# a comment\r\n!.seen\r\n!strong\r\n",
        ),
        (".git/info/exclude", b"by-exclude\nstrong\n"),
        (".git/config", b""),
        (".hidden", b""),
        (".seen", b""),
        ("again.log", b""),
        ("anchored", b""),
        ("by-ctx", b""),
        ("by-exclude", b""),
        ("by-git", b""),
        ("by-ignore", b""),
        ("kept.log", b""),
        ("only-folder/a", b""),
        ("strong", b""),
        ("sub/.gitignore", b"!by-git\n*.tmp\n"),
        ("sub/anchored", b""),
        ("sub/by-git", b""),
        ("sub/by-ctx", b""),
        ("sub/deep/a.tmp", b""),
        ("sub/deep/b.log", b""),
        ("sub/deep/only-folder", b""),
        ("sub-twin/a.tmp", b""),
        ("x/y", b""),
    ]);
    finds(
        all.path(),
        &[
            ".seen",
            "again.log",
            "kept.log",
            "strong",
            "sub-twin/a.tmp",
            "sub/anchored",
            "sub/by-git",
            "sub/deep/only-folder",
        ],
    );
}

#[test]
fn folders_above_have_a_say_and_git_only_within_its_repository() {
    let files: &[(&str, &[u8])] = &[
        (".gitignore", b"c\n/b/root/top\n"),
        (".ignore", b"by-ignore\n"),
        ("b/.gitignore", b"/root/anchored\nd/\n"),
        ("b/root/anchored", b""),
        ("b/root/by-ignore", b""),
        ("b/root/c", b""),
        ("b/root/d/e", b""),
        ("b/root/top", b""),
        ("b/root/z", b""),
    ];
    let all = folder(files);
    let root = all.path().join("b/root");
    let without_those_of_git = ["anchored", "c", "d/e", "top", "z"];
    finds(&root, &without_those_of_git);
    fs::create_dir(all.path().join("b/.git")).unwrap();
    finds(&root, &["c", "top", "z"]);
    fs::create_dir(all.path().join(".git")).unwrap();
    finds(&root, &["c", "top", "z"]);
    fs::remove_dir(all.path().join("b/.git")).unwrap();
    finds(&root, &["z"]);
    fs::create_dir(root.join(".git")).unwrap();
    finds(&root, &without_those_of_git);
}

#[test]
fn rules_of_git_end_where_another_repository_begins() {
    let all = folder(&[
        (".git/info/exclude", b"excluded\n"),
        (".gitignore", b"lib/\nunwanted\n"),
        (".ignore", b"by-ignore\n"),
        ("a/excluded", b""),
        ("a/lib/x", b""),
        ("modules/bare/.git", b"gitdir: ../../.git/modules/bare\n"),
        ("modules/bare/lib/x", b""),
        ("modules/foo/.git/config", b""),
        ("modules/foo/.gitignore", b"own\n"),
        ("modules/foo/by-ignore", b""),
        ("modules/foo/deep/own", b""),
        ("modules/foo/excluded", b""),
        ("modules/foo/lib/x", b""),
        ("modules/unwanted/.git/config", b""),
        ("modules/unwanted/y", b""),
    ]);
    let expected = [
        "modules/bare/lib/x",
        "modules/foo/excluded",
        "modules/foo/lib/x",
    ];
    finds(all.path(), &expected);
    let root = Root::open(all.path()).unwrap();
    for path in expected {
        assert_eq!(root.left_out(Path::new(path)), None, "{path}");
    }
    let (at, _) = root.left_out(Path::new("modules/unwanted/y")).unwrap();
    assert_eq!(at, Path::new("modules/unwanted"));
    finds(&all.path().join("modules/foo"), &["excluded", "lib/x"]);
}

#[test]
fn no_rule_includes_what_is_gits_own() {
    let all = folder(&[
        (".ctxignore", b"!.*\n!.git\n"),
        (".git/config", b""),
        (".github/a", b""),
        ("sub/.git", b"gitdir: elsewhere\n"),
        ("sub/b", b""),
    ]);
    finds(all.path(), &[".ctxignore", ".github/a", "sub/b"]);
    let root = Root::open(all.path()).unwrap();
    for (path, at) in [(".git/config", ".git"), ("sub/.git", "sub/.git")] {
        let told = root.left_out(Path::new(path));
        assert_eq!(told, Some((at.into(), LeftOut::Git)));
    }
}

#[test]
fn a_worktree_leaves_out_what_its_repository_does() {
    let all = folder(&[
        ("main/.git/info/exclude", b"private\n"),
        ("main/.git/worktrees/w/commondir", b"../..\n"),
        ("w/private", b""),
        ("w/public", b""),
        ("other/private", b""),
    ]);
    let own = all.path().join("main/.git/worktrees/w");
    let pointer = format!("gitdir: {}\n", own.display());
    fs::write(all.path().join("w/.git"), &pointer).unwrap();
    let back = format!("{}\n", all.path().join("w/.git").display());
    fs::write(own.join("gitdir"), back).unwrap();
    finds(&all.path().join("w"), &["public"]);
    // A folder that only says that it is one is not.
    fs::write(all.path().join("other/.git"), pointer).unwrap();
    finds(&all.path().join("other"), &["private"]);
}

#[test]
fn rules_that_no_walk_meets_are_told() {
    let all = folder(&[
        ("a/.git/info/exclude", b""),
        ("a/b/root/sub/.git/config", b""),
        ("a/b/root/other/z", b""),
    ]);
    let top = all.path().canonicalize().unwrap();
    let root = Root::open(top.join("a/b/root")).unwrap();
    let folders = [top.join("a/b/root/sub"), top.join("a/b/root/other")];
    let told = root.rules_elsewhere(folders.iter().map(|it| &**it));
    let below: Vec<_> = told
        .iter()
        .filter_map(|it| it.strip_prefix(&top).ok())
        .collect();
    let expected = [
        ".ctxignore",
        ".ignore",
        "a/.ctxignore",
        "a/.git/info/exclude",
        "a/.gitignore",
        "a/.ignore",
        "a/b/.ctxignore",
        "a/b/.gitignore",
        "a/b/.ignore",
        "a/b/root/.git/info/exclude",
        "a/b/root/sub/.git/info/exclude",
    ];
    assert_eq!(below, expected.map(Path::new));
}

#[test]
fn nothing_is_left_out_where_no_rules_are_wanted() {
    let all = folder(&[(".gitignore", b"*\n"), (".hidden/a", b""), ("b", b"")]);
    let mut options = WalkOptions::default();
    options.ignoring = Ignoring::Nothing;
    let (files, _) = walked(all.path(), &options);
    assert_eq!(files, [".gitignore", ".hidden/a", "b"]);
}

#[test]
fn malformed_ignore_files_ignore_nothing_and_are_reported() {
    let check = |rules: &[u8], parts: &[&str]| {
        let all = folder(&[("sub/.gitignore", rules), ("sub/a", b""), ("sub/b", b"")]);
        let told = faulty(all.path(), &["sub/a", "sub/b"]);
        for part in parts {
            assert!(told.contains(part), "{told} lacks {part:?}");
        }
    };
    let braces = |n: usize| ["{".repeat(n), "a".to_owned(), "}".repeat(n)].concat();
    check(
        braces(20_000).as_bytes(),
        &["sub/.gitignore", "line 1", "1024 bytes"],
    );
    check(braces(33).as_bytes(), &["line 1", "32 braces"]);
    check("{".repeat(500).as_bytes(), &["32 braces"]);
    check(b"\n[z-a]\n\xff\n", &["line 2", "1 more line"]);
    check(
        "a\n".repeat(40_000).as_bytes(),
        &["larger than 65536 bytes", "shorten"],
    );
    check(
        "*a*b?c[d-f]*g\n".repeat(4_500).as_bytes(),
        &["8192 wildcards"],
    );
    // The other lines of a file are heeded.
    let all = folder(&[(".gitignore", b"[z-a]\nb\n"), ("a", b""), ("b", b"")]);
    assert!(faulty(all.path(), &["a"]).contains("line 1"));
    let all = folder(&[(".gitignore/x", b""), ("a", b"")]);
    finds(all.path(), &["a"]);
}

#[test]
fn the_ignore_rules_of_a_folder_are_bounded_together_with_those_above_it() {
    let rules = "literal/name\n".repeat(5_000);
    let all = folder(&[
        (".gitignore", rules.as_bytes()),
        ("a/.gitignore", rules.as_bytes()),
        ("a/b/.gitignore", b"c\n"),
        ("a/b/c", b""),
        ("d/.gitignore", rules.as_bytes()),
        ("d/e/.gitignore", rules.as_bytes()),
    ]);
    let told = faulty(all.path(), &[]);
    assert!(
        told.contains("d/e/.gitignore") && told.contains("131072 bytes"),
        "{told}"
    );
}

/// Folders within each other.
fn deep(levels: usize) -> TempDir {
    let all = folder(&[]);
    fs::create_dir_all(all.path().join("d/".repeat(levels))).unwrap();
    fs::write(all.path().join("d/f"), "").unwrap();
    all
}

#[test]
fn each_limit_is_named_where_it_is_reached() {
    let limited = |all: &TempDir, change: &dyn Fn(&mut WalkOptions)| {
        let mut options = WalkOptions::default();
        change(&mut options);
        let (files, faults) = walked(all.path(), &options);
        let [WalkFault::Limit { path, limit }] = &*faults else {
            panic!("{faults:?}");
        };
        (files.len(), path.to_str().unwrap().to_owned(), *limit)
    };
    let many = folder(&[("a/1", b""), ("a/2", b""), ("b/3", b""), ("c", b"")]);
    let entries = limited(&many, &|it| it.entries = 5);
    assert_eq!(entries, (3, "b".to_owned(), WalkLimit::Entries(5)));
    let bytes = limited(&many, &|it| it.path_bytes = 8);
    assert_eq!(bytes, (3, "a/2".to_owned(), WalkLimit::PathBytes(8)));
    let time = limited(&many, &|it| it.time = Duration::ZERO);
    assert!(matches!(time.2, WalkLimit::Time(_)) && time.0 == 0);
    let depth = limited(&deep(9), &|it| it.depth = 8);
    assert_eq!(
        depth,
        (
            1,
            "d/".repeat(9).trim_end_matches('/').to_owned(),
            WalkLimit::Depth(8)
        )
    );
    let (files, faults) = walked(deep(8).path(), &WalkOptions::default());
    assert!(files.len() == 1 && faults.is_empty());
}

#[test]
fn a_folder_is_told_before_what_is_in_it_and_names_in_order() {
    let all = folder(&[("b/1", b""), ("b-x", b""), ("a/2/3", b""), ("c", b"")]);
    let mut told = Vec::new();
    let root = Root::open(all.path()).unwrap();
    root.walk(&WalkOptions::default(), &mut |entry| {
        told.push(entry.path().to_str().unwrap().to_owned());
        if entry.path().ends_with("2") {
            Step::Past
        } else {
            Step::On
        }
    });
    assert_eq!(told, ["a", "b", "b-x", "c", "a/2", "b/1"]);
    told.clear();
    root.walk(&WalkOptions::default(), &mut |_| {
        told.push(String::new());
        Step::Stop
    });
    assert_eq!(told.len(), 1);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;

    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    fn pipe(at: &Path) {
        mknodat(CWD, at, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    }

    #[test]
    fn ignore_files_that_are_none_are_not_waited_for() {
        for name in [
            ".gitignore",
            ".ignore",
            ".ctxignore",
            ".git",
            ".git/info/exclude",
        ] {
            let all = folder(&[("a", b"")]);
            let at = all.path().join(name);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            pipe(&at);
            assert!(faulty(all.path(), &["a"]).contains("it is a pipe"));
            fs::remove_file(&at).unwrap();
            symlink("/dev/zero", &at).unwrap();
            let told = faulty(all.path(), &["a"]);
            assert!(told.contains("put a plain file in its place"), "{told}");
        }
    }

    #[test]
    fn a_link_to_rules_is_followed_within_and_not_out() {
        let all = folder(&[
            ("rules", b"b\n"),
            ("root/rules", b"a\n"),
            ("root/sub/a", b""),
            ("root/sub/b", b""),
        ]);
        let link = all.path().join("root/sub/.gitignore");
        symlink("../rules", &link).unwrap();
        finds(&all.path().join("root"), &["rules", "sub/b"]);
        fs::remove_file(&link).unwrap();
        symlink("../../rules", &link).unwrap();
        faulty(&all.path().join("root"), &["rules", "sub/a", "sub/b"]);
    }

    #[test]
    fn pointers_of_a_worktree_are_not_waited_for() {
        let all = folder(&[("w/a", b""), ("g/gitdir", b"")]);
        let own = all.path().join("g");
        fs::write(
            all.path().join("w/.git"),
            format!("gitdir: {}", own.display()),
        )
        .unwrap();
        fs::write(
            own.join("gitdir"),
            all.path().join("w/.git").to_str().unwrap(),
        )
        .unwrap();
        pipe(&own.join("commondir"));
        finds(&all.path().join("w"), &["a"]);
        fs::remove_file(own.join("commondir")).unwrap();
        symlink("/dev/zero", own.join("commondir")).unwrap();
        finds(&all.path().join("w"), &["a"]);
    }

    #[test]
    fn links_pipes_and_loops_are_told_and_not_followed() {
        let all = folder(&[("sub/a", b""), ("other/secret", b"")]);
        let at = |name: &str| all.path().join("sub").join(name);
        symlink("..", at("up")).unwrap();
        symlink(".", at("loop")).unwrap();
        symlink("../other", at("out")).unwrap();
        pipe(&at("pipe"));
        let mut told = Vec::new();
        let root = Root::open(all.path().join("sub")).unwrap();
        let faults = root.walk(&WalkOptions::default(), &mut |entry| {
            told.push((entry.path().to_str().unwrap().to_owned(), entry.kind()));
            Step::On
        });
        assert!(faults.is_empty());
        let told: Vec<_> = told.iter().map(|(path, kind)| (&**path, *kind)).collect();
        assert_eq!(
            told,
            [
                ("a", EntryKind::File),
                ("loop", EntryKind::Link),
                ("out", EntryKind::Link),
                ("pipe", EntryKind::Other),
                ("up", EntryKind::Link),
            ]
        );
    }

    #[test]
    fn a_folder_that_was_swapped_for_a_link_out_cannot_be_opened() {
        let all = folder(&[("root/sub/a", b""), ("other/secret", b"")]);
        let root = Root::open(all.path().join("root")).unwrap();
        assert!(root.folder("sub").unwrap().read("a", 1).is_ok());
        fs::rename(all.path().join("root/sub"), all.path().join("root/was")).unwrap();
        symlink("../other", all.path().join("root/sub")).unwrap();
        assert!(root.folder("sub").is_err());
        assert!(root.folder("../other").is_err());
    }
}

#[test]
fn a_folder_says_of_all_in_it_that_it_is_a_cache_or_an_environment() {
    let tag = b"Signature: 8a477f597d28d172789f06886806bc55\n# More.\n";
    let all = folder(&[
        ("CACHEDIR.TAG", tag),
        ("a", b""),
        ("built/0", b""),
        ("built/CACHEDIR.TAG", tag),
        ("built/deep/pyvenv.cfg", b""),
        ("env/bin/x", b""),
        ("env/pyvenv.cfg", b""),
        ("unsigned/CACHEDIR.TAG", b"A tag.\n"),
    ]);
    let mut marks = Vec::new();
    let root = Root::open(all.path()).unwrap();
    let faults = root.walk(&WalkOptions::default(), &mut |entry| {
        let path = entry.path().to_string_lossy().replace('\\', "/");
        marks.extend(entry.mark().map(|it| (path, it)));
        Step::On
    });
    assert!(faults.is_empty(), "{faults:?}");
    let expected = [
        ("built/0", Mark::Cache),
        ("built/CACHEDIR.TAG", Mark::Cache),
        ("built/deep", Mark::Cache),
        ("built/deep/pyvenv.cfg", Mark::Cache),
        ("env/bin", Mark::Environment),
        ("env/pyvenv.cfg", Mark::Environment),
        ("env/bin/x", Mark::Environment),
    ];
    assert_eq!(marks, expected.map(|(path, it)| (path.to_owned(), it)));
}
