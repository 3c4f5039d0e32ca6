//! Text search in the store.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use ctx_retrieve::{Field, FileSearch, Hit, Part, PartQuery, PortResult, Relations, TextQuery};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::StoreError;
use crate::documents::{Chosen, Counts, Document, List, Of, Totals};
use crate::lexemes::{ALL_FIELDS, Label, TermQuery};
use crate::lookup::{hash, hit, lower_all};
use crate::plan::{Plan, Purpose, usable};
use crate::ranking::Ranking;
use crate::store::OwnedStore;

/// The most terms whose counts are looked up; the heaviest of these are searched for.
const MOST_LOOKED_UP: usize = 256;
/// Ranking a file costs as much as a hundred parts, so there are fewer candidates by this factor.
const PARTS_OF_A_FILE: u64 = 5;
/// The most documents that are ranked, as a multiple of the candidates: candidates are chosen by
/// counts, and two terms may share a document.
const MOST_RANKED: i32 = 2;
/// The most documents that are ranked if the question names files, of all of them together, as a
/// multiple of the candidates.
const MOST_WITHIN: usize = 4;

/// Counts the documents that hold each term, and selects those of the rarest terms, as many as
/// could be candidates.
const COUNT: &str = "
    WITH counted AS (
        SELECT t.term, t.parts, t.files, q.query,
            row_number() OVER by_parts <= $4 AND sum(t.parts) OVER by_parts <= $5 AS is_in_few_parts,
            row_number() OVER by_files <= $4 AND sum(t.files) OVER by_files <= $6 AS is_in_few_files
        FROM unnest($2::text[], $3::tsquery[]) AS q (term, query)
        JOIN ctx.terms t ON t.owner = $1 AND t.term = q.term
        WINDOW by_parts AS (ORDER BY t.parts, t.term), by_files AS (ORDER BY t.files, t.term)
    )
    SELECT o.generation, o.parts, o.part_terms, o.files, o.file_terms, c.term, c.parts, c.files,
        CASE WHEN c.is_in_few_parts THEN ctx.choose_parts(c.query, $7) END,
        CASE WHEN c.is_in_few_files THEN ctx.choose_files(c.query, $8) END
    FROM ctx.owners o LEFT JOIN counted c ON true WHERE o.owner = $1";

impl Of {
    /// The label of a field's terms.
    fn label(self, field: Field) -> Option<Label> {
        match (self, field) {
            (Of::Parts, Field::Name) | (Of::Files, Field::Path) => Some(Label::A),
            (Of::Parts, Field::Signature) => Some(Label::B),
            (Of::Parts, Field::Doc) => Some(Label::C),
            (Of::Parts, Field::Body) | (Of::Files, Field::Text) => Some(Label::D),
            _ => None,
        }
    }

    /// All of its labels.
    fn mask(self) -> u8 {
        match self {
            Of::Parts => 0b1111,
            Of::Files => 0b1001,
        }
    }
}

/// The weights of fields by label, and the labels that are searched.
fn worths(of: Of, fields: &[(Field, f32)]) -> Option<([f64; 4], u8)> {
    let mut worths = [0.0; 4];
    let mut mask = 0;
    for &(field, worth) in fields {
        if let Some(label) = of.label(field).filter(|_| worth.is_finite() && worth > 0.0) {
            worths[label as usize] += f64::from(worth);
            mask |= 1 << label as u8;
        }
    }
    let is_all = mask == of.mask();
    (mask != 0).then_some((worths, if is_all { ALL_FIELDS } else { mask }))
}

impl OwnedStore {
    /// The documents that match best, the best first.
    async fn ranked(&self, of: Of, wanted: &TextQuery) -> Result<Vec<Hit>, StoreError> {
        let terms = usable(&wanted.terms, MOST_LOOKED_UP);
        let Some((fields, mask)) = worths(of, &wanted.fields) else {
            return Ok(Vec::new());
        };
        if terms.is_empty() || wanted.limit == 0 {
            return Ok(Vec::new());
        }
        let known = self.state(of, &terms).await?;
        let is_within = !wanted.paths.is_empty();
        let candidates = self.candidates(of);
        let purpose = Purpose {
            mask,
            most: self.limits().terms,
            // In the named files every term may select candidates.
            candidates: (!is_within).then_some(candidates),
        };
        let Some(plan) = Plan::new(&terms, &known.counts, known.total, purpose) else {
            return Ok(Vec::new());
        };
        let most = self.most(of);
        let generation = known.generation;
        let chosen = if let Some(essential) = &plan.essential {
            self.chosen(of, generation, essential, most).await?
        } else {
            let numbers = self.within(of, generation, &wanted.paths, most).await?;
            Chosen::Numbers(numbers.into())
        };
        let ranking = Ranking::new(&plan.worths, fields, wanted.counting, known.average);
        let limit = wanted.limit.min(self.limits().rows);
        Ok(match chosen {
            Chosen::Documents(documents) => {
                let scored = documents
                    .iter()
                    .map(|it| (ranking.score(&it.terms), &it.part))
                    .filter(|it| it.0 > 0.0)
                    .collect();
                best(scored, limit, |it| self.noted(it.clone()))
            }
            Chosen::Numbers(numbers) => {
                let mut scored = Vec::new();
                let see = |_, it: Document| {
                    let score = ranking.score(&it.terms);
                    if score > 0.0 {
                        scored.push((score, it.part));
                    }
                    ControlFlow::Continue(())
                };
                let _ = self.each_document(of, &numbers, see).await?;
                best(scored, limit, |it| self.noted(it))
            }
        })
    }

