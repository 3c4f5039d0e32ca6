//! Locations of earlier changes.

use ctx_rank::Query;

use super::{WIDE, by_question, terms, unique};
use crate::ports::{Changes, FileSearch, Hit, PartQuery, PortResult, Touched};

/// The most locations of earlier changes that are looked up.
const TOUCHED: usize = 200;

/// Finds locations touched by earlier changes whose messages match: a symptom that a report
/// describes was often described before, in a message about code that shares no word with it.
pub(crate) async fn changes(
    search: &dyn FileSearch,
    changes: &dyn Changes,
    query: &Query,
) -> PortResult<Vec<Hit>> {
    let touched = changes.touched(&terms(query), TOUCHED).await?;
    // Any part of a long file may be the touched one, so that each is asked for by its names.
    let called = |it: &Touched| -> Vec<PartQuery> {
        let names = it.names.iter();
        names
            .map(|name| PartQuery::new(&it.path).called(name))
            .collect()
    };
    let called: Vec<Vec<PartQuery>> = touched.iter().map(called).collect();
    let wanted = unique(called.iter().flatten());
    let answers = search.parts_of(&wanted, WIDE).await?;
    let parts = by_question("names in files", &wanted, answers)?;
    let of_location = |(it, called): (&Touched, &Vec<PartQuery>)| {
        let first = called.iter().position(|name| !parts[name].is_empty());
        let named = first.map(|at| likeliest(&parts[&called[at]], &it.names[at + 1..]));
        let score = it.score;
        let named = named.unwrap_or_default().into_iter();
        named.map(move |hit| Hit::new(hit.part, score))
    };
    Ok(touched.iter().zip(&called).flat_map(of_location).collect())
}

/// Of several parts with one name, only those within one of the names `outer`, if there are any.
fn likeliest(named: &[Hit], outer: &[String]) -> Vec<Hit> {
    let is_within = |it: &&Hit| outer.iter().any(|name| it.is_within(name));
    let within: Vec<Hit> = named.iter().filter(is_within).cloned().collect();
    if within.is_empty() {
        named.to_vec()
    } else {
        within
    }
}
