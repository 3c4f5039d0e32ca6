//! Lists the files below a root: by the rules of ignore files, without following links, and within
//! limits.
//!
//! Each folder is opened beneath the handle of the root, so that no path leads outside, and there
//! is no recursion. Which names are left out is decided by [`rules`], which reads ignore files like
//! any other file below a root.

mod rules;

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, FileType};

use self::rules::{GIT, Rules};
use crate::root::LONGEST_PATH;
use crate::{Root, Stamp};

/// The most faults that one walk reports; further ones are counted.
const TOLD: usize = 1000;

/// The file that marks a Python virtual environment.
const ENVIRONMENT: &str = "pyvenv.cfg";
/// The file that marks a folder a tool can make again, and how it begins
/// (<https://bford.info/cachedir/>).
const TAG: &str = "CACHEDIR.TAG";
const SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
/// The most bytes read of a `CACHEDIR.TAG`.
const MOST_TAG: u64 = 4096;

/// Which names a walk leaves out, and the limits at which it ends.
///
/// ```
/// use ctx_source::{Ignoring, WalkOptions};
///
/// let all = WalkOptions::default().with_ignoring(Ignoring::Nothing);
/// assert_eq!(all.depth, WalkOptions::default().depth);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkOptions {
    /// Which names are left out.
    pub ignoring: Ignoring,
    /// The most names listed, including those left out.
    pub entries: usize,
    /// The most bytes of all visited paths together.
    pub path_bytes: usize,
    /// The deepest nesting of folders.
    pub depth: usize,
    /// The longest time of a walk. A walk that ends by it may end elsewhere the next time.
    pub time: Duration,
}

impl Default for WalkOptions {
    /// Two million names, 256 MiB of paths, folders nested 128 deep, two minutes.
    fn default() -> Self {
        WalkOptions {
            ignoring: Ignoring::default(),
            entries: 2_000_000,
            path_bytes: 256 << 20,
            depth: 128,
            time: Duration::from_mins(2),
        }
    }
}

ctx_model::setters! {
    for WalkOptions;
    /// Sets which names are left out.
    with_ignoring: ignoring: Ignoring;
    /// Sets the most names listed.
    with_entries: entries: usize;
    /// Sets the most bytes of all visited paths together.
    with_path_bytes: path_bytes: usize;
    /// Sets the deepest nesting of folders.
    with_depth: depth: usize;
    /// Sets the longest time of a walk.
    with_time: time: Duration;
}

/// Which names a walk leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignoring {
    /// Names that `.ctxignore`, `.ignore`, `.gitignore` or git's `info/exclude` match (the stronger
    /// first) in this folder and those above it; and names that begin with a dot, unless a rule
    /// includes them; `.git` in any case. Rules of git count only within the repository of their
    /// folder; those of a folder above this one, only if both are in one repository. The user's
    /// global git rules do not count: they would make one tree differ between two machines.
    #[default]
    AsRulesSay,
    /// None: nothing is left out.
    Nothing,
}

/// Why a walk leaves out a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftOut {
    /// It is the `.git` of a repository, which no rule includes.
    Git,
    /// Its name begins with a dot.
    Hidden,
    /// A line of an ignore file matches it.
    Ignored {
        /// The ignore file: relative to the root, or absolute if it lies above.
        file: PathBuf,
        /// The matching line.
        rule: String,
    },
}

/// A file, folder or link that a walk meets.
#[derive(Debug)]
pub struct Entry<'w> {
    path: &'w Path,
    name: &'w Path,
    kind: EntryKind,
    mark: Option<Mark>,
    dir: &'w Dir,
}

/// How a marker file that tools agree on classifies a folder and all that is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mark {
    /// A cache that a tool can make again: it has a `CACHEDIR.TAG` with the standard signature.
    Cache,
    /// A Python virtual environment: it has a `pyvenv.cfg`.
    Environment,
}

/// The kind of an [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder, whose entries come next.
    Folder,
    /// A file.
    File,
    /// A link, which is not followed.
    Link,
    /// A pipe, a device or a socket.
    Other,
}

/// How a walk continues after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Enter the entry, if it is a folder.
    On,
    /// Do not enter it.
    Past,
    /// End the walk.
    Stop,
}

