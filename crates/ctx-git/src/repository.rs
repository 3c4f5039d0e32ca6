//! Reads a git repository: commits, their messages, and the locations that they touched.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ctx_rank::Analyzer;
use ctx_secrets::{is_secret_file, mask};
use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::diff::tree::{Recorder, State, recorder, visit};
use gix::discover::upwards::{self, TrustPolicy};
use gix::hash::oid;
use gix::objs::commit::MessageRef;
use gix::objs::{Data, Find, FindExt as _, Kind, TreeRefIter};
use gix::revision::walk::Sorting;
use gix::sec::{Trust, trust};
use gix::traverse::commit::simple::CommitTimeOrder;
use gix::{ObjectId, Repository, ThreadSafeRepository, open};
use imara_diff::{Algorithm, Diff, InternedInput};
use memchr::memmem;

use crate::error::GitError;
use crate::heads::{heads, names};
use crate::past::{Change, Extent, TouchedLocation};
use crate::plain::{self, Objects};

/// The most changes that are kept, the latest ones. `docs/record/eval.md` shows the effect of fewer
/// and more.
pub(crate) const MOST_CHANGES: usize = 2_000;
/// The most commits inspected to find them; merges do not count as changes.
const MOST_COMMITS: usize = 10 * MOST_CHANGES;
/// A change that touches more files than this has no locations: it is about none of them.
const MOST_FILES: usize = 20;
/// The most differences between two trees that are inspected, including folders and new files.
const MOST_DIFFERENCES: usize = 400;
/// A change that touches more locations than this has none.
const MOST_LOCATIONS: usize = 40;
/// A change with more runs of changed lines than this, in all files together, has no locations.
const MOST_HUNKS: usize = 200;
/// A change whose differences extend over more lines than this (before and after, in all files
/// together) has no locations.
const MOST_LINES: usize = 8_000;
/// The longest path, in bytes; no system supports longer ones.
const LONGEST_PATH: usize = 4_096;
/// The most bytes of trees that are read for one change; the last tree is read whole.
const MOST_TREES: usize = 8 << 20;
/// The most bytes of a change's files that are scanned for secrets.
const MOST_MASKED: usize = 256 << 10;
/// The most bytes of a change's paths and names that are stored, so that all changes fit into their
/// file.
const MOST_KEPT: usize = 8 << 10;
/// A larger file, in bytes, is not taken for code.
const LARGEST: u64 = 512 << 10;
/// A NUL within this many leading bytes marks a file as binary.
const TELLING: usize = 8_000;
/// The most bytes of a message that are indexed.
const LONGEST_MESSAGE: usize = 4_096;
/// The most bytes of a message that are scanned for secrets: one may begin before
/// [`LONGEST_MESSAGE`] and end after it.
const LONGEST_MASKED: usize = 64 << 10;
/// How many bytes before and after a line are scanned with it for secrets: more than any rule
/// needs, except rules for keys.
const NEAR_SECRET: usize = 1 << 10;
/// The size of each thread's cache for objects that several commits share, in bytes.
const CACHE: usize = 16 << 20;

/// A repository, and the part of it that is read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The git folder.
    pub(crate) at: PathBuf,
    /// The prefix of the paths that count: empty, or with a final slash.
    pub(crate) prefix: String,
    /// The last commit; `None` for that of `HEAD`.
    tip: Option<ObjectId>,
}

/// A repository in its present state.
pub(crate) struct Opened<'s> {
    source: &'s Source,
    repository: ThreadSafeRepository,
    objects: Objects,
    /// The commits at which a shallow repository ends, sorted.
    shallow: Vec<ObjectId>,
    /// The last commit; `None` if there is no commit yet.
    tip: Option<ObjectId>,
}

/// Why the locations of a change are not known.
#[derive(Debug, PartialEq, Eq)]
enum Untold {
    /// It touched too much.
    Much,
    /// Some of it cannot be read. It may be there another time.
    Missing,
}

