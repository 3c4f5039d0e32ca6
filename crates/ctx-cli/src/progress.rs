//! A progress line for long work.

use std::io::{IsTerminal as _, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report::Report;

/// Work shorter than this shows no progress.
const PATIENCE: Duration = Duration::from_millis(300);
const REFRESH: Duration = Duration::from_millis(100);

/// Shows progress on standard error as long as it lives, if that is a terminal, the work is long
/// and `--quiet` was not given; otherwise does nothing at all.
#[derive(Debug)]
pub(crate) struct Progress {
    done: Arc<AtomicUsize>,
    /// The number of steps; 0 while unknown.
    total: Arc<AtomicUsize>,
    // Held for its drop: the thread ends when the channel closes.
    watcher: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins work of `total` steps, or of an unknown number if that is 0.
    pub(crate) fn start(what: &'static str, total: usize, report: Report) -> Self {
        let done = Arc::new(AtomicUsize::new(0));
        let total = Arc::new(AtomicUsize::new(total));
        let is_shown = !report.is_quiet() && stderr().is_terminal();
        let watcher = is_shown.then(|| {
            let (alive, closed) = channel();
            let (steps, all) = (Arc::clone(&done), Arc::clone(&total));
            let watch = move || {
                if closed.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let mut length = all.load(Ordering::Relaxed);
                let bar = bar(what, length);
                while closed.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
                    let now = all.load(Ordering::Relaxed);
                    if now != length {
                        length = now;
                        set_length(&bar, length);
                    }
                    bar.set_position(steps.load(Ordering::Relaxed) as u64);
                    bar.tick();
                }
                bar.finish_and_clear();
            };
            (alive, std::thread::spawn(watch))
        });
        Progress {
            done,
            total,
            watcher,
        }
    }

    /// Sets how many steps are done, and of how many.
    pub(crate) fn set(&self, done: usize, total: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// Counts one more step as done.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((alive, watcher)) = self.watcher.take() {
            drop(alive);
            // A failed progress line is not an error.
            let _ = watcher.join();
        }
    }
}

fn bar(what: &'static str, total: usize) -> ProgressBar {
    let bar = ProgressBar::no_length();
    bar.set_draw_target(ProgressDrawTarget::stderr());
    set_length(&bar, total);
    bar.with_message(what)
}

fn set_length(bar: &ProgressBar, total: usize) {
    let template = if total == 0 {
        "{spinner} {msg} {elapsed}"
    } else {
        bar.set_length(total as u64);
        "{msg} {wide_bar} {pos}/{len} {eta}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}
