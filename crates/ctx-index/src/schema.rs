//! The documents of the text index: their fields and analyzers.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ctx_rank::{Analyzer, Part};
use serde::{Deserialize, Serialize};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

/// The format of the index. An index of another format is rebuilt.
pub(crate) const FORMAT: u32 = 25;

/// The name of the analyzer for words.
const WORDS: &str = "ctx-words";
/// The name of the analyzer for trigrams.
const TRIGRAMS: &str = "ctx-trigrams";

/// The fields of the text index.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    /// All documents: the whole path.
    pub(crate) path: Field,
    /// Parts: how they are shown, and what must be known without reading the file.
    pub(crate) stored: Field,
    pub(crate) name: Field,
    pub(crate) signature: Field,
    pub(crate) doc: Field,
    pub(crate) body: Field,
    /// Parts: the names that they define and use, whole, in lower case.
    pub(crate) defines: Field,
    pub(crate) uses: Field,
    /// Parts and files: the trigrams of their names.
    pub(crate) trigrams: Field,
    /// Files: the words of the path, and all text.
    pub(crate) path_words: Field,
    pub(crate) text: Field,
    /// Files: each suffix of the path that begins after a slash.
    pub(crate) path_ends: Field,
    /// Files: the outline, that is definitions, imports and references.
    pub(crate) outline: Field,
}

impl Fields {
    pub(crate) fn new() -> Self {
        let mut builder = Schema::builder();
        let words = |name: &str| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(name)
                .set_index_option(IndexRecordOption::WithFreqs);
            TextOptions::default().set_indexing_options(indexing)
        };
        let raw = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        let raw = TextOptions::default().set_indexing_options(raw);
        Fields {
            path: builder.add_text_field("path", STRING | STORED),
            stored: builder.add_bytes_field("stored", STORED),
            name: builder.add_text_field("name", words(WORDS)),
            signature: builder.add_text_field("signature", words(WORDS)),
            doc: builder.add_text_field("doc", words(WORDS)),
            body: builder.add_text_field("body", words(WORDS)),
            defines: builder.add_text_field("defines", raw.clone()),
            uses: builder.add_text_field("uses", raw.clone()),
            trigrams: builder.add_text_field("trigrams", words(TRIGRAMS)),
            path_words: builder.add_text_field("path_words", words(WORDS)),
            text: builder.add_text_field("text", words(WORDS)),
            path_ends: builder.add_text_field("path_ends", raw),
            outline: builder.add_bytes_field("outline", STORED),
            schema: builder.build(),
        }
    }
}

/// What is stored of a part besides its path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// First and last line; 0 for the document of a file.
    #[serde(rename = "l")]
    pub(crate) lines: (u32, u32),
    #[serde(rename = "k", default, skip_serializing_if = "String::is_empty")]
    pub(crate) kind: String,
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pub(crate) qualified_name: Option<String>,
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub(crate) language: Option<String>,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub(crate) modified_at: Option<i64>,
    #[serde(rename = "r", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) refers_to: Vec<String>,
}

/// The analyzers by name.
pub(crate) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(WORDS, TextAnalyzer::from(Words::default()));
    manager.register(TRIGRAMS, TextAnalyzer::from(Trigrams::default()));
    manager
}

/// [`Analyzer`] as a tokenizer of the text index. Clones share one, so that an identifier that
/// occurs in several fields is analysed and cached once; the fields of a segment are written one
/// after another.
#[derive(Clone, Default)]
struct Words {
    analyzer: Arc<Mutex<Analyzer>>,
    tokens: Tokens,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.tokens.start();
        WordStream {
            text,
            at: 0,
            analyzer: self.analyzer.lock().unwrap_or_else(PoisonError::into_inner),
            tokens: &mut self.tokens,
        }
    }
}

/// A stream over the words of a text that splits one identifier at a time.
struct WordStream<'a> {
    text: &'a str,
    at: usize,
    analyzer: MutexGuard<'a, Analyzer>,
    tokens: &'a mut Tokens,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        while !self.tokens.advance() {
            self.tokens.go_on();
            let mut push = |term: &str, _: Part, bytes: Range<usize>| {
                self.tokens.push(term, bytes.start, bytes.end);
            };
            match self.analyzer.first_words(self.text, self.at, &mut push) {
                Some(end) => self.at = end,
                None => return false,
            }
        }
        true
    }

    fn token(&self) -> &Token {
        self.tokens.current()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.tokens.current_mut()
    }
}

#[derive(Clone, Default)]
struct Trigrams {
    tokens: Tokens,
}

impl Tokenizer for Trigrams {
    type TokenStream<'a> = &'a mut Tokens;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> &'a mut Tokens {
        self.tokens.start();
        for gram in trigrams(text) {
            self.tokens.push(&gram, 0, 0);
        }
        &mut self.tokens
    }
}

/// The distinct trigrams of `text` in lower case, with two blanks before it and one after, as
/// PostgreSQL's `pg_trgm` has them.
pub(crate) fn trigrams(text: &str) -> Vec<String> {
    let mut grams = Vec::new();
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|it| !it.is_empty())
    {
        let padded = format!("  {} ", word.to_lowercase());
        let padded: Vec<char> = padded.chars().collect();
        grams.extend(padded.windows(3).map(|it| it.iter().collect::<String>()));
    }
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// A reusable buffer of tokens of one text.
#[derive(Clone, Default)]
pub(crate) struct Tokens {
    all: Vec<Token>,
    count: usize,
    /// The index of the current token, plus one.
    next: usize,
    /// The number of tokens before these.
    before: usize,
}

impl Tokens {
    fn start(&mut self) {
        self.go_on();
        self.before = 0;
    }

    /// Makes room for the tokens that follow.
    fn go_on(&mut self) {
        self.before += self.count;
        self.count = 0;
        self.next = 0;
    }

    fn push(&mut self, text: &str, from: usize, to: usize) {
        if self.count == self.all.len() {
            self.all.push(Token::default());
        }
        let token = &mut self.all[self.count];
        token.text.clear();
        token.text.push_str(text);
        token.offset_from = from;
        token.offset_to = to;
        token.position = self.before + self.count;
        self.count += 1;
    }

    /// Moves to the next token, if there is one.
    fn advance(&mut self) -> bool {
        self.next += 1;
        self.next <= self.count
    }

    fn current(&self) -> &Token {
        &self.all[self.next - 1]
    }

    fn current_mut(&mut self) -> &mut Token {
        &mut self.all[self.next - 1]
    }
}

impl TokenStream for &mut Tokens {
    fn advance(&mut self) -> bool {
        Tokens::advance(self)
    }

    fn token(&self) -> &Token {
        self.current()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.current_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_text_are_those_of_the_analyzer_in_their_order() {
        let mut analyzer = tokenizers().get(WORDS).unwrap();
        // The second text reuses the memory of the first.
        for text in [
            "fn parseHTTPHeader(caf\u{e9}, _) -> __init__;",
            "a_b __ \u{6e2f}\u{53e3}\u{6e2f} x2",
            "",
        ] {
            let mut expected = Vec::new();
            Analyzer::default().words(text, &mut |term, _, bytes| {
                expected.push((term.to_owned(), bytes, expected.len()));
            });
            let mut stream = analyzer.token_stream(text);
            let mut found = Vec::new();
            while stream.advance() {
                let token = stream.token();
                let bytes = token.offset_from..token.offset_to;
                found.push((token.text.clone(), bytes, token.position));
            }
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
