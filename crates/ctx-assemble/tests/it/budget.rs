//! The budget is kept: the first invariant, and defects that would break it.

use ctx_assemble::{AssembleError, Control, assemble};
use ctx_budget::BudgetError;
use ctx_model::{
    BuildOptions, Chunk, ChunkKind, CounterName, Format, GroupBy, Relevance, Selection, Tokens,
};
use ctx_tokens::TokenCounter;

use crate::support::{build, chunk, files, is_sound, options, try_build};

/// The smallest budget that the refusal names.
#[track_caller]
fn smallest(chunks: &[Chunk], options: &BuildOptions) -> Tokens {
    match try_build(chunks, options).expect_err("accepted") {
        AssembleError::Budget(BudgetError::TooSmall { smallest, .. }) => smallest,
        other => panic!("{other}"),
    }
}

#[test]
fn the_reported_total_is_the_count_of_the_final_text() {
    let mut chunks = files(30);
    for (number, chunk) in chunks.iter_mut().enumerate() {
        chunk.imports = vec!["use std::fmt;".to_owned()];
        chunk.kind = ChunkKind::from(["file", "section", "message", "row"][number % 4].to_owned());
    }
    for format in Format::ALL {
        for name in [
            "o200k_base",
            "cl100k_base",
            "characterBased",
            "wordBased",
            "claude",
        ] {
            for group_by in [GroupBy::None, GroupBy::File, GroupBy::Kind] {
                let options = options(700)
                    .with_format(format)
                    .with_group_by(group_by)
                    .with_counter(CounterName::from(name.to_owned()))
                    .with_header(Some("\n\nHeader".to_owned()))
                    .with_footer(Some("/footer".to_owned()))
                    .with_imports(true)
                    .with_scores(true)
                    .with_sources(true);
                let built = build(&chunks, &options);
                let counter = ctx_tokens::counter(&options.counter).unwrap();
                is_sound(&chunks, &options, &*counter, &built);
                assert!(!built.included.is_empty() && built.was_truncated);
            }
        }
    }
}

/// `floor(a/3) + floor(b/3) <= floor((a+b)/3)`: adjustments summed per part fall short of the
/// whole's.
#[test]
fn special_characters_are_adjusted_for_once_on_the_whole() {
    let chunks: Vec<Chunk> = (0..60).map(|n| chunk(&n.to_string(), 0.5, "??")).collect();
    let options = options(120)
        .with_format(Format::Plain)
        .with_file_headers(false)
        .with_counter(CounterName::CharacterBased);
    let built = build(&chunks, &options);
    is_sound(&chunks, &options, &ctx_tokens::Characters, &built);
}

#[test]
fn no_chunk_is_let_in_over_the_budget_for_the_sake_of_having_one() {
    let chunks = [chunk("only", 1.0, &"word ".repeat(500))];
    let built = build(&chunks, &options(100));
    assert!(built.included.is_empty());
    assert!(built.omitted[0].enters_at.unwrap() > Tokens::new(500));
}

#[test]
fn a_chunk_that_does_not_fit_is_skipped_and_the_next_one_let_in() {
    let chunks = [
        chunk("first", 0.9, "short"),
        chunk("second", 0.8, &"word ".repeat(500)),
        chunk("third", 0.7, "short"),
    ];
    let built = build(&chunks, &options(100));
    let ids: Vec<&str> = built.included.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["first", "third"]);
}

#[test]
fn header_and_footer_over_the_budget_are_refused_with_the_budget_that_works() {
    let chunks = files(3);
    for format in Format::ALL {
        for reserve in [0, 50] {
            let wanted = options(30)
                .with_format(format)
                .with_reserve(Tokens::new(reserve))
                .with_header(Some("word ".repeat(40)))
                .with_footer(Some("word ".repeat(40)));
            let smallest = smallest(&chunks, &wanted);
            let built = build(&chunks, &wanted.clone().with_max_tokens(smallest));
            assert_eq!(built.tokens.left, Tokens::ZERO);
            let less = smallest.saturating_sub(Tokens::new(1));
            assert_eq!(
                self::smallest(&chunks, &wanted.with_max_tokens(less)),
                smallest
            );
        }
    }
}

#[test]
fn a_whole_context_that_fits_is_built_whatever_its_chunks_are_worth() {
    let mut chunks = files(2);
    for worth in [0.0, 1.0] {
        chunks[0].relevance = Relevance::new(worth).unwrap();
        for format in Format::ALL {
            for selection in [Selection::InOrder, Selection::Density, Selection::Optimal] {
                let options = options(10_000)
                    .with_format(format)
                    .with_selection(selection);
                for chunks in [&chunks[..], &chunks[..1], &[chunk("a", 0.0, "x")]] {
                    let total = build(chunks, &options).tokens.total;
                    let exactly = options.clone().with_max_tokens(total);
                    assert_eq!(build(chunks, &exactly).tokens.total, total);
                    for more in 1..8 {
                        let tokens = total + Tokens::new(more);
                        build(chunks, &exactly.clone().with_max_tokens(tokens));
                    }
                }
            }
        }
    }
}

/// A tokenizer that charges for the beginning of each text, so that the whole costs less than its
/// parts.
struct Beginnings;

impl TokenCounter for Beginnings {
    fn count(&self, text: &str) -> Tokens {
        Tokens::saturating_from_u64(text.len().div_ceil(4) as u64 + 5)
    }
}

