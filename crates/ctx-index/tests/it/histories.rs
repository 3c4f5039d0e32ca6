//! Answers depend on the files alone, whatever was indexed before.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use ctx_index::{Index, Options};
use ctx_rank::Analyzer;
use ctx_retrieve::{Field, FileSearch as _, PartQuery, Relations as _, TextQuery};
use ctx_testkit::few;
use proptest::prelude::*;

use crate::{Fixture, block_on, memory, update};

/// Files that come, change and go.
const FILES: u8 = 24;
const WORDS: [&str; 16] = [
    "voucher", "lease", "budget", "price", "parse", "token", "merge", "order", "render", "select",
    "emit", "store", "segment", "query", "score", "common",
];

/// One of the texts that a file may have: long or short, code or prose, in words that others have
/// too, or without any.
fn text(file: u8, variant: u8) -> String {
    if (file + variant) % 7 == 6 {
        return "{}\n".to_owned();
    }
    let mut random = u64::from(file) * 977 + u64::from(variant) * 31 + 1;
    let mut word = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005) + 1_442_695;
        let square = (random >> 40) % 16 * ((random >> 50) % 16) / 16;
        WORDS[usize::try_from(square).unwrap()]
    };
    let mut text = String::new();
    for part in 0..=(file + variant) % 5 {
        let [name, doc, one, two, three] = [(); 5].map(|()| word());
        let body = format!("{one} {two} {three}");
        if file.is_multiple_of(4) {
            let _ = write!(text, "# The {name} of a {doc}\n\n{body} {part}.\n\n");
            continue;
        }
        let _ = write!(text, "/// Of a {doc}: {body}.\npub fn {name}_{part}() {{\n");
        for _ in 0..=part {
            let _ = writeln!(text, "    {}_{}();", word(), word());
        }
        text.push_str("}\n\npub fn new() {}\n\n");
    }
    text
}

/// Writes a file with a time that is the variant's alone.
fn put(fixture: &Fixture, file: u8, variant: u8) {
    let path = fixture.path(&path(file));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text(file, variant)).unwrap();
    let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + u64::from(variant));
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(time).unwrap();
}

fn path(file: u8) -> String {
    let end = if file.is_multiple_of(4) { "md" } else { "rs" };
    format!("{}/f{file}.{end}", WORDS[usize::from(file % 5)])
}

/// Everything that can be asked, with every score.
fn answers(index: &Index) -> String {
    let mut terms = Vec::new();
    let mut analyzer = Analyzer::default();
    for word in WORDS {
        analyzer.words(word, &mut |term, _, _| terms.push((term.to_owned(), 1.3)));
    }
    let parts = [Field::Name, Field::Signature, Field::Doc, Field::Body];
    let parts = parts.map(|it| (it, 0.7)).to_vec();
    let files = vec![(Field::Path, 1.7), (Field::Text, 1.0)];
    let names = ["new", "voucher_0", "lease_budget", "price_price"].map(str::to_owned);
    let mut said = Vec::new();
    for count in [1, 3, terms.len()] {
        for limit in [1, 10, 100] {
            let wanted = TextQuery::new(terms[..count].to_vec(), parts.clone(), limit);
            let within = wanted
                .clone()
                .within((0..FILES).step_by(2).map(path).collect());
            for wanted in [wanted.clone().by_presence(), within, wanted] {
                let hits = block_on(index.passages(&wanted)).unwrap();
                assert!(hits.is_sorted_by(|a, b| {
                    let by_score = b.score.total_cmp(&a.score);
                    by_score
                        .then_with(|| a.part.key().cmp(&b.part.key()))
                        .is_le()
                }));
                said.push(format!("{hits:?}"));
            }
            let wanted = TextQuery::new(terms[..count].to_vec(), files.clone(), limit);
            said.push(format!("{:?}", block_on(index.files(&wanted)).unwrap()));
        }
    }
    for limit in [1, 4, 100] {
        said.push(format!(
            "{:?}",
            block_on(index.definitions(&names, limit)).unwrap()
        ));
        said.push(format!(
            "{:?}",
            block_on(index.users_of(&names, limit)).unwrap()
        ));
        said.push(format!(
            "{:?}",
            block_on(index.similar(&names, limit)).unwrap()
        ));
    }
    let ends: Vec<String> = (0..FILES).map(path).collect();
    said.push(format!(
        "{:?}",
        block_on(index.ending_with(&ends, 9)).unwrap()
    ));
    let wanted = [PartQuery::new(path(3))];
    said.push(format!(
        "{:?}",
        block_on(index.parts_of(&wanted, 9)).unwrap()
    ));
    said.join("\n").replace("}, Hit", "},\nHit")
}

fn answers_of_a_new_one(fixture: &Fixture) -> String {
    let store = memory();
    let index = Index::open(fixture.root(), store.path(), Options::default()).unwrap();
    update(&index);
    answers(&index)
}

#[track_caller]
fn assert_same(left: &str, right: &str) {
    let differing = left.lines().zip(right.lines()).find(|(a, b)| a != b);
    assert_eq!(differing, None);
    assert_eq!(left.len(), right.len());
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Remove(u8),
    Update,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..FILES, 0..4_u8).prop_map(|(file, variant)| Step::Put(file, variant)),
        2 => (0..FILES).prop_map(Step::Remove),
        3 => Just(Step::Update),
        1 => Just(Step::Reopen),
    ]
}

/// A few histories, or `CTX_HISTORIES`.
fn histories() -> u32 {
    std::env::var("CTX_HISTORIES").map_or(2, |it| it.parse().unwrap())
}

#[test]
fn the_same_files_have_the_same_answers() {
    let strategy = prop::collection::vec(step(), 1..40);
    few::run(histories(), &strategy, |steps| {
        let fixture = Fixture::new(&[]);
        (0..FILES).for_each(|file| put(&fixture, file, 0));
        let first = answers_of_a_new_one(&fixture);
        let mut index = fixture.updated();
        for step in steps {
            match step {
                Step::Put(file, variant) => put(&fixture, file, variant),
                Step::Remove(file) => drop(fs::remove_file(fixture.path(&path(file)))),
                Step::Update => drop(update(&index)),
                Step::Reopen => index = fixture.open(),
            }
        }
        update(&index);
        assert_same(&answers(&index), &answers_of_a_new_one(&fixture));
        // And back.
        (0..FILES).for_each(|file| put(&fixture, file, 0));
        update(&index);
        assert_same(&answers(&index), &first);
        Ok(())
    });
}

/// More parts are equally good than anyone asks for.
#[test]
fn of_equals_the_same_are_taken_whatever_was_written_last() {
    let one = "pub fn new() {}\n";
    let fixture = Fixture::new(&[]);
    let path = |it: u32| format!("f{it:03}.rs");
    for file in 0..200 {
        fixture.write(&path(file), one);
    }
    let index = fixture.updated();
    let names = ["new".to_owned()];
    let found = |index: &Index, limit| {
        let hits = block_on(index.definitions(&names, limit)).unwrap().concat();
        hits.into_iter()
            .map(|it| it.path.clone())
            .collect::<Vec<_>>()
    };
    for limit in [1, 2, 20] {
        let first: Vec<String> = (0..u32::try_from(limit).unwrap()).map(path).collect();
        assert_eq!(found(&index, limit), first);
    }
    let before = found(&index, 20);
    for text in ["pub fn old() {}\n", one] {
        (0..5).for_each(|file| fixture.write(&path(file), text));
        update(&index);
    }
    assert_eq!(found(&index, 20), before);
}
