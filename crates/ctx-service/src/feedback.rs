//! What a user says of what they were shown: counted once, and only for what they were shown.

use ctx_model::BuiltContext;
use ctx_retrieve::{Hold, PortError, REMEMBERED, Vote};

use crate::Service;
use crate::cited::Cited;
use crate::owner::{Owner, Secret};
use crate::ports::waited_for;

/// Why a vote does not count. `Display` is a fragment that follows "failed to …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedbackError {
    /// It is no handle.
    #[error("read the feedback handle: it is not of the form that contexts give out")]
    Malformed,
    /// It was not given out by this service, or to somebody else.
    #[error("accept the feedback handle: it was not given to this user")]
    Forged,
    /// It was given out too long ago.
    #[error("accept the feedback handle: it has expired")]
    Expired,
    /// The user has said so already, of every file in this context that is meant.
    #[error("count the feedback: it was given before")]
    Repeated,
    /// The service has no secret, and gives out no handles.
    #[error(
        "accept the feedback handle: none is given out here, as there is no secret to sign it by"
    )]
    NoSecret,
    /// There is nowhere to keep it.
    #[error("keep the feedback: there is no store for it")]
    NoStore,
    /// The store did not keep it.
    #[error("keep the feedback")]
    Store(#[source] PortError),
}

/// The word that handles of this form begin with.
const FORM: &str = "f2";
const DAY: i64 = 86_400;
/// A handle is good on the day it is given out, and for so many days after.
const GOOD_FOR: i64 = 30;
// What could be voted on with a key that a store forgets has expired, also where clocks differ by a day: of the one
// who counted the vote, and of the one who looks whether a handle has expired.
const _: () = assert!(REMEMBERED >= (GOOD_FOR + 1 + 2) * DAY);
/// Stands in the place of a label where all of a context is meant. No label is like it.
const ALL: &str = "all";
/// Stands between two paths. No path has it in it: there is no name between its slashes.
const BETWEEN: &str = "//";
/// So many bytes of paths are in the handle of a context; what it shows beyond has handles of its own.
const LONGEST: usize = 16 << 10;

/// What feedback is about: a file that one context showed to one owner, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown<'a> {
    /// The digest of the context.
    context: &'a str,
    /// What the context called it.
    label: &'a str,
    /// The last day on which the handle is good, since 1970.
    last_day: i64,
    /// The file, or all of them with [`BETWEEN`] between.
    path: &'a str,
}

impl<'a> Shown<'a> {
    /// What feedback on it is given with: `f2.LABEL.CONTEXT.LAST_DAY.SIGNATURE.PATH`.
    fn handle(&self, secret: &Secret, owner: &Owner) -> String {
        let Shown {
            context,
            label,
            last_day,
            path,
        } = self;
        let signature = self.signature(secret, owner).to_hex();
        format!("{FORM}.{label}.{context}.{last_day}.{signature}.{path}")
    }

    /// What `handle` is about, if it was given to `owner`.
    fn of(handle: &'a str, secret: &Secret, owner: &Owner) -> Result<Self, FeedbackError> {
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
        if shown.signature(secret, owner) == signature {
            Ok(shown)
        } else {
            Err(FeedbackError::Forged)
        }
    }

    /// What tells one vote from another: each file of a context has one, whatever parts of it were shown.
    fn vote_key(&self, path: &str, secret: &Secret, owner: &Owner) -> String {
        let parts = [owner.as_str(), self.context, path].map(str::as_bytes);
        secret.sign("ctx vote 1", &parts).to_hex().to_string()
    }

    /// The files that are meant.
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

    fn signature(&self, secret: &Secret, owner: &Owner) -> blake3::Hash {
        let last_day = self.last_day.to_string();
        let parts = [
            owner.as_str(),
            self.context,
            self.label,
            &last_day,
            self.path,
        ];
        secret.sign("ctx feedback 2", &parts.map(str::as_bytes))
    }
}

impl Service {
    /// Counts what the user says of what `handle` stands for: a file, by [`Cited::feedback`], or all files of a
    /// context, by [`crate::PrimeContext::feedback`]. Of a context each file counts once, whichever handle it
    /// is meant by; a file's uses stay within bounds. `now` is in seconds since 1970.
    ///
    /// A handle is good for 30 days after the day it was given out on. A store remembers a vote for longer than that,
    /// and not for good: only who is shown the same context anew, after a vote, may vote on it again, and no sooner
    /// than [`REMEMBERED`] seconds after.
    ///
    /// Must be called on a tokio runtime. To go away does not end it.
    ///
    /// # Errors
    /// [`FeedbackError::NoSecret`] where no handles are given out, [`FeedbackError::Forged`] for a handle of another owner's or of nobody's, [`FeedbackError::Expired`], and
    /// [`FeedbackError::Repeated`] where each of the files was counted before; nothing is counted then.
    pub async fn feedback(
        &self,
        handle: &str,
        is_useful: bool,
        now: i64,
    ) -> Result<(), FeedbackError> {
        let secret = self.secret.as_ref().ok_or(FeedbackError::NoSecret)?;
        let shown = Shown::of(handle, secret, &self.owner)?;
        if now.div_euclid(DAY) > shown.last_day {
            return Err(FeedbackError::Expired);
        }
        // By a clock that is late, a vote is no older than its handle.
        let at = now.max((shown.last_day - GOOD_FOR) * DAY);
        let port = self.ports.feedback.clone().ok_or(FeedbackError::NoStore)?;
        let vote = |path: &str| {
            let key = shown.vote_key(path, secret, &self.owner);
            Vote::new(key, path, is_useful, at)
        };
        let votes: Vec<Vote> = shown.paths().into_iter().map(vote).collect();
        let counted = async move { port.votes(&votes).await };
        match waited_for(Hold::current().unwatched(), counted).await {
            Ok(0) => Err(FeedbackError::Repeated),
            Ok(_) => Ok(()),
            Err(error) => Err(FeedbackError::Store(error)),
        }
    }

    /// Says with each citation of a file what feedback on it is given with, which is given out `now`.
    pub(crate) fn with_handles(
        &self,
        mut citations: Vec<Cited>,
        digest: &str,
        now: i64,
    ) -> Vec<Cited> {
        for cited in &mut citations {
            let path = cited.citation.file_path.as_deref();
            cited.feedback = path.and_then(|path| self.handle(digest, &cited.id, path, now));
        }
        citations
    }

    /// What feedback on all files that `built` shows is given with; nothing where it shows none.
    pub(crate) fn context_handle(&self, built: &BuiltContext, now: i64) -> Option<String> {
        let mut paths = String::new();
        for path in built.files.iter().filter(|it| !it.contains(BETWEEN)) {
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
        self.handle(&built.digest, ALL, &paths, now)
    }

    fn handle(&self, context: &str, label: &str, path: &str, now: i64) -> Option<String> {
        let shown = Shown {
            context,
            label,
            last_day: now.div_euclid(DAY) + GOOD_FOR,
            path,
        };
        Some(shown.handle(self.secret.as_ref()?, &self.owner))
    }
}
