//! What a service keeps of the use of files: when they were shown, and votes on them.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use ctx_model::UnixSeconds;

use super::PortResult;

/// How useful files were before.
#[async_trait]
pub trait Usage: Send + Sync {
    /// How often each of these files was useful; files without a count may be missing.
    async fn counts(&self, paths: &[String]) -> PortResult<BTreeMap<String, u64>>;

    /// Records that these files were shown, at `now`; a later time already recorded is kept.
    async fn shown(&self, paths: &[String], now: UnixSeconds) -> PortResult<()>;

    /// The files that were shown last, the latest first, with their times; ties in descending order
    /// of their paths. A file that was removed from the store is missing, even after it comes back,
    /// until it is shown again; its usefulness count is kept.
    async fn recent(&self, limit: usize) -> PortResult<Vec<(String, UnixSeconds)>>;
}

/// The highest usefulness count of a file.
pub const MOST_USES: u64 = 10;

/// How long the key of a vote is remembered at least: 33 days.
pub const VOTE_MEMORY: Duration = Duration::from_hours(33 * 24);

/// Whether a file that was shown was useful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Usefulness {
    /// It was useful.
    Useful,
    /// It was not useful.
    NotUseful,
}

impl From<bool> for Usefulness {
    /// `true` stands for useful.
    fn from(is_useful: bool) -> Self {
        if is_useful {
            Usefulness::Useful
        } else {
            Usefulness::NotUseful
        }
    }
}

/// A user's vote on a file that was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vote {
    /// Identifies the vote: it counts once for as long as the key is remembered.
    pub key: String,
    /// The file.
    pub path: String,
    /// Whether the file was useful.
    pub usefulness: Usefulness,
    /// When it was given.
    pub at: UnixSeconds,
}

impl Vote {
    /// A vote.
    pub fn new(
        key: impl Into<String>,
        path: impl Into<String>,
        usefulness: Usefulness,
        at: UnixSeconds,
    ) -> Self {
        Vote {
            key: key.into(),
            path: path.into(),
            usefulness,
            at,
        }
    }

    /// Whether the file was useful.
    pub fn is_useful(&self) -> bool {
        self.usefulness == Usefulness::Useful
    }
}

/// Stores the votes of users on files they were shown.
#[async_trait]
pub trait Feedback: Send + Sync {
    /// Changes the count of [`Usage::counts`] up or down by one, within 0..=[`MOST_USES`], and
    /// returns whether it did: a vote with a remembered key changes nothing. The vote and its key
    /// are stored atomically. A store may forget a key once a vote comes more than
    /// [`VOTE_MEMORY`] after the vote with that key, by the times in the votes.
    async fn vote(&self, vote: &Vote) -> PortResult<bool>;

    /// Counts each of `votes` like [`Feedback::vote`], and returns how many counted. One by one,
    /// unless a store does better.
    async fn votes(&self, votes: &[Vote]) -> PortResult<usize> {
        let mut counted = 0;
        for vote in votes {
            counted += usize::from(self.vote(vote).await?);
        }
        Ok(counted)
    }
}
