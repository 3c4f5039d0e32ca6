//! Lists the files under the given paths.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::error::Error as _;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use ctx::assemble::Cancel;
use ctx::source::{Entry, EntryKind, Root, Step, WalkFault, WalkOptions};

use crate::failure::Failure;
use crate::skipped;

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The path to open.
    pub(crate) path: PathBuf,
    /// Its unique name in the context.
    pub(crate) shown: String,
    /// Whether the user named it, rather than a folder that contains it.
    pub(crate) named: bool,
    /// The index of the root that contains it, unless it was named.
    pub(crate) root: Option<usize>,
}

impl Found {
    /// Whether it is standard input, which is no file that could be looked at again.
    pub(crate) fn is_standard_input(&self) -> bool {
        self.root.is_none() && self.path == Path::new("-")
    }
}

/// A skipped path, and why: a stable word and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) shown: String,
    pub(crate) reason: Reason,
    pub(crate) detail: String,
}

/// Why a file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    Unreadable,
    TooLarge,
    Binary,
    Empty,
    Link,
    Special,
    Limit,
    Secret,
}

impl Reason {
    pub(crate) const ALL: [Reason; 8] = [
        Reason::Unreadable,
        Reason::TooLarge,
        Reason::Binary,
        Reason::Empty,
        Reason::Link,
        Reason::Special,
        Reason::Limit,
        Reason::Secret,
    ];

    /// The reason as a word for programs.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Reason::Unreadable => "unreadable",
            Reason::TooLarge => "too_large",
            Reason::Binary => "binary",
            Reason::Empty => "empty",
            Reason::Link => "link",
            Reason::Special => "special",
            Reason::Limit => "limit",
            Reason::Secret => "secret",
        }
    }

    /// Whether the user may miss text because of it.
    pub(crate) fn is_loss(self) -> bool {
        matches!(
            self,
            Reason::Unreadable | Reason::TooLarge | Reason::Limit | Reason::Secret
        )
    }

    /// The noun for one or many such files.
    pub(crate) fn noun(self, many: bool) -> &'static str {
        match (self, many) {
            (Reason::Unreadable, _) => "unreadable",
            (Reason::TooLarge, _) => "too large",
            (Reason::Binary, _) => "without text",
            (Reason::Empty, _) => "empty",
            (Reason::Link, false) => "link",
            (Reason::Link, true) => "links",
            (Reason::Special, _) => "not a regular file",
            (Reason::Limit, _) => "beyond a limit",
            (Reason::Secret, _) => "named as holding secrets",
        }
    }
}

/// The result of a walk: files and skipped paths, each sorted by the bytes of their names.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub(crate) files: Vec<Found>,
    pub(crate) skipped: Vec<Skipped>,
    /// The folders that were named; files found in them are read through these.
    pub(crate) roots: Vec<Root>,
    /// Faults of ignore files, each in a sentence.
    pub(crate) faults: Vec<String>,
}

impl Walked {
    /// Removes duplicates: of a file that was found twice, the named one stays. Two files with
    /// equal displayed names are reported, not merged. Expects sorted files, and sorts what was
    /// skipped.
    fn keep_one_of_each_name(&mut self) {
        // Folders within each other were walked, and what cannot be read was met in both.
        self.skipped.sort_by(|a, b| by_name(&a.shown, &b.shown));
        self.skipped.dedup();
        let skipped = &mut self.skipped;
        self.files.dedup_by(|later, first| {
            let alike = later.shown == first.shown;
            if alike && !is_same_path(&later.path, &first.path) {
                skipped.push(Skipped {
                    shown: later.shown.clone(),
                    reason: Reason::Unreadable,
                    detail: "another file is shown by the same path".to_owned(),
                });
            }
            alike
        });
        let known: HashSet<&str> = self.files.iter().map(|file| &*file.shown).collect();
        skipped.retain(|skipped| skipped.reason.is_loss() || !known.contains(&*skipped.shown));
    }
}

/// The order of names, by their bytes.
pub(crate) fn by_name(a: &str, b: &str) -> Ordering {
    a.as_bytes().cmp(b.as_bytes())
}