impl Source {
    /// The repository around the folder `root`, whose path must be canonical; `None` if there is
    /// none. Like git, searches no further up than `GIT_CEILING_DIRECTORIES`.
    pub(crate) fn around(root: &Path) -> Result<Option<Self>, GitError> {
        let search = upwards::Options {
            trust: TrustPolicy::Assume(Trust::Reduced),
            dot_git_only: true,
            match_ceiling_dir_or_error: false,
            ..upwards::Options::default()
        }
        .apply_environment();
        let ceilings = search.ceiling_dirs.clone();
        plain::around(root, &ceilings)?;
        let trust = trust::Mapping {
            full: options(),
            reduced: options(),
        };
        let repository = match ThreadSafeRepository::discover_opts(root, search, trust) {
            Ok(found) => found.to_thread_local(),
            Err(error) => {
                // Discovery reports a repository that exists but cannot be read as not found, too.
                let end = match error.downcast_any_ref() {
                    Some(upwards::Error::NoGitRepositoryWithinFs { limit, .. }) => Some(limit),
                    _ => None,
                };
                let mut folders = root
                    .ancestors()
                    .take_while(|it| !ceilings.iter().chain(end).any(|end| end == it));
                return if folders.any(|it| it.join(".git").exists()) {
                    Err(GitError::repository(root, error))
                } else {
                    Ok(None)
                };
            }
        };
        let at = repository.git_dir().canonicalize();
        let at = at.map_err(|error| GitError::repository(root, error))?;
        let top = repository.workdir().and_then(|it| it.canonicalize().ok());
        let below = top.and_then(|it| root.strip_prefix(it).ok().map(Path::to_owned));
        // Folders within the git folder are not part of the work tree.
        let Some(below) = below.filter(|_| !root.starts_with(&at)) else {
            return Ok(None);
        };
        let parts = below.iter().map(|it| it.to_string_lossy() + "/");
        Ok(Some(Source {
            at,
            prefix: parts.collect(),
            tip: None,
        }))
    }

    /// The repository whose git folder is `at`, up to `commit`.
    pub(crate) fn of(at: &Path, commit: &str) -> Result<Self, GitError> {
        let tip = ObjectId::from_hex(commit.as_bytes());
        let tip = tip.map_err(|_| GitError::Commit {
            path: at.to_owned(),
            commit: commit.to_owned(),
        })?;
        Ok(Source {
            at: at.to_owned(),
            prefix: String::new(),
            tip: Some(tip),
        })
    }

    /// Opens the repository in its present state.
    pub(crate) fn open(&self) -> Result<Opened<'_>, GitError> {
        let failed = |error| GitError::repository(&self.at, error);
        let objects = plain::at(&self.at)?;
        let repository = ThreadSafeRepository::open_opts(&self.at, options()).map_err(failed)?;
        let local = repository.to_thread_local();
        let tip = match self.tip {
            Some(tip) => Some(tip),
            None => head(&local, &objects)?,
        };
        let shallow = local.shallow_commits().map_err(failed)?;
        let mut shallow: Vec<_> = shallow.map_or_else(Vec::new, |it| it.iter().copied().collect());
        shallow.sort_unstable();
        Ok(Opened {
            source: self,
            repository,
            objects,
            shallow,
            tip,
        })
    }
}

/// The commit of `HEAD`; `None` if there is no commit yet.
fn head(repository: &Repository, objects: &Objects) -> Result<Option<ObjectId>, GitError> {
    let failed = |error| GitError::repository(repository.git_dir(), error);
    let mut head = repository.head().map_err(failed)?;
    // `HEAD` may point to a tag, which is read to find what it points to.
    let is_commit = match head.id() {
        Some(id) => {
            objects.one(&id)?;
            id.header().map_err(failed)?.kind() == Kind::Commit
        }
        None => head.is_unborn(),
    };
    if !is_commit {
        objects.all()?;
    }
    let id = head.try_peel_to_id().map_err(failed)?;
    Ok(id.map(gix::Id::detach))
}

