//! Which terms choose the candidates, and what each term is worth among them.

use std::collections::BTreeMap;

use ctx_rank::LONGEST;
use ctx_retrieve::Counting;

use crate::lexemes::TermQuery;

/// The server ranks by so many groups of terms; in one, all are worth the same.
pub(crate) const GROUPS: usize = 8;
/// By presence, it asks for so many terms, each by itself.
pub(crate) const TERMS: usize = 32;
/// So much less than the first of a group another may be worth.
const ALIKE: f64 = 0.75;
/// Where every term is common, two of so many must be there.
const PAIRED: usize = 6;

/// How candidates are chosen and ranked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// What a candidate must hold.
    pub(crate) essential: TermQuery,
    /// [`GROUPS`] queries, or [`TERMS`] of a term each; some may not be needed.
    pub(crate) groups: Vec<Option<TermQuery>>,
    /// What a group is worth, times how many terms it has.
    pub(crate) factors: Vec<f32>,
}

/// A term, in how many documents it is, and what it is worth.
struct Weighed<'t> {
    term: &'t str,
    count: u64,
    worth: f64,
}

/// `terms` that can be looked for at all, each once with all its weight, at most `most`: the heaviest.
pub(crate) fn usable(terms: &[(String, f32)], most: usize) -> Vec<(&str, f32)> {
    let mut weights: BTreeMap<&str, f32> = BTreeMap::new();
    for (term, weight) in terms {
        let fits = !term.is_empty() && term.len() <= LONGEST && !term.contains('\0');
        if fits && weight.is_finite() && *weight > 0.0 {
            *weights.entry(term).or_default() += weight;
        }
    }
    let mut terms: Vec<(&str, f32)> = weights.into_iter().collect();
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    terms.truncate(most);
    terms
}

/// What a plan is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    /// How often a term is counted.
    pub(crate) counting: Counting,
    /// The labels that are searched, 0 for all of them.
    pub(crate) mask: u8,
    /// So many terms at most.
    pub(crate) most: usize,
    /// About so many documents are to be ranked; all that hold a term, where there is no such number.
    pub(crate) candidates: Option<u64>,
}

impl Plan {
    /// How to look for `terms`, which so many of `total` documents hold. Rare terms are worth more (BM25's inverse
    /// document frequency), and those worth most choose the candidates. `None` where no term is known.
    pub(crate) fn new(
        terms: &[(&str, f32)],
        counts: &BTreeMap<String, u64>,
        total: u64,
        purpose: Purpose,
    ) -> Option<Plan> {
        let Purpose { mask, most, .. } = purpose;
        let mut weighed: Vec<Weighed<'_>> = terms
            .iter()
            .filter_map(|&(term, weight)| {
                let count = counts.get(term).copied().filter(|&it| it > 0)?;
                let worth = f64::from(weight) * inverse_frequency(count, total);
                Some(Weighed { term, count, worth })
            })
            .collect();
        weighed.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.term.cmp(b.term)));
        weighed.truncate(most);
        if weighed.is_empty() {
            return None;
        }
        let essential = match purpose.candidates {
            Some(candidates) => essential(&weighed, candidates, mask),
            None => TermQuery::any(weighed.iter().map(|it| it.term), mask),
        };
        let (groups, factors) = match purpose.counting {
            Counting::Frequency => groups(&weighed, mask),
            Counting::Presence => each(&weighed, mask),
        };
        Some(Plan {
            essential,
            groups,
            factors,
        })
    }
}

/// ln(1 + (N − n + ½) / (n + ½)).
fn inverse_frequency(count: u64, total: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "stores are far below 2^52 parts"
    )]
    let (n, all) = (count as f64, total.max(count) as f64);
    ((all - n + 0.5) / (n + 0.5)).ln_1p()
}

/// What is worth most, as far as it is in no more than `candidates` documents together. Where even the rarest is in
/// more, two of the best.
fn essential(weighed: &[Weighed<'_>], candidates: u64, mask: u8) -> TermQuery {
    let mut left = candidates;
    let mut chosen = Vec::new();
    for it in weighed {
        if it.count <= left {
            left -= it.count;
            chosen.push(it.term);
        }
    }
    if !chosen.is_empty() {
        return TermQuery::any(chosen, mask);
    }
    let best = &weighed[..weighed.len().min(PAIRED)];
    let one = |it: &Weighed<'_>| TermQuery::any([it.term], mask);
    let pairs = best.iter().enumerate().flat_map(|(index, a)| {
        best[index + 1..]
            .iter()
            .map(move |b| TermQuery::both(one(a), one(b)))
    });
    let pairs = TermQuery::any_of(pairs);
    if pairs.is_empty() {
        one(&best[0])
    } else {
        pairs
    }
}

/// Each term by itself, with what it is worth.
fn each(weighed: &[Weighed<'_>], mask: u8) -> (Vec<Option<TermQuery>>, Vec<f32>) {
    let mut queries = vec![None; TERMS];
    let mut factors = vec![0.0; TERMS];
    for (at, it) in weighed.iter().take(TERMS).enumerate() {
        queries[at] = Some(TermQuery::any([it.term], mask));
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a score of f32 is no finer"
        )]
        let worth = it.worth as f32;
        factors[at] = worth;
    }
    (queries, factors)
}

/// Terms of like worth together; the last group takes the rest.
fn groups(weighed: &[Weighed<'_>], mask: u8) -> (Vec<Option<TermQuery>>, Vec<f32>) {
    let mut groups: Vec<&[Weighed<'_>]> = Vec::new();
    let mut rest = weighed;
    while let Some(first) = rest.first() {
        let is_last = groups.len() + 1 == GROUPS;
        let alike = rest
            .iter()
            .take_while(|it| is_last || it.worth >= ALIKE * first.worth)
            .count();
        let (group, others) = rest.split_at(alike);
        groups.push(group);
        rest = others;
    }
    let best = weighed[0].worth.max(f64::MIN_POSITIVE);
    #[expect(clippy::cast_possible_truncation, reason = "ranks are of f32")]
    let factor = |group: &&[Weighed<'_>]| {
        // The server's rank is a mean over terms, so the sum of worths makes it a weighted sum.
        (group.iter().map(|it| it.worth).sum::<f64>() / best) as f32
    };
    let mut factors: Vec<f32> = groups.iter().map(factor).collect();
    let query = |group: &[Weighed<'_>]| TermQuery::any(group.iter().map(|it| it.term), mask);
    let mut queries: Vec<Option<TermQuery>> =
        groups.into_iter().map(|it| Some(query(it))).collect();
    queries.resize(GROUPS, None);
    factors.resize(GROUPS, 0.0);
    (queries, factors)
}
