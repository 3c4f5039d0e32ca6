//! Detection of renamed files, so that the usage of a file follows it.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifest::FileRow;

/// If more files change within one update, no rename is detected: each change takes some hundred
/// bytes.
const MOST: usize = 1 << 16;

/// The texts that left a path within one update, and the texts that came to one.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Whether any usage is recorded that could follow.
    is_wanted: bool,
    left: Vec<Left>,
    came: Vec<(Hash, String)>,
}

type Hash = [u8; 32];

/// A text that is no longer at its path.
#[derive(Debug)]
struct Left {
    hash: Hash,
    path: String,
    /// Whether the file is gone, rather than replaced by another text.
    is_gone: bool,
}

/// The paths that one text left, and those that it came to.
#[derive(Debug, Default)]
struct Text {
    left: Occurrence<Left>,
    came: Occurrence<String>,
}

/// No path, one, or several.
#[derive(Debug, Default)]
enum Occurrence<T> {
    #[default]
    Nowhere,
    One(T),
    /// Several, so that a rename cannot be inferred.
    Several,
}

impl<T> Occurrence<T> {
    fn note(&mut self, place: T) {
        *self = match self {
            Occurrence::Nowhere => Occurrence::One(place),
            Occurrence::One(_) | Occurrence::Several => Occurrence::Several,
        };
    }
}

impl Moves {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Moves {
            is_wanted,
            ..Moves::default()
        }
    }

    /// Records that the file at `path` is gone, of which `known` was known.
    pub(crate) fn gone(&mut self, path: &str, known: Option<&FileRow>) {
        self.leave(path, known, true);
    }

    /// Records that the file at `path`, of which `known` was known, now has the text of `row`.
    pub(crate) fn changed(&mut self, path: &str, known: Option<&FileRow>, row: &FileRow) {
        let hash = row.text_hash().filter(|_| self.has_room());
        if hash == known.and_then(FileRow::text_hash) {
            return;
        }
        self.leave(path, known, false);
        self.came.extend(hash.map(|hash| (hash, path.to_owned())));
    }

    fn leave(&mut self, path: &str, known: Option<&FileRow>, is_gone: bool) {
        let hash = known.and_then(FileRow::text_hash);
        let left = hash.filter(|_| self.has_room()).map(|hash| Left {
            hash,
            path: path.to_owned(),
            is_gone,
        });
        self.left.extend(left);
    }

    fn has_room(&self) -> bool {
        self.is_wanted && self.left.len().max(self.came.len()) <= MOST
    }

    /// The renames, as old path and new path; no path occurs twice among the old or among the new
    /// ones. A text that left one path and came to one was renamed if the old path is gone or
    /// another renamed file took it. If the old path still exists with an unrelated text, the file
    /// was copied and then edited, which is no rename. O(n log n).
    pub(crate) fn all(self) -> Vec<(String, String)> {
        if !self.has_room() {
            return Vec::new();
        }
        let mut texts = BTreeMap::new();
        for left in self.left {
            let text: &mut Text = texts.entry(left.hash).or_default();
            text.left.note(left);
        }
        for (hash, path) in self.came {
            texts.entry(hash).or_default().came.note(path);
        }
        let moves = texts
            .into_values()
            .filter_map(|it| match (it.left, it.came) {
                (Occurrence::One(from), Occurrence::One(to)) => {
                    Some((from.path, (to, from.is_gone)))
                }
                _ => None,
            });
        let mut moves: BTreeMap<String, (String, bool)> = moves.collect();
        forget_copies(&mut moves);
        moves
            .into_iter()
            .map(|(from, (to, _))| (from, to))
            .collect()
    }
}

/// Removes copies: pairs whose old path still exists and was not taken by another renamed file,
/// also where that other one was removed as a copy itself.
fn forget_copies(moves: &mut BTreeMap<String, (String, bool)>) {
    let taken: BTreeSet<&String> = moves.values().map(|(to, _)| to).collect();
    let is_copy =
        |(from, (_, is_gone)): &(&String, &(String, bool))| !is_gone && !taken.contains(from);
    let mut copies: Vec<String> = moves
        .iter()
        .filter(is_copy)
        .map(|it| it.0.clone())
        .collect();
    while let Some(from) = copies.pop() {
        let Some((to, _)) = moves.remove(&from) else {
            continue;
        };
        if moves.get(&to).is_some_and(|(_, is_gone)| !is_gone) {
            copies.push(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: usize) -> FileRow {
        let mut hash = [7; 32];
        hash[..8].copy_from_slice(&number.to_le_bytes());
        FileRow {
            size: 1,
            modified: 1,
            changed: 1,
            hash,
            parts: 1,
            lines: 1,
            is_generated: false,
        }
    }

    fn moved(files: usize, is_wanted: bool) -> usize {
        let mut moves = Moves::new(is_wanted);
        for number in 0..files {
            moves.gone(&format!("a/{number}"), Some(&row(number)));
            moves.changed(&format!("b/{number}"), None, &row(number));
        }
        moves.all().len()
    }

    #[test]
    fn no_more_files_are_followed_than_are_borne() {
        assert_eq!(moved(MOST, true), MOST);
        assert_eq!(moved(MOST + 1, true), 0);
        assert_eq!(moved(MOST * 2, true), 0);
        assert_eq!(moved(1, false), 0);
    }
}
