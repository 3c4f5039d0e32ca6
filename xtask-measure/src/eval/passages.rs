//! How much of the answers each policy shows, within each budget.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::{Result, ensure};
use ctx::assemble::{Control, assemble};
use ctx::model::{
    BuildOptions, BuiltContext, Chunk, GroupBy, OmittedReason, Relevance, Selection, Tokens,
};
use ctx::tokens::{TokenCounter, o200k_base};

use super::bm25::Bm25;
use super::sets::{Golden, Passage, Question, Set};

/// The most candidate passages per question, best first.
const CANDIDATES: usize = 100;

/// A way to build a context.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    pub(super) name: &'static str,
    selection: Selection,
    group_by: GroupBy,
    diversity: f64,
    relevance_power: u8,
}

const fn policy(
    name: &'static str,
    selection: Selection,
    group_by: GroupBy,
    relevance_power: u8,
) -> Policy {
    Policy {
        name,
        selection,
        group_by,
        diversity: 0.0,
        relevance_power,
    }
}

pub(super) const POLICIES: [Policy; 9] = [
    policy("score order", Selection::InOrder, GroupBy::None, 1),
    policy("score order, by file", Selection::InOrder, GroupBy::File, 1),
    policy("density", Selection::Density, GroupBy::File, 1),
    policy("optimal", Selection::Optimal, GroupBy::File, 1),
    Policy {
        diversity: 0.3,
        ..policy(
            "optimal, diversity 0.3",
            Selection::Optimal,
            GroupBy::File,
            1,
        )
    },
    policy("density, relevance²", Selection::Density, GroupBy::File, 2),
    policy("optimal, relevance²", Selection::Optimal, GroupBy::File, 2),
    policy("optimal, relevance⁴", Selection::Optimal, GroupBy::File, 4),
    policy("optimal, relevance⁸", Selection::Optimal, GroupBy::File, 8),
];

/// The results of one policy on one set within one budget: means over the questions.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub(super) struct Reached {
    /// The share of the answer that is shown.
    pub(super) recall: f64,
    /// The share of the shown text that belongs to the answer.
    pub(super) precision: f64,
    /// Tokens of the contexts.
    pub(super) tokens: f64,
    /// Contexts over their budget, according to a recount.
    pub(super) over: usize,
    /// Contexts that differed the second time.
    pub(super) unstable: usize,
}

/// Runs all questions of `set` with each policy and budget; the rows are those of [`POLICIES`].
pub(super) fn run(set: &Set) -> Result<Vec<[Reached; 4]>> {
    let index = Bm25::new(set.passages.iter().map(|passage| passage.text.as_str()));
    let ranked: Vec<Vec<(usize, f64)>> = set
        .questions
        .iter()
        .map(|question| index.rank(&question.text))
        .collect();
    let row = |policy: &Policy| -> Result<[Reached; 4]> {
        let mut row = [Reached::default(); 4];
        for (reached, budget) in row.iter_mut().zip(set.budgets) {
            for (question, ranked) in set.questions.iter().zip(&ranked) {
                let chunks = chunks(set, ranked)?;
                one(set, question, &chunks, *policy, budget, reached)?;
            }
            reached.average(set.questions.len());
        }
        Ok(row)
    };
    POLICIES.iter().map(row).collect()
}

impl Reached {
    fn average(&mut self, questions: usize) {
        let questions = count(questions);
        self.recall /= questions;
        self.precision /= questions;
        self.tokens /= questions;
    }
}

fn chunks(set: &Set, ranked: &[(usize, f64)]) -> Result<Vec<Chunk>> {
    let best = ranked.first().map_or(1.0, |(_, score)| *score);
    ranked
        .iter()
        .take(CANDIDATES)
        .map(|&(index, score)| {
            let passage = &set.passages[index];
            let relevance = Relevance::new(score / best)?;
            Ok(Chunk::new(&passage.id, &passage.text, relevance).with_path(&passage.document))
        })
        .collect()
}

fn one(
    set: &Set,
    question: &Question,
    chunks: &[Chunk],
    policy: Policy,
    budget: u32,
    reached: &mut Reached,
) -> Result<()> {
    let options = BuildOptions::default()
        .with_max_tokens(Tokens::new(budget))
        .with_group_by(policy.group_by)
        .with_selection(policy.selection)
        .with_relevance_power(policy.relevance_power)
        .with_diversity(policy.diversity);
    let counter = o200k_base();
    let built = assemble(chunks, &options, counter, &Control::default())?;
    let again = assemble(chunks, &options, counter, &Control::default())?;
    let total = counter.count(&built.context);
    ensure!(
        total == built.tokens.total,
        "a receipt does not tell the count"
    );
    reached.over += usize::from(total.get() > budget);
    reached.unstable += usize::from(again.context != built.context);
    reached.tokens += f64::from(total.get());
    let shown = shown(&built);
    let (recall, precision) = match &question.golden {
        Golden::Passages(golden) => {
            let found = golden
                .iter()
                .filter(|id| shown.contains(id.as_str()))
                .count();
            let all = count(shown.len()).max(1.0);
            (count(found) / count(golden.len()), count(found) / all)
        }
        Golden::Spans(document, spans) => {
            let passages = set.passages.iter();
            let passages = passages.filter(|passage| shown.contains(passage.id.as_str()));
            covered(passages, document, spans)
        }
    };
    reached.recall += recall;
    reached.precision += precision;
    Ok(())
}

/// The ids of all chunks whose text is in the context, even within another chunk.
fn shown(built: &BuiltContext) -> BTreeSet<&str> {
    let mut shown: BTreeSet<&str> = built.included.iter().map(|it| it.id.as_str()).collect();
    let elsewhere: BTreeMap<&str, &str> = built
        .omitted
        .iter()
        .filter(|it| {
            matches!(
                it.reason,
                OmittedReason::MergedInto | OmittedReason::DuplicateOf
            )
        })
        .filter_map(|it| Some((it.id.as_str(), it.other.as_deref()?)))
        .collect();
    for (id, other) in elsewhere {
        if shown.contains(other) {
            shown.insert(id);
        }
    }
    shown
}

/// The share of the spans' characters that the passages show, and the share of the characters shown
/// that are in the spans.
fn covered<'p>(
    passages: impl Iterator<Item = &'p Passage>,
    document: &str,
    spans: &[Range<usize>],
) -> (f64, f64) {
    let wanted: BTreeSet<usize> = spans.iter().flat_map(Clone::clone).collect();
    let (mut found, mut all) = (0, 0);
    for passage in passages {
        all += passage.range.len();
        if passage.document == document {
            found += wanted.range(passage.range.clone()).count();
        }
    }
    let recall = count(found) / count(wanted.len()).max(1.0);
    (recall, count(found) / count(all).max(1.0))
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_is_counted_in_characters() {
        let passage = |document: &str, range: Range<usize>| Passage {
            id: format!("{document}{}", range.start),
            document: document.to_owned(),
            file: document.to_owned(),
            text: "x".repeat(range.len()),
            range,
        };
        let passages = [
            passage("d", 0..10),
            passage("d", 20..30),
            passage("e", 0..20),
        ];
        let (recall, precision) = covered(passages.iter(), "d", &[5..15, 25..27]);
        assert!((recall - 7.0 / 12.0).abs() < 1e-12, "{recall}");
        assert!((precision - 7.0 / 40.0).abs() < 1e-12, "{precision}");
    }
}
