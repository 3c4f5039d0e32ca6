//! The page of benches and of packing: goals first, then every figure, then what is left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Run;
use super::criterion::{Benches, Measurement, Work};
use super::figures::{bytes, digits, time};
use super::goals::{Goal, goals, growth, sized, table};
use super::tool::Figures;

const LEFT_OUT: &str = "\
* Times of benches are of warm code and warm caches; the packing times are of whole processes, with the files in the page cache.
* The peers of the command line were called as shown. They do more and less than `ctx`: repomix has no search for secrets in
  this run, neither keeps a budget, and none of their output is checked here but for its size.
* Speed says nothing of the quality of a selection for the answer; that is another measurement.
";

/// The benches with which others of their family are compared.
const BASELINES: [&str; 2] = ["ctx", "count-once"];

/// The whole page, as Markdown.
pub(super) fn page(run: &Run, machine: &str) -> String {
    let mut page = head("Benchmarks", &run.command, machine, &goals(run));
    write_benches(&mut page, &run.benches);
    for (command, table) in &run.tables {
        let table = table.trim_end();
        push(
            &mut page,
            format_args!("\n## Quality\n\nPrinted by `{command}`.\n\n{table}\n"),
        );
    }
    if let Some(tool) = &run.tool {
        write_tool(&mut page, tool);
    }
    push_foot(&mut page, LEFT_OUT);
    page
}

/// The beginning of every page of figures.
pub(super) fn head(title: &str, command: &str, machine: &str, goals: &[Goal]) -> String {
    let goals = table(goals);
    format!(
        "# {title}\n\nWritten by `{command}`; not by hand.\n\nMeasured {machine}.\n\n## Goals\n\n{goals}"
    )
}

/// The end of every page of figures: what it leaves out, one line each.
pub(super) fn push_foot(page: &mut String, left_out: &str) {
    push(
        page,
        format_args!(
            "\n## What this leaves out\n\n* One machine, shared with others: compare figures of one run, not of two. \
             Ratios are of medians of the same run.\n{left_out}"
        ),
    );
}

/// One table for each group, which is the first part of the names.
fn write_benches(page: &mut String, benches: &Benches) {
    let mut groups: BTreeMap<&str, Vec<(&str, &Measurement)>> = BTreeMap::new();
    for (name, measurement) in benches {
        let group = name.split('/').next().unwrap_or(name);
        groups.entry(group).or_default().push((name, measurement));
    }
    for (group, mut rows) in groups {
        rows.sort_by(|a, b| in_order(a.0, b.0));
        push(page, format_args!("\n## `{group}`\n\n"));
        page.push_str(
            "| bench | median | 95 % | throughput | time against |\n|---|--:|--:|--:|--:|\n",
        );
        for (name, m) in rows {
            let (median, low, high) = (time(m.nanoseconds), time(m.low), time(m.high));
            let (throughput, compared) = (throughput(m), compared(benches, name));
            push(
                page,
                format_args!(
                    "| {name} | {median} | {low} – {high} | {throughput} | {compared} |\n"
                ),
            );
        }
    }
}

/// Sizes of one family by number, everything else by name.
fn in_order(a: &str, b: &str) -> std::cmp::Ordering {
    match (sized(a), sized(b)) {
        (Some(a), Some(b)) => a.0.cmp(b.0).then(a.1.total_cmp(&b.1)),
        _ => a.cmp(b),
    }
}

fn throughput(measurement: &Measurement) -> String {
    let seconds = measurement.nanoseconds / 1e9;
    match measurement.work {
        None => String::new(),
        Some(Work::Bytes(bytes)) => format!("{} MB/s", digits(bytes / seconds / 1e6)),
        Some(Work::Elements(n)) => format!("{} thousand/s", digits(n / seconds / 1e3)),
    }
}

/// The time relative to the family's baseline, or to the next smaller size.
fn compared(benches: &Benches, name: &str) -> String {
    if let Some(growth) = growth(benches, name) {
        return format!("{} × per doubling", digits(growth));
    }
    let Some((family, member)) = name.rsplit_once('/') else {
        return String::new();
    };
    let found = BASELINES.iter().find_map(|baseline| {
        let measured = benches.get(&format!("{family}/{baseline}"))?;
        Some((baseline, measured))
    });
    match (found, benches.get(name)) {
        (Some((&baseline, unit)), Some(m)) if member != baseline => {
            format!("{} × {baseline}", digits(m.nanoseconds / unit.nanoseconds))
        }
        _ => String::new(),
    }
}

fn write_tool(page: &mut String, tool: &Figures) {
    let (files, rounds) = (tool.corpus.files, tool.rounds);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let size = |n: u64| bytes(n as f64);
    let input = size(tool.corpus.bytes);
    push(
        page,
        format_args!(
            "\n## The command line\n\nPacking a source tree ({files} Rust files, {input}, from the dependencies of \
             this workspace) with exact counts, in its folder; median of {rounds}, taking turns.\n\n\
             | program | wall time | against ctx | peak memory | output | called as |\n|---|--:|--:|--:|--:|---|\n"
        ),
    );
    let ours = tool
        .packers
        .first()
        .map_or(f64::NAN, |packed| packed.seconds);
    for packed in &tool.packers {
        let peak = packed.peak.map_or_else(|| "not measured".to_owned(), bytes);
        push(
            page,
            format_args!(
                "| {} | {} | {} × | {peak} | {} | `{}` |\n",
                packed.name,
                time(packed.seconds * 1e9),
                digits(packed.seconds / ours),
                size(packed.output),
                packed.command,
            ),
        );
    }
    push(
        page,
        format_args!(
            "\nStart-up: `ctx tokens` on a file of one line takes {} from start to end (median of {}).\n",
            time(tool.start_up),
            tool.starts
        ),
    );
}

pub(super) fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text)
        .expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_order_of_numbers() {
        let mut names = ["h/a/2000", "h/a/10000", "h/a/1000", "h/b"];
        names.sort_by(|a, b| in_order(a, b));
        assert_eq!(names, ["h/a/1000", "h/a/2000", "h/a/10000", "h/b"]);
    }

    #[test]
    fn a_peer_is_compared_with_us() {
        let measurement = |nanoseconds| Measurement {
            nanoseconds,
            low: 0.0,
            high: 0.0,
            work: Some(Work::Bytes(1e6)),
        };
        let benches = Benches::from([
            ("count/x/ctx".to_owned(), measurement(1e6)),
            ("count/x/peer".to_owned(), measurement(4.5e6)),
        ]);
        assert_eq!(compared(&benches, "count/x/peer"), "4.50 × ctx");
        assert_eq!(compared(&benches, "count/x/ctx"), "");
        assert_eq!(throughput(&benches["count/x/ctx"]), "1000 MB/s");
    }
}
