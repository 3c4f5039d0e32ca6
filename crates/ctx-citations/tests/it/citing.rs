//! What an answer cites: found, marked, and held against what was shown.

use ctx_assemble::{Control, assemble};
use ctx_citations::{Cited, Resolved, StoredSource, Verdict, format_citations, resolve};
use ctx_model::{
    BuildOptions, Chunk, Format, LineSpan, Origin, Relevance, Rendition, RenditionKind, Tokens,
};

#[test]
fn a_verdict_has_one_word_everywhere() {
    for verdict in Verdict::ALL {
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
        assert_eq!(verdict.to_string().parse(), Ok(*verdict));
    }
    let error = "fine".parse::<Verdict>().unwrap_err().to_string();
    assert!(
        error.contains("verdict") && error.contains("outOfRange"),
        "{error}"
    );
}

/// Two sources, and the ids that they are cited by.
fn cited() -> (Vec<Cited>, String, String) {
    let file = Chunk::new(
        "a",
        "let ten = 10;\nlet you’re = \"eleven\";",
        Relevance::ONE,
    )
    .with_path("src/a.rs")
    .with_span(LineSpan::new(10, 11).unwrap());
    let message = Chunk::new("b", "user: the tide follows the moon", Relevance::ONE)
        .with_origin(Origin::Message)
        .with_name("turn 001");
    let chunks = [file, message];
    let options = BuildOptions::default().with_max_tokens(Tokens::new(500));
    let built = assemble(&chunks, &options, &ctx_tokens::Words, &Control::default()).unwrap();
    let cited = Cited::of(&built, &chunks);
    let id = |at: usize| cited[at].id.clone();
    let (first, second) = (id(0), id(1));
    (cited, first, second)
}

/// `answer` with `A` and `B` for the ids.
fn resolved(answer: &str) -> (Resolved, String, String) {
    let (cited, a, b) = cited();
    let answer = answer.replace("{A}", &a).replace("{B}", &b);
    (resolve(&answer, &cited), a, b)
}

/// What is said of each citation, in order.
#[track_caller]
fn is(answer: &str, verdicts: &[Verdict]) {
    let (resolved, ..) = resolved(answer);
    let found: Vec<Verdict> = resolved.marks.iter().map(|it| it.verdict).collect();
    assert_eq!(found, verdicts, "{answer}: {:?}", resolved.marks);
}

#[test]
fn ids_have_the_form_of_their_origin() {
    let (_, a, b) = cited();
    assert!(a.starts_with("chu-") && b.starts_with("mes-"), "{a} {b}");
}

#[test]
fn ids_in_brackets_are_used() {
    let (resolved, a, b) = resolved("Ten [{A}], and [{B}; {A}].");
    assert_eq!(resolved.used, [a.clone(), b.clone()]);
    assert_eq!(resolved.text, format!("Ten [{a}], and [{b}; {a}]."));
    assert_eq!(resolved.marks.len(), 3);
    assert_eq!(resolved.marks[0].range, 5..5 + a.len());
}

