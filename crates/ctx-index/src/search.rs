//! What the index answers.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use ctx_model::LineSpan;
use ctx_retrieve::{
    Answer, Feedback, Field, FileSearch, Generation, History, Hit, Message, PartQuery, PortError,
    References, Relations, TextQuery, Threads, Usage, Vote,
};
use tantivy::collector::{DocSetCollector, TopDocs};
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, Occur, Query, TermQuery, TermSetQuery,
};
use tantivy::schema::IndexRecordOption::{Basic, WithFreqs};
use tantivy::schema::document::Value as _;
use tantivy::{DocAddress, Searcher, TantivyDocument, Term};

use crate::schema::{Stored, trigrams};
use crate::{Index, IndexError};

/// Documents beyond a limit that are looked at, so that of equals the same are taken every time.
const SLACK: usize = 64;
/// No answer has more.
const MOST: usize = 10_000;

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

    /// The best `limit` documents with their scores, the best first and equals in the order of their places.
    fn best(&self, query: &dyn Query, limit: usize) -> Result<Vec<Hit>, IndexError> {
        let limit = limit.min(MOST);
        let searcher = self.reader.searcher();
        let found = searcher.search(query, &TopDocs::with_limit(limit + SLACK).order_by_score())?;
        let least = (found.len() == limit + SLACK).then(|| rounded(found[found.len() - 1].0));
        let mut hits = Vec::with_capacity(found.len());
        for (score, address) in found {
            let score = rounded(score);
            // Of those as good as the last, some were left out, and which is chance.
            if least.is_none_or(|least| score > least) || hits.len() < limit / 2 {
                hits.extend(hit(
                    &searcher,
                    address,
                    self.fields.path,
                    self.fields.stored,
                    score,
                )?);
            }
        }
        hits.sort_by(|a, b| {
            let by_place = || (&a.path, a.span.start()).cmp(&(&b.path, b.span.start()));
            b.score.total_cmp(&a.score).then_with(by_place)
        });
        hits.truncate(limit);
        Ok(hits)
    }

    /// All documents that hold one of `terms` in `field`, in the order of their places.
    fn all(&self, field: tantivy::schema::Field, terms: &[String]) -> Result<Vec<Hit>, IndexError> {
        let searcher = self.reader.searcher();
        let terms = terms.iter().map(|term| Term::from_field_text(field, term));
        let found = searcher.search(&TermSetQuery::new(terms), &DocSetCollector)?;
        let mut hits = Vec::new();
        for address in found {
            hits.extend(hit(
                &searcher,
                address,
                self.fields.path,
                self.fields.stored,
                1.0,
            )?);
        }
        hits.sort_by(|a, b| (&a.path, a.span.start()).cmp(&(&b.path, b.span.start())));
        Ok(hits)
    }

    fn any_of(
        &self,
        field: tantivy::schema::Field,
        terms: &BTreeSet<String>,
        limit: usize,
    ) -> Result<Vec<Hit>, IndexError> {
        let clauses = terms.iter().map(|term| {
            let query = TermQuery::new(Term::from_field_text(field, term), Basic);
            (Occur::Should, Box::new(query) as Box<dyn Query>)
        });
        self.best(&BooleanQuery::new(clauses.collect()), limit)
    }

    /// The documents that hold each of `names`, in lower case, in `field`.
    fn each_of(
        &self,
        field: tantivy::schema::Field,
        names: &[String],
        limit: usize,
    ) -> Result<Vec<Vec<Hit>>, IndexError> {
        let one = |name: &String| self.any_of(field, &BTreeSet::from([name.to_lowercase()]), limit);
        names.iter().map(one).collect()
    }
}

/// Sums of the same numbers in another order differ in their last digits.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}

fn hit(
    searcher: &Searcher,
    address: DocAddress,
    path: tantivy::schema::Field,
    stored: tantivy::schema::Field,
    score: f64,
) -> Result<Option<Hit>, IndexError> {
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
    let mut hit = Hit::new(path, span, score);
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
    Ok(Some(hit))
}

fn answer<T>(result: Result<T, IndexError>) -> Answer<T> {
    result.map_err(|error| {
        let source = std::error::Error::source(&error).map(|it| format!(": {it}"));
        PortError(format!("failed to {error}{}", source.unwrap_or_default()))
    })
}

fn is_wanted(hit: &Hit, query: &PartQuery) -> bool {
    let holds = |line| hit.span.start() <= line && line <= hit.span.end();
    let is_called = |name: &String| hit.name.as_ref() == Some(name);
    hit.kind != "file" && query.line.is_none_or(holds) && query.name.as_ref().is_none_or(is_called)
}

