//! The ways to show a unit, from the most to the least information.

use ctx_format::Block;
use ctx_model::{BuildOptions, Chunk};
use smallvec::{SmallVec, smallvec};

use crate::price::Price;
use crate::unit::{Beside, Merged, Run, Unit};
use crate::{AssembleError, Control};

/// The ways to show a unit; usually one.
pub(crate) type Variants<'u> = SmallVec<[Variant<'u>; 1]>;

/// A way to show a unit: one block, or several if only parts of a merged chunk are shown.
#[derive(Debug)]
pub(crate) struct Variant<'u> {
    pub(crate) pieces: SmallVec<[Piece<'u>; 1]>,
}

/// One block, and the chunks in it.
#[derive(Debug)]
pub(crate) struct Piece<'u> {
    block: Block<'u>,
    /// What the block states beside its lines, if several chunks are in it.
    beside: Option<Box<Beside>>,
    /// The chunks whose lines it shows: the one whose id the block has, and then the others, most
    /// relevant first.
    pub(crate) parts: SmallVec<[&'u Chunk; 1]>,
    /// The value of showing it.
    pub(crate) value: f64,
    /// The block's own price.
    pub(crate) price: Price,
    /// The price of the group of its file, if the block alone is in one
    /// ([`ctx_format::file_within`]).
    pub(crate) file: Price,
    /// A hash of the bytes that were priced, if they are likely to be shown.
    pub(crate) seal: Option<u64>,
    /// The price of its line in the list of sources, if that is shown.
    pub(crate) source: Price,
}

impl<'u> Variant<'u> {
    /// The value of showing all its blocks.
    pub(crate) fn value(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.value).sum()
    }

    /// How many chunks it shows.
    pub(crate) fn part_count(&self) -> usize {
        self.pieces.iter().map(|piece| piece.parts.len()).sum()
    }

    /// Lowers the value to at most `most`. The lines of a part that is not shown may count for
    /// another part that is, but showing less never has a higher value.
    fn is_worth_at_most(&mut self, most: f64) {
        let mut value = self.value();
        // Rounding must not leave the sum a little above: it would then be preferred to the whole.
        while value > most {
            let share = most / value * (1.0 - f64::EPSILON);
            for piece in &mut self.pieces {
                // Among the smallest numbers a product may round to what it was.
                let below = piece.value.next_down().max(0.0);
                piece.value = (piece.value * share).min(below);
            }
            value = self.value();
        }
    }

    fn one(block: Block<'u>, chunk: &'u Chunk, value: f64) -> Self {
        Variant {
            pieces: smallvec![Piece::new(block, smallvec![chunk], value)],
        }
    }
}

impl<'u> Piece<'u> {
    /// The block, as it is written.
    pub(crate) fn block(&self) -> Block<'_> {
        match &self.beside {
            Some(beside) => Block {
                imports: &beside.imports,
                relations: &beside.relations,
                ..self.block
            },
            None => self.block,
        }
    }

    /// The price of the block, of the group of its file, and of its line in the list of sources.
    pub(crate) fn full_price(&self) -> Price {
        self.price + self.file + self.source
    }

    fn new(block: Block<'u>, parts: SmallVec<[&'u Chunk; 1]>, value: f64) -> Self {
        Piece {
            block,
            beside: None,
            parts,
            value,
            price: Price::default(),
            file: Price::default(),
            seal: None,
            source: Price::default(),
        }
    }
}

/// The ways to show `unit`; at least one. Stops early if `control` is cancelled.
pub(crate) fn variants<'u>(
    unit: &'u Unit<'u>,
    options: &BuildOptions,
    control: &Control,
) -> Result<Variants<'u>, AssembleError> {
    Ok(match unit {
        Unit::One(chunk) if !options.include_content => {
            smallvec![Variant::one(
                Block::summary_only(chunk),
                chunk,
                worth(chunk, options),
            )]
        }
        Unit::One(chunk) => of_one(chunk, worth(chunk, options)),
        Unit::Many(merged) => of_many(merged, options, control)?,
    })
}

/// The value of all of `chunk`.
pub(crate) fn worth(chunk: &Chunk, options: &BuildOptions) -> f64 {
    chunk.relevance.get().powi(options.relevance_power.into())
}

/// The ways to show one chunk: in full, and in each rendition.
fn of_one(chunk: &Chunk, worth: f64) -> Variants<'_> {
    let full = Block::full(chunk);
    let mut variants: Variants<'_> = smallvec![Variant::one(full, chunk, worth)];
    variants.extend(chunk.renditions.iter().map(|rendition| {
        let value = worth * rendition.information();
        let block = Block {
            span: full.span,
            ..Block::of(chunk, rendition)
        };
        Variant::one(block, chunk, value)
    }));
    // Stable: renditions that keep the same amount stay in the order they were given.
    variants.sort_by(|a, b| b.value().total_cmp(&a.value()));
    variants
}

/// With this many parts or fewer, each number of them is offered.
const EACH: usize = 16;
/// Beyond that, the next larger number is larger by one part in this many.
const STEP: usize = 4;

/// All of it, and then ever fewer of its parts, down to those that are pinned: the parts worth most
/// per line are kept longest. All these showings together are at most five times as long as the
/// whole, and [`EACH`] small ones.
fn of_many<'u>(
    merged: &'u Merged<'u>,
    options: &BuildOptions,
    control: &Control,
) -> Result<Variants<'u>, AssembleError> {
    let one_block = options.max_chunks.is_some();
    let parts = merged.by_density(|part| worth(part, options));
    let all = parts.len();
    let pinned = parts.iter().filter(|it| it.pinned).count().max(1);
    let larger = |&count: &usize| Some(count + if count < EACH { 1 } else { count / STEP });
    let counts = std::iter::successors(Some(pinned), larger).take_while(|&it| it < all);
    let mut counts: Vec<usize> = counts.chain([all]).collect();
    counts.reverse();
    let mut most = f64::INFINITY;
    let variants = counts.into_iter().map(|count| {
        control.check()?;
        let runs = merged.runs(&parts[..count], |part| worth(part, options));
        let pieces = runs.into_iter().map(|run| piece(merged, run));
        let mut variant = Variant {
            pieces: pieces.collect(),
        };
        variant.is_worth_at_most(most);
        most = variant.value();
        Ok(variant)
    });
    // With `max_chunks` a unit counts as one chunk, so it must be one block.
    let is_one = |it: &Variant<'_>| !one_block || it.pieces.len() == 1;
    let variants = variants.filter(|it| it.as_ref().map_or(true, is_one));
    variants.collect()
}

fn piece<'u>(merged: &Merged<'u>, run: Run<'u, 'u>) -> Piece<'u> {
    let speaker = run.parts[0];
    // If the part has exactly these lines, the block shows all its own fields.
    if speaker.span == Some(run.span) {
        return Piece::new(Block::full(speaker), run.parts, run.value);
    }
    let block = Block {
        span: Some(run.span),
        body: run.text,
        summary: None,
        ..Block::full(speaker)
    };
    let beside = merged.beside(&run.parts);
    Piece {
        beside: Some(Box::new(beside)),
        ..Piece::new(block, run.parts, run.value)
    }
}
