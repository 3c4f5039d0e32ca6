//! The probability of sentences to be part of an answer.

use std::collections::BTreeMap;

use crate::query::Term;
use crate::signals::unit;
use crate::words::{Analyzer, Part};

/// How far a term counts for the sentences around it (the decay distance, in sentences), and the
/// weight of this scale. The topic of a sentence is often given before it, and by its title.
const SCALES: [(f64, f64); 4] = [(0.0, 1.0), (1.5, 1.0), (6.0, 1.0), (20.0, 0.5)];
/// The most that a term counts, so that a sum of them is finite.
const HEAVIEST: f64 = 1e100;
/// The frequency at which a term reaches half of its weight.
const HALF: f64 = 0.6;
/// The log-odds of a sentence that shares nothing with the question, with none better around.
const BIAS: f64 = -4.0;
/// The log-odds added for a sentence that covers the whole question.
const COVERED: f64 = 8.0;
/// The log-odds subtracted for a sentence that covers nothing of what the best one covers.
const BEHIND: f64 = 18.0;
/// The probability that a whole section is the answer, if it was found first and one of its
/// sentences is certain to be part of the answer.
const WHOLE: f64 = 0.6;

/// The probability of each of `texts` to be part of the answer to a question with these `terms`,
/// above 0 and below 1. `texts` are the sentences of the passages that were found: one run for each
/// passage, or for consecutive passages.
///
/// A sentence *covers* a term by the number of its occurrences in the sentence and around it,
/// decaying with distance, with saturation; and the question by its covered terms, each by its
/// weight and its rarity among all these sentences, at four scales. A logistic regression on two
/// numbers, this coverage and its distance from the best coverage, gives the probability.
/// `docs/record/passages.md` says how it was fitted. `analyzer` splits the texts. Weights that are
/// infinite or not above 0 count as 0. O(bytes + terms × sentences).
pub fn sentence_chances<T: AsRef<str>>(
    terms: &[Term],
    texts: &[Vec<T>],
    analyzer: &mut Analyzer,
) -> Vec<Vec<f64>> {
    let count = texts.iter().map(Vec::len).sum();
    let occurrences = occurrences(terms, texts, analyzer);
    let mut covered = vec![0.0; count];
    let mut total = 0.0;
    for (term, positions) in terms.iter().zip(&occurrences) {
        // A term that no sentence has does not distinguish them.
        if positions.is_empty() {
            continue;
        }
        let weight = if term.weight.is_finite() {
            term.weight.clamp(0.0, HEAVIEST)
        } else {
            0.0
        };
        let weight = weight * rarity(count, positions.len());
        total += weight;
        let (mut first, mut from) = (0, 0);
        for run in texts {
            let end = first + run.len();
            let until = from + positions[from..].partition_point(|&(at, _)| at < end);
            spread(
                &positions[from..until],
                first,
                weight,
                &mut covered[first..end],
            );
            (first, from) = (end, until);
        }
    }
    for it in &mut covered {
        *it /= f64::max(total, f64::MIN_POSITIVE);
    }
    let best = covered.iter().copied().fold(0.0, f64::max);
    let mut chances = covered.into_iter().map(|it| {
        let odds = BIAS + COVERED * it + BEHIND * (it - best);
        1.0 / (1.0 + (-odds).exp())
    });
    texts
        .iter()
        .map(|run| chances.by_ref().take(run.len()).collect())
        .collect()
}

/// The probabilities of the sentences of one section, if the answer may be the whole section as
/// well as single sentences. `chances` are those of the sentences by themselves, `lengths` are in
/// bytes, and `evidence`, 0..=1, is that from the section's rank among the results: 1 for the
/// first.
///
/// The whole section is the answer with a probability of 0.6 times the geometric mean of `evidence`
/// and its best sentence. Each sentence gets a share of that by its length, as it shows that much
/// of the answer. So a short section with a high rank is worth showing in full, and a long one by
/// its best sentences. `docs/design/0013-prose.md` has the measurements. Numbers outside 0..=1
/// count as the nearer end, NaN as 0. O(sentences).
pub fn chances_in_section(chances: &[f64], lengths: &[usize], evidence: f64) -> Vec<f64> {
    let chances = || chances.iter().map(|it| unit(*it));
    let best = chances().fold(0.0, f64::max);
    let whole = WHOLE * (unit(evidence) * best).sqrt();
    let all = lengths.iter().map(|it| number(*it)).sum::<f64>().max(1.0);
    let of = |(chance, &length): (f64, &usize)| {
        let share = whole * number(length) / all;
        // The probability of either event (independent).
        unit(chance + share - chance * share)
    };
    chances().zip(lengths).map(of).collect()
}

