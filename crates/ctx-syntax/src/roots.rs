//! The kinds of nodes at which patterns of a query begin.
//!
//! A query cursor that runs over a whole tree keeps a state for each pattern that may begin at each
//! node, which costs about as much as the parse. Most nodes begin no pattern, and their kind shows
//! which do: so the tree is walked without the query, and the query is run at those nodes only.

use tree_sitter::{Language, Query};

/// What to do at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// No pattern begins here.
    Nothing,
    /// One pattern begins here, and only captures the node: the index of the capture.
    Capture(u32),
    /// The query has to be run here.
    Query,
}

/// What to do at each kind of node.
pub(crate) struct Roots(Vec<Root>);

impl Roots {
    /// The roots of `query`, whose text is `source`. An error names a pattern that does not begin
    /// with a kind of node; no query of this crate has one.
    pub(crate) fn of(grammar: &Language, query: &Query, source: &str) -> Result<Self, String> {
        let mut roots = vec![Root::Nothing; grammar.node_kind_count()];
        for pattern in 0..query.pattern_count() {
            let bytes = query.start_byte_for_pattern(pattern)..query.end_byte_for_pattern(pattern);
            let pattern = source.get(bytes).unwrap_or_default();
            let (kind, rest) = kind_of(pattern);
            let id = grammar.id_for_node_kind(kind, true);
            let root = roots
                .get_mut(usize::from(id))
                .filter(|_| id != 0 && grammar.node_kind_is_visible(id))
                .ok_or_else(|| format!("{pattern:?} begins with no kind of node"))?;
            let capture = rest
                .strip_prefix(") @")
                .and_then(|name| query.capture_index_for_name(name));
            *root = match (*root, capture) {
                (Root::Nothing, Some(capture)) => Root::Capture(capture),
                _ => Root::Query,
            };
        }
        Ok(Roots(roots))
    }

    /// What to do at a node of kind `id`.
    pub(crate) fn at(&self, id: u16) -> Root {
        self.0
            .get(usize::from(id))
            .copied()
            .unwrap_or(Root::Nothing)
    }
}

/// The kind that `pattern` begins with, and the rest of its text up to the line end.
fn kind_of(pattern: &str) -> (&str, &str) {
    let pattern = pattern.strip_prefix('(').unwrap_or_default();
    let end = pattern
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(pattern.len());
    let (kind, rest) = pattern.split_at(end);
    let rest = rest.split('\n').next().unwrap_or(rest).trim_end();
    (kind, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_begins_with_a_kind() {
        assert_eq!(kind_of("(comment) @comment\n"), ("comment", ") @comment"));
        assert_eq!(kind_of("(a b: (_) @name) @x"), ("a", " b: (_) @name) @x"));
        assert_eq!(kind_of("(_) @name"), ("_", ") @name"));
        assert_eq!(kind_of("[(a) (b)] @name"), ("", ""));
    }
}