/// The repository is not trusted: nothing is executed, no settings but its own are read, and the
/// size of objects is bounded.
fn options() -> open::Options {
    let options = open::Options::isolated().with(Trust::Reduced);
    // Replacement objects may change while the commits stay the same.
    options.config_overrides(["core.useReplaceRefs=false"])
}

impl Opened<'_> {
    /// Everything on which [`Opened::list`] depends.
    pub(crate) fn extent(&self) -> Extent {
        Extent {
            tip: (self.tip.iter())
                .flat_map(|it| it.as_slice().to_owned())
                .collect(),
            ends: (self.shallow.iter())
                .map(|it| it.as_slice().to_owned())
                .collect(),
            prefix: self.source.prefix.clone(),
        }
    }

    /// The last changes below the prefix, by commit time, the latest first: commits with one
    /// parent, and that parent. In a shallow repository, those that it has. `progress` is called
    /// before each commit is inspected. Commits that `is_known` accepts are below the prefix.
    pub(crate) fn list(
        &self,
        is_known: &dyn Fn(&ObjectId) -> bool,
        progress: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Vec<(ObjectId, ObjectId)>, GitError> {
        let Some(tip) = self.tip else {
            return Ok(Vec::new());
        };
        self.objects.all()?;
        let mut repository = self.repository.to_thread_local();
        repository.object_cache_size(CACHE);
        if repository.find_commit(tip).is_err() {
            return Err(GitError::Commit {
                path: self.source.at.clone(),
                commit: tip.to_string(),
            });
        }
        let walk = repository
            .rev_walk([tip])
            .sorting(Sorting::ByCommitTime(CommitTimeOrder::default()))
            .all()
            .map_err(|error| GitError::repository(&self.source.at, error))?;
        let mut commits = Vec::new();
        // A missing commit has no parents to continue with, but other branches may.
        for commit in walk.take(MOST_COMMITS).filter_map(Result::ok) {
            if progress().is_break() {
                return Err(GitError::Cancelled);
            }
            let [parent] = commit.parent_ids[..] else {
                continue;
            };
            let is_below = || is_known(&commit.id) || self.is_below(&repository, commit.id, parent);
            if self.shallow.binary_search(&commit.id).is_err() && is_below() {
                commits.push((commit.id, parent));
            }
            if commits.len() == MOST_CHANGES {
                break;
            }
        }
        Ok(commits)
    }

    /// Whether `commit` changed anything below the prefix, or this is unknown.
    fn is_below(&self, repository: &Repository, commit: ObjectId, parent: ObjectId) -> bool {
        let trees = Trees::of(repository);
        let folder = |commit| {
            let mut tree = Some(trees.root(commit)?);
            for part in self.source.prefix.split_terminator('/') {
                tree = match tree {
                    Some(id) => trees.entry(id, part)?,
                    None => break,
                };
            }
            Ok::<_, Untold>(tree)
        };
        let is_same = || Ok::<_, Untold>(folder(parent)? == folder(commit)?);
        self.source.prefix.is_empty() || !is_same().unwrap_or(false)
    }

    /// A reader of changes, for one thread.
    pub(crate) fn reader(&self) -> Reader<'_> {
        let mut repository = self.repository.to_thread_local();
        repository.object_cache_size(CACHE);
        Reader {
            repository,
            prefix: &self.source.prefix,
            state: State::default(),
            analyzer: Analyzer::default(),
        }
    }
}

/// Reads changes one by one.
pub(crate) struct Reader<'o> {
    repository: Repository,
    prefix: &'o str,
    state: State,
    analyzer: Analyzer,
}

