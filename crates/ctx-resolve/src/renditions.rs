//! The renditions of a span, from excerpts down to a mention.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use ctx_model::{LineSpan, ModelError, Rendition, RenditionKind};
use ctx_syntax::{CONTEXT_LINES, Source};

use crate::long_lines::{Cut, Extent, LONGEST_LINE, LongLines, MOST};
use crate::prose::counts;

/// The most keywords that are searched, the first ones.
const MOST_WORDS: usize = 256;
/// The most bytes of a keyword; longer ones are ignored.
const LONGEST_WORD: usize = 1024;
/// The most bytes of keywords for which a prefilter is used.
const MOST_LOOKED_AT: usize = 512;
/// Lines are searched together in blocks of about this many bytes.
const TOGETHER: usize = 64 << 10;
/// A hit with fewer non-blank lines than this has one excerpt: a shorter one would hardly save
/// anything.
pub(crate) const LONG: usize = 60;
/// The most keywords that rank the lines of a long span, the first ones.
pub(crate) const MOST_TOLD: usize = 128;
/// How many lines before and after a line that is asked about are shown, besides the context that
/// excerpts show.
const NEAR: u32 = 4;
/// The information of an excerpt of a long part with one place, and the most that further places
/// add: see note 0006.
const FIRST: f64 = 0.3;
const MORE: f64 = 0.35;
/// The information of the beginning of a long line, if nothing of it is asked about.
const UNASKED: f64 = 0.1;
/// What an excerpt loses if it shows a short stretch instead of a whole one.
const NARROW: f64 = 0.075;

/// Keywords that an excerpt is about: a line matches if it contains any of them, ignoring case.
#[derive(Clone, Debug, Default)]
pub struct Keywords {
    finder: Option<AhoCorasick>,
    /// The first [`MOST_TOLD`] keywords, in lower case.
    told: Vec<String>,
    /// Finds all of `told`, including overlapping ones; built for the first long span.
    all: OnceLock<Option<AhoCorasick>>,
}

impl Keywords {
    /// Takes the first 256 of `words`, ignoring those with a line feed or of more than 1 KiB.
    /// O(bytes), and some 30 bytes of memory for each.
    pub fn new(words: &[String]) -> Self {
        let is_word = |it: &&String| !it.contains('\n') && it.len() <= LONGEST_WORD;
        let words = words.iter().filter(is_word).take(MOST_WORDS);
        let words: Vec<String> = words.map(|it| it.to_lowercase()).collect();
        if words.is_empty() {
            return Keywords::default();
        }
        let mut finder = AhoCorasick::builder();
        finder
            // Other kinds take more memory, and hundreds of times as long to build.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            // Only this kind of match has a prefilter by the common beginnings of words. It
            // compares all words with a beginning at each match, so they have to be few and short.
            .match_kind(MatchKind::LeftmostFirst)
            .prefilter(words.iter().map(String::len).sum::<usize>() <= MOST_LOOKED_AT);
        // This few words never exceed the limits, here and in `all`.
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

    /// The lines of `span` with any keyword. Stops early once `is_awaited` returns false, which is
    /// called after every 64 KiB at the latest (or a longer line). O(bytes).
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
            // Keywords do not span lines.
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

    /// Sorts `lines` of `source` by the keywords around them, the best first: each keyword counts
    /// by its rarity among `lines`, and of lines with the same around them the one that has more
    /// comes first. Lines that an excerpt shows with a better one are left out. O(bytes ×
    /// keywords).
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
        let sum = |words: u128| {
            let mut sum = 0.0;
            each(words, |word| sum += rarities[word]);
            sum
        };
        let mut worth: Vec<(f64, f64, u32)> = Vec::with_capacity(lines.len());
        for (at, &line) in lines.iter().enumerate() {
            let before = lines[..at]
                .iter()
                .rev()
                .take_while(|&&it| line - it <= CONTEXT_LINES);
            let after = lines[at..]
                .iter()
                .take_while(|&&it| it - line <= CONTEXT_LINES);
            let near = &words[at - before.count()..at + after.count()];
            let around = sum(near.iter().fold(0, |all, it| all | it));
            worth.push((around, sum(words[at]), line));
        }
        worth.sort_by(|a, b| {
            let by_words = b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1));
            by_words.then(a.2.cmp(&b.2))
        });
        let mut chosen: Vec<u32> = Vec::new();
        let mut shown = BTreeSet::new();
        for (_, _, line) in worth {
            if !shown.contains(&line) {
                chosen.push(line);
                shown.extend(
                    line.saturating_sub(CONTEXT_LINES)..=line.saturating_add(CONTEXT_LINES),
                );
            }
        }
        chosen
    }
}