fn is_same_path(a: &Path, b: &Path) -> bool {
    let parts = |path| Path::components(path).filter(|part| *part != Component::CurDir);
    parts(a).eq(parts(b))
}

/// Finds every file under `roots`. Ignore files apply below a folder, never to a path that was
/// named; links are not followed; the order does not depend on the file system.
///
/// With one root, a file's name is its path below that; with several, the root as given and the
/// path below it.
///
/// # Errors
/// A root does not exist; the user cancelled.
pub(crate) fn walk(roots: &[PathBuf], cancel: &Cancel) -> Result<Walked, Failure> {
    let mut walked = Walked::default();
    let is_alone = roots.len() == 1;
    for root in roots {
        if root == Path::new("-") {
            walked.files.push(standard_input());
            continue;
        }
        let metadata = std::fs::metadata(root).map_err(|error| missing(root, &error))?;
        if metadata.is_dir() {
            let prefix = if is_alone { String::new() } else { shown(root) };
            match Root::open(root) {
                Ok(root) => walked.folder(root, &prefix, cancel),
                Err(error) => walked.skipped.push(Skipped {
                    shown: shown(root),
                    reason: Reason::Unreadable,
                    detail: error.source().map_or_else(String::new, ToString::to_string),
                }),
            }
        } else {
            walked.files.push(Found {
                path: root.clone(),
                shown: shown(root),
                named: true,
                root: None,
            });
        }
    }
    if cancel.is_cancelled() {
        return Err(Failure::cancelled());
    }
    walked
        .files
        .sort_by(|a, b| by_name(&a.shown, &b.shown).then(b.named.cmp(&a.named)));
    walked.keep_one_of_each_name();
    walked.skipped.sort_by(|a, b| by_name(&a.shown, &b.shown));
    Ok(walked)
}

fn standard_input() -> Found {
    Found {
        path: "-".into(),
        shown: "<stdin>".to_owned(),
        named: true,
        root: None,
    }
}

fn missing(root: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format_args!(
        "failed to read {}: {}",
        shown(root),
        cause(root, error)
    ))
    .with_hint("check the path; every PATH must exist")
}

/// Why `path` could not be opened; for a dangling link, the system's error would say that there is
/// no such file.
pub(crate) fn cause(path: &Path, error: &std::io::Error) -> String {
    let is_link = || path.symlink_metadata().is_ok_and(|it| it.is_symlink());
    if error.kind() == std::io::ErrorKind::NotFound && is_link() {
        return "it is a link to something that is not there".to_owned();
    }
    error.to_string()
}

impl Walked {
    /// Adds the content of a folder, whose displayed paths begin with `prefix`.
    fn folder(&mut self, root: Root, prefix: &str, cancel: &Cancel) {
        let call = |path: &Path| {
            let below = shown(path);
            match (prefix, &*below) {
                ("", _) if below == "." => shown(root.path()),
                ("" | ".", _) => below,
                (_, ".") => prefix.to_owned(),
                _ if prefix.ends_with('/') => format!("{prefix}{below}"),
                _ => format!("{prefix}/{below}"),
            }
        };
        let (number, output) = (self.roots.len(), standard_output());
        let faults = root.walk(&WalkOptions::default(), &mut |entry| {
            if cancel.is_cancelled() {
                return Step::Stop;
            }
            let mut skip = |reason, detail: &str| {
                self.skipped.push(Skipped {
                    shown: call(entry.path()),
                    reason,
                    detail: detail.to_owned(),
                });
            };
            match entry.kind() {
                EntryKind::Folder => {}
                EntryKind::Link => skip(Reason::Link, skipped::LINK),
                EntryKind::Other => skip(Reason::Special, skipped::SPECIAL),
                // The file to which the context is being written is not part of it.
                EntryKind::File if output.is_some_and(|it| is_at(entry, it)) => {}
                EntryKind::File => self.files.push(Found {
                    path: root.path().join(entry.path()),
                    shown: call(entry.path()),
                    named: false,
                    root: Some(number),
                }),
            }
            Step::On
        });
        for fault in faults {
            let (path, reason, detail) = match &fault {
                WalkFault::Folder { path, why } => (path, Reason::Unreadable, why.to_string()),
                WalkFault::Limit { path, limit } => (path, Reason::Limit, limit.to_string()),
                fault => {
                    self.faults.push(fault.to_string());
                    continue;
                }
            };
            self.skipped.push(Skipped {
                shown: call(path),
                reason,
                detail,
            });
        }
        self.roots.push(root);
    }
}

