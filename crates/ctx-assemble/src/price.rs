//! The price of each piece of the document, in the counter's additive weight.
//!
//! A piece is rendered, weighed and dropped, so prices need no more memory than the largest block.

use std::sync::atomic::{AtomicBool, Ordering};

use ctx_format::{Formatter, Group, file_within, joins_safely};
use ctx_model::{BuildOptions, Chunk, LineSpan, Tokens};
use ctx_tokens::{Additivity, TokenCounter, is_safe_joint};
use memchr::memchr_iter;
use rapidhash::v3::rapidhash_v3;

use crate::stretches::Stretches;
use crate::unit::Unit;
use crate::variant::{Variants, variants};
use crate::{AssembleError, Control, parallel};

/// Text is weighed in windows of about this many bytes, and cancellation is checked between them:
/// about 2 ms of counting.
const WINDOW: usize = 256 * 1024;

/// The most bytes of the head of a block, which holds the parts that differ from context to
/// context.
const HEAD: usize = 512;

/// Text with more bytes than this per token of the budget is unlikely to fit.
const BYTES_PER_TOKEN: usize = 6;

/// The price of a piece, and its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Price {
    pub(crate) weight: u64,
    pub(crate) bytes: usize,
}

impl std::ops::Add for Price {
    type Output = Price;

