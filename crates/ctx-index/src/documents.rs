//! Turns a file into the documents that are written for it.

use std::sync::Arc;

use ctx_source::Text;
use ctx_syntax::{Outline, Piece, language_name, lines, pieces, without_encoded};
use tantivy::{Document, TantivyDocument};

use crate::ahead::Held;
use crate::schema::{Fields, Stored};

/// A document on its way into the text index. The bytes of its file stay held until all documents
/// of the file are written.
#[derive(Debug)]
pub(crate) struct HeldDocument {
    pub(crate) document: TantivyDocument,
    pub(crate) _held: Arc<Held>,
}

impl Document for HeldDocument {
    type Value<'a> = <TantivyDocument as Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.document.iter_fields_and_values()
    }
}

/// The document of the file, followed by one for each of its parts.
pub(crate) fn documents(
    fields: &Fields,
    path: &str,
    text: &Text,
    outline: &Outline,
    modified_at: i64,
) -> Vec<TantivyDocument> {
    let lines = lines(text.as_str());
    let language = language_name(path, text.as_str());
    let stored = Stored {
        language: language.map(str::to_owned),
        modified_at: Some(modified_at),
        ..Stored::default()
    };
    let mut of_file = of_file(
        fields,
        path,
        &without_encoded(text.as_str(), &lines),
        &stored,
    );
    let hash = text.unmasked_hash();
    let sealed = outline.seal(hash);
    let sealed = sealed.unwrap_or_else(|| Outline::bare_seal(hash));
    of_file.add_bytes(fields.outline, &sealed);
    let mut documents = vec![of_file];
    for piece in pieces(&lines, outline) {
        documents.push(of_piece(fields, path, &lines, &piece, &stored));
    }
    documents
}

fn of_file(fields: &Fields, path: &str, text: &str, stored: &Stored) -> TantivyDocument {
    let mut document = TantivyDocument::default();
    document.add_text(fields.path, path);
    document.add_bytes(fields.stored, &encoded(stored));
    document.add_text(fields.path_words, path);
    document.add_text(fields.text, text);
    document.add_text(fields.trigrams, path.rsplit('/').next().unwrap_or(path));
    let lower = path.to_lowercase();
    let mut end = lower.as_str();
    document.add_text(fields.path_ends, end);
    while let Some((_, after)) = end.split_once('/') {
        document.add_text(fields.path_ends, after);
        end = after;
    }
    document
}

fn of_piece(
    fields: &Fields,
    path: &str,
    lines: &[&str],
    piece: &Piece,
    stored: &Stored,
) -> TantivyDocument {
    let mut document = TantivyDocument::default();
    let stored = Stored {
        lines: (piece.span.start(), piece.span.end()),
        kind: piece.kind.to_string(),
        name: piece.name.clone(),
        qualified_name: piece.qualified_name.clone(),
        refers_to: piece.refers_to.clone(),
        ..stored.clone()
    };
    document.add_text(fields.path, path);
    document.add_bytes(fields.stored, &encoded(&stored));
    if let Some(name) = &piece.qualified_name {
        document.add_text(fields.name, name);
    }
    let [signature, doc, body] = piece.texts(lines);
    for (field, text) in [
        (fields.signature, signature),
        (fields.doc, doc),
        (fields.body, body),
    ] {
        if !text.is_empty() {
            document.add_text(field, text);
        }
    }
    for name in piece.known_names() {
        document.add_text(fields.defines, name.to_lowercase());
    }
    if let Some(name) = &piece.name {
        document.add_text(fields.trigrams, name);
    }
    for name in &piece.refers_to {
        document.add_text(fields.uses, name.to_lowercase());
    }
    document
}

fn encoded(stored: &Stored) -> Vec<u8> {
    serde_json::to_vec(stored).expect("its fields are numbers and texts")
}
