//! Whose a request is, and what proves what was given out.

use std::fmt;
use std::sync::Arc;

/// Whose everything is that a service finds, keeps and counts. It comes from whoever checked the caller's
/// token, never from a request.
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

/// What labels and feedback handles are made with. Whoever does not know it can make neither. Keep it as long
/// as handles are to count; all services of one store share it.
///
/// There is none that holds unless it was made by chance, so there is no default:
///
/// ```compile_fail
/// let secret = ctx_service::Secret::default();
/// ```
#[derive(Clone, Copy)]
pub struct Secret([u8; 32]);

impl Secret {
    /// What labels are made with where nobody gave a secret. Everybody knows it, so no handle is made with it.
    pub(crate) const KNOWN: Secret = Secret([0; 32]);

    /// 32 bytes of chance, as the system's source of random numbers gives them (`getrandom::fill`), and not of a
    /// password.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Secret(bytes)
    }

    /// A hash of `parts`, each told apart by its length, that nobody else can compute. `purpose` keeps what is
    /// made for one use from being taken for another.
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

/// Feeds `parts` to `hasher` so that no two lists of parts feed the same bytes.
pub(crate) fn feed(hasher: &mut blake3::Hasher, purpose: &str, parts: &[&[u8]]) {
    for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
}
