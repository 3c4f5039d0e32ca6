//! Reads JSON bodies with limits on size and time; errors name the field at fault.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use ctx_model::{ModelError, Wire};
use ctx_retrieve::TaskScope;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::admission::{Admission, Doing, Slot};
use crate::auth::Identity;
use crate::backend::BackendError;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::state::{App, Shared};
use crate::tasks;

/// Bodies of at most this many bytes are parsed on the spot, which takes a fraction of a
/// millisecond.
const QUICK: usize = 64 << 10;

/// A type that a body is parsed into.
pub(crate) trait Input: TryFrom<Self::Sent, Error: Into<Problem>> + Send + 'static {
    /// The type as sent; converting it checks what JSON types do not express.
    type Sent: DeserializeOwned;

    /// The most bytes that the body may have.
    fn limit(limits: &Limits) -> usize {
        limits.body_bytes
    }

    /// Checks the limits.
    fn check(&self, limits: &Limits) -> Result<(), Problem>;
}

/// A kind of work, with its own slots.
pub(crate) trait Work {
    /// Whether it reads or writes.
    const DOING: Doing;

    /// Its slots.
    fn admission(app: &App) -> &Arc<Admission>;
}

/// Building and assembling contexts.
#[derive(Debug)]
pub(crate) struct Building;

impl Work for Building {
    const DOING: Doing = Doing::Reads;

    fn admission(app: &App) -> &Arc<Admission> {
        &app.builds
    }
}

/// Storing and removing batches of files.
#[derive(Debug)]
pub(crate) struct Batching;

impl Work for Batching {
    const DOING: Doing = Doing::Writes;

    fn admission(app: &App) -> &Arc<Admission> {
        &app.batches
    }
}

/// Reading from the store.
#[derive(Debug)]
pub(crate) struct Looking;

impl Work for Looking {
    const DOING: Doing = Doing::Reads;

    fn admission(app: &App) -> &Arc<Admission> {
        &app.store
    }
}

/// Writing to the store.
#[derive(Debug)]
pub(crate) struct Writing;

impl Work for Writing {
    const DOING: Doing = Doing::Writes;

    fn admission(app: &App) -> &Arc<Admission> {
        &app.store
    }
}

/// A body, parsed and checked, and the slot of its request. If there is no slot, or no memory for
/// the body, the request is rejected before its body is read. A client that sends slowly occupies
/// memory, but no slot.
#[derive(Debug)]
pub(crate) struct Json<T, W> {
    pub(crate) request: T,
    pub(crate) slot: Slot,
    work: PhantomData<W>,
}

impl<T: Input, W: Work> FromRequest<Shared> for Json<T, W> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Problem> {
        let limits = &app.limits;
        let (mut parts, body) = request.into_parts();
        let owner = Identity::from_request_parts(&mut parts, app).await?.owner;
        check_type(&parts.headers)?;
        let limit = T::limit(limits);
        check_length(&parts.headers, limit)?;
        let admission = W::admission(app);
        let shed = |full| {
            app.meter.shed();
            tasks::refused(full, admission)
        };
        if let Some(full) = admission.full(&owner, W::DOING) {
            return Err(shed(full));
        }
        let mut room = app.bodies.begin(&owner);
        let announced = length(&parts.headers).map_or(0, |it| usize::try_from(it).unwrap_or(limit));
        room.grow_to(announced).map_err(shed)?;
        let bytes = read(Limited::new(body, limit), announced, limit, |bytes| {
            room.grow_to(bytes).map_err(shed)
        });
        let bytes = match tokio::time::timeout(limits.body_time, bytes).await {
            Ok(bytes) => bytes?,
            Err(_) => return Err(Problem::late_body(limits.body_time)),
        };
        let enter = || tasks::enter(app, admission, &owner, W::DOING);
        let slot = || Ok(enter()?.with_body(room));
        let (request, slot) = taken(bytes, limits, slot).await?;
        Ok(Json {
            request,
            slot,
            work: PhantomData,
        })
    }
}

/// Parses a body and takes a slot. A large body is parsed in its slot on a blocking thread, where
/// it delays nobody: a runtime thread serves many requests.
async fn taken<T: Input, P: Send + 'static>(
    bytes: Vec<u8>,
    limits: &Limits,
    slot: impl FnOnce() -> Result<P, Problem>,
) -> Result<(T, P), Problem> {
    if bytes.len() <= QUICK {
        let request = checked(&bytes, limits)?;
        return Ok((request, slot()?));
    }
    let (slot, limits) = (slot()?, limits.clone());
    let reading = move || Ok((checked(&bytes, &limits)?, slot));
    let read = TaskScope::current().blocking(reading).await;
    read.map_err(|error| BackendError::failed("read a body", error))?
}

