//! Error answers, as problem details of RFC 9457.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use ctx_assemble::{AssembleError, FormatError, OwnText};
use ctx_budget::BudgetError;
use ctx_hosts::Refused;
use ctx_model::Tokens;
use ctx_service::{Required, ServiceError};
use ctx_tokens::TokensError;
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use crate::backend::BackendError;
use crate::cause::{cause, is_full};
use crate::request::RequestInfo;
use crate::schema;

/// Why there is no answer (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The kind of problem: a reference to its description.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind, in words.
    pub title: &'static str,
    /// The status of the response.
    pub status: u16,
    /// What is wrong in this case.
    pub detail: String,
    /// The field at fault, if there is one: `options.maxTokens`, `files[3].path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Box<str>>,
    /// The id of the request, as in the header `X-Request-Id` and in the server's log.
    #[serde(rename = "requestId", skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Box<str>>,
    /// How much the budget lacks, if it is too small.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Box<Shortfall>>,
    /// All fields at fault, where there are several.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Box<Faults>>,
    /// After how many seconds it may go better.
    #[serde(skip)]
    again: Option<u16>,
    #[serde(skip)]
    must_close: bool,
}

/// After how long what failed for now may be tried again, if nothing else is known.
const SOON: Duration = Duration::from_secs(1);

/// The most faults that one problem lists.
pub(crate) const MOST_FAULTS: usize = 100;

/// What is wrong with several fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Faults {
    /// The first 100 of them, in the order of the fields.
    pub errors: Vec<Fault>,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Fault {
    /// The field: `files[3].path`.
    pub field: String,
    /// What is wrong with it.
    pub detail: String,
}

/// What a budget lacks, in tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Shortfall {
    /// The tokens that the context must have.
    pub needed: u32,
    /// The tokens that are available: the budget less its reserve.
    pub available: u32,
    /// The smallest `maxTokens` that works; left out if none does that a request may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_max_tokens: Option<u32>,
    /// The parts of `needed`.
    pub breakdown: Breakdown,
}

/// The mandatory parts of a context, in tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct Breakdown {
    /// The header.
    pub header: u32,
    /// The footer.
    pub footer: u32,
    /// The notices.
    pub notices: u32,
    /// The chunks that must be shown, each at its cheapest.
    pub pinned: u32,
}

impl Problem {
    /// The problem of a request that may have a budget of at most `most` tokens: a larger one is
    /// not named as one that works.
    pub(crate) fn within(mut self, most: u32) -> Self {
        if let Some(shortfall) = &mut self.shortfall
            && shortfall.smallest_max_tokens.is_some_and(|it| it > most)
        {
            shortfall.smallest_max_tokens = None;
            let limit = format!(", but a request may have at most {most}, so none works");
            self.detail.push_str(&limit);
        }
        self
    }
}

impl Shortfall {
    fn of(error: &BudgetError) -> Option<Box<Self>> {
        let BudgetError::TooSmall {
            needed,
            available,
            header,
            footer,
            notices,
            pinned,
            ..
        } = error
        else {
            return None;
        };
        let breakdown = Breakdown {
            header: header.get(),
            footer: footer.get(),
            notices: notices.get(),
            pinned: pinned.get(),
        };
        Some(Box::new(Shortfall {
            needed: needed.get(),
            available: available.get(),
            smallest_max_tokens: error.smallest().map(Tokens::get),
            breakdown,
        }))
    }
}

/// The schema is flat, as the problem is sent.
impl PartialSchema for Problem {
    fn schema() -> RefOr<Schema> {
        schema::Problem::schema()
    }
}

impl ToSchema for Problem {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schema::Problem::schemas(schemas);
    }
}

/// The kinds of problems: the last segment of `type`, the status, and the title.
pub(crate) const KINDS: &[(&str, StatusCode, &str)] = &[
    ("invalid", StatusCode::BAD_REQUEST, "The request is invalid"),
    (
        "unauthorized",
        StatusCode::UNAUTHORIZED,
        "A valid token is required",
    ),
    ("forbidden", StatusCode::FORBIDDEN, "This is not allowed"),
    ("not-found", StatusCode::NOT_FOUND, "Not found"),
    (
        "method",
        StatusCode::METHOD_NOT_ALLOWED,
        "The path does not accept this method",
    ),
    (
        "not-acceptable",
        StatusCode::NOT_ACCEPTABLE,
        "No answer of an accepted type exists",
    ),
    (
        "late-body",
        StatusCode::REQUEST_TIMEOUT,
        "The body did not arrive in time",
    ),
    ("conflict", StatusCode::CONFLICT, "It exists already"),
    (
        "too-large",
        StatusCode::PAYLOAD_TOO_LARGE,
        "A limit is exceeded",
    ),
    (
        "media-type",
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "The type of the body is not supported",
    ),
    (
        "misdirected",
        StatusCode::MISDIRECTED_REQUEST,
        "The host name is not one of this server",
    ),
    (
        "unprocessable",
        StatusCode::UNPROCESSABLE_ENTITY,
        "The request cannot be processed as it is",
    ),
    (
        "budget",
        StatusCode::UNPROCESSABLE_ENTITY,
        "No context fits the budget",
    ),
    (
        "internal",
        StatusCode::INTERNAL_SERVER_ERROR,
        "The server failed",
    ),
    (
        "overloaded",
        StatusCode::SERVICE_UNAVAILABLE,
        "The server is overloaded",
    ),
    (
        "unavailable",
        StatusCode::SERVICE_UNAVAILABLE,
        "The request cannot be processed at the moment",
    ),
    (
        "late",
        StatusCode::GATEWAY_TIMEOUT,
        "The answer was not ready in time",
    ),
    (
        "full",
        StatusCode::INSUFFICIENT_STORAGE,
        "The storage is full",
    ),
];

