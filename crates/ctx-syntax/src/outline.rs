//! Outlines: what a file defines, imports and refers to.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use ctx_model::{LineSpan, SymbolKind};

use crate::grammar::{Body, Definition, Grammar, Reading, Wrapper};
use crate::{Language, Limits, headings, pieces};

/// A definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Symbol {
    /// The kind of the definition.
    pub kind: SymbolKind,
    /// Its name, as it is written.
    pub name: String,
    /// The name with those of the symbols around it; the name alone if that would be more than 1
    /// KiB.
    pub qualified_name: String,
    /// Its lines, without comments before it.
    pub span: LineSpan,
    /// Its bytes.
    pub bytes: Range<usize>,
    /// The lines up to the first statement of its body; all lines if it has no body. Comments in
    /// between are lines of the body as well.
    pub signature: LineSpan,
    /// The lines of its body that can be left out without cutting a line, including comments before
    /// its first statement.
    pub body: Option<LineSpan>,
    /// The comments, attributes and decorators before it, or the string at the beginning of its
    /// body. Of several definitions that begin on one line, only the first has those above the
    /// line.
    pub doc: Option<LineSpan>,
    /// The comments and decorators before it, where `doc` is the string its body begins with.
    pub lead: Option<LineSpan>,
    /// The index of the symbol around it.
    pub parent: Option<usize>,
    /// Whether its name is the title of a test or of a suite of tests.
    pub is_title: bool,
}

impl Symbol {
    /// An outermost symbol without a comment or a body to leave out: its qualified name is its
    /// name, and its signature all of its lines.
    pub fn new(
        kind: SymbolKind,
        name: impl Into<String>,
        span: LineSpan,
        bytes: Range<usize>,
    ) -> Self {
        let name = name.into();
        Symbol {
            kind,
            qualified_name: name.clone(),
            name,
            span,
            bytes,
            signature: span,
            body: None,
            doc: None,
            lead: None,
            parent: None,
            is_title: false,
        }
    }

    /// Whether a reference to its name may mean it. A title of one word does not count: it is
    /// mostly the name of what is tested.
    pub fn is_known_by_name(&self) -> bool {
        !self.is_title || self.name.contains(' ')
    }

    /// Its lines, including a doc comment before them.
    pub fn span_with_doc(&self) -> LineSpan {
        let said = self.lead.into_iter().chain(self.doc).map(LineSpan::start);
        let start = said.fold(self.span.start(), u32::min);
        LineSpan::new(start, self.span.end()).unwrap_or(self.span)
    }
}

/// An import of another file or module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Import {
    /// The module, as it is written, without quotes.
    pub module: String,
    /// The lines of the statement.
    pub span: LineSpan,
}

impl Import {
    /// An import of `module` by the lines `span`.
    pub fn new(module: impl Into<String>, span: LineSpan) -> Self {
        Import {
            module: module.into(),
            span,
        }
    }
}

/// How a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ReferenceKind {
    /// It is called, or constructed.
    Call,
    /// It is the type of something.
    Type,
    /// It is extended or implemented.
    Extends,
}

/// A name that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reference {
    /// How it is used.
    pub kind: ReferenceKind,
    /// The name.
    pub name: String,
    /// The line it is on, from 1.
    pub line: u32,
    /// The index of the innermost symbol around it.
    pub within: Option<usize>,
}

impl Reference {
    /// A use of `name` on line `line`, outside any symbol.
    pub fn new(kind: ReferenceKind, name: impl Into<String>, line: u32) -> Self {
        Reference {
            kind,
            name: name.into(),
            line,
            within: None,
        }
    }
}

/// Why an outline could not be made by a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fallback {
    /// The language is unknown, or its grammar is not linked in.
    #[error("there is no grammar for it")]
    NoGrammar,
    /// The text has more bytes than are parsed.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The most bytes that are parsed.
        limit: usize,
    },
    /// The text is nested deeper than the grammar supports, or its definitions deeper than an
    /// outline allows.
    #[error("it is nested deeper than {limit} levels")]
    TooDeep {
        /// The most levels that are parsed.
        limit: usize,
    },
    /// Parsing takes more steps than are allowed, on any machine.
    #[error("parsing takes more than {limit} steps")]
    TooMuchWork {
        /// The most steps that are taken.
        limit: u64,
    },
    /// Parsing took too long; on another machine it may not.
    #[error("parsing took too long")]
    TooSlow,
    /// The grammar cannot parse the text.
    #[error("the grammar cannot parse it")]
    NotParsed,
}