    /// The numbers of the documents at `paths`: at most `most` for each, and at most
    /// [`MOST_WITHIN`] times the candidates in total.
    async fn within(
        &self,
        of: Of,
        generation: u64,
        paths: &[String],
        most: i32,
    ) -> Result<Vec<i64>, StoreError> {
        let list = match of {
            Of::Parts => List::PartsOf,
            Of::Files => List::FileAt,
        };
        let usable = paths.iter().filter(|it| !it.contains('\0'));
        let paths: Vec<String> = usable.cloned().collect();
        let lists = self.lists(list, Some(generation), &paths, most).await?;
        let numbers = lists.iter().flat_map(|it| it.iter().copied());
        let all = self.limits().candidates.saturating_mul(MOST_WITHIN);
        let mut numbers: Vec<i64> = numbers.take(all).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    fn candidates(&self, of: Of) -> u64 {
        let candidates = self.limits().candidates.max(1) as u64;
        match of {
            Of::Parts => candidates,
            Of::Files => candidates.div_ceil(PARTS_OF_A_FILE),
        }
    }

    /// The most documents that are ranked.
    fn most(&self, of: Of) -> i32 {
        let candidates = i32::try_from(self.candidates(of)).unwrap_or(i32::MAX);
        candidates.saturating_mul(MOST_RANKED)
    }

    /// The number and the mean length of documents, and how many of them hold each of `terms`.
    /// Counts that this request or another one of the same generation has read are not read again.
    async fn state(&self, of: Of, terms: &[(&str, f32)]) -> Result<State, StoreError> {
        let terms: Vec<&str> = terms.iter().map(|(term, _)| *term).collect();
        let Some(opening) = self.opening() else {
            let (generation, totals, counts) = self.count(&terms).await?;
            return Ok(State::new(of, generation, totals, counts));
        };
        let known = |generation| match self.counted(generation, &terms) {
            Some((totals, known, unknown)) if unknown.is_empty() => {
                Ok(State::new(of, generation, totals, known))
            }
            Some((_, known, unknown)) => Err((known, unknown)),
            None => Err((BTreeMap::new(), terms.clone())),
        };
        if let Ok(state) = known(opening.progress.generation) {
            return Ok(state);
        }
        // Of concurrent counts in one request only one queries the database.
        let mut counted_at = opening.counting().await;
        let (known, unknown) = match known(*counted_at) {
            Ok(state) => return Ok(state),
            Err(partly) => partly,
        };
        let (mut told, mut totals, mut counts) = self.count(&unknown).await?;
        if told == *counted_at {
            counts.extend(known);
        } else if !known.is_empty() {
            // The cached counts are of another generation.
            (told, totals, counts) = self.count(&terms).await?;
        }
        *counted_at = told;
        Ok(State::new(of, told, totals, counts))
    }

    /// Reads the current generation with its totals and the number of documents that hold each of
    /// `terms`, and caches them. For a request, the documents of the rarest terms are cached too,
    /// since they are most likely needed next.
    async fn count<'t>(
        &self,
        terms: &[&'t str],
    ) -> Result<(u64, Totals, BTreeMap<&'t str, Counts>), StoreError> {
        let queries = terms.iter().map(|it| TermQuery::any([*it], ALL_FIELDS));
        let queries: Vec<TermQuery> = queries.collect();
        let of_both = [Of::Parts, Of::Files];
        let [parts, files] = of_both.map(|of| self.candidates(of).cast_signed());
        let most = of_both.map(|of| self.most(of));
        // Outside a request every search counts, and the documents of its terms may be cached
        // already.
        let chosen = self.opening().map_or(0, |_| self.limits().terms);
        let chosen = i64::try_from(chosen).unwrap_or(i64::MAX);
        let values: [&(dyn ToSql + Sync); 8] = [
            &self.owner(),
            &terms,
            &queries,
            &chosen,
            &parts,
            &files,
            &most[0],
            &most[1],
        ];
        let rows = self.read("count terms", COUNT, &values).await?;
        let (mut generation, mut totals) = (0, Totals::default());
        let all = |row: &Row, at: usize| row.get::<_, i64>(at).max(0).cast_unsigned();
        let some = |row: &Row, at: usize| u64::try_from(row.get::<_, i32>(at)).unwrap_or(0);
        let mut counts: BTreeMap<&str, Counts> =
            terms.iter().map(|it| (*it, Counts::default())).collect();
        for row in &rows {
            generation = row.get::<_, i64>(0).cast_unsigned();
            totals.parts = (all(row, 1), all(row, 2));
            totals.files = (all(row, 3), all(row, 4));
            let term: Option<&str> = row.get(5);
            let Some((term, of_term)) = term.and_then(|it| Some((it, counts.get_mut(it)?))) else {
                continue;
            };
            of_term.parts = some(row, 6);
            of_term.files = some(row, 7);
            for (at, (of, most)) in (8..).zip(of_both.into_iter().zip(most)) {
                if let Some(numbers) = row.get::<_, Option<Vec<i64>>>(at) {
                    let list = (List::Holding(of, ALL_FIELDS), most);
                    self.keep_list(generation, list, term, numbers.into());
                }
            }
        }
        self.note_generation(generation);
        let of_terms: Vec<(&str, Counts)> = counts.iter().map(|(term, it)| (*term, *it)).collect();
        self.keep_counted(generation, totals, &of_terms);
        Ok((generation, totals, counts))
    }
}

/// The `limit` parts with the highest scores, the best first.
fn best<P: AsRef<Part>>(
    mut scored: Vec<(f64, P)>,
    limit: usize,
    part: impl Fn(P) -> Arc<Part>,
) -> Vec<Hit> {
    let order = |(a_score, a): &(f64, P), (b_score, b): &(f64, P)| {
        let by_key = || a.as_ref().key().cmp(&b.as_ref().key());
        b_score.total_cmp(a_score).then_with(by_key)
    };
    if limit < scored.len() {
        scored.select_nth_unstable_by(limit, order);
        scored.truncate(limit);
    }
    scored.sort_unstable_by(order);
    let best = scored.into_iter();
    best.map(|(score, it)| Hit::new(part(it), score)).collect()
}

/// The counts of an owner's documents and of terms.
struct State {
    generation: u64,
    total: u64,
    average: f64,
    counts: BTreeMap<String, u64>,
}

impl State {
    fn new(of: Of, generation: u64, totals: Totals, counts: BTreeMap<&str, Counts>) -> Self {
        let (total, length) = match of {
            Of::Parts => totals.parts,
            Of::Files => totals.files,
        };
        #[expect(clippy::cast_precision_loss, reason = "a mean of lengths is no finer")]
        let average = length as f64 / total.max(1) as f64;
        let count = |it: Counts| match of {
            Of::Parts => it.parts,
            Of::Files => it.files,
        };
        let counts = counts.into_iter();
        State {
            generation,
            total,
            average: average.max(1.0),
            counts: counts
                .map(|(term, it)| (term.to_owned(), count(it)))
                .collect(),
        }
    }
}

#[async_trait]
impl FileSearch for OwnedStore {
    async fn passages(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        Ok(self.ranked(Of::Parts, wanted).await?)
    }

