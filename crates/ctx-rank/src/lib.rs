#![doc = include_str!("../README.md")]

mod bags;
mod compounds;
mod definitions;
mod failures;
mod foreign;
mod fusion;
mod generated;
mod intent;
mod keywords;
mod logs;
mod mentions;
mod messages;
mod names;
mod project;
mod query;
mod role;
mod runners;
mod sentences;
mod signals;
mod snippets;
mod spaced;
mod traces;
mod users;
mod vectors;
mod versions;
mod words;

pub use bags::{Bag, Vocabulary};
pub use ctx_model::ModelError;
pub use fusion::{
    Fused, FusionError, List, RRF_K, convex, convex_by_number, convex_of, reciprocal_rank,
    reciprocal_rank_of,
};
pub use intent::Intent;
pub use keywords::{Keywords, chunk_names};
pub use mentions::{FileMention, file_before_text, is_file, lines_beside, word_with_brackets};
pub use messages::{labels_end, quoted_value};
pub use names::Name;
pub use project::FRONT_FILES;
pub use query::{
    MOST_BYTES, MOST_FRAMES, MOST_MENTIONS, MOST_TERMS, Mentions, Query, Region, Term,
    lines_outside_code,
};
pub use role::Role;
pub use sentences::{chances_in_section, sentence_chances};
pub use signals::{
    Contribution, Profile, Score, Signals, UNDATED_RECENCY, keyword_match, recency, recency_at,
    source_priority, usage_frequency, weighted_keyword_match,
};
pub use snippets::{LONGEST_SNIPPET, Snippet, Snippets};
pub use traces::Frame;
pub use vectors::{Corpus, Vector};
pub use words::{Analyzer, MAX_TERM_BYTES, Part, is_stop_word, is_unspaced};
