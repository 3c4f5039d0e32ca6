//! Queries of the index: the search algorithms, and the ports that they implement.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use ctx_model::{LineSpan, PartKind, UnixSeconds};
use ctx_retrieve::{
    Counting, Feedback, Field, FileSearch, Generation, History, Hit, Message, Part, PartQuery,
    PortError, PortResult, References, Relations, TextQuery, Threads, Usage, Vote, is_awaited,
};
use tantivy::collector::DocSetCollector;
use tantivy::query::TermQuery;
use tantivy::schema::IndexRecordOption::{Basic, WithFreqs};
use tantivy::schema::document::Value as _;
use tantivy::{DocAddress, DocSet as _, Searcher, TERMINATED, TantivyDocument, TantivyError, Term};

use crate::best::{Best, rounded};
use crate::error::Fault;
use crate::schema::{Stored, trigrams};
use crate::scores::{Clause, Scores};
use crate::statistics::{Collection, Lists, Live, OfFiles};
use crate::{Index, IndexError};

/// How many documents beyond the limit are looked at, so that the choice among equals does not
/// depend on the index.
const SLACK: usize = 64;
/// The most results of any query.
const MOST: usize = 10_000;

impl Index {
    /// Converts a result to that of a port.
    fn answer<T>(&self, result: Result<T, Fault>) -> PortResult<T> {
        self.with_folder(result)
            .map_err(|error| PortError::with_source("the index failed", error))
    }

    fn field(&self, field: Field) -> Option<tantivy::schema::Field> {
        Some(match field {
            Field::Name => self.fields.name,
            Field::Signature => self.fields.signature,
            Field::Doc => self.fields.doc,
            Field::Body => self.fields.body,
            Field::Path => self.fields.path_words,
            Field::Text => self.fields.text,
            _ => return None,
        })
    }

    fn fitting(&self, wanted: &TextQuery) -> Result<Vec<(f64, Arc<Part>)>, Fault> {
        let searcher = self.searcher();
        let live = self.statistics.of(&searcher);
        self.fitting_by(&live, wanted, &live)
    }

    fn fitting_files(&self, wanted: &TextQuery) -> Result<Vec<(f64, Arc<Part>)>, Fault> {
        let searcher = self.searcher();
        let live = self.statistics.of(&searcher);
        self.fitting_by(&live, wanted, &OfFiles::new(&live, &self.fields)?)
    }

    /// The documents that hold any of the terms in any of the fields, with their scores.
    fn fitting_by(
        &self,
        live: &Live<'_>,
        wanted: &TextQuery,
        collection: &dyn Collection,
    ) -> Result<Vec<(f64, Arc<Part>)>, Fault> {
        let fields: Vec<(tantivy::schema::Field, f32)> = (wanted.fields.iter())
            .filter(|(_, worth)| *worth > 0.0)
            .filter_map(|&(field, worth)| Some((self.field(field)?, worth)))
            .collect();
        if !is_awaited() {
            return Err(Fault::Public(IndexError::Cancelled));
        }
        let clauses = match wanted.counting {
            Counting::Frequency => by_frequency(live, &wanted.terms, &fields)?,
            Counting::Presence => by_presence(live, &wanted.terms, &fields)?,
        };
        if clauses.is_empty() {
            return Ok(Vec::new());
        }
        let path = |it: &String| Term::from_field_text(self.fields.path, it);
        let paths = (wanted.paths.iter())
            .map(|it| live.lists_once(&path(it)))
            .collect::<tantivy::Result<Vec<Lists>>>()?;
        let within = (!paths.is_empty()).then_some(&*paths);
        let scores = Scores::of(live, &clauses, within, collection)?;
        self.best(live, &scores, wanted.limit)
    }

    /// The best `limit` documents with their scores, the best first, equals by path and line.
    fn best(
        &self,
        live: &Live<'_>,
        scores: &Scores<'_>,
        limit: usize,
    ) -> Result<Vec<(f64, Arc<Part>)>, Fault> {
        let limit = limit.min(MOST);
        if scores.is_empty() {
            return Ok(Vec::new());
        }
        let met = self.parts.of(live.searcher);
        let hit = |address| met.get(address, || self.part(live.searcher, address));
        if limit < SLACK {
            // Looking at more documents would cost more than comparing by place.
            let places = live.places(self.fields.path)?;
            let found = scores.best(Best::by_place(limit, places)).into_iter();
            let with_score = |(score, address)| Ok((rounded(score), hit(address)?));
            return found.take(limit).map(with_score).collect();
        }
        let mut found = scores.best(Best::new(limit + SLACK));
        let mut least = (found.len() == limit + SLACK).then(|| rounded(found[found.len() - 1].0));
        let enough = limit.div_ceil(2);
        if let Some(last) = least
            && !found.get(enough).is_some_and(|it| rounded(it.0) > last)
        {
            // Some documents that equal the last are needed; ordering by place makes the choice
            // deterministic.
            let places = live.places(self.fields.path)?;
            found = scores.best(Best::by_place(limit, places));
            least = None;
        }
        let mut hits = Vec::with_capacity(found.len());
        for (score, address) in found {
            let score = rounded(score);
            // Some documents that equal the last were cut off arbitrarily, so all of these are
            // dropped.
            if least.is_none_or(|least| score > least) || hits.len() < enough {
                hits.push((score, hit(address)?));
            }
        }
        // They are in the order of their scores, so only equals are to be sorted.
        for equals in hits.chunk_by_mut(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            equals.sort_by(|(_, a), (_, b)| by_place(a, b));
        }
        hits.truncate(limit);
        Ok(hits)
    }

