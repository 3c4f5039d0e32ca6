//! Reads XML back with `quick-xml`.

use std::borrow::Cow;

use ctx_model::{Category, Format};
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::{Parsed, ParsedBlock, category_of_title};
use crate::{Notice, ParseError, fields};

pub(super) fn parse(text: &str) -> Result<Parsed, ParseError> {
    let mut document = Document {
        reader: Reader::from_str(text),
        parsed: Parsed::default(),
    };
    document.prologue()?;
    document.context()?;
    Ok(document.parsed)
}

struct Document<'t> {
    reader: Reader<&'t [u8]>,
    parsed: Parsed,
}

impl<'t> Document<'t> {
    fn next(&mut self) -> Result<Event<'t>, ParseError> {
        self.reader.read_event().map_err(malformed)
    }

    fn unexpected(&self, found: &Event<'_>, expected: &'static str) -> ParseError {
        let found = match found {
            Event::Start(tag) | Event::Empty(tag) => format!("<{}>", short(tag.name().as_ref())),
            Event::End(tag) => format!("</{}>", short(tag.name().as_ref())),
            Event::Eof => "the end".to_owned(),
            other => short(other),
        };
        ParseError::Unexpected {
            found,
            expected,
            offset: usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX),
        }
    }

    fn prologue(&mut self) -> Result<(), ParseError> {
        match self.next()? {
            Event::Start(tag) if tag.name().as_ref() == "context" => Ok(()),
            other => Err(self.unexpected(&other, "<context>")),
        }
    }

    /// Reads everything inside the root. Text between elements is the caller's separator.
    fn context(&mut self) -> Result<(), ParseError> {
        let mut group: Option<Category> = None;
        loop {
            match self.next()? {
                Event::Start(tag) => self.element(&tag, &mut group)?,
                Event::Empty(tag) if tag.name().as_ref() == "code-context" => {
                    self.push(&tag, group, String::new())?;
                }
                Event::End(tag) if tag.name().as_ref() == "section" => group = None,
                // The reader checks that an end tag matches its start tag.
                Event::End(_) => return self.epilogue(),
                Event::Text(_) | Event::GeneralRef(_) => {}
                other => return Err(self.unexpected(&other, "an element of <context>")),
            }
        }
    }

    fn element(
        &mut self,
        tag: &BytesStart<'_>,
        group: &mut Option<Category>,
    ) -> Result<(), ParseError> {
        match tag.name().as_ref() {
            "section" if group.is_none() => {
                let name = attributes(tag)
                    .find(|(name, _)| name == "name")
                    .map(|(_, value)| value)
                    .transpose()?;
                *group = name.as_deref().and_then(category_of_title);
                if group.is_none() {
                    return Err(self.unexpected(&Event::Start(tag.borrow()), "a known section"));
                }
            }
            "code-context" => {
                let body = framed(self.text()?);
                self.push(tag, *group, body)?;
            }
            "header" => self.parsed.header = Some(framed(self.text()?)),
            "footer" => self.parsed.footer = Some(framed(self.text()?)),
            "notice" => {
                let line = self.text()?;
                self.parsed.notice = Some(notice(&line)?);
            }
            "sources" => self.sources()?,
            _ => return Err(self.unexpected(&Event::Start(tag.borrow()), "a known element")),
        }
        Ok(())
    }

    fn push(
        &mut self,
        tag: &BytesStart<'_>,
        group: Option<Category>,
        body: String,
    ) -> Result<(), ParseError> {
        let block = block(tag)?;
        self.parsed.blocks.push(ParsedBlock {
            group,
            body,
            ..block
        });
        Ok(())
    }

    fn sources(&mut self) -> Result<(), ParseError> {
        loop {
            match self.next()? {
                Event::Start(tag) if tag.name().as_ref() == "source" => {
                    let label = self.text()?;
                    self.parsed.sources.push(label);
                }
                Event::End(_) => return Ok(()),
                Event::Text(_) => {}
                other => return Err(self.unexpected(&other, "<source>")),
            }
        }
    }

    /// Reads the text of an element that contains nothing else, including its end tag.
    fn text(&mut self) -> Result<String, ParseError> {
        let mut text = String::new();
        loop {
            match self.next()? {
                Event::Text(piece) => text.push_str(&piece.xml10_content()),
                Event::CData(piece) => text.push_str(&piece.xml10_content()),
                Event::GeneralRef(reference) => push_resolved(&mut text, &reference)?,
                Event::End(_) => return Ok(text),
                other => return Err(self.unexpected(&other, "text")),
            }
        }
    }

    fn epilogue(&mut self) -> Result<(), ParseError> {
        loop {
            match self.next()? {
                Event::Eof => return Ok(()),
                Event::Text(text) if text.trim().is_empty() => {}
                other => return Err(self.unexpected(&other, "the end")),
            }
        }
    }
}

fn block(tag: &BytesStart<'_>) -> Result<ParsedBlock, ParseError> {
    let mut block = ParsedBlock::default();
    for (name, value) in attributes(tag) {
        let value = value?;
        match name.as_ref() {
            "file" => block.path = Some(value),
            "name" => block.name = Some(value),
            "id" => block.id = Some(value),
            "kind" => block.kind = Some(value),
            "lines" => block.span = Some(value.parse().map_err(|_| bad(&value))?),
            "language" => block.language = Some(value),
            "relevance" => block.relevance = Some(value.parse().map_err(malformed)?),
            "summary" => block.summary = Some(value),
            "imports" => block.imports = fields::read_imports(&value),
            "relations" => block.relations = fields::read_relations(&value),
            "shown" => {
                block.rendition = fields::read_rendition(&value).ok_or_else(|| bad(&value))?;
            }
            _ => return Err(bad(&name)),
        }
    }
    block.settle_title();
    Ok(block)
}

/// The attributes of a tag, without the reader's check for duplicates, which is quadratic.
fn attributes<'t>(
    tag: &'t BytesStart<'_>,
) -> impl Iterator<Item = (Cow<'t, str>, Result<String, ParseError>)> {
    let mut attributes = tag.attributes();
    attributes.with_checks(false);
    attributes.map(|attribute| match attribute {
        Ok(attribute) => (name_of(&attribute), value_of(&attribute)),
        Err(error) => (Cow::Borrowed("attribute"), Err(malformed(error))),
    })
}

fn name_of<'t>(attribute: &Attribute<'t>) -> Cow<'t, str> {
    Cow::Borrowed(attribute.key.into_inner())
}

fn value_of(attribute: &Attribute<'_>) -> Result<String, ParseError> {
    let value = attribute.normalized_value(XmlVersion::Explicit1_0);
    Ok(value.map_err(malformed)?.into_owned())
}

fn push_resolved(text: &mut String, reference: &BytesRef<'_>) -> Result<(), ParseError> {
    if let Some(c) = reference.resolve_char_ref().map_err(malformed)? {
        text.push(c);
    } else {
        text.push_str(resolve_predefined_entity(reference).ok_or_else(|| bad(reference))?);
    }
    Ok(())
}

/// The text without the newline after the start tag and the one before the end tag.
fn framed(text: String) -> String {
    match text.strip_prefix('\n') {
        Some(inner) => inner.strip_suffix('\n').unwrap_or(inner).to_owned(),
        None => text,
    }
}

fn notice(line: &str) -> Result<Notice, ParseError> {
    fields::read_notice(line).ok_or_else(|| bad(line))
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn bad(value: &str) -> ParseError {
    malformed(format!("{:?} has no meaning here", short(value)))
}

fn malformed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ParseError {
    ParseError::Malformed {
        format: Format::Xml,
        source: source.into(),
    }
}
