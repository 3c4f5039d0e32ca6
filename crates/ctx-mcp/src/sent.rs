//! What was sent in a session, so that it is not sent again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ctx_model::{Chunk, Included, Omitted, OmittedReason, RenditionKind};

/// Sessions that are remembered, the latest used.
const SESSIONS: usize = 128;
/// Chunks that are remembered of a session.
const CHUNKS: usize = 20_000;
/// Chunks that are remembered of all sessions, in some 40 MB: of those used the longest ago nothing is, where there would be more.
const ALL_CHUNKS: usize = 400_000;

/// Who a session is of: the connection, where there is one, and the name the agent gave it.
pub(crate) type Key = (String, String);

/// What was sent in each session.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    sessions: BTreeMap<Key, Session>,
    /// The latest used last.
    order: VecDeque<Key>,
}

/// By the hashes of their ids, which may be of any length: the hashes of what was sent, and how it was shown.
type Session = BTreeMap<[u8; 32], ([u8; 32], RenditionKind)>;

/// Chunks, less what a session has.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    pub(crate) chunks: Vec<Chunk>,
    /// The ids of those that were left out.
    pub(crate) already: Vec<String>,
}

impl Sent {
    /// `chunks` without those that were sent in full and have not changed since. Of those that were sent in
    /// part, what shows no more than that is left out.
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
            match session.get(&hash_of(&chunk.id)) {
                Some((hash, shown)) if *hash == hash_of(chunk.full_text()) => {
                    if *shown == RenditionKind::Full {
                        unsent.already.push(chunk.id);
                        continue;
                    }
                    chunk.renditions.retain(|it| it.kind() < *shown);
                }
                _ => {}
            }
            unsent.chunks.push(chunk);
        }
        unsent
    }

    /// Notes that those of `chunks` that are in a context were sent: those included, and those whose text is
    /// part of one that is.
    pub(crate) fn note(
        &mut self,
        key: &Key,
        chunks: &[Chunk],
        included: &[Included],
        omitted: &[Omitted],
    ) {
        self.touch(key);
        let session = self.sessions.entry(key.clone()).or_default();
        let mut shown: BTreeMap<&str, RenditionKind> =
            included.iter().map(|it| (&*it.id, it.rendition)).collect();
        let stood_for: Vec<(&str, RenditionKind)> = omitted
            .iter()
            .filter(|it| is_within(it.reason))
            .filter_map(|it| Some((&*it.id, *shown.get(it.other.as_deref()?)?)))
            .collect();
        shown.extend(stood_for);
        for chunk in chunks {
            let Some(kind) = shown.get(&*chunk.id) else {
                continue;
            };
            let id = hash_of(&chunk.id);
            if session.len() < CHUNKS || session.contains_key(&id) {
                session.insert(id, (hash_of(chunk.full_text()), *kind));
            }
        }
        self.make_room();
    }

    /// Forgets the sessions that were used the longest ago, as long as there are too many, or too many chunks.
    fn make_room(&mut self) {
        let mut chunks: usize = self.sessions.values().map(Session::len).sum();
        while self.order.len() > SESSIONS || chunks > ALL_CHUNKS {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            let forgotten = self.sessions.remove(&oldest).unwrap_or_default();
            chunks -= forgotten.len();
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

fn is_within(reason: OmittedReason) -> bool {
    matches!(
        reason,
        OmittedReason::MergedInto | OmittedReason::DuplicateOf
    )
}

fn hash_of(text: &str) -> [u8; 32] {
    *blake3::hash(text.as_bytes()).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_told_what_it_has_is_one_that_is_used() {
        let mut sent = Sent::default();
        let key = |name: usize| ("c".to_owned(), name.to_string());
        for name in 0..SESSIONS {
            sent.note(&key(name), &[], &[], &[]);
        }
        sent.unsent(&key(0), Vec::new());
        sent.note(&key(SESSIONS), &[], &[], &[]);
        assert!(sent.sessions.contains_key(&key(0)));
        assert!(!sent.sessions.contains_key(&key(1)));
        // What asks and was sent nothing is no session yet.
        sent.unsent(&key(SESSIONS + 1), Vec::new());
        assert_eq!(sent.sessions.len(), SESSIONS);
        assert_eq!(sent.order.len(), SESSIONS);
    }

    #[test]
    fn all_sessions_together_have_no_more_chunks_than_there_is_room_for() {
        let hash = |number: usize| hash_of(&number.to_string());
        let full: Session = (0..CHUNKS)
            .map(|it| (hash(it), (hash(it), RenditionKind::Full)))
            .collect();
        let mut sent = Sent::default();
        let key = |name: usize| ("c".to_owned(), name.to_string());
        for name in 0..=ALL_CHUNKS / CHUNKS {
            sent.note(&key(name), &[], &[], &[]);
            sent.sessions.insert(key(name), full.clone());
        }
        sent.note(&key(0), &[], &[], &[]);
        let chunks: usize = sent.sessions.values().map(Session::len).sum();
        assert_eq!(chunks, ALL_CHUNKS);
        // The one that was used the longest ago.
        assert!(!sent.sessions.contains_key(&key(1)));
        assert_eq!(sent.order.len(), sent.sessions.len());
    }
}
