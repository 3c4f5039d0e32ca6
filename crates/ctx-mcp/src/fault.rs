//! Errors, described so that an agent can act on them.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use ctx_assemble::AssembleError;
use ctx_budget::{BudgetError, Pin};
use ctx_format::{Slot, neutralise};
use ctx_index::IndexError;
use ctx_retrieve::TaskFailed;
use ctx_service::ServiceError;
use ctx_source::SourceError;

use crate::install::Client;

/// How many characters of a caller's input are quoted.
const ECHO: usize = 80;

/// Why a call has no answer. `Display` is a fragment that follows "failed to …", and
/// [`hint`](Fault::hint) says what to try instead; an agent is told both, and nothing of
/// [`source`](Error::source), which may name folders of the machine.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The call was cancelled.
    Cancelled,
    /// What is asked for cannot be answered, whatever the files are.
    Refused {
        /// What cannot be done, and why.
        what: String,
        /// What to try instead.
        hint: String,
        /// What it is due to.
        kind: FaultKind,
    },
    /// A file, or a root folder, cannot be read.
    Source(Box<SourceError>),
    /// The index cannot be used.
    Index(Box<IndexError>),
    /// The settings of an index are invalid, or cannot be read.
    Settings(
        /// The cause, which agents are told. Its concrete type may change at any time.
        Box<dyn Error + Send + Sync>,
    ),
    /// The search failed.
    Service(Box<ServiceError>),
    /// No context can be made of the chunks.
    Assemble(Box<AssembleError>),
    /// A thread ended before its work did.
    Task(TaskFailed),
    /// The server's own root is not there.
    Root {
        /// The folder.
        root: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The entry of this server cannot be added to the configuration of a client.
    Install {
        /// The client.
        client: Client,
        /// What was done to the file.
        action: InstallAction,
        /// The file.
        file: PathBuf,
        /// The cause. Its concrete type may change at any time.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The connection of a client is not the protocol.
    Serve(
        /// The cause. Its concrete type may change at any time.
        Box<dyn Error + Send + Sync>,
    ),
    /// The input of a client ended, and its calls did not in the time that they then had.
    Unanswered {
        /// How many of its requests have no answer.
        count: usize,
    },
}

/// What a fault is due to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The requested thing does not exist.
    NotFound,
    /// The parameters cannot name anything that exists, or name something that must not be read.
    Parameters,
    /// Anything else.
    Other,
}

/// A step of adding this server to the configuration of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstallAction {
    /// Reading the file.
    Read,
    /// Adding the entry to the text of the file.
    Change,
    /// Writing the file.
    Write,
}

impl InstallAction {
    fn as_str(self) -> &'static str {
        match self {
            InstallAction::Read => "read",
            InstallAction::Change => "change",
            InstallAction::Write => "write",
        }
    }
}

/// What a fault says, and its hint.
type Words<'f> = (Cow<'f, str>, Cow<'f, str>);

/// The texts as [`Words`].
fn words<'f>(what: impl Into<Cow<'f, str>>, hint: impl Into<Cow<'f, str>>) -> Words<'f> {
    (what.into(), hint.into())
}

impl Fault {
    /// A refusal: `what` follows "failed to …", and `hint` follows "try: …".
    pub(crate) fn refused(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Fault::Refused {
            what: what.into(),
            hint: hint.into(),
            kind: FaultKind::Other,
        }
    }

    /// A refusal, due to `kind`.
    pub(crate) fn refused_for(
        kind: FaultKind,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Fault::Refused {
            what: what.into(),
            hint: hint.into(),
            kind,
        }
    }

    /// What it is due to.
    pub fn kind(&self) -> FaultKind {
        match self {
            Fault::Refused { kind, .. } => *kind,
            Fault::Source(error) => kind_of_source(error),
            _ => FaultKind::Other,
        }
    }

