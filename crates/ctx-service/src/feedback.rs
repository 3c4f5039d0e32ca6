//! What a user says of what they were shown: counted once, and only for what they were shown.

use ctx_retrieve::PortError;

use crate::owner::{Owner, Secret};

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
    /// The user has said so of this file in this context already.
    #[error("count the feedback: it was given before")]
    Repeated,
    /// There is nowhere to keep it.
    #[error("keep the feedback: there is no store for it")]
    NoStore,
    /// The store did not keep it.
    #[error("keep the feedback")]
    Store(#[source] PortError),
}

/// The word that handles of this form begin with.
const FORM: &str = "f1";

/// What feedback is about: a file that one context showed to one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown<'a> {
    /// The digest of the context.
    pub(crate) context: &'a str,
    /// What the context called it.
    pub(crate) label: &'a str,
    /// The file.
    pub(crate) path: &'a str,
}

impl<'a> Shown<'a> {
    /// What feedback on it is given with: `f1.LABEL.CONTEXT.SIGNATURE.PATH`.
    pub(crate) fn handle(&self, secret: &Secret, owner: &Owner) -> String {
        let Shown {
            context,
            label,
            path,
        } = self;
        let signature = self.signature(secret, owner).to_hex();
        format!("{FORM}.{label}.{context}.{signature}.{path}")
    }

    /// What `handle` is about, if it was given to `owner`.
    pub(crate) fn of(
        handle: &'a str,
        secret: &Secret,
        owner: &Owner,
    ) -> Result<Self, FeedbackError> {
        let mut parts = handle.splitn(5, '.');
        let mut next = || parts.next().ok_or(FeedbackError::Malformed);
        let (form, label, context, signature, path) = (next()?, next()?, next()?, next()?, next()?);
        let signature = blake3::Hash::from_hex(signature).map_err(|_| FeedbackError::Malformed)?;
        if form != FORM {
            return Err(FeedbackError::Malformed);
        }
        let shown = Shown {
            context,
            label,
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
    pub(crate) fn vote_key(&self, secret: &Secret, owner: &Owner) -> String {
        let parts = [owner.as_str(), self.context, self.path].map(str::as_bytes);
        secret.sign("ctx vote 1", &parts).to_hex().to_string()
    }

    fn signature(&self, secret: &Secret, owner: &Owner) -> blake3::Hash {
        let parts = [owner.as_str(), self.context, self.label, self.path].map(str::as_bytes);
        secret.sign("ctx feedback 1", &parts)
    }
}
