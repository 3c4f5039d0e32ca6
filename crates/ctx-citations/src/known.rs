//! The sources that an answer may cite, and limits on searching them.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ctx_model::LineSpan;

use crate::cited::Cited;
use crate::compare::{says, words};
use crate::mark::Verdict;
use crate::names::{indexed_names, words_of_prose};
use crate::prose::{is_prose, unmarked};
use crate::quote::{Quote, quote_before};

/// Quotations are searched for in at most this multiple of the bytes of the answer and of all
/// sources.
pub(crate) const LOOKS: usize = 64;
/// The stored quotations take at most this multiple of the bytes of the answer,
pub(crate) const KEPT: usize = 4;
/// plus this many: enough for the longest quotation before a list of as many labels as possible.
pub(crate) const KEPT_BESIDES: usize = 1 << 20;

/// The sources that may be cited, by id.
pub(crate) struct Known<'c> {
    sources: BTreeMap<&'c str, Source<'c>>,
    /// The offsets of the line ends of the answer.
    line_ends: Vec<usize>,
    /// How many more bytes of sources may be searched,
    pub(crate) left: Cell<usize>,
    /// and how many more bytes of quotations may be stored.
    room: Cell<usize>,
    pub(crate) is_awaited: &'c dyn Fn() -> bool,
}

/// A source that may be cited, and its text as quotations are compared with it, once there is one.
struct Source<'c> {
    cited: &'c Cited,
    text: OnceCell<String>,
    /// The same text without its markup, for prose.
    plain: OnceCell<String>,
    /// Its words, if it may be prose, once it is cited directly after a word.
    words: OnceCell<BTreeSet<String>>,
    /// The places of its lines in the shown text, once some are cited with a quotation.
    rows: OnceCell<Vec<(u32, Range<usize>)>>,
    /// The verdicts on quotations that were searched for in some of its lines or, without lines, in
    /// all of it.
    quotes: RefCell<BTreeMap<Vec<LineSpan>, BTreeMap<String, Verdict>>>,
}

impl<'c> Known<'c> {
    /// The sources that `answer` may cite. Reading stops once it is not wanted.
    pub(crate) fn new(
        answer: &str,
        citations: &'c [Cited],
        is_awaited: &'c dyn Fn() -> bool,
    ) -> Self {
        let entry = |(id, cited): (&'c String, &'c Cited)| {
            let source = Source {
                cited,
                text: OnceCell::new(),
                plain: OnceCell::new(),
                words: OnceCell::new(),
                rows: OnceCell::new(),
                quotes: RefCell::default(),
            };
            (id.as_str(), source)
        };
        let also = citations
            .iter()
            .flat_map(|it| it.also.iter().zip(std::iter::repeat(it)));
        let ids = also.chain(citations.iter().map(|it| (&it.id, it)));
        let shown = citations.iter().map(|it| it.shown.text.len());
        let bytes = shown.fold(answer.len(), usize::saturating_add);
        Known {
            sources: ids.map(entry).collect(),
            line_ends: answer.match_indices('\n').map(|(at, _)| at).collect(),
            left: Cell::new(bytes.saturating_mul(LOOKS)),
            room: Cell::new(answer.len().saturating_mul(KEPT) + KEPT_BESIDES),
            is_awaited,
        }
    }

    /// The quotation at the end of `before`.
    pub(crate) fn quote(&self, before: &str) -> Quote {
        let line_at = |at: usize| {
            let above = self.line_ends.partition_point(|end| *end < at);
            above.checked_sub(1).map_or(0, |it| self.line_ends[it] + 1)
        };
        quote_before(before, &line_at)
    }

    /// Another copy of `quote`, if there is room for it.
    pub(crate) fn kept(&self, quote: &Quote) -> Quote {
        let Quote::Words(words) = quote else {
            return quote.clone();
        };
        match self.room.get().checked_sub(words.len()) {
            Some(room) => {
                self.room.set(room);
                quote.clone()
            }
            None => Quote::TooMuch,
        }
    }

