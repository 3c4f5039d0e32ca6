//! Votes of users on what they were shown: each counts once, and only for files that were shown to
//! them.

use ctx_citations::Cited;
use ctx_model::UnixSeconds;
use ctx_retrieve::{PortError, TaskScope, Usefulness, VOTE_MEMORY, Vote};

use crate::Service;
use crate::owner::{OwnerId, SigningKey};
use crate::ports::waited_for;

/// Why a vote does not count. `Display` is a fragment that follows "failed to …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedbackError {
    /// The handle is malformed.
    #[error("read the feedback handle: it is malformed")]
    Malformed,
    /// The handle was not issued by this service, or was issued to another owner.
    #[error("accept the feedback handle: it was not issued to this user")]
    Forged,
    /// The handle has expired.
    #[error("accept the feedback handle: it has expired")]
    Expired,
    /// The user has already voted on every file that the handle stands for.
    #[error("count the feedback: it was given before")]
    Repeated,
    /// The service has no signing key and issues no handles.
    #[error("accept the feedback handle: this service has no signing key and issues none")]
    NoSigningKey,
    /// There is no store for votes.
    #[error("keep the feedback: there is no store for it")]
    NoStore,
    /// The store failed to record the vote.
    #[error("keep the feedback")]
    Store(#[source] PortError),
}

/// The prefix of handles of this format.
const FORM: &str = "f2";
const DAY: i64 = 86_400;
/// The number of days that a handle is valid after the day on which it was issued.
const GOOD_FOR: i64 = 30;
// When a store forgets the key of a vote, every handle for it has expired, even if clocks differ by
// a day: that of the process that counted the vote, and that of the process that checks the
// handle's expiry.
const _: () = assert!(VOTE_MEMORY.as_secs() >= ((GOOD_FOR + 1 + 2) * DAY).cast_unsigned());
/// Takes the place of the label in the handle of a whole context. No label equals it.
const ALL: &str = "all";
/// Separates paths. No path contains it, since no name is empty.
const BETWEEN: &str = "//";
/// The most bytes of paths in the handle of a context; further files have only handles of their
/// own.
const LONGEST: usize = 16 << 10;

/// The day of `time`, in days since 1970.
fn day_of(time: UnixSeconds) -> i64 {
    time.get().div_euclid(DAY)
}

/// The subject of feedback: a file that one context showed to one owner, or all files of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown<'a> {
    /// The id of the context. Equal texts for other questions are other contexts.
    context: &'a str,
    /// Its label in the context.
    label: &'a str,
    /// The last day on which the handle is valid, in days since 1970.
    last_day: i64,
    /// The file, or all files separated by [`BETWEEN`].
    path: &'a str,
}

impl<'a> Shown<'a> {
    /// The handle: `f2.LABEL.CONTEXT.LAST_DAY.SIGNATURE.PATH`.
    fn handle(&self, key: &SigningKey, owner: &OwnerId) -> String {
        let Shown {
            context,
            label,
            last_day,
            path,
        } = self;
        let signature = self.signature(key, owner).to_hex();
        format!("{FORM}.{label}.{context}.{last_day}.{signature}.{path}")
    }

    /// Parses `handle`, and verifies that it was issued to `owner`.
    fn of(handle: &'a str, key: &SigningKey, owner: &OwnerId) -> Result<Self, FeedbackError> {
        let malformed = FeedbackError::Malformed;
        let mut parts = handle.splitn(6, '.');
        let mut next = || parts.next().ok_or(FeedbackError::Malformed);
        let (form, label, context) = (next()?, next()?, next()?);
        let (last_day, signature, path) = (next()?, next()?, next()?);
        let signature = blake3::Hash::from_hex(signature).map_err(|_| malformed.clone())?;
        let day: i64 = last_day.parse().map_err(|_| malformed.clone())?;
        if form != FORM || day.to_string() != last_day {
            return Err(malformed);
        }
        let shown = Shown {
            context,
            label,
            last_day: day,
            path,
        };
        // `blake3::Hash` compares in constant time.
        if shown.signature(key, owner) == signature {
            Ok(shown)
        } else {
            Err(FeedbackError::Forged)
        }
    }

    /// The key that identifies a vote: one per file of a context, whichever parts of the file were
    /// shown.
    fn vote_key(&self, path: &str, key: &SigningKey, owner: &OwnerId) -> String {
        let parts = [owner.as_str(), self.context, path].map(str::as_bytes);
        key.sign("ctx vote 1", &parts).to_hex().to_string()
    }

