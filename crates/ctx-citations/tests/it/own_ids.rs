//! Ids of a caller's own: found wherever an answer cites them, told from code and from text in
//! brackets, and reported where the context shows none of that shape.

use std::ops::Range;

use ctx_citations::{Cited, ResolveOptions, Verdict, citing, resolve, resolve_with};
use ctx_model::{Chunk, LineSpan, Relevance};
use proptest::prelude::*;

/// How a caller may name its sources by a number.
const STYLES: [fn(u32) -> String; 6] = [
    |n| n.to_string(),
    |n| format!("S{n}"),
    |n| format!("doc-{n}"),
    |n| format!("docs/a.md#{n}"),
    |n| format!("kb_{n:04}.v2"),
    // A UUID.
    |n| {
        let n = u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let hex = format!("{n:032x}");
        let cut = [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ];
        cut.join("-")
    },
];
/// Those of them that may be an index or a name of code as well: the first ones.
const NAMES: usize = 2;

/// Text without brackets.
const PROSE: [&str; 11] = [
    "the tide",
    "follows the moon.",
    "5 of 7",
    "doc-1, S1 and 1",
    "x = 3;",
    "a.md#L3",
    "\n",
    "\n\n- ",
    "1. ",
    "月亮很远。",
    "{1} (2) <3>",
];
/// Text in brackets that is no id, whatever the ids are.
const BRACKETED: [&str; 11] = [
    "[sic]",
    "[ ]",
    "[]",
    "[TODO]",
    "- [x] done",
    "[the tide of doc-1]",
    "[see above]",
    "[^1]",
    "[a or b]",
    "[a link](https://x.y/1)",
    "[, ]",
];
/// Code and links that have an id in brackets, `{}`.
const CODE: [&str; 9] = [
    "take arr[{}] of it",
    "x[{}]",
    "and so is f(a)[{}]",
    "m[{}][{}] = 2",
    "`[{}]`",
    "``a`[{}]``",
    "\n```\n[{}]\n```\n",
    "[{}](https://x.y)",
    "\n[{}]: https://x.y\n",
];
/// Citations of one id or of two.
const CITATIONS: [&str; 14] = [
    "[{}]",
    "[{}].",
    "([{}])",
    "[see {}]",
    "[`{}`]",
    "【{}】",
    "月亮[{}]。",
    "\n[{}]\n",
    "- [{}] says that",
    "The tide always follows the moon[{}].",
    "The tide always follows the moon[{}][{}].",
    "[{}, {}]",
    "[{}] [{}]",
    "[source: {} and {}]",
];

