//! The price of everything but the chunks.

use ctx_budget::{Capacity, Reservation};
use ctx_format::Notice;
use ctx_model::{BuildOptions, Tokens};
use smallvec::SmallVec;

use crate::AssembleError;
use crate::price::{Price, Pricer};

/// The prices of the pieces that do not depend on the chosen chunks.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    pub(crate) open: Price,
    pub(crate) close_chunks: Price,
    /// The opening and closing of the list of sources; zero if it is not shown.
    pub(crate) sources: Price,
    pub(crate) separator: Price,
    pub(crate) source_separator: Price,
    pub(crate) close: Price,
    notices: Notices,
    /// Whether the weights of the pieces add up. Then nothing that weighs more than the capacity
    /// can fit.
    joins_safely: bool,
}

/// The weight set aside for the notice that chunks were left out. By default zero, for a context
/// that leaves nothing out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetAside {
    /// The weight that chunks may not take.
    pub(crate) notice: u64,
    /// The least weight of a notice that may have to be written: no context has more room than it
    /// leaves.
    pub(crate) least: u64,
}

/// The prices of notices, by the number of chunks left out.
#[derive(Clone, Debug, Default)]
struct Notices(
    /// One entry per number of digits, with the largest number of chunks of that length, ascending.
    /// If another number of the same length costs more, the final count detects it.
    SmallVec<[(usize, Price); 6]>,
);

impl Notices {
    /// Prices the notices for a total of `total` chunks.
    fn price(
        pricer: &Pricer<'_>,
        options: &BuildOptions,
        total: usize,
    ) -> Result<Self, AssembleError> {
        if !options.include_notice {
            return Ok(Self::default());
        }
        let all = |length| 10_usize.saturating_pow(length).saturating_sub(1);
        let nines = (1..).map(all).take_while(|&it| it < total);
        let numbers = nines.chain((total > 0).then_some(total));
        let price = |omitted| Ok((omitted, notice(pricer, options, omitted, total)?));
        numbers.map(price).collect::<Result<_, _>>().map(Notices)
    }

    /// The prices of the notices that `omitted` chunks or more are left out.
    fn from(&self, omitted: usize) -> impl Iterator<Item = Price> {
        let notices = self.0.iter().filter(move |it| it.0 >= omitted);
        notices.map(|it| it.1)
    }

    /// The price of the notice that `omitted` chunks are left out; zero if there are none.
    fn of(&self, omitted: usize) -> Price {
        let notice = self.from(omitted).next().filter(|_| omitted > 0);
        notice.unwrap_or_default()
    }

    fn dearest(&self) -> Price {
        let prices = self.0.iter().map(|it| it.1);
        prices.fold(Price::default(), |dearest, it| Price {
            weight: dearest.weight.max(it.weight),
            bytes: dearest.bytes.max(it.bytes),
        })
    }
}

impl Fixed {
    /// Prices the pieces of a context of at most `total` chunks, whose blocks were priced before.
    pub(crate) fn price(
        pricer: &Pricer<'_>,
        options: &BuildOptions,
        total: usize,
    ) -> Result<Self, AssembleError> {
        let formatter = pricer.formatter;
        let (sources, source_separator) = if options.include_sources {
            let opening = pricer.piece(|out| formatter.open_sources(out))?;
            let closing = pricer.piece(|out| formatter.close_sources(out))?;
            (
                opening + closing,
                pricer.piece(|out| formatter.source_separator(out))?,
            )
        } else {
            Default::default()
        };
        Ok(Fixed {
            open: pricer.opening(options.header.as_deref())?,
            close_chunks: pricer.piece(|out| formatter.close_chunks(out))?,
            sources,
            separator: pricer.piece(|out| formatter.separator(out))?,
            source_separator,
            close: pricer.piece(|out| formatter.close(options.footer.as_deref(), out))?,
            notices: Notices::price(pricer, options, total)?,
            // All pieces have been priced.
            joins_safely: pricer.joins_safely(options.footer.as_deref()),
        })
    }

