//! Every policy, with all features and without: within the budget, with reasons, and never above
//! its own upper bound. With few items the bound is compared with brute force.

use ctx_budget::Settings;
use ctx_testkit::laws::budget::{self, POLICIES, problems};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

proptest! {
    #[test]
    fn every_policy_keeps_its_promises(problem in problems(7)) {
        budget::policies(&problem, POLICIES, &Settings::default());
    }

    #[test]
    fn with_diversity_too(problem in problems(6), diversity in 0.0..=1.0_f64) {
        let settings = Settings::default().with_diversity(diversity);
        budget::policies(&problem, POLICIES, &settings);
    }
}

#[test]
fn among_a_dozen_items_too() {
    // Brute force over a dozen items takes some forty times as long as over seven.
    let cases = ProptestConfig::default().cases.div_ceil(40);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let problems = (problems(12), 0.0..=1.0_f64);
    let checked = runner.run(&problems, |(problem, diversity)| {
        budget::policies(&problem, POLICIES, &Settings::default());
        let settings = Settings::default().with_diversity(diversity);
        budget::policies(&problem, POLICIES, &settings);
        Ok(())
    });
    checked.unwrap();
}