/// Parses and checks a body.
fn checked<T: Input>(bytes: &[u8], limits: &Limits) -> Result<T, Problem> {
    let request = T::try_from(parse::<T::Sent>(bytes)?).map_err(Into::<Problem>::into)?;
    request.check(limits)?;
    Ok(request)
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let header = |name| headers.get(name).map(|it| it.to_str());
    let kind = match header(CONTENT_TYPE) {
        Some(Ok(kind)) => kind.split(';').next().unwrap_or_default().trim(),
        _ => "",
    };
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Problem::media_type(
            "Content-Type",
            "the body must be JSON, with the header `Content-Type: application/json`",
        ));
    }
    let is_plain = match header(CONTENT_ENCODING) {
        None => true,
        Some(coding) => coding.is_ok_and(|it| it.trim().eq_ignore_ascii_case("identity")),
    };
    let field = match (is_plain, is_in_chunks_at_most(headers)) {
        (true, true) => return Ok(()),
        (false, _) => "Content-Encoding",
        (true, false) => "Transfer-Encoding",
    };
    let detail = "a compressed body is not supported";
    Err(Problem::media_type(field, detail))
}

/// Whether a body has no transfer coding other than `chunked`.
fn is_in_chunks_at_most(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    codings.all(|it| {
        let mut codings = it.to_str().unwrap_or("?").split(',').map(str::trim);
        codings.all(|it| it.is_empty() || it.eq_ignore_ascii_case("chunked"))
    })
}

/// Reads a body whose announced length is `announced`; calls `grow` with the new length before
/// bytes are kept.
async fn read(
    mut body: Limited<Body>,
    announced: usize,
    limit: usize,
    mut grow: impl FnMut(usize) -> Result<(), Problem>,
) -> Result<Vec<u8>, Problem> {
    let mut whole = Vec::with_capacity(announced);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match error {
            error if error.is::<LengthLimitError>() => Problem::body_too_large(limit),
            _ => Problem::invalid("", "the body ended early"),
        })?;
        if let Ok(data) = frame.into_data() {
            grow(whole.len() + data.len())?;
            whole.extend_from_slice(&data);
        }
    }
    Ok(whole)
}

/// The announced length of a body.
fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Rejects a body whose announced length is too large, before any of it is read.
fn check_length(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
    match length(headers) {
        Some(length) if length > limit as u64 => Err(Problem::body_too_large(limit)),
        _ => Ok(()),
    }
}

/// Parses JSON in one pass into a `T`, without an intermediate tree.
///
/// # Errors
/// Names the field and says what is wrong with it.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if bytes.trim_ascii_start().is_empty() {
        return Err(Problem::invalid("", "the body is empty, not an object"));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(Wire(&mut json))
        .map_err(|error| refused(&error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| refused("", &error))?;
    Ok(value)
}

fn refused(path: &str, error: &serde_json::Error) -> Problem {
    fault(path, &error.to_string())
}

/// The problem for an error of serde at `path` with the message `detail`: the field at fault is the
/// one at the path, or the one named in the message.
pub(crate) fn fault(path: &str, detail: &str) -> Problem {
    let detail = ctx_model::json_error(detail).into_owned();
    // Where the text is cut off, the field is unknown.
    let path = path.trim_end_matches('?').trim_end_matches('.');
    let mut field = path.to_owned();
    if let Some(name) = named(&detail)
        && field.rsplit('.').next() != Some(name)
    {
        field = if field.is_empty() {
            name.to_owned()
        } else {
            format!("{field}.{name}")
        };
    }
    Problem::invalid(field, detail)
}

/// The problem for a value at `path` that the model rejected.
pub(crate) fn unfit(path: &str, error: &ModelError) -> Problem {
    let field = match error.field() {
        Some(field) => format!("{path}.{field}"),
        None => path.to_owned(),
    };
    // Each field is valid by itself; their combination is not.
    if error.is_between_fields() {
        return Problem::unprocessable(field, error.to_string());
    }
    Problem::invalid(field, error.to_string())
}

