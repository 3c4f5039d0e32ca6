//! Parsing within limits, and collecting what the queries find.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use tree_sitter::{Node, ParseOptions, Parser, Tree, TreeCursor};

use crate::SymbolKind;
use crate::captures::Match;
use crate::matcher::Matcher;
use crate::outline::{Fallback, Import, RawReference, ReferenceKind, span_of};
use crate::patterns::{Pattern, Patterns, Root};
use crate::table::{Deepest, Preprocessor, ROWS};
use crate::work::Work;
use crate::{Language, Limits, macros, qualified};

/// The longest title of a test that is taken, in bytes.
const LONGEST_TITLE: usize = 1_024;

/// A grammar and the patterns of its query, which are read on first use.
pub(crate) struct Grammar {
    parser_of: tree_sitter::Language,
    patterns: Patterns,
    roles: Vec<Role>,
    /// The settings of each pattern.
    settings: Vec<Settings>,
    separator: &'static str,
    deepest: Option<Deepest>,
    preprocessor: Preprocessor,
}

/// Settings of a pattern about names, besides its captures.
#[derive(Debug, Default)]
struct Settings {
    /// A prefix of the definition's name, which is written where it is used.
    before: Option<String>,
    /// The number of names of a reference, if it has several.
    names: Option<usize>,
}

/// The role of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Definition(SymbolKind),
    /// A definition, unless it is local to another.
    Outer(SymbolKind),
    Name,
    /// A name that is written with signs that do not belong to it.
    Symbol,
    /// A name that is written with its scopes.
    Qualified,
    /// A title of a test, which stands for a name.
    Title,
    /// A name before the name of the definition, and a part of it.
    Part,
    /// A scope that the name is written with.
    Within,
    Head,
    Body,
    /// What is written around a definition, with it.
    Wrapper,
    /// The definition in a wrapper.
    Wrapped,
    Doc,
    Import,
    Module,
    Reference(ReferenceKind),
    Comment,
    /// Used by predicates only.
    Word,
}

/// The results of the query.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) definitions: Vec<Definition>,
    pub(crate) wrappers: Vec<Wrapper>,
    /// Bytes and rows of strings that document the definition around them.
    pub(crate) docs: Vec<(Range<usize>, Range<usize>)>,
    pub(crate) imports: Vec<Import>,
    pub(crate) references: Vec<RawReference>,
    /// Rows, ascending, that hold nothing but comments, attributes and decorators.
    pub(crate) comment_rows: Vec<Range<usize>>,
}

/// A node that belongs to the definition in it.
#[derive(Clone, Debug)]
pub(crate) struct Wrapper {
    pub(crate) bytes: Range<usize>,
    /// End exclusive.
    pub(crate) rows: Range<usize>,
    /// The bytes of the definition.
    pub(crate) wrapped: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) kind: SymbolKind,
    /// Whether it is dropped if it is local to another definition.
    pub(crate) is_outer: bool,
    pub(crate) name: String,
    /// Whether the name is a title.
    pub(crate) is_title: bool,
    /// The byte where the name begins.
    pub(crate) named_at: usize,
    /// The scopes that the name is written with, the outermost first.
    pub(crate) within: Vec<String>,
    pub(crate) pattern: usize,
    pub(crate) bytes: Range<usize>,
    /// End exclusive.
    pub(crate) rows: Range<usize>,
    /// The row where it begins without what is written around it.
    pub(crate) own_row: usize,
    /// The rows of the signature, if the query captures it.
    pub(crate) head: Option<Range<usize>>,
    pub(crate) body: Option<Body>,
}

/// The part that a skeleton leaves out.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// End exclusive.
    pub(crate) rows: Range<usize>,
    /// Whether only white space precedes it in its first row.
    pub(crate) begins_its_row: bool,
}

