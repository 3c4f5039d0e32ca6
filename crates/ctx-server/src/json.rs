//! Bodies: JSON of a known size, in time, with the field named that is at fault.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::admission::{Admission, Place};
use crate::auth::Identity;
use crate::job;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::state::{App, Shared};

/// Fields that the model's own errors begin with.
const CHECKED: [&str; 9] = [
    "relevance",
    "startLine",
    "endLine",
    "filePath",
    "id",
    "minRelevance",
    "diversity",
    "groupBy",
    "lines",
];

/// What a body is read into.
pub(crate) trait Input: DeserializeOwned {
    /// The most bytes it may have.
    fn limit(limits: &Limits) -> usize {
        limits.body_bytes
    }

    /// Checks what its type does not.
    fn check(&self, limits: &Limits) -> Result<(), Problem>;
}

/// Whose places a request takes.
pub(crate) trait Work {
    /// The places.
    fn places(app: &App) -> &Arc<Admission>;
}

/// Builds, assemblies and batches of files.
#[derive(Debug)]
pub(crate) struct Building;

impl Work for Building {
    fn places(app: &App) -> &Arc<Admission> {
        &app.builds
    }
}

/// Reads and writes of the store.
#[derive(Debug)]
pub(crate) struct Keeping;

impl Work for Keeping {
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
        if let Some(full) = W::places(app).full(&owner) {
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
        let request: T = parse(&bytes)?;
        drop(bytes);
        request.check(limits)?;
        let place = job::enter(app, W::places(app), &owner)?.with_body(room);
        Ok(Json {
            request,
            place,
            work: PhantomData,
        })
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let header = |name| headers.get(name).map(|it| it.to_str());
    let kind = match header(CONTENT_TYPE) {
        Some(Ok(kind)) => kind.split(';').next().unwrap_or_default().trim(),
        _ => "",
    };
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Problem::media_type("a body is application/json"));
    }
    match header(CONTENT_ENCODING) {
        None | Some(Ok("identity")) => Ok(()),
        _ => Err(Problem::media_type(
            "a body is sent as it is, not compressed",
        )),
    }
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
pub(crate) fn check_length(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
    match length(headers) {
        Some(length) if length > limit as u64 => Err(Problem::body_too_large(limit)),
        _ => Ok(()),
    }
}

/// Reads JSON.
///
/// # Errors
/// Names the field and says what is wrong with it.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // An array would be taken for the fields in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::invalid("", "the body is an array, not an object"));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = match serde_path_to_error::deserialize(&mut json) {
        Ok(value) => value,
        Err(error) if is_of_floats(error.inner()) => {
            let value = serde_json::from_slice(bytes);
            let value = value.map_err(|error| refused("", &error))?;
            return convert("", value);
        }
        Err(error) => return Err(refused(&error.path().to_string(), error.inner())),
    };
    json.end().map_err(|error| refused("", &error))?;
    Ok(value)
}

/// Reads a value that was read as JSON before, from the field `prefix`.
pub(crate) fn convert<T: DeserializeOwned>(prefix: &str, mut value: Value) -> Result<T, Problem> {
    make_whole(&mut value);
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = match error.path().to_string().as_str() {
            "." => prefix.to_owned(),
            path if prefix.is_empty() => path.to_owned(),
            path => format!("{prefix}.{path}"),
        };
        refused(&path, error.inner())
    })
}

/// To JSON, 59.0 is the whole number 59.
fn is_of_floats(error: &serde_json::Error) -> bool {
    error.is_data()
        && error
            .to_string()
            .starts_with("invalid type: floating point")
}

/// Writes whole numbers without a fraction. O(bytes); no deeper than what was read.
fn make_whole(value: &mut Value) {
    /// The whole numbers up to here are exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(values) => values.iter_mut().for_each(make_whole),
        Value::Object(fields) => fields.values_mut().for_each(make_whole),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or(f64::NAN);
            if float.fract() == 0.0 && float.abs() <= EXACT {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and exact")]
                let whole = float as i64;
                *value = whole.into();
            }
        }
        _ => {}
    }
}

fn refused(path: &str, error: &serde_json::Error) -> Problem {
    fault(path, error.to_string())
}

/// What is said of what serde refused at `path`, for the reason `detail`: the field at fault is the one there, or
/// one that is named in the reason.
pub(crate) fn fault(path: &str, detail: String) -> Problem {
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
    if is_between_fields(&detail) {
        return Problem::unprocessable(field, detail);
    }
    Problem::invalid(field, detail)
}

/// Whether each field is as it is described, and they do not go together.
fn is_between_fields(detail: &str) -> bool {
    [
        " is given without ",
        " is before startLine ",
        " but groupByFile is ",
        " entries for a text of ",
    ]
    .iter()
    .any(|it| detail.contains(it))
        && !detail.starts_with("invalid ")
        && !detail.starts_with("unknown ")
}

/// The field that a message names though its path does not lead to it.
fn named(detail: &str) -> Option<&str> {
    for word in ["missing field `", "unknown field `", "duplicate field `"] {
        if let Some(rest) = detail.strip_prefix(word) {
            return rest.split('`').next();
        }
    }
    let said = match detail.strip_prefix("chunk ") {
        Some(rest) => rest.split_once("\": ")?.1,
        None => detail,
    };
    let word = said.split(' ').next()?;
    CHECKED.contains(&word).then_some(word)
}
