//! Text vectors and queries in the server's binary form: no user text is ever parsed as a query,
//! and the terms are exactly those of [`Analyzer`].

use std::collections::BTreeMap;

use bytes::{BufMut as _, BytesMut};
use ctx_rank::Analyzer;
use rapidhash::v3::rapidhash_v3;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

type Sent = Result<IsNull, Box<dyn std::error::Error + Sync + Send>>;

/// The most occurrences of a term that are stored: for BM25, more of them hardly add to its rank.
const MOST_OCCURRENCES: usize = 24;
/// The most bytes of a vector, as the server refuses one of 1 MiB.
const MOST_BYTES: usize = 960 << 10;
/// The position of all later terms.
const LAST_POSITION: u16 = (1 << 14) - 1;

/// The mask that includes all labels.
pub(crate) const ALL_FIELDS: u8 = 0;

/// The label of the field that a term is in. The server has four weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    D = 0,
    C = 1,
    B = 2,
    A = 3,
}

/// The terms of a text, with the position and the label of each occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vector {
    lexemes: BTreeMap<String, Vec<u16>>,
    position: u16,
    bytes: usize,
    /// The number of terms, counting every occurrence.
    pub(crate) length: i32,
}

impl Vector {
    /// Adds the terms of `text`. Terms that no longer fit only add to the length. O(bytes · log
    /// terms).
    pub(crate) fn add(&mut self, analyzer: &mut Analyzer, text: &str, label: Label) {
        analyzer.words(text, &mut |term, _, _| self.push(term, label));
    }

    fn push(&mut self, term: &str, label: Label) {
        self.length = self.length.saturating_add(1);
        self.position = (self.position + 1).min(LAST_POSITION);
        let here = self.position | ((label as u16) << 14);
        if let Some(places) = self.lexemes.get_mut(term) {
            let is_later = places
                .last()
                .is_some_and(|it| it & LAST_POSITION < self.position);
            if is_later && places.len() < MOST_OCCURRENCES {
                self.bytes += 2;
                places.push(here);
            }
            return;
        }
        // The entry, the text, an alignment byte, the number of positions, and one position.
        let bytes = 4 + term.len() + 1 + 2 + 2;
        if self.bytes + bytes <= MOST_BYTES && !term.contains('\0') {
            self.bytes += bytes;
            self.lexemes.insert(term.to_owned(), vec![here]);
        }
    }

    /// The terms, in order.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &str> {
        self.lexemes.keys().map(String::as_str)
    }
}

impl ToSql for Vector {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Sent {
        out.put_u32(u32::try_from(self.lexemes.len())?);
        for (lexeme, places) in &self.lexemes {
            out.put_slice(lexeme.as_bytes());
            out.put_u8(0);
            out.put_u16(u16::try_from(places.len())?);
            for &place in places {
                out.put_u16(place);
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(its: &Type) -> bool {
        *its == Type::TS_VECTOR
    }

    to_sql_checked!();
}

/// Number of words in the bit set by which absent terms are ruled out.
const WORDS: usize = 4;

/// The terms of a stored [`Vector`] as hashes, with the number of occurrences per label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    // Invariant: ascending, and as many as counts.
    hashes: Box<[u64]>,
    /// Counts per label.
    counts: Box<[[u8; 4]]>,
    /// A bit set by hash: a missing bit means that the term is absent.
    held: [u64; WORDS],
    /// The number of terms, counting every occurrence.
    pub(crate) length: i32,
}

impl Terms {
    fn new(mut terms: Vec<(u64, [u8; 4])>) -> Self {
        terms.sort_unstable();
        let mut held = [0; WORDS];
        for &(hash, _) in &terms {
            let (word, bit) = place(hash);
            held[word] |= bit;
        }
        Terms {
            hashes: terms.iter().map(|it| it.0).collect(),
            counts: terms.iter().map(|it| it.1).collect(),
            held,
            length: 0,
        }
    }

