//! Measures how the time of work grows with the size of its input.

use std::hint::black_box;
use std::time::Duration;

/// How many times as long the large input is as the small one.
const TIMES_AS_LONG: usize = 16;

/// The largest allowed ratio of their times. Linear work takes 16 times as long, quadratic work 256
/// times: the limit is a factor of four from either, so that neither caches nor other work of the
/// machine lead to it.
const MOST: u32 = 64;

/// The least time for the small input, so that the clock and interrupts hardly matter.
const LEAST: Duration = Duration::from_micros(500);

/// The first length tried, and the greatest length of the small input, in units of the input.
const LENGTHS: [usize; 2] = [1 << 9, 1 << 18];

/// How many times each length is measured before work is refused: work that takes [`LONG`], and
/// any other.
const RUNS: [usize; 2] = [4, 12];

/// How often lengths are doubled before work is finally refused, and the time of one run after
/// which they are not doubled any more.
const DOUBLINGS: usize = 2;
const LONG: Duration = Duration::from_millis(200);

/// Checks that `work` takes time linear in the length of its input: for 16 times as much, at most
/// 64 times as long. `input` makes an input of about a given length; the lengths are chosen so that
/// a run takes at least half a millisecond.
///
/// It measures the processor time of this thread and takes the shortest of many runs, so that other
/// activity of the machine hardly matters. Before work is refused, longer inputs are tried. It
/// cannot detect growth that is hidden by a fixed cost, nor that of work in which less than a
/// fifth of the time for the small input grows with the square; nor work done by other threads.
///
/// # Panics
/// If it takes longer, with `what` and the times.
#[track_caller]
pub fn linear<I, O>(what: &str, input: impl Fn(usize) -> I, work: impl Fn(&I) -> O) {
    let mut n = first_length(&input, &work);
    let mut told = Vec::new();
    for _ in 0..=DOUBLINGS {
        let inputs = [n, TIMES_AS_LONG * n].map(&input);
        let best = shortest(&inputs, &work);
        if is_linear(best) {
            return;
        }
        told.push(format!("{n}: {best:?}"));
        if best[1] > LONG {
            break;
        }
        n *= 2;
    }
    let told = told.join(", ");
    panic!(
        "{what}: {TIMES_AS_LONG} times as much takes more than {MOST} times as long, from a length \
         of {told}"
    );
}

/// The shortest length that takes [`LEAST`], found by doubling.
fn first_length<I, O>(input: &impl Fn(usize) -> I, work: &impl Fn(&I) -> O) -> usize {
    let [mut n, longest] = LENGTHS;
    // One-time work, such as compiling an expression, is done before anything is measured.
    time_of(&input(n), work);
    while n < longest && time_of(&input(n), work) < LEAST {
        n *= 2;
    }
    n
}

/// The shortest of many runs for each of the inputs, measured in turns until they are linear.
fn shortest<I, O>(inputs: &[I; 2], work: &impl Fn(&I) -> O) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    for run in 1..=RUNS[1] {
        for (best, input) in best.iter_mut().zip(inputs) {
            *best = time_of(input, work).min(*best);
        }
        if is_linear(best) || run >= RUNS[0] && best[1] > LONG {
            break;
        }
    }
    best
}

fn is_linear([small, large]: [Duration; 2]) -> bool {
    large <= small * MOST
}

fn time_of<I, O>(input: &I, work: &impl Fn(&I) -> O) -> Duration {
    let began = clock();
    black_box(work(black_box(input)));
    clock().saturating_sub(began)
}

/// The processor time that this thread has used so far.
#[cfg(unix)]
fn clock() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("no time is negative")
}

#[cfg(not(unix))]
fn clock() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(length: usize) -> Vec<u8> {
        vec![b'a'; length]
    }

    #[test]
    fn one_pass_is_linear() {
        linear("a sum", bytes, |it| {
            it.iter().map(|&it| u64::from(it)).sum::<u64>()
        });
        linear("a sorted list", bytes, |it| {
            let mut it = it.clone();
            it.sort_unstable();
            it
        });
        linear("nothing", bytes, Vec::len);
    }

    #[test]
    #[should_panic(expected = "pairs: 16 times as much takes more than 64 times as long")]
    fn all_pairs_are_not() {
        linear("pairs", bytes, |it| {
            let is_same = |&at: &usize| it[at..].iter().all(|&it| it == b'a');
            (0..it.len()).filter(is_same).count()
        });
    }

    #[test]
    #[should_panic(expected = "now and then: 16 times as much takes more than 64 times as long")]
    fn a_search_to_the_end_from_every_hundredth_place_is_not() {
        linear("now and then", bytes, |it| {
            let after = |at: usize| it[at..].iter().position(|&it| it == b'b');
            (0..it.len()).step_by(100).filter_map(after).count()
        });
    }
}
