//! The three sets of passages and questions, as they lie beside a checkout.

use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Passages, and questions whose answers are in some of them.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: &'static str,
    pub(super) passages: Vec<Passage>,
    pub(super) questions: Vec<Question>,
    /// Tokens of each budget that is tried.
    pub(super) budgets: [u32; 4],
}

/// A text that may be chosen.
#[derive(Debug)]
pub(super) struct Passage {
    pub(super) id: String,
    /// The document it is from.
    pub(super) document: String,
    pub(super) text: String,
    /// Where it lies in its document, in characters.
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

/// All three, from the folder that holds them.
pub(super) fn load(folder: &Path) -> Result<Vec<Set>> {
    Ok(vec![codebase(folder)?, docs(folder)?, chroma(folder)?])
}

#[derive(Deserialize)]
struct CodeDocument {
    original_uuid: String,
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

fn codebase(folder: &Path) -> Result<Set> {
    let documents: Vec<CodeDocument> = json(&folder.join("codebase_chunks.json"))?;
    let id = |document: &str, index: usize| format!("{document}:{index}");
    let passages = documents.into_iter().flat_map(|document| {
        let name = document.original_uuid;
        document.chunks.into_iter().map(move |chunk| Passage {
            id: id(&name, chunk.original_index),
            document: name.clone(),
            range: 0..chunk.content.chars().count(),
            text: chunk.content,
        })
    });
    let questions: Vec<CodeQuestion> = lines(&folder.join("codebase_questions.jsonl"))?;
    let questions = questions.into_iter().map(|question| Question {
        text: question.query,
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
        passages: passages.collect(),
        questions: questions.collect(),
        budgets: [1_000, 2_000, 4_000, 8_000],
    })
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

fn docs(folder: &Path) -> Result<Set> {
    let passages: Vec<DocsPassage> = json(&folder.join("docs.json"))?;
    let questions: Vec<DocsQuestion> = lines(&folder.join("docs_questions.jsonl"))?;
    let passages = passages.into_iter().map(|passage| Passage {
        document: page(&passage.chunk_link).to_owned(),
        id: passage.chunk_link,
        range: 0..passage.text.chars().count(),
        text: passage.text,
    });
    let questions = questions.into_iter().map(|question| Question {
        text: question.question,
        golden: Golden::Passages(question.correct_chunks),
    });
    Ok(Set {
        name: "docs",
        passages: passages.collect(),
        questions: questions.collect(),
        budgets: [1_000, 2_000, 4_000, 8_000],
    })
}

/// The page a link leads to, without the place on it.
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
    let mut passages = Vec::new();
    for name in names {
        let path = folder.join("corpora").join(format!("{name}.md"));
        let text = fs::read_to_string(&path).with_context(|| failed(&path))?;
        passages.extend(pieces(&name, &text));
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
    })
}

/// How long a piece of a corpus is: paragraphs are put together up to so many characters, and cut
/// after a sentence where they are longer. About 200 tokens.
const PIECE: usize = 800;

/// Cuts `text` into pieces that together are the whole of it.
fn pieces(document: &str, text: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut piece = String::new();
    let (mut start, mut length) = (0, 0);
    let mut close = |piece: &mut String, start: &mut usize, length: &mut usize| {
        if *length > 0 {
            passages.push(Passage {
                id: format!("{document}:{start}"),
                document: document.to_owned(),
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