/// The first source has lines 10 and 11.
#[test]
fn a_shown_label_is_used_in_whatever_way_it_stands_in_brackets() {
    use Verdict::{Malformed, Misquoted, OutOfRange, Sound, Unknown};
    for (answer, verdicts) in [
        ("[see {A}]", &[Sound][..]),
        ("[See also: {A}:10]", &[Sound]),
        ("[source: {A}]", &[Sound]),
        ("[id: {A}]", &[Sound]),
        ("[`{A}`]", &[Sound]),
        ("[`{A}`:12]", &[OutOfRange]),
        ("[**{A}**]", &[Sound]),
        ("[__{A}__]", &[Sound]),
        ("[“{A}”]", &[Sound]),
        ("[{A}.]", &[Sound]),
        ("\\[{A}\\]", &[Sound]),
        ("[^{A}]", &[Sound]),
        ("[{A}†source]", &[Sound]),
        ("[{A}†L12]", &[OutOfRange]),
        ("【{A}】", &[Sound]),
        ("【{A}:12】", &[OutOfRange]),
        ("［{A}、{B}］", &[Sound, Sound]),
        ("({A})", &[Sound]),
        ("(see {A}:10, {B})", &[Sound, Sound]),
        ("如此（{A}）", &[Sound]),
        ("[{A} and {B}]", &[Sound, Sound]),
        ("[{A} & {B}]", &[Sound, Sound]),
        ("[{A} / {B}]", &[Sound, Sound]),
        ("[{A}/{B}]", &[Sound, Sound]),
        ("[{A}|{B}]", &[Sound, Sound]),
        ("[{A} {B}]", &[Sound, Sound]),
        ("[{A}:10 and {B}:1]", &[Sound, OutOfRange]),
        ("[{A}:10 and 12]", &[Sound, OutOfRange]),
        ("[{A}, lines 10 and 12]", &[Sound, Sound, OutOfRange]),
        ("[{A}:9-3 and {B}]", &[Malformed, Sound]),
        ("[{A}: see {B}]", &[Sound, Sound]),
        ("[as {A} (lines 10-11) says]", &[Sound]),
        ("[as {A} lines 10-12 says]", &[OutOfRange]),
        ("[so {A}#L12 says, and {B} too]", &[OutOfRange, Sound]),
        ("[{A} has ten of them]", &[Sound]),
        ("[see chu-000000]", &[Unknown]),
        ("[{A} and chu-000000]", &[Sound, Unknown]),
        ("[as chu-000000 says]", &[Unknown]),
        ("[see FIL-9F2A1C]", &[Malformed]),
    ] {
        is(answer, verdicts);
        let (resolved, a, b) = resolved(answer);
        let used = |label: &str, id: String| Some(id).filter(|_| answer.contains(label));
        let used: Vec<String> = used("{A}", a).into_iter().chain(used("{B}", b)).collect();
        assert_eq!(resolved.used, used, "{answer}");
    }
    let (resolved, a, _) = resolved("x [see {A}:12 and `chu-000000`] (in {A}:10) y");
    assert_eq!(
        resolved.text,
        format!("x [see {a}:12: no such lines and `chu-000000: unknown`] (in {a}:10) y")
    );
    // Words that are quoted before it are held against it.
    is("\"the tide follows the sun\" ({B})", &[Misquoted]);
    is("「the tide follows the moon」【see {B}】", &[Sound]);
}

#[test]
fn brackets_of_code_and_links_are_no_citations() {
    for answer in [
        "f({A}), f ()({A}) and x[0]({A})",
        "[a link]({A}), [another](see {A})",
        "`f ({A})` and ``({A})``",
        "```\nif ({A}) {}\n```",
        "~~~\n({A})\n~~~",
        "({A}\n)",
        "(fil-9f2a1c), (see fil-9f2a1c)",
        "[docs/fil-9f2a1c.md] [the fil-9f2a1c.md] [x=fil-9f2a1c] [a/fil-9f2a1c]",
        "[^1] and [^note], [the ref-counted one], [see above], [source: the docs]",
    ] {
        is(answer, &[]);
    }
}

/// One that may be a word of prose or code is one alone, or among words that lead to it.
#[test]
fn an_id_of_another_form_is_all_that_stands_in_brackets() {
    use Verdict::{OutOfRange, Sound};
    let cited = [
        Cited::whole(&lines("doc-1", 3, "one of ten\ntwo of ten", 1.0)),
        Cited::whole(&lines("a", 1, "a of ten", 1.0)),
    ];
    for (answer, verdicts) in [
        ("[see doc-1]", &[Sound][..]),
        ("[Source: doc-1:4]", &[Sound]),
        ("[`doc-1`] [**doc-1**] 【doc-1】", &[Sound; 3]),
        (
            "[doc-1 and a] [doc-1:3 & 9]",
            &[Sound, Sound, Sound, OutOfRange],
        ),
        (
            "[a doc-1 b] [doc-1 | a] [a/doc-1] [for a in b] [a or b]",
            &[],
        ),
        ("(doc-1) (see a) [^a]", &[]),
    ] {
        let resolved = resolve(answer, &cited);
        let found: Vec<Verdict> = resolved.marks.iter().map(|it| it.verdict).collect();
        assert_eq!(found, verdicts, "{answer}");
    }
}

#[test]
fn ids_that_nobody_gave_out_are_unknown() {
    use Verdict::{Sound, Unknown};
    is("[fil-9f2a1c]", &[Unknown]);
    is("[{A}, chu-000000]", &[Sound, Unknown]);
    let (resolved, a, _) = resolved("x [{A}, chu-000000:3] y");
    assert_eq!(resolved.text, format!("x [{a}, chu-000000:3: unknown] y"));
}

#[test]
fn a_misspelt_id_is_malformed() {
    is("[FIL-9F2A1C]", &[Verdict::Malformed]);
    is("[fil-12]", &[Verdict::Malformed]);
    is("[{A}:ten]", &[Verdict::Malformed]);
    is("[{A}:11-10]", &[Verdict::Malformed]);
    is("[{A}:0]", &[Verdict::Malformed]);
}