/// The definitions, imports and references of a text. It may come from any parser, if it is
/// [well formed](Outline::is_well_formed):
///
/// ```
/// use ctx_syntax::{Graph, LineSpan, Outline, Reference, ReferenceKind, Symbol, SymbolKind, pieces};
///
/// let text = "rule fetch\n\nrule build\n  uses fetch\n";
/// let lines = |start, end| LineSpan::new(start, end);
/// let mut outline = Outline::default();
/// outline.symbols = vec![
///     Symbol::new(SymbolKind::Function, "fetch", lines(1, 1)?, 0..10),
///     Symbol::new(SymbolKind::Function, "build", lines(3, 4)?, 12..35),
/// ];
/// let mut used = Reference::new(ReferenceKind::Call, "fetch", 4);
/// used.within = Some(1);
/// outline.references = vec![used];
/// assert!(outline.is_well_formed());
///
/// let pieces = pieces(&ctx_syntax::lines(text), &outline);
/// assert_eq!(pieces[1].name.as_deref(), Some("build"));
/// let graph = Graph::new([("all.rules", &outline)]);
/// let build = graph.find("build")[0];
/// assert_eq!(graph.outgoing(build)[0].to, graph.find("fetch")[0]);
/// # Ok::<(), ctx_syntax::ModelError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outline {
    /// Definitions, sorted by their beginnings; a parent precedes its children.
    pub symbols: Vec<Symbol>,
    /// Imports, in the order of the text.
    pub imports: Vec<Import>,
    /// Uses of names, in the order of the text.
    pub references: Vec<Reference>,
    /// Why the outline is empty, if no grammar has read the text.
    pub fallback: Option<Fallback>,
}

impl Outline {
    /// Makes the outline of `text`. Time: one parse and one pass over the tree, both within
    /// `limits`.
    pub fn of(text: &str, language: Option<Language>, limits: &Limits) -> Outline {
        let read = match language.and_then(Grammar::of) {
            None => language
                .and_then(|it| headings::read(text, it))
                .ok_or(Fallback::NoGrammar),
            Some(grammar) => grammar.read(text, limits).map(|mut reading| {
                if language.is_some_and(|it| it.name() == "markdown") {
                    for it in &mut reading.definitions {
                        it.name = headings::said(&it.name);
                    }
                    headings::nest_underlined(text, &mut reading);
                }
                reading
            }),
        };
        match (read, language) {
            (Ok(reading), Some(language)) => build(text, reading, language),
            (Err(fallback), _) => Outline {
                fallback: Some(fallback),
                ..Outline::default()
            },
            (Ok(_), None) => Outline::default(),
        }
    }

    /// Whether it keeps what its users rely on, as all outlines made by [`Outline::of`] do:
    ///
    /// * symbols are sorted by the first of their lines, and by the first of their bytes, and a
    ///   parent precedes its children;
    /// * symbols are nested at most 100 deep;
    /// * a qualified name has at most 1 KiB, unless it is the name itself;
    /// * a reference is on a line from 1, and within a symbol that exists.
    ///
    /// Nothing panics if it does not, but definitions may not be found. O(symbols + references).
    pub fn is_well_formed(&self) -> bool {
        let mut depths: Vec<usize> = Vec::with_capacity(self.symbols.len());
        let mut before = (0, 0);
        for Symbol {
            name,
            qualified_name,
            span,
            bytes,
            parent,
            ..
        } in &self.symbols
        {
            // Only those before it have a depth.
            let depth = parent.map_or(Some(1), |it| Some(depths.get(it)? + 1));
            let Some(depth) = depth.filter(|it| *it <= DEEPEST) else {
                return false;
            };
            depths.push(depth);
            let is_sorted = before.0 <= span.start() && before.1 <= bytes.start;
            let is_named = qualified_name.len() <= LONGEST || qualified_name == name;
            if !is_sorted || !is_named || bytes.start > bytes.end {
                return false;
            }
            before = (span.start(), bytes.start);
        }
        let exists = |it: &Reference| it.within.is_none_or(|it| it < self.symbols.len());
        self.references.iter().all(|it| it.line > 0 && exists(it))
    }

