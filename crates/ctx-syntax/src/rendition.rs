//! Renditions of a span of a source. Each kind shows some of the lines of the kind above it.

use std::sync::Arc;

use ctx_model::{LineSpan, RenditionKind};

use crate::lines::{Line, Lines, Shown, beginning, indentation, mark};
use crate::{Language, Limits, Outline, Symbol, SymbolKind, is_prose, language_name, pieces};

/// The number of lines that an excerpt shows before and after each match.
pub const CONTEXT_LINES: u32 = 2;

/// An excerpt of a span of more lines that is flat leaves out what is not about its matches.
const LONG: u32 = 20;

/// Which marks are shown for lines that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// A mark for each run that is left out.
    All,
    /// A mark for each run that is left out, and only the [`beginning`] of lines that are too long.
    AllAndCut,
    /// No marks, except after the beginning of a line that is too long.
    Cut,
}

/// A text with its lines and outline.
#[derive(Clone, Debug)]
pub struct Source<'t> {
    language: Option<Language>,
    /// Whether it is, or may be, written for people to read.
    is_prose: bool,
    lines: Vec<&'t str>,
    outline: Arc<Outline>,
}

impl<'t> Source<'t> {
    /// Reads `text`, whose language is recognised by its path and first lines. Time: that of
    /// [`Outline::of`].
    pub fn new(path: &str, text: &'t str, limits: &Limits) -> Self {
        let outline = Outline::of(text, Language::of(path, text), limits);
        Source::with_outline(path, text, outline)
    }

    /// The text at `path`, whose outline is known. O(bytes).
    pub fn with_outline(path: &str, text: &'t str, outline: impl Into<Arc<Outline>>) -> Self {
        let language = Language::of(path, text);
        let name = language.map(Language::name);
        let name = name.or_else(|| language_name(path, text));
        Source {
            language,
            is_prose: name.is_none_or(|it| is_prose(path, Some(it))),
            lines: pieces::lines(text),
            outline: outline.into(),
        }
    }

    /// The language, if known.
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// The definitions, imports and references of the text.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// How many lines there are; at least one.
    pub fn line_count(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// All lines.
    pub fn whole(&self) -> LineSpan {
        LineSpan::new(1, self.line_count()).expect("there is a line")
    }

    /// The existing lines of `span`, each with its number.
    pub fn lines(&self, span: LineSpan) -> impl Iterator<Item = (u32, &'t str)> {
        let span = self.clip(span);
        let numbers = span.into_iter().flat_map(|it| it.start()..=it.end());
        numbers.map(|number| (number, self.line(number)))
    }

    /// Line `number`, from 1; empty past the end.
    pub(crate) fn line(&self, number: u32) -> &'t str {
        let index = (number as usize).wrapping_sub(1);
        self.lines.get(index).copied().unwrap_or_default()
    }