/// Something that a walk could not do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalkFault {
    /// A whole ignore file was rejected.
    #[error("the ignore file {path:?} ignores nothing: {why}")]
    File {
        /// The path, relative to the root, or absolute if it lies above.
        path: PathBuf,
        /// What is wrong with it, and how to mend it.
        why: String,
    },
    /// Lines of an ignore file were rejected; its other lines count.
    #[error("line {line} of the ignore file {path:?} ignores nothing: {why}{}", more_lines(*more))]
    Line {
        /// The path, relative to the root, or absolute if it lies above.
        path: PathBuf,
        /// The first rejected line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
        /// The number of rejected lines after it.
        more: usize,
    },
    /// A folder could not be listed.
    #[error("the folder {path:?} cannot be listed: {why}")]
    Folder {
        /// The path, relative to the root.
        path: PathBuf,
        /// The cause.
        why: io::Error,
    },
    /// A limit was reached: entries below this folder are missing, or the rest of the walk is, too.
    #[error("{path:?}: {limit}")]
    Limit {
        /// The path, relative to the root.
        path: PathBuf,
        /// The limit that was reached.
        limit: WalkLimit,
    },
    /// Further faults that are not reported one by one.
    #[error("{count} more faults of the same walk are not reported")]
    More {
        /// The number of faults that are not reported one by one.
        count: usize,
        /// Whether one of them is [transient](WalkFault::is_transient).
        is_transient: bool,
    },
}

fn more_lines(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => "; so does 1 more line".to_owned(),
        n => format!("; so do {n} more lines"),
    }
}

/// A limit that was reached; see [`WalkOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WalkLimit {
    /// [`WalkOptions::depth`].
    #[error("it is more than {0} folders deep")]
    Depth(usize),
    /// The path is longer than the longest that can be read.
    #[error("its path is longer than {LONGEST_PATH} bytes")]
    Path,
    /// [`WalkOptions::entries`].
    #[error(
        "the walk ended here, after {0} names, and skipped the rest; give a smaller folder, or exclude files by an ignore file"
    )]
    Entries(usize),
    /// [`WalkOptions::path_bytes`].
    #[error(
        "the walk ended here, after {0} bytes of paths, and skipped the rest; give a smaller folder, or exclude files by an ignore file"
    )]
    PathBytes(usize),
    /// [`WalkOptions::time`].
    #[error(
        "the walk ended here, after {} s, and skipped the rest; give a smaller folder, or exclude files by an ignore file",
        .0.as_secs()
    )]
    Time(Duration),
}

impl WalkFault {
    /// Whether the missing entries may exist all the same: the walk ran out of time, or a folder
    /// that exists could not be listed.
    pub fn is_transient(&self) -> bool {
        match self {
            WalkFault::Folder { why, .. } => !matches!(
                why.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ),
            WalkFault::Limit { limit, .. } => matches!(limit, WalkLimit::Time(_)),
            WalkFault::More { is_transient, .. } => *is_transient,
            WalkFault::File { .. } | WalkFault::Line { .. } => false,
        }
    }

    /// Whether it is about an ignore file, rather than about entries that were not visited.
    pub fn is_of_rules(&self) -> bool {
        matches!(self, WalkFault::File { .. } | WalkFault::Line { .. })
    }
}

impl Entry<'_> {
    /// The path, relative to the root.
    pub fn path(&self) -> &Path {
        self.path
    }

    /// The kind of the entry.
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// The mark of the outermost marked folder that contains the entry; the root itself is not
    /// considered.
    pub fn mark(&self) -> Option<Mark> {
        self.mark
    }

    /// The present state of the entry; of a link itself, not its target. One metadata lookup.
    ///
    /// # Errors
    /// The error of the system.
    pub fn stamp(&self) -> io::Result<Stamp> {
        Ok(Stamp::of(&self.dir.symlink_metadata(self.name)?))
    }
}