    /// The index of the innermost symbol that contains line `number`. O(symbols).
    pub fn enclosing(&self, number: u32) -> Option<usize> {
        self.symbols
            .iter()
            .rposition(|symbol| symbol.span.contains_line(number))
    }

    /// Symbol `index` preceded by those around it, the outermost first; empty if there is no such
    /// symbol.
    pub fn path_to(&self, index: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = Some(index);
        while let Some((index, symbol)) = next.and_then(|it| Some((it, self.symbols.get(it)?))) {
            path.push(index);
            // A parent that comes later would make a cycle.
            next = symbol.parent.filter(|&parent| parent < index);
        }
        path.reverse();
        path
    }

    /// The symbol of this name, qualified or not: the first of several, but a function with a body
    /// rather than a mere declaration of one.
    pub fn find(&self, name: &str) -> Option<usize> {
        let named = self.named(name);
        let first = *named.first()?;
        let is_function = |it: usize| {
            matches!(
                self.symbols[it].kind,
                SymbolKind::Function | SymbolKind::Method
            )
        };
        if !is_function(first) {
            return Some(first);
        }
        let is_whole = |&it: &usize| is_function(it) && self.symbols[it].body.is_some();
        Some(named.into_iter().find(is_whole).unwrap_or(first))
    }

    /// All symbols of this name, in order: those whose qualified name it is, else those whose own
    /// name it is.
    pub fn named(&self, name: &str) -> Vec<usize> {
        let by = |of: fn(&Symbol) -> &String| -> Vec<usize> {
            let all = self.symbols.iter().enumerate();
            all.filter(|(_, it)| of(it) == name)
                .map(|(index, _)| index)
                .collect()
        };
        let qualified = by(|it| &it.qualified_name);
        if qualified.is_empty() {
            by(|it| &it.name)
        } else {
            qualified
        }
    }

    /// The symbols of this name other than the one that [`find`](Outline::find) returns, each with
    /// its lines, for messages: `Session.send (752-810)`.
    pub fn others(&self, name: &str) -> Vec<String> {
        let found = self.find(name);
        let others = self.named(name).into_iter().filter(|&it| Some(it) != found);
        let told = |it: usize| {
            let symbol = &self.symbols[it];
            format!("{} ({})", symbol.qualified_name, symbol.span)
        };
        others.map(told).collect()
    }
}

/// The deepest nesting of definitions. Each contains the names of all around it in its qualified
/// name, so the cost grows with the depth.
const DEEPEST: usize = 100;

/// The most bytes of a qualified name; a longer one omits the names around the definition: one long
/// name would otherwise be repeated in each definition inside.
const LONGEST: usize = 1024;

fn build(text: &str, reading: Reading, language: Language) -> Outline {
    let Reading {
        mut definitions,
        wrappers,
        docs,
        imports,
        references,
        comment_rows,
    } = reading;
    widen(&mut definitions, wrappers);
    let definitions = once_each(definitions);
    let lines = pieces::lines(text);
    let mut nesting = Nesting {
        lines: &lines,
        comments: Comments::new(comment_rows),
        language,
        symbols: Vec::with_capacity(definitions.len()),
        heads: Vec::with_capacity(definitions.len()),
        open: Vec::new(),
    };
    for definition in definitions {
        nesting.close_before(&definition);
        if nesting.open.len() == DEEPEST {
            return Outline {
                fallback: Some(Fallback::TooDeep { limit: DEEPEST }),
                ..Outline::default()
            };
        }
        nesting.add(definition);
    }
    let Nesting {
        mut symbols, heads, ..
    } = nesting;
    take_docs(&mut symbols, docs);
    narrow_signatures(&mut symbols, &heads, &lines);
    Outline {
        references: place(references, &symbols),
        imports,
        symbols,
        fallback: None,
    }
}

/// Definitions in the order of the text, as they become symbols within each other.
struct Nesting<'t> {
    lines: &'t [&'t str],
    comments: Comments,
    language: Language,
    symbols: Vec<Symbol>,
    /// The head of each symbol.
    heads: Vec<Head>,
    /// The symbols around the next definition, the outermost first.
    open: Vec<usize>,
}

/// Where the signature of a symbol may end.
struct Head {
    /// The signature, if the query captures it.
    captured: Option<LineSpan>,
    /// The line where the symbol begins without what is written around it.
    own_start: u32,
}

