//! Malicious input, in one list for all tests that need it.

use std::fs;
use std::path::{Path, PathBuf};

/// The depth of [`nested_json`].
const DEPTH: usize = 100_000;

/// Characters that a terminal obeys or displays misleadingly: a title, a colour by one character, a
/// bell, a delete, a line read backwards, invisible letters.
pub const OBEYED: &str = "\u{1b}]0;title\u{7}\u{9b}31m\u{7f}\u{202e}\u{200b}\u{e0041}";

/// JSON nested a hundred thousand levels deep, left open and closed, with field names of requests
/// and receipts.
pub fn nested_json() -> Vec<String> {
    let opens = [
        "[",
        "{\"a\":",
        "{\"chunks\":",
        "{\"chunks\":[",
        "[{\"id\":[",
        "{\"options\":{\"header\":",
        "{\"included\":[",
        "{\"message\":",
        "{\"files\":[{\"content\":",
    ];
    let both = opens.map(|open| {
        let close: String = open
            .chars()
            .rev()
            .filter_map(|c| match c {
                '[' => Some(']'),
                '{' => Some('}'),
                _ => None,
            })
            .collect();
        let left_open = open.repeat(DEPTH);
        let closed = [&left_open, "1", &close.repeat(DEPTH)].concat();
        [left_open, closed]
    });
    both.concat()
}

/// TOML nested as deep, by arrays, inline tables, dotted names and table headers, each below `key`.
pub fn nested_toml(key: &str) -> Vec<String> {
    let (arrays, closed) = ("[".repeat(DEPTH), "]".repeat(DEPTH));
    let (tables, ends) = ("{a=".repeat(DEPTH), "}".repeat(DEPTH));
    let dots = "a.".repeat(DEPTH);
    vec![
        format!("{key} = {arrays}"),
        format!("{key} = {arrays}{closed}"),
        format!("{key} = {tables}"),
        format!("{key} = {tables}1{ends}"),
        format!("{key}.{dots}a = 1"),
        format!("[{key}.{dots}a]"),
        format!("[[{key}.{dots}a]]"),
        format!("{key} = {{{dots}a = 1}}"),
    ]
}

/// A word in every file beside the root of [`lay_out`].
pub const OUTSIDE: &str = "canary_5d1f_outside";

/// A word in every file below that root.
pub const INSIDE: &str = "common_inside";

/// The files below the root, and the files beside it that [`paths`] try to reach.
const FILES: [(&str, &str); 6] = [
    ("root/inside.rs", INSIDE),
    ("root/sub/deep.rs", INSIDE),
    ("secret.rs", OUTSIDE),
    ("secret", OUTSIDE),
    ("root-twin/secret.rs", OUTSIDE),
    ("other/secret.rs", OUTSIDE),
];

/// Writes a root with a few files into `base`, files with the word [`OUTSIDE`] beside it, and links
/// that lead out, on systems with links. Returns the root.
///
/// # Panics
/// If they cannot be written.
pub fn lay_out(base: &Path) -> PathBuf {
    for (path, word) in FILES {
        let path = base.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder is made");
        let text = format!("/// {word}\nfn {word}() {{}}\n");
        fs::write(path, text).expect("a file is written");
    }
    let root = base.join("root");
    #[cfg(unix)]
    for (name, target) in [
        ("link.rs", "../secret.rs"),
        ("link", ".."),
        ("twin", "../root-twin"),
        ("sub/up", "../.."),
        ("...", "../other"),
        ("..secret.rs", "../secret.rs"),
        ("CON", "../secret.rs"),
        ("%2e%2e", ".."),
        ("..\\secret.rs", "../secret.rs"),
        ("C:", "../other"),
        ("~", "../other"),
    ] {
        std::os::unix::fs::symlink(target, root.join(name)).expect("a link is made");
    }
    root
}

/// About four hundred names that lead out of a root that [`lay_out`] made in `base`, or look as if
/// they did.
pub fn paths(base: &Path) -> Vec<String> {
    let base = base.to_string_lossy();
    let mut paths: Vec<String> = WAYS.iter().map(|&way| way.to_owned()).collect();
    for target in [
        "secret.rs",
        "root-twin/secret.rs",
        "other/secret.rs",
        "root/../secret.rs",
    ] {
        for way in WAYS {
            paths.push(format!("{way}{target}"));
        }
        for way in ["", "/", "file://", "\\\\?\\", "//localhost", "C:", "root"] {
            paths.push(format!("{way}{base}/{target}"));
        }
        for end in [
            ".", "..", " ", "...", "/.", "/", "\0", "\0.rs", "::$DATA", ":1-2", "#L1", "%00", "\n",
            "~",
        ] {
            paths.push(format!("../{target}{end}"));
            paths.push(format!("link/{target}{end}"));
        }
        for deep in [2, 200, 2_000] {
            paths.push(format!("{}{target}", "../".repeat(deep)));
            paths.push(format!(
                "{}{}{target}",
                "sub/".repeat(deep),
                "../".repeat(deep + 1)
            ));
        }
    }
    paths.extend(NAMES.map(str::to_owned));
    paths.push("a/".repeat(3_000));
    paths.push("a".repeat(70_000));
    paths
}

/// Prefixes of file names that may lead out.
const WAYS: [&str; 60] = [
    "../",
    "./../",
    "sub/../../",
    "sub/../.././",
    "/../",
    "//",
    "..//",
    ".../",
    "....//",
    "..\\",
    "\\..\\",
    "sub\\..\\..\\",
    "sub/./../../",
    "inside.rs/../../",
    "no/such/../../../",
    "sub/deep.rs/../../../",
    "~/",
    "$HOME/",
    "file:///",
    "%2e%2e/",
    "..%2f",
    "%2e%2e%2f",
    "%2e%2e%5c",
    "%252e%252e%252f",
    "..%c0%af",
    "%c0%ae%c0%ae/",
    "%u002e%u002e/",
    "&#46;&#46;/",
    "..;/",
    // Leader characters, full-width dots and slashes that resemble those of a path.
    "\u{2025}/",
    "\u{2024}\u{2024}/",
    "\u{ff0e}\u{ff0e}/",
    "..\u{2215}",
    "..\u{2044}",
    "..\u{29f5}",
    "..\u{ff0f}",
    "..\u{ff3c}",
    "..\u{200b}/",
    "\u{202e}../",
    "..\u{0}/",
    "\\\\?\\",
    "\\\\.\\",
    "\\\\localhost\\c$\\",
    "C:\\",
    "C:/",
    "C:",
    "/proc/self/root/",
    "/proc/self/cwd/",
    "/dev/fd/../",
    "-twin/",
    "./././../",
    " ../",
    "../ ",
    "\t../",
    "..\n/",
    "sub//..//../",
    "link/",
    "sub/up/",
    "./link/../link/",
    "root/../../",
];

/// Complete names: of nothing, of folders, of links, of devices.
const NAMES: [&str; 32] = [
    "",
    ".",
    "..",
    "/",
    "./",
    "sub",
    "sub/",
    "sub/..",
    "\0",
    "link",
    "link.rs",
    "twin",
    "twin/secret.rs",
    "sub/up",
    "../root/../",
    "/etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "/dev/tty",
    "/proc/self/environ",
    "/proc/self/mem",
    "CON",
    "NUL",
    "aux.txt",
    "COM1",
    "LPT1:",
    "\\\\.\\pipe\\a",
    "\\Device\\Null",
    "inside.rs::$DATA",
    "inside.rs:secret",
    "desktop.ini ",
    "-",
];
