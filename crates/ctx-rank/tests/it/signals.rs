//! The five signals, and the score they make.

use ctx_model::Origin;
use ctx_rank::{
    Corpus, Profile, Signals, keyword_match, recency, source_priority, usage_frequency,
    weighted_keyword_match,
};

const DECAY: f64 = 0.01;

#[track_caller]
fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn the_default_profile_is_the_design() {
    let profile = Profile::default();
    let weights = [
        profile.text_similarity,
        profile.keyword_match,
        profile.recency,
        profile.source_priority,
        profile.usage_frequency,
    ];
    assert_eq!(weights, [0.35, 0.25, 0.15, 0.15, 0.10]);
    assert_eq!(profile.decay, DECAY);
}

#[test]
fn half_of_recency_is_left_after_69_hours() {
    assert_eq!(recency(0.0, DECAY), 1.0);
    let half_life = std::f64::consts::LN_2 / DECAY;
    assert!((half_life - 69.3).abs() < 0.02);
    close(recency(half_life, DECAY), 0.5);
    close(recency(2.0 * half_life, DECAY), 0.25);
}

#[test]
fn a_time_in_the_future_is_new() {
    assert_eq!(recency(-5.0, DECAY), 1.0);
    assert_eq!(recency(f64::NEG_INFINITY, DECAY), 1.0);
    assert_eq!(recency(f64::INFINITY, DECAY), 0.0);
}

#[test]
fn nothing_fades_without_a_decay_or_within_no_time() {
    for forever in [f64::INFINITY, f64::MAX, 1.0, 0.0] {
        assert_eq!(recency(forever, 0.0), 1.0, "{forever}");
        assert_eq!(recency(0.0, forever), 1.0, "{forever}");
    }
    for (age, decay) in [
        (f64::NAN, DECAY),
        (f64::NAN, 0.0),
        (1.0, f64::NAN),
        (0.0, f64::NAN),
    ] {
        assert_eq!(recency(age, decay), 0.0, "{age} {decay}");
    }
}

#[test]
fn ten_uses_are_enough() {
    let values: Vec<f64> = [0, 1, 5, 10, 11, u64::MAX].map(usage_frequency).to_vec();
    assert_eq!(values, [0.0, 0.1, 0.5, 1.0, 1.0, 1.0]);
}

#[test]
fn items_that_the_user_named_come_first() {
    let values = [
        Origin::Reference,
        Origin::File,
        Origin::Chunk,
        Origin::Message,
    ]
    .map(source_priority);
    assert_eq!(values, [1.0, 0.7, 0.6, 0.5]);
}

#[test]
fn keywords_are_a_share() {
    let has = |word: &str| word.starts_with('a');
    assert_eq!(keyword_match(["a", "ab", "b", "c"], has), 0.5);
    assert_eq!(keyword_match(["a"], has), 1.0);
    assert_eq!(keyword_match(["b"], has), 0.0);
    let degree = |word: &str| if has(word) { 0.5 } else { 0.0 };
    let mean = |keywords: &[(&str, f64)]| weighted_keyword_match(keywords.iter().copied(), degree);
    assert_eq!(mean(&[("a", 3.0), ("b", 1.0)]), 0.375);
    assert_eq!(mean(&[("a", 0.0), ("b", 0.0)]), 0.0);
    assert_eq!(mean(&[]), 0.0);
    assert_eq!(weighted_keyword_match([("a", 1.0)], |_| 7.0), 1.0);
}

#[test]
fn a_score_tells_its_reasons() {
    let mut signals = Signals::default();
    signals.text_similarity = 0.5;
    signals.source_priority = 1.0;
    let score = Profile::default().score(&signals);
    close(score.total, 0.35 * 0.5 + 0.15);
    let names: Vec<&str> = score.contributions.iter().map(|it| it.name).collect();
    let expected = "textSimilarity keywordMatch recency sourcePriority usageFrequency";
    assert_eq!(names.join(" "), expected);
    let sum: f64 = score
        .contributions
        .iter()
        .map(ctx_rank::Contribution::amount)
        .sum();
    close(score.total, sum);
}

#[test]
fn signals_not_looked_up_count_as_zero_and_differ_from_it() {
    let of = |value| {
        let mut signals = Signals::default();
        signals.text_similarity = 0.5;
        signals.keyword_match = value;
        signals.usage_frequency = value;
        Profile::default().score(&signals)
    };
    let (unknown, none) = (of(None), of(Some(0.0)));
    assert_eq!(unknown.total, none.total);
    for (at, weight) in [(1, 0.25), (4, 0.1)] {
        assert_eq!(unknown.contributions[at].value, None);
        assert_eq!(none.contributions[at].value, Some(0.0));
        close(unknown.contributions[at].weight, weight);
    }
}

#[test]
fn weights_are_shares() {
    let mut profile = Profile::default();
    profile.text_similarity = 7.0;
    profile.keyword_match = -1.0;
    profile.recency = f64::NAN;
    profile.source_priority = f64::INFINITY;
    profile.usage_frequency = 3.0;
    let mut signals = Signals::default();
    signals.text_similarity = 1.0;
    let score = profile.score(&signals);
    close(score.total, 0.7);
    close(score.contributions.iter().map(|it| it.weight).sum(), 1.0);
}

#[test]
fn the_highest_and_the_lowest_weights_are_shares() {
    for weight in [f64::MAX, f64::MAX / 2.0, f64::MIN_POSITIVE, 5e-324] {
        let mut profile = Profile::default();
        profile.text_similarity = weight;
        profile.keyword_match = weight;
        profile.recency = weight;
        profile.source_priority = weight;
        profile.usage_frequency = f64::INFINITY;
        let signals = Signals::default().with_text_similarity(1.0);
        close(profile.score(&signals).total, 0.25);
    }
}

#[test]
fn a_profile_of_nothing_scores_nothing() {
    let mut profile = Profile::default();
    profile.text_similarity = 0.0;
    profile.keyword_match = 0.0;
    profile.recency = 0.0;
    profile.source_priority = 0.0;
    profile.usage_frequency = 0.0;
    let mut signals = Signals::default();
    signals.text_similarity = 1.0;
    assert_eq!(profile.score(&signals).total, 0.0);
}

#[test]
fn a_rare_term_outweighs_a_common_one() {
    let corpus = Corpus::of(["parse json", "parse xml", "parse toml", "render json"]);
    let [parse, json, toml] =
        ["pars", "json", "toml"].map(|it| corpus.inverse_document_frequency(it));
    assert!(0.0 < parse && parse < json && json < toml);
    assert!(toml < corpus.inverse_document_frequency("unknown"));
    let query = "parse toml";
    assert!(corpus.similarity(query, "toml tables") > corpus.similarity(query, "parse tables"));
}

#[test]
fn equal_texts_are_alike_and_disjoint_ones_are_not() {
    let corpus = Corpus::of(["open a socket", "read a file"]);
    close(corpus.similarity("open a socket", "open a socket"), 1.0);
    close(corpus.similarity("opening sockets", "open the socket"), 1.0);
    // The sum of no numbers is -0.0, which would be written as it is.
    let zero = 0.0_f64.to_bits();
    for (a, b) in [
        ("open a socket", "read files"),
        ("", "read files"),
        ("", ""),
    ] {
        assert_eq!(corpus.similarity(a, b).to_bits(), zero, "{a:?}, {b:?}");
    }
    // Without a corpus each term counts alike.
    close(Corpus::default().similarity("red green", "red blue"), 0.5);
}
