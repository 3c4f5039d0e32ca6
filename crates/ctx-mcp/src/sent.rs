//! What was sent in a session, so that it is not sent again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter;
use std::path::PathBuf;

use ctx_model::{
    BuiltContext, Chunk, LineSpan, OmittedReason, Relevance, Rendition, RenditionKind,
};
use ctx_syntax::is_mark;

/// The most sessions that are remembered; the most recently used stay.
const SESSIONS: usize = 128;
/// The most chunks that are remembered per session.
const CHUNKS: usize = 20_000;
/// The most lines that are remembered per session, of chunks sent in part. Parts of further chunks
/// may be sent again.
const LINES: usize = 50_000;
/// The most chunks and lines that are remembered of all sessions, which takes some 70 MB. Beyond
/// that, the least recently used sessions are forgotten.
const ALL: usize = 400_000;

/// Identifies a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The connection; empty if there is none.
    pub(crate) connection: String,
    /// The folders it reads: the same path is another file in others.
    pub(crate) roots: Vec<PathBuf>,
    /// The name that the agent gave it.
    pub(crate) name: String,
}

/// What was sent in each session.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    sessions: BTreeMap<Key, Session>,
    /// The sessions, most recently used last.
    order: VecDeque<Key>,
}

#[derive(Debug, Default)]
struct Session {
    /// The chunks by the hashes of their ids, which may be of any length.
    chunks: BTreeMap<[u8; 32], Had>,
    /// How many lines are remembered, of chunks sent in part.
    lines: usize,
}

/// What was sent of a chunk.
#[derive(Debug)]
struct Had {
    /// The state of the chunk when it was sent.
    state: [u8; 32],
    shown: Shown,
}

/// How much of a chunk was sent.
#[derive(Clone, Debug)]
pub(crate) enum Shown {
    Whole,
    Part(Part),
}

/// The lines of a chunk that were sent, without blank ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The lines sent completely, by their indexes within the chunk, from 0.
    lines: BTreeSet<u32>,
    /// The hashes of all other lines: parts of lines, or lines that are not in the source.
    texts: BTreeSet<u64>,
}

/// Chunks without what was sent already.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    pub(crate) chunks: Vec<Chunk>,
    /// Those that were left out, the most relevant first.
    pub(crate) already: Vec<Already>,
}

/// A chunk that a session has all of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Already {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) relevance: Relevance,
}

impl Sent {
    /// Returns `chunks` without those that were sent completely and have not changed since. Of a
    /// chunk sent in part, the renditions that show no further line are removed.
    pub(crate) fn unsent(&mut self, key: &Key, chunks: Vec<Chunk>) -> Unsent {
        if self.sessions.contains_key(key) {
            self.touch(key);
        }
        let Some(session) = self.sessions.get(key) else {
            return Unsent {
                chunks,
                already: Vec::new(),
            };
        };
        let mut unsent = Unsent::default();
        for mut chunk in chunks {
            match session.had(&chunk) {
                Some(Shown::Whole) => {
                    unsent.already.push(Already {
                        name: chunk.qualified_name.or(chunk.name),
                        id: chunk.id,
                        relevance: chunk.relevance,
                    });
                    continue;
                }
                // A pinned chunk must appear in some rendition, and its full text may not fit.
                Some(Shown::Part(had)) if !chunk.pinned => {
                    let mut renditions = std::mem::take(&mut chunk.renditions);
                    renditions.retain(|it| had.lacks_some_of(&Part::of(&chunk, it)));
                    chunk.renditions = renditions;
                }
                _ => {}
            }
            unsent.chunks.push(chunk);
        }
        let already = &mut unsent.already;
        already.sort_by_key(|it| Reverse(it.relevance));
        unsent
    }

    /// Records how much of these chunks was sent.
    pub(crate) fn note<'c>(
        &mut self,
        key: &Key,
        shown: impl IntoIterator<Item = (&'c Chunk, Shown)>,
    ) {
        self.touch(key);
        let session = self.sessions.entry(key.clone()).or_default();
        for (chunk, shown) in shown {
            session.note(chunk, shown);
        }
        self.make_room();
    }

    /// Forgets the least recently used sessions while there are too many sessions, chunks or lines.
    fn make_room(&mut self) {
        let mut all: usize = self.sessions.values().map(Session::len).sum();
        while self.order.len() > SESSIONS || all > ALL {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            let forgotten = self.sessions.remove(&oldest).unwrap_or_default();
            all -= forgotten.len();
        }
    }