    /// The hint what to try instead.
    pub fn hint(&self) -> Cow<'_, str> {
        self.words().1
    }

    /// Whether the input was correct and only a file could not be written.
    pub fn is_of_writing(&self) -> bool {
        matches!(
            self,
            Fault::Install {
                action: InstallAction::Write,
                ..
            }
        )
    }

    /// The text for an agent: what failed and, on a line of its own, what to try.
    pub(crate) fn text(&self) -> String {
        let (what, hint) = self.words();
        format!("failed to {what}\ntry: {hint}")
    }

    fn words(&self) -> Words<'_> {
        match self {
            Fault::Cancelled => words("finish: the call was cancelled", "the same call again"),
            Fault::Refused { what, hint, .. } => words(what, hint),
            Fault::Source(error) => of_source(error),
            Fault::Index(error) => of_index(error),
            Fault::Settings(error) => words(
                format!(
                    "read the settings of the index: {}",
                    neutralise(&ctx_model::error_chain(&**error), Slot::Line)
                ),
                "the same call again once the settings are corrected",
            ),
            Fault::Service(error) => words(ctx_model::error_chain(&**error), "the same call again"),
            Fault::Assemble(error) => of_assembly(error),
            Fault::Task(_) => words(
                "finish: a thread ended before its work did",
                "the same call again",
            ),
            Fault::Root { root, source } => words(
                format!("open the root {}: {source}", root.display()),
                "a folder that exists",
            ),
            Fault::Install {
                client,
                action,
                file,
                source,
            } => words(
                format!("{} {}: {source}", action.as_str(), file.display()),
                format!(
                    "without --write, and add the printed configuration to the file by hand ({client})"
                ),
            ),
            Fault::Serve(error) => words(
                format!("serve: {error}"),
                "a client that speaks MCP on standard input",
            ),
            Fault::Unanswered { count } => words(
                format!(
                    "answer {count} of the requests in the time they had after the end of the input"
                ),
                "the same requests again, with the input open until they are answered",
            ),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().0)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Fault::Cancelled | Fault::Refused { .. } | Fault::Unanswered { .. } => None,
            Fault::Source(error) => Some(&**error),
            Fault::Index(error) => Some(&**error),
            Fault::Service(error) => Some(&**error),
            Fault::Assemble(error) => Some(&**error),
            Fault::Task(error) => Some(error),
            Fault::Root { source, .. } => Some(source),
            Fault::Install { source, .. } => Some(&**source),
            Fault::Settings(error) | Fault::Serve(error) => Some(&**error),
        }
    }
}

/// The beginning of `text`, on one line and neutralised, so that it may be quoted.
pub(crate) fn echo(text: &str) -> String {
    let mut short: String = text.chars().take(ECHO).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("\"{}\"", neutralise(&short, Slot::Line))
}

impl From<SourceError> for Fault {
    fn from(error: SourceError) -> Self {
        Fault::Source(Box::new(error))
    }
}

impl From<IndexError> for Fault {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Cancelled => Fault::Cancelled,
            IndexError::Root(error) => error.into(),
            error => Fault::Index(Box::new(error)),
        }
    }
}

impl From<ServiceError> for Fault {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Assemble(error) => error.into(),
            error => Fault::Service(Box::new(error)),
        }
    }
}

impl From<AssembleError> for Fault {
    fn from(error: AssembleError) -> Self {
        match error {
            AssembleError::Cancelled | AssembleError::Budget(BudgetError::Cancelled) => {
                Fault::Cancelled
            }
            error => Fault::Assemble(Box::new(error)),
        }
    }
}

impl From<TaskFailed> for Fault {
    fn from(error: TaskFailed) -> Self {
        Fault::Task(error)
    }
}

fn kind_of_source(error: &SourceError) -> FaultKind {
    match error {
        SourceError::NotFound { .. } | SourceError::DeadLink { .. } => FaultKind::NotFound,
        _ if error.is_transient() => FaultKind::Other,
        SourceError::Path { .. }
        | SourceError::NotAFile { .. }
        | SourceError::TooLarge { .. }
        | SourceError::Secret { .. }
        | SourceError::Binary { .. }
        | SourceError::Io { .. } => FaultKind::Parameters,
        _ => FaultKind::Other,
    }
}

