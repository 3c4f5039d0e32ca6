//! What the store answers about files.

use std::collections::BTreeMap;

use async_trait::async_trait;
use ctx_retrieve::{Answer, Counting, Field, FileSearch, Hit, PartQuery, Relations, TextQuery};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::StoreError;
use crate::lexemes::Label;
use crate::lookup::{COLUMNS, hit, lower_all};
use crate::plan::{Plan, Purpose, usable};
use crate::store::OwnedStore;

/// So many terms are looked up; the heaviest of them are looked for.
const MOST_LOOKED_UP: usize = 256;
/// Files are some hundred parts each to rank: so much fewer are candidates.
const PARTS_OF_A_FILE: u64 = 5;
/// Candidates are chosen by counts, of which two may share a document; no more than this many times as many are ranked.
const MOST_RANKED: i32 = 2;

/// Which of the two indexes of terms is asked.
#[derive(Clone, Copy)]
enum Of {
    Parts,
    Files,
}

impl Of {
    /// What a field's terms are labelled with.
    fn label(self, field: Field) -> Option<Label> {
        match (self, field) {
            (Of::Parts, Field::Name) | (Of::Files, Field::Path) => Some(Label::A),
            (Of::Parts, Field::Signature) => Some(Label::B),
            (Of::Parts, Field::Doc) => Some(Label::C),
            (Of::Parts, Field::Body) | (Of::Files, Field::Text) => Some(Label::D),
            _ => None,
        }
    }

    /// All its labels.
    fn mask(self) -> u8 {
        match self {
            Of::Parts => 0b1111,
            Of::Files => 0b1001,
        }
    }

    fn counts(self) -> &'static str {
        match self {
            Of::Parts => {
                "SELECT t.term, t.parts, o.parts, o.part_terms FROM ctx.terms t
                 JOIN ctx.owners o ON o.owner = t.owner WHERE t.owner = $1 AND t.term = ANY ($2)"
            }
            Of::Files => {
                "SELECT t.term, t.files, o.files, o.file_terms FROM ctx.terms t
                 JOIN ctx.owners o ON o.owner = t.owner WHERE t.owner = $1 AND t.term = ANY ($2)"
            }
        }
    }

    /// The statement that ranks, by the function for how terms are counted.
    fn search(self, counting: Counting) -> String {
        let function = match (self, counting) {
            (Of::Parts, Counting::Frequency) => "passages($2, $3, $4, $5, $6, $7, $8, $9)",
            (Of::Parts, Counting::Presence) => "covering($2, $3, $4, $5, $6, $7)",
            (Of::Files, Counting::Frequency) => "fitting_files($2, $3, $4, $5, $6, $7, $8, $9)",
            (Of::Files, Counting::Presence) => "covering_files($2, $3, $4, $5, $6, $7)",
        };
        match self {
            Of::Parts => format!(
                "SELECT {COLUMNS}, s.score FROM ctx.{function} s
                 JOIN ctx.parts p ON p.owner = $1 AND p.ctid = s.place
                 JOIN ctx.files f ON f.owner = $1 AND f.path = p.path
                 ORDER BY s.score DESC, p.path, p.first"
            ),
            Of::Files => format!(
                "SELECT f.path, s.score FROM ctx.{function} s
                 JOIN ctx.files f ON f.owner = $1 AND f.ctid = s.place
                 ORDER BY s.score DESC, f.path"
            ),
        }
    }
}

/// What fields are worth, as the server takes it: D, C, B, A, none above 1; and the labels that are searched, 0 for
/// all of them.
fn worths(of: Of, fields: &[(Field, f32)]) -> Option<(Vec<f32>, u8)> {
    let mut worths = vec![0.0_f32; 4];
    let mut mask = 0;
    for &(field, worth) in fields {
        if let Some(label) = of.label(field).filter(|_| worth.is_finite() && worth > 0.0) {
            worths[label as usize] += worth;
            mask |= 1 << label as u8;
        }
    }
    let most = worths.iter().copied().fold(0.0, f32::max);
    for worth in &mut worths {
        *worth /= most;
    }
    (mask != 0).then_some((worths, if mask == of.mask() { 0 } else { mask }))
}

