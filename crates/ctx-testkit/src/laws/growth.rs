//! Measures how the time of work grows with the size of its input.

use std::hint::black_box;
use std::time::Duration;

/// The largest allowed ratio of times when the input doubles: twice, with a margin for caches and
/// allocators. Quadratic work takes four times as long.
const MOST: f64 = 2.6;

/// The least time for the smallest of the three inputs, so that the clock and interrupts hardly
/// matter.
const LEAST: Duration = Duration::from_millis(1);

/// The first length tried, and the greatest length of the smallest input, in units of the input.
const LENGTHS: [usize; 2] = [1 << 10, 1 << 20];

/// How many times each length is measured before the shortest times are judged, and before work is
/// refused.
const TIMES: [usize; 2] = [4, 12];

/// How often lengths are doubled before work is finally refused, and the time of one run after
/// which they are not doubled any more.
const DOUBLINGS: usize = 2;
const LONG: Duration = Duration::from_millis(200);

/// Checks that `work` takes time linear in the length of its input: from inputs of length `n` to
/// `2n` and `4n`, each doubling takes at most 2.6 times as long. `input` makes an input of about a
/// given length; `n` is chosen so that a run takes at least a millisecond.
///
/// It measures the processor time of this thread and takes the shortest of many runs, so that other
/// activity of the machine hardly matters. Before work is refused, longer inputs are tried. It
/// cannot detect growth that is hidden by a large fixed cost, or work done by other threads.
///
/// # Panics
/// If it takes longer, with `what` and the times.
#[track_caller]
pub fn linear<I, O>(what: &str, input: impl Fn(usize) -> I, work: impl Fn(&I) -> O) {
    let mut n = first_length(&input, &work);
    let mut told = Vec::new();
    for _ in 0..=DOUBLINGS {
        let inputs = [n, 2 * n, 4 * n].map(&input);
        let best = shortest(&inputs, &work);
        if is_linear(best) {
            return;
        }
        told.push(format!("{n}: {best:?}"));
        if best[2] > LONG {
            break;
        }
        n *= 2;
    }
    let told = told.join(", ");
    panic!("{what}: twice as much takes more than {MOST} times as long, from a length of {told}");
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

/// The shortest of many runs for each of the three inputs, measured in turns.
fn shortest<I, O>(inputs: &[I; 3], work: &impl Fn(&I) -> O) -> [Duration; 3] {
    let mut best = [Duration::MAX; 3];
    for time in 1..=TIMES[1] {
        for (best, input) in best.iter_mut().zip(inputs) {
            *best = time_of(input, work).min(*best);
        }
        if time >= TIMES[0] && (is_linear(best) || best[2] > LONG) {
            break;
        }
    }
    best
}

fn is_linear([one, two, four]: [Duration; 3]) -> bool {
    two <= one.mul_f64(MOST) && four <= two.mul_f64(MOST)
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
    #[should_panic(expected = "pairs: twice as much takes more than 2.6 times as long")]
    fn all_pairs_are_not() {
        linear("pairs", bytes, |it| {
            let is_same = |&at: &usize| it[at..].iter().all(|&it| it == b'a');
            (0..it.len()).filter(is_same).count()
        });
    }

    #[test]
    #[should_panic(expected = "now and then: twice as much takes more than 2.6 times as long")]
    fn a_search_to_the_end_from_every_hundredth_place_is_not() {
        linear("now and then", bytes, |it| {
            let after = |at: usize| it[at..].iter().position(|&it| it == b'b');
            (0..it.len()).step_by(100).filter_map(after).count()
        });
    }
}
