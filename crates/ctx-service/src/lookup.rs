//! Looks up references to files and symbols. A store may be a network away, so lookups are batched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ctx_model::LineSpan;
use ctx_retrieve::{
    FileSearch, Hit, PartQuery, PortError, PortResult, files_ending_with, is_awaited, is_same_path,
};

use crate::gather::{Named, NamedPart, Unresolved};
use crate::mention::{Mention, What};

/// A name that more symbols share identifies none.
const MOST_SYMBOLS: usize = 3;
/// A path suffix that more files share identifies none.
const MOST_FILES: usize = 1;
/// The number of files with one suffix that are counted.
const COUNTED: usize = 16;
/// The number of symbols of one name that are read at first; that suffices for most names.
const SYMBOLS: usize = 64;
/// The number of symbols, or files, that are read if there are more, since any of them may be
/// meant.
const MANY: usize = 1_000;

/// References and their results so far, which remain available if the lookup is cut off.
#[derive(Clone)]
pub(crate) struct LookUp {
    mentions: Arc<[Mention]>,
    found: Arc<Mutex<Vec<Option<Found>>>>,
}

/// The parts named, or why there are none.
type Found = Result<Vec<NamedPart>, Unfound>;

/// Why a name names nothing.
#[derive(Clone)]
enum Unfound {
    /// No file or symbol is called so.
    Nothing(String),
    /// Some are, but too many, or without such lines.
    Unclear(String),
}

impl Unfound {
    fn why(&self) -> &str {
        match self {
            Unfound::Nothing(why) | Unfound::Unclear(why) => why,
        }
    }
}

/// What must be read from the store before a reference can be resolved.
enum Unasked {
    /// The files whose paths have this suffix.
    End(String),
    /// The symbols of this name.
    Name(String),
}

impl LookUp {
    pub(crate) fn new(mentions: Vec<Mention>) -> Self {
        LookUp {
            found: Arc::new(Mutex::new(vec![None; mentions.len()])),
            mentions: mentions.into(),
        }
    }

    /// Looks up all references in `search`: first path suffixes, then names, and the other kind for
    /// those that could be either. The number of calls does not depend on the number of references;
    /// a few more are made if many files or symbols share a name.
    pub(crate) async fn ask(&self, search: &dyn FileSearch) -> PortResult<()> {
        let mut known = Known {
            most: MANY.min(search.longest_list()),
            ..Known::default()
        };
        loop {
            let (ends, names) = self.find(&known);
            if ends.is_empty() && names.is_empty() {
                return Ok(());
            }
            if !is_awaited() {
                return Err(PortError::new("nobody waits for it"));
            }
            if ends.is_empty() {
                known.ask_for_symbols(search, names).await?;
            } else {
                known.ask_for_files(search, ends).await?;
            }
        }
    }

    /// Resolves the references that `known` allows, and returns the path suffixes and the names
    /// that the others need.
    fn find(&self, known: &Known) -> (Vec<String>, Vec<String>) {
        let (mut ends, mut names) = (BTreeSet::new(), BTreeSet::new());
        for (mention, found) in self.mentions.iter().zip(self.found().iter_mut()) {
            if found.is_some() {
                continue;
            }
            match known.find(mention) {
                Ok(it) => *found = Some(it),
                Err(Unasked::End(end)) => drop(ends.insert(end)),
                Err(Unasked::Name(name)) => drop(names.insert(name)),
            }
        }
        (ends.into_iter().collect(), names.into_iter().collect())
    }

    fn found(&self) -> MutexGuard<'_, Vec<Option<Found>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The results so far, in the order of the references. Those not looked up are unresolved for
    /// the reason `why`.
    pub(crate) fn named(&self, why: &str) -> Named {
        let mut named = Named::default();
        for (mention, found) in self.mentions.iter().zip(self.found().iter()) {
            match found {
                Some(Ok(parts)) => named.parts.extend_from_slice(parts),
                Some(Err(unfound)) => {
                    let unresolved = Unresolved::new(&mention.text, unfound.why());
                    named.unresolved.push(unresolved);
                }
                None => named
                    .unresolved
                    .push(Unresolved::unavailable(&mention.text, why)),
            }
        }
        named
    }
}

/// What was read from the store.
#[derive(Default)]
struct Known {
    /// The most symbols returned for one name.
    most: usize,
    /// By path suffix.
    files: BTreeMap<String, Files>,
    /// By name.
    symbols: BTreeMap<String, Vec<Hit>>,
}

/// The files that share a path suffix.
struct Files {
    /// At most [`COUNTED`] + 1.
    first: Vec<String>,
    /// The one whose whole path the suffix is.
    exact: Option<String>,
}

