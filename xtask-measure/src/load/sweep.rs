//! Finds the knee, and measures below and beyond it.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::level::{self, Level};
use super::workload::{Corpus, Questions};
use crate::served::{Client, Owner, Served};

/// Levels, as multiples of the knee.
const MULTIPLES: [f64; 5] = [0.5, 1.0, 2.0, 3.0, 5.0];
/// The share of requests that are answered in time up to the knee.
const ANSWERED: f64 = 0.99;
/// The server counts as warming up while its rate grows by more than this factor.
const QUICKER: f64 = 1.03;
/// The most levels for warming up.
const MOST_WARMING: usize = 16;
/// The factor between two steps of the search for the knee.
const STEP: f64 = 1.12;
/// The most rates that are tried.
const MOST_STEPS: usize = 24;
/// The interval between the highest good rate and the lowest bad one is halved until their ratio is
/// at most this.
const CLOSE: f64 = 1.03;

/// The results of one kind of questions at every level.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// The share of questions that were asked a moment ago.
    pub(crate) repeats: f64,
    /// The highest rate of a few callers that wait for their answers, over levels until two in a
    /// row bring no more.
    pub(crate) closed: f64,
    /// The search for the knee, in order.
    pub(crate) steps: Vec<Level>,
    /// The highest rate at which nearly all requests are answered in time.
    pub(crate) knee: f64,
    /// Each level, with its multiple of the knee.
    pub(crate) levels: Vec<(f64, Level)>,
}

impl Sweep {
    /// All levels, including those of the search.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Level> {
        self.steps.iter().chain(self.levels.iter().map(|it| &it.1))
    }

    /// The level at this multiple of the knee.
    pub(crate) fn at(&self, multiple: f64) -> Option<&Level> {
        let mut levels = self.levels.iter();
        let found = levels.find(|it| (it.0 - multiple).abs() < 1e-9);
        found.map(|it| &it.1)
    }
}

/// Warms up, climbs until requests are rejected or late, halves the remaining interval, and goes on
/// beyond the knee.
///
/// # Errors
/// Not even a low rate is answered, or every rate is.
pub(crate) async fn run(
    client: &Client,
    served: &Served,
    corpus: &Corpus,
    owners: &[Owner],
    repeats: f64,
    time: Duration,
) -> Result<Sweep> {
    let mut questions = Questions::new(corpus, owners, repeats, repeats.to_bits());
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let callers = 2 * cores;
    let mut warm = vec![level::closed(client, &mut questions, callers, time).await?];
    while is_warming(&warm) {
        warm.push(level::closed(client, &mut questions, callers, time).await?);
    }
    let closed = warm.iter().copied().fold(0.0, f64::max);
    ensure!(closed > 0.0, "no build was answered with 200");
    println!(
        "\n{:.0} % repeats: {closed:.0} builds/s to {callers} callers who wait, the most of {} levels until it got no quicker",
        repeats * 100.0,
        warm.len(),
    );
    let mut search = Search::from(closed * 0.6);
    let (mut steps, mut knee) = (Vec::new(), 0.0);
    while let Some(rate) = search.next() {
        let level = level::run(client, served, &mut questions, rate, time).await?;
        println!("{}", line(&level));
        let is_answered = level.share() >= ANSWERED;
        if is_answered {
            // The actual rate, not the intended one: they differ by some percent if the time is
            // short.
            knee = level.offered().max(knee);
        }
        search.note(rate, is_answered);
        steps.push(level);
    }
    let asked = steps.last().map_or(0.0, Level::offered);
    ensure!(knee > 0.0, "the knee is below {asked:.1} builds/s");
    ensure!(
        !search.above.is_empty(),
        "the knee is above {knee:.1} builds/s"
    );
    println!("the knee is at {knee:.0} builds/s");
    let mut levels = Vec::new();
    for multiple in MULTIPLES {
        let level = level::run(client, served, &mut questions, knee * multiple, time).await?;
        println!("{multiple} x: {}", line(&level));
        levels.push((multiple, level));
    }
    Ok(Sweep {
        repeats,
        closed,
        steps,
        knee,
        levels,
    })
}

/// The search for the highest rate at which nearly all requests are answered: a climb, followed by
/// bisection.
#[derive(Debug)]
struct Search {
    /// The next rate of the climb.
    climb: f64,
    /// The highest rate that was answered; 0 if none was.
    low: f64,
    /// The higher rates that were not answered.
    above: Vec<f64>,
    asked: usize,
}

impl Search {
    fn from(rate: f64) -> Self {
        Search {
            climb: rate,
            low: 0.0,
            above: Vec::new(),
            asked: 0,
        }
    }