impl Reader<'_> {
    /// What `commit` changed relative to `parent`. Has no locations if something cannot be read, or
    /// too much was touched.
    pub(crate) fn read(&mut self, commit: ObjectId, parent: ObjectId) -> Change {
        let locations = self.locations(commit, parent);
        Change {
            id: commit.as_slice().to_vec(),
            words: self.message(commit).unwrap_or_default(),
            is_whole: !matches!(locations, Err(Untold::Missing)),
            locations: locations.unwrap_or_default(),
        }
    }

    /// The words of its message without trailers, sorted, with their counts.
    fn message(&mut self, commit: ObjectId) -> Option<Vec<(String, u32)>> {
        let commit = self.repository.find_commit(commit).ok()?;
        let mut whole = commit.message_raw().ok()?.to_str_lossy().into_owned();
        whole.truncate(whole.floor_char_boundary(LONGEST_MASKED));
        mask("", &mut whole);
        let message = MessageRef::from_bytes(whole.as_bytes());
        let body = message.body();
        let body = body.as_ref().map(|it| it.without_trailer().to_str_lossy());
        let mut text = message.title.to_str_lossy().into_owned();
        text.push('\n');
        text.push_str(body.as_deref().unwrap_or_default());
        text.truncate(text.floor_char_boundary(LONGEST_MESSAGE));
        let mut words = self.analyzer.terms(&text);
        words.sort_unstable();
        let counted = words.chunk_by(|a, b| a == b);
        let count = |it: &[String]| u32::try_from(it.len()).unwrap_or(u32::MAX);
        Some(counted.map(|it| (it[0].clone(), count(it))).collect())
    }

    fn locations(
        &mut self,
        commit: ObjectId,
        parent: ObjectId,
    ) -> Result<Vec<TouchedLocation>, Untold> {
        let (mut locations, mut room) = (Vec::new(), Room::default());
        for (old, new, path) in self.files(commit, parent)? {
            let Some(path) = path.to_str().ok().filter(|it| !is_secret_file(it)) else {
                continue;
            };
            let Some(path) = path.strip_prefix(self.prefix) else {
                continue;
            };
            let (Some(old), Some(new)) = (self.text(old)?, self.text(new)?) else {
                continue;
            };
            let lines: Vec<&str> = new.lines().collect();
            let heads = changed(&old, &lines, &mut room).ok_or(Untold::Much)?;
            let said = masked(path, &new, &lines, &heads, &mut room).ok_or(Untold::Much)?;
            let names_of = |heads: &Vec<usize>| names(heads.iter().map(|it| &*said[it]));
            let mut of_file: Vec<_> = heads
                .iter()
                .map(|heads| TouchedLocation {
                    path: path.to_owned(),
                    names: names_of(heads).into_iter().map(str::to_owned).collect(),
                })
                .filter(|it| !it.names.is_empty())
                .collect();
            of_file.sort_unstable();
            of_file.dedup();
            locations.append(&mut of_file);
        }
        let names = locations.iter().flat_map(|it| &it.names);
        let kept: BTreeSet<&String> = names.chain(locations.iter().map(|it| &it.path)).collect();
        let bytes: usize = kept.into_iter().map(String::len).sum();
        if locations.len() > MOST_LOCATIONS || bytes > MOST_KEPT {
            return Err(Untold::Much);
        }
        Ok(locations)
    }

    /// The modified files: old object, new object, path.
    fn files(
        &mut self,
        commit: ObjectId,
        parent: ObjectId,
    ) -> Result<Vec<(ObjectId, ObjectId, BString)>, Untold> {
        let trees = Trees::of(&self.repository);
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let mut few = Few::default();
        let differing = (|| {
            let old = trees.tree(trees.root(parent)?, &mut old)?;
            let new = trees.tree(trees.root(commit)?, &mut new)?;
            let differing = gix::diff::tree(old, new, &mut self.state, &trees, &mut few);
            differing.map_err(|_| Untold::Missing)
        })();
        if few.is_over || trees.left.get() == 0 {
            return Err(Untold::Much);
        }
        differing?;
        let files = few.recorder.records.into_iter();
        let files = files.filter_map(|it| match it {
            recorder::Change::Modification {
                previous_oid,
                oid,
                entry_mode,
                path,
                ..
            } if entry_mode.is_blob() => Some((previous_oid, oid, path)),
            // New files describe themselves.
            _ => None,
        });
        let files: Vec<_> = files.collect();
        if files.len() > MOST_FILES {
            return Err(Untold::Much);
        }
        Ok(files)
    }

    /// The content of a file; `None` if it is binary or too large.
    fn text(&self, id: ObjectId) -> Result<Option<String>, Untold> {
        let header = self.repository.find_header(id);
        if header.map_err(|_| Untold::Missing)?.size() > LARGEST {
            return Ok(None);
        }
        let object = self.repository.find_object(id);
        let bytes = object.map_err(|_| Untold::Missing)?.detach().data;
        let is_text = !bytes.iter().take(TELLING).any(|&it| it == 0);
        Ok(is_text.then(|| match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }))
    }
}

