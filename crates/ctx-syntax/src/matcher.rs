//! Finds matches of patterns that begin at one node.
//!
//! The nodes in it are visited in preorder, as deep as patterns reach, with a state for each way in
//! which a pattern has matched so far. This follows the library's `query.c`, in its order, since
//! what it takes for the same match depends on what is found when.

use tree_sitter::{Node, TreeCursor};

use crate::Fallback;
use crate::captures::{Capture, Match, are_apart, compare};
use crate::patterns::{DONE, Field, Jump, Patterns, Step, Wanted};
use crate::places::{Later, Place, places_in};
use crate::work::Work;

/// More states at once come from an explosion of the patterns, not from a rich file.
const MOST_STATES: usize = 4096;

/// A step of [`Work`] is this many operations of a matcher.
const OPERATIONS: usize = 1000;

/// A way in which a pattern has matched so far.
#[derive(Debug)]
struct State<'t> {
    pattern: usize,
    /// The step that is next.
    step: usize,
    captures: Vec<Capture<'t>>,
    /// Whether the very next node has to match.
    is_seeking: bool,
    /// Whether an optional part before the step was left out, with which its anchor is void.
    has_skipped: bool,
    /// Whether it may yet turn out to be a part of a longer match.
    is_deferred: bool,
}

/// Finds matches; it is reused from node to node, with what it has allocated.
pub(crate) struct Matcher<'p, 't> {
    patterns: &'p Patterns,
    cursor: TreeCursor<'t>,
    /// In the order of the patterns.
    states: Vec<State<'t>>,
    /// Lists of captures to be used again.
    spare: Vec<Vec<Capture<'t>>>,
    /// The children at each depth.
    places: Vec<Vec<Place<'t>>>,
    operations: usize,
}

/// What a run is bounded by, and what takes its matches.
struct Run<'r> {
    work: &'r mut Work,
    found: &'r mut dyn FnMut(&Match<'_, '_>),
}

impl<'p, 't> Matcher<'p, 't> {
    /// A matcher for the tree around `node`.
    pub(crate) fn new(patterns: &'p Patterns, node: Node<'t>) -> Self {
        Matcher {
            patterns,
            cursor: node.walk(),
            states: Vec::new(),
            spare: Vec::new(),
            places: Vec::new(),
            operations: 0,
        }
    }

    /// Passes the matches of `beginning` that begin at `node` to `found`, whatever their
    /// predicates. O(nodes · states²), and few patterns have more than a handful of states at once.
    pub(crate) fn run(
        &mut self,
        node: Node<'t>,
        beginning: &[usize],
        work: &mut Work,
        found: &mut dyn FnMut(&Match<'_, '_>),
    ) -> Result<(), Fallback> {
        self.operations = 0;
        for &pattern in beginning {
            self.states.push(State {
                pattern,
                step: self.patterns.all[pattern].first_step,
                captures: self.spare.pop().unwrap_or_default(),
                is_seeking: true,
                has_skipped: false,
                is_deferred: false,
            });
        }
        let is_done = self.visit(Place::alone(node), 0, &mut Run { work, found });
        while let Some(state) = self.states.pop() {
            self.release(state);
        }
        if is_done { Ok(()) } else { work.result() }
    }

