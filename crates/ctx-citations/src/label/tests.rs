use super::*;

#[test]
fn malformed_labels_are_distinguished_from_words() {
    for text in ["FIL-9F2A1C", "fil-12", "fil-9g2a1c", "mes-"] {
        assert!(resembles_label(text), "{text}");
    }
    for text in ["ref-counted", "fil-9f2a1c", "file-1", "0", ""] {
        assert!(!resembles_label(text), "{text}");
    }
}