#[test]
fn other_text_in_brackets_is_left_alone() {
    is("a[0], [x](y), [ref-counted], [ ], [[1]], [\n], [", &[]);
    is("fil-9f2a1c", &[]);
    is("", &[]);
}

#[test]
fn lines_are_those_shown() {
    is("[{A}:10] [{A}:10-11] [{A}#L11]", &[Verdict::Sound; 3]);
    is("[{A}:9-10] [{A}:12]", &[Verdict::OutOfRange; 2]);
    is("[{B}:1]", &[Verdict::OutOfRange]);
}

#[test]
fn a_quotation_is_the_sources() {
    is(
        "\"The moon\" \"the tide  follows\nthe moon\" [{B}]",
        &[Verdict::Sound],
    );
    is("“the tide … the moon.” [{B}]", &[Verdict::Sound]);
    is(
        "It said \"the tide follows the sun\" [{B}].",
        &[Verdict::Misquoted],
    );
    is("“the moon … the tide” [{B}]", &[Verdict::Misquoted]);
    is("> the tide follows\n> the moon\n\n[{B}]", &[Verdict::Sound]);
    is(
        "> the tide follows\n> the sun\n\n[{B}]",
        &[Verdict::Misquoted],
    );
    is("„let you're = “eleven”;” [{A}]", &[Verdict::Sound]);
}

/// In whatever marks they stand, and whatever leads from there to the source.
#[test]
fn words_between_any_marks_are_held_against_the_source() {
    let ways = [
        "\"{Q}\" [{B}]",
        "“{Q}” [{B}]",
        "”{Q}” [{B}]",
        "„{Q}“ [{B}]",
        "„{Q}” [{B}]",
        "„{Q}\" [{B}]",
        "«{Q}» [{B}]",
        "« {Q} » [{B}]",
        "»{Q}« [{B}]",
        "»{Q}» [{B}]",
        "*\"{Q}\"* [{B}]",
        "**\"{Q}\"** [{B}]",
        "_“{Q}”_ [{B}]",
        "\"*{Q}*\" [{B}]",
        "*„{Q}.“* [{B}]",
        "\"{Q}\" (see [{B}])",
        "`\"{Q}\" (see [{B}])`",
        "\"{Q}.\" (See also [{B}].)",
        "„{Q}“ (vgl. [{B}])",
        "(\"{Q}\") [{B}]",
        "\"{Q}\", according to [{B}]",
        "\"{Q}\" – [{B}]",
        "a \"word\", \"{Q}\"! [{B}]",
        "‹{Q}› [{B}]",
        "›{Q}‹ [{B}]",
        "「{Q}」 [{B}]",
        "『{Q}』 [{B}]",
        "「{Q}。」[{B}]",
        "‘{Q}’ [{B}]",
        "‚{Q}‘ [{B}]",
        "'{Q}' [{B}]",
        "It isn't so: '{Q}.' [{B}]",
        "('{Q}') [{B}]",
        "`{Q}` [{B}]",
        "``{Q}`` [{B}]",
        "`\"{Q}\"` [{B}]",
        "a `word` and `{Q}` (see [{B}])",
        "```\n{Q}\n```\n[{B}]",
        "```text\n{Q}\n```\n\n[{B}]",
        "~~~\n{Q}\n~~~\n[{B}]",
        "- so:\n  ```\n  {Q}\n  ```\n  [{B}]",
        "> ```\n> {Q}\n> ```\n\n[{B}]",
        "```\nuser:\n# ...\n{Q}\n```\n[{B}]",
        "> {Q}\n\n[{B}]",
        "> {Q}\n>\n> {Q}\n\n[{B}]",
    ];
    for way in ways {
        let with = |quote: &str| way.replace("{Q}", quote);
        is(&with("the tide follows the sun"), &[Verdict::Misquoted]);
        if !way.contains(">\n>") {
            is(&with("the tide follows the moon"), &[Verdict::Sound]);
        }
    }
}

#[test]
fn an_apostrophe_is_no_quotation_mark() {
    for answer in [
        "It's the dogs' [{B}]",
        "the sun's and the dogs' and the moons' [{B}]",
        "rock 'n' roll of the cats' [{B}]",
        "a stray ` of the sun and moon [{B}]",
        "a stray tick` [{B}]",
        "the `tide` and `of(the, moon)` [{B}]",
    ] {
        is(answer, &[Verdict::Sound]);
    }
    is(
        "'the tide doesn't follow the moon' [{B}]",
        &[Verdict::Misquoted],
    );
}

