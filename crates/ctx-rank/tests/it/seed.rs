//! Differences from the original design. Each of these tests fails there.

use ctx_rank::{Corpus, List, Profile, Query, Signals, convex, keyword_match};

/// Term frequency alone, which the design compared: its words are cut at blanks, and each counts
/// alike.
fn frequencies_alone(a: &str, b: &str) -> f64 {
    let share = |text: &str, word: &str| {
        let (mut all, mut found) = (0.0, 0.0);
        for it in text.split_whitespace() {
            all += 1.0;
            found += f64::from(u8::from(it == word));
        }
        found / all
    };
    let words: std::collections::BTreeSet<&str> =
        a.split_whitespace().chain(b.split_whitespace()).collect();
    let dot: f64 = words.iter().map(|it| share(a, it) * share(b, it)).sum();
    let norm = |text: &str| {
        words
            .iter()
            .map(|it| share(text, it).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    dot / (norm(a) * norm(b))
}

#[test]
fn words_that_everything_has_do_not_decide() {
    let right = "fn backoff jitter";
    let wrong = "fn error value";
    let query = "fn error value backoff";
    let rest = [
        "fn error value one",
        "fn error value two",
        "fn error value three",
        "fn error value four",
    ];
    let corpus = Corpus::of(rest.into_iter().chain([right, wrong]));
    assert!(frequencies_alone(query, wrong) > frequencies_alone(query, right));
    assert!(corpus.similarity(query, right) > corpus.similarity(query, wrong));
}

#[test]
fn no_keywords_match_nothing() {
    // The design divides by their number: 0 / 0.
    let none = keyword_match([], |_| true);
    assert_eq!(none, 0.0);
    let mut signals = Signals::default();
    signals.keyword_match = Some(f64::NAN);
    signals.text_similarity = 1.0;
    let total = Profile::default().score(&signals).total;
    assert!((total - 0.35).abs() < 1e-9);
}

#[test]
fn a_question_of_stop_words_is_honestly_empty() {
    // The design lists three-letter words only by their length, and searches for '' when none is
    // left.
    for text in [
        "",
        " \n\t",
        "the",
        "How do I do this, please?",
        "what is it about",
        "?!…",
        "a",
    ] {
        let query = Query::analyse(text);
        assert!(query.is_empty(), "{text}: {query:?}");
        assert!(query.terms.is_empty() && query.mentions.phrases.is_empty());
    }
}

#[test]
fn short_words_are_words() {
    // The design drops words of three letters and less.
    for text in ["api", "how do I add a DB", "io", "css"] {
        assert!(!Query::analyse(text).is_empty(), "{text}");
    }
}

#[test]
fn punctuation_is_no_part_of_a_word() {
    // The design cuts at blanks: `parser,` and `parser` are two words there.
    let corpus = Corpus::of(["parser"]);
    assert!(corpus.similarity("(parser),", "Parser?") > 0.99);
}

#[test]
fn ties_do_not_depend_on_arrival() {
    // The design sorts by score alone.
    let fused = |items: &[(&'static str, f64)]| -> Vec<&'static str> {
        let list = List {
            weight: 1.0,
            items: items.to_vec(),
        };
        convex(&[list])
            .unwrap()
            .into_iter()
            .map(|it| it.item)
            .collect()
    };
    let one = fused(&[("b", 0.5), ("a", 0.5), ("c", 0.9)]);
    let other = fused(&[("c", 0.9), ("a", 0.5), ("b", 0.5)]);
    assert_eq!(one, ["c", "a", "b"]);
    assert_eq!(one, other);
}
