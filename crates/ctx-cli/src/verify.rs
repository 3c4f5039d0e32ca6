//! `ctx verify`: checks whether a context matches its receipt, and whether its files still say what
//! it shows.

mod escapes;
mod files;
mod heads;
mod part;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use ctx::format::{ParsedBlock, Slot, neutralise, parse};
use ctx::model::{
    BuiltContext, Citation, CounterName, Included, LineSpan, RenditionKind, Tokens, WarningCode,
    error_chain,
};
use ctx::tokens::{TokenCounter as _, TokensError};
use serde::Serialize;

use crate::args::VerifyArgs;
use crate::bounded::{self, Whole};
use crate::emit::{self, grouped};
use crate::failure::Failure;
use crate::options::{counters, is_tokenizer};
use crate::receipt;
use crate::report::clean;
use crate::walk;

use self::escapes::{Escapes, Sameness};
use self::files::Files;

/// The most failures of one check that are shown to people; programs get all.
const MOST_SHOWN: usize = 10;

/// Runs the verb.
///
/// # Errors
/// The receipt, the context or the folder cannot be read; or a check fails.
pub(crate) fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let mut receipt = receipt::read(&args.receipt)?;
    if let Some(path) = &args.context {
        let name = walk::shown(path);
        let hint = "give the file that the context was written to";
        let whole = Whole {
            name: &name,
            most: bounded::CONTEXT,
            fewer: hint,
            other: hint,
        };
        receipt.context = String::from_utf8(whole.file(path)?).map_err(|_| {
            Failure::input(format!("failed to read {name}: it is not UTF-8")).with_hint(hint)
        })?;
    }
    let sources = match &args.root {
        None => None,
        Some(path) => {
            let files = Files::below(path).map_err(|error| {
                Failure::input(error_chain(&error))
                    .with_hint("give the folder that the context was made from")
            })?;
            Some(files)
        }
    };
    let verdict = Verdict::of(&receipt, sources.as_ref());
    let written = if args.json {
        emit::json(&verdict)
    } else {
        emit::text(&verdict.text())
    };
    // A caller that does not read the output still needs the exit code.
    verdict.outcome().and(written)
}

/// All checks.
#[derive(Debug, Serialize)]
struct Verdict {
    /// Whether none failed.
    holds: bool,
    checks: Vec<Check>,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct Check {
    #[serde(rename = "check")]
    name: &'static str,
    outcome: Outcome,
    /// What was found, or why the check was skipped.
    detail: String,
    /// What does not match, one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<String>,
    /// What to do about it, if that is known.
    #[serde(skip)]
    hint: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Ok,
    Failed,
    Skipped,
}

impl Check {
    /// Holds when there are no failures.
    fn new(name: &'static str, detail: String, failures: Vec<String>) -> Self {
        let outcome = if failures.is_empty() {
            Outcome::Ok
        } else {
            Outcome::Failed
        };
        Check {
            name,
            outcome,
            detail,
            failures,
            hint: None,
        }
    }

    fn skipped(name: &'static str, why: impl Into<String>) -> Self {
        Check {
            name,
            outcome: Outcome::Skipped,
            detail: why.into(),
            failures: Vec::new(),
            hint: None,
        }
    }
}

impl Verdict {
    /// # Errors
    /// A check failed.
    fn outcome(&self) -> Result<(), Failure> {
        if self.holds {
            return Ok(());
        }
        let failed = self.checks.iter();
        let failed = failed.filter(|it| it.outcome == Outcome::Failed);
        let (names, hints): (Vec<&str>, Vec<_>) = failed.map(|it| (it.name, it.hint)).unzip();
        let failure = Failure::refuted(&names.join(", "));
        Err(match hints[..] {
            [Some(hint)] => failure.with_hint(hint),
            _ => failure,
        })
    }