/// One source that says `text`, and the context of it.
fn cited_as(text: &str) -> (Vec<Cited>, String) {
    let chunk = [Chunk::new("a", text, Relevance::ONE).with_path("a.md")];
    let options = BuildOptions::default().with_max_tokens(Tokens::new(50_000));
    let built = assemble(&chunk, &options, &ctx_tokens::Words, &Control::default()).unwrap();
    (Cited::of(&built, &chunk), built.context)
}

#[track_caller]
fn quoted_as(cited: &[Cited], quotation: &str, verdict: Verdict) {
    let answer = format!("{quotation} [{}]", cited[0].id);
    let marks = resolve(&answer, cited).marks;
    assert_eq!(marks.len(), 1, "{answer}");
    assert_eq!(marks[0].verdict, verdict, "{:?}", marks[0].quote);
}

#[test]
fn words_without_spaces_between_them_are_quoted() {
    let text = "設定は一行に一つだけ\n書いてください。タブは使えません。\n价格在五月之前有效。";
    let (cited, _) = cited_as(text);
    for (quotation, verdict) in [
        ("“設定は一行に一つだけ書いてください。”", Verdict::Sound),
        ("「設定は一行に一つだけ書いてください」", Verdict::Sound),
        (
            "設定は“一行に一つだけ書いて…タブは使えません”",
            Verdict::Sound,
        ),
        (
            "“設定は二行に三つずつ書かなければなりません。”",
            Verdict::Misquoted,
        ),
        (
            "「設定は二行に三つずつ書かなければなりません」",
            Verdict::Misquoted,
        ),
        ("他说“价格在六月之前有效”", Verdict::Misquoted),
        ("他说\"价格在六月之前有效\"", Verdict::Misquoted),
        ("他说“价格在五月之前有效”。", Verdict::Sound),
        // A name.
        ("「価格表」", Verdict::Sound),
    ] {
        quoted_as(&cited, quotation, verdict);
        // Far into an answer too.
        let far = format!("{}\n{quotation}", "そして、次のとおりです。\n".repeat(300));
        quoted_as(&cited, &far, verdict);
    }
}

#[test]
fn a_quotation_that_is_too_long_is_not_checked() {
    let sentence = "The ostrich runs over the long hill. ";
    let (cited, _) = cited_as(&sentence.repeat(200));
    for (open, close) in [
        ("\"", "\""),
        ("“", "”"),
        ("«", "»"),
        ("「", "」"),
        ("‘", "’"),
        ("'", "'"),
        ("`", "`"),
        ("```\n", "\n```\n"),
        ("> ", "\n\n"),
    ] {
        for (times, is_checked) in [(50, true), (110, false), (150, false)] {
            for (said, verdict) in [("runs", Verdict::Sound), ("flies", Verdict::Misquoted)] {
                let text = sentence.replace("runs", said).repeat(times);
                let text = text.trim();
                let verdict = if is_checked {
                    verdict
                } else {
                    Verdict::Unchecked
                };
                quoted_as(&cited, &format!("It says:\n{open}{text}{close}"), verdict);
            }
        }
    }
    // One with another in it, one of many lines, and a short one behind a long one.
    let long = sentence.repeat(150);
    quoted_as(
        &cited,
        &format!("“{long}“over the hill” and {long}”"),
        Verdict::Unchecked,
    );
    let lines = "> The ostrich flies over the hill.\n".repeat(200);
    quoted_as(&cited, &lines, Verdict::Unchecked);
    let short = format!("“{long}” and “{}”", sentence.trim());
    quoted_as(&cited, &short, Verdict::Sound);
}

#[test]
fn escapes_of_hidden_characters_may_be_quoted() {
    let line = "The zebra price\u{ad}list is valid until May.";
    let (cited, context) = cited_as(&format!("# Zebra\n\n{line}\n"));
    let shown = r"The zebra price\u{ad}list is valid until May.";
    assert!(context.contains(shown), "{context}");
    quoted_as(&cited, &format!("\"{shown}\""), Verdict::Sound);
    quoted_as(&cited, &format!("\"{line}\""), Verdict::Sound);
    let other = shown.replace("May", "June");
    quoted_as(&cited, &format!("\"{other}\""), Verdict::Misquoted);
}

#[test]
fn a_quotation_within_a_quotation_is_part_of_it() {
    is("„let you're = “eleven”;“ [{A}]", &[Verdict::Sound]);
    is("„let you're = “twelve”;“ [{A}]", &[Verdict::Misquoted]);
    is("\"let you're = \"eleven\";\" [{A}]", &[Verdict::Sound]);
    is("\"let he's = \"eleven\";\" [{A}]", &[Verdict::Misquoted]);
}

