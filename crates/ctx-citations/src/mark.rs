//! The verdicts on an answer, citation by citation.

use std::ops::Range;

use serde::Serialize;

/// Whether a citation holds, and if not, what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Verdict {
    /// It holds: id, lines and quotation are as the context shows them.
    Sound,
    /// The context has no source of that id.
    Unknown,
    /// It is a misspelt label (`FIL-9F2A1C`), or its lines are none (`doc-1:ten`).
    Malformed,
    /// The context does not show those lines of the source.
    OutOfRange,
    /// The words quoted before it are not among those that the context shows of the source.
    Misquoted,
    /// The words quoted before it are among those that the context shows of the source, but not in
    /// the lines that are cited with them.
    OtherLines,
    /// The answer quotes so much that the words before it were not looked for, or not even kept:
    /// more than 4,000 bytes before this citation, or too much of all. Or no text of the source has
    /// the hash in the receipt, so that its words and lines could not be looked at.
    Unchecked,
}

impl Verdict {
    /// The note behind a citation, after a colon.
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
    /// Where it stands in the answer, in bytes: its id and its lines, without brackets and other
    /// words between them. Empty for what a range of ids leaves out (`2` of `[1-3]`): it is right
    /// before the second end of that.
    pub range: Range<usize>,
    /// The id, as it is written, and in full where a range has the number alone (`doc-3` of
    /// `[doc-1-3]`).
    pub id: String,
    /// The lines, where some are cited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// The words quoted right before it, where there are any, and they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Whether it holds.
    pub verdict: Verdict,
}

/// An answer, with what it cites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resolved {
    /// The answer, with a note behind each citation that is not sound: `[fil-000000: unknown]`, and
    /// `[1-3, 2: unknown]` for what a range leaves out.
    pub text: String,
    /// The ids of the sources cited, each once, in the order they are first cited.
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
