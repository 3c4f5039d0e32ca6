//! Options of formatters.

use ctx_model::{BuildOptions, GroupBy, XmlContent};

/// What a formatter shows of a block, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each shows or hides one thing, alone"
)]
#[non_exhaustive]
pub struct FormatOptions {
    /// Whether a block's path is shown above it. XML and JSON always name the file, since it takes
    /// no line there.
    pub file_headers: bool,
    /// Whether a block's line numbers are shown. In Markdown and plain text they are part of the
    /// heading.
    pub line_numbers: bool,
    /// Whether a block's relevance is shown.
    pub scores: bool,
    /// Whether a block's imports are shown.
    pub imports: bool,
    /// Whether a block's relations are shown.
    pub relations: bool,
    /// Whether a block has its id, so that it can be cited: in Markdown and plain text as a line
    /// `[id]`, in XML as an attribute, in JSON as a key. Metadata has it in any case.
    pub ids: bool,
    /// Whether a block has its id, kind and name for programs: in Markdown and plain text as one
    /// line of JSON, in XML as attributes, in JSON as keys.
    pub metadata: bool,
    /// How blocks are grouped: decides the heading of a group and the place of the path.
    pub group_by: GroupBy,
    /// How text is escaped in XML.
    pub xml_content: XmlContent,
    /// Text between two blocks, instead of the format's own, of at most
    /// [`BuildOptions::LONGEST_SEPARATOR`] characters.
    pub separator: Option<String>,
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions::from(&BuildOptions::default())
    }
}

impl FormatOptions {
    /// Whether a block states its id, by itself or in its metadata.
    pub(crate) fn states_id(&self) -> bool {
        self.ids || self.metadata
    }
}

impl From<&BuildOptions> for FormatOptions {
    fn from(options: &BuildOptions) -> Self {
        FormatOptions {
            file_headers: options.include_file_headers,
            line_numbers: options.include_line_numbers,
            scores: options.include_scores,
            imports: options.include_imports,
            relations: options.include_relations,
            ids: options.include_ids,
            metadata: options.include_metadata,
            group_by: options.group_by,
            xml_content: options.xml_content,
            separator: options.chunk_separator.clone(),
        }
    }
}

ctx_model::setters! {
    for FormatOptions;
    /// Shows or hides paths.
    with_file_headers: file_headers: bool;
    /// Shows or hides line numbers.
    with_line_numbers: line_numbers: bool;
    /// Shows or hides relevance.
    with_scores: scores: bool;
    /// Shows or hides imports.
    with_imports: imports: bool;
    /// Shows or hides relations.
    with_relations: relations: bool;
    /// Shows or hides ids.
    with_ids: ids: bool;
    /// Adds or leaves out id, kind and name.
    with_metadata: metadata: bool;
    /// Sets the grouping.
    with_group_by: group_by: GroupBy;
    /// Sets how XML escapes text.
    with_xml_content: xml_content: XmlContent;
    /// Sets the text between two blocks.
    with_separator: separator: Option<String>;
}
