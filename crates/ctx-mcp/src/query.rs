//! Contexts: for a question, and from hits that a client brings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use ctx_assemble::{AssembleError, Control, assemble, assemble_each_line_once};
use ctx_budget::BudgetError;
use ctx_index::FileSearch;
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, CounterName, Format, Omitted, OmittedReason, Selection,
    Tokens, Warning, WarningCode, join_first,
};
use ctx_resolve::Overlaps;
use ctx_retrieve::{Options as RetrieveOptions, TaskScope, call_port};
use ctx_service::{missing_files, missing_names, no_such_file, no_such_name};
use ctx_tokens::TokenCounter;
use serde_json::Value;

use crate::fault::{Fault, echo};
use crate::pending::{self, Given, Rest};
use crate::reply::{Escaped, Limit, Reply, o200k};
use crate::sent::{self, Already, Key, Unsent};
use crate::server::{Call, Shared};
use crate::tools::{
    self, ASSEMBLE, AssembleArguments, LONGEST_QUERY, LONGEST_SESSION, MOST_CHUNKS, MOST_FOUND,
    QUERY, QueryArguments,
};
use crate::workspace::{Ready, Since, with_prefix};

/// The most ids and warnings that a reply lists one by one.
const TOLD: usize = 12;

/// Beside a part that a session was sent before, parts worth less than this share of it are left
/// out of an answer.
const LEAST_SHARE: f64 = 0.1;

/// What there is to show.
#[derive(Debug, Default)]
struct Material {
    chunks: Vec<Chunk>,
    /// Chunks that were passed in and could not be read.
    unreadable: usize,
    /// Chunks left out because they are worth little beside those sent before.
    weak: usize,
    given: Given,
    warnings: Vec<Warning>,
    notes: Vec<String>,
    /// The text of the reply if there is nothing to show.
    nothing: &'static str,
    tool: &'static str,
    /// Whether it answers a question, and does not continue an answer.
    is_asked: bool,
}

/// How it is shown.
#[derive(Clone, Debug)]
struct Shown {
    format: Format,
    imports: bool,
    relations: bool,
    session: Option<Key>,
}

/// `context_query`.
pub(crate) async fn query(call: &Call, arguments: QueryArguments) -> Result<Reply, Fault> {
    let beside = (arguments.imports, arguments.relations);
    let shown = shown(call, arguments.format, beside, arguments.session.as_deref())?;
    let limit = call.limit(arguments.max_tokens)?;
    if let Some(cursor) = &arguments.cursor {
        return in_turn(call, rest(call, cursor, QUERY), shown, limit).await;
    }
    let came = Instant::now();
    let asked = Asked::of(&arguments)?;
    let mut since = Since::Lately;
    loop {
        let folders = ready(call, came, since).await?;
        let found = asked.find(call, folders, limit.tokens());
        match in_turn(call, found, shown.clone(), limit.clone()).await {
            Err(Unfound::Late) => since = Since::Came,
            Err(Unfound::Fault(fault)) => return Err(fault),
            Ok(reply) => return Ok(reply),
        }
    }
}

/// Why there is no answer to a question.
#[derive(Debug)]
enum Unfound {
    /// The answer may have been written just before: the files must be scanned once more.
    Late,
    Fault(Fault),
}

impl From<Fault> for Unfound {
    fn from(fault: Fault) -> Self {
        Unfound::Fault(fault)
    }
}

/// `context_assemble`.
pub(crate) async fn assemble_hits(
    call: &Call,
    arguments: AssembleArguments,
) -> Result<Reply, Fault> {
    let beside = (arguments.imports, arguments.relations);
    let shown = shown(call, arguments.format, beside, arguments.session.as_deref())?;
    let limit = call.limit(arguments.max_tokens)?;
    if let Some(cursor) = &arguments.cursor {
        return in_turn(call, rest(call, cursor, ASSEMBLE), shown, limit).await;
    }
    let chunks = chunks(arguments.chunks.unwrap_or_default())?;
    in_turn(call, resolve(call, chunks), shown, limit).await
}

