//! The time of selection: policies × number of items × budget, on generated problems of four
//! renditions each. Each measurement also checks its answer.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ctx_budget::{Outcome, Poll, Problem, Settings, select};
use ctx_model::Selection;
use ctx_testkit::laws::budget::{Headings, POLICIES, synthetic};

fn policies(criterion: &mut Criterion) {
    for (items, budgets) in [
        (60, [8_000].as_slice()),
        (300, &[8_000]),
        (1_000, &[8_000, 32_000, 128_000]),
        (10_000, &[8_000, 128_000]),
        (100_000, &[8_000, 128_000]),
    ] {
        for &budget in budgets {
            let problem = synthetic(items, budget, Headings::PerFile, 1);
            let mut group = criterion.benchmark_group(format!("select/{items}/{budget}"));
            group.throughput(Throughput::Elements(items as u64));
            if items >= 10_000 {
                group.sample_size(10);
            }
            for policy in POLICIES {
                check(&problem, policy);
                let id = BenchmarkId::from_parameter(format!("{policy:?}"));
                group.bench_function(id, |b| b.iter(|| run(black_box(&problem), policy)));
            }
            group.finish();
        }
    }
}

/// A limit on the number of items is a second constraint, and costs more.
fn limited(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("select/at most 40");
    group.sample_size(10);
    for items in [1_000, 10_000, 100_000] {
        let problem = Problem {
            max_items: Some(40),
            ..synthetic(items, 8_000, Headings::PerFile, 1)
        };
        check(&problem, Selection::Optimal);
        group.bench_function(BenchmarkId::from_parameter(items), |b| {
            b.iter(|| run(black_box(&problem), Selection::Optimal));
        });
    }
    group.finish();
}

fn run(problem: &Problem, policy: Selection) -> Outcome {
    let settings = Settings::default();
    select(problem, policy, &settings, &mut || Poll::Continue).expect("a valid problem")
}

/// A benchmark is also a test.
fn check(problem: &Problem, policy: Selection) {
    let outcome = run(problem, policy);
    assert!(
        outcome.weight <= problem.capacity.safe,
        "{policy:?} is over the budget"
    );
    let certificate = outcome.certificate;
    assert!(
        certificate.upper_bound >= certificate.value,
        "{policy:?} and its bound"
    );
    if policy == Selection::Optimal {
        assert!(certificate.gap <= 0.005, "a gap of {}", certificate.gap);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = policies, limited
}
criterion_main!(benches);
