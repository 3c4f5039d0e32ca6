//! The strategies.

mod changes;
mod likeness;
mod named;
mod names;
mod pattern;
mod places;
mod relations;
mod semantic;
mod similar;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ctx_rank::{Query, Term};
use rapidhash::RapidHashMap;

pub(crate) use self::changes::changes;
pub(crate) use self::named::{
    Contributions, asked_for_alone, before_in_file, may_name_files, mistyped_alone,
};
pub(crate) use self::names::names;
pub(crate) use self::places::{Named, Noted, places};
pub(crate) use self::relations::{SEEDS, relations, users};
pub(crate) use self::semantic::semantic;
pub(crate) use self::similar::{misspelt, similar};
pub(crate) use self::text::{Depth, coverage, files, text};
use crate::keys::ByKey;
use crate::options::Strategy;
use crate::ports::{FileSearch, Hit, Part, PartQuery, PortError, PortResult};

/// The most parts requested per file, or per name.
const WIDE: usize = 400;
/// The most names that are looked up.
const NAMES: usize = 48;
/// A name with more definitions than this means none of them in particular.
const MOST_DEFINITIONS: usize = 40;
/// The most mentions of files that are looked up.
const MENTIONS: usize = 48;
/// A path suffix that more files have than this means none of them.
const MOST_FILES: usize = 4;

/// Whether `query` has anything that `strategy` could search for.
pub(crate) fn has_a_say(strategy: Strategy, query: &Query) -> bool {
    let has_files = !query.mentions.files.is_empty();
    match strategy {
        Strategy::Names => !query.mentions.names.is_empty() || !query.mentions.phrases.is_empty(),
        Strategy::Places => {
            let has_names = may_name_files(query) || !query.mentions.spaced_names.is_empty();
            has_files || !query.mentions.frames.is_empty() || has_names
        }
        Strategy::Similar => has_files || !query.mentions.names.is_empty(),
        Strategy::Changes => !query.terms.is_empty(),
        Strategy::Text
        | Strategy::Coverage
        | Strategy::Files
        | Strategy::Semantic
        | Strategy::Relations => true,
    }
}

fn weighted(terms: &[Term]) -> Vec<(String, f32)> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a score of f32 is no finer"
    )]
    terms
        .iter()
        .map(|it| (it.text.clone(), it.weight as f32))
        .collect()
}

fn terms(query: &Query) -> Vec<(String, f32)> {
    weighted(&query.terms)
}

/// Each of `questions` once, in order.
fn unique<'q, T: Ord + Clone + 'q>(questions: impl Iterator<Item = &'q T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    questions.filter(|&it| seen.insert(it)).cloned().collect()
}

/// The answers of a port, by question; `kind` names the questions in errors.
fn by_question<'q, Q: Ord, A>(
    kind: &str,
    questions: &'q [Q],
    answers: Vec<A>,
) -> PortResult<BTreeMap<&'q Q, A>> {
    let answers = of_each(kind, questions, answers)?;
    Ok(questions.iter().zip(answers).collect())
}

/// Whether the answer to `question` has anything.
fn has<Q: Ord, A>(answers: &BTreeMap<&Q, Vec<A>>, question: &Q) -> bool {
    answers.get(question).is_some_and(|it| !it.is_empty())
}

/// The `answers` of a port, if there is one for each of `questions`: otherwise it is unknown which
/// answer belongs to which.
fn of_each<Q, A>(kind: &str, questions: &[Q], answers: Vec<A>) -> PortResult<Vec<A>> {
    let (answered, asked) = (answers.len(), questions.len());
    if answered != asked {
        return Err(PortError::new(format!(
            "it answered {answered} of {asked} {kind}"
        )));
    }
    Ok(answers)
}

/// Parts with the sums of their scores, in the order of arrival, so that sums add the same numbers
/// in the same order every time.
#[derive(Default)]
struct Sum {
    hits: Vec<Hit>,
    /// The index of each part in `hits`.
    numbers: RapidHashMap<ByKey, usize>,
}

impl Sum {
    fn add(&mut self, part: &Arc<Part>, score: f64) {
        let next = self.hits.len();
        let number = self.numbers.entry(ByKey(Arc::clone(part)));
        let number = *number.or_insert(next);
        if number == next {
            self.hits.push(Hit::new(Arc::clone(part), score));
        } else {
            self.hits[number].score += score;
        }
    }
}

/// All parts of these files, each with the score of its file.
async fn parts_of(search: &dyn FileSearch, files: Vec<(String, f64)>) -> PortResult<Vec<Hit>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let (paths, worth): (Vec<String>, Vec<f64>) = files.into_iter().unzip();
    let wanted: Vec<PartQuery> = paths.into_iter().map(PartQuery::new).collect();
    let parts = search.parts_of(&wanted, WIDE).await?;
    let parts = of_each("files", &wanted, parts)?.into_iter().zip(worth);
    let hits =
        parts.flat_map(|(all, worth)| all.into_iter().map(move |it| Hit::new(it.part, worth)));
    Ok(hits.collect())
}
