//! Lines that are too long to be shown whole: excerpts show stretches of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use ctx_model::ELISION;
use ctx_syntax::{Lines, is_mark};

use crate::renditions::MOST_TOLD;

/// Of longer lines, in bytes, an excerpt shows only stretches: the text between two marks is then a
/// part of a line, cut between any two characters.
pub const LONGEST_LINE: usize = 4096;
/// The most bytes of a stretch.
const STRETCH: usize = 2048;
/// The most bytes of the one that is shown where a stretch is too long: digits and signs are up to
/// a token each.
const SHORT: usize = 512;
/// A stretch is rated by the keywords within this part of it in its middle.
const MIDDLE: usize = 2;
/// What part of itself a stretch may lose at each end so that it begins and ends with a value.
const NEAR: usize = 16;
/// The most stretches of a line.
pub(crate) const MOST: usize = 8;
/// The most matches in a line that are considered, the first ones.
const MOST_PLACES: usize = 1 << 16;

/// The stretches of long lines by line number.
#[derive(Debug, Default)]
pub(crate) struct LongLines(BTreeMap<u32, Stretches>);

/// The stretches of a line.
#[derive(Debug)]
struct Stretches {
    /// The best first.
    long: Vec<Range<usize>>,
    /// The best part of the best one.
    short: Range<usize>,
}

/// How much of a long line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// At most this many stretches of some 2 KiB.
    Stretches(usize),
    /// A stretch of some 512 bytes.
    Short,
}

/// Lines some of which are shown in part.
pub(crate) struct Cut {
    pub(crate) text: String,
    /// The number of each line that is shown in full.
    pub(crate) numbers: Vec<Option<u32>>,
    /// The number of stretches.
    pub(crate) stretches: usize,
}

impl LongLines {
    /// Adds line `number`, which is long: its stretches with any of `words`, or else its beginning.
    /// O(bytes × words).
    pub(crate) fn note(&mut self, number: u32, line: &str, words: Option<&AhoCorasick>) {
        let long = stretches(line, words, STRETCH);
        let best = long.first().cloned().unwrap_or_default();
        let within = stretches(&line[best.clone()], words, SHORT);
        let within = within.first().cloned().unwrap_or_default();
        let short = best.start + within.start..best.start + within.end;
        self.0.insert(number, Stretches { long, short });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces each long line of `lines` by stretches, or by a mark alone if it was not added;
    /// `None` if none is long. O(bytes).
    pub(crate) fn cut(&self, lines: &Lines<'_>, extent: Extent) -> Option<Cut> {
        let lines = lines.as_slice();
        if lines.iter().all(|it| it.text.len() <= LONGEST_LINE) {
            return None;
        }
        let mut shown: Vec<(&str, Option<u32>)> = Vec::with_capacity(lines.len());
        let mut count = 0;
        for line in lines {
            let is_marked = shown
                .last()
                .is_some_and(|it| it.1.is_none() && is_mark(it.0));
            if line.text.len() <= LONGEST_LINE {
                if line.number.is_none() && shown.last() == Some(&(ELISION, None)) {
                    shown.pop();
                }
                shown.push((&line.text, line.number));
                continue;
            }
            let stretches = line.number.and_then(|it| self.0.get(&it));
            let stretches = stretches.map_or(&[][..], |it| match extent {
                Extent::Stretches(most) => &it.long[..it.long.len().min(most)],
                Extent::Short => std::slice::from_ref(&it.short),
            });
            let mut stretches = stretches.to_vec();
            stretches.sort_unstable_by_key(|it| it.start);
            count += stretches.len();
            let mut joined: Vec<Range<usize>> = Vec::with_capacity(stretches.len());
            for it in stretches {
                match joined.last_mut() {
                    // Stretches that touch are one piece of the line.
                    Some(last) if last.end == it.start => last.end = it.end,
                    _ => joined.push(it),
                }
            }
            let mut next = 0;
            for it in joined {
                if it.start > next && !(next == 0 && is_marked) {
                    shown.push((ELISION, None));
                }
                next = it.end;
                shown.push((&line.text[it], None));
            }
            if next < line.text.len() && !(next == 0 && is_marked) {
                shown.push((ELISION, None));
            }
        }
        // Chunks have their text without blank lines at the end.
        while shown.len() > 1 && shown.last().is_some_and(|it| it.0.trim().is_empty()) {
            shown.pop();
        }
        let (text, numbers): (Vec<&str>, Vec<_>) = shown.into_iter().unzip();
        Some(Cut {
            text: text.join("\n"),
            numbers,
            stretches: count,
        })
    }
}

/// A match of a word.
struct Match {
    /// The offset after it.
    at: usize,
    word: usize,
}

/// At most [`MOST`] disjoint stretches of `line` of at most `size` bytes: those with most of
/// `words` first, rare words counting more; the beginning of the line if no word matches.
fn stretches(line: &str, words: Option<&AhoCorasick>, size: usize) -> Vec<Range<usize>> {
    let found = words.map_or_else(Vec::new, |it| places(line, it));
    let mut counts = [0_usize; MOST_TOLD];
    for it in &found {
        counts[it.word] += 1;
    }
    let rarity = |word: usize| 1 + u64::from((found.len() / counts[word]).ilog2());
    let mut candidates = Vec::with_capacity(found.len());
    let (mut within, mut worth, mut end) = ([0_usize; MOST_TOLD], 0, 0);
    for place in &found {
        while let Some(it) = found
            .get(end)
            .filter(|it| it.at - place.at <= size / MIDDLE)
        {
            if within[it.word] == 0 {
                worth += rarity(it.word);
            }
            within[it.word] += 1;
            end += 1;
        }
        candidates.push((worth, place.at + (found[end - 1].at - place.at) / 2));
        within[place.word] -= 1;
        if within[place.word] == 0 {
            worth -= rarity(place.word);
        }
    }
    candidates.sort_unstable_by_key(|&(worth, middle)| (Reverse(worth), middle));
    let mut chosen: Vec<Range<usize>> = Vec::new();
    for (_, middle) in candidates {
        let it = around(line, middle, size);
        let is_apart = |other: &Range<usize>| it.end <= other.start || other.end <= it.start;
        if chosen.iter().all(is_apart) {
            chosen.push(it);
            if chosen.len() == MOST {
                break;
            }
        }
    }
    if chosen.is_empty() {
        chosen.push(around(line, 0, size));
    }
    chosen
}

/// The matches of `words` in `line`, ignoring case, in the order of their ends.
fn places(line: &str, words: &AhoCorasick) -> Vec<Match> {
    let lower = line.to_lowercase();
    let mut characters = line.char_indices();
    let (mut below, mut at) = (0, 0);
    let found = words.find_overlapping_iter(&lower).map(|it| {
        // The lower case of a character may have another length.
        while below < it.end()
            && let Some((start, c)) = characters.next()
        {
            below += c.to_lowercase().map(char::len_utf8).sum::<usize>();
            at = start + c.len_utf8();
        }
        let word = it.pattern().as_usize();
        Match { at, word }
    });
    found.take(MOST_PLACES).collect()
}

/// The stretch of `line` around `middle`, of at most `size` bytes: whole characters, and from the
/// beginning of a value to the end of one if these are near.
fn around(line: &str, middle: usize, size: usize) -> Range<usize> {
    let end = line.len().min(middle.saturating_sub(size / 2) + size);
    let start = line.ceil_char_boundary(end.saturating_sub(size));
    let end = line.floor_char_boundary(end);
    let bytes = &line.as_bytes()[start..end];
    let before = |it: &u8| b",;{[( \t".contains(it);
    let behind = |it: &u8| b",;}]) \t".contains(it);
    let first = bytes.iter().take(size / NEAR).position(before);
    let last = bytes.iter().rev().take(size / NEAR).position(behind);
    let first = first
        .filter(|_| start > 0)
        .map_or(start, |it| start + it + 1);
    let last = last.filter(|_| end < line.len()).map_or(end, |it| end - it);
    first..last
}

#[cfg(test)]
mod tests {
    use ctx_syntax::{Limits, Source};
    use proptest::prelude::*;

