//! XML: one well-formed document with a `<context>` root.
//!
//! Written by hand and not with `quick-xml`: the pieces of a document are written one by one,
//! without a writer that nests them; text is copied from the chunk to the output without an event
//! or buffer in between; and escapes differ by slot. Reading back uses `quick-xml`.

use std::fmt::Write as _;

use ctx_model::{Format, RenditionKind, XmlContent};

use crate::neutral::{self, Slot};
use crate::separator::Separator;
use crate::{Block, FormatOptions, Formatter, Group, Notice, fields};

/// Where a block is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Fragment,
    Document,
}

#[derive(Debug)]
pub(crate) struct Xml {
    options: FormatOptions,
    separator: Separator,
}

impl Xml {
    pub(crate) fn new(options: FormatOptions) -> Self {
        let mut separator = Separator::new(options.separator.as_deref().unwrap_or_default());
        if separator.tail.is_empty() {
            separator.tail.push('\n');
        }
        // Both parts are text of the document. White space needs no escape, except `\r`.
        for part in [&mut separator.tail, &mut separator.piece] {
            let mut escaped = String::new();
            push_escaped(&mut escaped, part, Escapes::Text);
            *part = escaped;
        }
        Xml { options, separator }
    }

    /// Writes the attributes of a block: in a document also those that the options add to those of
    /// a fragment.
    fn push_attributes(&self, out: &mut String, block: &Block<'_>, within: Within, e: Escapes) {
        let is_in_document = within == Within::Document;
        let metadata = is_in_document && self.options.metadata;
        let states_id = is_in_document && self.options.states_id();
        let Block { path, name, .. } = *block;
        let mut attribute = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                push_attribute(out, name, value, e);
            }
        };
        attribute("file", path);
        attribute("name", name.filter(|_| metadata || path.is_none()));
        let is_nameless = path.is_none() && name.is_none();
        attribute("id", (states_id || is_nameless).then_some(block.id));
        attribute("kind", metadata.then_some(block.kind.as_str()));
        if let Some(span) = block.span.filter(|_| self.options.line_numbers) {
            attribute("lines", Some(&span.to_string()));
        }
        attribute("language", fields::language(block));
        if self.options.scores {
            let relevance = fields::percent(block.relevance.get()) / 100.0;
            attribute("relevance", Some(&format!("{relevance:.2}")));
        }
    }

    fn push_extra(&self, out: &mut String, block: &Block<'_>) {
        let mut attribute = |name: &str, value: &str| {
            push_attribute(out, name, value, Escapes::Attribute);
        };
        if let Some(summary) = block.summary.map(fields::folded).filter(|s| !s.is_empty()) {
            attribute("summary", &summary);
        }
        if self.options.imports && !block.imports.is_empty() {
            attribute("imports", &fields::imports_line(block));
        }
        if self.options.relations && !block.relations.is_empty() {
            attribute("relations", &fields::relations_line(block));
        }
        if block.rendition != RenditionKind::Full {
            attribute("shown", block.rendition.as_str());
        }
    }
}

impl Formatter for Xml {
    fn format(&self) -> Format {
        Format::Xml
    }

