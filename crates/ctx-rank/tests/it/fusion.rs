//! Fusion of ranked lists.

use ctx_rank::{
    Fused, FusionError, List, RRF_K, convex, convex_by_number, convex_of, reciprocal_rank,
    reciprocal_rank_of,
};

fn list(weight: f64, items: &[(&'static str, f64)]) -> List<&'static str> {
    List {
        weight,
        items: items.to_vec(),
    }
}

fn order<C>(fused: &[Fused<&'static str, C>]) -> String {
    let items: Vec<&str> = fused.iter().map(|it| it.item).collect();
    items.join(" ")
}

#[test]
fn reciprocal_ranks_are_added() {
    let lists = [
        list(1.0, &[("a", 9.0), ("b", 8.0), ("c", 7.0)]),
        list(1.0, &[("b", 0.2), ("d", 0.1)]),
    ];
    let fused = reciprocal_rank(&lists, RRF_K).unwrap();
    assert_eq!(order(&fused), "b a d c");
    assert_eq!(fused[0].contributions, [1.0 / 62.0, 1.0 / 61.0]);
    assert_eq!(fused[0].score, 1.0 / 62.0 + 1.0 / 61.0);
    assert_eq!(fused[1].contributions, [1.0 / 61.0, 0.0]);
}

#[test]
fn convex_scores_are_shares_of_the_best() {
    let lists = [
        list(2.0, &[("a", 10.0), ("b", 5.0)]),
        list(1.0, &[("b", 3.0)]),
    ];
    let fused = convex(&lists).unwrap();
    assert_eq!(order(&fused), "a b");
    assert_eq!(fused[0].contributions, [2.0, 0.0]);
    assert_eq!(fused[1].contributions, [1.0, 1.0]);
}

#[test]
fn lists_whose_number_is_not_known_are_fused_alike() {
    let lists = [
        list(2.0, &[("a", 10.0), ("b", 5.0)]),
        list(1.0, &[("b", 3.0), ("c", 1.0)]),
    ];
    let as_slice = |fused: Vec<Fused<&'static str, [f64; 2]>>| -> Vec<_> {
        let told = fused.into_iter();
        told.map(|it| (it.item, it.score, it.contributions.to_vec()))
            .collect()
    };
    let told = |fused: Vec<Fused<&'static str>>| -> Vec<_> {
        let told = fused.into_iter();
        told.map(|it| (it.item, it.score, it.contributions))
            .collect()
    };
    let slice = lists.as_slice();
    assert_eq!(
        told(convex_of(slice).unwrap()),
        as_slice(convex(&lists).unwrap())
    );
    assert_eq!(
        told(reciprocal_rank_of(slice, RRF_K).unwrap()),
        as_slice(reciprocal_rank(&lists, RRF_K).unwrap())
    );
    assert_eq!(convex_of::<u8>(&[]).unwrap(), []);
    assert!(reciprocal_rank_of(slice, f64::NAN).is_err());
}

#[test]
fn equal_scores_come_in_the_order_of_their_items() {
    let lists = [list(1.0, &[("c", 1.0), ("a", 1.0), ("b", 1.0)])];
    assert_eq!(order(&convex(&lists).unwrap()), "a b c");
    assert_eq!(order(&reciprocal_rank(&lists, RRF_K).unwrap()), "a b c");
}

#[test]
fn an_item_counts_once_by_its_better_score() {
    let twice = [list(1.0, &[("a", 1.0), ("b", 3.0), ("a", 4.0)])];
    let once = [list(1.0, &[("a", 4.0), ("b", 3.0)])];
    assert_eq!(convex(&twice).unwrap(), convex(&once).unwrap());
    assert_eq!(
        reciprocal_rank(&twice, RRF_K).unwrap(),
        reciprocal_rank(&once, RRF_K).unwrap()
    );
}

#[test]
fn a_list_without_a_good_score_says_nothing() {
    let lists = [
        list(1.0, &[("a", 0.0), ("b", -1.0)]),
        list(1.0, &[("b", 1.0)]),
    ];
    let fused = convex(&lists).unwrap();
    assert_eq!(order(&fused), "b a");
    assert_eq!(fused[0].score, 1.0);
    assert_eq!(fused[1].score, 0.0);
}

#[test]
fn nothing_comes_of_nothing() {
    assert!(convex::<u32, 0>(&[]).unwrap().is_empty());
    assert!(convex(&[list(1.0, &[])]).unwrap().is_empty());
}

#[test]
fn scores_that_are_no_numbers_are_refused() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let lists = [list(1.0, &[]), list(1.0, &[("a", 1.0), ("b", value)])];
        for result in [convex(&lists), reciprocal_rank(&lists, RRF_K)] {
            let error = result.unwrap_err();
            assert!(
                matches!(
                    error,
                    FusionError::NotANumber {
                        list: 1,
                        what: "score",
                        ..
                    }
                ),
                "{error}"
            );
        }
    }
    for weight in [f64::NAN, f64::INFINITY, -1.0] {
        let error = convex(&[list(weight, &[])]).unwrap_err();
        assert!(
            matches!(
                error,
                FusionError::NotANumber {
                    list: 0,
                    what: "weight",
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn a_constant_that_makes_ranks_endless_is_refused() {
    for k in [f64::NAN, f64::INFINITY, -1.0, -0.5] {
        let error = reciprocal_rank(&[list(1.0, &[("a", 1.0)])], k).unwrap_err();
        assert!(matches!(error, FusionError::Constant { .. }), "{error}");
    }
    assert_eq!(
        reciprocal_rank(&[list(1.0, &[("a", 1.0)])], 0.0).unwrap()[0].score,
        1.0
    );
}

#[test]
fn an_item_that_is_no_number_of_one_is_named() {
    let lists = [
        List {
            weight: 1.0,
            items: vec![(1, 0.5)],
        },
        List {
            weight: 1.0,
            items: vec![(0, 0.5), (2, 0.5)],
        },
    ];
    let error = convex_by_number(&lists, 2).unwrap_err();
    assert_eq!(error.to_string(), "fuse list 1: item 2 is not one of 2");
    let of_each = convex_by_number(&lists, 3).unwrap();
    assert_eq!(of_each, [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]);
}
