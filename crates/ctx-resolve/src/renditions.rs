//! The ways to show a span, from an excerpt down to a mention.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use ctx_model::{LineSpan, Rendition, RenditionKind};
use ctx_syntax::{CONTEXT, Source};

use crate::long_lines::{LONGEST_LINE, LongLines, MOST};
use crate::prose::counts;

/// So many words are looked for, the first.
const MOST_WORDS: usize = 256;
/// What is longer, in bytes, is no word.
const LONGEST_WORD: usize = 1024;
/// Bytes of words that may be compared wherever one may begin.
const MOST_LOOKED_AT: usize = 512;
/// Lines are searched together until they have so many bytes.
const TOGETHER: usize = 64 << 10;
/// What has fewer lines that say something has one excerpt: it is shown whole, or hardly longer in part.
pub(crate) const LONG: usize = 60;
/// So many words tell which lines of a long span say most, the first.
pub(crate) const MOST_TOLD: usize = 128;
/// So many lines before and after one that is asked about are shown with it, and what an excerpt shows around them.
const NEAR: u32 = 4;
/// What the first place of an excerpt tells of a long part, and what any number of others does: see note 0006.
const FIRST: f64 = 0.3;
const MORE: f64 = 0.35;
/// What a long line tells by how it begins, where nothing of it is asked about.
const UNASKED: f64 = 0.1;

/// What a line is to have, to be what an excerpt is about: any of some words, in any case.
#[derive(Clone, Debug, Default)]
pub struct Keywords {
    finder: Option<AhoCorasick>,
    /// The first of them, in lower case,
    told: Vec<String>,
    /// and what finds all of those, also where one is in another: made for the first long span.
    all: OnceLock<Option<AhoCorasick>>,
}

impl Keywords {
    /// Any of the first 256 of `words`; one with a line feed, or of more than 1 KiB, is none. O(bytes), and some 30 bytes
    /// of memory for each.
    pub fn new(words: &[String]) -> Self {
        let is_word = |it: &&String| !it.contains('\n') && it.len() <= LONGEST_WORD;
        let words = words.iter().filter(is_word).take(MOST_WORDS);
        let words: Vec<String> = words.map(|it| it.to_lowercase()).collect();
        if words.is_empty() {
            return Keywords::default();
        }
        let mut finder = AhoCorasick::builder();
        finder
            // Others take more memory, and hundreds of times more to make.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            // Only with such there is a prefilter by what several words begin with. It looks at all words that begin
            // alike wherever one may begin, so they are to be few and short.
            .match_kind(MatchKind::LeftmostFirst)
            .prefilter(words.iter().map(String::len).sum::<usize>() <= MOST_LOOKED_AT);
        // So few are never too many, here and in `all`.
        let finder = finder.build(&words).ok();
        let mut told = words;
        told.truncate(MOST_TOLD);
        Keywords {
            finder,
            told,
            all: OnceLock::new(),
        }
    }

    pub(crate) fn all(&self) -> Option<&AhoCorasick> {
        let make = || {
            let mut all = AhoCorasick::builder();
            all.kind(Some(AhoCorasickKind::ContiguousNFA));
            all.build(&self.told).ok()
        };
        self.all.get_or_init(make).as_ref()
    }

    /// The lines of `span` with one of them, as far as it was looked through while somebody waited, which is asked at least every
    /// 64 KiB and line. O(bytes).
    fn lines(
        &self,
        source: &Source<'_>,
        span: LineSpan,
        is_awaited: &dyn Fn() -> bool,
    ) -> Vec<u32> {
        let Some(words) = &self.finder else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut lower = String::new();
        // The number of each line, and where it ends in `lower`.
        let mut ends = Vec::new();
        for (number, line) in source.lines(span) {
            if line.is_ascii() {
                lower.push_str(line);
            } else {
                lower.push_str(&line.to_lowercase());
            }
            // No word goes over it.
            lower.push('\n');
            ends.push((number, lower.len()));
            if lower.len() >= TOGETHER {
                take(words, &mut lower, &mut ends, &mut found);
                if !is_awaited() {
                    break;
                }
            }
        }
        take(words, &mut lower, &mut ends, &mut found);
        found
    }

