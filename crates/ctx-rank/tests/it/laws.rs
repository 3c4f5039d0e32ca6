//! Laws that hold for any text, list and signal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ctx_rank::{
    Analyzer, Bag, Corpus, Fused, List, Part, Profile, RRF_K, Role, Signals, Term, Vocabulary,
    chances_in_section, convex, convex_by_number, is_stop_word, keyword_match, recency,
    reciprocal_rank, sentence_chances, usage_frequency,
};
use ctx_testkit::laws;
use proptest::array::uniform4;
use proptest::collection::vec;
use proptest::prelude::*;
use unicode_normalization::char::canonical_combining_class;

/// Any text, and texts of what reports are made of.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC{0,12}".boxed(),
        any::<String>().boxed(),
        proptest::sample::select(vec![
            "\n",
            "\r\n",
            " ",
            "`",
            "```",
            "```rust\n",
            "~~~\n",
            "<!--",
            "-->",
            "\"",
            "## Environment\n",
            "**OS**\n",
            "- Version: 3\n",
            "a/b.py:3",
            "src/main.rs#L4-L9",
            "https://x.y/o/r/blob/m/a.c#L1",
            "File \"a.py\", line 3, in f\n",
            "a.py:3: in f\n",
            "at f (a.js:3:4)\n",
            "main.f(0x1)\n\t/a.go:3\n",
            "  0: a::b\n    at a.rs:3:4\n",
            "snake_case",
            "camelCase",
            "HTTPServer2",
            "日本語",
            "é_b",
            "Σς",
            "\u{301}",
            "\u{200d}",
            "İ",
            "the ",
            "::",
            "->",
            ".",
            "#",
            "_",
            "0",
            ":0",
            "99999999999",
            "v1.2",
            "-rc.1",
        ])
        .prop_map(str::to_owned)
        .boxed(),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn list() -> impl Strategy<Value = List<u8>> {
    let score = prop_oneof![
        -5.0..5.0_f64,
        proptest::sample::select(vec![0.0, 1.0, 2.0, -0.0])
    ];
    (0.0..4.0_f64, vec((0..20_u8, score), 0..30)).prop_map(|(weight, items)| List { weight, items })
}

fn items<C>(fused: &[Fused<u8, C>]) -> Vec<u8> {
    fused.iter().map(|it| it.item).collect()
}

fn signals() -> impl Strategy<Value = Signals> {
    let value = || prop_oneof![any::<f64>(), 0.0..1.0_f64, Just(f64::NAN)];
    let values = [value(), value(), value(), value(), value()];
    (values, any::<bool>()).prop_map(|(values, is_known)| {
        let mut signals = of(values);
        signals.keyword_match = signals.keyword_match.filter(|_| is_known);
        signals.usage_frequency = signals.usage_frequency.filter(|_| is_known);
        signals
    })
}

fn of(values: [f64; 5]) -> Signals {
    let mut signals = Signals::default();
    let (keywords, uses);
    [
        signals.text_similarity,
        keywords,
        signals.recency,
        signals.source_priority,
        uses,
    ] = values;
    signals.keyword_match = Some(keywords);
    signals.usage_frequency = Some(uses);
    signals
}

