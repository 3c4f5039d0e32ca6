//! One level of load: requests arrive at their times, whatever became of earlier ones (an open
//! system).

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;
use tokio::task::JoinSet;

use super::workload::Questions;
use crate::served::{Client, Reply, Served, Usage, machine_busy, own_usage};

/// How long a caller waits; a later answer is useless.
pub(crate) const DEADLINE: Duration = Duration::from_secs(1);
/// The interval at which memory is sampled.
const LOOK: Duration = Duration::from_millis(100);
/// A request without an answer after this time counts as an error.
const PATIENCE: Duration = Duration::from_secs(15);

/// The result of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// The status; `None` if there was no answer.
    pub(crate) status: Option<u16>,
    /// The time since the request was due, not since it was sent.
    pub(crate) latency: Duration,
    /// How much later than due it was sent.
    pub(crate) lag: Duration,
    /// Whether the context came from the cache, according to the answer.
    pub(crate) is_cached: bool,
    /// Whether a source of the context was too slow to contribute.
    pub(crate) is_partial: bool,
}

/// The results of one level.
#[derive(Debug)]
pub(crate) struct Level {
    /// The intended requests per second.
    pub(crate) rate: f64,
    /// How long requests arrived.
    pub(crate) time: Duration,
    pub(crate) samples: Vec<Sample>,
    /// The server's memory in bytes, over time.
    pub(crate) resident: Vec<u64>,
    /// Cores that the server, this client, and everything else kept busy.
    pub(crate) server_cores: f64,
    pub(crate) client_cores: f64,
    pub(crate) other_cores: f64,
}

/// Sends requests at `rate` per second, as a Poisson process, for `time`, and waits for all of them
/// to end.
///
/// # Errors
/// A request cannot be created.
pub(crate) async fn run(
    client: &Client,
    served: &Served,
    questions: &mut Questions<'_>,
    rate: f64,
    time: Duration,
) -> Result<Level> {
    let watch = Watch::start(served);
    let resident = Rc::new(RefCell::new(Vec::new()));
    let mut random = Rng::with_seed(rate.to_bits());
    let mut tasks = JoinSet::new();
    let start = Instant::now();
    let (mut due, mut looked) = (Duration::ZERO, Duration::ZERO);
    loop {
        // The time between two arrivals of a Poisson process.
        due += Duration::from_secs_f64(-(1.0 - random.f64()).ln() / rate);
        if due >= time {
            break;
        }
        let request = questions.next()?;
        tokio::time::sleep_until((start + due).into()).await;
        if looked <= start.elapsed() {
            looked = start.elapsed() + LOOK;
            resident.borrow_mut().push(served.usage().resident);
        }
        let client = client.clone();
        tasks.spawn_local(async move {
            let lag = start.elapsed().saturating_sub(due);
            let reply = tokio::time::timeout(PATIENCE, client.ask(request)).await;
            let latency = start.elapsed().saturating_sub(due);
            let reply = reply.ok().and_then(Result::ok);
            let says = |what| reply.as_ref().is_some_and(|it: &Reply| it.contains(what));
            Sample {
                status: reply.as_ref().map(|it| it.status),
                latency,
                lag,
                is_cached: says("\"timings\":[]"),
                is_partial: says("\"source_failed\""),
            }
        });
    }
    let (server_cores, client_cores, other_cores) = watch.cores(served);
    let samples = tasks.join_all().await;
    Ok(Level {
        rate,
        time,
        samples,
        resident: resident.take(),
        server_cores,
        client_cores,
        other_cores,
    })
}

/// How many builds per second `many` callers get if each asks again as soon as it is answered:
/// about the capacity.
///
/// # Errors
/// A request cannot be created.
pub(crate) async fn closed(
    client: &Client,
    questions: &mut Questions<'_>,
    many: usize,
    time: Duration,
) -> Result<f64> {
    let (mut tasks, mut done) = (JoinSet::new(), 0_u32);
    let start = Instant::now();
    while start.elapsed() < time {
        while tasks.len() < many {
            let (client, request) = (client.clone(), questions.next()?);
            tasks.spawn_local(async move { client.ask(request).await });
        }
        if let Some(Ok(Ok(reply))) = tasks.join_next().await {
            done += u32::from(reply.status == 200);
        }
    }
    let rate = f64::from(done) / start.elapsed().as_secs_f64();
    tasks.join_all().await;
    Ok(rate)
}

