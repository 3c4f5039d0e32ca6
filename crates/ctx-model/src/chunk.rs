//! The input of an assembly: a search hit, a file, a message, an explicit reference.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::rendition::RenditionWire;
use crate::{ChunkKind, LineSpan, ModelError, Relevance, Rendition, widened};

/// Where a chunk came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The user named it.
    Reference,
    /// A file that was found.
    File,
    /// A part of a file that was found.
    #[default]
    Chunk,
    /// A message of the thread.
    Message,
}

impl Origin {
    /// All origins.
    pub const ALL: [Origin; 4] = [
        Origin::Reference,
        Origin::File,
        Origin::Chunk,
        Origin::Message,
    ];

    /// The word that the labels of such sources begin with, as `fil-9f2a1c` does.
    ///
    /// ```
    /// assert_eq!(ctx_model::Origin::File.label_prefix(), "fil");
    /// ```
    pub const fn label_prefix(self) -> &'static str {
        match self {
            Origin::Reference => "ref",
            Origin::File => "fil",
            Origin::Chunk => "chu",
            Origin::Message => "mes",
        }
    }

    /// The origin whose labels begin with `word`.
    pub fn of_label_prefix(word: &str) -> Option<Origin> {
        let mut all = Origin::ALL.into_iter();
        all.find(|it| it.label_prefix() == word)
    }
}

/// How a chunk relates to something else: `kind` is the verb, `target` the other end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Relation {
    /// The verb: `calls`, `imports`, `extends`, …
    pub kind: String,
    /// The other end, by name or id.
    pub target: String,
}

/// A piece of text that may be put before a model. On the wire only `id`, `content` and `relevance`
/// are required.
///
/// ```
/// use ctx_model::{Chunk, Relevance};
///
/// let chunk = Chunk::new("a", "fn main() {}", Relevance::ONE)
///     .with_path("src/main.rs")
///     .with_summary("The entry point.")
///     .with_imports(vec!["std::env".to_owned()]);
/// assert_eq!(chunk.title(), "src/main.rs");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedChunk", into = "UncheckedChunk")]
#[non_exhaustive]
pub struct Chunk {
    /// Its name among the chunks of one request: unique, not empty.
    pub id: String,
    /// What it is.
    pub kind: ChunkKind,
    /// Where it came from.
    pub origin: Origin,
    /// A short name, such as a symbol or a title. An empty one counts as none.
    pub name: Option<String>,
    /// The name with its enclosing scopes. An empty one counts as none.
    pub qualified_name: Option<String>,
    /// The file it is in, as the reader should see it.
    pub path: Option<String>,
    /// The lines of that file that [`content`](Chunk::content) holds.
    pub span: Option<LineSpan>,
    /// The language of its text.
    pub language: Option<String>,
    /// Its text.
    pub content: String,
    /// A wider text to show instead of `content`; an empty one counts as none. Its line numbers are
    /// known only if the lines of `content` occur in it exactly once.
    pub expanded_context: Option<String>,
    /// A shorter text to show beside or instead of `content`.
    pub summary: Option<String>,
    /// How much it matters.
    pub relevance: Relevance,
    /// A hash of the source this chunk was taken from. Chunks of one path are merged only if their
    /// hashes are equal or both absent; where they differ, a hash that is the BLAKE3 of its own
    /// chunk's lines counts as absent. If `content` is empty, the hash is compared with the file:
    /// then it must be 64 hexadecimal digits of BLAKE3 over the lines (with or without the last
    /// line ending) or over the whole text of the file in UTF-8. A value of any other form is
    /// ignored. For a file with masked secrets, only a hash of the masked text or lines is
    /// compared; any other is a warning `unverified`, and the chunk is shown.
    pub content_hash: Option<String>,
    /// What the file imports, one entry each.
    pub imports: Vec<String>,
    /// What it relates to.
    pub relations: Vec<Relation>,
    /// When it was made: milliseconds since 1970-01-01T00:00:00Z.
    pub created_at: Option<i64>,
    /// The words of the question that it matched. Shared, since all hits of a question may have the
    /// same.
    pub matched_keywords: Arc<[String]>,
    /// Whether it must appear, in some rendition.
    pub pinned: bool,
    /// Other ways to show it, beside its full text.
    pub renditions: Vec<Rendition>,
}