impl Known {
    async fn ask_for_files(
        &mut self,
        search: &dyn FileSearch,
        ends: Vec<String>,
    ) -> PortResult<()> {
        let found = files_ending_with(search, &ends, COUNTED + 1).await?;
        let mut many = Vec::new();
        for (end, first) in each(ends, found)? {
            let exact = whole_of(&end, &first);
            if first.len() > COUNTED && exact.is_none() {
                many.push(end.clone());
            }
            self.files.insert(end, Files { first, exact });
        }
        if many.is_empty() {
            return Ok(());
        }
        // In the order of paths, the file whose whole path it is may come after all others. Looking
        // for its parts finds it, unless it has none: then more paths are read.
        let wanted: Vec<PartQuery> = many.iter().map(PartQuery::new).collect();
        let parts = search.parts_of(&wanted, 1).await?;
        let (whole, rest): (Vec<_>, Vec<_>) =
            each(many, parts)?.partition(|(_, parts)| !parts.is_empty());
        let rest: Vec<String> = rest.into_iter().map(|it| it.0).collect();
        let own = |end: String| (end.clone(), end);
        let mut exact: Vec<(String, String)> = whole.into_iter().map(|it| own(it.0)).collect();
        if !rest.is_empty() {
            let found = files_ending_with(search, &rest, MANY).await?;
            let found = each(rest, found)?;
            exact.extend(found.filter_map(|(end, paths)| {
                let path = whole_of(&end, &paths)?;
                Some((end, path))
            }));
        }
        for (end, path) in exact {
            self.files.entry(end).and_modify(|it| it.exact = Some(path));
        }
        Ok(())
    }

    async fn ask_for_symbols(
        &mut self,
        search: &dyn FileSearch,
        names: Vec<String>,
    ) -> PortResult<()> {
        let found = search.definitions(&names, SYMBOLS).await?;
        let found: Vec<(String, Vec<Hit>)> = each(names, found)?.collect();
        let many = found.iter().filter(|it| it.1.len() == SYMBOLS);
        let many: Vec<String> = many.map(|it| it.0.clone()).collect();
        self.symbols.extend(found);
        if !many.is_empty() {
            let found = search.definitions(&many, MANY).await?;
            self.symbols.extend(each(many, found)?);
        }
        Ok(())
    }

    fn find(&self, mention: &Mention) -> Result<Found, Unasked> {
        let text = &mention.text;
        let file = |path: &str| self.file(text, path, None);
        match &mention.what {
            What::Label => Ok(Err(Unfound::Nothing(
                "the context has no source with that id".to_owned(),
            ))),
            What::File { path, lines } => match self.path(text, path, *lines)? {
                // `Session.close` may be a symbol, if no path ends so.
                Err(Unfound::Nothing(_)) if lines.is_none() && !text.contains(['/', '\\']) => {
                    self.symbols(text)
                }
                // `notes:2` may be what a file is called.
                found if lines.is_some() => or_else(found, || file(text)),
                found => Ok(found),
            },
            What::BadLines { path, why } => or_else(file(text)?, || {
                let found = self.path(text, path, None)?;
                Ok(found.and_then(|_| Err(Unfound::Unclear(why.clone()))))
            }),
            // `Makefile` is a file.
            What::Name if self.is_whole(text)? => file(text),
            What::Name => or_else(self.symbols(text)?, || file(text)),
        }
    }

    /// Whether there is a file at `path`.
    fn is_whole(&self, path: &str) -> Result<bool, Unasked> {
        let files = self.files.get(path);
        let files = files.ok_or_else(|| Unasked::End(path.to_owned()))?;
        Ok(files.exact.is_some())
    }

    /// The file at `path`, whose first folder may be called with the `@` that was written before
    /// it, as those of packages are (`@types/node`). A whole path goes before the end of one.
    fn path(&self, reference: &str, path: &str, lines: Option<LineSpan>) -> Result<Found, Unasked> {
        let with_at = format!("@{path}");
        let paths = [path, &with_at];
        let is_alone = path.starts_with('@') || !path.contains('/');
        let paths = &paths[..if is_alone { 1 } else { 2 }];
        for path in paths {
            if self.is_whole(path)? {
                return self.file(reference, path, lines);
            }
        }
        let mut found = self.file(reference, path, lines)?;
        for path in &paths[1..] {
            found = or_else(found, || self.file(reference, path, lines))?;
        }
        Ok(found)
    }

