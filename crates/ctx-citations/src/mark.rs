//! The verdicts on an answer, citation by citation.

use std::ops::Range;

use serde::Serialize;

/// Whether a citation holds, and if not, what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Verdict {
    /// It is sound: id, lines and quotation are as the context shows them.
    Sound,
    /// The context has no source with that id.
    Unknown,
    /// It is a misspelt label (`FIL-9F2A1C`), or its lines are invalid (`doc-1:ten`).
    Malformed,
    /// The context does not show those lines of the source.
    OutOfRange,
    /// The words quoted before it are not in what the context shows of the source.
    Misquoted,
    /// The words quoted before it are in what the context shows of the source, but not in the lines
    /// that are cited with them.
    OtherLines,
    /// The quotation was not searched for: it begins more than 4,000 bytes before this citation, or
    /// the answer quotes too much in all, so that the words may not even be stored. Or no text of
    /// the source has the hash in the receipt, so that its words and lines are unknown.
    Unchecked,
}

ctx_model::words! {
    Verdict, "verdict": Sound = "sound", Unknown = "unknown", Malformed = "malformed", OutOfRange = "outOfRange",
        Misquoted = "misquoted", OtherLines = "otherLines", Unchecked = "unchecked";
}

impl Verdict {
    /// The note after a citation, which follows a colon.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Verdict::Sound => "",
            Verdict::Unknown => "unknown",
            Verdict::Malformed => "malformed",
            Verdict::OutOfRange => "no such lines",
            Verdict::Misquoted => "not a quotation",
            Verdict::OtherLines => "not in these lines",
            Verdict::Unchecked => "not checked",
        }
    }
}

/// One citation of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Mark {
    /// Its place in the answer, in bytes: its id and its lines, without brackets and other words
    /// between them. For an id between the ends of a range (`2` of `[1-3]`) it is empty, right
    /// before the second end.
    pub range: Range<usize>,
    /// The id as it is written, but in full where a range has only its number (`doc-3` of
    /// `[doc-1-3]`).
    pub id: String,
    /// The cited lines, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// The words quoted directly before it, if there are any and they were stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The verdict on it.
    pub verdict: Verdict,
}

/// An answer and what it cites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resolved {
    /// The answer, with a note after each citation that is not sound: `[fil-000000: unknown]`, and
    /// `[1-3, 2: unknown]` for an id within a range.
    pub text: String,
    /// The ids of the cited sources, each once, in the order in which they are first cited.
    pub used: Vec<String>,
    /// Every citation, in order.
    pub marks: Vec<Mark>,
}

impl Resolved {
    /// The citations with this verdict, in order.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(move |it| it.verdict == verdict)
    }
}