    /// The files that the handle stands for.
    fn paths(&self) -> Vec<&'a str> {
        match self.label {
            ALL => self
                .path
                .split(BETWEEN)
                .filter(|it| !it.is_empty())
                .collect(),
            _ => vec![self.path],
        }
    }

    fn signature(&self, key: &SigningKey, owner: &OwnerId) -> blake3::Hash {
        let last_day = self.last_day.to_string();
        let parts = [
            owner.as_str(),
            self.context,
            self.label,
            &last_day,
            self.path,
        ];
        key.sign("ctx feedback 2", &parts.map(str::as_bytes))
    }
}

impl Service {
    /// Counts the user's vote on what `handle` stands for: a file, by [`Cited::feedback`], or all
    /// files of a context, by [`crate::PrimeContext::feedback`]. Each file of a context counts
    /// once, by whichever handle; a file's usage count stays within bounds. `now` is the present
    /// time.
    ///
    /// A handle is valid for 30 days after the day on which it was issued. A store remembers a vote
    /// for longer than that, but not forever: a user who is shown the same context anew after a
    /// vote may vote on it again, at the earliest [`VOTE_MEMORY`] later.
    ///
    /// Must be called on a tokio runtime. Dropping the future does not stop the vote from being
    /// counted.
    ///
    /// # Errors
    /// [`FeedbackError::NoSigningKey`] if no handles are issued, [`FeedbackError::Forged`] for a
    /// handle that was issued to another owner or never, [`FeedbackError::Expired`], and
    /// [`FeedbackError::Repeated`] if all of the files were counted before; nothing is counted
    /// then.
    pub async fn feedback(
        &self,
        handle: &str,
        usefulness: Usefulness,
        now: UnixSeconds,
    ) -> Result<(), FeedbackError> {
        let signing_key = self
            .signing_key
            .as_ref()
            .ok_or(FeedbackError::NoSigningKey)?;
        let shown = Shown::of(handle, signing_key, &self.owner)?;
        if day_of(now) > shown.last_day {
            return Err(FeedbackError::Expired);
        }
        // If the clock is slow, the vote is dated no earlier than its handle.
        let at = now.max(UnixSeconds::new((shown.last_day - GOOD_FOR) * DAY));
        let port = self.ports.feedback.clone().ok_or(FeedbackError::NoStore)?;
        let vote = |path: &str| {
            let key = shown.vote_key(path, signing_key, &self.owner);
            Vote::new(key, path, usefulness, at)
        };
        let votes: Vec<Vote> = shown.paths().into_iter().map(vote).collect();
        let counted = async move { port.votes(&votes).await };
        match waited_for(TaskScope::current().detached(), counted).await {
            Ok(0) => Err(FeedbackError::Repeated),
            Ok(_) => Ok(()),
            Err(error) => Err(FeedbackError::Store(error)),
        }
    }

    /// Adds a feedback handle, issued at `now`, to each citation of a file in `context`.
    pub(crate) fn with_handles(
        &self,
        mut citations: Vec<Cited>,
        context: &str,
        now: UnixSeconds,
    ) -> Vec<Cited> {
        for cited in &mut citations {
            let path = cited.citation.file_path.as_deref();
            cited.feedback = path.and_then(|path| self.handle(context, &cited.id, path, now));
        }
        citations
    }

    /// The handle for feedback on all `files` that `context` shows; `None` if it shows none.
    pub(crate) fn context_handle(
        &self,
        context: &str,
        files: &[String],
        now: UnixSeconds,
    ) -> Option<String> {
        let mut paths = String::new();
        for path in files.iter().filter(|it| !it.contains(BETWEEN)) {
            if paths.len() + BETWEEN.len() + path.len() > LONGEST {
                break;
            }
            if !paths.is_empty() {
                paths.push_str(BETWEEN);
            }
            paths.push_str(path);
        }
        if paths.is_empty() {
            return None;
        }
        self.handle(context, ALL, &paths, now)
    }

    fn handle(&self, context: &str, label: &str, path: &str, now: UnixSeconds) -> Option<String> {
        let shown = Shown {
            context,
            label,
            last_day: day_of(now) + GOOD_FOR,
            path,
        };
        Some(shown.handle(self.signing_key.as_ref()?, &self.owner))
    }
}
