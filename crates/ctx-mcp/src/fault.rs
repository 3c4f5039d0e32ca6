//! Errors, described so that an agent can act on them.

use std::fmt;

use ctx_assemble::AssembleError;
use ctx_budget::{BudgetError, Pin};
use ctx_index::IndexError;
use ctx_retrieve::TaskFailed;
use ctx_service::ServiceError;
use ctx_source::SourceError;

/// How many characters of a caller's input are quoted.
const ECHO: usize = 80;

/// Why a call has no answer, and what to try instead. `Display` is a fragment that follows "failed
/// to …".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    what: String,
    hint: String,
    kind: Kind,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The requested thing does not exist.
    NotFound,
    /// The parameters cannot name anything that exists, or name something that must not be read.
    Parameters,
    /// A file could not be written.
    Writing,
    /// Any other fault.
    Other,
}

impl Fault {
    /// A fault: `what` follows "failed to …", and `hint` follows "try: …".
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Fault {
            what: what.into(),
            hint: hint.into(),
            kind: Kind::Other,
        }
    }

    pub(crate) fn of(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The hint what to try instead.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// Whether the input was correct and only a file could not be written.
    pub fn is_of_writing(&self) -> bool {
        self.kind == Kind::Writing
    }

    pub(crate) fn cancelled() -> Self {
        Fault::new("finish: the call was cancelled", "the same call again")
    }

    /// The text for an agent: what failed and, on a line of its own, what to try.
    pub(crate) fn text(&self) -> String {
        format!("failed to {}\ntry: {}", self.what, self.hint)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Fault {}

/// The beginning of `text`, on one line and neutralised, so that it may be quoted.
pub(crate) fn echo(text: &str) -> String {
    let mut short: String = text.chars().take(ECHO).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!(
        "\"{}\"",
        ctx_format::neutralise(&short, ctx_format::Slot::Line)
    )
}

impl From<SourceError> for Fault {
    fn from(error: SourceError) -> Self {
        let kind = match error {
            SourceError::NotFound { .. } | SourceError::DeadLink { .. } => Kind::NotFound,
            _ if error.is_transient() => Kind::Other,
            SourceError::Path { .. }
            | SourceError::NotAFile { .. }
            | SourceError::TooLarge { .. }
            | SourceError::Secret { .. }
            | SourceError::Binary { .. }
            | SourceError::Io { .. } => Kind::Parameters,
            _ => Kind::Other,
        };
        let fault = match error {
            SourceError::NotFound { path } => Fault::new(
                format!("read {}: there is no such file", echo(&path)),
                "context_outline with the path of its folder, or none, to see which files there are",
            ),
            SourceError::DeadLink { path } => Fault::new(
                format!(
                    "read {}: it is a link to something that is not there",
                    echo(&path)
                ),
                "another file, or context_outline to see which files there are",
            ),
            SourceError::Path { path, fault } => Fault::new(
                format!("read {}: it {fault}", echo(&path)),
                "a path relative to the root, as the tools show them",
            ),
            SourceError::NotAFile { path, what } => Fault::new(
                format!("read {}: it is {what}, not a file", echo(&path)),
                "context_outline for a folder",
            ),
            SourceError::TooLarge { path, limit } => Fault::new(
                format!("read {}: it is larger than {limit} bytes", echo(&path)),
                "another file",
            ),
            SourceError::Secret { path } => Fault::new(
                format!("read {}: its name says that it holds secrets", echo(&path)),
                "another file, and the user for what is needed of this one",
            ),
            SourceError::Binary { path } => Fault::new(
                format!("read {}: it holds no text", echo(&path)),
                "another file",
            ),
            SourceError::Io { path, .. } => Fault::new(
                format!(
                    "read {}: it leads out of the root or may not be read",
                    echo(&path)
                ),
                "another file below the root",
            ),
            // The path of a folder on the machine is not shown to the caller.
            _ => Fault::new(
                "open the root folder",
                "ask the user to check that it exists",
            ),
        };
        fault.of(kind)
    }
}

impl From<IndexError> for Fault {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Cancelled => Fault::cancelled(),
            IndexError::Busy { .. } => Fault::new(
                "index the files: another process is doing it, and there is no earlier index",
                "the same call again in some seconds",
            ),
            IndexError::Root(error) => error.into(),
            IndexError::Foreign { .. } => Fault::new(
                "index the files: the folder of the index holds what no index made",
                "ask the user to move it away, or to set CTX_CACHE_DIR to another folder",
            ),
            IndexError::Folder { source, .. } => Fault::new(
                format!("write the index: {source}"),
                "ask the user to set CTX_CACHE_DIR to a folder that ctx may write, or to make the folder .ctx in the root",
            ),
            _ => Fault::new(
                "use the index",
                "the same call again; if it fails again, ask the user to remove the index and start ctx again",
            ),
        }
    }
}

impl From<ServiceError> for Fault {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Assemble(error) => error.into(),
            other => Fault::new(ctx_model::error_chain(&other), "the same call again"),
        }
    }
}

impl From<AssembleError> for Fault {
    fn from(error: AssembleError) -> Self {
        match error {
            AssembleError::Cancelled | AssembleError::Budget(BudgetError::Cancelled) => {
                Fault::cancelled()
            }
            AssembleError::DuplicateId { id } => Fault::new(
                format!("assemble: two chunks have the id {}", echo(&id)),
                "an id of its own for each chunk",
            ),
            AssembleError::Budget(BudgetError::TooManyPins { pinned, .. }) => Fault::new(
                format!("assemble: {pinned} chunks are pinned"),
                "fewer pinned chunks",
            ),
            AssembleError::Budget(BudgetError::TooSmall {
                largest_pin: Some(Pin { name, tokens }),
                ..
            }) => Fault::new(
                format!(
                    "assemble: the pinned chunks do not fit, and {} takes most, {tokens} tokens",
                    echo(&name)
                ),
                "a larger max_tokens, or without it",
            ),
            AssembleError::Budget(_) => Fault::new(
                "assemble: the pinned chunks do not fit",
                "a larger max_tokens, or fewer pinned chunks",
            ),
            error @ AssembleError::TooLong { .. } => {
                Fault::new(format!("assemble: {error}"), "a smaller max_tokens")
            }
            other => Fault::new(
                format!("assemble: {other}"),
                "correct the chunk and call again",
            ),
        }
    }
}

impl From<TaskFailed> for Fault {
    fn from(_: TaskFailed) -> Self {
        Fault::new(
            "finish: a thread ended before its work did",
            "the same call again",
        )
    }
}
