//! The known changes, as they are stored and searched.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use ctx_rank::Role;
use ctx_retrieve::Touched;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::repository::MOST_CHANGES;

/// The first bytes of a stored file; the last of them is the version. A file of another version is
/// rebuilt. Increase it with any change of what is stored for the same commits: how they are
/// analysed, masked or bounded.
const FORMAT: [u8; 8] = *b"ctx-git\x0a";
/// The bytes before the content: [`FORMAT`], then a hash of the content and of this crate's
/// version.
const SEALED: usize = FORMAT.len() + blake3::OUT_LEN;
/// The most bytes of a stored file.
const LARGEST: usize = 64 << 20;

/// The prefix of the names of temporary files.
const UNFINISHED: &str = "changes.tmp-";
/// The age after which a temporary file is taken to be left over from a process that has ended.
const ABANDONED: Duration = Duration::from_hours(1);

/// The constants of BM25, from Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
/// and Beyond" (2009).
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A change: the words of its message, and the locations it touched.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Change {
    /// The bytes of the commit's id.
    pub(crate) id: Vec<u8>,
    /// The words of the message, sorted, with their counts.
    pub(crate) words: Vec<(String, u32)>,
    pub(crate) locations: Vec<TouchedLocation>,
    /// Whether all of it could be read. If not, it is read again later.
    pub(crate) is_whole: bool,
}

/// The part of a history that is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent {
    /// The last commit.
    pub(crate) tip: Vec<u8>,
    /// The commits at which a shallow repository ends, sorted.
    pub(crate) ends: Vec<Vec<u8>>,
    /// The prefix of the paths that count.
    pub(crate) prefix: String,
}

/// A location that a change touched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TouchedLocation {
    pub(crate) path: String,
    /// The possible names of the definition there, the likeliest first.
    pub(crate) names: Vec<String>,
}

/// A [`Change`] with indices into [`Past`]'s texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    id: Vec<u8>,
    words: Vec<(u32, u32)>,
    /// The path and the names.
    locations: Vec<(u32, Vec<u32>)>,
    is_whole: bool,
    /// The divisor of its score: the square root of the number of source locations.
    #[serde(skip)]
    spread: f64,
}

/// All known changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Past {
    pub(crate) extent: Extent,
    /// Whether the extent has more changes than these, because an update was cancelled.
    pub(crate) is_partial: bool,
    /// The texts to which indices refer, sorted.
    texts: Vec<String>,
    /// The latest change first.
    changes: Vec<Kept>,
    /// The number of changes whose message has a word, by the word's index.
    #[serde(skip)]
    saying: Vec<u32>,
    /// The mean number of words of a message.
    #[serde(skip)]
    length: f64,
}

impl Past {
    /// Builds the index of `changes`, the latest first; all of `extent`, or those read so far. O(n
    /// log n).
    pub(crate) fn of(extent: Extent, changes: &[Change], is_partial: bool) -> Self {
        let words = changes.iter().flat_map(|it| &it.words).map(|it| &it.0);
        let locations = || changes.iter().flat_map(|it| &it.locations);
        let names = locations().flat_map(|it| &it.names);
        let all = words.chain(names).chain(locations().map(|it| &it.path));
        let mut texts: Vec<&String> = all.collect();
        texts.sort_unstable();
        texts.dedup();
        let number = |text: &String| {
            let at = texts.binary_search(&text).expect("all texts are there");
            u32::try_from(at).expect("fewer than 2^32")
        };
        let kept = changes.iter().map(|it| Kept {
            id: it.id.clone(),
            words: it.words.iter().map(|(it, n)| (number(it), *n)).collect(),
            locations: (it.locations.iter())
                .map(|it| (number(&it.path), it.names.iter().map(number).collect()))
                .collect(),
            is_whole: it.is_whole,
            spread: 0.0,
        });
        let past = Past {
            extent,
            is_partial,
            changes: kept.collect(),
            texts: texts.into_iter().cloned().collect(),
            ..Past::default()
        };
        past.counted()
    }

    fn counted(mut self) -> Self {
        self.saying = vec![0; self.texts.len()];
        let mut said = 0;
        for &(word, times) in self.changes.iter().flat_map(|it| &it.words) {
            self.saying[index(word)] += 1;
            said += u64::from(times);
        }
        #[expect(clippy::cast_precision_loss, reason = "there are some thousands")]
        let length = said as f64 / self.changes.len().max(1) as f64;
        self.length = length.max(1.0);
        let is_source = |text: &String| Role::of(text) == Role::Source;
        for change in &mut self.changes {
            let paths = change.locations.iter().map(|it| &self.texts[index(it.0)]);
            // Tests and documents go along with the source they are about.
            let sources = paths.filter(|it| is_source(it)).count();
            #[expect(clippy::cast_precision_loss, reason = "there are some dozens")]
            let sources = sources.max(1) as f64;
            change.spread = sources.sqrt();
        }
        self
    }

