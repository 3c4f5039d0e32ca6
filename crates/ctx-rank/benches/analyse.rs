//! Analyses an issue report of 4 kB, scores 10,000 items, and fuses six lists of 200.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use ctx_model::Origin;
use ctx_rank::{
    Corpus, List, Profile, Query, RRF_K, Signals, Vocabulary, convex, keyword_match, recency,
    reciprocal_rank, source_priority, usage_frequency,
};

fn report() -> String {
    let mut text = String::from(
        "Cookies are lost when `Session.resolve_redirects` follows a 302\n\n\
         <!-- Please search existing issues first. -->\n\
         See requests/sessions.py:142. It says \"moved for good\".\n\n```\n",
    );
    let mut line = 0;
    while text.len() < 2500 {
        line += 7;
        let frame = format!("  File \"/srv/app/part{line}.py\", line {line}, in handle_{line}\n");
        text += &frame;
    }
    text += "```\n\n";
    while text.len() < 3900 {
        text +=
            "The answer before the redirect sets a cookie, which the next request does not send. ";
    }
    text += "\n\n## Environment\n\n- Python: 3.14\n";
    text
}

fn analyse(criterion: &mut Criterion) {
    let report = report();
    let query = Query::analyse(&report);
    assert_eq!(query.mentions.files[0].line, Some(142));
    assert!(query.mentions.frames.len() > 20 && !query.terms.is_empty());
    criterion.bench_function("analyse/4 kB", |b| {
        b.iter(|| Query::analyse(black_box(&report)));
    });
}

fn score(criterion: &mut Criterion) {
    let mut items = Vec::new();
    for n in 0..10_000_u32 {
        let mut text = String::new();
        write!(text, "fn handle_{n}(request: Request{}) cookie", n % 97).expect("a string grows");
        items.push(text);
    }
    let profile = Profile::default();
    let score = |text: &str, n: u32| {
        let mut signals = Signals::default();
        signals.text_similarity = f64::from(n % 10) / 10.0;
        let share = keyword_match(["handle_7", "cookie"], |it| text.contains(it));
        signals.keyword_match = Some(share);
        signals.recency = recency(f64::from(n), profile.decay);
        signals.source_priority = source_priority(Origin::Chunk);
        signals.usage_frequency = Some(usage_frequency(u64::from(n % 12)));
        profile.score(&signals).total
    };
    criterion.bench_function("score/10,000 items", |b| {
        b.iter(|| {
            let scores = items.iter().zip(0..).map(|(text, n)| score(text, n));
            let best = scores.fold(0.0, f64::max);
            assert!(0.5 < best && best <= 1.0);
            best
        });
    });
    criterion.bench_function("similarity/10,000 items", |b| {
        b.iter(|| {
            let mut vocabulary = Vocabulary::default();
            let bags = items.iter().map(|it| Arc::new(vocabulary.bag(it)));
            let (corpus, vectors) = Corpus::with_vectors(bags);
            let query = corpus.vector("how does handle_7 treat a cookie");
            let alike = vectors.iter().map(|it| it.cosine(&query));
            let best = alike.fold(0.0, f64::max);
            assert!(0.5 < best && best <= 1.0);
            best
        });
    });
}

fn fuse(criterion: &mut Criterion) {
    let lists = [0, 1, 2, 3, 4, 5].map(|list| List {
        weight: 1.0,
        items: (0..200_u32)
            .map(|n| (n * (list + 1) % 701, f64::from(200 - n)))
            .collect(),
    });
    assert_eq!(convex(&lists).expect("all are numbers")[0].item, 0);
    criterion.bench_function("fuse/convex, 6 × 200", |b| {
        b.iter(|| convex(black_box(&lists)));
    });
    criterion.bench_function("fuse/ranks, 6 × 200", |b| {
        b.iter(|| reciprocal_rank(black_box(&lists), RRF_K));
    });
}

criterion_group!(benches, analyse, score, fuse);
criterion_main!(benches);
