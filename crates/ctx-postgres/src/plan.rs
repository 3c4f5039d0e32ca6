//! Which terms choose the candidates, and what each term is worth among them.

use std::collections::BTreeMap;

use ctx_rank::LONGEST;

use crate::lexemes::TermQuery;

/// Where every term is common, two of so many must be there.
const PAIRED: usize = 6;

/// How candidates are chosen, and what each term is worth among them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan<'t> {
    /// What a candidate must hold; nothing, where all terms may choose.
    pub(crate) essential: Option<Essential>,
    /// Terms, with their weight × inverse document frequency: the heaviest first.
    pub(crate) worths: Vec<(&'t str, f64)>,
}

/// What a candidate must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Essential {
    /// Any of these terms, which are rare, in what has one of the labels of a mask. In their order: whoever asks for
    /// the same has the same.
    Any(Vec<String>, u8),
    /// Two of the best terms, where all are common; the only one, where there is no other.
    Pairs(TermQuery),
}

impl Essential {
    /// What it takes beside itself.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Essential::Any(terms, _) => terms.iter().map(|it| size_of::<String>() + it.len()).sum(),
            Essential::Pairs(pairs) => pairs.bytes(),
        }
    }
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
    /// The labels that are searched.
    pub(crate) mask: u8,
    /// So many terms at most.
    pub(crate) most: usize,
    /// About so many documents are to be ranked; all that hold a term, where there is no such number.
    pub(crate) candidates: Option<u64>,
}

impl<'t> Plan<'t> {
    /// How to look for `terms`, which so many of `total` documents hold. Rare terms are worth more (BM25's inverse
    /// document frequency), and those worth most choose the candidates. `None` where no term is known.
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
