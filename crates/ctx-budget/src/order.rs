//! Sorting that can be cancelled.

use std::cmp::Ordering;

use crate::ticker::{Stop, Ticker};

/// Elements sorted between two polls: well under a millisecond.
const RUN: usize = 4_096;

/// Sorts stably, unless it is cancelled in between. O(n log n), with room for n more elements.
pub(crate) fn sort_by<T: Copy>(
    items: &mut Vec<T>,
    ticker: &mut Ticker<'_>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(), Stop> {
    for run in items.chunks_mut(RUN) {
        run.sort_by(&compare);
        ticker.tick_on(run.len())?;
    }
    let mut width = RUN;
    let mut merged = Vec::with_capacity(items.len());
    while width < items.len() {
        merged.clear();
        for pair in items.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &mut merged, &compare);
            ticker.tick_on(pair.len())?;
        }
        std::mem::swap(items, &mut merged);
        width *= 2;
    }
    Ok(())
}

fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    merged: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    while let ([first, rest @ ..], [other, others @ ..]) = (left, right) {
        if compare(first, other) == Ordering::Greater {
            merged.push(*other);
            right = others;
        } else {
            merged.push(*first);
            left = rest;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
}