    fn of(receipt: &BuiltContext, sources: Option<&Files>) -> Self {
        let escapes = Escapes::default();
        let shown = shown(receipt, &escapes);
        let files = match (sources, &shown) {
            (Some(sources), Ok(blocks)) => files::compared(receipt, blocks, sources),
            (Some(_), Err(_)) => Check::skipped("files", "the blocks do not match the receipt"),
            (None, _) => Check::skipped("files", "give --root to compare with the files"),
        };
        let checks = vec![
            digest(receipt),
            tokens(receipt),
            split(receipt),
            once(receipt),
            whole::agrees(receipt, shown.as_deref().ok()),
            match &shown {
                Ok(blocks) => texts(blocks),
                Err(failure) => Check::new("texts", String::new(), vec![failure.clone()]),
            },
            files,
        ];
        Verdict {
            holds: checks.iter().all(|it| it.outcome != Outcome::Failed),
            checks,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for check in &self.checks {
            let outcome = match check.outcome {
                Outcome::Ok => "ok",
                Outcome::Failed => "FAILED",
                Outcome::Skipped => "skipped",
            };
            let line = format!("{outcome:<8}{:<8}{}", check.name, clean(&check.detail));
            let _ = writeln!(text, "{}", line.trim_end());
            for failure in check.failures.iter().take(MOST_SHOWN) {
                let _ = writeln!(text, "{:16}{}", "", clean(failure));
            }
            let more = check.failures.len().saturating_sub(MOST_SHOWN);
            if more > 0 {
                let _ = writeln!(text, "{:16}and {more} more (--json has all)", "");
            }
        }
        text
    }
}

fn digest(receipt: &BuiltContext) -> Check {
    let found = blake3::hash(receipt.context.as_bytes()).to_hex();
    let failure = (*found != *receipt.digest).then(|| {
        format!(
            "the digest of the context is {found}, that in the receipt is {}",
            receipt.digest
        )
    });
    Check::new(
        "digest",
        receipt.digest.clone(),
        failure.into_iter().collect(),
    )
}

fn tokens(receipt: &BuiltContext) -> Check {
    let name = &receipt.counter;
    let counter = CounterName::from(name.clone());
    let is_elsewhere = is_tokenizer(&counter) && !Path::new(name).exists();
    let counter = match counters().get(&counter) {
        Ok(counter) => counter,
        Err(error @ TokensError::FeatureOff { .. }) => {
            return Check::skipped("tokens", error.to_string());
        }
        Err(error) if is_elsewhere => return Check::skipped("tokens", error_chain(&error)),
        // If an unknown name were accepted, any name would be.
        Err(error) => return Check::new("tokens", String::new(), vec![error_chain(&error)]),
    };
    let (found, told) = (counter.count(&receipt.context), receipt.tokens.total);
    let detail = format!("{} by {name}", grouped(found.get().into()));
    let mut failures = Vec::new();
    if found != told {
        failures.push(format!("the receipt states {told}"));
    }
    if counter.exactness() != receipt.exactness {
        let (is, told) = (counter.exactness(), receipt.exactness);
        failures.push(format!(
            "counts by this counter are {is:?}, the receipt states {told:?}"
        ));
    }
    Check::new("tokens", detail, failures)
}

fn split(receipt: &BuiltContext) -> Check {
    let tokens = &receipt.tokens;
    let parts = [tokens.header, tokens.chunks, tokens.notices, tokens.footer];
    let sum: u64 = parts.map(u64::from).iter().sum();
    let failure = (sum != u64::from(tokens.total)).then(|| {
        format!(
            "the parts add up to {sum} tokens, the total is {}",
            tokens.total
        )
    });
    let names = ["header", "chunks", "notices", "footer"];
    let told = |(name, part): (&str, Tokens)| format!("{name} {}", grouped(part.get().into()));
    let detail = names.into_iter().zip(parts).map(told).collect::<Vec<_>>();
    Check::new("split", detail.join(", "), failure.into_iter().collect())
}

fn once(receipt: &BuiltContext) -> Check {
    let included = receipt.included.iter().map(|it| ("included", &it.id));
    let omitted = receipt.omitted.iter().map(|it| ("omitted", &it.id));
    let mut seen: BTreeMap<&String, &str> = BTreeMap::new();
    let mut failures = Vec::new();
    for (place, id) in included.chain(omitted) {
        if let Some(before) = seen.insert(id, place) {
            failures.push(format!("{id:?} is {before} and {place}"));
        }
    }
    let detail = format!(
        "{} chunks included, {} omitted, each once",
        receipt.included.len(),
        receipt.omitted.len()
    );
    Check::new("once", detail, failures)
}

/// An included chunk and its citation.
#[derive(Clone, Copy)]
struct Entry<'r> {
    /// Its index in the receipt's list.
    number: usize,
    included: &'r Included,
    citation: &'r Citation,
    /// Undoes its escapes, if some of its characters are shown as such.
    escapes: Option<&'r Escapes>,
}

/// An entry, and its block.
struct Shown<'r> {
    entry: Entry<'r>,
    block: ParsedBlock,
}

