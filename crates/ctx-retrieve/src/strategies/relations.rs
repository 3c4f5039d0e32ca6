//! What uses, and what is used by, what was found.

use ctx_rank::Query;

use super::{MOST_DEFINITIONS, Sum, by_question, unique};
use crate::ports::{Answer, FileSearch, Hit, Relations};

/// The best parts that relations are followed from.
pub(crate) const SEEDS: usize = 10;
/// What uses a name is not followed to its definition where there are more.
const MOST_DEFINED: usize = 8;
/// What defines a name is not followed to its users where there are more.
const MOST_USERS: usize = 16;

/// So many users of a name are taken where they are asked for.
const ASKED_USERS: usize = 200;

/// What uses the names in a question that asks for that, and their definitions as far as they are somebody's in particular: what is asked
/// about comes before what uses it.
pub(crate) async fn users(
    search: &dyn FileSearch,
    relations: &dyn Relations,
    query: &Query,
) -> Answer<Vec<Hit>> {
    let names = unique(query.names.iter().map(|it| &it.last));
    let (definitions, users) = tokio::try_join!(
        search.definitions(&names, MOST_DEFINITIONS + 1),
        relations.users_of(&names, ASKED_USERS)
    )?;
    let definitions = by_question("names", &names, definitions)?.into_values();
    let users = by_question("names", &names, users)?.into_values();
    let mut found = Sum::default();
    for (definitions, users) in definitions.zip(users) {
        let definitions = Some(definitions).filter(|it| it.len() <= MOST_DEFINITIONS);
        let mut of_name = Sum::default();
        for hit in definitions.into_iter().flatten().chain(users) {
            of_name.add(&hit.part, 1.0);
        }
        // One that uses itself is worth no more.
        of_name.hits.iter().for_each(|it| found.add(&it.part, 1.0));
    }
    Ok(found.hits)
}

/// What uses, and what is used by, `best`.
pub(crate) async fn relations(
    search: &dyn FileSearch,
    relations: &dyn Relations,
    best: &[Hit],
) -> Answer<Vec<Hit>> {
    let used = unique(best.iter().flat_map(|hit| &hit.refers_to));
    let names = unique(best.iter().filter_map(|hit| hit.name.as_ref()));
    if used.is_empty() && names.is_empty() {
        return Ok(Vec::new());
    }
    let (definitions, users) = tokio::try_join!(
        search.definitions(&used, MOST_DEFINED + 1),
        relations.users_of(&names, MOST_USERS + 1)
    )?;
    let definitions = by_question("names", &used, definitions)?;
    let users = by_question("names", &names, users)?;
    let mut found = Sum::default();
    for hit in best {
        for name in &hit.refers_to {
            spread(&mut found, definitions.get(name), hit.score, MOST_DEFINED);
        }
        if let Some(name) = &hit.name {
            spread(&mut found, users.get(name), hit.score, MOST_USERS);
        }
    }
    Ok(found.hits)
}

/// Shares `score` among `hits`, if they are at most `most`.
fn spread(found: &mut Sum, hits: Option<&Vec<Hit>>, score: f64, most: usize) {
    let Some(hits) = hits.filter(|it| it.len() <= most) else {
        return;
    };
    #[expect(clippy::cast_precision_loss, reason = "there are at most 16")]
    let share = score / hits.len().max(1) as f64;
    for hit in hits {
        found.add(&hit.part, share);
    }
}