    fn touch(&mut self, key: &Key) {
        self.order.retain(|it| it != key);
        self.order.push_back(key.clone());
        debug_assert_eq!(
            self.order.iter().collect::<BTreeSet<_>>().len(),
            self.order.len()
        );
    }
}

impl Session {
    /// How many chunks and lines are remembered of it.
    fn len(&self) -> usize {
        self.chunks.len() + self.lines
    }

    /// What was sent of `chunk` in its present state.
    fn had(&self, chunk: &Chunk) -> Option<&Shown> {
        let had = self.chunks.get(&hash_of(&chunk.id))?;
        (had.state == state_of(chunk)).then_some(&had.shown)
    }

    fn note(&mut self, chunk: &Chunk, shown: Shown) {
        let shown = match (self.had(chunk), shown) {
            (Some(Shown::Part(had)), Shown::Part(part)) => had.with(part).of_all(chunk),
            (Some(Shown::Whole), _) => return,
            (None, Shown::Part(part)) => part.of_all(chunk),
            (_, Shown::Whole) => Shown::Whole,
        };
        let id = hash_of(&chunk.id);
        let before = self.chunks.get(&id).map(|it| it.shown.lines());
        let lines = self.lines - before.unwrap_or_default() + shown.lines();
        if lines > LINES && shown.lines() > 0 || before.is_none() && self.chunks.len() >= CHUNKS {
            return;
        }
        self.lines = lines;
        let state = state_of(chunk);
        self.chunks.insert(id, Had { state, shown });
    }
}

impl Shown {
    /// How many lines are remembered of it.
    fn lines(&self) -> usize {
        match self {
            Shown::Whole => 0,
            Shown::Part(part) => part.lines.len() + part.texts.len(),
        }
    }
}

impl Part {
    /// What `rendition` shows of `chunk`. O(bytes of both).
    fn of(chunk: &Chunk, rendition: &Rendition) -> Self {
        let source: Vec<&str> = chunk.full_text().lines().collect();
        let first = chunk.span.map_or(1, LineSpan::start);
        let numbers = rendition.lines().iter().copied();
        let numbers = numbers.chain(iter::repeat(None));
        let mut part = Part::default();
        for (text, number) in rendition.text().lines().zip(numbers) {
            let text = text.trim();
            let line = number.and_then(|it| it.checked_sub(first));
            let is_it = |it: &u32| source.get(*it as usize).map(|it| it.trim()) == Some(text);
            match line.filter(is_it) {
                _ if text.is_empty() => {}
                Some(line) => drop(part.lines.insert(line)),
                None if is_mark(text) => {}
                None => drop(part.texts.insert(short_hash_of(text))),
            }
        }
        part
    }

    fn lacks_some_of(&self, other: &Part) -> bool {
        !(other.lines.is_subset(&self.lines) && other.texts.is_subset(&self.texts))
    }

    fn with(&self, mut other: Part) -> Part {
        other.lines.extend(&self.lines);
        other.texts.extend(&self.texts);
        other
    }

    /// Returns `Whole` if these are all lines of `chunk`, otherwise the part.
    fn of_all(self, chunk: &Chunk) -> Shown {
        let mut lines = (0..).zip(chunk.full_text().lines());
        if lines.all(|(number, text)| text.trim().is_empty() || self.lines.contains(&number)) {
            Shown::Whole
        } else {
            Shown::Part(self)
        }
    }
}

/// How much `built` shows of each of `chunks`, from which it was built. An omitted chunk is among
/// them if another one contains all that it says; near duplicates do not count. O(bytes of all
/// renditions of the chunks).
pub(crate) fn shown<'c>(chunks: &'c [Chunk], built: &BuiltContext) -> Vec<(&'c Chunk, Shown)> {
    let by_id: BTreeMap<&str, &Chunk> = chunks.iter().map(|it| (&*it.id, it)).collect();
    let citations = built.citations.iter();
    let hashes: BTreeMap<&str, &str> = citations.map(|it| (&*it.id, &*it.content_hash)).collect();
    let mut shown: BTreeMap<&str, (&Chunk, Shown)> = BTreeMap::new();
    for included in &built.included {
        let Some(&chunk) = by_id.get(&*included.id) else {
            continue;
        };
        let hash = hashes.get(&*included.citation);
        let hash = hash.and_then(|it| blake3::Hash::from_hex(it).ok());
        let is_it = |text: &str| hash == Some(blake3::hash(text.as_bytes()));
        let rendition = chunk.renditions.iter().find(|it| is_it(it.text()));
        let how = match rendition {
            _ if is_it(chunk.full_text()) => Shown::Whole,
            Some(rendition) => Shown::Part(Part::of(chunk, rendition)),
            // Merged with others, which it represents.
            None if included.rendition == RenditionKind::Full => Shown::Whole,
            None => continue,
        };
        shown.insert(&chunk.id, (chunk, how));
    }
    let mut within = Vec::new();
    for omitted in &built.omitted {
        let other = omitted.other.as_deref().and_then(|it| shown.get(it));
        let (Some(&chunk), Some((other, how))) = (by_id.get(&*omitted.id), other) else {
            continue;
        };
        match omitted.reason {
            OmittedReason::MergedInto => within.push((chunk, Shown::Whole)),
            OmittedReason::DuplicateOf if chunk.full_text() == other.full_text() => {
                within.push((chunk, how.clone()));
            }
            _ => {}
        }
    }
    shown.into_values().chain(within).collect()
}

