//! The rules of ignore files.
//!
//! Ignore files are untrusted input: they are read through a root, are bounded in size, and so is
//! the cost of matching them. A rejected file or line ignores nothing, and is reported.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

use super::{Faults, WalkFault};
use crate::{Root, SourceError};

/// The names of ignore files, strongest first; git's `info/exclude` comes after them.
const NAMES: [&str; 3] = [".ctxignore", ".ignore", ".gitignore"];
/// The name of the folder, or file, by which git knows the top of a repository.
pub(super) const GIT: &str = ".git";
/// The path of that within a git folder.
const EXCLUDE: &str = "info/exclude";
const KINDS: usize = NAMES.len() + 1;
/// The index in [`NAMES`] from which files are git's: those have no effect beyond the repository.
const OF_GIT: usize = 2;

/// The most bytes of an ignore file.
const MOST_BYTES: u64 = 64 << 10;
/// The longest line, in bytes; comments may be longer.
const LONGEST_LINE: usize = 1024;
/// The most braces in one line: each nests one call deeper.
const MOST_BRACES: usize = 32;
/// The most bytes of all ignore files that apply to one folder.
const MOST_IN_FORCE: usize = 128 << 10;
/// The most wildcards (`*`, `?`, `[`, `{`) in these files: each takes up to 2 KiB when names are
/// matched.
const MOST_WILD: usize = 8192;
/// The most bytes of a `.git` file, which names the folder of the repository.
const MOST_POINTER: u64 = 4096;

/// The rules that apply to a folder: its own before those of the folders above.
pub(super) struct Rules {
    outer: Option<Arc<Rules>>,
    /// In the order of [`NAMES`], then git's `info/exclude`.
    own: [Gitignore; KINDS],
    /// Whether the folder has a `.git`: beyond it git's rules are another repository's.
    is_repository: bool,
    size: Size,
}

/// The bytes and wildcards that have to be matched.
#[derive(Clone, Copy, Default)]
struct Size {
    bytes: usize,
    wild: usize,
}

impl Rules {
    /// The rule that decides about `path`, whether it ignores or includes it, if any does.
    pub(super) fn deciding(&self, path: &Path, is_folder: bool) -> Option<&Glob> {
        (0..KINDS).find_map(|kind| {
            let mut rules = Some(self);
            while let Some(it) = rules {
                match it.own[kind].matched(path, is_folder) {
                    Match::None if kind >= OF_GIT && it.is_repository => return None,
                    Match::None => rules = it.outer.as_deref(),
                    Match::Ignore(rule) | Match::Whitelist(rule) => return Some(rule),
                }
            }
            None
        })
    }
}

/// The rules of the folders above `root`, and the path of `root` as these rules see it.
pub(super) fn above(root: &Root, faults: &mut Faults) -> (PathBuf, Option<Arc<Rules>>) {
    let Ok(path) = root.path().canonicalize() else {
        return (PathBuf::new(), None);
    };
    let top = path.ancestors().last().unwrap_or(&path);
    let below = |folder: &Path| folder.strip_prefix(top).unwrap_or(folder).to_owned();
    let mut rules = None;
    for (folder, is_beyond) in folders_above(&path) {
        let Ok(root) = Root::open(folder) else {
            continue;
        };
        let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
        let has = |name: &str| !(is_beyond && is_of_git(name)) && is_there(name);
        let here = Here {
            root: &root,
            folder: Path::new(""),
            shown: folder,
        };
        rules = here.rules(&below(folder), rules, &has, faults);
    }
    (below(&path), rules)
}

/// The folders above the canonical `path`, the outermost first, and whether each is beyond the
/// repository, so that its git files have no effect. Without a repository all of them are.
fn folders_above(path: &Path) -> Vec<(&Path, bool)> {
    let repository = path.ancestors().find(|it| is_repository(it));
    let is_beyond = |folder: &Path| repository.is_none_or(|it| !folder.starts_with(it));
    let above = path.ancestors().skip(1);
    let mut folders: Vec<_> = above.map(|it| (it, is_beyond(it))).collect();
    folders.reverse();
    folders
}

fn is_repository(folder: &Path) -> bool {
    folder.join(GIT).symlink_metadata().is_ok()
}

