//! How the program ends when it cannot do what it was asked to.

use std::fmt;

use ctx::assemble::AssembleError;
use ctx::budget::BudgetError;
use ctx::format::FormatError;
use ctx::tokens::TokensError;
use serde_json::{Value, json};

/// The exit codes: part of the interface, documented in `--help` and in the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Output or the index could not be written, or the program itself failed.
    Failure = 1,
    /// The arguments are invalid.
    Usage = 2,
    /// The input is invalid.
    Input = 3,
    /// No context fits the budget.
    Budget = 4,
    /// The user cancelled.
    Cancelled = 5,
    /// A receipt does not match.
    Refuted = 6,
}

/// Why there is no answer: what failed, a hint, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
}

impl Exit {
    /// The kind of failure, in one word.
    fn word(self) -> &'static str {
        match self {
            Exit::Failure => "failure",
            Exit::Usage => "usage",
            Exit::Input => "input",
            Exit::Budget => "budget",
            Exit::Cancelled => "cancelled",
            Exit::Refuted => "refuted",
        }
    }
}

impl Failure {
    /// The failure as JSON. If a budget is too small, it has the same fields as the server's
    /// problems.
    pub(crate) fn json(&self) -> Value {
        let mut told = json!({
            "type": self.exit.word(),
            "detail": format!("{:#}", self.error),
            "exitCode": self.exit as u8,
        });
        if let Some(hint) = &self.hint {
            told["hint"] = hint.as_str().into();
        }
        let cause = self.error.downcast_ref::<BudgetError>();
        if let Some(BudgetError::TooSmall {
            needed,
            available,
            header,
            footer,
            notices,
            pinned,
            ..
        }) = cause
        {
            told["needed"] = needed.get().into();
            told["available"] = available.get().into();
            told["breakdown"] = json!({
                "header": header.get(),
                "footer": footer.get(),
                "notices": notices.get(),
                "pinned": pinned.get(),
            });
        }
        if let Some(smallest) = cause.and_then(BudgetError::smallest) {
            told["smallestMaxTokens"] = smallest.get().into();
        }
        told
    }

    /// A failure with the chain of causes of `error`.
    fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Failure {
            exit,
            error: error.into(),
            hint: None,
        }
    }

    fn message(exit: Exit, message: impl fmt::Display) -> Self {
        Failure::new(exit, anyhow::anyhow!("{message}"))
    }

    pub(crate) fn input(message: impl fmt::Display) -> Self {
        Failure::message(Exit::Input, message)
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Failure::message(Exit::Usage, message)
    }

    /// A failure of something other than the input: the disk, another process.
    pub(crate) fn program(message: impl fmt::Display) -> Self {
        Failure::message(Exit::Failure, message)
    }

    pub(crate) fn cancelled() -> Self {
        Failure::message(Exit::Cancelled, "cancelled")
    }

    /// What was verified does not match, according to these checks.
    pub(crate) fn refuted(checks: &str) -> Self {
        let message = format!("the receipt does not hold: {checks}");
        Failure::message(Exit::Refuted, message).with_hint(
            "the context, the receipt or the files have changed; build the context again",
        )
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Standard output could not be written.
    pub(crate) fn output(error: std::io::Error) -> Self {
        let error = anyhow::Error::new(error).context("failed to write to standard output");
        Failure::new(Exit::Failure, error).with_hint("is the disk full?")
    }

    /// Whether the reader of the output closed it, as `head` does, which is not an error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

impl From<AssembleError> for Failure {
    fn from(error: AssembleError) -> Self {
        match error {
            AssembleError::Cancelled => Failure::cancelled(),
            AssembleError::Budget(error) => error.into(),
            AssembleError::Format(error) => error.into(),
            AssembleError::Tokens(error) => error.into(),
            error @ (AssembleError::Model(_) | AssembleError::DuplicateId { .. }) => {
                Failure::new(Exit::Input, error)
                    .with_hint("each chunk needs a unique id, and a path must not be empty")
            }
            error @ AssembleError::TooLong { .. } => Failure::new(Exit::Budget, error)
                .with_hint("give a smaller --max-tokens or a shorter --separator"),
            error @ AssembleError::PreviousDigest { .. } => Failure::new(Exit::Input, error)
                .with_hint("give --previous the unchanged receipt of an earlier run"),
            other => Failure::new(Exit::Failure, other),
        }
    }
}

impl From<BudgetError> for Failure {
    fn from(error: BudgetError) -> Self {
        let hint = match &error {
            BudgetError::Cancelled => return Failure::cancelled(),
            BudgetError::TooSmall { .. } => {
                let less = "reduce --reserve, --header and --footer";
                match error.smallest() {
                    Some(smallest) => format!("give --max-tokens {smallest} or more, or {less}"),
                    None => less.to_owned(),
                }
            }
            BudgetError::TooManyPins { pinned, .. } => {
                format!("give --max-chunks {pinned} or more, or pin fewer chunks")
            }
            _ => "give a larger --max-tokens, or pin fewer chunks".to_owned(),
        };
        Failure::new(Exit::Budget, error).with_hint(hint)
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Failure::new(Exit::Input, error)
            .with_hint("change --header, --footer or --separator, or choose another --format")
    }
}

impl From<TokensError> for Failure {
    fn from(error: TokensError) -> Self {
        let hint = match &error {
            TokensError::UnknownName { near, .. } => match near.first() {
                Some(name) => format!("try --counter {name}"),
                None => {
                    "try --counter o200k_base, gpt-4o, character-based or word-based".to_owned()
                }
            },
            TokensError::NameTaken { .. } => "give each --tokenizer a different name".to_owned(),
            TokensError::FeatureOff { .. } => "build with --features tokenizer-json".to_owned(),
            _ => "check the path of the tokenizer".to_owned(),
        };
        Failure::new(Exit::Input, error).with_hint(hint)
    }
}
