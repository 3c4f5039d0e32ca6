//! Answers of a new index.

use std::collections::BTreeMap;

use ctx_model::UnixSeconds;
use ctx_retrieve::{Field, FileSearch as _, PartQuery, Relations as _, TextQuery, Usage as _};
use ctx_syntax::{Outline, Outlines as _};

use crate::{Fixture, block_on, definitions, passages, update};

const CART: &str = "\
use crate::price::total_price;

/// What a customer is about to buy.
pub struct ShoppingCart {
    items: Vec<u32>,
}

impl ShoppingCart {
    /// Adds a voucher once.
    pub fn apply_voucher(&mut self, voucher: u32) -> u32 {
        self.items.push(voucher);
        total_price(&self.items)
    }
}
";

const PRICE: &str = "\
/// Sums up, with value added tax.
pub fn total_price(items: &[u32]) -> u32 {
    items.iter().sum()
}
";

fn shop() -> Fixture {
    Fixture::new(&[
        ("src/cart.rs", CART),
        ("src/price.rs", PRICE),
        (
            "docs/guide.md",
            "# Guide\n\n## Vouchers\n\nA voucher is redeemed once.\n",
        ),
    ])
}

#[test]
fn an_index_of_nothing_is_empty() {
    let fixture = Fixture::new(&[]);
    let index = fixture.updated();
    let status = index.status().unwrap();
    assert_eq!((status.files, status.parts, status.generation), (0, 0, 0));
    assert!(passages(&index, "anything").is_empty());
}

#[test]
fn definitions_are_found_whatever_their_case() {
    let index = shop().updated();
    assert_eq!(definitions(&index, "TOTAL_PRICE"), ["src/price.rs:1"]);
    let places = definitions(&index, "Apply_Voucher");
    assert!(places[0].starts_with("src/cart.rs:"), "{places:?}");
    assert!(definitions(&index, "price").is_empty());
}

#[test]
fn tests_of_javascript_are_found_by_titles_of_several_words() {
    let hooks = "  beforeEach(() => reset());\n".repeat(30);
    let test = "  it('retries after a timeout', async () => {\n    new Pool();\n  });\n  it('closes', () => {});\n";
    let suite = format!("describe('Pool', () => {{\n{hooks}{test}}});\n");
    let files = [
        ("src/pool.js", "export class Pool {}\n"),
        ("src/pool.test.js", &suite),
    ];
    let index = Fixture::new(&files).updated();
    let retries = definitions(&index, "Retries after a timeout");
    assert_eq!(retries, ["src/pool.test.js:32"]);
    // The class is meant, and not the suite.
    assert_eq!(definitions(&index, "Pool"), ["src/pool.js:1"]);
    let closes = PartQuery::new("src/pool.test.js").called("closes");
    let found = block_on(index.parts_of(&[closes], 9)).unwrap();
    assert_eq!(found[0][0].qualified_name.as_deref(), Some("Pool.closes"));
    let users = block_on(index.users_of(&["Pool".to_owned()], 9)).unwrap();
    assert_eq!(users[0].len(), 1);
}

#[test]
fn passages_are_found_by_parts_of_words_in_code_and_prose() {
    let index = shop().updated();
    let hits = passages(&index, "vouchers");
    let places: Vec<&str> = hits.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(places, ["docs/guide.md", "src/cart.rs"]);
    assert_eq!(hits[0].kind.as_str(), "section");
    assert_eq!(hits[0].language.as_deref(), Some("markdown"));
}

#[test]
fn by_presence_a_term_counts_once_wherever_it_is() {
    let repeats = "fn lease() {\n    lease(lease, lease);\n    lease();\n}\n";
    let both = "fn wait() {\n    lease_of(voucher);\n}\n";
    let once = "fn sleep() {\n    ask(a_lease, of_something, that_is, longer_than, the_rest);\n}\n";
    let fixture = Fixture::new(&[("a.rs", repeats), ("b.rs", both), ("c.rs", once)]);
    let index = fixture.updated();
    let terms = vec![("leas".to_owned(), 1.0), ("voucher".to_owned(), 1.0)];
    let fields = [Field::Name, Field::Signature, Field::Doc, Field::Body];
    let fields = fields.map(|it| (it, 2.0)).to_vec();
    let wanted = TextQuery::new(terms, fields, 9).by_presence();
    let hits = block_on(index.passages(&wanted)).unwrap();
    let places: Vec<&str> = hits.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(places, ["b.rs", "a.rs", "c.rs"]);
    assert!(hits[0].score > hits[1].score);
    assert!((hits[1].score - hits[2].score).abs() < f64::EPSILON);
}

#[test]
fn files_that_were_written_again_are_found_once() {
    let fixture = shop();
    let index = fixture.updated();
    for time in 0..4 {
        fixture.write("src/price.rs", format!("{PRICE}// voucher {time}\n"));
        update(&index);
        let terms = vec![("voucher".to_owned(), 1.0)];
        let wanted = TextQuery::new(terms, vec![(Field::Path, 1.0), (Field::Text, 1.0)], 9);
        let files = block_on(index.files(&wanted)).unwrap();
        assert_eq!(files.len(), 3, "{files:?}");
        assert!(files.iter().all(|it| it.score > 0.0));
    }
}

#[test]
fn one_file_of_few_words_is_found() {
    let index = Fixture::new(&[("a.txt", "voucher\n")]).updated();
    for (word, field) in [("a", Field::Path), ("voucher", Field::Text)] {
        let wanted = TextQuery::new(vec![(word.to_owned(), 1.0)], vec![(field, 1.0)], 9);
        let files = block_on(index.files(&wanted)).unwrap();
        assert!(
            files.len() == 1 && files[0].score > 0.0,
            "{word}: {files:?}"
        );
    }
}

