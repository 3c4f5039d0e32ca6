//! How many contexts a second, of the text files in a folder:
//! `CTX_MEASURE=. cargo test --release -p ctx-server --features all-languages measured -- --ignored --nocapture`.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{ADA, OPERATOR, Running};

/// What is asked, each time with another number, so that nothing is kept from before.
const QUESTIONS: [&str; 8] = [
    "How is the budget of a context kept when the header does not fit?",
    "Where are citations resolved and unknown ids reported?",
    "parse the tokens of a request and check the owner",
    "Why does `Index::update` take a lock?",
    "escape XML CDATA in documents",
    "What happens when a search is late?",
    "the selection of chunks by density and its certificate",
    "read a file below the root without following symlinks",
];

fn files(folder: &Path, found: &mut Vec<Value>, below: &Path) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            files(&path, found, below);
        } else if let Ok(content) = std::fs::read_to_string(&path) {
            let path = path.strip_prefix(below).unwrap().to_string_lossy();
            if content.len() < 200_000 && found.len() < 400 {
                found.push(json!({"path": path, "content": content}));
            }
        }
    }
}

#[test]
#[ignore = "measures; set CTX_MEASURE"]
fn builds_a_second_are_measured() {
    let folder = std::env::var_os("CTX_MEASURE").expect("CTX_MEASURE names a folder");
    let server = Running::embedded();
    let mut found = Vec::new();
    files(Path::new(&folder), &mut found, Path::new(&folder));
    for batch in found.chunks(100) {
        let begin = Instant::now();
        server
            .post(ADA, "/v1/files", &json!({"files": batch}))
            .data(200);
        println!("{} files kept in {:?}", batch.len(), begin.elapsed());
    }
    for clients in [1, 2, 4] {
        let number = AtomicUsize::new(0);
        let length = Duration::from_secs(4);
        let begin = Instant::now();
        let mut took: Vec<Duration> = std::thread::scope(|scope| {
            let ask = || {
                let mut took = Vec::new();
                while begin.elapsed() < length {
                    let turn = number.fetch_add(1, Ordering::Relaxed);
                    let message = format!("{} {clients}{turn}", QUESTIONS[turn % QUESTIONS.len()]);
                    let start = Instant::now();
                    let wanted = json!({"message": message});
                    let answer = server.post(ADA, "/v1/context/build", &wanted);
                    assert_eq!(answer.status, 200, "{answer:?}");
                    took.push(start.elapsed());
                }
                took
            };
            let asked: Vec<_> = (0..clients).map(|_| scope.spawn(ask)).collect();
            asked
                .into_iter()
                .flat_map(|it| it.join().unwrap())
                .collect()
        });
        let all = begin.elapsed();
        took.sort_unstable();
        let part = |share: usize| took[took.len() * share / 100];
        println!(
            "{clients} at once: {} builds/s, median {:?}, p99 {:?}",
            took.len() as u128 * 1_000 / all.as_millis(),
            part(50),
            part(99)
        );
    }
    let metrics = server.get(OPERATOR, "/metrics").body;
    let sums = |it: &&str| it.starts_with("context_stage_seconds_sum") || it.contains("time_sum");
    for line in metrics.lines().filter(sums) {
        println!("{line}");
    }
}
