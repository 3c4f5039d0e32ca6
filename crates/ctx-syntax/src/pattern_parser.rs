//! Reads patterns, from the text of a query to steps.
//!
//! What no query of this crate uses is refused: groups, repetitions, kinds that stand for several
//! (supertypes), missing nodes, and other predicates. So is what the library takes in a way that
//! few would expect.

use tree_sitter::Language;

use crate::patterns::{DONE, Field, Jump, Pattern, Predicate, Step, Wanted};
use crate::scanner::Scanner;

/// The most captures of one node, as in the library.
const MOST_CAPTURES: usize = 3;

/// What was read of a query.
pub(crate) struct Reader<'s> {
    grammar: &'s Language,
    text: Scanner<'s>,
    pub(crate) steps: Vec<Step>,
    /// The one that is read.
    pattern: Pattern,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) captures: Vec<String>,
}

/// Reads the query `source`. O(bytes), but for the names of kinds, which the grammar looks up one
/// by one.
pub(crate) fn read<'s>(grammar: &'s Language, source: &'s str) -> Result<Reader<'s>, String> {
    let mut reader = Reader {
        grammar,
        text: Scanner::new(source),
        steps: Vec::new(),
        pattern: Pattern::default(),
        patterns: Vec::new(),
        captures: Vec::new(),
    };
    reader.text.skip_space();
    while !reader.text.is_at_end() {
        reader.root()?;
    }
    Ok(reader)
}

