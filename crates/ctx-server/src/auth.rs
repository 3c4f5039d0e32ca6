//! Who a token belongs to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use blake3::Hash;

use crate::chance::random;
use crate::{Owner, ServerError};

/// Tokens of fewer characters could be guessed; longer ones are no tokens of ours.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=512;
/// The most bytes of a file of tokens: each request is compared with all of them, and these are some 100,000.
const MOST_BYTES: u64 = 16 << 20;

/// The tokens that are let in, as hashes: no token can be had from it.
///
/// In a file there is one a line: the owner, the BLAKE3 hash of the token in 64 hexadecimal digits, and where
/// they apply `expires=SECONDS` since 1970 and `operator`, which opens `/metrics`. Empty lines and what
/// follows a `#` at the beginning of a line are passed over. No two lines have one hash.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    hash: Hash,
    identity: Identity,
    expires_at: Option<i64>,
}

/// What a token stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// Whose data it opens.
    pub owner: Owner,
    /// Whether it opens what is about all owners: the metrics.
    pub is_operator: bool,
}

/// Why a token is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is nobody's.
    #[error("the token is not known")]
    Unknown,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
}

impl Credentials {
    /// No token at all: everything is refused.
    pub fn none() -> Self {
        Credentials::default()
    }

    /// Reads the file at `path`, of 16 MiB at most. A pipe or a device is no file: whoever reads one may wait for ever.
    ///
    /// # Errors
    /// [`ServerError::TokenFile`], [`ServerError::TokenLine`], and [`ServerError::NoToken`] for a file without one.
    pub fn read(path: &Path) -> Result<Self, ServerError> {
        let text = text(path).map_err(|source| ServerError::TokenFile {
            path: path.to_owned(),
            source,
        })?;
        let read = parse(&text, Some(path))?;
        if read.is_empty() {
            return Err(ServerError::NoToken {
                path: path.to_owned(),
            });
        }
        Ok(read)
    }

    /// Reads the lines of a file of tokens.
    ///
    /// # Errors
    /// [`ServerError::TokenLine`].
    pub fn parse(text: &str) -> Result<Self, ServerError> {
        parse(text, None)
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nobody is let in.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Lets `token` in for `owner`, who has it from whoever had it before. One of fewer than 16 bytes or of more than 512 is never
    /// let in, whoever has it.
    pub fn add(&mut self, owner: Owner, token: &str, is_operator: bool) {
        self.entries.push(Entry {
            hash: blake3::hash(token.as_bytes()),
            identity: Identity { owner, is_operator },
            expires_at: None,
        });
    }

    /// A new token of 256 random bits, in 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`ServerError::Random`].
    pub fn generate() -> Result<String, ServerError> {
        let bytes = random().map_err(ServerError::Random)?;
        Ok(Hash::from_bytes(bytes).to_hex().to_string())
    }

    /// The line that lets `token` in for `owner`.
    pub fn line(owner: &Owner, token: &str) -> String {
        let hash = blake3::hash(token.as_bytes());
        format!("{} {}", owner.as_str(), hash.to_hex())
    }

    /// Whom `token` stands for at `now`, in seconds since 1970. O(tokens): each hash is compared, and each
    /// in constant time, so that the time says nothing of which came near.
    ///
    /// # Errors
    /// It is nobody's, or has expired.
    pub fn identify(&self, token: &str, now: i64) -> Result<&Identity, Refusal> {
        let is_token = LENGTHS.contains(&token.len());
        let hash = blake3::hash(token.as_bytes());
        let mut found = None;
        for entry in &self.entries {
            // `Hash` compares in constant time.
            if entry.hash == hash {
                found = Some(entry);
            }
        }
        match found.filter(|_| is_token) {
            None => Err(Refusal::Unknown),
            Some(entry) if entry.expires_at.is_some_and(|at| at <= now) => Err(Refusal::Expired),
            Some(entry) => Ok(&entry.identity),
        }
    }
}

/// Who is let in by a [`Server`](crate::Server), now and after each [`replace`](LiveCredentials::replace). Clones are of
/// the same server.
#[derive(Clone, Debug, Default)]
pub struct LiveCredentials(Arc<RwLock<Credentials>>);

impl LiveCredentials {
    pub(crate) fn new(credentials: Credentials) -> Self {
        LiveCredentials(Arc::new(RwLock::new(credentials)))
    }

    /// Lets in who is among `credentials`, and nobody else, from the next request on. What was let in before is let finish.
    pub fn replace(&self, credentials: Credentials) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = credentials;
    }

    /// As [`Credentials::identify`] has it.
    pub(crate) fn identify(&self, token: &str, now: i64) -> Result<Identity, Refusal> {
        let credentials = self.0.read().unwrap_or_else(PoisonError::into_inner);
        credentials.identify(token, now).cloned()
    }
}

/// The text of the file at `path`.
fn text(path: &Path) -> io::Result<String> {
    let there = fs::metadata(path)?;
    if there.is_dir() {
        return Err(io::Error::other("it is a folder, not a file"));
    }
    // It is not opened either: that waits for somebody to write to a pipe.
    if !there.is_file() {
        return Err(io::Error::other("it is a pipe or a device, not a file"));
    }
    let mut text = String::new();
    // One more tells that there is more.
    let mut file = File::open(path)?.take(MOST_BYTES + 1);
    file.read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let told = format!("it has more than {} MiB", MOST_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
    }
    Ok(text)
}

/// Reads the lines of a file of tokens, which is at `path`, if anywhere.
fn parse(text: &str, path: Option<&Path>) -> Result<Credentials, ServerError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut lines = BTreeMap::new();
    for (line_number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |what| ServerError::TokenLine {
            path: path.map(Path::to_owned),
            line_number,
            what,
        };
        let entry = Entry::parse(line).map_err(|what| wrong(what.into()))?;
        if let Some(first) = lines.insert(*entry.hash.as_bytes(), line_number) {
            let what = format!("it has the hash of line {first}");
            return Err(wrong(Cow::Owned(what)));
        }
        entries.push(entry);
    }
    Ok(Credentials { entries })
}

impl Entry {
    fn parse(line: &str) -> Result<Entry, &'static str> {
        let mut words = line.split_ascii_whitespace();
        let owner = words.next().and_then(Owner::new);
        let owner = owner.ok_or("it does not begin with an owner of printable ASCII")?;
        let hash = words.next().and_then(|it| Hash::from_hex(it).ok());
        let hash = hash.ok_or("its second word is no BLAKE3 hash of 64 hexadecimal digits")?;
        let mut entry = Entry {
            hash,
            identity: Identity {
                owner,
                is_operator: false,
            },
            expires_at: None,
        };
        for word in words {
            match word.split_once('=') {
                None if word == "operator" => entry.identity.is_operator = true,
                Some(("expires", at)) => {
                    let at = at.parse().map_err(|_| "expires is no number of seconds")?;
                    entry.expires_at = Some(at);
                }
                _ => return Err("a word is neither operator nor expires=SECONDS"),
            }
        }
        Ok(entry)
    }
}
