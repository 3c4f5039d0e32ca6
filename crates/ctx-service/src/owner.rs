//! The owner of a request, and the key that authenticates what was issued to them.

use std::fmt;
use std::sync::Arc;

/// Names the owner of everything that a service finds, stores and counts: any text. It must come
/// from the code that verified the caller's token, never from a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(Arc<str>);

impl OwnerId {
    /// The owner of this name.
    pub fn new(name: &str) -> Self {
        OwnerId(Arc::from(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The key for labels and feedback handles, which cannot be forged without it. Keep it for as long
/// as handles are to be valid; all services of one store share it.
///
/// A key is only safe if it is random, so there is no default:
///
/// ```compile_fail
/// let key = ctx_service::SigningKey::default();
/// ```
#[derive(Clone, Copy)]
pub struct SigningKey([u8; 32]);

impl SigningKey {
    /// Makes labels if no key was given. Everybody knows it, so no handle is made with it.
    pub(crate) const KNOWN: SigningKey = SigningKey([0; 32]);

    /// 32 random bytes from the operating system (`getrandom::fill`), not derived from a password.
    pub const fn new(bytes: [u8; 32]) -> Self {
        SigningKey(bytes)
    }

    /// A keyed hash of `parts` and their lengths. `purpose` prevents a value made for one use from
    /// being accepted for another.
    pub(crate) fn sign(&self, purpose: &str, parts: &[&[u8]]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        feed(&mut hasher, purpose, parts);
        hasher.finalize()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

/// Hashes `parts` with their lengths, so that no two lists of parts hash the same bytes.
pub(crate) fn feed(hasher: &mut blake3::Hasher, purpose: &str, parts: &[&[u8]]) {
    for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
}