    use super::*;
    use crate::Keywords;

    #[test]
    fn stretches_are_around_the_rarest_words_and_hold_whole_values() {
        let value = |it: usize| format!("{{\"user\":\"u{it}\",\"role\":\"reader\"}},");
        let line = (0..900).map(|it| match it {
            700 => "{\"user\":\"u700\",\"role\":\"Admin\"},".to_owned(),
            it => value(it),
        });
        let line = format!("[{}]", line.collect::<String>());
        let words = Keywords::new(&["user".to_owned(), "admin".to_owned()]);
        let found = stretches(&line, words.all(), STRETCH);
        assert_eq!(found.len(), MOST);
        let best = &line[found[0].clone()];
        assert!(best.contains("\"u700\",\"role\":\"Admin\"},"), "{best}");
        assert!(best.len() > STRETCH - 2 * STRETCH / NEAR && best.len() <= STRETCH);
        for it in found {
            let it = &line[it];
            assert!(it.ends_with([',', '}', ']']), "{it}");
            assert!(it.starts_with(['[', '{', '"']), "{it}");
        }
        assert_eq!(stretches(&line, None, STRETCH).len(), 1);
        let mut long = LongLines::default();
        long.note(1, &line, words.all());
        let short = &line[long.0[&1].short.clone()];
        assert!(best.contains(short) && short.len() <= SHORT, "{short}");
        assert!(short.contains("\"u700\",\"role\":\"Admin\"},"), "{short}");
    }

    proptest! {
        #[test]
        fn stretches_are_of_whole_characters_and_apart(
            text in "[a-cäßİ,{ ]{1,30}",
            times in 1..700_usize,
            words in prop::collection::vec("[a-cäßi̇]{1,3}", 0..5),
            most in 0..9_usize,
        ) {
            let line = text.repeat(times);
            let words = Keywords::new(&words);
            let mut found = stretches(&line, words.all(), STRETCH);
            prop_assert!(found.iter().all(|it| it.len() <= STRETCH && line.get(it.clone()).is_some()));
            found.sort_unstable_by_key(|it| it.start);
            prop_assert!(found.windows(2).all(|it| it[0].end <= it[1].start));
            let source = Source::new("a.x", &line, &Limits::default());
            let mut long = LongLines::default();
            long.note(1, &line, words.all());
            let lines = source.render(source.whole(), ctx_syntax::RenditionKind::Full, &[]);
            let extent = if most == 0 { Extent::Short } else { Extent::Stretches(most) };
            let cut = long.cut(&lines, extent);
            prop_assert_eq!(cut.is_some(), line.len() > LONGEST_LINE);
            let Some(cut) = cut else { return Ok(()) };
            prop_assert!(cut.stretches <= most.max(1));
            prop_assert!(most > 0 || cut.text.len() <= SHORT + 2 * (ELISION.len() + 1));
            prop_assert_eq!(cut.text.split('\n').count(), cut.numbers.len());
            let shown: Vec<&str> = cut.text.split('\n').collect();
            prop_assert!(shown.windows(2).all(|it| it.contains(&ELISION)), "{:?}", shown);
            let parts = shown.into_iter().filter(|it| *it != ELISION);
            let mut rest = &line[..];
            for part in parts {
                let (_, behind) = rest.split_once(part).expect("it is there, and in this order");
                rest = behind;
            }
        }
    }
}
