//! rayon's own pool, on which contexts are built, with all of its threads busy.
#![allow(clippy::missing_panics_doc, reason = "a test fails by panicking")]

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Runs `work` on a thread of its own while every thread of rayon's own pool is busy. `None` if it
/// has not ended after a minute: it waits for one of them.
pub fn while_busy<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let threads = rayon::current_num_threads();
    let barrier = Barrier::new(threads + 1);
    rayon::in_place_scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|_| {
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
    })
}
