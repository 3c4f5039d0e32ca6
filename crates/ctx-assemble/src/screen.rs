//! Separates the chunks that may be shown from those that are omitted before anything is priced.

use std::cmp::Reverse;

use ctx_model::{BuildOptions, Chunk, Omitted, OmittedReason, Warning};
use rapidhash::RapidHashSet;

use crate::arrange::by_source;
use crate::duplicates::duplicates;
use crate::merge::{merge, mismatches};
use crate::previous::PreviousBlocks;
use crate::survey::Survey;
use crate::unit::Unit;
use crate::{AssembleError, Control, Extras, parallel};

/// The chunks that may be shown, and those that may not.
#[derive(Debug)]
pub(crate) struct Screened<'a> {
    /// The units that may be shown.
    pub(crate) units: Vec<Unit<'a>>,
    /// The chunks that are omitted, with the reasons.
    pub(crate) out: Vec<Omitted>,
    /// Warnings found on the way.
    pub(crate) warnings: Vec<Warning>,
}

impl<'a> Screened<'a> {
    /// Removes chunks of too little relevance, unless they have a first claim, and duplicates of
    /// better chunks, or of chunks sent before, and merges adjacent and overlapping chunks.
    pub(crate) fn new(
        chunks: &'a [Chunk],
        options: &BuildOptions,
        extras: &Extras<'_>,
        control: &Control,
    ) -> Result<Self, AssembleError> {
        let compares = options.merge && options.include_content;
        let sent = if compares {
            PreviousBlocks::new(chunks, options, extras, control)?
        } else {
            PreviousBlocks::default()
        };
        let ranked = chunks.iter().map(|chunk| {
            control.check()?;
            Ok((sent.has(chunk), chunk))
        });
        let mut ranked = ranked.collect::<Result<Vec<(bool, &Chunk)>, AssembleError>>()?;
        ranked.sort_unstable_by(|(was_sent, a), (was_too, b)| {
            // Chunks that were sent before are kept, even if others have the same text.
            let best_first =
                |sent: bool, chunk: &Chunk| Reverse((sent, chunk.pinned, chunk.relevance));
            best_first(*was_sent, a)
                .cmp(&best_first(*was_too, b))
                .then_with(|| by_source(a, b))
        });
        let least = options.min_relevance.unwrap_or_default();
        let claimed = extras.claims.iter().flat_map(|it| &it.ids);
        let claimed: RapidHashSet<&str> = claimed.map(String::as_str).collect();
        let (kept, below): (Vec<&Chunk>, Vec<&Chunk>) = ranked
            .into_iter()
            .map(|(_, chunk)| chunk)
            .partition(|chunk| {
                chunk.pinned || chunk.relevance >= least || claimed.contains(&*chunk.id)
            });
        let mut out = Vec::new();
        // Without their content, chunks have no lines to merge and no text to compare.
        let (units, warnings) = if compares {
            let bytes = kept.iter().map(|chunk| chunk.full_text().len()).sum();
            let surveys = parallel::map(&kept, bytes, control, |chunk| {
                Survey::of(chunk.full_text(), control)
            })?;
            // Pinned chunks, and those under which a block was sent, are kept even if another has
            // the same text.
            let stays = |chunk: &Chunk| chunk.pinned || sent.shows(chunk);
            let twins = duplicates(&kept, &surveys, stays, control)?;
            let mut unique = Vec::with_capacity(kept.len());
            for ((&chunk, survey), twin) in kept.iter().zip(surveys).zip(twins) {
                match twin {
                    None => unique.push((chunk, survey)),
                    Some((twin, reason)) => {
                        out.push(Omitted::new(&*chunk.id, reason).with_other(&*kept[twin].id));
                    }
                }
            }
            merge(&unique, &sent, control)?
        } else {
            let warnings = if options.include_content {
                mismatches(&kept, control)?
            } else {
                Vec::new()
            };
            (kept.into_iter().map(Unit::One).collect(), warnings)
        };
        out.extend(
            below
                .into_iter()
                .map(|it| Omitted::new(&*it.id, OmittedReason::BelowMinRelevance)),
        );
        Ok(Screened {
            units,
            out,
            warnings,
        })
    }
}

impl Screened<'_> {
    /// How many of the omitted chunks a reader does not find in the context. `shown` has the ids of
    /// all chunks shown. A duplicate counts as found if the chunk that replaces it is shown; a near
    /// duplicate does not: some of its lines are nowhere.
    pub(crate) fn count_out<'i>(&self, shown: impl IntoIterator<Item = &'i str>) -> usize {
        let is_twin = |it: &&Omitted| it.reason == OmittedReason::DuplicateOf;
        let twins = self.out.iter().filter(is_twin).count();
        if twins == 0 {
            return self.out.len();
        }
        let shown: RapidHashSet<&str> = shown.into_iter().collect();
        let is_shown = |it: &&Omitted| it.other.as_deref().is_some_and(|it| shown.contains(it));
        let found = self.out.iter().filter(is_twin).filter(is_shown).count();
        self.out.len() - found
    }

    /// How many omitted chunks a reader does not find at least, whatever is chosen.
    pub(crate) fn least_out(&self) -> usize {
        let is_twin = |it: &&Omitted| it.reason == OmittedReason::DuplicateOf;
        self.out.len() - self.out.iter().filter(is_twin).count()
    }

    /// Whether some chunks are left out whatever is chosen.
    pub(crate) fn leaves_out(&self) -> bool {
        self.least_out() > 0
    }
}