    fn add(self, other: Price) -> Price {
        Price {
            weight: self.weight.saturating_add(other.weight),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// Whether all pieces that were priced keep the rule that prices add up ([`joins_safely`]).
#[derive(Debug, Default)]
pub(crate) struct Joints {
    is_broken: AtomicBool,
}

impl Joints {
    fn look_at(&self, piece: &str) {
        self.keeps(joins_safely(piece));
    }

    /// Nothing precedes the first piece, so it may begin with anything.
    fn look_at_first(&self, piece: &str) {
        self.keeps(piece.is_empty() || piece.ends_with('\n'));
    }

    fn keeps(&self, rule: bool) {
        if !rule {
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

/// Prices pieces with one formatter and one counter.
#[derive(Clone, Copy)]
pub(crate) struct Pricer<'a> {
    pub(crate) formatter: &'a dyn Formatter,
    pub(crate) counter: &'a dyn TokenCounter,
    pub(crate) control: &'a Control,
    pub(crate) joints: &'a Joints,
}

impl Pricer<'_> {
    /// The price of the text that `write` appends.
    pub(crate) fn piece(&self, write: impl FnOnce(&mut String)) -> Result<Price, AssembleError> {
        let mut text = String::new();
        write(&mut text);
        self.joints.look_at(&text);
        self.price_of(&text)
    }

    /// The price of the piece that opens the document.
    pub(crate) fn opening(&self, header: Option<&str>) -> Result<Price, AssembleError> {
        let mut text = String::new();
        self.formatter.open(header, &mut text);
        self.joints.look_at_first(&text);
        self.price_of(&text)
    }

    /// Whether all pieces priced so far, and those of a document that ends with `footer`, keep the
    /// rule that prices add up. If not, the whole document must be counted.
    pub(crate) fn joins_safely(&self, footer: Option<&str>) -> bool {
        !self.joints.is_broken.load(Ordering::Relaxed) && self.formatter.joins_safely(footer)
    }

    /// Whether the counter and all pieces keep that rule, so that the sum of weights is that of the
    /// document.
    pub(crate) fn adds_up(&self, footer: Option<&str>) -> bool {
        self.counter.additivity() != Additivity::Never && self.joins_safely(footer)
    }

    /// The price of a group's heading and closing.
    pub(crate) fn group(&self, group: &Group<'_>) -> Result<Price, AssembleError> {
        let opening = self.piece(|out| self.formatter.open_group(group, out))?;
        let closing = self.piece(|out| self.formatter.close_group(group, out))?;
        Ok(opening + closing)
    }

    /// Every way to show each of `units`, priced, from the most to the least information. O(bytes
    /// rendered), on several threads if there is enough work.
    pub(crate) fn variants<'u>(
        &self,
        units: &[&'u Unit<'u>],
        options: &BuildOptions,
    ) -> Result<Vec<Variants<'u>>, AssembleError> {
        let bytes = units.iter().map(|unit| bytes_to_render(unit.chunk())).sum();
        // If everything is likely to be shown, no block should be weighed twice.
        let seal = bytes / BYTES_PER_TOKEN <= options.max_tokens.get() as usize;
        parallel::map_with(units, bytes, self.control, |unit, desk: &mut Desk| {
            let mut variants = variants(unit, options, self.control)?;
            desk.stretches.begin(unit);
            for piece in variants.iter_mut().flat_map(|it| &mut it.pieces) {
                desk.text.clear();
                self.formatter.block(&piece.block(), &mut desk.text);
                self.joints.look_at(&desk.text);
                let span = piece.block().span;
                piece.price = self.block(&desk.text, span, &mut desk.heads, &mut desk.stretches)?;
                let group = Group::of(&piece.block(), options.group_by);
                if let Some(file) = file_within(self.formatter, &piece.block(), group) {
                    piece.file = self.group(&file)?;
                }
                piece.seal = seal.then(|| rapidhash_v3(desk.text.as_bytes()));
                if options.include_sources {
                    desk.text.clear();
                    self.formatter.source(&piece.block(), &mut desk.text);
                    self.joints.look_at(&desk.text);
                    piece.source = Price {
                        weight: self.counter.weigh_once(&desk.text),
                        bytes: desk.text.len(),
                    };
                }
            }
            // A very large block should not leave its buffer to the small ones that follow.
            if desk.text.capacity() > 4 * WINDOW {
                *desk = Desk::default();
            }
            Ok(variants)
        })
    }

    /// The price of a block that shows the lines of `span`. Its head, which differs from context to
    /// context, is weighed separately; the rest is the same in every context that shows it, so a
    /// counter with a cache finds it there. O(bytes).
    fn block(
        &self,
        text: &str,
        span: Option<LineSpan>,
        heads: &mut Heads,
        stretches: &mut Stretches,
    ) -> Result<Price, AssembleError> {
        if self.counter.additivity() == Additivity::Never {
            return self.price_of(text);
        }
        let cut = cut_after(text, head(text));
        // A block on one line, as in JSON, or without a safe joint nearby, is treated as if it had
        // no head.
        if cut == text.len() || cut > 2 * HEAD {
            return self.price_of(text);
        }
        let (head, rest) = text.split_at(cut);
        let weigh = |text: &str| Ok(self.price_of(text)?.weight);
        let rest = stretches.weigh(rest, span, weigh)?;
        Ok(Price {
            weight: heads.weigh(head, self.counter).saturating_add(rest),
            bytes: text.len(),
        })
    }

    /// Weighs `text`, window by window. O(bytes).
    pub(crate) fn price_of(&self, text: &str) -> Result<Price, AssembleError> {
        let mut weight = 0_u64;
        for window in windows(text, self.counter) {
            self.control.check()?;
            weight = weight.saturating_add(self.counter.weigh(window));
        }
        Ok(Price {
            weight,
            bytes: text.len(),
        })
    }

    /// Counts the whole `text` once, on several threads if the weights of its parts add up.
    pub(crate) fn recount(&self, text: &str) -> Result<Tokens, AssembleError> {
        self.control.check()?;
        if self.counter.additivity() == Additivity::Never || text.len() <= WINDOW {
            let weight = self.counter.weigh_once(text);
            return Ok(self.counter.count_of(weight));
        }
        let windows: Vec<&str> = windows(text, self.counter).collect();
        let weights = parallel::map(&windows, text.len(), self.control, |window| {
            Ok(self.counter.weigh_once(window))
        })?;
        Ok(self
            .counter
            .count_of(weights.into_iter().fold(0, u64::saturating_add)))
    }
}

/// The smallest number of tokens in which text of this weight is certain to fit. Takes two calls of
/// `capacity` for a counter whose weights are tokens, and at most 64 for any other.
pub(crate) fn smallest_limit(counter: &dyn TokenCounter, weight: u64) -> Tokens {
    let is_enough = |limit: u32| counter.weight_bounds(Tokens::new(limit)).safe >= weight;
    let guess = counter.count_of(weight).get();
    let (mut low, mut high) = match guess.checked_sub(1) {
        _ if !is_enough(guess) => (guess.saturating_add(1), u32::MAX),
        Some(below) if is_enough(below) => (0, below),
        _ => return Tokens::new(guess),
    };
    while low < high {
        let middle = low + (high - low) / 2;
        if is_enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Tokens::new(low)
}

fn bytes_to_render(chunk: &Chunk) -> usize {
    let renditions: usize = chunk
        .renditions
        .iter()
        .map(|rendition| rendition.text().len())
        .sum();
    // The title and fence of a block are about as much work as a hundred bytes.
    chunk.full_text().len() + renditions + 100
}

/// Cuts `text` into windows of about [`WINDOW`] bytes, at places where the counter's weights add
/// up; a stretch without such a place is not cut.
fn windows<'t>(text: &'t str, counter: &dyn TokenCounter) -> impl Iterator<Item = &'t str> {
    let whole = counter.additivity() == Additivity::Never;
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = if whole {
            rest.len()
        } else {
            cut_after(rest, WINDOW)
        };
        let (window, after) = rest.split_at(cut);
        rest = after;
        Some(window)
    })
}

