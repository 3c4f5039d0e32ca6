//! Exact byte-pair encodings, whose tables are read in place.
//!
//! A text is cut into pieces ([`split`]). A piece that is a token counts as one ([`vocabulary`]);
//! any other is merged from its bytes ([`merge`]). The counts of recent pieces are cached
//! ([`memo`]).

mod layout;
mod memo;
mod merge;
mod split;
mod vocabulary;

use std::cell::Cell;

use ctx_model::Tokens;

use self::layout::{NO_RANK, SHORT};
use self::memo::Memo;
use self::merge::Scratch;
use self::split::{Cl100k, O200k, Split};
use self::vocabulary::Vocabulary;
use crate::{Additivity, Exactness, TokenCounter};

/// An exact byte-pair encoding with its vocabulary embedded.
///
/// Counts what the reference implementation counts, with special tokens as ordinary text. Time is
/// O(length) for ordinary text, and O(length × log) in the worst case; memory is O(1). The first
/// count on a thread allocates 128 KiB for it; there is no other start-up cost.
#[derive(Debug)]
pub struct Bpe {
    name: &'static str,
    pattern: Pattern,
    vocabulary: Vocabulary,
}

#[derive(Clone, Copy, Debug)]
enum Pattern {
    Cl100k,
    O200k,
}

macro_rules! vocabulary {
    ($name:literal) => {
        Vocabulary::new(
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".short.bin")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".long.bin")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bytes.bin")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".pairs.bin")),
        )
    };
}

static CL100K_BASE: Bpe = Bpe {
    name: "cl100k_base",
    pattern: Pattern::Cl100k,
    vocabulary: vocabulary!("cl100k_base"),
};

static O200K_BASE: Bpe = Bpe {
    name: "o200k_base",
    pattern: Pattern::O200k,
    vocabulary: vocabulary!("o200k_base"),
};

/// The encoding of GPT-4 and GPT-3.5, and of OpenAI's embeddings.
pub fn cl100k_base() -> &'static Bpe {
    &CL100K_BASE
}

/// The encoding of GPT-4o, GPT-4.1, GPT-5 and the o-series.
pub fn o200k_base() -> &'static Bpe {
    &O200K_BASE
}

/// The memory that a thread keeps between counts.
#[derive(Debug, Default)]
struct Workspace {
    memo: Memo,
    scratch: Scratch,
}

thread_local! {
    /// One per pattern, since cached counts belong to an encoding.
    static WORKSPACES: [Cell<Option<Box<Workspace>>>; 2] = const { [Cell::new(None), Cell::new(None)] };
}

impl Bpe {
    /// The tokens of `text`, or `None` if there are more than `limit`.
    fn count_within(&self, text: &str, limit: u64) -> Option<u64> {
        if (text.len() / Vocabulary::LONGEST) as u64 > limit {
            return None;
        }
        let slot = self.pattern as usize;
        // While a thread is ending, its workspace is gone; then a new one is used.
        let lent = WORKSPACES.try_with(|all| all[slot].take());
        let mut workspace = lent.ok().flatten().unwrap_or_default();
        let text = text.as_bytes();
        let counted = match self.pattern {
            Pattern::Cl100k => self.count_pieces::<Cl100k>(&mut workspace, text, limit),
            Pattern::O200k => self.count_pieces::<O200k>(&mut workspace, text, limit),
        };
        let _ = WORKSPACES.try_with(|all| all[slot].set(Some(workspace)));
        counted
    }

    fn count_pieces<S: Split>(
        &self,
        workspace: &mut Workspace,
        text: &[u8],
        limit: u64,
    ) -> Option<u64> {
        let (mut at, mut counted) = (0, 0);
        while at < text.len() {
            let end = S::piece_end(text, at);
            counted += self.count_piece(workspace, text, at, end, limit - counted)?;
            if counted > limit {
                return None;
            }
            at = end;
        }
        Some(counted)
    }

    #[inline]
    fn count_piece(
        &self,
        workspace: &mut Workspace,
        text: &[u8],
        start: usize,
        end: usize,
        limit: u64,
    ) -> Option<u64> {
        let Workspace { memo, scratch } = workspace;
        match end - start {
            1 => Some(1),
            length @ ..=memo::LONGEST => {
                let window = vocabulary::window(text, start);
                Some(memo.get_or_count(memo::key(window, length), || {
                    self.count_short(window, scratch, &text[start..end])
                }))
            }
            _ if self.vocabulary.rank(text, start, end) != NO_RANK => Some(1),
            _ => merge::count(&self.vocabulary, scratch, &text[start..end], limit),
        }
    }

    fn count_short(&self, window: u128, scratch: &mut Scratch, piece: &[u8]) -> u64 {
        let rank = if piece.len() <= SHORT {
            self.vocabulary.short_rank(layout::key(window, piece.len()))
        } else {
            self.vocabulary.rank(piece, 0, piece.len())
        };
        if rank != NO_RANK {
            return 1;
        }
        merge::count(&self.vocabulary, scratch, piece, u64::MAX).unwrap_or(u64::MAX)
    }
}

impl TokenCounter for Bpe {
    fn count(&self, text: &str) -> Tokens {
        Tokens::saturating_from_u64(self.weigh(text))
    }

    fn count_up_to(&self, text: &str, limit: Tokens) -> Option<Tokens> {
        self.count_within(text, limit.into())
            .map(Tokens::saturating_from_u64)
    }

    fn weigh(&self, text: &str) -> u64 {
        self.count_within(text, u64::MAX).unwrap_or(u64::MAX)
    }

    fn additivity(&self) -> Additivity {
        Additivity::AtSafeJoints
    }

    fn exactness(&self) -> Exactness {
        Exactness::Exact
    }

    fn name(&self) -> &str {
        self.name
    }
}
