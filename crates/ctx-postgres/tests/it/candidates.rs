//! Measures how many candidates are enough; checks nothing. Runs like `measure`, with
//! `CTX_SOURCES`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use ctx_postgres::{Limits, OwnedStore, Store};
use ctx_retrieve::{FileSearch as _, Hit, TextQuery};

use crate::measure::{Sources, filled};
use crate::ranking::asked;

/// Beyond any store that is measured.
const ALL: usize = 10_000_000;
/// As many as a retrieval asks for.
const WIDE: usize = 400;

/// What is said of a function, and where that is.
struct Question {
    said: String,
    path: String,
    line: u32,
}

/// Comments of three words or more, without the names that follow them.
fn questions(sources: &Sources) -> Vec<Question> {
    let step = (sources.files.len() / 300).max(1);
    let about = |(number, file): (usize, &ctx_postgres::FileText)| {
        let said = file.text.lines().enumerate().filter_map(|(index, line)| {
            let said = line.trim().strip_prefix("/// ")?;
            let line = u32::try_from(index + 1).ok()?;
            (said.split(' ').count() > 4).then(|| Question {
                said: said.to_owned(),
                path: file.path.clone(),
                line,
            })
        });
        let mut said: Vec<Question> = said.collect();
        (!said.is_empty()).then(|| said.swap_remove(number * 7 % said.len()))
    };
    let files = sources.files.iter().enumerate();
    files.step_by(step).filter_map(about).collect()
}

type Key = (String, u32);

fn keys(hits: &[Hit]) -> Vec<Key> {
    let key = |it: &Hit| (it.path.clone(), it.span.start());
    hits.iter().map(key).collect()
}

/// The share of the first `count` of `all` that `some` has among its first.
fn shared(all: &[Key], some: &[Key], count: usize) -> f64 {
    let first: BTreeSet<&Key> = some.iter().take(count).collect();
    let both = all.iter().take(count).filter(|it| first.contains(it));
    ratio(both.count(), all.len().min(count))
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn reciprocal(hits: &[Hit], question: &Question) -> f64 {
    let holds = |it: &Hit| it.path == question.path && it.span.contains_line(question.line);
    let rank = hits.iter().position(holds);
    rank.map_or(0.0, |it| ratio(1, it + 1))
}

async fn answers(store: &OwnedStore, queries: &[TextQuery]) -> Vec<Vec<Hit>> {
    let mut answers = Vec::new();
    for query in queries {
        answers.push(store.passages(query).await.unwrap());
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; set CTX_SOURCES"]
async fn how_many_candidates_are_enough() {
    let sources = Sources::named();
    let questions = questions(&sources);
    let Some((_fresh, url)) = filled(sources.files).await else {
        return;
    };
    for (what, by_presence) in [("frequency", false), ("presence", true)] {
        let query = |it: &Question| {
            let query = asked(&it.said, WIDE);
            if by_presence {
                query.by_presence()
            } else {
                query
            }
        };
        let queries: Vec<TextQuery> = questions.iter().map(query).collect();
        let mut all: Vec<Vec<Key>> = Vec::new();
        for candidates in [ALL, 2_000, 1_200, 800, 500, 300] {
            let limits = Limits::default().with_candidates(candidates);
            let limits = limits.with_reading(Duration::from_mins(1));
            let store = Store::connect(&url, limits).await.unwrap();
            let found = answers(&store.owner("alice").unwrap(), &queries).await;
            if candidates == ALL {
                all = found.iter().map(|it| keys(it)).collect();
            }
            let of = ratio(questions.len(), 1);
            let mean = |share: &dyn Fn(usize) -> f64| (0..found.len()).map(share).sum::<f64>() / of;
            let mut line = format!("{what}, {candidates} candidates:");
            for count in [10, 50, WIDE] {
                let share = mean(&|it| shared(&all[it], &keys(&found[it]), count));
                write!(line, " {share:.3} of the first {count},").unwrap();
            }
            let rank = mean(&|it| reciprocal(&found[it], &questions[it]));
            println!("{line} mean reciprocal rank {rank:.3} of {of}");
        }
    }
}