/// The state that pricing keeps from one block to the next.
#[derive(Debug, Default)]
struct Desk {
    text: String,
    heads: Heads,
    stretches: Stretches,
}

/// The lines of the head that was weighed last. The ways to show one part, and the parts of one
/// file, share most of them.
#[derive(Debug, Default)]
struct Heads {
    head: String,
    /// The end and the weight of each line.
    lines: Vec<(usize, u64)>,
    /// The same for the head that is being weighed.
    next: Vec<(usize, u64)>,
}

impl Heads {
    /// The weight of `head`, if weights add up at safe joints. O(bytes × lines), and there are few
    /// lines.
    fn weigh(&mut self, head: &str, counter: &dyn TokenCounter) -> u64 {
        self.next.clear();
        let (mut start, mut sum) = (0, 0_u64);
        while start < head.len() {
            let end = start + cut_after(&head[start..], 0);
            let line = &head[start..end];
            let known = self.known(line);
            let weight = known.unwrap_or_else(|| counter.weigh_once(line));
            self.next.push((end, weight));
            sum = sum.saturating_add(weight);
            start = end;
        }
        self.head.clear();
        self.head.push_str(head);
        std::mem::swap(&mut self.lines, &mut self.next);
        sum
    }

    fn known(&self, line: &str) -> Option<u64> {
        let mut start = 0;
        self.lines.iter().find_map(|&(end, weight)| {
            let known = &self.head[start..end];
            start = end;
            (known == line).then_some(weight)
        })
    }
}

/// About where the head of a block ends: at its first blank line, else in its first line.
fn head(text: &str) -> usize {
    let first = &text.as_bytes()[..text.len().min(HEAD)];
    memchr::memmem::find(first, b"\n\n").unwrap_or(0)
}

