use super::*;

#[track_caller]
fn text(bytes: &[u8], expected: &str) {
    assert_eq!(decode(bytes.to_vec()), Decoded::Text(expected.to_owned()));
}

#[track_caller]
fn converted(bytes: &[u8], expected: &str, expected_from: &str, expected_replaced: usize) {
    match decode(bytes.to_vec()) {
        Decoded::Converted {
            text,
            from,
            replaced,
        } => {
            assert_eq!(
                (&*text, from, replaced),
                (expected, expected_from, expected_replaced)
            );
        }
        other => panic!("{other:?}"),
    }
}

fn utf_16(text: &str, mark: [u8; 2], unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    mark.into_iter()
        .chain(text.encode_utf16().flat_map(unit))
        .collect()
}

fn utf_32(text: &str, mark: [u8; 4], unit: fn(u32) -> [u8; 4]) -> Vec<u8> {
    mark.into_iter()
        .chain(text.chars().flat_map(|c| unit(c.into())))
        .collect()
}

#[test]
fn utf_8_is_taken_as_it_is() {
    text(b"fn main() {}\n", "fn main() {}\n");
    text("\u{feff}a ☔".as_bytes(), "a ☔");
    text(b" ", " ");
}

#[test]
fn returns_that_are_all_there_is_end_lines() {
    converted(b"a\rb\r\rc", "a\nb\n\nc", "CR line ends", 0);
    converted(b"a\r", "a\n", "CR line ends", 0);
    for kept in ["a\rb\nc", "a\r\nb", "\r\n"] {
        text(kept.as_bytes(), kept);
    }
    let mac = utf_16("a\rb", [0xff, 0xfe], u16::to_le_bytes);
    converted(&mac, "a\nb", "UTF-16LE", 0);
}

#[test]
fn marks_decide() {
    let line = "naïve ☔ 𝄞\n";
    converted(
        &utf_16(line, [0xff, 0xfe], u16::to_le_bytes),
        line,
        "UTF-16LE",
        0,
    );
    converted(
        &utf_16(line, [0xfe, 0xff], u16::to_be_bytes),
        line,
        "UTF-16BE",
        0,
    );
    converted(
        &utf_32(line, [0xff, 0xfe, 0, 0], u32::to_le_bytes),
        line,
        "UTF-32LE",
        0,
    );
    converted(
        &utf_32(line, [0, 0, 0xfe, 0xff], u32::to_be_bytes),
        line,
        "UTF-32BE",
        0,
    );
    converted(b"\xff\xfea\0b", "a\u{fffd}", "UTF-16LE", 1);
}

#[test]
fn utf_16_without_a_mark_is_recognised_where_there_is_no_doubt() {
    let line = "let name = \"naïve ☔\";\r\n";
    let (little, big) = (u16::to_le_bytes, u16::to_be_bytes);
    converted(
        &utf_16(line, [b'/', 0], little),
        &format!("/{line}"),
        "UTF-16LE",
        0,
    );
    converted(
        &utf_16(line, [0, b'/'], big),
        &format!("/{line}"),
        "UTF-16BE",
        0,
    );
    for doubtful in [
        b"a\0b\0c".as_slice(),
        b"a\0\x01\0b\0",
        b"a\0b\0\0\0c\0",
        b"a\0b\0c\0\x00\xd8",
        b"a\0b\0\x14\x26\x15\x26\x16\x26",
    ] {
        assert_eq!(decode(doubtful.to_vec()), Decoded::Binary, "{doubtful:?}");
    }
}

#[test]
fn old_encodings_are_recognised() {
    converted(
        b"Stra\xdfe und Gr\xf6\xdfe, ge\xe4ndert f\xfcr Gro\xdfb\xe4ckerei",
        "Straße und Größe, geändert für Großbäckerei",
        "windows-1252",
        0,
    );
    let (japanese, _, _) =
        encoding_rs::SHIFT_JIS.encode("これは日本語のテキストです。文字コードを調べます。");
    converted(
        &japanese,
        "これは日本語のテキストです。文字コードを調べます。",
        "Shift_JIS",
        0,
    );
}

#[test]
fn one_bad_byte_does_not_change_the_encoding_of_the_rest() {
    converted(
        "größer, schöner, \u{2614}"
            .as_bytes()
            .iter()
            .copied()
            .chain([0xff])
            .collect::<Vec<_>>()
            .as_slice(),
        "größer, schöner, ☔\u{fffd}",
        "damaged UTF-8",
        1,
    );
}

#[test]
fn bytes_without_text_are_binary() {
    for bytes in [
        b"\x7fELF\x02\x01\x01\0\0".as_slice(),
        b"%PDF-1.7\n",
        b"\x89PNG\r\n",
        b"\x01\x02\x03\xff\xfe\x04\x05\x06\x07\x80",
    ] {
        assert_eq!(decode(bytes.to_vec()), Decoded::Binary, "{bytes:?}");
    }
    let mut late = vec![b'a'; 4096];
    late.push(0);
    assert_eq!(decode(late), Decoded::Binary);
}

#[test]
fn nothing_is_empty() {
    for bytes in [b"".as_slice(), b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"] {
        assert_eq!(decode(bytes.to_vec()), Decoded::Empty, "{bytes:?}");
    }
}
