#![cfg_attr(any(not(doctest), feature = "tokens"), doc = include_str!("../README.md"))]

#[cfg(feature = "disk")]
pub mod disk;
pub mod few;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod generate;
#[cfg(feature = "git")]
pub mod git;
pub mod hostile;
pub mod laws;
#[cfg(feature = "pool")]
pub mod pool;
#[cfg(all(unix, feature = "postgres"))]
pub mod postgres;
pub mod shared;
pub mod skip;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Sets a flag when it goes out of scope, so that threads that wait for it also end if a test
/// fails.
#[derive(Debug)]
#[must_use = "it is set at once"]
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The duration of a race between threads: one second, or `CTX_RACE_SECONDS`; at most a minute
/// longer on a slow machine, until enough has happened.
#[derive(Debug)]
pub struct Race {
    began: Instant,
    wanted: Duration,
}

impl Race {
    /// Begins a race.
    #[must_use]
    pub fn begin() -> Self {
        let seconds = std::env::var("CTX_RACE_SECONDS").ok();
        let seconds = seconds.and_then(|it| it.parse().ok()).unwrap_or(1);
        Race {
            began: Instant::now(),
            wanted: Duration::from_secs(seconds),
        }
    }

    /// Whether the race continues; `is_enough` says whether enough has happened.
    #[must_use]
    pub fn goes_on(&self, is_enough: bool) -> bool {
        let patience = Duration::from_mins(1);
        let elapsed = self.began.elapsed();
        elapsed < self.wanted || !is_enough && elapsed < self.wanted + patience
    }
}