impl Root {
    /// Calls `visit` for everything below this folder that is not left out, a folder before its
    /// contents and the names of a folder in byte order, and returns the faults. Always ends, at
    /// the latest at the limits of the options. O(names), times O(rules in force) at worst.
    pub fn walk(
        &self,
        options: &WalkOptions,
        visit: &mut dyn FnMut(&Entry<'_>) -> Step,
    ) -> Vec<WalkFault> {
        let mut walk = Walk {
            root: self,
            options,
            deadline: Instant::now().checked_add(options.time),
            entries: 0,
            path_bytes: 0,
            above: PathBuf::new(),
            faults: Faults::default(),
            pending: Vec::new(),
        };
        let mut rules = None;
        if options.ignoring == Ignoring::AsRulesSay {
            (walk.above, rules) = rules::above(self, &mut walk.faults);
        }
        walk.pending.push(Pending {
            path: PathBuf::new(),
            depth: 0,
            rules,
            mark: None,
        });
        while let Some(folder) = walk.pending.pop() {
            match walk.folder(&folder, visit) {
                Ok(()) => {}
                Err(End::Folder(why)) => {
                    let path = folder.path;
                    walk.faults.push(WalkFault::Folder { path, why });
                }
                Err(End::Stopped) => break,
                Err(End::Limit(path, limit)) => {
                    walk.faults.push(WalkFault::Limit { path, limit });
                    break;
                }
            }
        }
        walk.faults.into_faults()
    }

    /// Why a walk that follows ignore rules leaves out the file at `path`: the outermost of its
    /// folders, or the file itself, that is left out, and the reason. `None` if a walk would visit
    /// the file, provided it exists, and for an absolute path or one with `..`, which no walk has.
    /// Reads the ignore files on the way.
    pub fn left_out(&self, path: &Path) -> Option<(PathBuf, LeftOut)> {
        // Elsewhere in a path, `.` is no component.
        let path = path.strip_prefix(".").unwrap_or(path);
        let mut faults = Faults::default();
        let (above, mut rules) = rules::above(self, &mut faults);
        let mut at = PathBuf::new();
        for component in path.components() {
            let Component::Normal(name) = component else {
                return None;
            };
            let dir = self.dir(&at).ok()?;
            let has = |name: &str| dir.symlink_metadata(name).is_ok();
            rules = rules::within(self, &at, &above.join(&at), rules, &has, &mut faults);
            at.push(name);
            if name == GIT {
                return Some((at, LeftOut::Git));
            }
            let is_folder = at != path;
            let rule = rules.as_deref();
            let rule = rule.and_then(|it| it.deciding(&above.join(&at), is_folder));
            let why = match rule {
                Some(rule) if rule.is_whitelist() => continue,
                Some(rule) => LeftOut::Ignored {
                    file: rule.from().unwrap_or(Path::new("")).to_owned(),
                    rule: rule.original().to_owned(),
                },
                None if is_hidden(&at) => LeftOut::Hidden,
                None => continue,
            };
            return Some((at, why));
        }
        None
    }
}

impl Root {
    /// The ignore files that apply to a walk with ignore rules but are in no folder that it lists,
    /// whether or not they exist: those of the folders above this one, and the `info/exclude` of
    /// its git repository and of those that begin at `folders`, which are the listed ones. Absolute
    /// paths, sorted. For callers that want to know when a walk would find other files. O(folders).
    pub fn rules_elsewhere<'f>(&self, folders: impl IntoIterator<Item = &'f Path>) -> Vec<PathBuf> {
        rules::elsewhere(self, folders)
    }
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

/// A folder still to be visited.
struct Pending {
    path: PathBuf,
    depth: usize,
    /// The rules of its parent folder.
    rules: Option<Arc<Rules>>,
    /// The mark inherited from its parents.
    mark: Option<Mark>,
}

/// Why the visit of a folder ended early.
enum End {
    Folder(io::Error),
    Stopped,
    Limit(PathBuf, WalkLimit),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        End::Folder(error)
    }
}

struct Walk<'w> {
    root: &'w Root,
    options: &'w WalkOptions,
    /// `None` if the deadline is beyond the range of the clock.
    deadline: Option<Instant>,
    entries: usize,
    path_bytes: usize,
    /// The path of the root as the rules of folders above see it.
    above: PathBuf,
    faults: Faults,
    pending: Vec<Pending>,
}