/// Whether a file or folder of this name is git's.
fn is_of_git(name: &str) -> bool {
    name == GIT || NAMES[OF_GIT..].contains(&name)
}

/// The ignore files that count below `root` and lie in none of the walked `folders`, whether or not
/// they exist: see [`Root::rules_elsewhere`].
pub(super) fn elsewhere<'f>(
    root: &Root,
    folders: impl IntoIterator<Item = &'f Path>,
) -> Vec<PathBuf> {
    let Ok(path) = root.path().canonicalize() else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for (folder, is_beyond) in folders_above(&path) {
        let names = NAMES.into_iter().filter(|it| !is_beyond || !is_of_git(it));
        files.extend(names.map(|it| folder.join(it)));
        if !is_beyond && is_repository(folder) {
            files.push(exclude_of(folder));
        }
    }
    // A repository that is begun within the root has one soon.
    files.push(exclude_of(&path));
    let repositories = folders.into_iter().filter(|it| is_repository(it));
    files.extend(repositories.map(exclude_of));
    files.sort_unstable();
    files.dedup();
    files
}

/// The path of the `info/exclude` of the repository at `folder`.
fn exclude_of(folder: &Path) -> PathBuf {
    let git = folder.join(GIT);
    let pointer = Root::open(folder).and_then(|it| it.read(GIT, MOST_POINTER));
    let common = pointer.ok().and_then(|it| worktree(folder, &it));
    common.map_or(git, |it| it.path().to_owned()).join(EXCLUDE)
}

/// The rules that apply to `folder` below `root`, whose path the rules see as `at`. `has` reports
/// which names it contains.
pub(super) fn within(
    root: &Root,
    folder: &Path,
    at: &Path,
    outer: Option<Arc<Rules>>,
    has: &dyn Fn(&str) -> bool,
    faults: &mut Faults,
) -> Option<Arc<Rules>> {
    let here = Here {
        root,
        folder,
        shown: folder,
    };
    here.rules(at, outer, has, faults)
}

/// A folder, and the names for it, whose ignore files are read.
struct Here<'h> {
    root: &'h Root,
    /// The path, relative to the root.
    folder: &'h Path,
    /// The path that faults report.
    shown: &'h Path,
}

impl Here<'_> {
    fn rules(
        &self,
        at: &Path,
        outer: Option<Arc<Rules>>,
        has: &dyn Fn(&str) -> bool,
        faults: &mut Faults,
    ) -> Option<Arc<Rules>> {
        let mut size = outer.as_ref().map_or(Size::default(), |it| it.size);
        let mut own = [const { None }; KINDS];
        for (kind, name) in NAMES.into_iter().enumerate() {
            if has(name) {
                let bytes = self.root.read(self.folder.join(name), MOST_BYTES);
                own[kind] = self.heed(name, bytes, at, &mut size, faults);
            }
        }
        let is_repository = has(GIT);
        if is_repository {
            let bytes = self.exclude();
            own[KINDS - 1] = self.heed(".git/info/exclude", bytes, at, &mut size, faults);
        }
        if own.iter().all(Option::is_none) && !is_repository {
            return outer;
        }
        let own = own.map(|it| it.unwrap_or_else(Gitignore::empty));
        Some(Arc::new(Rules {
            outer,
            own,
            is_repository,
            size,
        }))
    }

    /// Reads the `info/exclude` of this repository.
    fn exclude(&self) -> Result<Vec<u8>, SourceError> {
        match self.root.read(self.folder.join(GIT), MOST_POINTER) {
            Ok(pointer) => {
                let common = worktree(&self.root.path().join(self.folder), &pointer);
                common.map_or(Ok(Vec::new()), |it| it.read(EXCLUDE, MOST_BYTES))
            }
            Err(SourceError::NotAFile {
                what: "a folder", ..
            }) => self
                .root
                .read(self.folder.join(GIT).join(EXCLUDE), MOST_BYTES),
            Err(error) => Err(error),
        }
    }

    fn heed(
        &self,
        name: &str,
        bytes: Result<Vec<u8>, SourceError>,
        at: &Path,
        size: &mut Size,
        faults: &mut Faults,
    ) -> Option<Gitignore> {
        let path = self.shown.join(name);
        let why = match bytes {
            Ok(bytes) => match heed(&bytes, at, *size, &path, faults) {
                Ok((rules, sum)) => {
                    *size = sum;
                    return Some(rules).filter(|it| !it.is_empty());
                }
                Err(why) => why,
            },
            // Git, too, disregards a folder of that name.
            Err(
                SourceError::NotFound { .. }
                | SourceError::DeadLink { .. }
                | SourceError::NotAFile {
                    what: "a folder", ..
                },
            ) => return None,
            Err(error) => why(&error),
        };
        faults.push(WalkFault::File { path, why });
        None
    }
}