#[test]
fn files_are_found_by_the_ends_of_their_paths() {
    let index = shop().updated();
    let ending = |end: &str| {
        block_on(index.ending_with(&[end.to_owned()], 10))
            .unwrap()
            .concat()
    };
    assert_eq!(ending("cart.rs"), ["src/cart.rs"]);
    assert_eq!(ending("src/price.rs"), ["src/price.rs"]);
    assert!(ending("art.rs").is_empty());
}

#[test]
fn parts_are_found_by_file_and_line() {
    let index = shop().updated();
    let parts = |query| block_on(index.parts_of(&[query], 10)).unwrap().concat();
    let all = parts(PartQuery::new("src/price.rs"));
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].span.start(), all[0].span.end()), (1, 4));
    assert!(parts(PartQuery::new("src/price.rs").at(9)).is_empty());
}

#[test]
fn files_below_a_folder_are_found_by_the_end_of_its_path() {
    let fixture = Fixture::new(&[
        ("a/src/one.rs", "fn one() {}\n"),
        ("b/src/deep/two.rs", "fn two() {}\n"),
        ("b/src.rs", "fn three() {}\n"),
        ("b/srcs/four.rs", "fn four() {}\n"),
        ("b/xsrc/five.rs", "fn five() {}\n"),
    ]);
    let index = fixture.updated();
    let below = |folder: &str, limit| {
        let found = block_on(index.below(&[folder.to_owned()], limit)).unwrap();
        found.concat()
    };
    assert_eq!(below("src", 9), ["a/src/one.rs", "b/src/deep/two.rs"]);
    assert_eq!(below("SRC/", 9), ["a/src/one.rs", "b/src/deep/two.rs"]);
    assert_eq!(below("b/src", 9), ["b/src/deep/two.rs"]);
    assert_eq!(below("src", 1).len(), 1);
    for none in ["", "/", "sr", "src.rs", "c", "b/src/deep/two.rs", "src/src"] {
        assert_eq!(below(none, 9), <[&str; 0]>::default(), "{none:?}");
    }
    std::fs::remove_file(fixture.root().join("a/src/one.rs")).unwrap();
    update(&index);
    assert_eq!(below("src", 9), ["b/src/deep/two.rs"]);
}

#[test]
fn a_file_below_two_folders_of_a_name_counts_once() {
    let fixture = Fixture::new(&[
        ("src/src/one.rs", "fn one() {}\n"),
        ("src/two.rs", "fn two() {}\n"),
    ]);
    let index = fixture.updated();
    let below = |limit| block_on(index.below(&["src".to_owned()], limit)).unwrap();
    assert_eq!(below(2), [["src/src/one.rs", "src/two.rs"]]);
    assert_eq!(below(1), [["src/src/one.rs"]]);
}

#[test]
fn a_misspelt_name_is_found() {
    let index = shop().updated();
    let hits = block_on(index.similar(&["totel_price".to_owned()], 3)).unwrap();
    assert_eq!(hits[0].name.as_deref(), Some("total_price"));
    assert!(hits.iter().all(|it| it.score > 0.0 && it.score <= 1.0));
}

#[test]
fn who_uses_a_name_is_found() {
    let index = shop().updated();
    let hits = block_on(index.users_of(&["total_price".to_owned()], 3)).unwrap();
    assert!(
        hits[0].iter().any(|it| it.path == "src/cart.rs"),
        "{hits:?}"
    );
}

#[test]
fn shown_files_are_remembered() {
    let fixture = shop();
    let index = fixture.updated();
    let paths = ["src/cart.rs".to_owned()];
    block_on(index.shown(&paths, UnixSeconds::new(7))).unwrap();
    block_on(index.shown(&paths, UnixSeconds::new(5))).unwrap();
    drop(index);
    let index = fixture.open();
    assert_eq!(
        block_on(index.recent(5)).unwrap(),
        [("src/cart.rs".to_owned(), UnixSeconds::new(7))]
    );
    let counts = block_on(index.counts(&paths)).unwrap();
    assert_eq!(counts, BTreeMap::from([("src/cart.rs".to_owned(), 0)]));
}

#[test]
fn outlines_are_reused_until_their_file_changes() {
    let one = "use a::b;\n\n/// Adds.\npub fn add(x: u32) -> u32 {\n    more(x)\n}\n";
    let long = "pub fn f() {}\n".repeat(300);
    let fixture = Fixture::new(&[("a.rs", one), ("b.rs", &long), ("c.unknown", "words\n")]);
    let index = fixture.updated();
    let hash = |text: &str| {
        *ctx_source::Text::decode("", text.into(), ctx_source::Secrets::Masked)
            .unwrap()
            .unmasked_hash()
    };
    let parsed = |text: &str| {
        let language = ctx_syntax::Language::of("a.rs", text);
        Outline::of(text, language, &ctx_syntax::Limits::default())
    };
    assert_eq!(index.outline("a.rs", &hash(one)), Some(parsed(one)));
    assert_eq!(index.outline("b.rs", &hash(&long)), Some(parsed(&long)));
    // Of another text, of a file that is not there, and of one that no grammar reads.
    assert_eq!(index.outline("a.rs", &hash(&long)), None);
    assert_eq!(index.outline("d.rs", &hash(one)), None);
    assert_eq!(index.outline("c.unknown", &hash("words\n")), None);
    let two = "pub fn sub() {}\n";
    fixture.write("a.rs", two);
    update(&index);
    assert_eq!(index.outline("a.rs", &hash(one)), None);
    assert_eq!(index.outline("a.rs", &hash(two)), Some(parsed(two)));
}
