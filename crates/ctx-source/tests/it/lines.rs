//! Line numbers, compared with a character-by-character reading and with the lines of the model.

use ctx_model::LineSpan;
use ctx_source::{LineIndex, Secrets, Text};
use proptest::prelude::*;

/// Lines with their terminators.
fn plainly(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        lines.last_mut().unwrap().push(c);
        if c == '\n' && chars.peek().is_some() {
            lines.push(String::new());
        }
    }
    lines
}

#[track_caller]
fn agrees(text: &str) {
    let decoded = Text::decode("", text.as_bytes().to_vec(), Secrets::Shown).unwrap();
    let text = decoded.as_str();
    let expected = plainly(text);
    let index = LineIndex::new(text).unwrap();
    assert_eq!(index.count() as usize, expected.len(), "{text:?}");
    let of_model: Vec<&str> = ctx_model::lines(text).collect();
    let of_text = (1..=index.count()).map(|number| decoded.line(number).unwrap());
    assert!(of_text.eq(of_model), "{text:?}");
    let mut offset = 0;
    for (line, number) in expected.iter().zip(1_u32..) {
        let span = LineSpan::new(number, number).unwrap();
        assert_eq!(&text[index.range(span).unwrap()], line, "{text:?}");
        assert_eq!(
            decoded.line(number).unwrap(),
            ctx_model::without_line_end(line)
        );
        for at in offset..offset + line.len() {
            assert_eq!(index.line_of(at), number, "{text:?} at {at}");
        }
        offset += line.len();
        let to_here = LineSpan::new(1, number).unwrap();
        assert_eq!(index.range(to_here).unwrap(), 0..offset);
    }
    let past = LineSpan::new(1, index.count() + 1).unwrap();
    assert_eq!(index.range(past), None);
    assert_eq!(index.line_of(usize::MAX), index.count());
}

#[test]
fn terminators_of_every_kind() {
    for text in [
        "",
        "\n",
        "\r",
        "\r\n",
        "a",
        "a\n",
        "a\r\nb\rc\nd",
        "\n\r",
        "\r\r\n\n",
        "a\n\n",
    ] {
        agrees(text);
    }
}

proptest! {
    #[test]
    fn any_text(text in "[ab é\r\n]{0,40}") {
        // A lone mark or NUL would be another encoding's; there is none in these.
        agrees(&text);
    }
}