    /// The next rate to try; `None` at the end.
    fn next(&self) -> Option<f64> {
        if self.asked == MOST_STEPS {
            return None;
        }
        if self.climbs() {
            return Some(self.climb);
        }
        let high = self.above.iter().copied().fold(f64::INFINITY, f64::min);
        (high > self.low * CLOSE).then(|| (self.low * high).sqrt())
    }

    /// The climb goes on until two rates were not answered: a shared machine may be slow for a
    /// moment.
    fn climbs(&self) -> bool {
        self.above.len() < 2 || self.low == 0.0
    }

    fn note(&mut self, rate: f64, is_answered: bool) {
        self.asked += 1;
        if self.climbs() {
            let is_found = is_answered || self.low > 0.0;
            self.climb = rate * if is_found { STEP } else { 0.5 };
        }
        if !is_answered {
            self.above.push(rate);
            return;
        }
        if self.low == 0.0
            && let Some(&last) = self.above.last()
        {
            // The machine may have been slow at the beginning, so the last of those is tried again.
            self.climb = last;
            self.above.clear();
        }
        self.low = rate;
        self.above.retain(|it| *it > rate);
    }
}

/// Whether either of the last two rates exceeds those before: a server becomes faster while its
/// caches fill, and a shared machine may be slow for a moment.
fn is_warming(rates: &[f64]) -> bool {
    let (before, last) = rates.split_at(rates.len().saturating_sub(2));
    let best = before.iter().copied().fold(0.0, f64::max);
    rates.len() < MOST_WARMING && last.iter().any(|it| *it > best * QUICKER)
}

fn line(level: &Level) -> String {
    let of = |status, share| {
        let found = level::quantile(&level.latencies(status), share);
        found.map_or(f64::NAN, |it| it.as_secs_f64() * 1000.0)
    };
    format!(
        "{:.0}/s offered, {:.0}/s in time; 200: {:.1} / {:.1} ms; 503: {:.1} / {:.1} ms (p50 / p99); {} errors; cores {:.2} server, {:.2} client, {:.2} others; {:.1} ms of the server's per context",
        level.offered(),
        level.goodput(),
        of(200, 0.5),
        of(200, 0.99),
        of(503, 0.5),
        of(503, 0.99),
        level.errors(),
        level.server_cores,
        level.client_cores,
        level.other_cores,
        level.processor() * 1000.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates of a search that starts with `first`; `answered` says at which rates nearly all
    /// requests are answered.
    fn searched(first: f64, answered: impl Fn(usize, f64) -> bool) -> (Vec<f64>, f64) {
        let mut search = Search::from(first);
        let mut rates = Vec::new();
        while let Some(rate) = search.next() {
            search.note(rate, answered(rates.len(), rate));
            rates.push(rate);
        }
        (rates, search.low)
    }

    #[test]
    fn the_knee_is_found_to_a_few_percent() {
        for knee in [10.0, 97.0, 180.0, 311.0, 500.0] {
            let (rates, low) = searched(100.0, |_, rate| rate <= knee);
            assert!(low <= knee && knee < low * CLOSE, "{knee}: {rates:?}");
        }
        for answered in [false, true] {
            let (rates, low) = searched(100.0, |_, _| answered);
            assert!(rates.len() == MOST_STEPS && (low > 0.0) == answered);
        }
    }

    #[test]
    fn a_slow_moment_while_it_climbs_is_passed_over() {
        for slow in 0..6 {
            let (rates, low) = searched(100.0, |at, rate| at != slow && rate <= 200.0);
            assert!(low <= 200.0 && 200.0 < low * CLOSE, "{slow}: {rates:?}");
        }
        let (rates, low) = searched(100.0, |at, rate| at > 1 && rate <= 200.0);
        assert!(low <= 200.0 && 200.0 < low * CLOSE, "{rates:?}");
    }

    #[test]
    fn it_is_warm_when_two_levels_bring_nothing() {
        assert!(is_warming(&[5.0]) && is_warming(&[5.0, 9.0]));
        assert!(is_warming(&[5.0, 9.0, 9.1]), "9 is more than 5");
        assert!(!is_warming(&[5.0, 9.0, 9.1, 3.0]));
        assert!(is_warming(&[5.0, 9.0, 3.0, 9.5]));
        assert!(is_warming(&[0.0, 0.0, 0.0, 1.0]) && !is_warming(&[0.0, 0.0, 0.0]));
        let quicker: Vec<f64> = (1..=16).map(f64::from).collect();
        assert!(is_warming(&quicker[..15]) && !is_warming(&quicker));
    }
}
