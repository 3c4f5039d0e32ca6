//! What a caller is told besides.

use serde::{Deserialize, Serialize};

/// Something the caller should know that is no reason to refuse.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Warning {
    /// The chunk it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What happened.
    pub code: WarningCode,
    /// The same for people.
    pub detail: String,
}

impl Warning {
    /// One that is about no chunk in particular.
    pub fn new(code: impl Into<WarningCode>, detail: impl Into<String>) -> Self {
        Warning {
            id: None,
            code: code.into(),
            detail: detail.into(),
        }
    }

    /// Names the chunk that it is about.
    #[must_use]
    pub fn of(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// What a warning is about. On the wire one stable word; one that is not listed, of a later version or of one's own, is kept as
/// [`WarningCode::Other`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum WarningCode {
    /// Invisible or control characters are shown as escapes.
    Neutralised,
    /// A chunk has not as many lines as it says, so it is merged with none; or they do not stand once in its expanded context, of
    /// which no lines are told then.
    SpanMismatch,
    /// Chunks have the same lines of a file, with other texts.
    OverlapConflict,
    /// A separator or footer begins with `/`, so that tokens may be kept in hand.
    UnsafeJoint,
    /// Secrets are shown as `****`.
    Masked,
    /// The lines are elsewhere in the file now, and are told as they are there.
    Moved,
    /// The file says something else, and the chunk is shown as it was stored, or left out.
    Stale,
    /// The file does not exist any more, and the chunk is shown as it was stored.
    MovedOrDeleted,
    /// The file cannot be read.
    Unreadable,
    /// A line that is asked for is not there.
    NoSuchLine,
    /// More files may fit a pattern that is asked for than are looked at.
    PatternLimited,
    /// A file that is asked for is not there.
    NoSuchFile,
    /// What a message refers to is not there.
    UnknownReference,
    /// A source was late or failed.
    SourceFailed,
    /// A file was not UTF-8, and was decoded.
    Decoded,
    /// Generated or vendored files would have an answer.
    GeneratedNotSearched,
    /// A file that is asked for is there and passed over: too large, hidden, ignored, no text.
    FileNotSearched,
    /// A file is larger than files may be.
    TooLarge,
    /// A file is no text.
    Binary,
    /// A file is empty.
    Empty,
    /// A file is a link.
    Link,
    /// A file is a device, a pipe or a socket.
    Special,
    /// There are more files, or more of them, than may be read.
    Limit,
    /// A file is named as those are that hold secrets.
    Secret,
    /// Anything else, by its own word.
    Other(String),
}
