//! Laws of contexts, for any chunks and options.

use std::collections::HashMap;
use std::sync::Arc;

use ctx_assemble::{AssembleError, BudgetError, Control, assemble};
use ctx_format::{Slot, neutralise};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, Citation, Format, OmittedReason, Rendition, Tokens, Warning,
    lines,
};
use ctx_tokens::TokenCounter;

use super::assemble::{accounts_for_each, is_within_its_budget};

/// Checks that `chunks` give a context that [`is_sound`] and [`reads_back`], or a refusal that
/// [`is_justified`], and the same one in the opposite order of arrival. Returns the context.
///
/// # Panics
/// If they do not.
#[track_caller]
pub fn holds(chunks: &[Chunk], options: &BuildOptions) -> Option<BuiltContext> {
    let reversed: Vec<Chunk> = chunks.iter().rev().cloned().collect();
    match (build(chunks, options), build(&reversed, options)) {
        (Ok(one), Ok(other)) => {
            is_sound(chunks, options, &*counter_of(options), &one);
            reads_back(chunks, options, &one);
            assert_eq!(one, other, "the order of arrival shows");
            Some(one)
        }
        (Err(one), Err(other)) => {
            is_justified(chunks, options, &one);
            assert_eq!(one.to_string(), other.to_string(), "the order shows");
            None
        }
        (one, other) => panic!("in another order {one:?} is {other:?}"),
    }
}

/// The counter that `options` name.
///
/// # Panics
/// If there is none.
pub fn counter_of(options: &BuildOptions) -> Arc<dyn TokenCounter> {
    ctx_tokens::counter(&options.counter).expect("the options name a counter that there is")
}

/// Assembles `chunks` by the counter that the options name.
///
/// # Errors
/// There is no such context.
pub fn build(chunks: &[Chunk], options: &BuildOptions) -> Result<BuiltContext, AssembleError> {
    assemble(chunks, options, &*counter_of(options), &Control::default())
}

/// Checks that the refusal `error` of `chunks` is one that the options explain, and that the budget
/// it names is the smallest that works.
///
/// # Panics
/// If it is not.
#[track_caller]
pub fn is_justified(chunks: &[Chunk], options: &BuildOptions, error: &AssembleError) {
    match error {
        AssembleError::Format(_) => {
            let own_texts = [&options.header, &options.footer, &options.chunk_separator];
            assert!(own_texts.iter().any(|text| text.is_some()), "{error}");
        }
        AssembleError::Budget(BudgetError::TooManyPins { .. }) => {
            let pinned = chunks.iter().filter(|chunk| chunk.pinned).count();
            assert!(options.max_chunks.is_some_and(|it| it < pinned), "{error}");
        }
        AssembleError::Budget(BudgetError::TooSmall { smallest, .. }) => {
            assert!(*smallest > options.max_tokens);
            let at = |tokens| build(chunks, &options.clone().with_max_tokens(tokens));
            if let (false, Err(refusal)) = (*smallest == Tokens::MAX, at(*smallest)) {
                panic!("{error}, and yet: {refusal}");
            }
            let less = smallest.saturating_sub(Tokens::new(1));
            assert!(at(less).is_err(), "{error}, and less is enough");
            // To merge saves tokens, and refuses nothing; what a block says beside its lines is of
            // all that it is made of.
            if options.max_chunks.is_none()
                && !options.include_imports
                && !options.include_relations
            {
                let apart = options.clone().with_merge(false).with_max_tokens(less);
                assert!(
                    build(chunks, &apart).is_err(),
                    "{error}, and less is enough apart"
                );
            }
        }
        other => panic!("{other}"),
    }
}

/// Checks that the context `built` of `chunks` reads back, and holds what was put in. Only in XML
/// and JSON is the caller's own text kept apart from the blocks; elsewhere it may look like one,
/// and nothing is checked.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn reads_back(chunks: &[Chunk], options: &BuildOptions, built: &BuiltContext) {
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
        let chunk = chunks.iter().find(|it| it.id == included.id);
        let chunk = chunk.expect("it was given");
        let cited = |it: &&Citation| it.id == included.citation;
        let citation = built.citations.iter().find(cited);
        let citation = citation.expect("it is cited");
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

/// Checks all that is true of every context `built` of `chunks`, counted by the `counter` that the
/// options name, or by another that counts the same:
///
/// * it has the number of tokens that it reports, and at most `max_tokens - reserve`;
/// * it has at most `max_chunks`, and each chunk is either included or omitted;
/// * its certificate's value is that of what is included, and at most the upper bound;
/// * what is shown whole and cited with lines has as many, or a warning says that it has not.
///
/// # Panics
/// If it is not.
#[track_caller]
pub fn is_sound(
    chunks: &[Chunk],
    options: &BuildOptions,
    counter: &dyn TokenCounter,
    built: &BuiltContext,
) {
    is_within_its_budget(options, counter.count(&built.context), built);
    accounts_for_each(chunks, built);
    let limit = options.max_tokens.checked_sub(options.reserve);
    let left = limit.and_then(|it| it.checked_sub(built.tokens.total));
    assert_eq!(
        Some(built.tokens.left),
        left,
        "what is left is not the rest"
    );
    if let Some(most) = options.max_chunks {
        assert!(built.included.len() <= most, "more than {most} chunks");
    }
    let certificate = built.certificate;
    assert!(certificate.value <= certificate.upper_bound);
    let value: f64 = built.included.iter().map(|it| it.value).sum();
    let apart = (certificate.value - value).abs();
    assert!(
        apart <= 1e-9 * value.abs().max(1.0),
        "{value} is not the certificate's value"
    );
    assert!(built.citations.len() >= built.included.len());
    if options.include_content {
        shows_the_lines_it_tells(chunks, built);
    }
}

/// A chunk that is shown whole with lines has as many lines as stated, or that is reported.
#[track_caller]
fn shows_the_lines_it_tells(chunks: &[Chunk], built: &BuiltContext) {
    let by_id: HashMap<&str, &Chunk> = chunks.iter().map(|it| (&*it.id, it)).collect();
    for citation in &built.citations {
        let Some((start, end)) = citation.start_line.zip(citation.end_line) else {
            continue;
        };
        let chunk = by_id[&*citation.chunk_id];
        let text = chunk.full_text();
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let (count, said) = (lines(text).count(), (end - start) as usize + 1);
        let is_unsure = count + 1 == said && text.ends_with('\n');
        if *hash != *citation.content_hash || count == said || is_unsure {
            continue;
        }
        let is_told =
            |it: &Warning| it.code == "span_mismatch" && it.id.as_deref() == Some(&chunk.id);
        assert!(
            built.warnings.iter().any(is_told),
            "{count} lines are cited as {citation:?}"
        );
    }
}
