//! The three sets of passages and questions, which lie beside a checkout.

use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::shown::Files;

/// Passages, and questions whose answers are in some of them.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: &'static str,
    pub(super) passages: Vec<Passage>,
    pub(super) questions: Vec<Question>,
    /// The budgets that are tried, in tokens.
    pub(super) budgets: [u32; 4],
    /// The texts that the passages are from.
    pub(super) files: Files,
}

/// A text that may be selected.
#[derive(Debug)]
pub(super) struct Passage {
    pub(super) id: String,
    /// The document it is from.
    pub(super) document: String,
    pub(super) text: String,
    /// The file it is in.
    pub(super) file: String,
    /// Its position in its file, in characters.
    pub(super) range: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) golden: Golden,
}

/// Where the answer is.
#[derive(Debug)]
pub(super) enum Golden {
    /// In these passages, by id.
    Passages(Vec<String>),
    /// In these characters of a document.
    Spans(String, Vec<Range<usize>>),
}

/// Loads all three sets, or the one with that name, from their folder. [`HEADED`] is only loaded by
/// name.
///
/// # Errors
/// A file cannot be read, or no set has the name.
pub(super) fn load(folder: &Path, only: Option<&str>) -> Result<Vec<Set>> {
    Ok(match only {
        None => vec![codebase(folder)?, docs(folder)?, chroma(folder)?],
        Some("codebase") => vec![codebase(folder)?],
        Some("docs") => vec![docs(folder)?],
        Some("chroma") => vec![chroma(folder)?],
        Some(HEADED) => vec![headed(folder)?],
        Some(name) => bail!("failed to find a set `{name}`"),
    })
}

/// `chroma` with its headings marked as in Markdown, so that answers of a sentence or two are in
/// sections.
const HEADED: &str = "headed";

fn headed(folder: &Path) -> Result<Set> {
    let mut set = chroma(folder)?;
    set.name = HEADED;
    for text in set.files.values_mut() {
        *text = text.split_inclusive('\n').map(marked).collect();
    }
    Ok(set)
}

/// Turns ` = = Heading = = ` into `## Heading = = ` with spaces in place of removed characters, so
/// that positions do not change.
fn marked(line: &str) -> String {
    let level = line.split(' ').skip(1).take_while(|it| *it == "=").count();
    let is_heading = level > 0 && line.starts_with(' ');
    let rest = line.get(1 + 2 * level..).filter(|_| is_heading);
    rest.map_or_else(
        || line.to_owned(),
        |rest| format!("{}{}{rest}", "#".repeat(level), " ".repeat(level + 1)),
    )
}

#[derive(Deserialize)]
struct CodeDocument {
    original_uuid: String,
    content: String,
    chunks: Vec<CodeChunk>,
}

#[derive(Deserialize)]
struct CodeChunk {
    original_index: usize,
    content: String,
}

#[derive(Deserialize)]
struct CodeQuestion {
    query: String,
    golden_chunk_uuids: Vec<(String, usize)>,
}

/// Each file is called by its id. The set has paths only of files that a question is about, so
/// a file with a path would be known to be an answer, and the words of its name would find it.
fn codebase(folder: &Path) -> Result<Set> {
    let documents: Vec<CodeDocument> = json(&folder.join("codebase_chunks.json"))?;
    let questions: Vec<CodeQuestion> = lines(&folder.join("codebase_questions.jsonl"))?;
    let id = |document: &str, index: usize| format!("{document}:{index}");
    let mut files = Files::new();
    let mut passages = Vec::new();
    for document in documents {
        let name = document.original_uuid;
        let file = format!("{name}.{}", extension(&document.content));
        let mut start = 0;
        for chunk in document.chunks {
            let range = start..start + chunk.content.chars().count();
            start = range.end;
            passages.push(Passage {
                id: id(&name, chunk.original_index),
                document: name.clone(),
                text: chunk.content,
                file: file.clone(),
                range,
            });
        }
        files.insert(file, document.content);
    }
    let questions = questions.iter().map(|question| Question {
        text: question.query.clone(),
        golden: Golden::Passages(
            question
                .golden_chunk_uuids
                .iter()
                .map(|(document, index)| id(document, *index))
                .collect(),
        ),
    });
    Ok(Set {
        name: "codebase",
        passages,
        questions: questions.collect(),
        budgets: [1_000, 2_000, 4_000, 8_000],
        files,
    })
}

/// The file extension for a text: its language is recognised by how its lines begin.
fn extension(text: &str) -> &'static str {
    let begins = |words: &[&str]| {
        text.lines()
            .any(|line| words.iter().any(|it| line.starts_with(it)))
    };
    let is_package = |line: &str| line.starts_with("package ") && line.trim_end().ends_with(';');
    if begins(&["#include", "#define", "#ifndef"]) {
        "cpp"
    } else if text.lines().any(is_package) {
        "java"
    } else if begins(&["use ", "pub ", "fn ", "impl ", "mod "]) {
        "rs"
    } else if begins(&["import ", "from ", "def ", "class "]) {
        "py"
    } else {
        "txt"
    }
}

#[derive(Deserialize)]
struct DocsPassage {
    chunk_link: String,
    text: String,
}

#[derive(Deserialize)]
struct DocsQuestion {
    question: String,
    correct_chunks: Vec<String>,
}

