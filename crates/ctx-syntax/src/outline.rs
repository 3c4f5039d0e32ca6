//! What a file defines, imports and refers to.

use std::ops::Range;

use ctx_model::LineSpan;

use crate::grammar::{Body, Definition, Grammar, Reading};
use crate::{Language, Limits, headings, pieces};

/// What a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SymbolKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A class or object.
    Class,
    /// A struct, record or table.
    Struct,
    /// An enumeration.
    Enum,
    /// A trait, interface, protocol or type class.
    Interface,
    /// A block of methods for a type.
    Impl,
    /// A module or namespace.
    Module,
    /// A name for another type.
    Type,
    /// A constant, or a variable of the whole file.
    Constant,
    /// A field, property or variant.
    Field,
    /// A macro.
    Macro,
    /// A part of a document.
    Section,
}

impl SymbolKind {
    /// All of them.
    pub const ALL: [SymbolKind; 13] = [
        SymbolKind::Function,
        SymbolKind::Method,
        SymbolKind::Class,
        SymbolKind::Struct,
        SymbolKind::Enum,
        SymbolKind::Interface,
        SymbolKind::Impl,
        SymbolKind::Module,
        SymbolKind::Type,
        SymbolKind::Constant,
        SymbolKind::Field,
        SymbolKind::Macro,
        SymbolKind::Section,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            SymbolKind::Function => "function",
            SymbolKind::Method => "method",
            SymbolKind::Class => "class",
            SymbolKind::Struct => "struct",
            SymbolKind::Enum => "enum",
            SymbolKind::Interface => "interface",
            SymbolKind::Impl => "impl",
            SymbolKind::Module => "module",
            SymbolKind::Type => "type",
            SymbolKind::Constant => "constant",
            SymbolKind::Field => "field",
            SymbolKind::Macro => "macro",
            SymbolKind::Section => "section",
        }
    }

    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// Whether functions in it are its methods.
    fn has_methods(self) -> bool {
        matches!(
            self,
            SymbolKind::Class
                | SymbolKind::Struct
                | SymbolKind::Enum
                | SymbolKind::Interface
                | SymbolKind::Impl
        )
    }

    /// Whether what is declared in it is known in it alone.
    fn has_locals(self) -> bool {
        matches!(
            self,
            SymbolKind::Function
                | SymbolKind::Method
                | SymbolKind::Macro
                | SymbolKind::Constant
                | SymbolKind::Field
        )
    }
}

/// A definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Symbol {
    /// What it is.
    pub kind: SymbolKind,
    /// Its name, as it is written.
    pub name: String,
    /// Its name with those of the symbols it is in, or without them where that would be more than 1 KiB.
    pub qualified_name: String,
    /// Its lines, without comments before it.
    pub span: LineSpan,
    /// Its bytes.
    pub bytes: Range<usize>,
    /// The lines up to the first statement of its body; all of them where it has none. Comments between the two are lines
    /// of its body as well.
    pub signature: LineSpan,
    /// The lines of its body that can be left out without cutting a line, with comments before its first statement.
    pub body: Option<LineSpan>,
    /// The comments, attributes and decorators before it, or the string its body begins with. Of definitions beside each
    /// other in a row, only the first has those above it.
    pub doc: Option<LineSpan>,
    /// The symbol it is in, by index.
    pub parent: Option<usize>,
}

impl Symbol {
    /// Its lines, with what is said of it before them.
    pub fn span_with_doc(&self) -> LineSpan {
        let start = self.doc.map_or(self.span.start(), LineSpan::start);
        LineSpan::new(start.min(self.span.start()), self.span.end()).unwrap_or(self.span)
    }
}

/// What another file is named for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Import {
    /// The module, as it is written, without quotes.
    pub module: String,
    /// The lines of the statement.
    pub span: LineSpan,
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
    /// How.
    pub kind: ReferenceKind,
    /// The name.
    pub name: String,
    /// The line it is on, from 1.
    pub line: u32,
    /// The innermost symbol it is in, by index.
    pub within: Option<usize>,
}

