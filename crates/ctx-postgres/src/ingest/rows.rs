//! The rows of files and parts that files are turned into, and the document counts of terms.

use std::collections::BTreeMap;

use ctx_model::{LineSpan, PartKind};
use ctx_rank::Analyzer;
use ctx_retrieve::indexing_threads;
use ctx_syntax::{Language, Limits, Outline, Piece, language_name, lines, pieces, without_encoded};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::FileText;
use crate::lexemes::{Label, Vector};

/// Longer names are not indexed, in bytes: they are encoded data.
pub(crate) const LONGEST_NAME: usize = 256;
/// The most bytes of a part that are indexed.
const PART_BYTES: usize = 256 << 10;

/// The hash of each file that is stored already, by path.
pub(super) type Known = BTreeMap<String, [u8; 32]>;

/// What one transaction writes.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The paths to be replaced or removed.
    pub(super) paths: Vec<String>,
    pub(super) files: Vec<FileRow>,
    pub(super) parts: Vec<PartRow>,
    /// For each term, the number of these parts and of these files that hold it.
    pub(super) terms: BTreeMap<String, (i32, i32)>,
    /// Files that are already stored with the same text, with their hashes.
    pub(super) unchanged: Vec<(FileText, [u8; 32])>,
}

#[derive(Debug)]
pub(super) struct FileRow {
    pub(super) file: FileText,
    pub(super) hash: [u8; 32],
    /// A sealed outline.
    pub(super) outline: Option<Vec<u8>>,
    pub(super) language: Option<&'static str>,
    pub(super) lines: i32,
    pub(super) parts: i32,
    pub(super) terms: Vector,
}

#[derive(Debug)]
pub(super) struct PartRow {
    pub(super) path: String,
    pub(super) span: LineSpan,
    pub(super) kind: PartKind,
    pub(super) name: Option<String>,
    pub(super) qualified_name: Option<String>,
    pub(super) language: Option<&'static str>,
    pub(super) refers_to: Vec<String>,
    pub(super) terms: Vector,
    pub(super) defines: Vec<String>,
    pub(super) uses: Vec<String>,
}

impl Batch {
    /// Cuts `files`, each with its hash, into rows, on the [`indexing_threads`].
    pub(super) fn of(files: Vec<(FileText, [u8; 32])>, known: &Known) -> Self {
        let mut batch = Batch::default();
        let mut changed = Vec::new();
        for (file, hash) in files {
            if known.get(&file.path) == Some(&hash) {
                batch.unchanged.push((file, hash));
            } else {
                changed.push((file, hash));
            }
        }
        let rows = changed
            .into_par_iter()
            .map_init(Analyzer::default, |analyzer, (file, hash)| {
                rows(analyzer, file, hash)
            });
        let rows: Vec<(FileRow, Vec<PartRow>)> = indexing_threads().install(|| rows.collect());
        for (file, parts) in rows {
            for term in file.terms.terms() {
                batch.terms.entry(term.to_owned()).or_default().1 += 1;
            }
            for term in parts.iter().flat_map(|it| it.terms.terms()) {
                batch.terms.entry(term.to_owned()).or_default().0 += 1;
            }
            batch.paths.push(file.file.path.clone());
            batch.files.push(file);
            batch.parts.extend(parts);
        }
        batch
    }

    /// The files that the batch was made of, to be processed again.
    pub(super) fn into_files(self) -> Vec<(FileText, [u8; 32])> {
        let changed = self.files.into_iter().map(|it| (it.file, it.hash));
        changed.chain(self.unchanged).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }
}

fn rows(analyzer: &mut Analyzer, file: FileText, hash: [u8; 32]) -> (FileRow, Vec<PartRow>) {
    let limits = Limits::default();
    // Files are read as such: lines of any other text would not be theirs.
    let decoded = ctx_model::decoded(&file.text);
    let text = decoded.as_deref().unwrap_or(&file.text);
    let language = Language::of(&file.path, text);
    let outline = Outline::of(text, language, &limits);
    let language = language_name(&file.path, text);
    let lines = lines(text);
    let parts: Vec<PartRow> = pieces(&lines, &outline)
        .into_iter()
        .map(|piece| part(analyzer, &file.path, &lines, piece, language))
        .collect();
    let mut terms = Vector::default();
    terms.add(analyzer, &file.path, Label::A);
    terms.add(analyzer, &without_encoded(text, &lines), Label::D);
    let row = FileRow {
        outline: outline.seal(&hash),
        hash,
        language,
        lines: i32::try_from(text.lines().count()).unwrap_or(i32::MAX),
        parts: i32::try_from(parts.len()).unwrap_or(i32::MAX),
        terms,
        file,
    };
    (row, parts)
}

fn part(
    analyzer: &mut Analyzer,
    path: &str,
    lines: &[&str],
    piece: Piece,
    language: Option<&'static str>,
) -> PartRow {
    let mut terms = Vector::default();
    if let Some(name) = &piece.qualified_name {
        terms.add(analyzer, name, Label::A);
    }
    let mut left = PART_BYTES;
    for (text, label) in piece
        .texts(lines)
        .iter()
        .zip([Label::B, Label::C, Label::D])
    {
        let text = &text[..text.floor_char_boundary(left)];
        left -= text.len();
        terms.add(analyzer, text, label);
    }
    PartRow {
        path: path.to_owned(),
        span: piece.span,
        kind: piece.kind,
        defines: in_lower_case(piece.known_names()),
        uses: in_lower_case(&piece.refers_to),
        name: piece.name.filter(|it| it.len() <= LONGEST_NAME),
        qualified_name: piece.qualified_name,
        language,
        refers_to: piece.refers_to,
        terms,
    }
}

fn in_lower_case<'n>(names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
    let names = names.into_iter().filter(|it| it.len() <= LONGEST_NAME);
    let mut names: Vec<String> = names.map(|it| it.to_lowercase()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// `path` in lower case and reversed.
pub(crate) fn reversed(path: &str) -> String {
    path.to_lowercase().chars().rev().collect()
}