/// Whether functions in a definition of this kind are its methods.
fn has_methods(kind: SymbolKind) -> bool {
    matches!(
        kind,
        SymbolKind::Class
            | SymbolKind::Struct
            | SymbolKind::Enum
            | SymbolKind::Interface
            | SymbolKind::Impl
    )
}

/// Whether declarations in a definition of this kind are local to it.
fn has_locals(kind: SymbolKind) -> bool {
    matches!(
        kind,
        SymbolKind::Function
            | SymbolKind::Method
            | SymbolKind::Macro
            | SymbolKind::Constant
            | SymbolKind::Field
    )
}

impl Nesting<'_> {
    /// Closes the symbols that `definition` does not lie in.
    fn close_before(&mut self, definition: &Definition) {
        while let Some(&last) = self.open.last()
            && let bytes = &self.symbols[last].bytes
            && (bytes.end < definition.bytes.end || *bytes == definition.bytes)
        {
            self.open.pop();
        }
    }

    /// Adds a definition, unless it is local to a function.
    fn add(&mut self, definition: Definition) {
        let parent = self.open.last().copied();
        let around = parent.map(|parent| &self.symbols[parent]);
        if definition.is_outer && around.is_some_and(|it| has_locals(it.kind)) {
            return;
        }
        let Some(span) = span_of(&definition.rows) else {
            return;
        };
        let is_in_type = around.is_some_and(|it| has_methods(it.kind));
        let kind = match definition.kind {
            SymbolKind::Function if is_in_type => SymbolKind::Method,
            kind => kind,
        };
        let own = definition
            .body
            .as_ref()
            .and_then(|body| elidable(self.lines, &self.comments, &definition.rows, body));
        let (statements, body) = own.unzip();
        let last_of_signature = match statements {
            Some(first) => first.saturating_sub(1).max(span.start()),
            None => span.end(),
        };
        let outer = around.map(|it| it.qualified_name.as_str());
        let name = &definition.name;
        let symbol = Symbol {
            kind,
            qualified_name: qualified(outer, &definition.within, name, self.language),
            span,
            signature: LineSpan::new(span.start(), last_of_signature).unwrap_or(span),
            body,
            doc: self.doc(&definition, span),
            lead: None,
            parent,
            is_title: definition.is_title,
            name: definition.name,
            bytes: definition.bytes,
        };
        let own = span_of(&(definition.own_row..definition.own_row + 1));
        self.heads.push(Head {
            captured: definition.head.as_ref().and_then(span_of),
            own_start: own.unwrap_or(span).start(),
        });
        self.open.push(self.symbols.len());
        self.symbols.push(symbol);
    }

    /// The comment above `definition`, whose lines are `span`. Comments above a row document the
    /// first definition in it, under all its names, and the definition that it begins with.
    fn doc(&self, definition: &Definition, span: LineSpan) -> Option<LineSpan> {
        let last = self.symbols.last();
        match last.filter(|it| it.span.start() == span.start()) {
            None => self.comments.before(definition.rows.start),
            Some(it) if it.bytes == definition.bytes => it.doc,
            Some(it) => {
                let is_parent = self.open.last() == Some(&(self.symbols.len() - 1));
                it.doc.filter(|_| is_parent)
            }
        }
    }
}

fn qualified(outer: Option<&str>, within: &[String], name: &str, language: Language) -> String {
    let separator = language.row().separator;
    let around = outer.into_iter().chain(within.iter().map(String::as_str));
    let bytes: usize = around.clone().map(|it| it.len() + separator.len()).sum();
    if bytes + name.len() > LONGEST {
        return name.to_owned();
    }
    let mut qualified = String::with_capacity(bytes + name.len());
    for it in around {
        qualified.push_str(it);
        qualified.push_str(separator);
    }
    qualified + name
}

/// Extends definitions to cover what is written around them. O(n log n) for n wrappers and
/// definitions.
fn widen(definitions: &mut [Definition], mut wrappers: Vec<Wrapper>) {
    let place = |bytes: &Range<usize>| (bytes.start, Reverse(bytes.end));
    wrappers.sort_by_key(|it| place(&it.bytes));
    // The outermost wrapper of each node that has one.
    let mut outermost: BTreeMap<(usize, usize), Wrapper> = BTreeMap::new();
    let key = |bytes: &Range<usize>| (bytes.start, bytes.end);
    for wrapper in wrappers {
        let wrapped = key(&wrapper.wrapped);
        let around = outermost.get(&key(&wrapper.bytes)).cloned();
        outermost.insert(wrapped, around.unwrap_or(wrapper));
    }
    for definition in definitions {
        if let Some(wrapper) = outermost.get(&key(&definition.bytes)) {
            definition.bytes = wrapper.bytes.clone();
            definition.rows = wrapper.rows.clone();
        }
    }
}

