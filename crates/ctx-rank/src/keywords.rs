//! The words of a question as they were written, and which of them a text has: those that a search
//! would find it by.

use std::collections::BTreeSet;

use ctx_model::Chunk;

use crate::{Analyzer, Bag, Part, Query};

/// Words, each with the terms that it is searched by, which all have to be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keywords(Vec<Keyword>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Keyword {
    written: String,
    terms: Vec<String>,
}

impl Keywords {
    /// The words of `query` that say most of what it is about: its names and its first `terms`
    /// terms, in the order in which they are first written. O(bytes of the question).
    pub fn of(query: &Query, terms: usize) -> Self {
        let mut analyzer = Analyzer::default();
        let names = query
            .names_outside_code()
            .flat_map(|it| whole(&it.last, &mut analyzer));
        let mut told: BTreeSet<String> = names.map(|(term, _)| term).collect();
        let terms = query.terms.iter().take(terms);
        told.extend(terms.map(|it| it.text.clone()));
        let words = whole(&query.text, &mut analyzer).into_iter();
        let words = words.filter(|(term, word)| word.len() > 2 && told.remove(term));
        let words = words.map(|(term, word)| Keyword {
            written: word.to_owned(),
            terms: vec![term],
        });
        Keywords(words.collect())
    }

    /// Those that a caller gave, as they are.
    pub fn given(words: &[String]) -> Self {
        let mut analyzer = Analyzer::default();
        let given = words.iter().map(|word| Keyword {
            written: word.clone(),
            terms: whole(word, &mut analyzer)
                .into_iter()
                .map(|it| it.0)
                .collect(),
        });
        Keywords(given.collect())
    }

    /// Those that `chunk` has in its path, its names or its [text](Chunk::full_text), of which
    /// `text` is the bag. O(bytes of the names × words + words × log terms of the text).
    pub fn of_chunk(&self, chunk: &Chunk, text: &Bag, analyzer: &mut Analyzer) -> Vec<String> {
        let all = self.0.iter().flat_map(|it| &it.terms);
        let is_in_text = |it: &&String| text.find(it).is_some();
        let mut there: BTreeSet<&str> = all.clone().filter(is_in_text).map(|it| &**it).collect();
        for name in chunk_names(chunk) {
            analyzer.words(name, &mut |term, _, _| {
                there.extend(all.clone().find(|it| *it == term).map(|it| &**it));
            });
        }
        let is_there = |it: &&Keyword| {
            let mut terms = it.terms.iter();
            !it.terms.is_empty() && terms.all(|it| there.contains(it.as_str()))
        };
        let found = self.0.iter().filter(is_there);
        found.map(|it| it.written.clone()).collect()
    }
}

/// The names of a part of a file: its path and its own names. Empty if it is not of a file.
pub fn chunk_names(chunk: &Chunk) -> impl Iterator<Item = &str> {
    let names = [&chunk.path, &chunk.name, &chunk.qualified_name];
    let names = names.into_iter().filter(|_| chunk.path.is_some());
    names.flatten().map(String::as_str)
}

/// The words of `text`, each with the term of all of it: none of the parts of an identifier or of a
/// version, and no compounds, whose words count for themselves.
fn whole<'t>(text: &'t str, analyzer: &mut Analyzer) -> Vec<(String, &'t str)> {
    let (mut words, mut end) = (Vec::new(), 0);
    analyzer.words(text, &mut |term, part, range| {
        let is_whole = !matches!(part, Part::SubWord | Part::Compound);
        if is_whole && range.start >= end {
            words.push((term.to_owned(), &text[range.clone()]));
            end = range.end;
        }
    });
    words
}

#[cfg(test)]
mod tests {
    use ctx_model::Relevance;

    use super::*;

    /// Those of `keywords` that a text has.
    fn within(keywords: &Keywords, text: &str) -> Vec<String> {
        of_chunk(keywords, &Chunk::new("a", text, Relevance::ZERO))
    }

    fn of_chunk(keywords: &Keywords, chunk: &Chunk) -> Vec<String> {
        let text = Bag::of(chunk.full_text());
        keywords.of_chunk(chunk, &text, &mut Analyzer::default())
    }

    #[track_caller]
    fn matched(question: &str, text: &str, wanted: &[&str]) {
        let keywords = Keywords::of(&Query::analyse(question), 12);
        assert_eq!(within(&keywords, text), wanted);
    }

    #[test]
    fn words_are_told_as_they_are_written_and_found_as_they_are_searched() {
        matched(
            "gizmo test happiness policies stories applying",
            "The latest gizmo makes us happy; every policy and story applies to it.",
            &["gizmo", "happiness", "policies", "stories", "applying"],
        );
        matched(
            "How are the Connections tested and closed by the returned responses?",
            "fn close(connection: &Connection) { test(connection.response) }",
            &["Connections", "tested", "closed", "responses"],
        );
        matched("latest", "a test", &[]);
        matched("What does that do?", "What does that do?", &[]);
    }

    #[test]
    fn an_identifier_is_told_whole_and_a_word_is_found_in_one() {
        matched(
            "where is parse_budget?",
            "fn parseBudget() {}",
            &["parse_budget"],
        );
        matched("where is parse_budget?", "the budget is small", &[]);
        matched("budgets", "fn parse_budget() {}", &["budgets"]);
        matched("What came in v8.2.1?", "8.2.1: it works", &["v8.2.1"]);
    }

    #[test]
    fn a_part_has_the_words_of_its_path_and_of_its_names() {
        let keywords = Keywords::of(&Query::analyse("Summarise README.md for save_session"), 12);
        let mut chunk = Chunk::new("a", "It summarises flask.", Relevance::ZERO);
        let matched = |chunk: &Chunk| of_chunk(&keywords, chunk);
        assert_eq!(matched(&chunk), ["Summarise"]);
        chunk.name = Some("save_session".to_owned());
        assert_eq!(matched(&chunk), ["Summarise"], "it is of no file");
        chunk.path = Some("docs/README.md".to_owned());
        let all = matched(&chunk);
        assert!(all.contains(&"README".to_owned()), "{all:?}");
        assert!(all.contains(&"save_session".to_owned()), "{all:?}");
    }

    #[test]
    fn keywords_of_the_caller_are_returned_as_they_are() {
        let given = ["Two words".to_owned(), "other".to_owned(), String::new()];
        let given = Keywords::given(&given);
        assert_eq!(within(&given, "a word, or two"), ["Two words"]);
        assert_eq!(within(&given, "a word"), Vec::<String>::new());
    }
}