/// The first safe joint at or after `at`, or the end of the text.
pub(crate) fn cut_after(text: &str, at: usize) -> usize {
    let newlines = memchr_iter(b'\n', text.as_bytes().get(at..).unwrap_or_default());
    let mut ends = newlines.map(|newline| at + newline + 1);
    ends.find(|&end| is_safe_joint(&text[..end], &text[end..]))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ctx_format::{FormatOptions, formatter};
    use ctx_model::merging::lines_of;
    use ctx_model::{Format, Relevance};
    use ctx_tokens::CachedCounter;

    use super::*;
    use crate::Cancel;
    use crate::unit::Merged;

    /// Notes how many bytes it weighs.
    struct Noting(AtomicUsize);

    impl TokenCounter for Noting {
        fn count(&self, text: &str) -> Tokens {
            self.0.fetch_add(text.len(), Ordering::Relaxed);
            ctx_tokens::o200k_base().count(text)
        }

        fn additivity(&self) -> Additivity {
            Additivity::AtSafeJoints
        }
    }

    #[test]
    fn a_text_without_a_head_is_cached_whole_and_a_cancellation_seen_first() {
        let one_line = "{\"file\":\"a.rs\",\"content\":\"fn a() {}\"}\n";
        let comments = format!("<code>\n{}", "// A line.\n".repeat(200));
        let json = formatter(Format::Json, &FormatOptions::default()).unwrap();
        for text in [one_line, &comments] {
            let noting = Noting(AtomicUsize::new(0));
            let (counter, cancel) = (CachedCounter::new(&noting, 8), Cancel::new());
            let pricer = Pricer {
                formatter: &*json,
                counter: &counter,
                control: &Control::default().with_cancel(cancel.clone()),
                joints: &Joints::default(),
            };
            let price =
                || pricer.block(text, None, &mut Heads::default(), &mut Stretches::default());
            let first = price().unwrap();
            assert_eq!(noting.0.swap(0, Ordering::Relaxed), text.len());
            assert_eq!(price().unwrap(), first);
            assert_eq!(noting.0.load(Ordering::Relaxed), 0);
            cancel.cancel();
            assert!(matches!(price(), Err(AssembleError::Cancelled)));
        }
    }

    #[test]
    fn lines_that_heads_share_are_weighed_once() {
        let (counter, mut heads) = (Noting(AtomicUsize::new(0)), Heads::default());
        let shared = "### src/price.rs\nLines 1-20\n";
        for (own, weighed) in [
            ("{\"id\":\"a\"}\n\n", shared.len() + 12),
            ("Shown: signature\n{\"id\":\"a\"}\n\n", 17),
            ("Shown: mention\n{\"id\":\"a\"}\n\n", 15),
            ("{\"id\":\"b\"}\n\n", 12),
        ] {
            let head = [shared, own].concat();
            let weight = heads.weigh(&head, &counter);
            assert_eq!(counter.0.swap(0, Ordering::Relaxed), weighed, "{own}");
            assert_eq!(weight, ctx_tokens::o200k_base().weigh(&head), "{own}");
        }
        assert_eq!(heads.weigh("", &counter), 0);
    }

    /// Chunks of one file, each below the one before.
    fn below_each_other(texts: &[&str]) -> Vec<Chunk> {
        let mut line = 1;
        let chunk = |(number, text): (usize, &&str)| {
            let next = line + u32::try_from(text.lines().count()).unwrap();
            let span = LineSpan::new(line, next - 1).unwrap();
            line = next;
            let relevance = Relevance::new([0.9, 0.5, 0.7][number % 3]).unwrap();
            Chunk::new(number.to_string(), *text, relevance)
                .with_path("src/price.rs")
                .with_span(span)
        };
        texts.iter().enumerate().map(chunk).collect()
    }

    fn merged(chunks: &[Chunk]) -> Merged<'_> {
        let lines: Vec<_> = chunks
            .iter()
            .flat_map(|it| lines_of(&it.content, it.span.unwrap()))
            .collect();
        Merged::new(chunks.iter().collect(), 1, &lines)
    }

    #[test]
    fn a_cancel_is_seen_while_ways_to_show_many_chunks_are_sought() {
        let chunks = below_each_other(&["one\n", "two\n", "three\n"]);
        let unit = Unit::Many(Box::new(merged(&chunks)));
        let cancel = Cancel::new();
        let control = Control::default().with_cancel(cancel.clone());
        let sought = || variants(&unit, &BuildOptions::default(), &control).map(|it| it.len());
        assert_eq!(sought().unwrap(), 3);
        cancel.cancel();
        assert!(matches!(sought(), Err(AssembleError::Cancelled)));
    }

    /// Prices all ways to show `chunks` merged; returns the bytes that were weighed, and those of
    /// all blocks.
    fn weighed_merged(chunks: &[Chunk], format: Format) -> (usize, usize) {
        let (counter, options) = (Noting(AtomicUsize::new(0)), BuildOptions::default());
        let unit = Unit::Many(Box::new(merged(chunks)));
        let formatter = formatter(format, &FormatOptions::default()).unwrap();
        let pricer = Pricer {
            formatter: &*formatter,
            counter: &counter,
            control: &Control::default(),
            joints: &Joints::default(),
        };
        let variants = pricer.variants(&[&unit], &options).unwrap();
        let pieces: Vec<_> = variants[0].iter().flat_map(|it| &it.pieces).collect();
        assert!(
            pieces.len() >= chunks.len(),
            "each number of parts is a choice"
        );
        let mut bytes = 0;
        for piece in pieces {
            let mut text = String::new();
            formatter.block(&piece.block(), &mut text);
            let weight = ctx_tokens::o200k_base().weigh(&text);
            assert_eq!(piece.price.weight, weight, "{text}");
            assert_eq!(piece.price.bytes, text.len());
            bytes += text.len();
        }
        (counter.0.load(Ordering::Relaxed), bytes)
    }

    #[test]
    fn parts_of_a_merged_chunk_are_weighed_once() {
        let text = "    let price = weight(block);\n".repeat(20);
        let chunks = below_each_other(&[&*text; 12]);
        let (weighed, bytes) = weighed_merged(&chunks, Format::Markdown);
        assert!(weighed < 2 * 12 * text.len(), "{weighed} of {bytes}");
        assert!(weighed < bytes / 3, "{weighed} of {bytes}");
    }

    #[test]
    fn a_merged_chunk_weighs_what_its_blocks_do_wherever_it_is_cut() {
        let texts = [
            "fn a() {}\n\n",
            "\nfn b() {}\n",
            "// c\nfn c() {}",
            "/// ```\n/// d();\n/// ```\nfn d() {}\n",
            "\n\n\n",
            "let e = \"<&\u{1b}\u{200b}\";\r\n\r\n",
            "\r\nf\r\n",
            "    g\n",
        ];
        for format in [Format::Markdown, Format::Xml, Format::Json, Format::Plain] {
            for count in 3..=texts.len() {
                weighed_merged(&below_each_other(&texts[..count]), format);
                let backwards: Vec<&str> = texts[..count].iter().rev().copied().collect();
                weighed_merged(&below_each_other(&backwards), format);
            }
        }
    }
}
