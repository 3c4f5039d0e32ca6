//! Replies, measured as they are sent.

use std::sync::Arc;

use ctx_model::{CounterName, Tokens};
use ctx_tokens::{Exactness, TokenCounter};
use rmcp::model::{CallToolResult, ContentBlock, RequestId};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::fault::{Fault, echo};

/// What a reply may take when nothing is said of it: tokens of `o200k_base`.
pub const DEFAULT_TOKENS: u32 = 8_000;
/// What no reply takes more than; a larger `max_tokens` means this.
pub const MOST_TOKENS: u32 = 25_000;
/// A smaller `max_tokens` is refused: not even a refusal would fit.
pub const LEAST_TOKENS: u32 = 256;

/// What a transport may add to a reply: a member of the result, and the framing of an event.
const FRAMING: u32 = 16;

/// What a resource takes besides its text, its address and the id of the call.
const RESOURCE: u32 = 64;

/// No token of the encoding has so many bytes.
const LONGEST_TOKEN: usize = 256;

/// The counter of the wire.
pub(crate) fn o200k() -> Arc<dyn TokenCounter> {
    ctx_tokens::counter(&CounterName::default()).expect("the encoding is built in")
}

/// Counts text as it is sent: escaped as in a JSON string. What is priced is what is paid.
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

/// What is between the quotes.
fn escaped(quoted: &str) -> &str {
    let inner = quoted.strip_prefix('"');
    let inner = inner.and_then(|it| it.strip_suffix('"'));
    inner.unwrap_or_default()
}

/// The most that one reply may take, and who it is for.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    id: RequestId,
    tokens: Tokens,
}

impl Limit {
    /// What `asked` means.
    ///
    /// # Errors
    /// It is smaller than [`LEAST_TOKENS`].
    pub(crate) fn of(asked: Option<u64>, id: RequestId) -> Result<Self, Fault> {
        let asked = asked.unwrap_or(DEFAULT_TOKENS.into());
        let tokens = u32::try_from(asked).unwrap_or(MOST_TOKENS).min(MOST_TOKENS);
        if tokens < LEAST_TOKENS {
            return Err(Fault::new(
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

    /// A file with more bytes is no resource, whatever it says: each character has two at most that a text of it has not.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.tokens.get()) * LONGEST_TOKEN as u64 * 2
    }

    /// Whether `text` fits as the resource at `uri`.
    pub(crate) fn takes(&self, text: &str, uri: &str, counter: &dyn TokenCounter) -> bool {
        let id = serde_json::to_string(&self.id).unwrap_or_default();
        // No token is of less than a byte.
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

    /// What the whole reply takes: the message as it is sent, its envelope and escapes included.
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
        // No token is so long: what is certainly too much is not counted.
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

/// A reply in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    /// What was asked for.
    pub(crate) text: String,
    /// What to know besides, a sentence each; the first matter most.
    pub(crate) notes: Vec<String>,
    /// The same for programs; small.
    pub(crate) facts: Map<String, Value>,
}

impl Reply {
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// As it is sent. Notes have a block of their own, so that no text of a file can pass for one.
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

/// The reply that tells of a fault: never more than [`LEAST_TOKENS`], but for an `id` that is long itself, which is sent back as it
/// came.
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
    // What a caller gave is long in tokens: less of it.
    let short = Fault::new(echo(&fault.to_string()), fault.hint());
    let short = of(short.text());
    if limit.fits(&short, &*counter) {
        return short;
    }
    of(format!("failed to answer\ntry: {}", fault.hint()))
}
