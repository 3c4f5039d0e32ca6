//! The knee, and what lies below and beyond it.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::level::{self, Level};
use super::workload::{Corpus, Questions};
use crate::served::{Client, Owner, Served};

/// Levels, as multiples of the knee.
const MULTIPLES: [f64; 5] = [0.5, 1.0, 2.0, 3.0, 5.0];
/// Up to the knee, so many requests are answered in time.
const ANSWERED: f64 = 0.99;
/// A server gets warm as long as it gets quicker by so much.
const QUICKER: f64 = 1.03;
/// So many levels are enough for that.
const MOST_WARMING: usize = 16;
/// The steps in search of it: each so much more than the one before.
const STEP: f64 = 1.12;

/// One kind of questions, at every level.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// The share of questions that were asked a moment ago.
    pub(crate) repeats: f64,
    /// The most that a few callers got who waited for their answers, of levels until two in a row brought no more.
    pub(crate) closed: f64,
    /// The search for the knee, in order.
    pub(crate) steps: Vec<Level>,
    /// The highest rate of which nearly all was answered in time.
    pub(crate) knee: f64,
    /// Each level, by the multiple of the knee.
    pub(crate) levels: Vec<(f64, Level)>,
}

impl Sweep {
    /// Every level, those of the search too.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Level> {
        self.steps.iter().chain(self.levels.iter().map(|it| &it.1))
    }

    /// The level at so many times the knee.
    pub(crate) fn at(&self, multiple: f64) -> Option<&Level> {
        let mut levels = self.levels.iter();
        let found = levels.find(|it| (it.0 - multiple).abs() < 1e-9);
        found.map(|it| &it.1)
    }
}

/// Warms up, climbs until requests are turned away or late, and goes on beyond.
///
/// # Errors
/// Not even a little is answered.
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
    let mut steps: Vec<Level> = Vec::new();
    let (mut rate, mut knee, mut failed) = (closed * 0.6, 0.0, 0);
    // Twice: a machine that others use is at times slow for a moment.
    while failed < 2 && steps.len() < 16 {
        let level = level::run(client, served, &mut questions, rate, time).await?;
        println!("{}", line(&level));
        if level.share() >= ANSWERED {
            knee = level.offered();
            failed = 0;
        } else {
            failed += 1;
        }
        steps.push(level);
        rate *= match knee {
            0.0 => 0.5,
            _ => STEP,
        };
    }
    ensure!(knee > 0.0, "the knee is below {rate:.1} builds/s");
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

/// Whether either of the last two rates is more than those before: what a server keeps of texts and counts makes it
/// quicker for a while, and a machine that others use is slow for a moment.
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
