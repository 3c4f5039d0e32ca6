//! Git repositories for tests, made without git: the same commits have the same ids every time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::actor::Signature;
use gix::date::Time;
use gix::objs::tree::{Entry, EntryKind};
use gix::objs::{Commit, Tree};

/// The time of the first commit, in seconds since 1970.
const BEGIN: i64 = 1_700_000_000;

/// A repository with a work tree.
#[derive(Debug)]
pub struct Repository {
    inner: gix::Repository,
    root: PathBuf,
    /// The files of the last commit, by path.
    files: BTreeMap<String, ObjectId>,
    commits: u32,
}

impl Repository {
    /// Makes an empty repository in the folder `root`, which must exist.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn init(root: &Path) -> Self {
        let inner = gix::init(root).expect("the folder can be written");
        Repository {
            inner,
            root: root.to_owned(),
            files: BTreeMap::new(),
            commits: 0,
        }
    }

    /// Writes `files`, removes those without a text, and commits the changes with a time one minute
    /// after the previous commit. Returns the id of the commit.
    ///
    /// # Panics
    /// If they cannot be written.
    pub fn commit(&mut self, message: &str, files: &[(&str, Option<&str>)]) -> String {
        let parents = self.head();
        self.commit_on(&parents, message, files)
    }

    /// As [`Repository::commit`], with other parents: two make a merge.
    ///
    /// # Panics
    /// If they cannot be written.
    pub fn commit_on(
        &mut self,
        parents: &[ObjectId],
        message: &str,
        files: &[(&str, Option<&str>)],
    ) -> String {
        for (path, text) in files {
            let at = self.root.join(path);
            if let Some(text) = text {
                let folder = at.parent().expect("a file is in a folder");
                fs::create_dir_all(folder).expect("the folder can be made");
                fs::write(&at, text).expect("the file can be written");
                let blob = self
                    .inner
                    .write_blob(text)
                    .expect("the text can be written");
                self.files.insert((*path).to_owned(), blob.detach());
            } else {
                let _ = fs::remove_file(&at);
                self.files.remove(*path);
            }
        }
        self.commit_tree(parents, message)
    }

    /// As [`Repository::commit`], but writes no file into the work tree, so any path is possible.
    ///
    /// # Panics
    /// If they cannot be written.
    pub fn commit_objects(&mut self, message: &str, files: &[(&str, &str)]) -> String {
        for (path, text) in files {
            let blob = self.inner.write_blob(text);
            let blob = blob.expect("the text can be written").detach();
            self.files.insert((*path).to_owned(), blob);
        }
        let parents = self.head();
        self.commit_tree(&parents, message)
    }

    fn head(&self) -> Vec<ObjectId> {
        let head = self.inner.head().expect("there is a head");
        head.id().map(gix::Id::detach).into_iter().collect()
    }

    fn commit_tree(&mut self, parents: &[ObjectId], message: &str) -> String {
        self.commits += 1;
        let files: Vec<(&str, ObjectId)> = self.files.iter().map(|(p, id)| (&**p, *id)).collect();
        let by = Signature {
            name: "Ada".into(),
            email: "ada@example.com".into(),
            time: Time::new(BEGIN + 60 * i64::from(self.commits), 0),
        };
        let commit = Commit {
            tree: self.tree(&files),
            parents: parents.iter().copied().collect(),
            author: by.clone(),
            committer: by,
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        let id = self.inner.write_object(&commit).expect("it can be written");
        let id = id.to_string();
        self.set_head(&id);
        id
    }

    /// Sets HEAD to the commit `id`, and leaves the files unchanged.
    ///
    /// # Panics
    /// If the repository cannot be written.
    pub fn set_head(&self, id: &str) {
        let head = self.inner.git_dir().join("HEAD");
        fs::write(head, format!("{id}\n")).expect("the head can be written");
    }

    /// Writes the tree of `files`, which are sorted.
    fn tree(&self, files: &[(&str, ObjectId)]) -> ObjectId {
        let mut entries = Vec::new();
        let folder = |path: &str| path.split_once('/').map(|(folder, _)| folder.to_owned());
        for run in files.chunk_by(|a, b| folder(a.0).is_some() && folder(a.0) == folder(b.0)) {
            let (name, kind, oid) = match folder(run[0].0) {
                None => (run[0].0.to_owned(), EntryKind::Blob, run[0].1),
                Some(name) => {
                    let below = |&(path, id): &(_, _)| (path_in(path, &name), id);
                    let below: Vec<_> = run.iter().map(below).collect();
                    let tree = self.tree(&below);
                    (name, EntryKind::Tree, tree)
                }
            };
            entries.push(Entry {
                mode: kind.into(),
                filename: name.into(),
                oid,
            });
        }
        entries.sort();
        let tree = self.inner.write_object(&Tree { entries });
        tree.expect("the tree can be written").detach()
    }
}

fn path_in<'p>(path: &'p str, folder: &str) -> &'p str {
    path.get(folder.len() + 1..).unwrap_or_default()
}