/// Finds and builds in one turn: nobody waits for another with all that was found in hand.
async fn in_turn<E: From<Fault>>(
    call: &Call,
    material: impl Future<Output = Result<Material, E>>,
    shown: Shown,
    limit: Limit,
) -> Result<Reply, E> {
    let turn = call.turn().await?;
    // Boxed: else the future of every call would be as large.
    let reply = Box::pin(async { Ok(build(call, material.await?, shown, limit).await?) });
    turn.within(reply).await
}

/// What the chunks of a client are in their files.
async fn resolve(call: &Call, chunks: Vec<Chunk>) -> Result<Material, Fault> {
    let workspace = call.workspace.clone();
    let ids_of = |has: &dyn Fn(&Chunk) -> bool| -> BTreeSet<String> {
        let chunks = chunks.iter().filter(|it| has(it));
        chunks.map(|it| it.id.clone()).collect()
    };
    let renditions = ids_of(&|it| !it.renditions.is_empty());
    let imports = ids_of(&|it| !it.imports.is_empty());
    let relations = ids_of(&|it| !it.relations.is_empty());
    let resolved = TaskScope::current()
        .blocking(move || workspace.resolve(chunks, Overlaps::Merged))
        .await?;
    Ok(Material {
        chunks: resolved.chunks,
        unreadable: unreadable(&resolved.omitted),
        given: Given {
            stored: stored(&resolved.warnings),
            renditions,
            imports,
            relations,
        },
        warnings: resolved.warnings,
        nothing: "None of the chunks can be shown.",
        tool: ASSEMBLE,
        ..Material::default()
    })
}

/// How it is shown, with imports and relations beside it or without.
fn shown(
    call: &Call,
    format: Option<Format>,
    (imports, relations): (Option<bool>, Option<bool>),
    session: Option<&str>,
) -> Result<Shown, Fault> {
    if session.is_some_and(|it| it.len() > LONGEST_SESSION || it.is_empty()) {
        return Err(Fault::refused(
            "use the session: its name is empty or too long",
            format!("a name of at most {LONGEST_SESSION} bytes"),
        ));
    }
    Ok(Shown {
        format: format.unwrap_or_default(),
        imports: imports.unwrap_or_default(),
        relations: relations.unwrap_or_default(),
        session: session.map(|it| Key {
            connection: call.connection.clone(),
            roots: call.workspace.roots(),
            name: it.to_owned(),
        }),
    })
}

/// What is asked.
struct Asked {
    question: String,
    options: RetrieveOptions,
}

impl Asked {
    fn of(arguments: &QueryArguments) -> Result<Self, Fault> {
        let question = arguments.query.as_deref().unwrap_or_default().trim();
        if question.is_empty() {
            return Err(Fault::refused(
                "search: there is neither query nor cursor",
                "query: a question, identifiers or an error message",
            ));
        }
        if question.len() > LONGEST_QUERY {
            return Err(Fault::refused(
                format!("search: the query has {} bytes", question.len()),
                format!("a query of at most {LONGEST_QUERY} bytes: its most relevant part"),
            ));
        }
        let options = options(arguments)?;
        Ok(Asked {
            question: question.to_owned(),
            options,
        })
    }

