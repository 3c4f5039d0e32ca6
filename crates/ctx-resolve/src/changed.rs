//! Files that have changed since they were indexed: the definition that a hit names is looked for
//! in the present file.

use std::fmt;
use std::sync::Arc;

use ctx_model::{Chunk, LineSpan, Origin};
use ctx_source::{Text, is_hash};
use ctx_syntax::{Outline, Piece, lines, pieces};

/// Returns the hash ([`Text::unmasked_hash`]) of the text of a file that a store has indexed, if
/// known. Without such a function, hits are taken to refer to the present file.
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

    /// Whether the file at `path`, now `text`, had another text when it was indexed.
    pub(crate) fn is_of_another(&self, path: &str, text: &Text) -> bool {
        let hash_of = self.0.as_ref();
        let indexed = hash_of.and_then(|it| it(path));
        indexed.is_some_and(|it| it != *text.unmasked_hash())
    }
}

/// The parts of the present file.
#[derive(Debug)]
pub(crate) struct Changed(Vec<Piece>);

impl Changed {
    /// Cuts the text into parts. O(lines + symbols).
    pub(crate) fn new(text: &str, outline: &Outline) -> Self {
        Changed(pieces(&lines(text), outline))
    }

    /// The present lines of the definition that `chunk` names: of several with this name and kind
    /// of name, the nearest to `span`, and of two equally near the upper one. `None` if there is
    /// none, or the chunk has no name.
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

/// Whether a store gave the lines of `chunk` without any evidence: it has neither text nor a hash,
/// and no user asked for these lines.
pub(crate) fn is_by_lines(chunk: &Chunk) -> bool {
    let hash = chunk.content_hash.as_deref().filter(|it| is_hash(it));
    chunk.origin == Origin::Chunk && chunk.content.is_empty() && hash.is_none()
}

/// The message for a hit that was not found again.
pub(crate) fn why(path: &str, chunk: &Chunk) -> String {
    match name_of(chunk) {
        Some(name) => {
            format!("{path} has changed since it was indexed, and no longer has {name:?}")
        }
        None => {
            format!("{path} has changed since it was indexed: its lines cannot be found again")
        }
    }
}
