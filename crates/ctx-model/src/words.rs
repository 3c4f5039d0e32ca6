//! The words by which choices are written: the same on the wire, on screens and in settings.

use std::fmt;
use std::str::FromStr;

use crate::{Exactness, Format, GroupBy, ModelError, Order, Origin, Selection, XmlContent};

/// `Display` and `FromStr` by the words that serde writes.
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
    )*};
}

words! {
    Format, "format": Markdown = "markdown", Xml = "xml", Json = "json", Plain = "plain";
    GroupBy, "grouping": None = "none", File = "file", Kind = "kind";
    Order, "order": Relevance = "relevance", Stable = "stable", Edges = "edges";
    Selection, "selection": InOrder = "inOrder", Density = "density", Optimal = "optimal";
    XmlContent, "XML content": Escaped = "escaped", Cdata = "cdata";
    Origin, "origin": Reference = "reference", File = "file", Chunk = "chunk", Message = "message";
    Exactness, "exactness": Exact = "exact", UpperBound = "upperBound", Estimate = "estimate";
}
