//! The invariants, over generated chunks, options, formats and counters, ordinary and hostile.

use ctx_assemble::{AssembleError, Control, assemble};
use ctx_budget::BudgetError;
use ctx_format::{Slot, neutralise};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, Citation, CounterName, Format, OmittedReason, Rendition,
    Tokens,
};
use ctx_testkit::generate;
use ctx_tokens::{CachedCounter, TokenCounter};
use proptest::prelude::*;

use crate::support::is_sound;

fn counter_of(options: &BuildOptions) -> std::sync::Arc<dyn TokenCounter> {
    ctx_tokens::counter(&options.counter).unwrap()
}

fn build(chunks: &[Chunk], options: &BuildOptions) -> Result<BuiltContext, AssembleError> {
    assemble(chunks, options, &*counter_of(options), &Control::default())
}

/// The refusal is one that the options explain, and the budget it names is the smallest.
fn is_justified(chunks: &[Chunk], options: &BuildOptions, error: &AssembleError) {
    match error {
        AssembleError::Format(_) => {
            let own_texts = [&options.header, &options.footer, &options.chunk_separator];
            assert!(own_texts.iter().any(|text| text.is_some()), "{error}");
        }
        AssembleError::Budget(BudgetError::TooManyPins { .. }) => {
            let pinned = chunks.iter().filter(|chunk| chunk.pinned).count();
            assert!(options.max_chunks.unwrap() < pinned, "{error}");
        }
        AssembleError::Budget(BudgetError::TooSmall { smallest, .. }) => {
            assert!(*smallest > options.max_tokens);
            let at = |tokens| build(chunks, &options.clone().with_max_tokens(tokens));
            if let (false, Err(refusal)) = (*smallest == Tokens::MAX, at(*smallest)) {
                panic!("{error}, and yet: {refusal}");
            }
            let less = smallest.saturating_sub(Tokens::new(1));
            assert!(at(less).is_err(), "{error}, and less is enough");
        }
        other => panic!("{other}"),
    }
}

/// The document reads back, and holds what was put in. Only in XML and JSON is the caller's own text
/// kept apart from the blocks; elsewhere it may look like one.
fn reads_back(chunks: &[Chunk], options: &BuildOptions, built: &BuiltContext) {
    let own_texts = [&options.header, &options.footer, &options.chunk_separator];
    let looks_like_blocks = matches!(options.format, Format::Markdown | Format::Plain);
    if looks_like_blocks && own_texts.iter().any(|text| text.is_some()) {
        return;
    }
    let parsed = ctx_format::parse(options.format, &built.context)
        .unwrap_or_else(|error| panic!("{error}:\n{}", built.context));
    let bodies: Vec<&str> = parsed
        .blocks
        .iter()
        .map(|block| block.body.as_str())
        .collect();
    assert_eq!(bodies.len(), built.included.len());
    for (body, included) in bodies.into_iter().zip(&built.included) {
        let chunk = chunks.iter().find(|it| it.id == included.id).unwrap();
        let cited = |it: &&Citation| it.id == included.citation;
        let citation = built.citations.iter().find(cited).unwrap();
        let mut texts = vec![
            chunk.full_text(),
            chunk.summary.as_deref().unwrap_or_default(),
        ];
        texts.extend(chunk.renditions.iter().map(Rendition::text));
        let is_cited =
            |text: &&str| blake3::hash(text.as_bytes()).to_hex().as_str() == citation.content_hash;
        match texts.into_iter().find(is_cited) {
            Some(shown) => assert_eq!(body, neutralise(shown, Slot::Text), "{}", built.context),
            None => assert!(
                built
                    .omitted
                    .iter()
                    .any(|it| it.reason == OmittedReason::MergedInto
                        && it.other.as_ref() == Some(&included.id)),
                "{included:?} shows text that no chunk has"
            ),
        }
    }
}

proptest! {
    #[test]
    fn every_input_gives_a_sound_result_or_a_justified_refusal(
        chunks in generate::chunks(0..16),
        options in generate::options(),
    ) {
        match build(&chunks, &options) {
            Ok(built) => {
                is_sound(&chunks, &options, &*counter_of(&options), &built);
                reads_back(&chunks, &options, &built);
            }
            Err(error) => is_justified(&chunks, &options, &error),
        }
    }

    #[test]
    fn the_order_of_arrival_does_not_show(
        (chunks, shuffled) in generate::chunks(0..16)
            .prop_flat_map(|chunks| (Just(chunks.clone()), Just(chunks).prop_shuffle())),
        options in generate::options(),
    ) {
        match (build(&chunks, &options), build(&shuffled, &options)) {
            (Ok(one), Ok(other)) => prop_assert_eq!(one, other),
            (Err(one), Err(other)) => prop_assert_eq!(one.to_string(), other.to_string()),
            (one, other) => prop_assert!(false, "{:?}\n{:?}", one, other),
        }
    }

    #[test]
    fn other_counters_are_kept_to_as_well(
        chunks in generate::chunks(0..12),
        options in generate::options(),
        name in prop::sample::select(vec!["claude-sonnet-4", "gemini-2.5-pro", "gpt-4"]),
    ) {
        let options = options.with_counter(CounterName::from(name.to_owned()));
        let cached = CachedCounter::new(counter_of(&options), 64);
        match assemble(&chunks, &options, &cached, &Control::default()) {
            Ok(built) => is_sound(&chunks, &options, &*counter_of(&options), &built),
            Err(error) => is_justified(&chunks, &options, &error),
        }
    }
}
