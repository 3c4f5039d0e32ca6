//! The owner of stored data.

use std::sync::Arc;

/// The longest name of an owner, in bytes.
const LONGEST: usize = 128;

/// The owner of files, threads, contexts and votes. A request's owner is determined by its token,
/// and by nothing else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
// Invariant: 1 to 128 printable ASCII characters without a space, the first no `#`.
pub struct Owner(Arc<str>);

impl Owner {
    /// An owner of this name, if it is valid: 1 to 128 printable ASCII characters without a space.
    /// It may not begin with `#`, which begins a comment in a token file.
    pub fn new(name: &str) -> Option<Self> {
        let is_name =
            (1..=LONGEST).contains(&name.len()) && name.bytes().all(|it| it.is_ascii_graphic());
        let is_remark = name.starts_with('#');
        (is_name && !is_remark).then(|| Owner(Arc::from(name)))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Identifies the owner in folder names and logs: 64 hexadecimal digits.
    pub fn digest(&self) -> String {
        let key = blake3::derive_key("ctx-server 2026 owner", self.0.as_bytes());
        blake3::Hash::from_bytes(key).to_hex().to_string()
    }
}