/// Why there is no outline by a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fallback {
    /// The language is unknown, or its grammar is not linked in.
    #[error("there is no grammar for it")]
    NoGrammar,
    /// It has more bytes than are parsed.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The most bytes that are parsed.
        limit: usize,
    },
    /// It is nested deeper than the grammar bears, or what it defines is than can be told.
    #[error("it is nested deeper than {limit} levels")]
    TooDeep {
        /// The most levels that are parsed.
        limit: usize,
    },
    /// Parsing takes more steps than are allowed, each time.
    #[error("parsing takes more than {limit} steps")]
    TooMuchWork {
        /// The most steps that are taken.
        limit: u64,
    },
    /// Parsing did not end in time, which on another machine it may.
    #[error("parsing took too long")]
    TooSlow,
    /// The grammar makes nothing of it.
    #[error("the grammar makes nothing of it")]
    NotParsed,
}

/// What a text says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outline {
    /// Definitions in the order of their beginnings; a parent comes before what is in it.
    pub symbols: Vec<Symbol>,
    /// Imports, in their order.
    pub imports: Vec<Import>,
    /// Names that are used, in their order.
    pub references: Vec<Reference>,
    /// Why there is nothing of all this, where that is so.
    pub fallback: Option<Fallback>,
}

impl Outline {
    /// The outline of `text`. Time: one parse and one pass over the tree, both within `limits`.
    pub fn of(text: &str, language: Option<Language>, limits: &Limits) -> Outline {
        let read = match language.and_then(Grammar::of) {
            None => language
                .and_then(|it| headings::read(text, it))
                .ok_or(Fallback::NoGrammar),
            Some(grammar) => grammar.read(text, limits),
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

    /// The innermost symbol that line `number` is in, by index. O(symbols).
    pub fn enclosing(&self, number: u32) -> Option<usize> {
        self.symbols
            .iter()
            .rposition(|symbol| symbol.span.start() <= number && number <= symbol.span.end())
    }

    /// Symbol `index` and those it is in, from the outermost inwards; nothing where there is no such symbol.
    pub fn path_to(&self, index: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = Some(index);
        while let Some((index, symbol)) = next.and_then(|it| Some((it, self.symbols.get(it)?))) {
            path.push(index);
            // One that came later would lead round.
            next = symbol.parent.filter(|&parent| parent < index);
        }
        path.reverse();
        path
    }

    /// The symbol of this name, qualified or not: of several the first, but a function that is only declared gives way to
    /// one with a body.
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

    /// All symbols of this name, in their order: those whose qualified name it is, else those whose own it is.
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

    /// The others of this name beside the one that [`find`](Outline::find) finds, each with its lines, as people are told of
    /// them: `Session.send (752-810)`.
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

/// Definitions that lie in each other. Each has the names of all around it in its own, so what a text costs grows
/// with how deep they are.
const DEEPEST: usize = 100;

/// A qualified name of more bytes than this leaves out what is around the definition: one long name would else be told
/// again with each of those in it.
const LONGEST: usize = 1024;

fn build(text: &str, reading: Reading, language: Language) -> Outline {
    let Reading {
        definitions,
        docs,
        imports,
        references,
        comment_rows,
    } = reading;
    let definitions = once_each(definitions);
    let lines = pieces::lines(text);
    let comments = Comments::new(comment_rows);
    let mut symbols: Vec<Symbol> = Vec::with_capacity(definitions.len());
    let mut heads: Vec<Option<LineSpan>> = Vec::with_capacity(definitions.len());
    let mut open: Vec<usize> = Vec::new();
    for definition in definitions {
        while let Some(&last) = open.last()
            && (symbols[last].bytes.end < definition.bytes.end
                || symbols[last].bytes == definition.bytes)
        {
            open.pop();
        }
        if open.len() == DEEPEST {
            return Outline {
                fallback: Some(Fallback::TooDeep { limit: DEEPEST }),
                ..Outline::default()
            };
        }
        let parent = open.last().copied();
        if definition.is_outer && parent.is_some_and(|it| symbols[it].kind.has_locals()) {
            continue;
        }
        let kind = match parent.map(|parent| symbols[parent].kind) {
            Some(around) if around.has_methods() && definition.kind == SymbolKind::Function => {
                SymbolKind::Method
            }
            _ => definition.kind,
        };
        let Some(span) = span_of(&definition.rows) else {
            continue;
        };
        let own = definition
            .body
            .and_then(|body| elidable(&lines, &comments, &definition.rows, &body));
        let (statements, body) = own.unzip();
        let name = definition.name;
        let outer = parent.map(|parent| symbols[parent].qualified_name.as_str());
        let qualified_name = qualified(outer, &definition.within, &name, language);
        let last_of_signature = match statements {
            Some(first) => first.saturating_sub(1).max(span.start()),
            None => span.end(),
        };
        // What stands above a row is said of the first definition in it, under all its names, and of what that begins with.
        let beside = symbols.last().filter(|it| it.span.start() == span.start());
        let doc = match beside {
            None => comments.before(definition.rows.start),
            Some(it) if it.bytes == definition.bytes => it.doc,
            Some(it) => it.doc.filter(|_| parent == Some(symbols.len() - 1)),
        };
        heads.push(definition.head.as_ref().and_then(span_of));
        open.push(symbols.len());
        symbols.push(Symbol {
            kind,
            name,
            qualified_name,
            span,
            bytes: definition.bytes,
            signature: LineSpan::new(span.start(), last_of_signature).unwrap_or(span),
            body,
            doc,
            parent,
        });
    }
    take_docs(&mut symbols, docs);
    narrow_signatures(&mut symbols, &heads, &lines);
    Outline {
        references: place(references, &symbols),
        imports,
        symbols,
        fallback: None,
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

/// In the order of their beginnings, the outer first, and names of one node in their order. One node may be a definition
/// of a name by several patterns: the first tells. By one pattern it is found as often as it has bodies, which are shown or left out as
/// one.
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

/// Strings that document the symbol whose body they begin.
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
        symbol.doc = Some(doc);
    }
}

/// What has a head is announced by it, what holds others by its lines before the first of them.
fn narrow_signatures(symbols: &mut [Symbol], heads: &[Option<LineSpan>], lines: &[&str]) {
    for index in 0..symbols.len() {
        if let Some(head) = heads[index] {
            let span = symbols[index].span;
            let head = LineSpan::new(span.start(), head.end().max(span.start()));
            symbols[index].signature = head.unwrap_or(span);
            continue;
        }
        let inner = symbols
            .get(index + 1)
            .filter(|next| next.parent == Some(index))
            .map(|next| next.span_with_doc().start());
        narrow_signature(&mut symbols[index], inner, lines);
    }
}

/// What holds others is announced by its first line alone, up to the bracket that opens it, and never
/// by the lines from `inner` on, where the first of them begins.
fn narrow_signature(symbol: &mut Symbol, inner: Option<u32>, lines: &[&str]) {
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
    let last = (start..=end.min(start + 8)).find(opens).unwrap_or(start);
    symbol.signature = LineSpan::new(start, last).unwrap_or(symbol.span);
}

/// Each reference with the innermost symbol it is in. O((symbols + references) log symbols).
fn place(mut references: Vec<RawReference>, symbols: &[Symbol]) -> Vec<Reference> {
    references.sort_by(|a, b| a.byte.cmp(&b.byte).then(a.kind.cmp(&b.kind)));
    // What is called or extended is not merely a type as well.
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

/// A name as the query found it.
#[derive(Debug)]
pub(crate) struct RawReference {
    pub(crate) kind: ReferenceKind,
    pub(crate) name: String,
    pub(crate) byte: usize,
    pub(crate) line: u32,
}

/// Rows from 0, the end left out, as lines from 1.
pub(crate) fn span_of(rows: &Range<usize>) -> Option<LineSpan> {
    let start = u32::try_from(rows.start).ok()?.checked_add(1)?;
    let end = u32::try_from(rows.end).ok()?;
    LineSpan::new(start, end.max(start)).ok()
}

/// The line of the first statement of a body, and the lines of it that can be left out: those between its brackets, or all
/// where it has none, and then with the comments between it and what announces it.
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

/// Rows of comments, the end left out.
struct Comments {
    /// By their beginnings.
    rows: Vec<Range<usize>>,
    /// For each, where those right above it begin.
    starts: Vec<usize>,
}

impl Comments {
    /// `rows` are sorted by their beginnings. O(rows).
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

    /// The row that those above row `row` begin in, with nothing but blank rows between; `row` itself where there are none.
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

    /// Those right above row `row`. O(log rows).
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
