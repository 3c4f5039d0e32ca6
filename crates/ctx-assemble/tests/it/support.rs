//! Helpers of the tests: short ways to make chunks and build contexts.

use std::collections::HashMap;

use ctx_assemble::{AssembleError, Control, assemble};
use ctx_model::{BuildOptions, BuiltContext, Chunk, Relevance, Tokens, lines};
use ctx_tokens::TokenCounter;

pub(crate) fn chunk(id: &str, relevance: f64, content: &str) -> Chunk {
    Chunk::new(id, content, Relevance::new(relevance).unwrap())
}

/// `count` chunks of one file each, less and less relevant.
pub(crate) fn files(count: u32) -> Vec<Chunk> {
    (0..count)
        .map(|number| {
            let relevance = 1.0 - f64::from(number) / f64::from(count);
            let content = format!("fn f{number}() {{\n    // {}\n}}\n", "word ".repeat(20));
            chunk(&format!("id{number}"), relevance, &content)
                .with_path(format!("src/file{number}.rs"))
                .with_language("rust")
        })
        .collect()
}

pub(crate) fn options(max_tokens: u32) -> BuildOptions {
    BuildOptions::default().with_max_tokens(Tokens::new(max_tokens))
}

/// Builds with the counter that the options name.
pub(crate) fn try_build(
    chunks: &[Chunk],
    options: &BuildOptions,
) -> Result<BuiltContext, AssembleError> {
    let counter = ctx_tokens::counter(&options.counter).unwrap();
    assemble(chunks, options, &*counter, &Control::default())
}

#[track_caller]
pub(crate) fn build(chunks: &[Chunk], options: &BuildOptions) -> BuiltContext {
    try_build(chunks, options).unwrap_or_else(|error| panic!("failed to assemble: {error}"))
}

/// Checks all that is true of every result.
#[track_caller]
pub(crate) fn is_sound(
    chunks: &[Chunk],
    options: &BuildOptions,
    counter: &dyn TokenCounter,
    built: &BuiltContext,
) {
    let limit = options.max_tokens.checked_sub(options.reserve).unwrap();
    let split = built.tokens;
    assert_eq!(
        split.total,
        counter.count(&built.context),
        "the total is not the count"
    );
    assert!(split.total <= limit, "{} is over {limit}", split.total);
    assert_eq!(
        split.header + split.chunks + split.notices + split.footer,
        split.total
    );
    assert_eq!(split.left, limit.saturating_sub(split.total));
    if let Some(most) = options.max_chunks {
        assert!(built.included.len() <= most);
    }
    let mut ids: Vec<&str> = built.included.iter().map(|it| it.id.as_str()).collect();
    ids.extend(built.omitted.iter().map(|it| it.id.as_str()));
    ids.sort_unstable();
    let mut given: Vec<&str> = chunks.iter().map(|it| it.id.as_str()).collect();
    given.sort_unstable();
    assert_eq!(ids, given, "included and omitted are not exactly the input");
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

/// What is shown whole and said to be lines is as many, or that is told.
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
        let is_told = |it: &ctx_model::Warning| {
            it.code == "span_mismatch" && it.id.as_deref() == Some(&chunk.id)
        };
        assert!(
            built.warnings.iter().any(is_told),
            "{count} lines are cited as {citation:?}"
        );
    }
}
