//! Runs the workspace's criterion benches, and reads the estimates they leave behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{Package, Target, TargetKind};
use serde::Deserialize;

use super::Options;
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// The result of one bench.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measurement {
    /// The median time of one iteration.
    pub(super) nanoseconds: f64,
    /// The 95 % confidence interval of the median.
    pub(super) low: f64,
    pub(super) high: f64,
    /// The work of one iteration.
    pub(super) work: Option<Work>,
}

/// The work of one iteration of a bench.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Work {
    Bytes(f64),
    Elements(f64),
}

/// Measurements by name: the parts of a name are joined by `/`, the group first.
pub(super) type Benches = BTreeMap<String, Measurement>;

/// Runs every bench of the workspace and reads the results.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<Benches> {
    let home = workspace.target.join("bench/criterion");
    // Results of an earlier run must not be taken for those of this one.
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    for (package, bench) in targets(workspace, options, TargetKind::Bench) {
        println!("\n{}: bench {}", package.name, bench.name);
        let mut call = Call::cargo(["bench", "--quiet", "--package", package.name.as_str()])
            .args(["--features", &bench.required_features.join(",")])
            .args(["--bench", bench.name.as_str(), "--", "--noplot"])
            .env("CRITERION_HOME", &home)
            .within(&workspace.root);
        if options.quick {
            call = call.args(["--sample-size", "10", "--warm-up-time", "0.3"]);
            call = call.args(["--measurement-time", "0.5"]);
        }
        call.run()?;
    }
    let mut benches = Benches::new();
    if home.exists() {
        read_folder(&home, &mut benches)?;
    }
    Ok(benches)
}

/// Runs the examples that print a table of quality rather than of time; they are recognised by
/// their names.
pub(super) fn tables(workspace: &Workspace, options: &Options) -> Result<Vec<(String, String)>> {
    let mut tables = Vec::new();
    for (package, example) in targets(workspace, options, TargetKind::Example) {
        if example.name != "quality" {
            continue;
        }
        println!("\n{}: example {}", package.name, example.name);
        let call = Call::cargo(["run", "--quiet", "--release", "--package", &package.name])
            .args(["--example", example.name.as_str()])
            .within(&workspace.root);
        tables.push((call.to_string(), call.output()?));
    }
    Ok(tables)
}

fn targets<'w>(
    workspace: &'w Workspace,
    options: &'w Options,
    kind: TargetKind,
) -> impl Iterator<Item = (&'w Package, &'w Target)> {
    let wanted = |package: &&Package| {
        options
            .only
            .as_ref()
            .is_none_or(|only| package.name.as_str() == only)
    };
    let packages = workspace.members.packages.iter().filter(wanted);
    packages.flat_map(move |package| {
        let kind = kind.clone();
        let of_kind = package
            .targets
            .iter()
            .filter(move |t| t.kind.contains(&kind));
        of_kind.map(move |target| (package, target))
    })
}

/// `benchmark.json`: the bench that was run.
#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    throughput: Option<BTreeMap<String, serde_json::Value>>,
}

/// `estimates.json`: its results.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

/// Criterion leaves one folder `new` for each bench, at a depth that depends on its name.
fn read_folder(folder: &Path, benches: &mut Benches) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name == "new") {
            let benchmark = read(&path.join("benchmark.json"))?;
            let (name, measurement) = measured(benchmark, read(&path.join("estimates.json"))?);
            benches.insert(name, measurement);
        } else if path.is_dir() {
            read_folder(&path, benches)?;
        }
    }
    Ok(())
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{} is not as expected", path.display()))
}

fn measured(benchmark: Benchmark, estimates: Estimates) -> (String, Measurement) {
    let parts = [
        Some(benchmark.group_id),
        benchmark.function_id,
        benchmark.value_str,
    ];
    let name = parts.into_iter().flatten().collect::<Vec<_>>().join("/");
    let work = benchmark.throughput.and_then(|throughput| {
        let (unit, amount) = throughput.into_iter().next()?;
        let amount = amount.as_f64()?;
        Some(if unit.starts_with("Bytes") {
            Work::Bytes(amount)
        } else {
            Work::Elements(amount)
        })
    });
    let median = estimates.median;
    let measurement = Measurement {
        nanoseconds: median.point_estimate,
        low: median.confidence_interval.lower_bound,
        high: median.confidence_interval.upper_bound,
        work,
    };
    (name, measurement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_criterion_is_parsed() {
        let benchmark = r#"{"group_id": "count/o200k_base", "function_id": "ctx", "value_str": null,
            "throughput": {"Bytes": 4000}, "full_id": "", "directory_name": "", "title": ""}"#;
        let estimates = r#"{"median": {"point_estimate": 2000.0, "standard_error": 1.0,
            "confidence_interval": {"confidence_level": 0.95, "lower_bound": 1900.0, "upper_bound": 2100.0}}}"#;
        let (name, measurement) = measured(
            serde_json::from_str(benchmark).unwrap(),
            serde_json::from_str(estimates).unwrap(),
        );
        assert_eq!(name, "count/o200k_base/ctx");
        assert_eq!(
            measurement,
            Measurement {
                nanoseconds: 2000.0,
                low: 1900.0,
                high: 2100.0,
                work: Some(Work::Bytes(4000.0)),
            }
        );
    }
}