impl Reader<'_> {
    /// Reads a whole pattern.
    fn root(&mut self) -> Result<(), String> {
        let (first_step, from) = (self.steps.len(), self.text.at);
        self.pattern.first_step = first_step;
        if self.text.peek() != Some('(') || self.text.is_predicate() {
            return Err(self.text.wrong("begins with no kind of node", from));
        }
        self.pattern(0, false)?;
        let is_rooted = self.steps.get(first_step).is_some_and(|step| {
            matches!(step.wanted, Wanted::Kind(_)) && step.jump == Jump::Nowhere
        });
        if !is_rooted {
            return Err(self.text.wrong("begins with no kind of node", from));
        }
        self.steps.push(step(Wanted::Any, DONE, false));
        self.patterns.push(std::mem::take(&mut self.pattern));
        Ok(())
    }

    /// Reads a pattern of a node, or of one of several, with what follows it.
    fn pattern(&mut self, depth: usize, is_immediate: bool) -> Result<(), String> {
        let (first, from) = (self.steps.len(), self.text.at);
        match self.text.peek() {
            Some('[') => self.alternatives(depth, is_immediate)?,
            Some('(') => self.node(depth, is_immediate)?,
            Some('"') => {
                let text = self.text.string()?;
                let kind = self.grammar.id_for_node_kind(&text, false);
                if kind == 0 {
                    return Err(self.text.wrong("is no token", from));
                }
                self.steps
                    .push(step(Wanted::Kind(kind), depth, is_immediate));
            }
            _ => match self.text.word() {
                "" => return Err(self.text.wrong("is not understood", from)),
                "_" => self.steps.push(step(Wanted::Any, depth, is_immediate)),
                name => return self.field(name, depth, is_immediate),
            },
        }
        self.text.skip_space();
        self.suffixes(first)
    }

    /// Reads the pattern of a field.
    fn field(&mut self, name: &str, depth: usize, is_immediate: bool) -> Result<(), String> {
        let first = self.steps.len();
        self.text.skip_space();
        if !self.text.take(':') {
            return Err(self.text.wrong("is not understood", self.text.at));
        }
        self.text.skip_space();
        let id = self.field_id(name)?;
        self.pattern(depth, is_immediate)?;
        self.each_alternative(first, |step| step.field = Field::Of(id));
        Ok(())
    }

    /// Reads `[...]`.
    fn alternatives(&mut self, depth: usize, is_immediate: bool) -> Result<(), String> {
        let from = self.text.at;
        self.text.take('[');
        self.text.skip_space();
        let mut branches = Vec::new();
        while !self.text.take(']') {
            let (branch, at) = (self.steps.len(), self.text.at);
            self.pattern(depth, is_immediate)?;
            // The link to the next one would replace what the branch itself links to.
            if self.steps[branch].jump != Jump::Nowhere {
                return Err(self.text.wrong("is no plain alternative", at));
            }
            branches.push(branch);
            // Leads from the end of the branch to that of all.
            self.steps.push(step(Wanted::Any, depth, false));
        }
        self.steps.pop();
        if branches.is_empty() {
            return Err(self.text.wrong("has no alternatives", from));
        }
        let end = self.steps.len();
        for (&branch, &next) in branches.iter().zip(branches.iter().skip(1)) {
            self.steps[branch].jump = Jump::Or(next);
            self.steps[next - 1].jump = Jump::Always(end);
        }
        Ok(())
    }

    /// Reads `(kind ...)`.
    fn node(&mut self, depth: usize, is_immediate: bool) -> Result<(), String> {
        let (index, from) = (self.steps.len(), self.text.at);
        self.text.take('(');
        self.text.skip_space();
        let wanted = match self.text.word() {
            "" => return Err(self.text.wrong("is a group, which is not supported", from)),
            "_" => Wanted::Named,
            kind => {
                let id = self.grammar.id_for_node_kind(kind, true);
                let is_one = usize::from(id) < self.grammar.node_kind_count();
                if id == 0 || !is_one || !self.grammar.node_kind_is_visible(id) {
                    return Err(self.text.wrong("is no kind of node", from + 1));
                }
                Wanted::Kind(id)
            }
        };
        self.steps.push(step(wanted, depth, is_immediate));
        self.text.skip_space();
        let (mut last, mut is_anchored) = (None, false);
        while !self.text.take(')') {
            let (child, at) = (self.steps.len(), self.text.at);
            if self.text.take('!') {
                let name = self.text.word();
                let field = self.field_id(name)?;
                self.steps[index].without.push(field);
                self.text.skip_space();
            } else if self.text.take('.') {
                is_anchored = true;
                self.text.skip_space();
            } else if self.text.is_predicate() {
                if is_anchored {
                    return Err(self.text.wrong("follows an anchor", at));
                }
                self.predicate()?;
                last = None;
            } else {
                self.pattern(depth + 1, is_anchored)?;
                (last, is_anchored) = (Some(child), false);
            }
        }
        match (is_anchored, last) {
            (true, Some(child)) => self.each_alternative(child, |step| step.is_last = true),
            (true, None) => return Err(self.text.wrong("has an anchor beside nothing", from)),
            (false, _) => {}
        }
        Ok(())
    }

    /// Reads captures and `?`, which belong to the pattern whose first step is `first`.
    fn suffixes(&mut self, first: usize) -> Result<(), String> {
        let mut is_optional = false;
        loop {
            let from = self.text.at;
            if self.text.take('?') {
                is_optional = true;
            } else if self.text.take('@') {
                let capture = self.capture(from)?;
                self.each_alternative(first, |step| step.captures.push(capture));
                if self.steps[first..]
                    .iter()
                    .any(|it| it.captures.len() > MOST_CAPTURES)
                {
                    return Err(self.text.wrong("is one capture too many", from));
                }
            } else if matches!(self.text.peek(), Some('+' | '*')) {
                return Err(self
                    .text
                    .wrong("is a repetition, which is not supported", from));
            } else {
                break;
            }
            self.text.skip_space();
        }
        if is_optional {
            let (mut last, end) = (first, self.steps.len());
            while let Some(next) = self.steps[last].jump.target().filter(|&it| it < end) {
                last = next;
            }
            self.steps[last].jump = Jump::Skip(end);
        }
        Ok(())
    }

    /// Changes the first step of a pattern and of its alternatives.
    fn each_alternative(&mut self, first: usize, change: impl Fn(&mut Step)) {
        let (mut next, end) = (Some(first), self.steps.len());
        while let Some(index) = next {
            change(&mut self.steps[index]);
            let target = self.steps[index].jump.target();
            next = target.filter(|&it| it > index && it < end);
        }
    }

    /// Reads `(#name ...)`.
    fn predicate(&mut self) -> Result<(), String> {
        let from = self.text.at;
        self.text.take('(');
        self.text.skip_space();
        self.text.take('#');
        let name = self.text.word();
        let is_test = self.text.take('?');
        if !is_test && !self.text.take('!') {
            return Err(self.text.wrong("is not understood", from));
        }
        self.text.skip_space();
        let mut capture = None;
        if self.text.take('@') {
            let known = self.captures.len();
            capture = Some(self.capture(from)?);
            if self.captures.len() > known {
                return Err(self.text.wrong("is about an unknown capture", from));
            }
            self.text.skip_space();
        }
        let values = self.values(from)?;
        self.text.skip_space();
        match (name, is_test, capture, values.as_slice()) {
            ("eq" | "not-eq", true, Some(capture), [_])
            | ("any-of" | "not-any-of", true, Some(capture), _) => {
                self.pattern.predicates.push(Predicate {
                    capture,
                    values,
                    is_one_of: !name.starts_with("not-"),
                });
            }
            ("set", false, None, [key, field]) if key == "hidden" => self.hide(field)?,
            ("set", false, None, [key, value]) => {
                self.pattern.settings.push((key.clone(), value.clone()));
            }
            _ => return Err(self.text.wrong("is not supported", from)),
        }
        Ok(())
    }

    /// Reads the values of a predicate, which is at `from`, and its end.
    fn values(&mut self, from: usize) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        while !self.text.take(')') {
            if self.text.peek() == Some('"') {
                values.push(self.text.string()?);
            } else {
                match self.text.word() {
                    "" => return Err(self.text.wrong("is not understood", from)),
                    word => values.push(word.to_owned()),
                }
            }
            self.text.skip_space();
        }
        Ok(values)
    }

    /// Takes the field `name` of the pattern for one of hidden nodes.
    fn hide(&mut self, name: &str) -> Result<(), String> {
        let id = self.field_id(name)?;
        let steps = self.steps[self.pattern.first_step..].iter_mut();
        for step in steps.filter(|it| it.field == Field::Of(id)) {
            step.field = Field::Hidden(id);
        }
        Ok(())
    }

    /// Reads the name of a capture, whose sign is at `from`.
    fn capture(&mut self, from: usize) -> Result<u32, String> {
        let name = self.text.word();
        if name.is_empty() {
            return Err(self.text.wrong("is no capture", from));
        }
        let known = self.captures.iter().position(|it| it == name);
        let index = known.unwrap_or_else(|| {
            self.captures.push(name.to_owned());
            self.captures.len() - 1
        });
        u32::try_from(index).map_err(|_| self.text.wrong("is one capture too many", from))
    }

    fn field_id(&self, name: &str) -> Result<u16, String> {
        let id = self.grammar.field_id_for_name(name);
        id.map(u16::from)
            .ok_or_else(|| format!("{name:?} is no field"))
    }
}

fn step(wanted: Wanted, depth: usize, is_immediate: bool) -> Step {
    Step {
        wanted,
        field: Field::Any,
        without: Vec::new(),
        captures: Vec::new(),
        depth,
        jump: Jump::Nowhere,
        is_immediate,
        is_last: false,
        splits: false,
    }
}