/// Sorts definitions by their beginnings, the outer first, and names of one node in order. If
/// several patterns define one name at one node, the first wins. One pattern matches a node once
/// per body; these bodies are united.
fn once_each(mut definitions: Vec<Definition>) -> Vec<Definition> {
    definitions.sort_by(|a, b| {
        let by_place = a
            .bytes
            .start
            .cmp(&b.bytes.start)
            .then(b.bytes.end.cmp(&a.bytes.end));
        let by_name = a.named_at.cmp(&b.named_at);
        by_place.then(by_name).then(a.pattern.cmp(&b.pattern))
    });
    definitions.dedup_by(|later, earlier| {
        let is_same = later.bytes == earlier.bytes && later.name == earlier.name;
        if is_same
            && later.pattern == earlier.pattern
            && let (Some(later), Some(earlier)) = (&later.body, &mut earlier.body)
        {
            earlier.unite(later);
        }
        is_same
    });
    definitions
}

/// Attaches strings that document the symbol whose body they begin.
fn take_docs(symbols: &mut [Symbol], docs: Vec<(Range<usize>, Range<usize>)>) {
    for (bytes, rows) in docs {
        let begun = symbols.partition_point(|it| it.bytes.start <= bytes.start);
        let within = symbols[..begun]
            .iter_mut()
            .rfind(|it| bytes.end <= it.bytes.end);
        let (Some(symbol), Some(doc)) = (within, span_of(&rows)) else {
            continue;
        };
        if let Some(body) = symbol.body {
            symbol.body = LineSpan::new(doc.end() + 1, body.end()).ok();
            if doc.start() > symbol.span.start() {
                let before = LineSpan::new(symbol.span.start(), doc.start() - 1);
                symbol.signature = before.unwrap_or(symbol.signature);
            }
        }
        let before = symbol.doc.replace(doc);
        let before = before.filter(|it| it.end() < symbol.span.start());
        symbol.lead = symbol.lead.or(before);
    }
}

/// Limits signatures: to the head, if the query captures one; of symbols that contain others, to
/// the lines before the first of them.
fn narrow_signatures(symbols: &mut [Symbol], heads: &[Head], lines: &[&str]) {
    for (index, head) in heads.iter().enumerate() {
        if let Some(head) = head.captured {
            let span = symbols[index].span;
            let head = LineSpan::new(span.start(), head.end().max(span.start()));
            symbols[index].signature = head.unwrap_or(span);
            continue;
        }
        let inner = symbols
            .get(index + 1)
            .filter(|next| next.parent == Some(index))
            .map(|next| next.span_with_doc().start());
        narrow_signature(&mut symbols[index], head.own_start, inner, lines);
    }
}

/// Limits the signature of a symbol that contains others to its first lines, up to the bracket that
/// opens it after `own_start`, and to the lines before `inner`, where the first of them begins.
fn narrow_signature(symbol: &mut Symbol, own_start: u32, inner: Option<u32>, lines: &[&str]) {
    use SymbolKind::{Class, Enum, Impl, Interface, Module, Section, Struct};
    if symbol.body.is_some()
        || !matches!(
            symbol.kind,
            Class | Struct | Enum | Interface | Impl | Module | Section
        )
    {
        return;
    }
    let (start, end) = (symbol.span.start(), symbol.span.end());
    let opens = |number: &u32| {
        let line = lines
            .get(*number as usize - 1)
            .map_or("", |line| line.trim_end());
        line.ends_with(['{', ':', ';', ',', '('])
            || line.ends_with(" do")
            || line.ends_with("where")
    };
    let end = inner.map_or(end, |inner| end.min(inner.saturating_sub(1)));
    let last = (own_start..=end.min(own_start + 8))
        .find(opens)
        .unwrap_or(own_start);
    symbol.signature = LineSpan::new(start, last).unwrap_or(symbol.span);
}

