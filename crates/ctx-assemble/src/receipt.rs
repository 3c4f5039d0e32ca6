//! What was let in, what was left out and why, and where the tokens went.

use ctx_budget::{Outcome, Problem};
use ctx_format::Slot;
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, Included, LineSpan, Omitted, OmittedReason, TokenSplit,
    Tokens, Warning,
};

use crate::AssembleError;
use crate::candidates::{Candidate, Candidates};
use crate::cite::Citations;
use crate::emit::Shown;
use crate::fixed::{Fixed, notice};
use crate::price::{Price, Pricer, Showing, smallest_limit};

/// All that a receipt is written from.
pub(crate) struct Receipt<'r, 'a, 'c> {
    pub(crate) pricer: &'r Pricer<'a>,
    pub(crate) options: &'r BuildOptions,
    pub(crate) chunks: &'a [Chunk],
    pub(crate) candidates: &'c Candidates<'a>,
    pub(crate) fixed: &'r Fixed,
    pub(crate) problem: &'r Problem,
    pub(crate) outcome: &'r Outcome,
    pub(crate) shown: &'r [Shown<'a, 'c>],
    pub(crate) limit: Tokens,
    pub(crate) total: Tokens,
}

impl<'a, 'c> Receipt<'_, 'a, 'c> {
    /// The result: `context`, and what is to be known of it.
    pub(crate) fn write(&self, context: String) -> Result<BuiltContext, AssembleError> {
        let mut citations = Citations::default();
        let citations: Vec<_> = self
            .showings()
            .map(|(candidate, showing)| citations.cite(candidate.chunk, &showing.block))
            .collect();
        let included: Vec<Included> = self
            .showings()
            .zip(&citations)
            .map(|((candidate, showing), citation)| self.included(candidate, showing, &citation.id))
            .collect();
        let omitted = self.omitted();
        let lessened = self
            .shown
            .iter()
            .flat_map(|it| &it.showings)
            .any(|&(_, choice)| choice > 0);
        let no_room = |it: &Omitted| {
            matches!(
                it.reason,
                OmittedReason::OverBudget | OmittedReason::MaxChunks
            )
        };
        Ok(BuiltContext {
            digest: blake3::hash(context.as_bytes()).to_hex().to_string(),
            tokens: self.split(omitted.len())?,
            exactness: self.pricer.counter.exactness(),
            counter: self.pricer.counter.name().to_owned(),
            files: self.files(),
            average_relevance: self.average_relevance(),
            was_truncated: lessened || omitted.iter().any(no_room),
            certificate: self.outcome.certificate,
            format: self.options.format,
            build_time: 0.0,
            warnings: self.warnings(),
            included,
            omitted,
            citations,
            context,
        })
    }

    fn showings(&self) -> impl Iterator<Item = (&'c Candidate<'a>, &'c Showing<'a>)> {
        self.shown.iter().flat_map(Shown::iter)
    }

    fn included(
        &self,
        candidate: &Candidate<'_>,
        showing: &Showing<'_>,
        citation: &str,
    ) -> Included {
        Included {
            id: candidate.chunk.id.clone(),
            rendition: showing.block.rendition,
            tokens: smallest_limit(self.pricer.counter, showing.price.weight),
            file_path: candidate.chunk.path.clone(),
            start_line: showing.block.span.map(LineSpan::start),
            end_line: showing.block.span.map(LineSpan::end),
            citation: citation.to_owned(),
        }
    }

    fn omitted(&self) -> Vec<Omitted> {
        let mut entries = EntryBudgets::new(self);
        let mut omitted = Vec::new();
        let reasons = self.outcome.reasons.iter().zip(&self.outcome.chosen);
        for (position, (candidate, (reason, chosen))) in
            self.candidates.all.iter().zip(reasons).enumerate()
        {
            let enters_at = entries.next(position);
            if chosen.is_some() {
                continue;
            }
            let reason = reason.unwrap_or(OmittedReason::OverBudget);
            omitted.push(Omitted {
                id: candidate.chunk.id.clone(),
                reason,
                enters_at: enters_at.filter(|_| reason == OmittedReason::OverBudget),
                other: None,
            });
        }
        omitted.extend(
            self.candidates
                .below_min_relevance
                .iter()
                .map(|&index| Omitted {
                    id: self.chunks[index].id.clone(),
                    reason: OmittedReason::BelowMinRelevance,
                    enters_at: None,
                    other: None,
                }),
        );
        omitted
    }

    /// Where the tokens went. Parts are rounded on their own, in the order header, footer, notices,
    /// and the chunks are what remains: so the parts always add up to the total.
    fn split(&self, omitted: usize) -> Result<TokenSplit, AssembleError> {
        let tokens = |price: Price| smallest_limit(self.pricer.counter, price.weight);
        let header = tokens(self.fixed.open).min(self.total);
        let left = self.total.saturating_sub(header);
        let footer = tokens(self.fixed.close).min(left);
        let left = left.saturating_sub(footer);
        let mut notices = notice(self.pricer, self.options, omitted, self.chunks.len())?;
        for (number, (_, showing)) in self.showings().enumerate() {
            let before = if number == 0 {
                self.fixed.sources
            } else {
                self.fixed.source_separator
            };
            notices = notices + before + showing.source;
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
        let mut seen = std::collections::BTreeSet::new();
        self.showings()
            .filter_map(|(candidate, _)| candidate.chunk.path.as_deref())
            .filter(|path| seen.insert(*path))
            .map(str::to_owned)
            .collect()
    }

    fn average_relevance(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0_u32);
        for (candidate, _) in self.showings() {
            sum += candidate.chunk.relevance.get();
            count += 1;
        }
        if count == 0 {
            0.0
        } else {
            sum / f64::from(count)
        }
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if !self
            .pricer
            .formatter
            .joins_safely(self.options.footer.as_deref())
        {
            warnings.push(Warning {
                id: None,
                code: "unsafe_joint".to_owned(),
                detail: "the separator or footer begins with '/', so some tokens were kept in hand"
                    .to_owned(),
            });
        }
        warnings.extend(self.showings().filter_map(|(candidate, showing)| {
            let changed = ctx_format::count_neutralised(showing.block.body, Slot::Text)
                + ctx_format::count_neutralised(showing.block.title(), Slot::Line);
            (changed > 0).then(|| Warning {
                id: Some(candidate.chunk.id.clone()),
                code: "neutralised".to_owned(),
                detail: format!("{changed} invisible or control characters are shown as escapes"),
            })
        }));
        warnings
    }
}

