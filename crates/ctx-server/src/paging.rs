//! Pages of lists.

use std::convert::Infallible;

/// Which page of the threads to return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadPage {
    /// The most entries of the page.
    pub limit: PageLimit,
    /// Where the previous page ended: the `next` that came with it.
    pub after: Option<i64>,
    /// Which threads come first, on each page and among pages.
    pub order: ThreadOrder,
}

/// In which order threads are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadOrder {
    /// The last created first.
    #[default]
    Created,
    /// The last active first: those that were created, or got a message, last. A thread that
    /// becomes active between two pages moves to the beginning: no thread is listed twice, and
    /// every thread that stays as it is is listed.
    Active,
}

/// Which page of the messages of a thread to return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessagePage {
    /// The most entries of the page.
    pub limit: PageLimit,
    /// Where the previous page ended: the `next` that came with it.
    pub after: Option<i64>,
    /// Which messages come first, on each page and among pages.
    pub order: MessageOrder,
}

/// In which order messages are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageOrder {
    /// The oldest first.
    #[default]
    Oldest,
    /// The latest first.
    Latest,
}

/// Which page of the files to return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePage {
    /// The most entries of the page.
    pub limit: PageLimit,
    /// The last path of the previous page.
    pub after: Option<String>,
}

/// The most entries of a page: 1 to 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Invariant: 1..=200.
pub struct PageLimit(u8);

impl PageLimit {
    /// The largest limit.
    pub const MOST: usize = 200;

    /// A limit of `limit` entries, if that is 1 to 200.
    pub fn new(limit: u8) -> Option<Self> {
        let is_one = (1..=Self::MOST).contains(&usize::from(limit));
        is_one.then_some(PageLimit(limit))
    }

    /// The limit as a number.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

impl Default for PageLimit {
    fn default() -> Self {
        PageLimit(50)
    }
}

/// The most bytes of the texts of messages on one page, unless it is the first that has more: 200
/// messages could have 200 MiB.
pub(crate) const PAGE_BYTES: usize = 4 << 20;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<T, N = i64> {
    /// The entries, in order.
    pub items: Vec<T>,
    /// Where the next page begins, if there is one.
    pub next: Option<N>,
}

impl<T, N> Listing<T, N> {
    /// The first `limit` of `rows`, each with its position. One row more than the limit shows that
    /// there is a next page.
    pub fn within(rows: Vec<(N, T)>, limit: PageLimit) -> Self {
        let rows = rows.into_iter().map(Ok::<_, Infallible>);
        let Ok(listing) = Listing::within_bytes(rows, limit, |_| 0);
        listing
    }

    /// The first rows of these that are at most `limit`, and take at most 4 MiB, of which one has
    /// `bytes`; the first one, whatever it has. Reads a row more than that, if there is one, which
    /// shows that there is a next page.
    ///
    /// # Errors
    /// That of the first row that has one, of those read.
    pub(crate) fn within_bytes<E>(
        rows: impl IntoIterator<Item = Result<(N, T), E>>,
        limit: PageLimit,
        bytes: impl Fn(&T) -> usize,
    ) -> Result<Self, E> {
        let (mut items, mut last, mut all) = (Vec::new(), None, 0);
        for row in rows {
            let (at, item) = row?;
            all += bytes(&item);
            let is_too_much = all > PAGE_BYTES && !items.is_empty();
            if is_too_much || items.len() == limit.get() {
                return Ok(Listing { items, next: last });
            }
            items.push(item);
            last = Some(at);
        }
        Ok(Listing { items, next: None })
    }
}
