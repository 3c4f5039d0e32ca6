//! Compares results with the goals. A missed goal is reported on the page and is not an error.

use std::fmt::Write as _;

use super::criterion::Benches;
use super::figures::{bytes, digits, time};
use super::{Run, search};

/// A goal, and how close the result is.
#[derive(Debug, PartialEq)]
pub(crate) struct Goal {
    pub(crate) what: String,
    pub(crate) wanted: String,
    /// The result, and whether it is good enough; `None` if it was not measured.
    pub(crate) found: Option<(String, bool)>,
}

impl Goal {
    /// The goal that `found` is at least `least`.
    pub(crate) fn least(
        what: impl Into<String>,
        least: f64,
        unit: &str,
        found: Option<f64>,
    ) -> Self {
        Goal {
            what: what.into(),
            wanted: format!("≥ {least}{unit}"),
            found: found.map(|f| (format!("{}{unit}", digits(f)), f >= least)),
        }
    }

    /// The goal that `found` is at most `most`.
    pub(crate) fn most(what: impl Into<String>, most: f64, unit: &str, found: Option<f64>) -> Self {
        Goal {
            what: what.into(),
            wanted: format!("≤ {most}{unit}"),
            found: found.map(|f| (format!("{}{unit}", digits(f)), f <= most)),
        }
    }

    /// The goal that a number of bytes is at most `most`.
    fn size(what: impl Into<String>, most: f64, found: Option<f64>) -> Self {
        Goal {
            what: what.into(),
            wanted: format!("≤ {}", bytes(most)),
            found: found.map(|f| (bytes(f), f <= most)),
        }
    }

    /// The goal that a time in nanoseconds is at most `most`.
    pub(crate) fn soon(what: impl Into<String>, most: f64, found: Option<f64>) -> Self {
        Goal {
            what: what.into(),
            wanted: format!("≤ {}", time(most)),
            found: found.map(|f| (time(f), f <= most)),
        }
    }
}

/// The table of `goals`, as Markdown.
pub(crate) fn table(goals: &[Goal]) -> String {
    let mut table = "| goal | wanted | found | |\n|---|---|---|---|\n".to_owned();
    for goal in goals {
        let (found, verdict) = match &goal.found {
            None => ("", "not measured in this run"),
            Some((found, true)) => (found.as_str(), "met"),
            Some((found, false)) => (found.as_str(), "**not met**"),
        };
        let (what, wanted) = (&goal.what, &goal.wanted);
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| {what} | {wanted} | {found} | {verdict} |");
    }
    table
}

/// The goals of the benches and of packing, in the order of the pipeline.
pub(super) fn goals(run: &Run) -> Vec<Goal> {
    let benches = &run.benches;
    let mut goals = Vec::new();
    for encoding in ["cl100k_base", "o200k_base"] {
        goals.push(Goal::least(
            format!("counting real text, {encoding}, against tiktoken-rs"),
            1.5,
            " × its speed",
            ratio(
                benches,
                &format!("count/{encoding}/tiktoken-rs"),
                &format!("count/{encoding}/ctx"),
            ),
        ));
    }
    goals.push(Goal::most(
        "counting hostile runs, worst family, both encodings",
        2.6,
        " × per doubling",
        worst_growth(benches, "hostile/"),
    ));
    goals.push(Goal::soon(
        "assembling 10 chunks, warm",
        1e6,
        nanoseconds(benches, "assemble/10/ctx"),
    ));
    for (what, bench) in [
        ("taking all", "ctx-all"),
        ("taking 128,000 tokens", "ctx-128k"),
    ] {
        goals.push(Goal::most(
            format!(
                "assembling 10,000 chunks of 200 tokens, {what}, against counting their texts once"
            ),
            1.3,
            " × that time",
            ratio(
                benches,
                &format!("assemble/10000/{bench}"),
                "assemble/10000/count-once",
            ),
        ));
    }
    goals.push(Goal::soon(
        "a cancelled assembly has ended, slowest input and of 32 moments the slowest",
        10e6,
        slowest(benches, "cancelled/", ""),
    ));
    for (n, most) in [(1_000, 2e6), (100_000, 250e6)] {
        goals.push(Goal::soon(
            format!("optimal selection among {n} chunks of four renditions, slowest budget"),
            most,
            slowest(benches, &format!("select/{n}/"), "/Optimal"),
        ));
    }
    goals.extend(packing(run));
    goals.push(Goal::soon(
        "an update of an index of 10,000 files of which none changed",
        300e6,
        nanoseconds(benches, "unchanged/update of 10,000 files"),
    ));
    goals
}

fn packing(run: &Run) -> Vec<Goal> {
    let mut goals = Vec::new();
    let packers = run.tool.as_ref().map_or(&[][..], |tool| &tool.packers);
    let ours = packers.first();
    for peer in ["code2prompt", "repomix"] {
        let theirs = packers.iter().find(|p| p.name.starts_with(peer));
        goals.push(Goal::most(
            format!("packing a source tree, against {peer}"),
            0.25,
            " × its time",
            ours.zip(theirs)
                .map(|(ours, theirs)| ours.seconds / theirs.seconds),
        ));
    }
    let memory = run.tool.as_ref().zip(ours).and_then(|(tool, ours)| {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let limit = (tool.corpus.bytes + ours.output) as f64 + 64.0 * 1024.0 * 1024.0;
        Some((limit, ours.peak?))
    });
    goals.push(Goal {
        what: "peak memory of packing it".to_owned(),
        wanted: match memory {
            Some((limit, _)) => format!("≤ input + output + 64 MiB = {}", bytes(limit)),
            None => "≤ input + output + 64 MiB".to_owned(),
        },
        found: memory.map(|(limit, peak)| (bytes(peak), peak <= limit)),
    });
    goals
}