/// What is left of the limits of a change.
struct Room {
    lines: usize,
    hunks: usize,
    masked: usize,
}

impl Default for Room {
    fn default() -> Self {
        Room {
            lines: MOST_LINES,
            hunks: MOST_HUNKS,
            masked: MOST_MASKED,
        }
    }
}

/// The trees of a repository, read up to [`MOST_TREES`] bytes. A tree beyond that is not found.
struct Trees<'r> {
    repository: &'r Repository,
    /// The bytes that may still be read; 0 if a tree may have been refused.
    left: Cell<usize>,
}

impl<'r> Trees<'r> {
    fn of(repository: &'r Repository) -> Self {
        Trees {
            repository,
            left: Cell::new(MOST_TREES),
        }
    }

    /// The tree of a commit.
    fn root(&self, commit: ObjectId) -> Result<ObjectId, Untold> {
        let commit = self.repository.find_commit(commit);
        let tree = commit.and_then(|it| Ok(it.tree_id()?.detach()));
        tree.map_err(|_| Untold::Missing)
    }

    fn tree<'b>(&self, id: ObjectId, bytes: &'b mut Vec<u8>) -> Result<TreeRefIter<'b>, Untold> {
        let tree = self.find_tree_iter(&id, bytes);
        tree.map_err(|_| Untold::Missing)
    }

    /// The subtree `name` of the tree `id`.
    fn entry(&self, id: ObjectId, name: &str) -> Result<Option<ObjectId>, Untold> {
        let mut bytes = Vec::new();
        for entry in self.tree(id, &mut bytes)? {
            let entry = entry.map_err(|_| Untold::Missing)?;
            if entry.filename == name {
                return Ok(entry.mode.is_tree().then(|| entry.oid.to_owned()));
            }
        }
        Ok(None)
    }
}

impl Find for Trees<'_> {
    fn try_find<'b>(&self, id: &oid, bytes: &'b mut Vec<u8>) -> gix::Result<Option<Data<'b>>> {
        let found = if self.left.get() > 0 {
            self.repository.objects.try_find(id, bytes)?
        } else {
            None
        };
        let size = found.as_ref().map_or(0, |it| it.data.len());
        self.left.set(self.left.get().saturating_sub(size));
        Ok(found)
    }
}