    /// Shows `span` in the form of `kind`; `matches` are the numbers of the lines that an excerpt
    /// is about.
    ///
    /// * *full*: every line;
    /// * *excerpt*: the skeleton, and the lines around each match;
    /// * *skeleton*: every line except bodies: of functions, of queries, of data values nested
    ///   deeper than the outline, and of sections of documents after their first block;
    /// * *signature*: signatures and doc comments of the definitions in the span, without their
    ///   parts;
    /// * *mention*: the line that names it.
    ///
    /// Mentions, and signatures and skeletons except those of prose, show only the [`beginning`] of
    /// a line of more than 240 bytes, without a number and followed by a mark. Otherwise a file of
    /// one line would have no short rendition; in prose, a line may be a paragraph.
    ///
    /// Each kind shows some of the lines of the kind before it, and a mark for each run that it
    /// leaves out. Lines past the end of the text are left out without a mark. O(lines + symbols).
    pub fn render(&self, span: LineSpan, kind: RenditionKind, matches: &[u32]) -> Lines<'t> {
        let Some(span) = self.clip(span) else {
            return Lines::default();
        };
        let shown = self.shown(span, kind, matches);
        self.show(span, &shown, self.marks(kind))
    }

    fn marks(&self, kind: RenditionKind) -> Marks {
        match kind {
            RenditionKind::Full | RenditionKind::Excerpt => Marks::All,
            RenditionKind::Skeleton | RenditionKind::Signature if self.is_prose => Marks::All,
            RenditionKind::Skeleton | RenditionKind::Signature => Marks::AllAndCut,
            RenditionKind::Mention => Marks::Cut,
        }
    }

    /// The number of lines of `span` that are not blank. O(bytes).
    pub fn non_blank_lines(&self, span: LineSpan) -> usize {
        let all = span.start()..=span.end().min(self.line_count());
        all.filter(|&it| self.says(it)).count()
    }

    /// The share of the information of a span that a rendition keeps, 0 to 1: the share of its
    /// non-blank lines (the span has `non_blank` of them, see [`Source::non_blank_lines`]), but at
    /// least a fixed value per kind. A heuristic: names and signatures carry more information than
    /// their number of lines suggests.
    pub fn information(&self, kind: RenditionKind, lines: &Lines<'_>, non_blank: usize) -> f64 {
        let least = match kind {
            RenditionKind::Full => return 1.0,
            RenditionKind::Excerpt => 0.3,
            RenditionKind::Skeleton => 0.2,
            RenditionKind::Signature => 0.12,
            RenditionKind::Mention => 0.05,
        };
        let shown = lines.numbers().filter(|&it| self.says(it)).count();
        #[expect(
            clippy::cast_precision_loss,
            reason = "there are fewer than 2^52 lines"
        )]
        let share = shown as f64 / non_blank.max(1) as f64;
        share.max(least).min(1.0)
    }

    /// Whether a definition begins in `span`. O(symbols).
    pub fn defines_any(&self, span: LineSpan) -> bool {
        self.defined_in(span).next().is_some()
    }

    /// Whether `span` has more than 20 lines, of which a skeleton leaves nothing out: settings,
    /// constants, a table. Prose, which is read in order, is never flat. O(lines + symbols).
    pub fn is_flat(&self, span: LineSpan) -> bool {
        let span = self.clip(span);
        span.is_some_and(|span| self.is_long_and_flat(span, &self.skeleton(span)))
    }

    fn clip(&self, span: LineSpan) -> Option<LineSpan> {
        LineSpan::new(span.start(), span.end().min(self.line_count())).ok()
    }

    /// Whether line `number` is not blank.
    fn says(&self, number: u32) -> bool {
        let line = self.line(number);
        match line.bytes().find(|it| !matches!(it, b' ' | b'\t')) {
            None => false,
            Some(byte) => byte.is_ascii_graphic() || !line.trim_start().is_empty(),
        }
    }

    /// The lines of `span` that `kind` shows.
    pub(crate) fn shown(&self, span: LineSpan, kind: RenditionKind, matches: &[u32]) -> Shown {
        match kind {
            RenditionKind::Full => Shown::all(span),
            RenditionKind::Excerpt => self.excerpt(span, matches),
            RenditionKind::Skeleton => self.skeleton(span),
            RenditionKind::Signature => self.signature(Shown::none(span), span),
            RenditionKind::Mention => self.mention(Shown::none(span), span),
        }
    }

    fn excerpt(&self, span: LineSpan, matches: &[u32]) -> Shown {
        let mut shown = self.skeleton(span);
        if self.is_long_and_flat(span, &shown) {
            shown = self.signature(Shown::none(span), span);
            if self.is_whole(&shown) {
                shown = self.mention(Shown::none(span), span);
            }
        }
        for &number in matches {
            if span.contains_line(number) {
                shown.show(
                    number.saturating_sub(CONTEXT_LINES),
                    number.saturating_add(CONTEXT_LINES),
                );
            }
        }
        shown
    }

    /// Whether `shown` leaves out no line that is not blank.
    fn is_whole(&self, shown: &Shown) -> bool {
        !shown.numbers(false).any(|it| self.says(it))
    }

    fn is_long_and_flat(&self, span: LineSpan, skeleton: &Shown) -> bool {
        span.line_count() > LONG && !self.is_prose && self.is_whole(skeleton)
    }

    fn skeleton(&self, span: LineSpan) -> Shown {
        if self.outline.fallback.is_some() {
            return self.outermost(span);
        }
        let mut shown = Shown::all(span);
        for body in self.begun_by(span.end()).iter().filter_map(|it| it.body) {
            shown.hide(body.start(), body.end());
        }
        // For a span within one body, add the lines that identify it.
        self.signature(shown, span)
    }

    /// Adds to `shown` the signatures of the definitions in `span`.
    fn signature(&self, shown: Shown, span: LineSpan) -> Shown {
        let mut shown = self.mention(shown, span);
        if self.outline.fallback.is_some() {
            return shown;
        }
        for symbol in self.defined_in(span) {
            // Lines in both signature and body belong to the body.
            let end = symbol.body.map_or(symbol.signature.end(), |body| {
                symbol.signature.end().min(body.start().saturating_sub(1))
            });
            shown.show(symbol.signature.start(), end);
            for said in symbol.lead.into_iter().chain(symbol.doc) {
                shown.show(said.start(), said.end());
            }
        }
        shown
    }

    /// Adds to `shown` the line that names the subject of `span`: the first definition in it, else
    /// its first line with a letter or digit (`/*` names nothing), or that is not blank.
    fn mention(&self, mut shown: Shown, span: LineSpan) -> Shown {
        let defined = self
            .defined_in(span)
            .map(|symbol| symbol.span.start())
            .next();
        let mut lines = span.start()..=span.end();
        let has_word = |it: &u32| self.line(*it).contains(char::is_alphanumeric);
        let mention = defined
            .or_else(|| lines.clone().find(has_word))
            .or_else(|| lines.find(|&it| self.says(it)))
            .unwrap_or(span.start());
        shown.show(mention, mention);
        shown
    }

    /// The outermost symbols that begin in `span`, whether their doc comment does or not.
    fn defined_in(&self, span: LineSpan) -> impl Iterator<Item = &Symbol> {
        let begins = move |symbol: &Symbol| {
            span.start() <= symbol.span.start() && symbol.span.start() <= span.end()
        };
        let symbols = &self.outline.symbols;
        self.begun_by(span.end()).iter().filter(move |symbol| {
            begins(symbol) && {
                let parent = symbol.parent.and_then(|parent| symbols.get(parent));
                let is_inner = parent.is_some_and(begins);
                !is_inner || is_part_of_section(symbols, symbol)
            }
        })
    }

    /// The symbols that begin at or before line `number`.
    fn begun_by(&self, number: u32) -> &[Symbol] {
        let symbols = &self.outline.symbols;
        &symbols[..symbols.partition_point(|it| it.span.start() <= number)]
    }

    /// Without a grammar: shows the lines with the least indentation.
    fn outermost(&self, span: LineSpan) -> Shown {
        let depth = |number: u32| indentation(self.line(number)).len();
        let numbers = || (span.start()..=span.end()).filter(|&it| self.says(it));
        let least = numbers().map(depth).min().unwrap_or_default();
        let mut shown = Shown::none(span);
        for number in numbers().filter(|&it| depth(it) == least) {
            shown.show(number, number);
        }
        self.mention(shown, span)
    }

    /// The lines of `span` that are `shown`, with `marks` between them. O(lines).
    pub(crate) fn show(&self, span: LineSpan, shown: &Shown, marks: Marks) -> Lines<'t> {
        let mut lines = Vec::with_capacity(shown.count() + 2);
        let mut next = span.start();
        let mut is_cut = false;
        for number in shown.numbers(true).chain([span.end() + 1]) {
            let left_out = number.saturating_sub(next) as usize;
            if (marks != Marks::Cut || is_cut) && left_out > 0 {
                let nearest = if number > span.end() { next } else { number };
                let first = (next..number).find(|&it| self.says(it));
                let first = indentation(self.line(first.unwrap_or(nearest)));
                let first = beginning(first).unwrap_or(first);
                lines.push(mark(self.language, first, left_out));
            }
            let text = self.line(number);
            let cut = beginning(text).filter(|_| marks != Marks::All && number <= span.end());
            is_cut = cut.is_some();
            if let Some(beginning) = cut {
                lines.push(Line {
                    number: None,
                    text: beginning.into(),
                });
                // The rest of the line is left out, so the next mark counts it, too.
                next = number;
                continue;
            }
            if number <= span.end() {
                lines.push(Line {
                    number: Some(number),
                    text: text.into(),
                });
            }
            next = number + 1;
        }
        Lines(lines)
    }
}

/// A section within a section is shown as well: headings of all levels are the outline of a
/// document.
fn is_part_of_section(symbols: &[Symbol], symbol: &Symbol) -> bool {
    symbol.kind == SymbolKind::Section
        && (symbol.parent.and_then(|parent| symbols.get(parent)))
            .is_some_and(|parent| parent.kind == SymbolKind::Section)
}
