//! Splits text into terms, in the same way for documents and questions.

use std::borrow::Cow;
use std::ops::Range;

use frostem::{Algorithm, Stemmer};
use rapidhash::RapidHashMap;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::compounds::{compound_at, push_term};
use crate::versions::{Version, version_at};

/// The most bytes of a term; longer words are encoded data.
pub const MAX_TERM_BYTES: usize = 64;

/// How a term relates to the word it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A word without parts: `parser`.
    Word,
    /// A part of an identifier: `http` of `parseHTTPHeader`.
    SubWord,
    /// An identifier with parts as a whole, without underscores: `parsehttpheader`.
    Identifier,
    /// Words with hyphens between them, without these: `maxretries` of `max-retries`.
    Compound,
    /// Numbers with dots between them, or the leading ones: `8.2.1` and `8.2`.
    Version,
}

/// The most stems that are remembered, some 100 bytes each.
const STEMS: usize = 1 << 16;
/// The most bytes of identifiers that are remembered, with their terms.
const IDENTIFIERS: usize = 8 << 20;
/// The memory of an identifier beyond its text and its terms, in bytes.
const OF_EACH: usize = 64;

/// Splits texts into terms. Remembers identifiers it has met and the stems of words, up to some 15
/// megabytes: reuse it.
#[derive(Clone, Debug, Default)]
pub struct Analyzer {
    words: Words,
    known: Known,
}

impl Analyzer {
    /// Calls `note` with each term of `text`, in order: words in lower case and reduced to their
    /// English stem; identifiers whole and in parts, cut at underscores, at changes of case and
    /// between letters and digits (`HTTPServer2` is `http`, `server`, `2` and `httpserver2`);
    /// compounds whole, as identifiers are (`max-retries` is `maxretries`), and then their words;
    /// versions whole, without a leading `v`, then their prefixes that are versions, and then their
    /// parts (`v8.2.1-rc.1` is `8.2.1rc1`, `8.2.1`, `8.2` and its words and numbers); and pairs of
    /// characters for scripts without spaces, at which an identifier ends. Terms are composed
    /// (NFC): a letter and its accent are the same as the letter with the accent. O(bytes).
    pub fn words(&mut self, text: &str, note: &mut impl FnMut(&str, Part, Range<usize>)) {
        let mut at = 0;
        while let Some(end) = self.first_words(text, at, note) {
            at = end;
        }
    }

    /// Like [`Analyzer::words`], for the first run of letters, digits and underscores at or after
    /// byte `at`, and a version that begins with it. Returns the end of the run; `None` if there is
    /// none, or `at` is within a character. O(bytes up to its end).
    pub fn first_words(
        &mut self,
        text: &str,
        at: usize,
        note: &mut impl FnMut(&str, Part, Range<usize>),
    ) -> Option<usize> {
        let bytes = first_run(text, at)?;
        let end = bytes.end;
        let run = text.get(bytes.clone())?;
        if let Some(version) = version_at(text, &bytes) {
            version.note(note);
        } else if let Some(end) = compound_at(text, &bytes) {
            self.words
                .compound(bytes.start, &text[bytes.start..end], note);
        }
        if run.is_ascii() && run.len() <= MAX_TERM_BYTES {
            self.known.terms(run, &mut self.words, &mut |term, part| {
                note(term, part, bytes.clone());
            });
        } else {
            self.words.run(bytes, run, note);
        }
        Some(end)
    }

    /// The terms of `text`, with repetitions.
    pub fn terms(&mut self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.words(text, &mut |term, _, _| terms.push(term.to_owned()));
        terms
    }
}

/// Identifiers that were met, with their terms.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The range in `terms` that belongs to each identifier.
    places: RapidHashMap<Box<str>, Range<usize>>,
    /// Where each term ends in `text`; it begins where the previous one ends.
    terms: Vec<(usize, Part)>,
    text: String,
    /// About how many bytes it takes.
    held: usize,
}

impl Known {
    fn terms(&mut self, run: &str, words: &mut Words, note: &mut impl FnMut(&str, Part)) {
        let place = match self.places.get(run) {
            Some(place) => place.clone(),
            None => self.learn(run, words),
        };
        let before = place.start.checked_sub(1);
        let mut start = before.map_or(0, |before| self.terms[before].0);
        for &(end, part) in &self.terms[place] {
            note(&self.text[start..end], part);
            start = end;
        }
    }

    fn learn(&mut self, run: &str, words: &mut Words) -> Range<usize> {
        if self.held >= IDENTIFIERS {
            *self = Known::default();
        }
        let first = self.terms.len();
        words.identifier(run, &mut |term, part| {
            self.text.push_str(term);
            self.terms.push((self.text.len(), part));
        });
        let place = first..self.terms.len();
        self.held += OF_EACH + 2 * run.len() + size_of_val(&self.terms[place.clone()]);
        self.places.insert(run.into(), place.clone());
        place
    }
}

