//! First fit in the order given.

use crate::tally::Tally;
use crate::ticker::{Stop, Ticker};

/// Takes each item by the first of its choices that fits, and skips an item if none does. Pinned
/// items have their cheapest choice from the start, and are improved in their turn. O(choices). A
/// deadline does not stop it early: every answer needs at least this.
pub(crate) fn first_fit(tally: &mut Tally<'_>, ticker: &mut Ticker<'_>) -> Result<(), Stop> {
    for item in 0..tally.chosen.len() {
        ticker.tick_on(1)?;
        tally.take_first(item);
    }
    Ok(())
}
