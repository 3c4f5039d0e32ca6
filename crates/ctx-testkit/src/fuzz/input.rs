//! Bytes as what a law is about.
//!
//! The bytes are cut at `0xFF`, which no UTF-8 has: the first piece has the choices, a byte each,
//! and the others are texts. So a seed can be typed, and a change of one byte changes one thing: a
//! choice, or a character. What there are no more bytes for is the first choice, and no text.

use std::borrow::Cow;

use ctx_model::{
    BuildOptions, Chunk, ChunkKind, CounterName, Format, GroupBy, LineSpan, Order, Origin,
    Relation, Relevance, Rendition, RenditionKind, Selection, Tokens, XmlContent, lines,
};

/// Between the pieces of an input.
const CUT: u8 = 0xff;

/// The most chunks of an input.
const MOST_CHUNKS: usize = 8;

/// What is left of an input.
pub(super) struct Input<'d> {
    choices: &'d [u8],
    texts: std::vec::IntoIter<Cow<'d, str>>,
}

impl<'d> Input<'d> {
    pub(super) fn new(data: &'d [u8]) -> Self {
        let mut pieces = data.split(|&byte| byte == CUT);
        let choices = pieces.next().unwrap_or_default();
        let texts: Vec<_> = pieces.map(String::from_utf8_lossy).collect();
        Input {
            choices,
            texts: texts.into_iter(),
        }
    }

