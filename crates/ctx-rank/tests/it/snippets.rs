//! The line of a text that answers a question best.

use ctx_rank::{LONGEST_SNIPPET, Query, Snippet, Snippets};
use proptest::prelude::*;

fn snippet(question: &str, text: &str) -> Option<Snippet> {
    Snippets::new(&Query::analyse(question)).of(text)
}

/// The line of the snippet of `text`, and its text with the matches in brackets.
#[track_caller]
fn is_shown(question: &str, text: &str, line_index: usize, expected: &str) {
    let found = snippet(question, text).unwrap_or_else(|| panic!("nothing of {text:?}"));
    assert_eq!(
        (found.line_index, marked(&found).as_str()),
        (line_index, expected)
    );
}

fn marked(snippet: &Snippet) -> String {
    let mut marked = snippet.text.clone();
    for place in snippet.matches.iter().rev() {
        marked.insert(place.end, ']');
        marked.insert(place.start, '[');
    }
    marked
}

#[test]
fn the_line_with_most_of_the_question_is_shown() {
    let text = "//! Budgets.\n\n/// Whether it fits.\npub fn fits(cost: u32, budget: u32) -> bool {\n    cost <= budget\n}\n";
    is_shown(
        "does the cost fit the budget",
        text,
        3,
        "pub fn [fits]([cost]: u32, [budget]: u32) -> bool {",
    );
    is_shown(
        "costs",
        text,
        3,
        "pub fn fits([cost]: u32, budget: u32) -> bool {",
    );
}

#[test]
fn a_second_line_is_shown_only_where_it_adds_a_word() {
    is_shown("alpha", "alpha\nalpha beta\n", 0, "[alpha]");
    is_shown("alpha beta", "alpha\nalpha beta\n", 1, "[alpha] [beta]");
    is_shown("alpha beta", "x\n  alpha\n\tbeta\ny\n", 1, "[alpha] [beta]");
    // Lines that do not follow each other are not put together.
    is_shown("alpha beta", "alpha\n\nbeta\n", 0, "[alpha]");
}

#[test]
fn a_word_that_few_lines_have_tells_more() {
    is_shown(
        "budget enforced",
        "budget\nbudget\nbudget\nenforced\n",
        2,
        "[budget] [enforced]",
    );
    is_shown(
        "budget enforced",
        "budget\n\nbudget\n\nenforced\n",
        4,
        "[enforced]",
    );
}

#[test]
fn a_phrase_is_shown_before_its_words() {
    let text =
        "no file here, and this is a folder\n\nis a FILE, not a folder\n\na folder is not a file\n";
    is_shown(
        "why \"is a file, not a folder\"?",
        text,
        2,
        "is a [FILE], not a [folder]",
    );
    is_shown(
        "is a file, not a folder",
        text,
        2,
        "is a [FILE], not a [folder]",
    );
    // Over the end of a line it is a phrase too.
    let text = "a folder, a file\n\n// is a file,\n// not a folder\n\nfile folder\n";
    is_shown(
        "is a file, not a folder",
        text,
        2,
        "// is a [file], // not a [folder]",
    );
}

#[test]
fn an_identifier_is_shown_as_a_whole() {
    is_shown(
        "redirects",
        "let maxRedirects = 3;",
        0,
        "let [maxRedirects] = 3;",
    );
}

#[test]
fn nothing_is_shown_where_nothing_fits() {
    assert_eq!(snippet("alpha", "beta\n"), None);
    assert_eq!(snippet("alpha", ""), None);
    assert_eq!(snippet("of the", "of the\n"), None);
    assert_eq!(snippet("", "beta\n"), None);
}

#[test]
fn characters_that_a_line_does_not_show_are_removed() {
    is_shown(
        "alpha beta",
        "\ta\u{7}\u{1b}[1m \u{a0} alpha\u{0}\r\n  beta\t\u{9b}c",
        0,
        "a[1m [alpha] [beta] c",
    );
}

#[test]
fn of_a_long_line_the_piece_that_fits_is_shown() {
    let long = format!(
        "{} the needle is here {}",
        "x ".repeat(5_000),
        "y ".repeat(5_000)
    );
    let found = snippet("needle", &long).unwrap();
    assert!(found.text.len() <= LONGEST_SNIPPET && marked(&found).contains("[needle]"));
    let data = format!("{}é{}", "A".repeat(1_001), "é".repeat(1_000));
    assert_eq!(snippet("needle", &data), None);
    let joined = format!(
        "{}, needle{}, thread {}",
        "x".repeat(300),
        " ".repeat(40),
        "y".repeat(300)
    );
    let found = snippet("needle thread", &joined).unwrap();
    assert!(marked(&found).ends_with("[needle] , [thread]"), "{found:?}");
}

#[test]
fn a_phrase_of_stop_words_counts_only_beside_a_term() {
    // The word of 70 digits is too long for a term, so that the question has none.
    let question = format!("{} is a", "0123456789".repeat(7));
    assert_eq!(snippet(&question, "is a\n"), None);
    let text = "alpha\nto do\nalpha is to do";
    let found = snippet("where is alpha \"to do\"", text).unwrap();
    assert_eq!(marked(&found), "[alpha] is to do");
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "alpha",
        "beta",
        "maxAlpha",
        "is a",
        "\n",
        "\n\n",
        " ",
        "\t",
        "\r\n",
        "\u{7}",
        "é",
        "港口港",
        "\u{202e}",
        "alpha_beta",
        "x",
        ".",
        "\u{1b}[0m",
        "0123456789012345678901234567890123456789012345678901234567890123456789",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_snippet_is_one_short_line_of_the_text(text in texts(), question in texts()) {
        let query = Query::analyse(&question);
        let mut snippets = Snippets::new(&query);
        let found = snippets.of(&text);
        prop_assert_eq!(&found, &snippets.of(&text));
        let terms = crate::terms(&text);
        let is_there = query.terms.iter().any(|it| terms.contains(&it.text));
        // A word that is half a piece long may be cut.
        let longest = text.split('\n').map(str::len).max().unwrap_or(0);
        if longest <= LONGEST_SNIPPET {
            prop_assert_eq!(found.is_some(), is_there);
        }
        let Some(found) = found else {
            return Ok(());
        };
        prop_assert!(found.text.len() <= LONGEST_SNIPPET);
        prop_assert!(!found.text.contains(char::is_control) && found.text.trim() == found.text);
        prop_assert!(found.line_index < text.split('\n').count());
        let mut end = 0;
        prop_assert!(!found.matches.is_empty());
        for place in &found.matches {
            prop_assert!(end <= place.start && place.start < place.end);
            prop_assert!(found.text.get(place.clone()).is_some_and(|it| it.trim() == it));
            end = place.end;
        }
    }
}
