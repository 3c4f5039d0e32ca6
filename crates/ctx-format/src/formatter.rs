//! The contract of a formatter: a document is a sequence of pieces, each of which can be priced
//! alone.

use std::fmt::Debug;
use std::sync::Arc;

use ctx_model::Format;

use crate::check::{self, OwnText, joins_safely};
use crate::fields::{self, Inline};
use crate::plain::{self, Plain};
use crate::{Block, FormatError, FormatOptions, Group, Notice};
use crate::{json::Json, markdown::Markdown, xml::Xml};

/// Writes documents in one format. Every method appends one *piece* to `out`. In order, the pieces
/// are
///
/// ```text
/// open
///   (open_group  block (separator block)*  close_group)*
/// close_chunks
///   [open_sources  source (source_separator source)*  close_sources]
///   [notice]
/// close
/// ```
///
/// where `separator` also comes between the last block of a group and the first of the next one:
/// after the block, before `close_group`. [`DocumentWriter`](crate::DocumentWriter) keeps that
/// order.
///
/// **Prices add up.** A piece depends only on its arguments and the formatter's options. It is
/// empty, or it ends in a newline and begins with neither a blank line nor `/`. So a byte-pair
/// tokenizer never joins the end of one piece to the start of the next, and the tokens of the
/// document are the sum of the tokens of its pieces. Only a separator or footer of the caller that
/// begins with `/` can break the rule: see [`joins_safely`](Formatter::joins_safely).
///
/// **No text leaves its place.** Whatever comes from a block is neutralised
/// ([`neutralise`](crate::neutralise)) and escaped, so that it cannot be taken for a piece.
///
/// Implementors write [`block`](Formatter::block). What they do not write is as in plain text: the
/// caller's own text, one line for each source and the notice, and nothing elsewhere.
///
/// ```
/// use ctx_format::{Block, DocumentWriter, Formatter, Slot, neutralise};
/// use ctx_model::{Chunk, Relevance};
///
/// /// The lines of each chunk, behind bars.
/// #[derive(Debug)]
/// struct Bars;
///
/// impl Formatter for Bars {
///     fn block(&self, block: &Block<'_>, out: &mut String) {
///         for line in neutralise(block.body, Slot::Text).lines() {
///             out.extend(["| ", line, "\n"]);
///         }
///     }
/// }
///
/// # fn main() -> Result<(), ctx_format::FormatError> {
/// let chunk = Chunk::new("a", "one\ntwo", Relevance::ONE);
/// let mut text = String::new();
/// let mut document = DocumentWriter::new(&Bars, &mut text);
/// document.block(&Block::full(&chunk));
/// document.finish(Some("End"))?;
/// assert_eq!(text, "| one\n| two\nEnd\n");
/// # Ok(())
/// # }
/// ```
///
/// `ctx_testkit::laws::formatter` has property tests of these laws, but for the escapes, which only
/// a reader of the format can judge. A formatter of your own
/// that keeps them can be given to `ctx_assemble::assemble_with`.
///
/// Each method takes time linear in the size of its arguments.
pub trait Formatter: Debug + Send + Sync {
    /// The format it writes; [`Format::Plain`] unless overridden. A formatter of another format
    /// names the one whose rules for the caller's header and footer
    /// ([`check_text`](crate::check_text)) it shares: usually [`Format::Plain`], which has none.
    fn format(&self) -> Format {
        Format::Plain
    }

