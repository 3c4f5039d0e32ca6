//! Laws of the ports of `ctx_retrieve`, for any store filled with [`corpus`], [`messages`] and
//! [`PINNED`].
//!
//! Fill a store by its own means, then call `store(&it).await`. A store with the data of many
//! owners is also filled with [`canaries`] for two of them, and checked by [`isolated`]. The other
//! laws are [`folders`](folders()) for what it returns for folders, [`equals`](equals()) for the
//! number of equal results (each needs a store of its own), [`kept`](kept()) and
//! [`threads`](threads()) for stored texts, [`removed`](removed()) for removed files, and
//! [`unchanged`](unchanged()) for writes that change nothing. The grammar of Rust must be compiled
//! in.

mod counting;
mod equals;
mod folders;
mod kept;
mod removed;
mod together;
mod unchanged;
mod votes;

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

pub use self::equals::{equal, equals};
pub use self::folders::{folders, in_folders};
pub use self::kept::kept;
pub use self::removed::removed;
pub use self::unchanged::unchanged;
pub use self::votes::votes;
use super::search::file_search;

use ctx_model::{LineSpan, PartKind, SymbolKind, UnixSeconds};
use ctx_rank::Analyzer;
use ctx_retrieve::{
    Field, FileSearch, History, Hit, Message, PartQuery, References, Relations, TextQuery, Threads,
    Usage,
};

/// All ports in one trait.
pub trait Ports: FileSearch + Relations + History + References + Usage {}

impl<S: FileSearch + Relations + History + References + Usage + ?Sized> Ports for S {}

/// The thread of [`messages`] and [`PINNED`].
pub const THREAD: &str = "thread 1";

/// The references pinned to [`THREAD`], in this order.
pub const PINNED: [&str; 3] = ["src/retry.rs:1-4", "load_config", "docs/it's 100%_\\odd.md"];

const CONFIG: &str = "\
use std::fs;

/// Reads the settings of the program from the file at `path`.
pub fn load_config(path: &str) -> Config {
    let text = fs::read_to_string(path).unwrap_or_default();
    parse_config(&text)
}

/// Takes settings apart, one a line.
pub fn parse_config(text: &str) -> Config {
    let mut config = Config::default();
    for line in text.lines() {
        config.set(line);
    }
    config
}
";

