//! Finds code that uses other results, or is used by them.

use std::collections::BTreeSet;

use ctx_model::{Warning, WarningCode, join_first};
use ctx_rank::{Name, Query};

use super::names::called;
use super::{MOST_DEFINITIONS, Noted, Sum, by_question, has, unique};
use crate::ports::{FileSearch, Hit, PortResult, Relations};

/// The number of best parts from which relations are followed.
pub(crate) const SEEDS: usize = 10;
/// A used name is not followed to its definitions if there are more of them than this.
const MOST_DEFINED: usize = 8;
/// A defined name is not followed to its users if there are more of them than this.
const MOST_USERS: usize = 16;

/// The most users of a name that are taken if the question asks for them.
const ASKED_USERS: usize = 200;
/// The most names that a warning has.
const NAMES_TOLD: usize = 8;

/// Finds the users of the names in a question that asks for users, and the definitions of these
/// names unless there are too many: the subject of the question comes before its users. Whether
/// there are more users than are taken goes to `noted`.
pub(crate) async fn users(
    search: &dyn FileSearch,
    relations: &dyn Relations,
    query: &Query,
    noted: &Noted,
) -> PortResult<Vec<Hit>> {
    let names = query.mentions.names.iter().filter(|it| !it.may_be_file);
    let asked: Vec<String> = names.clone().flat_map(Name::spellings).collect();
    let asked = unique(asked.iter());
    let (definitions, users) = tokio::try_join!(
        search.definitions(&asked, MOST_DEFINITIONS + 1),
        relations.users_of(&asked, ASKED_USERS + 1)
    )?;
    let mut definitions = by_question("names", &asked, definitions)?;
    let mut users = by_question("names", &asked, users)?;
    let is_there = |it: &String| has(&definitions, it) || has(&users, it);
    let meant: BTreeSet<String> = names.map(|it| called(it, is_there)).collect();
    let mut found = Sum::default();
    let mut cut: Vec<&str> = Vec::new();
    for name in &meant {
        let definitions = definitions.remove(name);
        let definitions = definitions.filter(|it| it.len() <= MOST_DEFINITIONS);
        let mut of_name = Sum::default();
        let mut users = users.remove(name).unwrap_or_default();
        if users.len() > ASKED_USERS {
            users.truncate(ASKED_USERS);
            cut.push(name);
        }
        for hit in definitions.into_iter().flatten().chain(users) {
            of_name.add(&hit.part, 1.0);
        }
        // A definition that uses itself counts once.
        of_name.hits.iter().for_each(|it| found.add(&it.part, 1.0));
    }
    if !cut.is_empty() {
        let names = join_first(&cut, NAMES_TOLD);
        let detail =
            format!("more than {ASKED_USERS} parts use {names}, of which {ASKED_USERS} are taken");
        // Set once per question.
        let _ = noted
            .users
            .set(Warning::new(WarningCode::UsersLimited, detail));
    }
    Ok(found.hits)
}

/// Finds code that uses `best`, or is used by it.
pub(crate) async fn relations(
    search: &dyn FileSearch,
    relations: &dyn Relations,
    best: &[Hit],
) -> PortResult<Vec<Hit>> {
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

/// Divides `score` among `hits`, if there are at most `most`.
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
