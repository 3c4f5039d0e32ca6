//! Locations of earlier changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ctx_rank::Query;
use rapidhash::RapidHashMap;

use super::{WIDE, by_question, terms, unique};
use crate::ports::{Changes, FileSearch, Hit, Part, PartQuery, PortResult, Touched};

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
    let paths = unique(touched.iter().map(|it| &it.path));
    let wanted: Vec<PartQuery> = paths.iter().map(PartQuery::new).collect();
    let answers = search.parts_of(&wanted, WIDE).await?;
    let called = by_question("files", &paths, answers)?.into_iter();
    let called: BTreeMap<&String, Called> =
        called.map(|(path, it)| (path, Called::of(it))).collect();
    let of_location = |it: &Touched| {
        let named = called.get(&it.path).map(|parts| parts.first(&it.names));
        let score = it.score;
        let named = named.unwrap_or_default().into_iter();
        named.map(move |part| Hit::new(part, score))
    };
    Ok(touched.iter().flat_map(of_location).collect())
}

/// The parts of a file, by name.
struct Called(RapidHashMap<String, Vec<Arc<Part>>>);

impl Called {
    fn of(parts: Vec<Hit>) -> Self {
        let mut called: RapidHashMap<String, Vec<Arc<Part>>> = RapidHashMap::default();
        for hit in parts {
            if let Some(name) = &hit.name {
                called.entry(name.clone()).or_default().push(hit.part);
            }
        }
        Called(called)
    }

    /// The parts with the first of `names` that any part has; if there are several, only those
    /// within another of the names, if there are any.
    fn first(&self, names: &[String]) -> Vec<Arc<Part>> {
        let mut names = names.iter();
        let found = names.by_ref().find_map(|name| self.0.get(name));
        let mut found = found.cloned().unwrap_or_default();
        if found.len() > 1 {
            let outer: Vec<&String> = names.collect();
            let is_within = |it: &Arc<Part>| {
                let qualified = it.qualified_name.as_deref().unwrap_or_default();
                let is_of_name = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
                let mut around = qualified.rsplit(|it| !is_of_name(it)).skip(1);
                around.any(|it| outer.iter().any(|name| *name == it))
            };
            if found.iter().any(is_within) {
                found.retain(is_within);
            }
        }
        found
    }
}
