//! Snippets: the lines of a text that answer a question best.

use std::ops::Range;

use rapidhash::RapidHashMap;

use crate::query::Query;
use crate::sentences::rarity;
use crate::words::Analyzer;

/// The most bytes of a snippet.
pub const LONGEST_SNIPPET: usize = 240;
/// The most bytes of the pieces into which longer lines are cut, so that two pieces fit into a
/// snippet.
const PIECE: usize = LONGEST_SNIPPET / 2;
/// The most phrases that are searched, the first ones.
const PHRASES: usize = 16;
/// The most terms of a phrase; a longer one does not fit into two lines.
const LONG: usize = 64;
/// A typed question with fewer words is not searched as a phrase.
const FEW_WORDS: usize = 3;
/// The weight of a phrase: as much as the heaviest term can have.
const PHRASE: f64 = 2.0;

/// The part of a text that answers a question best: a line, or two consecutive ones.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snippet {
    /// The text without control characters, with one blank for any run of white space. At most
    /// [`LONGEST_SNIPPET`] bytes.
    pub text: String,
    /// The index of the line on which it begins, from 0.
    pub line_index: usize,
    /// The byte ranges in `text` of words with a term of the question, ascending and disjoint.
    pub matches: Vec<Range<usize>>,
}

/// Finds snippets for one question in any number of texts.
#[derive(Clone, Debug)]
pub struct Snippets {
    analyzer: Analyzer,
    /// Numbers of terms: first those of the question, at most 128, then others in its phrases.
    numbers: RapidHashMap<String, usize>,
    weights: Vec<f64>,
    phrases: Vec<Phrase>,
}

/// A line, or a piece of a long one.
struct Segment {
    bytes: Range<usize>,
    line: usize,
    found: Found,
    /// Phrases that begin in the previous segment and end in this one.
    across: u128,
}

/// Sets of terms and of phrases, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Found {
    terms: u128,
    phrases: u128,
}

impl Found {
    fn with(self, other: Found) -> Found {
        Found {
            terms: self.terms | other.terms,
            phrases: self.phrases | other.phrases,
        }
    }
}

impl Snippets {
    /// Prepares the search for `query`: its weighted terms, and its phrases; a
    /// [typed](Query::typed) question is a phrase as a whole.
    pub fn new(query: &Query) -> Self {
        let mut analyzer = Analyzer::default();
        let mut numbers = RapidHashMap::default();
        for term in &query.terms {
            let next = numbers.len();
            numbers.entry(term.text.clone()).or_insert(next);
        }
        let typed = (query.words().count() >= FEW_WORDS).then_some(query.typed.as_ref());
        let phrases = query
            .mentions
            .phrases
            .iter()
            .chain(typed.flatten())
            .take(PHRASES);
        let mut number = |text: String| {
            let next = numbers.len();
            *numbers.entry(text).or_insert(next)
        };
        let mut numbered = |text: &String| -> Vec<usize> {
            analyzer.terms(text).into_iter().map(&mut number).collect()
        };
        let phrases: Vec<Vec<usize>> = phrases.map(&mut numbered).collect();
        Snippets {
            analyzer,
            weights: query.terms.iter().map(|it| it.weight).collect(),
            phrases: phrases.into_iter().filter_map(Phrase::new).collect(),
            numbers,
        }
    }

    /// The line, or the two consecutive lines, of `text` that answer the question best: each
    /// distinct term counts by its weight and its rarity among the matching lines of `text`, and so
    /// do phrases. Ties go to the shorter one, then to the first. A line longer than a snippet is
    /// cut into pieces. `None` if `text` has no term of the question. O(bytes), and O(lines)
    /// memory.
    pub fn of(&mut self, text: &str) -> Option<Snippet> {
        let segments = self.segments(text);
        let worth = self.worth(&segments);
        let mut best: Option<(f64, Range<usize>)> = None;
        let mut offer = |found: Found, window: Range<usize>| {
            // A phrase of stop words says nothing without a term.
            if found.terms == 0 {
                return;
            }
            let score = worth.of(found);
            let is_better = best.as_ref().map_or(score > 0.0, |(most, known)| {
                score > *most || score >= *most && window.len() < known.len()
            });
            if is_better {
                best = Some((score, window));
            }
        };
        for (at, segment) in segments.iter().enumerate() {
            offer(segment.found, at..at + 1);
            let next = segments.get(at + 1);
            if let Some(next) = next.filter(|it| segment.is_before(it)) {
                let mut both = segment.found.with(next.found);
                both.phrases |= next.across;
                offer(both, at..at + 2);
            }
        }
        let (_, window) = best?;
        Some(self.cut(text, &segments[window]))
    }