/// Splits words into terms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    stemmer: English,
    stems: RapidHashMap<Box<str>, Box<str>>,
    lower: String,
}

#[derive(Clone)]
struct English(Stemmer);

impl Default for English {
    fn default() -> Self {
        English(Stemmer::new(Algorithm::English))
    }
}

impl std::fmt::Debug for English {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("English")
    }
}

impl Words {
    /// The terms of a run of letters, digits and underscores, of a version or of a compound, as
    /// returned by [`runs`]; `bytes` is its range in the text.
    pub(crate) fn run(
        &mut self,
        bytes: Range<usize>,
        run: &str,
        note: &mut impl FnMut(&str, Part, Range<usize>),
    ) {
        if let Some(dot) = run.find('.') {
            let version = version_at(run, &(0..dot));
            let start = bytes.start;
            let mut moved = |term: &str, part: Part, its: Range<usize>| {
                note(term, part, start + its.start..start + its.end);
            };
            if let Some(version) = version {
                version.note(&mut moved);
            }
        } else if run.contains('-') {
            self.compound(bytes.start, run, note);
        } else if run.is_ascii() {
            self.identifier(run, &mut |term, part| note(term, part, bytes.clone()));
        } else if is_nfc_quick(run.chars()) == IsNormalized::Yes {
            self.foreign(bytes.start, run, note);
        } else {
            let composed = Composed::of(run);
            self.foreign(0, &composed.text, &mut |term, part, its| {
                let its = composed.place(its);
                note(term, part, bytes.start + its.start..bytes.start + its.end);
            });
        }
    }

    /// Gives the term of a compound that begins at `at`.
    fn compound(
        &mut self,
        at: usize,
        compound: &str,
        note: &mut impl FnMut(&str, Part, Range<usize>),
    ) {
        self.lower.clear();
        push_term(compound, &mut self.lower);
        note(&self.lower, Part::Compound, at..at + compound.len());
    }

    fn identifier(&mut self, run: &str, note: &mut impl FnMut(&str, Part)) {
        let mut parts = sub_words(run);
        let Some(first) = parts.next() else {
            return;
        };
        let Some(second) = parts.next() else {
            self.word(first, Part::Word, note);
            return;
        };
        for part in [first, second].into_iter().chain(parts) {
            self.word(part, Part::SubWord, note);
        }
        self.lower.clear();
        let whole = run.bytes().filter(|&byte| byte != b'_');
        self.lower
            .extend(whole.map(|byte| char::from(byte.to_ascii_lowercase())));
        if self.lower.len() <= MAX_TERM_BYTES {
            note(&self.lower, Part::Identifier);
        }
    }

    fn word(&mut self, word: &str, part: Part, note: &mut impl FnMut(&str, Part)) {
        if word.len() > MAX_TERM_BYTES {
            return;
        }
        self.lower.clear();
        self.lower.extend(word.chars().flat_map(char::to_lowercase));
        // Stems of words with three letters would be accidental.
        if self.lower.len() < 4 || self.lower.bytes().any(|byte| byte.is_ascii_digit()) {
            note(&self.lower, part);
        } else {
            note(self.stem(), part);
        }
    }

    fn stem(&mut self) -> &str {
        if self.stems.len() >= STEMS && !self.stems.contains_key(self.lower.as_str()) {
            self.stems.clear();
        }
        if !self.stems.contains_key(self.lower.as_str()) {
            let stem = self.stemmer.0.stem(&self.lower).into();
            self.stems.insert(self.lower.as_str().into(), stem);
        }
        &self.stems[self.lower.as_str()]
    }

    /// A run that is not all ASCII: gives pairs in scripts without spaces, the terms of identifiers
    /// in ASCII parts, and words by Unicode boundaries in the rest.
    fn foreign(&mut self, at: usize, run: &str, note: &mut impl FnMut(&str, Part, Range<usize>)) {
        let mut start = 0;
        while start < run.len() {
            let (length, is_unspaced) = first_script(&run[start..]);
            let bytes = start..start + length;
            let text = &run[bytes.clone()];
            let place = at + bytes.start..at + bytes.end;
            start = bytes.end;
            if is_unspaced {
                pairs(at, run, bytes, note);
            } else if text.is_ascii() {
                self.identifier(text, &mut |term, part| note(term, part, place.clone()));
            } else {
                for (offset, word) in text.unicode_word_indices() {
                    let begin = place.start + offset;
                    self.word(word, Part::Word, &mut |term, part| {
                        note(term, part, begin..begin + word.len());
                    });
                }
            }
        }
    }
}