impl Body {
    fn of(node: Node<'_>, text: &str) -> Self {
        let rows = rows_of(node);
        let body = &text[node.byte_range()];
        let after = &body[body.trim_end().len()..];
        // A last row with nothing of the body but white space belongs to the closing token.
        let blank = after.bytes().filter(|&byte| byte == b'\n').count();
        let last = (node.end_position().row + 1).saturating_sub(blank);
        Body {
            rows: rows.start..last.clamp(rows.start + 1, rows.end.max(rows.start + 1)),
            begins_its_row: begins_its_row(node, text),
        }
    }

    /// Extends the body to cover `other`, too.
    pub(crate) fn unite(&mut self, other: &Body) {
        if other.rows.start < self.rows.start {
            self.begins_its_row = other.begins_its_row;
        }
        self.rows.start = self.rows.start.min(other.rows.start);
        self.rows.end = self.rows.end.max(other.rows.end);
    }
}

impl Settings {
    /// The settings of a pattern; `None` if one of them is unknown.
    fn of(pattern: &Pattern) -> Option<Self> {
        let mut settings = Settings::default();
        for (key, value) in &pattern.settings {
            match key.as_str() {
                "before" => settings.before = Some(value.clone()),
                "names" => settings.names = Some(value.parse().ok()?),
                _ => return None,
            }
        }
        Some(settings)
    }
}