    /// A number below `end`, which is not 0. The digit `0` is the first, and so on.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let Some((choice, rest)) = self.choices.split_first() else {
            return 0;
        };
        self.choices = rest;
        usize::from(choice.wrapping_sub(b'0')) % end
    }

    /// Up to two bytes.
    pub(super) fn number(&mut self) -> u32 {
        let (high, low) = (self.below(256), self.below(256));
        u32::try_from(high * 256 + low).expect("it has 16 bits")
    }

    fn is(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(super) fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// The next text; empty after the last.
    pub(super) fn text(&mut self) -> String {
        self.texts.next().unwrap_or_default().into_owned()
    }

    /// The next text, unless it is empty.
    fn some_text(&mut self) -> Option<String> {
        Some(self.text()).filter(|it| !it.is_empty())
    }

    /// All texts that are left, as one.
    pub(super) fn rest(self) -> String {
        self.texts.collect()
    }

    /// All pieces of `data` as texts.
    pub(super) fn pieces(data: &[u8]) -> Vec<String> {
        let pieces = data.split(|&byte| byte == CUT);
        let pieces = pieces.map(|it| String::from_utf8_lossy(it).into_owned());
        pieces.collect()
    }

    /// Options, with the caller's own texts where these are chosen.
    pub(super) fn options(&mut self) -> BuildOptions {
        let options = self.options_without_texts();
        let mut own = || if self.is() { self.some_text() } else { None };
        let (header, footer, separator) = (own(), own(), own());
        options
            .with_header(header)
            .with_footer(footer)
            .with_chunk_separator(separator)
    }

    /// Options whose own texts do not look like blocks: Markdown and plain text do not mark them as
    /// what they are.
    pub(super) fn options_without_blocks(&mut self) -> BuildOptions {
        let options = self.options();
        if matches!(options.format, Format::Xml | Format::Json) {
            return options;
        }
        let plain = |given: &Option<String>| given.as_ref().map(|_| "Use this.".to_owned());
        let separator = options.chunk_separator.as_ref();
        let separators = ["\n", "", "\n---\n\n", "\r\n***\n", "  ", "\n/\n", "next"];
        let separator = separator.map(|it| separators[it.len() % separators.len()].to_owned());
        let (header, footer) = (plain(&options.header), plain(&options.footer));
        options
            .with_header(header)
            .with_footer(footer)
            .with_chunk_separator(separator)
    }

    fn options_without_texts(&mut self) -> BuildOptions {
        let counters = ["o200k_base", "cl100k_base", "characterBased", "wordBased"];
        let groups = [GroupBy::None, GroupBy::File, GroupBy::Kind];
        let orders = [Order::Relevance, Order::Stable, Order::Edges];
        let selections = [Selection::Optimal, Selection::Density, Selection::InOrder];
        let contents = [XmlContent::Escaped, XmlContent::Cdata];
        let most = [None, Some(1), Some(2), Some(4), Some(0)];
        BuildOptions::default()
            .with_format(self.one_of(&Format::ALL))
            .with_max_tokens(Tokens::new(self.number()))
            .with_counter(CounterName::from(self.one_of(&counters).to_owned()))
            .with_group_by(self.one_of(&groups))
            .with_order(self.one_of(&orders))
            .with_selection(self.one_of(&selections))
            .with_xml_content(self.one_of(&contents))
            .with_max_chunks(self.one_of(&most))
            .with_file_headers(!self.is())
            .with_line_numbers(!self.is())
            .with_scores(self.is())
            .with_sources(self.is())
            .with_content(!self.is())
            .with_imports(self.is())
            .with_relations(self.is())
            .with_notice(self.is())
            .with_metadata(self.is())
            .with_ids(self.is())
            .with_merge(!self.is())
            .with_caps(self.is())
            .with_exact(self.is())
            .with_reserve(self.one_of(&[Tokens::ZERO, Tokens::new(20)]))
            .with_diversity(self.one_of(&[0.0, 0.5, 1.0]))
    }

    /// Chunks of the texts that are left: each by itself, or a part of a file that they share.
    pub(super) fn chunks(&mut self) -> Vec<Chunk> {
        let file = if self.is() {
            self.text()
        } else {
            String::new()
        };
        let mut chunks = Vec::new();
        while self.texts.len() > 0 && chunks.len() < MOST_CHUNKS {
            let number = chunks.len();
            chunks.push(self.chunk(number, &file));
        }
        // The parts of the file need no texts.
        while !self.choices.is_empty() && !file.is_empty() && chunks.len() < MOST_CHUNKS {
            let number = chunks.len();
            chunks.push(self.chunk(number, &file));
        }
        chunks
    }

    fn chunk(&mut self, number: usize, file: &str) -> Chunk {
        let percent = u8::try_from(self.below(101)).expect("it is at most 100");
        let relevance = Relevance::clamped(f64::from(percent) / 100.0);
        let id = format!("c{number}");
        if !file.is_empty() && !self.is() {
            return self.part(id, file, relevance);
        }
        let kinds = ["function", "class", "file", "document", "message", "text"];
        let kind = self.one_of(&kinds);
        let mut chunk =
            Chunk::new(id, self.text(), relevance).with_kind(ChunkKind::from(kind.to_owned()));
        let origins = [
            Origin::File,
            Origin::Chunk,
            Origin::Message,
            Origin::Reference,
        ];
        chunk.origin = self.one_of(&origins);
        chunk.pinned = self.below(8) == 7;
        if self.is() {
            let (start, length) = (self.number() + 1, self.number());
            chunk.span = LineSpan::new(start, start + length).ok();
        }
        if self.is() {
            chunk.path = self.some_text();
            chunk.language = self.some_text();
            chunk.name = self.some_text();
            chunk.qualified_name = self.some_text();
        }
        if self.is() {
            chunk.summary = self.some_text();
            chunk.expanded_context = self.some_text();
        }
        if self.is() {
            chunk.id.push_str(&self.text());
            chunk.kind = ChunkKind::from(self.text());
            chunk.imports = vec![self.text(), self.text()];
            let (kind, target) = (self.text(), self.text());
            chunk.relations = vec![Relation { kind, target }];
        }
        if self.is() {
            chunk.renditions = vec![self.rendition()];
        }
        chunk
    }

    /// Lines of `file`.
    fn part(&mut self, id: String, file: &str, relevance: Relevance) -> Chunk {
        let lines: Vec<&str> = file.split_inclusive('\n').collect();
        let start = self.below(lines.len());
        let end = (start + 1 + self.below(8)).min(lines.len());
        let line = |index: usize| u32::try_from(index).expect("there are few");
        let span = LineSpan::new(line(start) + 1, line(end)).expect("it has a line");
        let mut text = lines[start..end].concat();
        // As other tools cut it.
        if self.is() && end > start + 1 {
            text.truncate(ctx_model::without_line_end(&text).len());
        }
        Chunk::new(id, text, relevance)
            .with_path("src/a.rs")
            .with_span(span)
    }

    fn rendition(&mut self) -> Rendition {
        let kind = self.one_of(&RenditionKind::ALL);
        let text = self.text();
        let count = u32::try_from(lines(&text).count()).expect("there are few");
        let share = self.one_of(&[0.5, 0.0, 1.0]);
        let rendition = Rendition::new(kind, text, share).expect("the share is in 0..=1");
        if self.is() {
            return rendition;
        }
        let numbers = (1..=count).map(|line| (line % 5 > 0).then_some(line));
        let mapped = rendition.clone().with_lines(numbers.collect());
        mapped.unwrap_or(rendition)
    }
}
