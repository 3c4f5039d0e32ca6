//! The count of the finished document, on its final bytes.

use std::ops::Range;

use ctx_model::Tokens;
use ctx_tokens::{Additivity, is_safe_joint};
use rapidhash::v3::rapidhash_v3;

use crate::emit::Document;
use crate::price::Pricer;
use crate::variant::Piece;
use crate::{AssembleError, parallel};

/// Counts the whole of `document`, whose blocks are `pieces`.
///
/// A block that was sealed when it was weighed, and whose bytes in the document have the same
/// length and hash, is not weighed again; everything else is. No text can be made to deceive this,
/// since one formatter wrote both from the same text; the hash detects a formatter that writes a
/// block differently each time. Weights are added up only if the counter allows it, at places that
/// are safe joints in the document itself.
pub(crate) fn total(
    pricer: &Pricer<'_>,
    document: &Document,
    pieces: &[&Piece<'_>],
) -> Result<Tokens, AssembleError> {
    let text = document.text.as_str();
    let adds_up = pricer.counter.additivity() != Additivity::Never;
    let is_sealed = adds_up && !pieces.is_empty() && pieces.iter().all(|it| it.seal.is_some());
    let blocks = is_sealed.then(|| blocks(document, pieces)).flatten();
    let Some(blocks) = blocks else {
        return pricer.recount(text);
    };
    let mut weight = 0_u64;
    let mut next = 0;
    for (range, _) in &blocks {
        weight = weight.saturating_add(pricer.price_of(&text[next..range.start])?.weight);
        next = range.end;
    }
    weight = weight.saturating_add(pricer.price_of(&text[next..])?.weight);
    let weights = parallel::map(&blocks, text.len(), pricer.control, |(range, piece)| {
        let bytes = &text[range.clone()];
        if piece.seal == Some(rapidhash_v3(bytes.as_bytes())) {
            return Ok(piece.price.weight);
        }
        Ok(pricer.price_of(bytes)?.weight)
    })?;
    let weight = weights.into_iter().fold(weight, u64::saturating_add);
    Ok(pricer.counter.count_of(weight))
}

/// The range of each block, if all of them may be counted separately from the text beside them.
fn blocks<'p, 'u>(
    document: &Document,
    pieces: &[&'p Piece<'u>],
) -> Option<Vec<(Range<usize>, &'p Piece<'u>)>> {
    let text = document.text.as_str();
    let may_be_cut = |at: usize| {
        let (before, after) = text.split_at_checked(at)?;
        is_safe_joint(before, after).then_some(())
    };
    let mut blocks = Vec::with_capacity(pieces.len());
    let mut last = 0;
    for (&piece, &end) in pieces.iter().zip(&document.block_ends) {
        let start = end.checked_sub(piece.price.bytes)?;
        if start < last {
            return None;
        }
        may_be_cut(start)?;
        may_be_cut(end)?;
        blocks.push((start..end, piece));
        last = end;
    }
    (blocks.len() == pieces.len()).then_some(blocks)
}