/// A text in NFC, with what each of its characters was before.
struct Composed {
    text: String,
    /// Where each grapheme cluster begins in `text`, and where it did before; and the ends.
    starts: Vec<(usize, usize)>,
}

impl Composed {
    /// Composes `text` by its grapheme clusters, which composition does not cross. O(bytes).
    fn of(text: &str) -> Self {
        let mut composed = Composed {
            text: String::with_capacity(text.len()),
            starts: Vec::new(),
        };
        for (at, cluster) in text.grapheme_indices(true) {
            composed.starts.push((composed.text.len(), at));
            composed.text.extend(cluster.nfc());
        }
        composed.starts.push((composed.text.len(), text.len()));
        composed
    }

    /// The clusters before composition that have any of `bytes`.
    fn place(&self, bytes: Range<usize>) -> Range<usize> {
        let first = self.starts.partition_point(|it| it.0 <= bytes.start);
        let last = self.starts.partition_point(|it| it.0 < bytes.end);
        let at = |index: usize| self.starts.get(index).map_or(0, |it| it.1);
        at(first.saturating_sub(1))..at(last)
    }
}

/// Whether `c` belongs to a word: macOS gives names of files with marks apart from their letters.
pub(crate) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || canonical_combining_class(c) != 0
}

/// `text` in NFC. O(bytes).
pub(crate) fn composed(text: &str) -> Cow<'_, str> {
    if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.into()
    } else {
        text.nfc().collect()
    }
}

/// The bytes at the start of `text` that are all in scripts without spaces, or all not, and which
/// of both.
fn first_script(text: &str) -> (usize, bool) {
    let is_first = text.chars().next().is_some_and(is_unspaced);
    let end = text.find(|c| is_unspaced(c) != is_first);
    (end.unwrap_or(text.len()), is_first)
}

/// Gives each pair of adjacent characters of `run` within `bytes`; a single character is a term
/// itself.
fn pairs(
    at: usize,
    run: &str,
    bytes: Range<usize>,
    note: &mut impl FnMut(&str, Part, Range<usize>),
) {
    let text = &run[bytes.clone()];
    let mut give = |start: usize, end: usize| {
        let begin = at + bytes.start;
        note(&text[start..end], Part::Word, begin + start..begin + end);
    };
    let mut ends = text.char_indices().map(|(start, c)| start + c.len_utf8());
    let Some(mut middle) = ends.next() else {
        return;
    };
    let mut start = 0;
    let is_alone = middle == text.len();
    if is_alone {
        give(0, middle);
    }
    for end in ends {
        give(start, end);
        (start, middle) = (middle, end);
    }
}

impl Version {
    /// Gives the terms of the version.
    fn note(&self, note: &mut impl FnMut(&str, Part, Range<usize>)) {
        let start = self.bytes.start;
        note(&self.term, Part::Version, self.bytes.clone());
        for &(length, end) in &self.beginnings {
            note(&self.term[..length], Part::Version, start..end);
        }
    }
}

/// Runs of letters, digits and underscores, with their offsets; a run that begins a version or a
/// compound comes after that. An [`Analyzer`] splits each independently of its neighbours.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let mut first_of_several: Option<Range<usize>> = None;
    std::iter::from_fn(move || {
        if let Some(run) = first_of_several.take() {
            at = run.end;
            return Some((run.start, &text[run]));
        }
        let run = first_run(text, at)?;
        let start = run.start;
        let version = version_at(text, &run).map(|it| it.bytes.end);
        if let Some(end) = version.or_else(|| compound_at(text, &run)) {
            first_of_several = Some(run);
            return Some((start, &text[start..end]));
        }
        at = run.end;
        Some((run.start, &text[run]))
    })
}

/// The range of the first run of letters, digits and underscores at or after byte `at`.
fn first_run(text: &str, at: usize) -> Option<Range<usize>> {
    let start = skip(text, at, false);
    (start < text.len()).then(|| start..skip(text, start, true))
}

/// Whether each byte is an ASCII letter, digit or underscore.
static IS_OF_RUN: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        all[byte as usize] = byte == b'_' || byte.is_ascii_alphanumeric();
        byte += 1;
    }
    all
};

/// The offset, at or after `at`, of the first character that is not (if `runs`) or is (if not) part
/// of a run.
fn skip(text: &str, mut at: usize, runs: bool) -> usize {
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii() {
            if IS_OF_RUN[usize::from(byte)] != runs {
                break;
            }
            at += 1;
        } else {
            let next = text.get(at..).and_then(|rest| rest.chars().next());
            // An accent belongs to the letter before it.
            let is_of_run =
                |c: char| c.is_alphanumeric() || runs && canonical_combining_class(c) != 0;
            let Some(c) = next.filter(|&c| is_of_run(c) == runs) else {
                break;
            };
            at += c.len_utf8();
        }
    }
    at
}