impl Grammar {
    /// The grammar of `language`, if it is linked in. Tests check that every query compiles.
    pub(crate) fn of(language: Language) -> Option<&'static Grammar> {
        static GRAMMARS: [OnceLock<Option<Grammar>>; ROWS.len()] =
            [const { OnceLock::new() }; ROWS.len()];
        GRAMMARS[language.index()]
            .get_or_init(|| Grammar::load(language).ok().flatten())
            .as_ref()
    }

    /// Loads the grammar of `language`; an error says what is wrong with its query.
    pub(crate) fn load(language: Language) -> Result<Option<Grammar>, String> {
        let row = language.row();
        let Some(grammar) = row.grammar else {
            return Ok(None);
        };
        let grammar = tree_sitter::Language::new(grammar);
        let source = format!("{}\n{}", row.query, comments(&grammar));
        let patterns = Patterns::of(&grammar, &source)?;
        let names = patterns.captures.iter();
        let roles: Option<Vec<Role>> = names.map(|name| role(name)).collect();
        let roles = roles.ok_or_else(|| format!("a capture of {:?} has no meaning", row.name))?;
        let settings: Option<_> = patterns.all.iter().map(Settings::of).collect();
        let settings =
            settings.ok_or_else(|| format!("a setting of {:?} has no meaning", row.name))?;
        Ok(Some(Grammar {
            parser_of: grammar,
            patterns,
            roles,
            settings,
            separator: row.separator,
            deepest: row.deepest,
            preprocessor: row.preprocessor,
        }))
    }

    /// Parses `text` and runs the query, both within `limits`.
    pub(crate) fn read(&self, text: &str, limits: &Limits) -> Result<Reading, Fallback> {
        if text.len() > limits.bytes {
            return Err(Fallback::TooLarge {
                limit: limits.bytes,
            });
        }
        if let Some(deepest) = self.deepest {
            bear(text, deepest)?;
        }
        let mut work = Work::new(limits);
        let plain = match self.preprocessor {
            Preprocessor::All => macros::without_those_before_access(text),
            Preprocessor::Nothing | Preprocessor::Conditions => None,
        };
        let parsed = plain.as_deref().unwrap_or(text);
        let mut tree = self.parse(parsed, &mut work)?;
        if tree.root_node().has_error()
            && let Some(blanked) = macros::blanked(parsed, self.preprocessor)
        {
            let without = self.parse(&blanked, &mut work)?;
            let errors = |it: &Tree| (it.root_node().is_error(), errors(it));
            if errors(&without) < errors(&tree) {
                tree = without;
            }
        }
        let root = tree.root_node();
        if root.is_error() {
            return Err(Fallback::NotParsed);
        }
        let mut reading = self.walk(&tree, text, &mut work)?;
        reading.comment_rows.sort_unstable_by_key(|rows| rows.start);
        Ok(reading)
    }

    /// Collects what the query finds in `tree`: every node is visited, and patterns are tried where
    /// they begin, which the kind of a node shows.
    fn walk(&self, tree: &Tree, text: &str, work: &mut Work) -> Result<Reading, Fallback> {
        let mut reading = Reading::default();
        let mut matcher = Matcher::new(&self.patterns, tree.root_node());
        let mut cursor = tree.walk();
        for number in 0_usize.. {
            let node = cursor.node();
            match self.patterns.at(node.kind_id()) {
                Root::Nothing => {}
                Root::Capture(capture) => self.note_node(capture, node, text, &mut reading),
                Root::Patterns(from, to) => {
                    let beginning = self.patterns.beginning(from, to);
                    matcher.run(node, beginning, work, &mut |found| {
                        self.note(found, text, &mut reading);
                    })?;
                }
            }
            if number % 4096 == 0 && work.is_late() {
                return Err(Fallback::TooSlow);
            }
            if !advance(&mut cursor) {
                break;
            }
        }
        Ok(reading)
    }

    fn parse(&self, text: &str, work: &mut Work) -> Result<Tree, Fallback> {
        let mut parser = Parser::new();
        parser
            .set_language(&self.parser_of)
            .map_err(|_| Fallback::NoGrammar)?;
        let mut progress = |_: &_| work.step();
        let options = ParseOptions::new().progress_callback(&mut progress);
        let bytes = text.as_bytes();
        let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        work.result()?;
        tree.ok_or(Fallback::NotParsed)
    }

    /// Collects a node whose capture suffices by itself.
    fn note_node(&self, capture: u32, node: Node<'_>, text: &str, reading: &mut Reading) {
        match self.roles[capture as usize] {
            Role::Doc => reading.docs.push((node.byte_range(), rows_of(node))),
            Role::Reference(kind) => {
                let name = &text[node.byte_range()];
                reading.references.extend(reference(kind, node, name));
            }
            Role::Comment if begins_its_row(node, text) => {
                reading.comment_rows.push(rows_of(node));
            }
            _ => {}
        }
    }

    /// Collects a match, if its predicates hold.
    fn note(&self, found: &Match<'_, '_>, text: &str, reading: &mut Reading) {
        let predicates = &self.patterns.all[found.pattern].predicates;
        if !predicates.iter().all(|it| found.satisfies(it, text)) {
            return;
        }
        let mut defined: Option<(SymbolKind, bool, Node<'_>)> = None;
        let mut name: Option<(Node<'_>, Cow<'_, str>)> = None;
        let (mut is_title, mut head) = (false, None);
        let mut body: Option<Body> = None;
        let mut import = None;
        let mut modules: Vec<&str> = Vec::new();
        let (mut around, mut wrapped) = (None, None);
        let settings = &self.settings[found.pattern];
        let mut within = Vec::new();
        let mut parts: Vec<&str> = settings.before.as_deref().into_iter().collect();
        for capture in found.captures {
            let node = capture.node;
            match self.roles[capture.index as usize] {
                Role::Definition(kind) => defined = Some((kind, false, node)),
                Role::Outer(kind) => defined = Some((kind, true, node)),
                Role::Name => name = Some((node, unquoted(&text[node.byte_range()]).into())),
                Role::Symbol => name = Some((node, unsigned(&text[node.byte_range()]).into())),
                // Titles may hold each other, and each body has a copy.
                Role::Title if node.byte_range().len() > LONGEST_TITLE => return,
                Role::Title => {
                    is_title = true;
                    name = Some((node, unescaped(unquoted(&text[node.byte_range()]))));
                }
                Role::Part => parts.push(unquoted(&text[node.byte_range()])),
                Role::Within => {
                    let names = qualified::names(&text[node.byte_range()], self.separator);
                    within.extend(names.into_iter().map(one_line));
                }
                Role::Qualified => {
                    let mut names = qualified::names(&text[node.byte_range()], self.separator);
                    name = names.pop().map(|it| (node, it.into()));
                    within.extend(names.into_iter().map(one_line));
                }
                Role::Head => head = Some(node),
                Role::Body => {
                    let its = Body::of(node, text);
                    body.get_or_insert_with(|| its.clone()).unite(&its);
                }
                Role::Wrapper => around = Some(node),
                Role::Wrapped => wrapped = Some(node),
                Role::Import => import = Some(node),
                Role::Module => modules.push(&text[node.byte_range()]),
                Role::Reference(kind) if let Some(names) = settings.names => {
                    let name = names_at(&text[node.start_byte()..], self.separator, names);
                    let its = name.and_then(|name| reference(kind, node, name));
                    reading.references.extend(its);
                }
                _ => self.note_node(capture.index, node, text, reading),
            }
        }
        if let (Some((kind, is_outer, node)), Some((named, name))) = (defined, name) {
            parts.push(&name);
            reading.definitions.push(Definition {
                kind,
                is_outer,
                name: one_line(&parts.join(self.separator)),
                is_title,
                named_at: named.start_byte(),
                within,
                pattern: found.pattern,
                bytes: node.byte_range(),
                rows: rows_of(node),
                own_row: node.start_position().row,
                head: head.map(rows_of),
                body,
            });
        }
        if let (Some(node), Some(wrapped)) = (around, wrapped) {
            reading.wrappers.push(Wrapper {
                bytes: node.byte_range(),
                rows: rows_of(node),
                wrapped: wrapped.byte_range(),
            });
        }
        if let Some(node) = import
            && !modules.is_empty()
        {
            let module = one_line(&modules.join(self.separator));
            reading
                .imports
                .extend(span_of(&rows_of(node)).map(|span| Import {
                    module: module.trim_matches(['"', '\'', '`', '<', '>']).to_owned(),
                    span,
                }));
        }
    }
}