    /// The segments of `text` that have a term or a phrase of the question.
    fn segments(&mut self, text: &str) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        let mut phrases: Vec<usize> = vec![0; self.phrases.len()];
        // The number of tokens so far, and the number of the first token of the segment; below also
        // that of the previous one.
        let (mut token, mut first) = (0, 0);
        for (line, bytes) in pieces(text) {
            let before = std::mem::replace(&mut first, token);
            let mut segment = Segment {
                bytes: bytes.clone(),
                line,
                found: Found::default(),
                across: 0,
            };
            let (numbers, terms) = (&self.numbers, self.weights.len());
            let all = &self.phrases;
            self.analyzer.words(&text[bytes], &mut |term, _, _| {
                let number = numbers.get(term).copied();
                if let Some(number) = number.filter(|it| *it < terms) {
                    segment.found.terms |= bit(number);
                }
                token += 1;
                for (at, (phrase, so_far)) in all.iter().zip(&mut phrases).enumerate() {
                    if !phrase.goes_on(so_far, number) {
                        continue;
                    }
                    let begins = token - phrase.terms.len();
                    if begins >= first {
                        segment.found.phrases |= bit(at);
                    } else if begins >= before {
                        segment.across |= bit(at);
                    }
                }
            });
            if segment.found != Found::default() || segment.across != 0 {
                segments.push(segment);
            }
        }
        segments
    }

    fn worth(&self, segments: &[Segment]) -> Worth {
        let count = |is_in: &dyn Fn(&Segment) -> bool| {
            let with = segments.iter().filter(|it| is_in(it)).count();
            rarity(segments.len(), with)
        };
        let terms = self.weights.iter().enumerate();
        let terms = terms.map(|(at, weight)| weight * count(&|it| it.found.terms & bit(at) != 0));
        let phrases = 0..self.phrases.len();
        let phrases =
            phrases.map(|at| PHRASE * count(&|it| (it.found.phrases | it.across) & bit(at) != 0));
        Worth {
            terms: terms.collect(),
            phrases: phrases.collect(),
        }
    }

    /// The snippet for `window`.
    fn cut(&mut self, text: &str, window: &[Segment]) -> Snippet {
        let mut matches: Vec<Range<usize>> = Vec::new();
        let (numbers, terms) = (&self.numbers, self.weights.len());
        for segment in window {
            let start = segment.bytes.start;
            let words = &text[segment.bytes.clone()];
            self.analyzer.words(words, &mut |term, _, bytes| {
                if numbers.get(term).is_none_or(|&number| number >= terms) {
                    return;
                }
                let bytes = start + bytes.start..start + bytes.end;
                match matches.last_mut() {
                    // All terms of an identifier have the same bytes, and pairs of characters
                    // overlap.
                    Some(last) if bytes.start < last.end => last.end = last.end.max(bytes.end),
                    _ => matches.push(bytes),
                }
            });
        }
        let start = window.first().map_or(0, |it| it.bytes.start);
        let end = window.last().map_or(0, |it| it.bytes.end);
        let text = plain(text, start..end, &mut matches);
        Snippet {
            text,
            line_index: window.first().map_or(0, |it| it.line),
            matches,
        }
    }
}

impl Segment {
    /// Whether `next` follows this segment, and both fit into a snippet.
    fn is_before(&self, next: &Segment) -> bool {
        let follows = next.line == self.line && next.bytes.start == self.bytes.end
            || next.line == self.line + 1;
        follows && next.bytes.end - self.bytes.start <= LONGEST_SNIPPET
    }
}

/// The value of each term and each phrase in one text.
struct Worth {
    terms: Vec<f64>,
    phrases: Vec<f64>,
}