    /// All documents that hold `term` in `field`, by path and line.
    fn all(&self, field: tantivy::schema::Field, term: &str) -> Result<Vec<Arc<Part>>, Fault> {
        if !is_awaited() {
            return Err(Fault::Public(IndexError::Cancelled));
        }
        let searcher = self.searcher();
        let query = TermQuery::new(Term::from_field_text(field, term), Basic);
        let found = searcher.search(&query, &DocSetCollector)?;
        let met = self.parts.of(&searcher);
        let hits = found
            .into_iter()
            .map(|address| met.get(address, || self.part(&searcher, address)));
        let mut hits = hits.collect::<Result<Vec<_>, _>>()?;
        hits.sort_by(|a, b| by_place(a, b));
        Ok(hits)
    }

    /// The paths of at most `limit` files that end with `end`, the first in order of their paths.
    /// No more than `limit` paths are read.
    fn files_ending(&self, end: &str, limit: usize) -> Result<Vec<String>, Fault> {
        if !is_awaited() {
            return Err(Fault::Public(IndexError::Cancelled));
        }
        let searcher = self.searcher();
        let end = Term::from_field_text(self.fields.path_ends, &end.to_lowercase());
        let found = searcher.search(&TermQuery::new(end, Basic), &DocSetCollector)?;
        let mut found: Vec<DocAddress> = found.into_iter().collect();
        if found.len() > limit {
            let live = self.statistics.of(&searcher);
            let mut first = Best::by_place(limit, live.places(self.fields.path)?);
            for address in found {
                first.push((1.0, address));
            }
            let first = first.into_vec().into_iter().take(limit);
            found = first.map(|(_, address)| address).collect();
        }
        let met = self.parts.of(&searcher);
        let path = |address| {
            let part = met.get(address, || self.part(&searcher, address))?;
            Ok(part.path.clone())
        };
        let mut paths: Vec<String> = found.into_iter().map(path).collect::<Result<_, Fault>>()?;
        paths.sort_unstable();
        Ok(paths)
    }

    /// The paths of at most `limit` files below folders whose paths end with `folder`, ordered by
    /// the rest of the path after the folder and then by the whole path, independent of segments.
    fn files_below(&self, folder: &str, limit: usize) -> Result<Vec<String>, Fault> {
        if !is_awaited() {
            return Err(Fault::Public(IndexError::Cancelled));
        }
        let folder = folder.trim_matches('/').to_lowercase();
        if folder.is_empty() {
            return Ok(Vec::new());
        }
        // A file below two folders of that name counts once, with the rest after the nearer one.
        let nearer = format!("/{folder}/");
        let is_nearer = |end: &[u8]| end.windows(nearer.len()).any(|it| it == nearer.as_bytes());
        let searcher = self.searcher();
        let met = self.parts.of(&searcher);
        let mut found = BTreeSet::new();
        for (ordinal, segment) in (0..).zip(searcher.segment_readers()) {
            let index = segment.inverted_index(self.fields.path_ends)?;
            // All terms that begin with the folder and a slash: the character after `/` is `0`.
            let range = index.terms().range().ge(format!("{folder}/"));
            let range = range.lt(format!("{folder}0"));
            let mut ends = range.into_stream().map_err(TantivyError::from)?;
            let mut taken = 0;
            while taken < limit && ends.advance() {
                if is_nearer(ends.key()) {
                    continue;
                }
                let files = index.read_postings_from_terminfo(ends.value(), Basic);
                let mut files = files.map_err(TantivyError::from)?;
                let alive = segment.alive_bitset();
                while files.doc() != TERMINATED {
                    let (file, address) = (files.doc(), DocAddress::new(ordinal, files.doc()));
                    if alive.is_none_or(|it| it.is_alive(file)) {
                        let part = met.get(address, || self.part(&searcher, address))?;
                        found.insert((ends.key().to_vec(), part.path.clone()));
                        taken += 1;
                    }
                    files.advance();
                }
            }
        }
        let mut paths: Vec<String> = found.into_iter().map(|it| it.1).take(limit).collect();
        paths.sort_unstable();
        Ok(paths)
    }

