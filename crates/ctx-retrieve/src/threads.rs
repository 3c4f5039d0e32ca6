//! The threads that read whole stores.

use std::sync::LazyLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// As many threads as rayon's own pool has, for work on whole stores and histories: an adapter that
/// indexes shares that work among them. The first use starts them.
///
/// They are apart from rayon's own pool, on which contexts are built. A thread of a pool finishes
/// what it has before it begins what came from outside, so a build would wait for all batches that
/// are being indexed.
///
/// # Panics
/// The system has no more threads to give, as rayon's own pool does.
pub fn indexing_threads() -> &'static ThreadPool {
    static THREADS: LazyLock<ThreadPool> = LazyLock::new(|| {
        let threads = ThreadPoolBuilder::new().thread_name(|it| format!("ctx-index-{it}"));
        threads.build().expect("the system has threads to give")
    });
    &THREADS
}

#[cfg(test)]
mod tests {
    use ctx_testkit::pool::while_pool_is_busy;
    use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

    use super::*;

    #[test]
    fn builds_go_on_while_all_of_these_threads_are_busy() {
        let sum = || (0..1_000).into_par_iter().sum::<u32>();
        assert_eq!(while_pool_is_busy(indexing_threads(), sum), Some(499_500));
    }
}
