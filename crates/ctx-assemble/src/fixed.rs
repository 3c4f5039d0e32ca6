//! What the context costs before any chunk is in it.

use ctx_budget::{BudgetError, Capacity, Reservation};
use ctx_format::Notice;
use ctx_model::{BuildOptions, Tokens};

use crate::AssembleError;
use crate::price::{Price, Pricer};

/// The prices of the pieces that do not depend on which chunks are chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    pub(crate) open: Price,
    pub(crate) close_chunks: Price,
    /// Opening and closing of the list of sources; nothing where it is not shown.
    pub(crate) sources: Price,
    pub(crate) separator: Price,
    pub(crate) source_separator: Price,
    pub(crate) close: Price,
    /// The notice that everything was left out.
    notice_of_all: Price,
    /// The dearest notice there can be.
    dearest_notice: Price,
}

impl Fixed {
    /// Prices the pieces of a context of at most `total` chunks.
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
            open: pricer.piece(|out| formatter.open(options.header.as_deref(), out))?,
            close_chunks: pricer.piece(|out| formatter.close_chunks(out))?,
            sources,
            separator: pricer.piece(|out| formatter.separator(out))?,
            source_separator,
            close: pricer.piece(|out| formatter.close(options.footer.as_deref(), out))?,
            notice_of_all: notice(pricer, options, total, total)?,
            dearest_notice: dearest_notice(pricer, options, total)?,
        })
    }

    /// The price of everything around the chunks, in a context that has some.
    pub(crate) fn around(&self, notice: bool) -> Price {
        let notice = if notice {
            self.dearest_notice
        } else {
            Price::default()
        };
        self.open + self.close_chunks + self.sources + self.close + notice
    }

    /// The weights that chunks may take, each with a separator after it, in a context that needs
    /// at most `limit` tokens.
    pub(crate) fn capacity(&self, pricer: &Pricer<'_>, limit: Tokens, notice: bool) -> Capacity {
        let around = self.around(notice).weight;
        let left = |weight: u64| weight.saturating_add(self.spare()).saturating_sub(around);
        let capacity = pricer.counter.capacity(limit);
        Capacity {
            safe: left(capacity.safe),
            loose: left(capacity.loose),
        }
    }

    /// The weight of a context with chunks of this weight, each with a separator after it.
    pub(crate) fn weight_with(&self, chunks: u64, notice: bool) -> u64 {
        let whole = self.around(notice).weight.saturating_add(chunks);
        whole.saturating_sub(self.spare())
    }

    /// Every chunk is priced with a separator, but none follows the last one.
    fn spare(&self) -> u64 {
        self.separator.weight + self.source_separator.weight
    }

    /// The error that says what is needed: `least` tokens, and `pinned` more.
    pub(crate) fn too_small(
        &self,
        pricer: &Pricer<'_>,
        options: &BuildOptions,
        least: Tokens,
        pinned: Tokens,
    ) -> BudgetError {
        // Counts of parts may round to more than the count of the whole; the parts give way.
        let tokens = |price: Price| pricer.counter.count_of(price.weight);
        let header = tokens(self.open).min(least);
        let left = least.saturating_sub(header);
        let notices = tokens(self.notice_of_all).min(left);
        let parts = Reservation {
            header,
            footer: left.saturating_sub(notices),
            notices,
            reserve: options.reserve,
        };
        BudgetError::too_small(options.max_tokens, &parts, pinned)
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

/// The dearest of the notices for one number of each length; should a counter find another number
/// of that length dearer, the final count finds out.
fn dearest_notice(
    pricer: &Pricer<'_>,
    options: &BuildOptions,
    total: usize,
) -> Result<Price, AssembleError> {
    let mut dearest = notice(pricer, options, total, total)?;
    let mut nines = 9;
    while nines < total {
        let price = notice(pricer, options, nines, total)?;
        dearest = Price {
            weight: dearest.weight.max(price.weight),
            bytes: dearest.bytes.max(price.bytes),
        };
        nines = nines.saturating_mul(10).saturating_add(9);
    }
    Ok(dearest)
}