impl Problem {
    fn new(kind: &str, detail: impl Into<String>) -> Self {
        let row = KINDS.iter().find(|row| row.0 == kind);
        let (kind, status, title) = row.unwrap_or(&KINDS[13]);
        Problem {
            kind: format!("/docs#problem-{kind}"),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            field: None,
            request_id: None,
            shortfall: None,
            faults: None,
            again: None,
            must_close: false,
        }
    }

    fn at(mut self, field: impl Into<String>) -> Self {
        let field = field.into();
        self.field = (!field.is_empty()).then(|| field.into_boxed_str());
        self
    }

    /// The same, with all `faults`, where there are several. The `field` and `detail` stay those of
    /// one of them.
    pub(crate) fn with_faults(mut self, mut faults: Vec<Fault>) -> Self {
        let count = faults.len();
        if count > 1 {
            faults.truncate(MOST_FAULTS);
            let told = match count {
                ..=MOST_FAULTS => "all of them are".to_owned(),
                _ => format!("the first {MOST_FAULTS} are"),
            };
            self.detail = format!(
                "{}; {count} fields are invalid, {told} listed in errors",
                self.detail
            );
            self.faults = Some(Box::new(Faults { errors: faults }));
        }
        self
    }

    /// Its field, and what is wrong with that.
    pub(crate) fn as_fault(&self) -> Fault {
        Fault {
            field: self.field.as_deref().unwrap_or_default().to_owned(),
            detail: self.detail.clone(),
        }
    }

    /// It may go better after this time.
    pub(crate) fn again(mut self, after: Duration) -> Self {
        let seconds = after.as_millis().div_ceil(1_000).max(1);
        self.again = Some(u16::try_from(seconds).unwrap_or(u16::MAX));
        self
    }

    /// Adds the id of the current request.
    pub(crate) fn of_request(mut self) -> Self {
        self.request_id = RequestInfo::current().map(|it| it.id.as_str().into());
        self
    }