/// A hash of what distinguishes `chunk` from others with its id: its text and its location.
pub(crate) fn state_of(chunk: &Chunk) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let (start, end) = chunk.span.map_or((0, 0), |it| (it.start(), it.end()));
    hasher.update(&start.to_le_bytes());
    hasher.update(&end.to_le_bytes());
    let path = chunk.path.as_deref().unwrap_or_default();
    hasher.update(&(path.len() as u64).to_le_bytes());
    hasher.update(path.as_bytes());
    hasher.update(chunk.full_text().as_bytes());
    *hasher.finalize().as_bytes()
}

fn hash_of(text: &str) -> [u8; 32] {
    *blake3::hash(text.as_bytes()).as_bytes()
}

fn short_hash_of(text: &str) -> u64 {
    let mut short = [0; 8];
    short.copy_from_slice(&hash_of(text)[..8]);
    u64::from_le_bytes(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: usize) -> Key {
        Key {
            connection: "c".to_owned(),
            roots: Vec::new(),
            name: name.to_string(),
        }
    }

    /// Lines from 11 on, each with its number as its text.
    fn chunk(id: &str, lines: u32) -> Chunk {
        let content: Vec<String> = (11..11 + lines).map(|it| format!("line {it}")).collect();
        Chunk::new(id, content.join("\n"), Relevance::ONE)
            .with_path("a.rs")
            .with_span(LineSpan::new(11, 10 + lines).unwrap())
    }

    /// An excerpt of these lines, with a mark after each.
    fn excerpt(lines: &[u32]) -> Rendition {
        let text: Vec<String> = lines
            .iter()
            .map(|it| format!("line {it}\n// … {it} lines left out"))
            .collect();
        let numbers = lines.iter().flat_map(|it| [Some(*it), None]).collect();
        Rendition::new(RenditionKind::Excerpt, text.join("\n"), 0.5)
            .and_then(|it| it.with_lines(numbers))
            .unwrap()
    }

    fn ids(already: &[Already]) -> Vec<&str> {
        already.iter().map(|it| &*it.id).collect()
    }

    /// The texts of the renditions that are left of `chunk` with these.
    fn left(sent: &mut Sent, chunk: &Chunk, renditions: &[&[u32]]) -> Vec<Vec<u32>> {
        let renditions = renditions.iter().map(|it| excerpt(it)).collect();
        let chunk = chunk.clone().with_renditions(renditions);
        let unsent = sent.unsent(&key(0), vec![chunk]);
        let renditions = unsent.chunks.into_iter().flat_map(|it| it.renditions);
        let lines = renditions.map(|it| it.lines().iter().copied().flatten().collect());
        lines.collect()
    }

    #[test]
    fn a_session_that_is_told_what_it_has_is_one_that_is_used() {
        let mut sent = Sent::default();
        for name in 0..SESSIONS {
            sent.note(&key(name), []);
        }
        sent.unsent(&key(0), Vec::new());
        sent.note(&key(SESSIONS), []);
        assert!(sent.sessions.contains_key(&key(0)));
        assert!(!sent.sessions.contains_key(&key(1)));
        // A query to which nothing was sent does not create a session.
        sent.unsent(&key(SESSIONS + 1), Vec::new());
        assert_eq!(sent.sessions.len(), SESSIONS);
        assert_eq!(sent.order.len(), SESSIONS);
    }

    #[test]
    fn all_sessions_together_have_no_more_than_there_is_room_for() {
        let full = || {
            let hash = |number: usize| hash_of(&number.to_string());
            let had = |it: usize| {
                let (state, shown) = (hash(it), Shown::Whole);
                (hash(it), Had { state, shown })
            };
            Session {
                chunks: (0..CHUNKS).map(had).collect(),
                lines: LINES,
            }
        };
        let mut sent = Sent::default();
        let most = ALL / (CHUNKS + LINES);
        for name in 0..=most {
            sent.note(&key(name), []);
            sent.sessions.insert(key(name), full());
        }
        sent.note(&key(0), []);
        let all: usize = sent.sessions.values().map(Session::len).sum();
        assert_eq!(all, most * (CHUNKS + LINES));
        // The least recently used one.
        assert!(!sent.sessions.contains_key(&key(1)));
        assert_eq!(sent.order.len(), sent.sessions.len());
    }

    #[test]
    fn a_chunk_with_a_new_line_is_kept_and_one_without_is_not() {
        let mut sent = Sent::default();
        let chunk = chunk("a", 4);
        let all: [&[u32]; 4] = [&[11, 12], &[11], &[11, 13], &[13]];
        assert_eq!(left(&mut sent, &chunk, &all), all);
        let part = |lines: &[u32]| Shown::Part(Part::of(&chunk, &excerpt(lines)));
        sent.note(&key(0), [(&chunk, part(&[11, 12]))]);
        assert_eq!(left(&mut sent, &chunk, &all), [vec![11, 13], vec![13]]);
        sent.note(&key(0), [(&chunk, part(&[13]))]);
        assert_eq!(left(&mut sent, &chunk, &all), [[0; 0]; 0]);
        let whole = sent.unsent(&key(0), vec![chunk.clone()]);
        assert_eq!((whole.chunks.len(), whole.already.len()), (1, 0));
        // A pinned chunk must appear.
        let pinned = chunk.clone().with_pin();
        assert_eq!(left(&mut sent, &pinned, &all), all);
        sent.note(&key(0), [(&chunk, part(&[14]))]);
        let whole = sent.unsent(&key(0), vec![chunk.clone()]);
        assert_eq!(ids(&whole.already), ["a"]);
    }

    #[test]
    fn chunks_sent_before_are_named_the_most_relevant_first() {
        let mut sent = Sent::default();
        let of = |id: &str, relevance: f64| {
            let mut chunk = chunk(id, 4);
            chunk.relevance = Relevance::new(relevance).unwrap();
            chunk.name = Some(format!("name of {id}"));
            chunk
        };
        let chunks = [of("a", 0.1), of("b", 0.9), of("c", 0.5)];
        sent.note(&key(0), chunks.iter().map(|it| (it, Shown::Whole)));
        let already = sent.unsent(&key(0), chunks.to_vec()).already;
        assert_eq!(ids(&already), ["b", "c", "a"]);
        assert_eq!(already[0].name.as_deref(), Some("name of b"));
    }

    #[test]
    fn the_same_lines_at_another_place_are_another_chunk() {
        let mut sent = Sent::default();
        let here = chunk("a", 4);
        sent.note(&key(0), [(&here, Shown::Whole)]);
        let elsewhere = here.clone().with_path("b.rs");
        let below = here.clone().with_span(LineSpan::new(12, 15).unwrap());
        let mut changed = here.clone();
        changed.content.push('.');
        for other in [elsewhere, below, changed] {
            assert_eq!(sent.unsent(&key(0), vec![other]).chunks.len(), 1);
        }
        assert_eq!(ids(&sent.unsent(&key(0), vec![here]).already), ["a"]);
    }

    #[test]
    fn the_memory_of_a_session_is_bounded() {
        let mut sent = Sent::default();
        let part = |lines: u32| {
            let lines = (0..lines).collect();
            let texts = BTreeSet::new();
            Shown::Part(Part { lines, texts })
        };
        let chunks: Vec<Chunk> = (0..60).map(|it| chunk(&it.to_string(), 1_001)).collect();
        for _ in 0..2 {
            sent.note(&key(0), chunks.iter().map(|it| (it, part(1_000))));
            let session = &sent.sessions[&key(0)];
            assert_eq!((session.chunks.len(), session.lines), (50, LINES));
        }
        // A complete chunk takes less to remember than a part of it.
        sent.note(&key(0), chunks.iter().map(|it| (it, Shown::Whole)));
        let session = &sent.sessions[&key(0)];
        assert_eq!((session.chunks.len(), session.lines), (60, 0));
    }
}