    async fn files(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        Ok(self.ranked(Of::Files, wanted).await?)
    }

    async fn definitions(&self, names: &[String], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        Ok(self.parts_by_name(List::Defining, names, limit).await?)
    }

    async fn similar(&self, names: &[String], limit: usize) -> PortResult<Vec<Hit>> {
        let names = lower_all(names);
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let limit = self.limits().rows(limit);
        let rows = self
            .read(
                "find names that are alike",
                SIMILAR,
                &[&self.owner(), &names, &limit],
            )
            .await?;
        let noted = |row: &Row| Some(self.noted_hit(hit(row)?, hash(row, 10)));
        Ok(rows.iter().filter_map(noted).collect())
    }

    fn longest_list(&self) -> usize {
        self.limits().rows
    }

    async fn ending_with(&self, ends: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        Ok(self.paths_by_end(ends, limit).await?)
    }

    async fn below(&self, folders: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        Ok(self.paths_below(folders, limit).await?)
    }

    async fn parts_of(&self, wanted: &[PartQuery], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        Ok(self.parts_by_place(wanted, limit).await?)
    }
}

const SIMILAR: &str = "
    SELECT f.path, coalesce(p.first, 1), coalesce(p.last, 1), coalesce(p.kind, 'file'), p.name, p.qualified_name,
        f.language, coalesce(p.refers_to, '{}'), f.modified_at, s.score, f.hash
    FROM ctx.like_names($2, $3) s
    JOIN ctx.files f ON f.owner = $1 AND f.path = s.path
    LEFT JOIN ctx.parts p ON p.owner = $1 AND p.path = s.path AND p.first = s.first
    ORDER BY s.score DESC, f.path, s.first";

#[async_trait]
impl Relations for OwnedStore {
    async fn users_of(&self, names: &[String], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        Ok(self.parts_by_name(List::Using, names, limit).await?)
    }
}
