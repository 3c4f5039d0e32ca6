//! The results as a section of the page, and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::Run;
use super::goals::goals;
use super::level::{DEADLINE, Level, quantile};
use super::sweep::Sweep;
use crate::bench::figures::{bytes, digits, time};
use crate::bench::goals::table;
use crate::served::Kind;

const HEAD: &str = "\
| load | offered/s | in time/s | p50 | p99 | p99.9 | 503/s | p50 | p99 | slowest | partial | errors | memory | cores: server | client | others | server's per context |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

const DATABASE: &str = "\
What the database takes of the cores is among `others`. One that is started for the run has `shared_buffers=512MB` and is
otherwise as it comes.
";

/// The title of the section.
pub(super) fn title(kind: Kind) -> String {
    format!("Load, {}", kind.title())
}

/// The section, without its title, as Markdown.
pub(super) fn section(run: &Run) -> String {
    let mut text = format!(
        "Written by `{}`. Measured {}.\n\n{}\n{}",
        run.command,
        run.machine,
        method(run),
        table(&goals(run)),
    );
    for sweep in &run.sweeps {
        write_sweep(&mut text, sweep);
    }
    text
}

fn method(run: &Run) -> String {
    format!(
        "\
Requests come by a Poisson process, whatever became of those before; a latency is from when a request was due to the
last byte of its answer, and has up to a millisecond of the client's own timer in it. Each asks for a context
(`POST /v1/context/build`, default options) for a question of one of {} owners in one of eight threads of six messages; each
owner has {} files of {} together, and there are {} different questions. Client and server are processes of one machine,
over connections that are kept; the client is one thread, and what it and all else took of the cores is in the table. In
time is a 200 within {} s; partial is one without the results of a source that was too slow. The knee is the highest rate of which 99 % was answered in time, sought in steps of 3 %. {} s a level.
{}",
        run.owners,
        run.files,
        bytes(float(run.bytes)),
        run.questions,
        DEADLINE.as_secs(),
        run.time.as_secs(),
        match run.kind {
            Kind::Embedded => "",
            Kind::Postgres => DATABASE,
        },
    )
}

fn write_sweep(text: &mut String, sweep: &Sweep) {
    let share = sweep.repeats * 100.0;
    let what = match share {
        0.0 => "Every question is new".to_owned(),
        _ => format!("{share:.0} % of the questions were asked a moment ago"),
    };
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n### {what}\n\nCallers who wait for their answers get {} builds/s at most, of levels until two in a row bring no more. The knee is at {}.\n\n{HEAD}",
        digits(sweep.closed),
        digits(sweep.knee),
    );
    for step in &sweep.steps {
        write_level(text, "search", step);
    }
    for (multiple, level) in &sweep.levels {
        write_level(text, &format!("**{multiple} ×**"), level);
    }
    if sweep.repeats > 0.0 {
        write_apart(text, sweep);
    }
    let lags = sweep.levels.iter().flat_map(|it| it.1.lags());
    let mut lags: Vec<Duration> = lags.collect();
    lags.sort_unstable();
    let _ = writeln!(
        text,
        "\nThe client sent its requests late by {} at the median, {} at p99.",
        milliseconds(quantile(&lags, 0.5)),
        milliseconds(quantile(&lags, 0.99)),
    );
}

fn write_level(text: &mut String, name: &str, level: &Level) {
    let (good, shed) = (level.latencies(200), level.latencies(503));
    let of = |values, share| milliseconds(quantile(values, share));
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.2} | {:.2} | {:.2} | {} |",
        digits(level.offered()),
        digits(level.goodput()),
        of(&good, 0.5),
        of(&good, 0.99),
        of(&good, 0.999),
        digits(float(shed.len()) / level.time.as_secs_f64()),
        of(&shed, 0.5),
        of(&shed, 0.99),
        of(&shed, 1.0),
        level.partial(),
        level.errors(),
        bytes(float(peak(level))),
        level.server_cores,
        level.client_cores,
        level.other_cores,
        time(level.processor() * 1e9),
    );
}

/// Writes the figures of built and of cached contexts separately.
fn write_apart(text: &mut String, sweep: &Sweep) {
    text.push_str("\n| load | context | 200s | p50 | p99 |\n|---|---|--:|--:|--:|\n");
    for (multiple, level) in &sweep.levels {
        for (is_cached, name) in [(false, "built"), (true, "kept")] {
            let good = level.apart(is_cached);
            let _ = writeln!(
                text,
                "| {multiple} × | {name} | {} | {} | {} |",
                good.len(),
                milliseconds(quantile(&good, 0.5)),
                milliseconds(quantile(&good, 0.99)),
            );
        }
    }
}

/// All results, for programs.
pub(super) fn json(run: &Run) -> Value {
    let goals = goals(run).into_iter().map(|it| {
        let (found, is_met) = it.found.unzip();
        json!({"what": it.what, "wanted": it.wanted, "found": found, "isMet": is_met})
    });
    let sweeps = run.sweeps.iter().map(|it| {
        let levels = it.levels.iter().map(|(multiple, level)| {
            let mut level = of_level(level);
            level["multiple"] = json!(multiple);
            level
        });
        json!({
            "repeats": it.repeats,
            "closedLoop": it.closed,
            "knee": it.knee,
            "search": it.steps.iter().map(of_level).collect::<Vec<_>>(),
            "levels": levels.collect::<Vec<_>>(),
        })
    });
    json!({
        "command": run.command,
        "machine": run.machine,
        "goals": goals.collect::<Vec<_>>(),
        "sweeps": sweeps.collect::<Vec<_>>(),
    })
}

fn of_level(level: &Level) -> Value {
    let (good, shed) = (level.latencies(200), level.latencies(503));
    let of = |values, share| quantile(values, share).map(|it| it.as_secs_f64() * 1000.0);
    json!({
        "rate": level.rate,
        "offered": level.offered(),
        "inTime": level.goodput(),
        "milliseconds": {"p50": of(&good, 0.5), "p99": of(&good, 0.99), "p999": of(&good, 0.999)},
        "turnedAway": {"count": shed.len(), "p50": of(&shed, 0.5), "p99": of(&shed, 0.99), "most": of(&shed, 1.0)},
        "partial": level.partial(),
        "errors": level.errors(),
        "residentBytes": level.resident,
        "cores": {"server": level.server_cores, "client": level.client_cores, "others": level.other_cores},
    })
}

fn peak(level: &Level) -> usize {
    let peak = level.resident.iter().max().copied().unwrap_or(0);
    usize::try_from(peak).unwrap_or(usize::MAX)
}

fn milliseconds(time: Option<Duration>) -> String {
    time.map_or_else(String::new, |it| {
        format!("{} ms", digits(it.as_secs_f64() * 1000.0))
    })
}

fn float(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts and bytes, below 2^52")]
    let float = count as f64;
    float
}
