//! Terms of texts, analysis of reports, fusion of lists, and scores.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::float_cmp,
    reason = "scores that ought to be equal are equal to the bit"
)]

mod bounds;
mod fusion;
mod laws;
mod reports;
mod roles;
mod seed;
mod signals;
mod snippets;
mod terms;

use ctx_rank::{Query, Term};

/// The terms of a text, in their order.
fn terms(text: &str) -> Vec<String> {
    ctx_rank::Analyzer::default().terms(text)
}

/// What `term` is worth in `text`, 0 where it is none of its terms.
fn weight(query: &Query, term: &str) -> f64 {
    let found = query.terms.iter().find(|it| it.text == term);
    found.map_or(0.0, |it| it.weight)
}

fn texts(terms: &[Term]) -> Vec<&str> {
    terms.iter().map(|it| it.text.as_str()).collect()
}