/// The goals of indexing and searching a million lines.
pub(super) fn searching(search: &search::Figures) -> Vec<Goal> {
    let (indexed, asked) = (search.indexed.as_ref(), search.asked.as_ref());
    let peak = search.processes.as_ref().and_then(|it| it.index_peak);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let share = indexed.map(|it| it.index_bytes as f64 / it.source_bytes as f64);
    vec![
        Goal::most(
            "indexing a million lines, against bare tantivy on as many threads as cores",
            3.0,
            " × its time",
            indexed.map(|it| it.cold / it.bare),
        ),
        Goal::most("the index of a million lines", 0.6, " × the source", share),
        Goal::size(
            "peak memory of indexing a million lines",
            512.0 * 1024.0 * 1024.0,
            peak,
        ),
        Goal::soon(
            "from a question about a million lines to 8,000 tokens, half of them within",
            15e6,
            asked.map(|it| it.first.half),
        ),
        Goal::soon(
            "from a question about a million lines to 8,000 tokens, 99 of 100 within",
            40e6,
            asked.map(|it| it.first.ninety_nine),
        ),
    ]
}

fn nanoseconds(benches: &Benches, name: &str) -> Option<f64> {
    benches.get(name).map(|m| m.nanoseconds)
}

/// How many times longer `of` takes than `unit`.
fn ratio(benches: &Benches, of: &str, unit: &str) -> Option<f64> {
    Some(nanoseconds(benches, of)? / nanoseconds(benches, unit)?)
}

/// The slowest bench whose name has this beginning and end.
fn slowest(benches: &Benches, start: &str, end: &str) -> Option<f64> {
    let those = benches
        .iter()
        .filter(|(name, _)| name.starts_with(start) && name.ends_with(end));
    those.map(|(_, m)| m.nanoseconds).max_by(f64::total_cmp)
}

/// The largest growth per doubling of any family below `prefix`.
fn worst_growth(benches: &Benches, prefix: &str) -> Option<f64> {
    let names = benches.keys().filter(|name| name.starts_with(prefix));
    names
        .filter_map(|name| growth(benches, name))
        .max_by(f64::total_cmp)
}

/// For a bench whose name ends in its size: the factor of its time per doubling of the size,
/// relative to the next smaller one of its family. With t(n) and t(m), this is (t(n) / t(m)) ^ (1 /
/// log2(n / m)).
pub(super) fn growth(benches: &Benches, name: &str) -> Option<f64> {
    let (family, size) = sized(name)?;
    let smaller = benches
        .keys()
        .filter_map(|other| sized(other).filter(|s| s.0 == family));
    let (_, below) = smaller
        .filter(|s| s.1 < size)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let before = benches
        .iter()
        .find(|(other, _)| sized(other) == Some((family, below)))?
        .1;
    let times = nanoseconds(benches, name)? / before.nanoseconds;
    Some(times.powf(1.0 / (size / below).log2()))
}

/// The family and the size of a bench whose name ends in a size.
pub(super) fn sized(name: &str) -> Option<(&str, f64)> {
    let (family, size) = name.rsplit_once('/')?;
    let size: f64 = size.parse().ok()?;
    (size > 0.0).then_some((family, size))
}

#[cfg(test)]
mod tests {
    use super::super::criterion::Measurement;
    use super::*;

    fn benches(times: &[(&str, f64)]) -> Benches {
        let measurement = |nanoseconds| Measurement {
            nanoseconds,
            low: nanoseconds,
            high: nanoseconds,
            work: None,
        };
        let entry = |&(name, time): &(&str, f64)| (name.to_owned(), measurement(time));
        times.iter().map(entry).collect()
    }

    #[test]
    fn growth_is_per_doubling_of_the_next_smaller_size() {
        let benches = benches(&[
            ("hostile/x/spaces/1000", 10.0),
            ("hostile/x/spaces/4000", 90.0),
            ("hostile/x/letters/1000", 1.0),
            ("hostile/x/letters/2000", 2.0),
        ]);
        assert_eq!(growth(&benches, "hostile/x/spaces/1000"), None);
        assert_eq!(growth(&benches, "hostile/x/spaces/4000"), Some(3.0));
        assert_eq!(worst_growth(&benches, "hostile/"), Some(3.0));
    }

    #[test]
    fn a_goal_without_a_measurement_is_neither_met_nor_missed() {
        let run = Run {
            command: String::new(),
            benches: benches(&[("assemble/10/ctx", 2e6)]),
            tables: Vec::new(),
            tool: None,
        };
        let goals = goals(&run);
        let missed: Vec<_> = goals
            .iter()
            .filter(|g| g.found.as_ref().is_some_and(|f| !f.1))
            .collect();
        assert_eq!(missed.len(), 1);
        assert_eq!(missed[0].found, Some(("2.00 ms".to_owned(), false)));
        assert!(goals.iter().filter(|g| g.found.is_none()).count() > 5);
    }

    #[test]
    fn a_goal_for_a_size_does_not_take_another_size_for_it() {
        let benches = benches(&[
            ("select/1000/8000/Optimal", 1.0),
            ("select/1000/16000/Optimal", 3.0),
            ("select/1000/16000/Density", 9.0),
            ("select/10000/8000/Optimal", 50.0),
        ]);
        assert_eq!(slowest(&benches, "select/1000/", "/Optimal"), Some(3.0));
    }
}
