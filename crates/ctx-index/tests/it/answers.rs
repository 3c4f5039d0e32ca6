//! What a new index finds.

use std::collections::BTreeMap;

use ctx_retrieve::{FileSearch as _, PartQuery, Relations as _, Usage as _};

use crate::{Fixture, block_on, definitions, passages};

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
fn passages_are_found_by_parts_of_words_in_code_and_prose() {
    let index = shop().updated();
    let hits = passages(&index, "vouchers");
    let places: Vec<&str> = hits.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(places, ["docs/guide.md", "src/cart.rs"]);
    assert_eq!(hits[0].kind, "section");
    assert_eq!(hits[0].language.as_deref(), Some("markdown"));
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
fn what_was_shown_is_remembered() {
    let fixture = shop();
    let index = fixture.updated();
    let paths = ["src/cart.rs".to_owned()];
    block_on(index.shown(&paths, 7)).unwrap();
    block_on(index.shown(&paths, 5)).unwrap();
    drop(index);
    let index = fixture.open();
    assert_eq!(
        block_on(index.recent(5)).unwrap(),
        [("src/cart.rs".to_owned(), 7)]
    );
    let counts = block_on(index.counts(&paths)).unwrap();
    assert_eq!(counts, BTreeMap::from([("src/cart.rs".to_owned(), 0)]));
}