    /// What the stores of `folders`, by the prefixes of their paths, find for a reply of
    /// `max_tokens`, with paths as the client knows them.
    ///
    /// # Errors
    /// [`Unfound::Late`] where nothing is found, or something is not as its file is, by an index
    /// from before the call.
    async fn find(
        &self,
        call: &Call,
        folders: Vec<(String, Ready)>,
        max_tokens: Tokens,
    ) -> Result<Material, Unfound> {
        let mut material = Material {
            nothing: "Nothing in the project matches the query. Try other words, identifiers, or fewer include_types.",
            tool: QUERY,
            is_asked: true,
            ..Material::default()
        };
        material.notes.extend(call.workspace.note());
        // The context is built from what all folders have together; until then an estimate does.
        let by = CounterName::CharacterBased;
        let control = Control::default().with_cancel(call.cancel.clone());
        let mut indexes = Vec::new();
        let mut query = None;
        let is_from_before = folders.iter().any(|it| it.1.is_from_before);
        for (prefix, ready) in folders {
            let Ready {
                index,
                service,
                note,
                ..
            } = ready;
            material.notes.extend(note.map(str::to_owned));
            let found = service.find(&self.question, &self.options, max_tokens, &by, &control);
            let found = found.await.map_err(Fault::from)?;
            call.check()?;
            material.unreadable += unreadable(&found.omitted);
            let late = found
                .retrieved
                .reports
                .iter()
                .filter(|it| it.failure.is_some());
            material.notes.extend(late.map(|it| {
                format!(
                    "The strategy {} was left out: it failed or took too long.",
                    it.strategy.as_str()
                )
            }));
            material
                .chunks
                .extend(found.chunks.into_iter().map(|mut chunk| {
                    chunk.id.insert_str(0, &prefix);
                    with_prefix(chunk, &prefix)
                }));
            let warnings = found.warnings.into_iter();
            material.warnings.extend(warnings.map(|mut warning| {
                warning.id = warning.id.map(|it| format!("{prefix}{it}"));
                warning
            }));
            indexes.push(index);
            query = Some(found.query);
        }
        if let Some(query) = query {
            // In time and on a thread that may be occupied: paths of a large project are sorted.
            let looked = call_port(self.options.deadline, async move {
                let stores = indexes.iter().map(|it| &**it as &dyn FileSearch);
                let stores: Vec<&dyn FileSearch> = stores.collect();
                let missing = no_such_file(&missing_files(&query, &stores).await);
                Ok([missing, no_such_name(&missing_names(&query, &stores).await)])
            });
            let missing = looked.await.0.into_iter().flatten().flatten();
            material.warnings.splice(0..0, missing);
        }
        if is_from_before && material.may_be_late() {
            return Err(Unfound::Late);
        }
        Ok(material)
    }
}

impl Material {
    /// Whether files that were written since the index looked at them may be what is missing.
    fn may_be_late(&self) -> bool {
        let is_late = |it: &Warning| {
            matches!(
                it.code,
                WarningCode::Stale
                    | WarningCode::MovedOrDeleted
                    | WarningCode::NoSuchFile
                    | WarningCode::NoSuchLine
                    | WarningCode::NoSuchName
                    | WarningCode::NoSuchCall
            )
        };
        self.chunks.is_empty() || self.unreadable > 0 || self.warnings.iter().any(is_late)
    }
}

/// The folders of `call`, which came at `came`, by the prefixes of their paths, once their indexes
/// are up to date.
pub(crate) async fn ready(
    call: &Call,
    came: Instant,
    since: Since,
) -> Result<Vec<(String, Ready)>, Fault> {
    let mut ready = Vec::new();
    for (prefix, folder) in call.workspace.folders() {
        ready.push((prefix, folder.ready(call, came, since).await?));
    }
    // One that took long to index made the others old; one that another process was indexing may be
    // done by now.
    if ready.len() > 1 && ready.iter().any(|it| it.1.indexed) {
        for ((_, folder), (_, ready)) in call.workspace.folders().zip(&mut ready) {
            let again = folder.ready(call, Instant::now(), since).await?;
            let is_from_before = ready.is_from_before && again.is_from_before;
            *ready = Ready {
                is_from_before,
                ..again
            };
        }
    }
    Ok(ready)
}

fn options(arguments: &QueryArguments) -> Result<RetrieveOptions, Fault> {
    let mut options = RetrieveOptions::default();
    options.strategies = tools::strategies(arguments.strategies.clone())?;
    if let Some(limit) = arguments.limit {
        let found = usize::try_from(limit).ok();
        let found = found.filter(|_| (1..=MOST_FOUND).contains(&limit));
        options.limit = Some(found.ok_or_else(|| {
            Fault::refused(
                format!("search: limit is {limit}"),
                format!("limit from 1 to {MOST_FOUND}"),
            )
        })?);
    }
    if let Some(score) = arguments.min_score {
        if !(0.0..=1.0).contains(&score) {
            return Err(Fault::refused(
                format!("search: min_score is {score}"),
                "min_score from 0 to 1, a share of the best score",
            ));
        }
        options.min_score = score;
    }
    options.kinds = tools::include_types(arguments.include_types.clone())?;
    Ok(options)
}