    /// Whether these are all changes of `extent`.
    pub(crate) fn is_all_of(&self, extent: &Extent) -> bool {
        self.extent == *extent && !self.is_partial
    }

    /// The number of changes.
    pub(crate) fn len(&self) -> usize {
        self.changes.len()
    }

    /// The known changes by the ids of their commits, except those that could not be read
    /// completely.
    pub(crate) fn known(&self) -> BTreeMap<Vec<u8>, Change> {
        let text = |number: u32| self.texts[index(number)].clone();
        let change = |it: &Kept| Change {
            id: it.id.clone(),
            words: it.words.iter().map(|&(it, n)| (text(it), n)).collect(),
            locations: (it.locations.iter())
                .map(|(path, names)| TouchedLocation {
                    path: text(*path),
                    names: names.iter().map(|&it| text(it)).collect(),
                })
                .collect(),
            is_whole: it.is_whole,
        };
        let changes = self.changes.iter().filter(|it| it.is_whole);
        changes.map(|it| (it.id.clone(), change(it))).collect()
    }

    /// The `limit` locations whose changes match `terms` best: BM25 of the message, divided by the
    /// square root of the number of source locations that the change touched; a location that
    /// several changes touched has the best of their scores. Ties keep the order of the changes,
    /// the latest first. O(words of all messages).
    pub(crate) fn touched(&self, terms: &[(String, f32)], limit: usize) -> Vec<Touched> {
        let mut worth = vec![0.0; self.texts.len()];
        for (term, weight) in terms {
            if let Ok(at) = self.texts.binary_search(term) {
                worth[at] = f64::from(*weight) * self.rarity(at);
            }
        }
        let mut fitting: Vec<(f64, &Kept, usize)> = Vec::new();
        for change in self.changes.iter().filter(|it| !it.locations.is_empty()) {
            let score = self.score(change, &worth);
            if score > 0.0 {
                let share = score / change.spread;
                let locations = 0..change.locations.len();
                fitting.extend(locations.map(|it| (share, change, it)));
            }
        }
        // The sort is stable: ties keep the order of their changes.
        fitting.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut seen = rapidhash::RapidHashSet::default();
        let text = |&number: &u32| self.texts[index(number)].clone();
        let locations = fitting.into_iter().filter_map(|(score, change, at)| {
            let (path, names) = &change.locations[at];
            let is_new = seen.insert((*path, names));
            is_new.then(|| Touched::new(text(path), names.iter().map(text).collect(), score))
        });
        locations.take(limit).collect()
    }

    fn score(&self, change: &Kept, worth: &[f64]) -> f64 {
        let length: f64 = change.words.iter().map(|it| f64::from(it.1)).sum();
        let norm = K1 * (1.0 - B + B * length / self.length);
        let of_word = |&(word, times): &(u32, u32)| {
            let times = f64::from(times);
            worth[index(word)] * times * (K1 + 1.0) / (times + norm)
        };
        change.words.iter().map(of_word).sum()
    }

