//! Questions asked together are answered as if they were asked one by one.

use std::collections::BTreeMap;

use ctx_retrieve::{Hit, PartQuery};

use super::{Ports, corpus, hostile_texts};

/// The lengths of the lists of randomly chosen questions.
const LENGTHS: [usize; 4] = [1, 2, 9, 100];
/// More questions than any store handles at once.
const MANY: usize = 600;

/// Checks that each port that takes several questions answers each as it would alone: whatever the
/// other questions are, however many, in any order, and if repeated.
pub(super) async fn laws<S: Ports + ?Sized>(store: &S) {
    for limit in [1, 10] {
        let names = names();
        let mut alone = BTreeMap::new();
        for name in &names {
            let found = store.definitions(std::slice::from_ref(name), limit).await;
            alone.insert(name.clone(), only(found.expect("definitions")));
        }
        let unheard: Vec<String> = (0..MANY).map(|it| format!("unheard{it}")).collect();
        alone.extend(unheard.iter().map(|it| (it.clone(), Vec::new())));
        let many = [unheard, names.clone()].concat();
        for list in lists(&names).into_iter().chain([many]) {
            let found = store.definitions(&list, limit).await.expect("definitions");
            same(&list, &found, &alone);
        }
        for name in &names {
            let found = store.users_of(std::slice::from_ref(name), limit).await;
            alone.insert(name.clone(), only(found.expect("users")));
        }
        for list in lists(&names) {
            let found = store.users_of(&list, limit).await.expect("users");
            same(&list, &found, &alone);
        }
        paths(store, limit).await;
        folders(store, limit).await;
        part_requests(store, limit).await;
    }
}

async fn paths<S: Ports + ?Sized>(store: &S, limit: usize) {
    let mut ends = names();
    for (path, _) in corpus() {
        ends.extend([path, "config.rs", "CONFIG.RS", "rs"].map(str::to_owned));
    }
    let mut alone = BTreeMap::new();
    for end in &ends {
        let found = store.ending_with(std::slice::from_ref(end), limit).await;
        alone.insert(end.clone(), only(found.expect("paths")));
    }
    for list in lists(&ends) {
        let found = store.ending_with(&list, limit).await.expect("paths");
        same(&list, &found, &alone);
    }
}

async fn folders<S: Ports + ?Sized>(store: &S, limit: usize) {
    let mut folders = names();
    folders.extend(["src", "SRC/", "src/net", "net", "docs", "/"].map(str::to_owned));
    let mut alone = BTreeMap::new();
    for folder in &folders {
        let found = store.below(std::slice::from_ref(folder), limit).await;
        alone.insert(folder.clone(), only(found.expect("folders")));
    }
    for list in lists(&folders) {
        let found = store.below(&list, limit).await.expect("folders");
        same(&list, &found, &alone);
    }
}

async fn part_requests<S: Ports + ?Sized>(store: &S, limit: usize) {
    let mut requests = Vec::new();
    for (path, _) in corpus() {
        let file = || PartQuery::new(path);
        requests.extend([file(), file().at(0), file().at(1), file().at(u32::MAX)]);
        requests.extend((2..9).map(|line| file().at(line)));
        let names = names().into_iter().take(9);
        requests.extend(names.map(|it| file().called(it)));
        requests.push(file().called("load_config").at(4));
    }
    requests.extend(names().into_iter().map(PartQuery::new));
    let mut alone: BTreeMap<PartQuery, Vec<Hit>> = BTreeMap::new();
    for request in &requests {
        let found = store.parts_of(std::slice::from_ref(request), limit).await;
        alone.insert(request.clone(), only(found.expect("parts")));
    }
    for list in lists(&requests) {
        let found = store.parts_of(&list, limit).await.expect("parts");
        same(&list, &found, &alone);
    }
}

/// Names that are defined, used, spelled differently, or unknown.
fn names() -> Vec<String> {
    let names = [
        "load_config",
        "LOAD_CONFIG",
        "parse_config",
        "Config",
        "config",
        "Connection",
        "negotiate",
        "retry_request",
        "send_with_backoff",
        "unheardof",
    ];
    let names = names.into_iter().map(str::to_owned);
    // All of these are asked alone by another law.
    let hostile = hostile_texts().into_iter().step_by(4);
    let hostile = hostile.filter(|it| it.len() < 1_000);
    names.chain(hostile).collect()
}

/// The single list of answers to one question.
fn only<A>(mut answers: Vec<Vec<A>>) -> Vec<A> {
    assert_eq!(answers.len(), 1, "a list for the question");
    answers.remove(0)
}

/// Lists of questions from `all`: none, all, all reversed, some at random, and many.
fn lists<Q: Clone>(all: &[Q]) -> Vec<Vec<Q>> {
    let mut lists = vec![
        Vec::new(),
        all.to_vec(),
        all.iter().rev().cloned().collect(),
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut chosen = |count: usize| -> Vec<Q> {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % all.len() as u64).unwrap_or(0)
        };
        (0..count).map(|_| all[next()].clone()).collect()
    };
    lists.extend(LENGTHS.map(&mut chosen));
    lists
}

/// Checks that each of `list` has in `found` the answer that it gets alone.
#[track_caller]
fn same<Q: Ord + std::fmt::Debug, A: PartialEq + std::fmt::Debug>(
    list: &[Q],
    found: &[Vec<A>],
    alone: &BTreeMap<Q, Vec<A>>,
) {
    assert_eq!(found.len(), list.len(), "a list for each question");
    for (question, found) in list.iter().zip(found) {
        assert_eq!(Some(found), alone.get(question), "{question:?}");
    }
}