/// Each page becomes a file of its passages; their first lines, which are headings, are marked as
/// such.
fn docs(folder: &Path) -> Result<Set> {
    const HEADING: &str = "## ";
    let given: Vec<DocsPassage> = json(&folder.join("docs.json"))?;
    let questions: Vec<DocsQuestion> = lines(&folder.join("docs_questions.jsonl"))?;
    let mut files = Files::new();
    let mut passages = Vec::new();
    for passage in given {
        let document = page(&passage.chunk_link).to_owned();
        let place = document.split_once("://").map_or(&*document, |(_, it)| it);
        let file = format!("{place}.md");
        let text = files.entry(file.clone()).or_default();
        text.push_str(HEADING);
        let start = text.chars().count();
        text.push_str(&passage.text);
        let range = start..text.chars().count();
        text.push_str("\n\n");
        passages.push(Passage {
            id: passage.chunk_link,
            document,
            text: passage.text,
            file,
            range,
        });
    }
    let questions = questions.into_iter().map(|question| Question {
        text: question.question,
        golden: Golden::Passages(question.correct_chunks),
    });
    Ok(Set {
        name: "docs",
        passages,
        questions: questions.collect(),
        budgets: [1_000, 2_000, 4_000, 8_000],
        files,
    })
}

/// The page of a link, without its fragment.
fn page(link: &str) -> &str {
    link.split('#').next().unwrap_or(link)
}

#[derive(Deserialize)]
struct ChromaQuestion {
    question: String,
    corpus: String,
    references: Vec<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    start_index: usize,
    end_index: usize,
}

fn chroma(folder: &Path) -> Result<Set> {
    let questions: Vec<ChromaQuestion> = lines(&folder.join("chroma_questions.jsonl"))?;
    let mut names: Vec<String> = questions.iter().map(|it| it.corpus.clone()).collect();
    names.sort_unstable();
    names.dedup();
    let mut files = Files::new();
    let mut passages = Vec::new();
    for name in names {
        let path = folder.join("corpora").join(format!("{name}.md"));
        let text = fs::read_to_string(&path).with_context(|| failed(&path))?;
        passages.extend(pieces(&name, &text));
        files.insert(format!("{name}.md"), text);
    }
    let questions = questions.into_iter().map(|question| Question {
        text: question.question,
        golden: Golden::Spans(
            question.corpus,
            question
                .references
                .into_iter()
                .map(|it| it.start_index..it.end_index)
                .collect(),
        ),
    });
    Ok(Set {
        name: "chroma",
        passages,
        questions: questions.collect(),
        budgets: [500, 1_000, 2_000, 4_000],
        files,
    })
}

/// The most characters of a piece of a corpus, about 200 tokens: paragraphs are combined up to this
/// length, and longer ones are cut after a sentence.
const PIECE: usize = 800;

/// Cuts `text` into consecutive pieces without gaps.
fn pieces(document: &str, text: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut piece = String::new();
    let (mut start, mut length) = (0, 0);
    let mut close = |piece: &mut String, start: &mut usize, length: &mut usize| {
        if *length > 0 {
            passages.push(Passage {
                id: format!("{document}:{start}"),
                document: document.to_owned(),
                file: format!("{document}.md"),
                text: std::mem::take(piece),
                range: *start..*start + *length,
            });
        }
        *start += *length;
        *length = 0;
    };
    for sentence in text.split_inclusive(['\n', '.', '!', '?']) {
        let characters = sentence.chars().count();
        if length + characters > PIECE {
            close(&mut piece, &mut start, &mut length);
        }
        piece.push_str(sentence);
        length += characters;
    }
    close(&mut piece, &mut start, &mut length);
    passages
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| failed(path))?;
    serde_json::from_str(&text).with_context(|| failed(path))
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| failed(path))?;
    let values: Result<Vec<T>, _> = text.lines().map(serde_json::from_str).collect();
    let values = values.with_context(|| failed(path))?;
    ensure!(!values.is_empty(), "{} is empty", path.display());
    Ok(values)
}

fn failed(path: &Path) -> String {
    format!("failed to read {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_marked_and_no_place_moves() {
        for (line, expected) in [
            (" = Title = \n", "#  Title = \n"),
            (" = = Part = = \n", "##   Part = = \n"),
            (" a = b\n", " a = b\n"),
            ("= a\n", "= a\n"),
            ("\n", "\n"),
            ("", ""),
        ] {
            assert_eq!(marked(line), expected);
            assert_eq!(expected.len(), line.len());
        }
    }

    #[test]
    fn files_with_answers_are_called_like_all_others() {
        let folder = tempfile::tempdir().unwrap();
        let document = |id: &str, text: &str| {
            let chunks = serde_json::json!([{"original_index": 0, "content": text}]);
            serde_json::json!({"original_uuid": id, "content": text, "chunks": chunks})
        };
        let documents = serde_json::json!([
            document("1", "pub fn flush() {}\n"),
            document("2", "package a.b;\n\npublic interface Flush {}\n"),
        ]);
        let question = serde_json::json!({
            "query": "what flushes?",
            "golden_chunk_uuids": [["1", 0]],
            "meta": {"relative_path": "/src/flush.rs"},
        });
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        write("codebase_chunks.json", documents.to_string());
        write("codebase_questions.jsonl", format!("{question}\n"));
        let set = codebase(folder.path()).unwrap();
        assert_eq!(set.files.keys().collect::<Vec<_>>(), ["1.rs", "2.java"]);
        assert_eq!(set.passages[0].file, "1.rs");
    }

    #[test]
    fn pieces_are_the_whole() {
        let text = "One sentence. Another one!\n".repeat(200) + &"é".repeat(2000);
        let pieces = pieces("d", &text);
        let whole: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(whole, text);
        let mut next = 0;
        for piece in &pieces {
            assert_eq!(piece.range.start, next);
            assert_eq!(piece.range.len(), piece.text.chars().count());
            next = piece.range.end;
        }
        assert_eq!(
            pieces
                .iter()
                .filter(|piece| piece.range.len() > PIECE)
                .count(),
            1
        );
    }
}