/// Calls `take` with the index of each bit that is set, in order.
fn each(mut bits: u128, mut take: impl FnMut(usize)) {
    while bits != 0 {
        take(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

/// Adds to `found` the numbers of the lines in `text` that contain one of `words`, ignoring ASCII
/// case, and clears `text`. `ends` has the number of each line, and where it ends.
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

/// Keywords, and the words they were built from: most chunks have the same words.
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

    /// The keywords, if they were built from `words`.
    pub(crate) fn of(&self, words: &Arc<[String]>) -> Option<&Keywords> {
        // Shared words are compared by address only.
        (self.words == *words).then_some(&self.keywords)
    }

    /// The keywords for `words`, built if necessary.
    pub(crate) fn or_made(&mut self, words: &Arc<[String]>) -> &Keywords {
        if self.of(words).is_none() {
            *self = Known::new(Arc::clone(words));
        }
        &self.keywords
    }
}

/// The lines that a question names; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NamedLines<'a> {
    /// Their numbers, from 1.
    pub lines: &'a [u32],
    /// The least information of an excerpt that shows them, 0..=1. A number beyond counts as the
    /// nearer end, and NaN as 0.
    pub least_information: f64,
}

/// The least information of an excerpt with this many places of a long part: 0.3 for the first, and
/// ever less for each further one.
fn told_by(places: usize) -> f64 {
    let more = f64::from(u32::try_from(places.saturating_sub(1)).unwrap_or(u32::MAX));
    if places == 0 {
        return 0.0;
    }
    FIRST + MORE * more / (more + 4.0)
}

/// The renditions of `span`, longest first, each shorter than the one before; the full text is not
/// among them. An excerpt shows the lines matched by `keywords` and the `named` lines; without
/// either there is none. `named` also has the least information of an excerpt with its lines,
/// 0..=1. Of a line of more than [`LONGEST_LINE`](crate::LONGEST_LINE) bytes, only stretches of
/// some 2 KiB around keywords are shown, and by the shortest excerpt 512 bytes, between lines with
/// `…`, or its beginning, if it is named or is all there is. O(bytes + symbols).
pub fn renditions(
    source: &Source<'_>,
    span: LineSpan,
    keywords: &Keywords,
    named: NamedLines<'_>,
) -> Vec<Rendition> {
    renditions_while(source, span, keywords, named, &|| true)
}

/// Like [`renditions`], but stops early once `is_awaited` returns false.
pub(crate) fn renditions_while(
    source: &Source<'_>,
    span: LineSpan,
    keywords: &Keywords,
    named: NamedLines<'_>,
    is_awaited: &dyn Fn() -> bool,
) -> Vec<Rendition> {
    let NamedLines {
        lines: named,
        least_information: told,
    } = named;
    let told = if told.is_nan() {
        0.0
    } else {
        told.clamp(0.0, 1.0)
    };
    let near = |&line: &u32| {
        let (first, last) = (line.saturating_sub(NEAR), line.saturating_add(NEAR));
        first.max(span.start())..=last.min(span.end())
    };
    let near: Vec<u32> = named.iter().flat_map(near).collect();
    let matches = keywords.lines(source, span, is_awaited);
    let asked = [named, &matches].concat();
    let long = long_lines(source, span, keywords, &asked, is_awaited);
    let mut list = Shrinking {
        source,
        span,
        long: &long,
        said: source.non_blank_lines(span),
        shortest: source.lines(span).map(|(_, line)| line.len() + 1).sum(),
        renditions: Vec::new(),
        is_awaited,
    };
    let wanted = WantedLines {
        near: &near,
        places: named.len(),
        least_information: if named.is_empty() { 0.0 } else { told },
    };
    if !matches.is_empty() {
        list.add_excerpts(&matches, keywords, &wanted);
    }
    if !named.is_empty() {
        list.add_excerpt_of_named(&wanted);
    } else if matches.is_empty() && !long.is_empty() {
        list.add(RenditionKind::Excerpt, &[], 0.0, Extent::Stretches(1));
    }
    list.add_outlines();
    list.renditions
}

/// The lines that excerpts show whatever else they do.
struct WantedLines<'a> {
    /// The named lines, and those around them.
    near: &'a [u32],
    /// How many lines are named.
    places: usize,
    /// The least information of an excerpt with them.
    least_information: f64,
}

impl WantedLines<'_> {
    /// These lines and `lines`, in order.
    fn and(&self, lines: &[u32]) -> Vec<u32> {
        let mut all = [self.near, lines].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The information of an excerpt with these lines and `count` others that match.
    fn information(&self, count: usize) -> f64 {
        let least = self.least_information;
        least + (1.0 - least) * told_by(count + self.places)
    }
}

/// Renditions of a span, each shorter than the one before.
struct Shrinking<'a> {
    source: &'a Source<'a>,
    span: LineSpan,
    long: &'a LongLines,
    /// The lines of the span that say anything.
    said: usize,
    /// The bytes of the last rendition; at first of the full text.
    shortest: usize,
    renditions: Vec<Rendition>,
    is_awaited: &'a dyn Fn() -> bool,
}

