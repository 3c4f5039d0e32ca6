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