#[test]
fn a_quotation_of_the_sentence_before_is_not_the_sources() {
    is(
        "He said \"the tide follows the sun\". In [{B}] it is another.",
        &[Verdict::Sound],
    );
    is(
        "Not \"the tide follows the sun\" but [{B}].",
        &[Verdict::Sound],
    );
}

/// The first source has lines 10 and 11.
#[test]
fn lines_in_a_list_are_of_the_id_before_them() {
    use Verdict::{Malformed, OutOfRange, Sound, Unknown};
    for (answer, verdicts) in [
        ("[{A}:10,11]", &[Sound, Sound][..]),
        ("[{A}:10, 999]", &[Sound, OutOfRange]),
        ("[{A}:10,999-1000; 11]", &[Sound, OutOfRange, Sound]),
        ("[{A}, lines 10-11]", &[Sound, Sound]),
        ("[{A}, lines 900-999]", &[Sound, OutOfRange]),
        ("[{A}, L900]", &[Sound, OutOfRange]),
        ("[{A}, l. 900]", &[Sound, OutOfRange]),
        ("[{A}:10, {B}, 10]", &[Sound, Sound, OutOfRange]),
        ("[{A}, line ten]", &[Sound, Malformed]),
        ("[{A}, 10-ish]", &[Sound, Malformed]),
        ("[fil-9f2a1c, 10]", &[Unknown, Unknown]),
        ("[{A}, by hand]", &[Sound]),
        ("[{A}] [10, 999]", &[Sound]),
    ] {
        is(answer, verdicts);
    }
    let (resolved, a, _) = resolved("x [{A}:10, 999] y");
    assert_eq!(resolved.text, format!("x [{a}:10, 999: no such lines] y"));
    assert_eq!(resolved.marks[1].id, a);
    assert_eq!(resolved.marks[1].lines, Some((999, 999)));
}

/// The first source has lines 10 and 11.
#[test]
fn a_quotation_is_of_the_lines_that_are_cited_with_it() {
    use Verdict::{Misquoted, OtherLines, OutOfRange, Sound};
    for (answer, verdicts) in [
        ("\"let ten = 10\" [{A}:10]", &[Sound][..]),
        ("\"let ten = 10\" [{A}:11]", &[OtherLines]),
        ("\"let ten = 10\" [{A}:10-11]", &[Sound]),
        ("\"let ten = 10\" [{A}]", &[Sound]),
        ("\"let ten = 10\" [{A}:11, 10]", &[Sound, Sound]),
        ("\"let ten = 10\" [{A}:11 and {A}:10]", &[Sound, Sound]),
        ("\"let ten = 10\" [{A}:11, {B}]", &[OtherLines, Misquoted]),
        ("\"let ten = 10\" [{A}:11, 99]", &[OtherLines, OutOfRange]),
        ("\"let ten = 10\" [{A}:9-10]", &[OutOfRange]),
        ("\"let ten = 11\" [{A}:10]", &[Misquoted]),
        ("\"let ten = 10; let you're\" [{A}:10]", &[OtherLines]),
        ("\"let ten = 10; let you're\" [{A}:10-11]", &[Sound]),
        ("\"let ten = 10; let you're\" [{A}:10, 11]", &[Sound, Sound]),
        ("`let ten … eleven` [{A}:11]", &[OtherLines]),
        ("> let ten = 10\n\n[see {A}:11]", &[OtherLines]),
        // Those in a row are as in one list.
        ("\"let ten = 10\" [{A}:11][{A}:10]", &[Sound, Sound]),
        (
            "\"let ten = 10\" [{A}:11] [{B}], and [{A}:10]",
            &[Sound, Misquoted, Sound],
        ),
        ("\"let ten = 10\" [{A}:11]. [{A}:10]", &[OtherLines, Sound]),
        ("\"let ten = 10\" [{A}:11]\n[{A}:10]", &[OtherLines, Sound]),
        (
            "\"let ten = 10\" [{A}:11][sic][{A}:10]",
            &[OtherLines, Sound],
        ),
    ] {
        is(answer, verdicts);
    }
    let (resolved, a, _) = resolved("\"let ten = 10\" [{A}:11].");
    let expected = format!("\"let ten = 10\" [{a}:11: not in these lines].");
    assert_eq!(resolved.text, expected);
    assert_eq!(resolved.marks[0].lines, Some((11, 11)));
}

#[test]
fn a_stored_source_has_the_same_type_as_a_cited_one() {
    let (cited, ..) = cited();
    let stored = serde_json::to_value(StoredSource::from(&cited[1])).unwrap();
    let wire = serde_json::to_value(&cited[1]).unwrap();
    assert_eq!(
        (&stored["type"], &wire["type"]),
        (&"message".into(), &"message".into())
    );
    // What was stored under another name is read.
    let before = stored.to_string().replace("\"type\"", "\"origin\"");
    let before: StoredSource = serde_json::from_str(&before).unwrap();
    assert_eq!(Cited::from(&before), cited[1]);
}

