//! The goals of the load test.

use std::time::Duration;

use super::Run;
use super::level::{Level, quantile};
use super::sweep::Sweep;
use crate::bench::goals::Goal;
use crate::served::Kind;

/// Every goal for the store, based on questions that are all new: cached contexts cost nothing.
pub(super) fn goals(run: &Run) -> Vec<Goal> {
    let sweep = run.sweeps.first();
    let at = |multiple| sweep.and_then(|it| it.at(multiple));
    let (rate, latency) = match run.kind {
        Kind::Embedded => (Some(300.0), 25e6),
        Kind::Postgres => (None, 40e6),
    };
    let mut goals = Vec::new();
    if let Some(rate) = rate {
        let what = "builds/s at the knee, none of them asked before";
        goals.push(Goal::least(what, rate, "", sweep.map(|it| it.knee)));
    }
    if run.kind == Kind::Postgres {
        #[expect(clippy::cast_precision_loss, reason = "there are some 100,000")]
        let parts = run.parts.map(|it| it as f64);
        goals.push(Goal::least("chunks in the database", 1e5, "", parts));
    }
    let half = at(0.5).and_then(|it| p99(it, 200));
    goals.push(Goal::soon("p99 of a build at half the knee", latency, half));
    goals.push(Goal::least(
        "answers in time at 3 × the knee, against those at the knee",
        90.0,
        " %",
        sweep.and_then(|it| kept(it, 3.0)),
    ));
    for multiple in [3.0, 5.0] {
        goals.push(Goal::soon(
            format!("p99 of a 503 at {multiple} × the knee"),
            20e6,
            at(multiple).and_then(|it| p99(it, 503)),
        ));
    }
    goals.push(Goal::most(
        "memory at the end of 5 × the knee, against that at the end of 1 ×",
        1.1,
        " ×",
        sweep.and_then(growth),
    ));
    goals.push(Goal::most(
        "answers that are neither 200 nor 503",
        0.0,
        "",
        Some(errors(run)),
    ));
    goals
}

/// The 99th percentile in nanoseconds.
fn p99(level: &Level, status: u16) -> Option<f64> {
    let found = quantile(&level.latencies(status), 0.99);
    found.map(|it: Duration| it.as_secs_f64() * 1e9)
}

/// Answers in time at this multiple of the knee, in percent of those at the knee.
fn kept(sweep: &Sweep, multiple: f64) -> Option<f64> {
    let at = sweep.at(multiple)?;
    Some(at.goodput() / sweep.knee * 100.0)
}

fn growth(sweep: &Sweep) -> Option<f64> {
    let at_end = |multiple| Some(at_end(&sweep.at(multiple)?.resident));
    let (before, after) = (at_end(1.0)?, at_end(5.0)?);
    (before > 0.0).then(|| after / before)
}

/// The mean of the last quarter.
fn at_end(values: &[u64]) -> f64 {
    let last = &values[values.len() / 4 * 3..];
    #[expect(clippy::cast_precision_loss, reason = "bytes of memory, some 2^32")]
    let mean = last.iter().sum::<u64>() as f64 / last.len().max(1) as f64;
    mean
}

fn errors(run: &Run) -> f64 {
    let levels = run.sweeps.iter().flat_map(Sweep::all);
    let errors: usize = levels.map(Level::errors).sum();
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are not that many requests"
    )]
    let errors = errors as f64;
    errors
}