impl Entry<'_> {
    /// The result of comparing escapes, for a block whose text differs from that of the citation as
    /// it is shown.
    fn escaped(&self, block: &ParsedBlock) -> Sameness {
        self.escapes.map_or(Sameness::Other, |it| {
            it.compare(&block.body, &self.citation.content_hash)
        })
    }

    /// Whether the title of `block` is the source that is cited.
    fn is_titled(&self, block: &ParsedBlock) -> bool {
        block.title.as_deref() == Some(&*neutralise(&self.citation.source, Slot::Line))
    }

    /// Whether the receipt states these lines.
    fn is_on(&self, span: Option<LineSpan>) -> bool {
        let told = self.included.start_line.zip(self.included.end_line);
        span.map(|it| (it.start(), it.end())) == told
    }

    /// Whether `block` states this id.
    fn has_id(&self, block: &ParsedBlock) -> bool {
        block.id.as_deref() == Some(&*neutralise(&self.included.id, Slot::Line))
    }

    /// How `block` differs.
    fn differences(&self, block: &ParsedBlock) -> Vec<&'static str> {
        let Entry {
            included, citation, ..
        } = *self;
        let is_said = |told: &Option<String>, is: Option<&str>| match (told, is) {
            (Some(told), Some(is)) => *told == neutralise(is, Slot::Line),
            (told, _) => told.is_none(),
        };
        let is_text = is_cited(block, citation) || self.escaped(block) != Sameness::Other;
        let other_rendition = block.rendition != included.rendition
            // Without its content, a chunk is a mention, of which there may be nothing to show.
            && !(block.body.is_empty() && included.rendition == RenditionKind::Mention);
        let found = [
            (!is_text, "the text differs from the cited one"),
            (
                block.title.is_some() && !self.is_titled(block),
                "the title differs from the cited source",
            ),
            (
                block.path.is_some() && !is_said(&block.path, included.file_path.as_deref()),
                "the file differs",
            ),
            (block.id.is_some() && !self.has_id(block), "the id differs"),
            (
                block.span.is_some() && !self.is_on(block.span),
                "the line numbers differ",
            ),
            (other_rendition, "the rendition differs"),
        ];
        found
            .into_iter()
            .filter_map(|(is_so, what)| is_so.then_some(what))
            .collect()
    }
}

fn is_cited(block: &ParsedBlock, citation: &Citation) -> bool {
    *blake3::hash(block.body.as_bytes()).to_hex() == *citation.content_hash
}

/// What the receipt says about each block.
fn entries<'r>(receipt: &'r BuiltContext, escapes: &'r Escapes) -> Result<Vec<Entry<'r>>, String> {
    let citations: BTreeMap<&str, &Citation> = receipt
        .citations
        .iter()
        .map(|citation| (citation.id.as_str(), citation))
        .collect();
    let changed: BTreeSet<&str> = receipt
        .warnings
        .iter()
        .filter(|warning| warning.code == WarningCode::Neutralised)
        .filter_map(|warning| warning.id.as_deref())
        .collect();
    let entries = receipt.included.iter().enumerate();
    entries
        .map(|(number, included)| {
            let citation = citations.get(included.citation.as_str()).ok_or_else(|| {
                format!(
                    "included[{number}].citation does not exist: {:?}",
                    included.citation
                )
            })?;
            Ok(Entry {
                number,
                included,
                citation,
                escapes: changed.contains(included.id.as_str()).then_some(escapes),
            })
        })
        .collect()
}

/// The blocks of the context, each with the entry of the receipt that it must match.
fn shown<'r>(receipt: &'r BuiltContext, escapes: &'r Escapes) -> Result<Vec<Shown<'r>>, String> {
    let entries = entries(receipt, escapes)?;
    let blocks = blocks(receipt, &entries)?;
    let pairs = entries.into_iter().zip(blocks);
    Ok(pairs.map(|(entry, block)| Shown { entry, block }).collect())
}

/// As many blocks as there are entries, whatever else looks like a block beside them; if these are
/// not found, everything that looks like a block.
fn blocks(receipt: &BuiltContext, entries: &[Entry<'_>]) -> Result<Vec<ParsedBlock>, String> {
    if let Some(blocks) = heads::blocks(receipt, entries)? {
        return Ok(blocks);
    }
    let all = parse(receipt.format, &receipt.context);
    let all = all.map_err(|error| heads::unread(&error))?.blocks;
    let state_ids = all.iter().filter(|it| it.has_own_id).count();
    if state_ids > 0 && state_ids < all.len() {
        return Err("some blocks of the context state their ids, and others do not".to_owned());
    }
    if all.len() == entries.len() {
        return Ok(all);
    }
    let (blocks, told) = (all.len(), entries.len());
    Err(format!(
        "the context has {blocks} blocks, the receipt lists {told}"
    ))
}

/// Whether each block matches its citation, and what the receipt says about it.
fn texts(shown: &[Shown<'_>]) -> Check {
    let mut failures = Vec::new();
    let (mut with_escapes, mut unknown) = (0, 0);
    for Shown { entry, block } in shown {
        let Entry {
            number,
            included,
            citation,
            ..
        } = *entry;
        let mut fail =
            |why: &str| failures.push(format!("included[{number}] ({}): {why}", included.id));
        for difference in entry.differences(block) {
            fail(difference);
        }
        if citation.chunk_id != included.id {
            fail("its citation is of another chunk");
        }
        let place = (&included.file_path, included.start_line, included.end_line);
        if place != (&citation.file_path, citation.start_line, citation.end_line) {
            fail("its citation is of another place");
        }
        if !is_cited(block, citation) {
            with_escapes += 1;
            unknown += usize::from(entry.escaped(block) == Sameness::Unknown);
        }
    }
    let mut detail = format!("{} blocks match their citations", shown.len());
    if with_escapes > 0 {
        let _ = write!(detail, ", {with_escapes} of them with escapes");
    }
    if unknown > 0 {
        let _ = write!(detail, ", of which {unknown} have too many to compare");
    }
    Check::new("texts", detail, failures)
}
