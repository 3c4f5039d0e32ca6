//! JSON-RPC errors for input that is no message.

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcError, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::fault::Fault;

/// The JSON-RPC error for `text`, which is no message; `what` names the kind of input.
pub(crate) fn refusal(what: &str, text: &[u8]) -> JsonRpcError {
    let syntax = serde_json::from_slice::<IgnoredAny>(text).err();
    let why = syntax.or_else(|| serde_json::from_slice::<ClientJsonRpcMessage>(text).err());
    let why = why.map(|it| (it.is_data(), it.to_string()));
    let (code, fault) = match why {
        Some((false, why)) => (
            ErrorCode::PARSE_ERROR,
            Fault::refused(
                format!("read the {what} as JSON: {why}"),
                "one JSON-RPC message, as JSON in UTF-8",
            ),
        ),
        _ => (
            ErrorCode::INVALID_REQUEST,
            Fault::refused(
                format!("read the {what} as a JSON-RPC message"),
                "one object with \"jsonrpc\": \"2.0\", \"method\", \"params\" and, in a request, \"id\"",
            ),
        ),
    };
    let id = Members::of(text).id();
    JsonRpcError::new(id, ErrorData::new(code, fault.text(), None))
}

/// Whether `text`, which is JSON but no message, would be a notification: those are not answered.
pub(crate) fn is_notification(text: &[u8]) -> bool {
    let members = Members::of(text);
    members.method.is_some() && matches!(members.id, Id::Absent)
}

/// The members that are read of an invalid message, so that its sender can be told which one is
/// meant.
#[derive(Default, Deserialize)]
struct Members {
    #[serde(default)]
    id: Id,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(from = "Option<RequestId>")]
enum Id {
    #[default]
    Absent,
    Null,
    Given(RequestId),
}

impl From<Option<RequestId>> for Id {
    fn from(id: Option<RequestId>) -> Self {
        id.map_or(Id::Null, Id::Given)
    }
}

impl Members {
    fn of(text: &[u8]) -> Self {
        serde_json::from_slice(text).unwrap_or_default()
    }

    /// The id of a request. An answer's id is none: it belongs to a request of ours, and the client
    /// may have a request with the same id.
    fn id(self) -> Option<RequestId> {
        match self.id {
            Id::Given(id) if self.result.is_none() && self.error.is_none() => Some(id),
            _ => None,
        }
    }
}