/// The parts of an ASCII identifier.
pub(crate) fn sub_words(run: &str) -> impl Iterator<Item = &str> {
    run.split('_').flat_map(|piece| {
        let bytes = piece.as_bytes();
        let mut start = 0;
        std::iter::from_fn(move || {
            if start >= bytes.len() {
                return None;
            }
            let mut end = start + 1;
            while end < bytes.len() && !is_border(bytes, end) {
                end += 1;
            }
            let part = &piece[start..end];
            start = end;
            Some(part)
        })
    })
}

/// Whether a part begins at `at`: `aB`, `1a`, `a1`, and the `B` of `AABb`.
fn is_border(bytes: &[u8], at: usize) -> bool {
    let (before, here) = (bytes[at - 1], bytes[at]);
    let after = bytes.get(at + 1);
    before.is_ascii_digit() != here.is_ascii_digit()
        || before.is_ascii_lowercase() && here.is_ascii_uppercase()
        || before.is_ascii_uppercase()
            && here.is_ascii_uppercase()
            && after.is_some_and(u8::is_ascii_lowercase)
}

/// Whether `c` belongs to a script without spaces between words, or to one like Hangul that appends
/// particles to words.
pub fn is_unspaced(c: char) -> bool {
    matches!(
        c as u32,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF
            | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF
    )
}

/// English words that say nothing about the topic of a text. Sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "although", "always", "am", "an",
    "and", "any", "are", "as", "at", "be", "because", "been", "before", "being", "below",
    "between", "both", "but", "by", "can", "cannot", "could", "did", "do", "does", "doing", "don",
    "done", "down", "during", "each", "either", "else", "etc", "even", "every", "few", "for",
    "from", "further", "get", "gets", "getting", "given", "go", "goes", "got", "had", "has",
    "have", "having", "he", "help", "her", "here", "hers", "hi", "him", "his", "how", "however",
    "i", "ie", "if", "in", "instead", "into", "is", "isn", "it", "its", "itself", "just", "know",
    "let", "like", "ll", "make", "makes", "many", "may", "maybe", "me", "might", "more", "most",
    "much", "must", "my", "need", "needs", "no", "nor", "not", "now", "of", "off", "on", "once",
    "one", "only", "or", "other", "our", "ours", "out", "over", "own", "please", "re", "same",
    "see", "seem", "seems", "she", "should", "since", "so", "some", "still", "such", "than",
    "thank", "thanks", "that", "the", "their", "theirs", "them", "then", "there", "these", "they",
    "thing", "think", "this", "those", "though", "through", "to", "too", "under", "until", "up",
    "upon", "us", "use", "used", "uses", "using", "ve", "very", "via", "want", "wants", "was",
    "way", "we", "well", "were", "what", "when", "where", "whether", "which", "while", "who",
    "whom", "why", "will", "with", "within", "without", "won", "would", "you", "your", "yours",
];

/// The most bytes of a stop word.
const LONGEST_STOP_WORD: usize = 8;

/// Whether `word`, in lower case and not stemmed, says nothing about the topic of a text.
pub fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST_STOP_WORD && STOP_WORDS.binary_search(&word).is_ok()
}

/// Whether `word` is a stop word, ignoring case. Takes constant time: it is called with the whole
/// identifier for each of its parts, and an identifier may be as long as the text.
pub(crate) fn says_nothing(word: &str) -> bool {
    // A character has at most three times the bytes of its lower case (the Kelvin sign and k).
    word.len() <= 3 * LONGEST_STOP_WORD && is_stop_word(&word.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_it_has_met_an_analyzer_is_small() {
        let mut analyzer = Analyzer::default();
        // Of the most terms for their bytes, and more than are remembered.
        for number in 0..40_000 {
            let run = format!("{number:05}{}", "a1".repeat(29));
            let terms = analyzer.terms(&run);
            assert!(terms.len() > 50 && terms.last() == Some(&run));
            assert!(analyzer.known.held < IDENTIFIERS + (8 << 10));
        }
        let Known {
            terms,
            text,
            places,
            ..
        } = &analyzer.known;
        let each = size_of::<(usize, Part)>();
        assert!(terms.capacity() * each + text.capacity() <= 3 * IDENTIFIERS);
        assert!(places.len() < 20_000);
    }

    #[test]
    fn stop_words_are_sorted_and_short() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|it| it.len() <= LONGEST_STOP_WORD));
    }
}