    /// The price of everything around the chunks except the notice, in a context that has chunks.
    fn around(&self) -> Price {
        self.open + self.close_chunks + self.sources + self.close
    }

    /// The most bytes around the chunks.
    pub(crate) fn bytes(&self) -> usize {
        (self.around() + self.notices.dearest()).bytes
    }

    /// The weight of the notice that `omitted` chunks are left out; zero if there are none.
    pub(crate) fn notice(&self, omitted: usize) -> u64 {
        self.notices.of(omitted).weight
    }

    /// The distinct weights of the notices that `omitted` chunks or more are left out, the lightest
    /// first; at least one.
    pub(crate) fn notices(&self, omitted: usize) -> SmallVec<[u64; 6]> {
        let mut weights: SmallVec<[u64; 6]> =
            self.notices.from(omitted).map(|it| it.weight).collect();
        weights.sort_unstable();
        weights.dedup();
        if weights.is_empty() {
            weights.push(0);
        }
        weights
    }

    /// The weight to set aside for the heaviest notice.
    pub(crate) fn any_notice(&self) -> SetAside {
        SetAside {
            notice: self.notices.dearest().weight,
            least: self.notices(0)[0],
        }
    }

    /// The weight that chunks may take, each with a separator after it, in a context of at most
    /// `limit` tokens. If a joint may save tokens, `loose` has no bound.
    pub(crate) fn capacity(&self, pricer: &Pricer<'_>, limit: Tokens, aside: SetAside) -> Capacity {
        let around = self.around().weight;
        let left = |weight: u64, notice: u64| {
            let weight = weight.saturating_add(self.spare());
            weight.saturating_sub(around.saturating_add(notice))
        };
        let bounds = pricer.counter.weight_bounds(limit);
        Capacity {
            safe: left(bounds.safe, aside.notice),
            loose: if self.joins_safely {
                left(bounds.loose, aside.least)
            } else {
                u64::MAX
            },
        }
    }

    /// The weight of a context with a notice and chunks of these weights; `chunks` includes a
    /// separator after each.
    pub(crate) fn weight_with(&self, chunks: u64, notice: u64) -> u64 {
        let around = self.around().weight.saturating_add(notice);
        around.saturating_add(chunks).saturating_sub(self.spare())
    }

    /// Every chunk is priced with a separator, but none follows the last one.
    fn spare(&self) -> u64 {
        self.separator.weight + self.source_separator.weight
    }

    /// The weight of the last chunk, of which `weight` counts the separator that it does not have.
    pub(crate) fn without_separator(&self, weight: u64) -> u64 {
        weight.saturating_sub(self.spare())
    }

    /// The tokens of what is around the chunks, and of a notice of this weight.
    pub(crate) fn count_around(&self, pricer: &Pricer<'_>, notice: u64) -> Tokens {
        let weight = self.around().weight.saturating_add(notice);
        pricer.counter.count_of(weight)
    }

    /// The parts of the `least` tokens around the chunks, with a notice of this weight.
    pub(crate) fn parts(
        &self,
        pricer: &Pricer<'_>,
        options: &BuildOptions,
        least: Tokens,
        notice: u64,
    ) -> Reservation {
        // Counts of parts may be rounded up to more than the count of the whole; then the parts are
        // reduced.
        let header = pricer.counter.count_of(self.open.weight).min(least);
        let left = least.saturating_sub(header);
        let notices = pricer.counter.count_of(notice).min(left);
        Reservation {
            header,
            footer: left.saturating_sub(notices),
            notices,
            reserve: options.reserve,
        }
    }
}

/// The price of the notice that `omitted` of `total` chunks were left out.
pub(crate) fn notice(
    pricer: &Pricer<'_>,
    options: &BuildOptions,
    omitted: usize,
    total: usize,
) -> Result<Price, AssembleError> {
    if omitted == 0 || !options.include_notice {
        return Ok(Price::default());
    }
    pricer.piece(|out| pricer.formatter.notice(&Notice { omitted, total }, out))
}
