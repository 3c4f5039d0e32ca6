//! The words by which choices are written: the same on the wire, on screens and in settings.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::{
    Category, Exactness, Format, GroupBy, ModelError, OmittedReason, Order, Origin, RenditionKind,
    Selection, XmlContent,
};

/// `Display`, `FromStr` and `Deserialize` by the words that serde writes.
macro_rules! words {
    ($($name:ident, $what:literal: $($variant:ident = $word:literal),+;)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $($name::$variant => $word,)+
                })
            }
        }

        impl FromStr for $name {
            type Err = ModelError;

            fn from_str(word: &str) -> Result<Self, ModelError> {
                match word {
                    $($word => Ok($name::$variant),)+
                    _ => Err(ModelError::UnknownWord {
                        what: $what,
                        word: word.to_owned(),
                        known: &[$($word),+],
                    }),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                value.deserialize_str(Word::<$name>(&[$($word),+], PhantomData))
            }
        }
    )*};
}

/// Reads one of these words, and nothing else: a derived reader takes an object of one of them and nothing, too.
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

words! {
    Format, "format": Markdown = "markdown", Xml = "xml", Json = "json", Plain = "plain";
    GroupBy, "grouping": None = "none", File = "file", Kind = "kind";
    Order, "order": Relevance = "relevance", Stable = "stable", Edges = "edges";
    Selection, "selection": InOrder = "inOrder", Density = "density", Optimal = "optimal";
    XmlContent, "XML content": Escaped = "escaped", Cdata = "cdata";
    Origin, "origin": Reference = "reference", File = "file", Chunk = "chunk", Message = "message";
    RenditionKind, "rendition": Full = "full", Excerpt = "excerpt", Skeleton = "skeleton", Signature = "signature", Mention = "mention";
    Exactness, "exactness": Exact = "exact", UpperBound = "upperBound", Estimate = "estimate";
    Category, "category": Code = "code", Documentation = "documentation", Conversation = "conversation", Other = "other";
    OmittedReason, "reason": OverBudget = "over_budget", MaxChunks = "max_chunks", BelowMinRelevance = "below_min_relevance",
        BelowMinChance = "below_min_chance", DuplicateOf = "duplicate_of", MergedInto = "merged_into", Unreadable = "unreadable",
        Stale = "stale";
}