/// Chunks as a client gives them. A chunk that names a file needs no content.
fn chunks(given: Vec<Value>) -> Result<Vec<Chunk>, Fault> {
    if given.is_empty() {
        return Err(Fault::refused(
            "assemble: there are neither chunks nor a cursor",
            "chunks: [{\"id\": \"a\", \"relevance\": 0.9, \"filePath\": \"src/a.rs\", \"startLine\": 1, \"endLine\": 20}]",
        ));
    }
    if given.len() > MOST_CHUNKS {
        return Err(Fault::refused(
            format!("assemble {} chunks", given.len()),
            format!("at most {MOST_CHUNKS}, the most relevant"),
        ));
    }
    let chunk = |(number, value): (usize, Value)| {
        let mut value = value;
        if let Some(fields) = value.as_object_mut()
            && fields.contains_key("filePath")
        {
            let content = fields.entry("content").or_insert(Value::Null);
            if content.is_null() {
                *content = "".into();
            }
        }
        tools::value::<Chunk>(value).map_err(|why| {
            Fault::refused(
                format!("read chunks[{number}]: {why}"),
                "id, relevance from 0 to 1, and filePath or content; lines count from 1",
            )
        })
    };
    given.into_iter().enumerate().map(chunk).collect()
}

/// What did not fit before, as its files are now.
async fn rest(call: &Call, cursor: &str, tool: &'static str) -> Result<Material, Fault> {
    let rest = {
        let pending = call
            .shared
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pending.get(cursor, &call.workspace.roots())?
    };
    let (workspace, given) = (call.workspace.clone(), rest.given);
    let overlaps = match tool {
        ASSEMBLE => Overlaps::Merged,
        _ => Overlaps::Apart,
    };
    let work = move || workspace.resolve(rest.chunks, overlaps);
    let mut resolved = TaskScope::current().blocking(work).await?;
    // What a file does not say any more is no answer, unless it was one when it said it no more.
    let stored = stored(&resolved.warnings);
    let gone: BTreeSet<&String> = stored.difference(&given.stored).collect();
    let count = resolved.chunks.len();
    resolved.chunks.retain(|it| !gone.contains(&it.id));
    let unreadable = unreadable(&resolved.omitted) + count - resolved.chunks.len();
    let is_of_gone = |it: &Warning| it.id.as_ref().is_some_and(|id| gone.contains(id));
    resolved.warnings.retain(|it| !is_of_gone(it));
    // What was found out of a part before is told with it, on whichever page that is.
    let mut warnings: Vec<Warning> = rest.warnings;
    let known = resolved.warnings.iter().map(|it| (&it.id, &it.code));
    let known: BTreeSet<_> = known.collect();
    warnings.retain(|it| !is_of_gone(it) && !known.contains(&(&it.id, &it.code)));
    warnings.append(&mut resolved.warnings);
    let ids = join_first(gone.iter().map(|it| bare(it)), TOLD);
    let note = format!("Left out, because their text is no longer in their files: {ids}.");
    Ok(Material {
        chunks: resolved.chunks,
        unreadable,
        notes: (!gone.is_empty()).then_some(note).into_iter().collect(),
        given,
        warnings,
        nothing: "The parts that did not fit have changed since. Call again without cursor.",
        weak: 0,
        tool,
        is_asked: false,
    })
}

/// How many of `omitted` could not be read, or are not there any more.
fn unreadable(omitted: &[Omitted]) -> usize {
    let is_gone =
        |it: &&Omitted| matches!(it.reason, OmittedReason::Unreadable | OmittedReason::Stale);
    omitted.iter().filter(is_gone).count()
}

/// The ids of what is shown as it was stored, since its file does not say it.
fn stored(warnings: &[Warning]) -> BTreeSet<String> {
    let is_stored =
        |it: &&Warning| matches!(it.code, WarningCode::Stale | WarningCode::MovedOrDeleted);
    let warnings = warnings.iter().filter(is_stored);
    warnings.filter_map(|it| it.id.clone()).collect()
}