fn why(error: &SourceError) -> String {
    match error {
        SourceError::NotAFile { what, .. } => {
            format!("it is {what}; put a plain file in its place")
        }
        SourceError::TooLarge { limit, .. } => {
            format!("it is larger than {limit} bytes; shorten it")
        }
        SourceError::Io { source, .. } => {
            format!("{source}; put a plain file in its place that can be read")
        }
        error => error.to_string(),
    }
}

/// Parses the rules in `bytes`, and returns them with the total size including `size`.
fn heed(
    bytes: &[u8],
    at: &Path,
    mut size: Size,
    path: &Path,
    faults: &mut Faults,
) -> Result<(Gitignore, Size), String> {
    size.bytes += bytes.len();
    let mut builder = GitignoreBuilder::new(at);
    let mut refused: Option<(usize, String)> = None;
    let mut more = 0;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for (index, line) in bytes.split(|it| *it == b'\n').enumerate() {
        match add(&mut builder, path, line) {
            Ok(wild) => size.wild += wild,
            Err(why) => {
                more += usize::from(refused.is_some());
                refused.get_or_insert((index + 1, why));
            }
        }
        if size.bytes > MOST_IN_FORCE || size.wild > MOST_WILD {
            return Err(format!(
                "with those of the folders around it there are more than {MOST_IN_FORCE} bytes or {MOST_WILD} wildcards; shorten them"
            ));
        }
    }
    if let Some((line, why)) = refused {
        let path = path.to_owned();
        faults.push(WalkFault::Line {
            path,
            line,
            why,
            more,
        });
    }
    let rules = builder.build();
    Ok((rules.map_err(|error| format!("{error}; shorten it"))?, size))
}

/// Adds a line of the file at `path`, and returns how many wildcards it has.
fn add(builder: &mut GitignoreBuilder, path: &Path, line: &[u8]) -> Result<usize, String> {
    if line.starts_with(b"#") {
        return Ok(0);
    }
    if line.len() > LONGEST_LINE {
        return Err(format!("it has more than {LONGEST_LINE} bytes"));
    }
    if memchr::memchr_iter(b'{', line).count() > MOST_BRACES {
        return Err(format!("it has more than {MOST_BRACES} braces"));
    }
    let line = str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let line = line.strip_suffix('\r').unwrap_or(line);
    match builder.add_line(Some(path.to_owned()), line) {
        Ok(_) => Ok(line.bytes().filter(|it| b"*?[{".contains(it)).count()),
        Err(error) => Err(error.to_string()),
    }
}

/// The common folder of the repository to which the worktree at `folder` belongs; `pointer` is the
/// content of its `.git` file. Trusted only if that repository names the worktree in return.
fn worktree(folder: &Path, pointer: &[u8]) -> Option<Root> {
    let line = |bytes: &[u8]| {
        let line = bytes.split(|it| *it == b'\n').next()?;
        let line = str::from_utf8(line).ok()?;
        Some(PathBuf::from(line.trim_end_matches('\r')))
    };
    let own = folder.join(line(pointer.strip_prefix(b"gitdir: ")?)?);
    let root = Root::open(&own).ok()?;
    let read = |name: &str| line(&root.read(name, MOST_POINTER).ok()?);
    let back = own.join(read("gitdir")?).canonicalize().ok()?;
    if back != folder.join(GIT).canonicalize().ok()? {
        return None;
    }
    Root::open(own.join(read("commondir")?)).ok()
}