/// Also where a part of them is shown, and once it was stored.
#[test]
fn lines_of_an_excerpt_are_its_own() {
    let excerpt = "One of ten\nis **here**.\n… 2 lines left out\nFive of ten\n";
    let excerpt = Rendition::new(RenditionKind::Excerpt, excerpt, 0.5)
        .and_then(|it| it.with_lines(vec![Some(1), Some(2), None, Some(5)]))
        .unwrap();
    let long = "is long ".repeat(20);
    let text = format!("One of ten\nis **here**.\nThree of ten\n{long}\nFive of ten\nis longer.");
    let chunk = Chunk::new("a", text, Relevance::ONE)
        .with_path("a.md")
        .with_span(LineSpan::new(1, 6).unwrap())
        .with_renditions(vec![excerpt]);
    let chunks = [chunk.with_pin()];
    let options = BuildOptions::default().with_max_tokens(Tokens::new(34));
    let built = assemble(&chunks, &options, &ctx_tokens::Words, &Control::default()).unwrap();
    assert!(!built.context.contains("Three"), "{}", built.context);
    let cited = Cited::by_chunk_id(&built, &chunks);
    let stored = serde_json::to_string(&StoredSource::from(&cited[0])).unwrap();
    let stored: StoredSource = serde_json::from_str(&stored).unwrap();
    let mut before = stored.clone();
    before.numbers.clear();
    for (quotation, verdict) in [
        ("\"One of ten is here\" [a:1-2]", Verdict::Sound),
        ("\"Five of ten\" [a:5]", Verdict::Sound),
        ("\"Five of ten\" [a:1]", Verdict::OtherLines),
        ("\"One of ten is here\" [a:2]", Verdict::OtherLines),
        ("\"One of ten\" [a:4]", Verdict::OutOfRange),
    ] {
        for cited in [&cited[..], &[Cited::from(&stored)]] {
            let marks = resolve(quotation, cited).marks;
            assert_eq!(marks[0].verdict, verdict, "{quotation}");
        }
        // Of what was stored without them, words are held against all of it.
        let verdict = match verdict {
            Verdict::OtherLines => Verdict::Sound,
            other => other,
        };
        let marks = resolve(quotation, &[Cited::from(&before)]).marks;
        assert_eq!(marks[0].verdict, verdict, "{quotation}");
    }
}

#[test]
fn a_word_between_quotation_marks_is_no_quotation() {
    is(
        "the \"tide\" [{B}] and \"two words\" [{B}]",
        &[Verdict::Sound; 2],
    );
    is(
        "\"far away, no quotation\" is what I say of it [{B}]",
        &[Verdict::Sound],
    );
}

#[test]
fn sources_are_listed_in_the_order_of_the_context() {
    let (cited, a, b) = cited();
    let listed = format_citations(&cited, &[b.clone(), a.clone()]);
    let expected = format!(
        "\n\n---\nSources:\n[{a}]: src/a.rs - let ten = 10; let you’re = \"eleven\";...\n\
         [{b}]: turn 001 - user: the tide follows the moon..."
    );
    assert_eq!(listed, expected);
    assert_eq!(format_citations(&cited, &[]), "");
    assert_eq!(format_citations(&cited, &["fil-000000".to_owned()]), "");
}

#[test]
fn the_list_of_sources_loads_and_links_nothing() {
    let text = "![x](https://a.b/c.png) <img src=//d.e/f> `g`";
    let chunk = Chunk::new("a", text, Relevance::ONE).with_path("h/![i](j).md");
    let options = BuildOptions::default();
    let built = assemble(
        std::slice::from_ref(&chunk),
        &options,
        &ctx_tokens::Words,
        &Control::default(),
    );
    let built = built.unwrap();
    let cited = Cited::of(&built, &[chunk]);
    let used: Vec<String> = cited.iter().map(|it| it.id.clone()).collect();
    let listed = format_citations(&cited, &used);
    assert!(
        listed.contains("h/![i\\](j).md - ![x\\](https://a.b/c.png) \\<img src=//d.e/f> \\`g"),
        "{listed}"
    );
}