/// The context, as much of it as the reply holds.
async fn build(
    call: &Call,
    material: Material,
    shown: Shown,
    limit: Limit,
) -> Result<Reply, Fault> {
    call.check()?;
    let (shared, roots) = (Arc::clone(&call.shared), call.workspace.roots());
    let control = Control::default().with_cancel(call.cancel.clone());
    let work = move || {
        let builder = Builder {
            shared,
            roots,
            control,
            limit,
            counter: Escaped(o200k()),
        };
        builder.build(material, &shown)
    };
    TaskScope::current().blocking(work).await?
}

struct Builder {
    shared: Arc<Shared>,
    roots: Vec<std::path::PathBuf>,
    control: Control,
    limit: Limit,
    counter: Escaped<Arc<dyn TokenCounter>>,
}

impl Builder {
    fn build(&self, mut material: Material, shown: &Shown) -> Result<Reply, Fault> {
        let found = std::mem::take(&mut material.chunks);
        let Unsent {
            mut chunks,
            already,
        } = match &shown.session {
            Some(key) => self.sent().unsent(key, found),
            None => Unsent {
                chunks: found,
                already: Vec::new(),
            },
        };
        if material.is_asked {
            material.weak = leave_out_weak(&mut chunks, &already);
        }
        let mut frame = frame(&material, &already, &chunks);
        let (built, reply, rest) = self.fit(&chunks, &material, shown, &mut frame)?;
        if let (Some(key), Some(built)) = (&shown.session, &built) {
            let shown = sent::shown(&chunks, built);
            self.sent().note(key, shown);
        }
        if let Some(rest) = rest {
            let mut pending = self
                .shared
                .pending
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            pending.keep(rest);
        }
        Ok(reply)
    }

    fn sent(&self) -> std::sync::MutexGuard<'_, sent::Sent> {
        self.shared
            .sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds with what the frame leaves, and with less until the whole reply fits; gives up notes,
    /// the last first, where not even they fit.
    fn fit(
        &self,
        chunks: &[Chunk],
        material: &Material,
        shown: &Shown,
        frame: &mut Reply,
    ) -> Result<(Option<BuiltContext>, Reply, Option<Rest>), Fault> {
        let counter = &self.counter.0;
        while frame.notes.len() > 1
            && !(self.limit).fits(&most_told(frame, material).result(), counter)
        {
            frame.notes.pop();
        }
        let most = most_told(frame, material).result();
        let overhead = self.limit.cost(&most, counter);
        let mut budget = self.limit.tokens().saturating_sub(overhead);
        loop {
            let built = self.assemble(chunks, shown, material.tool, budget)?;
            let rest = built.as_ref();
            let rest = rest.and_then(|it| self.rest(it, chunks, material));
            let reply = write_reply(frame, built.as_ref(), rest.as_ref(), chunks, material);
            let cost = self.limit.cost(&reply.result(), counter);
            if cost <= self.limit.tokens() || budget == Tokens::ZERO {
                return Ok((built, reply, rest));
            }
            let over = cost.saturating_sub(self.limit.tokens());
            budget = budget.saturating_sub(over + Tokens::new(1));
        }
    }

