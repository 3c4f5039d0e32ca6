//! Hash keys made from shared parts, without copying paths.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::ports::Part;

/// A part that is equal to any other of its file; looked up by path.
#[derive(Debug)]
pub(crate) struct ByPath(pub(crate) Arc<Part>);

impl Borrow<str> for ByPath {
    fn borrow(&self) -> &str {
        &self.0.path
    }
}

impl PartialEq for ByPath {
    fn eq(&self, other: &Self) -> bool {
        self.0.path == other.0.path
    }
}

impl Eq for ByPath {}

impl Hash for ByPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.path.hash(state);
    }
}

/// A part that is equal to any other of the same key, shared or copied.
#[derive(Debug)]
pub(crate) struct ByKey(pub(crate) Arc<Part>);

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.key() == other.0.key()
    }
}

impl Eq for ByKey {}

impl Hash for ByKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key().hash(state);
    }
}