#[test]
fn a_callers_chunks_are_cited_by_the_ids_that_the_context_shows() {
    let own = ["chu-00000a", "chu-00000b", "doc", "doc:2", "src/a.rs:1-10"];
    let chunks =
        own.map(|id| Chunk::new(id, format!("What {id} says of the moon."), Relevance::ONE));
    for format in Format::ALL {
        let options = BuildOptions::default().with_ids(true).with_format(format);
        let built = assemble(&chunks, &options, &ctx_tokens::Words, &Control::default()).unwrap();
        let cited = Cited::by_chunk_id(&built, &chunks);
        let ids: Vec<&str> = cited.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, own);
        for id in ids {
            let marked = match format {
                Format::Markdown | Format::Plain => format!("[{id}]\n"),
                Format::Xml | Format::Json => format!("\"{id}\""),
            };
            assert!(built.context.contains(&marked), "{format}");
            let quoted = format!("\"What {id} says of the moon\" [{id}]");
            for (answer, verdict) in [
                (quoted.clone(), Verdict::Sound),
                (quoted.replace("moon", "sun"), Verdict::Misquoted),
                (quoted.replace(']', ":7]"), Verdict::OutOfRange),
                (
                    format!("{quoted}[chu-00000a, {id}#L7-L9]"),
                    Verdict::OutOfRange,
                ),
                (quoted.replace(']', ":x]"), Verdict::Malformed),
            ] {
                let resolved = resolve(&answer, &cited);
                let last = resolved.marks.last().unwrap();
                assert_eq!((&*last.id, last.verdict), (id, verdict), "{answer}");
            }
        }
        let resolved = resolve("\"says of the moon\" [chu-00000b], [chu-00000c]", &cited);
        assert_eq!(resolved.used, ["chu-00000b"]);
        assert_eq!(resolved.with(Verdict::Unknown).count(), 1);
    }
}

#[test]
fn an_excerpt_is_fifty_characters_of_one_line() {
    let text = "é\u{1b}[31m\n".repeat(40);
    let chunk = Chunk::new("a", text, Relevance::ONE).with_name("a\nb");
    let chunks = [chunk];
    let options = BuildOptions::default();
    let built = assemble(&chunks, &options, &ctx_tokens::Words, &Control::default()).unwrap();
    let cited = Cited::of(&built, &chunks);
    let excerpt = cited[0].excerpt.as_deref().unwrap();
    assert_eq!(excerpt.chars().count(), 50);
    assert!(!excerpt.contains(char::is_control), "{excerpt:?}");
    let listed = format_citations(&cited, &[cited[0].id.clone()]);
    assert_eq!(listed.lines().count(), 5, "{listed:?}");
}

/// Lines of `a.rs`, from `start` on.
fn lines(id: &str, start: u32, text: &str, relevance: f64) -> Chunk {
    let end = start + u32::try_from(text.lines().count()).unwrap() - 1;
    Chunk::new(id, text, Relevance::new(relevance).unwrap())
        .with_path("a.rs")
        .with_span(LineSpan::new(start, end).unwrap())
}

/// Chunks that were not merged have other text for the same lines, or a last line that may not be
/// one.
#[test]
fn a_merged_block_is_held_to_its_own_parts_in_any_order_of_the_chunks() {
    let other = lines("x", 1, "a of ten\nb of other\nc of ten", 0.1);
    let (upper, lower) = (
        lines("a", 1, "a of ten\nb of ten", 0.9),
        lines("b", 2, "b of ten\nc of ten", 0.8),
    );
    let unsure = lines("u", 2, "b of ten\n", 0.1).with_span(LineSpan::new(2, 3).unwrap());
    for odd in [other, unsure] {
        for chunks in [
            [odd.clone(), upper.clone(), lower.clone()],
            [upper.clone(), odd.clone(), lower.clone()],
            [lower.clone(), upper.clone(), odd.clone()],
        ] {
            let options = BuildOptions::default().with_max_tokens(Tokens::new(500));
            let control = Control::default();
            let built = assemble(&chunks, &options, &ctx_tokens::Words, &control).unwrap();
            assert_eq!(built.included.len(), 2, "{:?}", built.omitted);
            let cited = Cited::by_chunk_id(&built, &chunks);
            let answer = "\"b of ten c of ten\" [a:1-3], \"a of ten c of ten\" [a:4]";
            let resolved = resolve(answer, &cited);
            let verdicts: Vec<Verdict> = resolved.marks.iter().map(|it| it.verdict).collect();
            assert_eq!(verdicts, [Verdict::Sound, Verdict::OutOfRange]);
        }
    }
}