fn role(name: &str) -> Option<Role> {
    Some(match name {
        "name" => Role::Name,
        "symbol" => Role::Symbol,
        "qualified" => Role::Qualified,
        "title" => Role::Title,
        "part" => Role::Part,
        "within" => Role::Within,
        "head" => Role::Head,
        "body" => Role::Body,
        "wrapper" => Role::Wrapper,
        "wrapped" => Role::Wrapped,
        "doc" => Role::Doc,
        "import" => Role::Import,
        "module" => Role::Module,
        "ref.call" => Role::Reference(ReferenceKind::Call),
        "ref.type" => Role::Reference(ReferenceKind::Type),
        "ref.extends" => Role::Reference(ReferenceKind::Extends),
        "comment" => Role::Comment,
        "_word" | "_key" => Role::Word,
        _ => match name.split_once('.')? {
            ("def", kind) => Role::Definition(kind.parse().ok()?),
            ("outer", kind) => Role::Outer(kind.parse().ok()?),
            _ => return None,
        },
    })
}

/// Removes the quotes around a name.
fn unquoted(name: &str) -> &str {
    let between = |quote| name.strip_prefix(quote)?.strip_suffix(quote);
    let mut quotes = ['"', '\'', '`'].into_iter();
    quotes
        .find_map(between)
        .filter(|it| !it.is_empty())
        .unwrap_or(name)
}

/// A title without the backslashes before its quotes, as runners of tests print it.
fn unescaped(title: &str) -> Cow<'_, str> {
    if !title.contains('\\') {
        return title.into();
    }
    let quotes = ["'", "\"", "`"].into_iter();
    let kept = |title: String, quote: &str| title.replace(&format!("\\{quote}"), quote);
    quotes.fold(title.to_owned(), kept).into()
}

/// A name that is written as `:name`, `name:` or `name=`, without its signs.
fn unsigned(name: &str) -> &str {
    unquoted(name.trim_matches(|c: char| c == ':' || c == '=' || c.is_whitespace()))
}

/// Moves to the next node in preorder; `false` at the end.
fn advance(cursor: &mut TreeCursor<'_>) -> bool {
    if cursor.goto_first_child() {
        return true;
    }
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
    }
    true
}

/// The number of errors and missing nodes in `tree`.
fn errors(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let mut errors = 0;
    loop {
        let node = cursor.node();
        errors += usize::from(node.is_error() || node.is_missing());
        // Subtrees without errors are skipped.
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return errors;
            }
        }
    }
}