impl Worth {
    /// The value of what was found, summed in a fixed order, so that ties are exact.
    fn of(&self, found: Found) -> f64 {
        let sum = |worth: &[f64], bits: u128| -> f64 {
            let worth = worth.iter().enumerate();
            let has_it = worth.filter(|(at, _)| bits & bit(*at) != 0);
            has_it.map(|(_, worth)| worth).sum()
        };
        sum(&self.terms, found.terms) + sum(&self.phrases, found.phrases)
    }
}

/// The bit with number `at`; 0 for numbers of 128 and more.
fn bit(at: usize) -> u128 {
    u32::try_from(at).map_or(0, |at| 1_u128.checked_shl(at).unwrap_or(0))
}

/// The lines of `text` without white space around them, long ones in pieces, each with the index of
/// its line.
fn pieces(text: &str) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut start = 0;
    let lines = text.split('\n').map(move |line| {
        let begins = start;
        start += line.len() + 1;
        let trimmed = line.trim_start();
        let from = begins + line.len() - trimmed.len();
        from..from + trimmed.trim_end().len()
    });
    lines.enumerate().flat_map(move |(number, line)| {
        let is_long = line.len() > LONGEST_SNIPPET;
        let mut at = line.start;
        std::iter::from_fn(move || {
            let begins = at;
            at = if is_long {
                end_of_piece(text, begins..line.end)
            } else {
                line.end
            };
            (begins < at).then_some((number, begins..at))
        })
    })
}

/// Where the first piece of `line` ends: after a word, unless a word is longer than half a piece.
fn end_of_piece(text: &str, line: Range<usize>) -> usize {
    let rest = &text[line.clone()];
    if rest.len() <= PIECE {
        return line.end;
    }
    let end = rest.floor_char_boundary(PIECE);
    let is_between = |it: char| !it.is_alphanumeric() && it != '_';
    let between = rest[..end].rfind(is_between).filter(|&it| it > PIECE / 2);
    line.start + between.unwrap_or(end)
}

/// `bytes` of `text` as plain text; `places` in `text`, ascending, are converted to places in the
/// result.
fn plain(text: &str, bytes: Range<usize>, places: &mut [Range<usize>]) -> String {
    let mut plain = String::with_capacity(bytes.len());
    let mut is_apart = false;
    let mut ends = places
        .iter_mut()
        .flat_map(|it| [&mut it.start, &mut it.end]);
    let mut next = ends.next();
    let mut note = |at: usize, length: usize| {
        while let Some(end) = next.take_if(|it| **it <= at) {
            *end = length;
            next = ends.next();
        }
    };
    for (at, c) in text[bytes.clone()].char_indices() {
        if c.is_whitespace() {
            // A word that ended before the blank ends before it in the result, too.
            note(bytes.start + at, plain.len());
            is_apart = !plain.is_empty();
        } else if !c.is_control() {
            if std::mem::take(&mut is_apart) {
                plain.push(' ');
            }
            note(bytes.start + at, plain.len());
            plain.push(c);
        }
    }
    note(bytes.end, plain.len());
    plain
}

/// A sequence of terms, searched by the Knuth-Morris-Pratt algorithm.
#[derive(Clone, Debug)]
struct Phrase {
    terms: Vec<usize>,
    /// For each prefix of the terms, the length of its longest proper prefix that is also its
    /// suffix.
    borders: Vec<usize>,
}

impl Phrase {
    /// Returns `None` for a single term, and for too many.
    fn new(terms: Vec<usize>) -> Option<Phrase> {
        if !(2..=LONG).contains(&terms.len()) {
            return None;
        }
        let mut borders = vec![0];
        let mut length = 0;
        for &term in &terms[1..] {
            while length > 0 && terms[length] != term {
                length = borders[length - 1];
            }
            length += usize::from(terms[length] == term);
            borders.push(length);
        }
        Some(Phrase { terms, borders })
    }

    /// Whether the phrase ends with `term`, if `so_far` of its terms were matched before it.
    fn goes_on(&self, so_far: &mut usize, term: Option<usize>) -> bool {
        let Some(term) = term else {
            *so_far = 0;
            return false;
        };
        while *so_far > 0 && self.terms[*so_far] != term {
            *so_far = self.borders[*so_far - 1];
        }
        *so_far += usize::from(self.terms[*so_far] == term);
        if *so_far < self.terms.len() {
            return false;
        }
        *so_far = self.borders[*so_far - 1];
        true
    }
}
