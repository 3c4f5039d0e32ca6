//! A pool with all of its threads busy, as rayon's own, on which contexts are built.
#![allow(clippy::missing_panics_doc, reason = "a test fails by panicking")]

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use rayon::{Scope, ThreadPool};

/// Runs `work` on a thread of its own while every thread of rayon's own pool is busy. `None` if it
/// has not ended after a minute: it waits for one of them.
pub fn while_busy<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    rayon::in_place_scope(|scope| with_busy(scope, rayon::current_num_threads(), work))
}

/// As [`while_busy`], while every thread of `pool` is busy.
pub fn while_pool_is_busy<T: Send + 'static>(
    pool: &ThreadPool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    pool.in_place_scope(|scope| with_busy(scope, pool.current_num_threads(), work))
}

fn with_busy<T: Send + 'static>(
    scope: &Scope<'_>,
    threads: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let barrier = Arc::new(Barrier::new(threads + 1));
    for _ in 0..threads {
        let barrier = Arc::clone(&barrier);
        scope.spawn(move |_| {
            barrier.wait();
            barrier.wait();
        });
    }
    barrier.wait();
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(work()));
    let done = receiver.recv_timeout(Duration::from_mins(1));
    barrier.wait();
    done.ok()
}
