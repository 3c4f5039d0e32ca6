//! The words of choices, written and read back.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use ctx_model::{
    BuildOptions, BuiltContext, Category, Certificate, Chunk, ChunkKind, Citation, CounterName,
    Exactness, Format, GroupBy, Included, LineSpan, ModelError, Omitted, OmittedReason, Order,
    Origin, PartKind, Previous, Relation, Rendition, RenditionKind, Selection, SharedPrefix,
    SymbolKind, TokenSplit, Tokens, Warning, WarningCode, XmlContent, json_error,
};
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::{Value, json};

#[track_caller]
fn same<T>(values: &[T])
where
    T: Display + FromStr<Err: Debug> + Serialize + DeserializeOwned + Debug + PartialEq,
{
    for value in values {
        let word = value.to_string();
        assert_eq!(serde_json::to_value(value).unwrap(), word);
        assert_eq!(serde_json::from_value::<T>(json!(word)).unwrap(), *value);
        assert_eq!(word.parse::<T>().unwrap(), *value);
        // The word alone.
        for other in [json!({word: null}), json!(0), Value::Null] {
            let error = serde_json::from_value::<T>(other).unwrap_err().to_string();
            let told = json_error(&error);
            assert!(told.ends_with(", expected a string"), "{told}");
        }
    }
}

#[test]
fn choices_are_shown_and_read_by_their_words_on_the_wire() {
    same(&Format::ALL);
    same(&[GroupBy::None, GroupBy::File, GroupBy::Kind]);
    same(&[Order::Relevance, Order::Stable, Order::Edges]);
    same(&[Selection::InOrder, Selection::Density, Selection::Optimal]);
    same(&[XmlContent::Escaped, XmlContent::Cdata]);
    same(&[
        Origin::Reference,
        Origin::File,
        Origin::Chunk,
        Origin::Message,
    ]);
    same(&RenditionKind::ALL);
    same(&[Exactness::Exact, Exactness::UpperBound, Exactness::Estimate]);
    same(&[ChunkKind::Function, ChunkKind::Other("recipe".to_owned())]);
    same(ChunkKind::KNOWN);
    same(WarningCode::KNOWN);
    same(&[WarningCode::Other("late".to_owned())]);
    same(&Category::ALL);
    same(&[
        OmittedReason::OverBudget,
        OmittedReason::MaxChunks,
        OmittedReason::BelowMinRelevance,
        OmittedReason::BelowMinChance,
        OmittedReason::DuplicateOf,
        OmittedReason::NearDuplicateOf,
        OmittedReason::MergedInto,
        OmittedReason::Unreadable,
        OmittedReason::Stale,
    ]);
}

#[test]
fn kinds_of_definitions_and_of_parts_are_shown_and_read_by_their_words() {
    for kind in SymbolKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(*kind));
        assert!(PartKind::ALL.contains(&PartKind::from(*kind)));
    }
    let words: BTreeSet<String> = PartKind::ALL.iter().map(PartKind::to_string).collect();
    assert_eq!(words.len(), SymbolKind::ALL.len() + 2);
    for kind in PartKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(*kind));
    }
    assert_eq!("lines".parse(), Ok(PartKind::Lines));
    assert_eq!("macro".parse(), Ok(PartKind::Symbol(SymbolKind::Macro)));
    let within = PartKind::ALL.iter().filter(|it| **it != PartKind::File);
    assert!(within.eq(PartKind::WITHIN_FILES));
    for word in ["Function", "", "klass", "parts"] {
        let error = word.parse::<PartKind>().unwrap_err().to_string();
        assert!(error.starts_with("unknown kind of part "), "{error}");
        assert!(error.contains("one of function, ") && error.ends_with(", lines, file"));
        assert!(word.parse::<SymbolKind>().is_err());
    }
    assert!("lines".parse::<SymbolKind>().is_err());
}

#[test]
fn a_word_that_is_none_is_named_with_those_that_are() {
    let error = "html".parse::<Format>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown format \"html\": it is one of markdown, xml, json, plain"
    );
    assert!("Optimal".parse::<Selection>().is_err());
    let error = serde_json::from_str::<Selection>("\"Optimal\"").unwrap_err();
    let told = "unknown variant `Optimal`, expected one of `inOrder`, `density`, `optimal`";
    assert!(error.to_string().starts_with(told), "{error}");
}

