//! Counts of files, added up folder by folder.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A tree of files and folders; node 0 holds everything.
// Invariant: a folder's tokens and files are the sums over what is in it.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// The node of each folder: only looked up, never iterated.
    folders: HashMap<String, usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Node {
    /// The whole path; empty for node 0.
    pub(crate) path: String,
    pub(crate) tokens: u64,
    pub(crate) files: u64,
    pub(crate) is_folder: bool,
    children: Vec<usize>,
}

impl Node {
    /// The last component of the path, with a `/` for a folder.
    pub(crate) fn label(&self) -> String {
        let name = match self.path.rfind('/') {
            // A root of the file system, not of the tree.
            None | Some(0) => &*self.path,
            Some(slash) => &self.path[slash + 1..],
        };
        match (&*self.path, self.is_folder) {
            ("", _) => "total".to_owned(),
            (_, true) => format!("{name}/"),
            (_, false) => name.to_owned(),
        }
    }
}

impl Tree {
    /// Adds up `counts`, each for one path, in time linear in the length of the paths.
    pub(crate) fn new(counts: impl IntoIterator<Item = (String, u64)>) -> Self {
        let top = Node {
            is_folder: true,
            ..Node::default()
        };
        let mut tree = Tree {
            nodes: vec![top],
            folders: HashMap::new(),
        };
        for (path, tokens) in counts {
            tree.add(path, tokens);
        }
        tree.sort();
        tree
    }

    fn add(&mut self, path: String, tokens: u64) {
        let mut parent = 0;
        self.count(parent, tokens);
        // A leading `/` is not a folder's name.
        for (slash, _) in path.match_indices('/').filter(|(at, _)| *at > 0) {
            parent = self.folder(&path[..slash], parent);
            self.count(parent, tokens);
        }
        let file = Node {
            path,
            tokens,
            files: 1,
            ..Node::default()
        };
        self.push(file, parent);
    }

    fn count(&mut self, node: usize, tokens: u64) {
        self.nodes[node].tokens += tokens;
        self.nodes[node].files += 1;
    }

    fn folder(&mut self, path: &str, parent: usize) -> usize {
        if let Some(&known) = self.folders.get(path) {
            return known;
        }
        let folder = Node {
            path: path.to_owned(),
            is_folder: true,
            ..Node::default()
        };
        let index = self.push(folder, parent);
        self.folders.insert(path.to_owned(), index);
        index
    }

    fn push(&mut self, node: Node, parent: usize) -> usize {
        let index = self.nodes.len();
        self.nodes.push(node);
        self.nodes[parent].children.push(index);
        index
    }

    /// Sorts by size, largest first, and then by path.
    fn sort(&mut self) {
        for at in 0..self.nodes.len() {
            let mut children = std::mem::take(&mut self.nodes[at].children);
            children.sort_by(|a, b| {
                let (a, b) = (&self.nodes[*a], &self.nodes[*b]);
                (Reverse(a.tokens), &a.path).cmp(&(Reverse(b.tokens), &b.path))
            });
            self.nodes[at].children = children;
        }
    }

    pub(crate) fn top(&self) -> &Node {
        &self.nodes[0]
    }

    /// Every node at most `depth` levels below the top, each before its children, with its depth.
    pub(crate) fn rows(&self, depth: usize) -> impl Iterator<Item = (usize, &Node)> {
        let mut open = vec![(0, 0)];
        std::iter::from_fn(move || {
            let (level, index) = open.pop()?;
            let node = &self.nodes[index];
            if level < depth {
                open.extend(node.children.iter().rev().map(|child| (level + 1, *child)));
            }
            Some((level, node))
        })
    }

    /// The children of the top in their wire form, at most `depth` levels deep.
    pub(crate) fn entries(&self, depth: usize) -> Entries<'_> {
        Entries {
            tree: self,
            node: 0,
            depth,
        }
    }
}

/// The entries of one folder, each with its own entries.
#[derive(Debug)]
pub(crate) struct Entries<'t> {
    tree: &'t Tree,
    node: usize,
    depth: usize,
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = if self.depth == 0 {
            &[][..]
        } else {
            &self.tree.nodes[self.node].children
        };
        serializer.collect_seq(shown.iter().map(|node| {
            Entry(Entries {
                tree: self.tree,
                node: *node,
                depth: self.depth - 1,
            })
        }))
    }
}

struct Entry<'t>(Entries<'t>);

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let node = &self.0.tree.nodes[self.0.node];
        let mut entry = serializer.serialize_struct("Entry", 4)?;
        entry.serialize_field("path", &node.path)?;
        entry.serialize_field("tokens", &node.tokens)?;
        if node.is_folder {
            entry.serialize_field("files", &node.files)?;
            entry.serialize_field("entries", &self.0)?;
        }
        entry.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let counts = [
            ("a/x", 3),
            ("a/b/y", 4),
            ("z", 5),
            ("/etc/hosts", 1),
            ("c", 5),
        ];
        Tree::new(counts.map(|(path, n)| (path.to_owned(), n)))
    }

    #[test]
    fn folders_are_sums_and_the_largest_comes_first() {
        let tree = tree();
        let rows: Vec<_> = tree
            .rows(usize::MAX)
            .map(|(level, n)| (level, n.label(), n.tokens, n.files))
            .collect();
        let expected = [
            (0, "total", 18, 5),
            (1, "a/", 7, 2),
            (2, "b/", 4, 1),
            (3, "y", 4, 1),
            (2, "x", 3, 1),
            (1, "c", 5, 1),
            (1, "z", 5, 1),
            (1, "/etc/", 1, 1),
            (2, "hosts", 1, 1),
        ];
        assert_eq!(
            rows,
            expected.map(|(level, name, tokens, files)| (level, name.to_owned(), tokens, files))
        );
    }

    #[test]
    fn depth_cuts_rows_and_entries_alike() {
        let tree = tree();
        assert_eq!(tree.rows(0).count(), 1);
        assert_eq!(tree.rows(1).count(), 5);
        assert_eq!(serde_json::to_string(&tree.entries(0)).unwrap(), "[]");
        let wire = serde_json::to_value(tree.entries(1)).unwrap();
        assert_eq!(
            wire[0],
            serde_json::json!({"path": "a", "tokens": 7, "files": 2, "entries": []})
        );
        assert_eq!(wire[1], serde_json::json!({"path": "c", "tokens": 5}));
    }
}
