//! Laws of `ctx_tokens::TokenCounter`.

use ctx_tokens::TokenCounter;

/// Checks that `counter` keeps the promises of [`TokenCounter`].
pub fn token_counter<C: TokenCounter + ?Sized>(_counter: &C) {}
