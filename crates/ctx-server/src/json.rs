//! Bodies: JSON of a known size, in time, with the field named that is at fault.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use ctx_model::{ModelError, Wire};
use ctx_retrieve::Hold;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::admission::{Admission, Doing, Place};
use crate::auth::Identity;
use crate::backend::BackendError;
use crate::job;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::state::{App, Shared};

/// What is no longer is read at once, in bytes: that takes a fraction of a millisecond.
const QUICK: usize = 64 << 10;

/// What a body is read into.
pub(crate) trait Input: TryFrom<Self::Sent, Error: Into<Problem>> + Send + 'static {
    /// What was sent, of which that is checked first which JSON does not tell.
    type Sent: DeserializeOwned;

    /// The most bytes it may have.
    fn limit(limits: &Limits) -> usize {
        limits.body_bytes
    }

    /// Checks what its type does not.
    fn check(&self, limits: &Limits) -> Result<(), Problem>;
}

/// Whose places a request takes.
pub(crate) trait Work {
    /// What it does there.
    const DOING: Doing;

    /// The places.
    fn places(app: &App) -> &Arc<Admission>;
}

/// Builds and assemblies.
#[derive(Debug)]
pub(crate) struct Building;

impl Work for Building {
    const DOING: Doing = Doing::Reads;

    fn places(app: &App) -> &Arc<Admission> {
        &app.builds
    }
}

/// Batches of files, and their removal.
#[derive(Debug)]
pub(crate) struct Batching;

impl Work for Batching {
    const DOING: Doing = Doing::Writes;

    fn places(app: &App) -> &Arc<Admission> {
        &app.batches
    }
}

/// What looks at what the store has.
#[derive(Debug)]
pub(crate) struct Looking;

impl Work for Looking {
    const DOING: Doing = Doing::Reads;

    fn places(app: &App) -> &Arc<Admission> {
        &app.store
    }
}

/// What changes that.
#[derive(Debug)]
pub(crate) struct Keeping;

impl Work for Keeping {
    const DOING: Doing = Doing::Writes;

    fn places(app: &App) -> &Arc<Admission> {
        &app.store
    }
}

/// A body, read and checked, and the place of its request. Who would find no place, or no room for its body, is
/// turned away before that is read. Whoever sends one slowly holds room, and no place.
#[derive(Debug)]
pub(crate) struct Json<T, W> {
    pub(crate) request: T,
    pub(crate) place: Place,
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
        let shed = |full| {
            app.meter.shed();
            job::refused(full)
        };
        if let Some(full) = W::places(app).full(&owner, W::DOING) {
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
        let enter = || job::enter(app, W::places(app), &owner, W::DOING);
        let place = || Ok(enter()?.with_body(room));
        let (request, place) = taken(bytes, limits, place).await?;
        Ok(Json {
            request,
            place,
            work: PhantomData,
        })
    }
}

/// The request that a body is, and its place. A body that takes long is read in the place, where it keeps nobody waiting: a
/// thread that serves the runtime serves many.
async fn taken<T: Input, P: Send + 'static>(
    bytes: Vec<u8>,
    limits: &Limits,
    place: impl FnOnce() -> Result<P, Problem>,
) -> Result<(T, P), Problem> {
    if bytes.len() <= QUICK {
        let request = checked(&bytes, limits)?;
        return Ok((request, place()?));
    }
    let (place, limits) = (place()?, limits.clone());
    let reading = move || Ok((checked(&bytes, &limits)?, place));
    let read = Hold::current().blocking(reading).await;
    read.map_err(|error| BackendError::failed("read a body", error))?
}

/// The request that a body is.
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
            "a body is JSON, and has to say so: `Content-Type: application/json`",
        ));
    }
    let is_plain = matches!(header(CONTENT_ENCODING), None | Some(Ok("identity")));
    let field = match (is_plain, is_in_chunks_at_most(headers)) {
        (true, true) => return Ok(()),
        (false, _) => "Content-Encoding",
        (true, false) => "Transfer-Encoding",
    };
    let detail = "a body is sent as it is, not compressed";
    Err(Problem::media_type(field, detail))
}

/// Whether nothing was done to a body for its way but to cut it in chunks.
fn is_in_chunks_at_most(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    codings.all(|it| {
        let mut codings = it.to_str().unwrap_or("?").split(',').map(str::trim);
        codings.all(|it| it.is_empty() || it.eq_ignore_ascii_case("chunked"))
    })
}

/// Reads a body of which `announced` bytes are said to come; `grow` is told of how many there are before they are kept.
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
            _ => Problem::invalid("", "the body broke off"),
        })?;
        if let Ok(data) = frame.into_data() {
            grow(whole.len() + data.len())?;
            whole.extend_from_slice(&data);
        }
    }
    Ok(whole)
}

/// The length that a body says it has.
fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Refuses a body that says of itself that it is too large, before any of it is read.
fn check_length(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
    match length(headers) {
        Some(length) if length > limit as u64 => Err(Problem::body_too_large(limit)),
        _ => Ok(()),
    }
}

/// Reads JSON, once: nothing is kept of it but what `T` is.
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

/// Reads a value that was read by [`parse`] before, from the field `prefix`.
pub(crate) fn convert<T: DeserializeOwned>(prefix: &str, value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(Wire(value)).map_err(|error| {
        let path = match error.path().to_string().as_str() {
            "." => prefix.to_owned(),
            path if prefix.is_empty() => path.to_owned(),
            path => format!("{prefix}.{path}"),
        };
        refused(&path, error.inner())
    })
}

fn refused(path: &str, error: &serde_json::Error) -> Problem {
    fault(path, &error.to_string())
}

/// What is said of what serde refused at `path`, for the reason `detail`: the field at fault is the one there, or
/// one that is named in the reason.
pub(crate) fn fault(path: &str, detail: &str) -> Problem {
    let detail = ctx_model::in_words_of_json(detail).into_owned();
    // Where the text breaks off, no field is known.
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

/// What is said of what the model refused at `path`.
pub(crate) fn unfit(path: &str, error: &ModelError) -> Problem {
    let field = match error.field() {
        Some(field) => format!("{path}.{field}"),
        None => path.to_owned(),
    };
    // Each field is as it is described, and they do not go together.
    if error.is_between_fields() {
        return Problem::unprocessable(field, error.to_string());
    }
    Problem::invalid(field, error.to_string())
}

/// The field that serde names though its path does not lead to it.
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
    fn what_was_wanted_is_told_in_the_words_of_json() {
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

    /// Were the text read again, as a tree or not, that it breaks off would be what is told of it.
    #[test]
    fn nothing_is_read_after_a_fraction_that_must_not_be() {
        let body = format!("{{\"first\": 1.5, \"x\": [{}", "0,".repeat(100_000));
        assert_eq!(fault::<Lines>(&body), "first");
        let body = format!("{{\"files\": 1.5, \"x\": [{}", "0,".repeat(100_000));
        assert_eq!(fault::<crate::wire::FilesRequest>(&body), "files");
    }

    /// Which thread reads it.
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
        let place = || Ok(Arc::clone(&held));
        let refused = taken::<Reader, _>(body(), &Limits::default(), place).await;
        assert!(refused.is_err());
        assert_eq!(Arc::strong_count(&held), 1);
        let full = || Err::<(), _>(Problem::overloaded("full"));
        let refused = taken::<Reader, _>(body(), &Limits::default(), full).await;
        let problem = serde_json::to_value(refused.unwrap_err()).unwrap();
        assert_eq!(problem["detail"], "full");
    }
}
