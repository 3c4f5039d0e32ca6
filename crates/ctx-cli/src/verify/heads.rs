//! Distinguishes headings of blocks from lines of the caller's own text that look like headings.

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
        let parsed = parsed.map_err(|error| unread(&error))?;
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
pub(super) fn unread(error: &ParseError) -> String {
    format!("the context cannot be parsed: {error}")
}

/// The parts of a heading, as far as they are known: some are lost before the heading of a group,
/// and metadata states others, too.
struct Head {
    /// Empty if there is none.
    title: Option<String>,
    names: [Option<String>; 3],
    span: Option<LineSpan>,
}

impl Head {
    /// The heading of `block`, of which `own` is not a part.
    fn of(block: &ParsedBlock, own: &ParsedBlock, is_titled: bool) -> Self {
        // With metadata, these are stated by the block itself.
        let names = if block.kind.is_some() {
            Default::default()
        } else {
            let id = block.id.clone().filter(|_| own.id.is_none());
            [block.path.clone(), block.name.clone(), id]
        };
        Head {
            title: (block.kind.is_none() || !is_titled)
                .then(|| block.title.clone().unwrap_or_default()),
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
            if let Some(known) = known {
                return *known == other;
            }
            *known = Some(other);
            true
        }
        let mut names = self.names.iter_mut().zip(other.names);
        agree(&mut self.title, other.title)
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
        let own = (!has_own_head).then(|| self.without_head(entry, block));
        if !entry.differences(own.as_ref().unwrap_or(block)).is_empty() {
            return false;
        }
        let own = own.unwrap_or_else(|| block.clone());
        // All blocks state their ids, or none does.
        let first = self.blocks.first();
        if first.is_some_and(|it| it.has_own_id != own.has_own_id) {
            return false;
        }
        if !has_own_head && !is_first {
            let mut head = Head::of(block, &own, entry.is_titled(block));
            if own.span.is_some() || entry.is_on(block.span) {
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
            let is_of_file = entry.included.file_path.is_some();
            let below = below().filter(|_| is_of_file && self.is_by_file.is_none());
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
        let path = entry.included.file_path.as_ref();
        let is_same_file =
            path.is_some() && above.is_some_and(|it| it.included.file_path.as_ref() == path);
        is_same_file && self.is_by_file != Some(false)
    }

    /// Whether the line with an id above `block` is its own. A line of the caller's text may look
    /// like one: of the header above the first block, and of the separator above the others.
    fn may_be_own_id(&self, entry: &Entry<'_>, block: &ParsedBlock) -> bool {
        let is_below_text = self.heads == Heads::InHeader || entry.number > 0;
        !is_below_text || entry.has_id(block)
    }

    /// `block` without the parts of a heading that are not its own.
    fn without_head(&self, entry: &Entry<'_>, block: &ParsedBlock) -> ParsedBlock {
        let mut own = block.without_head();
        if block.kind.is_some() {
            (own.path, own.name, own.id) =
                (block.path.clone(), block.name.clone(), block.id.clone());
        } else if !self.may_be_own_id(entry, block) {
            own.forget_own_id();
        }
        // Of one file, all blocks that have lines state them or none does.
        if self.heads == Heads::OfFiles
            && let Some(head) = self.head_of_file.map(|it| &self.blocks[it])
        {
            let states_lines = head.span.is_some() && !entry.is_on(None);
            own.span = block.span.filter(|_| states_lines);
            own.relevance = block.relevance.filter(|_| head.relevance.is_some());
        }
        own
    }
}

/// Whether the receipt states a longer header than `header`, as far as it can be counted.
fn is_header_longer(receipt: &BuiltContext, header: Option<&str>) -> bool {
    let told = receipt.tokens.header;
    let text = header.map(|it| format!("{it}\n\n")).unwrap_or_default();
    match counters().get(&CounterName::from(receipt.counter.clone())) {
        Ok(counter) => told > counter.count(&text),
        Err(_) => told > Tokens::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use ctx::assemble::{Control, assemble};
    use ctx::model::{BuildOptions, Chunk, GroupBy, Relevance};
    use proptest::prelude::*;

    use super::super::{Escapes, shown};
    use super::*;

    fn holds(receipt: &BuiltContext) -> bool {
        let escapes = Escapes::default();
        let shown = shown(receipt, &escapes);
        shown.is_ok_and(|shown| {
            let mut shown = shown.iter();
            shown.all(|it| it.entry.differences(&it.block).is_empty())
        })
    }

    /// Texts of the caller's that look like headings.
    const OWN: [&str; 10] = [
        "### own\n",
        "\n### own\n\n",
        "### src/a.rs\n",
        "### own\nLines 3-4\n",
        "File: own\n",
        "\nFile: src/a.rs (lines 3-4)\n\n",
        "Id: own\n",
        "[own]\n",
        "### src/a.rs\n[own]\n",
        "---\n",
    ];

    prop_compose! {
        fn options()(
            format in prop::sample::select(vec![Format::Markdown, Format::Plain]),
            group_by in prop::sample::select(vec![GroupBy::File, GroupBy::Kind, GroupBy::None]),
            (headers, lines, ids, metadata, scores) in any::<(bool, bool, bool, bool, bool)>(),
            separator in prop::option::of(prop::sample::select(OWN.to_vec())),
            header in prop::option::of(prop::sample::select(OWN.to_vec())),
        ) -> BuildOptions {
            BuildOptions::default()
                .with_max_tokens(Tokens::new(10_000))
                .with_format(format)
                .with_group_by(group_by)
                .with_file_headers(headers)
                .with_line_numbers(lines)
                .with_ids(ids)
                .with_metadata(metadata)
                .with_scores(scores)
                .with_chunk_separator(separator.map(str::to_owned))
                .with_header(header.map(str::to_owned))
        }
    }

    fn built(hits: &[(usize, u32, bool)], options: &BuildOptions) -> Option<BuiltContext> {
        let hits = hits.iter().enumerate();
        let chunks: Vec<Chunk> = hits
            .map(|(number, &(file, line, has_lines))| {
                let id = format!("c{number}");
                let content = format!("{id} is line {line} of {file}");
                let mut chunk = Chunk::new(id, content, Relevance::ONE);
                chunk.path = ["src/a.rs", "src/b.rs"]
                    .get(file)
                    .map(|it| (*it).to_owned());
                chunk.span = LineSpan::new(line * 3, line * 3).ok().filter(|_| has_lines);
                chunk
            })
            .collect();
        let counter = ctx::tokens::counter(&options.counter).ok()?;
        // No context can have some of these texts.
        assemble(&chunks, options, &*counter, &Control::default()).ok()
    }

    proptest! {
        #[test]
        fn a_receipt_holds_whatever_looks_like_a_heading(
            hits in prop::collection::vec((0_usize..3, 1_u32..20, any::<bool>()), 1..6),
            options in options(),
        ) {
            if let Some(receipt) = built(&hits, &options) {
                prop_assert!(holds(&receipt), "{}", receipt.context);
            }
        }

        /// What is cited by an id is the chunk with that id.
        #[test]
        fn an_id_of_another_chunk_is_not_taken_for_a_separator(
            hits in prop::collection::vec((0_usize..3, 1_u32..20, any::<bool>()), 1..6),
            options in options(),
            changed in any::<prop::sample::Index>(),
            is_left_out in any::<bool>(),
        ) {
            let options = options
                .with_ids(true)
                .with_metadata(false)
                .with_chunk_separator(None)
                .with_header(None);
            let Some(mut receipt) = built(&hits, &options) else {
                return Err(TestCaseError::fail("it is not built"));
            };
            let context = receipt.context.clone();
            let ids: Vec<&str> = context.split('\n').filter(|it| it.starts_with("[c")).collect();
            let id = ids[changed.index(ids.len())];
            // One block alone may have its id from a header.
            let is_left_out = is_left_out && ids.len() > 1;
            let other = if is_left_out { "" } else { "[other]\n" };
            receipt.context = context.replacen(&format!("{id}\n"), other, 1);
            prop_assert!(!holds(&receipt), "{}", receipt.context);
        }

        /// Without texts of the caller's, the only heading may be no other.
        #[test]
        fn a_heading_of_another_file_is_not_taken_for_a_separator(
            hits in prop::collection::vec((0_usize..2, 1_u32..20, Just(true)), 1..6),
            options in options(),
            changed in any::<prop::sample::Index>(),
        ) {
            let options = options
                .with_file_headers(true)
                .with_line_numbers(true)
                .with_chunk_separator(None)
                .with_header(None);
            let Some(mut receipt) = built(&hits, &options) else {
                return Err(TestCaseError::fail("it is not built"));
            };
            let is_head = |line: &&str| line.starts_with("### ") || line.starts_with("File: ");
            let context = receipt.context.clone();
            let heads: Vec<&str> = context.split('\n').filter(is_head).collect();
            let number = changed.index(heads.len());
            let mut next = 0;
            let lines = context.split('\n').map(|line| {
                next += usize::from(is_head(&line));
                if is_head(&line) && next == number + 1 {
                    line.replace("src/", "etc/")
                } else {
                    line.to_owned()
                }
            });
            receipt.context = lines.collect::<Vec<_>>().join("\n");
            prop_assert_ne!(&receipt.context, &context);
            prop_assert!(!holds(&receipt), "{}", receipt.context);
        }
    }
}
