//! The kinds of chunks.

use serde::{Deserialize, Serialize};

/// The kind of a chunk. On the wire it is one lower-case word; an unlisted word is kept as
/// [`ChunkKind::Other`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ChunkKind {
    /// A function.
    Function,
    /// A method of a type.
    Method,
    /// A class, struct or enum.
    Class,
    /// An interface, trait or protocol.
    Interface,
    /// A type alias or definition.
    Type,
    /// A file, whole or in part.
    File,
    /// A module, package or namespace.
    Module,
    /// A document.
    Document,
    /// A section of a document.
    Section,
    /// A requirement.
    Requirement,
    /// A feature's description.
    Feature,
    /// A conversation.
    Session,
    /// One message of a conversation.
    Message,
    /// A decision that was made.
    Decision,
    /// Any other kind, by its own word.
    Other(String),
}

/// The four categories of kinds, in the order their groups are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Functions, methods, classes, interfaces, types, files, modules.
    Code,
    /// Documents, sections, requirements, features.
    Documentation,
    /// Sessions, messages, decisions.
    Conversation,
    /// Everything else.
    Other,
}

impl ChunkKind {
    /// The category it belongs to.
    pub fn category(&self) -> Category {
        use ChunkKind as K;
        match self {
            K::Function | K::Method | K::Class | K::Interface | K::Type | K::File | K::Module => {
                Category::Code
            }
            K::Document | K::Section | K::Requirement | K::Feature => Category::Documentation,
            K::Session | K::Message | K::Decision => Category::Conversation,
            K::Other(_) => Category::Other,
        }
    }
}

impl Category {
    /// Every category, in the order their groups are shown.
    pub const ALL: [Category; 4] = [
        Category::Code,
        Category::Documentation,
        Category::Conversation,
        Category::Other,
    ];

    /// The title of its group.
    pub const fn title(self) -> &'static str {
        match self {
            Category::Code => "Relevant Code",
            Category::Documentation => "Related Documentation",
            Category::Conversation => "Previous Conversations",
            Category::Other => "Other Context",
        }
    }
}
