//! Facts about `Density`, each of which a simple greedy selection gets wrong.

use ctx_budget::{Capacity, Item, Problem};
use ctx_model::Selection;
use ctx_testkit::laws::budget::{density, problems};
use proptest::prelude::*;

use crate::{shown, singles, solve, way};

#[test]
fn one_valuable_item_beats_a_dense_crumb() {
    let problem = singles(100, &[(1, 0.05), (100, 1.0)]);
    assert_eq!(shown(&solve(&problem, Selection::Density)), [1]);
}

#[test]
fn the_diversity_rule_never_leaves_room_unspent() {
    // Forty of one class, two of another: the share of the first is far above 70 %.
    let mut problem = singles(400, &[(10, 0.9); 42]);
    problem.items[40].class = 1;
    problem.items[41].class = 1;
    let outcome = solve(&problem, Selection::Density);
    assert_eq!((shown(&outcome).len(), outcome.weight), (40, 400));
}

#[test]
fn the_diversity_rule_prefers_another_class_to_more_of_the_same() {
    let mut problem = singles(100, &[(10, 0.9); 20]);
    for (index, item) in problem.items.iter_mut().enumerate().skip(10) {
        item.class = 1;
        item.choices[0].value = 0.5 - f64::from(u32::try_from(index).unwrap()) / 1e3;
    }
    let shown = shown(&solve(&problem, Selection::Density));
    assert_eq!(shown.len(), 10);
    let first = shown.iter().filter(|&&item| item < 10).count();
    assert!(
        (6..=8).contains(&first),
        "{first} of ten are of the first class"
    );
}

#[test]
fn an_item_may_be_shown_in_part() {
    let problem = Problem {
        items: vec![Item::new(vec![way(500, 1.0), way(60, 0.6)]); 3],
        capacity: Capacity::exact(200),
        ..Problem::default()
    };
    assert_eq!(solve(&problem, Selection::Density).chosen, [Some(1); 3]);
}

/// Each in full or in short, for which there is room, and for a few in full.
fn in_full_or_in_short() -> Problem {
    Problem {
        items: vec![Item::new(vec![way(100, 1.0), way(10, 0.9)]); 20],
        capacity: Capacity::exact(620),
        ..Problem::default()
    }
}

#[test]
fn of_one_class_nothing_waits() {
    let outcome = solve(&in_full_or_in_short(), Selection::Density);
    assert_eq!(shown(&outcome).len(), 20);
    let value = outcome.certificate.value;
    assert!((value - 18.4).abs() < 1e-9, "{value}");
}

#[test]
fn items_without_value_are_shown_if_there_is_room() {
    let mut problem = in_full_or_in_short();
    problem.items[3].choices = vec![way(10, 0.0)];
    assert_eq!(shown(&solve(&problem, Selection::Density)).len(), 20);
}

#[test]
fn items_are_not_shown_better_while_new_ones_wait() {
    let mut problem = in_full_or_in_short();
    // Another class, of which there is one, and last.
    problem.items[19].class = 1;
    problem.items[19].choices = vec![way(10, 0.05)];
    let outcome = solve(&problem, Selection::Density);
    assert_eq!(shown(&outcome).len(), 20);
}

proptest! {
    #[test]
    fn of_one_class_it_has_half_of_the_best(problem in problems(9)) {
        density(&problem);
    }
}