    /// Marks the connection as unusable: part of the request has not been read.
    fn closing(mut self) -> Self {
        self.must_close = true;
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub(crate) fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Problem::new("invalid", detail).at(field)
    }

    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Problem::new("unauthorized", detail).at("Authorization")
    }

    pub(crate) fn forbidden(field: &str, detail: impl Into<String>) -> Self {
        Problem::new("forbidden", detail).at(field)
    }

    pub(crate) fn not_found(field: &str, detail: impl Into<String>) -> Self {
        Problem::new("not-found", detail).at(field)
    }

    pub(crate) fn method() -> Self {
        Problem::new("method", "the header Allow lists the accepted methods")
    }

    pub(crate) fn not_acceptable() -> Self {
        let detail = "answers are application/json or, for builds, text/event-stream";
        Problem::new("not-acceptable", detail).at("Accept")
    }

    pub(crate) fn late_body(limit: Duration) -> Self {
        let detail = format!("the limit is {} seconds", limit.as_secs_f64());
        Problem::new("late-body", detail).closing()
    }

    pub(crate) fn too_large(field: &str, detail: impl Into<String>) -> Self {
        Problem::new("too-large", detail).at(field)
    }

    pub(crate) fn body_too_large(limit: usize) -> Self {
        Problem::too_large("", format!("a body may have at most {limit} bytes")).closing()
    }

    pub(crate) fn media_type(field: &str, detail: impl Into<String>) -> Self {
        Problem::new("media-type", detail).at(field)
    }

    pub(crate) fn unprocessable(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Problem::new("unprocessable", detail).at(field)
    }

    pub(crate) fn internal() -> Self {
        Problem::new("internal", "the cause is in the log of the server")
    }

    pub(crate) fn overloaded(detail: &str) -> Self {
        Problem::new("overloaded", detail).again(SOON)
    }

    pub(crate) fn unavailable(detail: &str) -> Self {
        Problem::new("unavailable", detail).again(SOON)
    }

    /// Where somebody still waits, only the end of the server cancels work.
    pub(crate) fn cancelled() -> Self {
        Problem::unavailable("the server is shutting down, and has cancelled the request")
    }

    pub(crate) fn late(limit: Duration) -> Self {
        let detail = format!("the limit for a request is {} seconds", limit.as_secs_f64());
        Problem::new("late", detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let this = self.of_request();
        let body = serde_json::to_vec(&this).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = this.status();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if this.status() == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = this.again {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if this.must_close {
            headers.insert("connection", HeaderValue::from_static("close"));
        }
        response
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let kind = match refused.status() {
            StatusCode::MISDIRECTED_REQUEST => "misdirected",
            StatusCode::FORBIDDEN => "forbidden",
            _ => "invalid",
        };
        let header = match refused {
            Refused::Host(_) => "Host",
            _ => "Origin",
        };
        Problem::new(kind, refused.to_string()).at(header)
    }
}

impl From<Infallible> for Problem {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<BackendError> for Problem {
    fn from(error: BackendError) -> Self {
        let detail = error.to_string();
        match error {
            BackendError::NotFound { field, .. } => Problem::not_found(field, detail),
            BackendError::NotKept { .. } => Problem::not_found("id", detail),
            BackendError::Exists { field, .. } => Problem::new("conflict", detail).at(field),
            BackendError::Invalid { field, .. } => Problem::unprocessable(field, detail),
            BackendError::InvalidBatch(faults) => {
                let (field, detail) = match faults.first() {
                    Some(first) => (first.field.clone(), first.detail.clone()),
                    None => (String::new(), detail),
                };
                Problem::unprocessable(field, detail).with_faults(faults)
            }
            BackendError::Quota { field, .. } => Problem::too_large(field, detail),
            BackendError::Service(error) => Problem::from(&error),
            BackendError::Cancelled => Problem::cancelled(),
            BackendError::Unavailable { what, source } => {
                let cause = cause(&*source);
                tracing::error!(status = 503, what, cause, "the store cannot be reached");
                Problem::unavailable("the store does not answer")
            }
            BackendError::Damaged { what, source } => {
                tracing::error!(
                    status = 500,
                    what,
                    cause = cause(&*source),
                    "stored data is damaged"
                );
                Problem::new("internal", format!("{what} is damaged"))
            }
            BackendError::Failed { what, source } if is_full(&*source) => {
                let cause = cause(&*source);
                tracing::error!(status = 507, what, cause, "the disk is full");
                let detail =
                    "the disk of the server is full; removing data needs some free space, too";
                Problem::new("full", detail)
            }
            BackendError::Failed { what, source } => {
                tracing::error!(
                    status = 500,
                    what,
                    cause = cause(&*source),
                    "the store failed"
                );
                Problem::internal()
            }
        }
    }
}

impl From<&ServiceError> for Problem {
    fn from(error: &ServiceError) -> Self {
        match error.own() {
            ServiceError::Tokens(error) => error.into(),
            ServiceError::Assemble(error) => error.into(),
            ServiceError::Unavailable { what, source } => {
                let cause = cause(source);
                tracing::error!(
                    status = 503,
                    cause,
                    "a pin or reference cannot be looked up"
                );
                let field = match what {
                    Required::Reference(_) => "references",
                    _ => "threadId",
                };
                Problem::unavailable(&format!("{what} cannot be looked up")).at(field)
            }
            other => {
                tracing::error!(status = 500, cause = cause(other), "the service failed");
                Problem::internal()
            }
        }
    }
}

impl From<&TokensError> for Problem {
    fn from(error: &TokensError) -> Self {
        let detail = match error {
            TokensError::UnknownName { .. } => format!(
                "{error}; give characterBased, wordBased, an encoding such as o200k_base or a model such as gpt-4o"
            ),
            other => other.to_string(),
        };
        Problem::unprocessable("options.tokenEstimation", detail)
    }
}

impl From<&AssembleError> for Problem {
    fn from(error: &AssembleError) -> Self {
        let detail = error.to_string();
        let field = match error {
            AssembleError::Model(_) | AssembleError::DuplicateId { .. } => "chunks",
            AssembleError::Budget(error @ BudgetError::TooSmall { .. }) => {
                let mut problem = Problem::new("budget", detail).at("options.maxTokens");
                problem.shortfall = Shortfall::of(error);
                return problem;
            }
            AssembleError::Budget(BudgetError::TooManyPins { .. }) => "options.maxChunks",
            AssembleError::Budget(BudgetError::InvalidDiversity { .. }) => "options.diversity",
            AssembleError::Budget(BudgetError::Cancelled) => {
                return Problem::cancelled();
            }
            AssembleError::Format(FormatError::LeavesOpen { part, .. }) => match part {
                OwnText::Header => "options.contextHeader",
                OwnText::Footer => "options.contextFooter",
                OwnText::Separator => "options.chunkSeparator",
            },
            AssembleError::Format(_)
            | AssembleError::TooLong {
                option: "chunkSeparator",
                ..
            } => "options.chunkSeparator",
            AssembleError::Tokens(error) => return error.into(),
            AssembleError::Budget(_) | AssembleError::TooLong { .. } => "options.maxTokens",
            AssembleError::PreviousDigest { .. } => "options.previous.digest",
            AssembleError::Cancelled => return Problem::cancelled(),
            _ => {
                tracing::error!(status = 500, "the assembler failed");
                return Problem::internal();
            }
        };
        Problem::unprocessable(field, detail)
    }
}
