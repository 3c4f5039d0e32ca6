//! Parallel work on many items, in order and cancellable.

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::{AssembleError, Control};

/// The least number of bytes for which another thread is used: some hundred microseconds of
/// counting, twenty times the cost of waking a thread.
const WORTH_A_THREAD: usize = 32 * 1024;

/// The number of bytes hashed between two checks for cancellation: some hundred microseconds.
const HASHED: usize = 1 << 20;

/// Whether `bytes` of work are shared among the threads of rayon's pool.
fn is_shared(bytes: usize, control: &Control) -> bool {
    !control.one_thread && bytes >= 2 * WORTH_A_THREAD
}

/// Applies `work` to every item and returns the results in the items' order. Uses the threads of
/// rayon's pool if `bytes` of work are enough and `control` allows it. Stops early if `control` is
/// cancelled.
pub(crate) fn map<T, R, W>(
    items: &[T],
    bytes: usize,
    control: &Control,
    work: W,
) -> Result<Vec<R>, AssembleError>
where
    T: Sync,
    R: Send,
    W: Fn(&T) -> Result<R, AssembleError> + Sync,
{
    map_with(items, bytes, control, |item, (): &mut ()| work(item))
}

/// As [`map`], with scratch memory that a thread keeps from one item to the next.
pub(crate) fn map_with<T, R, S, W>(
    items: &[T],
    bytes: usize,
    control: &Control,
    work: W,
) -> Result<Vec<R>, AssembleError>
where
    T: Sync,
    R: Send,
    S: Default,
    W: Fn(&T, &mut S) -> Result<R, AssembleError> + Sync,
{
    let step = |scratch: &mut S, item: &T| {
        control.check()?;
        work(item, scratch)
    };
    if !is_shared(bytes, control) {
        let mut scratch = S::default();
        return items.iter().map(|item| step(&mut scratch, item)).collect();
    }
    let per_item = (bytes / items.len().max(1)).max(1);
    items
        .par_iter()
        .with_min_len((WORTH_A_THREAD / per_item).max(1))
        .map_init(S::default, step)
        .collect()
}

/// BLAKE3 of `text`, on the threads of rayon's pool as in [`map`]. Stops early if `control` is
/// cancelled. O(bytes).
pub(crate) fn hash(text: &str, control: &Control) -> Result<blake3::Hash, AssembleError> {
    let mut hasher = blake3::Hasher::new();
    for part in text.as_bytes().chunks(HASHED) {
        control.check()?;
        if is_shared(part.len(), control) {
            hasher.update_rayon(part);
        } else {
            hasher.update(part);
        }
    }
    Ok(hasher.finalize())
}
