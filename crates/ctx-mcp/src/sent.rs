//! What was sent in a session, so that it is not sent again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ctx_model::{Chunk, Included, Omitted, OmittedReason, RenditionKind};

/// Sessions that are remembered, the latest used.
const SESSIONS: usize = 128;
/// Chunks that are remembered of a session.
const CHUNKS: usize = 20_000;

/// Who a session is of: the connection, where there is one, and the name the agent gave it.
pub(crate) type Key = (String, String);

/// What was sent in each session.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    sessions: BTreeMap<Key, Session>,
    /// The latest used last.
    order: VecDeque<Key>,
}

type Session = BTreeMap<String, ([u8; 32], RenditionKind)>;

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
        let Some(session) = self.sessions.get(key) else {
            return Unsent {
                chunks,
                already: Vec::new(),
            };
        };
        let mut unsent = Unsent::default();
        for mut chunk in chunks {
            match session.get(&chunk.id) {
                Some((hash, shown)) if *hash == hash_of(&chunk) => {
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
            if let Some(kind) = shown.get(&*chunk.id)
                && (session.len() < CHUNKS || session.contains_key(&chunk.id))
            {
                session.insert(chunk.id.clone(), (hash_of(chunk), *kind));
            }
        }
    }

    fn touch(&mut self, key: &Key) {
        self.order.retain(|it| it != key);
        self.order.push_back(key.clone());
        if self.order.len() > SESSIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.sessions.remove(&oldest);
        }
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

fn hash_of(chunk: &Chunk) -> [u8; 32] {
    *blake3::hash(chunk.full_text().as_bytes()).as_bytes()
}