impl Walk<'_> {
    fn folder(
        &mut self,
        folder: &Pending,
        visit: &mut dyn FnMut(&Entry<'_>) -> Step,
    ) -> Result<(), End> {
        let dir = self.root.dir(&folder.path)?;
        let names = self.names(&dir, &folder.path)?;
        let mut rules = folder.rules.clone();
        let has = |name: &str| {
            names
                .binary_search_by(|(it, _)| (**it).cmp(name.as_ref()))
                .is_ok()
        };
        let mark = folder.mark.or_else(|| self.mark(folder, &has));
        if self.options.ignoring == Ignoring::AsRulesSay {
            let at = self.above.join(&folder.path);
            rules = rules::within(self.root, &folder.path, &at, rules, &has, &mut self.faults);
        }
        let first = self.pending.len();
        for (name, kind) in &names {
            let path = folder.path.join(name);
            if self.deadline.is_some_and(|it| Instant::now() >= it) {
                return Err(End::Limit(path, WalkLimit::Time(self.options.time)));
            }
            if self.is_left_out(rules.as_deref(), &path, *kind) {
                continue;
            }
            if path.as_os_str().len() > LONGEST_PATH {
                let limit = WalkLimit::Path;
                self.faults.push(WalkFault::Limit { path, limit });
                continue;
            }
            let step = visit(&Entry {
                path: &path,
                name: name.as_ref(),
                kind: *kind,
                mark,
                dir: &dir,
            });
            match step {
                Step::Stop => return Err(End::Stopped),
                Step::Past => {}
                Step::On => self.go_on(path, *kind, mark, folder.depth, rules.as_ref())?,
            }
        }
        // The stack is popped from its end, so the first folder has to be last.
        self.pending[first..].reverse();
        Ok(())
    }

    /// The mark of a folder with these names.
    fn mark(&self, folder: &Pending, has: &dyn Fn(&str) -> bool) -> Option<Mark> {
        if folder.depth == 0 {
            return None;
        }
        if has(ENVIRONMENT) {
            return Some(Mark::Environment);
        }
        let is_signed = |path: &Path| {
            let tag = self.root.read(path, MOST_TAG);
            tag.is_ok_and(|it| it.starts_with(SIGNATURE))
        };
        (has(TAG) && is_signed(&folder.path.join(TAG))).then_some(Mark::Cache)
    }

    /// Lists the names in a folder, sorted.
    fn names(&mut self, dir: &Dir, path: &Path) -> Result<Vec<(OsString, EntryKind)>, End> {
        let mut names = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            self.entries += 1;
            if self.entries > self.options.entries {
                let limit = WalkLimit::Entries(self.options.entries);
                return Err(End::Limit(path.to_owned(), limit));
            }
            let name = entry.file_name();
            let kind = match kind_of(entry.file_type()?) {
                // Some file systems do not report the type with the name.
                EntryKind::Other => entry
                    .metadata()
                    .map_or(EntryKind::Other, |it| kind_of(it.file_type())),
                kind => kind,
            };
            names.push((name, kind));
        }
        names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(names)
    }

    fn is_left_out(&self, rules: Option<&Rules>, path: &Path, kind: EntryKind) -> bool {
        if self.options.ignoring == Ignoring::Nothing {
            return false;
        }
        if path.ends_with(GIT) {
            return true;
        }
        let is_folder = kind == EntryKind::Folder;
        let rule = rules.and_then(|it| it.deciding(&self.above.join(path), is_folder));
        rule.map_or_else(|| is_hidden(path), |it| !it.is_whitelist())
    }

    fn go_on(
        &mut self,
        path: PathBuf,
        kind: EntryKind,
        mark: Option<Mark>,
        depth: usize,
        rules: Option<&Arc<Rules>>,
    ) -> Result<(), End> {
        self.path_bytes += path.as_os_str().len();
        if self.path_bytes > self.options.path_bytes {
            let limit = WalkLimit::PathBytes(self.options.path_bytes);
            return Err(End::Limit(path, limit));
        }
        if kind != EntryKind::Folder {
            return Ok(());
        }
        if depth >= self.options.depth {
            let limit = WalkLimit::Depth(self.options.depth);
            self.faults.push(WalkFault::Limit { path, limit });
            return Ok(());
        }
        self.pending.push(Pending {
            path,
            depth: depth + 1,
            rules: rules.cloned(),
            mark,
        });
        Ok(())
    }
}

fn kind_of(kind: FileType) -> EntryKind {
    if kind.is_dir() {
        EntryKind::Folder
    } else if kind.is_file() {
        EntryKind::File
    } else if kind.is_symlink() {
        EntryKind::Link
    } else {
        EntryKind::Other
    }
}

/// The faults of a walk; at most [`TOLD`] are kept.
#[derive(Default)]
struct Faults {
    kept: Vec<WalkFault>,
    more: usize,
    /// Whether one of the faults that were only counted is transient.
    is_transient: bool,
}

impl Faults {
    fn push(&mut self, fault: WalkFault) {
        if self.kept.len() < TOLD {
            self.kept.push(fault);
        } else {
            self.more += 1;
            self.is_transient |= fault.is_transient();
        }
    }

    fn into_faults(mut self) -> Vec<WalkFault> {
        if self.more > 0 {
            self.kept.push(WalkFault::More {
                count: self.more,
                is_transient: self.is_transient,
            });
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_that_are_not_told_are_by_chance_where_one_of_them_is() {
        for (kind, is_transient) in [
            (io::ErrorKind::NotFound, false),
            (io::ErrorKind::NotADirectory, false),
            (io::ErrorKind::PermissionDenied, true),
            (io::ErrorKind::Other, true),
        ] {
            let mut faults = Faults::default();
            let limit = WalkLimit::Path;
            for _ in 0..TOLD {
                let path = PathBuf::new();
                faults.push(WalkFault::Limit { path, limit });
            }
            let (path, why) = (PathBuf::new(), kind.into());
            let folder = WalkFault::Folder { path, why };
            assert_eq!(folder.is_transient(), is_transient, "{kind:?}");
            faults.push(folder);
            let told = faults.into_faults();
            assert_eq!(told.len(), TOLD + 1);
            assert_eq!(told[TOLD].is_transient(), is_transient, "{kind:?}");
        }
    }
}
