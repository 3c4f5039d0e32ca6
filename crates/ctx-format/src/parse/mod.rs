//! Reads documents back.

mod json;
mod lines;
mod xml;

use std::borrow::Cow;

use ctx_model::{Category, Format, LineSpan, Relation, RenditionKind};

use crate::fields::Metadata;
use crate::{Notice, ParseError};

/// The contents of a document.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Parsed {
    /// The caller's own text before the blocks.
    pub header: Option<String>,
    /// The blocks, in order.
    pub blocks: Vec<ParsedBlock>,
    /// The names in the list of sources.
    pub sources: Vec<String>,
    /// The notice of what was left out.
    pub notice: Option<Notice>,
    /// The caller's own text after the blocks.
    pub footer: Option<String>,
}

/// The contents of one block. A field that the document does not state is `None` or empty; the
/// rendition is then [`RenditionKind::Full`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ParsedBlock {
    /// The group it belongs to, if blocks are grouped by kind.
    pub group: Option<Category>,
    /// Its heading: its path, name or id. Markdown does not state which.
    pub title: Option<String>,
    /// The chunk's id.
    pub id: Option<String>,
    /// Whether the id is stated apart from the heading: by a line of its own or by metadata. Never
    /// in XML and JSON, which have no headings.
    pub has_own_id: bool,
    /// The word for the kind of the chunk.
    pub kind: Option<String>,
    /// The file it is in.
    pub path: Option<String>,
    /// The chunk's name.
    pub name: Option<String>,
    /// The lines of the file.
    pub span: Option<LineSpan>,
    /// The language; in Markdown `text` if there is none.
    pub language: Option<String>,
    /// The relevance, 0 to 1, in the precision of the format: hundredths, except in JSON.
    pub relevance: Option<f64>,
    /// The summary; folded into one line, except in JSON.
    pub summary: Option<String>,
    /// What the file imports.
    pub imports: Vec<String>,
    /// What the chunk relates to, and how.
    pub relations: Vec<Relation>,
    /// How much of the chunk is shown.
    pub rendition: RenditionKind,
    /// The text.
    pub body: String,
}

impl ParsedBlock {
    /// The block without its heading, for documents without headings, where text that looks like a
    /// heading is the caller's own. O(bytes of the block).
    #[must_use]
    pub fn without_head(&self) -> Self {
        ParsedBlock {
            title: None,
            path: None,
            name: None,
            id: self.id.clone().filter(|_| self.has_own_id),
            span: None,
            relevance: None,
            ..self.clone()
        }
    }

    /// Removes an id that is stated apart from the heading, which may be a line of the caller's own
    /// text.
    pub fn forget_own_id(&mut self) {
        if self.has_own_id {
            (self.id, self.has_own_id) = (None, false);
        }
    }

    pub(crate) fn take_metadata(&mut self, metadata: Metadata<'_>) {
        self.id = Some(metadata.id.into_owned());
        self.has_own_id = true;
        self.kind = Some(metadata.kind.into_owned());
        self.name = metadata.name.map(Cow::into_owned);
        self.path = metadata.file.map(Cow::into_owned);
    }

    /// Sets the title from the field that names the block, if it has no title yet. An id that
    /// stands by itself is no title.
    fn settle_title(&mut self) {
        if self.title.is_none() {
            let is_alone = self.has_own_id && self.kind.is_none();
            let id = self.id.as_ref().filter(|_| !is_alone);
            let names = [self.path.as_ref(), self.name.as_ref(), id];
            self.title = names.into_iter().flatten().next().cloned();
        }
    }
}

/// Reads a document that a [`Formatter`](crate::Formatter) wrote.
///
/// XML and JSON are always read correctly. In Markdown and plain text the caller's own texts
/// (header, footer and separator) are not marked as such. Blocks are found whatever *blocks*
/// contain, but a header that looks like a block is read as one; and if there is no block, notice
/// or source, a footer is read as part of the header.
///
/// O(n) in the length of `text`.
///
/// # Errors
/// [`ParseError::Malformed`] and [`ParseError::Unexpected`] for XML and JSON;
/// [`ParseError::Unclosed`] for Markdown and plain text, where nothing else is malformed.
pub fn parse(format: Format, text: &str) -> Result<Parsed, ParseError> {
    match format {
        Format::Markdown => lines::parse(lines::Dialect::Markdown, text),
        Format::Plain => lines::parse(lines::Dialect::Plain, text),
        Format::Xml => xml::parse(text),
        Format::Json => json::parse(text),
    }
}

/// Reads a document whose blocks are known: there are `count` of them, and `is_block` decides
/// whether a candidate is the next one. In Markdown and plain text, everything else that looks like
/// a block is then the caller's own text, and so is everything that looks like a notice or a list
/// of sources before the last block. If a block could take its title from an earlier heading, but
/// `is_block` accepts it only without, the title is left out. XML and JSON mark the caller's texts:
/// they are read by [`parse`], and `is_block` is not called.
///
/// Returns fewer than `count` blocks if the others are not found. O(n) in the length of `text`,
/// plus the time of `is_block`; of refused candidates, at most sixteen times that length is read.
///
/// # Errors
/// Those of [`parse`] for XML and JSON; none for Markdown and plain text.
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
