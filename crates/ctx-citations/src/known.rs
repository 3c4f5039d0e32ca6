//! What an answer may cite, and how much of it is looked through for that.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;

use crate::cited::Cited;
use crate::compare::{says, words};
use crate::mark::Verdict;
use crate::prose::{is_prose, unmarked};
use crate::quote::{Quote, quote_before};

/// So many times the bytes of the answer and of all sources are looked through for quotations.
pub(crate) const LOOKS: usize = 64;
/// So many times the bytes of the answer are kept of quotations,
pub(crate) const KEPT: usize = 4;
/// and so many besides: enough for the longest before a list of as many labels as there may be.
pub(crate) const KEPT_BESIDES: usize = 1 << 20;

/// What may be cited, by id.
pub(crate) struct Known<'c> {
    sources: BTreeMap<&'c str, Source<'c>>,
    /// Where the lines of the answer end.
    line_ends: Vec<usize>,
    /// So many more bytes of sources are looked through,
    pub(crate) left: Cell<usize>,
    /// and so many more of quotations kept.
    room: Cell<usize>,
    pub(crate) is_awaited: &'c dyn Fn() -> bool,
}

/// What may be cited; and what it says, as quotations are held against it, once one is.
struct Source<'c> {
    cited: &'c Cited,
    text: OnceCell<String>,
    /// The same text without its marks, for prose.
    plain: OnceCell<String>,
    /// What was said of the quotations that were looked for.
    quotes: RefCell<BTreeMap<String, Verdict>>,
}

impl<'c> Known<'c> {
    /// What `answer` may cite, of which no more is read once it is not wanted.
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

    /// What is quoted at the end of `before`, as far as there is room for it.
    pub(crate) fn quote(&self, before: &str) -> Quote {
        let line_at = |at: usize| {
            let above = self.line_ends.partition_point(|end| *end < at);
            above.checked_sub(1).map_or(0, |it| self.line_ends[it] + 1)
        };
        let quote = match quote_before(before, &line_at) {
            Quote::Words(quote) => quote,
            other => return other,
        };
        match self.room.get().checked_sub(quote.len()) {
            Some(room) => {
                self.room.set(room);
                Quote::Words(quote)
            }
            None => Quote::TooMuch,
        }
    }

    pub(crate) fn of(&self, id: &str) -> Option<&'c Cited> {
        self.sources.get(id).map(|it| it.cited)
    }

    /// Whether the source of this id has the words of `quote`. A quotation that was looked for before is not again.
    pub(crate) fn verdict(&self, id: &str, quote: &str) -> Verdict {
        let Some(source) = self.sources.get(id) else {
            return Verdict::Unknown;
        };
        if let Some(verdict) = source.quotes.borrow().get(quote) {
            return *verdict;
        }
        let text = source
            .text
            .get_or_init(|| words(&source.cited.shown.text, self.is_awaited));
        let left = self.left.get();
        let verdict = if text.len() > left {
            Verdict::Unchecked
        } else {
            let (is_there, looked_through) = says(text, quote, |it| it);
            let mut left = left - looked_through;
            let verdict = if is_there {
                Verdict::Sound
            } else if !is_prose(source.cited) {
                Verdict::Misquoted
            } else if text.len() > left {
                Verdict::Unchecked
            } else {
                let plain = source.plain.get_or_init(|| unmarked(text));
                left -= text.len();
                if says(plain, quote, |it| unmarked(&it)).0 {
                    Verdict::Sound
                } else {
                    Verdict::Misquoted
                }
            };
            self.left.set(left);
            verdict
        };
        let mut quotes = source.quotes.borrow_mut();
        quotes.insert(quote.to_owned(), verdict);
        verdict
    }
}
