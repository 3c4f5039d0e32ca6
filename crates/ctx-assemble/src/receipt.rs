//! The receipt: what was included, what was omitted and why, and where the tokens went.

use std::collections::BTreeSet;

use ctx_budget::Outcome;
use ctx_format::{Block, Slot, count_neutralised};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, Citation, Included, LineSpan, Omitted, OmittedReason,
    RenditionKind, TokenSplit, Tokens, Warning, WarningCode,
};
use ctx_tokens::TokenCounter;
use rapidhash::{RapidHashMap, RapidHashSet};

use crate::candidates::Candidate;
use crate::cite::{Citations, Hashes};
use crate::claims::Granted;
use crate::emit::{Document, Shown};
use crate::entry::Entries;
use crate::fixed::notice;
use crate::plan::Plan;
use crate::price::Price;
use crate::shared_prefix::shared_prefix;
use crate::variant::Piece;
use crate::{AssembleError, parallel};

/// Everything that a receipt is made from.
pub(crate) struct Receipt<'r, 'p, 'u, 'c> {
    pub(crate) plan: &'r Plan<'p, 'u>,
    pub(crate) outcome: &'r Outcome,
    /// The claims that were granted.
    pub(crate) granted: &'r [Granted],
    /// The ids of parts of shown candidates that a caller's policy left out although there was
    /// room.
    pub(crate) declined: RapidHashSet<String>,
    pub(crate) shown: &'r [Shown<'u, 'c>],
    pub(crate) limit: Tokens,
    /// The `max_tokens` at which each part of each candidate is included, if known.
    pub(crate) entries: Vec<Entries>,
    pub(crate) total: Tokens,
    /// How many chunks were given.
    pub(crate) given: usize,
    /// The number of omitted chunks in the notice.
    pub(crate) left_out: usize,
}

/// The facts that only reading the text of a block reveals.
struct Reading {
    hashes: Hashes,
    /// The hashes of each chunk in the block, if there are several.
    parts: Vec<Hashes>,
    /// How many characters are shown as escapes.
    neutralised: usize,
}

/// How many characters of `block` are shown as escapes, in its text and beside it. O(bytes).
fn neutralised(block: &Block<'_>, options: &BuildOptions) -> usize {
    let text = |it: &str| count_neutralised(it, Slot::Text);
    let line = |it: &str| count_neutralised(it, Slot::Line);
    let title = block.title();
    let mut count = text(block.body) + line(title);
    // Most formats fold its lines into one instead of escaping their ends.
    count += block.summary.map_or(0, text);
    if options.include_imports {
        count += block.imports.iter().map(|it| line(it)).sum::<usize>();
    }
    if options.include_relations {
        let relations = block.relations.iter();
        count += relations
            .map(|it| line(&it.kind) + line(&it.target))
            .sum::<usize>();
    }
    if (options.include_ids || options.include_metadata) && block.id != title {
        count += line(block.id);
    }
    if options.include_metadata {
        let name = block.name.filter(|name| *name != title);
        count += line(block.kind.as_str()) + name.map_or(0, line);
    }
    count
}

/// The value that a candidate adds to the selection.
struct Share {
    added: f64,
    /// Its value if nothing else is shown.
    value: f64,
    pieces: usize,
}

impl Share {
    /// The value that one of its pieces adds: all pieces are reduced in proportion by what others
    /// already show.
    #[expect(clippy::cast_precision_loss, reason = "a chunk has few pieces")]
    fn of(&self, piece: &Piece<'_>) -> f64 {
        if self.value > 0.0 {
            piece.value * (self.added / self.value)
        } else {
            self.added / self.pieces as f64
        }
    }
}

/// The weight of one token, averaged over many.
#[expect(clippy::cast_precision_loss, reason = "it is below 2^52")]
fn weight_of_a_token(counter: &dyn TokenCounter) -> f64 {
    // A multiple of the numbers that counters divide by, so that nothing is rounded.
    const MANY: u64 = 60 << 20;
    MANY as f64 / f64::from(counter.count_of(MANY).get().max(1))
}