/// For each run of lines that differs between two texts, the indices of its heads (without
/// duplicates). `None` if the limits in `room` are exceeded: comparing takes quadratic time where
/// lines are alike, so all lines from the first to the last difference are charged to `room`.
fn changed(old: &str, lines: &[&str], room: &mut Room) -> Option<Vec<Vec<usize>>> {
    let mut new = lines;
    let mut old: Vec<&str> = old.lines().collect();
    let is_same = |(a, b): &(&&str, &&str)| a == b;
    let before = old.iter().zip(new).take_while(is_same).count();
    old.drain(..before);
    new = &new[before..];
    let ends = old.iter().rev().zip(new.iter().rev());
    let after = ends.take_while(is_same).count();
    old.truncate(old.len() - after);
    new = &new[..new.len() - after];
    room.lines = room.lines.checked_sub(old.len() + new.len())?;
    let mut input = InternedInput::default();
    input.update_before(old.into_iter());
    input.update_after(new.iter().copied());
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let mut locations = Vec::new();
    for hunk in diff.hunks() {
        room.hunks = room.hunks.checked_sub(1)?;
        let index = |it: u32| before + usize::try_from(it).unwrap_or(lines.len());
        locations.push(heads(lines, index(hunk.after.start)..index(hunk.after.end)));
    }
    locations.sort_unstable();
    locations.dedup();
    Some(locations)
}

/// The lines of `text` with the indices `heads`, with secrets masked as in the file at `path`:
/// judged by the text near them, or by the whole text if it may have a key, which spans many lines.
/// `None` if `room` does not suffice.
fn masked(
    path: &str,
    text: &str,
    lines: &[&str],
    heads: &[Vec<usize>],
    room: &mut Room,
) -> Option<BTreeMap<usize, String>> {
    let numbers: BTreeSet<usize> = heads.iter().flatten().copied().collect();
    let spans = numbers.iter().map(|&it| {
        let start = lines[it].as_ptr().addr() - text.as_ptr().addr();
        (it, start..start + lines[it].len())
    });
    let spans: Vec<_> = spans.collect();
    let near = if has_key(text) {
        text.len()
    } else {
        NEAR_SECRET
    };
    let mut said = BTreeMap::new();
    for run in spans.chunk_by(|a, b| a.1.end + near >= b.1.start.saturating_sub(near)) {
        let (first, last) = (&run[0].1, &run[run.len() - 1].1);
        let start = text.floor_char_boundary(first.start.saturating_sub(near));
        let end = text.ceil_char_boundary(last.end.saturating_add(near).min(text.len()));
        room.masked = room.masked.checked_sub(end - start)?;
        let mut window = text[start..end].to_owned();
        mask(path, &mut window);
        let shown = run.iter().map(|(number, span)| {
            (
                *number,
                window[span.start - start..span.end - start].to_owned(),
            )
        });
        said.extend(shown);
    }
    Some(said)
}

/// Whether a key may begin in `text`, by the rules for keys.
fn has_key(text: &str) -> bool {
    let text = text.as_bytes();
    memmem::find_iter(text, b"-----").any(|at| {
        let said = text[at + 5..].first_chunk::<5>();
        said.is_some_and(|it| it.eq_ignore_ascii_case(b"begin"))
    })
}

/// Records the differences between two trees, up to the limits.
#[derive(Default)]
struct Few {
    recorder: Recorder,
    is_over: bool,
}