/// The prefix of `text` that consists of this many `names` with separators between them.
fn names_at<'t>(text: &'t str, separator: &str, names: usize) -> Option<&'t str> {
    let mut rest = text;
    for name in 0..names {
        if name > 0 {
            rest = rest.strip_prefix(separator)?;
        }
        let after = rest.trim_start_matches(|it: char| it.is_alphanumeric() || "_-".contains(it));
        if after.len() == rest.len() {
            return None;
        }
        rest = after;
    }
    Some(&text[..text.len() - rest.len()])
}

fn reference(kind: ReferenceKind, node: Node<'_>, name: &str) -> Option<RawReference> {
    Some(RawReference {
        kind,
        name: one_line(name),
        byte: node.start_byte(),
        line: span_of(&rows_of(node))?.start(),
    })
}

/// The rows of `node`, end exclusive. A node that ends with a line feed does not extend into the
/// next row.
fn rows_of(node: Node<'_>) -> Range<usize> {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row {
        end.row
    } else {
        end.row + 1
    };
    start.row..last
}

fn one_line(text: &str) -> String {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |line, word| line + " " + word)
}

/// Patterns for all comments, attributes and decorators of the grammar.
fn comments(grammar: &tree_sitter::Language) -> String {
    let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
    let ids =
        (0..count).filter(|&id| grammar.node_kind_is_named(id) && grammar.node_kind_is_visible(id));
    let kinds: BTreeSet<&str> = ids.filter_map(|id| grammar.node_kind_for_id(id)).collect();
    let is_comment = |kind: &&str| {
        kind.contains("comment")
            || matches!(
                *kind,
                "attribute_item" | "decorator" | "attribute_list" | "pragma"
            )
    };
    let comments = kinds.into_iter().filter(is_comment);
    comments.fold(String::new(), |patterns, kind| {
        patterns + "(" + kind + ") @comment\n"
    })
}

fn begins_its_row(node: Node<'_>, text: &str) -> bool {
    let start = node.start_byte();
    let before = text[..start]
        .bytes()
        .rev()
        .take(node.start_position().column);
    before.into_iter().all(|byte| byte.is_ascii_whitespace())
}

/// Rejects text that is nested deeper than `deepest`. O(bytes).
fn bear(text: &str, deepest: Deepest) -> Result<(), Fallback> {
    let (levels, limit) = match deepest {
        Deepest::Indentation(limit) => (indented_levels(text), limit),
        Deepest::Angles(limit) => (open_angles(text), limit),
        Deepest::Comments(limit) => (text.matches("(*").count(), limit),
    };
    if levels > limit {
        return Err(Fallback::TooDeep { limit });
    }
    Ok(())
}

/// The most `<` that are open at once; a `>` closes one, and a brace closes all, in any context:
/// comparisons count, too, but people do not write a thousand of those between two braces.
/// O(bytes).
fn open_angles(text: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'<' => open += 1,
            b'>' => open = open.saturating_sub(1),
            b'{' | b'}' => open = 0,
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// The depth of nested indentation; the indicators `-`, `?` and `:` at the beginning of a line
/// count as indentation. O(bytes).
fn indented_levels(text: &str) -> usize {
    let mut levels: Vec<usize> = Vec::new();
    let mut deepest = 0;
    for line in text.lines() {
        let mut column = 0;
        let mut rest = line;
        loop {
            let content = rest.trim_start_matches([' ', '\t']);
            column += rest.len() - content.len();
            if content.is_empty() {
                break;
            }
            while levels.last().is_some_and(|&last| last >= column) {
                levels.pop();
            }
            levels.push(column);
            deepest = deepest.max(levels.len());
            let after = content.strip_prefix(['-', '?', ':']);
            match after.filter(|after| after.is_empty() || after.starts_with([' ', '\t'])) {
                Some(after) => (rest, column) = (after, column + 1),
                None => break,
            }
        }
    }
    deepest
}

#[cfg(test)]
#[path = "grammar_tests.rs"]
mod tests;