/// For each term, the indices of the sentences that have it, with counts.
fn occurrences<T: AsRef<str>>(
    terms: &[Term],
    texts: &[Vec<T>],
    analyzer: &mut Analyzer,
) -> Vec<Vec<(usize, f64)>> {
    let numbers: BTreeMap<&str, usize> = terms
        .iter()
        .enumerate()
        .map(|(number, term)| (&*term.text, number))
        .collect();
    let mut found: Vec<Vec<(usize, f64)>> = vec![Vec::new(); terms.len()];
    for (at, text) in texts.iter().flatten().enumerate() {
        analyzer.words(text.as_ref(), &mut |word, part, _| {
            // The words of a compound count for themselves.
            if part == Part::Compound {
                return;
            }
            let Some(positions) = numbers.get(word).map(|&number| &mut found[number]) else {
                return;
            };
            match positions.last_mut() {
                Some((last, times)) if *last == at => *times += 1.0,
                _ => positions.push((at, 1.0)),
            }
        });
    }
    found
}

/// Inverse document frequency, as in BM25.
pub(crate) fn rarity(count: usize, with: usize) -> f64 {
    let (count, with) = (number(count), number(with));
    (1.0 + (count - with + 0.5) / (with + 0.5)).ln()
}

/// Adds to each sentence of a run, whose first sentence has the index `first`, its coverage of a
/// term with the occurrences `positions`.
fn spread(positions: &[(usize, f64)], first: usize, weight: f64, covered: &mut [f64]) {
    if positions.is_empty() {
        return;
    }
    let shares: f64 = SCALES.iter().map(|(_, share)| share).sum();
    let mut times = vec![0.0; covered.len()];
    for &(at, count) in positions {
        times[at - first] = count;
    }
    for (reach, share) in SCALES {
        let around = smoothed(&times, reach);
        for (covered, around) in covered.iter_mut().zip(around) {
            *covered += weight * share / shares * around / (around + HALF);
        }
    }
}

/// Each number plus its neighbours, decayed by e^(-distance / `reach`).
fn smoothed(times: &[f64], reach: f64) -> Vec<f64> {
    if reach <= 0.0 {
        return times.to_vec();
    }
    let fade = (-1.0 / reach).exp();
    let mut sums = vec![0.0; times.len()];
    let mut before = 0.0;
    for (sum, &here) in sums.iter_mut().zip(times) {
        before = before * fade + here;
        *sum = before;
    }
    let mut behind = 0.0;
    for (sum, &here) in sums.iter_mut().zip(times).rev() {
        *sum += behind;
        behind = (behind + here) * fade;
    }
    sums
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52")]
fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Query;

    fn chances(question: &str, texts: &[Vec<&str>]) -> Vec<Vec<f64>> {
        let terms = Query::analyse(question).terms;
        sentence_chances(&terms, texts, &mut Analyzer::default())
    }

    #[test]
    fn neighbours_are_summed_by_their_distance() {
        let fade = (-0.5_f64).exp();
        let sums = smoothed(&[1.0, 0.0, 2.0], 2.0);
        let expected = [1.0 + 2.0 * fade * fade, 3.0 * fade, 2.0 + fade * fade];
        for (sum, expected) in sums.iter().zip(expected) {
            assert!((sum - expected).abs() < 1e-12, "{sums:?}");
        }
    }

    #[test]
    fn the_sentence_that_says_it_is_the_likeliest() {
        let run = vec![
            "Owls hunt at night.",
            "Their eyes are large.",
            "Hens sleep.",
        ];
        let found = chances("Why do owls have large eyes?", &[run]);
        assert!(
            found[0][1] > found[0][0] && found[0][0] > found[0][2],
            "{found:?}"
        );
    }

    #[test]
    fn runs_do_not_speak_for_each_other() {
        let found = chances("owls", &[vec!["Owls."], vec!["Hens.", "Cows."]]);
        assert!((found[1][0] - found[1][1]).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn nothing_is_certain() {
        for question in ["", "absent", "owls"] {
            let found = chances(question, &[vec!["Owls."], vec![], vec!["", "x"]]);
            assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 2]);
            assert!(
                found.iter().flatten().all(|&it| 0.0 < it && it < 1.0),
                "{found:?}"
            );
        }
        assert!(chances("owls", &[]).is_empty());
    }
}
