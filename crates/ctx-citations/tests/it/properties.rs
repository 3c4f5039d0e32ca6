//! What holds of any answer.

use std::fmt::Write as _;

use ctx_citations::{Cited, StoredSource, Verdict, resolve};
use ctx_model::{Chunk, LineSpan, Relevance};
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

/// The note behind a citation.
fn note(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Sound => "",
        Verdict::Unknown => ": unknown",
        Verdict::Malformed => ": malformed",
        Verdict::OutOfRange => ": no such lines",
        Verdict::Misquoted => ": not a quotation",
        Verdict::OtherLines => ": not in these lines",
        Verdict::Unchecked => ": not checked",
        other => panic!("no note for {other:?}"),
    }
}

proptest! {
    #[test]
    fn an_answer_stays_as_it_is_but_for_notes_behind_citations(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
    ) {
        let (answer, cited) = (pieces.concat(), sources());
        let resolved = resolve(&answer, &cited);
        let (mut text, mut from) = (String::new(), 0);
        let mut between = String::new();
        for mark in &resolved.marks {
            prop_assert!(from <= mark.range.start, "{:?}", resolved.marks);
            prop_assert!(!answer[mark.range.clone()].contains(['[', ']', '\n']));
            text.push_str(&answer[from..mark.range.end]);
            from = mark.range.end;
            if !mark.range.is_empty() {
                text.push_str(note(mark.verdict));
                text.push_str(&std::mem::take(&mut between));
            } else if mark.verdict != Verdict::Sound {
                let _ = write!(between, ", {}{}", mark.id, note(mark.verdict));
            }
        }
        prop_assert_eq!(&between, "", "what a range leaves out is before its end");
        text.push_str(&answer[from..]);
        prop_assert_eq!(&resolved.text, &text);
        // Each source that is cited is used, once, whatever is wrong with the citation.
        let mut each: Vec<&str> = Vec::new();
        for mark in &resolved.marks {
            let is_known = cited.iter().any(|it| it.id == mark.id);
            if is_known && !each.contains(&&*mark.id) {
                each.push(&mark.id);
            }
        }
        prop_assert_eq!(&resolved.used, &each);
    }

    #[test]
    fn a_stored_source_gives_the_same_verdicts(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
    ) {
        let (answer, cited) = (pieces.concat(), sources());
        let stored: Vec<StoredSource> = cited.iter().map(Into::into).collect();
        let stored: Vec<StoredSource> =
            serde_json::from_str(&serde_json::to_string(&stored).unwrap()).unwrap();
        let again: Vec<Cited> = stored.iter().map(Into::into).collect();
        prop_assert_eq!(&again, &cited);
        prop_assert_eq!(resolve(&answer, &again), resolve(&answer, &cited));
    }
}
