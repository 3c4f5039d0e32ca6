//! What is formatted: borrowed views of chunks, groups of them, and what was left out.

use ctx_model::{
    Category, Chunk, ChunkKind, GroupBy, LineSpan, Relation, Relevance, Rendition, RenditionKind,
};

/// One chunk in one rendition, as it is to be shown: a borrowed view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block<'a> {
    /// The chunk's id.
    pub id: &'a str,
    /// What the chunk is.
    pub kind: &'a ChunkKind,
    /// The file it is in.
    pub path: Option<&'a str>,
    /// A short name.
    pub name: Option<&'a str>,
    /// The lines of the file that the body comes from.
    pub span: Option<LineSpan>,
    /// The language of the body.
    pub language: Option<&'a str>,
    /// How much it matters.
    pub relevance: Relevance,
    /// The text to show.
    pub body: &'a str,
    /// A shorter text to show beside the body.
    pub summary: Option<&'a str>,
    /// What the file imports.
    pub imports: &'a [String],
    /// What the chunk relates to.
    pub relations: &'a [Relation],
    /// How much of the chunk the body shows.
    pub rendition: RenditionKind,
}

impl<'a> Block<'a> {
    /// All of `chunk`: its expanded context, else its content; and its summary beside it. The lines are those of what is
    /// shown ([`Chunk::full_span`]): none of expanded context in which the content does not stand once. O(1), and O(bytes)
    /// with expanded context.
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

    /// `rendition` of `chunk`. What shows less than all of it shows no summary, and a mention is
    /// its one line and nothing else.
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

    /// The summary of `chunk` in place of its text, as a mention of it; empty where it has none. The lines are those of its
    /// content, which the summary is of.
    pub fn summary_only(chunk: &'a Chunk) -> Self {
        let full = Block::full(chunk);
        let body = chunk.summary.as_deref().unwrap_or_default();
        let rendition = if body.is_empty() {
            // That nothing is shown says more.
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

    /// What a reader knows it by: its path, else its name, else its id.
    pub fn title(&self) -> &'a str {
        self.path.or(self.name).unwrap_or(self.id)
    }

    /// What the list of sources calls it: `name (path:line)`, or as much of that as there is.
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
    /// What the list of sources says of it: its label, and, where blocks show their ids, its id in brackets
    /// behind it, so that it can be cited: `name (path:line) [id]`.
    pub fn source(&self, with_id: bool) -> String {
        let label = self.label();
        if with_id && label != self.id {
            return format!("{label} [{}]", self.id);
        }
        label
    }
}

/// Blocks that stand together under one heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group<'a> {
    /// The blocks of one file, by its path.
    File(&'a str),
    /// The blocks of one family of kinds.
    Category(Category),
}

impl<'a> Group<'a> {
    /// The group of `block` when blocks are grouped by `group_by`: none for a block without a path
    /// among those of files.
    pub fn of(block: &Block<'a>, group_by: GroupBy) -> Option<Self> {
        match group_by {
            GroupBy::None => None,
            GroupBy::File => block.path.map(Group::File),
            GroupBy::Kind => Some(Group::Category(block.kind.category())),
        }
    }
}

/// What was left out, told in the context itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Notice {
    /// How many chunks were left out.
    pub omitted: usize,
    /// How many there were.
    pub total: usize,
}
