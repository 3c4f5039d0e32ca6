//! JSON: one object, with one line per chunk.

use std::borrow::Cow;
use std::io;

use ctx_model::{Format, GroupBy, Relation, RenditionKind};
use serde::{Serialize, Serializer};

use crate::neutral::{Slot, neutralise};
use crate::{Block, FormatOptions, Formatter, Group, Notice, fields};

#[derive(Debug)]
pub(crate) struct Json {
    options: FormatOptions,
}

impl Json {
    pub(crate) fn new(options: FormatOptions) -> Self {
        Json { options }
    }

    fn object<'b>(&self, block: &Block<'b>) -> Object<'b> {
        let Block { path, name, .. } = *block;
        let span = block.span.filter(|_| self.options.line_numbers);
        let is_nameless = path.is_none() && name.is_none();
        Object {
            file: path.map(Line),
            name: name.filter(|_| path.is_none()).map(Line),
            id: is_nameless.then_some(Line(block.id)),
            content: Some(Text(block.body)),
            start_line: span.map(ctx_model::LineSpan::start),
            end_line: span.map(ctx_model::LineSpan::end),
            language: fields::language(block),
            relevance: self.options.scores.then_some(block.relevance.get()),
            ..Object::default()
        }
    }
}

/// One chunk. The fields are in the order of the keys.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<'b> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Line<'b>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Line<'b>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Line<'b>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Line<'b>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<ctx_model::Category>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'b str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Text<'b>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    imports: Vec<Line<'b>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relations: Vec<RelationObject<'b>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<RenditionKind>,
    /// `None` if the text is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Text<'b>>,
}

#[derive(Serialize)]
struct RelationObject<'b> {
    kind: Line<'b>,
    target: Line<'b>,
}

/// A string that is neutralised as it is written.
#[derive(Clone, Copy, Default)]
struct Text<'b>(&'b str);

/// The same on one line.
#[derive(Clone, Copy)]
struct Line<'b>(&'b str);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&neutralise(self.0, Slot::Text))
    }
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&neutralise(self.0, Slot::Line))
    }
}

impl Formatter for Json {
    fn format(&self) -> Format {
        Format::Json
    }

    fn group_of<'b>(&self, block: &Block<'b>) -> Option<Group<'b>> {
        Group::of(block, self.options.group_by)
    }

    fn fragment(&self, block: &Block<'_>, out: &mut String) {
        push_json(out, &self.object(block));
    }

    fn open(&self, header: Option<&str>, out: &mut String) {
        out.push_str("{\n");
        if let Some(header) = header.filter(|text| !text.trim().is_empty()) {
            out.push_str("\"header\":");
            push_json(out, &Text(header));
            out.push_str(",\n");
        }
        out.push_str("\"chunks\":[\n");
    }

    fn block(&self, block: &Block<'_>, out: &mut String) {
        let mut object = self.object(block);
        if self.options.states_id() {
            object.id = Some(Line(block.id));
        }
        if self.options.metadata {
            object.kind = Some(Line(block.kind.as_str()));
            object.name = block.name.map(Line);
        }
        if self.options.group_by == GroupBy::Kind {
            object.group = Some(block.kind.category());
        }
        object.summary = block.summary.filter(|text| !text.is_empty()).map(Text);
        if self.options.imports {
            object.imports = block.imports.iter().map(|import| Line(import)).collect();
        }
        if self.options.relations {
            object.relations = block.relations.iter().map(relation_object).collect();
        }
        object.content = object.content.filter(|text| !text.0.is_empty());
        object.shown = Some(block.rendition).filter(|kind| *kind != RenditionKind::Full);
        push_json(out, &object);
        out.push('\n');
    }

    fn separator(&self, out: &mut String) {
        out.push_str(",\n");
    }

    fn close_chunks(&self, out: &mut String) {
        out.push_str("]\n");
    }

    fn open_sources(&self, out: &mut String) {
        out.push_str(",\"sources\":[\n");
    }

    fn source(&self, block: &Block<'_>, out: &mut String) {
        push_json(out, &Line(&block.source(self.options.states_id())));
        out.push('\n');
    }

    fn source_separator(&self, out: &mut String) {
        out.push_str(",\n");
    }

    fn close_sources(&self, out: &mut String) {
        out.push_str("]\n");
    }

    fn notice(&self, notice: &Notice, out: &mut String) {
        out.push_str(",\"notice\":");
        push_json(out, &Cow::from(fields::notice_line(notice)));
        out.push('\n');
    }

    fn close(&self, footer: Option<&str>, out: &mut String) {
        if let Some(footer) = footer.filter(|text| !text.trim().is_empty()) {
            out.push_str(",\"footer\":");
            push_json(out, &Text(footer));
            out.push('\n');
        }
        out.push_str("}\n");
    }
}

fn relation_object(relation: &Relation) -> RelationObject<'_> {
    RelationObject {
        kind: Line(&relation.kind),
        target: Line(&relation.target),
    }
}

fn push_json(out: &mut String, value: &impl Serialize) {
    serde_json::to_writer(Utf8(out), value)
        .expect("strings, numbers and structs of them are JSON, and a string takes any of it");
}

/// Lets a serializer of text write into a string, without a buffer between.
struct Utf8<'o>(&'o mut String);

impl io::Write for Utf8<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(bytes).map_err(io::Error::other)?;
        self.0.push_str(text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