    /// `lines` of `source`, those first around which most is said: each of the words by its rarity among `lines`. A line that
    /// an excerpt shows with one before it is left out. O(bytes × words).
    fn by_worth(&self, source: &Source<'_>, lines: &[u32]) -> Vec<u32> {
        let Some(all) = self.all() else {
            return Vec::new();
        };
        let words_of = |&line: &u32| {
            let span = LineSpan::new(line, line).ok();
            let text = span.and_then(|it| source.lines(it).next());
            let text = text.map_or_else(String::new, |(_, it)| it.to_lowercase());
            let found = all.find_overlapping_iter(&text);
            found.fold(0_u128, |words, it| words | 1 << it.pattern().as_u32())
        };
        let words: Vec<u128> = lines.iter().map(words_of).collect();
        let mut counts = [0_u32; MOST_TOLD];
        for &it in &words {
            each(it, |word| counts[word] += 1);
        }
        let count = f64::from(u32::try_from(lines.len()).unwrap_or(u32::MAX));
        let rarities = counts.map(|with| ((count + 1.0) / (f64::from(with) + 0.5)).ln());
        let mut worth: Vec<(f64, u32)> = Vec::with_capacity(lines.len());
        for (at, &line) in lines.iter().enumerate() {
            let before = lines[..at]
                .iter()
                .rev()
                .take_while(|&&it| line - it <= CONTEXT);
            let after = lines[at..].iter().take_while(|&&it| it - line <= CONTEXT);
            let near = &words[at - before.count()..at + after.count()];
            let mut sum = 0.0;
            each(near.iter().fold(0, |all, it| all | it), |word| {
                sum += rarities[word];
            });
            worth.push((sum, line));
        }
        worth.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut chosen: Vec<u32> = Vec::new();
        let mut shown = BTreeSet::new();
        for (_, line) in worth {
            if !shown.contains(&line) {
                chosen.push(line);
                shown.extend(line.saturating_sub(CONTEXT)..=line.saturating_add(CONTEXT));
            }
        }
        chosen
    }
}