const RETRY: &str = "\
/// Sends a request again after an exponential backoff.
pub fn retry_request(request: &Request) -> Response {
    let config = load_config(\"retry.conf\");
    send_with_backoff(request, config.attempts)
}
";

const HTTP: &str = "\
/// A connection to a peer.
pub struct Connection {
    peer: Peer,
}

impl Connection {
    /// Agrees on keys.
    pub fn negotiate(&mut self) -> Keys {
        let handshake = Handshake::begin(&self.peer);
        handshake.finish(load_config)
    }
}
";

const TEST: &str = "\
#[test]
fn empty_settings_are_the_default() {
    assert_eq!(parse_config(\"\"), Config::default());
}
";

const PROSE: &str = "\
# Settings

The program reads its config from a file, one setting a line.

## 設定ファイル

設定は一行に一つ。 Don't use tabs: a tab's width isn't known.
";

/// A notebook: text, and an image in base64 that also contains words of other files.
static NOTEBOOK: LazyLock<String> = LazyLock::new(|| {
    let image = "zyzzyva/backoff+".repeat(100);
    format!(
        "{{\n  \"source\": \"A narwhal.\",\n  \"image/png\": \"{image}\",\n  \"cells\": 1\n}}\n"
    )
});

/// The files, by path, that a store must hold for [`store`].
pub fn corpus() -> Vec<(&'static str, &'static str)> {
    vec![
        ("docs/it's 100%_\\odd.md", PROSE),
        ("docs/narwhals.ipynb", NOTEBOOK.as_str()),
        // Blank files are files too.
        ("pkg/__init__.py", ""),
        ("pkg/blank.py", "\n"),
        ("src/config.rs", CONFIG),
        ("src/net/http.rs", HTTP),
        ("src/retry.rs", RETRY),
        ("tests/config.rs", TEST),
    ]
}

/// The messages of [`THREAD`], the oldest first.
pub fn messages() -> Vec<Message> {
    let said = [
        ("user", "How is the config read?"),
        (
            "assistant",
            "By `load_config`; it's simple.\n\n```\n'); DROP TABLE\n```",
        ),
        ("user", ""),
        ("assistant", "設定 🦀"),
        ("user", "Thanks"),
    ];
    let numbered = said.into_iter().zip(1_i64..);
    numbered
        .map(|((role, text), n)| {
            Message::new(
                format!("m{n}"),
                role,
                text,
                UnixSeconds::new(1_700_000_000 + n),
            )
        })
        .collect()
}

/// Checks all ports of `store`, which must be filled and not used before.
///
/// # Panics
/// If a law does not hold.
pub async fn store<S: Ports + ?Sized>(store: &S) {
    passages(store).await;
    files(store).await;
    let queries = [
        wanted(&[("config", 1.0)], 10),
        wanted(&[("backoff", 1.0), ("settings", 0.5)], 3),
    ];
    file_search(store, &queries).await;
    counting::laws(store).await;
    names(store).await;
    part_requests(store).await;
    together::laws(store).await;
    hostile(store).await;
    let said = store.messages(THREAD, 20).await.expect("messages");
    let said = said.into_iter().map(|it| (it.id, it.sent_at));
    let expected = messages().into_iter().map(|it| (it.id, it.sent_at));
    assert!(said.eq(expected), "with when they were said");
    history(store).await;
    usage(store).await;
}

const FIELDS: [(Field, f32); 4] = [
    (Field::Name, 2.0),
    (Field::Signature, 1.2),
    (Field::Doc, 0.5),
    (Field::Body, 1.0),
];

fn wanted(words: &[(&str, f32)], limit: usize) -> TextQuery {
    let mut analyzer = Analyzer::default();
    let terms = words.iter().flat_map(|(word, weight)| {
        let terms = analyzer.terms(word);
        terms.into_iter().map(|term| (term, *weight))
    });
    TextQuery::new(terms.collect(), FIELDS.to_vec(), limit)
}

fn text_of(hit: &Hit) -> String {
    let corpus = corpus();
    let (_, text) = corpus
        .iter()
        .find(|(path, _)| *path == hit.path)
        .unwrap_or_else(|| panic!("{:?} was never stored", hit.path));
    let lines: Vec<&str> = text.lines().collect();
    let end = hit.span.end() as usize;
    assert!(end <= lines.len(), "{hit:?} ends after its file");
    lines[hit.span.start() as usize - 1..end].join("\n")
}

/// Checks what holds for any list of parts.
#[track_caller]
fn is_sound(hits: &[Hit], limit: usize) {
    assert!(hits.len() <= limit, "{} of {limit}", hits.len());
    let keys: BTreeSet<_> = hits.iter().map(|it| it.key()).collect();
    assert_eq!(keys.len(), hits.len(), "each part once: {hits:?}");
    for hit in hits {
        assert!(hit.score.is_finite(), "{hit:?}");
        text_of(hit);
    }
    assert!(
        hits.is_sorted_by(|a, b| a.score >= b.score),
        "the best first: {hits:?}"
    );
}

async fn passages<S: Ports + ?Sized>(store: &S) {
    words(store).await;
    weights(store).await;
    filters(store).await;
}

/// The parts for `query`, each with one of its terms.
async fn find<S: Ports + ?Sized>(store: &S, query: &TextQuery) -> Vec<Hit> {
    let hits = store.passages(query).await.expect("a search");
    is_sound(&hits, query.limit);
    let terms: BTreeSet<String> = query.terms.iter().map(|(term, _)| term.clone()).collect();
    for hit in &hits {
        let name = hit.qualified_name.as_deref().unwrap_or_default();
        let held = Analyzer::default().terms(&format!("{} {name}", text_of(hit)));
        assert!(held.iter().any(|it| terms.contains(it)), "{hit:?}");
    }
    hits
}

/// Checks which parts a word finds, and what a store knows of them.
async fn words<S: Ports + ?Sized>(store: &S) {
    let hits = find(store, &wanted(&[("backoff", 1.0)], 10)).await;
    assert_eq!(hits.len(), 1, "the one part that has the word: {hits:?}");
    assert_eq!(hits[0].path, "src/retry.rs");
    let lines = (hits[0].span.start(), hits[0].span.end());
    assert_eq!(lines, (1, 5), "with its comment");
    assert_eq!(hits[0].kind, PartKind::from(SymbolKind::Function));
    assert_eq!(hits[0].name.as_deref(), Some("retry_request"));
    assert_eq!(hits[0].language.as_deref(), Some("rust"));
    assert!(hits[0].refers_to.iter().any(|it| it == "load_config"));

    let hits = find(store, &wanted(&[("設定", 1.0)], 10)).await;
    assert!(!hits.is_empty(), "words without spaces between them");
    let hits = find(store, &wanted(&[("narwhal", 1.0)], 10)).await;
    assert_eq!(hits.len(), 1, "{hits:?}");
    let hits = find(store, &wanted(&[("zyzzyva", 1.0)], 10)).await;
    assert_eq!(hits, [], "a line that is encoded has no words");
}

/// Checks which part comes first.
async fn weights<S: Ports + ?Sized>(store: &S) {
    let first = |hits: &[Hit]| hits.first().and_then(|it| it.name.clone());
    let mut query = wanted(&[("config", 1.0), ("backoff", 1.0)], 10);
    query.fields = vec![(Field::Body, 1.0)];
    assert_eq!(
        first(&find(store, &query).await).as_deref(),
        Some("retry_request"),
        "a rare term tells more than a common one"
    );
    let query = wanted(&[("backoff", 0.05), ("handshake", 5.0)], 10);
    assert_eq!(
        first(&find(store, &query).await).as_deref(),
        Some("Connection"),
        "a heavy term tells more than a light one"
    );
    let hits = find(store, &wanted(&[("load_config", 1.0)], 10)).await;
    assert_eq!(
        first(&hits).as_deref(),
        Some("load_config"),
        "what has the name comes before what uses it"
    );
    assert!(hits.len() >= 3, "what uses it is found too: {hits:?}");
}

/// Checks that fields, paths and limits narrow a search.
async fn filters<S: Ports + ?Sized>(store: &S) {
    let mut query = wanted(&[("backoff", 1.0)], 10);
    query.fields = vec![(Field::Name, 1.0)];
    let hits = find(store, &query).await;
    assert_eq!(hits, [], "a field that is not named is not searched");
    let query = wanted(&[("parse_config", 1.0)], 10).within(vec!["tests/config.rs".to_owned()]);
    let hits = find(store, &query).await;
    assert!(!hits.is_empty());
    assert!(hits.iter().all(|it| it.path == "tests/config.rs"));
    let all = find(store, &wanted(&[("config", 1.0)], 10)).await;
    let two = find(store, &wanted(&[("config", 1.0)], 2)).await;
    assert_eq!(two.len(), 2);
    let again = find(store, &wanted(&[("config", 1.0)], 10)).await;
    assert_eq!(again, all, "the same again");
    for nothing in [
        wanted(&[], 10),
        wanted(&[("config", 1.0)], 0),
        wanted(&[("unheardof", 1.0)], 10),
    ] {
        assert_eq!(find(store, &nothing).await, []);
    }
}

async fn files<S: Ports + ?Sized>(store: &S) {
    let find = async |word: &str, limit: usize| {
        let mut query = wanted(&[(word, 1.0)], limit);
        query.fields = vec![(Field::Path, 1.0), (Field::Text, 1.0)];
        let found = store.files(&query).await.expect("a search");
        assert!(
            found.is_sorted_by(|a, b| a.score >= b.score),
            "the best first: {found:?}"
        );
        assert!(found.iter().all(|it| it.is_file()), "{found:?}");
        let paths = found.iter().map(|it| it.path.clone());
        paths.collect::<Vec<String>>()
    };
    assert_eq!(find("backoff", 10).await, ["src/retry.rs"], "by its text");
    assert_eq!(find("http", 10).await, ["src/net/http.rs"], "by its path");
    assert_eq!(find("blank", 10).await, ["pkg/blank.py"], "without a word");
    assert_eq!(
        find("config", 10).await.len(),
        5,
        "all that have it, each once"
    );
    assert_eq!(find("config", 2).await.len(), 2);
    assert!(find("unheardof", 10).await.is_empty());
    assert_eq!(find("narwhal", 10).await, ["docs/narwhals.ipynb"]);
    assert!(
        find("zyzzyva", 10).await.is_empty(),
        "a line that is encoded has no words"
    );
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&it| it.to_owned()).collect()
}

async fn names<S: Ports + ?Sized>(store: &S) {
    let named = |hits: Vec<Hit>| {
        hits.into_iter()
            .filter_map(|it| it.name.clone())
            .collect::<Vec<String>>()
    };
    let defined = async |names: &[&str]| {
        let found = store.definitions(&owned(names), 10).await;
        found.expect("definitions")
    };
    for name in ["parse_config", "PARSE_CONFIG"] {
        let hits = defined(&[name]).await.concat();
        is_sound(&hits, 10);
        assert_eq!(
            named(hits),
            ["parse_config"],
            "what defines {name}, not what uses it"
        );
    }
    let both = defined(&["load_config", "retry_request"]).await;
    assert_eq!(both.len(), 2, "a list for each name: {both:?}");
    for (hits, name) in both.into_iter().zip(["load_config", "retry_request"]) {
        assert_eq!(named(hits), [name]);
    }
    assert_eq!(defined(&["pars"]).await, [[]]);
    assert!(defined(&[]).await.is_empty());

    let hits = store
        .users_of(&owned(&["load_config"]), 10)
        .await
        .expect("users")
        .concat();
    is_sound(&hits, 10);
    assert!(hits.iter().any(|it| it.path == "src/retry.rs"), "{hits:?}");
    assert!(
        hits.iter()
            .all(|it| it.name.as_deref() != Some("load_config")),
        "{hits:?}"
    );

    for typo in ["load_confg", "laod_config", "lod_config"] {
        let hits = store.similar(&owned(&[typo]), 5).await.expect("likeness");
        assert!(hits.len() <= 5);
        assert!(hits.iter().all(|it| (0.0..=1.0).contains(&it.score)));
        let best = hits.iter().find(|it| !it.is_file());
        let best = best.unwrap_or_else(|| panic!("nothing is like {typo}"));
        assert_eq!(best.name.as_deref(), Some("load_config"), "{typo}");
        assert!(best.score >= 0.4, "{typo}: {best:?}");
    }
    assert_eq!(store.similar(&owned(&[]), 5).await.expect("likeness"), []);
}

async fn part_requests<S: Ports + ?Sized>(store: &S) {
    let ending = async |path: &str, limit: usize| {
        let found = store.ending_with(&owned(&[path]), limit).await;
        found.expect("paths").concat()
    };
    assert_eq!(
        ending("config.rs", 10).await,
        ["src/config.rs", "tests/config.rs"]
    );
    assert_eq!(ending("config.rs", 1).await.len(), 1);
    assert_eq!(ending("src/config.rs", 10).await, ["src/config.rs"]);
    assert_eq!(ending("NET/http.rs", 10).await, ["src/net/http.rs"]);
    assert_eq!(
        ending("it's 100%_\\odd.md", 10).await,
        ["docs/it's 100%_\\odd.md"]
    );
    assert_eq!(ending("__init__.py", 10).await, ["pkg/__init__.py"]);
    assert_eq!(ending("pkg/blank.py", 10).await, ["pkg/blank.py"]);
    for none in ["fig.rs", "%", "_onfig.rs", "other.rs", "/", ""] {
        assert!(ending(none, 10).await.is_empty(), "{none:?}");
    }

    let parts_of = async |query: &PartQuery, limit: usize| {
        let found = store.parts_of(std::slice::from_ref(query), limit).await;
        found.expect("parts").concat()
    };
    let file = || PartQuery::new("src/config.rs");
    let parts = parts_of(&file(), 10).await;
    assert!(
        parts.is_sorted_by_key(|it| it.span.start()),
        "in their order"
    );
    assert!(parts.len() >= 2);
    for part in &parts {
        text_of(part);
    }
    assert_eq!(parts_of(&file(), 1).await.len(), 1);
    // The limit counts only what is asked for.
    let last = &parts[parts.len() - 1..];
    let end = last[0].span.end();
    for first in [last[0].span.start(), end] {
        let span = LineSpan::new(first, end.saturating_add(9)).expect("lines");
        assert_eq!(parts_of(&file().overlapping(span), 1).await, last);
    }
    let all = LineSpan::new(1, end).expect("lines");
    assert_eq!(parts_of(&file().overlapping(all), 10).await, parts);
    for query in [
        file().at(5),
        file().called("load_config"),
        file().called("load_config").at(5),
    ] {
        let at = parts_of(&query, 10).await;
        assert_eq!(at.len(), 1, "{query:?}");
        assert_eq!(at[0].name.as_deref(), Some("load_config"));
    }
    for none in [
        PartQuery::new("config.rs"),
        PartQuery::new("src"),
        file().at(u32::MAX),
        file().at(0),
        file().at(1).called("load_config"),
        file().called("LOAD_CONFIG"),
        PartQuery::new("pkg/__init__.py"),
        PartQuery::new("pkg/blank.py"),
    ] {
        assert_eq!(parts_of(&none, 10).await, [], "{none:?}");
    }
}

/// Texts with a meaning for a query language, a shell, a pattern or a database.
pub fn hostile_texts() -> Vec<String> {
    let texts = [
        "",
        " ",
        "'",
        "''",
        "\"",
        "\\",
        "\\'",
        "' | !",
        "don't",
        "!",
        "&",
        "|",
        "<->",
        "a <-> b",
        ":*",
        "a:*",
        "a:A",
        "(",
        ")",
        "((((",
        "a & & b",
        "%",
        "_",
        "$1",
        "$$",
        ";",
        "--",
        "/*",
        "'); DROP TABLE ctx.files; --",
        "' OR '1'='1",
        "\0",
        "a\0b",
        "\u{1}\u{2}",
        "\r\n",
        "\u{202e}",
        "\u{feff}",
        "NULL",
        "{a,b}",
        "[1:2]",
        "..",
        "../../etc/passwd",
        "*:*",
        "name:config",
        "+config -config",
        "\"config file\"~2",
        "config^1e9",
        "設定",
        "🦀",
        "e\u{301}",
        "İ",
        "ſ",
    ];
    let mut texts: Vec<String> = texts.map(str::to_owned).to_vec();
    texts.push("a".repeat(100_000));
    texts.push("' ".repeat(50_000));
    texts.push("(".repeat(100_000));
    texts
}

/// Passes `text` to every port as it is, and returns all answers.
///
/// # Panics
/// If a port fails.
pub async fn ask_all<S: Ports + ?Sized>(store: &S, text: &str) -> Vec<String> {
    let mut answers = Vec::new();
    let name = [text.to_owned()];
    let terms = vec![(text.to_owned(), 1.0)];
    let by_words = wanted(&[(text, 1.0)], 50);
    let as_it_is = TextQuery::new(terms, FIELDS.to_vec(), 50);
    let mut of_files = by_words.clone();
    of_files.fields = vec![(Field::Path, 1.0), (Field::Text, 1.0)];
    let within = wanted(&[("config", 1.0)], 50).within(name.to_vec());
    let mut hits = Vec::new();
    for query in [&by_words, &as_it_is, &within] {
        hits.extend(store.passages(query).await.expect("passages"));
    }
    let named = store.definitions(&name, 50).await.expect("definitions");
    let using = store.users_of(&name, 50).await.expect("users");
    let wanted = [
        PartQuery::new(text),
        PartQuery::new("src/config.rs").called(text),
    ];
    let parts = store.parts_of(&wanted, 50).await.expect("parts");
    hits.extend([named, using, parts].concat().concat());
    hits.extend(store.similar(&name, 50).await.expect("similar"));
    answers.extend(hits.into_iter().map(|it| format!("{it:?}")));
    let files = store.files(&of_files).await.expect("files");
    answers.extend(files.into_iter().map(|it| format!("{it:?}")));
    answers.extend(store.ending_with(&name, 50).await.expect("paths").concat());
    answers.extend(store.below(&name, 50).await.expect("folders").concat());
    let said = store.messages(text, 50).await.expect("messages");
    answers.extend(said.into_iter().map(|it| format!("{it:?}")));
    answers.extend(store.pinned(text).await.expect("references"));
    let counts = store.counts(&name).await.expect("counts");
    answers.extend(counts.into_iter().filter(|it| it.1 > 0).map(|it| it.0));
    answers
}

async fn hostile<S: Ports + ?Sized>(store: &S) {
    for text in hostile_texts() {
        ask_all(store, &text).await;
    }
    let many: Vec<String> = (0..2_000).map(|it| format!("word{it}")).collect();
    let terms = many.iter().map(|it| (it.clone(), 1.0)).collect();
    let query = TextQuery::new(terms, FIELDS.to_vec(), 10_000);
    assert_eq!(store.passages(&query).await.expect("passages"), []);
    let found = store.definitions(&many, 10).await.expect("definitions");
    assert!(found.iter().all(Vec::is_empty), "{found:?}");
    for weight in [-1.0, 0.0] {
        let mut query = wanted(&[("backoff", 1.0)], 5);
        query.fields = vec![(Field::Body, weight), (Field::Doc, weight)];
        let hits = store.passages(&query).await.expect("passages");
        assert_eq!(hits, [], "a field that is worth nothing is not searched");
    }
}

/// Checks how `store`, which must have no threads, stores [`THREAD`]: messages and references that
/// are added twice are stored once.
///
/// # Panics
/// If a law does not hold.
pub async fn threads<S: Threads + History + References + ?Sized>(store: &S) {
    for message in messages() {
        for _ in 0..2 {
            store.append(THREAD, &message).await.expect("appended");
        }
    }
    for what in ["taken off", PINNED[0], PINNED[1], PINNED[0], PINNED[2]] {
        store.pin(THREAD, what).await.expect("pinned");
    }
    for _ in 0..2 {
        store.unpin(THREAD, "taken off").await.expect("unpinned");
    }
    history(store).await;
}

/// Checks what a store returns for [`THREAD`], which must have [`messages`] and [`PINNED`]. The
/// times of messages are ignored.
///
/// # Panics
/// If a law does not hold.
pub async fn history<S: History + References + ?Sized>(store: &S) {
    let told = |said: Vec<Message>| -> Vec<_> {
        let told = said.into_iter().map(|it| (it.id, it.role, it.content));
        told.collect()
    };
    let all = told(messages());
    let said = async |thread: &str, limit| {
        let said = store.messages(thread, limit).await;
        told(said.expect("messages"))
    };
    assert_eq!(said(THREAD, 20).await, all, "in the order they were said");
    assert_eq!(
        said(THREAD, 2).await,
        all[all.len() - 2..],
        "the last, the oldest first"
    );
    assert_eq!(said(THREAD, 0).await, []);
    assert_eq!(said("thread", 20).await, [], "of this thread alone");
    let exchange = async |thread: &str, id: &str, limit| {
        let said = store.exchange(thread, id, limit).await;
        told(said.expect("an exchange"))
    };
    for (id, its) in [("m1", 0..2), ("m2", 0..2), ("m4", 2..4), ("m5", 4..5)] {
        let found = exchange(THREAD, id, 16).await;
        assert_eq!(
            found,
            all[its.clone()],
            "from a user's to the next, of {id}"
        );
        let first = exchange(THREAD, id, 1).await;
        assert_eq!(first, all[its][..1], "the oldest, of {id}");
    }
    assert_eq!(exchange(THREAD, "m6", 16).await, [], "nobody said that");
    let mut messages = store.messages(THREAD, 2).await.expect("messages");
    messages.extend(store.exchange(THREAD, "m2", 16).await.expect("an exchange"));
    let is_told = messages[0].position.is_some();
    for message in messages {
        let its = all.iter().position(|it| it.0 == message.id);
        let its = its.and_then(|it| u64::try_from(it + 1).ok());
        assert_eq!(
            message.position,
            its.filter(|_| is_told),
            "of all or of none, from 1"
        );
    }
    assert_eq!(exchange("thread", "m1", 16).await, [], "not in this thread");
    assert_eq!(
        store.pinned(THREAD).await.expect("references"),
        PINNED,
        "in the order they were pinned"
    );
    assert!(store.pinned("thread").await.expect("references").is_empty());
}

/// Checks what a store returns about shown files; none may have been shown before.
///
/// # Panics
/// If a law does not hold.
pub async fn usage<S: Usage + ?Sized>(store: &S) {
    let recent = async |limit| store.recent(limit).await.expect("recent files");
    assert_eq!(recent(10).await, [], "nothing was shown yet");
    let shown = async |paths: &[&str], at| {
        store
            .shown(&owned(paths), UnixSeconds::new(at))
            .await
            .expect("noted");
    };
    shown(
        &[
            "src/config.rs",
            "src/retry.rs",
            "src/net/http.rs",
            "src/config.rs",
        ],
        100,
    )
    .await;
    shown(&["src/retry.rs"], 200).await;
    shown(&["src/retry.rs"], 150).await;
    shown(&[], 300).await;
    let expected = [
        ("src/retry.rs".to_owned(), UnixSeconds::new(200)),
        ("src/net/http.rs".to_owned(), UnixSeconds::new(100)),
        ("src/config.rs".to_owned(), UnixSeconds::new(100)),
    ];
    assert_eq!(
        recent(10).await,
        expected,
        "the latest first, never earlier; of those shown at once, the last by their paths first"
    );
    for limit in 0..=2 {
        assert_eq!(recent(limit).await, expected[..limit]);
    }
    let paths = owned(&["src/config.rs", "nowhere.rs"]);
    let counts = store.counts(&paths).await.expect("counts");
    assert!(
        counts.values().all(|&it| it == 0),
        "to be shown is not to be of use: {counts:?}"
    );
    let now = UnixSeconds::after_1970(UNIX_EPOCH.elapsed().unwrap_or_default()).get();
    shown(&["src/config.rs"], now + 1_000_000).await;
    shown(&["src/config.rs"], now - 1_000).await;
    let expected = ("src/config.rs".to_owned(), UnixSeconds::new(now - 1_000));
    assert_eq!(
        recent(1).await,
        [expected],
        "as a clock that was ahead is set back"
    );
}

/// Files with `canary` in text and names: some at the same paths for every owner, and one at its
/// own path.
pub fn canaries(canary: &str) -> Vec<(String, String)> {
    let text = format!(
        "/// About {canary}.\npub fn load_{canary}(config: &{canary}) -> u32 {{\n    {canary}(\"{canary}\")\n}}\n"
    );
    vec![
        ("src/config.rs".to_owned(), text.clone()),
        (format!("src/{canary}.rs"), text),
    ]
}

/// Messages with `canary`, with the same ids for every owner. They belong in [`THREAD`] and in a
/// thread called `canary`.
pub fn canary_messages(canary: &str) -> Vec<Message> {
    (1..=3)
        .map(|n| {
            Message::new(
                format!("m{n}"),
                "user",
                format!("my {canary} {n}"),
                UnixSeconds::new(n),
            )
        })
        .collect()
}

/// Checks that `mine` returns nothing with `foreign`, a word of the [`canaries`] and
/// [`canary_messages`] of another owner. The word must also be pinned to both threads and shown.
///
/// # Panics
/// If the word is returned.
pub async fn isolated<S: Ports + ?Sized>(mine: &S, foreign: &str) {
    let path = format!("src/{foreign}.rs");
    let load = format!("load_{foreign}");
    for text in [
        foreign,
        &path,
        &load,
        "config",
        "src",
        "src/config.rs",
        THREAD,
    ] {
        for answer in ask_all(mine, text).await {
            assert!(!answer.contains(foreign), "asked for {text:?}: {answer}");
        }
    }
    for (path, at) in mine.recent(10_000).await.expect("recent files") {
        assert!(!path.contains(foreign), "{path} at {at:?}");
    }
    let counts = mine.counts(&[path]).await.expect("counts");
    assert_eq!(counts.values().sum::<u64>(), 0, "{counts:?}");
}