impl<'r, 'u, 'c> Receipt<'r, '_, 'u, 'c> {
    /// Makes the result of the document and its receipt.
    pub(crate) fn write(&self, document: Document) -> Result<BuiltContext, AssembleError> {
        let readings = self.readings()?;
        let (included, citations) = self.included(&readings)?;
        let omitted = self.omitted();
        let lessened = self
            .outcome
            .chosen
            .iter()
            .any(|choice| choice.is_some_and(|it| it > 0));
        let no_room = |it: &Omitted| {
            matches!(
                it.reason,
                OmittedReason::OverBudget | OmittedReason::MaxChunks
            )
        };
        let options = self.plan.options;
        let counter = self.plan.pricer.counter;
        let digest = parallel::hash(&document.text, self.plan.pricer.control)?;
        let mut built = BuiltContext::new(
            "",
            digest.to_hex().to_string(),
            self.plan.pricer.formatter.format(),
            counter.name(),
            counter.exactness(),
            self.split()?,
        );
        built.shared_prefix = shared_prefix(options, self.plan.pricer, &document, &included)?;
        built.files = self.files();
        built.average_relevance = self.average_relevance();
        built.was_truncated = lessened || omitted.iter().any(no_room);
        built.certificate = self.outcome.certificate;
        built.certificate.lambda *= weight_of_a_token(counter);
        built.warnings = self.warnings(&readings);
        built.included = included;
        built.omitted = omitted;
        built.citations = citations;
        built.context = document.text;
        Ok(built)
    }

    fn pieces(&self) -> impl Iterator<Item = (&'c Candidate<'u>, &'c Piece<'u>)> {
        self.shown.iter().flat_map(Shown::pieces)
    }

    /// Reads the text of each block. O(bytes shown), on several threads.
    fn readings(&self) -> Result<Vec<Reading>, AssembleError> {
        let pieces: Vec<&Piece<'_>> = self.pieces().map(|(_, piece)| piece).collect();
        let bytes = pieces.iter().map(|piece| piece.block().body.len()).sum();
        let control = self.plan.pricer.control;
        let hashes = |block: &Block<'_>| {
            let content = parallel::hash(block.body, control)?;
            Ok::<_, AssembleError>(Hashes::of(block, content))
        };
        parallel::map(&pieces, bytes, control, |piece| {
            let block = &piece.block();
            let parts = piece.parts.iter().filter(|_| piece.parts.len() > 1);
            Ok(Reading {
                hashes: hashes(block)?,
                parts: (parts.map(|it| hashes(&Block::full(it)))).collect::<Result<_, _>>()?,
                neutralised: neutralised(block, self.plan.options),
            })
        })
    }

    /// The included chunks, and the citations: of each block, and of each chunk in it.
    fn included(
        &self,
        readings: &[Reading],
    ) -> Result<(Vec<Included>, Vec<Citation>), AssembleError> {
        let control = self.plan.pricer.control;
        let shares = self.shares();
        let candidates = &self.plan.candidates.all;
        let claimed: RapidHashSet<&str> = (self.granted.iter())
            .map(|it| &*candidates[it.item].unit.chunk().id)
            .collect();
        let mut ids = Citations::default();
        let mut included = Vec::new();
        let mut citations = Vec::new();
        for ((candidate, piece), reading) in self.pieces().zip(readings) {
            control.check()?;
            let (speaker, block) = (piece.parts[0], piece.block());
            let citation = ids.cite(speaker, &block, reading.hashes);
            let tokens = self.plan.pricer.counter.count_of(piece.price.weight);
            let rendition = if self.plan.options.include_content {
                block.rendition
            } else {
                RenditionKind::Mention
            };
            let mut shown = Included::new(&*speaker.id, rendition, tokens, &*citation.id);
            let id = &*candidate.unit.chunk().id;
            shown.value = shares[id].of(piece);
            shown.why = if claimed.contains(id) {
                "first claim".to_owned()
            } else {
                self.why(candidate, piece, shown.value)
            };
            shown.file_path.clone_from(&speaker.path);
            shown.start_line = block.span.map(LineSpan::start);
            shown.end_line = block.span.map(LineSpan::end);
            included.push(shown);
            citations.push(citation);
            for (part, hashes) in piece.parts.iter().zip(&reading.parts) {
                control.check()?;
                if part.id == speaker.id && part.span == block.span {
                    // The citation of the block is that of this chunk.
                    continue;
                }
                citations.push(ids.cite(part, &Block::full(part), *hashes));
            }
        }
        Ok((included, citations))
    }

    /// The value that each shown candidate adds, by the id of its chunk.
    fn shares(&self) -> RapidHashMap<&'r str, Share> {
        let candidates = &self.plan.candidates.all;
        let Outcome { chosen, added, .. } = self.outcome;
        let share = |((candidate, choice), &added): ((&'r Candidate<'_>, &Option<usize>), _)| {
            let variant = &candidate.variants[(*choice)?];
            let share = Share {
                added,
                value: variant.value(),
                pieces: variant.pieces.len(),
            };
            Some((&*candidate.unit.chunk().id, share))
        };
        let all = candidates.iter().zip(chosen).zip(added);
        all.filter_map(share).collect()
    }

    fn why(&self, candidate: &Candidate<'_>, piece: &Piece<'_>, value: f64) -> String {
        let lambda = self.outcome.certificate.lambda;
        #[expect(clippy::cast_precision_loss, reason = "a weight fits a budget")]
        let price = lambda * piece.price.weight as f64;
        if candidate.unit.chunk().pinned {
            "pinned".to_owned()
        } else if price > 0.0 {
            format!("worth {:.1} times the price of its tokens", value / price)
        } else {
            "there was room".to_owned()
        }
    }

    fn omitted(&self) -> Vec<Omitted> {
        let candidates = &self.plan.candidates.all;
        let mut left_out = Vec::new();
        for (number, candidate) in candidates.iter().enumerate() {
            let out = |chunk: &Chunk, entry: Option<Tokens>, reason| {
                let mut out = Omitted::new(&*chunk.id, reason);
                out.enters_at = entry.filter(|_| reason == OmittedReason::OverBudget);
                out
            };
            let parts = candidate.unit.parts().iter().zip(&self.entries[number]);
            let Some(choice) = self.outcome.chosen[number] else {
                let reason = self.outcome.reasons[number].unwrap_or(OmittedReason::OverBudget);
                left_out.extend(parts.map(|(part, entry)| out(part, *entry, reason)));
                continue;
            };
            if parts.len() == 1 {
                continue;
            }
            let pieces = &candidate.variants[choice].pieces;
            let speakers: RapidHashMap<&str, &Chunk> = pieces
                .iter()
                .flat_map(|piece| piece.parts.iter().map(|it| (&*it.id, piece.parts[0])))
                .collect();
            for (part, entry) in parts {
                match speakers.get(&*part.id) {
                    None if self.declined.contains(&*part.id) => {
                        left_out.push(out(part, *entry, OmittedReason::NotChosen));
                    }
                    None => left_out.push(out(part, *entry, OmittedReason::OverBudget)),
                    Some(speaker) if speaker.id == part.id => {}
                    Some(speaker) => left_out.push(
                        Omitted::new(&*part.id, OmittedReason::MergedInto).with_other(&*speaker.id),
                    ),
                }
            }
        }
        left_out.extend(self.plan.screened.out.iter().cloned());
        left_out
    }

    /// Where the tokens went. Header, footer and notices are rounded separately, in this order, and
    /// the chunks get the rest, so the parts always add up to the total.
    fn split(&self) -> Result<TokenSplit, AssembleError> {
        let Plan {
            pricer,
            fixed,
            options,
            ..
        } = self.plan;
        let tokens = |price: Price| pricer.counter.count_of(price.weight);
        let header = tokens(fixed.open).min(self.total);
        let left = self.total.saturating_sub(header);
        let footer = tokens(fixed.close).min(left);
        let left = left.saturating_sub(footer);
        let mut notices = notice(pricer, options, self.left_out, self.given)?;
        for (number, (_, piece)) in self.pieces().enumerate() {
            let before = if number == 0 {
                fixed.sources
            } else {
                fixed.source_separator
            };
            notices = notices + before + piece.source;
        }
        let notices = tokens(notices).min(left);
        Ok(TokenSplit {
            total: self.total,
            header,
            chunks: left.saturating_sub(notices),
            notices,
            footer,
            left: self.limit.saturating_sub(self.total),
        })
    }

    fn files(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        self.pieces()
            .filter_map(|(_, piece)| piece.block().path)
            .filter(|path| seen.insert(*path))
            .map(str::to_owned)
            .collect()
    }

    fn average_relevance(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0_u32);
        for (_, piece) in self.pieces() {
            sum += piece.block().relevance.get();
            count += 1;
        }
        if count == 0 {
            0.0
        } else {
            sum / f64::from(count)
        }
    }

    fn warnings(&self, readings: &[Reading]) -> Vec<Warning> {
        let mut warnings = self.plan.screened.warnings.clone();
        let footer = self.plan.options.footer.as_deref();
        let pricer = self.plan.pricer;
        if !pricer.joins_safely(footer) {
            let what = if pricer.formatter.joins_safely(footer) {
                "pieces of the format do not end their lines or begin with blank ones"
            } else {
                "the separator or footer begins with '/'"
            };
            let detail = format!("{what}, so some tokens may stay unused");
            warnings.push(Warning::new(WarningCode::UnsafeJoint, detail));
        }
        let read = self.pieces().zip(readings);
        warnings.extend(read.filter_map(|((_, piece), reading)| {
            let changed = reading.neutralised;
            let detail = match changed {
                1 => "1 invisible or control character is shown as an escape".to_owned(),
                _ => format!("{changed} invisible or control characters are shown as escapes"),
            };
            (changed > 0)
                .then(|| Warning::new(WarningCode::Neutralised, detail).of(piece.block().id))
        }));
        warnings
    }
}