/// The field named in a serde message, if the path does not lead to it.
fn named(detail: &str) -> Option<&str> {
    for word in ["missing field `", "unknown field `", "duplicate field `"] {
        if let Some(rest) = detail.strip_prefix(word) {
            return rest.split('`').next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::thread::{self, ThreadId};

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Lines {
        first: u32,
        #[serde(default)]
        factor: f64,
    }

    fn fault<T: DeserializeOwned + std::fmt::Debug>(body: &str) -> String {
        let problem = serde_json::to_value(parse::<T>(body.as_bytes()).unwrap_err()).unwrap();
        problem["field"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn whole_numbers_may_have_a_fraction_of_nothing() {
        let lines: Lines = parse(b"{\"first\": 59.0, \"factor\": 2.0}").unwrap();
        assert_eq!((lines.first, lines.factor), (59, 2.0));
        assert_eq!(fault::<Lines>("{\"first\": 59.5}"), "first");
        assert_eq!(fault::<Lines>("{\"first\": 59.0, \"last\": 60.0}"), "last");
    }

    #[test]
    fn fields_are_told_by_their_names_and_never_by_their_order() {
        for body in [
            "{\"files\": [[\"a.rs\", \"fn a() {}\"]]}",
            "{\"files\": [[]]}",
        ] {
            assert_eq!(fault::<crate::wire::FilesRequest>(body), "files[0]");
        }
        assert_eq!(fault::<Lines>("[1, 2.5]"), "");
        let body = "{\"message\": \"x\", \"options\": [8000]}";
        assert_eq!(fault::<crate::wire::BuildRequest>(body), "options");
    }

    #[test]
    fn errors_name_the_expected_type_in_terms_of_json() {
        let told = |body: &str| {
            let problem = parse::<Lines>(body.as_bytes()).unwrap_err();
            serde_json::to_string(&problem).unwrap()
        };
        let number = told("{\"first\": 1, \"factor\": \"2\"}");
        assert!(number.contains("expected a number"), "{number}");
        let whole = told("{\"first\": \"1\"}");
        assert!(
            whole.contains("expected a whole number from 0 to 4294967295"),
            "{whole}"
        );
        let object = told("1");
        assert!(object.contains("expected an object"), "{object}");
    }

    /// If the text were parsed again, as a tree or otherwise, the error would be that it is cut
    /// off.
    #[test]
    fn nothing_is_read_after_a_fraction_that_must_not_be() {
        let body = format!("{{\"first\": 1.5, \"x\": [{}", "0,".repeat(100_000));
        assert_eq!(fault::<Lines>(&body), "first");
        let body = format!("{{\"files\": 1.5, \"x\": [{}", "0,".repeat(100_000));
        assert_eq!(fault::<crate::wire::FilesRequest>(&body), "files");
    }

    /// Records which thread parses it.
    #[derive(Debug)]
    struct Reader(ThreadId);

    impl<'de> Deserialize<'de> for Reader {
        fn deserialize<D: serde::Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
            serde::de::IgnoredAny::deserialize(text)?;
            Ok(Reader(thread::current().id()))
        }
    }

    impl Input for Reader {
        type Sent = Self;

        fn check(&self, _: &Limits) -> Result<(), Problem> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_large_body_keeps_no_thread_of_the_runtime() {
        let own = thread::current().id();
        for (zeros, is_own) in [(10, true), (1_000_000, false)] {
            let body = format!("{{\"x\": [{}0]}}", "0,".repeat(zeros));
            let body = body.into_bytes();
            let taken = taken(body, &Limits::default(), || Ok(())).await;
            let (reader, ()): (Reader, ()) = taken.unwrap();
            assert_eq!(reader.0 == own, is_own, "{zeros}");
        }
    }

    #[tokio::test]
    async fn a_large_body_is_read_in_its_place_and_gives_that_back_when_it_is_refused() {
        let body = || format!("{{\"x\": [{}", "0,".repeat(1_000_000)).into_bytes();
        let held = Arc::new(());
        let slot = || Ok(Arc::clone(&held));
        let refused = taken::<Reader, _>(body(), &Limits::default(), slot).await;
        assert!(refused.is_err());
        assert_eq!(Arc::strong_count(&held), 1);
        let full = || Err::<(), _>(Problem::overloaded("full"));
        let refused = taken::<Reader, _>(body(), &Limits::default(), full).await;
        let problem = serde_json::to_value(refused.unwrap_err()).unwrap();
        assert_eq!(problem["detail"], "full");
    }
}