proptest! {
    #[test]
    fn words_an_analyzer_has_met_change_no_terms(texts in vec(text(), 1..4)) {
        let mut kept = Analyzer::default();
        for text in texts.iter().chain(&texts) {
            prop_assert_eq!(kept.terms(text), Analyzer::default().terms(text));
        }
    }

    #[test]
    fn the_terms_of_a_text_are_those_of_its_runs_versions_and_compounds(text in text()) {
        let mut analyzer = Analyzer::default();
        let is_mark = |c: char| canonical_combining_class(c) != 0;
        let runs = text.split(|c: char| c != '_' && !c.is_alphanumeric() && !is_mark(c));
        let of_runs: Vec<String> = runs.flat_map(|run| analyzer.terms(run)).collect();
        let mut found = Vec::new();
        analyzer.words(&text, &mut |term, part, bytes| {
            assert!(text.get(bytes.clone()).is_some_and(|it| !it.is_empty()));
            assert_eq!(term.contains('.'), part == Part::Version, "{term}");
            match part {
                Part::Version => assert!(text[bytes].contains('.')),
                Part::Compound => assert_eq!(text[bytes].replace('-', "").to_lowercase(), term),
                _ => found.push(term.to_owned()),
            }
        });
        prop_assert_eq!(found, of_runs);
    }

    #[test]
    fn any_text_can_be_analysed(text in text()) {
        laws::question(&text);
    }

    #[test]
    fn any_path_has_a_role(path in "\\PC{0,40}") {
        let role = Role::of(&path);
        prop_assert_eq!(role.as_str().parse(), Ok(role));
    }

    #[test]
    fn scores_are_finite_and_within_0_and_1(signals in signals(), weights in vec(-1e9..1e9_f64, 5)) {
        let mut profile = Profile::default();
        for profile in [Profile::default(), {
            profile.text_similarity = weights[0];
            profile.keyword_match = weights[1];
            profile.recency = weights[2];
            profile.source_priority = weights[3];
            profile.usage_frequency = weights[4];
            profile
        }] {
            let score = profile.score(&signals);
            prop_assert!((0.0..=1.0).contains(&score.total));
            let sum: f64 = score.contributions.iter().map(ctx_rank::Contribution::amount).sum();
            prop_assert!((sum - score.total).abs() < 1e-9);
            let mut values = score.contributions.iter().filter_map(|it| it.value);
            prop_assert!(values.all(|it| (0.0..=1.0).contains(&it)));
        }
    }

    #[test]
    fn a_better_signal_never_lowers_a_score(values in [0.0..1.0_f64, 0.0..1.0, 0.0..1.0, 0.0..1.0, 0.0..1.0], which in 0..5_usize, more in 0.0..1.0_f64) {
        let mut better = values;
        better[which] = (better[which] + more).min(1.0);
        let profile = Profile::default();
        prop_assert!(profile.score(&of(values)).total <= profile.score(&of(better)).total + 1e-12);
    }

    #[test]
    fn signals_are_monotone(a in -1e6..1e6_f64, b in -1e6..1e6_f64, decay in 0.0..10.0_f64, uses in any::<u64>()) {
        let (newer, older) = (a.min(b), a.max(b));
        prop_assert!(recency(older, decay) <= recency(newer, decay));
        prop_assert!((0.0..=1.0).contains(&recency(older, decay)));
        prop_assert!(usage_frequency(uses) <= usage_frequency(uses.saturating_add(1)));
        prop_assert!((0.0..=1.0).contains(&usage_frequency(uses)));
    }

    #[test]
    fn one_more_keyword_found_is_better(found in 0..20_usize, rest in 1..20_usize) {
        let keywords: Vec<String> = (0..found + rest).map(|n| n.to_string()).collect();
        let share = |found: usize| {
            let has = |word: &str| word.parse::<usize>().is_ok_and(|it| it < found);
            keyword_match(keywords.iter().map(String::as_str), has)
        };
        prop_assert!(share(found) < share(found + 1));
    }

    #[test]
    fn any_numbers_make_signals(age in any::<f64>(), decay in any::<f64>()) {
        prop_assert!((0.0..=1.0).contains(&recency(age, decay)));
    }

    #[test]
    fn one_list_keeps_its_order(list in list()) {
        let mut best = BTreeMap::new();
        for (item, score) in list.items.iter().map(|it| (it.0, it.1 + 0.0)) {
            let known: &mut f64 = best.entry(item).or_insert(score);
            *known = known.max(score);
        }
        let mut expected: Vec<(u8, f64)> = best.into_iter().collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        let expected: Vec<u8> = expected.into_iter().map(|(item, _)| item).collect();
        let list = [List { weight: 1.0, ..list }];
        prop_assert_eq!(items(&reciprocal_rank(&list, RRF_K).unwrap()), expected.clone());
        // Scores of 0 and less are all worth nothing here.
        let positive = |items: Vec<u8>| -> Vec<u8> {
            let of = |item: u8| list[0].items.iter().filter(move |it| it.0 == item).map(|it| it.1);
            items.into_iter().filter(|&item| of(item).any(|it| it > 0.0)).collect()
        };
        let fused = items(&convex(&list).unwrap());
        prop_assert_eq!(positive(fused), positive(expected));
    }

    #[test]
    fn the_order_of_items_does_not_matter(lists in uniform4(list()), seed in any::<u64>()) {
        let mut others = lists.clone();
        for list in &mut others {
            let n = list.items.len().max(1);
            list.items.rotate_left(usize::try_from(seed % 31).unwrap() % n);
            list.items.reverse();
        }
        prop_assert_eq!(convex(&lists).unwrap(), convex(&others).unwrap());
        prop_assert_eq!(reciprocal_rank(&lists, RRF_K).unwrap(), reciprocal_rank(&others, RRF_K).unwrap());
    }

    #[test]
    fn items_by_number_are_told_the_same(lists in uniform4(list())) {
        let of_each = convex(&lists).unwrap();
        let lists = lists.map(|it| List {
            weight: it.weight,
            items: it.items.into_iter().map(|(item, score)| (usize::from(item), score)).collect(),
        });
        let by_number = convex_by_number(&lists, 20).unwrap();
        let mut wanted = vec![[0.0; 4]; 20];
        for it in of_each {
            wanted[usize::from(it.item)] = it.contributions;
        }
        prop_assert_eq!(by_number, wanted);
    }

    #[test]
    fn fused_scores_are_in_order_and_explained(lists in uniform4(list())) {
        let weights: f64 = lists.iter().map(|it| it.weight).sum();
        for (fused, most) in [
            (convex(&lists).unwrap(), weights),
            (reciprocal_rank(&lists, RRF_K).unwrap(), weights / (RRF_K + 1.0)),
        ] {
            let order = |a: &Fused<u8, [f64; 4]>, b: &Fused<u8, [f64; 4]>| a.score > b.score || a.score == b.score && a.item < b.item;
            prop_assert!(fused.is_sorted_by(order));
            for it in &fused {
                prop_assert_eq!(it.contributions.iter().sum::<f64>(), it.score);
                prop_assert!((0.0..=most + 1e-9).contains(&it.score));
            }
        }
    }

    #[test]
    fn similarity_is_a_cosine(a in text(), b in text(), rest in vec("[a-e ]{0,20}", 0..4)) {
        let texts = rest.iter().map(String::as_str).chain([a.as_str(), b.as_str()]);
        let corpus = Corpus::of(texts);
        let similarity = corpus.similarity(&a, &b);
        prop_assert!((0.0..=1.0).contains(&similarity));
        prop_assert_eq!(similarity, corpus.similarity(&b, &a));
        let has_terms = corpus.vector(&a).terms().next().is_some();
        let itself = corpus.similarity(&a, &a);
        prop_assert!((itself - f64::from(u8::from(has_terms))).abs() < 1e-9);
    }

    #[test]
    fn a_text_is_about_a_term_the_more_the_oftener_it_says_it_and_the_less_else(
        text in text(),
        more in text(),
        rest in vec("[a-e ]{0,20}", 0..4),
        count in 1..1_000_u32,
    ) {
        let longer = format!("{text} {more}");
        let corpus = Corpus::of(rest.iter().map(String::as_str).chain([&*text, &*longer]));
        let (text, longer) = (corpus.vector(&text), corpus.vector(&longer));
        let of = |text, count| corpus.saturation(text, count);
        prop_assert_eq!(of(&text, 0), 0.0);
        prop_assert!(of(&text, count) < of(&text, count + 1));
        prop_assert!(of(&text, count) <= 1.0);
        let said = |text: &ctx_rank::Vector| -> u32 { text.terms().map(|it| text.count(it)).sum() };
        if said(&text) <= said(&longer) {
            prop_assert!(of(&longer, count) <= of(&text, count));
        }
    }

    #[test]
    fn texts_without_a_term_in_common_are_not_alike(a in "([a-m]{4,8} ){1,9}", b in "([n-z]{4,8} ){1,9}") {
        let corpus = Corpus::of([a.as_str(), b.as_str()]);
        prop_assert_eq!(corpus.similarity(&a, &b), 0.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn vectors_of_all_texts_are_those_of_each(texts in vec(text(), 0..6), asked in text()) {
        let mut vocabulary = Vocabulary::default();
        let bags: Vec<Bag> = texts.iter().map(|it| vocabulary.bag(it)).collect();
        for (bag, text) in bags.iter().zip(&texts) {
            prop_assert_eq!(bag, &Bag::of(text));
        }
        let (corpus, vectors) = Corpus::with_vectors(bags.into_iter().map(Arc::new));
        let terms: Vec<BTreeSet<String>> = texts.iter().map(|it| terms(it)).collect();
        let plainly = |text: &str| plainly(&terms, text);
        let question = corpus.vector(&asked);
        prop_assert_eq!(vectors.len(), texts.len());
        for (vector, text) in vectors.iter().zip(&texts) {
            prop_assert_eq!(vector, &corpus.vector(text));
            let (a, b) = (plainly(&asked), plainly(text));
            prop_assert_eq!(vector.terms().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
            let both = a.iter().filter_map(|(term, weight)| Some(weight * b.get(term)?));
            // To the last digit: scores decide what is shown.
            let cosine = both.fold(0.0, |sum, it| sum + it).clamp(0.0, 1.0);
            prop_assert_eq!(question.cosine(vector).to_bits(), cosine.to_bits());
        }
    }
}

/// Any number at all.
const ANY: prop::num::f64::Any = prop::num::f64::ANY;

/// Any number, half of them near the highest.
fn high() -> impl Strategy<Value = f64> {
    prop_oneof![ANY, (0.0..=1.0_f64).prop_map(|it| it * f64::MAX)]
}

proptest! {
    #[test]
    fn recency_is_a_share_of_any_numbers(age in ANY, decay in ANY) {
        prop_assert!((0.0..=1.0).contains(&recency(age, decay)));
    }

    #[test]
    fn scores_are_means_of_any_numbers(weights in vec(high(), 5), values in vec(ANY, 5)) {
        let mut profile = Profile::default();
        profile.text_similarity = weights[0];
        profile.keyword_match = weights[1];
        profile.recency = weights[2];
        profile.source_priority = weights[3];
        profile.usage_frequency = weights[4];
        let mut signals = Signals::default();
        signals.text_similarity = values[0];
        signals.keyword_match = Some(values[1]);
        signals.recency = values[2];
        signals.source_priority = values[3];
        signals.usage_frequency = Some(values[4]);
        let score = profile.score(&signals);
        prop_assert!((0.0..=1.0).contains(&score.total));
        let shares: f64 = score.contributions.iter().map(|it| it.weight).sum();
        let has_any = weights.iter().any(|it| *it > 0.0 && it.is_finite());
        prop_assert!((shares - f64::from(u8::from(has_any))).abs() < 1e-9, "{shares}");
    }

    #[test]
    fn chances_of_sentences_are_probabilities_whatever_the_weights(weights in vec(high(), 3)) {
        let terms = ["owl", "hen", "eye"].iter().zip(weights);
        let terms: Vec<Term> = terms.map(|(it, weight)| Term::new(*it, weight)).collect();
        let texts = [vec!["Owls and hens.", "An eye."], vec!["A hen.", "Nothing."]];
        let chances = sentence_chances(&terms, &texts, &mut Analyzer::default());
        let mut chances = chances.iter().flatten();
        prop_assert!(chances.all(|it| 0.0 < *it && *it < 1.0));
    }

    #[test]
    fn chances_in_a_section_are_probabilities_of_any_numbers(
        sentences in vec((ANY, any::<usize>()), 0..9),
        evidence in ANY,
    ) {
        let (chances, lengths): (Vec<f64>, Vec<usize>) = sentences.into_iter().unzip();
        let within = chances_in_section(&chances, &lengths, evidence);
        prop_assert_eq!(within.len(), chances.len());
        prop_assert!(within.iter().all(|it| (0.0..=1.0).contains(it)));
    }
}

/// Sentences of a section: chances, and lengths in bytes.
fn section() -> impl Strategy<Value = (Vec<f64>, Vec<usize>)> {
    vec((0.0..1.0_f64, 0..400_usize), 0..20).prop_map(|it| it.into_iter().unzip())
}

proptest! {
    #[test]
    fn a_section_makes_no_sentence_of_it_less_likely_and_none_certain((chances, lengths) in section(), evidence in -1.0..2.0_f64) {
        let within = chances_in_section(&chances, &lengths, evidence);
        prop_assert_eq!(within.len(), chances.len());
        for (within, by_itself) in within.iter().zip(&chances) {
            prop_assert!(by_itself <= within && *within < 1.0, "{within} {by_itself}");
        }
        // All that is added is the chance of one answer.
        let added: f64 = within.iter().sum::<f64>() - chances.iter().sum::<f64>();
        prop_assert!(added < 1.0, "{added}");
    }

    #[test]
    fn a_section_without_evidence_has_no_more_than_its_sentences((chances, lengths) in section()) {
        prop_assert_eq!(chances_in_section(&chances, &lengths, 0.0), chances);
    }

    #[test]
    fn better_evidence_of_a_section_makes_no_sentence_less_likely(
        (chances, lengths) in section(),
        evidence in 0.0..1.0_f64,
        more in 0.0..1.0_f64,
    ) {
        let behind = chances_in_section(&chances, &lengths, evidence);
        let before = chances_in_section(&chances, &lengths, evidence + more);
        prop_assert!(behind.iter().zip(&before).all(|(behind, before)| behind <= before));
    }

    #[test]
    fn the_longer_a_section_the_less_it_says_for_each_sentence(
        (chances, lengths) in section(),
        evidence in 0.0..1.0_f64,
        more in vec(0..400_usize, 0..9),
    ) {
        let short = chances_in_section(&chances, &lengths, evidence);
        let long = [&lengths[..], &more].concat();
        let unlikely = vec![0.0; more.len()];
        let long = chances_in_section(&[&chances[..], &unlikely].concat(), &long, evidence);
        prop_assert!(short.iter().zip(&long).all(|(short, long)| long <= short));
    }
}

fn terms(text: &str) -> BTreeSet<String> {
    Analyzer::default().terms(text).into_iter().collect()
}

/// The vector of `text` among texts of these terms, as the formula has it.
#[expect(clippy::cast_precision_loss, reason = "there are few texts")]
fn plainly(texts: &[BTreeSet<String>], text: &str) -> BTreeMap<String, f64> {
    let mut weights: BTreeMap<String, f64> = BTreeMap::new();
    Analyzer::default().words(text, &mut |term, _, bytes| {
        if !is_stop_word(&text[bytes].to_lowercase()) {
            *weights.entry(term.to_owned()).or_default() += 1.0;
        }
    });
    for (term, weight) in &mut weights {
        let n = texts.iter().filter(|it| it.contains(term)).count() as f64;
        *weight *= ((texts.len() as f64 - n + 0.5) / (n + 0.5)).ln_1p();
    }
    let length = weights.values().map(|it| it * it).sum::<f64>().sqrt();
    for weight in weights.values_mut() {
        *weight /= length;
    }
    weights
}