impl OwnedStore {
    async fn ranked(&self, of: Of, wanted: &TextQuery) -> Result<Vec<Row>, StoreError> {
        let terms = usable(&wanted.terms, MOST_LOOKED_UP);
        let Some((weights, mask)) = worths(of, &wanted.fields) else {
            return Ok(Vec::new());
        };
        if terms.is_empty() || wanted.limit == 0 {
            return Ok(Vec::new());
        }
        let known = self.counts(of, &terms).await?;
        let within: Vec<&str> = wanted
            .paths
            .iter()
            .map(String::as_str)
            .filter(|it| !it.contains('\0'))
            .collect();
        let is_within = !wanted.paths.is_empty();
        let candidates = self.candidates(of);
        // In few files every term may choose.
        let choosing = (!is_within).then_some(candidates);
        let purpose = Purpose {
            counting: wanted.counting,
            mask,
            most: self.limits().terms,
            candidates: choosing,
        };
        let Some(plan) = Plan::new(&terms, &known.counts, known.total, purpose) else {
            return Ok(Vec::new());
        };
        let most = i32::try_from(candidates).unwrap_or(i32::MAX);
        let most = most.saturating_mul(MOST_RANKED);
        let (owner, rows) = (self.owner(), self.limits().rows(wanted.limit));
        let within = is_within.then_some(within);
        let mut values: Vec<&(dyn ToSql + Sync)> =
            vec![&owner, &plan.essential, &plan.groups, &plan.factors];
        match wanted.counting {
            Counting::Frequency => {
                values.extend([&weights as &(dyn ToSql + Sync), &within, &known.average]);
            }
            Counting::Presence => values.push(&within),
        }
        values.extend([&most as &(dyn ToSql + Sync), &rows]);
        self.read("search files", &of.search(wanted.counting), &values)
            .await
    }

    fn candidates(&self, of: Of) -> u64 {
        let candidates = self.limits().candidates.max(1) as u64;
        match of {
            Of::Parts => candidates,
            Of::Files => candidates.div_ceil(PARTS_OF_A_FILE),
        }
    }

    async fn counts(&self, of: Of, terms: &[(&str, f32)]) -> Result<Known, StoreError> {
        let terms: Vec<&str> = terms.iter().map(|(term, _)| *term).collect();
        let values: [&(dyn ToSql + Sync); 2] = [&self.owner(), &terms];
        let rows = self.read("count terms", of.counts(), &values).await?;
        let mut known = Known {
            average: 1.0,
            ..Known::default()
        };
        for row in rows {
            let count = u64::try_from(row.get::<_, i32>(1)).unwrap_or(0);
            known.counts.insert(row.get(0), count);
            let (total, length): (i64, i64) = (row.get(2), row.get(3));
            known.total = total.max(0).cast_unsigned();
            #[expect(clippy::cast_precision_loss, reason = "a mean of lengths is no finer")]
            let average = length as f32 / total.max(1) as f32;
            known.average = average.max(1.0);
        }
        Ok(known)
    }
}

/// What is known of terms.
#[derive(Default)]
struct Known {
    counts: BTreeMap<String, u64>,
    total: u64,
    average: f32,
}

#[async_trait]
impl FileSearch for OwnedStore {
    async fn passages(&self, wanted: &TextQuery) -> Answer<Vec<Hit>> {
        let rows = self.ranked(Of::Parts, wanted).await?;
        Ok(rows.iter().filter_map(hit).collect())
    }

    async fn files(&self, wanted: &TextQuery) -> Answer<Vec<(String, f64)>> {
        let rows = self.ranked(Of::Files, wanted).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    async fn definitions(&self, names: &[String], limit: usize) -> Answer<Vec<Vec<Hit>>> {
        let found = self.parts_by_name("find definitions", "defining", names, limit);
        Ok(found.await?)
    }

    async fn similar(&self, names: &[String], limit: usize) -> Answer<Vec<Hit>> {
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
        Ok(rows.iter().filter_map(hit).collect())
    }

    async fn ending_with(&self, ends: &[String], limit: usize) -> Answer<Vec<Vec<String>>> {
        Ok(self.paths_by_end(ends, limit).await?)
    }

    async fn parts_of(&self, wanted: &[PartQuery], limit: usize) -> Answer<Vec<Vec<Hit>>> {
        Ok(self.parts_by_place(wanted, limit).await?)
    }
}

const SIMILAR: &str = "
    SELECT f.path, coalesce(p.first, 1), coalesce(p.last, 1), coalesce(p.kind, 'file'), p.name, p.qualified_name,
        f.language, coalesce(p.refers_to, '{}'), f.modified_at, s.score
    FROM ctx.like_names($2, $3) s
    JOIN ctx.files f ON f.owner = $1 AND f.path = s.path
    LEFT JOIN ctx.parts p ON p.owner = $1 AND p.path = s.path AND p.first = s.first
    ORDER BY s.score DESC, f.path, s.first";

#[async_trait]
impl Relations for OwnedStore {
    async fn users_of(&self, names: &[String], limit: usize) -> Answer<Vec<Vec<Hit>>> {
        let found = self.parts_by_name("find users of names", "using_names", names, limit);
        Ok(found.await?)
    }
}