    /// Visits a node and those in it; `false` if the work was stopped.
    fn visit(&mut self, place: Place<'t>, depth: usize, run: &mut Run<'_>) -> bool {
        let mut has_changed = false;
        let mut at = 0;
        while at < self.states.len() {
            self.states[at].is_deferred = false;
            if self.step_of(at).depth == depth {
                has_changed = true;
                at += self.advance(at, place);
            } else {
                at += 1;
            }
        }
        if self.states.len() > MOST_STATES {
            run.work.give_up();
            return false;
        }
        // If no state has changed, those that are not done have all been compared before.
        if has_changed || (0..self.states.len()).any(|it| self.step_of(it).depth == DONE) {
            self.settle(run);
        }
        if !self.count(run) {
            return false;
        }
        let is_deeper = |it: &State<'_>| {
            let next = self.patterns.steps[it.step].depth;
            next != DONE && next > depth
        };
        if self.states.iter().any(is_deeper) && !self.visit_children(place.node, depth, run) {
            return false;
        }
        self.leave(depth, run);
        self.count(run)
    }

    fn visit_children(&mut self, node: Node<'t>, depth: usize, run: &mut Run<'_>) -> bool {
        if self.places.len() <= depth {
            self.places.resize_with(depth + 1, Vec::new);
        }
        let mut places = std::mem::take(&mut self.places[depth]);
        places_in(&mut self.cursor, node, &mut places);
        let mut is_done = true;
        for &place in &places {
            is_done = self.visit(place, depth + 1, run);
            if !is_done || self.states.is_empty() {
                break;
            }
        }
        self.places[depth] = places;
        is_done
    }

    /// Counts the work of a visit; `false` if it was too much.
    fn count(&mut self, run: &mut Run<'_>) -> bool {
        self.operations += 1 + self.states.len();
        if self.operations < OPERATIONS {
            return true;
        }
        self.operations = 0;
        run.work.step().is_continue()
    }

    /// Takes the step of state `at` if the node matches it. Returns the number of states that are
    /// there then instead of the one.
    fn advance(&mut self, at: usize, place: Place<'t>) -> usize {
        let patterns = self.patterns;
        let state = &mut self.states[at];
        let step = &patterns.steps[state.step];
        let is_held = step.is_immediate && place.is_named && !state.has_skipped;
        let has_later = place.later != Later::Nothing
            && !(is_held || state.is_seeking)
            && (!step.field.is_that_of(place.field) || place.goes_on(step.field));
        if !does_match(step, place) {
            if has_later {
                return 1;
            }
            let state = self.states.remove(at);
            self.release(state);
            return 0;
        }
        let mut count = 1;
        if has_later && step.splits {
            self.copy(at);
            count += 1;
        }
        let state = &mut self.states[at];
        let node = place.node;
        let named = step.captures.iter().map(|&index| Capture { node, index });
        state.captures.extend(named);
        state.step += 1;
        let next = &patterns.steps[state.step];
        // Anchors ignore tokens, except after a step for any node.
        state.is_seeking = step.wanted == Wanted::Any && next.is_immediate;
        state.has_skipped = false;
        count + self.branch(at, place)
    }

    /// Lets state `at` pursue all alternatives of its step. Returns the number of new states.
    fn branch(&mut self, at: usize, place: Place<'t>) -> usize {
        let patterns = self.patterns;
        let (mut index, mut end) = (at, at + 1);
        while index < end {
            let number = self.states[index].step;
            let step = &patterns.steps[number];
            let target = match step.jump {
                Jump::Always(target) => {
                    self.states[index].step = target;
                    continue;
                }
                // What is left out can only be the last if the node that matched is.
                Jump::Skip(_) if step.is_last && place.later == Later::Named => None,
                jump => jump.target(),
            };
            if let Some(target) = target {
                self.copy(index);
                end += 1;
                let copy = &mut self.states[index + 1];
                copy.step = target;
                if matches!(step.jump, Jump::Skip(_)) {
                    if !step.is_immediate {
                        copy.has_skipped = patterns.steps[target].depth == step.depth;
                    } else if patterns.steps[number - 1].depth < step.depth {
                        // What was to be the first child is left out, so the next has to be it.
                        copy.is_seeking = true;
                    }
                }
            }
            index += 1;
        }
        end - at - 1
    }

    /// Removes states that are parts of others, and takes the matches that are done.
    fn settle(&mut self, run: &mut Run<'_>) {
        self.states.sort_by_key(|it| {
            let first = it.captures.first();
            (it.pattern, first.map(|it| it.node.start_byte()))
        });
        let mut at = 0;
        while at < self.states.len() {
            if !self.is_part_of_later(at) {
                let is_done = self.step_of(at).depth == DONE;
                if is_done && !self.states[at].is_deferred {
                    self.finish(at, run);
                } else {
                    at += 1;
                }
            }
        }
    }

    /// Compares state `at` with those of its pattern behind it: removes those that it contains, or
    /// itself. `true` if it was removed.
    fn is_part_of_later(&mut self, at: usize) -> bool {
        let mut other = at + 1;
        while other < self.states.len() {
            self.operations += 1;
            let [left, right] = [&self.states[at], &self.states[other]];
            if left.pattern != right.pattern || are_apart(&left.captures, &right.captures) {
                break;
            }
            let (contains, is_contained) = compare(&left.captures, &right.captures);
            let is_same_step = left.step == right.step;
            let (left_seeks, right_seeks) = (left.is_seeking, right.is_seeking);
            if contains {
                if is_same_step && (right_seeks || !left_seeks) {
                    let state = self.states.remove(other);
                    self.release(state);
                    continue;
                }
                self.states[other].is_deferred = true;
            }
            if is_contained {
                if is_same_step && (left_seeks || !right_seeks) {
                    let state = self.states.remove(at);
                    self.release(state);
                    return true;
                }
                self.states[at].is_deferred = true;
            }
            other += 1;
        }
        false
    }

    /// Removes the states that needed more of the node that ends, and takes all that are done if it
    /// is the one where patterns begin.
    fn leave(&mut self, depth: usize, run: &mut Run<'_>) {
        let mut at = 0;
        while at < self.states.len() {
            match self.step_of(at).depth {
                DONE if depth == 0 => self.finish(at, run),
                next if next != DONE && next > depth => {
                    let state = self.states.remove(at);
                    self.release(state);
                }
                _ => at += 1,
            }
        }
    }

    fn finish(&mut self, at: usize, run: &mut Run<'_>) {
        let state = self.states.remove(at);
        (run.found)(&Match {
            pattern: state.pattern,
            captures: &state.captures,
        });
        self.release(state);
    }

    /// Puts a copy of state `at` behind it.
    fn copy(&mut self, at: usize) {
        let mut captures = self.spare.pop().unwrap_or_default();
        let state = &self.states[at];
        captures.extend_from_slice(&state.captures);
        self.states.insert(at + 1, State { captures, ..*state });
    }

    fn release(&mut self, state: State<'t>) {
        let mut captures = state.captures;
        captures.clear();
        self.spare.push(captures);
    }

    fn step_of(&self, state: usize) -> &'p Step {
        &self.patterns.steps[self.states[state].step]
    }
}

fn does_match(step: &Step, place: Place<'_>) -> bool {
    let is_wanted = match step.wanted {
        Wanted::Kind(kind) => kind == place.kind,
        Wanted::Named => place.is_named && !place.node.is_error(),
        Wanted::Any => !place.node.is_error(),
    };
    is_wanted
        && (step.field == Field::Any || step.field.is_that_of(place.field))
        && !(step.is_last && place.later == Later::Named)
        && !step
            .without
            .iter()
            .any(|&field| place.node.child_by_field_id(field).is_some())
}
