//! Chooses the terms that select candidates, and the worth of each term.

use std::collections::BTreeMap;

use ctx_rank::MAX_TERM_BYTES;

use crate::lexemes::TermQuery;

/// The number of best terms of which pairs are formed if every term is common.
const PAIRED: usize = 6;

/// How candidates are selected, and what each term is worth in ranking them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan<'t> {
    /// What a candidate must hold; `None` if any term qualifies it.
    pub(crate) essential: Option<Essential>,
    /// Terms with weight × inverse document frequency, the largest first.
    pub(crate) worths: Vec<(&'t str, f64)>,
}

/// A condition on candidates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Essential {
    /// Any of these rare terms, in a field whose label is in the mask. Sorted, so that equal
    /// questions have equal conditions.
    Any(Vec<String>, u8),
    /// Two of the best terms, if all are common; or the only term.
    Pairs(TermQuery),
}

impl Essential {
    /// The bytes it takes besides its own size.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Essential::Any(terms, _) => terms.iter().map(|it| size_of::<String>() + it.len()).sum(),
            Essential::Pairs(pairs) => pairs.bytes(),
        }
    }
}

/// A term, the number of documents that hold it, and its worth.
struct Weighed<'t> {
    term: &'t str,
    count: u64,
    worth: f64,
}

/// The terms that can be searched for, without duplicates (weights are added), at most `most`: the
/// heaviest.
pub(crate) fn usable(terms: &[(String, f32)], most: usize) -> Vec<(&str, f32)> {
    let mut weights: BTreeMap<&str, f32> = BTreeMap::new();
    for (term, weight) in terms {
        let fits = !term.is_empty() && term.len() <= MAX_TERM_BYTES && !term.contains('\0');
        if fits && weight.is_finite() && *weight > 0.0 {
            *weights.entry(term).or_default() += weight;
        }
    }
    let mut terms: Vec<(&str, f32)> = weights.into_iter().collect();
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    terms.truncate(most);
    terms
}

/// The search that a plan is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    /// The labels that are searched.
    pub(crate) mask: u8,
    /// The most terms.
    pub(crate) most: usize,
    /// About how many documents are to be ranked; `None` for all that hold a term.
    pub(crate) candidates: Option<u64>,
}

impl<'t> Plan<'t> {
    /// Plans a search for `terms`, where `counts` has the number of documents, out of `total`, that
    /// hold each. Rare terms are worth more (BM25's inverse document frequency), and the terms
    /// worth most select the candidates. `None` if no document holds any of the terms.
    pub(crate) fn new(
        terms: &[(&'t str, f32)],
        counts: &BTreeMap<String, u64>,
        total: u64,
        purpose: Purpose,
    ) -> Option<Self> {
        let Purpose { mask, most, .. } = purpose;
        let mut weighed: Vec<Weighed<'t>> = terms
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
        let essential = purpose.candidates.map(|it| essential(&weighed, it, mask));
        let worths = weighed.iter().map(|it| (it.term, it.worth)).collect();
        Some(Plan { essential, worths })
    }
}

/// BM25's inverse document frequency: ln(1 + (N − n + ½) / (n + ½)).
fn inverse_frequency(count: u64, total: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "stores are far below 2^52 parts"
    )]
    let (n, all) = (count as f64, total.max(count) as f64);
    ((all - n + 0.5) / (n + 0.5)).ln_1p()
}

/// The terms worth most, as long as they are in at most `candidates` documents together; or pairs
/// of the best, if even the rarest is in more.
fn essential(weighed: &[Weighed<'_>], candidates: u64, mask: u8) -> Essential {
    let mut left = candidates;
    let mut chosen = Vec::new();
    for it in weighed {
        if it.count <= left {
            left -= it.count;
            chosen.push(it.term.to_owned());
        }
    }
    if !chosen.is_empty() {
        chosen.sort_unstable();
        return Essential::Any(chosen, mask);
    }
    let best = &weighed[..weighed.len().min(PAIRED)];
    let one = |it: &Weighed<'_>| TermQuery::any([it.term], mask);
    let pairs = best.iter().enumerate().flat_map(|(index, a)| {
        best[index + 1..]
            .iter()
            .map(move |b| TermQuery::both(one(a), one(b)))
    });
    let pairs = TermQuery::any_of(pairs);
    Essential::Pairs(if pairs.is_empty() {
        one(&best[0])
    } else {
        pairs
    })
}