/// For each candidate in turn, a budget at which it is sure to be let in: one that has room for it
/// and for all that is considered before it.
struct EntryBudgets<'e> {
    problem: &'e Problem,
    pricer: &'e Pricer<'e>,
    fixed: &'e Fixed,
    options: &'e BuildOptions,
    weight: u64,
    groups: Vec<bool>,
}

impl<'e> EntryBudgets<'e> {
    fn new(receipt: &'e Receipt<'_, '_, '_>) -> Self {
        EntryBudgets {
            problem: receipt.problem,
            pricer: receipt.pricer,
            fixed: receipt.fixed,
            options: receipt.options,
            weight: 0,
            groups: vec![false; receipt.problem.groups.len()],
        }
    }

    fn next(&mut self, position: usize) -> Option<Tokens> {
        let item = &self.problem.items[position];
        self.weight = self.weight.saturating_add(item.choices[0].weight);
        if let Some(group) = item.group.map(|group| group as usize) {
            if !std::mem::replace(&mut self.groups[group], true) {
                self.weight = self.weight.saturating_add(self.problem.groups[group]);
            }
        }
        if self.problem.max_items.is_some_and(|most| position >= most) {
            return None;
        }
        let weight = self
            .fixed
            .weight_with(self.weight, self.options.include_notice);
        let limit = smallest_limit(self.pricer.counter, weight);
        Some(limit + self.options.reserve).filter(|&tokens| tokens < Tokens::MAX)
    }
}
