//! The owner of a request, and the secret that authenticates what was issued to them.

use std::fmt;
use std::sync::Arc;

/// The owner of everything that a service finds, stores and counts. It must come from the code that
/// verified the caller's token, never from a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// The owner of this name.
    pub fn new(name: &str) -> Self {
        Owner(Arc::from(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The key for labels and feedback handles, which cannot be forged without it. Keep it for as long
/// as handles are to be valid; all services of one store share it.
///
/// A secret is only safe if it is random, so there is no default:
///
/// ```compile_fail
/// let secret = ctx_service::Secret::default();
/// ```
#[derive(Clone, Copy)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Makes labels if no secret was given. Everybody knows it, so no handle is made with it.
    pub(crate) const KNOWN: Secret = Secret([0; 32]);

    /// 32 random bytes from the operating system (`getrandom::fill`), not derived from a password.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Secret(bytes)
    }

    /// A keyed hash of `parts` and their lengths. `purpose` prevents a value made for one use from
    /// being accepted for another.
    pub(crate) fn sign(&self, purpose: &str, parts: &[&[u8]]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        feed(&mut hasher, purpose, parts);
        hasher.finalize()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Hashes `parts` with their lengths, so that no two lists of parts hash the same bytes.
pub(crate) fn feed(hasher: &mut blake3::Hasher, purpose: &str, parts: &[&[u8]]) {
    for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
}
