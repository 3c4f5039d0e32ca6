//! What a git repository says: commits, their messages, and the places that they touched.

use std::path::{Path, PathBuf};

use ctx_rank::Analyzer;
use ctx_secrets::mask;
use gix::bstr::{BStr, ByteSlice as _};
use gix::diff::tree::{Recorder, State, recorder, visit};
use gix::discover::upwards::{self, TrustPolicy};
use gix::objs::TreeRefIter;
use gix::revision::walk::Sorting;
use gix::sec::{Trust, trust};
use gix::traverse::commit::simple::CommitTimeOrder;
use gix::{ObjectId, Repository, ThreadSafeRepository, open};
use imara_diff::{Algorithm, Diff, InternedInput};

use crate::error::GitError;
use crate::heads::heads;
use crate::past::{Change, Place};

/// So many changes at most, the latest. `docs/record/eval.md` has what fewer and more show.
pub(crate) const MOST_CHANGES: usize = 2_000;
/// So many commits at most are looked at for them: merges are no changes.
const MOST_COMMITS: usize = 10 * MOST_CHANGES;
/// What touches more files is about none of them.
const MOST_FILES: usize = 20;
/// So many differences between two trees are looked at, folders and new files included.
const MOST_DIFFERENCES: usize = 400;
/// What touches more places is about none of them,
const MOST_PLACES: usize = 40;
/// nor is what differs in more runs of lines of one file,
const MOST_HUNKS: usize = 200;
/// or in lines that are further apart, of all files together, before and after.
const MOST_LINES: usize = 8_000;
/// A larger file is nobody's code, in bytes.
const LARGEST: u64 = 512 << 10;
/// In so many first bytes a file that is no text has a NUL.
const TELLING: usize = 8_000;
/// A message is read so far, in bytes.
const LONGEST_MESSAGE: usize = 4_096;
/// Objects that several commits share are kept, in bytes for each thread.
const CACHE: usize = 16 << 20;

/// Which repository, and what of it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The git folder.
    pub(crate) at: PathBuf,
    /// What paths begin with of the files that are asked for: empty, or it ends in a slash.
    pub(crate) prefix: String,
    /// The last commit; that of `HEAD` where none is given.
    tip: Option<ObjectId>,
}

/// What is known of a repository before any change is read.
pub(crate) struct Listed {
    repository: ThreadSafeRepository,
    /// The commits with one parent, and that: the latest first.
    pub(crate) commits: Vec<(ObjectId, ObjectId)>,
}