impl Shrinking<'_> {
    /// Adds a rendition of `kind` if it is shorter than the last: of an excerpt with the lines
    /// `matches`, and of a long line among them as much as `extent` says. It retains at least the
    /// information `least`. O(bytes).
    fn add(&mut self, kind: RenditionKind, matches: &[u32], least: f64, extent: Extent) {
        if !(self.is_awaited)() {
            return;
        }
        let lines = self.source.render(self.span, kind, matches);
        let is_excerpt = kind == RenditionKind::Excerpt;
        if let Some(cut) = is_excerpt.then(|| self.long.cut(&lines, extent)).flatten() {
            let length = cut.text.len();
            if length < self.shortest {
                let information = if matches.is_empty() {
                    UNASKED
                } else {
                    self.told_by_cut(&cut, least, extent)
                };
                let rendition = Rendition::new(kind, cut.text, information);
                self.push(rendition.and_then(|it| it.with_lines(cut.numbers)), length);
            }
            return;
        }
        let length = lines.size();
        if length == 0 || length >= self.shortest {
            return;
        }
        let information = self.source.information(kind, &lines, self.said).max(least);
        self.push(lines.into_rendition(kind, information), length);
    }

    /// Adds a rendition of `length` bytes. The information is a share, and each line has an entry,
    /// so it is valid.
    fn push(&mut self, rendition: Result<Rendition, ModelError>, length: usize) {
        if let Ok(rendition) = rendition {
            self.renditions.push(rendition);
            self.shortest = length;
        }
    }

    /// Adds excerpts with the lines that match: all of them, and of many lines then ever fewer of
    /// the best, the most valuable first; of long lines shorter ones, too.
    fn add_excerpts(&mut self, matches: &[u32], keywords: &Keywords, wanted: &WantedLines<'_>) {
        let all = wanted.and(matches);
        let mut best = Vec::new();
        if self.said >= LONG {
            best = keywords.by_worth(self.source, matches);
        }
        let stretches = counts(if self.long.is_empty() { 1 } else { MOST });
        let information = wanted.information(best.len());
        for most in stretches {
            let most = Extent::Stretches(most);
            self.add(RenditionKind::Excerpt, &all, information, most);
        }
        if best.is_empty() && self.renditions.is_empty() && self.source.is_flat(self.span) {
            // Each setting has a word of a question for one.
            best = keywords.by_worth(self.source, matches);
        }
        let mut fewest = (all, information);
        for count in counts(best.len()) {
            fewest = (wanted.and(&best[..count]), wanted.information(count));
            let (lines, information) = &fewest;
            self.add(
                RenditionKind::Excerpt,
                lines,
                *information,
                Extent::Stretches(1),
            );
        }
        self.add_short(&fewest.0, fewest.1);
    }

    /// Adds excerpts with the named lines alone.
    fn add_excerpt_of_named(&mut self, wanted: &WantedLines<'_>) {
        let (lines, information) = (wanted.and(&[]), wanted.information(0));
        self.add(
            RenditionKind::Excerpt,
            &lines,
            information,
            Extent::Stretches(1),
        );
        self.add_short(&lines, information);
    }

    /// Adds an excerpt that shows little of long lines, if there are any.
    fn add_short(&mut self, lines: &[u32], information: f64) {
        if !self.long.is_empty() {
            self.add(RenditionKind::Excerpt, lines, information, Extent::Short);
        }
    }

    /// Adds the renditions that show no more than what is defined.
    fn add_outlines(&mut self) {
        for kind in [
            RenditionKind::Skeleton,
            RenditionKind::Signature,
            RenditionKind::Mention,
        ] {
            // Of lines that define nothing the first alone announces nothing.
            if kind != RenditionKind::Signature || self.source.defines_any(self.span) {
                self.add(kind, &[], 0.0, Extent::Stretches(1));
            }
        }
    }

    /// The information of an excerpt that shows long lines in part.
    fn told_by_cut(&self, cut: &Cut, least: f64, extent: Extent) -> f64 {
        let whole = cut.numbers.iter().flatten().count();
        let told = share(whole, self.said)
            .max(least)
            .max(told_by(cut.stretches));
        let less = if extent == Extent::Short { NARROW } else { 0.0 };
        (told - less).max(0.0)
    }
}

/// The long lines of `span` that are `asked` about; of a long line that is all there is, the
/// beginning.
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
        && source.non_blank_lines(span) == 1
        && let Some((line, text)) = source.lines(span).find(is_long)
    {
        long.note(line, text, None);
    }
    long
}

/// `of` as a share of `all`, at most 1.
pub(crate) fn share(of: usize, all: usize) -> f64 {
    let number = |it: usize| f64::from(u32::try_from(it).unwrap_or(u32::MAX));
    (number(of) / number(all.max(1))).min(1.0)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ctx_syntax::Limits;
    use proptest::prelude::*;

    use super::*;

    /// The lines of `span` that contain any of `words`, ignoring case.
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
            let none = renditions_while(
                &source,
                source.whole(),
                &keywords,
                NamedLines::default(),
                &|| false,
            );
            assert_eq!(none, []);
        }
    }

    proptest! {
        /// Uses letters whose lower case has more or fewer bytes or two characters, and line ends.
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

        /// Uses so many keywords that each search method is used.
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