fn is_at(entry: &Entry<'_>, node: (u64, u64)) -> bool {
    entry.stamp().is_ok_and(|it| it.node() == node)
}

/// The device and inode of the file that standard output goes to, if it is one.
#[cfg(unix)]
fn standard_output() -> Option<(u64, u64)> {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;

    let output = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
    let metadata = std::fs::File::from(output).metadata().ok()?;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn standard_output() -> Option<(u64, u64)> {
    None
}

/// `path` as displayed: with `/` between its components, no `.` among them, and bytes that are not
/// UTF-8 as `\xNN`, so that no two paths look alike.
pub(crate) fn shown(path: &Path) -> String {
    let mut out = String::new();
    for component in path.components() {
        let part = match component {
            Component::CurDir => continue,
            Component::RootDir => {
                out.push('/');
                continue;
            }
            other => other.as_os_str(),
        };
        if !out.is_empty() && !out.ends_with('/') {
            out.push('/');
        }
        push_visible(part, &mut out);
    }
    if out.is_empty() {
        out.push('.');
    }
    out
}

fn push_visible(part: &OsStr, out: &mut String) {
    use std::fmt::Write as _;

    for chunk in part.as_encoded_bytes().utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
}

/// The path that is [`shown`] as `path` and is not UTF-8, if there is one: each `\xNN` in it stands
/// for a byte.
#[cfg(unix)]
pub(crate) fn hidden_by(path: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;

    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend(before.as_bytes());
        let byte = after
            .get(..2)
            .and_then(|it| u8::from_str_radix(it, 16).ok());
        rest = if let Some(byte) = byte {
            bytes.push(byte);
            &after[2..]
        } else {
            bytes.extend(b"\\x");
            after
        };
    }
    bytes.extend(rest.as_bytes());
    let hidden = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    (hidden.to_str().is_none() && shown(&hidden) == path).then_some(hidden)
}

/// Where paths are not bytes, none can be recovered.
#[cfg(not(unix))]
pub(crate) fn hidden_by(_: &str) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        assert_eq!(shown(Path::new(path)), expected);
    }

    #[test]
    fn skipped_files_have_the_codes_of_warnings() {
        for reason in Reason::ALL {
            let code = ctx::model::WarningCode::from(reason.code());
            assert!(ctx::model::WarningCode::KNOWN.contains(&code), "{code}");
        }
    }

    #[test]
    fn paths_are_shown_plainly() {
        check("./a/./b.rs", "a/b.rs");
        check("a//b", "a/b");
        check("/etc/hosts", "/etc/hosts");
        check("../x", "../x");
        check(".", ".");
        check("/", "/");
    }

    #[test]
    fn files_that_only_look_alike_are_told() {
        let found = |path: &str, named| Found {
            path: path.into(),
            shown: "a".to_owned(),
            named,
            root: None,
        };
        let mut walked = Walked {
            files: vec![found("./a", true), found("a", false), found("b", false)],
            ..Walked::default()
        };
        walked.keep_one_of_each_name();
        assert_eq!(walked.files, [found("./a", true)]);
        assert_eq!(walked.skipped.len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_no_text_is_told_apart() {
        use std::os::unix::ffi::OsStrExt as _;
        let path = Path::new(OsStr::from_bytes(b"a\xff\xfe/b"));
        assert_eq!(shown(path), "a\\xff\\xfe/b");
        assert_eq!(hidden_by("a\\xff\\xfe/b").as_deref(), Some(path));
        // Names that are text, even if they look like escapes, and names that are displayed
        // differently.
        for path in [
            "a",
            "a\\xc3\\xa9",
            "a\\x41",
            "a\\xFF",
            "a\\x\\xf",
            "a\\xff/./b",
        ] {
            assert_eq!(hidden_by(path), None, "{path}");
        }
    }
}