    /// The group that the options assign to `block`, unless the writer of the document chooses it
    /// ([`DocumentWriter::group_by`](crate::DocumentWriter::group_by)), as an assembly does. If it
    /// is that of a file, the block need not repeat the path: the group is opened before it in any
    /// case, within the one that the writer chose if that is another
    /// ([`file_within`](crate::file_within)). None unless overridden; then a block shows its path
    /// by itself, or its group does.
    fn group_of<'b>(&self, _block: &Block<'b>) -> Option<Group<'b>> {
        None
    }

    /// Writes one block that stands alone, outside any document: without separator or group, and
    /// with only the heading, the lines, the language, the relevance and the text. As in a document
    /// unless overridden.
    fn fragment(&self, block: &Block<'_>, out: &mut String) {
        self.block(block, out);
    }

    /// Opens the document; `header` is the caller's own text before the first block.
    fn open(&self, header: Option<&str>, out: &mut String) {
        fields::push_header(out, header.unwrap_or_default());
    }

    /// Opens a group.
    fn open_group(&self, _group: &Group<'_>, _out: &mut String) {}

    /// Writes one block of a document.
    fn block(&self, block: &Block<'_>, out: &mut String);

    /// Writes the text between two blocks.
    fn separator(&self, _out: &mut String) {}

    /// Closes a group.
    fn close_group(&self, _group: &Group<'_>, _out: &mut String) {}

    /// Closes the list of blocks.
    fn close_chunks(&self, _out: &mut String) {}

    /// Opens the list of sources.
    fn open_sources(&self, out: &mut String) {
        out.push_str(plain::SOURCES);
        out.push('\n');
    }

    /// Writes one source: the file or chunk that `block` comes from.
    fn source(&self, block: &Block<'_>, out: &mut String) {
        fields::push_source(out, &block.label(), Inline::Plain);
    }

    /// Writes the text between two sources.
    fn source_separator(&self, _out: &mut String) {}

    /// Closes the list of sources.
    fn close_sources(&self, _out: &mut String) {}

    /// States in one line how much was left out. Notices whose numbers have as many digits take as
    /// many tokens: an assembly prices one of each length.
    fn notice(&self, notice: &Notice, out: &mut String) {
        out.push_str(&fields::notice_line(notice));
        out.push('\n');
    }

    /// Closes the document; `footer` is the caller's own text after the last block.
    fn close(&self, footer: Option<&str>, out: &mut String) {
        fields::push_footer(out, footer.unwrap_or_default());
    }

    /// Whether every piece keeps the rule that prices add up, in documents that end with `footer`.
    /// If not, the whole document must be counted.
    fn joins_safely(&self, footer: Option<&str>) -> bool {
        let mut piece = String::new();
        self.separator(&mut piece);
        let separator_is_safe = joins_safely(&piece);
        piece.clear();
        self.close(footer, &mut piece);
        separator_is_safe && joins_safely(&piece)
    }
}

/// Makes the formatter for `format` with `options`.
///
/// # Errors
/// [`FormatError::LongSeparator`] for a separator that is too long,
/// [`FormatError::JsonSeparator`] if JSON is given one that is not just white space, and
/// [`FormatError::LeavesOpen`] if Markdown is given one that would swallow the block after it.
pub fn formatter(
    format: Format,
    options: &FormatOptions,
) -> Result<Box<dyn Formatter>, FormatError> {
    if let Some(separator) = &options.separator {
        check::check_text(format, OwnText::Separator, separator)?;
    }
    let options = options.clone();
    Ok(match format {
        Format::Markdown => Box::new(Markdown::new(options)),
        Format::Xml => Box::new(Xml::new(options)),
        Format::Json => Box::new(Json::new(options)),
        Format::Plain => Box::new(Plain::new(options)),
    })
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<F: Formatter + ?Sized> Formatter for $pointer {
            fn format(&self) -> Format {
                (**self).format()
            }

            fn group_of<'b>(&self, block: &Block<'b>) -> Option<Group<'b>> {
                (**self).group_of(block)
            }

            fn fragment(&self, block: &Block<'_>, out: &mut String) {
                (**self).fragment(block, out);
            }

            fn open(&self, header: Option<&str>, out: &mut String) {
                (**self).open(header, out);
            }

            fn open_group(&self, group: &Group<'_>, out: &mut String) {
                (**self).open_group(group, out);
            }

            fn block(&self, block: &Block<'_>, out: &mut String) {
                (**self).block(block, out);
            }

            fn separator(&self, out: &mut String) {
                (**self).separator(out);
            }

            fn close_group(&self, group: &Group<'_>, out: &mut String) {
                (**self).close_group(group, out);
            }

            fn close_chunks(&self, out: &mut String) {
                (**self).close_chunks(out);
            }

            fn open_sources(&self, out: &mut String) {
                (**self).open_sources(out);
            }

            fn source(&self, block: &Block<'_>, out: &mut String) {
                (**self).source(block, out);
            }

            fn source_separator(&self, out: &mut String) {
                (**self).source_separator(out);
            }

            fn close_sources(&self, out: &mut String) {
                (**self).close_sources(out);
            }

            fn notice(&self, notice: &Notice, out: &mut String) {
                (**self).notice(notice, out);
            }

            fn close(&self, footer: Option<&str>, out: &mut String) {
                (**self).close(footer, out);
            }

            fn joins_safely(&self, footer: Option<&str>) -> bool {
                (**self).joins_safely(footer)
            }
        }
    )*};
}

forward!(&F, Box<F>, Arc<F>);