    /// The occurrences per label of the term with this hash; `None` if it is absent. O(log terms),
    /// and O(1) for most absent terms of a short document.
    pub(crate) fn counts(&self, hash: u64) -> Option<[u8; 4]> {
        let (word, bit) = place(hash);
        if self.held[word] & bit == 0 {
            return None;
        }
        let at = self.hashes.binary_search(&hash).ok()?;
        Some(self.counts[at])
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<Terms>() + size_of_val(&*self.hashes) + size_of_val(&*self.counts)
    }
}

/// The word and the bit for `hash`.
fn place(hash: u64) -> (usize, u64) {
    let word = usize::try_from(hash >> 6).unwrap_or(0) % WORDS;
    (word, 1 << (hash & 63))
}

/// The hash by which terms are counted. Two terms of one owner with the same 64-bit hash would be
/// taken for one.
pub(crate) fn hash_of(term: &[u8]) -> u64 {
    rapidhash_v3(term)
}

impl<'r> FromSql<'r> for Terms {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        let damaged = || "a vector is not as the server sends it";
        let (count, mut rest) = raw.split_first_chunk().ok_or_else(damaged)?;
        let count = u32::from_be_bytes(*count) as usize;
        // Bounded by the number of bytes, whatever count is claimed.
        let most = count.min(raw.len());
        let mut terms = Vec::with_capacity(most);
        for _ in 0..count {
            let end = rest.iter().position(|it| *it == 0).ok_or_else(damaged)?;
            let hash = hash_of(&rest[..end]);
            let (places, after) = rest[end + 1..].split_first_chunk().ok_or_else(damaged)?;
            let places = usize::from(u16::from_be_bytes(*places)) * 2;
            let (places, after) = after.split_at_checked(places).ok_or_else(damaged)?;
            let mut its = [0_u8; 4];
            for place in places.chunks_exact(2) {
                let label = &mut its[usize::from(place[0] >> 6)];
                *label = label.saturating_add(1);
            }
            terms.push((hash, its));
            rest = after;
        }
        Ok(Terms::new(terms))
    }

    fn accepts(its: &Type) -> bool {
        *its == Type::TS_VECTOR
    }
}

/// A query for terms. The server refuses an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TermQuery {
    // Invariant: operators precede their operands; no term contains a NUL.
    items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Item {
    Or,
    And,
    /// A term, at positions with these labels only.
    Term(String, u8),
}

impl TermQuery {
    /// Any of `terms` in a field whose label is in `mask`.
    pub(crate) fn any<'t>(terms: impl IntoIterator<Item = &'t str>, mask: u8) -> Self {
        let terms = terms.into_iter().filter(|it| !it.contains('\0'));
        Self::any_of(terms.map(|it| TermQuery {
            items: vec![Item::Term(it.to_owned(), mask)],
        }))
    }

    /// Any of `queries`.
    pub(crate) fn any_of(queries: impl IntoIterator<Item = TermQuery>) -> Self {
        let mut items = Vec::new();
        for query in queries.into_iter().filter(|it| !it.is_empty()) {
            if !items.is_empty() {
                items.insert(0, Item::Or);
            }
            items.extend(query.items);
        }
        TermQuery { items }
    }

    /// Both of two queries.
    pub(crate) fn both(a: TermQuery, b: TermQuery) -> Self {
        let mut items = vec![Item::And];
        items.extend(a.items);
        items.extend(b.items);
        TermQuery { items }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        let item = |it: &Item| match it {
            Item::Term(term, _) => size_of::<Item>() + term.len(),
            _ => size_of::<Item>(),
        };
        self.items.iter().map(item).sum()
    }
}

impl ToSql for TermQuery {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Sent {
        out.put_u32(u32::try_from(self.items.len())?);
        for item in &self.items {
            match item {
                Item::Term(term, mask) => {
                    out.put_slice(&[1, *mask, 0]);
                    out.put_slice(term.as_bytes());
                    out.put_u8(0);
                }
                Item::And => out.put_slice(&[2, 2]),
                Item::Or => out.put_slice(&[2, 3]),
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(its: &Type) -> bool {
        *its == Type::TSQUERY
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Some as short as a line, some with more terms than there are bits.
        #[test]
        fn terms_are_told_as_they_were_stored(
            texts in prop::collection::vec(("[a-d]{1,6}( [a-d]{1,6}){0,300}", 0..4_usize), 0..4),
            asked in prop::collection::vec("[a-e]{1,3}", 0..20),
        ) {
            let mut analyzer = Analyzer::default();
            let mut vector = Vector::default();
            let mut expected: BTreeMap<String, [u8; 4]> = BTreeMap::new();
            for (text, label) in &texts {
                let label_of = [Label::D, Label::C, Label::B, Label::A][*label];
                vector.add(&mut analyzer, text, label_of);
            }
            for (term, places) in &vector.lexemes {
                let mut counts = [0; 4];
                for place in places {
                    counts[usize::from(place >> 14)] += 1;
                }
                expected.insert(term.clone(), counts);
            }
            let mut sent = BytesMut::new();
            vector.to_sql(&Type::TS_VECTOR, &mut sent).unwrap();
            let terms = Terms::from_sql(&Type::TS_VECTOR, &sent).unwrap();
            for term in expected.keys().chain(&asked) {
                let told = terms.counts(hash_of(term.as_bytes()));
                prop_assert_eq!(told, expected.get(term).copied(), "{}", term);
            }
        }
    }
}
