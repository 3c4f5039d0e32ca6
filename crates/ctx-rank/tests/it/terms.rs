//! Tokenisation, the same for documents and questions.

use ctx_rank::{Analyzer, MAX_TERM_BYTES, Part, Query, is_stop_word};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use crate::terms;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(terms(text).join(" "), expected, "{text}");
}

#[test]
fn identifiers_are_whole_and_in_parts() {
    check("camelCase", "camel case camelcase");
    check("PascalCase", "pascal case pascalcase");
    check("snake_case", "snake case snakecase");
    check("SCREAMING_CASE", "scream case screamingcase");
    check("HTTPServer2", "http server 2 httpserver2");
    check("parseHTTPHeader", "pars http header parsehttpheader");
    check("__init__", "init");
    check("_private", "privat");
    check("IOError", "io error ioerror");
    check("iOS", "i os ios");
    check("kebab-case", "kebabcase kebab case");
    check("a.b::c", "a b c");
}

#[test]
fn digits_are_parts() {
    check("utf8", "utf 8 utf8");
    check("sha256sum", "sha 256 sum sha256sum");
    check("2fa", "2 fa 2fa");
    check("1234", "1234");
    check("0xDEADbeef", "0 x dea dbeef 0xdeadbeef");
}

#[test]
fn versions_are_whole_and_in_parts() {
    check("8.2.1", "8.2.1 8.2 8 2 1");
    check("v1.2.3", "1.2.3 1.2 v 1 v1 2 3");
    check("2.0.0-rc.1", "2.0.0rc1 2.0.0 2.0 2 0 0 rc 1");
    check("in 3.12, not 0.3333", "in 3.12 3 12 not 0 3333");
    check("\u{e9}8.2", "\u{e9}8 2");
    // Spellings of one share it.
    let whole = |text: &str| terms(text).swap_remove(0);
    assert_eq!(whole("V2.0.0RC1"), whole("2.0.0-rc.1"));
}

#[test]
fn compounds_are_whole_and_in_words() {
    check("X-Request-Id", "xrequestid x request id");
    check("--no-color", "nocolor no color");
    check("utf-8 and sha-256", "utf8 utf 8 and sha256 sha 256");
    check(
        "end-to-end, max-retries.",
        "endtoend end to end maxretries max retri",
    );
    // Neither ranges, versions, dates nor identifiers of many groups.
    check("1-2 a->b - c -d", "1 2 a b c d");
    check("pytest-8.2.1", "pytest 8.2.1 8.2 8 2 1");
    check("Nov-29-2026", "nov 29 2026");
    check("a-b-c-d-e", "a b c d e");
    check(
        "caf\u{e9}-bar b-\u{e9} a_b-c",
        "caf\u{e9} bar b \u{e9} a b ab c",
    );
    check(
        &format!("a-{}", "b".repeat(MAX_TERM_BYTES)),
        &format!("a {}", "b".repeat(MAX_TERM_BYTES)),
    );
}

#[test]
fn spellings_of_one_name_share_their_terms() {
    let whole = |text: &str| terms(text).pop();
    assert_eq!(whole("max_redirects"), whole("maxRedirects"));
    assert_eq!(whole("max_redirects"), whole("MAX_REDIRECTS"));
    assert_eq!(
        whole("max_redirects").as_ref(),
        terms("max-redirects").first()
    );
    assert_eq!(terms("maxRedirects")[..2], terms("max redirects"));
}

#[test]
fn prose_is_reduced_to_stems() {
    check(
        "redirect redirects redirected redirecting",
        &["redirect"; 4].join(" "),
    );
    check("Connections", terms("connection").join(" ").as_str());
    check("parsing parsed", "pars pars");
    // Three letters have no stem, and neither has what holds a digit.
    check("bus has its", "bus has its");
}

#[test]
fn words_of_other_scripts_are_words() {
    check("naïve café", "naïv café");
    check("Größe", "größe");
    check("ÉCOLE", terms("école").join(" ").as_str());
    check("Привет мир", "привет мир");
    check("שלום עולם", "שלום עולם");
    check("!? — …", "");
    check("🙂", "");
}

#[test]
fn scripts_without_spaces_are_pairs_of_characters() {
    check("日本語", "日本 本語");
    check("日本語 検索", "日本 本語 検索");
    check("日本語parser", "日本 本語 parser");
    check("カタカナ", "カタ タカ カナ");
    check("한국어", "한국 국어");
    check("ไทย", "ไท ทย");
}