#[derive(Clone, Debug)]
enum Piece {
    Text(&'static str),
    Code(&'static str, usize),
    Citation(&'static str, [usize; 2]),
}

fn piece() -> impl Strategy<Value = Piece> {
    let text = prop::sample::select([&PROSE[..], &BRACKETED].concat()).prop_map(Piece::Text);
    let code = (prop::sample::select(&CODE[..]), any::<usize>());
    let code = code.prop_map(|(form, id)| Piece::Code(form, id));
    let citation = (prop::sample::select(&CITATIONS[..]), any::<[usize; 2]>());
    let citation = citation.prop_map(|(form, ids)| Piece::Citation(form, ids));
    prop_oneof![2 => text, 1 => code, 2 => citation]
}

/// A style, the numbers of the ids that are shown, and others.
fn ids() -> impl Strategy<Value = (usize, Vec<String>, Vec<String>)> {
    let numbers = prop::collection::btree_set(1_u32..200, 4..12);
    (0..STYLES.len(), numbers).prop_map(|(style, numbers)| {
        let ids = numbers.into_iter().map(STYLES[style]);
        let (mut shown, mut others) = (Vec::new(), Vec::new());
        for (at, id) in ids.enumerate() {
            if at % 2 == 0 { &mut shown } else { &mut others }.push(id);
        }
        (style, shown, others)
    })
}

fn source(id: &str) -> Cited {
    Cited::whole(&Chunk::new(id, "the moon is far", Relevance::ONE))
}

/// An answer made of `pieces`, and where it cites which of `ids`.
fn written(
    pieces: &[Piece],
    ids: &[&String],
    has_code: bool,
) -> (String, Vec<(Range<usize>, String)>) {
    let (mut answer, mut cited) = (String::new(), Vec::new());
    for piece in pieces {
        let (form, which) = match piece {
            Piece::Text(text) => (*text, [0, 0]),
            Piece::Code(..) if !has_code => continue,
            Piece::Code(form, which) => (*form, [*which; 2]),
            Piece::Citation(form, which) => (*form, *which),
        };
        let mut which = which.iter().map(|at| ids[at % ids.len()]);
        let mut parts = form.split("{}");
        answer.push_str(parts.next().unwrap());
        for part in parts {
            let id = which.next().unwrap();
            if matches!(piece, Piece::Citation(..)) {
                cited.push((answer.len()..answer.len() + id.len(), id.clone()));
            }
            answer.push_str(id);
            answer.push_str(part);
        }
        answer.push(' ');
    }
    (answer, cited)
}

proptest! {
    #[test]
    fn each_citation_of_an_id_is_found_and_none_is_made_up(
        (style, shown, others) in ids(),
        pieces in prop::collection::vec(piece(), 0..20),
    ) {
        let cited: Vec<Cited> = shown.iter().map(|it| source(it)).collect();
        let all: Vec<&String> = shown.iter().chain(&others).collect();
        let (answer, expected) = written(&pieces, &all, style < NAMES);
        let resolved = resolve(&answer, &cited);
        let found = resolved.marks.iter().map(|it| (it.range.clone(), it.id.clone()));
        prop_assert_eq!(found.collect::<Vec<_>>(), expected, "{}", answer);
        for mark in &resolved.marks {
            let verdict = if shown.contains(&mark.id) { Verdict::Sound } else { Verdict::Unknown };
            prop_assert_eq!(mark.verdict, verdict, "{}: {:?}", &answer, mark);
        }
    }

    /// As it is to those in one bracket.
    #[test]
    fn a_quotation_is_held_to_all_citations_in_a_row(
        which in prop::collection::vec((0_usize..3, 0_u32..4), 1..6),
        between in prop::sample::select(&["", " ", ", ", ",", "; ", " and ", ", and "][..]),
        quote in prop::sample::select(&["two of ten", "one of ten two", "three of ten", "four of it"][..]),
    ) {
        let text = "one of ten\ntwo of ten\nthree of ten";
        let cited = ["1", "doc-2", "fil-00000c"].map(|id| {
            let lines = LineSpan::new(1, 3).unwrap();
            Cited::whole(&Chunk::new(id, text, Relevance::ONE).with_path("a.rs").with_span(lines))
        });
        let each = which.iter().map(|(at, line)| match line {
            0 => cited[*at].id.clone(),
            line => format!("{}:{line}", cited[*at].id),
        });
        let each: Vec<String> = each.collect();
        let verdicts = |answer: &str| -> Vec<Verdict> {
            resolve(answer, &cited).marks.iter().map(|it| it.verdict).collect()
        };
        let together = verdicts(&format!("It says \"{quote}\" [{}].", each.join("; ")));
        prop_assert_eq!(together.len(), which.len());
        let apart = format!("It says \"{quote}\" [{}].", each.join(&format!("]{between}[")));
        prop_assert_eq!(verdicts(&apart), together, "{}", apart);
    }
}

/// What is said of each citation of `answer` to a context of `ids`.
fn verdicts(ids: &[&str], answer: &str) -> Vec<(String, Verdict)> {
    let cited: Vec<Cited> = ids.iter().map(|it| source(it)).collect();
    let marks = resolve(answer, &cited).marks;
    marks.into_iter().map(|it| (it.id, it.verdict)).collect()
}

#[track_caller]
fn cites(ids: &[&str], answer: &str, expected: &[(&str, Verdict)]) {
    let found = verdicts(ids, answer);
    let found: Vec<(&str, Verdict)> = found.iter().map(|it| (&*it.0, it.1)).collect();
    assert_eq!(found, expected, "{answer:?} of {ids:?}");
}

#[test]
fn an_id_is_unknown_where_it_has_the_shape_of_one_that_is_shown() {
    use Verdict::{Malformed, Sound, Unknown};
    let ids = &["1", "2", "doc-a"];
    cites(ids, "[1] [3]", &[("1", Sound), ("3", Unknown)]);
    cites(
        ids,
        "[1, 3; doc-a]",
        &[("1", Sound), ("3", Unknown), ("doc-a", Sound)],
    );
    cites(ids, "[see 17]", &[("17", Unknown)]);
    cites(ids, "[doc-b] [a] [2nd] [1.5] [v1]", &[]);
    cites(ids, "[2:ten] [3:ten]", &[("2", Malformed)]);
    cites(&["doc-a"], "[1] [3]", &[]);
    cites(
        &["doc-1"],
        "[doc-12] [Doc-1] [doc 1] [1]",
        &[("doc-12", Unknown), ("Doc-1", Unknown)],
    );
    cites(
        &["doc:2"],
        "[doc:3] [doc:3:7] [doc]",
        &[("doc:3", Unknown), ("doc:3", Unknown)],
    );
    let hashes = &["9f2a1c3d", "550e8400-e29b-41d4-a716-446655440000"];
    cites(
        hashes,
        "[00ff00ff] [decade12] [defaced]",
        &[("00ff00ff", Unknown), ("decade12", Unknown)],
    );
    cites(
        hashes,
        "[aaaaaaaa-0000-4000-8000-000000000000]",
        &[("aaaaaaaa-0000-4000-8000-000000000000", Unknown)],
    );
    // Labels have a form of their own, and are no example of another.
    cites(
        &["fil-123456"],
        "[fil-12] [fil-1234567]",
        &[("fil-12", Malformed), ("fil-1234567", Unknown)],
    );
}

#[test]
fn a_number_that_is_longer_than_any_id_is_none() {
    use Verdict::{Sound, Unknown};
    let ids = &["1", "12"];
    cites(ids, "[2024] [1000] [2019-2024] [12-2024]", &[]);
    cites(ids, "[007] [404]", &[("007", Unknown), ("404", Unknown)]);
    cites(
        &["1001"],
        "[1001] [2024]",
        &[("1001", Sound), ("2024", Unknown)],
    );
    // With a name it is no year.
    cites(&["doc-1"], "[doc-2024]", &[("doc-2024", Unknown)]);
}

#[test]
fn a_range_of_ids_cites_each_of_them() {
    use Verdict::{Malformed, Sound, Unknown};
    let (a, b, c) = (("1", Sound), ("2", Sound), ("3", Sound));
    let ids = &["1", "2", "3"];
    for answer in [
        "[1-3]",
        "[1–3]",
        "[1\u{2011}3]",
        "[1 - 3]",
        "【1-3】",
        "[see 1-3]",
        "[**1–3**]",
        "[1]-[3]",
        "[1]–[3]",
        "The tide always follows the moon[1-3].",
        "The tide always follows the moon[1]–[3].",
    ] {
        cites(ids, answer, &[a, b, c]);
    }
    cites(ids, "[1, 2-3] [2-3; 1]", &[a, b, c, b, c, a]);
    cites(ids, "[1 and 2-3] [1], [2]–[3, 1]", &[a, b, c, a, b, c, a]);
    // Of its ends, the first is shown.
    cites(ids, "[2-4]", &[b, c, ("4", Unknown)]);
    for answer in [
        "[0-9]",
        "[3-1]",
        "[2-2]",
        "[1-]",
        "[-3]",
        "[1-3-2]",
        "[1-x]",
        "[1-03]",
        "[1—3]",
        "`[1-3]`",
        "arr[1-3]",
        "[1-3](https://x.y)",
        "(1-3)",
        "[1-99999999999]",
        "[1-999]",
    ] {
        cites(ids, answer, &[]);
    }
    cites(ids, "[1] - [3] [1]\n-[3]", &[a, c, a, c]);
    cites(ids, "[1:x]-[3]", &[("1", Malformed), c]);
    // What a range leaves out and the context does not show.
    cites(&["1", "3"], "[1-3]", &[a, ("2", Unknown), c]);
    let names = &[
        "doc-1",
        "doc-2",
        "S08",
        "S09",
        "S10",
        "docs/a.md#3",
        "docs/a.md#4",
    ];
    for answer in [
        "[doc-1-2]",
        "[doc-1-doc-2]",
        "[doc-1 – doc-2]",
        "[doc-1]–[doc-2]",
    ] {
        cites(names, answer, &[("doc-1", Sound), ("doc-2", Sound)]);
    }
    cites(
        names,
        "[S08-S10]",
        &[("S08", Sound), ("S09", Sound), ("S10", Sound)],
    );
    cites(
        names,
        "[S08-10]",
        &[("S08", Sound), ("S09", Sound), ("S10", Sound)],
    );
    cites(names, "[S8-10] [S08-9] [doc-1-S10]", &[]);
    cites(
        names,
        "[docs/a.md#3-4]",
        &[("docs/a.md#3", Sound), ("docs/a.md#4", Sound)],
    );
    // An id may be written as a range is.
    cites(
        &["1", "2", "1-2"],
        "[1-2] [1-3]",
        &[("1-2", Sound), ("1-3", Unknown)],
    );
    cites(
        &["fil-000001", "fil-000002"],
        "[fil-000001-2]",
        &[("fil-000001-2", Unknown)],
    );
}

/// As models that were trained to search write them, and those whose sources were numbered so.
#[test]
fn an_id_is_read_behind_a_word_for_sources_and_before_a_dagger() {
    use Verdict::{OutOfRange, Sound, Unknown};
    let ids = &["1", "2", "3"];
    let all = [("1", Sound), ("2", Sound), ("3", Sound)];
    cites(ids, "[Document 1] [doc 2] [Passage: 3]", &all);
    cites(ids, "[Documents 1-3]", &all);
    cites(ids, "[Sources 1, 2 and 3]", &all);
    cites(ids, "[1, 2, and 3]", &all);
    cites(
        ids,
        "[document] [results of 1] [chapter 1] [1 document]",
        &[],
    );
    cites(ids, "【1†source】【2†a.md】[3†…]", &all);
    cites(
        ids,
        "【1†L3-L7】【9†source】",
        &[("1", OutOfRange), ("9", Unknown)],
    );
    let lines = LineSpan::new(3, 7).unwrap();
    let cited = [Cited::whole(
        &Chunk::new("1", "a", Relevance::ONE).with_span(lines),
    )];
    let marks = resolve("【1†L3-L7】【1†source】", &cited).marks;
    let places: Vec<_> = marks
        .iter()
        .map(|it| (it.lines, it.range.clone()))
        .collect();
    assert_eq!(places, [(Some((3, 7)), 3..12), (None, 18..19)]);
}

/// Of `[1-3]`, a note on what is between the ends has its id, and stands behind them.
#[test]
fn what_a_range_leaves_out_has_a_place_and_a_note() {
    let shown = |id: &str| {
        Cited::whole(&Chunk::new(
            id,
            format!("{id} of ten it is"),
            Relevance::ONE,
        ))
    };
    let resolved = resolve("So [1-4, 2].", &["1", "2", "4"].map(shown));
    let places: Vec<_> = resolved
        .marks
        .iter()
        .map(|it| (&*it.id, it.range.clone()))
        .collect();
    assert_eq!(
        places,
        [
            ("1", 4..5),
            ("2", 6..6),
            ("3", 6..6),
            ("4", 6..7),
            ("2", 9..10)
        ]
    );
    assert_eq!(resolved.text, "So [1-4, 3: unknown, 2].");
    assert_eq!(resolved.used, ["1", "2", "4"]);
    // A quotation is held to each.
    let resolved = resolve("\"2 of ten\" [1]–[3]", &["1", "2"].map(shown));
    assert_eq!(
        resolved.text,
        "\"2 of ten\" [1: not a quotation]–[3: unknown]"
    );
    let resolved = resolve("\"1 of ten\" [1-3]", &["1", "2"].map(shown));
    assert_eq!(
        resolved.text,
        "\"1 of ten\" [1-3: unknown, 2: not a quotation]"
    );
}

/// Ranges take no more than the answer does.
#[test]
fn ranges_cite_as_many_ids_as_the_answer_has_bytes_besides_their_ends() {
    let ids: Vec<String> = (1..=900).map(|it| it.to_string()).collect();
    let cited: Vec<Cited> = ids.iter().map(|it| source(it)).collect();
    let answer = "[1-90]".repeat(100);
    let marks = resolve(&answer, &cited).marks;
    let (ends, between): (Vec<_>, Vec<_>) = marks.iter().partition(|it| !it.range.is_empty());
    assert_eq!(between.len(), answer.len() / 88 * 88);
    assert_eq!(ends.len(), answer.len() / 88 * 2);
    cites(&["1", "2"], "[1-900]", &[]);
}

#[test]
fn a_number_behind_lines_is_of_them_unless_it_is_an_id() {
    use Verdict::{OutOfRange, Sound, Unknown};
    let lines = LineSpan::new(1, 9).unwrap();
    let of = |id: &str| Cited::whole(&Chunk::new(id, "a", Relevance::ONE).with_span(lines));
    let cited = ["1", "2"].map(of);
    for (answer, expected) in [
        ("[1:3, 7]", &[("1", Sound), ("1", Sound)][..]),
        ("[1:3, 77]", &[("1", Sound), ("1", OutOfRange)]),
        ("[1:3 and 7]", &[("1", Sound), ("1", Sound)]),
        ("[1:3, 2]", &[("1", Sound), ("2", Sound)]),
        ("[1, 7]", &[("1", Sound), ("7", Unknown)]),
        ("[1, 7-8]", &[("1", Sound), ("1", Sound)]),
        ("[1:3, 1-2]", &[("1", Sound), ("1", Sound)]),
        (
            "[1:3; see 1-2]",
            &[("1", Sound), ("1", Sound), ("2", Sound)],
        ),
    ] {
        let marks = resolve(answer, &cited).marks;
        let found: Vec<_> = marks.iter().map(|it| (&*it.id, it.verdict)).collect();
        assert_eq!(found, expected, "{answer}");
    }
}

#[test]
fn an_id_that_may_be_code_is_none_in_code() {
    use Verdict::Sound;
    let ids = &["1", "a", "doc-1"];
    for answer in [
        "arr[1], x[1] = x[a]; args_[1] and f()[1]",
        "`arr[1]` and ``[1] ` [a]``",
        "```\n[1]\n```",
        "~~~ js\n> [1]\n```\n[1]\n~~~",
        "> ```\n> [1]\n> ```",
        "[1](https://x.y) ![1](t.png)",
        "[1]: https://x.y 'A title'",
        "   [1]: <tides.md>",
        "m[1][a][1]",
        "The value of it is x[1].",
        "Use arr[1].",
        "The sum is in sum()[1].",
        "The sum is in total_of[1].",
    ] {
        cites(ids, answer, &[]);
    }
    // Where it is none.
    for answer in [
        "[1]",
        "- [1] says so",
        "1. [1]: The moon is far.",
        "a stray ` of [1]",
        "``` is [1] of `them`",
        "```\nx\n```\n[1]",
        "```markdown\n[1]\n```",
        "\"the moon is far\"[1]",
        "The tide follows the moon[1].",
        "(The tide follows the moon)[1]\n",
        "So \"the tide follows the moon[1].\"",
        "The price grew by 12.5 percent[1]!",
        "It was so in 2020[1] and later",
        "月亮[1]",
        "**moon**[1]",
        "[[1]]",
        "\\[1\\]",
        "【1】(https://x.y)",
    ] {
        cites(ids, answer, &[("1", Sound)]);
    }
    for answer in [
        "m[doc-1]",
        "`[doc-1]`",
        "```\n[doc-1]\n```",
        "[doc-1](https://x.y)",
    ] {
        cites(ids, answer, &[("doc-1", Sound)]);
    }
}

/// Of the brackets right behind a word, those of a name of code are an index.
#[test]
fn a_word_of_prose_is_told_from_a_name_of_code() {
    let tide = Chunk::new("1", "The moon is far.", Relevance::ONE);
    let code = Chunk::new(
        "2",
        "let sum = arr[0] + moons[1]; // of the sun",
        Relevance::ONE,
    )
    .with_path("src/a.rs");
    let docs = Chunk::new("3", "An arr of ten: arr[0]. It's Moon's.", Relevance::ONE)
        .with_path("docs/a.md");
    let cited = [tide, code, docs].map(|it| Cited::whole(&it));
    for (answer, ids) in [
        // Words of the source that is cited, wherever they stand.
        ("the moon[1] is far", &["1"][..]),
        ("Moon[1] (or so)", &["1"]),
        ("- The moon[1].", &["1"]),
        ("both the Moon[1][3] and", &["1", "3"]),
        ("the moon[1][4] is", &["1"]),
        ("of the moon[1-3] and of", &["1", "2", "3"]),
        // Of another, of code, or of none.
        ("the moon[2] and the sun[2] are", &[]),
        ("the tide[1] is high", &[]),
        // An index.
        ("x = moon[1]", &[]),
        ("moon[1] = 3, moon[1].x, a.moon[1] or", &[]),
        ("moon[1]; moon[1](x)", &["1"]),
        ("take arr[3] of it", &[]),
        // A clause, and a name that code has.
        ("The sum of it is kept in arr[1].", &[]),
        ("The sum of it is kept in arr[1][2].", &[]),
        ("The sum of it is kept in total[1].", &["1"]),
        ("The sum of it is kept in total[1], so `total` is.", &[]),
        ("The sum of it is kept in total[1], by `total[1] = 3`.", &[]),
        (
            "The sum of it is kept in total[1].\n```\ntotal[1] = 3\n```",
            &[],
        ),
        (
            "The sum of it is kept in total[1]: `the total of it`.",
            &["1"],
        ),
        ("It is not far to the moon[1]. In code it is `moon`.", &[]),
    ] {
        let marks = resolve(answer, &cited).marks;
        let found: Vec<&str> = marks.iter().map(|it| &*it.id).collect();
        assert_eq!(found, ids, "{answer}");
    }
}

#[test]
fn a_caller_may_say_what_has_the_shape_of_an_id() {
    let cited = ["A", "B"].map(source);
    let is_letter = |text: &str| text.len() == 1 && text.bytes().all(|it| it.is_ascii_uppercase());
    let options = ResolveOptions::default().with_id_shape(&is_letter);
    let resolved = resolve_with("[A] [C] [c] [3] x[C]", &cited, &options).unwrap();
    let found: Vec<_> = resolved
        .marks
        .iter()
        .map(|it| (&*it.id, it.verdict))
        .collect();
    assert_eq!(found, [("A", Verdict::Sound), ("C", Verdict::Unknown)]);
    // However much it takes for one.
    let options = ResolveOptions::default().with_id_shape(&|_| true);
    let resolved = resolve_with("[A and C]", &cited, &options).unwrap();
    let found: Vec<_> = resolved.marks.iter().map(|it| &*it.id).collect();
    assert_eq!(found, ["A", "C"]);
    // In place of what the ids themselves say.
    let cited = ["1", "2"].map(source);
    let options = ResolveOptions::default().with_id_shape(&|_| false);
    let resolved = resolve_with("in [2024], [3] or [1]", &cited, &options).unwrap();
    assert_eq!(resolved.marks.len(), 1);
}

#[test]
fn a_model_is_told_to_cite_by_ids_of_the_contexts_own_shape() {
    for id in ["1", "doc-1", "fil-9f2a1c"] {
        let told = citing(id);
        let cited = [source(id)];
        let found = resolve(&told, &cited).marks;
        let found: Vec<_> = found.iter().map(|it| (&*it.id, it.lines)).collect();
        assert_eq!(found, [(id, None), (id, Some((10, 12)))], "{told}");
    }
}
