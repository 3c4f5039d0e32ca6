//! Patterns of nodes, in the query language of tree-sitter.
//!
//! tree-sitter's own queries prove as they are read which patterns can match and which steps can
//! fail, from all tables of the grammar. That takes up to a second and a half per language and
//! process, nothing turns it off, and nothing here needs it: tests hold every query to it, and to
//! the matches that the library finds.
//!
//! A pattern becomes a list of steps, as in the library: one for each node it describes, in
//! preorder, with jumps over alternatives and optional parts. `matcher.rs` takes them.

use tree_sitter::Language;

use crate::pattern_parser;

/// The depth of the step after the last of a pattern.
pub(crate) const DONE: usize = usize::MAX;

/// A node that a pattern describes.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) wanted: Wanted,
    pub(crate) field: Field,
    /// Fields that the node must not have.
    pub(crate) without: Vec<u16>,
    pub(crate) captures: Vec<u32>,
    /// The number of nodes around it in the pattern; [`DONE`] after the last step.
    pub(crate) depth: usize,
    pub(crate) jump: Jump,
    /// Whether an anchor precedes it.
    pub(crate) is_immediate: bool,
    /// Whether an anchor follows it, and then the end of the node around it.
    pub(crate) is_last: bool,
    /// Whether a node that matches may have to be passed over for a later sibling.
    pub(crate) splits: bool,
}

/// The nodes that a step matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Any,
    Named,
    Kind(u16),
}

/// The field that a node has to be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Any, or none.
    Any,
    Of(u16),
    /// One that the grammar gives to hidden nodes with several nodes in them.
    Hidden(u16),
}

impl Field {
    /// Whether it is `field`.
    pub(crate) fn is_that_of(self, field: Option<u16>) -> bool {
        match self {
            Field::Any => false,
            Field::Of(id) | Field::Hidden(id) => field == Some(id),
        }
    }
}

/// Where a match may continue, other than at the step itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jump {
    Nowhere,
    /// At an alternative.
    Or(usize),
    /// After the step and what is in it, which are optional.
    Skip(usize),
    /// Only there: after the other alternatives.
    Always(usize),
}

impl Jump {
    /// The step it leads to.
    pub(crate) fn target(self) -> Option<usize> {
        match self {
            Jump::Nowhere => None,
            Jump::Or(step) | Jump::Skip(step) | Jump::Always(step) => Some(step),
        }
    }
}

/// What the text of a capture has to be.
#[derive(Debug)]
pub(crate) struct Predicate {
    pub(crate) capture: u32,
    pub(crate) values: Vec<String>,
    /// Whether it has to be one of `values`, rather than none.
    pub(crate) is_one_of: bool,
}

/// A pattern of a query.
#[derive(Debug, Default)]
pub(crate) struct Pattern {
    pub(crate) first_step: usize,
    pub(crate) predicates: Vec<Predicate>,
    /// Keys and values of `#set!`.
    pub(crate) settings: Vec<(String, String)>,
}

/// What to do at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// No pattern begins here.
    Nothing,
    /// One pattern begins here, and only captures the node: the index of the capture.
    Capture(u32),
    /// These patterns begin here: a range of [`Patterns::beginning`].
    Patterns(usize, usize),
}

/// The patterns of a query.
#[derive(Debug)]
pub(crate) struct Patterns {
    pub(crate) steps: Vec<Step>,
    /// In the order of the query.
    pub(crate) all: Vec<Pattern>,
    /// The names of captures.
    pub(crate) captures: Vec<String>,
    /// What to do at each kind of node.
    roots: Vec<Root>,
    /// Patterns in the order of the kinds they begin with.
    order: Vec<usize>,
}

impl Patterns {
    /// The patterns of the query `source`; an error says which part of it is not understood.
    pub(crate) fn of(grammar: &Language, source: &str) -> Result<Self, String> {
        let read = pattern_parser::read(grammar, source)?;
        let mut patterns = Patterns {
            steps: read.steps,
            all: read.patterns,
            captures: read.captures,
            roots: vec![Root::Nothing; grammar.node_kind_count()],
            order: Vec::new(),
        };
        patterns.find_splits();
        patterns.find_roots();
        Ok(patterns)
    }

    /// What to do at a node of kind `id`.
    pub(crate) fn at(&self, id: u16) -> Root {
        let root = self.roots.get(usize::from(id));
        root.copied().unwrap_or(Root::Nothing)
    }

    /// The patterns of a [`Root::Patterns`], in the order of the query.
    pub(crate) fn beginning(&self, from: usize, to: usize) -> &[usize] {
        self.order.get(from..to).unwrap_or_default()
    }

    /// A step passes a node over if a later sibling could give other captures, or could match where
    /// the node turns out not to. The library excludes nodes that its proof shows to match.
    fn find_splits(&mut self) {
        for index in 0..self.steps.len() {
            let step = &self.steps[index];
            let is_inside = |it: &&Step| it.depth != DONE && it.depth > step.depth;
            let mut inside = self.steps[index + 1..].iter().take_while(is_inside);
            let captures = !step.captures.is_empty() || inside.any(|it| !it.captures.is_empty());
            let can_fail = self.steps.get(index + 1).is_some_and(|next| {
                let is_held = next.depth == step.depth && next.is_immediate;
                next.depth != DONE && (next.depth > step.depth || is_held)
            });
            self.steps[index].splits = captures || can_fail;
        }
    }

    fn find_roots(&mut self) {
        let kind_of = |pattern: &Pattern| match self.steps[pattern.first_step].wanted {
            Wanted::Kind(kind) => Some(kind),
            Wanted::Any | Wanted::Named => None,
        };
        let kinds: Vec<_> = self.all.iter().map(kind_of).collect();
        self.order = (0..kinds.len()).collect();
        self.order.sort_by_key(|&it| kinds[it]);
        let mut from = 0;
        for same in self.order.chunk_by(|&a, &b| kinds[a] == kinds[b]) {
            let to = from + same.len();
            let kind = same.first().and_then(|&it| kinds[it]);
            if let Some(root) = kind.and_then(|it| self.roots.get_mut(usize::from(it))) {
                let only = match same {
                    &[only] => mere_capture(&self.steps, &self.all[only]),
                    _ => None,
                };
                *root = only.map_or(Root::Patterns(from, to), Root::Capture);
            }
            from = to;
        }
    }
}

/// The capture of a pattern that has nothing else.
fn mere_capture(steps: &[Step], pattern: &Pattern) -> Option<u32> {
    let [step, end, ..] = &steps[pattern.first_step..] else {
        return None;
    };
    let &[capture] = step.captures.as_slice() else {
        return None;
    };
    let is_alone = end.depth == DONE && step.without.is_empty();
    let is_plain = pattern.predicates.is_empty() && pattern.settings.is_empty();
    (is_alone && is_plain).then_some(capture)
}

#[cfg(all(test, feature = "rust"))]
#[path = "patterns_tests.rs"]
mod tests;