impl Chunk {
    /// Makes a chunk of the three required fields. Its kind is `text`, and it belongs to no file
    /// until a path is set.
    pub fn new(id: impl Into<String>, content: impl Into<String>, relevance: Relevance) -> Self {
        Chunk {
            id: id.into(),
            kind: ChunkKind::Other("text".to_owned()),
            origin: Origin::default(),
            name: None,
            qualified_name: None,
            path: None,
            span: None,
            language: None,
            content: content.into(),
            expanded_context: None,
            summary: None,
            relevance,
            content_hash: None,
            imports: Vec::new(),
            relations: Vec::new(),
            created_at: None,
            matched_keywords: Arc::default(),
            pinned: false,
            renditions: Vec::new(),
        }
    }

    /// Sets the kind.
    #[must_use]
    pub fn with_kind(mut self, kind: ChunkKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the origin.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Sets the name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the path. A chunk whose kind is `text` becomes a [`ChunkKind::File`]; to make it `text`
    /// all the same, set the kind after the path.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        if matches!(&self.kind, ChunkKind::Other(word) if word == "text") {
            self.kind = ChunkKind::File;
        }
        self
    }

    /// Sets the lines of the file that the content holds.
    #[must_use]
    pub fn with_span(mut self, span: LineSpan) -> Self {
        self.span = Some(span);
        self
    }

    /// Sets the name with its enclosing scopes.
    #[must_use]
    pub fn with_qualified_name(mut self, qualified_name: impl Into<String>) -> Self {
        self.qualified_name = Some(qualified_name.into());
        self
    }

    /// Sets a wider text to show instead of the content.
    #[must_use]
    pub fn with_expanded_context(mut self, expanded_context: impl Into<String>) -> Self {
        self.expanded_context = Some(expanded_context.into());
        self
    }

    /// Sets a shorter text to show beside or instead of the content.
    #[must_use]
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Sets the hash of the source that it was taken from.
    #[must_use]
    pub fn with_content_hash(mut self, content_hash: impl Into<String>) -> Self {
        self.content_hash = Some(content_hash.into());
        self
    }

    /// Sets what the file imports.
    #[must_use]
    pub fn with_imports(mut self, imports: Vec<String>) -> Self {
        self.imports = imports;
        self
    }

    /// Sets what it relates to.
    #[must_use]
    pub fn with_relations(mut self, relations: Vec<Relation>) -> Self {
        self.relations = relations;
        self
    }

    /// Sets when it was made, in milliseconds since 1970.
    #[must_use]
    pub fn with_created_at(mut self, created_at: i64) -> Self {
        self.created_at = Some(created_at);
        self
    }

    /// Sets the words of the question that it matched.
    #[must_use]
    pub fn with_matched_keywords(mut self, matched_keywords: impl Into<Arc<[String]>>) -> Self {
        self.matched_keywords = matched_keywords.into();
        self
    }

    /// Sets the language.
    #[must_use]
    pub fn with_language(mut self, language: impl Into<String>) -> Self {
        self.language = Some(language.into());
        self
    }

    /// Pins the chunk: it must appear, in some rendition.
    #[must_use]
    pub fn with_pin(mut self) -> Self {
        self.pinned = true;
        self
    }

    /// Adds other ways to show it.
    #[must_use]
    pub fn with_renditions(mut self, renditions: Vec<Rendition>) -> Self {
        self.renditions = renditions;
        self
    }

    /// The text to show in full: the expanded context if there is one, else the content.
    pub fn full_text(&self) -> &str {
        self.wider_text().unwrap_or(&self.content)
    }

    /// The expanded context, unless it is absent or empty.
    pub fn wider_text(&self) -> Option<&str> {
        filled(self.expanded_context.as_ref())
    }

    /// The name, unless it is absent or empty.
    pub fn short_name(&self) -> Option<&str> {
        filled(self.name.as_ref())
    }

    /// The name to look it up by among all symbols: its qualified name, else its name.
    pub fn symbol(&self) -> Option<&str> {
        filled(self.qualified_name.as_ref()).or_else(|| self.short_name())
    }

    /// The lines of the file that [`full_text`](Chunk::full_text) holds: the span, widened by the
    /// lines that the expanded context has around the content. `None` if they cannot be determined:
    /// see [`widened`]. O(bytes) with expanded context.
    pub fn full_span(&self) -> Option<LineSpan> {
        match self.wider_text() {
            Some(wider) => widened(self.span?, &self.content, wider),
            None => self.span,
        }
    }

    /// The name shown to readers: its path, else its name, else its id.
    pub fn title(&self) -> &str {
        self.path
            .as_deref()
            .or_else(|| self.short_name())
            .unwrap_or(&self.id)
    }

    /// Checks the rules that field types do not enforce.
    ///
    /// # Errors
    /// [`ModelError::EmptyId`]; [`ModelError::InChunk`] with [`ModelError::EmptyPath`].
    pub fn check(&self) -> Result<(), ModelError> {
        if self.id.is_empty() {
            return Err(ModelError::EmptyId);
        }
        if self.path.as_deref() == Some("") {
            return Err(ModelError::EmptyPath.in_chunk(&self.id));
        }
        Ok(())
    }
}