/// Assigns each reference to the innermost symbol around it. O((symbols + references) log symbols).
fn place(mut references: Vec<RawReference>, symbols: &[Symbol]) -> Vec<Reference> {
    references.sort_by(|a, b| a.byte.cmp(&b.byte).then(a.kind.cmp(&b.kind)));
    // A name that is called or extended is not counted as a type as well.
    references.dedup_by(|later, first| {
        let is_same = later.byte == first.byte;
        if is_same && first.kind == ReferenceKind::Type {
            first.kind = later.kind;
        }
        is_same
    });
    let mut placed = Vec::with_capacity(references.len());
    let mut open: Vec<usize> = Vec::new();
    let mut next = 0;
    for reference in references {
        while next < symbols.len() && symbols[next].bytes.start <= reference.byte {
            open.retain(|&index| symbols[index].bytes.end > symbols[next].bytes.start);
            open.push(next);
            next += 1;
        }
        open.retain(|&index| symbols[index].bytes.end > reference.byte);
        placed.push(Reference {
            kind: reference.kind,
            name: reference.name,
            line: reference.line,
            within: open.last().copied(),
        });
    }
    placed
}

/// A use of a name as the query found it.
#[derive(Debug)]
pub(crate) struct RawReference {
    pub(crate) kind: ReferenceKind,
    pub(crate) name: String,
    pub(crate) byte: usize,
    pub(crate) line: u32,
}

/// Converts rows (from 0, end exclusive) to lines (from 1).
pub(crate) fn span_of(rows: &Range<usize>) -> Option<LineSpan> {
    let start = u32::try_from(rows.start).ok()?.checked_add(1)?;
    let end = u32::try_from(rows.end).ok()?;
    LineSpan::new(start, end.max(start)).ok()
}

/// The line of the first statement of a body, and the lines of the body that can be left out: those
/// between its brackets, or all of them if it has none, and then including comments between
/// signature and body.
fn elidable(
    lines: &[&str],
    comments: &Comments,
    whole: &Range<usize>,
    body: &Body,
) -> Option<(u32, LineSpan)> {
    let line = |row: usize| lines.get(row).map_or("", |line| line.trim());
    let rows = &body.rows;
    let begins_its_line = body.begins_its_row
        && rows.start > whole.start
        && !line(rows.start).starts_with(['{', '(', '['])
        && !line(rows.start).ends_with('{');
    let first = if begins_its_line {
        rows.start
    } else {
        rows.start + 1
    };
    let last = line(rows.end.checked_sub(1)?);
    let closes = last.starts_with(['}', ')', ']'])
        || last == "end"
        || last.starts_with("end ")
        || last.starts_with("end;");
    let end = if closes { rows.end - 1 } else { rows.end };
    let statements = (first < end)
        .then_some(first..end)
        .and_then(|rows| span_of(&rows))?;
    let with_comments = if begins_its_line {
        span_of(&(comments.above(first, lines).max(whole.start + 1)..end))?
    } else {
        statements
    };
    Some((statements.start(), with_comments))
}

/// Rows of comments, ends exclusive.
struct Comments {
    /// Sorted by their beginnings.
    rows: Vec<Range<usize>>,
    /// For each, the row where the comments that adjoin it above begin.
    starts: Vec<usize>,
}

impl Comments {
    /// `rows` must be sorted by their beginnings. O(rows).
    fn new(rows: Vec<Range<usize>>) -> Self {
        let mut starts = Vec::with_capacity(rows.len());
        for (index, it) in rows.iter().enumerate() {
            let above = index
                .checked_sub(1)
                .filter(|&above| rows[above].end >= it.start);
            starts.push(above.map_or(it.start, |above| starts[above]));
        }
        Comments { rows, starts }
    }

    /// The first row of the comments above `row`, skipping blank rows; `row` itself if there are
    /// none.
    fn above(&self, row: usize, lines: &[&str]) -> usize {
        let mut first = row;
        loop {
            let rows = lines[..first.min(lines.len())].iter().rev();
            let blank = rows.take_while(|it| it.trim().is_empty()).count();
            match self.before(first - blank) {
                Some(comments) => first = comments.start() as usize - 1,
                None => return first,
            }
        }
    }

    /// The comments right above row `row`. O(log rows).
    fn before(&self, row: usize) -> Option<LineSpan> {
        let last = self
            .rows
            .partition_point(|it| it.start < row)
            .checked_sub(1)?;
        let is_above = self.rows[last].end >= row;
        is_above
            .then(|| span_of(&(self.starts[last]..row)))
            .flatten()
    }
}
