//! What a match names.

use std::cmp::Ordering;

use tree_sitter::Node;

use crate::patterns::Predicate;

/// A node that a pattern names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capture<'t> {
    pub(crate) node: Node<'t>,
    pub(crate) index: u32,
}

/// A match of a pattern.
#[derive(Debug)]
pub(crate) struct Match<'m, 't> {
    /// The index of the pattern.
    pub(crate) pattern: usize,
    /// What it names, in preorder.
    pub(crate) captures: &'m [Capture<'t>],
}

impl Match<'_, '_> {
    /// Whether the texts of all nodes that `predicate` is about are as it says.
    pub(crate) fn satisfies(&self, predicate: &Predicate, text: &str) -> bool {
        let about = |it: &&Capture<'_>| it.index == predicate.capture;
        self.captures.iter().filter(about).all(|it| {
            let text = text.as_bytes().get(it.node.byte_range());
            let mut values = predicate.values.iter();
            values.any(|value| Some(value.as_bytes()) == text) == predicate.is_one_of
        })
    }
}

/// Whether `right` begins where `left` has ended.
pub(crate) fn are_apart(left: &[Capture<'_>], right: &[Capture<'_>]) -> bool {
    match (left.last(), right.first()) {
        (Some(left), Some(right)) => right.node.start_byte() >= left.node.end_byte(),
        _ => false,
    }
}

/// Whether `left` contains all of `right`, and `right` all of `left`; both are in preorder.
pub(crate) fn compare(left: &[Capture<'_>], right: &[Capture<'_>]) -> (bool, bool) {
    let (mut contains, mut is_contained) = (true, true);
    let (mut lefts, mut rights) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let (Some(left), Some(right)) = (lefts.peek(), rights.peek()) else {
            contains &= rights.peek().is_none();
            is_contained &= lefts.peek().is_none();
            return (contains, is_contained);
        };
        let is_same_node = left.node.id() == right.node.id();
        let order = if is_same_node {
            Ordering::Equal
        } else {
            let by_start = left.node.start_byte().cmp(&right.node.start_byte());
            by_start.then(right.node.end_byte().cmp(&left.node.end_byte()))
        };
        if !(is_same_node && left.index == right.index) {
            is_contained &= order == Ordering::Greater;
            contains &= order == Ordering::Less;
        }
        if order != Ordering::Greater {
            lefts.next();
        }
        if order != Ordering::Less {
            rights.next();
        }
    }
}