/// Nothing can be held against what is not known: not by the receipt, and not once it was stored.
#[test]
fn a_source_of_unknown_text_is_not_checked() {
    let chunk = lines("a", 1, "one of ten\ntwo of ten", 1.0);
    let (options, control) = (BuildOptions::default(), Control::default());
    let built = assemble(
        std::slice::from_ref(&chunk),
        &options,
        &ctx_tokens::Words,
        &control,
    )
    .unwrap();
    let since = [lines("a", 1, "one of ten\ntwo of other", 1.0)];
    let cited = Cited::by_chunk_id(&built, &since);
    let stored: StoredSource =
        serde_json::from_value(serde_json::to_value(StoredSource::from(&cited[0])).unwrap())
            .unwrap();
    for cited in [&cited[..], &[Cited::from(&stored)]] {
        assert_eq!(cited[0].shown(), "");
        let resolved = resolve("\"two of ten\" [a], [a:2]. See [a].", cited);
        let verdicts: Vec<Verdict> = resolved.marks.iter().map(|it| it.verdict).collect();
        let expected = [Verdict::Unchecked, Verdict::Unchecked, Verdict::Sound];
        assert_eq!(verdicts, expected);
    }
}

/// Whatever showed it to the model.
#[test]
fn a_chunk_that_was_shown_whole_is_cited_by_its_id() {
    let mut file = lines("doc-1", 3, "one of ten\ntwo of ten", 1.0);
    file.matched_keywords = ["tens".to_owned(), "eleven".to_owned()].into();
    let note = Chunk::new("doc-2", "three of ten", Relevance::ONE).with_origin(Origin::Message);
    let cited = [&file, &note].map(Cited::whole);
    assert_eq!(cited[0].shown(), "one of ten\ntwo of ten");
    assert_eq!(cited[0].metadata.matched_keywords, ["tens", "eleven"]);
    let answer =
        "\"two of ten\" [doc-1:4, 5], \"four of ten\" [doc-2], [doc-2:1], [chu-00000c], [doc-3]";
    let resolved = resolve(answer, &cited);
    let verdicts: Vec<Verdict> = resolved.marks.iter().map(|it| it.verdict).collect();
    let expected = [
        Verdict::Sound,
        Verdict::OutOfRange,
        Verdict::Misquoted,
        Verdict::OutOfRange,
        Verdict::Unknown,
        Verdict::Unknown,
    ];
    assert_eq!(verdicts, expected);
    let listed = format_citations(&cited, &resolved.used);
    assert!(
        listed.contains("[doc-1]: a.rs - one of ten two of ten..."),
        "{listed}"
    );
}

#[test]
fn prose_is_quoted_without_its_marks_and_code_is_not() {
    let markdown = "Call **`start()`** once before [the server](https://x.y/z) is opened, and *never* twice, \
        when the flag `--fast` or the variable `MY_FLAG` is set. ![A tide](t.png) follows.";
    let rst =
        "Not set by default, does not fall back to :data:`SERVER_NAME` of :class:`~flask.Request`.";
    let code =
        "fn start() {}\n/// Call **`start()`** once before the server is opened.\nfn go() {}";
    let chunks = [
        Chunk::new("a", markdown, Relevance::ONE).with_path("docs/a.md"),
        Chunk::new("b", rst, Relevance::ONE).with_path("docs/b.rst"),
        Chunk::new("c", code, Relevance::ONE).with_path("src/c.rs"),
    ];
    let options = BuildOptions::default().with_max_tokens(Tokens::new(2_000));
    let built = assemble(&chunks, &options, &ctx_tokens::Words, &Control::default()).unwrap();
    let cited = Cited::of(&built, &chunks);
    let verdict = |path: &str, quote: &str| {
        let is_it = |it: &&Cited| it.metadata.path.as_deref() == Some(path);
        let id = &cited.iter().find(is_it).unwrap().id;
        let resolved = resolve(&format!("“{quote}” [{id}]"), &cited);
        resolved.marks[0].verdict
    };
    for quote in [
        "rules: call start() once",
        "Call start() always before the server",
        "when the flag MYFLAG is set",
    ] {
        assert_eq!(verdict("docs/a.md", quote), Verdict::Misquoted, "{quote}");
    }
    for quote in [
        "Call start() once before the server is opened",
        "and never twice, when the flag --fast",
        "the variable MY_FLAG is set. A tide follows",
        "before [the server](https://x.y/z) is opened, and *never*",
        "before [the server] is opened … `--fast`",
    ] {
        assert_eq!(verdict("docs/a.md", quote), Verdict::Sound, "{quote}");
    }
    let fallback = "does not fall back to SERVER_NAME of flask.Request";
    assert_eq!(verdict("docs/b.rst", fallback), Verdict::Sound);
    // A mark of code is code.
    let unmarked = "Call start() once before the server is opened";
    assert_eq!(verdict("src/c.rs", unmarked), Verdict::Misquoted);
}