    /// The stored fields of a document.
    fn part(&self, searcher: &Searcher, address: DocAddress) -> Result<Part, Fault> {
        read_part(searcher, address, self.fields.path, self.fields.stored)
    }

    /// The documents whose names are most similar to one of `names`.
    fn alike(&self, names: &[String], limit: usize) -> Result<Vec<(f64, Arc<Part>)>, Fault> {
        let searcher = self.searcher();
        let live = self.statistics.of(&searcher);
        let names = names.iter().map(|it| trigrams(it));
        let names: Vec<Vec<String>> = names.filter(|it| !it.is_empty()).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        if !is_awaited() {
            return Err(Fault::Public(IndexError::Cancelled));
        }
        let scores = Scores::alike(&searcher, self.fields.trigrams, &names)?;
        self.best(&live, &scores, limit)
    }

    /// For each of `names`, in lower case, the documents that hold it in `field`.
    fn each_of(
        &self,
        field: tantivy::schema::Field,
        names: &[String],
        limit: usize,
    ) -> Result<Vec<Vec<Hit>>, Fault> {
        let searcher = self.searcher();
        let live = self.statistics.of(&searcher);
        let one = |name: &String| {
            if !is_awaited() {
                return Err(Fault::Public(IndexError::Cancelled));
            }
            let clause = Clause::Bm25 {
                lists: live.lists(&Term::from_field_text(field, &name.to_lowercase()))?,
                boost: 1.0,
                counting: Basic,
            };
            let scores = Scores::of(&live, &[clause], None, &live)?;
            self.best(&live, &scores, limit).map(scored)
        };
        names.iter().map(one).collect()
    }
}

/// A BM25 clause for each term in each field that has it.
fn by_frequency(
    live: &Live<'_>,
    terms: &[(String, f32)],
    fields: &[(tantivy::schema::Field, f32)],
) -> Result<Vec<Clause>, Fault> {
    let mut clauses = Vec::new();
    for &(field, worth) in fields {
        for (term, weight) in terms {
            let lists = live.lists(&Term::from_field_text(field, term))?;
            if lists.count > 0 {
                clauses.push(Clause::Bm25 {
                    lists,
                    boost: worth * weight,
                    counting: WithFreqs,
                });
            }
        }
    }
    Ok(clauses)
}

/// A clause for each term that is in any of the fields, worth its rarity.
fn by_presence(
    live: &Live<'_>,
    terms: &[(String, f32)],
    fields: &[(tantivy::schema::Field, f32)],
) -> Result<Vec<Clause>, Fault> {
    let mut clauses = Vec::new();
    for (term, weight) in terms {
        let in_fields = fields.iter();
        let in_fields = in_fields.map(|(it, _)| live.lists(&Term::from_field_text(*it, term)));
        let lists = in_fields.collect::<tantivy::Result<Vec<Lists>>>()?;
        if let Some(rarity) = live.rarity(&lists) {
            let worth = weight * rarity;
            clauses.push(Clause::Any { lists, worth });
        }
    }
    Ok(clauses)
}

/// Compares by path and first line.
fn by_place(a: &Part, b: &Part) -> Ordering {
    (&a.path, a.span.start()).cmp(&(&b.path, b.span.start()))
}

fn scored(parts: Vec<(f64, Arc<Part>)>) -> Vec<Hit> {
    let hits = parts.into_iter().map(|(score, part)| Hit::new(part, score));
    hits.collect()
}

fn read_part(
    searcher: &Searcher,
    address: DocAddress,
    path: tantivy::schema::Field,
    stored: tantivy::schema::Field,
) -> Result<Part, Fault> {
    let damaged = || Fault::Damaged {
        what: "a document does not match its checksum".to_owned(),
    };
    let document: TantivyDocument = searcher.doc(address)?;
    let path = document
        .get_first(path)
        .and_then(|it| it.as_str())
        .ok_or_else(damaged)?;
    let bytes = document
        .get_first(stored)
        .and_then(|it| it.as_bytes())
        .ok_or_else(damaged)?;
    let stored: Stored = serde_json::from_slice(bytes).map_err(|_| damaged())?;
    let (first, last) = stored.lines;
    // The document of a file stands for the whole file.
    let span = LineSpan::new(first.max(1), last.max(1)).map_err(|_| damaged())?;
    let mut part = Part::new(path, span);
    part.kind = if last == 0 {
        PartKind::File
    } else {
        stored.kind.parse().map_err(|_| damaged())?
    };
    part.name = stored.name;
    part.qualified_name = stored.qualified_name;
    part.language = stored.language;
    part.refers_to = stored.refers_to;
    part.modified_at = stored.modified_at.map(UnixSeconds::new);
    Ok(part)
}