fn of_source(error: &SourceError) -> Words<'_> {
    match error {
        SourceError::NotFound { path } => words(
            format!("read {}: there is no such file", echo(path)),
            "context_outline with the path of its folder, or without path, to list files",
        ),
        SourceError::DeadLink { path } => words(
            format!(
                "read {}: it is a link to something that is not there",
                echo(path)
            ),
            "another file, or context_outline to list files",
        ),
        SourceError::Path { path, fault } => words(
            format!("read {}: it {fault}", echo(path)),
            "a path relative to the root, as the tools show them",
        ),
        SourceError::NotAFile { path, what } => words(
            format!("read {}: it is {what}, not a file", echo(path)),
            "context_outline for a folder",
        ),
        SourceError::TooLarge { path, limit } => words(
            format!("read {}: it is larger than {limit} bytes", echo(path)),
            "another file",
        ),
        SourceError::Secret { path } => words(
            format!("read {}: its name says that it holds secrets", echo(path)),
            "another file, or ask the user for what you need from this one",
        ),
        SourceError::Binary { path } => words(
            format!("read {}: it holds no text", echo(path)),
            "another file",
        ),
        SourceError::Io { path, .. } => words(
            format!(
                "read {}: it leads out of the root or may not be read",
                echo(path)
            ),
            "another file below the root",
        ),
        // The path of a folder on the machine is not shown to the caller.
        _ => words(
            "open the root folder",
            "ask the user to check that it exists",
        ),
    }
}

fn of_index(error: &IndexError) -> Words<'_> {
    match error {
        IndexError::Busy { .. } => words(
            "index the files: another process is indexing them, and there is no index yet",
            "the same call again in some seconds",
        ),
        IndexError::Foreign { .. } => words(
            "index the files: the folder of the index has other files in it",
            "ask the user to move them away, or to set CTX_CACHE_DIR to another folder",
        ),
        IndexError::Folder { source, .. } => words(
            format!("write the index: {source}"),
            "ask the user to set CTX_CACHE_DIR to a folder that ctx may write, or to make the folder .ctx in the root",
        ),
        _ => words(
            "use the index",
            "the same call again; if it fails again, ask the user to remove the index and start ctx again",
        ),
    }
}

fn of_assembly(error: &AssembleError) -> Words<'_> {
    match error {
        AssembleError::DuplicateId { id } => words(
            format!("assemble: two chunks have the id {}", echo(id)),
            "a different id for each chunk",
        ),
        AssembleError::Budget(BudgetError::TooManyPins { pinned, .. }) => words(
            format!("assemble: too many chunks are pinned ({pinned})"),
            "fewer pinned chunks",
        ),
        AssembleError::Budget(BudgetError::TooSmall {
            largest_pin: Some(Pin { name, tokens }),
            ..
        }) => words(
            format!(
                "assemble: the pinned chunks do not fit, and {} takes most, {tokens} tokens",
                echo(name)
            ),
            "a larger max_tokens, or without it",
        ),
        AssembleError::Budget(_) => words(
            "assemble: the pinned chunks do not fit",
            "a larger max_tokens, or fewer pinned chunks",
        ),
        error @ AssembleError::TooLong { .. } => {
            words(format!("assemble: {error}"), "a smaller max_tokens")
        }
        other => words(
            format!("assemble: {other}"),
            "correct the chunk and call again",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_a_source_and_is_not_told_to_agents() {
        let fault = Fault::from(IndexError::Damaged {
            folder: "/home/ada/cache".into(),
            what: "a file is cut off".into(),
        });
        let cause = fault.source().and_then(|it| it.downcast_ref());
        assert!(matches!(cause, Some(IndexError::Damaged { .. })));
        assert!(!fault.text().contains("ada"), "{fault}");
    }
}
