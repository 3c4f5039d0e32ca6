//! The targets of fuzzing: a law for each way in for the text of others, as a function of bytes.
//!
//! The package in `fuzz/` runs them guided by coverage, and the tests of this crate on seeds and
//! changes of these. Each turns its bytes into the values of a law, which is stated in
//! [`laws`]; how is in `input`.

mod input;

use std::sync::LazyLock;

use ctx_citations::Cited;
use ctx_model::{BuildOptions, BuiltContext, Chunk, CounterName, LineSpan};
use ctx_syntax::{Limits, Source};
use ctx_tokens::{Characters, TokenCounter, Words};
use tiktoken_rs::CoreBPE;

use crate::laws;
use input::Input;

/// A way in for the text of others, and the law that holds there for any bytes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Target {
    /// Its name, which its program and the folder of its seeds have, too.
    pub name: &'static str,
    /// Checks the law, and panics if it does not hold.
    pub check: fn(&[u8]),
}

/// Every target, in the order of their names.
pub const TARGETS: [Target; 11] = [
    target("assemble", assemble),
    target("cite", cite),
    target("decode", decode),
    target("escape", escape),
    target("format", format),
    target("mentions", mentions),
    target("parse", parse),
    target("question", question),
    target("renditions", renditions),
    target("tokens", tokens),
    target("wire", wire),
];

const fn target(name: &'static str, check: fn(&[u8])) -> Target {
    Target { name, check }
}

/// A file of each language, and one of none.
const PATHS: [&str; 34] = [
    "a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.c", "a.cpp", "a.cs", "a.rb",
    "a.php", "a.kt", "a.swift", "a.scala", "a.sh", "a.lua", "a.html", "a.css", "a.json", "a.yaml",
    "a.toml", "a.md", "a.sql", "a.ex", "a.hs", "a.ml", "a.zig", "a.dart", "a.hcl", "a.rst",
    "a.adoc", "a.org", "LICENCE",
];

static CL100K: LazyLock<CoreBPE> =
    LazyLock::new(|| tiktoken_rs::cl100k_base().expect("the vocabulary is embedded"));
static O200K: LazyLock<CoreBPE> =
    LazyLock::new(|| tiktoken_rs::o200k_base().expect("the vocabulary is embedded"));

/// The number of tokens of `text` by a tokenizer that shares no code with ours.
fn reference(encoding: &CoreBPE, text: &str) -> u64 {
    encoding.encode_ordinary(text).len() as u64
}

/// Any chunks and options: the context keeps its budget, also by a tokenizer that shares no code
/// with ours, reads back, and is the same in any order of arrival; a refusal is justified.
pub fn assemble(data: &[u8]) {
    let mut input = Input::new(data);
    let options = input.options();
    let chunks = input.chunks();
    let Some(built) = laws::contexts::holds(&chunks, &options) else {
        return;
    };
    let encoding = match &options.counter {
        CounterName::Named(name) if name == "cl100k_base" => &CL100K,
        CounterName::Named(_) => &O200K,
        _ => return,
    };
    let counted = reference(encoding, &built.context);
    let limit = options.max_tokens.saturating_sub(options.reserve);
    assert!(
        counted <= u64::from(limit.get()),
        "{counted} is over {limit}"
    );
}

/// Any answer to any sources: its citations are where they are said to be, and what is noted behind
/// them is all that the text differs in.
pub fn cite(data: &[u8]) {
    let mut input = Input::new(data);
    let answer = input.text();
    let mut chunks = input.chunks();
    // The form of ids decides what is a citation.
    for (number, chunk) in chunks.iter_mut().enumerate() {
        chunk.id = match number % 3 {
            0 => format!("fil-9f2a1{number}"),
            1 => format!("doc-{number}"),
            _ => number.to_string(),
        };
    }
    let cited: Vec<Cited> = chunks.iter().map(Cited::whole).collect();
    laws::answer(&answer, &cited);
}

