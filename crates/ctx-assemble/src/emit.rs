//! Writes the document from the selection.

use ctx_budget::Outcome;
use ctx_format::{DocumentWriter, Group, Notice};
use ctx_model::{BuildOptions, GroupBy, Order};

use crate::AssembleError;
use crate::arrange::best_at_both_ends;
use crate::candidates::{Candidate, Candidates};
use crate::fixed::Fixed;
use crate::price::Pricer;
use crate::variant::{Piece, Variant};

/// The candidates under one heading, in order.
#[derive(Debug)]
pub(crate) struct Shown<'u, 'c> {
    group: Option<Group<'u>>,
    /// Each candidate, with the way it is shown.
    variants: Vec<(&'c Candidate<'u>, &'c Variant<'u>)>,
}

impl<'u, 'c> Shown<'u, 'c> {
    /// The blocks, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (&'c Candidate<'u>, &'c Piece<'u>)> {
        let pieces = |&(candidate, variant): &(&'c Candidate<'u>, &'c Variant<'u>)| {
            variant.pieces.iter().map(move |piece| (candidate, piece))
        };
        self.variants.iter().flat_map(pieces)
    }
}

/// The selection, in the order of display.
pub(crate) fn shown<'u, 'c>(
    candidates: &'c Candidates<'u>,
    outcome: &Outcome,
    options: &BuildOptions,
) -> Vec<Shown<'u, 'c>> {
    let mut shown: Vec<Shown<'u, 'c>> = Vec::new();
    let mut section = None;
    for (candidate, choice) in candidates.chosen(outcome) {
        if section != Some(candidate.section) {
            section = Some(candidate.section);
            let group = candidates.groups[candidate.section];
            shown.push(Shown {
                group,
                variants: Vec::new(),
            });
        }
        let last = shown.last_mut().expect("a section was just opened");
        last.variants.push((candidate, &candidate.variants[choice]));
    }
    if options.order == Order::Edges && options.previous.is_none() {
        arrange_edges(&mut shown, options.group_by);
    }
    shown
}

/// Puts the best at both ends: groups if they are ranked, else the chunks of each group.
fn arrange_edges(shown: &mut Vec<Shown<'_, '_>>, group_by: GroupBy) {
    if group_by == GroupBy::File {
        *shown = best_at_both_ends(std::mem::take(shown));
    } else {
        for section in shown {
            section.variants = best_at_both_ends(std::mem::take(&mut section.variants));
        }
    }
}

/// The most bytes of a context. No model takes as much; what would have more is refused before it
/// takes memory.
const MOST_BYTES: usize = 256 << 20;

/// Refuses a document of `bytes` bytes if that is too much, and names the option at fault.
pub(crate) fn check_bytes(
    bytes: usize,
    fixed: &Fixed,
    shown: &[Shown<'_, '_>],
) -> Result<(), AssembleError> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let blocks = shown.iter().flat_map(Shown::pieces).count();
    let separators = fixed.separator.bytes.saturating_mul(blocks);
    let option = if separators > bytes / 2 {
        "chunkSeparator"
    } else {
        "maxTokens"
    };
    Err(AssembleError::TooLong {
        bytes,
        most: MOST_BYTES,
        option,
    })
}

/// The finished text, and the places of its blocks.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) text: String,
    /// The end of each block, in bytes.
    pub(crate) block_ends: Vec<usize>,
}

/// Writes the document into a buffer of `bytes` bytes. `notice` has the number of chunks left out.
/// Cancellation is checked between two blocks. O(bytes).
pub(crate) fn emit(
    pricer: &Pricer<'_>,
    options: &BuildOptions,
    shown: &[Shown<'_, '_>],
    notice: &Notice,
    bytes: usize,
) -> Result<Document, AssembleError> {
    let mut text = String::with_capacity(bytes);
    let mut block_ends = Vec::new();
    let mut writer = DocumentWriter::new(pricer.formatter, &mut text);
    writer.group_by(options.group_by);
    writer.header(options.header.as_deref());
    for section in shown {
        writer.group(section.group);
        for (_, piece) in section.pieces() {
            pricer.control.check()?;
            writer.block(&piece.block());
            block_ends.push(writer.position());
        }
    }
    if options.include_sources {
        let pieces = shown.iter().flat_map(Shown::pieces);
        writer.sources(&mut pieces.map(|(_, piece)| piece.block()));
    }
    if options.include_notice && notice.omitted > 0 {
        writer.notice(notice);
    }
    writer
        .finish(options.footer.as_deref())
        .expect("the pieces were written in their order");
    Ok(Document { text, block_ends })
}
