//! Replies, whose tokens are counted as they are sent.

use std::sync::Arc;

use ctx_model::{CounterName, Tokens};
use ctx_tokens::{Exactness, TokenCounter};
use rmcp::model::{CallToolResult, ContentBlock, RequestId};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::fault::{Fault, echo};

/// The default of `max_tokens`, in tokens of `o200k_base`.
pub(crate) const DEFAULT_TOKENS: u32 = 8_000;
/// The most tokens of any reply; a larger `max_tokens` is reduced to this.
pub(crate) const MOST_TOKENS: u32 = 25_000;
/// The least `max_tokens`; a smaller one is refused, since not even a refusal would fit.
pub(crate) const LEAST_TOKENS: u32 = 256;

/// Tokens that a transport may add to a reply: a member of the result, and the framing of an event.
const FRAMING: u32 = 16;

/// Tokens of a resource besides its text, its address and the id of the call.
const RESOURCE: u32 = 64;

/// No token of the encoding has this many bytes.
const LONGEST_TOKEN: usize = 256;

/// The token counter for replies.
pub(crate) fn o200k() -> Arc<dyn TokenCounter> {
    ctx_tokens::counter(&CounterName::default()).expect("the encoding is built in")
}

/// Counts text as it is sent, which is escaped as in a JSON string: the counts are the true cost.
pub(crate) struct Escaped<C>(pub(crate) C);

impl<C: TokenCounter> TokenCounter for Escaped<C> {
    fn count(&self, text: &str) -> Tokens {
        self.0.count(escaped(&quoted(text)))
    }

    fn count_up_to(&self, text: &str, limit: Tokens) -> Option<Tokens> {
        self.0.count_up_to(escaped(&quoted(text)), limit)
    }

    fn exactness(&self) -> Exactness {
        self.0.exactness()
    }

    #[expect(clippy::unnecessary_literal_bound, reason = "the contract's signature")]
    fn name(&self) -> &str {
        "o200k_base in JSON"
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// The text between the quotes.
fn escaped(quoted: &str) -> &str {
    let inner = quoted.strip_prefix('"');
    let inner = inner.and_then(|it| it.strip_suffix('"'));
    inner.unwrap_or_default()
}

/// The most tokens of one reply, and the request that it answers.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    id: RequestId,
    tokens: Tokens,
}

impl Limit {
    /// The limit for the requested number of tokens.
    ///
    /// # Errors
    /// It is smaller than [`LEAST_TOKENS`].
    pub(crate) fn of(asked: Option<u64>, id: RequestId) -> Result<Self, Fault> {
        let asked = asked.unwrap_or(DEFAULT_TOKENS.into());
        let tokens = u32::try_from(asked).unwrap_or(MOST_TOKENS).min(MOST_TOKENS);
        if tokens < LEAST_TOKENS {
            return Err(Fault::refused(
                format!("answer in {asked} tokens"),
                format!("max_tokens of {LEAST_TOKENS} or more"),
            ));
        }
        Ok(Limit {
            id,
            tokens: Tokens::new(tokens),
        })
    }

    pub(crate) fn tokens(&self) -> Tokens {
        self.tokens
    }

    /// The size in bytes above which a file is no resource, whatever its content: twice the most
    /// bytes that this many tokens can have, since another encoding may take two bytes for a
    /// character of one byte in UTF-8.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.tokens.get()) * LONGEST_TOKEN as u64 * 2
    }

    /// Whether `text` fits as the resource at `uri`.
    pub(crate) fn takes(&self, text: &str, uri: &str, counter: &dyn TokenCounter) -> bool {
        let id = serde_json::to_string(&self.id).unwrap_or_default();
        // Each token has at least one byte.
        let beside = u32::try_from(id.len() + uri.len()).unwrap_or(u32::MAX);
        let beside = Tokens::new(beside.saturating_add(RESOURCE + FRAMING));
        let left = self.tokens.saturating_sub(beside);
        let most = left.get() as usize;
        if text.len() > most * LONGEST_TOKEN {
            return false;
        }
        let quoted = quoted(text);
        quoted.len() <= most || counter.count_up_to(&quoted, left).is_some()
    }

    /// The tokens of the whole reply: the message as it is sent, with envelope and escapes.
    pub(crate) fn cost(&self, result: &CallToolResult, counter: &dyn TokenCounter) -> Tokens {
        let message = Message {
            jsonrpc: "2.0",
            id: &self.id,
            result,
        };
        let text = serde_json::to_string(&message).unwrap_or_default();
        counter.count(&text) + Tokens::new(FRAMING)
    }

    pub(crate) fn fits(&self, result: &CallToolResult, counter: &dyn TokenCounter) -> bool {
        let bytes: usize = result
            .content
            .iter()
            .filter_map(|it| it.as_text())
            .map(|it| it.text.len())
            .sum();
        // No token is that long, so a text that is certainly too long is not counted.
        bytes <= self.tokens.get() as usize * LONGEST_TOKEN
            && self.cost(result, counter) <= self.tokens
    }
}

#[derive(Serialize)]
struct Message<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a CallToolResult,
}

/// A reply being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    /// The requested text.
    pub(crate) text: String,
    /// Notes, a sentence each, most important first.
    pub(crate) notes: Vec<String>,
    /// Small facts for programs.
    pub(crate) facts: Map<String, Value>,
}

impl Reply {
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// The reply as it is sent. Notes have their own content block, so that no text of a file can
    /// pass for one.
    pub(crate) fn result(&self) -> CallToolResult {
        let mut content = Vec::new();
        if !self.text.is_empty() || self.notes.is_empty() {
            content.push(ContentBlock::text(self.text.clone()));
        }
        if !self.notes.is_empty() {
            content.push(ContentBlock::text(self.notes.join("\n")));
        }
        let mut result = CallToolResult::success(content);
        result.is_error = None;
        result.structured_content = Some(Value::Object(self.facts.clone()));
        result
    }
}

/// The reply for a fault. It has at most [`LEAST_TOKENS`], unless the `id`, which is sent back as
/// it came, is long itself.
pub(crate) fn refusal(fault: &Fault, id: &RequestId) -> CallToolResult {
    let limit = Limit {
        id: id.clone(),
        tokens: Tokens::new(LEAST_TOKENS),
    };
    let counter = o200k();
    let of = |text: String| {
        let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
        result.structured_content = None;
        result
    };
    let whole = of(fault.text());
    if limit.fits(&whole, &*counter) {
        return whole;
    }
    // The caller's input may have many tokens: less of it is quoted.
    let short = Fault::refused(echo(&fault.to_string()), fault.hint());
    let short = of(short.text());
    if limit.fits(&short, &*counter) {
        return short;
    }
    of(format!("failed to answer\ntry: {}", fault.hint()))
}
