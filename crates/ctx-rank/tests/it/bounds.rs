//! Questions that are too long, or adversarial.

use ctx_rank::{Corpus, MOST_BYTES, MOST_FRAMES, MOST_MENTIONS, MOST_TERMS, Query, Snippets};
use ctx_testkit::laws::linear;

#[test]
fn text_beyond_256_kib_is_not_read_and_reported() {
    let text = "letters ".repeat(MOST_BYTES / 8) + "omega";
    let query = Query::analyse(&text);
    assert_eq!(query.bytes_left_out, text.len() - MOST_BYTES);
    assert_eq!(query.terms.len(), 1);
    assert_eq!(Query::analyse(&text[..MOST_BYTES]).bytes_left_out, 0);
}

#[test]
fn a_character_is_not_cut_in_two() {
    let text = format!("a{}", "é".repeat(MOST_BYTES / 2));
    assert_eq!(Query::analyse(&text).bytes_left_out, 2);
}

#[test]
fn terms_beyond_the_limit_are_counted() {
    let letters = || 'a'..='z';
    let words = letters().flat_map(|a| letters().map(move |b| format!("q{a}{b}")));
    let text: Vec<String> = words.take(MOST_TERMS + 30).collect();
    let query = Query::analyse(&format!("{}\n{}", text.join(" "), text[150]));
    assert_eq!(query.terms.len(), MOST_TERMS);
    assert_eq!(query.terms_left_out, 30);
    // The heaviest stay; equals in the order of their text.
    assert_eq!(query.terms[0].text, text[150]);
    assert_eq!(query.terms[1].text, text[0]);
}

#[test]
fn mentions_are_bounded() {
    let text: Vec<String> = (0..1000)
        .map(|n| {
            format!(
                "name_{n} in a/file{n}.py:3 said \"word {n}\"\n```\nblock {n}\n```\n  File \"b{n}.py\", line 3, in f"
            )
        })
        .collect();
    let text = text.join("\n");
    let query = Query::analyse(&text);
    let counts = [
        query.mentions.names.len(),
        query.mentions.files.len(),
        query.mentions.phrases.len(),
        query.code.len(),
    ];
    assert_eq!(counts, [MOST_MENTIONS; 4]);
    assert_eq!(query.mentions.frames.len(), MOST_FRAMES);
}

#[test]
fn the_first_and_the_last_calls_are_kept_and_the_others_counted() {
    let call = |n: usize| format!("  File \"b{n}.py\", line 3, in f\n");
    let trace = |calls: usize| (0..calls).map(call).collect::<String>();
    // Calls that are known count once.
    let text = format!("It fails\n{}{}", trace(200), trace(200));
    let query = Query::analyse(&text);
    let paths = query.mentions.frames.iter().map(|it| it.path.clone());
    let kept = (0..MOST_FRAMES / 2).chain(200 - MOST_FRAMES / 2..200);
    let kept: Vec<_> = kept.map(|n| Some(format!("b{n}.py"))).collect();
    assert_eq!(paths.collect::<Vec<_>>(), kept);
    assert_eq!(query.frames_left_out, 200 - MOST_FRAMES);

    let query = Query::analyse(&format!("It fails\n{}", trace(MOST_FRAMES)));
    assert_eq!(query.mentions.frames.len(), MOST_FRAMES);
    assert_eq!(query.frames_left_out, 0);
}

#[test]
fn data_is_no_name_and_no_frame() {
    let query = Query::analyse(&format!("title\n`{}`", "aB_".repeat(30_000)));
    assert!(query.mentions.names.is_empty());
    let path = "a/".repeat(50_000);
    let query = Query::analyse(&format!("title\n{path}b.py:3: in f\nat {path}c.js:3:4"));
    assert!(query.mentions.frames.is_empty() && query.mentions.files.is_empty());
}

