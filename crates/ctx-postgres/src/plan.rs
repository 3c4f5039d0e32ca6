//! Chooses the terms that select candidates, and the worth of each term.

use std::collections::BTreeMap;

use ctx_rank::MAX_TERM_BYTES;

use crate::lexemes::{ALL_FIELDS, Label, TermQuery};

/// The number of best terms of which a candidate must hold several if every term is common.
const BEST: usize = 6;
/// Documents with all of the best terms are searched for one in their names if the rarest is in at
/// most so many: the server reads the terms of each for that.
const MOST_READ: u64 = 20_000;
/// The labels of names: of a part its name and signature, of a file its path.
const NAMES: u8 = 1 << Label::A as u8 | 1 << Label::B as u8;

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
    /// At least two of the best terms, if all are common, or the only term. Each condition is met
    /// by more documents than the one before it, and by worse ones; those that meet the first ones
    /// are the candidates.
    Tiers(Vec<TermQuery>),
}

impl Essential {
    /// The bytes it takes besides its own size.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Essential::Any(terms, _) => terms.iter().map(|it| size_of::<String>() + it.len()).sum(),
            Essential::Tiers(tiers) => tiers.iter().map(TermQuery::bytes).sum(),
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

/// The terms worth most, as long as they are in at most `candidates` documents together; or as many
/// as possible of the best, if even the rarest is in more.
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
    Essential::Tiers(tiers(&weighed[..weighed.len().min(BEST)], mask))
}

/// The documents with all of `best`, first those that are named by one of them; then those with all
/// but one, and so on, down to two.
fn tiers(best: &[Weighed<'_>], mask: u8) -> Vec<TermQuery> {
    let all = 2_u32.pow(u32::try_from(best.len()).unwrap_or(0)) - 1;
    let of = |subset: u32| {
        let its = (0..)
            .zip(best)
            .filter(move |(bit, _)| subset >> bit & 1 == 1);
        let each = its.map(|(_, it)| TermQuery::any([it.term], mask));
        each.reduce(TermQuery::both).unwrap_or_default()
    };
    let mut tiers = Vec::new();
    let mask_of_names = if mask == ALL_FIELDS {
        NAMES
    } else {
        mask & NAMES
    };
    let fewest = best.iter().map(|it| it.count).min();
    if mask_of_names != 0 && mask_of_names != mask && fewest.is_some_and(|it| it <= MOST_READ) {
        let named = TermQuery::any(best.iter().map(|it| it.term), mask_of_names);
        tiers.push(TermQuery::both(of(all), named));
    }
    let least = best.len().min(2);
    for count in (least..=best.len()).rev() {
        let subsets = (1..=all).filter(|it| it.count_ones() as usize == count);
        tiers.push(TermQuery::any_of(subsets.map(of)));
    }
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(terms: &[(&str, u64)]) -> Essential {
        let counts = terms.iter().map(|&(term, count)| (term.to_owned(), count));
        let terms: Vec<(&str, f32)> = terms.iter().map(|it| (it.0, 1.0)).collect();
        let purpose = Purpose {
            mask: ALL_FIELDS,
            most: 9,
            candidates: Some(10),
        };
        let plan = Plan::new(&terms, &counts.collect(), 100_000, purpose).unwrap();
        plan.essential.unwrap()
    }

    fn one(term: &str) -> TermQuery {
        TermQuery::any([term], ALL_FIELDS)
    }

    #[test]
    fn rare_terms_select_by_themselves() {
        let any = Essential::Any(vec!["a".to_owned(), "c".to_owned()], ALL_FIELDS);
        assert_eq!(planned(&[("b", 11), ("a", 5), ("c", 5)]), any);
    }

    #[test]
    fn common_terms_select_together_and_the_more_of_them_the_sooner() {
        let ab = || TermQuery::both(one("a"), one("b"));
        let named = TermQuery::both(ab(), TermQuery::any(["a", "b"], NAMES));
        let tiers = vec![named, ab()];
        assert_eq!(planned(&[("b", 12), ("a", 11)]), Essential::Tiers(tiers));

        let named = TermQuery::both(one("a"), TermQuery::any(["a"], NAMES));
        let tiers = vec![named, one("a")];
        assert_eq!(planned(&[("a", 11)]), Essential::Tiers(tiers));
        let tiers = vec![one("a")];
        assert_eq!(planned(&[("a", 20_001)]), Essential::Tiers(tiers));

        let many = ["a", "b", "c", "d", "e", "f", "g"].map(|it| (it, 11));
        let Essential::Tiers(tiers) = planned(&many) else {
            panic!("all are common");
        };
        // All six, named by one of them or not; five, four, three, and two.
        assert_eq!(tiers.len(), 6);
        let pairs = (0..6).flat_map(|b| (0..b).map(move |a| (a, b)));
        let pairs = pairs.map(|(a, b)| TermQuery::both(one(many[a].0), one(many[b].0)));
        assert_eq!(tiers[5], TermQuery::any_of(pairs));
    }
}
