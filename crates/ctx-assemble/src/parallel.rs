//! Work on many items at once, in order and cancellable.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::{AssembleError, Control};

/// How many bytes of work are worth a thread: about a millisecond of counting, some twenty times
/// what starting a thread costs.
const BYTES_PER_THREAD: usize = 128 * 1024;

/// Applies `work` to every item, on as many threads as `bytes` of work are worth, and returns the
/// answers in the items' order. Stops early when `control` says so.
pub(crate) fn map<T, R, W>(
    items: &[T],
    bytes: usize,
    control: &Control,
    work: W,
) -> Result<Vec<R>, AssembleError>
where
    T: Sync,
    R: Send,
    W: Fn(&T, &mut String) -> Result<R, AssembleError> + Sync,
{
    let threads = threads_for(bytes).min(items.len().max(1));
    if threads == 1 {
        let mut scratch = String::new();
        return items
            .iter()
            .map(|item| {
                control.check()?;
                work(item, &mut scratch)
            })
            .collect();
    }
    // Small batches keep the threads equally busy; a batch per item would contend on the counter.
    let batch = (items.len() / (threads * 16)).clamp(1, 1024);
    let next = AtomicUsize::new(0);
    let one_thread = || -> Result<Vec<(usize, Vec<R>)>, AssembleError> {
        let mut scratch = String::new();
        let mut done = Vec::new();
        loop {
            let start = next.fetch_add(batch, Ordering::Relaxed);
            if start >= items.len() {
                return Ok(done);
            }
            let end = (start + batch).min(items.len());
            let mut answers = Vec::with_capacity(end - start);
            for item in &items[start..end] {
                control.check()?;
                answers.push(work(item, &mut scratch)?);
            }
            done.push((start, answers));
        }
    };
    let mut batches = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(one_thread)).collect();
        let mut batches = one_thread()?;
        for other in others {
            batches.extend(other.join().map_err(|_| AssembleError::Lost)??);
        }
        Ok::<_, AssembleError>(batches)
    })?;
    batches.sort_unstable_by_key(|(start, _)| *start);
    Ok(batches
        .into_iter()
        .flat_map(|(_, answers)| answers)
        .collect())
}

fn threads_for(bytes: usize) -> usize {
    let worth = bytes / BYTES_PER_THREAD;
    if worth <= 1 {
        return 1;
    }
    worth.min(thread::available_parallelism().map_or(1, NonZeroUsize::get))
}
