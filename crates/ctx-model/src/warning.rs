//! Warnings: what a caller should know beside the result.

use serde::{Deserialize, Serialize};

/// Something the caller should know that is no reason to refuse a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Warning {
    /// The id of the chunk concerned, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The kind of warning.
    pub code: WarningCode,
    /// A description for people.
    pub detail: String,
}

impl Warning {
    /// Makes a warning that concerns no chunk in particular.
    pub fn new(code: impl Into<WarningCode>, detail: impl Into<String>) -> Self {
        Warning {
            id: None,
            code: code.into(),
            detail: detail.into(),
        }
    }

    /// Names the chunk concerned.
    #[must_use]
    pub fn of(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// The kind of a warning. On the wire it is one stable word. An unlisted word, from a later version
/// or a custom one, is kept as [`WarningCode::Other`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum WarningCode {
    /// Invisible or control characters are shown as escapes.
    Neutralised,
    /// A chunk does not have as many lines as its span, so it is not merged; or its lines do not
    /// occur exactly once in its expanded context, which is then shown without line numbers.
    SpanMismatch,
    /// Chunks claim the same lines of a file, with different texts.
    OverlapConflict,
    /// A separator or footer begins with `/`, or a formatter of the caller's breaks the rule by
    /// which prices add up, so that some of the budget may stay unspent.
    UnsafeJoint,
    /// Secrets are shown as `****`.
    Masked,
    /// The lines are elsewhere in the file now, and are shown with their present numbers.
    Moved,
    /// The file has changed, and the chunk is shown as it was stored, or left out.
    Stale,
    /// Whether the file has changed is unknown: it has masked secrets, and the hash that the chunk
    /// brings is not of the masked text. The chunk is shown as the file has it.
    Unverified,
    /// The file does not exist any more, and the chunk is shown as it was stored.
    MovedOrDeleted,
    /// The file cannot be read.
    Unreadable,
    /// A requested line does not exist.
    NoSuchLine,
    /// More files may match a requested pattern than were looked at.
    PatternLimited,
    /// More parts use a name that a question asks for than were taken.
    UsersLimited,
    /// A requested file does not exist.
    NoSuchFile,
    /// Nothing is called as the question calls it.
    NoSuchName,
    /// No call of the trace that a question has is found.
    NoSuchCall,
    /// The target of a reference in a message does not exist.
    UnknownReference,
    /// A source was late or failed.
    SourceFailed,
    /// The search found nothing for the message.
    NothingFound,
    /// A file was not UTF-8, and was converted.
    Decoded,
    /// Generated or vendored files, which were not searched, may have an answer.
    GeneratedNotSearched,
    /// A requested file exists but was skipped: too large, hidden, ignored, or not text.
    FileNotSearched,
    /// A file was skipped because it is too large.
    TooLarge,
    /// A file was skipped because it is not text.
    Binary,
    /// A file was skipped because it is empty.
    Empty,
    /// A file was skipped because it is a link.
    Link,
    /// A file was skipped because it is a device, a pipe or a socket.
    Special,
    /// Files, or parts of them, were skipped because a limit was reached.
    Limit,
    /// A file was skipped because files of that name usually hold secrets.
    Secret,
    /// Any other kind, by its own word.
    Other(String),
}
