//! Whose data it is.

use std::sync::Arc;

/// The longest name of an owner, in bytes.
const LONGEST: usize = 128;

/// Whose files, threads, contexts and votes are meant. A request has its owner from its token, and from
/// nothing else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
// Invariant: 1 to 128 printable ASCII characters without a space, the first no `#`.
pub struct Owner(Arc<str>);

impl Owner {
    /// The owner of this name, where it is one: 1 to 128 printable ASCII characters without a space. It does not begin with `#`,
    /// as a line of a file of tokens that begins so is a remark.
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

    /// What stands for the owner in names of folders and in logs: 64 hexadecimal digits.
    pub fn digest(&self) -> String {
        let key = blake3::derive_key("ctx-server 2026 owner", self.0.as_bytes());
        blake3::Hash::from_bytes(key).to_hex().to_string()
    }
}