impl gix::diff::tree::Visit for Few {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.recorder.pop_front_tracked_path_and_set_current();
    }
    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.recorder.push_back_tracked_path_component(component);
    }
    fn push_path_component(&mut self, component: &BStr) {
        self.recorder.push_path_component(component);
    }
    fn pop_path_component(&mut self) {
        self.recorder.pop_path_component();
    }
    fn visit(&mut self, change: visit::Change) -> visit::Action {
        let is_long = self.recorder.path().len() > LONGEST_PATH;
        if is_long || self.recorder.records.len() == MOST_DIFFERENCES {
            self.is_over = true;
            return visit::Action::Break(());
        }
        self.recorder.visit(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heads in `text` for a change that replaces the first `old` by `new`.
    fn told(text: &str, old: &str, new: &str, lines: usize) -> Option<Vec<Vec<String>>> {
        let now = text.replacen(old, new, 1);
        let mut room = Room {
            lines,
            ..Room::default()
        };
        let lines_now: Vec<&str> = now.lines().collect();
        let locations = changed(text, &lines_now, &mut room)?;
        let told = |it: Vec<usize>| it.into_iter().map(|it| lines_now[it].to_owned()).collect();
        Some(locations.into_iter().map(told).collect())
    }

    #[test]
    fn the_text_searched_for_secrets_is_bounded_and_cut_at_whole_characters() {
        let head = format!("def take():  # {}\n    pass\n", "é".repeat(90));
        let text = "é\n".repeat(100_000) + &head + &"é\n".repeat(100_000);
        let lines: Vec<&str> = text.lines().collect();
        let of = |text: &str, masked: usize| {
            let mut room = Room {
                masked,
                ..Room::default()
            };
            let lines: Vec<&str> = text.lines().collect();
            let said = super::masked("a.py", text, &lines, &[vec![100_000]], &mut room);
            said.map(|it| (it[&100_000].clone(), masked - room.masked))
        };
        let (said, bytes) = of(&text, MOST_MASKED).unwrap();
        assert_eq!(said, lines[100_000]);
        assert!(
            (2 * NEAR_SECRET..3 * NEAR_SECRET).contains(&bytes),
            "{bytes}"
        );
        assert_eq!(of(&text, 2 * NEAR_SECRET), None);
        let has_key = text.clone() + "-----bEGIN RSA PRIVATE KEY-----\n";
        assert_eq!(of(&has_key, MOST_MASKED), None);
    }

    #[test]
    fn trees_are_read_as_far_as_there_is_room() {
        let root = tempfile::tempdir().unwrap();
        let mut repository = ctx_testkit::git::Repository::init(root.path());
        repository.commit("Begin", &[("src/a/b.rs", Some("fn a() {}\n"))]);
        let root = root.path().canonicalize().unwrap();
        let source = Source::around(&root).unwrap().unwrap();
        let opened = source.open().unwrap();
        let repository = opened.repository.to_thread_local();
        let trees = Trees::of(&repository);
        let top = trees.root(opened.tip.unwrap()).unwrap();
        let below = trees.entry(top, "src").unwrap().unwrap();
        assert!(trees.entry(below, "a").unwrap().is_some());
        assert_eq!(trees.entry(below, "b"), Ok(None));
        // The last tree is read whole.
        trees.left.set(1);
        assert!(trees.entry(below, "a").unwrap().is_some());
        assert_eq!(trees.left.get(), 0);
        assert_eq!(trees.entry(below, "a"), Err(Untold::Missing));
    }

    #[test]
    fn lines_that_a_change_keeps_take_no_room() {
        let take = "def take():\n    one()\n    two()\n";
        let text = "pass\n".repeat(9_000) + take + &"pass\n".repeat(9_000);
        let heads = vec![vec!["def take():".to_owned()]];
        assert_eq!(told(&text, "one", "1", 2), Some(heads.clone()));
        assert_eq!(told(&text, "one", "1", 1), None);
        assert_eq!(told(&text, "    two()\n", "", 1), Some(heads));
        assert_eq!(told(&text, "none", "1", 0), Some(Vec::new()));
    }

    #[test]
    fn lines_that_are_all_alike_are_compared_no_further_than_there_is_room() {
        let mut random = 1_u64;
        let mut text = || -> String {
            let line = |_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                if random.is_multiple_of(2) {
                    "a\n"
                } else {
                    "b\n"
                }
            };
            (0..250_000).map(line).collect()
        };
        let (old, new) = (text(), text());
        let of = |old: &str, new: &str, room: &mut Room| {
            changed(old, &new.lines().collect::<Vec<_>>(), room)
        };
        assert_eq!(of(&old, &new, &mut Room::default()), None);
        let short = |it: &str| it[..MOST_LINES].to_owned();
        let mut room = Room::default();
        assert_eq!(of(&short(&old), &short(&new), &mut room), None);
        assert!(room.lines < 100, "it was compared: {}", room.lines);
    }
}
