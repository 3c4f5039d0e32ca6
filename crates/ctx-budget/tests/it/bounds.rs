//! Every policy, with and without everything: within the budget, explained, and never above its
//! own upper bound; with few items the bound is held against brute force.

use ctx_budget::Settings;
use ctx_testkit::laws::budget::{self, POLICIES, problems};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_policy_keeps_its_promises(problem in problems(8)) {
        for policy in POLICIES {
            budget::policy(&problem, policy, &Settings::default());
        }
    }

    #[test]
    fn with_diversity_too(problem in problems(6), diversity in 0.0..=1.0_f64) {
        let settings = Settings::default().with_diversity(Some(diversity));
        for policy in POLICIES {
            budget::policy(&problem, policy, &settings);
        }
    }
}
