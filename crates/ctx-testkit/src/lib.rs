#![cfg_attr(any(not(doctest), feature = "tokens"), doc = include_str!("../README.md"))]

#[cfg(feature = "disk")]
pub mod disk;
pub mod few;
pub mod generate;
#[cfg(feature = "git")]
pub mod git;
pub mod hostile;
pub mod laws;
#[cfg(all(unix, feature = "postgres"))]
pub mod postgres;
pub mod shared;
pub mod skip;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Sets a flag when it goes out of scope, so that the threads that wait for it end when a test fails, too.
#[derive(Debug)]
#[must_use = "it is set at once"]
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// How long two race: a second, or as many as `CTX_RACE_SECONDS` says; and on a slow machine until there was enough of
/// a race, for a minute more at most.
#[derive(Debug)]
pub struct Race {
    began: Instant,
    wanted: Duration,
}

impl Race {
    /// Begins one.
    #[must_use]
    pub fn begin() -> Self {
        let seconds = std::env::var("CTX_RACE_SECONDS").ok();
        let seconds = seconds.and_then(|it| it.parse().ok()).unwrap_or(1);
        Race {
            began: Instant::now(),
            wanted: Duration::from_secs(seconds),
        }
    }

    /// Whether it goes on.
    #[must_use]
    pub fn goes_on(&self, is_enough: bool) -> bool {
        let patience = Duration::from_mins(1);
        let elapsed = self.began.elapsed();
        elapsed < self.wanted || !is_enough && elapsed < self.wanted + patience
    }
}
