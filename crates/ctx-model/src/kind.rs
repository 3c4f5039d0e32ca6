//! The kinds of chunks, and of what they show of files: definitions and parts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ModelError;

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

/// The kind of a definition in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SymbolKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A class or object.
    Class,
    /// A struct, record or table.
    Struct,
    /// An enumeration.
    Enum,
    /// A trait, interface, protocol or type class.
    Interface,
    /// A block of methods for a type.
    Impl,
    /// A module or namespace.
    Module,
    /// A name for another type.
    Type,
    /// A constant, or a variable of the whole file.
    Constant,
    /// A field, property or variant.
    Field,
    /// A macro.
    Macro,
    /// A part of a document.
    Section,
}

/// The kind of a part of a file, as it is searched for and found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartKind {
    /// A definition, or a piece of one.
    Symbol(SymbolKind),
    /// Lines that belong to no definition.
    Lines,
    /// A whole file.
    File,
}

impl PartKind {
    /// All kinds.
    pub const ALL: &'static [PartKind] = &EACH;

    /// The kinds of what a file consists of: all but [`PartKind::File`].
    pub const WITHIN_FILES: &'static [PartKind] = match PartKind::ALL.split_last() {
        Some((_file, within)) => within,
        None => &[],
    };

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            PartKind::Symbol(kind) => kind.as_str(),
            PartKind::Lines => "lines",
            PartKind::File => "file",
        }
    }

    /// The kind of a chunk that shows such a part, for which `of_file` is that of the whole file:
    /// lines may be of a document, and a section of one is more than one of settings.
    pub fn chunk_kind(self, of_file: ChunkKind) -> ChunkKind {
        let symbol = match self {
            PartKind::Symbol(symbol) => symbol,
            PartKind::Lines | PartKind::File => return of_file,
        };
        match symbol {
            SymbolKind::Function => ChunkKind::Function,
            SymbolKind::Method => ChunkKind::Method,
            SymbolKind::Class | SymbolKind::Struct | SymbolKind::Enum | SymbolKind::Impl => {
                ChunkKind::Class
            }
            SymbolKind::Interface => ChunkKind::Interface,
            SymbolKind::Module => ChunkKind::Module,
            SymbolKind::Type => ChunkKind::Type,
            SymbolKind::Constant | SymbolKind::Field | SymbolKind::Macro => {
                ChunkKind::Other(symbol.as_str().to_owned())
            }
            SymbolKind::Section if of_file == ChunkKind::Document => ChunkKind::Section,
            SymbolKind::Section => of_file,
        }
    }
}

/// Each kind of a part: those of definitions, then lines, and last files.
const EACH: [PartKind; SymbolKind::ALL.len() + 2] = {
    let mut each = [PartKind::File; SymbolKind::ALL.len() + 2];
    let mut at = 0;
    while at < SymbolKind::ALL.len() {
        each[at] = PartKind::Symbol(SymbolKind::ALL[at]);
        at += 1;
    }
    each[at] = PartKind::Lines;
    each
};

/// The words for each kind of a part.
const WORDS: [&str; EACH.len()] = {
    let mut words = [""; EACH.len()];
    let mut at = 0;
    while at < EACH.len() {
        words[at] = EACH[at].as_str();
        at += 1;
    }
    words
};

impl From<SymbolKind> for PartKind {
    fn from(kind: SymbolKind) -> Self {
        PartKind::Symbol(kind)
    }
}

impl fmt::Display for PartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PartKind {
    type Err = ModelError;

    fn from_str(word: &str) -> Result<Self, ModelError> {
        match word {
            "lines" => Ok(PartKind::Lines),
            "file" => Ok(PartKind::File),
            _ => word
                .parse()
                .map(PartKind::Symbol)
                .map_err(|_| ModelError::UnknownWord {
                    what: "kind of part",
                    word: word.to_owned(),
                    known: &WORDS,
                }),
        }
    }
}
