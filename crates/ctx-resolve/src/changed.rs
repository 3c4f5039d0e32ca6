//! Files that have changed since a store indexed them: what a hit names is looked for in the file as it is now.

use std::fmt;
use std::sync::Arc;

use ctx_model::{Chunk, LineSpan, Origin};
use ctx_source::{Text, is_hash};
use ctx_syntax::{Outline, Piece, lines, pieces};

/// Tells the hash ([`Text::hash`]) of the text that a store has indexed of a file, where it knows; without one to tell, hits are
/// of the file as it is.
#[derive(Clone, Default)]
pub(crate) struct Indexed(Option<Arc<HashOf>>);

type HashOf = dyn Fn(&str) -> Option<[u8; 32]> + Send + Sync;

impl fmt::Debug for Indexed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Indexed").field(&self.0.is_some()).finish()
    }
}

impl Indexed {
    pub(crate) fn new(hash_of: impl Fn(&str) -> Option<[u8; 32]> + Send + Sync + 'static) -> Self {
        Indexed(Some(Arc::new(hash_of)))
    }

    /// Whether the file at `path`, which is `text` now, was another when it was indexed.
    pub(crate) fn is_of_another(&self, path: &str, text: &Text) -> bool {
        let hash_of = self.0.as_ref();
        let indexed = hash_of.and_then(|it| it(path));
        indexed.is_some_and(|it| it != *text.hash())
    }
}

/// The parts of a file as it is now.
#[derive(Debug)]
pub(crate) struct Changed(Vec<Piece>);

impl Changed {
    /// O(lines + symbols).
    pub(crate) fn new(text: &str, outline: &Outline) -> Self {
        Changed(pieces(&lines(text), outline))
    }

    /// Where what `chunk` names is now: of several that are called so and are of its kind, the nearest, and of two as
    /// near the upper. `None` for lines without a name.
    pub(crate) fn place(&self, chunk: &Chunk, span: LineSpan) -> Option<LineSpan> {
        let name = name_of(chunk)?;
        let is_it = |it: &&Piece| {
            it.qualified_name.as_ref().or(it.name.as_ref()) == Some(name)
                && it.qualified_name.is_some() == chunk.qualified_name.is_some()
        };
        let found = self.0.iter().filter(is_it).map(|it| it.span);
        found.min_by_key(|it| (it.start().abs_diff(span.start()), it.start()))
    }
}

fn name_of(chunk: &Chunk) -> Option<&String> {
    chunk.qualified_name.as_ref().or(chunk.name.as_ref())
}

/// Whether the lines of `chunk` are those that a store told: neither its text nor somebody who asked for it says which
/// lines they are.
pub(crate) fn is_by_lines(chunk: &Chunk) -> bool {
    let hash = chunk.content_hash.as_deref().filter(|it| is_hash(it));
    chunk.origin == Origin::Chunk && chunk.content.is_empty() && hash.is_none()
}

/// What a reader is told of a hit that was not found again.
pub(crate) fn why(path: &str, chunk: &Chunk) -> String {
    match name_of(chunk) {
        Some(name) => format!("{path} has changed since it was indexed, and has no {name:?} now"),
        None => {
            format!("{path} has changed since it was indexed: which lines are meant is not known")
        }
    }
}
