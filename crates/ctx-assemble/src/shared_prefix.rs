//! The part that a prompt cache keeps: the common beginning of two contexts.

use ctx_model::{BuildOptions, Included, SharedPrefix};
use ctx_tokens::is_safe_joint;

use crate::AssembleError;
use crate::emit::Document;
use crate::price::Pricer;

/// How much of the previous context, if its text is given, is repeated at the beginning of
/// `document`. The tokens are those up to the last line break at which, in either context, no
/// tokenizer joins the text before to the text after it: at least that many are the same. O(bytes
/// shared). Stops early if the control of `pricer` is cancelled.
pub(crate) fn shared_prefix(
    options: &BuildOptions,
    pricer: &Pricer<'_>,
    document: &Document,
    included: &[Included],
) -> Result<Option<SharedPrefix>, AssembleError> {
    let previous = options.previous.as_ref();
    let Some(previous) = previous.and_then(|it| it.context.as_deref()) else {
        return Ok(None);
    };
    let text = document.text.as_str();
    let bytes = text
        .bytes()
        .zip(previous.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let block = document.block_ends.partition_point(|&end| end <= bytes);
    let is_same = bytes == text.len() && bytes == previous.len();
    Ok(Some(SharedPrefix {
        tokens: pricer.recount(&text[..settled(text, previous, bytes)])?,
        bytes,
        first_difference: included
            .get(block)
            .filter(|_| !is_same)
            .map(|it| it.id.clone()),
    }))
}

/// The last place at or before `bytes` where both texts may be cut without a change of tokens.
fn settled(text: &str, previous: &str, bytes: usize) -> usize {
    if bytes == text.len() && bytes == previous.len() {
        return bytes;
    }
    let is_settled = |&at: &usize| {
        [text, previous]
            .iter()
            .all(|text| text.is_char_boundary(at) && is_safe_joint(&text[..at], &text[at..]))
    };
    let newlines = text.as_bytes()[..bytes].iter().enumerate().rev();
    newlines
        .filter(|&(_, &byte)| byte == b'\n')
        .map(|(at, _)| at + 1)
        .find(is_settled)
        .unwrap_or(0)
}
