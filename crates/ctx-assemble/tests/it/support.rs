//! Helpers of the tests: short ways to make chunks and build contexts.

use ctx_model::{BuildOptions, BuiltContext, Chunk, Relevance, Tokens};
pub(crate) use ctx_testkit::laws::contexts::{build as try_build, is_sound};

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

#[track_caller]
pub(crate) fn build(chunks: &[Chunk], options: &BuildOptions) -> BuiltContext {
    try_build(chunks, options).unwrap_or_else(|error| panic!("failed to assemble: {error}"))
}