/// As PDF files and macOS have them, a letter and its accent are two characters.
#[test]
fn letters_are_composed() {
    let mut analyzer = Analyzer::default();
    let mut placed = |text: &str| {
        let mut met = Vec::new();
        analyzer.words(text, &mut |term, part, bytes| {
            let place: String = text[bytes].nfc().collect();
            met.push((term.to_owned(), part, place));
        });
        met
    };
    for text in [
        "Café öffnet, naïve",
        "maxCafé_größe2 8.2.1é",
        "й Ελλάδα",
        "ガギグ語のバック",
        "한국어parser",
        "Tiếng Việt",
    ] {
        let apart: String = text.nfd().collect();
        assert_ne!(apart, text);
        assert_eq!(placed(&apart), placed(text), "{text}");
    }
    let question = "Wie öffne ich die Datei für das Café?";
    let apart = Query::analyse(&question.nfd().collect::<String>());
    assert_eq!(apart.terms, Query::analyse(question).terms);
    check("cafe\u{301}", "café");
    // What follows no letter belongs to none.
    check("\u{301}cafe \u{301} a", "cafe a");
    // A mark that is composed with nothing keeps the word whole.
    check("हिन्दी", "हिन्दी");
}

proptest! {
    #[test]
    fn texts_that_are_canonically_equal_have_the_same_terms(
        text in "[aZé_1. ïがハ\u{3099}\u{301}\u{323}\u{338}=한ㄱ\u{1100}\u{1161}\u{11a8}ก่語\u{212b}й]{0,24}",
    ) {
        let (composed, apart): (String, String) = (text.nfc().collect(), text.nfd().collect());
        prop_assert_eq!(terms(&composed), terms(&apart));
        prop_assert_eq!(terms(&composed), terms(&text));
    }
}

#[test]
fn a_character_that_stands_alone_is_a_term() {
    check("猫", "猫");
    check("猫 犬", "猫 犬");
    check("第3章", "第 3 章");
}

#[test]
fn encoded_data_is_no_term() {
    assert_eq!(terms(&"a".repeat(MAX_TERM_BYTES)).len(), 1);
    check(&"a".repeat(MAX_TERM_BYTES + 1), "");
    check(&"é".repeat(MAX_TERM_BYTES), "");
    // The parts of a long identifier are words still.
    let long = "redirect_".repeat(20);
    assert_eq!(terms(&long), vec!["redirect"; 20]);
}

#[test]
fn each_term_comes_with_its_part_and_place() {
    let mut met = Vec::new();
    Analyzer::default().words("a maxSize, 日本語", &mut |term, part, bytes| {
        met.push((term.to_owned(), part, bytes));
    });
    let expected = [
        ("a", Part::Word, 0..1),
        ("max", Part::SubWord, 2..9),
        ("size", Part::SubWord, 2..9),
        ("maxsize", Part::Identifier, 2..9),
        ("日本", Part::Word, 11..17),
        ("本語", Part::Word, 14..20),
    ];
    assert_eq!(
        met,
        expected.map(|(term, part, at)| (term.to_owned(), part, at))
    );
}

#[test]
fn an_analyzer_forgets_nothing_that_matters() {
    let mut analyzer = Analyzer::default();
    // More distinct words than it remembers.
    for n in 0..70_000_u32 {
        let word: String = (0..5)
            .map(|at| char::from(b'a' + (n / 17_u32.pow(at) % 17) as u8))
            .collect();
        analyzer.terms(&word);
    }
    assert_eq!(analyzer.terms("redirects"), ["redirect"]);
}

#[test]
fn stop_words_say_nothing() {
    for word in ["the", "a", "please", "thanks", "yours", "should", "about"] {
        assert!(is_stop_word(word), "{word}");
    }
    for word in [
        "parser", "error", "string", "none", "class", "return", "", "The",
    ] {
        assert!(!is_stop_word(word), "{word}");
    }
}

#[test]
fn more_identifiers_than_are_remembered_have_their_terms() {
    let mut analyzer = Analyzer::default();
    for number in (0..70_000).chain(0..100) {
        let terms = analyzer.terms(&format!("name{number}"));
        assert_eq!(terms[1..], [number.to_string(), format!("name{number}")]);
    }
}

#[test]
fn an_identifier_ends_where_a_script_without_spaces_begins() {
    let alone = terms("resolve_redirects");
    assert_eq!(alone, ["resolv", "redirect", "resolveredirects"]);
    for text in [
        "\u{51e6}\u{7406}resolve_redirects\u{306e}\u{51e6}\u{7406}",
        "\u{8bf7}\u{95ee}resolve_redirects\u{51fd}\u{6570}\u{5728}\u{54ea}\u{91cc}",
        "resolve_redirects\u{b294} \u{c5b4}\u{b514}\u{c5d0}",
        "\u{300c}resolve_redirects\u{300d}\u{306f}\u{3069}\u{3053}",
    ] {
        let found = terms(text);
        assert!(alone.iter().all(|it| found.contains(it)), "{found:?}");
        let others = found.iter().filter(|it| !alone.contains(it));
        assert!(others.clone().all(|it| !it.is_ascii()), "{found:?}");
        assert!(others.count() > 0, "{found:?}");
    }
    assert_eq!(terms("na\u{ef}ve_value").len(), 1);
    assert_eq!(
        terms("8.2.1\u{3067}\u{306f}").first().map(String::as_str),
        Some("8.2.1")
    );
}
