//! The input of formatters: borrowed views of chunks, their groups, and the notice of omissions.

use ctx_model::{
    Category, Chunk, ChunkKind, GroupBy, LineSpan, Relation, Relevance, Rendition, RenditionKind,
};

/// One chunk in one rendition, to be shown: a borrowed view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block<'a> {
    /// The chunk's id.
    pub id: &'a str,
    /// The kind of the chunk.
    pub kind: &'a ChunkKind,
    /// The file it is in.
    pub path: Option<&'a str>,
    /// A short name.
    pub name: Option<&'a str>,
    /// The lines of the file that the body comes from.
    pub span: Option<LineSpan>,
    /// The language of the body.
    pub language: Option<&'a str>,
    /// The relevance of the chunk.
    pub relevance: Relevance,
    /// The text to show.
    pub body: &'a str,
    /// A shorter text to show beside the body.
    pub summary: Option<&'a str>,
    /// What the file imports.
    pub imports: &'a [String],
    /// What the chunk relates to, and how.
    pub relations: &'a [Relation],
    /// How much of the chunk the body shows.
    pub rendition: RenditionKind,
}

impl<'a> Block<'a> {
    /// Shows all of `chunk`: its expanded context, else its content, with its summary beside it.
    /// The lines are those of the text shown ([`Chunk::full_span`]), and absent if the content does
    /// not occur exactly once in the expanded context. O(1); O(bytes) with expanded context.
    pub fn full(chunk: &'a Chunk) -> Self {
        Block {
            id: &chunk.id,
            kind: &chunk.kind,
            path: chunk.path.as_deref(),
            name: chunk.short_name(),
            span: chunk.full_span(),
            language: chunk.language.as_deref(),
            relevance: chunk.relevance,
            body: chunk.full_text(),
            summary: chunk.summary.as_deref(),
            imports: &chunk.imports,
            relations: &chunk.relations,
            rendition: RenditionKind::Full,
        }
    }

    /// Shows `rendition` of `chunk`. A rendition that shows less than all of it has no summary, and
    /// a mention consists of its one line only.
    pub fn of(chunk: &'a Chunk, rendition: &'a Rendition) -> Self {
        let full = Block::full(chunk);
        let kind = rendition.kind();
        let (imports, relations) = match kind {
            RenditionKind::Mention => (&[][..], &[][..]),
            _ => (full.imports, full.relations),
        };
        Block {
            body: rendition.text(),
            summary: full.summary.filter(|_| kind == RenditionKind::Full),
            imports,
            relations,
            rendition: kind,
            ..full
        }
    }

    /// Shows the summary of `chunk` instead of its text, as a mention; the body is empty if there
    /// is no summary. The lines are those of the content, which the summary describes.
    pub fn summary_only(chunk: &'a Chunk) -> Self {
        let full = Block::full(chunk);
        let body = chunk.summary.as_deref().unwrap_or_default();
        let rendition = if body.is_empty() {
            // A full rendition with an empty body states more clearly that nothing is shown.
            full.rendition
        } else {
            RenditionKind::Mention
        };
        Block {
            body,
            span: chunk.span,
            summary: None,
            rendition,
            ..full
        }
    }

    /// The name shown to readers: its path, else its name, else its id.
    pub fn title(&self) -> &'a str {
        self.path.or(self.name).unwrap_or(self.id)
    }

    /// Its name in the list of sources: `name (path:line)`, or the parts of that which it has.
    pub fn label(&self) -> String {
        let place = self.path.map(|path| match self.span {
            Some(span) => format!("{path}:{}", span.start()),
            None => path.to_owned(),
        });
        match (self.name, place) {
            (Some(name), Some(place)) => format!("{name} ({place})"),
            (None, Some(place)) => place,
            (name, None) => name.unwrap_or(self.id).to_owned(),
        }
    }
}

impl Block<'_> {
    /// Its entry in the list of sources: the label, followed by the id in brackets if blocks show
    /// their ids, so that it can be cited: `name (path:line) [id]`.
    pub fn source(&self, with_id: bool) -> String {
        let label = self.label();
        if with_id && label != self.id {
            return format!("{label} [{}]", self.id);
        }
        label
    }
}

/// Blocks under one heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group<'a> {
    /// The blocks of one file, by its path.
    File(&'a str),
    /// The blocks of one category of kinds.
    Category(Category),
}

impl<'a> Group<'a> {
    /// The group of `block` when blocks are grouped by `group_by`. `None` if they are grouped by
    /// file and the block has no path.
    pub fn of(block: &Block<'a>, group_by: GroupBy) -> Option<Self> {
        match group_by {
            GroupBy::None => None,
            GroupBy::File => block.path.map(Group::File),
            GroupBy::Kind => Some(Group::Category(block.kind.category())),
        }
    }
}

/// How many chunks were left out, as stated in the context itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Notice {
    /// How many chunks were left out.
    pub omitted: usize,
    /// How many chunks there were in all.
    pub total: usize,
}