/// Calls `take` with the number of each bit that is set, in order.
fn each(mut bits: u128, mut take: impl FnMut(usize)) {
    while bits != 0 {
        take(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

/// Empties `text`, and adds the numbers of those of its lines that hold one of `words` in any ASCII case. `ends` are the
/// number of each line, and where it ends.
fn take(
    words: &AhoCorasick,
    text: &mut String,
    ends: &mut Vec<(u32, usize)>,
    found: &mut Vec<u32>,
) {
    text.make_ascii_lowercase();
    let (mut rest, mut start) = (ends.as_slice(), 0);
    while let Some(word) = words.find(Input::new(text.as_str()).range(start..)) {
        rest = &rest[rest.partition_point(|(_, end)| *end <= word.start())..];
        let Some(&(number, end)) = rest.first() else {
            break;
        };
        found.push(number);
        start = end;
    }
    text.clear();
    ends.clear();
}

/// Keywords, and the words that they are of: most chunks have the same.
#[derive(Default)]
pub(crate) struct Known {
    words: Arc<[String]>,
    keywords: Keywords,
}

impl Known {
    pub(crate) fn new(words: Arc<[String]>) -> Self {
        Known {
            keywords: Keywords::new(&words),
            words,
        }
    }

    /// Those of `words`, if it is of these.
    pub(crate) fn of(&self, words: &Arc<[String]>) -> Option<&Keywords> {
        // Of those that are shared, their places alone are compared.
        (self.words == *words).then_some(&self.keywords)
    }

    /// Those of `words`, made if they have to be.
    pub(crate) fn or_made(&mut self, words: &Arc<[String]>) -> &Keywords {
        if self.of(words).is_none() {
            *self = Known::new(Arc::clone(words));
        }
        &self.keywords
    }
}

/// What so many places of a long part tell of it at least, however long it is: 0.3 by the first, and ever less by each.
fn told_by(places: usize) -> f64 {
    let more = f64::from(u32::try_from(places.saturating_sub(1)).unwrap_or(u32::MAX));
    if places == 0 {
        return 0.0;
    }
    FIRST + MORE * more / (more + 4.0)
}

/// Every way to show `span` that is shorter than the one before it, the longest first; the full text,
/// which the chunk has already, left out. `keywords` and `named` lines of `span` tell which lines an excerpt is about; without
/// any there is none. Each has those that are named, and tells then so much at least, 0..=1. Of a line of more than
/// [`LONGEST_LINE`](crate::LONGEST_LINE) bytes it shows stretches of some 2 KiB around the keywords, between lines with `…`, or how it begins where it
/// is named or all that there is. O(bytes + symbols).
pub fn renditions(
    source: &Source<'_>,
    span: LineSpan,
    keywords: &Keywords,
    named: (&[u32], f64),
) -> Vec<Rendition> {
    renditions_while(source, span, keywords, named, &|| true)
}

/// The same, as many as were made while somebody waited.
pub(crate) fn renditions_while(
    source: &Source<'_>,
    span: LineSpan,
    keywords: &Keywords,
    (named, told): (&[u32], f64),
    is_awaited: &dyn Fn() -> bool,
) -> Vec<Rendition> {
    let near = |&line: &u32| {
        let (first, last) = (line.saturating_sub(NEAR), line.saturating_add(NEAR));
        first.max(span.start())..=last.min(span.end())
    };
    let near: Vec<u32> = named.iter().flat_map(near).collect();
    let with_named = |lines: &[u32]| {
        let mut all = [&near, lines].concat();
        all.sort_unstable();
        all.dedup();
        all
    };
    let matches = keywords.lines(source, span, is_awaited);
    let asked = [named, &matches].concat();
    let long = long_lines(source, span, keywords, &asked, is_awaited);
    let mut shortest: usize = source.lines(span).map(|(_, line)| line.len() + 1).sum();
    let said = source.said(span);
    let mut renditions = Vec::new();
    let mut add = |kind: RenditionKind, matches: &[u32], least: f64, most: usize| {
        if !is_awaited() {
            return;
        }
        let lines = source.render(span, kind, matches);
        let is_excerpt = kind == RenditionKind::Excerpt;
        if let Some(cut) = is_excerpt.then(|| long.cut(&lines, most)).flatten() {
            let information = if matches.is_empty() {
                UNASKED
            } else {
                let whole = cut.numbers.iter().flatten().count();
                share(whole, said).max(least).max(told_by(cut.stretches))
            };
            if cut.text.len() < shortest {
                shortest = cut.text.len();
                let rendition = Rendition::new(kind, cut.text, information);
                renditions.extend(rendition.and_then(|it| it.with_lines(cut.numbers)));
            }
            return;
        }
        let length = lines.size();
        if length == 0 || length >= shortest {
            return;
        }
        let information = source.information(kind, &lines, said).max(least);
        // A share, and a line for each number: it is one.
        renditions.extend(lines.into_rendition(kind, information));
        shortest = length;
    };
    let places = named.len();
    let least = if places > 0 { told } else { 0.0 };
    let told_by = |count: usize| least + (1.0 - least) * told_by(count + places);
    if !matches.is_empty() {
        let best = if said < LONG {
            Vec::new()
        } else {
            keywords.by_worth(source, &matches)
        };
        let all = with_named(&matches);
        let stretches = counts(if long.is_empty() { 1 } else { MOST });
        for most in stretches {
            add(RenditionKind::Excerpt, &all, told_by(best.len()), most);
        }
        for count in counts(best.len()) {
            let some = with_named(&best[..count]);
            add(RenditionKind::Excerpt, &some, told_by(count), 1);
        }
    }
    if places > 0 {
        add(RenditionKind::Excerpt, &with_named(&[]), told_by(0), 1);
    } else if matches.is_empty() && !long.is_empty() {
        add(RenditionKind::Excerpt, &[], 0.0, 1);
    }
    for kind in [
        RenditionKind::Skeleton,
        RenditionKind::Signature,
        RenditionKind::Mention,
    ] {
        add(kind, &[], 0.0, 0);
    }
    renditions
}

/// The long ones of the lines of `span` that are `asked` about; of one that is all there is, how it begins.
fn long_lines(
    source: &Source<'_>,
    span: LineSpan,
    keywords: &Keywords,
    asked: &[u32],
    is_awaited: &dyn Fn() -> bool,
) -> LongLines {
    let mut long = LongLines::default();
    let one = |line: u32| source.lines(LineSpan::new(line, line).ok()?).next();
    let is_long = |(_, text): &(u32, &str)| text.len() > LONGEST_LINE;
    for (line, text) in asked.iter().filter_map(|&it| one(it)).filter(is_long) {
        if !is_awaited() {
            break;
        }
        long.note(line, text, keywords.all());
    }
    if asked.is_empty()
        && source.said(span) == 1
        && let Some((line, text)) = source.lines(span).find(is_long)
    {
        long.note(line, text, None);
    }
    long
}

fn share(of: usize, all: usize) -> f64 {
    let number = |it: usize| f64::from(u32::try_from(it).unwrap_or(u32::MAX));
    (number(of) / number(all.max(1))).min(1.0)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ctx_syntax::Limits;
    use proptest::prelude::*;

    use super::*;

    /// The lines of `span` in lower case that hold any of `words`.
    fn plainly(source: &Source<'_>, span: LineSpan, words: &[String]) -> Vec<u32> {
        let words = words.iter().filter(|it| !it.contains('\n'));
        let words: Vec<String> = words.map(|it| it.to_lowercase()).collect();
        let holds = |line: &str| {
            let line = line.to_lowercase();
            words.iter().any(|it| line.contains(it))
        };
        let lines = source.lines(span).filter(|(_, line)| holds(line));
        lines.map(|(number, _)| number).collect()
    }

    #[test]
    fn a_long_part_is_looked_through_as_long_as_somebody_waits() {
        let text = "a line with a word and another\n".repeat(16 * TOGETHER / 31);
        let source = Source::new("a.txt", &text, &Limits::default());
        let keywords = Keywords::new(&["word".to_owned()]);
        for most in [0, 3] {
            let asked = Cell::new(0);
            let is_awaited = || {
                asked.set(asked.get() + 1);
                asked.get() <= most
            };
            let found = keywords.lines(&source, source.whole(), &is_awaited).len();
            let expected = (most + 1) * (TOGETHER / 31);
            assert!((expected..expected + 8).contains(&found), "{most} {found}");
            let none = renditions_while(&source, source.whole(), &keywords, (&[], 0.0), &|| false);
            assert_eq!(none, []);
        }
    }

    proptest! {
        /// Of letters whose lower case is longer, shorter or two, and ends of lines.
        #[test]
        fn an_excerpt_is_about_the_lines_with_a_keyword_in_any_case(
            text in "[aAbB_ rſKÅıİßẞéΟΔΣς\r\n]{0,60}",
            words in prop::collection::vec("[aAbB_ rſKÅıİßéΟΔΣς\r\n]{0,4}", 0..6),
            (first, length) in (1..5_u32, 0..40_u32),
        ) {
            let source = Source::new("a.txt", &text, &Limits::default());
            let span = LineSpan::new(first, first + length).unwrap();
            let lines = Keywords::new(&words).lines(&source, span, &|| true);
            prop_assert_eq!(lines, plainly(&source, span, &words));
        }

        /// So many that each way to look for them is taken.
        #[test]
        fn many_keywords_are_found_in_long_texts(
            text in "([a-f]{1,9}[ \n]|straße ){0,400}",
            words in prop::collection::vec("(same)?[a-f]{1,12}", 0..150),
            times in prop_oneof![9 => Just(1_usize), 1 => Just(64)],
        ) {
            let text = text.repeat(times);
            let source = Source::new("a.txt", &text, &Limits::default());
            let lines = Keywords::new(&words).lines(&source, source.whole(), &|| true);
            prop_assert_eq!(lines, plainly(&source, source.whole(), &words));
        }
    }
}