#[async_trait]
impl FileSearch for Index {
    async fn passages(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        self.answer(self.fitting(wanted).map(scored))
    }

    async fn files(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        self.answer(self.fitting_files(wanted).map(scored))
    }

    async fn definitions(&self, names: &[String], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        self.answer(self.each_of(self.fields.defines, names, limit))
    }

    async fn similar(&self, names: &[String], limit: usize) -> PortResult<Vec<Hit>> {
        self.answer(self.alike(names, limit).map(scored))
    }

    async fn ending_with(&self, ends: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        let one = |end: &String| self.files_ending(end, limit);
        self.answer(ends.iter().map(one).collect())
    }

    async fn below(&self, folders: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        let one = |folder: &String| self.files_below(folder, limit);
        self.answer(folders.iter().map(one).collect())
    }

    fn version(&self) -> u64 {
        self.store().answered().generation
    }

    async fn parts_of(&self, wanted: &[PartQuery], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        // A stack trace names one file many times: its parts are read once, and no longer kept.
        let mut of_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, query) in wanted.iter().enumerate() {
            of_file.entry(&query.path).or_default().push(at);
        }
        let mut parts = vec![Vec::new(); wanted.len()];
        for (path, queries) in of_file {
            let all = self.answer(self.all(self.fields.path, path))?;
            for at in queries {
                let found = all.iter().filter(|part| wanted[at].is_met_by(part));
                let found = found.take(limit);
                parts[at] = found.map(|it| Hit::new(Arc::clone(it), 1.0)).collect();
            }
        }
        Ok(parts)
    }
}

#[async_trait]
impl Relations for Index {
    async fn users_of(&self, names: &[String], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        self.answer(self.each_of(self.fields.uses, names, limit))
    }
}

#[async_trait]
impl History for Index {
    async fn messages(&self, thread: &str, limit: usize) -> PortResult<Vec<Message>> {
        self.answer(self.remembered.messages(thread, limit))
    }
}

#[async_trait]
impl References for Index {
    async fn pinned(&self, thread: &str) -> PortResult<Vec<String>> {
        self.answer(self.remembered.pinned(thread))
    }
}

#[async_trait]
impl Usage for Index {
    async fn counts(&self, paths: &[String]) -> PortResult<BTreeMap<String, u64>> {
        self.answer(self.remembered.uses(paths))
    }

    async fn shown(&self, paths: &[String], now: UnixSeconds) -> PortResult<()> {
        self.answer(self.remembered.shown(paths, now))
    }

    async fn recent(&self, limit: usize) -> PortResult<Vec<(String, UnixSeconds)>> {
        self.answer(self.remembered.recent(limit))
    }
}

#[async_trait]
impl Threads for Index {
    async fn append(&self, thread: &str, message: &Message) -> PortResult<()> {
        self.answer(self.remembered.append(thread, message))
    }

    async fn pin(&self, thread: &str, what: &str) -> PortResult<()> {
        self.answer(self.remembered.pin(thread, what))
    }

    async fn unpin(&self, thread: &str, what: &str) -> PortResult<()> {
        self.answer(self.remembered.unpin(thread, what))
    }
}

#[async_trait]
impl Feedback for Index {
    async fn vote(&self, vote: &Vote) -> PortResult<bool> {
        self.answer(self.remembered.vote(vote))
    }
}

#[async_trait]
impl Generation for Index {
    async fn generation(&self) -> PortResult<u64> {
        self.answer(self.state())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use ctx_retrieve::TaskScope;

    use super::*;

    #[tokio::test]
    async fn of_many_files_of_one_name_no_more_are_read_than_asked_for() {
        let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let names = (0..40).map(|it| format!("{:02}/mod.rs", it * 7 % 40));
        for name in names.chain(["mod.rs".to_owned()]) {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "fn one() {}\n").unwrap();
        }
        let index = Index::open(root.path(), folder.path(), crate::Options::default()).unwrap();
        index.update(&mut |_| ControlFlow::Continue(())).unwrap();
        let ends = ["mod.rs".to_owned()];
        let ending = |limit| index.ending_with(&ends, limit);
        let found = ending(3).await.unwrap().concat();
        assert_eq!(found, ["00/mod.rs", "01/mod.rs", "02/mod.rs"]);
        assert_eq!(index.parts.of(&index.searcher()).filled(), 3);
        assert_eq!(ending(0).await.unwrap(), [[""; 0]]);
        let all = ending(usize::MAX).await.unwrap().concat();
        assert!(all.len() == 41 && all.is_sorted() && all[40] == "mod.rs");
        // Without a caller that waits, the query is cancelled.
        let (scope, guard) = TaskScope::default().cancel_on_drop();
        drop(guard);
        assert!(scope.within(ending(3)).await.is_err());
    }
}
