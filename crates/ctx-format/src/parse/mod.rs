//! Documents read back: what was put in is what comes out.

mod json;
mod lines;
mod xml;

use std::borrow::Cow;

use ctx_model::{Category, Format, LineSpan, Relation, RenditionKind};

use crate::fields::Metadata;
use crate::{Notice, ParseError};

/// What a document says.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Parsed {
    /// The caller's own text before the blocks.
    pub header: Option<String>,
    /// The blocks, in their order.
    pub blocks: Vec<ParsedBlock>,
    /// What the list of sources calls them.
    pub sources: Vec<String>,
    /// What was left out.
    pub notice: Option<Notice>,
    /// The caller's own text after the blocks.
    pub footer: Option<String>,
}

/// What a document says of one block. What it does not say is `None`, empty, or in the case of the
/// rendition [`RenditionKind::Full`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ParsedBlock {
    /// The group it stands in, when blocks are grouped by kind.
    pub group: Option<Category>,
    /// What heads it: its path, name or id; Markdown does not say which.
    pub title: Option<String>,
    /// The chunk's id.
    pub id: Option<String>,
    /// The word for the chunk's kind.
    pub kind: Option<String>,
    /// The file it is in.
    pub path: Option<String>,
    /// The chunk's name.
    pub name: Option<String>,
    /// The lines of the file.
    pub span: Option<LineSpan>,
    /// The language; in Markdown `text` where there is none.
    pub language: Option<String>,
    /// The relevance, 0 to 1, as exactly as the format tells it: to a hundredth but in JSON.
    pub relevance: Option<f64>,
    /// The summary; folded into one line but in JSON.
    pub summary: Option<String>,
    /// What the file imports.
    pub imports: Vec<String>,
    /// What the chunk relates to.
    pub relations: Vec<Relation>,
    /// How much of the chunk is shown.
    pub rendition: RenditionKind,
    /// The text.
    pub body: String,
}

impl ParsedBlock {
    /// The same without what heads it: without headings, what looks like one is the caller's own text. O(bytes of the block).
    #[must_use]
    pub fn without_head(&self) -> Self {
        ParsedBlock {
            title: None,
            path: None,
            name: None,
            id: None,
            span: None,
            relevance: None,
            ..self.clone()
        }
    }

    pub(crate) fn take_metadata(&mut self, metadata: Metadata<'_>) {
        self.id = Some(metadata.id.into_owned());
        self.kind = Some(metadata.kind.into_owned());
        self.name = metadata.name.map(Cow::into_owned);
        self.path = metadata.file.map(Cow::into_owned);
    }

    /// Sets the title from what names the block, where nothing else did.
    fn settle_title(&mut self) {
        if self.title.is_none() {
            self.title = [&self.path, &self.name, &self.id]
                .into_iter()
                .find_map(Clone::clone);
        }
    }
}

/// Reads a document that a [`Formatter`](crate::Formatter) wrote.
///
/// XML and JSON are read whatever they hold. In Markdown and plain text the caller's own texts
/// (header, footer and separator) are not marked as such: blocks are found whatever *blocks* hold,
/// but a header that itself looks like a block is read as one; and where there is no block, notice
/// or source, a footer is read as a part of the header.
///
/// O(n) in the length of `text`.
///
/// # Errors
/// [`ParseError::Malformed`] and [`ParseError::Unexpected`] for XML and JSON, and
/// [`ParseError::Unclosed`] for Markdown and plain text, of which nothing else is malformed.
pub fn parse(format: Format, text: &str) -> Result<Parsed, ParseError> {
    match format {
        Format::Markdown => lines::parse(lines::Dialect::Markdown, text),
        Format::Plain => lines::parse(lines::Dialect::Plain, text),
        Format::Xml => xml::parse(text),
        Format::Json => json::parse(text),
    }
}

/// Reads a document whose blocks are known: there are `count`, and `is_block` says of what may be the next one whether it
/// is. In Markdown and plain text, whatever else looks like a block is then the caller's own text, as is what looks like
/// a notice or a list of sources before the last block. A title that a block may have from a heading further up is left
/// out where the block is not taken with it. XML and JSON tell the caller's texts apart: they are [`parse`]d, and
/// nothing is asked.
///
/// Fewer blocks than `count` are read where the others are not found. O(n) in the length of `text`, and what `is_block`
/// takes; of what it refuses, sixteen times that length is looked at.
///
/// # Errors
/// Those of [`parse`] for XML and JSON, and none for Markdown and plain text.
pub fn parse_known(
    format: Format,
    text: &str,
    count: usize,
    is_block: &mut dyn FnMut(&ParsedBlock) -> bool,
) -> Result<Parsed, ParseError> {
    let dialect = match format {
        Format::Markdown => lines::Dialect::Markdown,
        Format::Plain => lines::Dialect::Plain,
        Format::Xml | Format::Json => return parse(format, text),
    };
    lines::parse_known(dialect, text, count, is_block)
}

fn category_of_title(title: &str) -> Option<Category> {
    Category::ALL
        .into_iter()
        .find(|category| category.title() == title)
}