#[test]
fn a_known_word_is_never_another_kind() {
    assert_eq!(ChunkKind::from("function"), ChunkKind::Function);
    assert_eq!("function".parse(), Ok(ChunkKind::Function));
    assert_eq!(CounterName::from("wordBased"), CounterName::WordBased);
    assert_eq!(
        CounterName::from("gpt-4o"),
        CounterName::Named("gpt-4o".to_owned())
    );
}

#[test]
fn lines_are_read_as_they_are_shown() {
    let span = LineSpan::new(3, 17).unwrap();
    assert_eq!(span.to_string().parse(), Ok(span));
    for text in [
        "",
        "3",
        "-",
        "3-",
        "-3",
        "+3-4",
        "3 - 4",
        "3-4-5",
        "3-4294967296",
    ] {
        let error = text.parse::<LineSpan>().unwrap_err();
        assert!(
            matches!(error, ModelError::NoSpan { .. }),
            "{text}: {error}"
        );
        assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
    }
    assert_eq!("0-1".parse::<LineSpan>(), Err(ModelError::SpanStartsAtZero));
    assert_eq!(
        "4-3".parse::<LineSpan>(),
        Err(ModelError::SpanEndsBeforeStart { start: 4, end: 3 })
    );
}

#[test]
fn tokens_add_up_and_never_wrap_round() {
    let numbers = [Tokens::new(2), Tokens::new(5)];
    assert_eq!(numbers.iter().sum::<Tokens>(), Tokens::new(7));
    let mut tokens = Tokens::new(1);
    tokens += Tokens::new(2);
    assert_eq!(tokens, Tokens::new(3));
    tokens += Tokens::MAX;
    assert_eq!(tokens, Tokens::MAX);
}

/// The words in the first column of the first table of `page` after a line that begins with `head`.
fn column<'p>(page: &'p str, head: &str) -> BTreeSet<&'p str> {
    let rows = page.lines().skip_while(|it| !it.starts_with(head));
    let rows = rows.skip_while(|it| !it.starts_with('|')).skip(2);
    let rows = rows.take_while(|it| it.starts_with('|'));
    let cells = rows.filter_map(|it| it.split('|').nth(1));
    let word = |it: &'p str| it.trim().trim_end_matches('?').trim_matches('`');
    cells.flat_map(|it| it.split(',').map(word)).collect()
}

const PAGE: &str = include_str!("../../README.md");

#[test]
fn the_front_page_tells_every_code_of_a_warning_and_no_other() {
    let codes = WarningCode::KNOWN.iter().map(WarningCode::as_str);
    assert_eq!(column(PAGE, "| `code`"), codes.collect());
    let Err(ModelError::UnknownWord { known, .. }) = OmittedReason::from_str("") else {
        panic!("it is no reason");
    };
    assert_eq!(column(PAGE, "| `reason`"), known.iter().copied().collect());
}

/// Reads nothing, and fails by naming the fields of the struct that is wanted.
struct Fields;

impl<'de> Deserializer<'de> for Fields {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        panic!("it is no struct")
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom(fields.join(" ")))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The fields of `T` in JSON.
fn fields<T: DeserializeOwned>() -> String {
    T::deserialize(Fields).err().unwrap().to_string()
}

#[test]
fn the_front_page_tells_every_field_of_chunks_options_and_receipts() {
    for (head, all, parts) in [
        (
            "## Chunks",
            fields::<Chunk>(),
            vec![fields::<Relation>(), fields::<Rendition>()],
        ),
        (
            "## Options",
            fields::<BuildOptions>(),
            vec![fields::<Previous>()],
        ),
        (
            "## Receipts",
            fields::<BuiltContext>(),
            vec![
                fields::<TokenSplit>(),
                fields::<Included>(),
                fields::<Omitted>(),
                fields::<Citation>(),
                fields::<Certificate>(),
                fields::<SharedPrefix>(),
                fields::<Warning>(),
            ],
        ),
    ] {
        assert_eq!(column(PAGE, head), all.split(' ').collect(), "{head}");
        let section = PAGE.split_once(head).unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        for field in parts.iter().flat_map(|it| it.split(' ')) {
            assert!(section.contains(&format!("`{field}`")), "{head}: {field}");
        }
    }
}
