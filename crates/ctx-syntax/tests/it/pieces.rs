//! Files cut into the parts that are found one by one.

use ctx_syntax::{Limits, Outline, lines, pieces};

#[test]
fn every_line_that_says_something_is_in_one_piece() {
    let text = "use a;\n\n/// Adds.\nfn add(a: i32) -> i32 {\n    a\n}\n\nconst X: i32 = 1;\n";
    let outline = Outline::of(
        text,
        ctx_syntax::Language::of("a.rs", text),
        &Limits::default(),
    );
    let lines = lines(text);
    let pieces = pieces(&lines, &outline);
    for (row, line) in lines.iter().enumerate() {
        let number = u32::try_from(row).unwrap() + 1;
        let holders = pieces
            .iter()
            .filter(|it| it.span.start() <= number && number <= it.span.end());
        assert_eq!(holders.count(), usize::from(!line.is_empty()), "{line:?}");
    }
}

#[test]
#[cfg(feature = "rust")]
fn a_function_is_a_piece_whose_texts_are_its_lines() {
    let text = "/// Adds.\nfn add(a: i32) -> i32 {\n    other(a)\n}\n";
    let outline = Outline::of(
        text,
        ctx_syntax::Language::of("a.rs", text),
        &Limits::default(),
    );
    let lines = lines(text);
    let [piece] = &pieces(&lines, &outline)[..] else {
        panic!("there is one function");
    };
    assert_eq!(
        (piece.kind, piece.name.as_deref()),
        ("function", Some("add"))
    );
    assert_eq!(piece.refers_to, ["other"]);
    let [signature, doc, body] = piece.texts(&lines);
    assert_eq!(signature, "fn add(a: i32) -> i32 {\n");
    assert_eq!(doc, "/// Adds.\n");
    assert_eq!(body, "    other(a)\n}\n");
}