    /// All ids in alphabetical order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &'c str> {
        self.sources.keys().copied()
    }

    pub(crate) fn of(&self, id: &str) -> Option<&'c Cited> {
        self.sources.get(id).map(|it| it.cited)
    }

    /// The names that are indexed in code of `answer` and of the sources. O(bytes).
    pub(crate) fn indexed_names<'a>(&self, answer: &'a str) -> BTreeSet<&'a str>
    where
        'c: 'a,
    {
        indexed_names(answer, self.sources.values().map(|it| it.cited))
    }

    /// Whether the source of this id may be prose, and contains this word in either case.
    pub(crate) fn says(&self, id: &str, word: &str) -> bool {
        let source = self.sources.get(id);
        source.is_some_and(|it| {
            let words = it.words.get_or_init(|| words_of_prose(it.cited));
            words.contains(&word.to_lowercase())
        })
    }

    /// Whether the source of this id contains the words of `quote`, within `lines` if some are
    /// cited. A quotation is searched for only once.
    pub(crate) fn verdict(&self, id: &str, quote: &str, lines: &[LineSpan]) -> Verdict {
        let Some(source) = self.sources.get(id) else {
            return Verdict::Unknown;
        };
        let quotes = source.quotes.borrow();
        if let Some(verdict) = quotes.get(lines).and_then(|it| it.get(quote)) {
            return *verdict;
        }
        drop(quotes);
        let verdict = if lines.is_empty() {
            let text = || words(&source.cited.shown.text, self.is_awaited);
            let text = source.text.get_or_init(text);
            self.looked_for(quote, text, &source.plain, source.cited)
        } else {
            match self.in_lines(source, quote, lines) {
                Some(Verdict::Misquoted) => match self.verdict(id, quote, &[]) {
                    Verdict::Sound => Verdict::OtherLines,
                    other => other,
                },
                Some(verdict) => verdict,
                None => self.verdict(id, quote, &[]),
            }
        };
        let mut quotes = source.quotes.borrow_mut();
        let quotes = quotes.entry(lines.to_vec()).or_default();
        quotes.insert(quote.to_owned(), verdict);
        verdict
    }

    /// Whether the shown text of `lines`, all of which are shown, contains the words of `quote`;
    /// `None` if that text is unknown.
    fn in_lines(&self, source: &Source<'_>, quote: &str, lines: &[LineSpan]) -> Option<Verdict> {
        let ranges = source.ranges(lines)?;
        let bytes: usize = ranges.iter().map(Range::len).sum();
        let Some(left) = self.left.get().checked_sub(bytes) else {
            return Some(Verdict::Unchecked);
        };
        self.left.set(left);
        let shown = &source.cited.shown.text;
        let texts: Option<Vec<&str>> = ranges.into_iter().map(|it| shown.get(it)).collect();
        let text = words(&texts?.join("\n"), self.is_awaited);
        Some(self.looked_for(quote, &text, &OnceCell::new(), source.cited))
    }

    /// Whether `text`, a part of `cited`, contains the words of `quote`; `plain` is the same text
    /// without its markup.
    fn looked_for(
        &self,
        quote: &str,
        text: &str,
        plain: &OnceCell<String>,
        cited: &Cited,
    ) -> Verdict {
        let left = self.left.get();
        if text.len() > left {
            return Verdict::Unchecked;
        }
        let (is_there, looked_through) = says(text, quote, |it| it);
        let mut left = left - looked_through;
        let verdict = if is_there {
            Verdict::Sound
        } else if !is_prose(cited) {
            Verdict::Misquoted
        } else if text.len() > left {
            Verdict::Unchecked
        } else {
            let plain = plain.get_or_init(|| unmarked(text));
            left -= text.len();
            if says(plain, quote, |it| unmarked(&it)).0 {
                Verdict::Sound
            } else {
                Verdict::Misquoted
            }
        };
        self.left.set(left);
        verdict
    }
}

impl Source<'_> {
    /// The place of `lines`, all of which are shown, in the shown text, including adjacent text
    /// that may be part of them; `None` if that is unknown.
    fn ranges(&self, lines: &[LineSpan]) -> Option<Vec<Range<usize>>> {
        let shown = &self.cited.shown;
        let rows = self.rows.get_or_init(|| shown.rows());
        let range = |span: &LineSpan| {
            let first = rows.partition_point(|it| it.0 < span.start());
            let after = rows.partition_point(|it| it.0 <= span.end());
            let start = first.checked_sub(1).map_or(0, |it| rows[it].1.end);
            let end = rows.get(after).map_or(shown.text.len(), |it| it.1.start);
            (first < after && start <= end).then_some(start..end)
        };
        lines.iter().map(range).collect()
    }
}