    fn group_of<'b>(&self, block: &Block<'b>) -> Option<Group<'b>> {
        Group::of(block, self.options.group_by)
    }

    fn fragment(&self, block: &Block<'_>, out: &mut String) {
        out.push_str("<code-context");
        self.push_attributes(out, block, Within::Fragment, Escapes::All);
        out.push_str(">\n");
        match self.options.xml_content {
            XmlContent::Escaped => push_text(out, block.body, Escapes::All),
            XmlContent::Cdata => push_cdata(out, block.body),
        }
        out.push_str("\n</code-context>");
    }

    fn open(&self, header: Option<&str>, out: &mut String) {
        out.push_str("<context>\n");
        push_element(out, "header", header);
    }

    fn open_group(&self, group: &Group<'_>, out: &mut String) {
        if let Group::Category(category) = group {
            let _ = writeln!(out, "<section name=\"{}\">", category.title());
        }
    }

    fn block(&self, block: &Block<'_>, out: &mut String) {
        out.push_str("<code-context");
        self.push_attributes(out, block, Within::Document, Escapes::Attribute);
        self.push_extra(out, block);
        if block.body.is_empty() {
            out.push_str("/>");
        } else {
            out.push_str(">\n");
            match self.options.xml_content {
                XmlContent::Escaped => push_text(out, block.body, Escapes::Text),
                XmlContent::Cdata => push_cdata(out, block.body),
            }
            out.push_str("\n</code-context>");
        }
        out.push_str(&self.separator.tail);
    }

    fn separator(&self, out: &mut String) {
        out.push_str(&self.separator.piece);
    }

    fn close_group(&self, group: &Group<'_>, out: &mut String) {
        if let Group::Category(_) = group {
            out.push_str("</section>\n");
        }
    }

    fn open_sources(&self, out: &mut String) {
        out.push_str("<sources>\n");
    }

    fn source(&self, block: &Block<'_>, out: &mut String) {
        out.push_str("<source>");
        let label =
            neutral::neutralise(&block.source(self.options.states_id()), Slot::Line).into_owned();
        push_escaped(out, &label, Escapes::Text);
        out.push_str("</source>\n");
    }

    fn close_sources(&self, out: &mut String) {
        out.push_str("</sources>\n");
    }

    fn notice(&self, notice: &Notice, out: &mut String) {
        let line = fields::notice_line(notice);
        let _ = writeln!(out, "<notice>{line}</notice>");
    }

    fn close(&self, footer: Option<&str>, out: &mut String) {
        push_element(out, "footer", footer);
        out.push_str("</context>\n");
    }
}

/// The characters that are written as references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escapes {
    /// Text between tags: `&`, `<`, and `>` because of `]]>`. Takes fewer tokens than
    /// [`Escapes::All`].
    Text,
    /// Attributes in double quotes: `&`, `<`, `>` and `"`. Tabs and line ends, which a parser would
    /// turn into spaces, have been replaced already, since an attribute is a [`Slot::Line`].
    Attribute,
    /// The five characters that .NET's `SecurityElement.Escape` replaces: `&`, `<`, `>`, `"` and
    /// `'`.
    All,
}

impl Escapes {
    /// The reference for `byte`, if it needs one. A carriage return always does, since a parser
    /// would drop it (XML 1.0, section 2.11).
    fn reference(self, byte: u8) -> Option<&'static str> {
        match byte {
            b'&' => Some("&amp;"),
            b'<' => Some("&lt;"),
            b'>' => Some("&gt;"),
            b'\r' => Some("&#13;"),
            b'"' if self != Escapes::Text => Some("&quot;"),
            b'\'' if self == Escapes::All => Some("&apos;"),
            _ => None,
        }
    }
}

fn push_element(out: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        let _ = writeln!(out, "<{name}>");
        push_text(out, text, Escapes::Text);
        let _ = writeln!(out, "\n</{name}>");
    }
}

fn push_attribute(out: &mut String, name: &str, value: &str, escapes: Escapes) {
    let _ = write!(out, " {name}=\"");
    neutral::each_piece(value, Slot::Line, |piece| {
        push_escaped(out, piece, escapes);
    });
    out.push('"');
}

fn push_text(out: &mut String, text: &str, escapes: Escapes) {
    out.reserve(text.len() + text.len() / 16);
    neutral::each_piece(text, Slot::Text, |piece| push_escaped(out, piece, escapes));
}

fn push_escaped(out: &mut String, text: &str, escapes: Escapes) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if let Some(reference) = escapes.reference(byte) {
            out.push_str(&text[from..at]);
            out.push_str(reference);
            from = at + 1;
        }
    }
    out.push_str(&text[from..]);
}

/// Writes a CDATA section. It is closed and reopened at each `]]>` in the text, and around
/// characters that a section cannot contain.
fn push_cdata(out: &mut String, text: &str) {
    out.reserve(text.len() + 24);
    out.push_str("<![CDATA[");
    // A `]]>` can only span two pieces if a character between them was replaced, and then it is not
    // one.
    neutral::each_piece(text, Slot::Text, |piece| {
        let mut from = 0;
        for (at, found) in piece.match_indices(['>', '\r']) {
            if found == "\r" {
                out.push_str(&piece[from..at]);
                out.push_str("]]>&#13;<![CDATA[");
                from = at + 1;
            } else if piece[..at].ends_with("]]") {
                out.push_str(&piece[from..at]);
                out.push_str("]]><![CDATA[");
                from = at;
            }
        }
        out.push_str(&piece[from..]);
    });
    out.push_str("]]>");
}
