//! Tells the headings of blocks from lines of the caller's own text that look like headings.

use ctx::format::{ParseError, ParsedBlock, parse_known};
use ctx::model::{BuiltContext, CounterName, Format, LineSpan, Tokens};
use ctx::tokens::TokenCounter as _;

use super::Entry;
use crate::options::counters;

/// Where the headings of a context are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heads {
    /// What looks like the heading of a block is its heading.
    Own,
    /// In Markdown, above the first block of each file. Below it, the caller's separator may look
    /// like a heading.
    OfFiles,
    /// No block has one. The caller's separator may look like a heading.
    None,
    /// No block has one. The caller's header ends like a heading, and the separator may look like
    /// one.
    InHeader,
}

/// The blocks of the context, one for each entry, without lines of the caller's own text that only
/// look like their headings. `None` if they are not found. O(context), and O(bytes) for each
/// candidate.
///
/// # Errors
/// The context does not read back.
pub(super) fn blocks(
    receipt: &BuiltContext,
    entries: &[Entry<'_>],
) -> Result<Option<Vec<ParsedBlock>>, String> {
    for heads in [Heads::Own, Heads::OfFiles, Heads::None, Heads::InHeader] {
        if heads == Heads::OfFiles && receipt.format != Format::Markdown {
            continue;
        }
        let mut reading = Reading {
            heads,
            context: &receipt.context,
            entries,
            blocks: Vec::new(),
            head_of_file: None,
            is_by_file: None,
            separator: None,
        };
        let mut is_next = |block: &ParsedBlock| reading.takes(block);
        let parsed = parse_known(
            receipt.format,
            &receipt.context,
            entries.len(),
            &mut is_next,
        );
        let parsed = parsed.map_err(unread)?;
        if matches!(receipt.format, Format::Xml | Format::Json) {
            return Ok(Some(parsed.blocks).filter(|it| it.len() == entries.len()));
        }
        let is_found = reading.blocks.len() == entries.len();
        let header = parsed.header.as_deref();
        if is_found && (heads != Heads::InHeader || is_header_longer(receipt, header)) {
            return Ok(Some(reading.blocks));
        }
    }
    Ok(None)
}

/// Says that a context does not read back.
pub(super) fn unread(error: ParseError) -> String {
    format!("the context does not read back: {error}")
}

/// The parts of a heading. Those that may be lost before the heading of a group are `None` then.
struct Head {
    title: Option<String>,
    names: [Option<String>; 3],
    span: Option<LineSpan>,
}

impl Head {
    fn of(block: &ParsedBlock) -> Self {
        // With metadata, these are stated by the block itself.
        let names = if block.kind.is_some() {
            Default::default()
        } else {
            [block.path.clone(), block.name.clone(), block.id.clone()]
        };
        Head {
            title: block.title.clone(),
            names,
            span: block.span,
        }
    }

    /// Takes over the parts of `other`, if none of them differs.
    fn agree(&mut self, other: Head) -> bool {
        fn agree<T: PartialEq>(known: &mut Option<T>, other: Option<T>) -> bool {
            let Some(other) = other else {
                return true;
            };
            match known {
                Some(known) => *known == other,
                None => {
                    *known = Some(other);
                    true
                }
            }
        }
        let mut names = self.names.iter_mut().zip(other.names);
        self.title == other.title
            && names.all(|(known, other)| agree(known, other))
            && agree(&mut self.span, other.span)
    }
}

/// One way to read the blocks of a context.
struct Reading<'e, 'r> {
    heads: Heads,
    context: &'e str,
    entries: &'e [Entry<'r>],
    /// The blocks found, as they are compared.
    blocks: Vec<ParsedBlock>,
    /// The index of the last block below the heading of its file.
    head_of_file: Option<usize>,
    /// Whether the headings are those of files, once it is known.
    is_by_file: Option<bool>,
    /// What looks like a heading in the separator, once it is known.
    separator: Option<Head>,
}

impl Reading<'_, '_> {
    /// Whether `block` is the next one.
    fn takes(&mut self, block: &ParsedBlock) -> bool {
        let Some(entry) = self.entries.get(self.blocks.len()) else {
            return false;
        };
        let is_first = entry.number == 0;
        let has_own_head = match self.heads {
            Heads::Own => true,
            Heads::OfFiles => !self.is_below(entry),
            Heads::None | Heads::InHeader => false,
        };
        // Metadata names a block, too.
        let is_named = block.kind.is_some() && block.span.is_none() && entry.is_titled(block);
        if self.heads == Heads::None && is_first && block.title.is_some() && !is_named {
            return false;
        }
        let own = if has_own_head {
            block.clone()
        } else {
            self.without_head(block)
        };
        if !entry.differences(&own).is_empty() {
            return false;
        }
        if !has_own_head && !is_first {
            let mut head = Head::of(block);
            if own.span.is_some() {
                head.span = None;
            }
            match &mut self.separator {
                None => self.separator = Some(head),
                Some(separator) => {
                    if !separator.agree(head) {
                        return false;
                    }
                }
            }
        }
        if self.heads == Heads::OfFiles && has_own_head {
            self.head_of_file = Some(self.blocks.len());
            // A blank line follows the heading of a file, and the lines that of a block.
            let below = || Some(format!("\n\nLines {}\n", own.span?));
            let below = below().filter(|_| self.is_by_file.is_none());
            self.is_by_file = self
                .is_by_file
                .or(below.map(|it| self.context.contains(&it)));
        }
        self.blocks.push(own);
        true
    }

    /// Whether `entry` is shown below the heading of another of its file.
    fn is_below(&self, entry: &Entry<'_>) -> bool {
        let above = entry.number.checked_sub(1).map(|it| &self.entries[it]);
        let is_same_file = above.is_some_and(|it| it.citation.source == entry.citation.source);
        is_same_file && self.is_by_file != Some(false)
    }

    /// `block` without the parts of a heading that are not its own.
    fn without_head(&self, block: &ParsedBlock) -> ParsedBlock {
        let mut own = block.without_head();
        if block.kind.is_some() {
            (own.path, own.name, own.id) =
                (block.path.clone(), block.name.clone(), block.id.clone());
        }
        // Of one file, all blocks state their lines or none does.
        if self.heads == Heads::OfFiles
            && let Some(head) = self.head_of_file.map(|it| &self.blocks[it])
        {
            own.span = block.span.filter(|_| head.span.is_some());
            own.relevance = block.relevance.filter(|_| head.relevance.is_some());
        }
        own
    }
}

/// Whether the receipt tells of a longer header than `header`, as far as it can be counted.
fn is_header_longer(receipt: &BuiltContext, header: Option<&str>) -> bool {
    let told = receipt.tokens.header;
    let text = header.map(|it| format!("{it}\n\n")).unwrap_or_default();
    match counters().get(&CounterName::from(receipt.counter.clone())) {
        Ok(counter) => told > counter.count(&text),
        Err(_) => told > Tokens::ZERO,
    }
}
