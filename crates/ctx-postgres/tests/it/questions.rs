//! Arbitrary questions to every port that reads, by two owners at once: none fails, and each is
//! answered with the owner's own rows. `CTX_THOROUGH=1` asks 100,000 questions rather than 250
//! (10,000 where no policy binds who asks), and `CTX_SEED=4711` only the one with that number.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ctx_model::UnixSeconds;
use ctx_postgres::{FileText, Limits, OwnedStore, Store};
use ctx_retrieve::{
    Field, FileSearch as _, Generation as _, History as _, Hit, PartQuery, PortResult,
    References as _, Relations as _, Usage as _,
};
use ctx_testkit::few;
use ctx_testkit::laws::store as laws;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::task::JoinSet;

use crate::fuzz::{FOREIGN, OWN, any_text};
use crate::ranking::asked;
use crate::server::{Fresh, raw};
use crate::{fresh, owners};

/// A port, and a row that it answered.
type Row = (&'static str, String);

/// Both owners have files at these paths, and names of these.
const SHARED: [&str; 10] = [
    "config",
    "load_config",
    "laod_confg",
    "src/config.rs",
    "config.rs",
    "docs/it's 100%_\\odd.md",
    "%_\\odd.md",
    laws::THREAD,
    "m2",
    "context 1",
];

const STOP_WORDS: [&str; 6] = ["the", "of", "and", "is", "where", "not"];

/// What one owner alone has the like of.
fn own_names(canary: &str) -> Vec<String> {
    vec![
        canary.to_owned(),
        format!("load_{canary}"),
        format!("src/{canary}.rs"),
        format!("{canary}_settings"),
    ]
}

async fn fill(store: &OwnedStore, canary: &str) {
    owners::fill(store, canary).await;
    let code = format!(
        "/// Reads the config of a {canary}.\npub fn load_config(path: &str) -> {canary} {{\n    {canary}_settings(path, load_{canary})\n}}\n"
    );
    let prose = format!("# The config of a {canary}\n\nIt isn't `load_{canary}` | that's 100% !\n");
    // A part without a name is known by when its file was changed.
    let at = i64::from(canary.as_bytes()[0]);
    let files = [
        FileText::new("src/net/config.rs", code).with_modified_at(UnixSeconds::new(at)),
        FileText::new("docs/it's 100%_\\odd.md", prose).with_modified_at(UnixSeconds::new(at)),
    ];
    store.ingest(files.into()).await.unwrap();
}

/// What is asked of all ports.
#[derive(Clone, Debug)]
struct Question {
    /// Names, terms, paths, ids: whatever a port takes.
    texts: Vec<String>,
    line: u32,
    number: i64,
    limit: usize,
}

fn questions() -> impl Strategy<Value = Question> {
    let mut known = [own_names(OWN), own_names(FOREIGN)].concat();
    known.extend(SHARED.map(str::to_owned));
    let known = select(known);
    let words = prop_oneof![
        3 => known.clone(),
        2 => select(&STOP_WORDS[..]).prop_map(str::to_owned),
        1 => any_text(),
    ];
    let sentence = prop::collection::vec(words, 1..12).prop_map(|it| it.join(" "));
    let flood = (known.clone(), 0_u32..9_999, 1_u32..4_000).prop_map(|(known, first, many)| {
        let words: Vec<String> = (first..first + many).map(|it| format!("w{it}")).collect();
        format!("{} {known}", words.join(" "))
    });
    let bytes = prop::collection::vec(any::<u8>(), 0..300);
    let characters = prop::collection::vec(any::<char>(), 0..60);
    let text = prop_oneof![
        40 => any_text(),
        20 => known.clone(),
        20 => sentence,
        8 => bytes.prop_map(|it| String::from_utf8_lossy(&it).into_owned()),
        8 => characters.prop_map(String::from_iter),
        2 => select(laws::hostile_texts()),
        2 => flood,
    ];
    let many = (
        known,
        prop::collection::vec(text.clone(), 1..8),
        1_usize..300,
    );
    let texts = prop_oneof![
        60 => prop::collection::vec(text, 1..4),
        1 => many.prop_map(|(known, texts, many)| {
            let numbered = (0..many).flat_map(|n| texts.iter().map(move |it| format!("{n}{it:.99}")));
            numbered.chain([known]).collect()
        }),
    ];
    let line = prop_oneof![0_u32..5, any::<u32>()];
    let number = prop_oneof![-1_i64..5, any::<i64>()];
    let limit = prop_oneof![8 => Just(50), 1 => 0_usize..3, 1 => Just(usize::MAX)];
    let all = (texts, line, number, limit);
    all.prop_map(|(texts, line, number, limit)| Question {
        texts,
        line,
        number,
        limit,
    })
}

/// The question of this number, always the same.
fn question(questions: &impl Strategy<Value = Question>, number: u64) -> Question {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    questions.new_tree(&mut runner).unwrap().current()
}

/// The rows that each port answers: of those that take one text, to the first.
async fn rows(store: &OwnedStore, asked: &Question) -> PortResult<Vec<Row>> {
    let mut rows = by_terms(store, asked).await?;
    rows.extend(by_names(store, asked).await?);
    rows.extend(of_files(store, asked).await?);
    rows.extend(of_threads(store, asked).await?);
    rows.extend(of_contexts(store, asked).await?);
    Ok(rows)
}

fn parts(port: &'static str, hits: impl IntoIterator<Item = Hit>) -> impl Iterator<Item = Row> {
    hits.into_iter()
        .map(move |it| (port, format!("{:?}", it.part)))
}

fn each<T: std::fmt::Debug>(
    port: &'static str,
    rows: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = Row> {
    rows.into_iter().map(move |it| (port, format!("{it:?}")))
}

async fn by_terms(store: &OwnedStore, it: &Question) -> PortResult<Vec<Row>> {
    let by_words = asked(&it.texts.join(" "), it.limit);
    let mut as_they_are = by_words.clone();
    as_they_are.terms = it.texts.iter().map(|it| (it.clone(), 1.0)).collect();
    let within = asked("config load", it.limit).within(it.texts.clone());
    let mut rows = Vec::new();
    for (port, query) in [
        ("passages", by_words.clone()),
        ("passages by presence", by_words.clone().by_presence()),
        ("passages of terms", as_they_are.clone()),
        ("passages of files", within.clone()),
    ] {
        rows.extend(parts(port, store.passages(&query).await?));
    }
    for (port, mut query) in [
        ("files", by_words.clone()),
        ("files by presence", by_words.by_presence()),
        ("files of terms", as_they_are.by_presence()),
        ("files of files", within.by_presence()),
    ] {
        query.fields = vec![(Field::Path, 1.0), (Field::Text, 1.0)];
        let found = store.files(&query).await?;
        rows.extend(found.iter().map(|it| (port, it.path.clone())));
    }
    Ok(rows)
}

async fn by_names(store: &OwnedStore, it: &Question) -> PortResult<Vec<Row>> {
    let (names, limit) = (&it.texts, it.limit);
    let places: Vec<PartQuery> = (names.iter())
        .flat_map(|name| {
            [
                PartQuery::new(name),
                PartQuery::new(name).at(it.line),
                PartQuery::new("src/config.rs").called(name),
            ]
        })
        .collect();
    let defined = store.definitions(names, limit).await?.concat();
    let using = store.users_of(names, limit).await?.concat();
    let alike = store.similar(names, limit).await?;
    let ending = store.ending_with(names, limit).await?.concat();
    let whole: Vec<PartQuery> = names.iter().map(PartQuery::new).collect();
    let mut rows: Vec<Row> = parts("definitions", defined).collect();
    rows.extend(parts("users of names", using));
    rows.extend(parts("similar names", alike));
    rows.extend(ending.into_iter().map(|it| ("ends of paths", it)));
    for places in [places, whole] {
        let found = store.parts_of(&places, limit).await?.concat();
        rows.extend(parts("parts of files", found));
    }
    Ok(rows)
}

async fn of_files(store: &OwnedStore, it: &Question) -> PortResult<Vec<Row>> {
    let paths: Vec<&str> = it.texts.iter().map(String::as_str).collect();
    let known = *blake3::hash(paths[0].as_bytes()).as_bytes();
    let mut rows: Vec<Row> = each("text of a file", store.text(paths[0]).await?).collect();
    rows.extend(each("texts of files", store.texts(&paths, &[known]).await?));
    rows.extend(each("hashes of files", store.hashes(&paths).await?));
    let after = store.stored_files(paths[0], it.limit).await?;
    rows.extend(each("stored files", after));
    rows.extend(each("uses of files", store.counts(&it.texts).await?));
    rows.extend(each("recent files", store.recent(it.limit).await?));
    store.generation().await?;
    store.totals().await?;
    Ok(rows)
}

async fn of_threads(store: &OwnedStore, it: &Question) -> PortResult<Vec<Row>> {
    let (thread, limit, number) = (&*it.texts[0], it.limit, it.number);
    let mut rows: Vec<Row> = each("messages", store.messages(thread, limit).await?).collect();
    let listed = store
        .listed_messages(thread, number, limit, usize::MAX)
        .await?;
    rows.extend(each("listed messages", listed));
    let latest = store
        .latest_messages(thread, Some(number), limit, usize::MAX)
        .await?;
    rows.extend(each("latest messages", latest));
    for (thread, id) in [
        (thread, &*it.texts[it.texts.len() - 1]),
        (laws::THREAD, thread),
    ] {
        let exchange = store.exchange(thread, id, limit).await?;
        rows.extend(each("an exchange", exchange));
    }
    rows.extend(each("references", store.pinned(thread).await?));
    let begun = store.begun_thread(thread).await?;
    rows.extend(begun.map(|it| ("has a thread", it.thread)));
    let listed = store.listed_threads(Some(number), limit).await?;
    // Their numbers are those of the database.
    let listed = (listed.into_iter()).map(|it| (it.thread, it.title, it.pinned, it.begun_at));
    rows.extend(each("listed threads", listed));
    let active = store.active_threads(Some(number), limit).await?;
    let active = (active.into_iter()).map(|it| (it.thread, it.title, it.pinned, it.active_at));
    rows.extend(each("active threads", active));
    let info = store.stored_thread(thread).await?;
    let info = info.map(|(it, count)| (it.thread, it.title, it.pinned, count));
    rows.extend(each("a thread", info));
    rows.extend(each(
        "a message",
        store.message(thread, &it.texts[0]).await?,
    ));
    Ok(rows)
}

async fn of_contexts(store: &OwnedStore, it: &Question) -> PortResult<Vec<Row>> {
    let id = &*it.texts[0];
    let mut rows: Vec<Row> = each("a context", store.context(id).await?).collect();
    let is_kept = store
        .is_kept(id, crate::keeping(60, it.limit as u64))
        .await?;
    rows.extend(is_kept.then(|| ("is kept", id.to_owned())));
    for thread in [None, Some(id)] {
        let with = store.contexts_with(thread, &it.texts, 99, 9_999).await?;
        rows.extend(each("contexts with texts", with));
    }
    Ok(rows)
}

/// All rows of an owner that is alone in a database.
async fn all_rows(store: &OwnedStore, canary: &str) -> BTreeSet<Row> {
    fill(store, canary).await;
    let mut known = own_names(canary);
    known.extend(SHARED.map(str::to_owned));
    known.extend(["", "m1", "m3"].map(str::to_owned));
    let mut all = BTreeSet::new();
    // Messages come after a number, threads before one.
    for number in [0, i64::MAX] {
        for text in &known {
            let question = Question {
                texts: vec![text.clone()],
                line: 1,
                number,
                limit: 1_000,
            };
            all.extend(rows(store, &question).await.unwrap());
        }
    }
    all
}

/// One who asks, and all that may be answered.
struct Asker {
    /// One keeps what it has read, one reads everything again.
    stores: [OwnedStore; 2],
    own: BTreeSet<Row>,
    foreign: &'static str,
}

/// How many questions found something, and how many by each port.
#[derive(Debug, Default)]
struct Found {
    questions: usize,
    by_port: BTreeMap<&'static str, usize>,
}

impl Asker {
    /// The ports that found something, or what is wrong.
    async fn ask(&self, number: u64, asked: &Question) -> Result<BTreeSet<&'static str>, String> {
        let store = &self.stores[usize::from(number % 4 > 1)];
        let rows = rows(store, asked)
            .await
            .map_err(|error| error.on_one_line())?;
        let mut ports = BTreeSet::new();
        for row in rows {
            if row.1.contains(self.foreign) || !self.own.contains(&row) {
                return Err(format!("{} was answered with {row:?}", store.owner()));
            }
            ports.insert(row.0);
        }
        Ok(ports)
    }

    async fn ask_all(&self, numbers: impl Iterator<Item = u64>) -> Found {
        let questions = questions();
        let mut found = Found::default();
        for number in numbers {
            let asked = question(&questions, number);
            let ports = self.ask(number, &asked).await.unwrap_or_else(|why| {
                let asked: String = format!("{asked:?}").chars().take(2_000).collect();
                panic!("{why}\nCTX_SEED={number} asks it again: {asked}")
            });
            found.questions += usize::from(ports.iter().any(|it| !ALWAYS.contains(it)));
            for port in ports {
                *found.by_port.entry(port).or_default() += 1;
            }
        }
        found
    }
}

/// These answer whatever the text.
const ALWAYS: [&str; 4] = ["stored files", "recent files", "listed threads", "threads"];

/// Two owners of one database, both with [`Asker::own`] of a database without the other.
async fn askers(fresh: &Fresh) -> Option<[Asker; 2]> {
    let limits = Limits::default()
        .with_reading(Duration::from_mins(1))
        .with_kept_bytes(0);
    let forgetful = Store::connect(&fresh.url, limits).await.unwrap();
    let asker = async |name, canary, foreign| {
        let alone = Fresh::new().await?;
        let own = all_rows(&alone.owner(name), canary).await;
        let stores = [fresh.owner(name), forgetful.owner(name).unwrap()];
        fill(&stores[0], canary).await;
        Some(Asker {
            stores,
            own,
            foreign,
        })
    };
    let alice = asker("alice", OWN, FOREIGN).await?;
    Some([alice, asker("bob", FOREIGN, OWN).await?])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_asked_is_answered_with_rows_of_ones_own() {
    all_are_ones_own(&fresh!(), few::thorough(100_000, USUAL)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_it_is_where_no_policy_binds_who_asks() {
    let Some(fresh) = Fresh::unbound().await else {
        return;
    };
    // The questions are those above, and take as long: fewer, so that both end in time.
    all_are_ones_own(&fresh, few::thorough(10_000, USUAL)).await;
}

/// How many questions a usual run asks.
const USUAL: usize = 250;

async fn all_are_ones_own(fresh: &Fresh, count: usize) {
    let Some(askers) = askers(fresh).await else {
        return;
    };
    if let Ok(number) = std::env::var("CTX_SEED") {
        let number: u64 = number.parse().unwrap();
        let asker = &askers[usize::from(number % 2 == 1)];
        asker.ask_all(std::iter::once(number)).await;
        return;
    }
    let ports: BTreeSet<&str> = askers[0].own.iter().map(|it| it.0).collect();
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (first, asker) in (0..).zip(askers) {
        tasks.spawn(async move { asker.ask_all((first..count as u64).step_by(2)).await });
    }
    let mut all = Found::default();
    while let Some(found) = tasks.join_next().await {
        let found = found.unwrap();
        all.questions += found.questions;
        for (port, count) in found.by_port {
            *all.by_port.entry(port).or_default() += count;
        }
    }
    println!("of {count} in {:?}: {all:#?}", start.elapsed());
    assert!(all.questions > count / 2, "of {count}: {all:?}");
    assert!(all.by_port.keys().copied().eq(ports), "{all:?}");
    // The server counts what failed, whoever was told of it.
    let client = raw(&fresh.url).await;
    let sql = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    let failed: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
    assert_eq!(failed, 0);
}