/// Where a footer joins what precedes it to fewer tokens, or the tokenizer promises nothing, the
/// sum of the pieces may be above the count.
#[test]
fn a_context_fits_its_own_count_where_its_pieces_do_not_add_up() {
    let pinned = chunk("a", 0.0, "").with_pin();
    let (unlikely, likely) = (chunk("b", 0.0, ""), chunk("c", 1.0, ""));
    let sets = [
        vec![pinned.clone(), unlikely],
        vec![pinned.clone(), likely.clone()],
        vec![pinned],
        vec![likely],
        vec![],
    ];
    let exact = ctx_tokens::counter(&CounterName::default()).unwrap();
    let counters: [&dyn TokenCounter; 2] = [&*exact, &Beginnings];
    for (counter, chunks) in counters
        .iter()
        .flat_map(|it| sets.iter().map(move |set| (*it, set)))
    {
        for footer in ["// note ", "/footer", "\n", " word", "ing", "\u{a0}", "_"] {
            for format in Format::ALL {
                let options = options(10_000)
                    .with_format(format)
                    .with_content(false)
                    .with_file_headers(false)
                    .with_min_relevance(Relevance::ONE)
                    .with_footer(footer.to_owned());
                let within = |options| assemble(chunks, options, counter, &Control::default());
                let Ok(built) = within(&options) else {
                    continue;
                };
                let exactly = options.clone().with_max_tokens(built.tokens.total);
                let again = within(&exactly).unwrap();
                assert_eq!(again.tokens.left, Tokens::ZERO, "{footer:?} {format}");
            }
        }
    }
}

#[test]
fn a_budget_of_zero_holds_only_what_costs_nothing() {
    assert_eq!(build(&[], &options(0)).context, "");
    assert!(smallest(&files(1), &options(0)) > Tokens::ZERO);
    assert!(smallest(&[], &options(0).with_format(Format::Xml)) > Tokens::ZERO);
}

#[test]
fn the_largest_budget_is_no_special_case() {
    let built = build(&files(3), &options(u32::MAX));
    assert_eq!(built.included.len(), 3);
    let reserved = options(u32::MAX).with_reserve(Tokens::MAX);
    assert!(smallest(&files(3), &reserved) >= Tokens::MAX);
}

/// A tokenizer for which the whole costs far more than its parts.
struct Superadditive;

impl TokenCounter for Superadditive {
    fn count(&self, text: &str) -> Tokens {
        let length = text.len() as u64;
        Tokens::saturating_from_u64(length * length / 20_000)
    }
}

/// A tokenizer that charges for what stands between the parts.
struct Joints;

impl TokenCounter for Joints {
    fn count(&self, text: &str) -> Tokens {
        let joints = text.matches("\n\n#").count() * 7;
        Tokens::saturating_from_u64((text.len() / 4 + joints) as u64)
    }
}

#[test]
fn counters_that_do_not_add_up_are_kept_within_the_budget_all_the_same() {
    let chunks = files(200);
    let counters: [&dyn TokenCounter; 2] = [&Superadditive, &Joints];
    for counter in counters {
        for max_tokens in [20, 100, 1_000, 5_000] {
            for format in Format::ALL {
                let options = options(max_tokens).with_format(format);
                let built = assemble(&chunks, &options, counter, &Control::default()).unwrap();
                is_sound(&chunks, &options, counter, &built);
            }
        }
    }
}

#[test]
fn a_refusal_on_account_of_pins_names_the_largest() {
    let text = "word ".repeat(900);
    let pin = |id: &str, content: &str| {
        let mut pin = chunk(id, 0.1, content);
        pin.pinned = true;
        pin
    };
    let chunks = [
        pin("small", "a few words"),
        pin("large", &text).with_path("data.min.json"),
        chunk("other", 0.9, &text.repeat(2)),
    ];
    let error = try_build(&chunks, &options(200)).expect_err("accepted");
    let AssembleError::Budget(BudgetError::TooSmall {
        largest_pin: Some(pin),
        pinned,
        ..
    }) = &error
    else {
        panic!("{error}");
    };
    assert_eq!(pin.name, "data.min.json");
    assert!(pin.tokens <= *pinned && pin.tokens.get() > 900, "{error}");
    let told = format!(
        ", {} of them for \"data.min.json\"); the smallest",
        pin.tokens
    );
    assert!(error.to_string().contains(&told), "{error}");
    let error = try_build(&chunks[..1], &options(3)).expect_err("accepted");
    assert!(error.to_string().contains("for \"small\")"), "{error}");
    // All of it is needed for the only chunk and its heading, and nothing has to be left out.
    let alone = try_build(&chunks[1..2], &options(200)).expect_err("accepted");
    let AssembleError::Budget(BudgetError::TooSmall {
        largest_pin: Some(pin),
        pinned,
        notices,
        ..
    }) = &alone
    else {
        panic!("{alone}");
    };
    assert!(pin.tokens <= *pinned, "{alone}");
    assert_eq!(*notices, Tokens::ZERO, "{alone}");
    // Nothing is pinned.
    let error = try_build(&chunks[2..], &options(1).with_header(Some(text))).expect_err("accepted");
    assert!(error.to_string().contains("pinned 0)"), "{error}");
}
