//! Definitions of names.

use ctx_model::{PartKind, SymbolKind};
use ctx_rank::{Intent, Name, Query, Region, Role};

use super::{MOST_DEFINITIONS, NAMES, Sum, WIDE, by_question, has, unique};
use crate::ports::{FileSearch, Hit, PortResult};

/// The weight of the title of a test between quotation marks.
const OF_TITLE: f64 = 1.0;
/// A section of a document, whose heading is no title of a test.
const SECTION: PartKind = PartKind::Symbol(SymbolKind::Section);

/// The weight of a name in the question by its region.
fn worth(name: &Name) -> f64 {
    match name.region {
        Region::Title => 1.5,
        Region::InlineCode => 1.0,
        Region::Prose => 0.8,
        Region::Trace => 0.5,
        _ => 0.3,
    }
}

/// Finds definitions of the names in the question, and tests by titles that it quotes: each name
/// divides its weight among its definitions.
pub(crate) async fn names(search: &dyn FileSearch, query: &Query) -> PortResult<Vec<Hit>> {
    let mut found = Sum::default();
    let names = &query.mentions.names[..query.mentions.names.len().min(NAMES)];
    let last = names.iter().flat_map(Name::spellings);
    let last: Vec<String> = last.chain(titles(query).cloned()).collect();
    let last = unique(last.iter());
    let answers = search.definitions(&last, MOST_DEFINITIONS + 1).await?;
    let mut of_name = by_question("names", &last, answers)?;
    let called: Vec<String> = names
        .iter()
        .map(|it| called(it, |it| has(&of_name, it)))
        .collect();
    // In a typed question every name counts: its scope distinguishes its definitions, or there is
    // nothing else in the question.
    let is_all =
        query.typed.is_some() && query.terms.is_empty() || query.asks_for(Intent::Definition);
    let many = |(it, called): &(&Name, &String)| {
        let is_told = it.within.is_some() || is_all;
        let count = of_name.get(*called).map_or(0, Vec::len);
        query.typed.is_some() && is_told && count > MOST_DEFINITIONS
    };
    let many = names.iter().zip(&called).filter(many);
    let many = unique(many.map(|(_, called)| called));
    if !many.is_empty() {
        let answers = search.definitions(&many, WIDE).await?;
        let more = by_question("names", &many, answers)?;
        for (name, hits) in more {
            of_name.entry(name).and_modify(|it| *it = hits);
        }
    }
    for (name, called) in names.iter().zip(&called) {
        let hits = of_name.get(called).map_or(&[][..], Vec::as_slice);
        let exactly = exactly(name, hits);
        let has_exact = exactly.contains(&true);
        let is_meant = query.typed.is_some() && has_exact;
        let is_many = hits.len() > MOST_DEFINITIONS;
        if is_many && !is_meant && !is_all || name.may_be_file && !has_exact {
            continue;
        }
        let count = exactly.iter().filter(|&&it| it || !has_exact).count();
        for (hit, is_exact) in hits.iter().zip(exactly) {
            let share = match (has_exact, is_exact) {
                (true, false) if is_many || name.may_be_file => continue,
                (true, false) => 0.2,
                _ if name.is_common() => plainness(hit),
                _ => 1.0,
            };
            #[expect(clippy::cast_precision_loss, reason = "there are at most 400")]
            let score = worth(name) * share / (count as f64).sqrt();
            found.add(&hit.part, score);
        }
    }
    for title in titles(query).filter(|it| names.iter().all(|name| name.last != **it)) {
        let hits = of_name.get(title).map_or(&[][..], Vec::as_slice);
        let tests = hits.iter().filter(|it| it.kind != SECTION);
        let count = tests.clone().count();
        for hit in tests.filter(|_| count <= MOST_DEFINITIONS) {
            #[expect(clippy::cast_precision_loss, reason = "there are at most 40")]
            found.add(&hit.part, OF_TITLE / (count as f64).sqrt());
        }
    }
    Ok(found.hits)
}

/// The name of what `name` means: with the sign after it, if there is anything so called.
pub(super) fn called(name: &Name, is_there: impl Fn(&String) -> bool) -> String {
    let signed = name.signed().filter(is_there);
    signed.unwrap_or_else(|| name.last.clone())
}

/// Phrases of `query` that may be titles of tests.
fn titles(query: &Query) -> impl Iterator<Item = &String> {
    query.mentions.phrases.iter().take(NAMES)
}

/// Which of `hits`, definitions of `name`, are within its scope. Of a common name, which has many
/// definitions: those that are members of exactly that scope, or at the top level of a file or
/// folder of that name, if there are any.
fn exactly(name: &Name, hits: &[Hit]) -> Vec<bool> {
    let is_within = |hit: &Hit| {
        let within = name.within.as_deref().filter(|it| it.len() > 2);
        let qualified = hit.qualified_name.as_deref().unwrap_or_default();
        within.is_some_and(|it| qualified.contains(it) || hit.path.contains(&it.to_lowercase()))
    };
    let just = hits
        .iter()
        .map(|it| name.is_common() && is_of_just(name, it));
    let just: Vec<bool> = just.collect();
    if just.contains(&true) {
        return just;
    }
    hits.iter().map(is_within).collect()
}

/// Whether `hit` is a member of exactly the scope of `name`, or at the top level of a file or a
/// folder of that name.
fn is_of_just(name: &Name, hit: &Hit) -> bool {
    let Some(within) = name.within.as_deref() else {
        return false;
    };
    let is_between = |c: char| !c.is_alphanumeric() && c != '_';
    if let Some(outer) = member_of(hit) {
        return outer.rsplit(is_between).find(|it| !it.is_empty()) == Some(within);
    }
    hit.is_in_path_called(within)
}

/// The scope in which `hit` is defined, by its qualified name.
fn member_of(hit: &Hit) -> Option<&str> {
    let qualified = hit.qualified_name.as_deref()?;
    let outer = qualified.strip_suffix(hit.name.as_deref()?)?;
    let is_joint = |c: char| !c.is_alphanumeric() && c != '_';
    let outer = outer.trim_end_matches(is_joint);
    (!outer.is_empty()).then_some(outer)
}

/// The factor for `hit` if its name is common: a bare common name hardly means a member, or a test.
fn plainness(hit: &Hit) -> f64 {
    let role = hit.part.role(Role::of(&hit.path));
    let of_role = if role == Role::Source { 1.0 } else { 0.5 };
    let of_scope = if member_of(hit).is_none() { 1.0 } else { 0.8 };
    of_role * of_scope
}