/// The text, unless it is empty: many clients write an empty one for none.
fn filled(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

/// A chunk as it is written on the wire: flat, every field but three optional. Its values are not
/// checked. To learn which field is at fault, read this first and convert it to a [`Chunk`] by
/// `try_from`, which returns a [`ModelError`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a chunk, an object with `id`, `content` and `relevance`"
)]
pub struct UncheckedChunk {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<ChunkKind>,
    #[serde(default)]
    origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    qualified_name: Option<String>,
    #[serde(default, rename = "filePath", skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expanded_context: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    // Read as a plain number, so that a value out of range can be reported with the chunk's id.
    relevance: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    imports: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    relations: Vec<Relation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    matched_keywords: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    renditions: Vec<RenditionWire>,
}

impl TryFrom<UncheckedChunk> for Chunk {
    type Error = ModelError;

    fn try_from(wire: UncheckedChunk) -> Result<Self, ModelError> {
        let relevance = Relevance::new(wire.relevance).map_err(|e| e.in_chunk(&wire.id))?;
        let span = span_of(wire.start_line, wire.end_line).map_err(|e| e.in_chunk(&wire.id))?;
        let renditions = checked(wire.renditions).map_err(|e| e.in_chunk(&wire.id))?;
        let kind = wire.kind.unwrap_or_else(|| match wire.path {
            Some(_) => ChunkKind::File,
            None => ChunkKind::Other("text".to_owned()),
        });
        let chunk = Chunk {
            id: wire.id,
            kind,
            origin: wire.origin,
            name: wire.name,
            qualified_name: wire.qualified_name,
            path: wire.path,
            span,
            language: wire.language,
            content: wire.content,
            expanded_context: wire.expanded_context,
            summary: wire.summary,
            relevance,
            content_hash: wire.content_hash,
            imports: wire.imports,
            relations: wire.relations,
            created_at: wire.created_at,
            matched_keywords: wire.matched_keywords.into(),
            pinned: wire.pinned,
            renditions,
        };
        chunk.check()?;
        Ok(chunk)
    }
}

impl From<Chunk> for UncheckedChunk {
    fn from(chunk: Chunk) -> Self {
        UncheckedChunk {
            id: chunk.id,
            kind: Some(chunk.kind),
            origin: chunk.origin,
            name: chunk.name,
            qualified_name: chunk.qualified_name,
            path: chunk.path,
            start_line: chunk.span.map(LineSpan::start),
            end_line: chunk.span.map(LineSpan::end),
            language: chunk.language,
            content: chunk.content,
            expanded_context: chunk.expanded_context,
            summary: chunk.summary,
            relevance: chunk.relevance.get(),
            content_hash: chunk.content_hash,
            imports: chunk.imports,
            relations: chunk.relations,
            created_at: chunk.created_at,
            matched_keywords: chunk.matched_keywords.to_vec(),
            pinned: chunk.pinned,
            renditions: chunk.renditions.into_iter().map(Into::into).collect(),
        }
    }
}

fn checked(renditions: Vec<RenditionWire>) -> Result<Vec<Rendition>, ModelError> {
    let count = renditions.len();
    let checked = renditions.into_iter().zip(1..).map(|(wire, number)| {
        Rendition::try_from(wire).map_err(|why| ModelError::InRendition {
            number,
            count,
            why: Box::new(why),
        })
    });
    checked.collect()
}

/// Makes a span of its two ends on the wire. A lone end is refused.
pub(crate) fn span_of(
    start: Option<u32>,
    end: Option<u32>,
) -> Result<Option<LineSpan>, ModelError> {
    match (start, end) {
        (None, None) => Ok(None),
        (Some(start), Some(end)) => LineSpan::new(start, end).map(Some),
        (Some(_), None) => Err(ModelError::HalfSpan {
            given: "startLine",
            missing: "endLine",
        }),
        (None, Some(_)) => Err(ModelError::HalfSpan {
            given: "endLine",
            missing: "startLine",
        }),
    }
}
