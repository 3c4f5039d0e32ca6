//! What the index answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use ctx_model::LineSpan;
use ctx_retrieve::{
    Answer, Feedback, Field, FileSearch, Generation, History, Hit, Message, PortError, References,
    Relations, TextQuery, Threads, Usage, Vote,
};
use tantivy::collector::{DocSetCollector, TopDocs};
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, Occur, Query, TermQuery, TermSetQuery,
};
use tantivy::schema::IndexRecordOption::{Basic, WithFreqs};
use tantivy::schema::document::Value as _;
use tantivy::{DocAddress, Searcher, TantivyDocument, Term};

use crate::best::Best;
use crate::schema::{Stored, trigrams};
use crate::{Index, IndexError};

/// Documents beyond a limit that are looked at, so that of equals the same are taken every time.
const SLACK: usize = 64;
/// No answer has more.
const MOST: usize = 10_000;
/// With more pairs of a term and a field, every posting is looked at.
const PRUNED: usize = 16;

impl Index {
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

    /// Any of the terms in any of the fields.
    fn query(&self, wanted: &TextQuery) -> Option<Box<dyn Query>> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for &(field, worth) in &wanted.fields {
            let Some(field) = self.field(field).filter(|_| worth > 0.0) else {
                continue;
            };
            for (term, weight) in &wanted.terms {
                let query = TermQuery::new(Term::from_field_text(field, term), WithFreqs);
                let query = BoostQuery::new(Box::new(query), worth * weight);
                clauses.push((Occur::Should, Box::new(query)));
            }
        }
        if clauses.is_empty() {
            return None;
        }
        let any: Box<dyn Query> = Box::new(BooleanQuery::new(clauses));
        if wanted.paths.is_empty() {
            return Some(any);
        }
        let paths = wanted
            .paths
            .iter()
            .map(|path| Term::from_field_text(self.fields.path, path));
        let within = ConstScoreQuery::new(Box::new(TermSetQuery::new(paths)), 0.0);
        Some(Box::new(BooleanQuery::new(vec![
            (Occur::Must, any),
            (Occur::Must, Box::new(within)),
        ])))
    }

    fn find(&self, wanted: &TextQuery) -> Result<Vec<(f64, Arc<Hit>)>, IndexError> {
        match self.query(wanted) {
            Some(query) => {
                let clauses = wanted.terms.len() * wanted.fields.len();
                self.best(&*query, clauses, wanted.limit)
            }
            None => Ok(Vec::new()),
        }
    }

    /// The best `limit` documents with their scores, the best first and equals in the order of their places.
    fn best(
        &self,
        query: &dyn Query,
        clauses: usize,
        limit: usize,
    ) -> Result<Vec<(f64, Arc<Hit>)>, IndexError> {
        let limit = limit.min(MOST);
        let searcher = self.reader.searcher();
        let found = if clauses > PRUNED {
            searcher.search(query, &Best(limit + SLACK))?
        } else {
            searcher.search(query, &TopDocs::with_limit(limit + SLACK).order_by_score())?
        };
        let least = (found.len() == limit + SLACK).then(|| rounded(found[found.len() - 1].0));
        let mut hits = Vec::with_capacity(found.len());
        for (score, address) in found {
            let score = rounded(score);
            // Of those as good as the last, some were left out, and which is chance.
            if least.is_none_or(|least| score > least) || hits.len() < limit / 2 {
                hits.push((score, self.hit(&searcher, address)?));
            }
        }
        hits.sort_by(|(a_score, a), (b_score, b)| {
            let by_place = || (&a.path, a.span.start()).cmp(&(&b.path, b.span.start()));
            b_score.total_cmp(a_score).then_with(by_place)
        });
        hits.truncate(limit);
        Ok(hits)
    }

    /// All documents that hold `term` in `field`, in the order of their places.
    fn all(&self, field: tantivy::schema::Field, term: &str) -> Result<Vec<Arc<Hit>>, IndexError> {
        let searcher = self.reader.searcher();
        let query = TermQuery::new(Term::from_field_text(field, term), Basic);
        let found = searcher.search(&query, &DocSetCollector)?;
        let hits = found
            .into_iter()
            .map(|address| self.hit(&searcher, address));
        let mut hits = hits.collect::<Result<Vec<_>, _>>()?;
        hits.sort_by(|a, b| (&a.path, a.span.start()).cmp(&(&b.path, b.span.start())));
        Ok(hits)
    }

    /// What is stored of a document, from the memory of those that were met lately. What a segment says of a
    /// document never changes.
    fn hit(&self, searcher: &Searcher, address: DocAddress) -> Result<Arc<Hit>, IndexError> {
        let segment = searcher.segment_reader(address.segment_ord).segment_id();
        let key = (segment, address.doc_id);
        if let Some(hit) = self.hits.get(&key) {
            return Ok(hit);
        }
        let hit = Arc::new(read_hit(
            searcher,
            address,
            self.fields.path,
            self.fields.stored,
        )?);
        self.hits.insert(key, Arc::clone(&hit));
        Ok(hit)
    }

    fn any_of(
        &self,
        field: tantivy::schema::Field,
        terms: &BTreeSet<String>,
        limit: usize,
    ) -> Result<Vec<(f64, Arc<Hit>)>, IndexError> {
        let clauses = terms.iter().map(|term| {
            let query = TermQuery::new(Term::from_field_text(field, term), Basic);
            (Occur::Should, Box::new(query) as Box<dyn Query>)
        });
        self.best(&BooleanQuery::new(clauses.collect()), terms.len(), limit)
    }
}