/// What tries to take more time than its length, as a pattern that is repeated.
const HOSTILE: &[(&str, &str)] = &[
    ("backticks", "`"),
    ("backticks after a word", "x`"),
    ("fences", "```\n"),
    ("fences that grow", "````\n```\n"),
    ("comments without end", "<!--"),
    ("comments", "<!---->"),
    ("ends of comments", "-->"),
    ("comments over lines", " <!--\n-->"),
    ("comments between backticks", "`<!--` "),
    ("backticks before comments", "`a``b```<!---->"),
    ("one word", "a"),
    ("one identifier in snake case", "ab_"),
    ("one identifier in camel case", "aaBb"),
    ("letters and digits", "ab1"),
    ("underscores", "_"),
    ("one word that is not ASCII", "é"),
    ("one identifier that is not ASCII", "éa_"),
    ("one run of a script without spaces", "語"),
    ("scripts in turn", "a語"),
    ("marks", "\u{301}"),
    ("marks in an order of their own", "\u{301}\u{323}"),
    ("letters with marks", "e\u{301}"),
    ("parts of Hangul", "\u{1100}\u{1161}"),
    ("quotation marks", "\""),
    ("quoted phrases", "\"a b\" "),
    ("brackets", "([{"),
    ("quotes of Markdown", "> "),
    ("names in names", "ab."),
    ("a path", "ab/"),
    ("parents", "../"),
    ("lines of a file", "a.py:1"),
    ("text after lines of a file", "a.py:1:b"),
    ("text after lines of files", "a.py:1:b "),
    ("names in brackets", "a/[b]"),
    ("routes", "a/[b]/c.ts "),
    ("links", "x://blob/"),
    ("anchors", "#L1"),
    ("frames", "at a (b.js:1:2)\n"),
    ("frames in one line", "at a(b:1"),
    ("frames of Python", "File \"a\", line 1, in "),
    ("frames of pytest", "a.py:1: in f"),
    ("frames of Go", "\ta.go:1\n"),
    ("headings", "#"),
    ("labels", "a: "),
    ("distinct names", "\u{0}"),
    ("empty lines", "\n"),
    ("blanks", " "),
];

/// `pattern` until there are `length` bytes.
fn repeated(pattern: &str, length: usize) -> String {
    if pattern == "\u{0}" {
        let names: Vec<String> = (0..length / 8).map(|n| format!("n_{n:05}")).collect();
        return names.join(" ");
    }
    pattern.repeat(length / pattern.len())
}

#[track_caller]
fn analysis_is_linear(before: &str) {
    for (name, pattern) in HOSTILE {
        let text = |n: usize| before.to_owned() + &repeated(pattern, n);
        linear(&format!("{name} after {before:?}"), text, |it| {
            Query::analyse(it)
        });
    }
}

#[test]
fn analysis_of_a_title_is_linear() {
    analysis_is_linear("");
}

#[test]
fn analysis_of_inline_code_is_linear() {
    analysis_is_linear("title\n`");
}

#[test]
fn analysis_of_settings_is_linear() {
    analysis_is_linear("title\n- os: ");
}

#[test]
fn similarity_is_linear() {
    let corpus = Corpus::default();
    for (name, pattern) in HOSTILE {
        linear(name, |n| repeated(pattern, n), |it| corpus.vector(it));
    }
}

#[test]
fn a_hundred_thousand_of_anything_can_be_analysed() {
    let most = 100_000;
    for (name, pattern) in HOSTILE.iter().filter(|(_, it)| it.len() < 5) {
        let query = Query::analyse(&repeated(pattern, most));
        assert_eq!(query.bytes_left_out, 0, "{name}");
        assert!(query.terms.len() <= MOST_TERMS, "{name}");
    }
}

#[test]
fn looking_for_a_snippet_is_linear() {
    for (name, pattern) in HOSTILE {
        let question = format!("{}\n\"a a b\" \"a a a a\"", repeated(pattern, 1_000));
        let snippets = Snippets::new(&Query::analyse(&question));
        linear(name, |n| repeated(pattern, n), |it| snippets.clone().of(it));
    }
}