/// Measures which processes keep the processor busy.
struct Watch {
    start: Instant,
    server: Usage,
    client: Usage,
    all: Duration,
}

impl Watch {
    fn start(served: &Served) -> Self {
        Watch {
            start: Instant::now(),
            server: served.usage(),
            client: own_usage(),
            all: machine_busy(),
        }
    }

    fn cores(&self, served: &Served) -> (f64, f64, f64) {
        let seconds = self.start.elapsed().as_secs_f64();
        let since =
            |now: Duration, before: Duration| now.saturating_sub(before).as_secs_f64() / seconds;
        let of_server = since(served.usage().processor, self.server.processor);
        let of_client = since(own_usage().processor, self.client.processor);
        let all = since(machine_busy(), self.all);
        (of_server, of_client, (all - of_server - of_client).max(0.0))
    }
}

impl Level {
    /// Answers in time, per second.
    pub(crate) fn goodput(&self) -> f64 {
        let good = self.samples.iter().filter(|it| it.is_good()).count();
        per_second(good, self.time)
    }

    /// The share of requests that were answered in time; 1 if there were none.
    pub(crate) fn share(&self) -> f64 {
        match self.samples.len() {
            0 => 1.0,
            _ => self.goodput() / self.offered(),
        }
    }

    /// Requests that arrived, per second.
    pub(crate) fn offered(&self) -> f64 {
        per_second(self.samples.len(), self.time)
    }

    /// Latencies of answers with this status, sorted.
    pub(crate) fn latencies(&self, status: u16) -> Vec<Duration> {
        self.latencies_of(|it| it.status == Some(status))
    }

    /// Latencies of contexts from the cache, or of the others, sorted.
    pub(crate) fn apart(&self, is_cached: bool) -> Vec<Duration> {
        self.latencies_of(|it| it.status == Some(200) && it.is_cached == is_cached)
    }

    fn latencies_of(&self, is_meant: impl Fn(&Sample) -> bool) -> Vec<Duration> {
        let is_meant = |it: &&Sample| is_meant(it);
        let found = self.samples.iter().filter(is_meant);
        let mut found: Vec<Duration> = found.map(|it| it.latency).collect();
        found.sort_unstable();
        found
    }

    /// How much later than due requests were sent, sorted.
    pub(crate) fn lags(&self) -> Vec<Duration> {
        let mut lags: Vec<Duration> = self.samples.iter().map(|it| it.lag).collect();
        lags.sort_unstable();
        lags
    }

    /// Processor time of the server per context, in seconds, including the time for rejecting other
    /// requests.
    pub(crate) fn processor(&self) -> f64 {
        let contexts = per_second(self.latencies(200).len(), self.time);
        self.server_cores / contexts
    }

    /// Contexts to which a source did not contribute because it was too slow.
    pub(crate) fn partial(&self) -> usize {
        self.samples.iter().filter(|it| it.is_partial).count()
    }

    /// Answers that are neither a context nor a 503, and requests without an answer.
    pub(crate) fn errors(&self) -> usize {
        let is_error = |it: &&Sample| !matches!(it.status, Some(200 | 503));
        self.samples.iter().filter(is_error).count()
    }
}

impl Sample {
    fn is_good(&self) -> bool {
        self.status == Some(200) && self.latency <= DEADLINE
    }
}

fn per_second(count: usize, time: Duration) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are not that many requests"
    )]
    let count = count as f64;
    count / time.as_secs_f64()
}

/// The value that a share of `share` of the sorted `values` does not exceed (nearest rank).
pub(crate) fn quantile(values: &[Duration], share: f64) -> Option<Duration> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank among some thousands"
    )]
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let values: Vec<_> = (1..=100).map(Duration::from_millis).collect();
        for (share, wanted) in [(0.5, 50), (0.99, 99), (0.999, 100), (0.0, 1), (1.0, 100)] {
            let found = quantile(&values, share);
            assert_eq!(found, Some(Duration::from_millis(wanted)), "{share}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }
}
