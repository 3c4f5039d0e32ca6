use super::*;

const A: &str = r#"{"id": "a", "content": "x", "relevance": 0.5}"#;
const B: &str = r#"{"id": "b", "content": "y", "relevance": 1}"#;

fn ids(input: &str) -> Vec<String> {
    let input = read(input.as_bytes(), "in", Texts::Given).unwrap();
    input.chunks.into_iter().map(|chunk| chunk.id).collect()
}

#[track_caller]
fn fails(input: impl AsRef<[u8]>, parts: &[&str]) {
    let failure = read(input.as_ref(), "in", Texts::Given).unwrap_err();
    let message = format!("{:#}", failure.error);
    for part in parts {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
    assert!(failure.hint.is_some(), "{message:?} has no hint");
}

#[test]
fn every_form_is_understood() {
    for input in [
        format!("{A}\n{B}\n"),
        format!("\n\n  {A}\r\n\r\n{B}"),
        format!("\u{feff}{A}\n{B}"),
        format!("[{A},{B}]"),
        format!("[\n  {A},\n  {B}\n]\n"),
        format!(r#"{{"chunks": [{A}, {B}]}}"#),
        format!("{{\n\"options\": {{\"maxTokens\": 9}},\n\"chunks\":\n[{A}, {B}]}}\n\n"),
        format!("{}\n{}\n", A.replace(", ", ",\n"), B.replace(", ", ",\n")),
    ] {
        assert_eq!(ids(&input), ["a", "b"], "{input}");
    }
}

#[test]
fn no_chunks_are_no_error() {
    for input in ["", "\n \n", "[]", r#"{"chunks": []}"#, r#"{"options": {}}"#] {
        assert_eq!(ids(input), [""; 0], "{input:?}");
    }
}

#[test]
fn options_are_read() {
    let input = read(
        r#"{"options": {"maxTokens": 9, "format": "xml"}, "chunks": []}"#.as_bytes(),
        "in",
        Texts::Given,
    )
    .unwrap();
    assert_eq!(input.options.max_tokens.get(), 9);
    assert_eq!(input.options.format, ctx::model::Format::Xml);
}

#[test]
fn a_broken_line_is_named() {
    fails(
        format!("{A}\n{{\"id\": \"b\", \"content\": \"y\"}}\n"),
        &["in:2:", "chunk 2", "\"b\"", "relevance"],
    );
    fails(
        format!("{A}\n\n{{\"id\": \"b\", \"content\": 7, \"relevance\": 1}}"),
        &["in:3:", "\"b\"", "field `content`"],
    );
    fails(
        format!("{A}\n{{\"id\": \"b\", \"content\": \"y\", \"relevance\": 1, \"extra\": 1}}"),
        &["in:2:", "\"b\"", "unknown field `extra`"],
    );
    fails(
        format!("{A}\n{{\"id\": \"b\", \"conte"),
        &["in:2:", "\"b\"", "EOF"],
    );
    fails(format!("{A}\n{A} {B}"), &["in:2:", "trailing"]);
    fails(format!("{A}\n[{B}]"), &["in:2:"]);
    fails("hello", &["in:1:1: ", "expected value"]);
    fails("7", &["in:1:1: ", "array of chunks"]);
}

#[test]
fn numbers_that_are_none_are_named() {
    for value in ["NaN", "1e999", "Infinity", "-1e999", "nan"] {
        let bad = format!(r#"{{"id": "bad", "relevance": {value}, "content": "y"}}"#);
        let line = &["in:2:", "chunk 2 (\"bad\")", "field `relevance`"];
        fails(format!("{A}\n{bad}\n"), line);
        fails(format!("[{A},\n{bad}]"), line);
        fails(format!("{{\"chunks\": [{A},\n{bad}]}}"), line);
        fails(
            format!("{{\"chunks\":\n[{bad}]}}"),
            &["in:2:", "chunk 1 (\"bad\")", "field `relevance`"],
        );
        fails(
            format!("[\n{bad}]"),
            &["in:2:", "chunk 1 (\"bad\")", "field `relevance`"],
        );
        fails(&bad, &["in:1:", "\"bad\"", "relevance"]);
    }
}

#[test]
fn fields_that_the_model_refuses_are_named() {
    let with = |rest: &str| format!("[{A},\n  {{\"id\": \"bad\", \"content\": \"y\", {rest}}}]");
    fails(
        with(r#""relevance": 2"#),
        &["in:2:3: ", "chunk \"bad\"", "relevance 2"],
    );
    fails(
        with(r#""relevance": -0.1"#),
        &["in:2:", "chunk \"bad\"", "relevance -0.1"],
    );
    fails(
        with(r#""relevance": 1, "startLine": 9, "endLine": 3"#),
        &["in:2:", "chunk \"bad\"", "endLine 3"],
    );
    fails(
        with(r#""relevance": 1, "startLine": 0, "endLine": 3"#),
        &["in:2:", "chunk \"bad\"", "line 0"],
    );
    fails(
        with(r#""relevance": 1, "startLine": 1"#),
        &["in:2:", "chunk \"bad\"", "endLine"],
    );
    fails(
        with(r#""relevance": 1, "startLine": -1, "endLine": 3"#),
        &["in:2:", "\"bad\"", "field `startLine`"],
    );
    fails(
        with(r#""relevance": 1, "filePath": """#),
        &["in:2:", "chunk \"bad\"", "filePath"],
    );
    fails(
        with(r#""relevance": "high""#),
        &["in:2:", "\"bad\"", "field `relevance`"],
    );
    fails(
        r#"[{"id": "", "content": "", "relevance": 1}]"#,
        &["in:1:2: ", "id is empty"],
    );
    fails(
        r#"[{"content": "", "relevance": 1}]"#,
        &["in:1:", "missing field `id`"],
    );
}

#[test]
fn what_is_wrong_of_a_chunk_whose_file_has_its_content_is_named() {
    for (rest, parts) in [
        (
            r#""relevance": 5"#,
            &["in:2:1: chunk \"bad\"", "relevance 5"][..],
        ),
        (r#""kind": "file""#, &["in:2:", "missing field `relevance`"]),
        (
            r#""relevance": 1, "startLine": 3"#,
            &["in:2:1: ", "endLine"],
        ),
        (
            r#""relevance": 1, "startLine": 3, "endLine": 2"#,
            &["in:2:1: ", "endLine 2"],
        ),
    ] {
        let input = format!("{A}\n{{\"id\": \"bad\", \"filePath\": \"a.rs\", {rest}}}\n");
        let failure = read(input.as_bytes(), "in", Texts::InFiles).unwrap_err();
        let message = format!("{:#}", failure.error);
        assert!(parts.iter().all(|it| message.contains(it)), "{message}");
        assert!(!message.contains("content"), "{message}");
    }
    let without = r#"{"id": "bad", "relevance": 1}"#;
    let failure = read(without.as_bytes(), "in", Texts::InFiles).unwrap_err();
    assert!(
        failure
            .error
            .to_string()
            .contains("missing field `content`")
    );
}

#[test]
fn a_broken_envelope_is_named() {
    fails(
        r#"{"chunks": [], "option": {}}"#,
        &["unknown field `option`"],
    );
    fails(r#"{"chunks": {}}"#, &["in:1:", "array of chunks"]);
    fails(
        r#"{"chunks": [], "chunks": []}"#,
        &["duplicate field `chunks`"],
    );
    fails(r#"{"chunks": []} {}"#, &["in:1:", "trailing"]);
    fails(
        "{\"chunks\": [],\n\"options\": {\"format\": \"pdf\"}}",
        &["in:2:", "options", "field `format`", "pdf", "markdown"],
    );
    fails(
        r#"{"chunks": [], "options": {"maxTokens": 5000000000}}"#,
        &["options", "field `maxTokens`", "5000000000"],
    );
    fails(
        r#"{"chunks": [], "options": {"maxTokens": -1}}"#,
        &["options", "field `maxTokens`"],
    );
    fails(
        r#"{"chunks": [], "options": {"minRelevance": 2}}"#,
        &["options", "minRelevance"],
    );
    fails(
        r#"{"chunks": [], "options": {"colour": true}}"#,
        &["options", "unknown field `colour`"],
    );
    let array = "array, expected an object";
    fails(r#"{"chunks": [], "options": []}"#, &["options", array]);
    fails(
        r#"[["a", "x"]]"#,
        &["in:1:2: ", "chunk 1", "array, expected a chunk, an object"],
    );
    let within = r#"{"id": "a", "content": "x", "relevance": 1, "relations": [["calls", "y"]]}"#;
    fails(
        format!("{A}\n{within}"),
        &["in:2:", "\"a\"", "field `relations[0]`", array],
    );
    fails(r#"{"chunks": ["#, &["in:1:", "EOF"]);
}

#[test]
fn invalid_utf_8_is_named() {
    fails(b"[\n\n{\"id\": \"\xff\"}]", &["in:3:", "UTF-8"]);
    fails(
        [A.as_bytes(), b"\n{\"id\": \"\xff\"}"].concat(),
        &["in:2:", "UTF-8"],
    );
    fails(b"\xff\xfe[\0]\0", &["UTF-8"]);
}

#[test]
fn deep_nesting_is_an_error() {
    for deep in ctx_testkit::hostile::nested_json() {
        assert!(read(deep.as_bytes(), "in", Texts::Given).is_err());
    }
}

#[test]
fn long_ids_are_cut_in_messages() {
    let id = "i".repeat(1 << 20);
    let failure = read(
        format!(r#"[{{"id": "{id}", "content": 1}}]"#).as_bytes(),
        "in",
        Texts::Given,
    )
    .unwrap_err();
    assert!(failure.error.to_string().len() < 500);
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = read(&*bytes, "in", Texts::Given);
    }

    #[test]
    fn cut_or_damaged_input_never_panics(cut in 0..200_usize, byte in 0..200_usize, value: u8) {
        let mut bytes = format!("{{\"chunks\": [{A},\n{B}], \"options\": {{\"maxTokens\": 9}}}}").into_bytes();
        let at = byte % bytes.len();
        bytes[at] = value;
        bytes.truncate(cut);
        let _ = read(&*bytes, "in", Texts::Given);
    }
}