/// The share of trigrams that `hit` and a name with `grams` have in common.
fn likeness(grams: &BTreeSet<String>, hit: &Hit) -> f64 {
    let its = hit.name.as_deref().or_else(|| hit.path.rsplit('/').next());
    let its = trigrams(its.unwrap_or_default());
    let both = its.iter().filter(|it| grams.contains(*it)).count();
    let all = grams.len() + its.len() - both;
    #[expect(clippy::cast_precision_loss, reason = "names are short")]
    let share = both as f64 / all.max(1) as f64;
    share
}

/// Sums of the same numbers in another order differ in their last digits.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}

/// Hits of their own, with their scores.
fn scored(hits: Vec<(f64, Arc<Hit>)>) -> Vec<Hit> {
    let own = |(score, hit): (f64, Arc<Hit>)| {
        let mut hit = Arc::unwrap_or_clone(hit);
        hit.score = score;
        hit
    };
    hits.into_iter().map(own).collect()
}

fn read_hit(
    searcher: &Searcher,
    address: DocAddress,
    path: tantivy::schema::Field,
    stored: tantivy::schema::Field,
) -> Result<Hit, IndexError> {
    let damaged = || IndexError::Damaged {
        what: "a document is not as it was written".to_owned(),
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
    // The document of a file stands for all of it.
    let span = LineSpan::new(first.max(1), last.max(1)).map_err(|_| damaged())?;
    let mut hit = Hit::new(path, span, 1.0);
    hit.kind = if last == 0 {
        "file".to_owned()
    } else {
        stored.kind
    };
    hit.name = stored.name;
    hit.qualified_name = stored.qualified_name;
    hit.language = stored.language;
    hit.refers_to = stored.refers_to;
    hit.modified_at = stored.modified_at;
    Ok(hit)
}

fn answer<T>(result: Result<T, IndexError>) -> Answer<T> {
    result.map_err(|error| {
        let source = std::error::Error::source(&error).map(|it| format!(": {it}"));
        PortError(format!("failed to {error}{}", source.unwrap_or_default()))
    })
}

fn is_part(hit: &Hit) -> bool {
    hit.kind != "file"
}

#[async_trait]
impl FileSearch for Index {
    async fn passages(&self, wanted: &TextQuery) -> Answer<Vec<Hit>> {
        answer(self.find(wanted).map(scored))
    }

    async fn files(&self, wanted: &TextQuery) -> Answer<Vec<(String, f64)>> {
        let hits = answer(self.find(wanted))?;
        let path = |(score, hit): (f64, Arc<Hit>)| (hit.path.clone(), score);
        Ok(hits.into_iter().map(path).collect())
    }

    async fn definitions(&self, names: &[String], limit: usize) -> Answer<Vec<Hit>> {
        let names: BTreeSet<String> = names.iter().map(|it| it.to_lowercase()).collect();
        answer(self.any_of(self.fields.defines, &names, limit).map(scored))
    }

    async fn similar(&self, names: &[String], limit: usize) -> Answer<Vec<Hit>> {
        let mut best: BTreeMap<(String, u32), (f64, Arc<Hit>)> = BTreeMap::new();
        for name in names {
            let grams: BTreeSet<String> = trigrams(name).into_iter().collect();
            if grams.is_empty() {
                continue;
            }
            let near = self.any_of(self.fields.trigrams, &grams, limit.min(MOST) * 4);
            for (_, hit) in answer(near)? {
                let likeness = likeness(&grams, &hit);
                let key = (hit.path.clone(), hit.span.start());
                if best.get(&key).is_none_or(|it| it.0 < likeness) {
                    best.insert(key, (likeness, hit));
                }
            }
        }
        let mut hits: Vec<(f64, Arc<Hit>)> = best.into_values().collect();
        hits.sort_by(|a, b| b.0.total_cmp(&a.0));
        hits.truncate(limit);
        Ok(scored(hits))
    }

    async fn ending_with(&self, path: &str, limit: usize) -> Answer<Vec<String>> {
        let hits = answer(self.all(self.fields.path_ends, &path.to_lowercase()))?;
        let paths = hits.iter().take(limit).map(|hit| hit.path.clone());
        Ok(paths.collect())
    }

    async fn parts_of(&self, path: &str, line: Option<u32>, limit: usize) -> Answer<Vec<Hit>> {
        let mut hits = answer(self.all(self.fields.path, path))?;
        hits.retain(|hit| {
            is_part(hit)
                && line.is_none_or(|line| hit.span.start() <= line && line <= hit.span.end())
        });
        hits.truncate(limit);
        Ok(hits.into_iter().map(Arc::unwrap_or_clone).collect())
    }
}

#[async_trait]
impl Relations for Index {
    async fn users_of(&self, names: &[String], limit: usize) -> Answer<Vec<Hit>> {
        let names: BTreeSet<String> = names.iter().map(|it| it.to_lowercase()).collect();
        answer(self.any_of(self.fields.uses, &names, limit).map(scored))
    }
}

#[async_trait]
impl History for Index {
    async fn messages(&self, thread: &str, limit: usize) -> Answer<Vec<Message>> {
        answer(self.manifest.messages(thread, limit))
    }
}

#[async_trait]
impl References for Index {
    async fn pinned(&self, thread: &str) -> Answer<Vec<String>> {
        answer(self.manifest.pinned(thread))
    }
}

#[async_trait]
impl Usage for Index {
    async fn counts(&self, paths: &[String]) -> Answer<BTreeMap<String, u64>> {
        answer(self.manifest.uses(paths))
    }

    async fn shown(&self, paths: &[String], now: i64) -> Answer<()> {
        answer(self.manifest.shown(paths, now))
    }

    async fn recent(&self, limit: usize) -> Answer<Vec<(String, i64)>> {
        answer(self.manifest.recent(limit))
    }
}

#[async_trait]
impl Threads for Index {
    async fn append(&self, thread: &str, message: &Message) -> Answer<()> {
        answer(self.manifest.append(thread, message))
    }

    async fn pin(&self, thread: &str, what: &str) -> Answer<()> {
        answer(self.manifest.pin(thread, what))
    }

    async fn unpin(&self, thread: &str, what: &str) -> Answer<()> {
        answer(self.manifest.unpin(thread, what))
    }
}

#[async_trait]
impl Feedback for Index {
    async fn vote(&self, vote: &Vote) -> Answer<bool> {
        answer(self.manifest.vote(vote))
    }
}

#[async_trait]
impl Generation for Index {
    async fn generation(&self) -> Answer<u64> {
        answer(self.manifest.state())
    }
}