impl Source {
    /// The repository that the folder `root`, whose path is canonical, is in; `None` if it is in none. As git does, it looks no
    /// further up than `GIT_CEILING_DIRECTORIES` says.
    pub(crate) fn around(root: &Path) -> Result<Option<Self>, GitError> {
        let search = upwards::Options {
            trust: TrustPolicy::Assume(Trust::Reduced),
            dot_git_only: true,
            match_ceiling_dir_or_error: false,
            ..upwards::Options::default()
        }
        .apply_environment();
        let ceilings = search.ceiling_dirs.clone();
        let trust = trust::Mapping {
            full: options(),
            reduced: options(),
        };
        let repository = match ThreadSafeRepository::discover_opts(root, search, trust) {
            Ok(found) => found.to_thread_local(),
            Err(error) => {
                // One that is there and cannot be read is not found either.
                let mut folders = root
                    .ancestors()
                    .take_while(|it| !ceilings.iter().any(|c| c == it));
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
        // What is in the git folder is no file of the repository.
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

    fn open(&self) -> Result<ThreadSafeRepository, GitError> {
        let opened = ThreadSafeRepository::open_opts(&self.at, options());
        opened.map_err(|error| GitError::repository(&self.at, error))
    }

    /// The commit up to which changes are read; `None` where there is none yet.
    fn tip_in(&self, repository: &Repository) -> Result<Option<ObjectId>, GitError> {
        if self.tip.is_some() {
            return Ok(self.tip);
        }
        let head = repository.head();
        let id = head.and_then(|mut it| Ok(it.try_peel_to_id()?.map(gix::Id::detach)));
        id.map_err(|error| GitError::repository(&self.at, error))
    }

    /// What [`Listed`] depends on.
    pub(crate) fn tip(&self) -> Result<Option<ObjectId>, GitError> {
        self.tip_in(&self.open()?.to_thread_local())
    }

    /// The last changes up to `tip`, by when they were committed. Where the repository ends before its history, as a shallow one does, so
    /// do they.
    pub(crate) fn list(&self, tip: ObjectId) -> Result<Listed, GitError> {
        let repository = self.open()?;
        let mut commits = Vec::new();
        {
            let repository = repository.to_thread_local();
            if repository.find_commit(tip).is_err() {
                return Err(GitError::Commit {
                    path: self.at.clone(),
                    commit: tip.to_string(),
                });
            }
            let walk = repository.rev_walk([tip]);
            let walk = walk.sorting(Sorting::ByCommitTime(CommitTimeOrder::default()));
            let walk = walk.all();
            let walk = walk.map_err(|error| GitError::repository(&self.at, error))?;
            for commit in walk.take(MOST_COMMITS).map_while(Result::ok) {
                if let [parent] = commit.parent_ids[..] {
                    commits.push((commit.id, parent));
                }
                if commits.len() == MOST_CHANGES {
                    break;
                }
            }
        }
        Ok(Listed {
            repository,
            commits,
        })
    }
}

/// Whoever wrote the repository is not trusted: nothing is run, nothing is read but its own folder, and what its objects say they
/// take is bounded.
fn options() -> open::Options {
    open::Options::isolated().with(Trust::Reduced)
}

impl Listed {
    /// Who reads changes on one thread.
    pub(crate) fn reader(&self) -> Reader {
        let mut repository = self.repository.to_thread_local();
        repository.object_cache_size(CACHE);
        Reader {
            repository,
            state: State::default(),
            analyzer: Analyzer::default(),
        }
    }
}

/// Reads changes one by one.
pub(crate) struct Reader {
    repository: Repository,
    state: State,
    analyzer: Analyzer,
}

impl Reader {
    /// What `commit` changed of its `parent` below `prefix`. One of which something cannot be read, or that touches too much, has touched
    /// nothing.
    pub(crate) fn read(&mut self, commit: ObjectId, parent: ObjectId, prefix: &str) -> Change {
        Change {
            id: commit.as_slice().to_vec(),
            words: self.message(commit).unwrap_or_default(),
            places: self.places(commit, parent, prefix).unwrap_or_default(),
        }
    }

    /// The words of its message, without its trailers; each as often as it is said, in their order.
    fn message(&mut self, commit: ObjectId) -> Option<Vec<(String, u32)>> {
        let commit = self.repository.find_commit(commit).ok()?;
        let message = commit.message().ok()?;
        let body = message.body();
        let body = body.as_ref().map(|it| it.without_trailer().to_str_lossy());
        let mut text = message.title.to_str_lossy().into_owned();
        text.push('\n');
        text.push_str(body.as_deref().unwrap_or_default());
        text.truncate(text.floor_char_boundary(LONGEST_MESSAGE));
        mask("", &mut text);
        let mut words = self.analyzer.terms(&text);
        words.sort_unstable();
        let counted = words.chunk_by(|a, b| a == b);
        let count = |it: &[String]| u32::try_from(it.len()).unwrap_or(u32::MAX);
        Some(counted.map(|it| (it[0].clone(), count(it))).collect())
    }

    fn places(&mut self, commit: ObjectId, parent: ObjectId, prefix: &str) -> Option<Vec<Place>> {
        let (mut places, mut room) = (Vec::new(), MOST_LINES);
        for (old, new, path) in self.files(commit, parent)? {
            let Some(path) = path.to_str().ok().and_then(|it| it.strip_prefix(prefix)) else {
                continue;
            };
            let (Some(old), Some(new)) = (self.text(old), self.text(new)) else {
                continue;
            };
            let of_file = changed(&old, &new, &mut room)?;
            places.extend(of_file.into_iter().map(|names| Place {
                path: path.to_owned(),
                names: names.into_iter().map(str::to_owned).collect(),
            }));
        }
        (places.len() <= MOST_PLACES).then_some(places)
    }

    /// The files that were changed: before, after, and where; `None` if there are too many.
    fn files(
        &mut self,
        commit: ObjectId,
        parent: ObjectId,
    ) -> Option<Vec<(ObjectId, ObjectId, gix::bstr::BString)>> {
        let tree = |commit| self.repository.find_commit(commit).ok()?.tree().ok();
        let (old, new) = (tree(parent)?, tree(commit)?);
        let kind = self.repository.object_hash();
        let mut few = Few::default();
        gix::diff::tree(
            TreeRefIter::from_bytes(&old.data, kind),
            TreeRefIter::from_bytes(&new.data, kind),
            &mut self.state,
            &self.repository.objects,
            &mut few,
        )
        .ok()?;
        let files = few.recorder.records.into_iter();
        let files = files.filter_map(|it| match it {
            recorder::Change::Modification {
                previous_oid,
                oid,
                entry_mode,
                path,
                ..
            } if entry_mode.is_blob() => Some((previous_oid, oid, path)),
            // What is new says itself what it is for.
            _ => None,
        });
        let files: Vec<_> = files.collect();
        (files.len() <= MOST_FILES).then_some(files)
    }

    /// What a file said, if it is a text and no large one.
    fn text(&self, id: ObjectId) -> Option<String> {
        let header = self.repository.find_header(id).ok()?;
        if header.size() > LARGEST {
            return None;
        }
        let bytes = self.repository.find_object(id).ok()?.detach().data;
        let is_text = !bytes.iter().take(TELLING).any(|&it| it == 0);
        is_text.then(|| match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }
}

/// The words of what each run of lines is in that differs between two texts, each once; those of which no word is known are left out.
/// `None` if that is too much: comparing takes the square of the lines where they are alike, of which as many are taken from `room`
/// as there are between the first and the last that differ.
fn changed<'n>(old: &str, new: &'n str, room: &mut usize) -> Option<Vec<Vec<&'n str>>> {
    let lines: Vec<&str> = new.lines().collect();
    let mut old: Vec<&str> = old.lines().collect();
    let mut new = &*lines;
    let is_same = |(a, b): &(&&str, &&str)| a == b;
    let before = old.iter().zip(new).take_while(is_same).count();
    old.drain(..before);
    new = &new[before..];
    let ends = old.iter().rev().zip(new.iter().rev());
    let after = ends.take_while(is_same).count();
    old.truncate(old.len() - after);
    new = &new[..new.len() - after];
    *room = room.checked_sub(old.len() + new.len())?;
    let mut input = InternedInput::default();
    input.update_before(old.into_iter());
    input.update_after(new.iter().copied());
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let mut places = Vec::new();
    for (number, hunk) in diff.hunks().enumerate() {
        if number == MOST_HUNKS {
            return None;
        }
        let index = |it: u32| before + usize::try_from(it).unwrap_or(lines.len());
        places.push(heads(
            &lines,
            index(hunk.after.start)..index(hunk.after.end),
        ));
    }
    places.retain(|it| !it.is_empty());
    places.sort_unstable();
    places.dedup();
    Some(places)
}

/// Notes what differs between two trees, and stops where that is too much.
#[derive(Default)]
struct Few {
    recorder: Recorder,
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
        if self.recorder.records.len() == MOST_DIFFERENCES {
            return visit::Action::Break(());
        }
        self.recorder.visit(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of `text` that say where a change is, for one that replaces the first `old` by `new`.
    fn told(text: &str, old: &str, new: &str, mut room: usize) -> Option<Vec<Vec<String>>> {
        let now = text.replacen(old, new, 1);
        let places = changed(text, &now, &mut room)?;
        let owned = |it: Vec<&str>| it.into_iter().map(str::to_owned).collect();
        Some(places.into_iter().map(owned).collect())
    }

    #[test]
    fn what_is_alike_before_and_after_a_change_takes_no_room() {
        let take = "def take():\n    one()\n    two()\n";
        let text = "pass\n".repeat(9_000) + take + &"pass\n".repeat(9_000);
        let names = vec![vec!["take".to_owned(), "def".to_owned()]];
        assert_eq!(told(&text, "one", "1", 2), Some(names.clone()));
        assert_eq!(told(&text, "one", "1", 1), None);
        assert_eq!(told(&text, "    two()\n", "", 1), Some(names));
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
        assert_eq!(changed(&old, &new, &mut { MOST_LINES }), None);
        let short = |it: &str| it[..MOST_LINES].to_owned();
        let mut room = MOST_LINES;
        assert_eq!(changed(&short(&old), &short(&new), &mut room), None);
        assert!(room < 100, "it was compared: {room}");
    }
}
