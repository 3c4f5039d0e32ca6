//! Facts about `Optimal`.

use ctx_budget::Settings;
use ctx_model::Selection;
use ctx_testkit::laws::budget::{self, problems};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn small_problems_are_solved_exactly(problem in problems(8)) {
        let settings = Settings::default();
        let safe = problem.capacity.safe;
        if let Some(outcome) = budget::policy(&problem, Selection::Optimal, &settings) {
            let best = budget::best_value(&problem, &settings, safe).unwrap();
            let value = outcome.certificate.value;
            prop_assert!(value >= best * (1.0 - 1e-11), "{value} of {best}");
        }
    }
}
