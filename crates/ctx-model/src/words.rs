//! The words for choices: the same on the wire, on screens and in settings.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::{
    Category, ChunkKind, Exactness, Format, GroupBy, OmittedReason, Order, Origin, RenditionKind,
    Selection, SymbolKind, WarningCode, XmlContent,
};

/// Implements `ALL`, `as_str`, `Display` and `FromStr` of a type without fields by the word of each
/// variant; the error of the last names the words that are known.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (@told $name:ident, $what:literal: $($variant:ident = $word:literal),+;) => {
        impl $name {
            /// The word for it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::ModelError;

            fn from_str(word: &str) -> Result<Self, $crate::ModelError> {
                match word {
                    $($word => Ok($name::$variant),)+
                    _ => Err($crate::ModelError::UnknownWord {
                        what: $what,
                        word: word.to_owned(),
                        known: &[$($word),+],
                    }),
                }
            }
        }
    };
    ($($name:ident, $what:literal: $($variant:ident = $word:literal),+;)*) => {$(
        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
        }

        $crate::words! { @told $name, $what: $($variant = $word),+; }
    )*};
}

/// Implements what `words` does but `ALL`, and `Deserialize` with the words that serde writes.
macro_rules! wire_words {
    ($($name:ident, $what:literal: $($variant:ident = $word:literal),+;)*) => {$(
        $crate::words! { @told $name, $what: $($variant = $word),+; }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                value.deserialize_str(Word::<$name>(&[$($word),+], PhantomData))
            }
        }
    )*};
}

/// Accepts one of these words and nothing else. A derived deserializer also takes an object with
/// one of them as key and null as value.
struct Word<T>(&'static [&'static str], PhantomData<T>);

impl<T: FromStr> Visitor<'_> for Word<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        let read = word.parse();
        read.map_err(|_| E::unknown_variant(word, self.0))
    }
}

wire_words! {
    Format, "format": Markdown = "markdown", Xml = "xml", Json = "json", Plain = "plain";
    GroupBy, "grouping": None = "none", File = "file", Kind = "kind";
    Order, "order": Relevance = "relevance", Stable = "stable", Edges = "edges";
    Selection, "selection": InOrder = "inOrder", Density = "density", Optimal = "optimal";
    XmlContent, "XML content": Escaped = "escaped", Cdata = "cdata";
    Origin, "origin": Reference = "reference", File = "file", Chunk = "chunk", Message = "message";
    RenditionKind, "rendition": Full = "full", Excerpt = "excerpt", Skeleton = "skeleton", Signature = "signature", Mention = "mention";
    Exactness, "exactness": Exact = "exact", UpperBound = "upperBound", Estimate = "estimate";
    Category, "category": Code = "code", Documentation = "documentation", Conversation = "conversation", Other = "other";
    OmittedReason, "reason": OverBudget = "over_budget", MaxChunks = "max_chunks", NotChosen = "not_chosen",
        BelowMinRelevance = "below_min_relevance", BelowMinChance = "below_min_chance", DuplicateOf = "duplicate_of",
        NearDuplicateOf = "near_duplicate_of", MergedInto = "merged_into", Unreadable = "unreadable",
        Stale = "stale";
}

words! {
    SymbolKind, "kind of symbol": Function = "function", Method = "method", Class = "class", Struct = "struct", Enum = "enum",
        Interface = "interface", Impl = "impl", Module = "module", Type = "type", Constant = "constant", Field = "field",
        Macro = "macro", Section = "section";
}

/// Does the same for choices that may grow: an unknown word is kept as `Other`. The types tell
/// serde to convert from and into `String`.
macro_rules! open_words {
    ($($name:ident: $($variant:ident = $word:literal),+;)*) => {$(
        impl $name {
            /// All known variants, in the order of their declaration.
            pub const KNOWN: &[$name] = &[$($name::$variant),+];

            /// The word for it on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)+
                    $name::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => $name::$variant,)+
                    _ => $name::Other(word.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                $name::from(word.as_str())
            }
        }

        impl FromStr for $name {
            type Err = Infallible;

            fn from_str(word: &str) -> Result<Self, Infallible> {
                Ok($name::from(word))
            }
        }

        impl From<$name> for String {
            fn from(it: $name) -> String {
                match it {
                    $name::Other(word) => word,
                    known => known.as_str().to_owned(),
                }
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, word: &str) -> bool {
                self.as_str() == word
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, word: &&str) -> bool {
                self.as_str() == *word
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}

open_words! {
    ChunkKind: Function = "function", Method = "method", Class = "class", Interface = "interface", Type = "type", File = "file",
        Module = "module", Document = "document", Section = "section", Requirement = "requirement", Feature = "feature",
        Session = "session", Message = "message", Decision = "decision";
    WarningCode: Neutralised = "neutralised", SpanMismatch = "span_mismatch", OverlapConflict = "overlap_conflict",
        UnsafeJoint = "unsafe_joint", Masked = "masked", Moved = "moved", Stale = "stale", Unverified = "unverified",
        MovedOrDeleted = "moved_or_deleted",
        Unreadable = "unreadable", NoSuchLine = "no_such_line", PatternLimited = "pattern_limited",
        UsersLimited = "users_limited", NoSuchFile = "no_such_file", NoSuchName = "no_such_name", NoSuchCall = "no_such_call",
        UnknownReference = "unknown_reference", SourceFailed = "source_failed", NothingFound = "nothing_found", Decoded = "decoded",
        GeneratedNotSearched = "generated_not_searched", FileNotSearched = "file_not_searched", TooLarge = "too_large",
        Binary = "binary", Empty = "empty", Link = "link", Special = "special", Limit = "limit", Secret = "secret";
}
