//! What is to be considered, and what is out of the question before anything is priced.

use std::cmp::Reverse;

use ctx_model::{BuildOptions, Chunk, Omitted, OmittedReason, Warning};

use crate::arrange::by_source;
use crate::duplicates::duplicates;
use crate::merge::merge;
use crate::survey::Survey;
use crate::unit::Unit;
use crate::{AssembleError, Control, parallel};

/// The chunks, sorted out.
#[derive(Debug)]
pub(crate) struct Sorted<'a> {
    /// What may be shown.
    pub(crate) units: Vec<Unit<'a>>,
    /// What may not, and why.
    pub(crate) out: Vec<Omitted>,
    /// What was noticed on the way.
    pub(crate) warnings: Vec<Warning>,
}

impl<'a> Sorted<'a> {
    /// Takes out what matters too little and what says the same as something better, and merges
    /// what meets.
    pub(crate) fn new(
        chunks: &'a [Chunk],
        options: &BuildOptions,
        control: &Control,
    ) -> Result<Self, AssembleError> {
        let mut ranked: Vec<&Chunk> = chunks.iter().collect();
        ranked.sort_unstable_by(|a, b| {
            let best_first = |chunk: &Chunk| Reverse((chunk.pinned, chunk.relevance));
            best_first(a)
                .cmp(&best_first(b))
                .then_with(|| by_source(a, b))
        });
        let least = options.min_relevance.unwrap_or_default();
        let (kept, below): (Vec<&Chunk>, Vec<&Chunk>) = ranked
            .into_iter()
            .partition(|chunk| chunk.pinned || chunk.relevance >= least);
        let mut out = Vec::new();
        // Without their content, chunks have no lines to merge and no text to compare.
        let (units, warnings) = if options.merge && options.include_content {
            let bytes = kept.iter().map(|chunk| chunk.full_text().len()).sum();
            let surveys = parallel::map(&kept, bytes, control, |chunk| {
                Survey::of(chunk.full_text(), control)
            })?;
            let twins = duplicates(&kept, &surveys, control)?;
            let mut unique = Vec::with_capacity(kept.len());
            for ((&chunk, survey), twin) in kept.iter().zip(surveys).zip(twins) {
                match twin {
                    None => unique.push((chunk, survey)),
                    Some(twin) => out.push(
                        Omitted::new(&*chunk.id, OmittedReason::DuplicateOf)
                            .with_other(&*kept[twin].id),
                    ),
                }
            }
            merge(&unique, control)?
        } else {
            (kept.into_iter().map(Unit::One).collect(), Vec::new())
        };
        out.extend(
            below
                .into_iter()
                .map(|it| Omitted::new(&*it.id, OmittedReason::BelowMinRelevance)),
        );
        Ok(Sorted {
            units,
            out,
            warnings,
        })
    }
}

impl Sorted<'_> {
    /// How many chunks a reader will not find, whatever is chosen. A duplicate is found under
    /// another name.
    pub(crate) fn count_out(&self) -> usize {
        let is_missing = |it: &&Omitted| it.reason != OmittedReason::DuplicateOf;
        self.out.iter().filter(is_missing).count()
    }

    /// Whether there are such chunks.
    pub(crate) fn leaves_out(&self) -> bool {
        self.count_out() > 0
    }
}