    /// The inverse document frequency of BM25.
    fn rarity(&self, text: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "there are some thousands")]
        let all = self.changes.len() as f64;
        let saying = f64::from(self.saying[text]);
        (1.0 + (all - saying + 0.5) / (saying + 0.5)).ln()
    }

    /// Reads the changes stored in the file at `path`; `None` if it does not exist.
    ///
    /// # Errors
    /// What is wrong with the file, if it cannot be read or is damaged.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, String> {
        // Whoever made the folder may have made this a link to something that never ends.
        let metadata = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata.map_err(|it| it.to_string())?,
        };
        if !metadata.is_file() {
            return Err("it is no file".to_owned());
        }
        let size = metadata.len();
        if size > LARGEST as u64 {
            return Err(format!("it has {size} bytes"));
        }
        let bytes = fs::read(path).map_err(|it| it.to_string())?;
        Past::decode(&bytes).map(Some)
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let Some(rest) = bytes
            .strip_prefix(&FORMAT)
            .filter(|_| bytes.len() >= SEALED)
        else {
            return Err("it is of another format".to_owned());
        };
        let (seal, rest) = rest.split_at(blake3::OUT_LEN);
        if *hash(rest).as_bytes() != *seal {
            return Err("it is damaged, or another version wrote it".to_owned());
        }
        let past: Past = postcard::from_bytes(rest).map_err(|it| it.to_string())?;
        let numbers = past.changes.iter().flat_map(|it| {
            let words = it.words.iter().map(|it| it.0);
            let locations = it.locations.iter();
            words.chain(locations.flat_map(|(path, names)| names.iter().chain([path]).copied()))
        });
        let is_sound = numbers.max().is_none_or(|it| index(it) < past.texts.len())
            && past.texts.is_sorted_by(|a, b| a < b)
            && past.changes.len() <= MOST_CHANGES;
        if !is_sound {
            return Err("it contradicts itself".to_owned());
        }
        Ok(past.counted())
    }

    fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        let bytes = postcard::to_allocvec(self)?;
        let mut file = Vec::with_capacity(SEALED + bytes.len());
        file.extend_from_slice(&FORMAT);
        file.extend_from_slice(hash(&bytes).as_bytes());
        file.extend_from_slice(&bytes);
        Ok(file)
    }

    /// Writes the changes to `path` atomically.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let bytes = self.encode().map_err(io::Error::other)?;
        if bytes.len() > LARGEST {
            return Err(io::Error::other(format!(
                "it would have {} bytes",
                bytes.len()
            )));
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        sweep(folder);
        let mut file = NamedTempFile::with_prefix_in(UNFINISHED, folder)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

fn hash(bytes: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    hasher.update(bytes).finalize()
}

/// Removes temporary files in `folder` that were left over by processes that have ended.
fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED)
            && age().is_some_and(|it| it > ABANDONED)
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(id: u8, said: &[(&str, u32)], locations: &[(&str, &[&str])]) -> Change {
        Change {
            id: vec![id; 20],
            words: said.iter().map(|(it, n)| ((*it).to_owned(), *n)).collect(),
            locations: (locations.iter())
                .map(|(path, names)| TouchedLocation {
                    path: (*path).to_owned(),
                    names: names.iter().map(|it| (*it).to_owned()).collect(),
                })
                .collect(),
            is_whole: true,
        }
    }

    fn past() -> (Past, Vec<Change>) {
        let changes = vec![
            change(3, &[("drain", 1), ("pool", 2)], &[("a.rs", &["take"])]),
            change(2, &[("pool", 1)], &[("a.rs", &["give"]), ("b.rs", &[])]),
            change(1, &[], &[("a.rs", &["take"])]),
        ];
        let extent = Extent {
            tip: vec![9; 20],
            ends: vec![vec![8; 20]],
            prefix: "sub/".to_owned(),
        };
        (Past::of(extent, &changes, false), changes)
    }

    #[test]
    fn stored_changes_read_back_and_a_flipped_bit_is_an_error() {
        let (past, changes) = past();
        assert_eq!(
            past.known().into_values().rev().collect::<Vec<_>>(),
            changes
        );
        let bytes = past.encode().unwrap();
        assert_eq!(Past::decode(&bytes).unwrap(), past);
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            assert!(Past::decode(&bytes).is_err(), "{at}");
        }
        for length in 0..bytes.len() {
            assert!(Past::decode(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_and_folders_are_not_read_as_files() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("changes"), folder.path().join("link"));
        past().0.write(&file).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(Past::read(&file).unwrap().is_some());
        for other in [&link, folder.path()] {
            assert_eq!(Past::read(other).unwrap_err(), "it is no file");
        }
    }

    #[test]
    fn a_location_is_worth_the_best_of_its_changes_and_less_the_more_locations_these_have() {
        let (past, _) = past();
        let terms = [("pool".to_owned(), 1.0), ("drain".to_owned(), 1.0)];
        let found = past.touched(&terms, 10);
        let names: Vec<_> = found
            .iter()
            .map(|it| (&*it.path, it.names.join(" ")))
            .collect();
        assert_eq!(
            names,
            [
                ("a.rs", "take".into()),
                ("a.rs", "give".into()),
                ("b.rs", String::new())
            ]
        );
        assert!(found[0].score > found[1].score);
        assert_eq!(found[1].score.to_bits(), found[2].score.to_bits());
        assert_eq!(past.touched(&terms, 1).len(), 1);
        assert!(past.touched(&[("other".to_owned(), 1.0)], 10).is_empty());
        assert!(Past::default().touched(&terms, 10).is_empty());
    }
}
