//! Bearer tokens, and which owner each belongs to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use blake3::Hash;

use crate::random::random;
use crate::{Owner, ServerError};
use ctx_model::UnixSeconds;

/// The accepted lengths of a token, in bytes: shorter ones could be guessed; longer ones were not
/// issued by this server.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=512;
/// The most bytes of a token file, which is room for some 100,000 tokens; each request is compared
/// with all of them.
const MOST_BYTES: u64 = 16 << 20;

/// The accepted tokens, stored as hashes: no token can be recovered from them.
///
/// A token file has one token per line: the owner, the BLAKE3 hash of the token in 64 hexadecimal
/// digits, and optionally `expires=SECONDS` since 1970 and `operator`, which grants access to
/// `/metrics`. Empty lines and lines that begin with `#` are ignored. No two lines have the same
/// hash.
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

/// Whom a token identifies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The owner whose data it gives access to.
    pub owner: Owner,
    /// Whether it gives access to the metrics, which cover all owners.
    pub is_operator: bool,
}

/// Why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No owner has this token.
    #[error("the token is unknown")]
    Unknown,
    /// It has expired.
    #[error("the token has expired")]
    Expired,
}

impl Credentials {
    /// No token at all: every request is rejected.
    pub fn none() -> Self {
        Credentials::default()
    }

    /// Reads the token file at `path`, of at most 16 MiB. A pipe or a device is refused, because
    /// reading one may block forever.
    ///
    /// # Errors
    /// [`ServerError::TokenFile`], [`ServerError::TokenLine`], and [`ServerError::NoToken`] for a
    /// file without tokens.
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

    /// Parses the lines of a token file.
    ///
    /// # Errors
    /// [`ServerError::TokenLine`].
    pub fn parse(text: &str) -> Result<Self, ServerError> {
        parse(text, None)
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Accepts `token` for `owner`, in place of any owner that had it before. A token of fewer than
    /// 16 or more than 512 bytes is never accepted.
    pub fn add(&mut self, owner: Owner, token: &str) {
        self.entries.push(Entry::new(owner, token));
    }

    /// Same as [`add`](Credentials::add), for an operator, who may also read the metrics, which
    /// cover all owners.
    pub fn add_operator(&mut self, owner: Owner, token: &str) {
        let mut entry = Entry::new(owner, token);
        entry.identity.is_operator = true;
        self.entries.push(entry);
    }

    /// Generates a token of 256 random bits, in 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`ServerError::Random`].
    pub fn generate() -> Result<String, ServerError> {
        let bytes = random().map_err(ServerError::Random)?;
        Ok(Hash::from_bytes(bytes).to_hex().to_string())
    }

    /// The line of a token file that accepts `token` for `owner`.
    pub fn line(owner: &Owner, token: &str) -> String {
        let hash = blake3::hash(token.as_bytes());
        format!("{} {}", owner.as_str(), hash.to_hex())
    }

    /// Returns whom `token` identifies at `now`. O(tokens): every hash is
    /// compared, each in constant time, so that the time does not show how close a guess came.
    ///
    /// # Errors
    /// The token is unknown, or has expired.
    pub fn identify(&self, token: &str, now: UnixSeconds) -> Result<&Identity, Refusal> {
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
            Some(entry) if entry.expires_at.is_some_and(|at| at <= now.get()) => {
                Err(Refusal::Expired)
            }
            Some(entry) => Ok(&entry.identity),
        }
    }
}

/// The tokens that a [`Server`](crate::Server) accepts, now and after each
/// [`replace`](LiveCredentials::replace). Clones share the state of one server.
#[derive(Clone, Debug, Default)]
pub struct LiveCredentials(Arc<RwLock<Credentials>>);

impl LiveCredentials {
    pub(crate) fn new(credentials: Credentials) -> Self {
        LiveCredentials(Arc::new(RwLock::new(credentials)))
    }

    /// Accepts exactly `credentials` from the next request on. Requests that were already accepted
    /// may finish.
    pub fn replace(&self, credentials: Credentials) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = credentials;
    }

    /// Same as [`Credentials::identify`], on the current credentials.
    pub(crate) fn identify(&self, token: &str, now: UnixSeconds) -> Result<Identity, Refusal> {
        let credentials = self.0.read().unwrap_or_else(PoisonError::into_inner);
        credentials.identify(token, now).cloned()
    }
}

/// Reads the text of the file at `path`.
fn text(path: &Path) -> io::Result<String> {
    let there = fs::metadata(path)?;
    if there.is_dir() {
        return Err(io::Error::other("it is a folder, not a file"));
    }
    // It is not even opened: opening a pipe blocks until it has a writer.
    if !there.is_file() {
        return Err(io::Error::other("it is a pipe or a device, not a file"));
    }
    let mut text = String::new();
    // One byte more shows that the file is too large.
    let mut file = File::open(path)?.take(MOST_BYTES + 1);
    file.read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let told = format!("it is larger than {} MiB", MOST_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
    }
    Ok(text)
}

/// Parses the lines of a token file; `path` is where they were read from, if from a file.
fn parse(text: &str, path: Option<&Path>) -> Result<Credentials, ServerError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut lines = BTreeMap::new();
    // Some editors put a mark before the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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
            let what = format!("it has the same hash as line {first}");
            return Err(wrong(Cow::Owned(what)));
        }
        entries.push(entry);
    }
    Ok(Credentials { entries })
}

impl Entry {
    fn new(owner: Owner, token: &str) -> Entry {
        Entry {
            hash: blake3::hash(token.as_bytes()),
            identity: Identity {
                owner,
                is_operator: false,
            },
            expires_at: None,
        }
    }

    fn parse(line: &str) -> Result<Entry, &'static str> {
        let mut words = line.split_ascii_whitespace();
        let owner = words.next().and_then(Owner::new);
        let owner = owner.ok_or("it does not begin with an owner of printable ASCII")?;
        let hash = words.next().and_then(|it| Hash::from_hex(it).ok());
        let hash = hash.ok_or("its second word is not a BLAKE3 hash of 64 hexadecimal digits")?;
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
                    let at = at
                        .parse()
                        .map_err(|_| "expires is not a number of seconds")?;
                    entry.expires_at = Some(at);
                }
                _ => return Err("a word is neither operator nor expires=SECONDS"),
            }
        }
        Ok(entry)
    }
}