    /// The file at `path`, or the only one whose path ends with it. Files that are not indexed are
    /// not found.
    fn file(&self, reference: &str, path: &str, lines: Option<LineSpan>) -> Result<Found, Unasked> {
        let files = self.files.get(path);
        let Files { first, exact } = files.ok_or_else(|| Unasked::End(path.to_owned()))?;
        let found = match (exact, first.as_slice()) {
            (Some(exact), _) => exact,
            (None, []) => return Ok(Err(nothing())),
            (None, [one, ..]) if first.len() > MOST_FILES => {
                let count = match first.len() {
                    count @ ..=COUNTED => count.to_string(),
                    _ => format!("more than {COUNTED}"),
                };
                return Ok(Err(Unfound::Unclear(format!(
                    "{count} files have paths that end so, such as {one}"
                ))));
            }
            (None, [one, ..]) => one,
        };
        Ok(Ok(vec![NamedPart {
            reference: reference.to_owned(),
            path: found.to_owned(),
            lines,
            hit: None,
        }]))
    }

    /// The symbols called `name`, within the scope before it if there is one.
    fn symbols(&self, name: &str) -> Result<Found, Unasked> {
        let segments = name
            .split(['.', ':', '#', '>', '\u{203a}'])
            .map(|it| it.trim_end_matches('-').trim());
        let segments: Vec<&str> = segments.filter(|it| !it.is_empty()).collect();
        let Some((&last, scopes)) = segments.split_last() else {
            return Ok(Err(Unfound::Nothing("it is not a name".to_owned())));
        };
        let is_name = |it: &&&str| !BEGINNINGS.contains(*it);
        let scopes: Vec<&str> = scopes.iter().filter(is_name).copied().collect();
        let all = self.symbols.get(last);
        let all = all.ok_or_else(|| Unasked::Name(last.to_owned()))?;
        let mut hits: Vec<&Hit> = all.iter().filter(|it| !it.is_file()).collect();
        // Case matters if any symbol matches in case.
        if hits.iter().any(|hit| hit.name.as_deref() == Some(last)) {
            hits.retain(|hit| hit.name.as_deref() == Some(last));
        }
        // The names around a symbol go before those of its file and folders.
        let is_around = |hit: &&Hit| scopes.iter().all(|scope| hit.is_within(scope));
        if hits.iter().any(is_around) {
            hits.retain(is_around);
        } else {
            let is_in = |hit: &&Hit, scope| hit.is_within(scope) || hit.is_in_path_called(scope);
            hits.retain(|hit| scopes.iter().all(|scope| is_in(hit, scope)));
        }
        let is_all = all.len() < self.most;
        if hits.is_empty() {
            return Ok(Err(if is_all {
                nothing()
            } else {
                let count = all.len();
                Unfound::Nothing(format!(
                    "none of the {count} symbols looked at has this name"
                ))
            }));
        }
        if hits.len() > MOST_SYMBOLS {
            let (first, more) = (hits[0], if is_all { "" } else { " or more" });
            return Ok(Err(Unfound::Unclear(format!(
                "{}{more} symbols have this name, such as that in {}:{}",
                hits.len(),
                first.path,
                first.span.start()
            ))));
        }
        let part = |hit: &Hit| NamedPart {
            reference: name.to_owned(),
            path: hit.path.clone(),
            lines: Some(hit.span),
            hit: Some(hit.clone()),
        };
        Ok(Ok(hits.into_iter().map(part).collect()))
    }
}

/// What paths of Rust begin with, which is the name of nothing.
const BEGINNINGS: [&str; 3] = ["crate", "self", "super"];

fn nothing() -> Unfound {
    Unfound::Nothing("no indexed file or symbol has this name".to_owned())
}

/// `found`, or what `other` finds if that names nothing. If neither names anything, the reason that
/// knows of a file or a symbol is better.
fn or_else(found: Found, other: impl FnOnce() -> Result<Found, Unasked>) -> Result<Found, Unasked> {
    let Err(unfound) = found else {
        return Ok(found);
    };
    Ok(match (unfound, other()?) {
        (Unfound::Nothing(_), Err(other @ Unfound::Unclear(_))) => Err(other),
        (unfound, Err(_)) => Err(unfound),
        (_, found) => found,
    })
}

/// The path of `paths` that is `end` as a whole: in the same form of Unicode, or else in another.
fn whole_of(end: &str, paths: &[String]) -> Option<String> {
    let same = paths.iter().find(|it| *it == end);
    let whole = same.or_else(|| paths.iter().find(|it| is_same_path(end, it)));
    whole.cloned()
}

/// Pairs each text in `asked` with its answer.
fn each<A>(asked: Vec<String>, answers: Vec<A>) -> PortResult<impl Iterator<Item = (String, A)>> {
    if answers.len() != asked.len() {
        return Err(PortError::new(format!(
            "it answered {} of {} names",
            answers.len(),
            asked.len()
        )));
    }
    Ok(asked.into_iter().zip(answers))
}