    /// `None` where not even an empty context fits.
    fn assemble(
        &self,
        chunks: &[Chunk],
        shown: &Shown,
        tool: &str,
        budget: Tokens,
    ) -> Result<Option<BuiltContext>, Fault> {
        if chunks.is_empty() {
            return Ok(None);
        }
        let options = BuildOptions::default()
            .with_max_tokens(budget)
            .with_format(shown.format)
            .with_imports(shown.imports)
            .with_relations(shown.relations)
            .with_selection(Selection::Optimal)
            // Said beside the context, with the cursor.
            .with_notice(false);
        let built = if tool == ASSEMBLE {
            assemble_each_line_once(chunks, &options, &self.counter, &self.control)
        } else {
            assemble(chunks, &options, &self.counter, &self.control)
        };
        match built {
            Ok(built) => Ok(Some(built)),
            Err(AssembleError::Budget(BudgetError::TooSmall { pinned, .. }))
                if pinned == Tokens::ZERO =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn rest(&self, built: &BuiltContext, chunks: &[Chunk], material: &Material) -> Option<Rest> {
        // Where nothing of this size fits, going on would not help.
        if built.included.is_empty() {
            return None;
        }
        // A near duplicate is shown after what it is one of.
        let is_for_later = |it: &&Omitted| {
            use OmittedReason::{NearDuplicateOf, OverBudget};
            matches!(it.reason, OverBudget | NearDuplicateOf)
        };
        let left = built.omitted.iter().filter(is_for_later);
        let left: BTreeSet<&str> = left.map(|it| &*it.id).collect();
        // What was merged goes with what it was merged into.
        let stands_for: BTreeMap<&str, &str> = built
            .omitted
            .iter()
            .filter_map(|it| Some((&*it.id, it.other.as_deref()?)))
            .collect();
        let is_left =
            |id: &str| left.contains(id) || stands_for.get(id).is_some_and(|it| left.contains(it));
        let chunks: Vec<Chunk> = chunks
            .iter()
            .filter(|it| is_left(&it.id))
            .cloned()
            .collect();
        let is_of_left = |it: &&Warning| it.id.as_deref().is_some_and(is_left);
        let warnings = material.warnings.iter().filter(is_of_left);
        (!chunks.is_empty()).then(|| Rest {
            cursor: pending::cursor(&built.digest, &chunks),
            roots: self.roots.clone(),
            warnings: warnings.cloned().collect(),
            chunks,
            given: material.given.clone(),
        })
    }
}

/// Removes those of `chunks` that are worth little beside the best of `already`, and counts them.
fn leave_out_weak(chunks: &mut Vec<Chunk>, already: &[Already]) -> usize {
    let best = already.first().map_or(0.0, |it| it.relevance.get());
    let count = chunks.len();
    chunks.retain(|it| it.relevance.get() >= best * LEAST_SHARE);
    count - chunks.len()
}

/// The part of a reply that does not depend on what fits.
fn frame(material: &Material, already: &[Already], chunks: &[Chunk]) -> Reply {
    let mut reply = Reply::default();
    if !already.is_empty() {
        let told = join_first(already.iter().map(named), TOLD);
        reply.note(format!(
            "Already sent in this session and unchanged (see earlier replies), best first: {told}."
        ));
        reply.fact("alreadySent", already.len());
        if material.weak > 0 {
            reply.note(format!(
                "{} more {} left out, being worth far less than the best of these: call without session to get them.",
                material.weak,
                if material.weak == 1 { "part is" } else { "parts are" }
            ));
        }
    } else if chunks.is_empty() {
        reply.note(material.nothing);
    }
    for note in &material.notes {
        reply.note(note);
    }
    // What is known of a part is told with it, and once.
    let parts = chunks.iter().map(|it| &*it.id);
    let parts: BTreeSet<&str> = parts.chain(already.iter().map(|it| &*it.id)).collect();
    let is_told = |it: &Warning| it.id.as_deref().is_none_or(|it| !parts.contains(it));
    warn(&mut reply, &material.warnings, is_told);
    reply
}

/// Tells those of `warnings` that are to be told, up to a number.
fn warn(reply: &mut Reply, warnings: &[Warning], is_told: impl Fn(&Warning) -> bool) {
    for warning in warnings.iter().filter(|it| is_told(it)).take(TOLD) {
        let who = warning
            .id
            .as_deref()
            .map(|it| format!("{}: ", bare(it)))
            .unwrap_or_default();
        reply.note(format!("{who}{}.", tools::plain(&warning.detail)));
    }
}

/// The id, and the name if there is one.
fn named(it: &Already) -> String {
    let name = it.name.as_deref().map(echo);
    let name = name.map_or_else(String::new, |it| format!(" {it}"));
    format!("{}{name}", bare(&it.id))
}

fn bare(id: &str) -> String {
    echo(id).trim_matches('"').to_owned()
}

/// The reply at its largest, apart from the context, for which this leaves the room.
fn most_told(frame: &Reply, material: &Material) -> Reply {
    let mut reply = frame.clone();
    go_on(&mut reply, 9_999, "0f0f0f0f0f0f-0f0f0f0f", material.tool);
    let counts = Counts {
        included: 9_999,
        merged: 0,
        left: 9_999,
        unreadable: material.unreadable,
        weak: material.weak,
    };
    counts.tell(&mut reply, "0f0f0f0f0f0f");
    reply
}

/// What became of all chunks that were passed in or found and not sent before.
#[derive(Clone, Copy, Debug)]
struct Counts {
    /// Shown by themselves.
    included: usize,
    /// Shown as part of an included one, which has their lines or says the same.
    merged: usize,
    /// Left out for lack of room.
    left: usize,
    /// Left out because they could not be read.
    unreadable: usize,
    /// Left out because they are worth little beside what was sent before.
    weak: usize,
}

impl Counts {
    fn of(built: &BuiltContext, left: usize, material: &Material) -> Self {
        Counts {
            included: built.included.len(),
            merged: built.omitted.len() - left,
            left,
            unreadable: material.unreadable,
            weak: material.weak,
        }
    }

    fn tell(self, reply: &mut Reply, digest: &str) {
        reply.fact("included", self.included);
        if self.merged > 0 {
            reply.fact("merged", self.merged);
        }
        reply.fact("omitted", self.left + self.unreadable + self.weak);
        if self.unreadable > 0 {
            reply.fact("unreadable", self.unreadable);
        }
        if !digest.is_empty() {
            reply.fact("digest", digest);
        }
    }
}

fn write_reply(
    frame: &Reply,
    built: Option<&BuiltContext>,
    rest: Option<&Rest>,
    chunks: &[Chunk],
    material: &Material,
) -> Reply {
    let mut reply = frame.clone();
    let Some(built) = built.filter(|it| !it.included.is_empty()) else {
        if !chunks.is_empty() {
            let note = format!(
                "{} parts were found, but not even one fits: give a larger max_tokens.",
                chunks.len()
            );
            reply.notes.insert(0, note);
        }
        let counts = Counts {
            included: 0,
            merged: 0,
            left: chunks.len(),
            unreadable: material.unreadable,
            weak: material.weak,
        };
        counts.tell(&mut reply, "");
        return reply;
    };
    reply.text.clone_from(&built.context);
    if let Some(rest) = rest {
        go_on(&mut reply, rest.chunks.len(), &rest.cursor, material.tool);
    }
    let is_merged = |it: &&Omitted| it.reason == OmittedReason::MergedInto;
    let merged = built.omitted.iter().filter(is_merged);
    let shown = built.included.iter().map(|it| &*it.id);
    let shown: BTreeSet<&str> = shown.chain(merged.map(|it| &*it.id)).collect();
    let is_told = |it: &Warning| it.id.as_deref().is_some_and(|it| shown.contains(it));
    warn(&mut reply, &material.warnings, is_told);
    let digest = built.digest.get(..12).unwrap_or_default();
    let left = rest.map_or(0, |it| it.chunks.len());
    Counts::of(built, left, material).tell(&mut reply, digest);
    reply
}

fn go_on(reply: &mut Reply, count: usize, cursor: &str, tool: &str) {
    let note =
        format!("{count} more parts did not fit: call {tool} with cursor \"{cursor}\" for them.");
    reply.notes.insert(0, note);
    reply.fact("cursor", cursor);
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::pin::pin;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{Options, Server};

    #[tokio::test]
    async fn search_and_assembly_share_one_turn() {
        let root = tempfile::tempdir().unwrap();
        let options = Options::new(root.path()).with_calls(NonZeroUsize::MIN);
        let server = Server::new(options).unwrap();
        let [call, other] = [(), ()].map(|()| Call::of(&server, CancellationToken::new()));
        let mut next = pin!(other.turn());
        let material = async {
            let mut context = Context::from_waker(Waker::noop());
            assert!(next.as_mut().poll(&mut context).is_pending());
            Ok::<_, Fault>(Material::default())
        };
        let shown = shown(&call, None, (None, None), None).unwrap();
        let limit = call.limit(Some(1_000)).unwrap();
        // With a turn for each, the other would come between, and nobody takes its turn.
        let reply = in_turn(&call, material, shown, limit);
        let reply = tokio::time::timeout(Duration::from_secs(5), reply).await;
        assert!(reply.expect("it has one turn").is_ok());
        assert!(next.await.is_ok());
    }
}