#[async_trait]
impl FileSearch for Index {
    async fn passages(&self, wanted: &TextQuery) -> Answer<Vec<Hit>> {
        let Some(query) = self.query(wanted) else {
            return Ok(Vec::new());
        };
        answer(self.best(&query, wanted.limit))
    }

    async fn files(&self, wanted: &TextQuery) -> Answer<Vec<(String, f64)>> {
        let hits = self.passages(wanted).await?;
        Ok(hits.into_iter().map(|hit| (hit.path, hit.score)).collect())
    }

    async fn definitions(&self, names: &[String], limit: usize) -> Answer<Vec<Vec<Hit>>> {
        answer(self.each_of(self.fields.defines, names, limit))
    }

    async fn similar(&self, names: &[String], limit: usize) -> Answer<Vec<Hit>> {
        let mut best: BTreeMap<(String, u32), Hit> = BTreeMap::new();
        for name in names {
            let grams: BTreeSet<String> = trigrams(name).into_iter().collect();
            if grams.is_empty() {
                continue;
            }
            for mut hit in answer(self.any_of(self.fields.trigrams, &grams, limit.min(MOST) * 4))? {
                let its = hit.name.as_deref().or_else(|| hit.path.rsplit('/').next());
                let its: BTreeSet<String> = trigrams(its.unwrap_or_default()).into_iter().collect();
                let both = grams.intersection(&its).count();
                let all = grams.len() + its.len() - both;
                #[expect(clippy::cast_precision_loss, reason = "names are short")]
                let likeness = both as f64 / all.max(1) as f64;
                hit.score = likeness;
                let key = (hit.path.clone(), hit.span.start());
                if best.get(&key).is_none_or(|it| it.score < likeness) {
                    best.insert(key, hit);
                }
            }
        }
        let mut hits: Vec<Hit> = best.into_values().collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit);
        Ok(hits)
    }

    async fn ending_with(&self, ends: &[String], limit: usize) -> Answer<Vec<Vec<String>>> {
        let one = |end: &String| {
            let hits = self.all(self.fields.path_ends, &[end.to_lowercase()])?;
            Ok(hits.into_iter().map(|hit| hit.path).take(limit).collect())
        };
        answer(ends.iter().map(one).collect())
    }

    async fn parts_of(&self, wanted: &[PartQuery], limit: usize) -> Answer<Vec<Vec<Hit>>> {
        // A trace names one file many times.
        let mut files: BTreeMap<&str, Vec<Hit>> = BTreeMap::new();
        let mut parts = Vec::with_capacity(wanted.len());
        for query in wanted {
            let hits = match files.entry(&query.path) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let path = std::slice::from_ref(&query.path);
                    new.insert(answer(self.all(self.fields.path, path))?)
                }
            };
            let wanted = hits.iter().filter(|hit| is_wanted(hit, query));
            parts.push(wanted.take(limit).cloned().collect());
        }
        Ok(parts)
    }
}

#[async_trait]
impl Relations for Index {
    async fn users_of(&self, names: &[String], limit: usize) -> Answer<Vec<Vec<Hit>>> {
        answer(self.each_of(self.fields.uses, names, limit))
    }
}

#[async_trait]
impl History for Index {
    async fn messages(&self, thread: &str, limit: usize) -> Answer<Vec<Message>> {
        answer(self.remembered.messages(thread, limit))
    }
}

#[async_trait]
impl References for Index {
    async fn pinned(&self, thread: &str) -> Answer<Vec<String>> {
        answer(self.remembered.pinned(thread))
    }
}

#[async_trait]
impl Usage for Index {
    async fn counts(&self, paths: &[String]) -> Answer<BTreeMap<String, u64>> {
        answer(self.remembered.uses(paths))
    }

    async fn shown(&self, paths: &[String], now: i64) -> Answer<()> {
        answer(self.remembered.shown(paths, now))
    }

    async fn recent(&self, limit: usize) -> Answer<Vec<(String, i64)>> {
        answer(self.remembered.recent(limit))
    }
}

#[async_trait]
impl Threads for Index {
    async fn append(&self, thread: &str, message: &Message) -> Answer<()> {
        answer(self.remembered.append(thread, message))
    }

    async fn pin(&self, thread: &str, what: &str) -> Answer<()> {
        answer(self.remembered.pin(thread, what))
    }

    async fn unpin(&self, thread: &str, what: &str) -> Answer<()> {
        answer(self.remembered.unpin(thread, what))
    }
}

#[async_trait]
impl Feedback for Index {
    async fn vote(&self, vote: &Vote) -> Answer<bool> {
        answer(self.remembered.vote(vote))
    }
}

#[async_trait]
impl Generation for Index {
    async fn generation(&self) -> Answer<u64> {
        answer(self.state())
    }
}
