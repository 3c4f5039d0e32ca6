#![doc = include_str!("../README.md")]

#[cfg(feature = "disk")]
pub mod disk;
pub mod generate;
pub mod hostile;
pub mod laws;
#[cfg(all(unix, feature = "postgres"))]
pub mod postgres;
pub mod shared;

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when it goes out of scope, so that the threads that wait for it end when a test fails, too.
#[derive(Debug)]
#[must_use = "it is set at once"]
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
