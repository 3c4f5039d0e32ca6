//! What holds of any answer.

use ctx_citations::Cited;
use ctx_model::{Chunk, LineSpan, Relevance};
use ctx_testkit::laws;
use proptest::prelude::*;

/// What answers are made of here: ids that are known and are not, lines, marks of all kinds, words
/// of the sources and others.
const PIECES: [&str; 57] = [
    "[",
    "]",
    "[a]",
    "[a:2]",
    "[b#L1]",
    "[fil-9f2a1c]",
    "[FIL-9]",
    "a",
    "b",
    ":2",
    "#L3-L2",
    ",",
    ";",
    " ",
    "\n",
    "\r\n",
    "\"",
    "„",
    "“",
    "”",
    "«",
    "»",
    "'",
    "’",
    "`",
    "```\n",
    "> ",
    "**",
    "…",
    "...",
    "one two three",
    "two three four",
    "see also",
    "see ",
    " and ",
    "/",
    "^",
    "【",
    "】",
    "（",
    "）",
    "(chu-00000a)",
    "chu-00000a",
    "chu-00000b",
    "設定は一行に一つ",
    "é",
    "\u{ad}",
    "(",
    ")",
    ".",
    "\t",
    "[1-3]",
    "[1-4, 2]",
    "[1]",
    "–",
    "[3]",
    "four",
];

fn sources() -> Vec<Cited> {
    let file = Chunk::new("a", "one two three\nfour five", Relevance::ONE)
        .with_path("a.md")
        .with_span(LineSpan::new(1, 2).unwrap());
    let note = Chunk::new("b", "設定は一行に一つだけ", Relevance::ONE);
    let label = Chunk::new("chu-00000a", "one two three", Relevance::ONE);
    let numbered = ["1", "3"].map(|id| Chunk::new(id, "two three four", Relevance::ONE));
    let chunks = [file, note, label].into_iter().chain(numbered);
    chunks.map(|it| Cited::whole(&it)).collect()
}

proptest! {
    #[test]
    fn any_answer_is_marked_where_it_cites(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
    ) {
        laws::answer(&pieces.concat(), &sources());
    }
}