/// Any bytes as a file: they are decoded as documented, lines are counted as everywhere, and
/// nothing but secrets is masked.
pub fn decode(data: &[u8]) {
    let (choice, bytes) = data.split_first().unwrap_or((&b'0', data));
    let paths = ["a.txt", ".env", "main.tf", "a/config.yaml", "a.rs"];
    laws::decodes(paths[usize::from(*choice) % paths.len()], bytes);
}

/// Any text in all slots of a block at once: no format lets it out of one.
pub fn escape(data: &[u8]) {
    laws::documents::survives(&String::from_utf8_lossy(data));
}

/// Any chunks and options: the documents read back, and are well-formed by independent parsers.
pub fn format(data: &[u8]) {
    let mut input = Input::new(data);
    let options = input.options_without_blocks();
    let chunks = input.chunks();
    laws::documents::reads_back(&options, &chunks);
    // Whatever a separator looks like is the caller's own.
    laws::well_formed::document(&options.with_chunk_separator(None), &chunks);
}

/// Any message: what it names is told once, in a form that names the same again.
pub fn mentions(data: &[u8]) {
    laws::mentions(&String::from_utf8_lossy(data));
}

/// Any text as a document: it is refused, or gives no more than it has.
pub fn parse(data: &[u8]) {
    laws::documents::is_bounded(&String::from_utf8_lossy(data));
}

/// Any question: its analysis has the form that it promises.
pub fn question(data: &[u8]) {
    laws::question(&String::from_utf8_lossy(data));
}

/// Any bytes as a file of any language: the renditions of all of it, of a part and of each symbol
/// are nested, show lines as they are, and say how many they leave out.
pub fn renditions(data: &[u8]) {
    let mut input = Input::new(data);
    let path = input.one_of(&PATHS);
    let (start, length, about) = (input.number(), input.number(), input.number());
    let text = input.rest();
    // A fifth of what is usual, so that nothing takes long; the law does not know how far it got.
    let limits = Limits::default().with_steps(10_000);
    let source = Source::new(path, &text, &limits);
    let nested = |span| laws::renditions::is_nested(&text, &source, span, &[about + 1]);
    nested(source.whole());
    let start = start % source.line_count() + 1;
    nested(LineSpan::new(start, start + length).expect("the end is not before the start"));
    for symbol in source.outline().symbols.iter().take(16) {
        nested(symbol.span_with_doc());
    }
}

/// Any text in any pieces: each counter keeps its promises, and counts what a tokenizer that shares
/// no code with it counts.
pub fn tokens(data: &[u8]) {
    let pieces: Vec<String> = Input::pieces(data);
    let text = pieces.concat();
    laws::tokens::equals(ctx_tokens::cl100k_base(), &text, reference(&CL100K, &text));
    laws::tokens::equals(ctx_tokens::o200k_base(), &text, reference(&O200K, &text));
    let counters: [&dyn TokenCounter; 4] = [
        ctx_tokens::cl100k_base(),
        ctx_tokens::o200k_base(),
        &Characters,
        &Words,
    ];
    for counter in counters {
        laws::tokens::counts(counter, &text);
        laws::tokens::tallies(counter, &pieces);
        for pair in pieces.windows(2) {
            laws::tokens::adds_up(counter, &pair[0], &pair[1]);
        }
    }
}

/// Any bytes as JSON of the wire: they are refused, or a value that reads back.
pub fn wire(data: &[u8]) {
    laws::wire::is_read::<Chunk>(data);
    laws::wire::is_read::<Vec<Chunk>>(data);
    laws::wire::is_read::<BuildOptions>(data);
    laws::wire::is_read::<BuiltContext>(data);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ctx_syntax::Language;

    use super::*;

    #[test]
    fn there_is_a_file_of_each_language() {
        let names = PATHS.map(|path| Language::of(path, "").map(Language::name));
        let names: BTreeSet<&str> = names.into_iter().flatten().collect();
        let all: BTreeSet<&str> = Language::all().map(Language::name).collect();
        assert_eq!(names, all);
    }
}
